"""Laws of names, schemas and descriptions, and the bytes of tasks on every Python."""

from __future__ import annotations

import hashlib
import re
from itertools import islice
from typing import Any

import jsonschema_rs
import pytest
from msgspec.structs import replace

import toolmark as tm
from toolmark.core import json_codec
from toolmark.core.records import Task
from toolmark.environments.function_graph import read_graph
from toolmark.suites.funcbench import task_generation
from toolmark.suites.funcbench.graph_shape import GraphSize
from toolmark.suites.funcbench.task_generation import Variant

SIZES = [
    GraphSize(core=2, depth=1),
    GraphSize(core=10, depth=5, connected=10),
    GraphSize(core=20, depth=10, connected=20, disconnected=20),
    GraphSize(core=12, depth=4, disconnected=9, root_inputs=2, known_distractor_inputs=False),
    GraphSize(core=30, depth=3, connected=5, disconnected=5, types=3),
]


def make(parameters: GraphSize, number: int = 0, seed: int = 0) -> Task:
    return next(task_generation.make_tasks(parameters, number, (Variant(),), seed))


def text(task: Task) -> str:
    return "\n".join(message.text for message in task.turns[0].messages)


@pytest.fixture(params=range(len(SIZES)), ids=lambda at: f"size{at}")
def tasks(request: pytest.FixtureRequest) -> list[Task]:
    return [make(SIZES[request.param], number) for number in range(40)]


def test_the_target_is_named_in_exactly_one_description(tasks: list[Task]) -> None:
    for task in tasks:
        target = read_graph(task).target
        assert sum(target in tool.description for tool in task.tools) == 1
        assert f"`{target}`" in text(task)


def test_names_are_random_letters_and_never_used_twice(tasks: list[Task]) -> None:
    for task in tasks:
        found = read_graph(task)
        functions = [node.function for node in found.nodes]
        variables = [node.output.name for node in found.nodes]
        inputs = [x for node in found.nodes for x in node.inputs]
        words = variables + [x.parameter for x in inputs]
        assert all(re.fullmatch("func_[a-z]{3,}", name) for name in functions)
        assert all(re.fullmatch("[a-z]{3,}", name) for name in words)
        assert len(set(functions)) == len(functions)
        assert len(set(words)) == len(words)


def test_a_subtype_belongs_to_one_variable_and_types_are_shared(tasks: list[Task]) -> None:
    for task in tasks:
        found = read_graph(task)
        producers = {node.function: node.output for node in found.nodes}
        variables = {node.function: (node.output.type, node.output.subtype) for node in found.nodes}
        for node in found.nodes:
            for x in node.inputs:
                tag = variables.setdefault(x.source, (x.type, x.subtype))
                assert tag == (x.type, x.subtype)
                assert x.source not in producers or x.parameter != producers[x.source].name
        subtypes = [subtype for _, subtype in variables.values()]
        types = {kind for kind, _ in variables.values()}
        assert len(set(subtypes)) == len(variables)
        assert not types & set(subtypes)


def test_types_number_a_quarter_of_the_variables_or_as_asked() -> None:
    for parameters in SIZES:
        found = read_graph(make(parameters))
        tags = {(x.type, x.source) for node in found.nodes for x in node.inputs}
        tags |= {(node.output.type, node.function) for node in found.nodes}
        assert len({kind for kind, _ in tags}) == (parameters.types or -(-len(tags) // 4))


def test_values_have_three_digits_and_differ(tasks: list[Task]) -> None:
    for task in tasks:
        found = read_graph(task)
        values = [node.output.value for node in found.nodes] + list(found.known_values.values())
        assert all(100 <= value <= 999 for value in values)
        assert len(set(values)) == len(values)


def test_more_variables_than_values_is_no_obstacle() -> None:
    found = read_graph(make(GraphSize(core=900, depth=10, disconnected=200)))
    assert {100 <= node.output.value <= 999 for node in found.nodes} == {True}


def test_names_grow_with_their_number() -> None:
    found = read_graph(make(GraphSize(core=1200, depth=10)))
    assert {len(node.function) for node in found.nodes} == {len("func_abcd")}


def test_a_schema_takes_exactly_the_inputs_as_integers(tasks: list[Task]) -> None:
    for task in tasks[:10]:
        nodes = {node.function: node for node in read_graph(task).nodes}
        assert {tool.name for tool in task.tools} == set(nodes)
        for tool in task.tools:
            node = nodes[tool.name]
            inputs: dict[str, Any] = {x.parameter: 500 for x in node.inputs}
            first = next(iter(inputs))
            valid = jsonschema_rs.validator_for(tool.parameters).is_valid
            assert valid(inputs)
            assert not valid({**inputs, "other": 1})
            assert not valid({**inputs, first: "500"})
            assert not valid({name: 1 for name in inputs if name != first})
            tags = [(x.parameter, x.type, x.subtype) for x in node.inputs]
            output = (node.output.name, node.output.type, node.output.subtype)
            said = re.findall(r"`(\w+)` \(type: (\w+), subtype: (\w+)\)", tool.description)
            assert said == [output, *tags]
            assert tool.extra_fields == {"strict": True}


def test_both_wordings_ask_the_same_item() -> None:
    ways = (Variant(), Variant(wording="guided"))
    plain, guided = task_generation.make_tasks(SIZES[1], 3, ways, 5)
    assert (plain.id, guided.id) == (f"{plain.item}+wording=plain", f"{plain.item}+wording=guided")
    assert plain.data == guided.data
    assert [tool.parameters for tool in plain.tools] == [tool.parameters for tool in guided.tools]
    assert not any(tool.extra_fields for tool in guided.tools)


def test_a_plain_task_does_not_say_how_functions_are_linked() -> None:
    task = make(SIZES[1])
    (message,) = task.turns[0].messages
    assert message.role == "user"
    said = " ".join([text(task), *(tool.description for tool in task.tools)]).lower()
    words = set(re.findall("[a-z]+", said))
    assert not words & {"pass", "same", "link", "linked", "match", "matching", "wrong", "true"}


def test_tools_are_not_in_the_order_of_the_graph() -> None:
    task = make(GraphSize(core=20, depth=10))
    order = [node.function for node in read_graph(task).nodes]
    assert [tool.name for tool in task.tools] != order


def test_the_question_gives_exactly_the_known_values(tasks: list[Task]) -> None:
    for task in tasks:
        found = read_graph(task)
        reported = dict(re.findall(r"^([a-z]+) = ([0-9]+)$", text(task), re.MULTILINE))
        assert {name: int(value) for name, value in reported.items()} == found.known_values
        for node in found.nodes:
            assert node.output.name == found.target or node.output.name not in text(task)


def test_an_item_asked_in_several_ways_is_one_graph() -> None:
    ways = (Variant(), Variant(effort="low"), Variant(effort="low", protocol="restate"))
    plain, low, restate = task_generation.make_tasks(SIZES[1], 3, ways, 5)
    assert plain.id == plain.item == "funcbench-c10-d5-k10-m0-g3"
    assert restate.id == "funcbench-c10-d5-k10-m0-g3+effort=low+protocol=restate"
    assert plain.item == low.item == restate.item
    assert plain.data == low.data == restate.data
    assert plain.turns == low.turns == restate.turns
    assert low.sampling.reasoning_effort == "low"
    assert plain.sampling.reasoning_effort is None
    assert restate.axes == low.axes | {"protocol": "restate"}


def test_items_differ_in_their_random_streams() -> None:
    one, other = make(SIZES[1], 0), make(SIZES[1], 1)
    assert {tool.name for tool in one.tools} != {tool.name for tool in other.tools}


GOLDEN: dict[str, tuple[dict[str, Any], int]] = {
    "plain": ({"core": 10, "depth": 5, "connected": 10, "graphs": 20, "seed": 7}, 20),
    "main": ({"preset": "main", "graphs": 1, "seed": 0}, 230),
    "core40": ({"preset": "core40", "seed": 1}, 20),
    "restate5": ({"preset": "restate5", "seed": 2}, 20),
    "effort": ({"preset": "effort", "seed": 3}, 20),
    "narrow": (
        {"core": 12, "depth": 4, "disconnected": 9, "max_inputs": 3, "root_inputs": 2, "types": 5,
         "known_distractor_inputs": False, "cap": "none", "graphs": 5, "seed": 4},
        5,
    ),
    "large": ({"core": 1500, "depth": 9, "connected": 40, "disconnected": 300, "graphs": 1,
               "seed": 5}, 1),
}  # fmt: skip
HASHES = {
    "plain": "c519cb2627b35980eaf0bda8f21deab433bf3eec2a58763b5d3bb0ff379f758f",
    "main": "2445102d36d3fff1fdc5853f2c3beb72144e3fe9bb116ae9ec0c3abe2e46dd25",
    "core40": "2c0aacf72c847204c346d45c54d28917ab4b6023db12d2c88808cc9f39cebe03",
    "restate5": "46beaac465deb96c4c180c9fece5ce8c03e2531e2c913e1add5b0a0db81e07c1",
    "effort": "2f9e9b703715912c80c4440c77ddf2d6c9f99f9a9402ad96b1c85861fd2b11d7",
    "narrow": "6e7c0845d96749eeb8d632f7d80fea67ee2d1ea3ac2516418f419b37ecac9413",
    "large": "6bd2c7be4fec4c14a52a868d3e946bf388b49e9e092f08b5971b75cf024b4e3a",
}
GUIDED_HASHES = {
    "plain": "970b7f40190caa6bfb6deba39b08c828c7eae3a0922dd399760ccf6c9fc90575",
    "main": "97c6efb0bc95939b7fa3ae1416e547c7596508008259f2921d2fe32a1c921387",
    "core40": "e3d7ae85bb4126cc4b74e90d7e1043834154d905d955bc385ff7c994321d822d",
    "restate5": "34400b0e7415a82fa3656c57746854fc6bd71d13de9bcde6d248a8b2e41c82cc",
    "effort": "c1cb2df4c717ff326b64f0f515b4b82badf410ed59d75272ca9c41b6c22a67cf",
    "narrow": "f94dad28cb17944b9bf5e552c883ba9ef21bee2e9dae55137e3947f6cd3b2329",
    "large": "7ff3e722f7d30a4915f9a4ab64635a69bc439978d6682caec604e43ee39d8e26",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_tasks_are_the_same_bytes_on_every_machine(name: str) -> None:
    parameters, count = GOLDEN[name]
    digest = hashlib.sha256()
    for task in islice(tm.load("funcbench", **parameters), count):
        digest.update(json_codec.encode_record(task) + b"\n")
    assert digest.hexdigest() == HASHES[name]


@pytest.mark.parametrize("name", GOLDEN)
def test_guided_tasks_are_those_from_before_there_was_a_plain_wording(name: str) -> None:
    parameters, count = GOLDEN[name]
    digest = hashlib.sha256()
    for task in islice(tm.load("funcbench", **parameters, wording="guided"), count):
        axes = {axis: level for axis, level in task.axes.items() if axis != "wording"}
        digest.update(json_codec.encode_record(replace(task, axes=axes)) + b"\n")
    assert digest.hexdigest() == GUIDED_HASHES[name]
