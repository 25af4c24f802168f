"""The tables of a page's numbers: every part of the score, by grading rule and run."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.records import EpisodeFilter, Estimate, Table
from toolmark.reports import floor_text
from toolmark.reports.run_facts import RuleNumbers, RunFacts
from toolmark.statistics import interval_limits
from toolmark.statistics.interval_warnings import warned_numbers_note

INTERVAL_NOTE = "Value and 95 % interval."


def score_tables(shown_runs: Sequence[RunFacts]) -> Iterator[Table]:
    """Yield the tables of all numbers: a column per grading rule of one run, or per run.

    Grading rules with equal numbers share a column or table. A single number gets no table.
    """
    if len(shown_runs) == 1:
        floors = shown_runs[0].floors
        if floors is not None and floors.highest is not None:
            yield floor_text.floors_table(floors)
        found = [
            (_rule_label(names), numbers) for names, (numbers,) in _group_equal_rules(shown_runs)
        ]
        yield from _score_table("Scores", found, shown_runs)
        return
    for suite in dict.fromkeys(shown_run.suite for shown_run in shown_runs):
        runs = [shown_run for shown_run in shown_runs if shown_run.suite == suite]
        for names, numbers in _group_equal_rules(runs):
            reads = _align_names(
                [(shown_run.name, x) for shown_run, x in zip(runs, numbers, strict=True)]
            )
            yield from _score_table(f"Scores on {suite}, {_rule_label(names)}", reads, runs)


def _group_equal_rules(shown_runs: Sequence[RunFacts]) -> list[tuple[list[str], list[RuleNumbers]]]:
    """Return the grading rules of runs of one suite; those with equal numbers are grouped."""
    groups: list[tuple[list[str], list[RuleNumbers]]] = []
    for reads in zip(*(shown_run.rules for shown_run in shown_runs), strict=True):
        numbers = [read.estimates for read in reads]
        same = next((x for x in groups if [read.estimates for read in x[1]] == numbers), None)
        if same:
            same[0].append(reads[0].name)
        else:
            groups.append(([reads[0].name], [*reads]))
    return groups


def _rule_label(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} rule{'s' if len(names) > 1 else ''}"


def _align_names(rule_numbers: Sequence[tuple[str, RuleNumbers]]) -> list[tuple[str, RuleNumbers]]:
    """Give parts of another run's numbers the names that they have in that run."""
    known_names = {estimate.name for _, read in rule_numbers for estimate in read.estimates}
    return [(name, _rename_estimates(read, known_names)) for name, read in rule_numbers]


def _rename_estimates(rule_numbers: RuleNumbers, known_names: Container[str]) -> RuleNumbers:
    names = {
        name: new_name
        for name, new_name in rule_numbers.title_in_whole_by_name.items()
        if new_name in known_names
    }
    estimates = [
        replace(each, name=names.get(each.name, each.name)) for each in rule_numbers.estimates
    ]
    units = {names.get(name, name): unit for name, unit in rule_numbers.units.items()}
    groups = {names.get(name, name): n for name, n in rule_numbers.n_groups_by_name.items()}
    episodes = {names.get(x, x): found for x, found in rule_numbers.episodes_by_name.items()}
    return RuleNumbers(
        rule_numbers.name,
        estimates,
        units,
        groups,
        rule_numbers.title_by_name,
        rule_numbers.title_in_whole_by_name,
        episodes,
    )


def _score_table(
    title: str, rule_numbers: Sequence[tuple[str, RuleNumbers]], shown_runs: Sequence[RunFacts]
) -> Iterator[Table]:
    all_names = dict.fromkeys(
        estimate.name for _, read in rule_numbers for estimate in read.estimates
    )
    if len(all_names) < 2 and len(rule_numbers) < 2:
        return
    by_name = [{estimate.name: estimate for estimate in read.estimates} for _, read in rule_numbers]
    numbers = [read for _, read in rule_numbers]
    shown_names = [
        name for name in all_names if any(_has_value(name, found) for found in by_name)
    ] or [*all_names]
    rows = tuple(tuple(_score_row(name, by_name, numbers)) for name in shown_names)
    head = ("", *(name for name, _ in rule_numbers), "n")
    without_interval = any(
        number_format.lacks_interval(each) for read in numbers for each in read.estimates
    )
    notes = [
        INTERVAL_NOTE,
        *[interval_limits.NO_INTERVAL_NOTE] * without_interval,
        *filter(None, [_warned_note(rule_numbers)]),
        *_side_notes(shown_runs),
    ]
    if len(shown_names) < len(all_names):
        missing = number_format.pluralize(len(all_names) - len(shown_names), "part")
        notes.insert(1, f"{missing} without a result left out.")
    yield Table(
        title=title,
        head=head,
        rows=rows,
        note=" ".join(notes),
        row_episodes=tuple(_shared_episodes(name, numbers) for name in shown_names),
        column_episodes=(
            None,
            *(EpisodeFilter(rule=read.name) for read in numbers),
            EpisodeFilter() if len(shown_runs) == 1 else None,
        ),
    )


def _shared_episodes(name: str, rule_numbers: Sequence[RuleNumbers]) -> EpisodeFilter | None:
    """Return the episodes behind a number, None where none ran.

    Where rules or runs have it from others of the same tasks, these are all that ran.
    """
    found = [each for read in rule_numbers if (each := read.episodes_by_name.get(name)) is not None]
    if not found or all(each == found[0] for each in found):
        return found[0] if found else None
    return replace(found[0], outcome="run", cause=(), traits={})


def _warned_note(rule_numbers: Sequence[tuple[str, RuleNumbers]]) -> str:
    """Return which numbers have a warning in any column."""
    found: dict[str, Estimate] = {}
    for _, read in rule_numbers:
        for each in read.estimates:
            known = found.get(each.name, each)
            found[each.name] = replace(each, warning=known.warning or each.warning)
    return warned_numbers_note(found.values())


def _side_notes(shown_runs: Sequence[RunFacts]) -> list[str]:
    """Return the suites' notes on the scores, each with its runs where it does not apply to all."""
    runs_by_note: dict[str, dict[str, None]] = {}
    for shown_run in shown_runs:
        for note in shown_run.notes:
            runs_by_note.setdefault(note, {})[shown_run.name] = None
    return [
        note if len(run_names) == len(shown_runs) else f"{', '.join(run_names)}: {note}"
        for note, run_names in runs_by_note.items()
    ]


def _has_value(name: str, estimates: Mapping[str, Estimate]) -> bool:
    return name in estimates and estimates[name].value is not None


def _score_row(
    name: str, by_name: Sequence[Mapping[str, Estimate]], rule_numbers: Sequence[RuleNumbers]
) -> Iterator[str]:
    found = [estimates.get(name, Estimate(name=name)) for estimates in by_name]
    yield name
    yield from map(number_format.format_estimate, found)
    unit = next((read.units[name] for read in rule_numbers if name in read.units), "")
    sizes = [number_format.format_count(estimate.n) for estimate in found]
    group_counts = [read.n_groups_by_name.get(name, 0) for read in rule_numbers]
    group_labels = [
        number_format.pluralize(n, "group") if n and n < x.n else ""
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
