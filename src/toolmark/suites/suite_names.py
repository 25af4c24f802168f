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
    their tasks. The module of the parameters imports nothing that an extra brings. `scorer` is the
    function that returns the scorer of a run with some parameters, "" where all runs have the
    `SCORER` of the suite's module. `fetch` is the function that fetches the suite's data.
    `baselines` play this suite and not every other one; `baseline_maker` returns one of them by its
    name. `text_suite` asks by text what this suite asks by sound.
    """

    load: str
    parameters: str
    tool_format_note: str = "native, prompt, call syntaxes"
    extra: str = ""
    scorer: str = ""
    fetch: str = ""
    baselines: tuple[str, ...] = ()
    baseline_maker: str = ""
    text_suite: str = ""


# what is read from packages; the hub has the data of the other families
_MULTINET_PACKAGES: Mapping[str, str] = {
    "bfcl": "toolmark.official_bfcl.official_data:fetch_wheel",
    "overcooked": "toolmark.suites.multinet.overcooked.human_games:fetch_package",
}

SUITES: Mapping[str, SuiteEntry] = {
    "bfcl": SuiteEntry(
        "toolmark.suites.bfcl.bfcl_suite:load",
        "toolmark.suites.bfcl.parameters:BfclParameters",
        "native, prompt, call syntaxes; with category=format_sensitivity those that formats names",
        scorer="toolmark.suites.bfcl.bfcl_suite:scorer_of_run",
        fetch="toolmark.official_bfcl.official_data:fetch_wheel",
    ),
    "funcbench": SuiteEntry(
        "toolmark.suites.funcbench.funcbench_suite:load",
        "toolmark.suites.funcbench.parameters:FuncbenchParameters",
    ),
    "m3": SuiteEntry(
        "toolmark.suites.m3.m3_suite:load",
        "toolmark.suites.m3.parameters:M3Parameters",
        "executor; with agent=loop native, prompt, call syntaxes",
        extra="m3",
    ),
    "m3-local": SuiteEntry(
        "toolmark.suites.m3.local.m3_local_suite:load",
        "toolmark.suites.m3.parameters:M3LocalParameters",
        "native, prompt, call syntaxes; with agent=executor its own",
        extra="m3",
    ),
    "mfcl-speech": SuiteEntry(
        "toolmark.suites.mfcl_speech.speech_suite:load",
        "toolmark.suites.mfcl_speech.parameters:SpeechParameters",
        extra="speech",
        text_suite="mfcl-transcripts",
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
            fetch=_MULTINET_PACKAGES.get(
                family, f"toolmark.suites.multinet.published.hub_download:{family}"
            ),
            baselines=multinet_families.BASELINES_BY_FAMILY[family],
            baseline_maker="toolmark.suites.multinet.baseline_players:BaselineModel",
        )
        for family in FAMILIES
    },
}

LIBRARY_BY_EXTRA = {"m3": "mcp", "speech": "num2words", "vision": "cv2"}
"""A library of the extra that the suites with this extra import when they are loaded."""
