"""MultiNet's suites of pictures and actions, on their generated stand-ins."""

from __future__ import annotations

from pathlib import Path

from tests.golden.cases import _multinet
from tests.golden.paths import Json

LONG = True

MARKERS = ("slow",)


def record(folder: Path) -> dict[str, Json]:
    return _multinet.record(folder, ("sqa3d", "odinw", "overcooked", "openx"))
