"""The comparators agree with the labelled pairs: at most 2 or 3 % wrong either way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolmark.scoring.comparators import COMPARATORS, Comparator, from_row

FOLDER = Path(__file__).parents[2] / "data" / "comparator_pairs"
MAX_WRONG_SHARES = {"pairs.jsonl": 0.02, "pairs_second.jsonl": 0.02, "pairs_third.jsonl": 0.03}
SETS = tuple(MAX_WRONG_SHARES)
SIZES = {"pairs.jsonl": 300, "pairs_second.jsonl": 300, "pairs_third.jsonl": 200}
_KINDS = {"clock_time": "time"}
_SETTINGS = {"tolerance_min": "tolerance_minutes", "twelve_hour": "half_optional"}
_ORDERS = {"dmy": "day_first", "mdy": "month_first"}


def _comparator(pair: dict[str, Any]) -> Comparator:
    settings = {_SETTINGS.get(name, name): value for name, value in pair["options"].items()}
    if "order" in settings:
        settings["order"] = _ORDERS.get(settings["order"], settings["order"])
    return from_row({_KINDS.get(pair["kind"], pair["kind"]): settings})


def _matches(pair: dict[str, Any]) -> bool:
    comparator = _comparator(pair)
    way = comparator.find_in_answer if pair["where"] == "prose" else comparator.compare_value
    return way(pair["given"], pair["expected"]).matches


def _pairs(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("label", [True, False])
def test_few_labelled_pairs_are_judged_otherwise(name: str, label: bool) -> None:
    pairs = [pair for pair in _pairs(name) if pair["label"] is label]
    wrong = [pair["id"] for pair in pairs if _matches(pair) is not label]
    assert len(wrong) <= MAX_WRONG_SHARES[name] * len(pairs), wrong


@pytest.mark.parametrize("name", SETS)
def test_about_half_of_the_pairs_match_and_about_half_mislead(name: str) -> None:
    pairs = _pairs(name)
    assert len({pair["id"] for pair in pairs}) == len(pairs) == SIZES[name]
    for field in ("label", "adversarial"):
        assert 0.4 <= sum(pair[field] for pair in pairs) / len(pairs) <= 0.6


def test_the_sets_cover_every_kind() -> None:
    kinds = {_KINDS.get(pair["kind"], pair["kind"]) for name in SETS for pair in _pairs(name)}
    assert kinds == set(COMPARATORS)
