"""The laws of every family of m3-local, tried on the real servers."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Result, Task, Text
from toolmark.environments.mcp import server_config, server_packages
from toolmark.environments.mcp.mcp_environment import McpServersFactory
from toolmark.suites.m3 import m3_controls, published_tasks
from toolmark.suites.m3.local import m3_local_suite, server_configuration, workspace_state
from toolmark.suites.m3.local.families import FAMILIES
from toolmark.suites.m3.local.task_item import TaskItem, Template, template_name

pytestmark = pytest.mark.servers

CASES = [
    pytest.param(family, template, id=f"{family}-{template_name(template)}")
    for family, templates in FAMILIES.items()
    for template in templates
]
PLAYED = [  # one of each family at once; the others take longer
    pytest.param(family, template, id=f"{family}-{template_name(template)}",
                 marks=[pytest.mark.long] if place else [])
    for family, templates in FAMILIES.items()
    for place, template in enumerate(templates)
]  # fmt: skip
CONFIG = server_config.parse_config(server_configuration.SERVER_CONFIG, "m3-local")
PINS = server_packages.read_pinned_environments()


@dataclass(frozen=True)
class Played:
    """An episode: the state before, what the calls of each step came to, the state after."""

    before: Mapping[str, Any]
    results: Sequence[Sequence[Result]]
    after: Mapping[str, Any]


def made(family: str, template: Template, seed: int, folder: Path) -> Task:
    """Make a task as the suite does; skip where the machine lacks what a server needs."""
    item = template(random.Random(seed))
    task = m3_local_suite.make_task(item, family, 0, seed, "exact", MediaStore(folder / "media"))
    task.data["servers"] = published_tasks.server_names(
        task.data["steps"]
    )  # others cost their start
    for name in task.data["servers"]:
        if absent := server_packages.missing_system_packages(PINS[name]):
            pytest.skip(absent)
    return task


def site(folder: Path) -> McpServersFactory:
    return McpServersFactory(
        CONFIG,
        MediaStore(folder / "media"),
        prepare=m3_local_suite.prepare_workspace,
        state=lambda task, workspace: workspace_state.take_snapshot(workspace),
    )


async def play(
    task: Task, collected: McpServersFactory, without: tuple[int, int] | None = None
) -> Played:
    """Follow the reference step by step, but for one call, named by its step and place."""
    async with collected.open_environment(task, {}) as world:
        before = await world.final_state()
        results = [
            await asyncio.gather(
                *(world.call(call) for n, call in enumerate(calls) if (at, n) != without)
            )
            for at, calls in enumerate(m3_controls.reference_calls(task))
        ]
        return Played(before, results, await world.final_state())


def differences(task: Task, found: Mapping[str, Any]) -> list[str]:
    return workspace_state.find_differences(task.data["expected_state"], found)


# --- with the servers -------------------------------------------------------------------


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("family", "template"), PLAYED)
def test_a_reference_works_twice_from_a_clean_start_and_not_without_one_of_its_calls(
    family: str, template: Template, tmp_path: Path
) -> None:
    task = made(family, template, 1, tmp_path)

    async def tried() -> tuple[Played, Played, list[Call]]:
        async with site(tmp_path) as collected:
            one, two = await asyncio.gather(play(task, collected), play(task, collected))
            silent = [place for place, telling in reported(task, one.results) if not telling]
            # each costs its servers' start: one of every second template
            chosen = random.Random(template_name(template))
            places = chosen.sample(silent, min(chosen.randrange(2), len(silent)))
            parts = [await play(task, collected, place) for place in places]
        idle = zip(places, parts, strict=True)
        steps = m3_controls.reference_calls(task)
        spared = [steps[at][n] for (at, n), part in idle if not differences(task, part.after)]
        return one, two, spared

    one, two, spared = asyncio.run(tried())
    assert faults(task, one) == []
    assert differences(task, one.before)  # who does nothing has not done it
    assert one == two
    assert spared == []


def faults(task: Task, played: Played) -> list[str]:
    """Return what calls went wrong, and what is not as it should be at the end."""
    wrong = [said(result) for step in played.results for result in step if failed(result)]
    return wrong + differences(task, played.after)


def failed(result: Result) -> bool:
    """Say whether a call went wrong; powerpoint tells errors in ordinary results."""
    return result.is_error or '"error":' in said(result)


def said(result: Result) -> str:
    return "\n".join(part.text for part in result.parts if isinstance(part, Text))


# --- who needs whom ---------------------------------------------------------------------


def reported(
    task: Task, results: Sequence[Sequence[Result]]
) -> Iterator[tuple[tuple[int, int], bool]]:
    """Say for each call whether it told what a later step or the answer is made of.

    News is what neither the question, nor the call itself, nor a step before it has said.
    """
    steps = m3_controls.reference_calls(task)
    known = facts([task.turns[0].messages[0].text])
    for at, calls in enumerate(steps):
        later = [call.arguments for step in steps[at + 1 :] for call in step]
        wanted = facts([*(leaves(text) for text in later), *task.data["answers"]])
        heard = [facts([said(result)]) for result in results[at]]
        for n, call in enumerate(calls):
            news = heard[n] - known - facts([leaves(call.arguments)])
            yield (at, n), any(follows(fact, wanted) for fact in news)
        known = known.union(*heard)


def leaves(arguments: str) -> str:
    """Return the values in a call's arguments, without their names."""

    def walk(value: Any) -> Iterator[str]:
        match value:
            case dict():
                for collected in value.values():
                    yield from walk(collected)
            case list():
                for collected in value:
                    yield from walk(collected)
            case _:
                yield str(value)

    return "\n".join(walk(json.loads(arguments)))


def facts(texts: Iterable[str]) -> frozenset[str]:
    """Return the numbers and words in texts."""
    found = re.findall(r"\d+\.\d+|\d+|[^\W\d_]{3,}", " ".join(texts).casefold())
    return frozenset(found)


def follows(fact: str, wanted: frozenset[str]) -> bool:
    """Say whether a fact is used: as it is, rounded, or, of a number, as the one after it."""
    if fact in wanted or not fact[0].isdigit():
        return fact in wanted
    value = Decimal(fact)
    numbers = [Decimal(text) for text in wanted if text[0].isdigit()]
    if value in numbers or (value == int(value) and value + 1 in numbers):
        return True
    return any(abs(value - one) <= half(one) for one in numbers if "." in str(one))


def half(value: Decimal) -> Decimal:
    """Return half of the last place of a number."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return Decimal(5).scaleb(exponent - 1)


# --- as they are written ----------------------------------------------------------------


@pytest.mark.parametrize(("family", "template"), CASES)
def test_a_task_takes_several_steps_with_several_tools(family: str, template: Template) -> None:
    for item in items(template):
        assert item.template == template_name(template)
        assert len(item.steps) >= 2
        assert len({name for step in item.steps for name, _ in step}) >= 2
        assert item.expected_state


@pytest.mark.parametrize(("family", "template"), CASES)
def test_a_question_names_no_tool_and_tells_no_answer(family: str, template: Template) -> None:
    for item in items(template):
        tools = {name.partition("/")[2] for step in item.steps for name, _ in step}
        assert not [name for name in tools if name in item.question]
        assert not [text for text in item.answer_parts if text in item.question.split()]


@pytest.mark.parametrize(("family", "template"), CASES)
def test_equal_seeds_make_equal_tasks_and_others_make_others(
    family: str, template: Template
) -> None:
    one, same, *others = (template(random.Random(seed)) for seed in (1, 1, 2, 3))
    assert one == same
    assert all(other.picture != one.picture and other.steps != one.steps for other in others)


@pytest.mark.parametrize("family", FAMILIES)
def test_half_of_a_family_calls_at_once(family: str) -> None:
    threads = [
        all(any(len(step) > 1 for step in item.steps) for item in items(template))
        for template in FAMILIES[family]
    ]
    assert 2 * sum(threads) >= len(threads) >= 3


def test_there_are_enough_families() -> None:
    assert len(FAMILIES) >= 8
    assert sum(map(len, FAMILIES.values())) * 3 > 60


def items(template: Template) -> list[TaskItem]:
    return [template(random.Random(seed)) for seed in range(4)]
