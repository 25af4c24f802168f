"""MFCL's transcripts of simulated recognisers, with the simulated user who answers questions."""

from __future__ import annotations

from pathlib import Path

from tests.golden import suites
from tests.golden.paths import Json
from tests.golden.suites import DAMAGED, WIRE, Play

LONG = True

MARKERS = ("slow", "speech")

OPTIONS = {"items": 1, "conditions": ["text", "noisy"], "recognisers": ["simulated:a"],
         "seed": 5}  # fmt: skip


def record(folder: Path) -> dict[str, Json]:
    played = suites.played(
        folder, "mfcl-transcripts", OPTIONS,
        {
            "oracle": Play("control/oracle", tasks=True, requests=True),
            "null": Play("control/null", same="oracle"),
            "always-call": Play("control/always-call", same="oracle"),
            "lexical": Play("baseline/lexical", same="oracle"),
            "faulty": Play("control/faulty?class=wrong_value&rate=0.6", same="oracle"),
            "damaged": Play(DAMAGED, settings={"repeats": 3}, same="oracle", episodes=4),
            "wire": Play(WIRE, settings={"limit": 6}, same="oracle"),
        },
    )  # fmt: skip
    return {name: {"$tolerance": suites.STOI, **each} for name, each in played.items()}
