"""Sound in the form that an endpoint accepts: WAV as stored, or MP3, a quarter of the size."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

from toolmark.core import user_modules
from toolmark.core.errors import DataError, UsageError, suggest_names

AudioFormat: TypeAlias = Literal["wav", "mp3"]
_MAX_CACHED_CLIPS = 16  # a conversation sends its first clips again with every step


def check_audio_format(form: str) -> None:
    """Raise UsageError for a form in which sound cannot be sent on this machine."""
    if form not in get_args(AudioFormat):
        raise UsageError(f"no audio format {form!r}{suggest_names(form, get_args(AudioFormat))}")
    if form == "wav":
        return
    try:
        import soundfile
    except (ImportError, OSError) as error:  # OSError: the package is here, its library is not
        raise UsageError(f"sound as mp3 needs soundfile ({error}): {_next_step()}") from None
    if "MP3" not in soundfile.available_formats():
        library = soundfile.__libsndfile_version__
        raise UsageError(f"libsndfile {library} writes no mp3, from 1.1 on it does: {_next_step()}")


def _next_step() -> str:
    return f"{user_modules.install_command('speech')}, or send wav"


@lru_cache(maxsize=_MAX_CACHED_CLIPS)
def encode_mp3(wav: bytes) -> bytes:
    """Return a WAV file as MP3 of the same rate and length; raises DataError if it is not WAV."""
    import soundfile

    buffer = io.BytesIO()
    try:
        samples, rate_hz = soundfile.read(io.BytesIO(wav), dtype="float32")
        soundfile.write(buffer, samples, rate_hz, format="MP3", subtype="MPEG_LAYER_III")
    except (soundfile.SoundFileError, ValueError):
        raise DataError("the sound cannot be sent as mp3: it cannot be read as WAV") from None
    return buffer.getvalue()
