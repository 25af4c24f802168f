"""Judge an episode: every call against the graph, the answer against the target's value.

Classes of calls (arXiv 2509.26553, section 3.4): the first predicate that fails names the class.
Calls of one step see only the results of earlier steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Call, Cause, Label, Task, Trajectory, Verdict
from toolmark.environments.function_graph import (
    ArgumentFault,
    GraphIndex,
    Node,
    parse_arguments,
    read_graph,
)
from toolmark.scoring.episode import Episode
from toolmark.suites.funcbench import answer_parser, workflow_alignment

GRADING_RULES = ("official",)
CallClass: TypeAlias = Literal["not_found", "wrong_inputs", "not_known", "incorrect", "correct"]
CLASS_LABELS: dict[CallClass, str] = {
    "not_found": "1 function not found",
    "wrong_inputs": "2 wrong inputs",
    "not_known": "3 value not yet known",
    "incorrect": "4 incorrect value",
}
_CAUSES: dict[str, Cause] = {
    "not_found": "unknown_tool",
    "not_known": "value_not_known",
    "incorrect": "wrong_value",
    "unreadable": "format",
    "missing": "missing_argument",
    "unexpected": "unexpected_argument",
    "ill_typed": "wrong_type",
}
_MAX_SHOWN_CHARS = 120


class JudgedCall(Struct, frozen=True, kw_only=True):
    """One executed call and its class.

    `number` counts calls and `step` replies, from 1. `fault_kind` is the fault's kind for wrong
    inputs. `reason` says what was wrong. `has_true_inputs`: the inputs are the true ones, known or
    guessed. `has_unknown_values`: some value was still unknown, so class 3 was possible.
    `is_repeat`: the same function was called with the same inputs before.
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


def score_episode(episode: Episode) -> Mapping[str, Verdict]:
    """Judge one episode."""
    task, trajectory = episode.task, episode.trajectory
    truth = GraphIndex(read_graph(task))
    calls = list(classify_calls(truth, trajectory))
    target = next(x for x in truth.graph.nodes if x.output.name == truth.graph.target)
    stated_value = ""
    if trajectory.ending in ("answered", "length"):
        stated_value = answer_parser.parse_answer(trajectory.answer, truth.graph.target)
    exact = [x for x in calls if x.has_true_inputs and x.node is target]
    derived = bool(exact)
    parts = _count_parts(truth, trajectory, calls) | {
        "derived": float(derived),
        "derived_from_known": float(any(x.call_class == "correct" for x in exact)),
    }
    if task.axes.get("transport") == workflow_alignment.MCP_TRANSPORT:
        parts |= workflow_alignment.alignment_parts(task, trajectory)
    if stated_value == str(target.output.value) and not _exceeds_call_limit(
        task, trajectory, calls
    ):
        return {"official": Verdict(outcome="correct", value=1.0, parts=parts)}
    primary = _primary_label(task, trajectory, calls, stated_value, derived=derived)
    labels = (primary, *_secondary_labels(calls, primary.suite_cause))
    return {"official": Verdict(outcome="incorrect", value=0.0, parts=parts, labels=labels)}


def classify_calls(truth: GraphIndex, trajectory: Trajectory) -> Iterator[JudgedCall]:
    """Return the class of every executed call, in order."""
    known = set(truth.graph.known_values)
    unknown = {x.source for node in truth.graph.nodes for x in node.inputs} - known
    earlier_calls: set[tuple[str, tuple[tuple[str, int], ...]]] = set()
    number = 0
    for at, step in enumerate(trajectory.steps, 1):
        called: set[str] = set()
        # there are fewer results where the limit cut the step short
        for call in step.calls[: len(step.results)]:
            number += 1
            node = truth.nodes.get(call.name)
            inputs = parse_arguments(node, call.arguments) if node else None
            found, sub, why = _classify_call(truth, node, inputs, known)
            exact = again = False
            if node and isinstance(inputs, dict):
                exact = truth.has_true_inputs(node, inputs)
                key = (node.function, tuple(inputs.items()))
                again = key in earlier_calls
                earlier_calls.add(key)
                called.add(node.function)
            yield JudgedCall(
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
            )
        known |= called
        unknown -= called


def _classify_call(
    truth: GraphIndex,
    node: Node | None,
    inputs: dict[str, int] | ArgumentFault | None,
    known: set[str],
) -> tuple[CallClass, str, str]:
    if node is None or inputs is None:
        return "not_found", "", "no such function"
    if isinstance(inputs, ArgumentFault):
        return "wrong_inputs", inputs.kind, inputs.text
    early = [x.parameter for x in node.inputs if x.source not in known]
    if early:
        return "not_known", "", f"not known yet: {', '.join(early)}"
    wrong = [
        f"{x.parameter} should be {truth.values[x.source]}"
        for x in node.inputs
        if inputs[x.parameter] != truth.values[x.source]
    ]
    if wrong:
        return "incorrect", "", ", ".join(wrong)
    return "correct", "", ""


def _count_parts(
    truth: GraphIndex, trajectory: Trajectory, calls: list[JudgedCall]
) -> dict[str, float]:
    """Return the counts that the tables add up."""
    found = [x.call_class for x in calls]
    right = [x for x in calls if x.call_class == "correct"]
    core = sum(x.node is not None and x.node.kind == "core" for x in right)
    counts = {
        "calls": len(calls),
        "steps_with_calls": sum(bool(step.calls) for step in trajectory.steps),
        "levels": len(truth.levels()),
        "errors": len(calls) - len(right),
        "not_found": found.count("not_found"),
        "wrong_inputs": found.count("wrong_inputs"),
        "ill_typed": sum(x.fault_kind == "ill_typed" for x in calls),
        "not_known": found.count("not_known"),
        "incorrect": found.count("incorrect"),
        "correct_core": core,
        "correct_irrelevant": len(right) - core,
        "redundant": sum(x.is_repeat for x in calls),
        "calls_with_unknowns": sum(x.has_unknown_values for x in calls),
    }
    return {name: float(count) for name, count in counts.items()}


def _exceeds_call_limit(task: Task, trajectory: Trajectory, calls: list[JudgedCall]) -> bool:
    max_calls = task.limits.calls
    return trajectory.ending == "calls" or (max_calls is not None and len(calls) > max_calls)


def _primary_label(
    task: Task, trajectory: Trajectory, calls: list[JudgedCall], stated_value: str, *, derived: bool
) -> Label:
    """Return why an episode failed: how it ended, else the first bad call, else the answer."""
    if _exceeds_call_limit(task, trajectory, calls):
        return _make_primary_label(
            "over_limit", "call limit", f"no answer within {task.limits.calls} calls"
        )
    match trajectory.ending:
        case "steps":
            return _make_primary_label(
                "over_limit", "step limit", f"{len(trajectory.steps)} replies"
            )
        case "refused":
            return _make_primary_label("refused", "refused", f"reply {len(trajectory.steps)}")
        case "malformed":
            return _make_primary_label(
                "format", "malformed reply", f"reply {len(trajectory.steps)}"
            )
        case "over_long":
            return _make_primary_label(
                "over_long", "context full", f"reply {len(trajectory.steps)}"
            )
    if not stated_value:
        cut = trajectory.ending == "length"
        return _make_primary_label(
            "no_answer", "cut short" if cut else "no answer", _shown_text(trajectory.answer)
        )
    if derived:
        return _make_primary_label(
            "wrong_answer", "target computed, other value stated", f"said {stated_value}"
        )
    bad = next((x for x in calls if x.call_class != "correct"), None)
    if bad is not None:
        return _call_label(bad, primary=True)
    return _make_primary_label("missing_call", "stopped before the target", f"said {stated_value}")


def _make_primary_label(cause: Cause, suite_cause: str, evidence: str) -> Label:
    return Label(cause=cause, suite_cause=suite_cause, evidence=evidence, primary=True)


def _secondary_labels(calls: list[JudgedCall], excluded: str) -> Iterator[Label]:
    """Return a label for the first bad call of each class."""
    labelled = {"", excluded}
    for bad in calls:
        if class_label(bad) not in labelled:
            labelled.add(class_label(bad))
            yield _call_label(bad)


def _call_label(bad: JudgedCall, *, primary: bool = False) -> Label:
    cause = _CAUSES[bad.fault_kind or bad.call_class]
    shown = _shown_text(f"{bad.call.name}({bad.call.arguments})")
    evidence = f"step {bad.step}, call {bad.number}: {shown}: {bad.reason}"
    return Label(cause=cause, suite_cause=class_label(bad), evidence=evidence, primary=primary)


def class_label(judged: JudgedCall) -> str:
    """Return the paper's name of the call's class; "" for a correct call."""
    if judged.call_class == "correct":
        return ""
    native = CLASS_LABELS[judged.call_class]
    return f"{native}: {judged.fault_kind.replace('_', '-')}" if judged.fault_kind else native


def _shown_text(text: str) -> str:
    return escape_surrogates(
        text if len(text) <= _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + "..."
    )
