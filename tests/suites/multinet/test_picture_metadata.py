"""What is sent of a picture are its pixels: they stay as they are, and nothing is said beside."""

from __future__ import annotations

import zlib
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ExifTags, Image, PngImagePlugin

from toolmark.core.errors import DataError
from toolmark.suites.multinet import picture_metadata
from toolmark.suites.multinet.loaded_rows import prepare_picture

SECRET = b"Label: cat"
NOISE = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)


def saved(kind: str, values: Any = NOISE, **more: Any) -> bytes:
    out = BytesIO()
    Image.fromarray(values).save(out, kind, **more)
    return out.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    sum = zlib.crc32(name + data).to_bytes(4, "big")
    return len(data).to_bytes(4, "big") + name + data + sum


def segment(code: int, data: bytes) -> bytes:
    return bytes((0xFF, code)) + (len(data) + 2).to_bytes(2, "big") + data


def png(values: Any = NOISE, **more: Any) -> bytes:
    """A PNG with words in every place that there is."""
    said = PngImagePlugin.PngInfo()
    said.add_text("Comment", SECRET.decode())
    said.add_itxt("XML:com.adobe.xmp", SECRET.decode())
    data = saved("PNG", values, pnginfo=said, exif=exif(), dpi=(72, 72), **more)
    end = chunk(b"IEND", b"")
    assert data.endswith(end)
    return data.removesuffix(end) + chunk(b"prVt", SECRET) + end + SECRET


def jpeg(values: Any = NOISE, **more: Any) -> bytes:
    data = saved("JPEG", values, comment=SECRET, exif=exif(), **more)
    thumbnail = segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\1\1" + SECRET[:3])
    return data[:2] + thumbnail + segment(0xE0, b"JFXX\0" + SECRET) + data[2:] + SECRET


def exif(turned: int = 1) -> Image.Exif:
    made = Image.Exif()
    made[ExifTags.Base.ImageDescription] = SECRET.decode()
    made[ExifTags.Base.Orientation] = turned
    return made


def decoded(data: bytes) -> Any:
    return np.asarray(Image.open(BytesIO(data)))


GREY = NOISE[..., 0]
CLEAR = np.dstack([NOISE, GREY])


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (png(), "image/png"), (png(GREY), "image/png"), (png(CLEAR), "image/png"),
        (png(GREY, transparency=7), "image/png"), (jpeg(), "image/jpeg"),
        (jpeg(GREY), "image/jpeg"), (jpeg(progressive=True), "image/jpeg"),
        (jpeg(restart_marker_blocks=1), "image/jpeg"), (jpeg(subsampling=0), "image/jpeg"),
        (jpeg(CLEAR.astype(np.uint8)[..., :3], quality=100), "image/jpeg"),
    ],
)  # fmt: skip
def test_pixels_stay_and_words_go(data: bytes, mime: str) -> None:
    assert SECRET in data
    found = prepare_picture(data, "x")
    assert found.mime == mime
    assert SECRET not in found.data and SECRET[:3] not in found.data
    assert np.array_equal(decoded(found.data), decoded(data))
    assert {*Image.open(BytesIO(found.data)).info} <= {
        "transparency", "jfif", "jfif_version", "jfif_unit", "jfif_density", "progressive",
        "progression",
    }  # fmt: skip
    assert prepare_picture(found.data, "x") == found, "what holds nothing more is sent as it is"


def test_colours_of_four_inks_keep_what_says_how_they_are_mixed() -> None:
    out = BytesIO()
    Image.fromarray(CLEAR, "RGBA").convert("RGB").convert("CMYK").save(out, "JPEG", comment=SECRET)
    found = prepare_picture(out.getvalue(), "x").data
    assert SECRET not in found and np.array_equal(decoded(found), decoded(out.getvalue()))


def test_a_profile_of_colours_is_preserved() -> None:
    for kind in ("PNG", "JPEG"):
        data = saved(kind, icc_profile=b"colours" * 20)
        assert (
            Image.open(BytesIO(prepare_picture(data, "x").data)).info["icc_profile"]
            == b"colours" * 20
        )


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@pytest.mark.parametrize("turned", range(2, 9))
def test_a_picture_that_is_to_be_turned_is_sent_upright(kind: str, turned: int) -> None:
    from toolmark.perturb.image import picture_file

    data = saved(kind, exif=exif(turned))
    found = prepare_picture(data, "x")
    assert found.mime == "image/png" and SECRET not in found.data
    assert np.array_equal(decoded(found.data), np.asarray(picture_file.decode_picture(data, "x")))


def test_other_kinds_become_png_without_a_word() -> None:
    for kind, more in (("WEBP", {"exif": exif(), "lossless": True}), ("BMP", {}),
                       ("GIF", {"comment": SECRET})):  # fmt: skip
        found = prepare_picture(saved(kind, **more), "x")
        assert found.mime == "image/png" and SECRET not in found.data


@given(st.data())
def test_changed_bytes_are_refused_or_read_with_the_same_pixels(data: st.DataObject) -> None:
    from toolmark.perturb.image import picture_file

    whole = bytearray(data.draw(st.sampled_from((png(NOISE[:8, :8]), jpeg(NOISE[:8, :8])))))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    changed = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        found = prepare_picture(changed, "x")
    except DataError:
        return
    assert picture_file.decode_picture(found.data, "x") == picture_file.decode_picture(changed, "x")


@given(st.binary(max_size=80), st.sampled_from((picture_metadata.PNG, picture_metadata.JPEG)))
def test_what_has_no_parts_has_no_picture_either(tail: bytes, head: bytes) -> None:
    found = picture_metadata.strip_metadata(head + tail)
    assert found == b"" or len(found) <= len(head + tail)
