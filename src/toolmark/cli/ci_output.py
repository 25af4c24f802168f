"""What `run`, `score`, `report` and `compare` do for continuous integration: gates and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console

from toolmark.core.errors import UsageError
from toolmark.reports.table_format import visible_text

if TYPE_CHECKING:
    from toolmark.reports.gates import Condition, Gate, ScoreLimits
    from toolmark.runs.run_store import Run


def parse_score_limits(fail_under: str | None, fail_under_low: str | None) -> ScoreLimits:
    """Return the limits of both flags. Raises UsageError, so call it before anything is asked."""
    from toolmark.reports.gates import ScoreLimits, parse_share

    return ScoreLimits(
        value=parse_share("fail-under", fail_under),
        low=parse_share("fail-under-low", fail_under_low),
    )


def parse_comparison_gate(
    fail_if: str | None, margin: str | None
) -> tuple[tuple[Condition, ...], float]:
    """Return the conditions of `--fail-if`, none without it, and the margin. Raises UsageError."""
    from toolmark.reports import gates

    if fail_if is None:
        if margin is not None:
            raise UsageError("--margin says when --fail-if is undecided: give both")
        return (), gates.DEFAULT_MARGIN
    share = gates.parse_share("margin", margin)
    return gates.parse_conditions(fail_if), gates.DEFAULT_MARGIN if share is None else share


def with_gates(found: Mapping[str, Any], gates: Sequence[Gate]) -> dict[str, Any]:
    """Return what `--json` prints, with a field `gates` where gates were asked for."""
    fields = [msgspec.to_builtins(gate) for gate in gates]
    return {**found, "gates": fields} if fields else dict(found)


def print_passed_gates(console: Console, gates: Sequence[Gate]) -> None:
    """Print the gates that hold; those that failed are named on stderr as the command ends."""
    for gate in gates:
        if gate.passed:
            line = visible_text(f"  {gate.summary}")
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def write_ci_files(
    run: Run, gates: Sequence[Gate], *, junit: Path | None, markdown: Path | None
) -> None:
    """Write the files that were asked for. Raises DataError where one cannot be written."""
    if junit is None and markdown is None:
        return
    from toolmark.reports.episode_outcomes import read_scored_run
    from toolmark.reports.junit_report import write_junit
    from toolmark.reports.markdown_summary import append_markdown

    found = read_scored_run(run)
    if junit is not None:
        write_junit(found, junit, gates)
    if markdown is not None:
        append_markdown(found, markdown, gates)
