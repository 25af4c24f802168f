"""Loading: which entries, from what, as which tasks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import toolmark as tm
from toolmark.core import json_codec
from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Task
from toolmark.official_bfcl import official_data
from toolmark.runs.suite import Suite
from toolmark.suites.bfcl import bfcl_suite

COUNTS = {
    "simple_python": 400, "simple_java": 100, "simple_javascript": 50,
    "multiple": 200, "parallel": 200, "parallel_multiple": 200,
    "irrelevance": 240, "live_simple": 258, "live_multiple": 1053, "live_parallel": 16,
    "live_parallel_multiple": 24, "live_irrelevance": 884, "live_relevance": 16,
}  # fmt: skip


def test_every_published_entry_is_a_task_of_its_own(suite: Suite) -> None:
    tasks = list(suite)
    assert Counter(task.category for task in tasks) == COUNTS
    assert len(suite) == len({task.id for task in tasks}) == 3641
    assert all(task.item == task.id and task.limits.steps == 1 for task in tasks)
    assert [task.id for task in suite] == [task.id for task in tasks]


def test_loading_all_reads_every_file_once_and_makes_every_task_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []
    made: list[str] = []

    def lines(
        path: Path, hashes: dict[str, str], real: Any = official_data.read_lines
    ) -> list[bytes]:
        read.append(f"{path.parent.name}/{path.name}")
        found: list[bytes] = real(path, hashes)
        return found

    def task(category: str, *more: Any, real: Any = official_data._make_task) -> Task:
        made.append(category)
        found: Task = real(category, *more)
        return found

    monkeypatch.setattr(official_data, "read_lines", lines)
    monkeypatch.setattr(official_data, "_make_task", task)
    loaded = tm.load("bfcl", category=("single_turn",))
    assert len(loaded) == 3641 and not made, "to count them makes none"
    assert sum(1 for _ in loaded) == 3641
    assert Counter(made) == COUNTS
    assert len(read) == len(set(read)) <= 2 * len(COUNTS)


def test_groups_and_names_select_in_published_order() -> None:
    assert bfcl_suite.select_categories(("live",)) == official_data.LIVE
    assert bfcl_suite.select_categories(("live_simple", "multiple", "live_simple")) == (
        "multiple",
        "live_simple",
    )
    assert (
        bfcl_suite.select_categories(("non_live", "live"))
        == bfcl_suite.select_categories(("single_turn",))
        == official_data.CATEGORIES
    )
    assert bfcl_suite.select_categories("parallel") == ("parallel",)


@pytest.mark.parametrize("asked", [("simple_pyton",), ("parallel", "nope"), ()])
def test_an_unknown_category_names_the_nearest(asked: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"did you mean: (simple_python|non_live)|known"):
        tm.load("bfcl", category=asked)


def test_a_task_survives_storage(suite: Suite) -> None:
    for task in suite:
        again = msgspec.json.decode(json_codec.encode_record(task), type=Task)
        assert again == task


def test_published_types_become_schema_types_and_the_doc_is_unchanged(suite: Suite) -> None:
    kinds = {"object", "array", "string", "number", "integer", "boolean"}
    for task in suite:
        for tool in task.tools:
            assert tool.parameters["type"] == "object"
            assert {spec["type"] for spec in tool.parameters["properties"].values()} <= kinds
            assert tool.source["parameters"]["type"] == "dict"
            assert tool.description.startswith(tool.source["description"])
            assert tool.name == tool.source["name"]


def test_hashes_name_every_file_that_was_read(suite: Suite) -> None:
    assert suite.provenance.hashes[official_data.PACKAGE.file] == official_data.PACKAGE.sha256
    assert len(suite.provenance.hashes) == 1 + 13 + 10
    one = tm.load("bfcl", category=("parallel",))
    assert set(one.provenance.hashes) == {
        official_data.PACKAGE.file,
        "data/BFCL_v4_parallel.json",
        "possible_answer/BFCL_v4_parallel.json",
    }


def test_the_pages_that_answer_searches_belong_to_a_run(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# A page")
    search = f"corpus:{tmp_path}"
    assert "corpus" in tm.load("bfcl", category=("web_search",), search=search).provenance.hashes
    assert "corpus" not in tm.load("bfcl", category=("parallel",), search=search).provenance.hashes


def folder(root: Path, entries: str, answers: str) -> Path:
    inside = root / "bfcl_eval/data"
    (inside / "possible_answer").mkdir(parents=True)
    (inside / "BFCL_v4_parallel.json").write_text(entries)
    (inside / "possible_answer/BFCL_v4_parallel.json").write_text(answers)
    (root / "bfcl_eval/constants").mkdir()
    (root / "bfcl_eval/constants/type_mappings.py").write_text("GORILLA_TO_OPENAPI = {}\n")
    return root


ENTRY = '{"id": "parallel_0", "question": [[{"role": "user", "content": "x"}]], "function": []}\n'


@pytest.mark.parametrize(
    ("entries", "answers"),
    [
        (ENTRY, ""),
        (ENTRY, '{"id": "parallel_1", "ground_truth": []}\n'),
        (ENTRY[:40] + "\n", '{"id": "parallel_0", "ground_truth": []}\n'),
    ],
)
def test_data_that_does_not_fit_is_refused(tmp_path: Path, entries: str, answers: str) -> None:
    with pytest.raises(DataError, match="BFCL_v4_parallel"):
        list(official_data.read_tasks(folder(tmp_path, entries, answers), ["parallel"])[0])


def test_constants_are_read_without_running_the_module(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    module = tmp_path / "module.py"
    module.write_text(f"A = {{'a': ['b', 1]}}\nB = open({str(canary)!r}, 'w')\nC = 'x' 'y'\n")
    assert official_data.read_constants(module) == {"A": {"a": ["b", 1]}, "C": "xy"}
    assert not canary.exists()
