"""Presets have the paper's numbers of tasks; parameters that cannot be are refused."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.runs.run_plan import CODE_HASH_NAMES
from toolmark.suites import suite_registry
from toolmark.suites.funcbench import (
    graph_shape,
    task_generation,
    task_wording,
)
from toolmark.suites.funcbench.experiment_presets import PRESETS
from toolmark.suites.funcbench.funcbench_suite import _content_hashes

SIZES = {
    "main": 1150,
    "by-kind": 1150,
    "by-depth": 1150,
    "main-caption": 1150,
    "no-extra": 115,
    "core40": 500,
    "effort": 400,
    "restate5": 160,
    "restate10": 360,
}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_the_papers_number_of_tasks(preset: str) -> None:
    suite = tm.load("funcbench", preset=preset, seed=0)
    assert len(suite) == SIZES[preset]
    small = tm.load("funcbench", preset=preset, graphs=1, seed=0)
    ids = [task.id for task in small]
    assert len(set(ids)) == len(ids) == len(small) == SIZES[preset] // 5


def test_main_crosses_size_depth_number_and_kind() -> None:
    found = Counter[tuple[str, str]]()
    cores = Counter[str]()
    for task in tm.load("funcbench", preset="main", graphs=1, seed=0):
        found[task.axes["irrelevant"], task.axes["kind"]] += 1
        cores[task.axes["core"]] += 1
    assert cores == {"5": 40, "10": 90, "20": 100}
    assert found["0", "none"] == 23
    for count in ("10", "20", "40"):
        for kind in ("connected", "disconnected", "half"):
            assert found[count, kind] == 23


def test_an_odd_number_of_irrelevant_functions_has_one_more_connected() -> None:
    tasks = [
        t
        for t in tm.load("funcbench", preset="main-caption", graphs=1, seed=0)
        if t.axes["kind"] == "half"
    ]
    five = next(task for task in tasks if task.axes["irrelevant"] == "5")
    assert "-k3-m2-" in five.item


def test_slices_of_main_hold_the_same_tasks() -> None:
    main = [task.id for task in tm.load("funcbench", preset="main", graphs=1, seed=0)]
    assert [task.id for task in tm.load("funcbench", preset="by-kind", graphs=1, seed=0)] == main
    bare = {task.id: task for task in tm.load("funcbench", preset="no-extra", graphs=1, seed=0)}
    for task in tm.load("funcbench", preset="main", graphs=1, seed=0):
        if task.id in bare:
            assert bare.pop(task.id) == task
    assert not bare


@pytest.mark.parametrize(
    ("preset", "axis", "levels"),
    [("restate5", "protocol", ["plain", "restate"]), ("effort", "effort", ["minimal", "medium"])],
)
def test_paired_presets_ask_every_item_both_ways(preset: str, axis: str, levels: list[str]) -> None:
    asked: dict[str, list[str]] = {}
    for task in tm.load("funcbench", preset=preset, graphs=1, seed=0):
        asked.setdefault(task.item, []).append(task.axes[axis])
    assert all(found == levels for found in asked.values())


def test_other_efforts_replace_those_of_the_preset() -> None:
    suite = tm.load("funcbench", preset="effort", efforts=("low", "high"), graphs=1, seed=0)
    assert {task.sampling.reasoning_effort for task in suite} == {"low", "high"}


def test_tasks_can_be_gone_through_twice() -> None:
    suite = tm.load("funcbench", graphs=3, seed=5)
    assert list(suite) == list(suite)
    assert len(list(suite)) == len(suite) == 3


def test_without_a_seed_the_tasks_are_fresh() -> None:
    one, other = tm.load("funcbench", graphs=1), tm.load("funcbench", graphs=1)
    assert list(one) != list(other)
    assert list(tm.load("funcbench", graphs=1, seed=one.provenance.seed)) == list(one)
    assert one.parameters["seed"] is None


def test_the_limit_is_twice_the_core_and_can_be_lifted() -> None:
    (task,) = tm.load("funcbench", graphs=1, seed=0)
    assert task.limits.calls == 20
    assert task.limits.steps == 21
    (free,) = tm.load("funcbench", graphs=1, seed=0, cap="none")
    assert free.limits.calls is None


def test_a_cap_above_the_minimum_leaves_no_room_for_calls_without_a_plan() -> None:
    (task,) = tm.load("funcbench", graphs=1, seed=0, cap="minimum+3")
    assert task.limits.calls == 13
    assert task.limits.steps == 14


def test_wordings_are_an_axis_of_each_item() -> None:
    suite = tm.load("funcbench", preset="restate5", wording="plain,guided", graphs=1, seed=0)
    asked: dict[str, list[tuple[str, str]]] = {}
    for task in suite:
        asked.setdefault(task.item, []).append((task.axes["protocol"], task.axes["wording"]))
    ways = [("plain", "plain"), ("plain", "guided"), ("restate", "plain"), ("restate", "guided")]
    assert all(found == ways for found in asked.values())


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"preset": "mian"}, "no preset 'mian'; did you mean: main"),
        ({"preset": "main", "core": 5}, "a preset sets core, depth"),
        ({"preset": "main", "core": 10}, "a preset sets core, depth"),
        ({"preset": "main", "depth": 5}, "a preset sets core, depth"),
        ({"preset": "main", "connected": 0}, "a preset sets core, depth"),
        ({"preset": "main", "disconnected": "0"}, "a preset sets core, depth"),
        ({"depth": 10}, "depth must be at most core - 1 = 9; got 10"),
        ({"graphs": 0}, "parameter graphs: expected a whole number >= 1, got 0"),
        ({"efforts": "hgih"}, "no reasoning effort 'hgih'; did you mean: high"),
        ({"efforts": "low,low"}, "efforts must differ"),
        ({"preset": "restate5", "restate": True}, "leave restate out"),
        ({"preset": "main", "max_inputs": 1}, "core must be at most 2 with depth 1"),
        ({"cap": "minimum"}, "cap must be 2n, none or minimum"),
        ({"wording": "palin"}, "no wording 'palin'; did you mean: plain"),
        ({"wording": "plain,plain"}, "wordings must differ"),
        ({"conected": 3}, "did you mean: connected"),
    ],
)
def test_impossible_parameters_are_refused_with_the_bound(
    parameters: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        suite_registry.load_suite("funcbench", **parameters)


def test_the_record_of_a_preset_run_names_no_size_of_its_own() -> None:
    parameters = tm.load("funcbench", preset="core40", seed=0).parameters
    assert parameters["preset"] == "core40"
    assert parameters["graphs"] == 5
    assert parameters["core"] is None
    assert tm.load("funcbench", core=7, seed=0).parameters["core"] == 7


def test_sizes_that_are_left_out_are_on_record() -> None:
    parameters = tm.load("funcbench", core=7, seed=0).parameters
    assert [parameters[x] for x in ("core", "depth", "connected", "disconnected")] == [7, 5, 0, 0]
    assert (
        tm.load("funcbench", seed=0).parameters
        == tm.load("funcbench", core=10, depth=5, connected=0, disconnected=0, seed=0).parameters
    )


def test_a_run_knows_its_wording_and_its_generator() -> None:
    hashes = tm.load("funcbench", seed=0).provenance.hashes
    assert set(hashes) == set(CODE_HASH_NAMES)  # no name without a producer
    assert all(re.fullmatch("[0-9a-f]{64}", found) for found in hashes.values())
    assert tm.load("funcbench", preset="main").provenance.hashes == hashes


def hashes_with(monkeypatch: pytest.MonkeyPatch, module: ModuleType, **changed: Any) -> set[str]:
    """Return the names of the hashes that change with these attributes of a module."""
    before = _content_hashes()
    for name, value in changed.items():
        monkeypatch.setattr(module, name, value)
    after = _content_hashes.__wrapped__()
    return {name for name in before if before[name] != after[name]}


def test_other_tasks_from_a_seed_are_another_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {"irrelevant_kind": lambda size: "odd"}
    assert hashes_with(monkeypatch, task_generation, **changed) == {"generator"}


def test_another_drawing_of_graphs_is_another_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = graph_shape.draw_shape

    def draw(size: Any, rng: Any) -> Any:
        rng.random()
        return drawn(size, rng)

    assert hashes_with(monkeypatch, task_generation, draw_shape=draw) == {"generator"}


def test_other_prompt_texts_are_another_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {"prompt_texts": lambda: ("x",)}
    assert hashes_with(monkeypatch, task_wording, **changed) == {"prompt"}


def test_the_same_tasks_from_other_source_text_are_the_same_generator(tmp_path: Path) -> None:
    """Comments and names of locals are not behaviour: only what is made counts."""
    package = Path(task_generation.__file__).parents[2]
    copied = tmp_path / "copy"
    shutil.copytree(package, copied / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    source = copied / package.name / "suites/funcbench/task_generation.py"
    text = source.read_text("utf-8")
    for old, new in (
        ("    shape = draw_shape(", "    outline = draw_shape("),
        ("_draw_names(size, shape, seeds", "_draw_names(size, outline, seeds"),
        ("_make_nodes(size, shape, names)\n    if", "_make_nodes(size, outline, names)\n    if"),
    ):
        assert old in text
        text = text.replace(old, new)
    source.write_text(f"{text}# a remark\n", "utf-8")
    child = "from toolmark.suites.funcbench.funcbench_suite import _content_hashes as h; print(h())"
    done = subprocess.run(
        [sys.executable, "-c", child],
        env={**os.environ, "PYTHONPATH": str(copied)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ast.literal_eval(done.stdout) == _content_hashes()


def test_every_parameter_has_its_help() -> None:
    parameters = suite_registry.list_parameters("funcbench")
    assert parameters and all(each.description for each in parameters)
