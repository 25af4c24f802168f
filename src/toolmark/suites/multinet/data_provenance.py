"""What an exported set says about its data: their source, and what they do not measure."""

from __future__ import annotations

from collections.abc import Mapping

from toolmark.official_bfcl import official_data as official
from toolmark.runs.suite import SetExport
from toolmark.suites.multinet.multinet_families import Family
from toolmark.suites.multinet.row_sources import REAL_DATA, SYNTHETIC_DATA


def describe_data(family: Family, source: str) -> SetExport:
    """Return the description of a family's data."""
    if source == SYNTHETIC_DATA:
        return SetExport(sources=(_SYNTHETIC_ORIGIN,), limits=(_SYNTHETIC_LIMIT, _LANGUAGE_LIMIT))
    origin = (
        _OVERCOOKED_2020_ORIGIN
        if family == "overcooked" and source != REAL_DATA
        else _ORIGINS[family]
    )
    return SetExport(sources=(f"From {origin}.",), limits=(_CONTAMINATION_LIMIT, _LANGUAGE_LIMIT))


_SYNTHETIC_LIMIT = "A stand-in: figures on it say nothing of the published set."
_CONTAMINATION_LIMIT = "The data are public: a model may have seen them."
_LANGUAGE_LIMIT = "English only."
_SYNTHETIC_ORIGIN = (
    "SYNTHETIC: rows and pictures are generated here; nothing of them is published data."
)
_OVERCOOKED_2020_ORIGIN = (
    "MultiNet's rows of games that people played in 2020, which HumanCompatibleAI/overcooked_ai "
    "holds (MIT); ids of people are not kept"
)
_ORIGINS: Mapping[Family, str] = {
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
