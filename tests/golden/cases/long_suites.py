"""What is dear: real servers of m3-local, spoken requests, all variations of pictures."""

from __future__ import annotations

from pathlib import Path

from tests.golden import suites
from tests.golden.paths import Json
from tests.golden.suites import DAMAGED, Play

LONG = True
MARKERS = ("servers", "speech")
VISION = {"items": 5, "seed": 7}
SPOKEN = {"items": 1, "conditions": ["text", "clean", "noisy"], "seed": 5,
          "category": ["expert", "irrelevance"]}  # fmt: skip


def record(folder: Path) -> dict[str, Json]:
    (folder / "m3").mkdir()
    tape = {"cassette": str(folder / "m3" / "tape.jsonl")}
    local = suites.played(
        folder / "m3", "m3-local", {"instances": 1, "seed": 7},
        {
            "m3-oracle": Play("control/oracle", {**tape, "mode": "record"}, tasks=True),
            "m3-null": Play("control/null", tape),
            "m3-lexical": Play("baseline/lexical"),
            "m3-faulty": Play("control/faulty?class=missing_call&rate=0.6"),
            "m3-executor": Play("control/oracle", {"agent": "executor"}),
        },
    )  # fmt: skip
    vision = suites.played(
        folder / "vision", "mfcl-vision", VISION,
        {
            "vision-oracle": Play("control/oracle", {
                "variations": ["base", "crop-16:9", "occlusion=0.5", "jitter=2", "edges=50/150"]},
                tasks=True),
            "vision-structured": Play(DAMAGED, {
                "variations": ["base"], "structured": True, "snippets": False, "outages": 0.3,
                "hint": ["yes", "no"], "form": ["yes", "no"], "context": ["yes", "no"],
                "lookalikes": ["3"], "hops": ["2"]}),
            "vision-ocr-search": Play("baseline/ocr-search", {"variations": ["base"]}),
        },
    )  # fmt: skip
    spoken = suites.played(
        folder / "spoken", "mfcl-speech", SPOKEN,
        {
            "speech-oracle": Play("control/oracle", tasks=True),
            "speech-null": Play("control/null", same="speech-oracle"),
            "speech-damaged": Play(DAMAGED, settings={"repeats": 3}, same="speech-oracle"),
            "speech-listener": Play("baseline/listener", same="speech-oracle"),
        },
    )  # fmt: skip
    heard = suites.played(
        folder / "heard", "mfcl-transcripts", {"items": 2, "seed": 5, "category": ["expert"]},
        {
            "heard-conditions": Play("control/oracle", {
                "rewrite": False, "hears": "none", "recognisers": ["simulated:b", "simulated:c"],
                "conditions": ["mild", "medium", "harsh", "snr=20", "loss@3", "talkers"]},
                tasks=True),
            "heard-judge-off": Play(DAMAGED, {"judge": "off", "disfluency": False,
                                              "conditions": ["noisy"]}),
        },
    )  # fmt: skip
    speech = {name: {"$tolerance": suites.STOI, **each} for name, each in (spoken | heard).items()}
    return local | vision | speech
