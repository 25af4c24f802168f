"""Heat maps: every share that is something is a cell, in its place, with its names."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from toolmark.core.records import Chart, Series
from toolmark.reports import charts, heat_map, page_sections

SVG = "{http://www.w3.org/2000/svg}"


def mapped(shares: list[list[float]], names: list[str]) -> Chart:
    places = tuple(map(float, range(len(names))))
    rows = (Series(name=name, x=places, y=tuple(row))
            for name, row in zip(names, shares, strict=False))  # fmt: skip
    return Chart(title="T", kind="heat", series=tuple(rows), ticks=tuple(names), x_label="said",
                 y_label="right")  # fmt: skip


def cells(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [each for each in root.iter(f"{SVG}rect") if each.get("class") == kind]


@pytest.mark.parametrize("kind", ["bar", "stack", "line", "scatter", "heat"])
def test_names_of_charts_show_what_a_browser_would_obey(kind: Any) -> None:
    odd = "left\u202eright\x00\u2066"
    lines = tuple(Series(name=f"{odd}{i}", x=(0.0, 1.0), y=(0.5, 0.25)) for i in range(2))
    made = Chart(title=odd, kind=kind, series=lines, ticks=(odd, f"{odd}2"), x_label=odd,
                 y_label=odd)  # fmt: skip
    drawn = str(charts.draw_chart(made))
    ElementTree.fromstring(drawn)
    obeyed = {"\u202e", "\x00", "\u2066", "\ufffd"}
    assert not obeyed & {*drawn} and "\\u202e" in drawn
    ((reported, _),) = next(page_sections.make_sections([replace(made, note=odd)])).charts
    assert not obeyed & {*reported.title, *reported.note}


@settings(max_examples=25)
@given(
    st.integers(1, 40), st.integers(1, 40), st.integers(0, 999),
    st.sampled_from(["{}", "a <name> & {}", "x" * 60 + "{}"]),
)  # fmt: skip
def test_every_share_has_its_cell_inside_the_frame(
    n: int, n_rows: int, seed: int, form: str
) -> None:
    drawn = np.random.default_rng(seed).choice([0.0, 0.1, 0.5, 1.0, np.nan], (min(n, n_rows), n))
    shares: list[list[float]] = drawn.tolist()
    names = [form.format(i) for i in range(n)]
    root = ElementTree.fromstring(charts.draw_chart(mapped(shares, names)))
    found = cells(root, "c")
    assert len(found) == sum(share > 0 for row in shares for share in row)
    wide, high = (float(root.get(x, "")) for x in ("width", "height"))
    for cell in found:
        assert 0 <= float(cell.get("x", "")) < wide - heat_map.MIN_CELL_PIXELS + 1
        assert 0 <= float(cell.get("y", "")) < high - heat_map.MIN_CELL_PIXELS + 1
    assert len(cells(root, "own")) == len({*names} & {*names[: len(shares)]})


def test_what_meets_itself_is_framed_by_place_whatever_the_names() -> None:
    names = ["3", "same", "same", "0"]
    root = ElementTree.fromstring(heat_map.draw_heat_map(mapped([[0.25] * 4] * 4, names)))
    framed, every = cells(root, "own"), cells(root, "c")
    spots = [(cell.get("x"), cell.get("y")) for cell in framed]
    assert spots == [(every[5 * i].get("x"), every[5 * i].get("y")) for i in range(4)]


def test_cells_are_as_large_as_there_is_room_and_the_greatest_share_is_darkest() -> None:
    for n, size in ((4, heat_map.MAX_CELL_PIXELS), (36, heat_map.MIN_CELL_PIXELS)):
        shares = [[float(i == j) / (1 + i) for j in range(n)] for i in range(n)]
        names = [f"{i}" for i in range(n)]
        found = cells(ElementTree.fromstring(heat_map.draw_heat_map(mapped(shares, names))), "c")
        assert float(found[0].get("width", "")) == pytest.approx(size - 1)
        dark = [float(cell.get("fill-opacity", "")) for cell in found]
        assert dark[0] == 1 and dark == sorted(dark, reverse=True)
        assert found[1].findtext(f"{SVG}title") == "1 → 1: 50.0\u00a0%"
