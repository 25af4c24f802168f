"""Recognisers: what hears a clip and writes it down, by name, nothing transcribed twice.

pocketsphinx                real, offline, weak
whisper:PATH                real: a local model file or folder of a Whisper package
openai:MODEL[@BASE_URL]     real: POST /audio/transcriptions, as OpenAI has it
deepgram:MODEL[@BASE_URL]   real: POST /v1/listen, as Deepgram has it
simulated:a|b|c[@RATE]      errors drawn from the spoken text, always marked as simulated
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from toolmark.errors import UsageError, near
from toolmark.files import write_atomically
from toolmark.perturb.speech.clip import Clip
from toolmark.types import Record

if TYPE_CHECKING:
    from toolmark.perturb.speech.effect import Effect

KINDS = ("pocketsphinx", "whisper", "openai", "deepgram", "simulated")


class Word(Record, frozen=True):
    """One word as heard, where (seconds; both 0 if unknown) and how surely (0..1, -1 unknown)."""

    text: str
    start_s: float = 0.0
    end_s: float = 0.0
    confidence: float = -1.0


class Transcript(Record, frozen=True, kw_only=True):
    """What a recogniser wrote, and whether it heard it or drew it."""

    text: str
    recogniser: str
    simulated: bool
    words: tuple[Word, ...] = ()


class Context(Record, frozen=True, kw_only=True):
    """What a simulated recogniser draws from; real ones look at none of it.

    `text` is what was said, `entities` the values in it that matter, `timeline` what was done to
    the clip, `span_s` where in it the speech lies (where it is not known, wherever there is sound),
    and `seed_key` names the draw: equal keys and equal input give equal transcripts.
    """

    text: str = ""
    timeline: tuple[Effect, ...] = ()
    span_s: tuple[float, float] | None = None
    entities: tuple[str, ...] = ()
    seed_key: str = ""


class Recogniser(Protocol):
    """`version` changes whenever transcripts may: engine, model and settings."""

    name: str
    version: str
    simulated: bool

    def hear(self, clip: Clip, context: Context) -> Transcript:
        """Return what was heard; never depends on what was heard before."""
        ...


def by_name(name: str) -> Recogniser:
    """Return the recogniser of this name; its model is loaded when it first hears.

    Raises UsageError with the nearest names, or with the package to install.
    """
    kind, _, rest = name.partition(":")
    match kind:
        case "pocketsphinx" if not rest:
            from toolmark.perturb.hear import sphinx

            return sphinx.Sphinx()
        case "whisper" if rest:
            from toolmark.perturb.hear import whisper

            return whisper.load(rest)
        case "openai" | "deepgram" if rest:
            from toolmark.perturb.hear import remote

            return remote.load(kind, rest)
        case "simulated":
            from toolmark.perturb.hear.simulated import channel

            return channel.load(rest)
    if kind in ("whisper", "openai", "deepgram"):
        raise UsageError(f"name the model: {kind}:MODEL")
    raise UsageError(f"no recogniser {name!r}{near(kind, KINDS)}")


def hear(recogniser: Recogniser, clip: Clip, context: Context, folder: Path) -> Transcript:
    """Return the transcript of a clip, kept in `folder` when a real recogniser made it.

    A file per (clip, recogniser, version), written whole or not at all: several processes may
    share the folder. A file that cannot be read is made anew. Simulated transcripts are drawn
    again each time: that is quicker than reading them, and they hang on more than the clip.
    """
    if recogniser.simulated:
        return recogniser.hear(clip, context)
    path = _place(recogniser, clip, folder)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Transcript)
    except (FileNotFoundError, msgspec.DecodeError):
        pass
    heard = recogniser.hear(clip, context)
    write_atomically(path, msgspec.json.encode(heard))
    return heard


def _place(recogniser: Recogniser, clip: Clip, folder: Path) -> Path:
    key = hashlib.sha256(f"{recogniser.name}\0{recogniser.version}\0{clip.rate}\0".encode())
    key.update(clip.samples.astype("<f4").tobytes())
    name = key.hexdigest()
    return folder / name[:2] / f"{name}.json"
