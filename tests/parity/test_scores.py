"""Whole result folders: the official evaluator and toolmark reach the same scores, both ways."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.parity import process, synthetic

from toolmark import api
from toolmark.cli import bfcl_import_export
from toolmark.core.records import Task
from toolmark.official_bfcl import official_data, official_models
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Suite
from toolmark.studio.bfcl_audit import folder_audit
from toolmark.studio.bfcl_interchange import result_export, result_files
from toolmark.suites import suite_registry

NATIVE = "gpt-4.1-2025-04-14-FC"
PROMPT = "gpt-4.1-2025-04-14"
OWN_FORMS = ("simple_java", "simple_javascript")  # as text they need the grammars of an extra
EVERY = 12


def available() -> tuple[str, ...]:
    from toolmark.suites.bfcl import bfcl_suite

    return tuple(name for name in result_files.result_categories() if name in bfcl_suite.CATEGORIES)


def thinned(suite: Suite) -> Iterator[Task]:
    """Return one entry in a few of each category, and set-up tasks."""
    for task in suite:
        if task.kind == "setup" or synthetic.draw(task.id + "?", EVERY) == 0:
            yield task


def evaluate(root: Path, *models: str) -> dict[str, dict[str, Any]]:
    """Run the official evaluator and return its score headers by model and category."""
    known = official_models.read_models(official_data.fetch_wheel())
    fields = {
        name: {
            "display_name": known[name].display_name,
            "url": known[name].url,
            "org": known[name].maker,
            "license": known[name].license,
            "input_price": known[name].input_price,
            "output_price": known[name].output_price,
            "is_fc_model": known[name].is_native,
            "underscore_to_dot": known[name].underscores_for_dots,
        }
        for name in models
    }
    process.run("official_scores.py", str(root), json.dumps(fields), "partial")
    return headers(root / "score")


def headers(folder: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.rglob("*_score.json")):
        model = path.relative_to(folder).parts[0]
        category = path.name.removeprefix("BFCL_v4_").removesuffix("_score.json")
        with path.open() as file:
            found.setdefault(model, {})[category] = json.loads(file.readline())
    return found


def failures(folder: Path) -> dict[tuple[str, str], str]:
    """Return the official error type of every failed entry by (model, id)."""
    found = {}
    for path in sorted(folder.rglob("*_score.json")):
        for line in path.read_text().splitlines()[1:]:
            row = json.loads(line)
            inner = row["error"] if isinstance(row["error"], dict) else row
            found[path.relative_to(folder).parts[0], row["id"]] = inner["error_type"]
    return found


def lines(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the line of every failed entry by (model, id)."""
    return {
        (path.relative_to(folder).parts[0], row["id"]): row
        for path in sorted(folder.rglob("*_score.json"))
        for row in map(json.loads, path.read_text().splitlines()[1:])
    }


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob("*.csv")}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with synthetic results of a native and a prompt model."""
    folder = tmp_path_factory.mktemp("official")
    suite = suite_registry.load_suite("bfcl", category=available())
    native = [task for task in thinned(suite) if not task.tool_format]
    synthetic.write(folder, NATIVE, synthetic.rows(suite, "native", native))
    prompt = [task for task in thinned(suite) if task.category not in OWN_FORMS]
    synthetic.write(folder, PROMPT, synthetic.rows(suite, "prompt", prompt))
    return folder


@pytest.fixture(scope="module")
def official(root: Path) -> dict[str, dict[str, Any]]:
    return evaluate(root, NATIVE, PROMPT)


@pytest.fixture(scope="module")
def runs(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    return [
        bfcl_import_export.create_scored_run(source, folder, lenient=True).run
        for source in result_files.find_models(root / "result")
    ]


@pytest.fixture(scope="module")
def exported(runs: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    bfcl_import_export.export_runs("bfcl", [run.path for run in runs], folder)
    return folder


@pytest.mark.long
def test_imported_results_score_as_the_official_evaluator_scores_them(
    official: dict[str, dict[str, Any]], runs: list[Run]
) -> None:
    assert {run.info.plan.model for run in runs} == {NATIVE, PROMPT}
    for run in runs:
        parts = run.summary()["parts"]
        mine = {name: parts[name] for name in official[run.info.plan.model]}
        theirs = official[run.info.plan.model]
        assert {name: (p["value"], p["n"]) for name, p in mine.items()} == {
            name: (head["accuracy"], head["total_count"]) for name, head in theirs.items()
        }


def test_an_audit_of_official_files_reaches_the_official_scores(
    official: dict[str, dict[str, Any]], root: Path
) -> None:
    """Entries that were not asked are missing; every other verdict is the published one."""
    report = folder_audit.audit_folder(root)
    assert {each.reason for each in report.differences} == {"missing entry"}
    assert report.changed_entries == []
    for model in report.models:
        heads = official[model.model]
        assert model.reading.endswith("Handler")
        assert {each.category: each.published for each in model.categories} == {
            each.category: each.reproduced.value for each in model.categories
        }
        assert {each.category: each.n_published_correct for each in model.categories} == {
            name: head["correct_count"] for name, head in heads.items()
        }


def test_every_official_error_type_is_the_same(
    official: dict[str, dict[str, Any]], root: Path, exported: Path
) -> None:
    theirs, mine = failures(root / "score"), failures(exported / "score")
    assert {key: (theirs.get(key), mine.get(key)) for key in theirs.keys() | mine.keys()} == {
        key: (kind, kind) for key, kind in theirs.items()
    }


WORDS = ("error", "error_message", "details")  # the official words, which are not repeated


def test_lines_of_failures_have_the_official_shape(
    official: dict[str, dict[str, Any]], root: Path, exported: Path
) -> None:
    theirs, mine = lines(root / "score"), lines(exported / "score")
    assert theirs.keys() == mine.keys()
    apart: Counter[str] = Counter()
    shown: dict[str, Any] = {}
    for key, row in theirs.items():
        own = mine[key].pop("toolmark")
        assert own.keys() == {"cause", "evidence"} and own["evidence"]
        if mine[key].keys() != row.keys():
            raise AssertionError((key, mine[key].keys() ^ row.keys(), row["error"]))
        assert type(mine[key]["error"]) is type(row["error"])
        for name in row.keys() - {*WORDS, "inference_log"}:
            # an empty reply is written as no calls
            if (mine[key][name] or "") != (row[name] or ""):
                kind = f"{row['test_category']}: {name}"
                apart[kind] += 1
                shown.setdefault(kind, (key, row[name], mine[key][name]))
    print(f"{len(theirs)} lines; {apart}")
    assert not apart, "\n".join(f"{kind}: {str(each)[:1500]}" for kind, each in shown.items())


def test_leaderboard_files_are_equal_cell_by_cell(
    official: dict[str, dict[str, Any]], root: Path, exported: Path
) -> None:
    assert len(files(root / "score")) == 6
    assert files(exported / "score") == files(root / "score")


def test_exported_results_are_accepted_and_score_the_same(
    official: dict[str, dict[str, Any]], exported: Path, tmp_path: Path
) -> None:
    (tmp_path / "result").symlink_to(exported / "result")
    assert evaluate(tmp_path, NATIVE, PROMPT) == official == headers(exported / "score")


# --- runs of our own, with the log of each episode --------------------------------------


@pytest.fixture(scope="module", params=[(NATIVE, "native"), (PROMPT, "prompt")])
def reported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the exported files of a run of nested categories, some of its answers wrong."""
    model, tool_format = request.param
    folder = tmp_path_factory.mktemp("told")
    suite = suite_registry.load_suite(
        "bfcl", category=("multi_turn_base", "multi_turn_miss_func", "memory_kv")
    )
    played = api.run(
        suite,
        "control/faulty?class=wrong_value&rate=0.5",
        tool_format=tool_format,
        sample=30,
        log_dir=folder / "runs",
    )
    bfcl_import_export.export_runs("bfcl", [played.path], folder, model=model)
    (folder / "score").rename(folder / "mine")
    return folder


def test_the_log_of_an_episode_is_accepted_and_changes_no_score(
    reported: Path, tmp_path: Path
) -> None:
    (model,) = (path.name for path in (reported / "result").iterdir())
    bare = 0
    for path in (reported / "result").rglob("*_result.json"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        bare += sum(bool(row.pop("inference_log")) for row in rows)
        result_export.write_json_lines(
            tmp_path / "result" / path.relative_to(reported / "result"), rows
        )
    assert bare > 30
    with_log, without = evaluate(reported, model), evaluate(tmp_path, model)
    assert with_log == without == headers(reported / "mine")
    assert (
        failures(reported / "score") == failures(reported / "mine") == failures(tmp_path / "score")
    )
    assert len(failures(reported / "score")) > 10
    for path in (reported / "score").rglob("BFCL_v4_multi_turn*_score.json"):
        for line in path.read_text().splitlines()[1:]:
            assert json.loads(line)["inference_log"]
