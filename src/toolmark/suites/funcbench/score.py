"""Judging an episode: every call against the graph, the answer against the target's value.

Classes of calls (arXiv 2509.26553, section 3.4): the first predicate that fails names the class.
Calls of one step see only the results of earlier steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from toolmark.codec import escape
from toolmark.suites.funcbench import answer, mcp
from toolmark.types import Call, Cause, Label, Task, Trajectory, Verdict
from toolmark.worlds.dag import Fault, Node, Truth, graph, read

READINGS = ("official",)
Class: TypeAlias = Literal["not_found", "wrong_inputs", "not_known", "incorrect", "correct"]
NATIVE: dict[Class, str] = {
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
_SHOWN = 120


class Judged(Struct, frozen=True, kw_only=True):
    """One executed call and its class.

    `number` counts calls and `step` replies, from 1; `sub` is the fault's kind for wrong inputs;
    `why` says what was wrong; `exact`: the inputs are the true ones, known or guessed; `open`:
    some value was still unknown, so class 3 was possible; `again`: the same function was called
    with the same inputs before.
    """

    step: int
    number: int
    call: Call
    found: Class
    node: Node | None = None
    sub: str = ""
    why: str = ""
    exact: bool = False
    open: bool = False
    again: bool = False


def score(task: Task, trajectory: Trajectory) -> Mapping[str, Verdict]:
    """Judge one episode."""
    truth = Truth(graph(task))
    calls = list(audit(truth, trajectory))
    target = next(x for x in truth.graph.nodes if x.output.name == truth.graph.target)
    said = ""
    if trajectory.ending in ("answered", "length"):
        said = answer.read(trajectory.answer, truth.graph.target)
    exact = [x for x in calls if x.exact and x.node is target]
    derived = bool(exact)
    parts = _parts(truth, trajectory, calls) | {
        "derived": float(derived),
        "derived_from_known": float(any(x.found == "correct" for x in exact)),
    }
    if task.axes.get("over") == mcp.OVER:
        parts |= mcp.parts(task, trajectory)
    if said == str(target.output.value) and not _over(task, trajectory, calls):
        return {"official": Verdict(outcome="correct", value=1.0, parts=parts)}
    primary = _primary(task, trajectory, calls, said, derived=derived)
    labels = (primary, *_others(calls, primary.native))
    return {"official": Verdict(outcome="incorrect", value=0.0, parts=parts, labels=labels)}


def audit(truth: Truth, trajectory: Trajectory) -> Iterator[Judged]:
    """Class every executed call, in order."""
    known = set(truth.graph.given)
    unknown = {x.source for node in truth.graph.nodes for x in node.inputs} - known
    seen: set[tuple[str, tuple[tuple[str, int], ...]]] = set()
    number = 0
    for at, step in enumerate(trajectory.steps, 1):
        called: set[str] = set()
        # the results are fewer where the limit cut the step short
        for call in step.calls[: len(step.results)]:
            number += 1
            node = truth.nodes.get(call.name)
            inputs = read(node, call.arguments) if node else None
            found, sub, why = _class(truth, node, inputs, known)
            exact = again = False
            if node and isinstance(inputs, dict):
                exact = truth.exact(node, inputs)
                key = (node.function, tuple(inputs.items()))
                again = key in seen
                seen.add(key)
                called.add(node.function)
            yield Judged(
                step=at,
                number=number,
                call=call,
                found=found,
                node=node,
                sub=sub,
                why=why,
                exact=exact,
                open=bool(unknown),
                again=again,
            )
        known |= called
        unknown -= called


def _class(
    truth: Truth, node: Node | None, inputs: dict[str, int] | Fault | None, known: set[str]
) -> tuple[Class, str, str]:
    if node is None or inputs is None:
        return "not_found", "", "no such function"
    if isinstance(inputs, Fault):
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


def _parts(truth: Truth, trajectory: Trajectory, calls: list[Judged]) -> dict[str, float]:
    """Count what the tables sum up."""
    found = [x.found for x in calls]
    right = [x for x in calls if x.found == "correct"]
    core = sum(x.node is not None and x.node.kind == "core" for x in right)
    counts = {
        "calls": len(calls),
        "steps": sum(bool(step.calls) for step in trajectory.steps),
        "levels": len(truth.levels()),
        "errors": len(calls) - len(right),
        "not_found": found.count("not_found"),
        "wrong_inputs": found.count("wrong_inputs"),
        "ill_typed": sum(x.sub == "ill_typed" for x in calls),
        "not_known": found.count("not_known"),
        "incorrect": found.count("incorrect"),
        "correct_core": core,
        "correct_irrelevant": len(right) - core,
        "redundant": sum(x.again for x in calls),
        "open": sum(x.open for x in calls),
    }
    return {name: float(count) for name, count in counts.items()}


def _over(task: Task, trajectory: Trajectory, calls: list[Judged]) -> bool:
    most = task.limits.calls
    return trajectory.ending == "calls" or (most is not None and len(calls) > most)


def _primary(
    task: Task, trajectory: Trajectory, calls: list[Judged], said: str, *, derived: bool
) -> Label:
    """Say why an episode failed: how it ended, else the first bad call, else the answer."""
    if _over(task, trajectory, calls):
        return _first("over_limit", "call limit", f"no answer within {task.limits.calls} calls")
    match trajectory.ending:
        case "steps":
            return _first("over_limit", "step limit", f"{len(trajectory.steps)} replies")
        case "refused":
            return _first("refused", "refused", f"reply {len(trajectory.steps)}")
        case "malformed":
            return _first("format", "malformed reply", f"reply {len(trajectory.steps)}")
        case "over_long":
            return _first("over_long", "context full", f"reply {len(trajectory.steps)}")
    if not said:
        cut = trajectory.ending == "length"
        return _first("no_answer", "cut short" if cut else "no answer", _quote(trajectory.answer))
    if derived:
        return _first("wrong_answer", "target computed, other value stated", f"said {said}")
    bad = next((x for x in calls if x.found != "correct"), None)
    if bad is not None:
        return _label(bad, primary=True)
    return _first("missing_call", "stopped before the target", f"said {said}")


def _first(cause: Cause, native: str, evidence: str) -> Label:
    return Label(cause=cause, native=native, evidence=evidence, primary=True)


def _others(calls: list[Judged], but: str) -> Iterator[Label]:
    """Label the first bad call of each class."""
    seen = {"", but}
    for bad in calls:
        if name(bad) not in seen:
            seen.add(name(bad))
            yield _label(bad)


def _label(bad: Judged, *, primary: bool = False) -> Label:
    cause = _CAUSES[bad.sub or bad.found]
    shown = _quote(f"{bad.call.name}({bad.call.arguments})")
    evidence = f"step {bad.step}, call {bad.number}: {shown}: {bad.why}"
    return Label(cause=cause, native=name(bad), evidence=evidence, primary=primary)


def name(judged: Judged) -> str:
    """Return the paper's name of the call's class; "" for a correct call."""
    if judged.found == "correct":
        return ""
    native = NATIVE[judged.found]
    return f"{native}: {judged.sub.replace('_', '-')}" if judged.sub else native


def _quote(text: str) -> str:
    return escape(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
