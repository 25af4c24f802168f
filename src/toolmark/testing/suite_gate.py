"""The gate of a test: the score of a run with its interval, or its comparison with another run."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from toolmark import api
from toolmark.core.errors import UsageError
from toolmark.core.number_format import pluralize
from toolmark.reports.gates import (
    Gate,
    ScoreLimits,
    check_comparison,
    check_score_limits,
    parse_conditions,
)
from toolmark.runs.run_store import Run

# what the gates of the command line are called here
_SETTING_BY_FLAG = {
    "fail-under": "value_at_least", "fail-under-low": "at_least", "fail-if": "baseline, fail_if",
}  # fmt: skip


class GateResult(NamedTuple):
    """A gate of a test: whether it holds, and one line that says why or why not."""

    passed: bool
    summary: str


class GateSettings(NamedTuple):
    """What a test asks of a run; the settings are those of `toolmark.pytest_plugin.SuiteGate`."""

    at_least: float | None
    value_at_least: float | None
    baseline: Run | Path | None
    fail_if: str
    margin: float
    max_not_run: int


def check_gates(run: Run, settings: GateSettings) -> list[GateResult]:
    """Return the gates of a test with what became of each. Raises UsageError for none."""
    limits = {"at_least": settings.at_least, "value_at_least": settings.value_at_least}
    if settings.baseline is None and not any(limit is not None for limit in limits.values()):
        raise UsageError("toolmark_gate: give at_least, value_at_least or baseline")
    for name, share in limits.items():
        if share is not None and not 0 <= share <= 1:
            raise UsageError(f"toolmark_gate: {name} is a share from 0 to 1; got {share}")
    summary = run.summary()
    asked = ScoreLimits(value=settings.value_at_least, low=settings.at_least)
    gates = [*check_score_limits(asked, summary["score"])]
    if (baseline := settings.baseline) is not None:
        old = baseline if isinstance(baseline, Run) else api.open_run(baseline)
        conditions = parse_conditions(settings.fail_if)
        gates.append(check_comparison(api.compare(old, run), conditions, settings.margin))
    found = [_rename_gate(gate) for gate in gates]
    n_not_run, limit = summary["n_not_run"], settings.max_not_run
    if n_not_run > limit:
        counts = f"{n_not_run} of {pluralize(summary['n_planned'], 'episode')} not run"
        step = f"toolmark show {run.path} --outcome 'not run'"
        found.append(GateResult(False, f"max_not_run {limit} failed: {counts}; next: {step}"))
    return found


def _rename_gate(gate: Gate) -> GateResult:
    name = _SETTING_BY_FLAG[gate.name]
    why = gate.observed if gate.passed else gate.reason
    return GateResult(
        gate.passed, f"{name} {gate.limit} {'passed' if gate.passed else 'failed'}: {why}"
    )
