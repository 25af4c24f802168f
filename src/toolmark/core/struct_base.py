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
        """Return how to rebuild the record from the fields that are not at their defaults.

        `omit_defaults` compares by identity. A pickled copy of a default is another object, so it
        would be written to disk.
        """
        fields, defaults = self.__struct_fields__, self.__struct_defaults__
        default_by_name = dict(zip(fields[len(fields) - len(defaults) :], defaults, strict=True))
        values = {name: getattr(self, name) for name in fields}
        changed = {
            n: value
            for n, value in values.items()
            if n not in default_by_name or value is not default_by_name[n]
        }
        return _rebuild_record, (type(self), changed)


def _rebuild_record(kind: type[Record], values: Mapping[str, Any]) -> Record:
    """Return an unpickled record."""
    return kind(**values)
