"""Test instruments that see the task: one that is always right, one that errs on purpose."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from random import Random
from typing import Any

from toolmark import seeds
from toolmark.errors import UsageError, near
from toolmark.models.baselines.script import Script
from toolmark.types import Call, Model, Task
from toolmark.worlds.dag import HIGH, LOW, Node, Truth, graph

ORDERS = ("level", "call")
FAULTS = ("not_found", "wrong_inputs", "ill_typed", "not_known", "incorrect")


def oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Solve the task in exactly `core` calls.

    Option `order`: `level` (default) makes all calls that are possible at once, `call` one at a
    time.
    """
    known = _options("oracle", options, {"order": "level"})
    if known["order"] not in ORDERS:
        raise UsageError(f"oracle: no order {known['order']!r}{near(known['order'], ORDERS)}")
    truth = Truth(graph(task))
    levels = truth.levels()
    if known["order"] == "call":
        levels = [[node] for level in levels for node in level]
    steps = [tuple(_right(truth, node) for node in level) for level in levels]
    return Script(
        "test/oracle", [_numbered(at, step) for at, step in enumerate(steps)], _say(truth)
    )


def faulty(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Solve the task and make bad calls of one class beside the right ones, using none of them.

    Option `class` is one of not_found, wrong_inputs, ill_typed, not_known and incorrect; `rate`
    (default 0.2), from 0 to below 1, is the share of bad calls among those made while the class
    is possible. Run it with the call limit lifted (knob `cap`).
    """
    known = _options("faulty", options, {"class": FAULTS[0], "rate": "0.2"})
    fault, rate = known["class"], _rate(known["rate"])
    if fault not in FAULTS:
        raise UsageError(f"faulty: no class {fault!r}{near(fault, FAULTS)}")
    rng = seeds.of(task.seed, task.id, repeat, f"faulty {fault} {known['rate']}")
    truth = Truth(graph(task))
    bad = _Bad(truth, fault, rng)
    steps: list[tuple[Call, ...]] = []
    for level in truth.levels():
        calls: list[Call] = []
        for node in level:
            while bad.possible() and rng.random() < rate:
                calls.append(bad.call(node))
            calls.append(_right(truth, node))
        bad.see(calls)
        steps.append(_numbered(len(steps), calls))
    return Script("test/faulty", steps, _say(truth))


class _Bad:
    """Makes calls of one class; knows what earlier steps have established."""

    def __init__(self, truth: Truth, fault: str, rng: Random) -> None:
        self.truth = truth
        self.fault = fault
        self.rng = rng
        self.known = set(truth.graph.given)
        self.early = list(self._early())

    def possible(self) -> bool:
        """Say whether a call of the class can be made now."""
        return self.fault != "not_known" or bool(self.early)

    def see(self, calls: list[Call]) -> None:
        """End a step: what its calls returned is known from now on."""
        self.known.update(call.name for call in calls)
        self.early = list(self._early())

    def call(self, node: Node) -> Call:
        """Make a bad call in the place of a right one."""
        inputs: dict[str, Any] = _inputs(self.truth, node)
        first = next(iter(inputs))
        match self.fault:
            case "not_found":
                return _call(f"{node.function}_{seeds.between(self.rng, LOW, HIGH)}", inputs)
            case "wrong_inputs" if seeds.below(self.rng, 2):
                return _call(node.function, {**inputs, "unit": 1})
            case "wrong_inputs":
                del inputs[first]
                return _call(node.function, inputs)
            case "ill_typed":
                return _call(node.function, {**inputs, first: str(inputs[first])})
            case "incorrect":
                other = LOW + (inputs[first] - LOW + 1 + seeds.below(self.rng, HIGH - LOW)) % (
                    HIGH - LOW + 1
                )
                return _call(node.function, {**inputs, first: other})
            case _:
                node = seeds.choice(self.rng, self.early)
                guess = partial(seeds.between, self.rng, LOW, HIGH)
                return _call(node.function, {x.parameter: guess() for x in node.inputs})

    def _early(self) -> Iterator[Node]:
        """Go through the functions that have an input which is not established yet."""
        for node in self.truth.graph.nodes:
            if any(x.source not in self.known for x in node.inputs):
                yield node


def _right(truth: Truth, node: Node) -> Call:
    return _call(node.function, _inputs(truth, node))


def _inputs(truth: Truth, node: Node) -> dict[str, int]:
    return {x.parameter: truth.values[x.source] for x in node.inputs}


def _call(name: str, inputs: Mapping[str, Any]) -> Call:
    return Call(name=name, arguments=json.dumps(inputs))


def _numbered(step: int, calls: Iterable[Call]) -> tuple[Call, ...]:
    return tuple(
        Call(name=call.name, arguments=call.arguments, id=f"call_{step}_{at}")
        for at, call in enumerate(calls)
    )


def _say(truth: Truth) -> str:
    target = truth.graph.target
    node = next(node for node in truth.graph.nodes if node.output.name == target)
    return f"{target} = {node.output.value}"


def _options(name: str, options: Mapping[str, str], known: dict[str, str]) -> dict[str, str]:
    for option in options:
        if option not in known:
            raise UsageError(f"{name}: no option {option!r}{near(option, known)}")
    return {**known, **options}


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate < 1:
        raise UsageError(f"faulty: rate must be from 0 to below 1; got {text!r}")
    return rate
