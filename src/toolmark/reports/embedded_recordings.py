"""Recordings on the page: a player each, the waveform as a drawing, and the length.

The content of a media store is untrusted: bytes that are not sound of the stated type get a player
that stays silent, and no waveform. A page has a limit for sound; recordings beyond it are linked
to the run folder.
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

from toolmark.core import number_format, svg
from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore, is_sha256
from toolmark.core.records import Audio, Part
from toolmark.reports import chart_axes

BROWSER_TYPES = frozenset({
    "audio/wav", "audio/x-wav", "audio/wave", "audio/mpeg", "audio/mp3", "audio/ogg",
    "audio/flac", "audio/webm", "audio/mp4", "audio/aac",
})  # fmt: skip
MAX_EPISODE_BYTES = (
    700_000  # bytes of one episode's recordings on the page, as text: 16 s of plain WAV
)
MAX_DECODED_BYTES = 30_000_000  # bytes of a recording that is decoded: a quarter of an hour
WAVEFORM_WIDTH, WAVEFORM_HEIGHT = 640, 92
_MIDLINE_PIXELS, _AMPLITUDE_PIXELS = 36.0, 32.0  # of the wave, in pixels from the top
_COLUMN_PIXELS = 2  # pixels of one column
_CSS = (
    "text{font:11px system-ui,sans-serif;fill:currentColor;fill-opacity:.75}"
    ".w{fill:none;stroke:var(--accent,#0a5a9c);stroke-width:1.4}"
    ".z,.t{stroke:currentColor;stroke-opacity:.3}"
)


@dataclass(frozen=True, slots=True)
class Waveform:
    """The peaks of a recording, columns x 2 (minimum, maximum) in [-1, 1], and its format."""

    peaks: NDArray[np.float64]
    seconds: float
    rate: int
    channels: int


def embed_recordings(
    parts: Sequence[Part],
    media: MediaStore,
    budget_bytes: int = MAX_EPISODE_BYTES,
    *,
    page_folder: Path | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the recordings among the parts as the page needs them; other parts are skipped.

    Keys: `sound`, a data: URL; `description`, the description; `svg`, the waveform of 16-bit PCM in
    WAV, else ""; `file`, the link from `page_folder`. `budget_bytes` limits the bytes of all URLs
    together; beyond it there is no `sound`.
    """
    for part in parts:
        if isinstance(part, Audio):
            recording = _embed_recording(part, media, budget_bytes, page_folder)
            budget_bytes -= len(recording.get("sound", ""))
            yield recording


def remove_sound(recording: dict[str, Any]) -> dict[str, Any]:
    """Return a recording without its sound; the text names its place unless `file` links to it."""
    location = "" if "file" in recording else f", {recording['place']}"
    return {key: value for key, value in recording.items() if key not in ("sound", "place")} | {
        "description": (
            f"{recording['description']}; not in this page but in the run folder{location}"
        )
    }


def _embed_recording(
    part: Audio, media: MediaStore, budget_bytes: int, page_folder: Path | None
) -> dict[str, Any]:
    size = f"{number_format.format_count(part.size_bytes)} bytes"
    data = b""
    if part.size_bytes <= MAX_DECODED_BYTES:
        with suppress(DataError):
            data = media.read(part)
    if not data and part.size_bytes <= MAX_DECODED_BYTES:
        return {"description": f"recording, {size}: it is not in the run folder", "svg": ""}
    found = read_waveform(data)
    description = ", ".join(["recording", *(_waveform_facts(found) if found else ()), size])
    waveform_svg = str(draw_waveform(found)) if found else ""
    media_path = (
        f"media/{part.sha256[:2]}/{part.sha256}" if is_sha256(part.sha256) else "by another name"
    )
    recording: dict[str, Any] = {
        "description": description,
        "svg": waveform_svg,
        "place": media_path,
    }
    if page_folder is not None and is_sha256(part.sha256) and media.has_file(part):
        recording["file"] = relative_link(
            media.folder / media_path.removeprefix("media/"), page_folder
        )
    if found:
        recording["seconds"] = round(found.seconds, 3)
    if part.mime not in BROWSER_TYPES:
        return recording | {
            "description": f"{description}; a browser plays no {part.mime[:80]}, it is {media_path}"
        }
    url = f"data:{part.mime};base64,"
    if not data or len(url) + -(-len(data) // 3) * 4 > budget_bytes:
        return remove_sound(recording)
    return recording | {"sound": url + base64.b64encode(data).decode()}


def relative_link(file: Path, folder: Path) -> str:
    """Return the relative link from a folder to a file; it never contains a scheme or a host."""
    return f"./{quote(os.path.relpath(file.resolve(), folder.resolve()))}"


def _waveform_facts(found: Waveform) -> Iterator[str]:
    yield number_format.format_duration(found.seconds)
    yield f"{number_format.format_short(found.rate / 1000)} kHz"
    if found.channels > 1:
        yield f"{found.channels} channels"
    peak = float(np.abs(found.peaks).max())
    yield f"peak {number_format.format_fixed(20 * math.log10(peak), 1)} dB" if peak else "silent"


def read_waveform(data: bytes, columns: int = WAVEFORM_WIDTH // _COLUMN_PIXELS) -> Waveform | None:
    """Return the peaks of 16-bit PCM in WAV, at most `columns` of them; None for anything else."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            rate, channels = file.getframerate(), file.getnchannels()
            if file.getsampwidth() != 2 or not 1_000 <= rate <= 1_000_000:
                return None
            frames_bytes = file.readframes(len(data))
    except (wave.Error, EOFError, OSError, ValueError, OverflowError, RuntimeError):
        return None
    frames = len(frames_bytes) // (2 * channels)
    if not frames:
        return None
    samples = np.frombuffer(frames_bytes, dtype="<i2", count=frames * channels)
    n = min(columns, frames)
    starts = np.arange(n) * frames // n * channels
    minima, maxima = np.minimum.reduceat(samples, starts), np.maximum.reduceat(samples, starts)
    return Waveform(np.stack([minima, maxima], axis=1) / 32768, frames / rate, rate, channels)


def draw_waveform(found: Waveform) -> svg.Markup:
    """Draw a waveform over its seconds, scaled to its loudest peak."""
    line = svg.element(
        "line", x1=0, x2=WAVEFORM_WIDTH, y1=_MIDLINE_PIXELS, y2=_MIDLINE_PIXELS, class_="z"
    )
    # integers in units of half a pixel, each relative to the last: a page has hundreds of these
    path = svg.element(
        "path", d="".join(_waveform_path(found)), class_="w", transform="scale(1,.5)"
    )
    body = [line, path, *_draw_seconds(found.seconds)]
    return svg.svg_element(
        WAVEFORM_WIDTH,
        WAVEFORM_HEIGHT,
        *body,
        label=f"Waveform of {number_format.format_duration(found.seconds)}",
        css=_CSS,
    )


def _waveform_path(found: Waveform) -> Iterator[str]:
    minima, maxima = found.peaks.T * (
        2 * _AMPLITUDE_PIXELS / (float(np.abs(found.peaks).max()) or 1.0)
    )
    places = (np.arange(len(minima)) + 0.5) * (WAVEFORM_WIDTH / len(minima))
    x, starts = np.rint(places).astype(int), np.rint(2 * _MIDLINE_PIXELS - maxima).astype(int)
    ends = np.maximum(np.rint(2 * _MIDLINE_PIXELS - minima).astype(int), starts + 1)
    across, down = np.diff(x, prepend=0), starts - np.concatenate([[0], ends[:-1]])
    for dx, dy, length in zip(
        across.tolist(), down.tolist(), (ends - starts).tolist(), strict=True
    ):
        yield f"m{dx} {dy}v{length}" if dy >= 0 else f"m{dx}{dy}v{length}"


def _draw_seconds(length: float) -> Iterator[svg.Markup]:
    """Draw the ticks of time: the full width is the length of the recording."""
    base = _MIDLINE_PIXELS + _AMPLITUDE_PIXELS + 4
    for tick in chart_axes.fit_scale([0.0, length], 0, WAVEFORM_WIDTH, zero=True).ticks:
        x = tick / length * WAVEFORM_WIDTH
        if x > WAVEFORM_WIDTH - 2:
            break
        yield svg.element("line", x1=x, x2=x, y1=base, y2=base + 5, class_="t")
        anchor = "start" if tick == 0 else "end" if x > WAVEFORM_WIDTH - 24 else "middle"
        text = (
            f"{number_format.format_short(round(tick, 6))} s"
            if tick == 0
            else number_format.format_short(round(tick, 6))
        )
        yield svg.element("text", text, x=x, y=base + 17, text_anchor=anchor)
