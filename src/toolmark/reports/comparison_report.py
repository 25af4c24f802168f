"""A comparison of two runs and how it is shown: the conclusion, the tables, the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.records import Estimate, Record, Table
from toolmark.reports import (
    cost_text,
    reply_tables,
    run_differences,
    table_format,
    usage_text,
)
from toolmark.runs.costs.run_usage import RunUsage
from toolmark.statistics.interval_limits import FEWEST_GROUPS
from toolmark.statistics.interval_warnings import warned_numbers_note
from toolmark.statistics.paired_comparison import PairedComparison
from toolmark.statistics.paired_tests import SIGNIFICANCE_LEVEL
from toolmark.statistics.table_cells import p_value_cell

UNADJUSTED_NOTE = "intervals and the smallest difference are those of this pair alone, not adjusted"
ROUNDING_TOLERANCE = 5e-4  # a difference of shares that is smaller is not visible in print
MEASURES_NOTE = "over the pairs whose answers on both sides have the number"
UNCORRECTED_NOTE = "p-values are per row, not corrected for the number of rows"
MAX_FLIPS_LISTED = 12  # flipped items in each direction that the terminal names


class Comparison(Record, frozen=True, kw_only=True):
    """Run A compared with run B under one grading rule; differences are A minus B, on common items.

    With `lower_is_better` the run with the lower number is the better one.
    `score_a` and `score_b` are the headlines over all rows of each run that the headline uses. They
    are partial (`Estimate.partial`) where a run lacks some of these rows; a warning says so.
    `paired` and `categories` are only over the common ones of these rows. `compared_rows` names the
    rows where they are not all. `common_levels` names the levels of axes that both runs have where
    one run has more. `measures` are the suite's further metrics that measure something
    else, on the pairs that have them. `levels` are over all common rows, by
    axis and level, for the axes that the suite compares by. `warnings` say how the runs differ in
    setup.
    `n_changed` is the number of common tasks that differ in content. If there are any, no test is
    made unless the caller allowed this: `p` and `detectable` are None. `p_adjusted` is p adjusted
    for the `n_compared` comparisons that were made together, None for a single one. `usage_a` and
    `usage_b` are the usage of each complete run. `costs` compares US$ per task on the tasks whose
    cost is known in both runs; None where a run has no known cost, or the tasks differ.
    `data_label` says what the tasks of A are where they are not published. `floor` is the agent
    without a model that scores most on the tasks of both runs; `above_a` and `above_b` are each run
    minus it, None where A has no stored floor.
    """

    a: str
    b: str
    rule: str
    score_a: Estimate
    score_b: Estimate
    paired: PairedComparison
    compared_rows: str = ""
    lower_is_better: bool = False
    common_levels: str = ""
    measures: tuple[PairedComparison, ...] = ()
    levels: dict[str, tuple[PairedComparison, ...]] = {}
    categories: tuple[PairedComparison, ...] = ()
    settings: tuple[tuple[str, str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    n_changed: int = 0
    p_adjusted: float | None = None
    n_compared: int = 1
    usage_a: RunUsage = RunUsage()
    usage_b: RunUsage = RunUsage()
    costs: PairedComparison | None = None
    data_label: str = ""
    floor: str = ""
    above_a: PairedComparison | None = None
    above_b: PairedComparison | None = None

    def __str__(self) -> str:
        """Return the comparison as text for a terminal."""
        return render_text(self)


def render_text(comparison: Comparison) -> str:
    """Return the comparison as text for a terminal."""
    parts = [
        table_format.render_text(table)
        for table in (summary_table(comparison), *detail_tables(comparison))
    ]
    lines = [f"warning: {warning}" for warning in comparison.warnings]
    flips = "\n".join(_flip_lines(comparison.paired))
    blocks = ["\n".join([*lines, verdict_sentence(comparison)]), *parts, flips]
    return "\n\n".join(block for block in blocks if block)


def verdict_sentence(comparison: Comparison) -> str:
    """Return the conclusion in one sentence."""
    found = comparison.paired
    difference = found.difference
    if difference.value is None:
        return "No episode ran in both runs: nothing can be compared."
    if found.p is None and not comparison.n_changed:
        return "No verdict: too few groups of tasks, or numbers too large, to test the difference."
    if found.p is None:
        step = (
            f"{run_differences.same_tasks_advice(comparison.settings)}, or compare them all the "
            "same with --differing"
        )
        return f"No verdict: these are not the same tasks. next: {step}"
    sentence = _decision_sentence(comparison, difference.value, found.p)
    if comparison.score_a.partial or comparison.score_b.partial:
        sentence = f"On what both runs have: {sentence}"
    return sentence


def _decision_sentence(comparison: Comparison, value: float, p_value: float) -> str:
    """Return which run is better, if any, by the test of this difference and its p-value."""
    difference = comparison.paired.difference
    deciding_p = p_value if comparison.p_adjusted is None else comparison.p_adjusted
    p = _p_value_text(comparison)
    if deciding_p > SIGNIFICANCE_LEVEL:
        size = f"{_signed_size(difference)} (A minus B), {p}"
        sentence = f"No clear difference between {comparison.a} and {comparison.b}: {size}."
    else:
        sign = 1 if value > 0 else -1
        is_a = (value > 0) != comparison.lower_is_better
        names = (comparison.a, comparison.b) if is_a else (comparison.b, comparison.a)
        size = _difference_text(difference, sign)
        size += " less" if comparison.lower_is_better else ""
        sentence = f"{names[0]} is better than {names[1]} by {size}, {p}."
    excludes_zero = (difference.low or 0.0) > 0 or (difference.high or 0.0) < 0
    if excludes_zero != (deciding_p <= SIGNIFICANCE_LEVEL):
        sentence += " The interval is of this pair alone: the adjusted test decides."
    return sentence


def _p_value_text(comparison: Comparison) -> str:
    """Return the p-value as text, and the adjusted one if comparisons are read together."""
    label = f"p = {number_format.format_p_value(comparison.paired.p or 0.0)}"
    if comparison.p_adjusted is not None:
        label += (
            f"; among {comparison.n_compared} pairs p = "
            f"{number_format.format_p_value(comparison.p_adjusted)}"
        )
    return label.replace("= <", "<")


def _signed_size(difference: Estimate) -> str:
    """Return a difference with its sign and unit."""
    unit = " points" if difference.is_share else ""
    return f"{number_format.format_difference(difference)}{unit}"


def _difference_text(difference: Estimate, sign: int) -> str:
    """Return a difference as text, with a sign such that its value is positive."""
    ends = sorted(sign * (end or 0.0) for end in (difference.low, difference.high))
    value = sign * (difference.value or 0.0)
    if not difference.is_share:
        low, high = (number_format.format_decimal(end, like=value) for end in ends)
        return f"{number_format.format_decimal(value)} [{low}, {high}]"
    low, high = (number_format.format_fixed(100 * end, 1) for end in ends)
    return f"{number_format.format_fixed(100 * value, 1)} points [{low}, {high}]"


def summary_table(comparison: Comparison) -> Table:
    """Return the table of the headline, the difference and how it was tested."""
    found = comparison.paired
    pairs_label = (
        f"{number_format.pluralize(found.n_pairs, 'pair')}, "
        f"{number_format.pluralize(found.n_items, 'item')}"
    )
    pairs_label += (
        f" in {number_format.pluralize(found.n_groups, 'group')}" if found.n_groups else ""
    )
    pairs_label += ", the tasks of an item averaged" if found.pairing == "item" else ""
    rows: list[tuple[str, str, str]] = [
        *_side_rows(f"A: {comparison.a}", comparison.score_a, found.value_a),
        *_side_rows(f"B: {comparison.b}", comparison.score_b, found.value_b),
        ("A minus B, paired", number_format.format_difference(found.difference), pairs_label),
    ]
    rows += _floor_rows(comparison)
    rows += _test_rows(comparison)
    rows += [
        ("not run", _counts_of_both(found.not_run_a, found.not_run_b), _bounds_text(found)),
        (
            "without a partner",
            _counts_of_both(found.unpaired_a, found.unpaired_b),
            f"left out; both have: {comparison.common_levels}"
            if comparison.common_levels
            else "left out",
        ),
    ]
    if tokens := usage_text.tokens_per_episode(comparison.usage_a, comparison.usage_b):
        rows.append(("tokens per episode", tokens, "in and out, all of each run"))
    rows += cost_text.compared_costs(comparison.usage_a, comparison.usage_b, comparison.costs)
    title = f"Comparison, {comparison.rule} rule"
    title += f", {comparison.data_label}" if comparison.data_label else ""
    title += f": {comparison.compared_rows}" if comparison.compared_rows else ""
    title += ", less is better" if comparison.lower_is_better else ""
    note = UNADJUSTED_NOTE if comparison.p_adjusted is not None else ""
    return Table(title=title, head=("", "value [95 % interval]", "on"), rows=tuple(rows), note=note)


def _floor_rows(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    above_a, above_b = comparison.above_a, comparison.above_b
    if above_a is None or above_b is None:
        return
    difference = above_a.difference
    value = Estimate(name="", value=above_a.value_b, is_share=difference.is_share)
    yield f"floor: {comparison.floor}", number_format.format_estimate(value), "the same tasks"
    for name, found in (("A", above_a), ("B", above_b)):
        pairs_label = number_format.pluralize(found.n_pairs, "pair")
        shown = number_format.format_difference(found.difference)
        yield f"{name} above the floor", shown, pairs_label


def _counts_of_both(a: int, b: int) -> str:
    return f"A {number_format.format_count(a)}, B {number_format.format_count(b)}"


def _side_rows(
    name: str, headline: Estimate, paired: float | None
) -> Iterator[tuple[str, str, str]]:
    """Yield a run's value on the pairs, and the headline over all its rows if that differs."""
    headline_cells = (
        number_format.format_estimate(headline),
        f"n = {number_format.format_count(headline.n)}",
    )
    if headline.partial and paired is not None:
        yield name, _plain_value(headline, paired), "the pairs"
        yield f"{name[0]}, the headline", *headline_cells
        return
    if paired is None or (
        headline.value is not None and abs(headline.value - paired) < ROUNDING_TOLERANCE
    ):
        yield name, *headline_cells
        return
    yield name, _plain_value(headline, paired), "the pairs"
    yield f"{name[0]}, the whole run", *headline_cells


def _plain_value(headline: Estimate, value: float) -> str:
    """Return a value on the scale of the headline, without an interval."""
    return number_format.format_estimate(Estimate(name="", value=value, is_share=headline.is_share))


def _test_rows(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    found = comparison.paired
    if found.p is None:
        return
    yield "p-value", number_format.format_p_value(found.p), found.method
    if (p := comparison.p_adjusted) is not None:
        method_label = f"Holm, {comparison.n_compared} pairs on this page"
        yield "adjusted p-value", number_format.format_p_value(p), method_label
    yield "only A right", number_format.format_count(len(found.only_a)), "items"
    yield "only B right", number_format.format_count(len(found.only_b)), "items"
    yield "smallest difference likely found", _detectable_text(found), "80 % power, 5 % level"


def _detectable_text(found: PairedComparison) -> str:
    if found.detectable is None:
        return "none"
    return number_format.format_size(found.detectable, found.difference.is_share)


def _bounds_text(found: PairedComparison) -> str:
    bounds = found.difference
    if bounds.worst is None or bounds.best is None or not found.not_run_a + found.not_run_b:
        return "of the pairs"
    low = number_format.format_points(Estimate(name="", value=bounds.worst))
    high = number_format.format_points(Estimate(name="", value=bounds.best))
    return f"bounds {low} to {high} points"


def detail_tables(comparison: Comparison) -> Iterator[Table]:
    """Yield the further tables: other measures, by axis and category, settings that differ."""
    if comparison.measures:
        yield _measures_table(comparison.measures)
    for axis, found in comparison.levels.items():
        yield from _group_table(axis, found)
    if len(comparison.categories) > 1:
        yield from _group_table("category", comparison.categories, comparison.compared_rows)
    yield from reply_tables.comparison_tables(
        comparison.usage_a.replies, comparison.usage_b.replies
    )
    if comparison.settings:
        yield Table(title="Settings that differ", head=("", "A", "B"), rows=comparison.settings)


def _measures_table(measures: Sequence[PairedComparison]) -> Table:
    """Make the table of the measures other than the headline."""
    notes = [
        MEASURES_NOTE,
        *([UNCORRECTED_NOTE] if any(each.p is not None for each in measures) else []),
        *_group_notes(measures),
        *_warned_notes(measures),
    ]
    rows = tuple(
        (
            each.difference.name,
            *(
                number_format.format_estimate(
                    Estimate(name="", value=value, is_share=each.difference.is_share)
                )
                for value in (each.value_a, each.value_b)
            ),
            number_format.format_difference(_supported_difference(each)),
            p_value_cell(each.p if each.n_groups != 1 else None),
            _pairs_cell(each),
        )
        for each in measures
    )
    head = ("", "A", "B", "A minus B [95 % interval]", "p", "pairs")
    return Table(title="Other measures, paired", head=head, rows=rows, note="; ".join(notes))


def _supported_difference(found: PairedComparison) -> Estimate:
    """Return the difference, without an interval where all pairs are of one group."""
    if found.n_groups != 1:
        return found.difference
    return replace(found.difference, low=None, high=None)


def _pairs_cell(found: PairedComparison) -> int | str:
    """Return the number of pairs, with that of their groups where these are few."""
    if not 0 < found.n_groups < FEWEST_GROUPS:
        return found.n_pairs
    pairs = number_format.format_count(found.n_pairs)
    return f"{pairs} ({number_format.pluralize(found.n_groups, 'group')})"


def _group_notes(rows: Sequence[PairedComparison]) -> list[str]:
    """Return what few groups of answers mean for the intervals of the rows."""
    n_groups = {found.n_groups for found in rows} & {*range(1, FEWEST_GROUPS)}
    if not n_groups:
        return []
    one = ", and of one group there is no interval" if 1 in n_groups else ""
    return [f"an interval rests on the groups of its pairs: few groups tell little{one}"]


def _warned_notes(rows: Sequence[PairedComparison]) -> list[str]:
    """Return which rows have an interval that may be too narrow."""
    note = warned_numbers_note(found.difference for found in rows if found.p is not None)
    return [note.rstrip(".")] if note else []


def _flip_lines(found: PairedComparison) -> Iterator[str]:
    """Yield the items that flipped, a line for each direction."""
    for word, items in (("only A", found.only_a), ("only B", found.only_b)):
        if not items or found.p is None:
            continue
        suffix = (
            f" and {len(items) - MAX_FLIPS_LISTED} more" if len(items) > MAX_FLIPS_LISTED else ""
        )
        yield f"{word} right: {', '.join(items[:MAX_FLIPS_LISTED])}{suffix}"


def _group_table(
    by: str, parts: Sequence[PairedComparison], rows_label: str = ""
) -> Iterator[Table]:
    """Yield the table of these groups, without groups of a single item."""
    groups = [found for found in parts if found.n_items != 1]
    if not groups:
        return
    n_left = len(parts) - len(groups)
    notes = [UNCORRECTED_NOTE] if any(found.p is not None for found in groups) else []
    if n_left:
        notes.append(f"{number_format.pluralize(n_left, 'group')} of one item left out")
    notes += [*_group_notes(groups), *_warned_notes(groups)]
    rows = tuple(
        (
            found.difference.name,
            number_format.format_points(_supported_difference(found)),
            p_value_cell(found.p if found.n_groups != 1 else None),
            _pairs_cell(found),
            len(found.only_a),
            len(found.only_b),
        )
        for found in groups
    )
    yield Table(
        title=f"A minus B by {by}, in points{rows_label and f' ({rows_label})'}",
        head=(by, "difference", "p", "pairs", "only A right", "only B right"),
        rows=rows,
        note="; ".join(notes),
    )
