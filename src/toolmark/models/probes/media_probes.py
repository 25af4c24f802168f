"""Whether a model sees pictures and hears sounds: each shows what only a look or a listen tells."""

from __future__ import annotations

import io
import math
import re
import struct
import wave
import zlib
from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from toolmark.core.errors import EndpointError, Rejected
from toolmark.core.media import MediaStore
from toolmark.core.records import Check, Message, Part, Reply, Request, Text
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.probes import probe_requests
from toolmark.models.probes.probe_requests import PROBE_SAMPLING, quote_text

COLOUR_BYTES = {
    "red": b"\xff\0\0",
    "green": b"\0\xa0\0",
    "blue": b"\0\0\xff",
    "yellow": b"\xff\xff\0",
    "black": b"\0\0\0",
    "white": b"\xff\xff\xff",
}
_NUMBER_WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
)
_IMAGE_QUESTION = (
    "The picture shows three vertical stripes of different colours. Name the colours from left to "
    f"right, in three words out of: {', '.join(COLOUR_BYTES)}."
)
_AUDIO_QUESTION = "How many beeps are in the recording? Reply with the number alone."


async def probe_image(model: EndpointModel, media: MediaStore, rng: Random) -> Check:
    """Show three stripes; a guess gets their colours right once in 120 times."""
    colours = rng.sample(list(COLOUR_BYTES), 3)
    reply = await _ask_about_media(
        model, "image", _IMAGE_QUESTION, media.add_image(_draw_stripes(colours), "image/png")
    )
    if isinstance(reply, Check):
        return reply
    # the last three: some models reason in the reply first
    named_colours = re.findall(rf"\b({'|'.join(COLOUR_BYTES)})\b", reply.text.casefold())[-3:]
    if named_colours == colours:
        return Check(name="image", status="ok", detail=f"seen: {', '.join(colours)}")
    detail = (
        f"accepted, but not seen: the picture shows {', '.join(colours)}; "
        f"it said {quote_text(reply.text)}"
    )
    step = (
        "suites with image input would measure guesses: does the model see, and does the server "
        "pass pictures on (llama.cpp: --mmproj)?"
    )
    return Check(name="image", status="warn", detail=detail, next_step=step)


async def probe_audio(model: EndpointModel, media: MediaStore, rng: Random) -> Check:
    """Play three to seven beeps; a guess gets their number right once in five times."""
    n = rng.randint(3, 7)
    reply = await _ask_about_media(
        model, "audio", _AUDIO_QUESTION, media.add_audio(synthesize_beeps(n), "audio/wav")
    )
    if isinstance(reply, Check):
        return reply
    counts = re.findall(rf"\b(\d+|{'|'.join(_NUMBER_WORDS)})\b", reply.text.casefold())[-1:]
    if counts in ([str(n)], [_NUMBER_WORDS[n]]):
        return Check(name="audio", status="ok", detail=f"heard: {n} beeps")
    comparison = f"the recording has {n} beeps; it said {quote_text(reply.text)}"
    detail = f"accepted, but perhaps not heard: {comparison}"
    step = (
        "models made for speech may not count tones: a run of a suite with sound asks first what a "
        "spoken clip says"
    )
    return Check(name="audio", status="warn", detail=detail, next_step=step)


async def _ask_about_media(
    model: EndpointModel, name: str, question: str, part: Part
) -> Reply | Check:
    """Ask about a picture or a sound; returns a Check if that is not accepted."""
    message = Message(role="user", parts=(Text(question), part))
    try:
        return await model(Request(messages=(message,), sampling=PROBE_SAMPLING))
    except Rejected as error:
        step = f"suites with {name} input cannot run on this model"
        return Check(name=name, status="warn", detail=str(error), next_step=step)
    except EndpointError as error:
        return replace(probe_requests.fail_check(name, error), status="warn")


def _draw_stripes(colours: Sequence[str], side: int = 192) -> bytes:
    """Draw stripes from left to right; vision encoders refuse pictures smaller than a patch."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    width = side // len(colours)
    header = struct.pack(">IIBBBBB", width * len(colours), side, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"".join(COLOUR_BYTES[colour] * width for colour in colours)) * side
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def synthesize_silence(seconds: float = 1.0, rate_hz: int = 16_000) -> bytes:
    """Return a recording of silence."""
    return _write_wav([0] * round(seconds * rate_hz), rate_hz)


def synthesize_beeps(n_beeps: int, rate_hz: int = 16_000) -> bytes:
    """Return a recording of n beeps of 440 Hz, each 0.2 s with 0.3 s of silence after it."""
    n_beep, n_period = rate_hz // 5, rate_hz // 2
    beep = [round(8000 * math.sin(2 * math.pi * 440 * i / rate_hz)) for i in range(n_beep)]
    return _write_wav((beep + [0] * (n_period - n_beep)) * n_beeps, rate_hz)


def _write_wav(samples: Sequence[int], rate_hz: int) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate_hz)
        out.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return file.getvalue()
