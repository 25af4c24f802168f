"""BFCL, several turns: simulators of the official package, all four categories."""

from __future__ import annotations

from pathlib import Path

from tests.golden import suites
from tests.golden.paths import Json
from tests.golden.suites import DAMAGED, WIRE, Play

FAULTS = (
    "unknown_tool", "missing_argument", "unexpected_argument", "wrong_value", "missing_call",
    "extra_call", "format",
)  # fmt: skip


def record(folder: Path) -> dict[str, Json]:
    return suites.played(
        folder,
        "bfcl",
        {"category": ["multi_turn"]},
        {
            "oracle": Play("control/oracle", settings={"sample": 6}, tasks=True, requests=True),
            "null": Play("control/null", settings={"sample": 4}),
            "always-call": Play("control/always-call", settings={"sample": 4}),
            "lexical": Play("baseline/lexical", settings={"sample": 8}),
            **{
                f"faulty-{kind}": Play(
                    f"control/faulty?class={kind}&rate=0.6", settings={"sample": 8}
                )
                for kind in FAULTS
            },
            "damaged": Play(DAMAGED, settings={"sample": 40}, episodes=4),
            "wire": Play(WIRE, settings={"sample": 2}),
            "wire-prompt": Play(WIRE, settings={"sample": 2, "tool_format": "prompt"}),
        },
    )
