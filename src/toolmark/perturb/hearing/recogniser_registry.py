"""Find recognisers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolmark.core.errors import UsageError, suggest_names
from toolmark.perturb.hearing.recogniser import Recogniser

if TYPE_CHECKING:
    pass


RECOGNISER_KINDS = ("pocketsphinx", "whisper", "openai", "deepgram", "simulated")


def load_recogniser(name: str) -> Recogniser:
    """Return the recogniser of this name; its model is loaded with the first clip.

    Raises UsageError with the nearest names, or with the package to install.
    """
    kind, _, spec = name.partition(":")
    match kind:
        case "pocketsphinx" if not spec:
            from toolmark.perturb.hearing import pocketsphinx_recogniser

            return pocketsphinx_recogniser.PocketSphinx()
        case "whisper" if spec:
            from toolmark.perturb.hearing import whisper_recogniser

            return whisper_recogniser.load_whisper(spec)
        case "openai" | "deepgram" if spec:
            from toolmark.perturb.hearing import remote_recogniser

            return remote_recogniser.load_remote(kind, spec)
        case "simulated":
            from toolmark.perturb.hearing.simulated import simulated_recogniser

            return simulated_recogniser.load_simulated(spec)
    if kind in ("whisper", "openai", "deepgram"):
        raise UsageError(f"name the model: {kind}:MODEL")
    raise UsageError(f"no recogniser {name!r}{suggest_names(kind, RECOGNISER_KINDS)}")
