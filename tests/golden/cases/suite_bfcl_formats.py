"""BFCL's format sensitivity: the official prompt formats, and replies in each of them."""

from __future__ import annotations

from pathlib import Path

from tests.golden import suites
from tests.golden.paths import Json
from tests.golden.suites import DAMAGED, WIRE, Play

LONG = True

OPTIONS = {"category": ["format_sensitivity"]}


def record(folder: Path) -> dict[str, Json]:
    return suites.played(
        folder, "bfcl", OPTIONS,
        {
            "oracle": Play("control/oracle", settings={"sample": 26}, tasks=False, requests=True),
            "null": Play("control/null", settings={"sample": 26}),
            "lexical": Play("baseline/lexical", settings={"sample": 52}),
            "faulty": Play("control/faulty?class=wrong_value&rate=0.6", settings={"sample": 52}),
            "damaged": Play(DAMAGED, settings={"sample": 104}),
            "wire": Play(WIRE, settings={"sample": 26}),
            "wire-spoilt": Play(WIRE, settings={"sample": 260}, spoilt=True),
            "own-wording": Play(DAMAGED, {"wording": "own", "entries": "all"}, {"sample": 26}),
        },
    )  # fmt: skip
