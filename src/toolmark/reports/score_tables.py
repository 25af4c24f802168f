"""The tables of a page's numbers: every part of the score, by grading rule and run."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.records import Estimate, Table
from toolmark.reports import table_format
from toolmark.reports.run_facts import RuleNumbers, RunFacts
from toolmark.statistics import interval_limits

INTERVAL_NOTE = "Value and 95 % interval."


def score_tables(sides: Sequence[RunFacts]) -> Iterator[Table]:
    """Yield the tables of all numbers: a column per grading rule of one run, or per run.

    Grading rules with equal numbers share a column or table. A single number gets no table.
    """
    if len(sides) == 1:
        found = [(_rule_label(names), numbers) for names, (numbers,) in _group_equal_rules(sides)]
        yield from _score_table("Scores", found, sides)
        return
    for suite in dict.fromkeys(side.suite for side in sides):
        runs = [side for side in sides if side.suite == suite]
        for names, numbers in _group_equal_rules(runs):
            reads = _align_names([(side.name, x) for side, x in zip(runs, numbers, strict=True)])
            yield from _score_table(f"Scores on {suite}, {_rule_label(names)}", reads, runs)


def _group_equal_rules(sides: Sequence[RunFacts]) -> list[tuple[list[str], list[RuleNumbers]]]:
    """Return the grading rules of runs of one suite; those with equal numbers are grouped."""
    groups: list[tuple[list[str], list[RuleNumbers]]] = []
    for reads in zip(*(side.readings for side in sides), strict=True):
        numbers = [read.estimates for read in reads]
        same = next((x for x in groups if [read.estimates for read in x[1]] == numbers), None)
        if same:
            same[0].append(reads[0].name)
        else:
            groups.append(([reads[0].name], [*reads]))
    return groups


def _rule_label(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} reading{'s' if len(names) > 1 else ''}"


def _align_names(reads: Sequence[tuple[str, RuleNumbers]]) -> list[tuple[str, RuleNumbers]]:
    """Give parts of another run's numbers the names that they have in that run."""
    known_names = {estimate.name for _, read in reads for estimate in read.estimates}
    return [(name, _rename_estimates(read, known_names)) for name, read in reads]


def _rename_estimates(read: RuleNumbers, known_names: Container[str]) -> RuleNumbers:
    names = {
        name: new_name for name, new_name in read.names_in_whole.items() if new_name in known_names
    }
    estimates = [replace(each, name=names.get(each.name, each.name)) for each in read.estimates]
    units = {names.get(name, name): unit for name, unit in read.units.items()}
    groups = {names.get(name, name): n for name, n in read.groups.items()}
    return RuleNumbers(read.name, estimates, units, groups, read.label_by_name, read.names_in_whole)


def _score_table(
    title: str, reads: Sequence[tuple[str, RuleNumbers]], sides: Sequence[RunFacts]
) -> Iterator[Table]:
    all_names = dict.fromkeys(estimate.name for _, read in reads for estimate in read.estimates)
    if len(all_names) < 2 and len(reads) < 2:
        return
    by_name = [{estimate.name: estimate for estimate in read.estimates} for _, read in reads]
    numbers = [read for _, read in reads]
    shown_names = [
        name for name in all_names if any(_has_value(name, found) for found in by_name)
    ] or [*all_names]
    rows = tuple(tuple(_score_row(name, by_name, numbers)) for name in shown_names)
    head = ("", *(name for name, _ in reads), "n")
    without_interval = any(
        number_format.lacks_interval(each) for read in numbers for each in read.estimates
    )
    notes = [
        INTERVAL_NOTE,
        *[interval_limits.NO_INTERVAL_NOTE] * without_interval,
        *_side_notes(sides),
    ]
    if len(shown_names) < len(all_names):
        missing = table_format.pluralize(len(all_names) - len(shown_names), "part")
        notes.insert(1, f"{missing} without a result left out.")
    yield Table(title=title, head=head, rows=rows, note=" ".join(notes))


def _side_notes(sides: Sequence[RunFacts]) -> list[str]:
    """Return the suites' notes on the scores, each with its runs where it does not apply to all."""
    runs_by_note: dict[str, dict[str, None]] = {}
    for side in sides:
        for note in side.notes:
            runs_by_note.setdefault(note, {})[side.name] = None
    return [
        note if len(run_names) == len(sides) else f"{', '.join(run_names)}: {note}"
        for note, run_names in runs_by_note.items()
    ]


def _has_value(name: str, estimates: Mapping[str, Estimate]) -> bool:
    return name in estimates and estimates[name].value is not None


def _score_row(
    name: str, by_name: Sequence[Mapping[str, Estimate]], reads: Sequence[RuleNumbers]
) -> Iterator[str]:
    found = [estimates.get(name, Estimate(name=name)) for estimates in by_name]
    yield name
    yield from map(number_format.format_estimate, found)
    unit = next((read.units[name] for read in reads if name in read.units), "")
    sizes = [number_format.format_count(estimate.n) for estimate in found]
    group_counts = [read.groups.get(name, 0) for read in reads]
    group_labels = [
        table_format.pluralize(n, "group") if n and n < x.n else ""
        for n, x in zip(group_counts, found, strict=True)
    ]
    is_equal = len(set(zip(sizes, group_labels, strict=True))) == 1
    size_label = f"{sizes[0] if len(set(sizes)) == 1 else ' / '.join(sizes)} {unit}".strip()
    yield " in ".join(
        filter(
            None,
            (size_label, group_labels[0] if is_equal else " / ".join(filter(None, group_labels))),
        )
    )
