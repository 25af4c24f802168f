"""Decode and encode pictures: upright, RGB, limited in size, without metadata.

The format comes from the content of a file, never from its name. Only formats that Pillow reads
without starting another program are opened, and no picture is decoded before its size is known.
"""

from __future__ import annotations

import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image, ImageOps, TiffImagePlugin, UnidentifiedImageError

from toolmark.core.errors import DataError

MAX_SIDE_PX = 1536
"""The most pixels of the longer side. With this limit, settings in pixels, such as the blur before
edge detection, mean the same on every picture."""
MAX_PIXELS = 64_000_000
MAX_BYTES = 2**28
JPEG_QUALITY = 92
JPEG, PNG, WEBP = "image/jpeg", "image/png", "image/webp"

_READ_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM")
_SIDEWAYS_ORIENTATIONS = (5, 6, 7, 8)  # EXIF orientations that swap width and height
_WHITE = (255, 255, 255, 255)
_FLOAT_FORMAT = 3  # TIFF's sample format of floats
_MAX_REASON_CHARS = 120  # characters of a library's message
_DEEP_MESSAGE = "32-bit pixels or floating point: save it with 8 or 16 bits a channel"


def read_picture_bytes(path: Path, name: str) -> bytes:
    """Return the bytes of a file. Raises DataError with the name and the reason.

    Only regular files of at most MAX_BYTES are read: others may never end. The name must be text
    that can be stored in a record.
    """
    try:
        name.encode()
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{name}: no regular file")
        if status.st_size > MAX_BYTES:
            raise DataError(f"{name}: larger than {MAX_BYTES >> 20} MB")
        return path.read_bytes()
    except UnicodeEncodeError:
        raise DataError(f"{printable_name(name)}: its name is not UTF-8: rename it") from None
    except ValueError as error:  # the name is not possible for a file
        raise DataError(f"{name}: {error}") from None
    except OSError as error:
        broken_link = isinstance(error, FileNotFoundError) and path.is_symlink()
        why = "a link to nothing" if broken_link else error.strerror
        raise DataError(f"{name}: cannot read: {why}") from None


def printable_name(name: str) -> str:
    r"""Return the name of a file as text; bytes that are not UTF-8 are written as \udcXX."""
    return name.encode(errors="backslashreplace").decode()


def decode_picture(data: bytes, name: str) -> Image.Image:
    """Return the picture in RGB, upright, with white where it was transparent.

    Its longer side is at most MAX_SIDE_PX pixels. An animation gives its first frame. 16-bit greys
    are scaled to 8 bits. EXIF, profile and comments are dropped. Raises DataError with the name and
    the reason for a file that is not a picture, is damaged or too large, or whose white level is
    not known.
    """
    with _open_picture(data, name) as image:
        if image.format == "JPEG2000" and not _has_codestream_end(data):
            raise DataError(f"{name}: damaged picture: the file ends before its pixels do")
        bound = (MAX_SIDE_PX, MAX_SIDE_PX)
        image.draft("RGB", bound)  # decodes a JPEG of at least twice this size at half its size
        pixels = _to_rgb(_to_8_bit(image, name))
        if max(pixels.size) > MAX_SIDE_PX:
            pixels.thumbnail(bound, Image.Resampling.LANCZOS, reducing_gap=3.0)
        upright = ImageOps.exif_transpose(pixels)  # a copy, also if nothing is turned
    upright.info.clear()
    return upright


def _has_codestream_end(data: bytes) -> bool:
    """Return whether a JPEG 2000 codestream has its end marker behind its last tile part.

    The decoder reads a cut file without an error and leaves the missing pixels black. Both markers
    cannot stand in compressed data (ISO/IEC 15444-1, annex A).
    """
    return data.rfind(b"\xff\xd9") > data.rfind(b"\xff\x93") >= 0


def picture_size(data: bytes, name: str) -> tuple[int, int]:
    """Return (width, height) of the upright picture. Raises DataError as `decode_picture` does."""
    with _open_picture(data, name) as image:
        if image.format == "TIFF":
            image.load()  # Pillow turns TIFF pictures, and no others, when it loads them
        width, height = image.size
        return (height, width) if _orientation(image) in _SIDEWAYS_ORIENTATIONS else (width, height)


def encode_variation(image: Image.Image, name: str) -> tuple[bytes, str]:
    """Return bytes and MIME type of a variation's picture: PNG for edges, else JPEG.

    Thin white lines cause artefacts in a JPEG; as a lightly compressed PNG they are quick and
    small.
    """
    mime = variation_mime(name)
    return encode_picture(image, mime), mime


def variation_mime(name: str) -> str:
    """Return the MIME type of the pictures of a variation."""
    return PNG if name.partition("=")[0] == "edges" else JPEG


def encode_picture(image: Image.Image, mime: str) -> bytes:
    """Return the bytes of a picture as a JPEG, a PNG or a lossless WebP, without metadata."""
    out = BytesIO()
    match mime:
        case "image/png":
            image.save(out, "PNG", compress_level=1)
        case "image/webp":
            image.save(out, "WEBP", lossless=True, quality=0)
        case _:
            image.save(out, "JPEG", quality=JPEG_QUALITY)
    return out.getvalue()


@contextmanager
def _open_picture(data: bytes, name: str) -> Iterator[Image.Image]:
    """Open a picture, which is read lazily; errors of the library become a DataError."""
    if not data:
        raise DataError(f"{name}: empty file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            # they are about metadata, which is dropped
            warnings.filterwarnings("ignore", module="PIL")
            with _open_image(data, name) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise Image.DecompressionBombError
                yield image
    except DataError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        limit = f"{MAX_PIXELS // 1_000_000} million"
        raise DataError(f"{name}: more than {limit} pixels; make it smaller") from None
    except UnidentifiedImageError:
        raise DataError(
            f"{name}: no picture that can be read (known: {', '.join(supported_formats())})"
        ) from None
    except Exception as error:  # decoders fail in many ways on files from unknown sources
        if "MAX_TEXT" in str(error):
            raise DataError(f"{name}: too much text next to the pixels; save it without") from None
        why = " ".join(str(error).split())[:_MAX_REASON_CHARS] or type(error).__name__
        raise DataError(f"{name}: damaged picture: {why}") from None


@cache
def supported_formats() -> tuple[str, ...]:
    """Return the formats that can be read: the ones above that this Pillow build supports."""
    Image.init()
    return tuple(kind for kind in _READ_FORMATS if kind in Image.OPEN)


@cache
def supported_suffixes() -> tuple[str, ...]:
    """Return the file suffixes of the supported formats, in lower case."""
    return tuple(
        sorted(
            end
            for end, kind in Image.registered_extensions().items()
            if kind in supported_formats()
        )
    )


def _open_image(data: bytes, name: str) -> Image.Image:
    """Open a picture. Raises DataError for a bit depth that Pillow does not support."""
    try:
        return Image.open(BytesIO(data), formats=supported_formats())
    except UnidentifiedImageError:
        if data.startswith((b"II*\0", b"MM\0*")) and _is_deep(data):
            raise DataError(f"{name}: {_DEEP_MESSAGE}") from None
        raise


def _is_deep(tiff: bytes) -> bool:
    """Return whether channels have more than 16 bits or are floats."""
    tags = TiffImagePlugin.ImageFileDirectory_v2(tiff[:8])
    stream = BytesIO(tiff)
    stream.seek(tags.next)
    tags.load(stream)
    bits = tags.get(TiffImagePlugin.BITSPERSAMPLE, (1,))
    return max(bits) > 16 or _FLOAT_FORMAT in tags.get(TiffImagePlugin.SAMPLEFORMAT, ())


def _orientation(image: Image.Image) -> int:
    return int(image.getexif().get(ExifTags.Base.Orientation, 1))


def _to_8_bit(image: Image.Image, name: str) -> Image.Image:
    """Return the picture with 8 bits per channel. Raises DataError if its white is not known."""
    if not image.mode.startswith(("I", "F")):
        return image
    values = np.asarray(image)
    if image.mode == "F" or values.min() < 0 or values.max() > 0xFFFF:
        raise DataError(f"{name}: {_DEEP_MESSAGE}")
    plain = Image.fromarray((values >> 8).astype(np.uint8))
    plain.info = image.info
    return plain


def _to_rgb(image: Image.Image) -> Image.Image:
    """Return the picture in RGB, transparent parts white; the same object if it is RGB."""
    if not image.has_transparency_data:
        image.load()
        return image if image.mode == "RGB" else image.convert("RGB")
    with_alpha = image.convert("RGBA")
    below = Image.new("RGBA", with_alpha.size, _WHITE)
    plain = Image.alpha_composite(below, with_alpha).convert("RGB")
    plain.info = image.info
    return plain
