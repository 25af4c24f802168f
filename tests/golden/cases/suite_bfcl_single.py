"""BFCL, single turn: Python, Java, JavaScript, live, irrelevance, relevance; native and prompt."""

from __future__ import annotations

from pathlib import Path

from tests.golden import suites
from tests.golden.paths import Json
from tests.golden.suites import DAMAGED, WIRE, Play

GRAMMARS = True
FEW = {"sample": 14}
SOME = {"sample": 30}
FAULTS = (
    "unknown_tool", "missing_argument", "unexpected_argument", "wrong_type", "wrong_value",
    "missing_call", "extra_call", "format",
)  # fmt: skip
TEXT = ["simple_java", "simple_javascript"]


def record(folder: Path) -> dict[str, Json]:
    return suites.played(
        folder, "bfcl", {"category": ["single_turn"]},
        {
            "oracle": Play("control/oracle", settings=FEW, tasks=True, requests=True),
            "null": Play("control/null", settings=FEW),
            "always-call": Play("control/always-call", settings=FEW),
            "lexical": Play("baseline/lexical", settings={"sample": 40}),
            "eager": Play("baseline/eager", settings=FEW),
            **{
                f"faulty-{kind}": Play(f"control/faulty?class={kind}&rate=0.7", settings=SOME)
                for kind in FAULTS
            },
            "damaged": Play(DAMAGED, settings={"sample": 250}, episodes=6),
            "damaged-repeats": Play(DAMAGED, settings={"sample": 30, "repeats": 4}),
            "damaged-java": Play(DAMAGED, {"category": TEXT}, {"limit": 60}),
            "damaged-prompt": Play(DAMAGED, settings={"sample": 40, "tool_format": "prompt"}),
            "wire": Play(WIRE, settings=FEW),
            "wire-spoilt": Play(
                WIRE, settings={"sample": 100, "tool_format": "prompt"}, spoilt=True
            ),
            "wire-prompt": Play(WIRE, settings={**FEW, "tool_format": "prompt"}),
        },
    )  # fmt: skip
