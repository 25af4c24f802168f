"""Every picture is read back: codes by a decoder, letters by tesseract, edges by their pixels."""

from __future__ import annotations

import hashlib
import io
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any, Literal

import pytest
import zxingcpp
from PIL import Image, ImageDraw

from toolmark.generation.drawing.canvas import Canvas
from toolmark.generation.drawing.fonts import SUPERSAMPLING, Font, choose_font, fit_font, wrap_text
from toolmark.suites.m3.local import pictures
from toolmark.suites.m3.local.pictures import signs_and_shelves
from toolmark.suites.m3.local.pictures.sheet_photos import encode_png, render_on_desk

GOODS = (
    "Alder Juice", "Brook Tea", "Cedar Biscuits", "Dune Coffee", "Elm Honey", "Fern Soap",
    "Glade Rice", "Heath Oats", "Iris Pasta", "Juniper Salt", "Kelp Crackers", "Larch Oil 500 ml",
)  # fmt: skip
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct")
PRICES = [Decimal(f"{n}.{cents}") for n, cents in zip(range(1, 13), range(15, 99, 7), strict=True)]

KINDS: tuple[Literal["bar", "line", "pie"], ...] = ("bar", "line", "pie")

Drawn = tuple[bytes, str]


def _receipt(seed: int) -> Drawn:
    n = 3 + seed % 6
    lines = [(name, 1 + seed % 4, price) for name, price in zip(GOODS[:n], PRICES[:n], strict=True)]
    total = sum((number * price for _, number, price in lines), Decimal(0))
    picture = pictures.draw_receipt(
        random.Random(seed), shop="Corner Larder", lines=lines, total=total, date="2026-03-14"
    )
    return picture, f"Corner Larder {' '.join(GOODS[:n])} {total:.2f} 2026-03-14"


def _chart(seed: int) -> Drawn:
    n = 3 + seed % 7
    values = [random.Random(f"values {seed}").randint(10, 999) for _ in range(n)]
    picture = pictures.draw_chart(
        random.Random(seed),
        title="Crates packed",
        labels=MONTHS[:n],
        values=values,
        kind=KINDS[seed % 3],
    )
    return picture, f"Crates packed {' '.join(MONTHS[:n])} {' '.join(map(str, values))}"


def _slide(seed: int) -> Drawn:
    bullets = ["Open the second greenhouse", "Budget 12,400 for seed trays", "Report by June"]
    picture = pictures.draw_slide(random.Random(seed), title="Plan for spring", bullets=bullets)
    return picture, f"Plan for spring {' '.join(bullets)}"


def _form(seed: int) -> Drawn:
    fields = {"Name": "Marlo Ferrin", "Date": "2026-05-19", "Needs": "a long table by the window"}
    picture = pictures.draw_form(random.Random(seed), title="Room booking", fields=fields)
    return picture, f"Room booking {' '.join(f'{k} {v}' for k, v in fields.items())}"


def _rack(seed: int) -> Drawn:
    n = 3 + seed % 10
    goods = [(name, f"{price:.2f}") for name, price in zip(GOODS[:n], PRICES[:n], strict=True)]
    return pictures.draw_shelf(random.Random(seed), goods=goods), " ".join(
        f"{k} {v}" for k, v in goods
    )


def _board(seed: int) -> Drawn:
    lines = ["Tessa waters the plots", "Orin checks the pump", "Meeting at 18:30"]
    picture = pictures.draw_board(random.Random(seed), heading="Volunteer rota", lines=lines)
    return picture, f"Volunteer rota {' '.join(lines)}"


def _ticket(seed: int) -> Drawn:
    fields = {"Event": "Lantern Bay Ferry", "Date": "2026-07-03", "Time": "18:45", "Seat": "41"}
    fields |= {"Passenger": "Ilse Marrow"}
    return pictures.draw_ticket(random.Random(seed), fields=fields), " ".join(fields.values())


def _table(seed: int) -> Drawn:
    rows = [[name, f"{price:.2f}"] for name, price in zip(GOODS, PRICES, strict=True)]
    rows = rows[: 3 + seed % 10]
    picture = pictures.draw_table(
        random.Random(seed), title="Stock list", head=["Item", "Price"], rows=rows
    )
    return picture, "Stock list Item Price " + " ".join(f"{k} {v}" for k, v in rows)


def _qr(seed: int) -> Drawn:
    picture = pictures.draw_qr_code(
        random.Random(seed), text="x", caption="Scan for the opening hours"
    )
    return picture, "Scan for the opening hours"


def _barcode(seed: int) -> Drawn:
    picture = pictures.draw_barcode(
        random.Random(seed), digits="LOT-7731", caption="Fern soap, lavender"
    )
    return picture, "Fern soap lavender LOT-7731"


def _shapes(seed: int) -> Drawn:
    boxes = [("red", 100, 60, 200, 90), ("#2244aa", 320, 200, 50, 220)]
    return pictures.draw_shapes(random.Random(seed), boxes=boxes), "100 200 300 400"


SCENES: dict[str, Callable[[int], Drawn]] = {
    "draw_barcode": _barcode, "draw_board": _board, "draw_chart": _chart, "draw_form": _form,
    "draw_qr_code": _qr, "draw_receipt": _receipt, "draw_shapes": _shapes, "draw_shelf": _rack,
    "draw_slide": _slide, "draw_table": _table, "draw_ticket": _ticket,
}  # fmt: skip


@cache
def _scene(name: str, seed: int) -> Drawn:
    """Draw a picture once for all tests."""
    return SCENES[name](seed)


def _opened(picture: bytes) -> Image.Image:
    return Image.open(io.BytesIO(picture)).convert("RGB")


def _decoded(picture: bytes) -> list[tuple[str, str]]:
    return [(str(code.format), code.text) for code in zxingcpp.read_barcodes(_opened(picture))]


def test_every_scene_is_tried() -> None:
    assert set(SCENES) == set(pictures.__all__)


@pytest.mark.parametrize("name", SCENES)
def test_equal_seeds_give_equal_bytes_and_others_differ(name: str) -> None:
    pictures = [_scene(name, seed)[0] for seed in range(4)]
    assert [SCENES[name](seed)[0] for seed in range(2)] == pictures[:2]
    assert len(set(pictures)) >= 3


def test_bytes_are_the_same_in_another_process() -> None:
    code = (
        "import random, hashlib; from toolmark.suites.m3.local.pictures import draw_board; "
        "print(hashlib.sha256(draw_board(random.Random(5), heading='A', lines=['b'])).hexdigest())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = pictures.draw_board(random.Random(5), heading="A", lines=["b"])
    assert run.stdout.strip() == hashlib.sha256(here).hexdigest()


@pytest.mark.parametrize("name", SCENES)
def test_pictures_are_within_1024_pixels_and_half_a_megabyte(name: str) -> None:
    for seed in range(4):
        picture = _scene(name, seed)[0]
        assert 300 <= max(_opened(picture).size) <= 1024
        assert len(picture) < 600_000


@pytest.mark.parametrize("seed", range(12))
def test_qr_codes_read_back(seed: int) -> None:
    rng = random.Random(f"text {seed}")
    text = "".join(rng.choice("abc xyz/:.-0189AZé") for _ in range(rng.randint(1, 220))).strip()
    text = text or "x"
    caption = rng.choice(("", "Scan for the menu", "Visitor centre: scan for opening hours"))
    picture = pictures.draw_qr_code(random.Random(seed), text=text, caption=caption)
    assert [found for _, found in _decoded(picture)] == [text]


@pytest.mark.parametrize(
    ("digits", "kind"),
    [
        ("4006381333931", "EAN"),
        ("5901234123457", "EAN"),
        ("4006381333930", "128"),  # its check digit is wrong
        ("0012345678905", "128"),  # a UPC-A to some readers
        ("400638133393", "128"),
        ("7", "128"),
        ("LOT-7731 qx/9", "128"),
        ("ABCDEFGHIJ0123456789", "128"),
    ],
)
def test_barcodes_read_back_as_given(digits: str, kind: str) -> None:
    for seed in range(3):
        caption = ("", "Brook Tea 250 g", "Fern soap, lavender, three bars")[seed]
        picture = pictures.draw_barcode(random.Random(seed), digits=digits, caption=caption)
        ((form, found),) = _decoded(picture)
        assert found == digits
        assert kind in form.replace("-", "")


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}|\d[\d.:,-]*\d|\d+", text.lower()))


needs_tesseract = pytest.mark.skipif(
    shutil.which("tesseract") is None,
    reason="tesseract is not installed: apt-get install tesseract-ocr",
)


@needs_tesseract
@pytest.mark.parametrize("name", sorted(set(SCENES) - {"draw_shelf"}))
def test_letters_are_read_by_tesseract(name: str) -> None:
    read = wanted = 0
    for seed in range(2):
        picture, text = _scene(name, seed)
        page = _without_codes(_opened(picture))
        lacking = _words(text)
        wanted += len(lacking)
        for mode in ("11", "6", "3"):  # one way of finding lines misses what another finds
            if lacking:
                lacking -= _words(_recognised(page, mode))
        read += len(_words(text)) - len(lacking)
    assert read / wanted >= 0.85, f"{read} of {wanted} words"


@needs_tesseract
def test_price_labels_are_read_by_tesseract(monkeypatch: pytest.MonkeyPatch) -> None:
    # tesseract finds no lines on coloured packages: they are cut out for it, one below the other
    spots: list[tuple[float, float, float]] = []
    write = Canvas.text

    def text(sheet: Canvas, at: Any, said: str, font: Font, ink: Any, anchor: str = "la") -> None:
        assert anchor == "mm"
        spots.append((*at, font.text_width(said) / 2 + 5))
        write(sheet, at, said, font, ink, anchor)

    monkeypatch.setattr(Canvas, "text", text)
    monkeypatch.setattr(
        signs_and_shelves, "render_on_desk", lambda rng, sheet, **_: encode_png(sheet.image)
    )
    for seed in range(3):
        spots.clear()
        picture, said = _rack(seed)
        sheet = _opened(picture)
        page = Image.new("RGB", (500, 80 * len(spots)), "white")
        for row, (x, y, half) in enumerate(spots):
            box = [round(side * SUPERSAMPLING) for side in (x - half, y - 16, x + half, y + 16)]
            page.paste(sheet.crop((box[0], box[1], box[2], box[3])), (20, 80 * row + 8))
        lacking = _words(said) - _words(_recognised(page, "11", 1))
        assert len(lacking) <= 0.15 * len(_words(said)), lacking


def _without_codes(picture: Image.Image) -> Image.Image:
    """Paint over the codes, which tesseract takes for letters."""
    pen = ImageDraw.Draw(picture)
    for code in zxingcpp.read_barcodes(picture):
        spot = code.position
        corners = (spot.top_left, spot.top_right, spot.bottom_right, spot.bottom_left)
        pen.polygon([(corner.x, corner.y) for corner in corners], "white")
    return picture


def _recognised(page: Image.Image, mode: str, scale: int = 2) -> str:
    larger = io.BytesIO()
    size = (page.width * scale, page.height * scale)
    # in grey: in colour tesseract finds no letters on some grounds
    page.convert("L").resize(size, Image.Resampling.LANCZOS).save(larger, "PNG")
    done = subprocess.run(
        ["tesseract", "-", "-", "--psm", mode],
        input=larger.getvalue(), capture_output=True, check=True, timeout=120,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
    )  # fmt: skip
    return done.stdout.decode()


def test_sheet_lies_inside_the_picture() -> None:
    # a sheet of one colour with a rim: all four sides of the rim are in the picture
    for seed in range(8):
        sheet = Canvas(700, 500, (255, 0, 255))
        picture = _opened(render_on_desk(random.Random(seed), sheet, tilt=6))
        red, green, blue = picture.split()
        light = red.point([255 * (v > 120) for v in range(256)])
        dark = green.point([255 * (v < 60) for v in range(256)])
        box = Image.merge("RGB", (light, dark, blue)).split()
        found = Image.composite(box[0], Image.new("L", picture.size), box[1]).getbbox()
        assert found is not None
        assert min(found[0], found[1]) >= 10
        assert found[2] <= picture.width - 10
        assert found[3] <= picture.height - 10


@pytest.mark.parametrize(
    "draw",
    [
        lambda sheet: sheet.text((-3, 10), "word", Font(), (0, 0, 0)),
        lambda sheet: sheet.text((60, 10), "longer word", Font(), (0, 0, 0)),
        lambda sheet: sheet.text((10, 90), "word", Font(), (0, 0, 0)),
        lambda sheet: sheet.rectangle((10, 10, 101, 20), (0, 0, 0)),
        lambda sheet: sheet.text((10, 10), "日本", Font(), (0, 0, 0)),
    ],
)
def test_what_crosses_the_edge_or_has_no_letters_is_refused(draw: Any) -> None:
    with pytest.raises(ValueError):
        draw(Canvas(100, 100))


def test_text_that_was_folded_or_made_smaller_fits() -> None:
    text = "a text of some words that has to be folded over and over"
    for width in range(90, 400, 30):
        lines = wrap_text(text, Font(size=20), width)
        assert " ".join(lines) == text
        assert all(Font(size=20).text_width(line) <= width for line in lines)
    small = fit_font("Larch Olive Oil", Font(size=40), 150)
    assert small.text_width("Larch Olive Oil") <= 150
    with pytest.raises(ValueError, match="too long"):
        fit_font("Larch Olive Oil" * 3, Font(size=40), 150)


def test_codes_are_set_in_letters_that_cannot_be_confused() -> None:
    assert choose_font(Font(), "QX-77O1-l1I0").family == "mono"
    assert choose_font(Font(), "café").family == "mono"  # the plain font lacks it
    assert choose_font(Font(), "Brook Tea, 12.50").family == "plain"


def test_shapes_stand_exactly_where_they_are_asked() -> None:
    boxes = [("red", 100, 60, 200, 90), ("#2244aa", 250, 100, 50, 500), ("lime", 700, 0, 324, 10)]
    for seed in range(4):
        picture = _opened(pictures.draw_shapes(random.Random(seed), boxes=boxes))
        assert picture.size == (1024, 600)
        ground = picture.getpixel((400, 300))
        for at, colour in (
            ((100, 60), (255, 0, 0)), ((249, 149), (255, 0, 0)), ((99, 60), ground),
            ((250, 100), (34, 68, 170)), ((299, 599), (34, 68, 170)), ((300, 400), ground),
            ((1023, 9), (0, 255, 0)), ((1023, 10), ground), ((250, 99), (255, 0, 0)),
        ):  # fmt: skip
            assert picture.getpixel(at) == colour, at


@pytest.mark.parametrize(
    "call",
    [
        lambda rng: pictures.draw_qr_code(rng, text=""),
        lambda rng: pictures.draw_qr_code(rng, text="x" * 2000),
        lambda rng: pictures.draw_barcode(rng, digits=""),
        lambda rng: pictures.draw_barcode(rng, digits="é"),
        lambda rng: pictures.draw_barcode(rng, digits="1" * 21),
        lambda rng: pictures.draw_receipt(rng, shop="A", lines=[], total=Decimal(1)),
        lambda rng: pictures.draw_receipt(
            rng, shop="A", lines=[("Tea", 1, Decimal(1))] * 60, total=Decimal(60)
        ),
        lambda rng: pictures.draw_chart(rng, title="A", labels=["a"], values=[1, 2]),
        lambda rng: pictures.draw_chart(rng, title="A", labels=["a"] * 11, values=[1] * 11),
        lambda rng: pictures.draw_chart(rng, title="A", labels=["a"], values=[0], kind="pie"),
        lambda rng: pictures.draw_slide(rng, title="A", bullets=["long bullet " * 8] * 12),
        lambda rng: pictures.draw_form(rng, title="A", fields={}),
        lambda rng: pictures.draw_form(rng, title="A", fields={"B": "w" * 200}),
        lambda rng: pictures.draw_form(rng, title="A", fields={f"F{n}": "v" for n in range(60)}),
        lambda rng: pictures.draw_shelf(rng, goods=[]),
        lambda rng: pictures.draw_shelf(rng, goods=[("A", "1.00")] * 13),
        lambda rng: pictures.draw_shelf(rng, goods=[("A name without an end " * 5, "1.00")]),
        lambda rng: pictures.draw_board(rng, heading="A", lines=[]),
        lambda rng: pictures.draw_board(rng, heading="A", lines=["line"] * 60),
        lambda rng: pictures.draw_ticket(rng, fields={"A": "b"}),
        lambda rng: pictures.draw_ticket(rng, fields={f"F{n}": "v" for n in range(60)}),
        lambda rng: pictures.draw_table(rng, title="A", head=["a"], rows=[]),
        lambda rng: pictures.draw_table(rng, title="A", head=["a"], rows=[["b", "c"]]),
        lambda rng: pictures.draw_table(rng, title="A", head=["a"], rows=[["b"]] * 60),
        lambda rng: pictures.draw_shapes(rng, boxes=[("red", 1000, 0, 30, 30)]),
        lambda rng: pictures.draw_shapes(rng, boxes=[("red", 0, 0, 0, 30)]),
        lambda rng: pictures.draw_shapes(rng, boxes=[("reddish", 0, 0, 9, 30)]),
    ],
)
def test_what_does_not_fit_is_refused(call: Any) -> None:
    for seed in range(3):
        with pytest.raises(ValueError):
            call(random.Random(seed))
