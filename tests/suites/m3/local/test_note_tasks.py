"""Laws of the family `notes` alone; test_families.py holds those of all families."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from toolmark.suites.m3.local import workspace_state
from toolmark.suites.m3.local.families import note_tasks
from toolmark.suites.m3.local.server_configuration import GRAPH_FILE
from toolmark.suites.m3.local.task_item import TaskItem

SEEDS = range(12)


def graph(item: TaskItem) -> list[dict[str, Any]]:
    return [json.loads(line) for line in item.files[GRAPH_FILE].splitlines()]


def lines(item: TaskItem) -> list[dict[str, Any]]:
    """Return the graph as it must be, observations as plain lists."""
    return [
        {**one, "observations": one["observations"]["unordered"]}
        for one in item.expected_state[GRAPH_FILE]["json"]["unordered"]
    ]


def holding(item: TaskItem, text: str) -> list[str]:
    """Return who the server finds for a text: it looks for it inside every text."""
    return [one["name"] for one in graph(item) if text.casefold() in json.dumps(one).casefold()]


def queries(item: TaskItem) -> list[str]:
    return [given["query"] for step in item.steps for _, given in step if "query" in given]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_looked_for_is_found_in_one_place(seed: int) -> None:
    for template in note_tasks.TEMPLATES:
        item = template(random.Random(seed))
        (query,) = queries(item)
        (found,) = holding(item, query)
        assert found in item.answer_parts


@pytest.mark.parametrize("seed", SEEDS)
def test_a_change_of_a_customer_leaves_the_others_alone(seed: int) -> None:
    item = note_tasks.change_item(random.Random(seed))
    before, after = graph(item), lines(item)
    pairs = zip(before, after, strict=True)
    ((old, new),) = [pair for pair in pairs if pair[0] != pair[1]]
    assert old["name"] == new["name"] == item.answer_parts[0]
    gone, come = (set(one["observations"]) for one in (old, new))
    assert [text[:7] for text in (*(gone - come), *(come - gone))] == ["phone: ", "phone: "]


@pytest.mark.parametrize("seed", SEEDS)
def test_where_the_new_number_stands_is_left_open_but_not_what_else_is_there(seed: int) -> None:
    item = note_tasks.change_item(random.Random(seed))
    wanted = {GRAPH_FILE: item.expected_state[GRAPH_FILE]}
    reported, name = lines(item), item.answer_parts[0]
    (place,) = (at for at, one in enumerate(reported) if one["name"] == name)
    number, plan, phone = reported[place]["observations"]

    def wrong(*observations: str, start: int = 0) -> list[str]:
        changed = [*reported[:place], {**reported[place], "observations": [*observations]}]
        found = [*changed, *reported[place + 1 :]]
        return workspace_state.find_differences(
            wanted, {GRAPH_FILE: {"json": [*found[start:], *found[:start]]}}
        )

    assert wrong(number, plan, phone) == wrong(number, phone, plan) == []
    assert wrong(phone, number, plan, start=2) == []
    assert wrong(number, plan)
    assert wrong(number, plan, phone, phone)
    assert wrong(number, plan, "phone: 0300 1", phone)
    assert wrong(number, number, phone)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_letter_has_no_gap_left(seed: int) -> None:
    item = note_tasks.change_item(random.Random(seed))
    (letter,) = [
        collected["text"]["contains"][0]
        for collected in item.expected_state.values()
        if "text" in collected
    ]
    assert item.answer_parts[0] in letter
    assert "NAME" not in letter and "PHONE" not in letter


@pytest.mark.parametrize("seed", SEEDS)
def test_no_two_people_have_one_file(seed: int) -> None:
    item = note_tasks.watch_item(random.Random(seed))
    assert len([path for path in item.files if path.startswith("people/")]) == 6


@pytest.mark.parametrize("seed", SEEDS)
def test_calls_that_change_the_graph_are_never_in_one_step(seed: int) -> None:
    for template in note_tasks.TEMPLATES:
        for step in template(random.Random(seed)).steps:
            names = [name for name, _ in step if name.startswith("memory/")]
            assert len([name for name in names if name != "memory/search_nodes"]) <= 1
            assert len(names) <= 1
