"""Classify every executed call against the graph.

Classes of calls (arXiv 2509.26553, section 3.4): the first predicate that fails names the class.
Calls of one step see only the results of earlier steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from toolmark.core.json_codec import InvalidJson, parse_json
from toolmark.core.records import Call, Result, Trajectory
from toolmark.environments.function_graph import (
    ArgumentFault,
    GraphIndex,
    Node,
    parse_arguments,
)
from toolmark.suites.funcbench.argument_origins import (
    ORIGIN_LABELS,
    SeenValues,
    WrongArgument,
    main_origin,
)

CallClass: TypeAlias = Literal[
    "not_found", "wrong_inputs", "not_known", "incorrect", "wrong_branch", "correct"
]
CLASS_LABELS: dict[CallClass, str] = {
    "not_found": "1 function not found",
    "wrong_inputs": "2 wrong inputs",
    "not_known": "3 value not yet known",
    "incorrect": "4 incorrect value",
}
BRANCH_LABEL = "other branch than the result names"
"""The class of a right call of the wrong one of two functions, which the paper does not have."""


class JudgedCall(Struct, frozen=True, kw_only=True):
    """One executed call and its class.

    `number` counts calls and `step` replies, from 1. `fault_kind` is the fault's kind for wrong
    inputs. `reason` says what was wrong. `has_true_inputs`: the inputs are the true ones, known or
    guessed. `has_unknown_values`: some value was still unknown, so class 3 was possible.
    `is_repeat`: the same function was called with the same inputs before. `wrong_arguments` are
    those of a well-formed call that are not true, `returned` is the value of the variable that it
    returned, and `token` the next page. `computes_output`: it returned the true value.
    """

    step: int
    number: int
    call: Call
    call_class: CallClass
    node: Node | None = None
    fault_kind: str = ""
    reason: str = ""
    has_true_inputs: bool = False
    has_unknown_values: bool = False
    is_repeat: bool = False
    wrong_arguments: tuple[WrongArgument, ...] = ()
    returned: int | None = None
    token: int | None = None
    computes_output: bool = False

    @property
    def is_core(self) -> bool:
        """Whether the called function is needed, or is said to compute what is needed."""
        return self.node is not None and self.node.kind in ("core", "alternative")

    @property
    def variable(self) -> str:
        """The function whose variable was to be computed, or the name that was called."""
        return self.node.variable_function if self.node else self.call.name


def classify_calls(truth: GraphIndex, trajectory: Trajectory) -> Iterator[JudgedCall]:
    """Return the class of every executed call, in order."""
    known = set(truth.graph.known_values)
    unknown = {x.source for node in truth.graph.nodes for x in node.inputs} - known
    seen = SeenValues(truth)
    earlier_calls: set[tuple[str, tuple[tuple[str, int], ...]]] = set()
    number = 0
    for at, step in enumerate(trajectory.steps, 1):
        judged: list[JudgedCall] = []
        # there are fewer results where the limit cut the step short
        for call, result in zip(step.calls, step.results, strict=False):
            number += 1
            node = truth.nodes.get(call.name)
            inputs = parse_arguments(node, call.arguments) if node else None
            found, sub, why = _classify_call(truth, node, inputs, known, seen)
            exact = again = computes = False
            wrong: tuple[WrongArgument, ...] = ()
            if node and isinstance(inputs, dict):
                exact = truth.has_true_inputs(node, inputs)
                computes = truth.computes_output(node, inputs)
                key = (node.function, tuple(inputs.items()))
                again = key in earlier_calls
                earlier_calls.add(key)
                wrong = seen.find_wrong_arguments(node, inputs)
            judged.append(
                JudgedCall(
                    step=at,
                    number=number,
                    call=call,
                    call_class=found,
                    node=node,
                    fault_kind=sub,
                    reason=why,
                    has_true_inputs=exact,
                    has_unknown_values=bool(unknown),
                    is_repeat=again,
                    wrong_arguments=wrong,
                    returned=node.output.value
                    if node and computes
                    else _result_value(result, node.output.name if node else ""),
                    token=_result_value(result, node.cursor if node else ""),
                    computes_output=computes,
                )
            )
        yield from judged
        for each in judged:
            if each.node is None or each.call_class == "wrong_inputs":
                continue
            if each.token is not None:
                seen.add_token(each.node, each.token)
            if each.returned is not None:
                seen.add_returned(each.variable, each.returned)
            if each.returned is not None or not each.node.cursor:
                known.add(each.variable)
                unknown.discard(each.variable)


def _classify_call(
    truth: GraphIndex,
    node: Node | None,
    inputs: dict[str, int] | ArgumentFault | None,
    known: set[str],
    seen: SeenValues,
) -> tuple[CallClass, str, str]:
    if node is None or inputs is None:
        return "not_found", "", "no such function"
    if isinstance(inputs, ArgumentFault):
        return "wrong_inputs", inputs.kind, inputs.text
    early = [x.parameter for x in node.inputs if x.source not in known]
    if node.cursor and not seen.has_token(node, inputs[node.cursor]):
        early.append(node.cursor)
    if early:
        return "not_known", "", f"not known yet: {', '.join(early)}"
    wrong = [
        f"{x.parameter} should be {truth.values[x.source]}"
        for x in node.inputs
        if inputs[x.parameter] != truth.values[x.source]
    ]
    if node.find_page(inputs) is None:
        wrong.append(f"{node.cursor} should be a token that a right call returned")
    if wrong:
        return "incorrect", "", ", ".join(wrong)
    if node.stands_for:
        return "wrong_branch", "", f"a result names {node.stands_for}"
    return "correct", "", ""


def _result_value(result: Result, name: str) -> int | None:
    """Return a value that the model saw; the environment writes it as JSON on the first line."""
    if not name:
        return None
    try:
        found = parse_json(result.text.partition("\n")[0])
    except InvalidJson:
        return None
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, int) else None


def class_label(judged: JudgedCall) -> str:
    """Return the paper's name of the call's class; "" for a correct call."""
    if judged.call_class == "correct":
        return ""
    native = CLASS_LABELS.get(judged.call_class, BRANCH_LABEL)
    return f"{native}: {judged.fault_kind.replace('_', '-')}" if judged.fault_kind else native


def cause_label(judged: JudgedCall) -> str:
    """Return the class of a bad call with the origin of its wrong values; "" for a correct call."""
    origin = main_origin(judged.wrong_arguments)
    if judged.call_class not in ("not_known", "incorrect") or origin is None:
        return class_label(judged)
    return f"{class_label(judged)}: {ORIGIN_LABELS[origin]}"
