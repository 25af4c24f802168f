"""Pictures on the page: small ones unchanged, others scaled, with a link to the original.

The content of a media store is untrusted: a picture is scaled only by a decoder that refuses
broken or oversized files. Without Pillow, and for a picture that cannot be decoded, a page shows
no more than the browser would.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TypeAlias

from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore, is_sha256
from toolmark.core.records import Image
from toolmark.reports.embedded_recordings import relative_link

BROWSER_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MAX_UNSCALED_BYTES = 48_000  # bytes of a picture that is shown unchanged
MAX_EMBEDDED_BYTES = 400_000  # bytes of one that cannot be scaled; larger ones are only named
MAX_DECODED_BYTES = 50_000_000  # bytes of one that is decoded
MAX_SIDE_PIXELS = 640  # pixels of the long side after scaling: the width at which a page shows it
WEBP_QUALITY = 60

_Scaled: TypeAlias = tuple[bytes, int, int]
_MAX_CACHED = 64  # scaled copies: the same picture occurs in repeats and other runs, close together
_scaled_by_sha256: dict[str, _Scaled | None] = {}


def embed_picture(
    part: Image, media: MediaStore, *, page_folder: Path | None = None
) -> dict[str, str]:
    """Return a picture as the page needs it, {} for one that a browser does not show.

    Keys: `src`, a data: URL. A scaled picture also has `description`, its description, and `file`,
    the link to the original from `page_folder` if that is given.
    """
    if part.mime not in BROWSER_TYPES or part.size_bytes > MAX_DECODED_BYTES:
        return {}
    try:
        if not media.has_file(part):  # the size in the record may be wrong
            return {}
        data = media.read(part)
    except DataError:
        return {}
    if len(data) <= MAX_UNSCALED_BYTES:
        return {"src": _data_url(part.mime, data)}
    scaled = _scale_cached(part.sha256, data)
    if not scaled or len(scaled[0]) >= len(data):
        return {"src": _data_url(part.mime, data)} if len(data) <= MAX_EMBEDDED_BYTES else {}
    smaller, width, height = scaled
    found = {
        "src": _data_url("image/webp", smaller),
        "description": f"scaled from {width} × {height}",
    }
    if page_folder is not None and is_sha256(part.sha256):
        found["file"] = relative_link(media.folder / part.sha256[:2] / part.sha256, page_folder)
    return found


def _data_url(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def _scale_cached(sha256: str, data: bytes) -> _Scaled | None:
    """Return the result of `_scale_picture`, cached for the last _MAX_CACHED pictures."""
    if sha256 in _scaled_by_sha256:
        return _scaled_by_sha256[sha256]
    if len(_scaled_by_sha256) >= _MAX_CACHED:
        del _scaled_by_sha256[next(iter(_scaled_by_sha256))]
    _scaled_by_sha256[sha256] = _scale_picture(data)
    return _scaled_by_sha256[sha256]


def _scale_picture(data: bytes) -> _Scaled | None:
    """Return a smaller WebP copy and the size of the original; None if it cannot be decoded."""
    try:
        from PIL.Image import Resampling

        from toolmark.perturb.image import picture_file as pictures
    except ImportError:  # a report can be made where the packages for pictures are missing
        return None
    try:
        width, height = pictures.picture_size(data, "picture")
        found = pictures.decode_picture(data, "picture")
    except DataError:
        return None
    found.thumbnail((MAX_SIDE_PIXELS, MAX_SIDE_PIXELS), Resampling.BILINEAR)
    buffer = io.BytesIO()
    found.save(buffer, "WEBP", quality=WEBP_QUALITY, method=0)
    return buffer.getvalue(), width, height
