"""Twins: the same question with new values, which the oracle solves and the old answer does not."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache

import pytest

import toolmark as tm
from toolmark.core.records import Message, Reply, Step, Task, Text, Tool, Trajectory, Turn
from toolmark.official_bfcl.bfcl_controls import make_oracle
from toolmark.official_bfcl.bfcl_scoring import score_episode
from toolmark.suites.bfcl.twins.value_twins import CATEGORIES, IN_DOUBT, make_value_twin


@cache
def entries() -> tuple[Task, ...]:
    return tuple(tm.load("bfcl", category=list(CATEGORIES)))


@cache
def twins() -> tuple[tuple[Task, Task], ...]:
    found = ((task, make_value_twin(task, 0)) for task in entries())
    return tuple((task, twin) for task, twin in found if isinstance(twin, Task))


def oracle_reply(task: Task) -> Reply:
    reply: Reply = make_oracle(task, 0, {}).reply  # type: ignore[attr-defined]
    return reply


def judge(task: Task, reply: Reply) -> dict[str, str]:
    trajectory = Trajectory(task=task.id, steps=(Step(reply=reply, calls=reply.calls),))
    return {rule: each.outcome for rule, each in score_episode(task, trajectory).items()}


def question(task: Task) -> str:
    return "\n".join(message.text for message in task.turns[0].messages)


def shape_of(value: object) -> object:
    """Return a value with its texts and numbers replaced by their types; "" stays."""
    if isinstance(value, dict):
        return {name: shape_of(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape_of(each) for each in value]
    return value if value in ("", None) else type(value)


def test_the_oracle_solves_every_twin_by_every_rule() -> None:
    wrong = [
        twin.id
        for task, twin in twins()
        if {*judge(task, oracle_reply(task)).values()} == {"correct"}
        and {*judge(twin, oracle_reply(twin)).values()} != {"correct"}
    ]
    assert wrong == [] and len(twins()) > 450


def test_the_answer_to_an_entry_is_wrong_for_its_twin() -> None:
    right = [
        twin.id for task, twin in twins() if "correct" in judge(twin, oracle_reply(task)).values()
    ]
    assert right == []


def test_a_twin_differs_in_values_of_its_question_and_truth_alone() -> None:
    for task, twin in twins():
        assert (twin.id, twin.tools, twin.category) == (task.id, task.tools, task.category)
        assert question(twin) != question(task) and twin.data != task.data
        assert shape_of(twin.data) == shape_of(task.data), twin.id


def test_new_numbers_have_the_form_of_the_old_ones() -> None:
    number = re.compile(r"\d[\d,]*(?:\.\d+)?")
    for task, twin in twins():
        old, new = number.findall(question(task)), number.findall(question(twin))
        assert [re.sub(r"\d", "0", each) for each in old] == [
            re.sub(r"\d", "0", each) for each in new
        ], twin.id


def test_every_value_that_is_replaced_is_replaced_everywhere() -> None:
    """What a truth gains stands in its question, and what it loses is in neither."""
    for task, twin in twins():
        old, new = (
            {*re.findall(r"\d{3,}", json.dumps(each.data["truth"]))} for each in (task, twin)
        )
        for lost in old - new:
            assert not re.search(rf"(?<!\d){lost}(?!\d)", question(twin)), (twin.id, lost)


def test_equal_seeds_make_equal_twins_and_others_differ() -> None:
    again = {task.id: make_value_twin(task, 0) for task, _ in twins()[:60]}
    assert again == {task.id: twin for task, twin in twins()[:60]}
    others = [make_value_twin(task, 1) for task, _ in twins()[:60]]
    assert others != [*again.values()]


def test_the_share_of_entries_with_a_twin_by_category() -> None:
    counts, n = (
        Counter(task.category for task, _ in twins()),
        Counter(t.category for t in entries()),
    )
    shares = {name: counts[name] / n[name] for name in CATEGORIES}
    assert min(shares.values()) > 0.08, shares


# --- what is left alone -------------------------------------------------------------------


def make_entry(asked: str, truth: dict[str, object], described: str = "A value.") -> Task:
    properties = {name: {"type": "any", "description": described} for name in truth}
    doc = {
        "name": "do",
        "description": "Do it.",
        "parameters": {"type": "dict", "properties": properties, "required": [*truth]},
    }
    tool = Tool(name="do", parameters=doc["parameters"], source=doc)  # type: ignore[arg-type]
    turn = Turn(messages=(Message(role="user", parts=(Text(asked),)),))
    return Task(
        id="t", category="simple_python", turns=(turn,), tools=(tool,),
        data={"truth": [{"do": truth}]},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "truth"),
    [
        ("Heat 45 kg of iron", {"mass": [45]}),
        ("Pay $1,250 to the shop", {"amount": [1250.0, 1250]}),
        ("Write to John Doe", {"to": ["John Doe", "Mr. John Doe"]}),
        ("Weather in Boston, MA", {"city": ["Boston, MA"]}),
        ("Trains on 2023-05-14", {"date": ["2023-05-14", "05/14/2023"]}),
        ("Trains on May 14th, 2023", {"date": ["2023-05-14"]}),
        ("Show order AB4711", {"order_id": ["AB4711"]}),
    ],
)
def test_a_plain_value_is_replaced(asked: str, truth: dict[str, object]) -> None:
    twin = make_value_twin(make_entry(asked, truth), 0)
    assert isinstance(twin, Task)
    new = twin.data["truth"][0]["do"]
    assert all(len(new[name]) == len(options) for name, options in truth.items())  # type: ignore[arg-type]
    assert all(new[name] != options for name, options in truth.items())


@pytest.mark.parametrize("seed", range(20))
def test_a_radius_and_a_diameter_of_one_circle_stay_those_of_one_circle(seed: int) -> None:
    (task,) = (each for each in entries() if each.id == "parallel_multiple_2")
    twin = make_value_twin(task, seed)
    assert isinstance(twin, Task)
    radius, diameter = (
        next(iter(next(iter(call.values())).values()))[0] for call in twin.data["truth"]
    )
    assert diameter == 2 * radius != 10
    asked = "A circle with a radius of 6 m and one with a diameter of 25 m"
    apart = make_value_twin(make_entry(asked, {"r": [6], "d": [25]}), seed)
    assert isinstance(apart, Task)
    new = apart.data["truth"][0]["do"]
    assert new["r"] != [6] and new["d"] != [25]


@pytest.mark.parametrize(
    ("asked", "truth", "described"),
    [
        ("Heat two bars of 45 kg", {"mass": [90]}, "A value."),
        ("Heat 45 kg of 45 bars", {"mass": [45]}, "A value."),
        ("Heat 45 kg of iron", {"mass": [45]}, "A mass such as 45."),
        ("Heat 45 kg of iron", {"mass": [45]}, "A mass in the range of our oven."),
        ("Give 1 kg of iron", {"mass": [1]}, "A value."),
        ("Show an 8 inch pipe", {"size": [8]}, "A value."),
        ("Take Route 66 home", {"route": [66]}, "A value."),
        ("Lay 3 and 4 and 7 stones", {"a": [3], "b": [4], "c": [7]}, "A value."),
        ("Draw from 52 cards", {"total": [52]}, "A value."),
        ("Pay 45 or half", {"amount": [45]}, "A value."),
        ("Order 5 million nuts", {"n": [5000000]}, "A value."),
        ("The sequence 10, 20, 30", {"numbers": [[10, 20, 30]]}, "A value."),
        ("Weather in New York", {"city": ["New York", "NYC"]}, "A value."),
        ("The beach of Boston", {"city": ["Boston"]}, "A value."),
        ("Songs by James Brown", {"name": ["James Brown"]}, "A value."),
        ("Weather of Fresno in califronia", {"city": ["Fresno, CA"]}, "A value."),
        ("A bus to a Boston hotel", {"city": ["Boston, MA"]}, "A value."),
        ("Trains tomorrow; today is 2023-05-14", {"date": ["2023-05-15"]}, "A value."),
        ("Trains on 05/04/2023", {"date": ["2023-05-04"]}, "A value."),
        ("Who won the election of 2012", {"year": [2012]}, "A value."),
        ("Mail john@doe.org of John Doe", {"to": ["John Doe"]}, "A value."),
    ],
)
def test_a_value_in_doubt_is_left_alone(
    asked: str, truth: dict[str, object], described: str
) -> None:
    assert make_value_twin(make_entry(asked, truth, described), 0) == IN_DOUBT


@pytest.mark.parametrize("region", ["", " california", ", CA", ",ca", " CA", ", California"])
def test_a_town_moves_with_its_state(region: str) -> None:
    task = make_entry(f"Rent a flat in San Leandro{region} please", {"city": ["San Leandro, CA"]})
    twin = make_value_twin(task, 0)
    assert isinstance(twin, Task)
    (place,) = twin.data["truth"][0]["do"]["city"]
    town, _, state = place.partition(", ")
    assert state not in ("", "CA") and town in question(twin)
    assert not re.search(r"\bCA\b|california|leandro", question(twin), re.IGNORECASE)
    if region in (", CA", ",ca", " CA"):
        assert f"{town}, {state} please" in question(twin)


def test_an_optional_value_and_a_default_stay() -> None:
    truth: dict[str, object] = {"mass": [45], "unit": ["kg", ""], "n": [30, ""]}
    task = make_entry("Heat 45 kg of iron 30 times or for 30 hours", truth)
    twin = make_value_twin(task, 0)
    assert isinstance(twin, Task)
    new = twin.data["truth"][0]["do"]
    assert new["unit"] == ["kg", ""] and new["n"] == [30, ""] and new["mass"] != [45]
