"""Stored rows of every listed model: its official handler and ours, verdict by verdict.

Every handler gets every shape, its own and those of others: a row is refused, or judged as the
model's handler judges it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import pytest
from tests.parity.process import Ask

from toolmark.core.errors import UsageError
from toolmark.core.records import Task
from toolmark.official_bfcl import (
    bfcl_controls,
    multi_turn_tasks,
    official_data,
    official_models,
)
from toolmark.official_bfcl.handler_replies import MalformedResult
from toolmark.runs.suite import Suite
from toolmark.scoring.episode import Episode
from toolmark.studio.bfcl_interchange import official_handlers, result_rows
from toolmark.suites import suite_registry
from toolmark.suites.bfcl import bfcl_scorer

SINGLE = ("simple_python", "multiple", "parallel", "irrelevance", "live_relevance")
SEVERAL, FOUND = "multi_turn_base", "memory_kv"
WORDS = "I would need more information: which one do you mean?"
UNKNOWN = {
    "FunctionGemma", "GLM", "Gorilla", "GraniteFunctionCalling", "MiniCPMFC", "Nemotron",
    "ThinkAgent",
}  # fmt: skip

Calls = list[tuple[str, Any]]


# --- shapes -----------------------------------------------------------------------------


def written(calls: Calls) -> str:
    """Write calls as Python."""
    return f"[{', '.join(f'{name}({pairs(given)})' for name, given in calls)}]"


def pairs(given: Any) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in dict(given).items())


def items(calls: Calls, key: str = "arguments") -> list[dict[str, Any]]:
    return [{"name": name, key: given} for name, given in calls]


def tagged(calls: Calls) -> str:
    return "\n".join(f"<tool_call>\n{json.dumps(each)}\n</tool_call>" for each in items(calls))


def doubled(calls: Calls) -> Calls:
    """Return calls whose arguments are the text of an object."""
    return [(name, json.dumps(given)) for name, given in calls]


def inside(calls: Calls) -> Iterator[str]:
    """Return texts that hold the calls, whole or damaged."""
    python, plain, named = written(calls), json.dumps(items(calls)), items(calls, "parameters")
    yield from (python, f"```tool_code\n{python}\n```", f"```json\n{python}```")
    yield from (f" ```python\n{python}\n```", f"```\n{python}\n```", f"It is {python}")
    yield from (tagged(calls), f"<think>hm</think>\n{tagged(calls)} done", tagged(calls)[:-12])
    yield from (tagged(doubled(calls)), f"<tool_call>\n{{bad\n</tool_call>\n{tagged(calls)}")
    yield from (f"<tool_call>\n5\n</tool_call>{tagged(calls)}", "<tool_call>\n{}\n</tool_call>")
    yield from (tagged([(name, [given]) for name, given in calls]), f"<tool_call>{plain}")
    yield from (f"<tool_call>```json\n{plain}\n```</tool_call> done", f"<tool_call>{plain[:-1]}")
    yield from (plain, plain[1:-1], plain[:-1], f"```{plain}```", json.dumps({"tool_calls": 1}))
    yield from (json.dumps({"tool_calls": items(calls)}), json.dumps(items(doubled(calls))))
    yield from (json.dumps([*items(calls), 5]), json.dumps([*items(calls), {"name": "x"}]))
    yield from ("; ".join(json.dumps(each) for each in items(calls)), '"text"', "5", "null", "{}")
    yield from (json.dumps(named), f"<|python_tag|>{named!r}", repr(tuple(named)), f"{named!r}+[]")
    yield from ("; ".join(json.dumps(each) for each in named), f" {named!r}", f"{named!r} ok")
    yield from (json.dumps([{"name": name, "parameters": {"x": True}} for name, _ in calls]),)
    yield from ("[{'name': 'f', 'parameters': {'x': (1, 2)}}]", "[x for x in (1, 2)]")
    yield from (json.dumps([{"name": 7, "arguments": given} for _, given in calls]), "Sorry", "")
    yield from (json.dumps([{"name": ["f"], "arguments": given} for _, given in calls]), WORDS)


def listed(calls: Calls) -> Iterator[Any]:
    """Return other values that hold the calls, whole or damaged."""
    yield [{name: json.dumps(given)} for name, given in calls]
    yield [{name: given} for name, given in calls]
    yield [{name: json.dumps(given)[:-1]} for name, given in calls]
    yield [{name: json.dumps([given])} for name, given in calls]
    yield [{name: [given]} for name, given in calls]
    yield [{"tool_name": name, "parameters": given} for name, given in calls]
    yield [{"tool_name": name, "parameters": json.dumps(given)} for name, given in calls]
    yield items(calls)
    yield items(doubled(calls))
    yield [*items(calls), "and"]
    yield [{"name": name} for name, _ in calls]
    yield [{name: None} for name, _ in calls]
    yield {name: json.dumps(given) for name, given in calls}
    yield {name: given for name, given in calls}
    yield from ([written(calls)], [written(calls), "x"], None)
    yield from ([], [WORDS], [WORDS, "more"], [{}], [{"a": "{}", "b": "{}"}], [[]])


def shapes(calls: Calls) -> list[Any]:
    return [*inside(calls), *listed(calls)]


# --- the models -------------------------------------------------------------------------


class Entry(NamedTuple):
    """A listed model, and how its rows are read here."""

    name: str
    reader: result_rows.RowReader


@pytest.fixture(scope="module")
def suite() -> Suite:
    return suite_registry.load_suite("bfcl", category=(*SINGLE, SEVERAL, FOUND))


@pytest.fixture(scope="module")
def models(suite: Suite) -> list[Entry]:
    """Return one listed model per handler, form and spelling of names."""
    found: dict[tuple[str, bool, bool], Entry] = {}
    for name, known in official_models.read_models(official_data.fetch_wheel()).items():
        if known.handler not in UNKNOWN:
            way = official_handlers.handler_format(name, known)
            reader = result_rows.RowReader(
                suite.tool_formats, way, underscores_for_dots=known.underscores_for_dots
            )
            key = (known.handler, known.is_native, known.underscores_for_dots)
            found.setdefault(key, Entry(name, reader))
    return list(found.values())


@pytest.fixture(scope="module")
def tasks(suite: Suite) -> dict[str, list[Task]]:
    found: dict[str, list[Task]] = {}
    for task in suite:
        if task.kind == "scored":
            found.setdefault(task.category, []).append(task)
    return found


Job = tuple[Entry, Task, Any, tuple[Any, ...]]  # with what the official process is asked


def agree(handled: Ask, jobs: Sequence[Job], least: int, every: int) -> None:
    """Hold that each row is refused here, or judged as officially.

    One of `every` so many rows is drawn. Of all rows at least so many are judged.
    """
    jobs = Random(every).sample(jobs, len(jobs) // every)
    apart: Counter[str] = Counter()
    wrong = []
    answers = handled([job for *_, job in jobs])
    for (entry, task, result, _), theirs in zip(jobs, answers, strict=True):
        try:
            reported = entry.reader.read_trajectory(
                task, result_rows.ResultRow(id=task.id, result=result)
            )
        except MalformedResult:
            apart["refused"] += 1
            continue
        verdict = bfcl_scorer.score_episode(Episode(task, reported))["official"]
        mine = [
            verdict.outcome == "correct",
            verdict.labels[0].suite_cause if verdict.labels else "",
        ]
        if theirs[0] == "evaluated":
            apart["judged without evaluating"] += 1
            continue
        apart["judged"] += 1
        if theirs != mine:
            wrong.append((entry.name, task.id, result, theirs, mine))
    print(f"{len(jobs)} rows: {dict(apart)}")
    assert not wrong, f"{len(wrong)} differ, such as {wrong[:3]}"
    assert apart["judged"] >= 0.95 * least / every


slice_or_all = pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])


# --- laws -------------------------------------------------------------------------------


def test_the_list_is_read_as_the_official_code_has_it(handled: Ask) -> None:
    known = official_models.read_models(official_data.fetch_wheel())
    theirs = {
        name: (handler.removesuffix("Handler"), native, mangled)
        for name, handler, native, mangled in handled([("names",)])[0]
    }
    assert theirs == {
        name: (x.handler, x.is_native, x.underscores_for_dots) for name, x in known.items()
    }


def test_every_listed_model_has_a_way_or_is_refused_by_name() -> None:
    refused = set()
    for name, known in official_models.read_models(official_data.fetch_wheel()).items():
        try:
            official_handlers.handler_format(name, known)
        except UsageError as error:
            assert name in str(error) and known.handler in str(error)
            refused.add(known.handler)
    assert refused == UNKNOWN


@slice_or_all
def test_single_turn_rows_are_judged_as_their_handlers_judge_them(
    handled: Ask, models: list[Entry], tasks: dict[str, list[Task]], every: int
) -> None:
    jobs: list[Job] = []
    for at, entry in enumerate(models):
        for category in SINGLE:
            row = (7 * at) % len(tasks[category])
            task = tasks[category][row]
            calls: Calls = list(bfcl_controls.expected_calls(task)) or [("sum", {"a": 1})]
            spelled = [(name.replace(".", "_"), given) for name, given in calls]
            wrong = [(name, {**given, "unasked": 1}) for name, given in calls]
            for result in [*shapes(calls), *shapes(spelled), *shapes(wrong)]:
                job = ("one", entry.name, category, row, result)
                jobs.append((entry, task, result, job))
    agree(handled, jobs, 20_000, every)


@slice_or_all
def test_multi_turn_rows_are_judged_as_their_handlers_judge_them(
    handled: Ask, models: list[Entry], tasks: dict[str, list[Task]], every: int
) -> None:
    jobs: list[Job] = []
    for at, entry in enumerate(models):
        row = (11 * at) % 200
        task = tasks[SEVERAL][row]
        turns: list[Calls] = [
            [(call.name, json.loads(call.arguments)) for call in turn]
            for turn in multi_turn_tasks.expected_calls(task)
        ]
        for steps in zip(*map(shapes, turns), strict=True):
            result = [[step, WORDS] for step in steps]
            jobs.append((entry, task, result, ("several", entry.name, SEVERAL, row, result)))
    agree(handled, jobs, 1_500, every)


@slice_or_all
def test_agentic_rows_are_judged_as_their_handlers_judge_them(
    handled: Ask, models: list[Entry], tasks: dict[str, list[Task]], every: int
) -> None:
    jobs: list[Job] = []
    for at, entry in enumerate(models):
        task = tasks[FOUND][at % len(tasks[FOUND])]
        truth = task.data["truth"]
        calls: Calls = [("core_memory_add", {"key": "k", "value": truth[0]})]
        for last in (*shapes(calls), *shapes([]), truth[0], f"```json\n{truth[0]}"):
            for result in ([[last]], [[f"{truth[0]}.", last]], [[WORDS, last]]):
                jobs.append((entry, task, result, ("found", entry.name, result, truth)))
    agree(handled, jobs, 4_000, every)


REFUSED = {
    "would evaluate": "[f() for f in (print,)]",
    "values that JSON does not have": "[{'name': 'f', 'parameters': {'x': (1,)}}]",
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_would_be_evaluated_is_refused_with_the_reason(why: str) -> None:
    name = "meta-llama/Llama-3.1-8B-Instruct-FC"
    way = official_handlers.handler_format(
        name, official_models.read_models(official_data.fetch_wheel())[name]
    )
    with pytest.raises(MalformedResult, match=why):
        way.read_reply(REFUSED[why], False)
