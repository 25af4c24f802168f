"""The eight official simulators, read from the wheel and given to each episode afresh.

Their modules are imported once, by path and under names of our own. What they keep at module
level and let into an instance (default arguments, padding records) is copied for each episode, so
no episode sees another one. Calls that could run for ever are refused.
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

from toolmark import codec
from toolmark.errors import DataError
from toolmark.suites.bfcl import logarithm
from toolmark.worlds import objects
from toolmark.worlds.objects import Method, Objects, Refused

FILES = {
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

MAX_BITS = 20_000  # a longer integer cannot be written out, in the official code as here
MAX_DIGITS = 10_000

_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_PADDING = {
    "credit_card_list": "CREDIT_CARD_EXTENSION",
    "booking_record": "BOOKING_RECORD_EXTENSION",
}
_importing = Lock()

Records = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A simulator class: its public methods with the names of their parameters in order."""

    make: type
    methods: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Pool:
    """What the official classes share at module level: here a copy for one episode or check."""

    defaults: Records
    padding: Records


@dataclass(frozen=True, slots=True)
class Kit:
    """The simulators of one wheel, and what they share; that is only ever copied.

    `defaults` are the default arguments that can be changed, by method; `padding` the records
    that a long context adds to a scenario.
    """

    kinds: Mapping[str, Kind]
    defaults: Records
    padding: Records

    def pool(self, classes: Sequence[str], long: bool) -> Pool:
        """Return fresh copies of what these classes would share."""
        padded = long and "TravelAPI" in classes
        used = {
            method: objects.copied(held)
            for method, held in self.defaults.items()
            if any(method in self.kinds[name].methods for name in classes)
        }
        return Pool(used, objects.copied(self.padding) if padded else {})

    def clean(self, pool: Pool) -> bool:
        """Tell whether nothing in a pool was changed."""
        return all(held == self.padding[field] for field, held in pool.padding.items()) and all(
            held == self.defaults[method] for method, held in pool.defaults.items()
        )

    def kind(self, name: str) -> Kind:
        """Return a simulator class. Raises DataError for an unknown one."""
        if name not in self.kinds:
            raise DataError(f"no simulator {name!r}; known: {', '.join(self.kinds)}")
        return self.kinds[name]

    def open(self, classes: Sequence[str], config: bytes, long: bool, pool: Pool) -> Objects:
        """Return instances loaded with the configuration (JSON by class), and their methods.

        Of equal names the later class's method counts.
        """
        scenes = msgspec.json.decode(config)
        instances: dict[str, Any] = {}
        table: dict[str, Method] = {}
        for name in classes:
            kind = self.kind(name)
            made = kind.make()
            if name not in STATELESS:
                made._load_scenario(scenes.get(name, {}), long_context=long)
            instances[name] = made
            for method in kind.methods:
                table[method] = getattr(made, method)
        self._share(instances, pool)
        _wrap(instances, table, pool)
        return Objects(instances, table)

    def _share(self, instances: Mapping[str, Any], pool: Pool) -> None:
        """Put the pool's records where the module's are; a scenario's own records stay."""
        for field, records in pool.padding.items():
            held = getattr(instances["TravelAPI"], field)
            for key, record in records.items():
                if held[key] is self.padding[field][key]:
                    held[key] = record


def _wrap(instances: Mapping[str, Any], table: dict[str, Method], pool: Pool) -> None:
    """Give methods the pool's defaults, and guards to those that need one."""
    for method, defaults in pool.defaults.items():
        if method in table:
            table[method] = partial(_with, table[method], defaults)
    for name in instances:
        for method, guard in GUARDS.get(name, {}).items():
            table[method] = partial(guard, table[method])


def _with(method: Method, defaults: Mapping[str, Any], /, **given: Any) -> Any:
    return method(**{**defaults, **given})


# --- guards: calls whose cost a model could drive without bound -------------------------


def _power(method: Method, /, **given: Any) -> Any:
    match given:
        case {"base": int() as base, "exponent": int() as exponent}:
            if exponent > 0 and base.bit_length() * exponent > MAX_BITS:
                raise Refused("the power is too large to be computed")
    return method(**given)


def _round(method: Method, /, **given: Any) -> Any:
    match given:
        case {"number": int(), "decimal_places": int() as places} if places < -MAX_DIGITS:
            raise Refused("so many places are not rounded")
    return method(**given)


def _root(method: Method, /, **given: Any) -> Any:
    match given:
        case {"precision": int() as precision} if precision > MAX_DIGITS:
            raise Refused("a precision of so many digits is not computed")
    with localcontext():  # the simulator sets the precision of the whole thread
        return method(**given)


def _walk(method: Method, /, **given: Any) -> Any:
    """Refuse to walk a tree that copies of copies have made too large; a loop is one, too."""
    system = getattr(method, "__self__")  # noqa: B009
    for top in (system.root, system._current_dir):
        if objects.nodes(top, _below) > objects.MAX_NODES:
            raise Refused("the tree of folders is too large to be walked")
    return method(**given)


def _below(node: Any) -> Iterable[Any]:
    held: Mapping[str, Any] = getattr(node, "contents", {})
    return held.values()


GUARDS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "MathAPI": {"power": _power, "round_number": _round, "square_root": _root},
    "GorillaFileSystem": {"find": _walk, "du": _walk},
}


# --- what the final state is ------------------------------------------------------------


def state(world: Objects) -> dict[str, Any]:
    """Return the public attributes by class: what is compared, as plain JSON."""
    return {name: _fields(instance) for name, instance in world.instances.items()}


def _fields(instance: object) -> dict[str, Any]:
    return {name: _plain(value) for name, value in objects.fields(instance).items()}


def _plain(value: Any) -> Any:
    if not hasattr(value, "contents"):
        return codec.plain(value)
    if objects.nodes(value, _below) > objects.MAX_NODES:
        return {"name": codec.plain(value.name), "error": "the tree is too large to be kept"}
    return _tree(value)


def _tree(node: Any) -> dict[str, Any]:
    if not hasattr(node, "contents"):
        return {"name": codec.plain(node.name), "content": codec.plain(node.content)}
    held = {codec.plain(str(name)): _tree(item) for name, item in node.contents.items()}
    return {"name": codec.plain(node.name), "contents": held}


# --- reading the modules ----------------------------------------------------------------


@lru_cache(maxsize=4)
def load(root: Path) -> Kit:
    """Import the simulators of the unpacked wheel. Raises DataError if they are not there."""
    folder = root / _PACKAGE.replace(".", "/")
    with _importing:
        padding = _module(folder, "long_context")
        with _standing({f"{_PACKAGE}.long_context": padding, "mpmath": logarithm.module()}):
            modules = {name: _module(folder, file) for name, file in FILES.items()}
    for module in modules.values():
        if hasattr(module, "deepcopy"):
            vars(module)["deepcopy"] = _deepcopy
    made = {name: getattr(module, name) for name, module in modules.items()}
    return Kit(
        {name: _kind(kind) for name, kind in made.items()},
        {method: held for kind in made.values() for method, held in _changeable(kind).items()},
        {field: getattr(padding, name) for field, name in _PADDING.items()},
    )


@contextmanager
def _standing(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    """Offer modules under these names while others are imported; put back what was there."""
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


def _module(folder: Path, name: str) -> ModuleType:
    path = folder / f"{name}.py"
    spec = spec_from_file_location(f"toolmark._bfcl_{name}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise DataError(f"{path}: no such simulator; remove the folder and fetch the data again")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _kind(made: type) -> Kind:
    return Kind(
        made,
        {name: tuple(p.name for p in _parameters(made, name)) for name in objects.public(made)},
    )


def _changeable(made: type) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in objects.public(made):
        for p in _parameters(made, name):
            if isinstance(p.default, list | dict | set):
                found.setdefault(name, {})[p.name] = p.default
    return found


def _parameters(made: type, method: str) -> list[inspect.Parameter]:
    return list(inspect.signature(getattr(made, method)).parameters.values())[1:]


def _deepcopy(value: Any) -> Any:
    """Copy as `copy.deepcopy` does where nothing is shared within the value, but faster."""
    return objects.copied(value, copy.deepcopy)
