from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reports.made_runs import CATEGORIES, presented

from toolmark.core import number_format
from toolmark.core.errors import UsageError
from toolmark.core.records import Estimate, Score, Table, Verdict
from toolmark.reports import run_names
from toolmark.reports.comparison_report import (
    Comparison,
    detail_tables,
    summary_table,
    verdict_sentence,
)
from toolmark.reports.run_comparison import adjust_comparisons, compare_runs
from toolmark.reports.run_differences import same_tasks_advice
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Scorer
from toolmark.statistics.metric_formulas import Metric, StratifiedMean, UnboundedMean
from toolmark.statistics.paired_comparison import compare_paired
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.statistics.weighted_means import EvenGroup

Maker = Callable[..., Run]


def test_a_clear_winner_is_named_with_the_size(make_run: Maker) -> None:
    good, poor = make_run(model="good", luck=90), make_run(model="poor", luck=20)
    for a, b in ((good, poor), (poor, good)):
        text = str(compare_runs(a, b))
        assert text.startswith("good is better than poor by ")
        assert "McNemar mid-p" in text


def test_no_clear_difference_is_said_so(make_run: Maker) -> None:
    a, b = make_run(model="a", luck=60), make_run(model="b", luck=60, n=200)
    found = compare_runs(a, b)
    assert found.paired.p is not None
    assert found.paired.p > 0.05
    assert str(found).startswith("No clear difference between a and b")


def test_flips_add_up_to_the_difference(make_run: Maker) -> None:
    found = compare_runs(make_run(model="a", luck=80), make_run(model="b", luck=40)).paired
    gained = len(found.only_a) - len(found.only_b)
    assert found.difference.value == pytest.approx(gained / found.n_pairs)


def test_categories_are_compared_one_by_one(make_run: Maker) -> None:
    found = compare_runs(make_run(model="a"), make_run(model="b", luck=80))
    assert [row.difference.name for row in found.categories] == ["core 5", "core 10", "core 20"]
    assert sum(row.n_pairs for row in found.categories) == found.paired.n_pairs


def test_categories_keep_the_order_of_the_tasks(make_run: Maker, scorer: Scorer) -> None:
    bare = replace(scorer, metrics=lambda columns: scorer.metrics(columns)[:1])
    a, b = (presented(make_run(model=name, offset=1), bare) for name in ("a", "b"))
    found = compare_runs(a, b)
    assert [row.difference.name for row in found.categories] == ["core 10", "core 20", "core 5"]


def test_an_address_is_named_by_what_follows_its_sign(make_run: Maker) -> None:
    a, b = "http://one:8000/v1#org/m-7b", "http://two:8000/v1#org/m-7b"
    c = "openai/gpt-5"
    assert run_names.short_model_name(a) == "org/m-7b"
    assert run_names.distinct_run_names([make_run(model=a, n=1), make_run(model=c, n=1)]) == [
        "org/m-7b",
        c,
    ]
    reported = run_names.distinct_run_names([make_run(model=a, n=1), make_run(model=b, n=1)])
    assert reported == ["org/m-7b · one:8000", "org/m-7b · two:8000"]


def test_repeated_runs_are_compared_by_items(make_run: Maker) -> None:
    a, b = make_run(model="a", repeats=3), make_run(model="b", repeats=3)
    found = compare_runs(a, b).paired
    assert (found.n_pairs, found.n_items, found.method) == (30, 30, "t over clusters")


def test_unequal_sets_tell_what_was_left_out(make_run: Maker) -> None:
    found = compare_runs(make_run(n=30, absent=4), make_run(n=40, model="b")).paired
    assert (found.unpaired_a, found.unpaired_b, found.not_run_a, found.n_pairs) == (0, 10, 4, 26)


def test_no_common_item_is_refused(make_run: Maker) -> None:
    with pytest.raises(UsageError, match="no item in common"):
        compare_runs(make_run(n=4), make_run(n=4, offset=90))


def test_an_unknown_rule_names_the_near_ones(make_run: Maker) -> None:
    run = make_run(n=4)
    with pytest.raises(UsageError, match="did you mean: official"):
        compare_runs(run, run, "offical")


def test_another_rule_gives_other_numbers(make_run: Maker) -> None:
    a, b = make_run(model="a", luck=30), make_run(model="b", luck=60)
    assert compare_runs(a, b).score_a.value != compare_runs(a, b, "fair").score_a.value


def _changed(run: Run, n: int) -> Run:
    """Make the first tasks of a stored run others than they were, under their old ids."""
    lines = (run.path / "tasks.jsonl").read_bytes().splitlines()
    for index in range(n):
        lines[index] = json.dumps(json.loads(lines[index]) | {"category": "changed"}).encode()
    (run.path / "tasks.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    info = json.loads((run.path / "run.json").read_text())
    info["tasks_sha256"] = "1" * 64
    (run.path / "run.json").write_text(json.dumps(info))
    return Run(run.path)


def test_changed_tasks_and_parameters_are_warned_of(make_run: Maker) -> None:
    a, b = make_run(n=6), _changed(make_run(n=6, parameters={"core": 20}), 1)
    found = compare_runs(a, b)
    assert found.warnings == (
        "1 task differs in content under the same id, such as lab-0 (category)",
        "the suite's parameters differ: core",
    )
    assert ("parameter core", "10", "20") in found.settings


def test_tasks_that_differ_are_not_tested_unless_asked(make_run: Maker) -> None:
    a, b = make_run(model="a", luck=90), make_run(model="b", luck=20)
    before = compare_runs(a, b).paired
    b = _changed(b, 30)
    found = compare_runs(a, b)
    assert found.n_changed == 30
    assert found.paired.n_pairs == 30
    assert all(each.p is None for each in (found.paired, *found.categories))
    first, second, *rest = str(found).splitlines()
    assert first.startswith("warning: 30 tasks differ in content")
    assert second.startswith("No verdict: these are not the same tasks. next: ")
    assert not any(word in str(rest) for word in ("p-value", "is better", "only A right:"))
    asked = compare_runs(a, b, allow_differing=True)
    assert asked.paired == before
    first, second, *_ = str(asked).splitlines()
    assert first.startswith("warning: 30 tasks differ in content")
    assert second.startswith("a is better than b by ")


def test_equal_settings_are_not_listed(make_run: Maker) -> None:
    found = compare_runs(make_run(n=6), make_run(n=6))
    assert found.settings == ()
    assert found.warnings == ()


def _spoken(run: Run) -> Run:
    """Give every second episode of a stored run another condition."""
    lines = [json.loads(line) for line in (run.path / "scores.jsonl").read_bytes().splitlines()]
    for n, line in enumerate(lines):
        line["axes"] = {"condition": "noisy" if n % 2 else "text", "recogniser": ""}
    (run.path / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Run(run.path)


def test_the_axes_of_a_suite_are_compared_level_by_level(make_run: Maker, scorer: Scorer) -> None:
    a, b = (_spoken(make_run(model=name, luck=luck)) for name, luck in (("a", 90), ("b", 20)))
    assert compare_runs(a, b).levels == {}
    axes = {name: lambda level, _: level for name in ("condition", "recogniser", "none")}
    found = compare_runs(
        presented(a, replace(scorer, presentation=replace(scorer.presentation, level_names=axes))),
        b,
    )
    assert list(found.levels) == ["condition"], "an axis of one level tells nothing"
    assert [each.difference.name for each in found.levels["condition"]] == ["text", "noisy"]
    assert sum(each.n_pairs for each in found.levels["condition"]) == found.paired.n_pairs
    text = str(found)
    assert text.index("A minus B by condition") < text.index("A minus B by category")


def test_a_headline_of_some_rows_is_compared_on_these(make_run: Maker, scorer: Scorer) -> None:
    heard = (RowFilter(column="axes.condition", values=("noisy",)),)

    def metrics(columns: Columns) -> list[Metric]:
        first, *rest = scorer.metrics(columns)
        return [msgspec.structs.replace(first, filters=heard, title="noisy sound"), *rest]

    a, b = (_spoken(make_run(model=name)) for name in ("a", "b"))
    whole = compare_runs(a, b)
    part = compare_runs(presented(a, replace(scorer, metrics=metrics)), b)
    assert (whole.compared_rows, part.compared_rows) == ("", "noisy sound")
    assert part.paired.n_pairs * 2 == whole.paired.n_pairs
    assert "noisy sound" in str(part)


def test_levels_come_as_the_tasks_do_and_not_as_episodes_end(
    make_run: Maker, scorer: Scorer
) -> None:
    judged = replace(
        scorer,
        presentation=replace(scorer.presentation, level_names={"core": lambda name, _: name}),
    )
    a, b = presented(make_run(model="a"), judged), make_run(model="b", luck=20)
    before = [each.difference.name for each in compare_runs(a, b).levels["core"]]
    scores = a.path / "scores.jsonl"
    scores.write_bytes(b"".join(reversed(scores.read_bytes().splitlines(keepends=True))))
    after = [each.difference.name for each in compare_runs(Run(a.path), b).levels["core"]]
    assert after == before == list(dict.fromkeys(task.axes["core"] for task in a.tasks()))


def test_a_group_of_one_item_has_no_row_and_is_counted(make_run: Maker) -> None:
    a, b = make_run(model="a", n=4), make_run(model="b", n=4, luck=20)  # one has two items
    found = compare_runs(a, b)
    assert sorted(each.n_items for each in found.categories) == [1, 1, 2]
    (table,) = [each for each in detail_tables(found) if "by category" in each.title]
    assert len(table.rows) == 1 and table.note.endswith("2 groups of one item left out")
    alone = compare_runs(make_run(model="a", n=3), make_run(model="b", n=3, luck=20))
    assert not any("by category" in each.title for each in detail_tables(alone))


def test_the_first_field_that_differs_is_named_to_its_depth(make_run: Maker) -> None:
    a, b = make_run(n=2), make_run(n=2)
    path = b.path / "tasks.jsonl"
    path.write_text(path.read_text().replace('"answer":412', '"answer":5'))
    info = json.loads((b.path / "run.json").read_text()) | {"tasks_sha256": "1" * 64}
    (b.path / "run.json").write_text(json.dumps(info))
    (warning,) = compare_runs(a, Run(b.path)).warnings
    assert warning.endswith("such as lab-0 (data.answer)")


@pytest.mark.parametrize(("other_model", "n_warnings"), [("m", 1), ("w", 0)])
def test_one_model_on_two_wires_is_compared_with_a_warning(
    make_run: Maker, other_model: str, n_warnings: int
) -> None:
    a, b = make_run(n=2, model="m"), make_run(n=2, model=other_model)
    for run, wire in ((a, "chat"), (b, "responses")):
        info = json.loads((run.path / "run.json").read_text())
        info["plan"]["wire"] = wire
        (run.path / "run.json").write_text(json.dumps(info))
    warnings = compare_runs(Run(a.path), Run(b.path)).warnings
    assert sum("chat and responses" in each for each in warnings) == n_warnings


def test_runs_that_differ_by_a_setting_are_named_by_it_alone(make_run: Maker) -> None:
    runs = [
        make_run(n=1, model="m", parameters={"core": core, "style": "plain"}) for core in (10, 20)
    ]
    assert run_names.distinct_run_names(runs) == ["m · core=10", "m · core=20"]
    assert run_names.distinct_run_names([*runs, make_run(n=1, model="w")]) == [
        "m · core=10",
        "m · core=20",
        "w",
    ]
    models = run_names.distinct_model_names(runs)
    assert run_names.distinguishing_settings(runs, models) == [{"core": "10"}, {"core": "20"}]
    twice = [make_run(n=1, model="m", parameters={"core": 10}) for _ in range(2)]
    assert run_names.distinct_run_names(twice) == [run.path.name for run in twice]
    long = run_names.distinct_run_names(
        [make_run(n=1, parameters={"of": "x" * 90 + end}) for end in "ab"]
    )
    assert all(len(name) < 90 for name in long)


def test_models_of_one_name_at_two_hosts_are_two(make_run: Maker) -> None:
    at = [make_run(n=1, model=f"http://{host}:1/v1#m") for host in ("one", "two")]
    assert run_names.distinct_model_names([*at, make_run(n=1, model="w")]) == [
        "m · one:1",
        "m · two:1",
        "w",
    ]
    assert run_names.distinct_model_names(at[:1]) == ["m"]


def _answers(right: NDArray[np.bool_]) -> Columns:
    return gather_columns(
        (
            Score(
                task=f"t{n}",
                item=f"t{n}",
                verdicts={
                    "r": Verdict(outcome="correct" if hit else "incorrect", value=float(hit))
                },
            )
            for n, hit in enumerate(right)
        ),
        "r",
    )


def _compared(a: str, b: str, one: Columns, other: Columns) -> Comparison:
    bare = Estimate(name="success")
    return Comparison(
        a=a, b=b, rule="r", score_a=bare, score_b=bare, paired=compare_paired(one, other)
    )


def test_among_equal_models_a_page_names_no_winner_but_by_rare_chance() -> None:
    # 5 models of one share: without adjusting, one page in four names a winner (the second bound);
    # 120 pages: three standard errors above 5 % is 11 %
    rng = np.random.default_rng(5)
    alone, adjusted = [], []
    for _ in range(120):
        tables = [_answers(rng.random(60) < 0.5) for _ in range(5)]
        pairs = [_compared("a", "b", *two) for two in combinations(tables, 2)]
        alone.append(any("is better" in verdict_sentence(each) for each in pairs))
        adjusted.append(
            any("is better" in verdict_sentence(each) for each in adjust_comparisons(pairs))
        )
    assert np.mean(adjusted) <= 0.11
    assert np.mean(alone) >= 0.13


def test_a_true_winner_is_found_among_several() -> None:
    right = np.arange(100)
    tables = {
        "good": _answers(right < 90),
        "poor": _answers(right < 20),
        "low": _answers(right < 22),
    }
    found = adjust_comparisons([_compared(*names, *(tables[name] for name in names))
                      for names in combinations(tables, 2)])  # fmt: skip
    reported = [verdict_sentence(each) for each in found]
    assert [text.startswith("good is better") for text in reported] == [True, True, False]
    assert all("; among 3 pairs p" in text for text in reported)
    cells = {row[0]: row[1:] for row in summary_table(found[0]).rows}
    assert cells["adjusted p-value"][1] == "Holm, 3 pairs on this page"
    assert "not adjusted" in summary_table(found[0]).note


@pytest.mark.parametrize("n_groups", [1, 2, 19, 20])
def test_few_groups_are_counted_with_the_pairs_and_one_has_no_interval(n_groups: int) -> None:
    rng = np.random.default_rng(n_groups)
    one, other = (_answers(rng.random(60) < share) for share in (0.8, 0.3))
    axes = {"group": np.array([f"g{i % n_groups}" for i in range(60)], dtype=object)}
    one, other = replace(one, axes=axes), replace(other, axes=axes)
    level = compare_paired(one, other, name="some")
    found = msgspec.structs.replace(_compared("a", "b", one, other), categories=(level, level))
    (table,) = (each for each in detail_tables(found) if each.title.startswith("A minus B by"))
    _, difference, p, pairs, *_ = table.rows[0]
    words = {1: "60 (1 group)", 2: "60 (2 groups)", 19: "60 (19 groups)", 20: 60}
    assert pairs == words[n_groups]
    assert ("[" in str(difference)) == (p is not None) == (n_groups > 1)
    assert ("there is no interval" in table.note) == (n_groups == 1)
    assert ("rests on the groups" in table.note) == (n_groups < 20)


def test_a_comparison_alone_is_not_adjusted() -> None:
    found = _compared("a", "b", _answers(np.arange(40) < 30), _answers(np.arange(40) < 10))
    assert adjust_comparisons([found]) == [found]
    assert adjust_comparisons([]) == []
    assert "among" not in verdict_sentence(found) and summary_table(found).note == ""


def test_pairs_that_were_not_tested_are_not_counted() -> None:
    found = _compared("a", "b", _answers(np.arange(40) < 30), _answers(np.arange(40) < 10))
    silent = msgspec.structs.replace(found, paired=msgspec.structs.replace(found.paired, p=None))
    assert adjust_comparisons([found, silent]) == [found, silent]


def _cells(table: Table) -> dict[str, tuple[Any, ...]]:
    return {str(row[0]): row[1:] for row in table.rows}


def test_sides_of_unlike_sets_are_compared_on_their_pairs(make_run: Maker) -> None:
    a, b = make_run(n=40, model="a", luck=70), make_run(n=10, model="b")
    found = compare_runs(a, b)
    pair = found.paired
    assert pair.value_a is not None and pair.value_b is not None
    assert pair.value_a - pair.value_b == pytest.approx(pair.difference.value)
    cells = _cells(summary_table(found))
    assert cells["A: a"] == (number_format.format_percent(pair.value_a), "the pairs")
    assert cells["A, the whole run"][1] == "n = 40"
    assert cells["B: b"][1] == "n = 10" and "B, the whole run" not in cells
    mean_a = np.mean([_right(a, k) for k in range(10)])
    assert pair.value_a == pytest.approx(mean_a)


def _right(run: Run, index: int) -> bool:
    (score,) = (score for score in run.scores() if score.task == f"lab-{index}")
    return score.verdicts["official"].outcome == "correct"


def test_levels_that_both_have_are_named(make_run: Maker) -> None:
    a, b = make_run(n=12, model="a"), make_run(n=12, model="b")
    _forms(a, lambda k: "text" if k % 2 else "tool")
    _forms(b, lambda k: "text")
    assert compare_runs(a, b).common_levels == "form text"
    row = _cells(summary_table(compare_runs(a, b)))["without a partner"]
    assert row[1] == "left out; both have: form text"
    assert compare_runs(a, a).common_levels == ""


def _forms(run: Run, form: Callable[[int], str]) -> None:
    lines = map(json.loads, (run.path / "scores.jsonl").read_bytes().splitlines())
    made = [line | {"axes": {**line["axes"], "form": form(k)}} for k, line in enumerate(lines)]
    (run.path / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in made))


def test_measures_other_than_the_mean_value_are_compared(make_run: Maker, scorer: Scorer) -> None:
    def more(columns: Columns) -> list[Metric]:
        cost = Metric("cost", UnboundedMean(part="calls"), "calls made")
        return [*scorer.metrics(columns), cost]

    wide = replace(scorer, metrics=more)
    a, b = make_run(model="a", luck=30), make_run(model="b", luck=30)
    _costs(a, 6.0)
    _costs(b, 2.5)
    assert not compare_runs(a, b).measures
    found = compare_runs(presented(a, wide), b)
    (each,) = found.measures
    assert each.difference.name == "calls made" and not each.difference.is_share
    assert (each.value_a, each.value_b) == (6.0, 2.5) and each.difference.value == 3.5
    both = [k for k in range(30) if not (_right(a, k) or _right(b, k))]
    assert each.n_pairs == len(both)
    (table,) = (table for table in detail_tables(found) if table.title == "Other measures, paired")
    assert table.rows[0][:3] == ("calls made", "6.000", "2.500")
    assert "Other measures, paired" in str(found)


def _costs(run: Run, cost: float) -> None:
    """Say what failed answers cost."""
    lines = [json.loads(line) for line in (run.path / "scores.jsonl").read_bytes().splitlines()]
    for line in lines:
        for reading in line["verdicts"].values():
            if reading["outcome"] == "incorrect":
                reading["parts"] = {"calls": cost}
    (run.path / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_the_parameter_that_changes_the_tasks_is_named(make_run: Maker) -> None:
    a, b = make_run(n=6, model="a"), _changed(make_run(n=6, parameters={"core": 20}), 6)
    assert verdict_sentence(compare_runs(a, b)).endswith(
        "next: run both with the same core (10 and 20), or compare them all the same with "
        "--differing"
    )
    with pytest.raises(UsageError, match=r"run both with the same core \(10 and 20\)"):
        compare_runs(a, make_run(n=4, offset=90, parameters={"core": 20}))
    assert same_tasks_advice([("seed", "1", "2")]) == "run both with one --seed"
    assert same_tasks_advice(
        [("seed", "1", "2"), ("parameter history", "0", "3"), ("model", "a", "b")]
    ) == ("run both with one --seed and with the same history (0 and 3)")


@pytest.mark.parametrize("names", [("summary.json",), ("presentation.json", "summary.json")])
def test_what_is_missing_next_to_the_scores_is_named(make_run: Maker, names: Any) -> None:
    a, b = make_run(n=6, model="a"), make_run(n=6, model="b")
    for name in names:
        (b.path / name).unlink()
    reported = rf"scores, but no {' and no '.join(names)}; next: toolmark score "
    with pytest.raises(UsageError, match=reported):
        compare_runs(a, Run(b.path))
    (b.path / "scores.jsonl").unlink()
    with pytest.raises(UsageError, match=r"no scores; next: toolmark score "):
        compare_runs(a, Run(b.path))


def _lacking(scorer: Scorer) -> Scorer:
    """Return a scorer whose headline is partial where a category has no answer that ran."""
    formula = StratifiedMean(group=EvenGroup(name="success", members=CATEGORIES))
    return replace(scorer, metrics=lambda columns: [Metric("success", formula)])


def _only(run: Run, *categories: str) -> Run:
    """Leave a stored run the scores of these categories alone, as if no other had been asked."""
    lines = (run.path / "scores.jsonl").read_bytes().splitlines(keepends=True)
    saved = [line for line in lines if json.loads(line)["category"] in categories]
    (run.path / "scores.jsonl").write_bytes(b"".join(saved))
    info = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps(info | {"n_tasks": len(saved)}))
    return Run(run.path)


def test_of_a_partial_headline_what_both_runs_have_is_compared(
    make_run: Maker, scorer: Scorer
) -> None:
    judged = _lacking(scorer)
    few = ("core 5", "core 10")
    whole = presented(make_run(model="whole", luck=90, n=120), judged)
    part = presented(_only(make_run(model="part", luck=10, n=120), *few), judged)
    both = presented(_only(make_run(model="whole", luck=90, n=120), *few), judged)
    found = compare_runs(whole, part)
    assert found.paired == msgspec.structs.replace(
        compare_runs(both, part).paired, unpaired_a=found.paired.unpaired_a
    )
    assert found.warnings[0] == (
        "the headline is partial of part (2 of 3 categories run); the difference is over what both "
        "runs have: core 5, core 10"
    )
    assert found.score_b.partial and not found.score_a.partial
    text = str(found)
    assert "On what both runs have: whole is better than part by" in verdict_sentence(found)
    shown = {row[0]: row[1] for row in summary_table(found).rows}
    assert shown["B: part"] == number_format.format_percent(found.paired.value_b or 0.0)
    assert shown["B, the headline"] == "– (2 of 3 categories run)"
    assert shown["A: whole"] == number_format.format_percent(found.paired.value_a or 0.0)
    assert text.startswith("warning: the headline is partial of part")


def test_two_partial_headlines_are_both_named(make_run: Maker, scorer: Scorer) -> None:
    judged = _lacking(scorer)
    a, b = (presented(_only(make_run(model=name), "core 5"), judged) for name in "ab")
    (reported,) = compare_runs(a, b).warnings
    assert "partial of a (1 of 3 categories run) and of b (1 of 3 categories run)" in reported
