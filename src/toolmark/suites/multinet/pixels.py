"""PNG and JPEG without what lies beside their pixels: texts, comments, EXIF, thumbnails, a tail.

A picture out of somebody's folder may say in words what it shows. The pixels' own bytes stay as
they are; kept beside them is what says how they are to be shown: transparency, gamma and colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8"
_CHUNKS = (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP")
_APP, _COMMENT, _SCAN, _END, _FILL = range(0xE0, 0xF0), 0xFE, 0xDA, 0xD9, 0xFF
# what a marker segment of an application begins with, and how many bytes of it count
_JFIF, _ICC, _ADOBE = b"JFIF\0", b"ICC_PROFILE\0", b"Adobe"
_JFIF_BYTES, _ADOBE_BYTES = 12, 12
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # in a scan: no stuffed byte and no restart


def alone(data: bytes) -> bytes:
    """Return a PNG or a JPEG without what lies beside its pixels, b"" where its parts are unclear.

    Of an animation the first picture is left.
    """
    parts = _chunks(data) if data.startswith(PNG) else _segments(data)
    try:
        return b"".join(parts)
    except ValueError:
        return b""


def _chunks(data: bytes) -> Iterator[bytes]:
    yield PNG
    at, name = len(PNG), b""
    while name != b"IEND":
        name = data[at + 4 : at + 8]
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        if len(name) < 4 or end > len(data):
            raise ValueError
        if name in _CHUNKS:
            yield data[at:end]
        at = end


def _segments(data: bytes) -> Iterator[bytes]:
    yield JPEG
    at, code = len(JPEG), 0
    while code != _END:
        if len(data) < at + 2 or data[at] != _FILL:
            raise ValueError
        code = data[at + 1]
        if code == _FILL:
            at += 1
            continue
        end = at + 2 + (0 if code == _END else int.from_bytes(data[at + 2 : at + 4], "big"))
        if end > len(data) or (code != _END and end < at + 4):
            raise ValueError
        yield _segment(code, data[at:end])
        if code == _SCAN:
            found = _MARKER.search(data, end)
            if found is None:
                raise ValueError
            yield data[end : found.start()]
            end = found.start()
        at = end


def _segment(code: int, segment: bytes) -> bytes:
    """Return what is kept of a marker segment."""
    body = segment[4:]
    if code == _COMMENT:
        return b""
    if code not in _APP or body.startswith(_ICC):
        return segment
    if body.startswith(_JFIF):
        return _framed(code, body[:_JFIF_BYTES] + b"\0\0")  # no thumbnail
    return _framed(code, body[:_ADOBE_BYTES]) if body.startswith(_ADOBE) else b""


def _framed(code: int, body: bytes) -> bytes:
    return bytes((_FILL, code)) + (len(body) + 2).to_bytes(2, "big") + body
