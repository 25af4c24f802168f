"""Tasks as MCP workflows: the ideal schedule, what kind of workflow it is, how near a trial came.

The graph is the reference: every function as soon as its inputs are known, those of one level at
once. Arguments are integers that are equal or not, so matching is exact and needs no encoder.
"""

from __future__ import annotations

from importlib import util
from typing import Any

from toolmark import codec, plugin
from toolmark.errors import UsageError
from toolmark.score import align
from toolmark.types import Call, Task, Trajectory
from toolmark.worlds.dag import Node, Truth, graph, read

OVER = "mcp"
MEASURES = {
    "recall": "recall",
    "precision": "precision",
    "order": "order_consistency_cov",
    "coherence": "step_coherence_cov",
    "purity": "merge_purity_cov",
}


def levels(task: Task) -> list[dict[str, Any]]:
    """Return the ideal schedule: `[{"step": 1, "calls": [{"name", "arguments"}, ...]}, ...]`."""
    return _levels(Truth(graph(task)))


def axes(task: Task) -> dict[str, str]:
    """Return the axes of a task over MCP: hops, one level or several; threads, calls at once."""
    steps = levels(task)
    return {
        "over": OVER,
        "hops": "multi" if len(steps) > 1 else "single",
        "threads": "multi" if any(len(step["calls"]) > 1 for step in steps) else "single",
    }


def parts(task: Task, trajectory: Trajectory) -> dict[str, float]:
    """Return the alignment of the executed calls with the ideal schedule, in the fair reading."""
    truth = Truth(graph(task))
    steps: list[dict[str, Any]] = []
    failed: list[bool] = []
    for step in trajectory.steps:
        # the results are fewer where the limit cut the step short
        executed = list(zip(step.calls, step.results, strict=False))
        failed += [result.is_error for _, result in executed]
        if executed:
            steps.append({"calls": [_made(truth, call) for call, _ in executed]})
    found = align.trajectory(
        _levels(truth),
        steps,
        align.exact(task.tools),
        reading="fair",
        failed=[at for at, bad in enumerate(failed) if bad],
    )
    return {f"align_{name}": float(found[key]) for name, key in MEASURES.items()}


def require() -> None:
    """Raise UsageError where the protocol is not installed."""
    if util.find_spec("mcp") is None:
        raise UsageError(f"MCP is an extra: {plugin.install('m3')}")


def _levels(truth: Truth) -> list[dict[str, Any]]:
    return [
        {"step": number, "calls": [_right(truth, node) for node in level]}
        for number, level in enumerate(truth.levels(), 1)
    ]


def _right(truth: Truth, node: Node) -> dict[str, Any]:
    inputs = {x.parameter: truth.values[x.source] for x in node.inputs}
    return {"name": node.function, "arguments": inputs}


def _made(truth: Truth, call: Call) -> dict[str, Any]:
    """Return a call in the shape of the schedule; 412.0 is 412 there, as it is to the world."""
    node = truth.nodes.get(call.name)
    inputs = read(node, call.arguments) if node is not None else None
    return {"name": call.name, "arguments": inputs if isinstance(inputs, dict) else _raw(call)}


def _raw(call: Call) -> Any:
    try:
        return codec.loads(call.arguments)
    except codec.BadJson:
        return call.arguments
