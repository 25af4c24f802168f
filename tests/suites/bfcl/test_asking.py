"""Asking as the official harness asks: settings by wire and by entry, the loop, what is asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import toolmark
from tests.servers import fake, wire_bodies
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.cli import bfcl_import_export
from toolmark.core.errors import UsageError
from toolmark.core.records import Call, Reply, Request, Sampling, Tool
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.official_bfcl import (
    handler_settings,
    official_data,
    official_models,
    prompt_formats,
)
from toolmark.official_bfcl.handler_settings import default_sampling
from toolmark.official_bfcl.official_native import OfficialNative
from toolmark.runs import run_preparation
from toolmark.runs.run_settings import Connection
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Suite
from toolmark.suites.bfcl import bfcl_suite, leaderboard

__all__ = ["toolmark"]

LOCAL = "http://127.0.0.1:9/v1#m"
SEVERAL = "multi_turn_base_0"
ASKING_PAGE = Path(__file__).parents[3] / "docs/suites/bfcl-asking.md"
ASKED_HEADING, REFUSED_HEADING = "wire | handler | entries", "handler | entries | why"


def asked(
    suite: Suite,
    model: str = LOCAL,
    tool_format: str | None = None,
    connection: Connection | None = None,
) -> Suite:
    return run_preparation.adapt_to_model(suite, model, tool_format, connection or Connection())


# --- settings ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "model", "expected"),
    [
        ("chat", "any", Sampling(temperature=0.001)),
        ("responses", "gpt-4.1-2025-04-14", Sampling(temperature=0.001)),
        ("responses", "gpt-5-mini-2025-08-07", Sampling()),
        ("responses", "o3-2025-04-16", Sampling()),
        ("anthropic", "claude-next", Sampling(temperature=0.001)),
        (
            "anthropic",
            "claude-haiku-4-5-20251001",
            Sampling(temperature=0.001, max_tokens=64000),
        ),
        ("gemini", "gemini-3-pro-preview", Sampling(temperature=0.001)),
    ],
)
def test_each_wire_has_the_settings_of_its_handler(
    wire: str, model: str, expected: Sampling
) -> None:
    assert default_sampling(wire, model, "", is_native=True) == expected


def test_store_is_sent_to_openai_alone_unless_an_entry_is_named() -> None:
    suite = tm.load("bfcl", category="simple_python")
    assert asked(suite).defaults.sampling == Sampling(temperature=0.001)
    stored = Sampling(temperature=0.001, extra={"store": False})
    on_chat = Connection(wire="chat")
    assert asked(suite, "openai/gpt-4.1", None, on_chat).defaults.sampling == stored
    # the responses wire says so itself
    assert asked(suite, "openai/gpt-4.1").defaults.sampling == Sampling(temperature=0.001)
    named = tm.load("bfcl", category="simple_python", ask_as="openbmb/MiniCPM-SALA-FC")
    assert asked(named).defaults.sampling == stored
    assert asked(suite, "control/oracle").defaults.sampling == Sampling()


def bodies(folder: Path, **settings: Any) -> tuple[Run, list[Any]]:
    """Return a run of one task against a server that says little, and what it was sent."""
    message = {"role": "assistant", "content": "No."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    answer = fake.answer(200, {"choices": [choice], "usage": {"prompt_tokens": 1}})
    parameters = settings.pop("parameters", {})
    suite = tm.load("bfcl", category="multi_turn_base", **parameters)
    with fake.in_thread(answer) as server:
        run = tm.run(suite, f"{server.url}#m", ids=(SEVERAL,), log_dir=folder, **settings)
        return run, [each.json for each in server.asked]


def test_settings_of_the_user_replace_those_of_the_handler(tmp_path: Path) -> None:
    run, sent = bodies(tmp_path / "a")
    assert {body["temperature"] for body in sent} == {0.001}
    assert run.info.plan.sampling == Sampling(temperature=0.001)
    parameters = {"ask_as": "openbmb/MiniCPM-SALA-FC"}
    run, sent = bodies(
        tmp_path / "b", temperature=0.7, extra_body={"top_k": 3}, parameters=parameters
    )
    assert {(x["temperature"], x["top_k"], x["store"]) for x in sent} == {(0.7, 3, False)}
    assert run.info.plan.sampling.extra == {"store": False, "top_k": 3}
    assert run.info.plan.parameters["ask_as"] == "openbmb/MiniCPM-SALA-FC"
    _, sent = bodies(tmp_path / "c", extra_body={"store": None}, parameters=parameters)
    assert "store" not in sent[0]


def test_tools_have_the_published_schema_of_their_results(tmp_path: Path) -> None:
    _, sent = bodies(tmp_path)
    suite = tm.load("bfcl", category="multi_turn_base")
    published = {tool.name: tool.source["response"] for tool in next(iter(suite)).tools}
    tools = [tool["function"] for tool in sent[0]["tools"]]
    assert {tool["name"]: tool["response"] for tool in tools} == published


# --- entries of the official list -------------------------------------------------------


def test_every_entry_of_the_list_is_asked_on_its_wire_or_refused_with_the_reason() -> None:
    root = official_data.fetch_wheel()
    supported = handler_settings.supported_entries(root)
    refused = handler_settings.refused_entries(root)
    assert supported.keys() | refused.keys() == official_models.read_models(root).keys()
    assert supported.keys().isdisjoint(refused)
    assert (len(supported), len(refused)) == (90, 85)
    wires: Counter[str] = Counter()
    for name, entry in supported.items():
        suite = tm.load("bfcl", category="simple_python", ask_as=name)
        settings = handler_settings.settings_of_entry(entry)
        first = settings.own_format or ("native" if entry.is_native else "prompt")
        assert next(iter(suite.tool_formats)) == first
        wires[settings.wire] += 1
        if settings.wire != "chat":
            with pytest.raises(UsageError, match=f"next: --wire {settings.wire}"):
                asked(suite)
        else:
            assert asked(suite).tool_formats.keys() == suite.tool_formats.keys()
    assert wires == {"chat": 56, "responses": 20, "anthropic": 6, "gemini": 8}
    for name, group in refused.items():
        with pytest.raises(UsageError) as error:
            tm.load("bfcl", category="simple_python", ask_as=name)
        text = str(error.value)
        assert name in text and f"{group.reason}; next: {group.next_step}" in text
        assert "\n" not in text


def test_the_data_name_handlers_of_the_list_alone_and_each_once() -> None:
    table = handler_settings.handler_table()
    refused = [name for group in table.refused for name in group.handlers]
    listed = official_models.read_models(official_data.fetch_wheel()).values()
    assert {entry.handler for entry in listed} <= {*table.handlers, *refused}
    assert Counter(refused).keys() - {entry.handler for entry in listed} == set()
    assert len(set(refused)) == len(refused) and table.handlers.keys().isdisjoint(refused)


def test_what_no_model_can_be_asked_as_is_refused() -> None:
    with pytest.raises(UsageError, match=r"did you mean: gpt-4\.1"):
        tm.load("bfcl", category="simple_python", ask_as="gpt-4.1-2025-04-14FC")
    with pytest.raises(UsageError, match="has no tool format 'prompt'"):
        asked(tm.load("bfcl", ask_as="glm-4.5-FC"), LOCAL, "prompt")
    with pytest.raises(UsageError, match="no such model is asked format_sensitivity"):
        tm.load("bfcl", category="format_sensitivity", ask_as="glm-4.5-FC")
    with pytest.raises(UsageError, match="has one prompt of its own, so it cannot be asked"):
        tm.load("bfcl", category="format_sensitivity", ask_as="DM-Cito-8B-v3")


def test_an_entry_that_expects_dots_is_asked_with_underscores_and_fails_with_them() -> None:
    name = "qwen3-235b-a22b-instruct-2507-FC"
    suite = tm.load("bfcl", category="simple_python", ask_as=name)
    task = next(task for task in suite if "." in task.tools[0].name)
    _, tools = suite.tool_formats["native"].render_opening((), task.tools)
    assert tools[0].name == task.tools[0].name.replace(".", "_")


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_tools_are_sent_with_underscores_on_every_wire_and_calls_count_under_dots(
    wire: WireName, tmp_path: Path
) -> None:
    arguments: Any = {"number": 5}
    if wire in ("chat", "responses"):
        arguments = '{"number": 5}'
    answer = wire_bodies.call_of(name="math_factorial", arguments=arguments)
    suite = tm.load("bfcl", category="simple_python")
    with fake.in_thread(answer) as server:
        run = tm.run(
            suite, f"{server.url}#m", wire=wire, ids=("simple_python_1",), log_dir=tmp_path
        )
        (sent,) = [each.body for each in server.asked]
    assert b"math_factorial" in sent
    assert b"math.factorial" not in sent
    (episode,) = run.trajectories()
    (reply,) = [step.reply for step in episode.steps]
    assert [call.name for call in reply.calls] == ["math.factorial"]
    assert [x.detail for x in reply.adaptations if x.kind == "tool_name"] == [
        "math.factorial -> math_factorial"
    ]
    assert [score.verdicts["official"].outcome for score in run.scores()] == ["correct"]


def test_two_names_that_would_be_one_stay_as_they_are_where_the_wire_takes_dots() -> None:
    shown = OfficialNative(handler_settings.settings_of_wire("gemini"))
    tools = tuple(Tool(name=name) for name in ("a.b", "a_b", "c.d", "e"))
    _, sent = shown.render_opening((), tools)
    assert [tool.name for tool in sent] == ["a.b", "a_b", "c_d", "e"]
    said = Reply(calls=tuple(Call(name=tool.name, arguments="{}", id=tool.name) for tool in sent))
    parsed = shown.parse_reply(said, tools)
    assert [call.name for call in parsed.calls] == [tool.name for tool in tools]
    history = shown.render_results(parsed.reply or said, parsed.calls[2:3], ())
    assert [call.name for call in history[0].calls] == ["c_d"]


def test_as_is_short_for_the_parameter(toolmark: Command) -> None:
    words = ("run", "bfcl", "-m", LOCAL, "-T", "category=simple_python", "--dry-run")
    assert toolmark(*words, "--as", "glm-4.5-FC").code == 0
    shown = toolmark(*words, "--as", "glm-4.5-FC", "-T", "ask_as=glm-4.6-FC")
    assert shown.code == 2
    assert "two entries: --as glm-4.5-FC and -T ask_as=glm-4.6-FC" in shown.err
    assert "no entry 'nobody'" in toolmark(*words, "--as", "nobody").err


# --- the loop ---------------------------------------------------------------------------


class HalfBroken:
    """Calls one tool rightly and one with broken arguments, then says that it is done."""

    name = "half-broken"

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.requests.append(request)
        if len(self.requests) > 1:
            return Reply(text="Done.")
        good = Call(name="pwd", arguments="{}", id="a")
        return Reply(calls=(good, Call(name="ls", arguments='{"a', id="b")))


def test_a_reply_that_cannot_be_decoded_ends_the_turn_and_executes_nothing(tmp_path: Path) -> None:
    model = HalfBroken()
    suite = tm.load("bfcl", category="multi_turn_base")
    run = tm.run(suite, model, ids=(SEVERAL,), log_dir=tmp_path)
    (episode,) = run.trajectories()
    first, second = episode.steps[:2]
    assert (first.calls, first.results, first.turn, second.turn) == ((), (), 0, 1)
    assert first.fault == (
        "call 2 ls: the arguments are not JSON: Unterminated string starting at: line 1 column 2 "
        "(char 1); nothing of this reply was executed"
    )
    sent_back = model.requests[1].messages
    assert [(x.role, [call.name for call in x.calls]) for x in sent_back[-2:]] == [
        ("assistant", ["pwd", "ls"]),
        ("user", []),
    ]
    assert {"official", "fair"} == next(iter(run.scores())).verdicts.keys()


def test_the_lenient_loop_goes_on_and_has_no_official_rule(tmp_path: Path) -> None:
    suite = tm.load("bfcl", category="multi_turn_base", loop="lenient")
    run = tm.run(suite, HalfBroken(), ids=(SEVERAL,), log_dir=tmp_path)
    (episode,) = run.trajectories()
    assert [result.is_error for result in episode.steps[0].results] == [False, True]
    assert run.info.plan.parameters["loop"] == "lenient"
    assert run.summary()["rules"] == ["fair"]
    assert next(iter(tm.rescore(run).scores())).verdicts.keys() == {"fair"}
    with pytest.raises(UsageError, match="lenient loop, of which official files say nothing"):
        bfcl_import_export.export_runs("bfcl", [run.path], tmp_path / "out")


# --- what is asked ----------------------------------------------------------------------


def test_all_is_what_is_scored_where_a_model_makes_structured_calls() -> None:
    suite = tm.load("bfcl", category=("all",))
    formats = prompt_formats.CATEGORY
    assert formats in suite.parameters["category"]
    native = asked(suite)
    assert native.parameters["category"] == bfcl_suite.GROUPS["all_scoring"]
    assert len(suite) - len(native) == 5200
    assert asked(suite, LOCAL, "prompt").parameters["category"] == suite.parameters["category"]
    named = asked(tm.load("bfcl", category=("simple_python", formats)))
    assert named.parameters["category"] == ("simple_python", formats)


def test_a_sample_is_of_what_is_scored_unless_nothing_is(tmp_path: Path) -> None:
    suite = tm.load("bfcl", category=("simple_python", prompt_formats.CATEGORY))
    run = tm.run(suite, "control/null", tool_format="prompt", sample=20, log_dir=tmp_path)
    assert {task.category for task in run.tasks()} == {"simple_python"}
    assert run.summary()["score"]["n"] == 20
    alone = tm.load("bfcl", category=prompt_formats.CATEGORY)
    run = tm.run(alone, "control/null", tool_format="prompt", sample=20, log_dir=tmp_path)
    assert run.info.n_planned == 20


def test_the_terminal_shows_what_the_headline_counts_and_every_rule_that_differs(
    toolmark: Command,
) -> None:
    name = next(iter(tm.load("bfcl", category=prompt_formats.CATEGORY))).id
    categories = f"category=simple_python,live_simple,{leaderboard.UNSCORED}"
    words = ("-T", categories, "--ids", f"simple_python_0,live_simple_106-63-0,{name}")
    shown = toolmark("run", "bfcl", "-m", "control/oracle", "--tool-format", "prompt", *words)
    assert shown.code == 0
    assert "accuracy, official rule 50.0 %" in shown.out
    assert "2 of all 3 answers" in shown.out
    assert "accuracy, fair rule 100.0 %" in shown.out


def test_asking_is_asynchronous_with_the_same_parameters(tmp_path: Path) -> None:
    suite = tm.load("bfcl", category="simple_python")
    run = asyncio.run(tm.arun(suite, "control/oracle", limit=1, log_dir=tmp_path))
    assert run.info.plan.sampling == Sampling()


# --- the page ---------------------------------------------------------------------------


def table_rows(heading: str) -> list[list[str]]:
    """Return the cells of the table of the page that begins with these words."""
    _, found, after = ASKING_PAGE.read_text(encoding="utf-8").partition(f"| {heading} |\n")
    assert found
    rows = after.split("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_page_names_every_entry_as_it_is_asked_or_refused() -> None:
    root = official_data.fetch_wheel()
    listed = official_models.read_models(root)
    asked_rows: dict[tuple[str, str], list[str]] = {}
    for name, entry in handler_settings.supported_entries(root).items():
        wire = handler_settings.settings_of_entry(entry).wire
        asked_rows.setdefault((wire, entry.handler), []).append(f"`{name}`")
    shown = {(wire, handler): x.split(", ") for wire, handler, x in table_rows(ASKED_HEADING)}
    assert {key: set(x) for key, x in shown.items()} == {k: set(x) for k, x in asked_rows.items()}
    refused_rows: dict[tuple[str, str], list[str]] = {}
    for name, group in handler_settings.refused_entries(root).items():
        key = (listed[name].handler, group.reason)
        refused_rows.setdefault(key, []).append(f"`{name}`")
    shown = {(handler, why): x.split(", ") for handler, x, why in table_rows(REFUSED_HEADING)}
    assert shown == refused_rows
