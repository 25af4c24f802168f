"""Sound in the form that an endpoint takes: WAV as it is kept, or MP3, a quarter of the size."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Literal, TypeAlias

from toolmark import plugin
from toolmark.errors import DataError, UsageError

Form: TypeAlias = Literal["wav", "mp3"]
_KEPT = 16  # clips: a conversation sends its first ones again with every step


def check(form: str) -> None:
    """Raise UsageError for a form that sound cannot be sent in on this machine."""
    if form not in ("wav", "mp3"):
        raise UsageError(f"no audio format {form!r}; known: wav, mp3")
    if form == "wav":
        return
    try:
        import soundfile
    except (ImportError, OSError) as error:  # OSError: the package is here, its library is not
        raise UsageError(f"sound as mp3 needs soundfile ({error}): {_next()}") from None
    if "MP3" not in soundfile.available_formats():
        library = soundfile.__libsndfile_version__
        raise UsageError(f"libsndfile {library} writes no mp3, from 1.1 on it does: {_next()}")


def _next() -> str:
    return f"{plugin.install('speech')}, or send wav"


@lru_cache(maxsize=_KEPT)
def mp3(wav: bytes) -> bytes:
    """Return a WAV file as MP3 of the same rate and length. Raises DataError if it is none."""
    import soundfile

    held = io.BytesIO()
    try:
        samples, rate = soundfile.read(io.BytesIO(wav), dtype="float32")
        soundfile.write(held, samples, rate, format="MP3", subtype="MPEG_LAYER_III")
    except (soundfile.SoundFileError, ValueError) as error:
        raise DataError(f"the sound cannot be sent as mp3: {error}") from None
    return held.getvalue()
