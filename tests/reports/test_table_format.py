from __future__ import annotations

import json
import math
from typing import Any

import pytest
from msgspec.structs import replace

from toolmark.core import json_codec, number_format
from toolmark.core.records import EpisodeFilter, Estimate, Table
from toolmark.reports import table_format


def test_a_share_is_per_cent_with_its_interval() -> None:
    estimate = Estimate(name="x", value=0.382, low=0.261, high=0.524, n=50)
    assert number_format.format_share(estimate).replace("\u00a0", " ") == "38.2 % [26.1, 52.4]"


def test_nothing_ran_is_a_dash_never_zero() -> None:
    assert (
        number_format.format_share(Estimate(name="x"))
        == number_format.format_points(Estimate(name="x"))
        == "–"
    )


def test_a_partial_value_is_its_reason_never_the_number() -> None:
    estimate = Estimate(name="x", value=0.007, low=0.0, high=0.02, n=9, partial="1 of 4 parts run")
    assert number_format.format_share(estimate) == "– (1 of 4 parts run)"
    rows = (("a", number_format.format_share(estimate)), ("b", "38.2\u00a0%"))
    assert table_format.make_grid(Table(title="", head=("", "value"), rows=rows)).numeric == (
        False,
        True,
    )


def test_a_difference_has_its_sign_and_zero_has_none() -> None:
    assert number_format.format_points(Estimate(name="x", value=-0.031, low=-0.07, high=0.01)) == (
        "−3.1 [−7.0, +1.0]"
    )
    assert number_format.format_points(Estimate(name="x", value=-0.0001)) == "0.0"


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        ([0.5, 0.516], ["0.500", "0.516"]),
        ([5.0, 14.0], ["5", "14"]),
        ([5.4, 11.5], ["5.4", "11.5"]),
        ([6054, None], ["6\u202f054", "–"]),
        ([float("nan"), 1.5], ["–", "1.5"]),
        ([-0.25, 1e-9], ["−0.25", "0.00"]),
    ],
)
def test_numbers_of_a_column_share_their_decimals(
    cells: list[str | float | int | None], shown: list[str]
) -> None:
    assert table_format.format_column(cells) == shown


def test_columns_of_numbers_align_right_and_texts_left() -> None:
    made = table_format.make_grid(
        Table(title="t", head=("a", "b", "c"), rows=(("x", 1, "3 % [1, 2]"), ("1 y", None, "–")))
    )
    assert made.numeric == (False, True, True)


def test_short_rows_are_filled_with_dashes() -> None:
    assert table_format.make_grid(Table(title="t", head=("a", "b"), rows=(("x",),))).rows == (
        ("x", "–"),
    )


def test_a_value_and_its_ends_are_one_column() -> None:
    made = table_format.make_grid(
        Table(title="t", head=("a", "accuracy", "low", "high", "n"),
              rows=(("x", 0.382, 0.261, 0.524, 50), ("y", None, None, None, 0)))
    )  # fmt: skip
    assert made.head == ("a", "accuracy [95 % interval]", "n")
    assert [row[1].replace("\u00a0", " ") for row in made.rows] == ["38.2 % [26.1, 52.4]", "–"]
    made = table_format.make_grid(
        Table(title="", head=("points", "low", "high"), rows=((3.1, -1.0, 7.2),))
    )
    assert made.rows[0][0].replace("\u00a0", " ") == "+3.1 [−1.0, +7.2]"


def test_a_column_of_nothing_is_left_out() -> None:
    made = table_format.make_grid(Table(title="t", head=("a", "why", "b"), rows=(("x", "", None),)))
    assert made.head == ("a", "b")


def test_a_heat_map_places_every_share_between_the_least_and_the_greatest() -> None:
    rows = (("x", 0.2, None), ("y", 0.7, 0.3), ("z", float("nan"), 0.5))
    made = table_format.make_grid(
        Table(title="t", head=("", "low", "high"), rows=rows, n_shaded_columns=2)
    )
    assert made.head == ("", "low", "high")
    shown = [[cell.replace("\u00a0", " ") for cell in row[1:]] for row in made.rows]
    assert shown == [["20.0 %", "–"], ["70.0 %", "30.0 %"], ["–", "50.0 %"]]
    assert made.shading is not None and made.shading.first_column == 1
    assert made.shading.positions == ((0, None), (100, 20), (None, 60))
    assert (made.shading.low, made.shading.high) == ("20.0\u00a0%", "70.0\u00a0%")


def test_shares_that_are_all_alike_are_not_shaded() -> None:
    made = table_format.make_grid(
        Table(title="t", head=("", "a"), rows=(("x", 1.0), ("y", 1.0)), n_shaded_columns=1)
    )
    assert made.shading is None and made.rows[0][1] == "100.0\u00a0%"
    assert (
        table_format.make_grid(
            Table(title="t", head=("", "a"), rows=(), n_shaded_columns=1)
        ).shading
        is None
    )


def test_one_is_not_plural() -> None:
    assert (number_format.pluralize(1, "call"), number_format.pluralize(0, "call")) == (
        "1 call",
        "0 calls",
    )


def test_a_table_without_rows_can_be_shown() -> None:
    assert "a  b" in table_format.render_text(Table(title="t", head=("a", "b"), rows=()))


def test_what_cannot_be_shown_is_made_visible() -> None:
    assert table_format.visible_text(json_codec.escape_surrogates("a\ud83d\x00b")) == "a\\ud83d␀b"
    assert table_format.visible_text("line\nنص") == "line\nنص"


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (0.53, "0.53"),
        (0.0471, "0.047"),
        (0.0503, "0.0503"),
        (0.0497, "0.0497"),
        (1e-9, "<\u00a00.0001"),
    ],
)
def test_p_values_keep_two_digits(p: float, shown: str) -> None:
    assert number_format.format_p_value(p) == shown


@pytest.mark.parametrize(
    ("three", "shown"),
    [
        ((0.879, 0.812, 0.951), "0.879 [0.812, 0.951]"),
        ((1.93, 1.8, 2.0), "1.930 [1.800, 2.000]"),
        ((12.345, 9, 14), "12.35 [9.00, 14.00]"),
        ((1234.5, 1000, 2000), "1 234 [1 000, 2 000]"),
        ((0.0123, 0.01, 0.02), "0.0123 [0.0100, 0.0200]"),
        ((1.5e-5, 0, 2e-5), "1.50 × 10⁻⁵ [0, 2.00 × 10⁻⁵]"),
        ((0.0, 0.0, 0.1), "0.000 [0.000, 0.100]"),
        ((math.inf, 1.0, math.inf), "∞ [1.000, ∞]"),
        ((-0.5, None, None), "−0.500"),
        ((None, None, None), "–"),
    ],
)
def test_a_number_that_is_no_share_is_never_in_per_cent(
    three: tuple[float | None, ...], shown: str
) -> None:
    value, low, high = three
    plain = Estimate(name="x", value=value, low=low, high=high, is_share=False)
    assert number_format.replace_special_spaces(number_format.format_estimate(plain)) == shown
    assert number_format.format_estimate(
        replace(plain, is_share=True)
    ) == number_format.format_share(plain)
    assert (
        value is None
        or table_format.make_grid(
            Table(title="", head=("x",), rows=((number_format.format_estimate(plain),),))
        ).numeric[0]
    )


def test_a_partial_number_says_why() -> None:
    partial = Estimate(name="x", value=1.0, partial="1 of 4 parts run", is_share=False)
    assert number_format.format_estimate(partial) == "– (1 of 4 parts run)"


OBEYED = [
    *"\u0085\u2028\u2029\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e",
    *"\u2066\u2067\u2068\u2069\x1b\r\x0b\x0c\x1c\x1d\x1e\x7f\x9b",
]


@pytest.mark.parametrize("sign", OBEYED, ids=ascii)
def test_what_ends_a_line_or_turns_its_direction_is_shown_as_a_sign(sign: str) -> None:
    shown = table_format.visible_text(f"before{sign}after")
    assert sign not in shown and len(shown.splitlines()) == 1
    assert (
        shown.startswith("before") and shown.endswith("after") and len(shown) > len("beforeafter")
    )


def test_letters_that_need_joiners_and_plain_line_breaks_stay() -> None:
    text = "می\u200cخواهم 👩\u200d🔬\tline\nline"
    assert table_format.visible_text(text) == text


@pytest.mark.parametrize(
    ("row", "column", "found"),
    [
        # the row has one class of failure, and the cell counts another: 0 answers
        ({"cause": ("", "early")}, {"cause": ("", "late")}, None),
        ({"cause": ("omission", "early")}, {"cause": ("", "early")},
         {"cause": '["omission","early"]'}),
        ({"cause": ("omission",)}, {"cause": ("", "early")}, {"cause": '["omission","early"]'}),
        ({"category": ("a", "b")}, {"category": "b"}, {"category": "b"}),
        ({"category": "a"}, {"category": ("b", "c")}, None),
        ({"axes": {"form": "x"}}, {"axes": {"form": "y"}}, None),
        ({"axes": {"form": "x"}}, {"axes": {"k": ""}}, {"axes": {"form": "x", "k": ""}}),
        ({"traits": {"t": ("", "u", "v")}}, {"traits": {"t": ("v", "u")}},
         {"traits": {"t": ["u", "v"]}}),
        ({"outcome": "correct"}, {"outcome": "not_run"}, {"outcome": "not_run"}),
    ],
)  # fmt: skip
def test_a_cell_links_to_what_fits_its_row_and_its_column(
    row: dict[str, Any], column: dict[str, Any], found: dict[str, Any] | None
) -> None:
    table = Table(
        title="t", head=("", "n"), rows=(("a", 0),),
        row_episodes=(EpisodeFilter(**row),), column_episodes=(None, EpisodeFilter(**column)),
    )  # fmt: skip
    ((_, link),) = table_format.make_grid(table, 0).links
    assert (json.loads(link) if link else None) == (found and {"run": "0", **found})
