"""Runs of which a part did not run: no number changes its meaning silently, and none is nan."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from tests.suites.multinet import made_scores
from tests.suites.multinet.made_scores import cells, titled
from tests.suites.multinet.test_paper_comparison import published
from tests.suites.multinet.test_report_tables import BOTH, ran

from toolmark.core import number_format
from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import Estimate, Score, Table
from toolmark.reports import charts, table_format
from toolmark.statistics.score_columns import Columns
from toolmark.suites.multinet import paper_comparison, report_tables
from toolmark.suites.multinet.multinet_suites import SCORER
from toolmark.suites.multinet.tables import choice_tables, form_comparison


def partly(scores: list[Score], lost: Callable[[Score], bool]) -> Mapping[str, Columns]:
    """The same run where these were not run."""
    return made_scores.rows(
        replace(x, verdicts={}, failure=NOT_REACHED) if lost(x) else x for x in scores
    )


def numbers(found: Columns) -> dict[str, Estimate]:
    return {metric.name: metric.measure(found) for metric in report_tables.build_metrics(found)}


def shown(readings: Mapping[str, Columns]) -> list[str]:
    """All that a page says of a run, in its tables and charts."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = SCORER.presentation.tables(readings)
        found = []
        for each in made:
            if isinstance(each, Table):
                grid = table_format.make_grid(each)
                found += [cell for row in grid.rows for cell in row]
            else:
                found.append(str(charts.draw_chart(each)))
    return found


@pytest.mark.parametrize(
    "family", ["piqa", "odinw", "overcooked", "odds", "sqa3d", "bfcl", "openx"]
)
@pytest.mark.parametrize("form", BOTH)
def test_a_form_that_did_not_run_leaves_no_number_that_is_none(family: str, form: str) -> None:
    scores = ran(family, 24, BOTH)
    readings = partly(scores, lambda x: x.axes["form"] == form)
    assert not any("nan" in text.lower() for text in shown(readings))
    (other,) = {*BOTH} - {form}
    first, *_ = SCORER.presentation.tables(readings)
    assert isinstance(first, Table)
    own = [str(cell) for row in first.rows for cell in row[:2] if str(cell).startswith("this run")]
    assert own and all(name.startswith(f"this run: {other}") for name in own)


def test_a_mean_over_morphologies_says_that_one_did_not_run() -> None:
    scores = ran("openx", 24)
    whole = numbers(made_scores.rows(scores)["paper"])
    assert not any(each.partial for each in whole.values())
    found = numbers(partly(scores, lambda x: x.category == "wheeled")["paper"])
    for name in ("mae", "rel_mae", "rel_mse"):
        assert found[name].partial == "1 of 2 morphologies run"
        assert number_format.format_estimate(found[name]) == "– (1 of 2 morphologies run)"
    assert not found["closer"].partial and not found["valid"].partial
    few = numbers(partly(scores, lambda x: x.item == scores[0].item)["paper"])
    assert not any(each.partial for each in few.values())


def test_a_mean_over_sub_sets_says_that_one_did_not_run() -> None:
    scores = ran("odinw", 60)
    readings = partly(scores, lambda x: x.category == "Dice")
    macro = numbers(readings["paper"])["macro_f1"]
    assert macro.value is not None and macro.partial == "2 of 3 sub-sets run"
    table = choice_tables.main_table({"x": ("paper", readings["paper"])}, "sub-set")
    rows = cells(table)
    for name in ("x", "majority"):
        assert rows[name]["macro F1"] == rows[name]["clipped"] == number_format.DASH
        assert "%" in str(rows[name]["exact match"])
    assert "A dash there: 2 of 3 sub-sets run." in table.note
    whole = choice_tables.main_table({"x": ("paper", made_scores.rows(scores)["paper"])}, "sub-set")
    assert number_format.DASH not in {str(cell) for cell in cells(whole)["x"].values()}
    one = numbers(partly(scores, lambda x: x.category != "Dice")["paper"])["macro_f1"]
    assert one.partial == "1 of 3 sub-sets run"


def test_forms_meet_repeat_by_repeat() -> None:
    text = made_scores.chosen([0, 1] * 10, [0, 1] * 5 + [1, 0] * 5, 2)
    tool = made_scores.chosen([0, 1] * 10, [0, 1] * 10, 2, form="tool")
    again = [replace(each, repeat=1) for each in [*text, *tool]]
    lost = {f"piqa-{i}@tool" for i in range(7)}
    readings = partly([*text, *tool, *again], lambda x: x.repeat == 1 and x.task in lost)
    shares, fates = form_comparison.form_comparison_tables(readings, "exact match")
    rows = cells(shares)
    counted: Any = sum(int(str(n)) for row in fates.rows for n in row[1:])
    assert counted == 33 and {row["rows"] for row in rows.values()} == {33}
    right: Any = sum(int(str(n)) for n in fates.rows[0][1:])
    reported = str(rows["exact match, of all"]["text"])
    assert reported.startswith(number_format.format_percent(right / counted))


def test_where_the_paper_has_no_figures_the_table_says_so() -> None:
    made = paper_comparison.run_tables(published(made_scores.rows(ran("bfcl", 12))))
    assert isinstance(made[0], Table) and paper_comparison._NO_FIGURES_NOTE in made[0].note
    for family in ("piqa", "overcooked", "odds", "openx", "sqa3d"):
        found = titled(paper_comparison.run_tables(published(made_scores.rows(ran(family, 24)))))
        assert list(found)[1].startswith(paper_comparison._TABLE_TITLE), family
        assert not any(paper_comparison._NO_FIGURES_NOTE in each.note for each in found.values())
