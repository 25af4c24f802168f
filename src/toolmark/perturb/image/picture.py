"""From bytes to a picture and back: upright, RGB, bounded in size, with nothing hidden beside it.

What a file is goes by its content, never by its name. Only formats that Pillow reads without
starting another program are opened, and no picture is decoded before its size is known.
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

from toolmark.errors import DataError

LONGEST = 1536
"""The most pixels of the longer side: what is in pixels, such as the blur before edge detection,
then means the same on every picture."""
MOST_PIXELS = 64_000_000
MOST_BYTES = 2**28
QUALITY = 92
JPEG, PNG, WEBP = "image/jpeg", "image/png", "image/webp"

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000", "PPM")
_SIDEWAYS = (5, 6, 7, 8)  # orientations of EXIF that swap width and height
_WHITE = (255, 255, 255, 255)
_FLOAT = 3  # of TIFF's sample formats
_SHOWN = 120  # characters of a library's own words
_DEEP = "32-bit pixels or floating point: save it with 8 or 16 bits a channel"


def load(path: Path, name: str) -> bytes:
    """Return the bytes of a file. Raises DataError, with the name and why.

    Only regular files of at most MOST_BYTES are read: others may never end. The name must be text
    that a record can hold.
    """
    try:
        name.encode()
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise DataError(f"{name}: no regular file")
        if about.st_size > MOST_BYTES:
            raise DataError(f"{name}: larger than {MOST_BYTES >> 20} MB")
        return path.read_bytes()
    except UnicodeEncodeError:
        raise DataError(f"{plain(name)}: its name is not UTF-8: rename it") from None
    except ValueError as error:  # a name that no file can have
        raise DataError(f"{name}: {error}") from None
    except OSError as error:
        lost = isinstance(error, FileNotFoundError) and path.is_symlink()
        why = "a link to nothing" if lost else error.strerror
        raise DataError(f"{name}: cannot read: {why}") from None


def plain(name: str) -> str:
    r"""Return the name of a file as text; of one that is not UTF-8 with its bytes as \udcXX."""
    return name.encode(errors="backslashreplace").decode()


def read(data: bytes, name: str) -> Image.Image:
    """Return the picture in RGB, upright, on white where it was transparent.

    Its longer side is at most LONGEST; of an animation it is the first frame; 16-bit greys are
    scaled to 8 bits. Nothing but the pixels is kept: EXIF, profile and comments are dropped.
    Raises DataError, with the name and why, for what is no picture, damaged, too large, or of a
    kind whose white is not known.
    """
    with _opened(data, name) as image:
        bound = (LONGEST, LONGEST)
        image.draft("RGB", bound)  # a JPEG of twice the size and more is decoded at half of it
        plain = _rgb(_levelled(image, name))
        if max(plain.size) > LONGEST:
            plain.thumbnail(bound, Image.Resampling.LANCZOS, reducing_gap=3.0)
        upright = ImageOps.exif_transpose(plain)  # a copy, also where nothing is to be turned
    upright.info.clear()
    return upright


def size(data: bytes, name: str) -> tuple[int, int]:
    """Return the (width, height) of the upright picture in the file. Raises DataError as `read`."""
    with _opened(data, name) as image:
        if image.format == "TIFF":
            image.load()  # which turns these, and no others, already
        width, height = image.size
        return (height, width) if _orientation(image) in _SIDEWAYS else (width, height)


def encode(image: Image.Image, name: str) -> tuple[bytes, str]:
    """Return bytes and MIME type of the picture of a variation: JPEG, but PNG for edges.

    Thin white lines would ring as a JPEG; compressed lightly they are quick and small as a PNG.
    """
    mime = kind(name)
    return written(image, mime), mime


def kind(name: str) -> str:
    """Return the MIME type of the pictures of a variation."""
    return PNG if name.partition("=")[0] == "edges" else JPEG


def written(image: Image.Image, mime: str) -> bytes:
    """Return the bytes of a picture as a JPEG, a PNG or a lossless WebP, without metadata."""
    out = BytesIO()
    match mime:
        case "image/png":
            image.save(out, "PNG", compress_level=1)
        case "image/webp":
            image.save(out, "WEBP", lossless=True, quality=0)
        case _:
            image.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


@contextmanager
def _opened(data: bytes, name: str) -> Iterator[Image.Image]:
    """Open what is read lazily; whatever the library says meanwhile becomes a DataError."""
    if not data:
        raise DataError(f"{name}: empty file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.filterwarnings("ignore", module="PIL")  # of metadata, which are not kept
            with _found(data, name) as image:
                if image.width * image.height > MOST_PIXELS:
                    raise Image.DecompressionBombError
                yield image
    except DataError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        most = f"{MOST_PIXELS // 1_000_000} million"
        raise DataError(f"{name}: more than {most} pixels; make it smaller") from None
    except UnidentifiedImageError:
        raise DataError(
            f"{name}: no picture that can be read (known: {', '.join(formats())})"
        ) from None
    except Exception as error:  # decoders fail in many ways on what strangers write
        if "MAX_TEXT" in str(error):
            raise DataError(f"{name}: too much text beside the pixels; save it without") from None
        why = " ".join(str(error).split())[:_SHOWN] or type(error).__name__
        raise DataError(f"{name}: damaged picture: {why}") from None


@cache
def formats() -> tuple[str, ...]:
    """Return the formats that are read: of ours those that this build of the library knows."""
    Image.init()
    return tuple(kind for kind in _FORMATS if kind in Image.OPEN)


@cache
def suffixes() -> tuple[str, ...]:
    """Return how names of such pictures end, in lower case."""
    return tuple(
        sorted(end for end, kind in Image.registered_extensions().items() if kind in formats())
    )


def _found(data: bytes, name: str) -> Image.Image:
    """Open what is read. Raises DataError for what is too deep to be known to the library."""
    try:
        return Image.open(BytesIO(data), formats=formats())
    except UnidentifiedImageError:
        if data.startswith((b"II*\0", b"MM\0*")) and _deep(data):
            raise DataError(f"{name}: {_DEEP}") from None
        raise


def _deep(tiff: bytes) -> bool:
    """Tell whether channels have more than 16 bits or are floats."""
    tags = TiffImagePlugin.ImageFileDirectory_v2(tiff[:8])
    stream = BytesIO(tiff)
    stream.seek(tags.next)
    tags.load(stream)
    bits = tags.get(TiffImagePlugin.BITSPERSAMPLE, (1,))
    return max(bits) > 16 or _FLOAT in tags.get(TiffImagePlugin.SAMPLEFORMAT, ())


def _orientation(image: Image.Image) -> int:
    return int(image.getexif().get(ExifTags.Base.Orientation, 1))


def _levelled(image: Image.Image, name: str) -> Image.Image:
    """Return the picture in 8 bits a channel. Raises DataError where white is not known."""
    if not image.mode.startswith(("I", "F")):
        return image
    values = np.asarray(image)
    if image.mode == "F" or values.min() < 0 or values.max() > 0xFFFF:
        raise DataError(f"{name}: {_DEEP}")
    plain = Image.fromarray((values >> 8).astype(np.uint8))
    plain.info = image.info
    return plain


def _rgb(image: Image.Image) -> Image.Image:
    """Return the picture in RGB, what is transparent on white; itself where it is so already."""
    if not image.has_transparency_data:
        image.load()
        return image if image.mode == "RGB" else image.convert("RGB")
    clear = image.convert("RGBA")
    below = Image.new("RGBA", clear.size, _WHITE)
    plain = Image.alpha_composite(below, clear).convert("RGB")
    plain.info = image.info
    return plain
