"""What an exported set says about its data: their source, and what they do not measure."""

from __future__ import annotations

from toolmark.official_bfcl import official_data
from toolmark.runs.suite import SetExport
from toolmark.suites.multinet.data_sources import data_sources
from toolmark.suites.multinet.multinet_families import Family
from toolmark.suites.multinet.row_sources import REAL_DATA, SYNTHETIC_DATA


def describe_data(family: Family, source: str) -> SetExport:
    """Return the description of a family's data."""
    if source == SYNTHETIC_DATA:
        return SetExport(sources=(_SYNTHETIC_ORIGIN,), limits=(_SYNTHETIC_LIMIT, _LANGUAGE_LIMIT))
    origin = (
        _OVERCOOKED_2020_ORIGIN
        if family == "overcooked" and source != REAL_DATA
        else data_sources()[family].origin.format(version=official_data.PACKAGE.version)
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
    "holds (MIT); ids of people are not stored"
)
