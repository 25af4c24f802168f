"""How functions answer: exact inputs, other inputs, ill-formed ones."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from toolmark.core.errors import DataError
from toolmark.core.records import Call, Result, Task
from toolmark.environments.class_environments import ClassEnvironments
from toolmark.environments.function_graph import (
    FunctionGraphEnvironment,
    GraphIndex,
    read_graph,
)

NODES: list[dict[str, Any]] = [
    {
        "function": "func_top",
        "kind": "core",
        "inputs": [
            {"parameter": "pa", "type": "t", "subtype": "s1", "source": "func_low"},
            {"parameter": "pb", "type": "u", "subtype": "s2", "source": "func_mid"},
        ],
        "output": {"name": "goal", "type": "t", "subtype": "s3", "value": 412},
    },
    {
        "function": "func_low",
        "kind": "core",
        "inputs": [{"parameter": "one", "type": "t", "subtype": "s4", "source": "one"}],
        "output": {"name": "low", "type": "t", "subtype": "s1", "value": 500},
    },
    {
        "function": "func_mid",
        "kind": "core",
        "inputs": [{"parameter": "pc", "type": "t", "subtype": "s1", "source": "func_low"}],
        "output": {"name": "mid", "type": "u", "subtype": "s2", "value": 600},
    },
]
TASK = Task(
    id="t",
    item="t",
    suite="funcbench",
    turns=(),
    data={"graph": {"target": "goal", "nodes": NODES, "known_values": {"one": 111}}},
    seed=3,
)


def ask(*calls: tuple[str, str], task: Task = TASK) -> list[Result]:
    async def every() -> list[Result]:
        async with ClassEnvironments(FunctionGraphEnvironment).open_environment(task, {}) as world:
            return [await world.call(Call(name=name, arguments=text)) for name, text in calls]

    return asyncio.run(every())


def values(*calls: tuple[str, str], task: Task = TASK) -> list[int]:
    results = ask(*calls, task=task)
    assert not any(result.is_error for result in results)
    return [next(iter(json.loads(result.text).values())) for result in results]


def test_exact_inputs_give_the_true_output() -> None:
    (result,) = ask(("func_top", '{"pb": 600, "pa": 500}'))
    assert json.loads(result.text) == {"goal": 412}
    assert not result.is_error


def test_a_number_without_fraction_is_an_integer() -> None:
    assert values(("func_low", '{"one": 111.0}'), ("func_low", '{"one": 1.11e2}')) == [500, 500]


def test_other_inputs_give_the_same_wrong_value_each_time() -> None:
    first, again, swapped = values(
        ("func_top", '{"pa": 1, "pb": 2}'),
        ("func_top", '{"pb": 2.0, "pa": 1}'),
        ("func_top", '{"pa": 2, "pb": 1}'),
    )
    assert first == again
    assert first != swapped


def test_a_wrong_value_is_no_true_value_of_the_task() -> None:
    found = values(*(("func_top", json.dumps({"pa": n, "pb": 600})) for n in range(500)))
    assert not set(found) & {412, 500, 600, 111}
    assert all(100 <= value <= 999 for value in found)
    assert len(set(found)) > 300


def test_a_wrong_value_differs_from_the_true_one_even_when_all_are_taken() -> None:
    given = {"one": 111} | {f"x{value}": value for value in range(100, 1000)}
    full = {"graph": {"target": "goal", "nodes": NODES, "known_values": given}}
    task = msgspec.structs.replace(TASK, data=full)
    found = values(*(("func_low", json.dumps({"one": n})) for n in range(112, 3000)), task=task)
    assert 500 not in found
    assert set(found) <= set(range(100, 1000))
    assert {499, 501} <= set(found)


def test_wrong_values_depend_on_the_task() -> None:
    other = msgspec.structs.replace(TASK, item="other")
    call = ("func_low", '{"one": 1}')
    seeded = msgspec.structs.replace(TASK, seed=4)
    assert len({*values(call), *values(call, task=other), *values(call, task=seeded)}) == 3


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("func_nil", '{"one": 111}', "function not found: func_nil"),
        ("func_low", "{}", "missing: one"),
        ("func_low", '{"one": 111, "two": 2}', "no such parameter: two"),
        ("func_low", '{"one": "111"}', "not an integer: one"),
        ("func_low", '{"one": true}', "not an integer: one"),
        ("func_low", '{"one": 111.5}', "not an integer: one"),
        ("func_low", '{"one": null}', "not an integer: one"),
        ("func_low", '{"one": [111]}', "not an integer: one"),
        ("func_low", '{"one": 1e400}', "not an integer: one"),
        ("func_low", '{"one": NaN}', "not an integer: one"),
        ("func_low", "", "not readable JSON"),
        ("func_low", '{"one": 111', "not readable JSON"),
        ("func_low", "[111]", "must be one JSON object"),
        ("func_low", '{"one": ' + "9" * 5000 + "}", "not readable JSON"),
        ("func_low", '{"one": ' + "[" * 10_000 + "]" * 10_000 + "}", "nested deeper"),
        ("func_low", '{"one": 111, "\\ud800": 1}', "no such parameter"),
    ],
)
def test_ill_formed_calls_are_errors_that_name_the_problem(
    name: str, arguments: str, problem: str
) -> None:
    (result,) = ask((name, arguments))
    assert result.is_error
    assert problem in result.text
    assert len(result.text.encode()) < 400


def test_integers_of_any_size_are_only_wrong() -> None:
    (value,) = values(("func_low", '{"one": ' + "9" * 4000 + "}"))
    assert value != 500


def test_restate_repeats_everything_known_with_its_latest_value() -> None:
    task = msgspec.structs.replace(TASK, axes={"protocol": "restate"})
    wrong, _, _, last = ask(
        ("func_low", '{"one": 1}'),
        ("func_nil", "{}"),
        ("func_low", '{"one": 111}'),
        ("func_mid", '{"pc": 500}'),
        task=task,
    )
    assert wrong.text.splitlines()[0] == json.dumps({"low": 500}).replace(
        "500", str(json.loads(wrong.text.splitlines()[0])["low"])
    )
    assert "one = 111, low = " in wrong.text
    assert "low = 500" not in wrong.text
    assert last.text == '{"mid": 600}\nKnown so far: one = 111, low = 500, mid = 600'


def test_environments_share_nothing() -> None:
    task = msgspec.structs.replace(TASK, axes={"protocol": "restate"})
    ask(("func_low", '{"one": 1}'), task=task)
    (result,) = ask(("func_low", '{"one": 111}'), task=task)
    assert result.text.endswith("one = 111, low = 500")


def test_levels_are_the_earliest_rounds() -> None:
    rounds = [[node.function for node in level] for level in GraphIndex(read_graph(TASK)).levels()]
    assert rounds == [["func_low"], ["func_mid"], ["func_top"]]


def test_a_target_that_cannot_be_computed_has_no_levels() -> None:
    nothing = {"graph": {"target": "goal", "nodes": NODES, "known_values": {}}}
    assert GraphIndex(read_graph(msgspec.structs.replace(TASK, data=nothing))).levels() == []
    circle = json.loads(json.dumps(NODES))
    circle[1]["inputs"][0]["source"] = "func_top"
    looped = {"graph": {"target": "goal", "nodes": circle, "known_values": {"one": 111}}}
    assert GraphIndex(read_graph(msgspec.structs.replace(TASK, data=looped))).levels() == []


def test_a_graph_without_a_producer_of_the_target_is_a_data_error() -> None:
    lost = {"graph": {"target": "gaol", "nodes": NODES, "known_values": {}}}
    with pytest.raises(DataError, match="'gaol'"):
        read_graph(msgspec.structs.replace(TASK, data=lost))


@pytest.mark.parametrize("data", [None, {}, {"graph": {"target": "x"}}, {"graph": 3}])
def test_a_task_without_a_graph_is_a_data_error(data: Any) -> None:
    with pytest.raises(DataError, match="task t: data"):
        FunctionGraphEnvironment(msgspec.structs.replace(TASK, data=data))
