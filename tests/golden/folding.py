"""Values that stand several times in a record are stored once, without loss.

A folded record is `{"$held": {name: value}, "$record": record}`. In the record, and in the values
that are held, `{"$same": name}` stands for a held value. A record that repeats nothing stays as it
is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from tests.golden.paths import Json

LOADED, RECORD, SAME = "$held", "$record", "$same"
SHORTEST = 80  # characters: what is shorter is easier to read where it stands


def folded(record: Json) -> Json:
    """Return a record in which each long value stands once.

    Raises ValueError for a record that uses the names of this module.
    """
    seen: Counter[str] = Counter()
    _count(record, seen)
    collected: dict[str, Json] = {}
    names: dict[str, str] = {}

    def fold(value: Json) -> Json:
        if isinstance(value, dict | list | str) and seen[text := _text(value)] > 1:
            if text not in names:
                names[text] = f"#{len(names)}"
                collected[names[text]] = _within(value, fold)
            return {SAME: names[text]}
        return _within(value, fold)

    made = fold(record)
    return {LOADED: collected, RECORD: made} if collected else made


def unfolded(stored: Json) -> Json:
    """Return the record that was folded."""
    if not isinstance(stored, dict) or LOADED not in stored:
        return stored
    collected = stored[LOADED]

    def unfold(value: Json) -> Json:
        if isinstance(value, dict) and SAME in value:
            return unfold(collected[value[SAME]])
        return _within(value, unfold)

    return unfold(stored[RECORD])


def _count(value: Json, seen: Counter[str]) -> None:
    """Count long values; what a repeated value holds counts once."""
    if not isinstance(value, dict | list | str):
        return
    if len(text := _text(value)) >= SHORTEST:
        seen[text] += 1
        if seen[text] > 1:
            return
    if isinstance(value, dict):
        if odd := {LOADED, RECORD, SAME} & {*value}:
            raise ValueError(f"{sorted(odd)[0]!r} is no key of a record")
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        _count(inner, seen)


def _within(value: Json, change: Callable[[Json], Json]) -> Json:
    """Return a value whose parts are changed."""
    if isinstance(value, dict):
        return {key: change(inner) for key, inner in sorted(value.items())}
    return [change(inner) for inner in value] if isinstance(value, list) else value


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True)
