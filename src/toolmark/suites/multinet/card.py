"""What a made set says of its data: where they come from, and what they are no measure of."""

from __future__ import annotations

from collections.abc import Mapping

from toolmark.runs.suite import Publisher
from toolmark.suites.bfcl import data as official
from toolmark.suites.multinet.families import Family
from toolmark.suites.multinet.source import REAL, SYNTHETIC


def publisher(family: Family, source: str) -> Publisher:
    """Return what is told of a family's data."""
    if source == SYNTHETIC:
        return Publisher(sources=(_GENERATED,), limits=(_STAND_IN, _ENGLISH))
    told = _LATER if family == "overcooked" and source != REAL else _LICENCES[family]
    return Publisher(sources=(f"From {told}.",), limits=(_PUBLIC, _ENGLISH))


_STAND_IN = "A stand-in: figures on it say nothing of the published set."
_PUBLIC = "The data are public: a model may have seen them."
_ENGLISH = "English only."
_GENERATED = "SYNTHETIC: rows and pictures are generated here; nothing of them is published data."
_LATER = (
    "MultiNet's rows of games that people played in 2020, which HumanCompatibleAI/overcooked_ai "
    "holds (MIT); ids of people are not kept"
)
_LICENCES: Mapping[Family, str] = {
    "piqa": "PIQA (https://huggingface.co/datasets/ybisk/piqa), under its own licence",
    "sqa3d": "SQA3D, questions CC BY 4.0, scenes of ScanNet under its terms of use",
    "robovqa": "RoboVQA, CC BY 4.0",
    "odinw": "ODinW, each sub-set under the licence in its own README",
    "bfcl": "the Berkeley Function Calling Leaderboard, PyPI's bfcl-eval "
    f"{official.PACKAGE.version}, Apache-2.0",
    "overcooked": "games that people played in 2019, PyPI's overcooked-ai 1.1.0, MIT by its "
    "repository (the package's own field says UNKNOWN); ids of people are not kept",
    "openx": "Open X-Embodiment, each set under its own licence",
}
