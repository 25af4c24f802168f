"""Pictures on the page: small ones as they are, others scaled, with a link to the whole.

What a store holds is foreign: a picture is scaled only by a reader that refuses what is broken or
out of all bounds. Without Pillow, and of what cannot be read, a page shows no more than the
browser would.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TypeAlias

from toolmark.errors import DataError
from toolmark.media import Media, named
from toolmark.report.sound import way
from toolmark.types import Image

SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
SMALL = 48_000  # bytes of a picture that is shown as it is
LARGEST = 400_000  # bytes of one that cannot be scaled: larger ones are named only
READ = 50_000_000  # bytes of one that is looked into
LONGEST = 640  # pixels of the long side, scaled: as wide as a page shows it
QUALITY = 60

_Scaled: TypeAlias = tuple[bytes, int, int]
_KEPT = 64  # scaled copies: the same picture in repeats and in other runs, which stand close
_made: dict[str, _Scaled | None] = {}


def picture(part: Image, media: Media, *, page: Path | None = None) -> dict[str, str]:
    """Return a picture as the page needs it; nothing of one that a browser does not show.

    Keys: `src`, a data: URL, and of a picture that was scaled `file`, the way to it from the folder
    `page`, and `told`, what it is.
    """
    if part.mime not in SHOWN or part.size_bytes > READ:
        return {}
    try:
        if not media.holds(part):  # the size that it says may be wrong
            return {}
        data = media.read(part)
    except DataError:
        return {}
    if len(data) <= SMALL:
        return {"src": _url(part.mime, data)}
    made = _once(part.sha256, data)
    if not made or len(made[0]) >= len(data):
        return {"src": _url(part.mime, data)} if len(data) <= LARGEST else {}
    smaller, width, height = made
    found = {"src": _url("image/webp", smaller), "told": f"scaled from {width} × {height}"}
    if page is not None and named(part.sha256):
        found["file"] = way(media.folder / part.sha256[:2] / part.sha256, page)
    return found


def _url(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def _once(sha256: str, data: bytes) -> _Scaled | None:
    """Return what `_scaled` makes, of the last few pictures once; the copies alone are kept."""
    if sha256 in _made:
        return _made[sha256]
    if len(_made) >= _KEPT:
        del _made[next(iter(_made))]
    _made[sha256] = _scaled(data)
    return _made[sha256]


def _scaled(data: bytes) -> _Scaled | None:
    """Return a smaller copy and the size of what was read; None of what cannot be read."""
    try:
        from PIL.Image import Resampling

        from toolmark.perturb.image import picture as pictures
    except ImportError:  # a report can be made where the packages for pictures are missing
        return None
    try:
        width, height = pictures.size(data, "picture")
        found = pictures.read(data, "picture")
    except DataError:
        return None
    found.thumbnail((LONGEST, LONGEST), Resampling.BILINEAR)
    held = io.BytesIO()
    found.save(held, "WEBP", quality=QUALITY, method=0)
    return held.getvalue(), width, height
