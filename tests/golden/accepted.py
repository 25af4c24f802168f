"""The differences that were accepted, each with its reason.

`accepted.json` is a list of entries `{case, scenario, path, reason}`; the first three are patterns.
Only an entry with `"numbers": true` accepts that numbers change, also those in a text: that one
comes or goes, stands at another place, or has another sign.
An entry that was written by hand is pending: differences that it covers are listed, and `accept`
writes their new values into the records. Then the entry is settled: it holds how many values it
changed, with one example, and excuses nothing any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

from tests.golden import files, paths
from tests.golden.differences import ABSENT, Difference
from tests.golden.paths import Json

ACCEPTED = files.FOLDER / "accepted.json"
_NEEDED = ("case", "scenario", "path", "reason")
_OPTIONAL = ("numbers", "n_values", "example")
_MINUS = "\N{MINUS SIGN}"
_NUMBER = re.compile(rf"(?<![\w.])[-{_MINUS}]?\d+(?:[.,]\d+)*")

Entry: TypeAlias = dict[str, Any]


class BadEntry(ValueError):
    """An entry that cannot be read, or that gives no reason."""


def read(path: Path = ACCEPTED) -> list[Entry]:
    """Return the entries. Raises BadEntry."""
    entries: list[Entry] = files.loads(path.read_text(encoding="utf-8"))
    for n, entry in enumerate(entries):
        where = f"{path.name}, entry {n}"
        if lacking := [name for name in _NEEDED if name not in entry]:
            raise BadEntry(f"{where}: lacks {lacking[0]!r}")
        if odd := {*entry} - {*_NEEDED, *_OPTIONAL}:
            raise BadEntry(f"{where}: {sorted(odd)[0]!r} is no field of an entry")
        if not str(entry["reason"]).strip():
            raise BadEntry(f"{where}: gives no reason")
        paths.parse(entry["path"])
    return entries


def write(entries: Sequence[Entry], path: Path = ACCEPTED) -> None:
    """Write the entries."""
    path.write_text(files.dumps(list(entries)), encoding="utf-8")


def pending(entry: Entry) -> bool:
    """Tell whether the new values that an entry accepts are not in the records yet."""
    return "n_values" not in entry


def recorded(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries whose new values are in the records, each with an example."""
    return [entry for entry in entries if not pending(entry)]


def accepts(entry: Entry, difference: Difference) -> bool:
    """Tell whether an entry names this difference."""
    return (
        fnmatchcase(difference.case, entry["case"])
        and fnmatchcase(difference.scenario, entry["scenario"])
        and paths.covers(paths.parse(entry["path"]), difference.place)
        and (entry.get("numbers", False) or _numbers(difference.old) == _numbers(difference.new))
    )


def _numbers(value: Json) -> list[str]:
    """Return the numbers in a value in their order, also those in its texts, with their signs."""
    made: list[str] = []
    for _, each in paths.walk(value) if value is not ABSENT else ():
        if isinstance(each, str):
            made += [number.replace(_MINUS, "-") for number in _NUMBER.findall(each)]
        elif isinstance(each, int | float) and not isinstance(each, bool):
            made.append(repr(each))
    return made


def listed(
    found: Sequence[Difference], entries: Sequence[Entry]
) -> tuple[list[Difference], list[Difference]]:
    """Split differences into those that a pending entry names, and the others."""
    waiting = [entry for entry in entries if pending(entry)]
    ours = [each for each in found if any(accepts(entry, each) for entry in waiting)]
    rest = [each for each in found if not any(accepts(entry, each) for entry in waiting)]
    return ours, rest


def stale(
    found: Sequence[Difference],
    entries: Sequence[Entry],
    records: Mapping[str, Mapping[str, Json]],
) -> list[Entry]:
    """Return the entries that match nothing: no difference, or no place of the records.

    Only entries that are about these records are looked at.
    """
    return [entry for entry in entries if _about(entry, records) and not _live(
        entry, found, records)]  # fmt: skip


def _about(entry: Entry, records: Mapping[str, Mapping[str, Json]]) -> bool:
    """Tell whether every case that an entry could name is among the records."""
    plain = not set("*?[") & set(entry["case"])
    return not plain or entry["case"] in records


def _live(
    entry: Entry, found: Sequence[Difference], records: Mapping[str, Mapping[str, Json]]
) -> bool:
    if pending(entry):
        return any(accepts(entry, each) for each in found)
    pattern = paths.parse(entry["path"])
    if "new" not in entry["example"]:  # what was removed has no place: that which held it does
        pattern = pattern[:-1]
    return any(
        paths.find(record, pattern)
        for case, scenarios in records.items()
        for scenario, record in scenarios.items()
        if fnmatchcase(case, entry["case"]) and fnmatchcase(scenario, entry["scenario"])
    ) or ("new" not in entry["example"] and not pattern)


def settled(entry: Entry, found: Sequence[Difference]) -> Entry:
    """Return an entry with what it changed."""
    first = found[0]
    sides = {"old": first.old, "new": first.new}
    example = {
        "at": f"{first.case}/{first.scenario}: {paths.text(first.place)}",
        **{name: short(value) for name, value in sides.items() if value is not ABSENT},
    }
    saved = {name: entry[name] for name in (*_NEEDED, "numbers") if name in entry}
    return saved | {"n_values": len(found), "example": example}


def short(value: Json) -> Json:
    """Return a value as an example shows it."""
    text = files.dumps(value).strip()
    return value if len(text) <= 200 else f"{text[:200]} ..."
