"""A record comes back from its file as it was, though what repeats stands in it once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden import files, folding
from tests.golden.paths import Json

LONG = {"text": "a" * 200}
NESTED = {"inner": LONG, "more": ["b" * 150]}


@pytest.mark.parametrize(
    "record",
    [
        [LONG, LONG],
        [NESTED, {"deep": [NESTED, LONG]}, LONG],
        {"a": "c" * 120, "b": "c" * 120, "c": "c" * 70},
        {"0": 0.0, "-0": -0.0, "false": False, "one": [1, 1.0, True], "none": None},
        [[1.0] * 40, [1] * 40, [True] * 40, [1.0] * 40],
        [{"b": 1, "a": "d" * 120}, {"a": "d" * 120, "b": 1}],
        "text", 5, [], {},
    ],
)  # fmt: skip
def test_a_folded_record_unfolds_to_what_it_was(record: Json, tmp_path: Path) -> None:
    assert repr(folding.unfolded(folding.folded(record))) == repr(_ordered(record))
    files.write("case", "one", record, tmp_path)
    assert repr(files.read("case", tmp_path)["one"]) == repr(_ordered(record))


def test_a_long_value_stands_once_and_a_short_one_where_it_is() -> None:
    text = files.dumps(folding.folded([NESTED, [NESTED, LONG], "short", "short"]))
    assert text.count("a" * 200) == 1 and text.count("b" * 150) == 1
    assert text.count('"short"') == 2
    assert folding.folded(["short", "short"]) == ["short", "short"]


@pytest.mark.parametrize("name", [folding.LOADED, folding.RECORD, folding.SAME])
def test_a_record_that_uses_a_name_of_the_folding_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no key of a record"):
        folding.folded({"a": [{name: 1}]})


def _ordered(value: Json) -> Json:
    """Return a value with its keys in the order of a file."""
    if isinstance(value, dict):
        return {key: _ordered(inner) for key, inner in sorted(value.items())}
    return [_ordered(inner) for inner in value] if isinstance(value, list) else value
