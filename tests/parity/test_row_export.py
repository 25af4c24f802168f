"""BFCL as rows: `expected_calls` gives the outcome of the suite's official rule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.golden.cases import bfcl_damage
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.core import seeds
from toolmark.core.records import Task, Trajectory
from toolmark.official_bfcl.reply_decoding import decode_reply
from toolmark.scoring.episode import Episode
from toolmark.suites.bfcl.bfcl_scorer import score_episode

N_ANSWERS = 25  # damaged ones, of each of the 400 tasks


def export(toolmark: Command, category: str) -> tuple[list[Task], dict[str, Task], tm.Suite]:
    """Return the tasks of the suite, and those of its rows with their suite."""
    said = toolmark(
        "export", "rows", "bfcl", "-o", f"{category}.jsonl", "-T", f"category={category}"
    )
    assert said.code == 0, said.err
    suite = tm.load(f"{category}.jsonl")
    rows = {task.id: task for task in suite}
    tasks = list(tm.load("bfcl", category=(category,)))
    assert [task.id for task in tasks] == [*rows]
    return tasks, rows, suite


def answers(tasks: list[Task], n: int) -> Iterator[tuple[str, Task, Trajectory]]:
    """Yield damaged answers in native calls, as the tool loop stores them."""
    for task in tasks:
        draws = (
            bfcl_damage._native(task, seeds.make_rng(17, task.id, repeat, "rows"))
            for repeat in count()
        )
        damaged = (each for each in draws if each[0] != "none")
        for damage, _, played in islice(damaged, n):
            [step] = played.steps
            yield damage, task, replace(played, steps=(replace(step, calls=step.reply.calls),))


def is_official_greed(task: Task, played: Trajectory) -> bool:
    """Return whether the official matcher of parallel calls missed a pairing that fits them all."""
    return "parallel" in task.category and score_episode(Episode(task, played))["fair"].value == 1


def compare(
    tasks: list[Task], rows: dict[str, Task], suite: tm.Suite, n: int
) -> tuple[Counter[str], list[str]]:
    """Return the outcomes that are equal, and the answers that are judged differently."""
    counts: Counter[str] = Counter()
    apart = []
    for damage, task, played in answers(tasks, n):
        official = score_episode(Episode(task, played))["official"]
        [own] = suite.scorer.score(Episode(rows[task.id], played)).values()
        if official.outcome == own.outcome:
            counts[own.outcome] += 1
        elif is_official_greed(task, played) and own.outcome == "correct":
            counts["official greed"] += 1
        else:
            said = [*decode_reply(task, played).calls]
            labels = [each.evidence for verdict in (official, own) for each in verdict.labels]
            apart.append(
                f"{task.id} {damage}: {official.outcome}, rows {own.outcome}: {said} {labels}"
            )
    return counts, apart


def test_simple_python_as_rows_has_the_official_outcomes(toolmark: Command) -> None:
    counts, apart = compare(*export(toolmark, "simple_python"), N_ANSWERS)
    print(f"\n{counts.total()} answers, {len(apart)} apart: {dict(counts)}")
    assert apart == []
    assert counts.total() == 10_000
    assert counts["correct"] > 1_000 and counts["incorrect"] > 4_000


@pytest.mark.parametrize(
    "category",
    ["multiple", "parallel", "parallel_multiple",
     *(pytest.param(name, marks=pytest.mark.long)
       for name in ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"))],
)  # fmt: skip
def test_the_other_python_categories_as_rows(category: str, toolmark: Command) -> None:
    tasks, rows, suite = export(toolmark, category)
    counts, apart = compare(tasks, rows, suite, 1 + 1_000 // len(tasks))
    print(f"\n{category}: {counts.total()} answers, {len(apart)} apart: {dict(counts)}")
    assert apart == []
    assert counts["correct"] and counts["incorrect"]


def test_rows_of_bfcl_ask_what_the_suite_asks(toolmark: Command) -> None:
    tasks, rows, _ = export(toolmark, "simple_python")
    for task in tasks:
        assert rows[task.id].turns == task.turns
        assert [tool.name for tool in rows[task.id].tools] == [tool.name for tool in task.tools]
        for one, other in zip(rows[task.id].tools, task.tools, strict=True):
            assert one.description == other.description
            assert list(one.parameters["properties"]) == list(other.parameters["properties"])


def test_what_no_row_can_hold_is_refused_and_nothing_is_written(toolmark: Command) -> None:
    for suite, further in (
        ("bfcl", ("-T", "category=simple_java")),
        ("bfcl", ("-T", "category=multi_turn_base")),
        ("bfcl", ("-T", "category=single_turn")),
        ("funcbench", ()),
        ("nothing", ()),
    ):
        said = toolmark("export", "rows", suite, "-o", "rows.jsonl", *further)
        assert said.code == 2
        assert len(said.err.strip().splitlines()) == 1
        assert not Path("rows.jsonl").exists()
    assert toolmark("export", "rows", "bfcl", "-o", "rows.csv").code == 2


def test_irrelevance_and_relevance_are_rows_without_named_calls(toolmark: Command) -> None:
    for category, field in (
        ("irrelevance", {"expected": []}),
        ("live_relevance", {"must_call": True}),
    ):
        export(toolmark, category)
        rows = [json.loads(line) for line in Path(f"{category}.jsonl").read_text().splitlines()]
        assert all(field.items() <= row.items() for row in rows)
        said = toolmark("run", f"{category}.jsonl", "-m", "control/oracle", "--json")
        assert json.loads(said.out)["score"]["value"] == 1
