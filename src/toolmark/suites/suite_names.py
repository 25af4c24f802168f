"""The built-in suites by name, and where each is loaded from.

A module of its own: the command line names the suites in its help, and loads none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolmark.suites.multinet import multinet_families
from toolmark.suites.multinet.multinet_families import FAMILIES


@dataclass(frozen=True, slots=True)
class SuiteEntry:
    """A built-in suite: where its function and its parameters are, and its tool formats in words.

    `extra` is the one without which the suite cannot be loaded; others may need one for some of
    their tasks. The module of the parameters imports nothing that an extra brings.
    """

    load: str
    parameters: str
    tool_format_note: str = "native, prompt"
    extra: str = ""


SUITES: Mapping[str, SuiteEntry] = {
    "bfcl": SuiteEntry(
        "toolmark.suites.bfcl.bfcl_suite:load",
        "toolmark.suites.bfcl.parameters:BfclParameters",
        "native, prompt; with category=format_sensitivity those that the parameter formats names",
    ),
    "funcbench": SuiteEntry(
        "toolmark.suites.funcbench.funcbench_suite:load",
        "toolmark.suites.funcbench.parameters:FuncbenchParameters",
    ),
    "m3": SuiteEntry(
        "toolmark.suites.m3.m3_suite:load",
        "toolmark.suites.m3.parameters:M3Parameters",
        "executor; with agent=loop native and prompt",
        extra="m3",
    ),
    "m3-local": SuiteEntry(
        "toolmark.suites.m3.local.m3_local_suite:load",
        "toolmark.suites.m3.parameters:M3LocalParameters",
        "native, prompt; with agent=executor its own",
        extra="m3",
    ),
    "mfcl-speech": SuiteEntry(
        "toolmark.suites.mfcl_speech.speech_suite:load",
        "toolmark.suites.mfcl_speech.parameters:SpeechParameters",
        extra="speech",
    ),
    "mfcl-transcripts": SuiteEntry(
        "toolmark.suites.mfcl_speech.transcripts_suite:load",
        "toolmark.suites.mfcl_speech.parameters:TranscriptsParameters",
        extra="speech",
    ),
    "mfcl-vision": SuiteEntry(
        "toolmark.suites.mfcl_vision.suite:load",
        "toolmark.suites.mfcl_vision.parameters:VisionParameters",
        extra="vision",
    ),
    **{
        multinet_families.suite_name(family): SuiteEntry(
            f"toolmark.suites.multinet.multinet_suites:{family}",
            f"toolmark.suites.multinet.parameters:{family.capitalize()}Parameters",
            "native; how answers are given: -T form",
        )
        for family in FAMILIES
    },
}

LIBRARY_BY_EXTRA = {"m3": "mcp", "speech": "num2words", "vision": "cv2"}
"""A library of the extra that the suites with this extra import when they are loaded."""
