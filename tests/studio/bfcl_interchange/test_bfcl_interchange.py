"""Official result files in and out: names, shapes, errors, and what is wrong with a file."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from toolmark import api
from toolmark.agents.agent_session import AgentSession
from toolmark.cli import bfcl_import_export
from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import (
    Call,
    Reply,
    Request,
    Score,
    Step,
    Task,
    Text,
    Trajectory,
    Usage,
    Verdict,
)
from toolmark.official_bfcl import official_data, official_models, reply_decoding
from toolmark.runs.run_store import Run
from toolmark.studio.bfcl_interchange import (
    official_handlers,
    result_export,
    result_files,
)
from toolmark.studio.bfcl_interchange.leaderboard_files import RequestUsage

NATIVE, PROMPT = "gpt-4.1-2025-04-14-FC", "gpt-4.1-2025-04-14"
JAVASCRIPT = [f"simple_javascript_{i}" for i in range(50)]
LIVE = [f"live_relevance_{i}-{i}-0" for i in range(16)]

Bring = Callable[..., Run]


def ids(category: str) -> list[str]:
    path = official_data.fetch_wheel() / "bfcl_eval/data" / f"BFCL_v4_{category}.json"
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


def put(folder: Path, name: str, rows: Mapping[str, Any], version: int = 4) -> Path:
    """Write a result file of the given results by id."""
    path = folder / f"BFCL_v{version}_{name}_result.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps({"id": k, "result": v}) for k, v in rows.items()))
    return path


@pytest.fixture
def bring(tmp_path: Path) -> Bring:
    """Import the one model below a folder."""

    def one(folder: Path, *, lenient: bool = False, model: str | None = None) -> Run:
        (source,) = result_files.find_models(folder, model)
        return bfcl_import_export.create_scored_run(source, tmp_path / "runs", lenient=lenient).run

    return one


def scores(run: Run) -> dict[str, Score]:
    return {score.task: score for score in run.scores()}


def official(run: Run, id: str) -> Verdict:
    return scores(run)[id].verdicts["official"]


def first(run: Run) -> Trajectory:
    return next(iter(run.trajectories()))


# --- names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "n"), [("simple", "simple_python", 400), ("java", "simple_java", 100)]
)
def test_old_file_names_and_ids_are_read(
    tmp_path: Path, bring: Bring, old: str, new: str, n: int
) -> None:
    put(tmp_path / "old", old, {f"{old}_{i}": "[f(x=1)]" for i in range(n)}, version=3)
    run = bring(tmp_path / "old")
    assert run.info.plan.parameters["category"] == [new]
    assert set(scores(run)) == {f"{new}_{i}" for i in range(n)}


def test_retired_categories_are_left_out_and_named(tmp_path: Path) -> None:
    put(tmp_path, "exec_simple", {"exec_simple_0": ""}, version=3)
    put(tmp_path, "live_relevance", dict.fromkeys(ids("live_relevance"), ""))
    rows = result_files.read_rows(result_files.find_models(tmp_path)[0])
    assert [path.name for path in rows.skipped] == ["BFCL_v3_exec_simple_result.json"]
    assert rows.categories == ("live_relevance",)


def test_each_model_folder_is_a_run_and_model_picks_one(tmp_path: Path) -> None:
    rows = dict.fromkeys(ids("live_relevance"), "")
    put(tmp_path / "org_a" / "live", "live_relevance", rows)
    put(tmp_path / "b", "live_relevance", rows)
    assert [source.name for source in result_files.find_models(tmp_path)] == ["b", "org_a"]
    (chosen,) = result_files.find_models(tmp_path, "org/a")
    assert chosen.files[0].parent.parent.name == "org_a"
    with pytest.raises(UsageError, match="did you mean: org_a"):
        result_files.find_models(tmp_path, "org/aa")
    with pytest.raises(UsageError, match="no file BFCL_v"):
        result_files.find_models(tmp_path / "nowhere")


def test_a_listed_model_is_known_by_its_folder(tmp_path: Path, bring: Bring) -> None:
    put(tmp_path / "in/nvidia_nemotron-x", "live_relevance", dict.fromkeys(ids("live_relevance")))
    assert bring(tmp_path / "in").info.plan.model == "nvidia_nemotron-x"
    name = "meetkai/functionary-small-v3.1-FC"
    listed = official_models.find_model(official_data.fetch_wheel(), name.replace("/", "_"))
    assert listed[0] == name and listed[1] is not None and listed[1].is_native


def test_a_model_whose_replies_only_its_own_handler_reads_is_refused_by_name(
    tmp_path: Path, bring: Bring
) -> None:
    put(tmp_path, "live_relevance", dict.fromkeys(ids("live_relevance"), "x"))
    model = "google/functiongemma-270m-it-FC"
    with pytest.raises(UsageError, match=f"{model}: .*FunctionGemmaHandler.*way of its own"):
        bring(tmp_path, model=model)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("Qwen/Qwen3-8B-FC", '<tool_call>\n{"name": "a", "arguments": {"x": 1}}\n</tool_call>'),
        ("BitAgent/BitAgent-Bounty-8B", '{"name": "a", "arguments": {"x": 1}}'),
        ("tiiuae/Falcon3-7B-Instruct-FC", '<tool_call>[{"name": "a", "arguments": {"x": 1}}]'),
        ("MadeAgents/Hammer2.1-7b", '```[{"name": "a", "arguments": {"x": 1}}]```'),
        ("meta-llama/Llama-3.1-8B-Instruct-FC", "{'name': 'a', 'parameters': {'x': 1}}"),
    ],
)
def test_calls_in_a_text_of_the_models_own_kind_are_read(
    tmp_path: Path, bring: Bring, model: str, text: str
) -> None:
    put(tmp_path, "live_relevance", dict.fromkeys(ids("live_relevance"), text))
    reply = first(bring(tmp_path, model=model)).steps[0].reply
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == [("a", {"x": 1})]
    assert reply.text == text


def test_rows_of_another_kind_than_the_models_are_listed(tmp_path: Path, bring: Bring) -> None:
    rows: dict[str, Any] = dict.fromkeys(ids("live_relevance"), "words")
    put(tmp_path, "live_relevance", rows | {"live_relevance_0-0-0": [{"a": {"x": 1}}]})
    with pytest.raises(DataError, match="line 1: live_relevance_0-0-0: arguments are JSON text"):
        bring(tmp_path, model=NATIVE)
    with pytest.raises(DataError, match="line 1"):
        bring(tmp_path, model=PROMPT)


def test_an_id_that_has_its_new_name_already_keeps_it(tmp_path: Path, bring: Bring) -> None:
    put(tmp_path, "simple", {"simple_python_1": "", "simple_2": ""}, version=3)
    run = bring(tmp_path, lenient=True)
    assert {x.task for x in run.trajectories()} == {"simple_python_1", "simple_python_2"}


def test_prerequisites_without_their_category_are_left_out_and_named(
    tmp_path: Path, bring: Bring
) -> None:
    lone = put(tmp_path, "memory_kv_prereq", {"memory_kv_prereq_0-customer-0": [["ok"]]})
    with pytest.raises(DataError, match="nothing to import"):
        bring(tmp_path)
    put(tmp_path, "live_relevance", dict.fromkeys(ids("live_relevance"), ""))
    (source,) = result_files.find_models(tmp_path)
    rows = result_files.read_rows(source)
    assert list(rows.skipped) == [lone] and rows.categories == ("live_relevance",)
    assert bring(tmp_path).summary()["n_run"] == 16


# --- shapes -----------------------------------------------------------------------------


def test_calls_of_every_official_shape_are_read(tmp_path: Path, bring: Bring) -> None:
    shapes: list[Any] = [
        [{"a": '{"x": 1}'}],
        [{"a": {"x": 1}}],
        [{"tool_name": "a", "parameters": {"x": 1}}],
        {"a": {"x": 1}},
        "words",
        ["words", "more"],
        [],
        None,
    ]
    named = ids("live_relevance")
    rows = dict(zip(named, shapes + [""] * (len(named) - len(shapes)), strict=True))
    run = bring(put(tmp_path / "in", "live_relevance", rows).parent)
    replies = {x.task: x.steps[0].reply for x in run.trajectories()}
    for id_ in named[:4]:
        assert [call.name for call in replies[id_].calls] == ["a"]
        assert json.loads(replies[id_].calls[0].arguments) == {"x": 1}
        assert official(run, id_).outcome == "correct"
    assert [replies[id_].text for id_ in named[4:8]] == ["words", "words", "", ""]
    assert all(official(run, id_).outcome == "incorrect" for id_ in named[4:])


NATIVELY: list[tuple[Any, str]] = [
    (None, reply_decoding.DECODER_FAILED),
    ("words", reply_decoding.DECODER_FAILED),
    (["words"], reply_decoding.DECODER_FAILED),
    ("", "simple_function_checker:wrong_count"),
    ([], "simple_function_checker:wrong_count"),
]


@pytest.mark.parametrize(("result", "native"), NATIVELY)
def test_a_reply_without_calls_has_its_handlers_error_type_there_and_back(
    tmp_path: Path, bring: Bring, result: Any, native: str
) -> None:
    put(tmp_path / "in", "simple_python", {"simple_python_0": result})
    run = bring(tmp_path / "in", lenient=True, model=NATIVE)
    assert official(run, "simple_python_0").labels[0].suite_cause == native
    bfcl_import_export.export_runs("bfcl", [run.path], tmp_path / "out")
    again = bring(tmp_path / "out/result", lenient=True)
    assert official(again, "simple_python_0").labels[0].suite_cause == native


def test_no_text_at_all_cannot_be_decoded_in_a_run_by_prompt(tmp_path: Path, bring: Bring) -> None:
    put(tmp_path, "simple_python", {"simple_python_0": None})
    run = bring(tmp_path, lenient=True, model=PROMPT)
    assert official(run, "simple_python_0").labels[0].suite_cause == reply_decoding.DECODER_FAILED


@pytest.mark.parametrize(
    ("model", "result"),
    [
        (PROMPT, ["[f(a=1)]"]),
        (PROMPT, ["[f(a=1)]", "x"]),
        (NATIVE, [{"f": {"a": 1}}]),
        (NATIVE, {"f": "{}"}),
        (NATIVE, [{"f": None}]),
        (NATIVE, [{"tool_name": "f", "parameters": {}}]),
        ("some/model", [{"f": None}]),
    ],
)
def test_a_shape_that_the_handler_never_writes_is_listed_not_scored(
    tmp_path: Path, bring: Bring, model: str, result: Any
) -> None:
    put(tmp_path, "live_relevance", {"live_relevance_0-0-0": result})
    run = bring(tmp_path, lenient=True, model=model)
    assert not scores(run)["live_relevance_0-0-0"].verdicts


@pytest.mark.parametrize("mangled", [True, False])
def test_dots_in_names_are_read_as_the_models_official_entry_says(
    tmp_path: Path, bring: Bring, mangled: bool
) -> None:
    path = official_data.fetch_wheel() / "bfcl_eval/data"
    lines = (path / "BFCL_v4_simple_python.json").read_text().splitlines()
    dotted = next(e for e in map(json.loads, lines) if "." in e["function"][0]["name"])
    answers = (path / "possible_answer/BFCL_v4_simple_python.json").read_text().splitlines()
    truth = next(a for a in map(json.loads, answers) if a["id"] == dotted["id"])
    ((name, wanted),) = truth["ground_truth"][0].items()
    given = json.dumps({key: options[0] for key, options in wanted.items() if options[0] != ""})
    model = NATIVE if mangled else "firefunction-v2-FC"
    outcomes = []
    for spelled in (name, name.replace(".", "_")):
        put(tmp_path / "in", "simple_python", {dotted["id"]: [{spelled: given}]})
        run = bring(tmp_path / "in", lenient=True, model=model)
        outcomes.append(official(run, dotted["id"]).outcome)
    assert outcomes == (["incorrect", "correct"] if mangled else ["correct", "incorrect"])


def test_tokens_and_seconds_are_imported_step_by_step(tmp_path: Path, bring: Bring) -> None:
    row = {
        "id": "web_search_base_0",
        "result": [[[{"search_engine_query": "{}"}], "done"]],
        "input_token_count": [[10, 20]],
        "output_token_count": [[1.0, 10**400]],
        "latency": [[0.5, float("inf")]],
        "reasoning_content": [["hm", ""]],
    }
    (tmp_path / "BFCL_v4_web_search_base_result.json").write_text(json.dumps(row))
    reported = first(bring(tmp_path, lenient=True))
    assert [step.reply.usage.input for step in reported.steps] == [10, 20]
    assert [step.reply.usage.output for step in reported.steps] == [1, 0]
    assert reported.latency_s == 0.5 and reported.steps[0].reply.reasoning == "hm"
    assert reported.answer == "done" and reported.steps[0].calls[0].name == "search_engine_query"


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        ({"latency": "soon"}, "latency is a number, not"),
        ({"input_token_count": True}, "input_token_count is a number, not true"),
        ({"output_token_count": [1]}, "output_token_count is a number, not"),
    ],
)
def test_numbers_of_another_shape_are_listed(
    tmp_path: Path, bring: Bring, fields: dict[str, Any], reported: str
) -> None:
    rows = [{"id": id_, "result": ""} for id_ in ids("live_relevance")]
    path = put(tmp_path, "live_relevance", {})
    path.write_text("\n".join(json.dumps(row) for row in [rows[0] | fields, *rows[1:]]))
    with pytest.raises(DataError, match=f"line 1: live_relevance_0-0-0: {reported}"):
        bring(tmp_path)


@pytest.mark.parametrize("latency", [0.5, [0.5], [["soon"]], {"0": 1}])
def test_numbers_of_turns_are_lists_of_lists(tmp_path: Path, bring: Bring, latency: Any) -> None:
    row = {"id": "web_search_base_0", "result": [["done"]], "latency": latency}
    (tmp_path / "BFCL_v4_web_search_base_result.json").write_text(json.dumps(row))
    with pytest.raises(DataError, match="line 1: web_search_base_0: latency is a"):
        bring(tmp_path)


def test_lone_surrogates_survive(tmp_path: Path, bring: Bring) -> None:
    rows = dict.fromkeys(ids("live_relevance"), "broken \ud800 text")
    run = bring(put(tmp_path / "in", "live_relevance", rows).parent)
    saved = result_export.make_result_row(
        run.task(first(run).task), first(run), underscores_for_dots=False
    )
    assert saved["result"] == "broken \ud800 text"


# --- errors in the place of a result ----------------------------------------------------


def test_an_error_is_judged_by_the_official_rule_and_is_not_run_by_the_fair_one(
    tmp_path: Path, bring: Bring
) -> None:
    error = "Error during inference: 503"
    put(tmp_path, "irrelevance", dict.fromkeys(ids("irrelevance"), error))
    put(tmp_path, "multi_turn_base", dict.fromkeys(ids("multi_turn_base"), error))
    run = bring(tmp_path)
    found = scores(run)
    assert {tuple(score.verdicts) for score in found.values()} == {("official",)}
    assert found["irrelevance_0"].verdicts["official"].outcome == "correct"
    wrong = found["multi_turn_base_0"].verdicts["official"]
    assert wrong.labels[0].suite_cause == "multi_turn:inference_error"
    assert (
        result_export.make_result_row(
            run.task("irrelevance_0"), first(run), underscores_for_dots=False
        )["result"]
        == error
    )


def test_turns_that_are_missing_or_empty_keep_their_count(tmp_path: Path, bring: Bring) -> None:
    rows: dict[str, Any] = {"multi_turn_base_0": [[], [], []], "multi_turn_base_1": []}
    put(tmp_path, "multi_turn_base", rows)
    run = bring(tmp_path, lenient=True)
    natives = [official(run, id_).labels[0].suite_cause for id_ in rows]
    assert natives[1] == "multi_turn:force_terminated"
    assert natives[0] in ("multi_turn:empty_turn_model_response", "multi_turn:force_terminated")


# --- what is wrong with a file ----------------------------------------------------------


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A file with one of each fault, on known lines; 43 of 50 entries are well."""
    lines = [json.dumps({"id": id_, "result": "[f()]"}) for id_ in JAVASCRIPT]
    lines[3] = lines[2]  # line 4: a duplicate, and 3 is missing
    lines[7] = lines[7][:-4]  # line 8: cut short
    lines[9] = json.dumps({"id": JAVASCRIPT[9], "result": 7})
    lines[11] = json.dumps({"id": JAVASCRIPT[11], "result": [{"a": "{}"}, "text"]})
    lines[13] = json.dumps({"id": JAVASCRIPT[13]})
    lines[15] = json.dumps(["a", "list"])
    lines.append(json.dumps({"id": "simple_javascript_99", "result": ""}))
    path = tmp_path / "in" / "BFCL_v4_simple_javascript_result.json"
    path.parent.mkdir()
    path.write_text("\n".join(lines))
    return path


def test_every_fault_is_listed_with_its_line_and_nothing_is_scored(
    broken: Path, tmp_path: Path, bring: Bring
) -> None:
    with pytest.raises(DataError) as caught:
        bring(broken.parent)
    said = str(caught.value)
    for line, text in [
        (4, "simple_javascript_2 stands already"), (8, "not JSON, or cut short"),
        (10, "simple_javascript_9: a reply is text"), (12, "simple_javascript_11: a call is"),
        (14, "simple_javascript_13: no result"), (16, "not a result row"),
        (51, "no entry 'simple_javascript_99'"),
    ]:  # fmt: skip
        assert f"{broken}, line {line}: {text}" in said
    for id_ in ("simple_javascript_3", "simple_javascript_7", "simple_javascript_15"):
        assert f"{broken}: no row for {id_}" in said
    assert said.startswith("10 rows cannot be scored")
    assert not list((tmp_path / "runs").iterdir())


def test_lenient_leaves_what_is_wrong_out_as_not_run(broken: Path, bring: Bring) -> None:
    run = bring(broken.parent, lenient=True)
    left = {id_ for id_, score in scores(run).items() if score.failure}
    assert left == {f"simple_javascript_{i}" for i in (2, 3, 7, 9, 11, 13, 15)}
    assert run.summary()["n_not_run"] == 7 and run.summary()["n_run"] == 43
    failure = scores(run)["simple_javascript_2"].failure
    assert failure is not None and "stands already" in failure.message
    assert (failure.stage, failure.kind) == ("import", "torn")


def test_the_command_says_what_is_wrong_and_exits_with_one(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        bfcl_import_export.import_results(
            "bfcl", broken.parent, lenient=True, log_dir=tmp_path / "runs", as_json=True
        )
    said = capsys.readouterr()
    assert ended.value.exit_code == 3
    assert json.loads(said.out)["n_not_run"] == 7
    assert "10 rows cannot be scored" in said.err


def test_what_is_no_regular_file_is_never_opened(tmp_path: Path, bring: Bring) -> None:
    os.mkfifo(tmp_path / "BFCL_v4_multiple_result.json")
    (tmp_path / "BFCL_v4_parallel_result.json").symlink_to("/dev/zero")
    with (tmp_path / "BFCL_v4_irrelevance_result.json").open("wb") as file:
        file.truncate(2**40)  # sparse
    put(tmp_path, "live_relevance", dict.fromkeys(ids("live_relevance"), ""))
    with pytest.raises(DataError) as caught:
        bring(tmp_path)
    said = str(caught.value)
    assert said.count("not a regular file") == 2 and f"{2**40} bytes; the limit is" in said
    assert bring(tmp_path, lenient=True).summary()["n_run"] == 16


def test_a_line_beyond_the_limit_is_listed_and_the_next_is_read(
    tmp_path: Path, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_files, "MAX_LINE_BYTES", 100)
    rows = dict.fromkeys(ids("live_relevance"), "")
    path = put(tmp_path, "live_relevance", {**rows, "live_relevance_3-3-0": "x" * 1000})
    with pytest.raises(DataError) as caught:
        bring(tmp_path)
    reported = str(caught.value)
    assert f"{path}, line 4: a line of more than 100 bytes" in reported
    assert reported.startswith("2 rows") and f"{path}: no row for live_relevance_3-3-0" in reported


def test_an_id_of_another_category_is_unknown(tmp_path: Path, bring: Bring) -> None:
    rows: dict[str, Any] = dict.fromkeys(ids("live_relevance"), "")
    put(tmp_path, "live_relevance", {**rows, "simple_python_0": ""})
    with pytest.raises(DataError, match="no entry 'simple_python_0'"):
        bring(tmp_path)


def test_a_row_in_two_files_is_a_duplicate(tmp_path: Path, bring: Bring) -> None:
    rows = dict.fromkeys(ids("live_relevance"), "")
    put(tmp_path / "live", "live_relevance", rows)
    put(tmp_path, "live_relevance", rows, version=3)
    with pytest.raises(DataError, match="16 rows cannot be scored"):
        bring(tmp_path)


# --- there and back ---------------------------------------------------------------------


@pytest.fixture
def played(tmp_path: Path) -> Run:
    """A run of the test model that errs now and then, two repeats."""
    suite = api.load("bfcl", category="parallel,multi_turn_base,irrelevance")
    return api.run(
        suite,
        "control/faulty?class=missing_call&rate=0.5",
        sample=40,
        repeats=2,
        log_dir=tmp_path / "a",
    )


def test_what_is_exported_and_imported_scores_the_same(
    played: Run, tmp_path: Path, bring: Bring, capsys: pytest.CaptureFixture[str]
) -> None:
    bfcl_import_export.export_runs("bfcl", [played.path], tmp_path / "out", model=NATIVE)
    assert "40 entries, 0 not run left out, the first of 2 repeats" in capsys.readouterr().out
    back = scores(bring(tmp_path / "out/result", lenient=True))
    sent = {score.task: score for score in played.scores() if not score.repeat}
    assert {id_: back[id_].verdicts for id_ in sent} == {
        id_: score.verdicts for id_, score in sent.items()
    }


def test_what_an_agent_under_test_asked_is_exported_and_counted(tmp_path: Path) -> None:
    async def model(request: Request) -> Reply:
        return Reply(text="No.", usage=Usage(input=10, output=2), latency_s=0.5)

    async def asks_twice(session: AgentSession) -> str:
        replies = [await session.model(Request(messages=session.messages)) for _ in range(2)]
        return replies[-1].text

    suite = api.load("bfcl", category="irrelevance")
    run = api.run(suite, model, agent=asks_twice, limit=1, log_dir=tmp_path / "a", floors="off")
    bfcl_import_export.export_runs("bfcl", [run.path], tmp_path / "out", model="some/model")
    (path,) = (tmp_path / "out/result").rglob("*_result.json")
    row = json.loads(path.read_text())
    assert (row["input_token_count"], row["output_token_count"], row["latency"]) == (20, 4, 1.0)
    usage = RequestUsage.empty()
    usage.add_trajectory(next(iter(run.trajectories())))
    assert (usage.input_tokens, usage.output_tokens) == ([10, 10], [2, 2])
    assert usage.latency_s == [0.5, 0.5]


def test_an_exported_header_counts_what_ran(played: Run, tmp_path: Path) -> None:
    bfcl_import_export.export_runs("bfcl", [played.path], tmp_path, model="some/model")
    path = tmp_path / "score/some_model/non_live/BFCL_v4_parallel_score.json"
    head, *failures = map(json.loads, path.read_text().splitlines())
    assert head["total_count"] - head["correct_count"] == len(failures) > 0
    assert all(row["error_type"] and not row["valid"] for row in failures)


@pytest.mark.parametrize(
    ("model", "call"),
    [
        (NATIVE, {"cat": '{"file_name": "a"}'}),
        ("nova-pro-v1.0", {"cat": {"file_name": "a"}}),
        ("gemini-2.5-flash-FC", {"cat": {"file_name": "a"}}),
        ("command-a-03-2025-FC", {"tool_name": "cat", "parameters": {"file_name": "a"}}),
    ],
)
def test_calls_are_exported_as_the_models_handler_reads_them(model: str, call: Any) -> None:
    known = official_models.read_models(official_data.fetch_wheel())[model]
    way = official_handlers.handler_format(model, known)
    task = Task(id="multi_turn_base_0", suite="bfcl", turns=(), category="multi_turn_base")
    calls = (Call(name="cat", arguments='{"file_name": "a"}'),)
    reported = Trajectory(task=task.id, steps=(Step(reply=Reply(calls=calls), calls=calls),))
    (turn,) = result_export.make_result_row(
        task, reported, underscores_for_dots=True, argument_shape=way.argument_shape
    )["result"]
    assert turn == [[call]]
    assert [json.loads(x.arguments) for x in way.read_reply(turn[0], True).calls] == [
        {"file_name": "a"}
    ]


@pytest.mark.parametrize("model", [PROMPT, "Qwen/Qwen3-8B-FC", "gorilla-openfunctions-v2"])
def test_a_run_is_not_exported_under_a_name_whose_handler_misreads_it(
    played: Run, tmp_path: Path, model: str
) -> None:
    with pytest.raises(UsageError, match=model):
        bfcl_import_export.export_runs("bfcl", [played.path], tmp_path, model=model)
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize("category", ["memory_/tmp/EVIL", "memory_../../../up", "multiple_x", ""])
def test_a_category_that_bfcl_does_not_have_is_no_path(
    played: Run, tmp_path: Path, category: str
) -> None:
    lines = (played.path / "tasks.jsonl").read_text().splitlines()
    (played.path / "tasks.jsonl").write_text(
        "\n".join(json.dumps(json.loads(line) | {"category": category}) for line in lines)
    )
    out = tmp_path / "a/b/c/out"
    with pytest.raises(DataError, match="no category"):
        bfcl_import_export.export_runs("bfcl", [Run(played.path).path], out, model="some/model")
    assert not (tmp_path / "a/b").exists()


@pytest.mark.parametrize("model", ["..", ".", "", "a\\b", "a\0b"])
def test_a_model_whose_name_is_no_folder_is_refused(
    played: Run, tmp_path: Path, model: str
) -> None:
    with pytest.raises(UsageError, match="has no folder"):
        bfcl_import_export.write_official_files(played, tmp_path / "out", model)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("model", [NATIVE, "some/model"])
def test_format_sensitivity_is_not_exported_with_structured_calls_and_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    suite = api.load("bfcl", category=("live_relevance", "format_sensitivity"))
    wanted = [task.id for task in itertools.islice(suite, 18)]
    assert wanted[-1].startswith("format_sensitivity")
    run = api.run(suite, "control/oracle", ids=wanted, log_dir=tmp_path / "runs")
    bfcl_import_export.export_runs("bfcl", [run.path], tmp_path / "out", model=model)
    names = [path.name for path in (tmp_path / "out").rglob("*.json")]
    assert sorted(names) == [f"BFCL_v4_live_relevance_{kind}.json" for kind in ("result", "score")]
    said = capsys.readouterr().out
    assert "16 entries, 0 not run" in said and "format_sensitivity left out" in said
    sheet = (tmp_path / "out/score/data_format_sensitivity.csv").read_text().splitlines()
    assert set(sheet[1].split(",")[3:]) == {"N/A"}


def test_replies_in_another_format_than_the_default_are_not_exported(tmp_path: Path) -> None:
    suite = api.load("bfcl", category=("live_relevance",))
    tool_format = next(name for name in suite.tool_formats if name.startswith("ret_fmt=json"))
    run = api.run(suite, "control/null", tool_format=tool_format, log_dir=tmp_path / "runs")
    with pytest.raises(UsageError, match="replies in the format ret_fmt=json"):
        bfcl_import_export.export_runs("bfcl", [run.path], tmp_path / "out", model=PROMPT)


def test_a_category_of_which_nothing_was_judged_has_results_and_no_score_file(
    played: Run, tmp_path: Path
) -> None:
    lines = (played.path / "scores.jsonl").read_text().splitlines(keepends=True)
    saved = [line for line in lines if '"category":"parallel"' not in line]
    assert 0 < len(saved) < len(lines)
    (played.path / "scores.jsonl").write_text("".join(saved))
    info = json.loads((played.path / "run.json").read_text())
    n_tasks = len(saved) // played.info.plan.repeats
    (played.path / "run.json").write_text(json.dumps(info | {"n_tasks": n_tasks}))
    bfcl_import_export.export_runs("bfcl", [played.path], tmp_path, model="some/model")
    assert list(tmp_path.rglob("BFCL_v4_parallel_result.json"))
    assert not list(tmp_path.rglob("BFCL_v4_parallel_score.json"))
    assert list(tmp_path.rglob("BFCL_v4_irrelevance_score.json"))


# --- the log of an episode --------------------------------------------------------------


def exported(run: Run, id: str) -> dict[str, Any]:
    reported = next(x for x in run.trajectories() if x.task == id)
    return result_export.make_result_row(run.task(id), reported, underscores_for_dots=True)


def test_a_log_tells_turns_steps_results_and_states(played: Run) -> None:
    turned = [x for x in played.trajectories() if x.task.startswith("multi_turn")]
    assert turned
    for reported in turned:
        row = result_export.make_result_row(
            played.task(reported.task), reported, underscores_for_dots=True
        )
        found = row["inference_log"]
        turns = [entry for entry in found if isinstance(entry, dict)]
        states = [entry for entry in found if isinstance(entry, list)]
        assert len(turns) == len(row["result"]) and len(states) == len(turns) + 1
        assert {x["class_name"]: x["content"] for x in states[-1]} == {
            name: fields for name, fields in reported.state.items() if fields
        }
        for turn, said in zip(turns, row["result"], strict=True):
            assert turn["begin_of_turn_query"][-1]["role"] == "user"
            steps = [turn[f"step_{at}"] for at in range(len(said))]
            assert len(turn) == 1 + len(steps)
            assert [step[0]["content"] for step in steps] == said
            assert all(step[1]["role"] == "handler_log" for step in steps)
        heard = [x["content"] for t in turns for s in t.values() for x in s if x["role"] == "tool"]
        assert heard == [result.text for step in reported.steps for result in step.results]


def test_states_end_where_a_result_is_not_the_recorded_one(played: Run) -> None:
    reported = next(
        x for x in played.trajectories() if x.task.startswith("multi_turn") and x.steps[0].results
    )
    other = msgspec.structs.replace(reported.steps[0].results[0], parts=(Text("something else"),))
    first = msgspec.structs.replace(
        reported.steps[0], results=(other, *reported.steps[0].results[1:])
    )
    changed = msgspec.structs.replace(reported, steps=(first, *reported.steps[1:]))
    found = result_export.make_result_row(
        played.task(reported.task), changed, underscores_for_dots=True
    )["inference_log"]
    assert sum(isinstance(entry, list) for entry in found) == 1


def test_what_was_imported_has_no_log(tmp_path: Path, bring: Bring) -> None:
    put(tmp_path, "multi_turn_base", {"multi_turn_base_0": [["words"]] * 4})
    run = bring(tmp_path, lenient=True)
    assert "inference_log" not in exported(run, "multi_turn_base_0")


def test_only_runs_of_bfcl_are_exported(tmp_path: Path) -> None:
    run = api.run(api.load("funcbench", graphs=1), "control/null", log_dir=tmp_path)
    with pytest.raises(UsageError, match="not of bfcl"):
        bfcl_import_export.export_runs("bfcl", [run.path], tmp_path / "out")
    with pytest.raises(UsageError, match="no files of 'mfcl'"):
        bfcl_import_export.export_runs("mfcl", [run.path], tmp_path / "out")
