"""The whitelist holds what the reference asks for and the user knows, and nothing else."""

from __future__ import annotations

import pytest

from toolmark.core.records import Task
from toolmark.official_bfcl import multi_turn_tasks, official_data
from toolmark.suites.mfcl_speech import answer_whitelist

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
    assert answer_whitelist.single_turn_whitelist(
        truth, "three days in New York, then in Lyon"
    ) == {
        "city": "New York",
        "days": 3,
        "city 2": "Lyon",
    }


def test_what_may_be_left_out_is_there_only_if_it_was_said() -> None:
    truth = [{"f": {"unit": ["", "km"], "base": ["", 10]}}]
    assert answer_whitelist.single_turn_whitelist(truth, "ten miles") == {"base": 10}


def test_nested_values_have_paths_and_lists_count_as_one() -> None:
    truth = [{"f": {"body": [{"mode": ["COOL"], "on": [True]}], "sides": [[3, 5]], "none": [[]]}}]
    assert answer_whitelist.single_turn_whitelist(truth, "") == {
        "body.mode": "COOL",
        "sides": "3, 5",
    }
    people = [{"f": {"people": [[{"name": ["Liam"]}, {"name": ["Zo\u00eb"]}]]}}]
    assert answer_whitelist.single_turn_whitelist(people, "") == {
        "people.1.name": "Liam",
        "people.2.name": "Zo\u00eb",
    }


def test_an_endless_nest_ends() -> None:
    deep: list[object] = ["x"]
    for _ in range(5000):
        deep = [{"a": deep}]
    assert answer_whitelist.single_turn_whitelist([{"f": {"a": deep}}], "") == {}


@pytest.mark.parametrize("category", SINGLE)
def test_every_published_truth_gives_tellable_values(category: str) -> None:
    tasks, _ = official_data.read_tasks(official_data.fetch_wheel(), (category,))
    filled = 0
    for task in tasks:
        found = answer_whitelist.single_turn_whitelist(task.data["truth"], written(task)[0])
        filled += bool(found)
        assert all(str(value).strip() for value in found.values())
        assert not any(isinstance(value, bool) for value in found.values())
    assert filled > 0.9 * len(tasks)


def test_a_turn_of_many_tells_only_what_the_user_has_said_so_far() -> None:
    tasks, _ = multi_turn_tasks.read_tasks(
        official_data.fetch_wheel(), ("multi_turn_base", "multi_turn_miss_param")
    )
    n_topics = 0
    for task in tasks:
        said = written(task)
        lists = answer_whitelist.turn_whitelists(task, said)
        assert len(lists) == len(task.turns)
        n_topics += sum(map(len, lists))
        if task.id == "multi_turn_base_0":
            assert lists[1] == {
                "folder": "temp", "file_name": "final_report.pdf", "pattern": "budget analysis",
            }  # fmt: skip
        empty = answer_whitelist.turn_whitelists(task, [""] * len(said))
        assert not any(empty)
    assert n_topics > 1000
