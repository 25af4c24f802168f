"""The built-in suites by name, and where each is loaded from.

A module of its own: the command line names the suites in its help, and loads none of them.
"""

from toolmark.suites.multinet import multinet_families
from toolmark.suites.multinet.multinet_families import FAMILIES

SUITES = {
    "bfcl": "toolmark.suites.bfcl.bfcl_suite:load",
    "funcbench": "toolmark.suites.funcbench.funcbench_suite:load",
    "m3": "toolmark.suites.m3.m3_suite:load",
    "m3-local": "toolmark.suites.m3.local.m3_local_suite:load",
    "mfcl-speech": "toolmark.suites.mfcl_speech.speech_suite:load",
    "mfcl-transcripts": "toolmark.suites.mfcl_speech.transcripts_suite:load",
    "mfcl-vision": "toolmark.suites.mfcl_vision.suite:load",
    **{
        multinet_families.suite_name(name): f"toolmark.suites.multinet.multinet_suites:{name}"
        for name in FAMILIES
    },
}

EXTRA_BY_SUITE = {
    "m3": "m3",
    "m3-local": "m3",
    "mfcl-speech": "speech",
    "mfcl-transcripts": "speech",
    "mfcl-vision": "vision",
}
"""The extra without which a suite cannot be loaded. Others may need one for some of their tasks."""
LIBRARY_BY_EXTRA = {"m3": "mcp", "speech": "num2words", "vision": "cv2"}
"""A library of the extra that these suites import when they are loaded."""
