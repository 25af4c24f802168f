"""The profile over the families: which run has which row, and what it is held to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.suites.multinet import made_scores
from tests.suites.multinet.made_scores import cells, titled
from tests.suites.multinet.test_paper_comparison import numbers
from tests.suites.multinet.test_report_tables import BOTH, ran

from toolmark.core import number_format
from toolmark.core.records import Chart, Table
from toolmark.runs.suite import ComparedRun
from toolmark.suites import suite_registry
from toolmark.suites.multinet import family_profile
from toolmark.suites.multinet.frame_records import Form
from toolmark.suites.multinet.multinet_families import FAMILIES, default_setting, suite_name
from toolmark.suites.multinet.tables import score_columns


def run(model: str, family: str, skill: float = 0.5, *, asked: Mapping[str, str] = {},
        created: str = "", n: int = 48, forms: tuple[Form, ...] = ("text",),
        source: str = "synthetic") -> ComparedRun:  # fmt: skip
    readings = {
        name: replace(x, axes={**x.axes, "source": np.full(len(x), source, dtype=object)})
        for name, x in made_scores.rows(ran(family, n, forms, skill)).items()
    }
    return ComparedRun(f"multinet-{family}", model, "folder-1", readings, asked, created)


def profiled(*runs: ComparedRun) -> tuple[dict[Any, dict[str, object]], Table]:
    table, *_ = family_profile.profile_tables(runs)
    assert isinstance(table, Table)
    return cells(table), table


def test_the_profile_has_a_row_per_model_and_what_is_above_the_best_baseline() -> None:
    runs = [run("m", "piqa", 0.9, source="real"), run("m", "overcooked", 0.9, source="real"),
            run("w", "piqa", 0.0, source="real")]  # fmt: skip
    shares, table = profiled(*runs)
    assert shares["m"]["piqa"] == runs[0].columns_by_rule["paper"].value.mean()
    assert shares["w"]["overcooked"] is None
    assert {"best baseline", "GPT-5 (paper)", "Pi0 (paper)"} <= set(shares)
    mine = runs[1].columns_by_rule["paper"]
    fair = [name for name in score_columns.baseline_names(mine) if name != "previous"]
    floors = [float(score_columns.baseline_rows(mine, name).value.mean()) for name in fair]
    assert shares["best baseline"]["overcooked"] == max(floors)
    above = cells(titled(family_profile.profile_tables(runs))["Above the best baseline, in points"])
    assert str(above["m"]["overcooked"]).startswith("+")
    assert not family_profile.profile_tables(runs[:1])
    assert family_profile._DAGGER not in table.note


@pytest.mark.parametrize("newest", ["usual", "other"])
def test_what_is_asked_as_usual_has_the_main_row_and_all_else_is_named(newest: str) -> None:
    dates = ("2026-02", "2026-01") if newest == "usual" else ("2026-01", "2026-02")
    plain = {"mode": "action", "frames": "1", "seed": "5"}
    acted = run("m", "overcooked", 0.9, asked=plain, created=dates[0])
    weighed = run("m", "overcooked", 0.1, created=dates[1],
                  asked={"mode": "probs", "frames": "2", "seed": "3"})  # fmt: skip
    shares, table = profiled(run("m", "piqa"), weighed, acted)
    named = f"m (mode=probs, frames=2) {family_profile._DAGGER}"
    head = f"overcooked {family_profile._DAGGER}"
    assert {name for name in shares if name.startswith("m")} == {
        f"m {family_profile._DAGGER}",
        named,
    }
    assert (
        shares[f"m {family_profile._DAGGER}"][head] == acted.columns_by_rule["paper"].value.mean()
    )
    assert shares[named][head] == weighed.columns_by_rule["paper"].value.mean()
    assert "newest" not in table.note


def test_of_runs_that_were_asked_alike_the_newest_stands_and_the_page_says_so_once() -> None:
    old = run("m", "piqa", 0.0, created="2026-01", forms=BOTH)
    new = run("m", "piqa", 0.9, created="2026-02", forms=BOTH, asked={"seed": "7"})
    shares, table = profiled(new, old, run("m", "sqa3d", forms=BOTH))
    first = new.columns_by_rule["paper"]
    mine = first.where(first.axis("form") == "tool").value.mean()
    row = shares[f"m, by tool {family_profile._DAGGER}"]
    assert row[f"piqa {family_profile._DAGGER}"] == mine
    assert table.note.count("m on piqa: the newest of 2 runs.") == 1


def test_usual_settings_are_those_of_the_suites() -> None:
    for family in FAMILIES:
        for parameter in suite_registry.list_parameters(suite_name(family)):
            name, default = parameter.name, parameter.default
            if name in ("items", "form", "seed", "sample"):
                continue
            default = [*default] if isinstance(default, tuple) else default
            reported = default if isinstance(default, str) else json.dumps(default)
            assert default_setting(family, name) == reported, (family, name)


@pytest.mark.parametrize("set_first", [True, False])
def test_a_setting_that_is_unset_in_one_run_drops_neither(set_first: bool) -> None:
    dates = ("2026-01", "2026-02") if set_first else ("2026-02", "2026-01")
    warm = run("m", "piqa", 0.9, asked={"temperature": "1", "seed": "3"}, created=dates[0])
    plain = run("m", "piqa", 0.1, created=dates[1])
    shares, _ = profiled(warm, plain, run("m", "sqa3d"))
    head = f"piqa {family_profile._DAGGER}"
    assert (
        shares[f"m {family_profile._DAGGER}"][head] == plain.columns_by_rule["paper"].value.mean()
    )
    named = f"m (temperature=1) {family_profile._DAGGER}"
    assert shares[named][head] == warm.columns_by_rule["paper"].value.mean()


def test_baselines_are_floors_unless_they_are_all_there_is() -> None:
    floor = [run("baseline/majority", "piqa"), run("baseline/majority", "sqa3d")]
    shares, table = profiled(*floor, run("m", "piqa"), run("m", "sqa3d"))
    assert not any(name.startswith("baseline/") for name in shares)
    assert "Not among the models: baseline/majority." in table.note
    alone, _ = profiled(*floor)
    assert any(name.startswith("baseline/") for name in alone)


def test_equal_floors_stand_once() -> None:
    weighed = run("m", "overcooked", asked={"mode": "probs"})
    acted = run("m", "overcooked", asked={"mode": "action"})
    shares, _ = profiled(run("m", "piqa", forms=BOTH), acted, weighed, run("w", "piqa"))
    assert [name for name in shares if name.startswith("best")] == ["best baseline"]


def test_who_is_no_better_than_the_mean_is_not_above_the_best_baseline() -> None:
    lost = run("m", "openx", 0.0, n=60)
    shares, table = profiled(lost, run("m", "piqa"))
    row, head = shares["best baseline"], f"openx {family_profile._DAGGER}"
    found = family_profile.best_baseline(lost.columns_by_rule["paper"])
    assert found is not None and found[0] == "mean" and row[head] == 0.5
    assert "openx mean" in table.note
    made = titled(family_profile.profile_tables([lost, run("m", "piqa")]))
    above = cells(made["Above the best baseline, in points"])
    share = float(lost.columns_by_rule["paper"].value.mean())
    assert share < 0.5 and str(above[f"m {family_profile._DAGGER}"][head]).startswith("−")
    errors = cells(made["Profile: errors on openx"])
    assert errors["training mean"]["RelMAE"] == "1"
    mine = numbers(lost.columns_by_rule["paper"])["rel_mae"]
    assert errors[f"m {family_profile._DAGGER}"]["RelMAE"] == number_format.format_estimate(mine)


def test_the_profile_has_macro_recall_with_the_most_that_its_rows_allow() -> None:
    runs = [run("m", "overcooked"), run("m", "piqa"), run("m", "sqa3d")]
    table = titled(family_profile.profile_tables(runs))["Profile: macro recall"]
    row = cells(table)[f"m {family_profile._DAGGER}"]
    assert not any("sqa3d" in name for name in row)
    for found in runs[:2]:
        family = found.suite.removeprefix("multinet-")
        value, ceiling = str(row[f"{family} {family_profile._DAGGER}"]).split(" / ")
        mine = found.columns_by_rule["paper"]
        assert value == number_format.format_estimate(numbers(mine)["macro_recall"])
        right = replace(mine, parts={**mine.parts, "predicted": mine.part("truth")})
        assert ceiling == number_format.format_percent(numbers(right)["macro_recall"].value or 0.0)


def test_forms_are_rows_of_their_own() -> None:
    pair = run("m", "piqa", forms=BOTH)
    shares, _ = profiled(pair, run("m", "sqa3d", forms=("tool",)))
    rows = {name.removesuffix(f" {family_profile._DAGGER}"): row for name, row in shares.items()}
    assert {"m, by text", "m, by tool"} <= set(rows) and "m" not in rows
    first = pair.columns_by_rule["paper"]
    by_tool = first.where(first.axis("form") == "tool").value.mean()
    head = f"piqa {family_profile._DAGGER}"
    assert rows["m, by tool"][head] == by_tool
    assert rows["m, by text"][f"sqa3d {family_profile._DAGGER}"] is None


def test_the_best_baseline_is_that_of_the_rows_that_were_asked() -> None:
    runs = [run("a", "piqa", n=48), run("b", "piqa", n=20), run("a", "sqa3d"), run("b", "sqa3d")]
    shares, _ = profiled(*runs)
    assert "best baseline" not in shares
    for model, at in (("a", 0), ("b", 1)):
        found = family_profile.best_baseline(runs[at].columns_by_rule["paper"])
        assert found is not None
        row = shares[f"best baseline, rows of {model}"]
        assert row[f"piqa {family_profile._DAGGER}"] == found[1].value.mean()


def test_stand_ins_are_marked_where_they_stand_and_named() -> None:
    shares, table = profiled(
        run("a", "piqa"), run("b", "piqa", source="real"), run("a", "sqa3d", source="real"),
        run("b", "sqa3d", source="real"),
    )  # fmt: skip
    assert str(shares["a"]["piqa"]).endswith(family_profile._DAGGER)
    assert isinstance(shares["b"]["piqa"], float) and table.head == ("model", "piqa", "sqa3d")
    assert table.note.endswith(": a on piqa.")
    floors = {name: row for name, row in shares.items() if str(name).startswith("best baseline")}
    assert str(floors["best baseline, rows of a"]["piqa"]).endswith(f"% {family_profile._DAGGER}")
    assert isinstance(floors["best baseline, rows of b"]["piqa"], float)
    _, alike = profiled(run("a", "piqa"), run("b", "sqa3d"))
    assert alike.note.endswith(": every run.")


def test_many_rows_are_not_drawn() -> None:
    few = [run(f"m{i}", family, n=12) for i in range(7) for family in ("piqa", "sqa3d")]
    assert any(isinstance(each, Chart) for each in family_profile.profile_tables(few))
    more = [*few, run("m7", "piqa", n=12)]
    assert not any(isinstance(each, Chart) for each in family_profile.profile_tables(more))
