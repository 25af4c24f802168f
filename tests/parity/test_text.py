"""Replies in text: the official decoders and ours, side by side, verdict by verdict."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from typing import get_args

import pytest
from tests.parity import damaged_text
from tests.parity.process import Ask

from toolmark.core import json_codec, seeds
from toolmark.core.records import Call, Message, Reply, Result, Task, Text, Tool
from toolmark.formats.parse import java_calls, javascript_calls, python_calls, reply_parser
from toolmark.formats.parse.reply_text import (
    DecodedCalls,
    MisshapenCalls,
    UnreadableCalls,
    add_brackets,
)
from toolmark.formats.render.call_text import render_calls
from toolmark.official_bfcl import (
    bfcl_controls,
    official_data,
    official_prompt,
    prompt_formats,
)

FORMS = tuple((form, tag) for form in get_args(reply_parser.CallForm) for tag in (True, False))
READERS = {"java": java_calls.parse_call, "javascript": javascript_calls.parse_call}
# where the versions exist the `dev` extra brings them: without them these tests fail
pinned = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="the pinned grammars are made for Python below 3.13"
)


def ours(said: str, form: str, tag: bool) -> list[str]:
    try:
        found = _read(said, form, tag)
    except MisshapenCalls:
        return ["misshapen", ""]
    except python_calls.UnevaluatedExpression:
        return ["unfolded", ""]
    except UnreadableCalls:
        return ["failed", ""]
    return ["read", repr(found)]


def _read(said: str, form: str, tag: bool) -> DecodedCalls:
    if form in READERS:
        return READERS[form](add_brackets(said))
    return reply_parser.parse_reply(said, form, tag=tag)  # type: ignore[arg-type]


def compare(official: Ask, jobs: list[tuple[str, str, bool]]) -> tuple[Counter[str], Counter[str]]:
    """Compare all; return what was compared, by form and outcome, and what was set apart."""
    kinds: Counter[str] = Counter()
    apart: Counter[str] = Counter()
    wrong = []
    answers = official([("decode", *job) for job in jobs])
    for job, answer in zip(jobs, answers, strict=True):
        if answer[0] == "evaluated":
            apart[job[1]] += 1
            continue
        kinds[f"{job[1]} {answer[0]}"] += 1
        mine = ours(*job)
        if mine != answer:
            wrong.append((job, answer, mine))
    print(f"\n{kinds.total()} texts compared, {len(wrong)} disagreements; {dict(kinds)}")
    print(f"the official decoder would evaluate {apart.total()}, not compared: {dict(apart)}")
    assert wrong == [], wrong[:5]
    return kinds, apart


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return list(
        prompt_formats.read_tasks(
            official_data.fetch_wheel(), prompt_formats.official_format_names()[:1], "all"
        )[0].entries
    )


def written(tasks: list[Task]) -> Iterator[tuple[str, str, bool]]:
    for number, task in enumerate(tasks):
        calls = [
            Call(name=name, arguments=json_codec.escape_surrogates(json.dumps(given)))
            for name, given in bfcl_controls.expected_calls(task)
        ]
        for at, (form, tag) in enumerate(FORMS):
            right = render_calls(calls, form, tag=tag)
            if number % len(FORMS) == at:
                yield right, form, tag
            rng = seeds.make_rng(0, task.id, at, "damage text")
            yield damaged_text.damage(right, form, rng), form, tag
            if number % 4 == at % 4:  # asked in one form, answered in the other of tag or none
                yield damaged_text.damage(right, form, rng), form, not tag


def fixed() -> Iterator[tuple[str, str, bool]]:
    texts = ["", "[]", "{}", "hello", "[", "]", "null", "5", '"x"', "[1, 2]", "[{}]", "[[]]"]
    texts += ["<functions></functions>", "<functions><function/></functions>", "<TOOLCALL>"]
    texts += ["<TOOLCALL></TOOLCALL>", "<TOOLCALL>5</TOOLCALL>", "<TOOLCALL>null</TOOLCALL>"]
    texts += ['<TOOLCALL>{"function": "f", "parameters": {}}</TOOLCALL>', "\ud800", "\x00"]
    texts += ['{"function": "f", "parameters": [1]}', '{"function": null, "parameters": {}}']
    texts += ['{"function": {"a": 1}, "parameters": {}}', '[{"parameters": {}}]']
    for said in texts:
        for form, tag in FORMS:
            yield said, form, tag
    for form, pieces in damaged_text.PIECES.items():
        if form in READERS:
            continue
        for piece in pieces:
            yield f'[{{"function": "f", "parameters": {{"k": {piece}}}}}]', form, False
            yield f"[f(k={piece})]", form, False
            for label in damaged_text.LABELS:
                yield _verbose(piece, label), "verbose_xml", False
                yield _concise(piece, label), "concise_xml", False


def _verbose(value: str, label: str) -> str:
    return f'<functions><function name="f"><param name="k" type="{label}" value="{value}"/></function></functions>'  # noqa: E501


def _concise(value: str, label: str) -> str:
    return f'<functions><function name="f"><param name="k" type="{label}">{value}</param></function></functions>'  # noqa: E501


def test_prompted_forms_are_read_as_the_official_decoder_reads_them(
    official_formats: Ask, tasks: list[Task]
) -> None:
    jobs = [*dict.fromkeys([*fixed(), *written(tasks)])]
    kinds, apart = compare(official_formats, jobs)
    assert kinds.total() >= 20_000
    for form in get_args(reply_parser.CallForm):
        assert kinds[f"{form} read"] > 1_000
        # broken JSON is read, as no calls
        assert kinds[f"{form} failed"] > (100 if form == "json" else 1_000)
    assert kinds["json misshapen"] > 20
    assert apart.total() < 0.02 * kinds.total()


@pinned
@pytest.mark.parametrize("form", ["java", "javascript"])
def test_foreign_text_is_read_as_the_official_decoder_reads_it(
    official_formats: Ask, form: str
) -> None:
    folder = official_data.fetch_wheel() / "bfcl_eval/data/possible_answer"
    lines = (folder / f"BFCL_v4_simple_{form}.json").read_text().splitlines()
    texts = ["", "f", "f()", "f();", "f(1)", "f(a = 1); g(b = 2)", "f(a = 1), g(b = 2)", "(f())"]
    texts += [
        f"f({at} = {piece})" for piece in damaged_text.PIECES[form] for at in ("k", "longer_name")
    ]
    texts += [f"f({piece})" for piece in damaged_text.PIECES[form]]
    for line in lines:
        row = json.loads(line)
        name, truth = next(iter(row["ground_truth"][0].items()))
        for repeat in range(28 if form == "java" else 64):
            rng = seeds.make_rng(0, row["id"], repeat, "damage text")
            said = damaged_text.source(name, truth, rng)
            texts.append(f"[{said}]" if repeat % 2 else said)
            texts.append(damaged_text.damage(texts[-1], form, rng))
    kinds, _ = compare(official_formats, [(said, form, False) for said in dict.fromkeys(texts)])
    assert kinds.total() >= 3_000
    assert kinds[f"{form} read"] > 1_000
    assert kinds[f"{form} failed"] > 200
    assert kinds[f"{form} misshapen"] > 10


@pinned
def test_both_grammars_are_here() -> None:
    """Without them the rough reader would be compared, with itself too."""
    assert java_calls.is_grammar_installed() and javascript_calls.is_grammar_installed()


@pinned
@pytest.mark.parametrize("form", ["java", "javascript"])
def test_without_grammars_natural_calls_are_read_alike(form: str) -> None:
    """The rough reader is approximate; on calls as models write them it should seldom differ."""
    folder = official_data.fetch_wheel() / "bfcl_eval/data/possible_answer"
    rough = java_calls.parse_roughly if form == "java" else javascript_calls.parse_roughly
    same = total = 0
    for line in (folder / f"BFCL_v4_simple_{form}.json").read_text().splitlines():
        row = json.loads(line)
        name, truth = next(iter(row["ground_truth"][0].items()))
        said = damaged_text.source(name, truth, seeds.make_rng(0, row["id"], 0, "natural"))
        try:
            exact = READERS[form](f"[{said}]")
        except UnreadableCalls:
            continue
        total += 1
        same += rough(said) == exact
    print(f"\n{form}: {same} of {total} natural calls read alike")
    assert same >= 0.9 * total > 0


def test_calls_to_execute_are_written_as_the_official_handler_writes_them(
    official_formats: Ask,
    tasks: list[Task],
) -> None:
    texts = [f"[f(k={piece})]" for piece in damaged_text.PIECES["python"]]
    texts += ["[f(a={'b': {'c': 1}})]", "[f(a={})]", "[f(a={'b': {}})]", "[f(a={'b': 1, 'c': {}})]"]
    texts += ["[f(a={'b': {'c': {'d': {}}}, 'e': {}})]", "[f(**{'a': 1})]", "[f(a=g(b=h(c=1)))]"]
    texts += [f"[f(a={'9' * 5000})]", "[f(a=[{'b': {}}])]", "[f(a=(1,), b='it\\'s')]", "[]"]
    for task in tasks:
        calls = [
            Call(name=name, arguments=json.dumps(given))
            for name, given in bfcl_controls.expected_calls(task)
        ]
        right = render_calls(calls, "python")
        texts += [
            right,
            damaged_text.damage(right, "python", seeds.make_rng(0, task.id, 0, "execute")),
        ]
    wrong = []
    kinds: Counter[str] = Counter()
    for said, answer in zip(
        texts, official_formats([("execute", said) for said in texts]), strict=True
    ):
        kinds[answer[0]] += 1
        if answer[0] == "evaluated":
            continue
        try:
            mine = ["read", python_calls.executor_strings(python_calls.parse_reply(said))]
        except UnreadableCalls:
            mine = ["failed", []]
        if mine != answer:
            wrong.append((said, answer, mine))
    print(f"\n{len(texts)} texts, {len(wrong)} disagreements; {dict(kinds)}")
    assert wrong == [], wrong[:5]
    assert min(kinds["read"], kinds["failed"]) > 400


def test_results_and_late_tools_are_worded_as_officially(
    official_formats: Ask, tasks: list[Task]
) -> None:
    prompt = official_prompt.make_tool_formats(
        (), official_data.read_prompt_wording(official_data.fetch_wheel())
    )["prompt"]
    said = "[f(a='x', b={'c': {'d': 1}}), g()]"
    contents = ['{"ok": "ü"}', "None\n'quoted'"]
    docs = [task.tools[0].source for task in tasks[:40]]
    heard, appear = official_formats([("heard", said, contents), ("appear", docs)])
    calls = prompt.parse_reply(Reply(text=said), ()).calls
    results = tuple(Result(parts=(Text(content),)) for content in contents)
    _, message = prompt.render_results(Reply(text=said), calls, results)
    assert (message.role, message.text) == ("user", heard)
    asked, _, _sentence = appear.rpartition("\n")
    tools = tuple(
        Tool(name=doc["name"], description=doc["description"], source=doc) for doc in docs
    )
    turn = (Message(role="user", parts=(Text(appear[len(asked) + 1 :]),)),)
    (shown,), offered = prompt.render_turn(turn, tools)
    assert (shown.text, offered) == (appear, ())
