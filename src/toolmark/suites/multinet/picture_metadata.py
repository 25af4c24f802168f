"""Remove metadata from PNG and JPEG files: texts, comments, EXIF, thumbnails, trailing bytes.

A picture in a user's folder may say in its metadata what it shows. The bytes of the pixels do not
change. Metadata needed to display them remain: transparency, gamma and colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8"
_SAFE_PNG_CHUNKS = (
    b"IHDR",
    b"PLTE",
    b"IDAT",
    b"IEND",
    b"tRNS",
    b"gAMA",
    b"cHRM",
    b"sRGB",
    b"iCCP",
    b"cICP",
)
_APP_MARKERS = range(0xE0, 0xF0)
_COMMENT_MARKER = 0xFE
_SCAN_MARKER = 0xDA
_END_MARKER = 0xD9
_MARKER_BYTE = 0xFF
# the first bytes of application marker segments that stay, and how many of their bytes stay
_JFIF, _ICC, _ADOBE = b"JFIF\0", b"ICC_PROFILE\0", b"Adobe"
_JFIF_BYTES, _ADOBE_BYTES = 12, 12
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # not stuffed bytes, not restart markers


def strip_metadata(data: bytes) -> bytes:
    """Return a PNG or a JPEG without metadata, b"" if its parts cannot be parsed.

    Of an animation only the first picture remains.
    """
    parts = _pixel_png_chunks(data) if data.startswith(PNG) else _pixel_jpeg_segments(data)
    try:
        return b"".join(parts)
    except ValueError:
        return b""


def _pixel_png_chunks(data: bytes) -> Iterator[bytes]:
    yield PNG
    at, name = len(PNG), b""
    while name != b"IEND":
        name = data[at + 4 : at + 8]
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        if len(name) < 4 or end > len(data):
            raise ValueError
        if name in _SAFE_PNG_CHUNKS:
            yield data[at:end]
        at = end


def _pixel_jpeg_segments(data: bytes) -> Iterator[bytes]:
    yield JPEG
    at, code = len(JPEG), 0
    while code != _END_MARKER:
        if len(data) < at + 2 or data[at] != _MARKER_BYTE:
            raise ValueError
        code = data[at + 1]
        if code == _MARKER_BYTE:
            at += 1
            continue
        end = at + 2 + (0 if code == _END_MARKER else int.from_bytes(data[at + 2 : at + 4], "big"))
        if end > len(data) or (code != _END_MARKER and end < at + 4):
            raise ValueError
        yield _strip_segment(code, data[at:end])
        if code == _SCAN_MARKER:
            found = _MARKER.search(data, end)
            if found is None:
                raise ValueError
            yield data[end : found.start()]
            end = found.start()
        at = end


def _strip_segment(code: int, segment: bytes) -> bytes:
    """Return the part of a marker segment that remains, b"" for nothing."""
    body = segment[4:]
    if code == _COMMENT_MARKER:
        return b""
    if code not in _APP_MARKERS or body.startswith(_ICC):
        return segment
    if body.startswith(_JFIF):
        return _build_segment(code, body[:_JFIF_BYTES] + b"\0\0")  # without the thumbnail
    return _build_segment(code, body[:_ADOBE_BYTES]) if body.startswith(_ADOBE) else b""


def _build_segment(code: int, body: bytes) -> bytes:
    return bytes((_MARKER_BYTE, code)) + (len(body) + 2).to_bytes(2, "big") + body
