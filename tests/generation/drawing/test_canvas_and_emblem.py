"""What is drawn on a plane lies where it is said to lie; every symbol and letter is its own."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.generation.drawing import emblem
from toolmark.generation.drawing.canvas import Canvas
from toolmark.generation.drawing.fonts import Family, Font, choose_font
from toolmark.generation.drawing.perspective import Plane, inverse_projection

FAMILIES: tuple[Family, ...] = ("plain", "mono", "serif", "wide", "round", "hand")
NUDGE = st.floats(-40, 40)


@given(
    nudges=st.tuples(*[NUDGE] * 8),
    spot=st.tuples(st.floats(0, 300), st.floats(0, 200)),
)
def test_a_point_of_a_plane_is_led_back_to_where_it_came_from(
    nudges: tuple[float, ...], spot: tuple[float, float]
) -> None:
    a, b, c, d, e, f, g, h = nudges
    corners = ((a, b), (300 + c, d), (300 + e, 200 + f), (g, 200 + h))
    # what is seen from its edge has no way back
    if abs((a - c) * (d - f) - (b - d) * (c - e)) < 1e-3 * 300:
        corners = ((a, b), (301 + a, b), (301 + a, 203 + b), (a, 203 + b))
    x, y = Plane((300.0, 200.0), corners).to_picture(*spot)
    k = inverse_projection(corners, (300, 200))
    depth = k[6] * x + k[7] * y + 1
    again = ((k[0] * x + k[1] * y + k[2]) / depth, (k[3] * x + k[4] * y + k[5]) / depth)
    assert again == pytest.approx(spot, abs=0.05)


def test_corners_of_a_plane_are_its_corners() -> None:
    corners = ((3.0, 5.0), (90.0, 1.0), (97.0, 70.0), (0.0, 64.0))
    found = Plane((40.0, 20.0), corners).rectangle_corners(0, 0, 40, 20)
    assert sum(found, ()) == pytest.approx(sum(corners, ()))


def test_every_symbol_is_another_picture() -> None:
    seen = set()
    for charge in emblem.CHARGES:
        for shape in emblem.SHAPES:
            sheet = Canvas(80, 80)
            emblem.draw_emblem(
                sheet, emblem.parse_emblem(f"red {charge} on a white {shape}"), (40, 40), 30
            )
            seen.add(hashlib.sha256(sheet.image.tobytes()).hexdigest())
    assert len(seen) == len(emblem.CHARGES) * len(emblem.SHAPES)


@pytest.mark.parametrize("ink", emblem.COLOURS)
def test_a_symbol_has_its_colours_and_stays_in_its_place(ink: str) -> None:
    field = "white" if ink != "white" else "blue"
    for charge in emblem.CHARGES:
        sheet = Canvas(80, 80, (1, 2, 3))
        emblem.draw_emblem(
            sheet, emblem.parse_emblem(f"a {ink} {charge} on a {field} square"), (40, 40), 30
        )
        raw = sheet.image.tobytes()
        share = raw.count(bytes(emblem.COLOURS[ink])) / (160 * 160)
        assert share > 0.02
        # the charge never leaves its field
        around = {sheet.image.getpixel((x, y)) for x in range(160) for y in (12, 147)}
        assert around == {(1, 2, 3)}


def test_words_of_a_symbol_are_read() -> None:
    said = emblem.parse_emblem("a yellow star on a blue shield")
    assert said == emblem.Emblem("star", "yellow", "shield", "blue")
    assert emblem.parse_emblem("anchor on a red circle").ink == "white"
    assert emblem.parse_emblem("white anchor on a circle").field == "blue"


@pytest.mark.parametrize("words", ["", "star", "red star", "blue shield", "red star on red shield"])
def test_words_that_say_no_symbol_are_refused(words: str) -> None:
    with pytest.raises(ValueError, match="symbol"):
        emblem.parse_emblem(words)


def test_every_family_has_letters_of_its_own() -> None:
    pictures = set()
    for family in FAMILIES:
        sheet = Canvas(400, 60)
        sheet.text((5, 5), "Harbour Hall", choose_font(Font(family, 30), "Harbour Hall"), (0, 0, 0))
        pictures.add(sheet.image.tobytes())
        assert choose_font(Font(family, 30), "Harbour Hall").family == family
    assert len(pictures) == len(FAMILIES)


@pytest.mark.parametrize("family", ["plain", "mono", "serif", "wide"])
def test_bold_is_heavier(family: Family) -> None:
    weights = []
    for bold in (False, True):
        sheet = Canvas(300, 60)
        sheet.text((5, 5), "Harbour", Font(family, 30, bold), (0, 0, 0))
        weights.append(sum(255 - value for value in sheet.image.convert("L").tobytes()))
    assert weights[1] > weights[0] * 1.05
