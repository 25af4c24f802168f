"""Text Audio: a model gets only what recognisers wrote down of spoken requests."""

from __future__ import annotations

from toolmark.runs.suite import Suite
from toolmark.suites.mfcl_speech import speech_suite_builder
from toolmark.suites.mfcl_speech.parameters import TranscriptsParameters

SCORER = speech_suite_builder.SCORER
NAME = "mfcl-transcripts"


def load(parameters: TranscriptsParameters) -> Suite:
    """Return the suite. Raises UsageError for unknown categories, conditions or recognisers."""
    return speech_suite_builder.build_suite(NAME, parameters, "transcript")
