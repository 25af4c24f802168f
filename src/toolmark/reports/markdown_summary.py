"""A scored run as a few lines of Markdown, for the summary page of a CI job or a pull request."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from toolmark.core import number_format
from toolmark.core.errors import DataError
from toolmark.core.records import VARIATION_AXIS, Estimate
from toolmark.reports import cost_text, floor_text, run_names, run_series
from toolmark.reports.comparison_report import Comparison, verdict_sentence
from toolmark.reports.episode_outcomes import ScoredRun
from toolmark.reports.gates import Gate
from toolmark.reports.table_format import visible_text

MAX_CAUSES = 10
MAX_REASONS = 10  # why episodes were not run
MAX_EVIDENCE_LINES = 3
MAX_TEXT_CHARS = 240  # of one foreign text


def append_markdown(found: ScoredRun, path: Path, gates: Sequence[Gate] = ()) -> None:
    """Add the summary of a run to a file, which is made where it is missing.

    The file named by $GITHUB_STEP_SUMMARY may hold what other steps wrote. Raises DataError where
    the file cannot be written.
    """
    _append_lines(path, _summary_lines(found, gates))


def append_comparison(comparison: Comparison, path: Path, gates: Sequence[Gate] = ()) -> None:
    """Add the conclusion of a comparison to a file, as `append_markdown` does."""
    old, new = (
        f"{code_span(name)} **{number_format.format_estimate(score)}**"
        for name, score in (
            (comparison.a, comparison.score_a),
            (comparison.b, comparison.score_b),
        )
    )
    lines = (
        "## Comparison",
        "",
        f"A: {old}, B: {new}",
        "",
        code_span(verdict_sentence(comparison)),
    )
    costs = cost_text.compared_costs(comparison.usage_a, comparison.usage_b, comparison.costs)
    rows = [[code_span(cell, in_table=True) for cell in row] for row in costs]
    _append_lines(path, (*lines, *_table(("cost", "", "of"), rows), *_gate_lines(gates)))


def _append_lines(path: Path, lines: Iterable[str]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n\n")
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None


def _summary_lines(found: ScoredRun, gates: Sequence[Gate]) -> Iterator[str]:
    """Yield lines; every text that a user, a model or a server chose is a code span."""
    summary = found.summary
    head = summary["score"]
    estimate = Estimate(**{name: head[name] for name in Estimate.__struct_fields__ if name in head})
    model = run_names.player_name(summary.get("agent", ""), summary["model"])
    suite = run_names.label_suite(summary["suite"], summary.get("data_label", ""))
    yield f"## {code_span(suite)}: {code_span(model)}"
    yield ""
    yield (
        f"{code_span(head.get('title') or head['name'])} "
        f"**{number_format.format_estimate(estimate)}**, "
        f"n = {number_format.format_count(head['n'])}, "
        f"not run {number_format.format_count(summary['n_not_run'])}"
    )
    for line in floor_text.summary_lines(summary.get("floors")):
        yield ""
        yield code_span(line)
    if caution := summary.get("caution"):
        yield ""
        yield f"Caution: {code_span(caution)}"
    series = run_series.find_series(found.run)
    if series is not None:
        for line in filter(None, (run_series.describe_series(series), *series.faults)):
            yield ""
            yield code_span(line)
    if cost := cost_text.summary_cost_line(summary):
        yield ""
        yield f"Cost: {code_span(cost.removeprefix('cost '))}"
    yield from _gate_lines(gates)
    yield from _failure_lines(found)
    yield from _not_run_lines(found)
    yield ""
    yield "To see more:"
    yield ""
    for command, *flags in (("show", "--outcome", "incorrect"), ("report",)):
        line = shlex.join(["toolmark", command, summary["run_dir"], *flags])
        yield f"    {visible_text(line)}"


def _gate_lines(gates: Sequence[Gate]) -> Iterator[str]:
    rows = [
        (
            code_span(f"--{gate.name} {gate.limit}", in_table=True),
            "passed" if gate.passed else "**failed**",
            code_span(gate.reason or gate.observed, in_table=True),
        )
        for gate in gates
    ]
    yield from _table(("gate", "result", "because"), rows)


def _failure_lines(found: ScoredRun) -> Iterator[str]:
    causes: Counter[str] = Counter()
    evidence: Counter[str] = Counter()
    for outcome in found.iterate_outcomes():
        label = outcome.primary_label
        if label is not None and VARIATION_AXIS not in outcome.score.axes:
            causes[found.cause_text(label)] += 1
            if first_line := label.evidence.strip().partition("\n")[0]:
                evidence[first_line] += 1
    yield from _count_table("cause of failure", "episodes", causes, MAX_CAUSES)
    if evidence:
        yield ""
        yield "Most frequent evidence:"
        yield ""
        for text, n in evidence.most_common(MAX_EVIDENCE_LINES):
            yield f"- {number_format.format_count(n)} × {code_span(text)}"


def _not_run_lines(found: ScoredRun) -> Iterator[str]:
    reasons = Counter(
        outcome.failure.summary
        for outcome in found.iterate_outcomes()
        if outcome.failure is not None
    )
    yield from _count_table("not run, because", "episodes", reasons, MAX_REASONS)


def _count_table(what: str, unit: str, counts: Counter[str], n_shown: int) -> Iterator[str]:
    """Yield a table of texts with their counts, the most frequent first."""
    rows = [
        (code_span(text, in_table=True), number_format.format_count(n))
        for text, n in counts.most_common(n_shown)
    ]
    if len(counts) > n_shown:
        n_others = counts.total() - sum(n for _, n in counts.most_common(n_shown))
        n_kinds = number_format.format_count(len(counts) - n_shown)
        rows.append((f"{n_kinds} others", number_format.format_count(n_others)))
    yield from _table((what, unit), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


def code_span(text: str, *, in_table: bool = False) -> str:
    """Return foreign text as a Markdown code span of one line.

    In a code span no markup, HTML, link or mention is read. The fence is longer than any run of
    backticks in the text. In a table a vertical bar would end the cell, so that it is escaped.
    """
    line = " ".join(visible_text(text).split()) or "-"
    if len(line) > MAX_TEXT_CHARS:
        line = f"{line[:MAX_TEXT_CHARS]} ..."
    if in_table:
        # a backslash before the bar would escape the backslash that escapes the bar
        *cut, last = line.split("|")
        line = "\\|".join([*(part.rstrip("\\") for part in cut), last])
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"
