"""The eight official simulators, read from the wheel and given to each episode afresh.

Their modules are imported once, by path and under names of our own. What they keep at module
level (default arguments, padding records that end up inside an instance) is copied for each
episode, so no episode sees another one. Calls that could run for ever are refused.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from toolmark.suites.bfcl import data, logarithm
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
_FOLDER = _PACKAGE.replace(".", "/")
_PADDING = {
    "credit_card_list": "CREDIT_CARD_EXTENSION",
    "booking_record": "BOOKING_RECORD_EXTENSION",
}
_importing = Lock()


@dataclass(frozen=True, slots=True)
class Kind:
    """A simulator class: its public methods, and those of their defaults that can be changed."""

    make: type
    methods: tuple[str, ...]
    defaults: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Pool:
    """What the official classes share at module level, here for one episode or one check."""

    defaults: Mapping[str, Mapping[str, Any]]
    padding: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Kit:
    """The simulators of one wheel."""

    kinds: Mapping[str, Kind]
    padding: Mapping[str, Mapping[str, Any]]

    def pool(self, classes: Sequence[str], long: bool) -> Pool:
        """Return fresh copies of what these classes would share."""
        padded = long and "TravelAPI" in classes
        return Pool(
            {
                method: objects.copied(defaults)
                for name in classes
                for method, defaults in self.kinds[name].defaults.items()
            },
            objects.copied(self.padding) if padded else {},
        )

    def clean(self, pool: Pool) -> bool:
        """Tell whether nothing of a pool was changed."""
        kept = all(not value for values in pool.defaults.values() for value in values.values())
        return kept and (not pool.padding or pool.padding == self.padding)

    def open(self, classes: Sequence[str], config: bytes, long: bool, pool: Pool) -> Objects:
        """Return instances loaded with the configuration (JSON by class), and their methods.

        Of equal names the later class's method counts. Raises DataError for an unknown class.
        """
        scenes = msgspec.json.decode(config)
        instances: dict[str, Any] = {}
        table: dict[str, Method] = {}
        for name in classes:
            kind = self.kinds.get(name)
            if kind is None:
                raise DataError(f"no simulator {name!r}; known: {', '.join(self.kinds)}")
            made = kind.make()
            if name not in STATELESS:
                made._load_scenario(scenes.get(name, {}), long_context=long)
            instances[name] = made
            for method in kind.methods:
                table[method] = getattr(made, method)
        _share(instances, table, pool)
        return Objects(instances, table)


def _share(instances: Mapping[str, Any], table: dict[str, Method], pool: Pool) -> None:
    """Put the pool's records and defaults in the place of the module's, and the guards on."""
    for field, records in pool.padding.items():
        held = getattr(instances["TravelAPI"], field)
        for key, record in records.items():
            if held[key] is _KIT_PADDING.get(id(held[key])):
                held[key] = record
    for method, defaults in pool.defaults.items():
        table[method] = partial(_with, table[method], defaults)
    for method, guard in GUARDS.items():
        if method in table:
            table[method] = partial(guard, table[method])
