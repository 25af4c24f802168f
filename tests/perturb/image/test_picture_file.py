"""Whatever a file holds, it becomes upright RGB within bounds, or is refused by name and reason."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, ImageDraw, PngImagePlugin

from toolmark.core.errors import DataError
from toolmark.perturb.image import picture_file

RED, BLUE = (250, 0, 0), (0, 0, 250)
ORIENTATION = 0x0112
FORMATS = picture_file.supported_formats()


def saved(image: Image.Image, kind: str, **more: object) -> bytes:
    out = BytesIO()
    image.save(out, kind, **more)
    return out.getvalue()


def dotted(width: int = 96, height: int = 64) -> Image.Image:
    """Return a blue picture whose upper left quarter is red."""
    image = Image.new("RGB", (width, height), BLUE)
    ImageDraw.Draw(image).rectangle((0, 0, width // 2 - 1, height // 2 - 1), RED)
    return image


def near(image: Image.Image, at: tuple[int, int], colour: tuple[int, ...], by: int = 12) -> bool:
    pixel = image.getpixel(at)
    assert isinstance(pixel, tuple)
    return all(abs(one - other) <= by for one, other in zip(pixel, colour, strict=True))


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def bomb(side: int) -> bytes:
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def wordy() -> bytes:
    """Return a whole picture with 5 MB of words beside it."""
    words = PngImagePlugin.PngInfo()
    words.add_text("Comment", "word " * 1_000_000, zip=True)
    return saved(dotted(), "PNG", pnginfo=words)


def tiff(bits: int, kind: int) -> bytes:
    """Return a TIFF of 1 x 1 in RGB; of the kinds of numbers 1 is whole ones, 3 floats."""
    tags = [(256, 1), (257, 1), (258, 158), (259, 1), (262, 2), (273, 170), (277, 3), (278, 1),
            (279, 3 * bits // 8), (339, 164)]  # fmt: skip
    counts = {258: 3, 339: 3}
    body = b"".join(struct.pack("<HHII", n, 3, counts.get(n, 1), value) for n, value in tags)
    head = b"II*\0" + struct.pack("<IH", 8, len(tags)) + body + bytes(4)
    assert len(head) == 134
    return head + bytes(24) + struct.pack("<6H", *[bits] * 3, *[kind] * 3) + bytes(3 * bits // 8)


REFUSED = {
    "empty": (b"", "empty file"),
    "words": (b"not a picture at all, but words", "no picture that can be read"),
    "vector": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "no picture that can be read"),
    "head alone": (saved(dotted(), "PNG")[:40], "no picture that can be read"),
    "half": (saved(dotted(), "JPEG")[:400], "damaged picture"),
    "bomb": (bomb(60_000), "more than 64 million pixels"),
    "smaller bomb": (bomb(12_000), "more than 64 million pixels"),
    "small bomb": (bomb(8_001), "more than 64 million pixels"),
    "float": (saved(Image.new("F", (4, 4), 0.5), "TIFF"), "32-bit pixels"),
    "words beside it": (wordy(), "too much text next to the pixels"),
    "coloured float": (tiff(32, 3), "32-bit pixels or floating point"),
    "half a float": (tiff(16, 3), "32-bit pixels or floating point"),
    "coloured long": (tiff(32, 1), "32-bit pixels or floating point"),
    "long": (saved(Image.new("I", (4, 4), 1 << 20), "TIFF"), "32-bit pixels"),
}


def test_what_the_library_reads_of_the_usual_kinds_is_read() -> None:
    always = {"PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "JPEG2000", "PPM"}
    assert set(FORMATS) == always | ({"AVIF"} & set(Image.OPEN))
    assert {".jpg", ".jfif", ".jp2", ".tif", ".webp", ".ppm"} <= set(
        picture_file.supported_suffixes()
    )


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_named_with_its_reason(name: str) -> None:
    data, why = REFUSED[name]
    for ask in (picture_file.decode_picture, picture_file.picture_size):
        if ask is picture_file.picture_size and name in ("half", "float", "long"):
            continue  # their heads are whole, and tell the size
        with pytest.raises(DataError, match=f"^holiday.png: .*{why}"):
            ask(data, "holiday.png")


@pytest.mark.parametrize("kind", FORMATS)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_a_cut_file_is_refused_or_whole(kind: str, data: st.DataObject) -> None:
    whole = saved(dotted(), kind)
    part = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        found = picture_file.decode_picture(part, "cut")
    except DataError as error:
        assert str(error).startswith("cut: ")
    else:  # only what stands behind the pixels was lost
        assert found.tobytes() == picture_file.decode_picture(whole, "whole").tobytes()


def test_a_jpeg_2000_that_ends_anywhere_before_its_end_is_refused() -> None:
    whole = saved(dotted(), "JPEG2000")
    for n in range(0, len(whole) - 1, 7):
        with pytest.raises(DataError, match=r"^cut: "):
            picture_file.decode_picture(whole[:n], "cut")


@pytest.mark.parametrize("kind", FORMATS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_damaged_file_never_fails_in_another_way(kind: str, data: st.DataObject) -> None:
    whole = bytearray(saved(dotted(), kind))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = picture_file.decode_picture(bytes(whole), "odd")
    except DataError as error:
        assert str(error).startswith("odd: ")
    else:
        assert found.mode == "RGB" and max(found.size) <= picture_file.MAX_SIDE_PX


@pytest.mark.parametrize("kind", FORMATS)
def test_one_pixel_is_a_picture(kind: str) -> None:
    found = picture_file.decode_picture(saved(Image.new("RGB", (1, 1), RED), kind), "dot")
    assert found.size == (1, 1) and near(found, (0, 0), RED)


@pytest.mark.parametrize("kind", sorted({"PNG", "JPEG", "WEBP", "TIFF", "AVIF"} & {*FORMATS}))
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_is_turned_upright(kind: str, orientation: int) -> None:
    flips = {
        2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }  # fmt: skip
    stored = dotted().transpose(flips[orientation]) if orientation in flips else dotted()
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    data = saved(stored, kind, exif=exif)
    found = picture_file.decode_picture(data, "turned")
    assert found.size == picture_file.picture_size(data, "turned") == (96, 64)
    assert (
        near(found, (20, 14), RED) and near(found, (70, 14), BLUE) and near(found, (20, 50), BLUE)
    )


def test_colours_of_print_are_read() -> None:
    for kind in ("JPEG", "TIFF"):
        found = picture_file.decode_picture(saved(dotted().convert("CMYK"), kind), "print")
        assert found.mode == "RGB" and near(found, (20, 14), RED) and near(found, (70, 50), BLUE)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "JPEG2000", "PPM"])
def test_sixteen_bits_keep_their_brightness(kind: str) -> None:
    ramp = np.linspace(0, 0xFFFF, 256).astype(np.uint16).reshape(1, -1).repeat(4, 0)
    found = np.asarray(picture_file.decode_picture(saved(Image.fromarray(ramp), kind), "deep"))
    assert found.shape == (4, 256, 3)
    assert np.array_equal(found[0, :, 0], np.arange(256)) and np.ptp(found, axis=2).max() == 0


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "TIFF"])
def test_the_first_frame_of_an_animation_counts(kind: str) -> None:
    other = Image.new("RGB", (96, 64), (0, 200, 0))
    data = saved(dotted(), kind, save_all=True, append_images=[other])
    assert Image.open(BytesIO(data)).n_frames == 2  # type: ignore[attr-defined]
    assert near(picture_file.decode_picture(data, "film"), (20, 14), RED, 30)


def test_what_is_transparent_lies_on_white() -> None:
    clear = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    clear.putpixel((2, 2), (*RED, 255))
    palette = clear.convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE)
    nothing = palette.getpixel((0, 0))
    grey = Image.new("LA", (8, 8), (0, 0))
    for data, at in (
        (saved(clear, "PNG"), RED), (saved(clear, "WEBP", lossless=True), RED),
        (saved(palette, "PNG", transparency=nothing), RED),
        (saved(palette, "GIF", transparency=nothing), RED), (saved(grey, "PNG"), None),
    ):  # fmt: skip
        found = picture_file.decode_picture(data, "clear")
        assert found.getpixel((7, 7)) == (255, 255, 255)
        assert at is None or near(found, (2, 2), at)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "CMYK", "YCbCr"])
def test_large_pictures_are_bounded_in_every_mode(mode: str) -> None:
    large = dotted(4000, 1000).convert("RGB").convert(mode)
    kind = "TIFF" if mode in ("1", "P", "YCbCr") else "JPEG"
    found = picture_file.decode_picture(saved(large, kind), "large")
    assert found.size == (picture_file.MAX_SIDE_PX, 384) and found.mode == "RGB"
    thin = picture_file.decode_picture(saved(Image.new("L", (1, 9000)), "PNG"), "thin")
    assert thin.size == (1, picture_file.MAX_SIDE_PX)


def test_small_pictures_keep_every_pixel() -> None:
    exact = dotted(picture_file.MAX_SIDE_PX, 40)
    assert picture_file.decode_picture(saved(exact, "PNG"), "exact").tobytes() == exact.tobytes()


def test_the_content_tells_what_it_is_and_not_the_name() -> None:
    assert picture_file.decode_picture(saved(dotted(), "JPEG"), "really.png").size == (96, 64)


def test_nothing_but_the_pixels_is_passed_on() -> None:
    exif = Image.Exif()
    exif[0x010E] = "SECRET-PLACE"
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    words = PngImagePlugin.PngInfo()
    words.add_text("Comment", "SECRET-PLACE")
    for data in (
        saved(dotted(), "JPEG", exif=exif, icc_profile=profile, comment="SECRET-PLACE"),
        saved(dotted(), "PNG", exif=exif, icc_profile=profile, pnginfo=words),
        saved(dotted(), "WEBP", exif=exif, icc_profile=profile, xmp=b"<x>SECRET-PLACE</x>"),
    ):
        assert b"SECRET-PLACE" in data or b"Exif" in data
        image = picture_file.decode_picture(data, "told")
        for mime in (picture_file.JPEG, picture_file.PNG, picture_file.WEBP):
            made = picture_file.encode_picture(image, mime)
            assert b"SECRET-PLACE" not in made and b"Exif" not in made
            assert not set(Image.open(BytesIO(made)).info) & {"exif", "icc_profile", "comment"}


def test_edges_are_stored_exactly_and_the_rest_as_jpeg() -> None:
    image = dotted()
    for name, mime in (
        ("edges", "image/png"),
        ("edges=50/150", "image/png"),
        ("base", "image/jpeg"),
    ):
        data, reported = picture_file.encode_variation(image, name)
        assert reported == mime == Image.open(BytesIO(data)).get_format_mimetype()
    assert (
        Image.open(BytesIO(picture_file.encode_variation(image, "edges")[0])).tobytes()
        == image.tobytes()
    )
    assert (
        Image.open(BytesIO(picture_file.encode_picture(image, picture_file.WEBP))).tobytes()
        == image.tobytes()
    )
