"""True Audio: models hear spoken requests themselves."""

from __future__ import annotations

from typing import Any, Literal

from toolmark.runs.suite import Suite
from toolmark.suites.mfcl_speech import speech_suite_builder, speech_task_maker

DIALECTS = "native, prompt"
SCORER = speech_suite_builder.SCORER
NAME = "mfcl-speech"


def load(
    *,
    category: tuple[str, ...] = ("all",),
    items: int = 0,
    conditions: tuple[str, ...] = ("text", "clean", "noisy"),
    recognisers: tuple[str, ...] = ("simulated:a", "simulated:b", "simulated:c"),
    rewrite: bool = True,
    rewriter: str = "rules",
    disfluency: bool = True,
    engines: tuple[str, ...] = (),
    missing: Literal["error", "skip"] = "error",
    noises: tuple[str, ...] = (),
    judge: str = "rules",
    hears: Literal["transcript", "user", "none"] = "user",
    rate_hz: Literal["16000", "24000"] = "16000",
    seed: int = 0,
) -> Suite:
    """Ask BFCL's requests by sound, clean and noisy, beside the written ones.

    Args:
        category: Categories or groups: all, expert, community, multi_turn, relevance, irrelevance.
        items: How many entries of each category are drawn; 0 asks all.
        conditions: text (as written, the control), clean, noisy, mild, medium, harsh, or any
            condition of docs/suites/acoustics.md, such as snr=20, loss@3, talkers.
        recognisers: Who writes it down for the record; the model does not see it. As for
            mfcl-transcripts; none, if empty.
        rewrite: Say it as a person would, numbers and addresses spoken.
        rewriter: Who words it so: rules, or a model's name; what it may not change is checked.
        disfluency: With the fillers, repeats and repairs of talk.
        engines: Speech synthesisers to draw voices from; by default espeak-ng, flite, festival.
        missing: Whether a missing synthesiser is an error, or skip: go on with the others.
        noises: Folders of recordings to draw noises and rooms from: MUSAN, DEMAND, any.
        judge: Who rules on questions of the model: rules, a model's name, or off.
        hears: The system prompt: user (by ear), transcript (behind a recogniser), or none.
        rate_hz: Samples per second of what is sent.
        seed: Of all that is drawn: words, voices, acoustics.

    """
    parameters: dict[str, Any] = dict(locals())
    return speech_suite_builder.build_suite(
        NAME,
        parameters,
        prompt=speech_task_maker.system_prompt(hears),
        form="sound",
        recognisers=recognisers,
    )
