"""The base of everything that is written to disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Record(Struct, frozen=True, omit_defaults=True, gc=False):
    """Base of everything that is written to disk: frozen, defaults left out.

    `gc=False`: frozen records of JSON values cannot form cycles, so the collector need not look.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave defaults out: one that has travelled to a process would be written there."""
        fields, defaults = self.__struct_fields__, self.__struct_defaults__
        known = dict(zip(fields[len(fields) - len(defaults) :], defaults, strict=True))
        held = {name: getattr(self, name) for name in fields}
        kept = {n: value for n, value in held.items() if n not in known or value is not known[n]}
        return _again, (type(self), kept)


def _again(kind: type[Record], held: Mapping[str, Any]) -> Record:
    """Return a record that has travelled."""
    return kind(**held)
