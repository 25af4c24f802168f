"""The eight official simulators, read from the wheel, with new instances for each episode.

Their modules are imported once, by path and under our own names. What they store at module level
and pass into an instance (default arguments, padding records) is copied for each episode, so no
episode sees another one. Calls that could run forever are refused.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import localcontext
from functools import lru_cache, partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

import msgspec

from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.environments import object_environment
from toolmark.environments.object_environment import CallRefused, EpisodeObjects, Method
from toolmark.official_bfcl import minimal_mpmath

MODULE_OF_CLASS = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
STATELESS = ("MathAPI",)

MAX_BITS = 20_000  # a longer integer cannot be written out, in the official code and here
MAX_DIGITS = 10_000

_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_PADDING = {
    "credit_card_list": "CREDIT_CARD_EXTENSION",
    "booking_record": "BOOKING_RECORD_EXTENSION",
}
_import_lock = Lock()

RecordsByName = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SimulatorClass:
    """A simulator class: its public methods with the names of their parameters in order."""

    make: type
    methods: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SharedRecords:
    """What the official classes share at module level: here a copy for one episode or check."""

    defaults: RecordsByName
    padding: RecordsByName


@dataclass(frozen=True, slots=True)
class SimulatorKit:
    """The simulators of one wheel, and what they share; the shared part is only ever copied.

    `defaults` are the mutable default arguments, by method; `padding` the records that a long
    context adds to a scenario.
    """

    classes: Mapping[str, SimulatorClass]
    defaults: RecordsByName
    padding: RecordsByName

    def copy_shared(self, classes: Sequence[str], is_long_context: bool) -> SharedRecords:
        """Return fresh copies of what these classes would share."""
        is_padded = is_long_context and "TravelAPI" in classes
        used = {
            method: object_environment.copy_plain(values)
            for method, values in self.defaults.items()
            if any(method in self.classes[name].methods for name in classes)
        }
        return SharedRecords(used, object_environment.copy_plain(self.padding) if is_padded else {})

    def is_unchanged(self, shared: SharedRecords) -> bool:
        """Return whether nothing in the shared records was changed."""
        return all(
            values == self.padding[field] for field, values in shared.padding.items()
        ) and all(values == self.defaults[method] for method, values in shared.defaults.items())

    def find_class(self, name: str) -> SimulatorClass:
        """Return a simulator class. Raises DataError for an unknown one."""
        if name not in self.classes:
            raise DataError(f"no simulator {name!r}; known: {', '.join(self.classes)}")
        return self.classes[name]

    def make_instances(
        self, classes: Sequence[str], config: bytes, is_long_context: bool, shared: SharedRecords
    ) -> EpisodeObjects:
        """Return instances loaded with the configuration (JSON by class), and their methods.

        Where methods have equal names, the later class's method counts.
        """
        scenes = msgspec.json.decode(config)
        instances: dict[str, Any] = {}
        methods: dict[str, Method] = {}
        for name in classes:
            simulator = self.find_class(name)
            instance = simulator.make()
            if name not in STATELESS:
                instance._load_scenario(scenes.get(name, {}), long_context=is_long_context)
            instances[name] = instance
            for method in simulator.methods:
                methods[method] = getattr(instance, method)
        self._share_records(instances, shared)
        _wrap_methods(instances, methods, shared)
        return EpisodeObjects(instances, methods)

    def _share_records(self, instances: Mapping[str, Any], shared: SharedRecords) -> None:
        """Replace the module's records by the shared copies; a scenario's own records stay."""
        for field, records in shared.padding.items():
            own_records = getattr(instances["TravelAPI"], field)
            for key, record in records.items():
                if own_records[key] is self.padding[field][key]:
                    own_records[key] = record


def _wrap_methods(
    instances: Mapping[str, Any], methods: dict[str, Method], shared: SharedRecords
) -> None:
    """Give methods the shared copies' defaults, and guards to those that need one."""
    for method, defaults in shared.defaults.items():
        if method in methods:
            methods[method] = partial(_call_with_defaults, methods[method], defaults)
    for name in instances:
        for method, guard in GUARDS.get(name, {}).items():
            methods[method] = partial(guard, methods[method])


def _call_with_defaults(method: Method, defaults: Mapping[str, Any], /, **arguments: Any) -> Any:
    return method(**{**defaults, **arguments})


# --- guards: calls whose cost a model could drive without bound -------------------------


def _guard_power(method: Method, /, **arguments: Any) -> Any:
    match arguments:
        case {"base": int() as base, "exponent": int() as exponent}:
            if exponent > 0 and base.bit_length() * exponent > MAX_BITS:
                raise CallRefused("the power is too large to be computed")
    return method(**arguments)


def _guard_round(method: Method, /, **arguments: Any) -> Any:
    match arguments:
        case {"number": int(), "decimal_places": int() as places} if places < -MAX_DIGITS:
            raise CallRefused("so many places are not rounded")
    return method(**arguments)


def _guard_root(method: Method, /, **arguments: Any) -> Any:
    match arguments:
        case {"precision": int() as precision} if precision > MAX_DIGITS:
            raise CallRefused("a precision of so many digits is not computed")
    with localcontext():  # the simulator sets the precision of the whole thread
        return method(**arguments)


def _guard_walk(method: Method, /, **arguments: Any) -> Any:
    """Refuse to walk a tree that copies of copies have made too large, or that has a loop."""
    system = getattr(method, "__self__")  # noqa: B009
    for top in (system.root, system._current_dir):
        if object_environment.count_nodes(top, _child_nodes) > object_environment.MAX_NODES:
            raise CallRefused("the tree of folders is too large to be walked")
    return method(**arguments)


def _child_nodes(node: Any) -> Iterable[Any]:
    children: Mapping[str, Any] = getattr(node, "contents", {})
    return children.values()


GUARDS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "MathAPI": {"power": _guard_power, "round_number": _guard_round, "square_root": _guard_root},
    "GorillaFileSystem": {"find": _guard_walk, "du": _guard_walk},
}


# --- what the final state is ------------------------------------------------------------


def final_state(simulators: EpisodeObjects) -> dict[str, Any]:
    """Return the public attributes by class, as plain JSON: this is what is compared."""
    return {name: _plain_fields(instance) for name, instance in simulators.instances.items()}


def _plain_fields(instance: object) -> dict[str, Any]:
    return {
        name: _to_plain(value)
        for name, value in object_environment.public_attributes(instance).items()
    }


def _to_plain(value: Any) -> Any:
    if not hasattr(value, "contents"):
        return json_codec.to_plain_json(value)
    if object_environment.count_nodes(value, _child_nodes) > object_environment.MAX_NODES:
        return {
            "name": json_codec.to_plain_json(value.name),
            "error": "the tree is too large to be stored",
        }
    return _folder_tree(value)


def _folder_tree(node: Any) -> dict[str, Any]:
    if not hasattr(node, "contents"):
        return {
            "name": json_codec.to_plain_json(node.name),
            "content": json_codec.to_plain_json(node.content),
        }
    children = {
        json_codec.to_plain_json(str(name)): _folder_tree(item)
        for name, item in node.contents.items()
    }
    return {"name": json_codec.to_plain_json(node.name), "contents": children}


# --- reading the modules ----------------------------------------------------------------


@lru_cache(maxsize=4)
def load_simulators(root: Path) -> SimulatorKit:
    """Import the simulators of the unpacked wheel. Raises DataError if they are missing."""
    folder = root / _PACKAGE.replace(".", "/")
    with _import_lock:
        padding = _import_module(folder, "long_context")
        with _substitute_modules(
            {f"{_PACKAGE}.long_context": padding, "mpmath": minimal_mpmath.make_mpmath_module()}
        ):
            modules = {name: _import_module(folder, file) for name, file in MODULE_OF_CLASS.items()}
    for module in modules.values():
        if hasattr(module, "deepcopy"):
            vars(module)["deepcopy"] = _copy_value
    classes = {name: getattr(module, name) for name, module in modules.items()}
    return SimulatorKit(
        {name: _make_simulator_class(kind) for name, kind in classes.items()},
        {
            method: values
            for kind in classes.values()
            for method, values in _mutable_defaults(kind).items()
        },
        {field: getattr(padding, name) for field, name in _PADDING.items()},
    )


@contextmanager
def _substitute_modules(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    """Offer modules under these names while others are imported; then restore the previous ones."""
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def _import_module(folder: Path, name: str) -> ModuleType:
    path = folder / f"{name}.py"
    spec = spec_from_file_location(f"toolmark._bfcl_{name}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise DataError(f"{path}: no such simulator; remove the folder and fetch the data again")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _make_simulator_class(simulator: type) -> SimulatorClass:
    return SimulatorClass(
        simulator,
        {
            name: tuple(p.name for p in _method_parameters(simulator, name))
            for name in object_environment.public_methods(simulator)
        },
    )


def _mutable_defaults(simulator: type) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in object_environment.public_methods(simulator):
        for p in _method_parameters(simulator, name):
            if isinstance(p.default, list | dict | set):
                found.setdefault(name, {})[p.name] = p.default
    return found


def _method_parameters(simulator: type, method: str) -> list[inspect.Parameter]:
    return list(inspect.signature(getattr(simulator, method)).parameters.values())[1:]


def _copy_value(value: Any) -> Any:
    """Copy as `copy.deepcopy` does where nothing is shared within the value, but faster."""
    return object_environment.copy_plain(value, copy.deepcopy)
