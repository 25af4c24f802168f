"""Recognisers: they transcribe a clip; transcripts of real recognisers are cached.

pocketsphinx                real, offline, weak
whisper:PATH                real: a local model file or folder of a Whisper package
openai:MODEL[@BASE_URL]     real: POST /audio/transcriptions, OpenAI's API
deepgram:MODEL[@BASE_URL]   real: POST /v1/listen, Deepgram's API
simulated:a|b|c[@RATE]      errors drawn from the spoken text, always marked as simulated
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from toolmark.core.files import write_atomically
from toolmark.core.records import Record
from toolmark.perturb.speech.audio_clip import Clip

if TYPE_CHECKING:
    from toolmark.perturb.speech.effect_timeline import Effect


class HeardWord(Record, frozen=True):
    """One word as heard, its times (both 0 if unknown), its confidence (0..1, -1 if unknown)."""

    text: str
    start_s: float = 0.0
    end_s: float = 0.0
    confidence: float = -1.0


class Transcript(Record, frozen=True, kw_only=True):
    """The transcript of a recogniser, and whether it is simulated."""

    text: str
    recogniser: str
    simulated: bool
    words: tuple[HeardWord, ...] = ()


class HearingContext(Record, frozen=True, kw_only=True):
    """The input of a simulated recogniser besides the clip; real recognisers ignore it.

    `text` is what was said, `entities` are the important values in it, `timeline` lists the effects
    on the clip. `span_s` is the span of the speech in seconds; None means wherever there is sound.
    `seed_key` names the random draw: equal keys and equal input give equal transcripts.
    """

    text: str = ""
    timeline: tuple[Effect, ...] = ()
    span_s: tuple[float, float] | None = None
    entities: tuple[str, ...] = ()
    seed_key: str = ""


class Recogniser(Protocol):
    """A recogniser; `version` changes whenever transcripts may change: engine, model, settings."""

    name: str
    version: str
    simulated: bool

    def hear(self, clip: Clip, context: HearingContext) -> Transcript:
        """Return the transcript of a clip; it never depends on earlier clips."""
        ...


def transcribe_clip(
    recogniser: Recogniser, clip: Clip, context: HearingContext, folder: Path
) -> Transcript:
    """Return the transcript of a clip; transcripts of real recognisers are stored in `folder`.

    There is one file per (clip, recogniser, version). Files are written atomically: several
    processes may share the folder. A file that cannot be read is made again. Simulated transcripts
    are drawn each time: that is quicker than reading them, and they depend on more than the clip.
    """
    if recogniser.simulated:
        return recogniser.hear(clip, context)
    path = _transcript_path(recogniser, clip, folder)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Transcript)
    except (FileNotFoundError, msgspec.DecodeError):
        pass
    transcript = recogniser.hear(clip, context)
    write_atomically(path, msgspec.json.encode(transcript))
    return transcript


def _transcript_path(recogniser: Recogniser, clip: Clip, folder: Path) -> Path:
    key = hashlib.sha256(f"{recogniser.name}\0{recogniser.version}\0{clip.rate}\0".encode())
    key.update(clip.samples.astype("<f4").tobytes())
    name = key.hexdigest()
    return folder / name[:2] / f"{name}.json"
