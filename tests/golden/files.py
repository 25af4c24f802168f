"""Records as readable JSON: sorted keys, one line for what fits one line."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

from tests.golden import folding, paths
from tests.golden.paths import Json, Place

FOLDER = Path(__file__).parent
RECORDS = FOLDER / "records"
WIDTH = 100
# what a reader of the file would not see, or not as what it is
_HIDDEN = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0\ufeff]")


class NotPlain(TypeError):
    """A recorded value is not a plain JSON value."""


def plain(value: object, at: Place = ()) -> Json:
    """Return a value as JSON holds it. Tuples become lists; nan and inf become `{"float": "nan"}`.

    Raises NotPlain, with the place, for anything else.
    """
    match value:
        case None | bool() | str():
            return value
        case int() if type(value) is int:
            return value
        case float() if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        case dict():
            if odd := [key for key in value if not isinstance(key, str)]:
                raise NotPlain(f"{paths.text(at)}: the key {odd[0]!r} is not text")
            return {key: plain(inner, (*at, key)) for key, inner in value.items()}
        case list() | tuple():
            return [plain(inner, (*at, i)) for i, inner in enumerate(value)]
        case _:
            raise NotPlain(f"{paths.text(at)}: {type(value).__name__} is not a plain JSON value")


def dumps(value: Json) -> str:
    """Write a plain value as readable JSON with a newline at its end."""
    return _block(value, 0) + "\n"


def _block(value: Json, depth: int) -> str:
    line = _line(value)
    if not isinstance(value, dict | list) or not value or len(line) + depth <= WIDTH:
        return line
    inner = " " * (depth + 1)
    if isinstance(value, dict):
        pieces = [f"{_line(key)}: {_block(value[key], depth + 1)}" for key in sorted(value)]
        left, right = "{", "}"
    else:
        pieces = [_block(each, depth + 1) for each in value]
        left, right = "[", "]"
    body = f",\n{inner}".join(pieces)
    return f"{left}\n{inner}{body}\n{' ' * depth}{right}"


def _line(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def loads(text: str) -> Json:
    """Read a record."""
    return json.loads(text)


def read(case: str, root: Path = RECORDS) -> dict[str, Json]:
    """Return the recorded scenarios of a case by name."""
    return {
        path.stem: read_one(case, path.stem, root) for path in sorted((root / case).glob("*.json"))
    }


def read_one(case: str, scenario: str, root: Path = RECORDS) -> Json:
    """Return the record of one scenario."""
    text = (root / case / f"{scenario}.json").read_text(encoding="utf-8")
    return folding.unfolded(loads(text))


def write(case: str, scenario: str, value: Json, root: Path = RECORDS) -> None:
    """Write one scenario's record; long values that repeat stand in it once."""
    path = root / case / f"{scenario}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(folding.folded(value)), encoding="utf-8")


def delete(case: str, scenario: str, root: Path = RECORDS) -> None:
    """Remove one scenario's record, and the folder that it leaves empty."""
    path = root / case / f"{scenario}.json"
    path.unlink()
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
