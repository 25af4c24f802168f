"""22 agents, each of which fails a task in one known way."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Task
from toolmark.environments.function_graph import GraphIndex, Node, read_graph

Calls = Sequence[Call]
Script = Generator[Calls, list[int], Reply]
NOTHING, ALL, SOME, NONE = (
    "nothing to repair", "all repaired", "some repaired", "none repaired"
)  # fmt: skip
_WRONG = 7  # no value of a task has one digit


class Plan:
    """What an agent that fails on purpose needs to know of its task."""

    def __init__(self, task: Task) -> None:
        self.truth = GraphIndex(read_graph(task))
        self.calls_allowed = task.limits.calls or 0
        self.order = [node for level in self.truth.levels() for node in level]
        self.target = self.order[-1]
        self.root = self.order[0]
        self.distractors = [x for x in self.truth.graph.nodes if x.kind == "disconnected"]

    @property
    def consumer(self) -> Node:
        """A function that takes what the root computes."""
        return next(x for x in self.order if self.root.function in (y.source for y in x.inputs))

    @property
    def wide(self) -> Node:
        """A function of several inputs."""
        return next(node for node in self.order if len(node.inputs) > 1)

    def inputs(self, node: Node, **changed: int) -> dict[str, Any]:
        """Return the true inputs; `changed` replaces those of these sources."""
        return {
            x.parameter: changed.get(x.source, self.truth.values[x.source]) for x in node.inputs
        }

    def call(self, node: Node, inputs: dict[str, Any] | None = None) -> Call:
        """Return a call, by default the right one."""
        return Call(
            name=node.function,
            arguments=json.dumps(self.inputs(node) if inputs is None else inputs),
        )

    def wrong_call(self, node: Node, value: int = _WRONG) -> Call:
        """Return a call whose first input has another value."""
        return self.call(node, self.inputs(node, **{node.inputs[0].source: value}))

    def before(self, node: Node) -> list[Node]:
        """Return what is computed before a function."""
        return self.order[: self.order.index(node)]

    def answer(self, value: int = 1) -> Reply:
        """Return a reply that states a value of the target."""
        return Reply(text=f"{self.truth.graph.target} = {value}")


class Misbehaving(Model):
    """Follows a script: it yields the calls of a step, and gets the values that they returned."""

    name = "misbehaving"

    def __init__(self, script: Script) -> None:
        self._script = script
        self._is_begun = False

    async def __call__(self, request: Request, /) -> Reply:
        """Make the next calls, or reply."""
        try:
            if not self._is_begun:
                self._is_begun = True
                calls = next(self._script)
            else:
                calls = self._script.send(_last_values(request))
        except StopIteration as stop:
            assert isinstance(stop.value, Reply)
            return stop.value
        numbered = (
            Call(name=call.name, arguments=call.arguments, id=f"call_{at}")
            for at, call in enumerate(calls)
        )
        return Reply(calls=tuple(numbered))


def _last_values(request: Request) -> list[int]:
    """Return the values of the last step's results; -1 for an error."""
    values: list[int] = []
    for message in reversed(request.messages):
        if message.role != "tool":
            break
        found = None if message.is_error else json.loads(message.text)
        values.insert(0, next(iter(found.values())) if found else -1)
    return values


def _one_bad_call(make: Callable[[Plan], Call]) -> Callable[[Plan], Script]:
    def script(plan: Plan) -> Script:
        yield [make(plan)]
        return plan.answer()

    return script


def _unknown_function(plan: Plan) -> Call:
    return Call(name=f"{plan.root.function}_x", arguments=json.dumps(plan.inputs(plan.root)))


def _ill_typed(plan: Plan) -> Call:
    return plan.call(plan.root, {name: str(x) for name, x in plan.inputs(plan.root).items()})


def _solve(plan: Plan) -> Script:
    for node in plan.order:
        yield [plan.call(node)]
    return Reply()


def _silent(plan: Plan) -> Script:
    yield from _solve(plan)
    return Reply(text="All calls are made.")


def _misread(plan: Plan) -> Script:
    yield from _solve(plan)
    return plan.answer()


def _stopped_early(plan: Plan) -> Script:
    yield [plan.call(plan.root)]
    return plan.answer()


def _refused(plan: Plan) -> Script:
    yield [plan.call(plan.root)]
    return Reply(stop="refused")


def _recovered_then_stopped(plan: Plan) -> Script:
    yield [plan.wrong_call(plan.root)]
    yield [plan.call(plan.root)]
    return plan.answer()


def _looping(plan: Plan) -> Script:
    while True:
        yield [plan.call(plan.root)]


def _wasting(plan: Plan) -> Script:
    yield [plan.call(plan.root)]
    number = 100
    while True:
        yield [plan.wrong_call(node, number) for node in plan.distractors]
        number += 1


def _gave_up(plan: Plan) -> Script:
    for node in plan.order[: len(plan.order) // 2]:
        yield [plan.call(node)]
    return Reply(text="This cannot be computed.")


def _transposed(plan: Plan) -> Script:
    for node in plan.before(plan.wide):
        yield [plan.call(node)]
    inputs = plan.inputs(plan.wide)
    turned = dict(
        zip(inputs, [*list(inputs.values())[1:], next(iter(inputs.values()))], strict=True)
    )
    (value,) = yield [plan.call(plan.wide, turned)]
    return plan.answer(value)


def _stale(plan: Plan) -> Script:
    (old,) = yield [plan.wrong_call(plan.root)]
    for node in plan.before(plan.consumer):
        yield [plan.call(node)]
    changed = plan.inputs(plan.consumer, **{plan.root.function: old})
    (value,) = yield [plan.call(plan.consumer, changed)]
    return plan.answer(value)


def _inherited(plan: Plan) -> Script:
    values: dict[str, int] = {}
    for node in plan.order:
        bad = plan.wrong_call(node) if node is plan.root else None
        (values[node.function],) = yield [bad or plan.call(node, plan.inputs(node, **values))]
    return plan.answer(values[plan.target.function])


def _not_computed_again(plan: Plan) -> Script:
    (old,) = yield [plan.wrong_call(plan.root)]
    for node in plan.before(plan.consumer)[1:]:
        yield [plan.call(node)]
    changed = plan.inputs(plan.consumer, **{plan.root.function: old})
    (value,) = yield [plan.call(plan.consumer, changed)]
    yield [plan.call(plan.root)]
    return plan.answer(value)


def _misplaced(plan: Plan) -> Call:
    own = plan.root.inputs[0].source
    other = next(x for name, x in plan.truth.graph.known_values.items() if name != own)
    return plan.wrong_call(plan.root, other)


def _other_variable(plan: Plan) -> Script:
    for node in plan.before(plan.consumer):
        yield [plan.call(node)]
    distractor = next(
        node for node in plan.distractors if node.inputs[0].source in plan.truth.graph.known_values
    )
    (other,) = yield [plan.call(distractor)]
    changed = plan.inputs(plan.consumer, **{plan.root.function: other})
    (value,) = yield [plan.call(plan.consumer, changed)]
    return plan.answer(value)


def _went_on(plan: Plan) -> Script:
    yield from _solve(plan)
    while True:
        yield [plan.call(plan.root)]


def _wrong_then_looping(plan: Plan) -> Script:
    while True:
        yield [plan.wrong_call(plan.root)]


class Behaviour(NamedTuple):
    """A way to fail, and the label, the ending and the recovery that it must get."""

    script: Callable[[Plan], Script]
    cause: str
    suite_cause: str
    ending: str = "answer"
    recovery: str = NONE


_IS_WRONG = "wrong_value", "4 incorrect value: "
BEHAVIOURS = {
    "unknown function": Behaviour(
        _one_bad_call(_unknown_function), "unknown_tool", "1 function not found"
    ),
    "missing argument": Behaviour(
        _one_bad_call(lambda plan: plan.call(plan.root, {})),
        "missing_argument", "2 wrong inputs: missing",
    ),
    "unexpected argument": Behaviour(
        _one_bad_call(lambda plan: plan.call(plan.root, {**plan.inputs(plan.root), "unit": 1})),
        "unexpected_argument", "2 wrong inputs: unexpected",
    ),
    "argument of another type": Behaviour(
        _one_bad_call(_ill_typed), "wrong_type", "2 wrong inputs: ill-typed"
    ),
    "unreadable arguments": Behaviour(
        _one_bad_call(lambda plan: Call(name=plan.root.function, arguments="{")),
        "format", "2 wrong inputs: unreadable",
    ),
    "invented values": Behaviour(
        _one_bad_call(lambda plan: plan.call(
            plan.target, dict.fromkeys(plan.inputs(plan.target), _WRONG)
        )),
        "value_not_known", "3 value not yet known: never seen",
    ),
    "stopped early": Behaviour(
        _stopped_early, "missing_call", "stopped before the target", recovery=NOTHING
    ),
    "no value stated": Behaviour(
        _silent, "no_answer", "target computed, no value stated", "no answer", NOTHING
    ),
    "other value stated": Behaviour(
        _misread, "wrong_answer", "target computed, other value stated", recovery=NOTHING
    ),
    "refused": Behaviour(_refused, "refused", "refused", "refused", NOTHING),
    "recovered, then stopped": Behaviour(
        _recovered_then_stopped, "missing_call", "stopped before the target", recovery=ALL
    ),
    "looping": Behaviour(
        _looping, "extra_call", "calls spent on repeats", "call limit", NOTHING
    ),
    "wasting calls on distractors": Behaviour(
        _wasting, "extra_call", "calls spent on irrelevant functions", "call limit", NOTHING
    ),
    "gave up half-way": Behaviour(
        _gave_up, "missing_call", "stopped before the target", "no answer", NOTHING
    ),
    "transposed values": Behaviour(_transposed, _IS_WRONG[0], _IS_WRONG[1] + "transposed"),
    "superseded value": Behaviour(
        _stale, _IS_WRONG[0], _IS_WRONG[1] + "superseded", recovery=SOME
    ),
    "inherited values": Behaviour(_inherited, _IS_WRONG[0], _IS_WRONG[1] + "never seen"),
    "not computed again": Behaviour(
        _not_computed_again, _IS_WRONG[0], _IS_WRONG[1] + "inherited", recovery=SOME
    ),
    "given value, misplaced": Behaviour(
        _one_bad_call(_misplaced), _IS_WRONG[0], _IS_WRONG[1] + "given, misplaced"
    ),
    "value of another variable": Behaviour(
        _other_variable, _IS_WRONG[0], _IS_WRONG[1] + "value of another variable"
    ),
    "went on after the target": Behaviour(
        _went_on, "extra_call", "went on after the target", "call limit", NOTHING
    ),
    "wrong, then looping": Behaviour(
        _wrong_then_looping, _IS_WRONG[0], _IS_WRONG[1] + "never seen", "call limit"
    ),
}  # fmt: skip
