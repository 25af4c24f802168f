"""True Audio: models hear spoken requests themselves."""

from __future__ import annotations

from toolmark.runs.suite import Suite
from toolmark.suites.mfcl_speech import speech_suite_builder
from toolmark.suites.mfcl_speech.parameters import SpeechParameters

SCORER = speech_suite_builder.SCORER
NAME = "mfcl-speech"


def load(parameters: SpeechParameters) -> Suite:
    """Return the suite. Raises UsageError for unknown categories, conditions or recognisers."""
    return speech_suite_builder.build_suite(NAME, parameters, "sound")
