"""Entries whose handlers ask or read in a way of their own: judged, exported, read, shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import toolmark as tm
from toolmark.cli import bfcl_import_export
from toolmark.core.errors import UsageError
from toolmark.core.records import Call, Message, Reply, Request, Result, Task, Text
from toolmark.official_bfcl import handler_formats
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Suite

FENCED, TAGGED, LISTED = (
    "gemini-2.5-flash",
    "nvidia/llama-3.1-nemotron-ultra-253b-v1",
    "DM-Cito-8B-v3",
)
BARE, CHOOSING = "firefunction-v2-FC", "palmyra-x-004"
OWN_FORMATS = {TAGGED: "nemotron", LISTED: "dm_cito"}
PERSON = Message(role="user", parts=(Text("Who?"),))


class Fixed:
    """Says one text, whatever it is asked."""

    def __init__(self, text: str) -> None:
        self.name = "fixed"
        self.text = text

    async def __call__(self, request: Request, /) -> Reply:
        return Reply(text=self.text)


def load(entry: str, category: str) -> Suite:
    return tm.load("bfcl", category=category, ask_as=entry)


def first_format(entry: str) -> Any:
    return next(iter(load(entry, "simple_python").tool_formats.values()))


def outcomes(run: Run, rule: str = "official") -> list[str]:
    return [score.verdicts[rule].outcome for score in run.scores()]


def written(entry: str, calls: tuple[Call, ...]) -> str:
    text: str = first_format(entry).render_calls(calls).text
    return f"```tool_code\n{text}\n```" if entry == FENCED else text


# --- judged -----------------------------------------------------------------------------


@pytest.mark.parametrize("entry", [FENCED, TAGGED, LISTED, BARE, CHOOSING])
@pytest.mark.parametrize("category", ["parallel", "live_multiple", "multi_turn_base"])
def test_a_flawless_model_is_right_by_both_rules(entry: str, category: str, tmp_path: Path) -> None:
    run = tm.run(load(entry, category), "control/oracle", limit=6, log_dir=tmp_path)
    assert {*outcomes(run), *outcomes(run, "fair")} == {"correct"}
    assert run.info.plan.tool_format == OWN_FORMATS.get(
        entry, "prompt" if entry == FENCED else "native"
    )


@pytest.mark.parametrize("entry", [FENCED, TAGGED])
def test_text_in_another_language_is_judged_as_by_the_default_prompt(
    entry: str, tmp_path: Path
) -> None:
    category, least = "simple_javascript", {"correct", "incorrect"}
    run = tm.run(load(entry, category), "control/oracle", limit=12, log_dir=tmp_path / "a")
    plain = tm.load("bfcl", category=category)
    other = tm.run(plain, "control/oracle", tool_format="prompt", limit=12, log_dir=tmp_path / "b")
    assert outcomes(run) == outcomes(other) and set(outcomes(run)) == least


@pytest.mark.parametrize("entry", [FENCED, TAGGED, LISTED])
def test_a_reply_is_judged_as_the_handler_reads_it_also_later(entry: str, tmp_path: Path) -> None:
    suite = load(entry, "simple_python")
    task = next(iter(suite))
    ((name, values),) = task.data["truth"][0].items()
    arguments = json.dumps({key: each[0] for key, each in values.items() if each[0] != ""})
    text = written(entry, (Call(name=name, arguments=arguments),))
    run = tm.run(suite, Fixed(text), ids=(task.id,), log_dir=tmp_path)
    (episode,) = run.trajectories()
    assert episode.steps[0].reply.text == text
    assert (outcomes(run), outcomes(run, "fair")) == (["correct"], ["correct"])
    assert outcomes(tm.rescore(run)) == ["correct"]
    by_default = tm.load("bfcl", category="simple_python")
    other = tm.run(
        by_default, Fixed(text), tool_format="prompt", ids=(task.id,), log_dir=tmp_path / "other"
    )
    assert outcomes(other) == ["incorrect"]


def test_prompt_formats_are_asked_of_gemini_and_not_of_one_prompt(tmp_path: Path) -> None:
    gemini = load(FENCED, "format_sensitivity")
    run = tm.run(gemini, "control/oracle", limit=3, log_dir=tmp_path)
    assert set(outcomes(run)) == {"correct"}
    every = tm.load("bfcl", ask_as=LISTED)
    run = tm.run(every, "control/null", sample=5, log_dir=tmp_path / "all")
    assert "format_sensitivity" not in run.info.plan.parameters["category"]


# --- exported ---------------------------------------------------------------------------


def test_a_run_is_exported_for_the_handler_that_reads_it_alone(tmp_path: Path) -> None:
    run = tm.run(load(FENCED, "simple_python"), "control/oracle", limit=2, log_dir=tmp_path / "a")
    bfcl_import_export.export_runs("bfcl", [run.path], tmp_path / "out", model=FENCED)
    assert list((tmp_path / "out/result" / FENCED).rglob("*_result.json"))
    with pytest.raises(UsageError, match=f"next: --model {FENCED}"):
        bfcl_import_export.export_runs("bfcl", [run.path], tmp_path / "x", model="grok-4-0709")
    for entry in (TAGGED, LISTED):
        run = tm.run(load(entry, "simple_python"), "control/oracle", limit=1, log_dir=tmp_path)
        with pytest.raises(UsageError, match=f"replies in the format {OWN_FORMATS[entry]}"):
            bfcl_import_export.export_runs("bfcl", [run.path], tmp_path / "y", model=entry)


# --- read and shown ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<TOOLCALL>[f(x=1)]</TOOLCALL>b<TOOLCALL>g()</TOOLCALL>", "[f(x=1)]"),
        ("<TOOLCALL></TOOLCALL>", ""),
        ("<TOOLCALL>[f()]", None),
        ("</TOOLCALL>[f()]<TOOLCALL>", None),
        ("[f()]", None),
    ],
)
def test_the_first_tags_hold_the_calls(text: str, expected: str | None) -> None:
    assert handler_formats.tagged_text(text) == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('<tool_calls>\n[{"name": "f", "arguments": {}}]\n</tool_calls>', ["f"]),
        ('x<tool_calls>\n [{"name": "f", "arguments": {"a": 1}}, 5] \n</tool_calls>', ["f"]),
        ('[{"name": "f", "arguments": {}}]', ["f"]),
        ('<tool_calls>[{"name": "f", "arguments": {}}]</tool_calls>', []),
        ('<tool_calls>\n[{"name": "f", "arguments": 5}]\n</tool_calls>', []),
        ('{"name": "f", "arguments": {}}', []),
        ("<answer>f</answer>", []),
        ("", []),
    ],
)
def test_listed_calls_are_read_as_the_handler_executes_them(text: str, names: list[str]) -> None:
    assert [x.name for x in handler_formats.read_listed_reply(text, True).calls] == names


def test_results_go_back_as_each_handler_sends_them() -> None:
    call = Call(name="f", arguments='{"a": 1, "b": "x"}', id="1")
    result = Result(parts=(Text("ok"),))
    fenced = first_format(FENCED).render_results(
        Reply(text="```tool_code\n[f(a=1, b='x')]\n```"), (call,), (result,)
    )
    expected = """[{'role': 'tool', 'name': "f(a=1, b='x')", 'content': 'ok'}]"""
    assert [each.text for each in fenced] == ["```tool_code\n[f(a=1, b='x')]\n```", expected]
    listed = first_format(LISTED).render_results(Reply(text="said"), (call,), (result,))
    assert [each.text for each in listed] == ["said", expected]
    tagged = first_format(TAGGED).render_results(Reply(text="said"), (call,), (result,))
    assert [each.text for each in tagged] == ["said"]
    said, *_ = first_format(BARE).render_results(
        Reply(text="Let me see.", calls=(call,)), (call,), (result,)
    )
    assert (said.text, said.calls) == ("", (call,))
    said, *_ = first_format(CHOOSING).render_results(
        Reply(text="Let me see.", calls=(call,)), (call,), (result,)
    )
    assert said.text == "Let me see."


def dotted_task() -> Task:
    tasks = tm.load("bfcl", category="simple_python")
    return next(task for task in tasks if "." in task.tools[0].name)


@pytest.mark.parametrize("entry", [BARE, CHOOSING])
def test_dots_of_names_stay_where_the_handler_sends_them(entry: str) -> None:
    task = dotted_task()
    _, tools = first_format(entry).render_opening((), task.tools)
    assert tools[0].name == task.tools[0].name


@pytest.mark.parametrize("entry", [TAGGED, LISTED])
def test_a_prompt_shows_the_docs_as_a_list_of_python(entry: str) -> None:
    task = dotted_task()
    system = Message(role="system", parts=(Text("Be brief."),))
    shown, tools = first_format(entry).render_opening((system, PERSON), task.tools)
    doc = {**task.tools[0].source, "description": task.tools[0].description}
    assert tools == () and str([doc]) in shown[0].text and shown[0].role == "system"
    assert shown[0].text.endswith("Be brief." if entry == LISTED else "Be brief.\n\nWho?")
    assert [each.text for each in shown[1:]] == (["Who?"] if entry == LISTED else [])


@pytest.mark.parametrize("size", [20_000, 200_000])
def test_a_hostile_text_is_read_once(size: int) -> None:
    for part in (
        "<TOOLCALL>",
        "<tool_calls>\n",
        "\n</tool_calls>",
        "[",
        '{"name":',
        "```tool_code\n",
    ):
        text = part * (size // len(part))
        handler_formats.tagged_text(text)
        handler_formats.read_listed_reply(text, True)
        for entry in (FENCED, TAGGED, LISTED):
            assert first_format(entry).parse_reply(Reply(text=text), ()).calls == ()
