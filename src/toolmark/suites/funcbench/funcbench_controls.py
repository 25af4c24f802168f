"""Controls that see the task: one is always right, one makes mistakes on purpose."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from random import Random
from typing import Any

from toolmark.core import seeds
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.model import Model
from toolmark.core.records import Call, Task
from toolmark.environments.function_graph import (
    MAX_VALUE,
    MIN_VALUE,
    GraphIndex,
    NeededCall,
    Node,
    read_graph,
)
from toolmark.models.scripted_model import ScriptedModel

CALL_ORDERS = ("level", "call")
FAULT_CLASSES = ("not_found", "wrong_inputs", "ill_typed", "not_known", "incorrect")


def make_oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that solves the task in exactly `core` calls.

    Option `order`: `level` (default) makes all possible calls at once, `call` one at a time.
    """
    known = _check_options("oracle", options, {"order": "level"})
    if known["order"] not in CALL_ORDERS:
        raise UsageError(
            f"oracle: no order {known['order']!r}{suggest_names(known['order'], CALL_ORDERS)}"
        )
    truth = GraphIndex(read_graph(task))
    rounds = truth.schedule()
    if known["order"] == "call":
        rounds = [[needed] for calls in rounds for needed in calls]
    steps = [tuple(_make_call(x.node.function, x.inputs) for x in calls) for calls in rounds]
    return ScriptedModel(
        "control/oracle",
        [_number_calls(at, step) for at, step in enumerate(steps)],
        _answer_text(truth),
    )


def make_faulty(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that solves the task, and adds bad calls of one class that it never uses.

    Option `class` is one of not_found, wrong_inputs, ill_typed, not_known and incorrect; `rate`
    (default 0.2), from 0 to below 1, is the share of bad calls among those made while the class is
    possible. Run it without the call limit (suite parameter `cap`).
    """
    known = _check_options("faulty", options, {"class": FAULT_CLASSES[0], "rate": "0.2"})
    fault, rate = known["class"], _parse_rate(known["rate"])
    if fault not in FAULT_CLASSES:
        raise UsageError(f"faulty: no class {fault!r}{suggest_names(fault, FAULT_CLASSES)}")
    rng = seeds.make_rng(task.seed, task.id, repeat, f"faulty {fault} {known['rate']}")
    truth = GraphIndex(read_graph(task))
    bad = _FaultMaker(truth, fault, rng)
    steps: list[tuple[Call, ...]] = []
    for needed_calls in truth.schedule():
        calls: list[Call] = []
        for needed in needed_calls:
            while bad.is_possible() and rng.random() < rate:
                calls.append(bad.make_call(needed))
            calls.append(_make_call(needed.node.function, needed.inputs))
        bad.end_step(calls, needed_calls)
        steps.append(_number_calls(len(steps), calls))
    return ScriptedModel("control/faulty", steps, _answer_text(truth))


class _FaultMaker:
    """Makes calls of one class; stores what earlier steps have established."""

    def __init__(self, truth: GraphIndex, fault: str, rng: Random) -> None:
        self.truth = truth
        self.fault = fault
        self.rng = rng
        self.known = set(truth.graph.known_values)
        self.not_ready = list(self._functions_not_ready())

    def is_possible(self) -> bool:
        """Return whether a call of the class can be made now."""
        return self.fault != "not_known" or bool(self.not_ready)

    def end_step(self, calls: list[Call], needed_calls: list[NeededCall]) -> None:
        """End a step: the results of its calls are known from now on."""
        unfinished = {x.node.function for x in needed_calls if not x.is_last}
        self.known.update(call.name for call in calls if call.name not in unfinished)
        self.not_ready = list(self._functions_not_ready())

    def make_call(self, needed: NeededCall) -> Call:
        """Return a bad call in the place of a right one."""
        node = needed.node
        inputs: dict[str, Any] = dict(needed.inputs)
        first = next(iter(inputs))
        match self.fault:
            case "not_found":
                return _make_call(
                    f"{node.function}_{seeds.draw_between(self.rng, MIN_VALUE, MAX_VALUE)}", inputs
                )
            case "wrong_inputs" if seeds.draw_below(self.rng, 2):
                return _make_call(node.function, {**inputs, "unit": 1})
            case "wrong_inputs":
                del inputs[first]
                return _make_call(node.function, inputs)
            case "ill_typed":
                return _make_call(node.function, {**inputs, first: str(inputs[first])})
            case "incorrect":
                other = MIN_VALUE + (
                    inputs[first]
                    - MIN_VALUE
                    + 1
                    + seeds.draw_below(self.rng, MAX_VALUE - MIN_VALUE)
                ) % (MAX_VALUE - MIN_VALUE + 1)
                return _make_call(node.function, {**inputs, first: other})
            case _:
                node = seeds.draw_one(self.rng, self.not_ready)
                guess = partial(seeds.draw_between, self.rng, MIN_VALUE, MAX_VALUE)
                return _make_call(node.function, {name: guess() for name in node.parameter_names})

    def _functions_not_ready(self) -> Iterator[Node]:
        """Yield the functions that have an input which is not established yet."""
        for node in self.truth.graph.nodes:
            if any(x.source not in self.known for x in node.inputs):
                yield node


def _make_call(name: str, inputs: Mapping[str, Any]) -> Call:
    return Call(name=name, arguments=json.dumps(inputs))


def _number_calls(step: int, calls: Iterable[Call]) -> tuple[Call, ...]:
    return tuple(
        Call(name=call.name, arguments=call.arguments, id=f"call_{step}_{at}")
        for at, call in enumerate(calls)
    )


def _answer_text(truth: GraphIndex) -> str:
    target = truth.graph.target
    node = next(node for node in truth.graph.nodes if node.output.name == target)
    return f"{target} = {node.output.value}"


def _check_options(name: str, options: Mapping[str, str], known: dict[str, str]) -> dict[str, str]:
    for option in options:
        if option not in known:
            raise UsageError(f"{name}: no option {option!r}{suggest_names(option, known)}")
    return {**known, **options}


def _parse_rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate < 1:
        raise UsageError(f"faulty: rate must be from 0 to below 1; got {text!r}")
    return rate
