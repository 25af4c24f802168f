"""Published results judged again: layouts, reasons of differences, corrections, hostile files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.statistics.ranked_scores import rank_scores

from toolmark.core.errors import UsageError
from toolmark.core.records import Task
from toolmark.official_bfcl import errata, official_data
from toolmark.studio.bfcl_audit import audit_report, folder_audit, published_rows
from toolmark.studio.bfcl_audit.audit_report import AuditReport, CategoryAudit
from toolmark.studio.bfcl_audit.re_judging import Difference
from toolmark.studio.bfcl_interchange.result_rows import ResultRow

CATEGORY, OLD_CATEGORY = "parallel", "parallel_function"
Rows = list[dict[str, Any]]


def _read_lines(category: str, folder: str = "") -> Rows:
    path = official_data.fetch_wheel() / "bfcl_eval/data" / folder / f"BFCL_v4_{category}.json"
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def _first_options(call: dict[str, dict[str, list[Any]]]) -> dict[str, str]:
    """Return a structured call with the first accepted value of each parameter."""
    ((name, accepted),) = call.items()
    arguments = {key: options[0] for key, options in accepted.items() if options[0] != ""}
    arguments = {
        key: {k: v[0] for k, v in value.items()} if isinstance(value, dict) else value
        for key, value in arguments.items()
    }
    return {name.replace(".", "_"): json.dumps(arguments)}


@pytest.fixture(scope="module")
def right_rows() -> Rows:
    """Return results that call what the reference accepts, with ids of today."""
    truths = _read_lines(CATEGORY, "possible_answer")
    return [
        {"id": row["id"], "result": [_first_options(call) for call in row["ground_truth"]]}
        for row in truths
    ]


@pytest.fixture(scope="module")
def entries() -> dict[str, dict[str, Any]]:
    """Return the published failures that an official evaluator would write, by id."""
    truths = {row["id"]: row["ground_truth"] for row in _read_lines(CATEGORY, "possible_answer")}
    return {
        row["id"]: {
            "id": row["id"],
            "valid": False,
            "error": ["wrong"],
            "error_type": "parallel_function_checker_no_order:cannot_find_match",
            "prompt": {"id": row["id"], "question": row["question"], "function": row["function"]},
            "model_result_decoded": [],
            "possible_answer": truths[row["id"]],
        }
        for row in _read_lines(CATEGORY)
    }


def _write_lines(path: Path, rows: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _publish(
    folder: Path, rows: Rows, failures: Rows, *, model: str = "model-a", total: int = 200
) -> Path:
    """Write a model's results and scores in the layout of V4."""
    name = f"non_live/BFCL_v4_{CATEGORY}"
    _write_lines(folder / "result" / model / f"{name}_result.json", rows)
    n = total - len(failures)
    head = {"accuracy": n / total, "correct_count": n, "total_count": total}
    _write_lines(folder / "score" / model / f"{name}_score.json", [head, *failures])
    return folder


def _only_difference(report: AuditReport) -> Difference:
    (found,) = report.differences
    return found


def _only_category(report: AuditReport) -> CategoryAudit:
    (model,) = report.models
    (category,) = model.categories
    return category


# --- layouts ----------------------------------------------------------------------------


def test_verdicts_that_are_as_published_have_no_difference(
    tmp_path: Path, right_rows: Rows, entries: dict[str, dict[str, Any]]
) -> None:
    """The accuracy of the score file is the one that is judged again, item by item."""
    wrong = {"id": right_rows[3]["id"], "result": []}
    rows = [wrong if row["id"] == wrong["id"] else row for row in right_rows]
    report = folder_audit.audit_folder(_publish(tmp_path, rows, [entries[wrong["id"]]]))
    found = _only_category(report)
    assert report.differences == []
    assert report.kind == "V3 and V4"
    assert found.published == found.reproduced.value == 199 / 200
    assert found.n_published_correct == found.n_reproduced_correct == 199


def test_the_layout_of_2024_gives_what_that_of_today_gives(
    tmp_path: Path, right_rows: Rows, entries: dict[str, dict[str, Any]]
) -> None:
    """Old names of categories and files, numbers in the place of ids, calls in one object."""
    failed = right_rows[7]["id"]
    old = entries[failed]
    then = {
        **old,
        "id": 8,
        "prompt": {**old["prompt"], "id": failed.replace("parallel_", "parallel_function_")},
        "possible_answer": {
            f"{name}_{i + 1}": accepted
            for i, call in enumerate(old["possible_answer"])
            for name, accepted in call.items()
        },
    }
    rows = [
        {**row, "id": row["id"].replace("parallel_", "parallel_function_")} for row in right_rows
    ]
    rows[7]["result"] = []
    name = f"gorilla_openfunctions_v1_test_{OLD_CATEGORY}_result.json"
    _write_lines(tmp_path / "result/model-a" / name, rows)
    head = {"accuracy": 0.995, "correct_count": 199, "total_count": 200}
    _write_lines(tmp_path / f"score/model-a/{OLD_CATEGORY}_score.json", [head, then])
    report = folder_audit.audit_folder(tmp_path)
    assert report.kind == "2024"
    assert report.differences == []
    assert report.changed_entries == []
    assert _only_category(report).reproduced.value == 199 / 200


def test_folders_that_are_none_are_refused(tmp_path: Path, right_rows: Rows) -> None:
    """No results; two sets of results; results that are in no folder of a model."""
    with pytest.raises(UsageError, match="no published results"):
        folder_audit.audit_folder(tmp_path)
    for day in ("monday", "tuesday"):
        _publish(tmp_path / day, right_rows, [])
    with pytest.raises(UsageError, match="several sets"):
        folder_audit.audit_folder(tmp_path)
    loose = tmp_path / "loose"
    _write_lines(loose / "BFCL_v4_parallel_result.json", right_rows)
    with pytest.raises(UsageError, match="result/MODEL"):
        folder_audit.audit_folder(loose)


# --- why verdicts differ ----------------------------------------------------------------


def _change_reference(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        **entry,
        "possible_answer": [
            {name: {key: ["no such value"] for key in accepted} for name, accepted in call.items()}
            for call in entry["possible_answer"]
        ],
    }


def _change_question(entry: dict[str, Any]) -> dict[str, Any]:
    changed = _change_reference(entry)
    return {**changed, "prompt": {**entry["prompt"], "question": "What else?"}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_change_reference, "reference changed"),
        (_change_question, "question changed"),
        (lambda entry: {**entry, "model_result_decoded": None}, "reader changed"),
        (lambda entry: {**entry, "error_type": "x:wrong_func_name"}, "tool names"),
        (lambda entry: entry, "checker changed"),
    ],
)
def test_what_was_published_names_the_reason(
    tmp_path: Path,
    right_rows: Rows,
    entries: dict[str, dict[str, Any]],
    change: Callable[[dict[str, Any]], dict[str, Any]],
    reason: str,
) -> None:
    """A right answer that was published as wrong: the planted cause is the one that is named."""
    row = right_rows[5]
    decoded = [{name: json.loads(text) for name, text in call.items()} for call in row["result"]]
    entry = change({**entries[row["id"]], "model_result_decoded": decoded})
    found = _only_difference(folder_audit.audit_folder(_publish(tmp_path, right_rows, [entry])))
    assert (found.entry, found.published, found.reproduced) == (row["id"], False, True)
    assert found.reason == reason


def test_functions_that_changed_are_the_reason_of_verdicts_that_they_turn(
    tmp_path: Path, right_rows: Rows, entries: dict[str, dict[str, Any]]
) -> None:
    """The docs of that time lack the parameters that the answer gives."""
    row = right_rows[5]
    entry = entries[row["id"]]
    docs = [
        {**doc, "parameters": {**doc["parameters"], "properties": {}, "required": []}}
        for doc in entry["prompt"]["function"]
    ]
    entry = {**entry, "prompt": {**entry["prompt"], "function": docs}}
    report = folder_audit.audit_folder(_publish(tmp_path, right_rows, [entry]))
    assert _only_difference(report).reason == "functions changed"
    (changed,) = report.changed_entries
    assert (changed.functions, changed.reference, changed.question) == (True, False, False)


def test_of_an_entry_that_no_score_file_has_no_change_is_claimed(
    tmp_path: Path, right_rows: Rows
) -> None:
    """It was published as correct, is wrong today, and nothing says what it was then."""
    rows = [*right_rows]
    rows[5] = {**rows[5], "result": [{"no_such_function": "{}"}]}
    found = _only_difference(folder_audit.audit_folder(_publish(tmp_path, rows, [])))
    assert (found.published, found.reproduced) == (True, False)
    assert found.reason == "not described"


def test_missing_doubled_and_foreign_rows_are_listed(tmp_path: Path, right_rows: Rows) -> None:
    """They are differences of their own; the other rows are judged."""
    missing, doubled = right_rows[0], right_rows[1]
    rows = [*right_rows[1:], doubled, {"id": "parallel_999", "result": []}]
    report = folder_audit.audit_folder(_publish(tmp_path, rows, []))
    found = {(each.reason, each.entry) for each in report.differences}
    assert found == {
        ("missing entry", missing["id"]),
        ("doubled entry", doubled["id"]),
        ("foreign entry", "parallel_999"),
    }
    assert _only_category(report).reproduced.n == 199


# --- corrections ------------------------------------------------------------------------


def test_an_api_error_is_not_run_after_corrections(tmp_path: Path, right_rows: Rows) -> None:
    """It is officially wrong; corrected, it does not count."""
    error = {"id": right_rows[0]["id"], "result": "Error during inference: 503"}
    report = folder_audit.audit_folder(_publish(tmp_path, [error, *right_rows[1:]], []))
    found = _only_category(report)
    assert found.reproduced.value == 199 / 200
    assert (found.n_api_errors, found.corrected.value, found.corrected.n) == (1, 1.0, 199)
    assert found.after["API errors"] == 1.0


@pytest.mark.parametrize(
    ("text", "is_error"),
    [
        ("Error during inference: x", True),
        ("Error", True),
        ("Error, not enough information provided.", False),
        ("An error occurred", False),
        ("", False),
    ],
)
def test_only_texts_of_the_table_are_api_errors(text: str, is_error: bool) -> None:
    """What a model says about an error is its answer."""
    assert published_rows.is_api_error(ResultRow(id="a", result=text)) is is_error


def test_a_leaked_call_where_none_is_right_is_a_call(tmp_path: Path) -> None:
    """Officially it is no call, so correct; corrected it is one."""
    tasks = _read_lines("irrelevance")
    tool = tasks[0]["function"][0]["name"]
    leak = f'<tool_call>\n{{"name": "{tool}", "arguments": {{}}}}\n</tool_call>'
    rows = [{"id": task["id"], "result": "No tool fits."} for task in tasks]
    rows[0]["result"] = leak
    _write_lines(tmp_path / "result/model-a/non_live/BFCL_v4_irrelevance_result.json", rows)
    report = folder_audit.audit_folder(tmp_path)
    found = _only_category(report)
    assert found.published is None
    assert (found.reproduced.value, found.n_leaked_calls) == (1.0, 1)
    assert found.corrected.value == 1 - 1 / len(tasks)
    assert report.notes


def test_an_entry_that_asks_for_another_answer_today_does_not_count(
    tmp_path: Path, right_rows: Rows, entries: dict[str, dict[str, Any]]
) -> None:
    """Its question and its reference changed: an old answer says nothing about today's question."""
    entry = _change_question(entries[right_rows[5]["id"]])
    found = _only_category(folder_audit.audit_folder(_publish(tmp_path, right_rows, [entry])))
    assert (found.n_asked_otherwise, found.corrected.n) == (1, 199)


def test_entries_of_the_errata_do_not_count_after_corrections(tmp_path: Path) -> None:
    """Those that no answer passes are left out, whatever the model answered."""
    tasks = _read_lines("simple_java")
    n_set_aside = sum(task["id"] in errata.set_aside() for task in tasks)
    assert n_set_aside
    rows = [{"id": task["id"], "result": ""} for task in tasks]
    _write_lines(tmp_path / "result/model-a/non_live/BFCL_v4_simple_java_result.json", rows)
    found = _only_category(folder_audit.audit_folder(tmp_path))
    assert found.corrected.n == len(tasks) - n_set_aside


def test_questionable_entries_do_not_count_either(tmp_path: Path) -> None:
    """They are entries of the published data, and no rule sets them aside."""
    tasks = {task["id"] for task in _read_lines("simple_python")}
    listed = {id for id in errata.errata().questionable if id.startswith("simple_python")}
    assert listed <= tasks
    assert not listed & set(errata.set_aside())
    rows = [{"id": id, "result": ""} for id in sorted(tasks)]
    _write_lines(tmp_path / "result/model-a/non_live/BFCL_v4_simple_python_result.json", rows)
    found = _only_category(folder_audit.audit_folder(tmp_path))
    assert found.n_set_aside == len(listed)


def test_ranks_are_those_of_the_values(tmp_path: Path, right_rows: Rows) -> None:
    """Three models of plainly different value have their ranks, before and after."""
    for name, n_right in (("worst", 40), ("best", 200), ("middle", 120)):
        rows = [row if i < n_right else {**row, "result": []} for i, row in enumerate(right_rows)]
        _publish(tmp_path, rows, [], model=name)
    report = folder_audit.audit_folder(tmp_path)
    for ranking in report.rankings[1:]:
        assert [each.model for each in ranking.models] == ["best", "middle", "worst"]
        assert [(each.rank, each.low, each.high) for each in ranking.models] == [
            (1, 1, 1),
            (2, 2, 2),
            (3, 3, 3),
        ]


def test_ranks_are_those_of_rank() -> None:
    """Sets, critical value and warning of an audit are those of the function that `rank` uses.

    An entry that counts for no model is none that the values rest on. One that does not count for
    a single model is said.
    """
    rng = np.random.default_rng(3)
    scores = (rng.random((60, 3)) < [0.9, 0.6, 0.5]).astype(float)
    scores[7] = np.nan
    scores[8, 1] = np.nan
    tasks = [
        Task(id=f"t{i}", suite="bfcl", turns=(), axes={"group": f"g{i // 4}"}) for i in range(60)
    ]
    values = [{task.id: x for task, x in zip(tasks, column, strict=True)} for column in scores.T]
    found = audit_report.rank_models("any", ("a", "b", "c"), tasks, values)
    wanted = rank_scores(scores, np.arange(60) // 4)
    assert found is not None and found.critical_value == wanted.sets.critical_value
    by_model = {each.model: each for each in found.models}
    for at, name in enumerate("abc"):
        place = by_model[name]
        assert place.value == wanted.values[at]
        assert (place.rank, place.low, place.high) == (
            wanted.sets.rank[at],
            wanted.sets.low[at],
            wanted.sets.high[at],
        )
    assert found.n_entries == 59
    assert found.warnings == [
        wanted.warning,
        "b: 1 common entry not counted; its value is over the others",
    ]
    assert "15 groups" in wanted.warning


# --- files that are not what they should be ---------------------------------------------


def test_hostile_files_are_read_as_far_as_they_can_be(
    tmp_path: Path, right_rows: Rows, entries: dict[str, dict[str, Any]]
) -> None:
    """Lines that are cut, deep, of other types or of no entry are named, and the rest is judged."""
    folder = _publish(tmp_path, right_rows, [])
    results = folder / f"result/model-a/non_live/BFCL_v4_{CATEGORY}_result.json"
    with results.open("a") as file:
        file.write('{"id": "parallel_3", "result":\n' + "[" * 5000 + "\n" + '{"id": 7}\n')
    scores = folder / f"score/model-a/non_live/BFCL_v4_{CATEGORY}_score.json"
    bad = entries[right_rows[9]["id"]]
    hostile = [
        {"accuracy": float("nan"), "correct_count": -3, "total_count": "many"},
        {"id": {"a": 1}},
        [1],
        {**bad, "possible_answer": [{"f": 3}], "prompt": {"function": [{"name": []}]}},
        {**bad, "id": right_rows[8]["id"], "model_result_decoded": [[["x"]], 10**400]},
    ]
    scores.write_text("\n".join([*map(json.dumps, hostile), '{"id":', "\x00"]))
    report = folder_audit.audit_folder(folder)
    (model,) = report.models
    assert model.total.reproduced.value == 1.0
    assert model.total.published is None
    assert len(model.problems) >= 6
    assert {each.entry for each in report.differences} == {
        right_rows[8]["id"],
        right_rows[9]["id"],
    }


def test_a_report_is_plain_data(tmp_path: Path, right_rows: Rows) -> None:
    """It survives JSON, and its counts are those of its differences."""
    report = folder_audit.audit_folder(_publish(tmp_path, right_rows[:-1], []))
    again = msgspec.json.decode(msgspec.json.encode(report), type=AuditReport)
    assert again == report
    assert audit_report.count_reasons(again) == {"missing entry": 1}
