"""The map of old names to new ones, through which a record is read before it is compared.

`names.json` holds three lists. Each entry may name a `case` (a pattern; all of them by default).

`keys`: `{"old": "tool_format", "new": "tool_format", "in": "**"}` renames a key of every object
that the pattern `in` names (by default of all of them).

`paths`: `{"old": "scores[].not_run", "new": "scores[].failure.message"}` moves a value. The open
indices and keys of both patterns are bound in order.

`values`: `{"old": "world", "new": "environment", "in": "**.stage"}` replaces a text at the places
that `in` names. With `"whole": false` it replaces the old text wherever it stands within one.

Renames apply in this order: keys, paths, values; entries of a list one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.golden import files, paths
from tests.golden.paths import ANY_INDEX, DEEP, Json, Place

NAMES = files.FOLDER / "names.json"
_FIELDS = {
    "keys": ({"old", "new"}, {"case", "in"}),
    "paths": ({"old", "new"}, {"case"}),
    "values": ({"old", "new", "in"}, {"case", "whole"}),
}


class BadNames(ValueError):
    """The map of names cannot be read, or would lose a value."""


Names = Mapping[str, list[dict[str, Any]]]


def read(path: Path = NAMES) -> Names:
    """Return the map of names. Raises BadNames."""
    found = files.loads(path.read_text(encoding="utf-8"))
    if odd := {*found} - {*_FIELDS}:
        raise BadNames(f"{path.name}: no list is called {sorted(odd)[0]!r}")
    for kind, (needed, optional) in _FIELDS.items():
        for entry in found.get(kind, []):
            if not needed <= {*entry} <= needed | optional:
                raise BadNames(f"{path.name}: {kind}: {entry}: needs {sorted(needed)}")
    return {kind: found.get(kind, []) for kind in _FIELDS}


def renamed(case: str, record: Json, names: Names) -> Json:
    """Return a record in the new names. Raises BadNames where a rename would overwrite a value."""
    made = deepcopy(record)
    for entry in _of(names["keys"], case):
        _rename_key(made, entry)
    for entry in _of(names["paths"], case):
        _move(made, paths.parse(entry["old"]), paths.parse(entry["new"]))
    for entry in _of(names["values"], case):
        made = _replace_value(made, entry)
    return made


def _of(entries: Iterable[dict[str, Any]], case: str) -> list[dict[str, Any]]:
    return [entry for entry in entries if fnmatchcase(case, entry.get("case", "*"))]


def _rename_key(record: Json, entry: Mapping[str, Any]) -> None:
    old, new = entry["old"], entry["new"]
    for place in reversed(paths.find(record, paths.parse(entry.get("in", DEEP)))):
        holder = paths.get(record, place)
        if isinstance(holder, dict) and old in holder:
            if new in holder:
                raise BadNames(f"{paths.text(place)}: holds {new!r} beside {old!r}")
            holder[new] = holder.pop(old)


def _move(record: Json, old: Place, new: Place) -> None:
    for place in reversed(paths.find(record, old)):
        target = _bound(new, _bindings(old, place))
        value = paths.remove(record, place)
        try:
            paths.get(record, target)
        except (KeyError, IndexError, TypeError):
            paths.put(record, target, value)
        else:
            raise BadNames(f"{paths.text(target)}: stands there beside {paths.text(place)}")


def _bindings(pattern: Place, place: Place) -> list[Place]:
    """Return what each open step of the pattern stands for, in order."""
    if not pattern:
        return []
    if pattern[0] == DEEP:
        ends = (i for i in range(len(place) + 1) if paths.matches(pattern[1:], place[i:]))
        end = next(ends)
        return [place[:end], *_bindings(pattern[1:], place[end:])]
    mine = [place[:1]] if _open(pattern[0]) else []
    return [*mine, *_bindings(pattern[1:], place[1:])]


def _bound(pattern: Place, bindings: list[Place]) -> Place:
    left = iter(bindings)
    made: list[str | int] = []
    for step in pattern:
        made.extend(next(left) if _open(step) else (step,))
    return tuple(made)


def _open(step: str | int) -> bool:
    return step == ANY_INDEX if isinstance(step, int) else "*" in step or "?" in step


def _replace_value(record: Json, entry: Mapping[str, Any]) -> Json:
    old, new, whole = entry["old"], entry["new"], entry.get("whole", True)
    for place in paths.find(record, paths.parse(entry["in"])):
        value = paths.get(record, place)
        if not isinstance(value, str):
            continue
        made = (new if value == old else value) if whole else value.replace(old, new)
        if not place:
            record = made
        elif made != value:
            paths.put(record, place, made)
    return record
