"""The official BFCL code and ours, side by side on the official data."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

import pytest
from tests.parity import damaged_replies
from tests.parity.process import Ask

import toolmark as tm
from toolmark.core import json_codec, seeds
from toolmark.core.records import Call, Task
from toolmark.formats.parse import python_calls
from toolmark.official_bfcl import bfcl_controls, fair_rule, official_data, tool_schemas
from toolmark.scoring import call_matching, java_values, javascript_values
from toolmark.scoring.value_conversion import PYTHON_CONVERTER
from toolmark.scoring.value_matching import OfficialCheckerError

EACH = 20
EACH_FOREIGN = 60
CONVERSIONS = 50_000
TYPES: dict[str, tuple[Any, tuple[str, ...], Any]] = {
    "simple_java": (
        java_values.JAVA_TYPES,
        java_values.JAVA_COLLECTION_TYPES,
        java_values.convert_java_value,
    ),
    "simple_javascript": (
        javascript_values.JAVASCRIPT_TYPES,
        javascript_values.JAVASCRIPT_COLLECTION_TYPES,
        javascript_values.convert_javascript_value,
    ),
}


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return list(tm.load("bfcl", category=("single_turn",)))


def answered(tasks: list[Task]) -> list[tuple[Task, int]]:
    """Return the tasks that have a truth, each with its row in its file."""
    rows: Counter[str] = Counter()
    found = []
    for task in tasks:
        if task.data is not None:
            found.append((task, rows[task.category]))
        rows[task.category] += 1
    return found


def ours(task: Task, made: list[tuple[str, dict[Any, Any]]]) -> list[Any]:
    docs = tool_schemas.published_docs(task)
    kinds = fair_rule.VALUE_KINDS.get(task.category, PYTHON_CONVERTER)
    try:
        fault = call_matching.check_calls(
            docs, made, task.data["truth"], task.category, converter=kinds
        )
    except OfficialCheckerError as error:
        return ["crash", str(error), []]
    if fault is None:
        return [True, "", []]
    return [False, fault.error_type, [near.error_type for near in fault.candidates]]


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
def test_matcher_agrees_with_the_official_checker(
    official: Ask, tasks: list[Task], every: int
) -> None:
    outputs = []
    for task, row in list(answered(tasks))[::every]:
        made = bfcl_controls.expected_calls(task)
        outputs.append((task, row, made))
        for repeat in range(EACH_FOREIGN if task.category in official_data.NON_PYTHON else EACH):
            rng = seeds.make_rng(0, task.id, repeat, "mutate")
            outputs.append((task, row, damaged_replies.calls(made, task, rng)))
    theirs = official(
        [
            ("match", task.category, row, repr([{name: given} for name, given in made]))
            for task, row, made in outputs
        ]
    )
    kinds: Counter[str] = Counter()
    apart: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    wrong = []
    for (task, _, made), answer in zip(outputs, theirs, strict=True):
        mine = ours(task, made)
        if answer[0] == "crash":
            apart[answer[1][:40]] += 1
            wrong += [] if mine[0] is not True else [(task.id, made, answer, mine)]
            continue
        kinds[answer[1] or "valid"] += 1
        categories[task.category] += 1
        if mine != answer:
            wrong.append((task.id, made, answer, mine))
    print(f"\n{kinds.total()} verdicts compared, {len(wrong)} disagreements; {dict(kinds)}")
    print(f"by category: {dict(categories)}")
    print(f"official checker crashed on {apart.total()}, not compared: {dict(apart)}")
    assert wrong == []
    assert kinds.total() >= 50_000 / every
    assert len(kinds) >= 17
    assert (
        len(categories) == 10
        and min(categories[name] for name in official_data.NON_PYTHON) > 2_500 / every
    )
    assert apart.total() < 0.02 * kinds.total()


def test_conversions_agree_with_the_official_converters(official: Ask) -> None:
    """Beyond the published entries: every type of either language, on damaged literals."""
    jobs = []
    for number in range(CONVERSIONS):
        rng = seeds.make_rng(0, str(number), 0, "convert")
        category = seeds.draw_one(rng, official_data.NON_PYTHON)
        types, collections, _ = TYPES[category]
        kind = seeds.draw_one(rng, [*types, *collections * 5, *("HashMap", "dict") * 3])
        if kind not in types:
            continue
        inner = seeds.draw_one(rng, [*types]) if kind in collections else None
        jobs.append(("convert", category, damaged_replies.source(category, rng), kind, inner))
    wrong, apart = [], 0
    for job, answer in zip(jobs, official(jobs), strict=True):
        _, category, text, kind, inner = job
        try:
            mine = repr(TYPES[category][2](text, kind, inner))
        except OfficialCheckerError:
            mine = "crash"
        apart += answer == "crash"
        wrong += [] if mine == answer else [(job, answer, mine)]
    print(f"\n{len(jobs)} conversions, {len(wrong)} disagreements; {apart} crash on both sides")
    assert wrong == []
    assert len(jobs) - apart >= 30_000


def test_decoder_agrees_with_the_official_decoder(official: Ask, tasks: list[Task]) -> None:
    prompt = tm.load("bfcl", category=("single_turn",)).tool_formats["prompt"]
    texts = ["", "[]", "hello", "[f(a=1)], [g(b=2)]", "f(a=1), g(b=2)", "[{}]", "f(x)(y=2)"]
    texts += [f"f(k={piece})" for piece in damaged_replies.PIECES]
    texts += [wrapper.format("f(a=1)") for wrapper in damaged_replies.WRAPPERS]
    for task, _ in answered(tasks):
        calls = [
            Call(name=name, arguments=json.dumps(given))
            for name, given in bfcl_controls.expected_calls(task)
        ]
        written = prompt.render_calls(calls).text
        texts.append(written)
        for repeat in range(3):
            rng = seeds.make_rng(0, task.id, repeat, "damage")
            texts.append(damaged_replies.damage(written, rng))
    kinds: Counter[str] = Counter()
    wrong = []
    for text, answer in zip(texts, official([("text", text) for text in texts]), strict=True):
        kinds[answer[0]] += 1
        if answer[0] == "evaluated":
            continue
        try:
            mine = ["read", repr(python_calls.parse_reply(text))]
        except python_calls.UnreadableCalls as error:
            mine = ["failed", str(error)]
        called = mine[0] == "read" and mine[1] != "[]"
        same = mine[0] == answer[0] and (mine[0] == "failed" or mine[1] == answer[1])
        if not same or called == answer[2]:
            wrong.append((text, answer, mine))
    print(f"\n{len(texts)} texts, {len(wrong)} disagreements; {dict(kinds)}")
    assert wrong == []
    assert len(texts) - kinds["evaluated"] >= 9_000
    assert min(kinds["read"], kinds["failed"]) > 1_000


def test_prompts_and_tools_equal_the_official_ones(official: Ask, tasks: list[Task]) -> None:
    prompt = tm.load("bfcl", category=("single_turn",)).tool_formats["prompt"]
    theirs = official([("asked", category) for category in official_data.CATEGORIES])
    expected = {row[0]: (row[1], row[2]) for rows in theirs for row in rows}
    assert len(expected) == len(tasks) == 3641
    for task in tasks:
        messages, offered = prompt.render_opening(task.turns[0].messages, task.tools)
        assert offered == ()
        said = [{"role": message.role, "content": message.text} for message in messages]
        tools = [
            {
                "type": "function",
                "function": {
                    "name": tool.name.replace(".", "_"),
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in task.tools
        ]
        assert (digest(said), digest(tools)) == expected[task.id], task.id


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def test_published_prompt_vector(tasks: list[Task]) -> None:
    task = next(task for task in tasks if task.id == "simple_python_19")
    messages, _ = (
        tm.load("bfcl", category=("single_turn",))
        .tool_formats["prompt"]
        .render_opening((), task.tools)
    )
    text = json_codec.restore_surrogates(messages[0].text)
    assert len(text) == 1692
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "2d6b2171b016adab"
