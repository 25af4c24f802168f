"""The parameters of the two speech suites, which share all but how a request arrives."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from toolmark.runs.suite_parameters import SuiteParameters

_RECOGNISERS = ("simulated:a", "simulated:b", "simulated:c")
_RECOGNISER_NAMES = (
    f"{', '.join(_RECOGNISERS)}, pocketsphinx, whisper:PATH, openai:MODEL, deepgram:MODEL"
)


class SpokenRequestParameters(SuiteParameters, frozen=True, kw_only=True):
    """Ask BFCL's requests as people would speak them."""

    category: Annotated[
        tuple[str, ...],
        Meta(
            description="Categories or groups: all, expert, community, multi_turn, relevance, "
            "irrelevance."
        ),
    ] = ("all",)
    items: Annotated[
        Annotated[int, Meta(ge=0)],
        Meta(description="How many entries of each category are drawn; 0 asks all."),
    ] = 0
    conditions: Annotated[
        tuple[str, ...],
        Meta(
            description="text (as written, for comparison), said (the exact spoken words, as "
            "text), clean, noisy, mild, medium, harsh, or any condition of "
            "docs/reference/acoustics.md, such as snr=20, loss@3, talkers."
        ),
    ] = ("text", "said", "clean", "noisy")
    recognisers: Annotated[
        tuple[str, ...],
        Meta(description=f"Which recognisers transcribe what the model gets: {_RECOGNISER_NAMES}."),
    ] = _RECOGNISERS
    rewrite: Annotated[
        bool, Meta(description="Say it as a person would, numbers and addresses spoken.")
    ] = True
    rewriter: Annotated[
        str,
        Meta(
            description="What rewrites: rules, or a model's name; what it may not change is "
            "checked."
        ),
    ] = "rules"
    disfluency: Annotated[
        bool, Meta(description="Add fillers, repeats and repairs as in talk.")
    ] = True
    engines: Annotated[
        tuple[str, ...],
        Meta(
            description="Speech synthesisers to draw voices from; by default espeak-ng, flite, "
            "festival."
        ),
    ] = ()
    missing: Annotated[
        Literal["error", "skip"],
        Meta(description="Whether a missing synthesiser is an error, or skipped."),
    ] = "error"
    noises: Annotated[
        tuple[str, ...],
        Meta(
            description="Folders of recordings to draw noises and rooms from: MUSAN, DEMAND, any."
        ),
    ] = ()
    judge: Annotated[
        str, Meta(description="What judges questions of the model: rules, a model's name, or off.")
    ] = "rules"
    hears: Annotated[
        Literal["transcript", "user", "none"],
        Meta(
            description="The system prompt: user (by ear), transcript (of a recogniser), or none."
        ),
    ] = "user"
    seed: Annotated[
        int, Meta(description="Seed of the random choices: words, voices, acoustics, errors.")
    ] = 0


class SpeechParameters(SpokenRequestParameters, frozen=True, kw_only=True):
    """Ask BFCL's requests by sound, clean and noisy, and as written."""

    recognisers: Annotated[
        tuple[str, ...],
        Meta(
            description="Which recognisers transcribe the sound for the record; the model hears "
            f"the sound itself: {_RECOGNISER_NAMES}; none, if empty."
        ),
    ] = _RECOGNISERS
    rate_hz: Annotated[
        Literal["16000", "24000"], Meta(description="Samples per second of what is sent.")
    ] = "16000"


class TranscriptsParameters(SpokenRequestParameters, frozen=True, kw_only=True):
    """Ask BFCL's requests as recognisers transcribed them, clean and noisy, and as written."""

    hears: Annotated[
        Literal["transcript", "user", "none"],
        Meta(
            description="The system prompt: transcript (of a recogniser), user (by ear), or none."
        ),
    ] = "transcript"
