"""The tables of a vision run: what is averaged, paired and folded, and what stands beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec.structs as structs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.suites.mfcl_vision import vision_run

from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import Chart, Label, Score, Table, Verdict
from toolmark.perturb.image import picture_variations
from toolmark.reports.table_format import make_grid
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.paired_comparison import compare_paired
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites.mfcl_vision import (
    accuracy_tables,
    behaviour_tables,
    episode_scoring,
    failure_modes,
    paper_comparison,
    variation_statistics,
)
from toolmark.suites.mfcl_vision.item_records import DOMAINS, QUERY_KINDS

EIGHT = tuple(variation_statistics.VARIATION_LABELS)


def answer(
    item: str, name: str, right: bool, mode: str = "1A", *, not_run: bool = False, **parts: float
) -> Score:
    number = int(item)
    axes = {
        "variation": name, "domain": DOMAINS[number % 5], "kind": QUERY_KINDS[number // 5 % 5],
        "hops": str(1 + number % 2), "clue": "text",
    }  # fmt: skip
    about = {"task": f"{item}@{name}", "item": item, "category": axes["domain"], "axes": axes}
    if not_run:
        return Score(**about, failure=NOT_REACHED)  # type: ignore[arg-type]
    label = Label(cause="perception", suite_cause=mode, primary=True)
    shown = (
        {}
        if right
        else {
            f"{episode_scoring.MODE_PREFIX}{'2' if mode == failure_modes.OTHER_MODE else mode}": 1.0
        }
    )
    verdict = Verdict(outcome="correct" if right else "incorrect", value=float(right),
                      parts={"searched": 1.0, "steps": 3.0, **shown, **parts},
                      labels=() if right else (label,))  # fmt: skip
    return Score(**about, verdicts={"paper": verdict})  # type: ignore[arg-type]


def rows(scores: Sequence[Score]) -> Columns:
    return gather_columns(scores, "paper")


def whole(share: Mapping[str, float], n: int = 20) -> Columns:
    """N items in each variation, this share of them right, the first ones."""
    return rows([answer(f"{i}", name, i < round(n * right))
                 for name, right in share.items() for i in range(n)])  # fmt: skip


def lines(table: Table | Chart) -> dict[str, dict[str, Any]]:
    assert isinstance(table, Table)
    return {str(row[0]): dict(zip(table.head, row, strict=False)) for row in table.rows}


def titled(made: Sequence[Table | Chart]) -> dict[str, Table | Chart]:
    return {each.title: each for each in made}


ALL = dict.fromkeys(EIGHT, 0.5) | {"base": 0.8, "edges": 0.2}


def test_the_variations_are_those_of_table_2() -> None:
    assert EIGHT == picture_variations.TABLE_2_VARIATIONS


@given(st.lists(st.tuples(st.sampled_from(EIGHT), st.integers(0, 9), st.booleans()), min_size=1))
def test_the_score_is_the_mean_of_the_means_whatever_is_missing(
    drawn: list[tuple[str, int, bool]],
) -> None:
    known = {(name, i): answer(f"{i}", name, right) for name, i, right in drawn}
    found = rows(list(known.values()))
    means = [
        estimate_mean(variation_statistics.answers_in_variation(found, name), name).value
        for name in variation_statistics.present_variations(found)
    ]
    seen = variation_statistics.mean_over_variations(found, "s")
    assert seen.value == pytest.approx(np.mean([x for x in means if x is not None]))
    assert seen.low is not None and seen.high is not None and seen.value is not None
    assert 0 <= seen.low <= seen.value + 1e-9 and seen.value <= seen.high + 1e-9 <= 1 + 2e-9
    assert seen.n == len(known)


def test_where_all_were_asked_the_score_is_the_plain_mean_over_answers() -> None:
    found = whole(ALL)
    assert variation_statistics.overall_score(found).value == pytest.approx(found.value.mean())
    counted = estimate_mean(found, "m")
    seen = variation_statistics.overall_score(found)
    assert (seen.low, seen.high) == pytest.approx((counted.low, counted.high))


def test_overall_needs_the_eight_and_leaves_the_others_out() -> None:
    four = whole({"base": 0.8, "edges": 0.2})
    assert (
        variation_statistics.overall_score(four).value is None
        and variation_statistics.mean_over_variations(four, "").value == 0.5
    )
    more = whole(ALL | {"occlusion=0.5": 0.0})
    assert (
        variation_statistics.overall_score(more).value
        == variation_statistics.overall_score(whole(ALL)).value
    )
    head, *parts = accuracy_tables.build_metrics(more)
    assert (
        head.name == "overall"
        and head.measure(more).value == variation_statistics.overall_score(more).value
    )
    assert head.filters and len(head.select_rows(more)) == 160
    assert [part.name for part in parts] == [f"accuracy/{n}" for n in (*EIGHT, "occlusion=0.5")]
    named = accuracy_tables.build_metrics(four)[0]
    assert named.name == "accuracy" and named.title == "accuracy, mean of base and edges"
    assert accuracy_tables.build_metrics(whole({"edges": 0.5}))[0].title == "accuracy, edges"
    assert len(accuracy_tables.build_metrics(whole({"edges": 0.5}))) == 1
    only = whole({"occlusion=0.5": 0.25})
    assert accuracy_tables.build_metrics(only)[0].measure(only).value == 0.25


def test_what_was_not_run_bounds_the_score() -> None:
    scores = [answer(f"{i}", "base", i < 5) for i in range(10)]
    scores += [answer(f"{i}", "edges", False, not_run=True) for i in range(10)]
    seen = variation_statistics.mean_over_variations(rows(scores), "s")
    assert (seen.value, seen.worst, seen.best) == (0.5, 0.25, 0.75)
    assert seen.partial == "1 of 2 variations run"
    empty = variation_statistics.mean_over_variations(rows(scores[10:]), "s")
    assert empty.value is None
    assert not accuracy_tables.build_tables({"paper": rows(scores[10:])})


def test_table_2_pairs_every_variation_with_the_base() -> None:
    found = whole(ALL | {"jitter=2": 0.4})
    made = lines(accuracy_tables.accuracy_table("paper", found))
    assert list(made) == [
        "overall",
        *variation_statistics.VARIATION_LABELS.values(),
        "jitter=2 (not in Table 2)",
    ]
    assert made["edges"]["points"] == pytest.approx(-60)
    expected = compare_paired(
        variation_statistics.answers_in_variation(found, "edges"),
        variation_statistics.answers_in_variation(found, "base"),
    )
    assert expected.difference.low is not None
    assert made["edges"]["low"] == pytest.approx(100 * expected.difference.low)
    assert (made["edges"]["lost"], made["edges"]["won"]) == (12, 0)
    assert "points" not in made["base"] and made["base"]["n"] == 20
    assert made["base"]["accuracy"].startswith("80.0 ")
    assert made["overall"]["n"] == 160
    shown_ = make_grid(accuracy_tables.accuracy_table("paper", found))
    assert "points [95 % interval]" in shown_.head and set(shown_.numeric[1:]) == {True}
    bare = accuracy_tables.accuracy_table("paper", whole({"edges": 0.5}))
    assert bare.head == ("variation", "n", "accuracy") and len(bare.rows) == 1


def test_table_2_tells_how_many_crops_were_filled_up_with_bars() -> None:
    reported = {("crop 4:3", "0"), ("crop 4:3", "3"), ("crop 16:9", "3")}
    found = [
        answer(
            f"{i}",
            name,
            True,
            bars=float((variation_statistics.variation_label(name), f"{i}") in reported),
        )
        for name in EIGHT
        for i in range(5)
    ]
    note = accuracy_tables.accuracy_table(
        "paper", rows([*found, *found])
    ).note  # repeats show the same pictures
    assert note.endswith(
        "so that what must stay visible does: crop 16:9 1 of 5 items, crop 4:3 2 of 5 items."
    )
    assert "bars" not in accuracy_tables.accuracy_table("paper", whole(ALL)).note


def test_the_grid_holds_every_answer_once() -> None:
    found = whole(ALL, n=25)
    first, base = accuracy_tables.domain_tables("paper", found)
    assert first.head == ("domain", *QUERY_KINDS, "all") and first.n_shaded_columns == 6
    made = lines(first)
    assert list(made) == [*DOMAINS, "all"]
    assert made["all"]["all"] == pytest.approx(found.value.mean())
    for domain in DOMAINS:
        for kind in QUERY_KINDS:
            mask = (found.axis("domain") == domain) & (found.axis("kind") == kind)
            assert made[domain][kind] == pytest.approx(found.value[mask].mean())
    assert lines(base)["all"]["all"] == pytest.approx(0.8)
    assert "Each cell of 8 answers" in first.note


def test_published_domains_and_types_have_their_cells_too() -> None:
    found = whole({"base": 0.5}, n=4)
    own = np.array(["places", "history", "history", ""], dtype=object)
    strange = replace(found, axes=found.axes | {"domain": own})
    (made,) = accuracy_tables.domain_tables("paper", strange)
    assert list(lines(made)) == ["places", "history", "all"]
    bare = replace(found, axes={"variation": found.axis("variation")})
    assert not list(accuracy_tables.domain_tables("paper", bare))


def test_accuracy_is_reported_by_hops_clue_and_lookalikes() -> None:
    scores = [
        answer(f"{i}", name, i % 2 == 0 or name == "base", lookalikes=float(i % 3))
        for i in range(12) for name in EIGHT
    ]  # fmt: skip
    (made,) = accuracy_tables.factor_tables(
        rows([score for score in scores if score.axes["kind"] != "select"])
    )
    assert made.title == "Accuracy by hops and look-alikes"
    reported = {(row[0], row[1]): row[2:] for row in made.rows}
    assert list(reported) == [
        ("hops", "1"),
        ("hops", "2"),
        *(("look-alikes", f"{n}") for n in range(3)),
    ]
    assert reported["hops", "1"][0] == 5
    assert str(reported["hops", "1"][1]).startswith("100.0")
    assert str(reported["hops", "2"][1]).startswith("12.5")
    assert str(reported["hops", "2"][2]).startswith("100.0")


def test_who_selects_stands_apart_from_hops() -> None:
    scores = [answer(f"{i}", name, DOMAINS[i % 5] == "places") for i in range(25) for name in EIGHT]
    (made,) = accuracy_tables.factor_tables(rows(scores))
    reported = {row[1]: row[2] for row in made.rows}
    assert reported == {"1": 10, "2": 10, "select": 5}, (
        "each candidate's page is needed: no hop tells"
    )
    assert "the page of every candidate" in made.note


def test_text_and_symbols_are_separated_by_variation_where_both_are_asked() -> None:
    words = [answer(f"{i}", name, True) for i in range(6) for name in EIGHT]
    signs = [structs.replace(answer(f"{i}", name, name != "gray"),
                     axes={"variation": name, "clue": "symbol"})
             for i in range(6, 10) for name in EIGHT]  # fmt: skip
    (made,) = accuracy_tables.clue_table(rows([*words, *signs]))
    found = lines(made)
    assert list(found) == [variation_statistics.variation_label(name) for name in EIGHT]
    grey = found[variation_statistics.variation_label("gray")]
    assert (grey["text: n"], grey["symbol: n"]) == (6, 4)
    assert str(grey["text"]).startswith("100.0") and str(grey["symbol"]).startswith("0.0")
    assert made in accuracy_tables.build_tables({"paper": rows([*words, *signs])})
    assert not list(accuracy_tables.clue_table(rows(words)))


# --- modes ------------------------------------------------------------------------------


def test_every_failed_answer_counts_once_folded_or_not() -> None:
    alone = (failure_modes.FORM_MODE, failure_modes.FORCED_MODE, failure_modes.UNEXPLAINED_MODE)
    every = (*failure_modes.MODE_LABELS, failure_modes.OTHER_MODE, *alone, "a mode of tomorrow")
    scores = [answer(f"{i}", "gray", False, mode) for i, mode in enumerate(every)]
    scores += [answer("90", "gray", True)]
    made = titled(list(behaviour_tables.failure_tables({"gray": rows(scores)}, "variation")))
    full = lines(made["Failure modes by variation"])["gray"]
    counts = [full[name] for name in list(full)[1:-1]]
    assert sum(counts) == full["all"] == len(every)
    assert counts == [1] * 12 + [2]
    folded = lines(made["Failure modes as in Figure 5, by variation"])["gray"]
    shares = list(folded.values())[2:]
    assert sum(shares) == pytest.approx(1) and folded["failed"] == len(every)
    assert folded["1 visual reasoning"] == pytest.approx(6 / len(every))
    assert folded["2 avoiding tool use"] == pytest.approx(2 / len(every)), "the other of base too"
    assert folded["none of these"] == pytest.approx(4 / len(every))
    chart = made["Failure modes as in Figure 5, by variation, drawn"]
    assert isinstance(chart, Chart) and chart.kind == "stack" and chart.ticks == ("gray",)
    assert sum(series.y[0] for series in chart.series) == pytest.approx(100)


def test_where_nothing_failed_there_are_no_modes() -> None:
    assert not list(behaviour_tables.failure_tables({"base": whole({"base": 1.0})}, "variation"))


# --- what was done ----------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=2, max_size=30))
def test_steps_are_paired_item_by_item(drawn: list[tuple[int, int]]) -> None:
    scores = []
    for i, (base, edges) in enumerate(drawn):
        scores.append(answer(f"{i}", "base", True, steps=float(base)))
        scores.append(answer(f"{i}", "edges", False, steps=float(edges)))
    reported = behaviour_tables.change_from_base(rows(scores), "edges", "steps")
    assert reported is not None
    value, low, high = (float(x.strip("[],").replace("−", "-")) for x in reported.split())
    assert value == pytest.approx(np.mean([b - a for a, b in drawn]), abs=0.006)
    assert low <= value <= high


def test_behaviour_under_a_variation_is_compared_with_the_base() -> None:
    scores = [answer(f"{i}", "base", True, searched=1.0, refused=0.0, steps=4.0) for i in range(20)]
    scores += [
        answer(f"{i}", "edges", False, searched=float(i < 10), refused=float(i >= 15), steps=2.0)
        for i in range(20)
    ]
    (table,) = behaviour_tables.activity_table(rows(scores))
    made = lines(table)
    assert made["base"]["searched"].startswith("100.0") and made["base"]["steps"] == "4.00"
    assert made["edges"]["searched"].startswith("50.0")
    assert made["edges"]["searched, against base"].startswith("−50.0 [")
    assert made["edges"]["refused, against base"].startswith("+25.0 [")
    assert made["edges"]["steps, against base"].startswith("−2.00 [")
    assert made["base"]["steps, against base"] == ""
    (alone,) = behaviour_tables.activity_table(rows(scores[:20]))
    assert not any("against" in name for name in alone.head)


def test_the_words_of_queries_are_shares_of_those_who_asked() -> None:
    def searched(item: int) -> Score:
        return answer(f"{item}", "base", True, from_question=0.5, from_text=0.25,
                      from_visual=0.25, from_pages=0.0, from_other=0.0)  # fmt: skip

    scores = [searched(i) for i in range(10)]
    scores += [answer(f"{i}", "base", False, searched=0.0) for i in range(10, 20)]
    table, chart = behaviour_tables.query_word_tables({"base": rows(scores)}, "variation")
    row = lines(table)["base"]
    assert row["answers with a query"] == 10
    assert row["image text"].startswith("25.0")
    assert isinstance(chart, Chart)
    assert sum(series.y[0] for series in chart.series) == pytest.approx(100)
    assert not list(behaviour_tables.query_word_tables({"base": rows(scores[10:])}, "variation"))


# --- the paper, and several runs --------------------------------------------------------


def test_the_paper_is_compared_with_a_run() -> None:
    made = paper_comparison.build_tables({"paper": whole(ALL)})
    assert (
        made[0].title == accuracy_tables.accuracy_title("paper")
        and "paper's models" in made[1].title
    )
    adjacent = lines(made[1])
    assert adjacent["GPT-5 (paper)"]["overall"] == 0.293
    assert all(name.endswith("(paper)") for name in adjacent)
    part = lines(paper_comparison.build_tables({"paper": whole({"base": 0.8})})[1])
    assert part.keys() == adjacent.keys()
    none = paper_comparison.build_tables({"paper": whole({"gray": 0.8, "crop-4:3": 0.1})})
    assert isinstance(none[0], Table) and "are listed where a run" in none[0].note
    assert not any("paper's models" in each.title for each in none[1:])


def test_rules_that_agree_share_a_table() -> None:
    found = whole(ALL)
    kinder = replace(found, value=np.ones(len(found)), correct=np.ones(len(found), dtype=bool))
    agree = [each.title for each in paper_comparison.build_tables({"paper": found, "fair": found})]
    assert (
        agree.count(accuracy_tables.accuracy_title("paper and fair")) == 1
        and accuracy_tables.accuracy_title("fair") not in agree
    )
    differ = [
        each.title for each in paper_comparison.build_tables({"paper": found, "fair": kinder})
    ]
    assert (
        accuracy_tables.accuracy_title("paper") in differ
        and accuracy_tables.accuracy_title("fair") in differ
    )
    two = {"a": found, "b": found}
    both = [
        each.title for each in paper_comparison.build_comparison_tables({"paper": two, "fair": two})
    ]
    assert (
        both.count(accuracy_tables.accuracy_title("paper and fair")) == 1
        and accuracy_tables.accuracy_title("fair") not in both
    )
    other = paper_comparison.build_comparison_tables(
        {"paper": two, "fair": {"a": found, "b": kinder}}
    )
    assert accuracy_tables.accuracy_title("fair") in [each.title for each in other]


def test_several_runs_are_distinguished_by_how_they_call() -> None:
    def called(prompted: float, right: float) -> Columns:
        return rows([answer(f"{i}", name, i < 20 * right, prompted=prompted)
                     for name in EIGHT for i in range(20)])  # fmt: skip

    runs = {"by text": called(1.0, 0.2), "by interface": called(0.0, 0.6)}
    made = titled(paper_comparison.build_comparison_tables({"paper": runs}))
    board = lines(made[accuracy_tables.accuracy_title("paper")])
    assert [row["mode"] for row in board.values()] == ["prompt", "native"]
    assert board["by interface"]["overall"].startswith("60.0")
    worked = lines(made["How runs worked"])
    assert list(worked) == ["by interface, native", "by text, prompt"]
    same = titled(
        paper_comparison.build_comparison_tables(
            {"paper": {"a": called(0.0, 0.5), "b": called(0.0, 0.1)}}
        )
    )
    assert list(lines(same["How runs worked"])) == ["a", "b"]
    assert "GPT-5 (paper)" in lines(made["The paper's models, asked other pictures"])
    assert not paper_comparison.build_comparison_tables({"paper": {"a": called(0.0, 0.5)}})


def test_a_played_run_fills_every_table(tmp_path: Path) -> None:
    run = vision_run.run(
        tmp_path, n=15, drawn=False, luck=dict.fromkeys(EIGHT, 0.4) | {"base": 0.9}
    )
    readings = {name: gather_columns(run.scores(), name) for name in episode_scoring.RULES}
    made = titled(paper_comparison.build_tables(readings))
    for title in (
        "Failure modes by variation",
        "What was done, by variation",
        "The paper's models",
    ):
        assert any(name.startswith(title) for name in made), title
    table = made["Where the words of queries come from, by variation"]
    for row in lines(table).values():
        parts = [float(str(cell).split()[0]) for cell in list(row.values())[2:]]
        assert math.isclose(sum(parts), 100, abs_tol=0.3)
    assert {"lookalikes", "prompted", episode_scoring.BARS_PART} <= set(readings["paper"].parts)
    for each in made.values():
        if isinstance(each, Table):
            assert len(make_grid(each).rows) == len(each.rows)
