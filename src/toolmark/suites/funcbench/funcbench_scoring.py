"""Judge an episode: every call against the graph, the answer against the target's value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from toolmark.core.records import Verdict
from toolmark.environments.function_graph import GraphIndex, read_graph
from toolmark.scoring.episode import Episode
from toolmark.suites.funcbench import answer_parser, workflow_alignment
from toolmark.suites.funcbench.argument_origins import ORIGINS
from toolmark.suites.funcbench.call_classes import JudgedCall, classify_calls
from toolmark.suites.funcbench.trial_causes import (
    Divergence,
    Trial,
    failure_labels,
    find_divergences,
    name_recovery,
)

GRADING_RULES = ("official",)


def score_episode(episode: Episode) -> Mapping[str, Verdict]:
    """Judge one episode."""
    task, trajectory = episode.task, episode.trajectory
    truth = GraphIndex(read_graph(task))
    calls = list(classify_calls(truth, trajectory))
    target = next(x for x in truth.graph.nodes if x.output.name == truth.graph.target)
    stated_value = ""
    if trajectory.ending in ("answered", "length"):
        stated_value = answer_parser.parse_answer(trajectory.answer, truth.graph.target)
    exact = [x for x in calls if x.computes_output and x.node is target]
    trial = Trial(
        task=task,
        trajectory=trajectory,
        calls=calls,
        stated_value=stated_value,
        is_derived=bool(exact),
    )
    divergences = find_divergences(calls)
    parts = _count_parts(truth, trial, divergences) | {
        "derived": float(trial.is_derived),
        "derived_from_known": float(any(x.call_class == "correct" for x in exact)),
    }
    if task.axes.get("transport") == workflow_alignment.MCP_TRANSPORT:
        parts |= workflow_alignment.alignment_parts(task, trajectory)
    traits: dict[str, str] = {"ending": trial.ending, "recovery": name_recovery(divergences)}
    if trial.ending == "answer" and stated_value == str(target.output.value):
        return {"official": Verdict(outcome="correct", value=1.0, parts=parts, traits=traits)}
    return {
        "official": Verdict(
            outcome="incorrect",
            value=0.0,
            parts=parts,
            labels=failure_labels(trial, divergences),
            traits=traits,
        )
    }


def _count_parts(
    truth: GraphIndex, trial: Trial, divergences: Sequence[Divergence]
) -> dict[str, float]:
    """Return the counts that the tables add up."""
    calls = trial.calls
    found = [x.call_class for x in calls]
    right = [x for x in calls if x.call_class == "correct"]
    core = sum(x.is_core for x in right)
    counts = {
        "calls": len(calls),
        "steps_with_calls": sum(bool(step.calls) for step in trial.trajectory.steps),
        "levels": len(truth.schedule()),
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
        "divergences": len(divergences),
        "repaired": sum(each.is_repaired for each in divergences),
        **_count_origins(calls),
    }
    if any(node.stands_for for node in truth.graph.nodes):
        counts["wrong_branch"] = found.count("wrong_branch")
    return {name: float(count) for name, count in counts.items()}


def _count_origins(calls: Sequence[JudgedCall]) -> dict[str, int]:
    """Count the wrong arguments by where their values came from."""
    counts = Counter(argument.origin for judged in calls for argument in judged.wrong_arguments)
    return {f"from_{origin}": counts[origin] for origin in ORIGINS}
