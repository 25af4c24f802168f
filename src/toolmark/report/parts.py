"""The tables of a page's numbers: every part of the score, in every reading, of every run."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from msgspec.structs import replace

from toolmark.report import tables
from toolmark.report.facts import Read, Side
from toolmark.stats import figures
from toolmark.types import Estimate, Table

SPREAD = "Value and 95 % interval."


def listed(sides: Sequence[Side]) -> Iterator[Table]:
    """Go through the tables of every number: a column per reading of one run, or per run.

    Readings that have all numbers in common stand once. A single number needs no table: none.
    """
    if len(sides) == 1:
        found = [(_readings(names), alike) for names, (alike,) in _alike(sides)]
        yield from _numbers("Scores", found, sides)
        return
    for suite in dict.fromkeys(side.suite for side in sides):
        runs = [side for side in sides if side.suite == suite]
        for names, alike in _alike(runs):
            reads = _one([(side.name, x) for side, x in zip(runs, alike, strict=True)])
            yield from _numbers(f"Scores on {suite}, {_readings(names)}", reads, runs)


def _alike(sides: Sequence[Side]) -> list[tuple[list[str], list[Read]]]:
    """Return the readings of runs of one suite, those of equal numbers together."""
    made: list[tuple[list[str], list[Read]]] = []
    for reads in zip(*(side.readings for side in sides), strict=True):
        numbers = [read.estimates for read in reads]
        twin = next((x for x in made if [read.estimates for read in x[1]] == numbers), None)
        if twin:
            twin[0].append(reads[0].name)
        else:
            made.append(([reads[0].name], [*reads]))
    return made


def _readings(names: Sequence[str]) -> str:
    return f"{' and '.join(names)} reading{'s' if len(names) > 1 else ''}"


def _one(reads: Sequence[tuple[str, Read]]) -> list[tuple[str, Read]]:
    """Let what is a part of another run's numbers be called as it is there."""
    there = {estimate.name for _, read in reads for estimate in read.estimates}
    return [(name, _renamed(read, there)) for name, read in reads]


def _renamed(read: Read, there: Container[str]) -> Read:
    names = {name: told for name, told in read.beside.items() if told in there}
    called = [replace(each, name=names.get(each.name, each.name)) for each in read.estimates]
    units = {names.get(name, name): unit for name, unit in read.units.items()}
    hung = {names.get(name, name): n for name, n in read.groups.items()}
    return Read(read.name, called, units, hung, read.words, read.beside)


def _numbers(
    title: str, reads: Sequence[tuple[str, Read]], sides: Sequence[Side]
) -> Iterator[Table]:
    every = dict.fromkeys(estimate.name for _, read in reads for estimate in read.estimates)
    if len(every) < 2 and len(reads) < 2:
        return
    by_name = [{estimate.name: estimate for estimate in read.estimates} for _, read in reads]
    sized = [read for _, read in reads]
    told = [name for name in every if any(_known(name, found) for found in by_name)] or [*every]
    rows = tuple(tuple(_across(name, by_name, sized)) for name in told)
    head = ("", *(name for name, _ in reads), "n")
    bare = any(figures.bare(each) for read in sized for each in read.estimates)
    notes = [SPREAD, *[figures.BARE] * bare, *_noted(sides)]
    if len(told) < len(every):
        missing = tables.plural(len(every) - len(told), "part")
        notes.insert(1, f"{missing} without a result left out.")
    yield Table(title=title, head=head, rows=rows, note=" ".join(notes))


def _noted(sides: Sequence[Side]) -> list[str]:
    """Return the suites' notes on the scores, each with its runs where it is not for all."""
    meant: dict[str, dict[str, None]] = {}
    for side in sides:
        for note in side.notes:
            meant.setdefault(note, {})[side.name] = None
    return [
        note if len(of) == len(sides) else f"{', '.join(of)}: {note}" for note, of in meant.items()
    ]


def _known(name: str, estimates: Mapping[str, Estimate]) -> bool:
    return name in estimates and estimates[name].value is not None


def _across(
    name: str, by_name: Sequence[Mapping[str, Estimate]], reads: Sequence[Read]
) -> Iterator[str]:
    found = [estimates.get(name, Estimate(name=name)) for estimates in by_name]
    yield name
    yield from map(figures.value, found)
    unit = next((read.units[name] for read in reads if name in read.units), "")
    sizes = [figures.count(estimate.n) for estimate in found]
    hung = [read.groups.get(name, 0) for read in reads]
    of = [
        tables.plural(n, "group") if n and n < x.n else "" for n, x in zip(hung, found, strict=True)
    ]
    alike = len(set(zip(sizes, of, strict=True))) == 1
    told = f"{sizes[0] if len(set(sizes)) == 1 else ' / '.join(sizes)} {unit}".strip()
    yield " in ".join(filter(None, (told, of[0] if alike else " / ".join(filter(None, of)))))
