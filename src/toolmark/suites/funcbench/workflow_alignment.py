"""Tasks as MCP workflows: ideal schedule, workflow kind, and distance of a trial from the ideal.

The graph is the reference: every function is called as soon as its inputs are known, those of one
level at once. Arguments are integers that are equal or not, so matching is exact and needs no
encoder.
"""

from __future__ import annotations

from importlib import util
from typing import Any

from toolmark.core import json_codec, user_modules
from toolmark.core.errors import UsageError
from toolmark.core.records import Call, Task, Trajectory
from toolmark.environments.function_graph import GraphIndex, parse_arguments, read_graph
from toolmark.scoring import alignment

MCP_TRANSPORT = "mcp"
ALIGNMENT_MEASURES = {
    "recall": "recall",
    "precision": "precision",
    "order": "order_consistency_cov",
    "coherence": "step_coherence_cov",
    "purity": "merge_purity_cov",
}


def ideal_schedule(task: Task) -> list[dict[str, Any]]:
    """Return the ideal schedule: `[{"step": 1, "calls": [{"name", "arguments"}, ...]}, ...]`."""
    return _schedule(GraphIndex(read_graph(task)))


def workflow_axes(task: Task) -> dict[str, str]:
    """Return the axes of a task over MCP: hops, one level or several; threads, parallel calls."""
    steps = ideal_schedule(task)
    return {
        "transport": MCP_TRANSPORT,
        "hops": "multi" if len(steps) > 1 else "single",
        "threads": "multi" if any(len(step["calls"]) > 1 for step in steps) else "single",
    }


def alignment_parts(task: Task, trajectory: Trajectory) -> dict[str, float]:
    """Return the alignment of the executed calls with the ideal schedule, by the fair rule."""
    truth = GraphIndex(read_graph(task))
    steps: list[dict[str, Any]] = []
    failed: list[bool] = []
    for step in trajectory.steps:
        # there are fewer results where the limit cut the step short
        executed = list(zip(step.calls, step.results, strict=False))
        failed += [result.is_error for _, result in executed]
        if executed:
            steps.append({"calls": [_executed_call(truth, call) for call, _ in executed]})
    found = alignment.align_trajectory(
        _schedule(truth),
        steps,
        alignment.exact_similarity(task.tools),
        rule="fair",
        failed=[at for at, bad in enumerate(failed) if bad],
    )
    return {f"align_{name}": float(found[key]) for name, key in ALIGNMENT_MEASURES.items()}


def require_mcp() -> None:
    """Raise UsageError where the `mcp` package is not installed."""
    if util.find_spec("mcp") is None:
        raise UsageError(f"MCP is an extra: {user_modules.install_command('m3')}")


def _schedule(truth: GraphIndex) -> list[dict[str, Any]]:
    return [
        {
            "step": number,
            "calls": [{"name": x.node.function, "arguments": x.inputs} for x in calls],
        }
        for number, calls in enumerate(truth.schedule(), 1)
    ]


def _executed_call(truth: GraphIndex, call: Call) -> dict[str, Any]:
    """Return a call in the shape of the schedule; 412.0 is 412, as in the environment."""
    node = truth.nodes.get(call.name)
    inputs = parse_arguments(node, call.arguments) if node is not None else None
    return {
        "name": call.name,
        "arguments": inputs if isinstance(inputs, dict) else _raw_arguments(call),
    }


def _raw_arguments(call: Call) -> Any:
    try:
        return json_codec.parse_json(call.arguments)
    except json_codec.InvalidJson:
        return call.arguments
