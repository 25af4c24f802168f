"""MFCL's pictures: generated items on made-up pages, some variations, the baselines."""

from __future__ import annotations

from pathlib import Path

from tests.golden import suites
from tests.golden.paths import Json
from tests.golden.suites import DAMAGED, WIRE, Play

OPTIONS = {"items": 5, "seed": 7, "variations": ["base", "crop-16:9"]}


def record(folder: Path) -> dict[str, Json]:
    return suites.played(
        folder, "mfcl-vision", OPTIONS,
        {
            "oracle": Play("control/oracle", tasks=True, requests=True),
            "null": Play("control/null", same="oracle"),
            "blind": Play("baseline/blind", same="oracle"),
            "damaged": Play(DAMAGED, settings={"repeats": 4}, same="oracle"),
            "wire": Play(WIRE, settings={"limit": 2}, same="oracle"),
        },
    )  # fmt: skip
