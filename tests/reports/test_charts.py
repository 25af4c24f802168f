from __future__ import annotations

import itertools
import math
from typing import Literal
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.records import Chart, Series
from toolmark.reports import chart_axes, charts

SVG = "{http://www.w3.org/2000/svg}"
Kind = Literal["line", "bar", "stack", "scatter"]
numbers = st.floats(-1e6, 1e6) | st.just(math.nan) | st.just(math.inf)
names = st.text(max_size=60)


def drawn(made: Chart) -> Element:
    return ElementTree.fromstring(charts.draw_chart(made))


def titles(root: Element) -> list[str]:
    return [node.text or "" for node in root.iter(f"{SVG}title")]


@given(
    kind=st.sampled_from(["line", "bar", "stack", "scatter"]),
    series=st.lists(
        st.tuples(names, st.lists(st.tuples(numbers, numbers), max_size=6)), max_size=5
    ),
    words=st.tuples(names, names, names),
)
def test_any_chart_is_well_formed_and_stays_in_its_frame(
    kind: Kind,
    series: list[tuple[str, list[tuple[float, float]]]],
    words: tuple[str, str, str],
) -> None:
    made = Chart(
        title=words[0],
        kind=kind,
        x_label=words[1],
        y_label=words[2],
        ticks=("a", "b") if kind in ("bar", "stack") else (),
        series=tuple(
            Series(
                name=name,
                x=tuple(
                    float(i) if kind in ("bar", "stack") else x for i, (x, _) in enumerate(points)
                ),
                y=tuple(y for _, y in points),
            )
            for name, points in series
        ),
    )
    root = drawn(made)
    width = float(root.get("width", "0"))
    for node in root.iter(f"{SVG}circle"):
        assert 0 <= float(node.get("cx", "-1")) <= width
    for node in root.iter(f"{SVG}rect"):
        assert float(node.get("x", "-1")) >= 0
        assert float(node.get("x", "0")) + float(node.get("width", "0")) <= width + 1


@pytest.mark.parametrize("kind", ["line", "bar", "stack", "scatter"])
def test_every_point_has_a_tooltip_with_its_interval(kind: Kind) -> None:
    one = Series(name="mine", x=(0, 1), y=(0.5, 0.25), low=(0.4, 0.2), high=(0.6, 0.3))
    root = drawn(Chart(title="t", kind=kind, series=(one,), ticks=("a", "b")))
    assert titles(root) == ["mine, a: 0.5 [0.4, 0.6]", "mine, b: 0.25 [0.2, 0.3]"]


def test_points_that_are_not_finite_are_left_out() -> None:
    one = Series(name="s", x=(1, 2, 3), y=(0.5, math.nan, 0.7))
    assert len(titles(drawn(Chart(title="t", kind="line", series=(one,))))) == 2


def test_a_chart_has_a_text_for_screen_readers() -> None:
    one = Series(name="s", x=(1,), y=(0.5,))
    root = drawn(
        Chart(title="Success", kind="line", series=(one,), x_label="depth", y_label="share")
    )
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Success; share over depth; s; 1 points"


def test_the_pieces_of_a_stack_touch_and_fill_it() -> None:
    parts = [Series(name=name, x=(0, 1), y=values) for name, values in
             (("a", (0.5, 0.2)), ("b", (0.3, 0.0)), ("c", (0.2, 0.8)))]  # fmt: skip
    root = drawn(Chart(title="t", kind="stack", series=tuple(parts), ticks=("x", "y")))
    rows: dict[str, list[tuple[float, float]]] = {}
    for node in root.iter(f"{SVG}rect"):
        if ": " in (node.findtext(f"{SVG}title") or ""):  # the key's marks have a name only
            at, width = float(node.get("x", "0")), float(node.get("width", "0"))
            rows.setdefault(node.get("y", ""), []).append((at, at + width))
    assert [len(row) for row in rows.values()] == [3, 3]
    for row in rows.values():
        assert all(end == pytest.approx(start, abs=0.2) for (_, end), (start, _) in
                   itertools.pairwise(row))  # fmt: skip
    assert len({row[-1][1] for row in rows.values()}) == 1  # both stacks add up to one


def test_foreign_names_are_escaped() -> None:
    foul = "</svg><script>alert(1)</script>"
    one = Series(name=foul, x=(0,), y=(1,))
    made = charts.draw_chart(Chart(title=foul, kind="bar", series=(one, one), ticks=(foul,)))
    assert "<script" not in made


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20))
def test_a_scale_holds_its_values_between_few_round_ticks(values: list[float]) -> None:
    made = chart_axes.fit_scale(values, 0, 100, zero=False)
    rounding = 1e-6 * max(map(abs, values)) + 1e-12
    assert made.low <= min(values) + rounding
    assert made.high >= max(values) - rounding
    assert 2 <= len(made.ticks) <= 9


def test_shares_near_one_get_the_whole_scale() -> None:
    made = chart_axes.fit_scale([0.2, 0.93], 0, 100, zero=True)
    assert made.low == 0
    assert made.high == pytest.approx(1)
