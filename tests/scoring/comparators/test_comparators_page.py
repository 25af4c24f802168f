"""The examples and the lists of docs/reference/comparators.md hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from toolmark.scoring.comparators import COMPARATORS, from_row

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "comparators.md"
_EXAMPLE = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| (.+) \| (yes|no) \|$", re.MULTILINE)
_KIND = re.compile(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", re.MULTILINE)


def _examples(heading: str) -> list[tuple[str, str, str, str]]:
    section = PAGE.read_text(encoding="utf-8").split(f"\n{heading}:\n")[1].split("\nOf ")[0]
    return [match.groups() for match in _EXAMPLE.finditer(section)]  # type: ignore[misc]


ANSWERS = _examples("The tests run each line. Of an answer")
VALUES = _examples("Of a value")


@pytest.mark.parametrize(("spec", "expected", "text", "verdict"), ANSWERS)
def test_an_answer_of_the_page(spec: str, expected: str, text: str, verdict: str) -> None:
    found = from_row(json.loads(spec)).find_in_answer(text, json.loads(expected))
    assert found.matches == (verdict == "yes"), found.reason


@pytest.mark.parametrize(("spec", "expected", "text", "verdict"), VALUES)
def test_a_value_of_the_page(spec: str, expected: str, text: str, verdict: str) -> None:
    found = from_row(json.loads(spec)).compare_value(text, json.loads(expected))
    assert found.matches == (verdict == "yes"), found.reason


def test_the_page_lists_every_kind_with_its_settings() -> None:
    kinds = PAGE.read_text(encoding="utf-8").split("## Kinds")[1].split("##")[0]
    listed = {match[1]: re.findall(r"`(\w+)`", match[2]) for match in _KIND.finditer(kinds)}
    assert {kind: sorted(names) for kind, names in listed.items()} == {
        kind: sorted(each.__struct_fields__) for kind, each in COMPARATORS.items()
    }
    assert len(ANSWERS) + len(VALUES) > 25
