"""Recordings on the page: a player each, the waveform as a drawing, and the length.

What a store holds is foreign: bytes that are no sound of the kind they claim get a player that
stays silent, and no waveform. A page carries so much sound and no more; what it leaves out, it
links to where it lies in the run folder.
"""

from __future__ import annotations

import base64
import io
import math
import os
import wave
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from toolmark import svg
from toolmark.errors import DataError
from toolmark.media import Media, named
from toolmark.report import axes
from toolmark.stats import figures
from toolmark.types import Audio, Part

PLAYED = frozenset({
    "audio/wav", "audio/x-wav", "audio/wave", "audio/mpeg", "audio/mp3", "audio/ogg",
    "audio/flac", "audio/webm", "audio/mp4", "audio/aac",
})  # fmt: skip
ROOM = 700_000  # bytes of one episode's recordings on the page, as text: 16 s of plain WAV
LARGEST = 30_000_000  # bytes of a recording that is looked into: a quarter of an hour
WIDTH, HEIGHT = 640, 92
_MIDDLE, _REACH = 36.0, 32.0  # of the wave, in pixels from the top
_STEP = 2  # pixels of one column
_CSS = (
    "text{font:11px system-ui,sans-serif;fill:currentColor;fill-opacity:.75}"
    ".w{fill:none;stroke:var(--accent,#0a5a9c);stroke-width:1.4}"
    ".z,.t{stroke:currentColor;stroke-opacity:.3}"
)


@dataclass(frozen=True, slots=True)
class Wave:
    """The peaks of a recording, columns x 2 (least, greatest) in [-1, 1], and what it is."""

    peaks: NDArray[np.float64]
    seconds: float
    rate: int
    channels: int


def sounds(
    parts: Sequence[Part], media: Media, room: int = ROOM, *, page: Path | None = None
) -> Iterator[dict[str, Any]]:
    """Go through the recordings among the parts as the page needs them; others are passed over.

    Keys: `sound`, a data: URL; `told`, what it is; `svg`, the waveform of 16-bit PCM in WAV, else
    ""; `file`, the way to it from the folder `page`. Beyond the room, in bytes of the URLs
    together, there is no `sound`.
    """
    for part in parts:
        if isinstance(part, Audio):
            made = _sound(part, media, room, page)
            room -= len(made.get("sound", ""))
            yield made


def muted(made: dict[str, Any]) -> dict[str, Any]:
    """Return a recording without its sound; it says where it is, unless a link does."""
    where = "" if "file" in made else f", {made['place']}"
    return {key: value for key, value in made.items() if key not in ("sound", "place")} | {
        "told": f"{made['told']}; not in this page but in the run folder{where}"
    }


def _sound(part: Audio, media: Media, room: int, page: Path | None) -> dict[str, Any]:
    size = f"{figures.count(part.size_bytes)} bytes"
    data = b""
    if part.size_bytes <= LARGEST:
        with suppress(DataError):
            data = media.read(part)
    if not data and part.size_bytes <= LARGEST:
        return {"told": f"recording, {size}: it is not in the run folder", "svg": ""}
    found = waveform(data)
    told = ", ".join(["recording", *(_about(found) if found else ()), size])
    drawn = str(draw(found)) if found else ""
    place = f"media/{part.sha256[:2]}/{part.sha256}" if named(part.sha256) else "by another name"
    made: dict[str, Any] = {"told": told, "svg": drawn, "place": place}
    if page is not None and named(part.sha256) and media.holds(part):
        made["file"] = way(media.folder / place.removeprefix("media/"), page)
    if found:
        made["seconds"] = round(found.seconds, 3)
    if part.mime not in PLAYED:
        return made | {"told": f"{told}; a browser plays no {part.mime[:80]}, it is {place}"}
    url = f"data:{part.mime};base64,"
    if not data or len(url) + -(-len(data) // 3) * 4 > room:
        return muted(made)
    return made | {"sound": url + base64.b64encode(data).decode()}


def way(file: Path, page: Path) -> str:
    """Return the way from a folder to a file as a link; it never names a scheme or a host."""
    return f"./{quote(os.path.relpath(file.resolve(), page.resolve()))}"


def _about(found: Wave) -> Iterator[str]:
    yield f"{found.seconds:.2f} s"
    yield f"{axes.number(found.rate / 1000)} kHz"
    if found.channels > 1:
        yield f"{found.channels} channels"
    peak = float(np.abs(found.peaks).max())
    yield f"peak {20 * math.log10(peak):.1f} dB".replace("-", "−") if peak else "silent"


def waveform(data: bytes, columns: int = WIDTH // _STEP) -> Wave | None:
    """Return the peaks of 16-bit PCM in WAV, at most `columns` of them; None of anything else."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            rate, channels = file.getframerate(), file.getnchannels()
            if file.getsampwidth() != 2 or not 1_000 <= rate <= 1_000_000:
                return None
            held = file.readframes(len(data))
    except (wave.Error, EOFError, OSError, ValueError, OverflowError, RuntimeError):
        return None
    frames = len(held) // (2 * channels)
    if not frames:
        return None
    samples = np.frombuffer(held, dtype="<i2", count=frames * channels)
    n = min(columns, frames)
    starts = np.arange(n) * frames // n * channels
    least, most = np.minimum.reduceat(samples, starts), np.maximum.reduceat(samples, starts)
    return Wave(np.stack([least, most], axis=1) / 32768, frames / rate, rate, channels)


def draw(found: Wave) -> svg.Markup:
    """Draw a waveform over its seconds, as high as its loudest peak."""
    line = svg.tag("line", x1=0, x2=WIDTH, y1=_MIDDLE, y2=_MIDDLE, class_="z")
    # whole numbers of half a pixel, each from the last: a page holds hundreds of these
    path = svg.tag("path", d="".join(_strokes(found)), class_="w", transform="scale(1,.5)")
    body = [line, path, *_seconds(found.seconds)]
    return svg.root(WIDTH, HEIGHT, *body, label=f"Waveform of {found.seconds:.2f} s", css=_CSS)


def _strokes(found: Wave) -> Iterator[str]:
    least, most = found.peaks.T * (2 * _REACH / (float(np.abs(found.peaks).max()) or 1.0))
    places = (np.arange(len(least)) + 0.5) * (WIDTH / len(least))
    x, starts = np.rint(places).astype(int), np.rint(2 * _MIDDLE - most).astype(int)
    ends = np.maximum(np.rint(2 * _MIDDLE - least).astype(int), starts + 1)
    across, down = np.diff(x, prepend=0), starts - np.concatenate([[0], ends[:-1]])
    for dx, dy, long in zip(across.tolist(), down.tolist(), (ends - starts).tolist(), strict=True):
        yield f"m{dx} {dy}v{long}" if dy >= 0 else f"m{dx}{dy}v{long}"


def _seconds(length: float) -> Iterator[svg.Markup]:
    """Draw the ticks of time: the whole width is the length of the recording."""
    base = _MIDDLE + _REACH + 4
    for tick in axes.scale([0.0, length], 0, WIDTH, zero=True).ticks:
        x = tick / length * WIDTH
        if x > WIDTH - 2:
            break
        yield svg.tag("line", x1=x, x2=x, y1=base, y2=base + 5, class_="t")
        anchor = "start" if tick == 0 else "end" if x > WIDTH - 24 else "middle"
        text = f"{axes.number(round(tick, 6))} s" if tick == 0 else axes.number(round(tick, 6))
        yield svg.tag("text", text, x=x, y=base + 17, text_anchor=anchor)
