"""The whitelist holds what the reference asks for and the user knows, and nothing else."""

from __future__ import annotations

import pytest

from toolmark.suites.bfcl import data, multi_turn
from toolmark.suites.mfcl import whitelist
from toolmark.types import Task

SINGLE = (
    "simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple",
    "live_parallel", "live_parallel_multiple",
)  # fmt: skip


def written(task: Task) -> list[str]:
    return ["\n".join(m.text for m in t.messages if m.role == "user") for t in task.turns]


def test_values_are_keyed_by_parameter() -> None:
    truth = [
        {"book": {"city": ["NYC", "New York"], "days": [3], "fast": [True], "unit": ["km", ""]}},
        {"book": {"city": ["Lyon"], "days": [3]}},
    ]
    assert whitelist.of(truth, "three days in New York, then in Lyon") == {
        "city": "New York", "days": 3, "city 2": "Lyon",
    }  # fmt: skip


def test_what_may_be_left_out_is_there_only_if_it_was_said() -> None:
    truth = [{"f": {"unit": ["", "km"], "base": ["", 10]}}]
    assert whitelist.of(truth, "ten miles") == {"base": 10}


def test_nested_values_have_paths_and_lists_are_told_as_one() -> None:
    truth = [{"f": {"body": [{"mode": ["COOL"], "on": [True]}], "sides": [[3, 5]], "none": [[]]}}]
    assert whitelist.of(truth, "") == {"body.mode": "COOL", "sides": "3, 5"}
    people = [{"f": {"people": [[{"name": ["Liam"]}, {"name": ["Zo\u00eb"]}]]}}]
    assert whitelist.of(people, "") == {"people.1.name": "Liam", "people.2.name": "Zo\u00eb"}


def test_an_endless_nest_ends() -> None:
    deep: list[object] = ["x"]
    for _ in range(5000):
        deep = [{"a": deep}]
    assert whitelist.of([{"f": {"a": deep}}], "") == {}


@pytest.mark.parametrize("category", SINGLE)
def test_every_published_truth_gives_tellable_values(category: str) -> None:
    tasks, _ = data.read(data.fetch(), (category,))
    filled = 0
    for task in tasks:
        found = whitelist.of(task.reference["truth"], written(task)[0])
        filled += bool(found)
        assert all(str(value).strip() for value in found.values())
        assert not any(isinstance(value, bool) for value in found.values())
    assert filled > 0.9 * len(tasks)


def test_a_turn_of_many_tells_only_what_the_user_has_said_so_far() -> None:
    tasks, _ = multi_turn.read(data.fetch(), ("multi_turn_base", "multi_turn_miss_param"))
    n_topics = 0
    for task in tasks:
        said = written(task)
        lists = whitelist.turns(task, said)
        assert len(lists) == len(task.turns)
        n_topics += sum(map(len, lists))
        if task.id == "multi_turn_base_0":
            assert lists[1] == {
                "folder": "temp", "file_name": "final_report.pdf", "pattern": "budget analysis",
            }  # fmt: skip
        empty = whitelist.turns(task, [""] * len(said))
        assert not any(empty)
    assert n_topics > 1000
