"""What the page says of one run, gathered from its scores in one pass per reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from toolmark import codec
from toolmark.errors import UsageError
from toolmark.report import chart, names, tables
from toolmark.report.tables import Grid
from toolmark.runs.store import Run
from toolmark.runs.suite import Ran, Scorer
from toolmark.stats import figures
from toolmark.stats.columns import Columns, columns
from toolmark.stats.summary import groups, noise
from toolmark.svg import Markup
from toolmark.types import Chart, Estimate, Label, Score, Table

LISTED = 500  # episodes that were not run, by name
REASONS = 20
NOTED = 20  # notes on one part of the site
NOTE_CHARS = 600
SPREAD = "Value and 95 % interval."
NAMED = 4  # ids of a selection that are named


@dataclass(frozen=True, slots=True)
class Cause:
    """One row of the failure table; `show` are the filters that list its episodes."""

    cause: str
    native: str
    n: int
    share: float
    n_also: int
    evidence: str
    example: str
    show: str


@dataclass(frozen=True, slots=True)
class Causes:
    """The failures of one reading, or of several that have the same; the first one's are shown."""

    readings: list[str]
    rows: list[Cause]
    n_failed: int
    n_run: int


@dataclass(frozen=True, slots=True)
class Read:
    """One reading's numbers: the headline first, then its parts.

    `units` are what n counts, `groups` of how many groups these are where they hang together;
    `words` are what readers are told for names of parts.
    """

    name: str
    estimates: list[Estimate]
    units: Mapping[str, str]
    groups: Mapping[str, int]
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Group:
    """Charts side by side, or one table: the suite's own, in its order."""

    charts: list[tuple[Chart, Markup]]
    table: Grid | None


@dataclass(frozen=True, slots=True)
class Side:
    """One run as the page shows it."""

    name: str
    suite: str
    model: str
    about: str
    caution: str
    head: Estimate
    readings: list[Read]
    noise: str
    notes: list[str]
    n_planned: int
    n_not_run: int
    settings: list[tuple[str, str]]
    origins: list[tuple[str, str]]
    site: Grid
    groups: list[Group]
    causes: list[Causes]
    reasons: Grid
    absent: Grid

    @property
    def grouped(self) -> str:
        """Say behind the headline's n of how many groups that is, where rows hang together."""
        n = self.readings[0].groups.get(self.head.name, 0)
        return f" in {tables.plural(n, 'group')}" if 0 < n < self.head.n else ""


def side(index: int, run: Run, scorer: Scorer, name: str) -> tuple[Side, dict[str, Columns]]:
    """Gather a run's facts, and the columns of each reading.

    Raises UsageError when the run has no scores.
    """
    by_reading = {reading: columns(run.scores(), reading) for reading in scorer.readings}
    first = by_reading[scorer.readings[0]]
    if not len(first):
        raise UsageError(f"{run.path}: no scores; next: toolmark score {run.path}")
    plan = run.info.plan
    measured = [_read(reading, table, scorer) for reading, table in by_reading.items()]
    reasons, absent = _absent(run.scores(), scorer.readings[0])
    own = [*scorer.tables(by_reading), *scorer.evidence(run)]
    doubles = [table for table in own if isinstance(table, Table) and _repeats(table, measured)]
    made = Side(
        name=name,
        suite=plan.suite,
        model=tables.visible(names.short(plan.model)),
        about=_about(run),
        caution=tables.visible(scorer.caution(first)),
        head=measured[0].estimates[0],
        readings=measured,
        noise=_noise(first),
        notes=list(filter(None, (_spared(table.note) for table in doubles))),
        n_planned=run.info.n_planned,
        n_not_run=int((~first.run).sum()),
        settings=[(key, value) for key, value in _settings(run) if value],
        origins=_origins(run),
        site=_site(run),
        groups=list(_groups(item for item in own if item not in doubles)),
        causes=_merged(
            [_causes(index, run.scores(), name, scorer.natives) for name in scorer.readings]
        ),
        reasons=reasons,
        absent=absent,
    )
    return made, by_reading


def _read(reading: str, table: Columns, scorer: Scorer) -> Read:
    """Measure a reading; its numbers are called as a reader is told."""
    metrics = scorer.metrics(table)
    found = [replace(m.measure(table), name=m.told or m.name) for m in metrics]
    units = {m.told or m.name: m.unit for m in metrics}
    hung = {m.told or m.name: groups(m.rows(table) if m.rows else table) for m in metrics}
    words = {m.name: m.told for m in metrics if m.told}
    return Read(reading, found, units, {name: n for name, n in hung.items() if n}, words)


def across(
    sides: Sequence[Side], scorers: Sequence[Scorer], tables: Sequence[Mapping[str, Columns]]
) -> dict[str, list[Group]]:
    """Return what each suite shows of its runs together; nothing of a suite with a single run."""
    made: dict[str, list[Group]] = {}
    for suite in dict.fromkeys(side.suite for side in sides):
        alike = [i for i, side in enumerate(sides) if side.suite == suite]
        scorer = scorers[alike[0]]
        together = {
            name: {sides[i].name: tables[i][name] for i in alike} for name in scorer.readings
        }
        if len(alike) > 1 and (found := list(_groups(scorer.across(together)))):
            made[suite] = found
    return made


def profiles(
    runs: Sequence[Run],
    sides: Sequence[Side],
    scorers: Sequence[Scorer],
    tables: Sequence[Mapping[str, Columns]],
) -> dict[str, list[Group]]:
    """Return what suites that belong together show of their runs; nothing of a single suite."""
    made: dict[str, list[Group]] = {}
    models = names.models(runs)
    for profile in dict.fromkeys(scorer.profile for scorer in scorers):
        ran = [
            Ran(side.suite, model, side.name, found, asked, run.info.created)
            for run, model, asked, side, scorer, found in zip(
                runs, models, names.apart(runs, models), sides, scorers, tables, strict=True
            )
            if scorer.profile == profile
        ]
        suites = dict.fromkeys(each.suite for each in ran)
        if len(suites) > 1 and (found := list(_groups(profile(ran)))):
            made[", ".join(suites)] = found
    return made


def parts(sides: Sequence[Side]) -> Iterator[Table]:
    """Go through the tables of every number: a column per reading of one run, or per run.

    A single number needs no table: none.
    """
    if len(sides) == 1:
        yield from _numbers(
            "Scores", [(f"{read.name} reading", read) for read in sides[0].readings], sides
        )
        return
    for suite in dict.fromkeys(side.suite for side in sides):
        alike = [side for side in sides if side.suite == suite]
        for name in dict.fromkeys(read.name for side in alike for read in side.readings):
            found = [(side.name, x) for side in alike for x in side.readings if x.name == name]
            yield from _numbers(f"Scores on {suite}, {name} reading", found, alike)


def _spared(note: str) -> str:
    """Leave out what the page's own table says already."""
    return note.removeprefix("95 % intervals.").strip()


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
    notes = [SPREAD, *_noted(sides)]
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


def cautions(sides: Sequence[Side]) -> dict[str, list[str]]:
    """Return what readers must know first, each with the runs that it is of."""
    found: dict[str, list[str]] = {}
    for side in sides:
        if side.caution:
            found.setdefault(side.caution, []).append(side.name)
    return found


def _known(name: str, estimates: Mapping[str, Estimate]) -> bool:
    return name in estimates and estimates[name].value is not None


def _repeats(table: Table, reads: Sequence[Read]) -> bool:
    """Say whether a table of values and their ends only says again what the page's own says."""
    head = table.head
    if len(head) < 4 or head[2:4] != ("low", "high") or set(head[4:]) - {"n"}:
        return False
    for read in reads:
        known = {(x.name, x.value, x.low, x.high) for x in read.estimates}
        if all(row[:4] in known for row in table.rows):
            return True
    return False


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


def _about(run: Run) -> str:
    info = run.info
    served = [name for name in info.served if name != info.plan.model]
    return " · ".join(
        part
        for part in (
            f"dialect {info.plan.dialect}",
            tables.plural(info.n_tasks, "task"),
            names.sampled(info.plan.sample) if info.plan.limit is None else "",
            f"{info.plan.repeats} repeats" if info.plan.repeats > 1 else "",
            f"seed {info.seed}",
            f"served as {tables.visible(', '.join(served))}" if served else "",
            _when(info.created),
        )
        if part
    )


def _when(created: str) -> str:
    """Shorten "2026-01-02T03:04:05+00:00" to minutes, leaving other forms alone."""
    if not created.endswith("+00:00"):
        return created
    return f"{created[:16].replace('T', ' ')} UTC"


def _noise(table: Columns) -> str:
    """Word the noise floor; nothing without repeats."""
    floor = noise(table)
    if floor.value is None:
        return ""
    run_sd = floor.value / np.sqrt(max(1, int(table.run.sum())))
    return (
        f"Noise floor: repeats of one task scatter with a standard deviation of {floor.value:.3f} "
        f"({tables.plural(floor.n, 'task')}), so the same model asked again would move this score "
        f"by about ±{100 * 1.96 * np.sqrt(2) * run_sd:.1f} points for that reason alone."
    )


def _settings(run: Run) -> Iterator[tuple[str, str]]:
    info, plan = run.info, run.info.plan
    yield "suite", plan.suite
    yield "model", tables.visible(plan.model)
    yield "base URL", plan.base_url
    yield "served as", tables.visible(", ".join(info.served))
    yield "dialect", plan.dialect
    yield "knobs", _pairs(plan.knobs)
    yield "sampling", _pairs(msgspec.to_builtins(plan.sampling)) or "the endpoint's own"
    yield "seed", str(info.seed)
    yield "tasks × repeats", f"{figures.count(info.n_tasks)} × {plan.repeats}"
    yield "selection", _selection(run)
    yield "created", info.created
    yield "command", tables.visible(info.command)
    yield "folder", tables.visible(str(run.path))


def _selection(run: Run) -> str:
    plan = run.info.plan
    chosen = {
        "limit": plan.limit,
        "sample": plan.sample,
        "tasks": plan.tasks,
        "ids": list(plan.ids) if len(plan.ids) <= NAMED else _folded(plan.ids),
    }
    return _pairs(chosen)


def _folded(ids: Sequence[str]) -> str:
    return f"{figures.count(len(ids))} ids ({', '.join(ids[:NAMED])}, …)"


def _pairs(values: Mapping[str, Any]) -> str:
    """Word settings; what is unset says nothing."""
    unset: tuple[Any, ...] = (None, "", [], (), {})
    return ", ".join(f"{key} = {_plain(x)}" for key, x in values.items() if x not in unset)


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]"
    text = value if isinstance(value, str) else codec.encode(codec.plain(value)).decode()
    return tables.visible(text)


def _origins(run: Run) -> list[tuple[str, str]]:
    info = run.info
    hashes = {"tasks": info.tasks_sha256, **info.hashes}
    told = [(f"sha256 {name}", value) for name, value in hashes.items() if value]
    return [*info.versions.items(), *told]


def _site(run: Run) -> Grid:
    """Return what parts of the site lacked and what happened to them, by part."""
    info = run.info
    rows = [(name, "cannot run", why.replace("\n", "; ")) for name, why in info.missing.items()]
    cut = 0
    for name, notes in info.notes.items():
        cut += max(0, len(notes) - NOTED)
        rows += [(name, "noted", note) for note in notes[:NOTED]]
    told = tuple((name, what, text[:NOTE_CHARS]) for name, what, text in sorted(rows, key=_first))
    note = f"{tables.plural(cut, 'further note')} in run.json" if cut else ""
    lone = all(name == "data" and what == "noted" for name, what, _ in rows)
    title = "Of the data" if lone else "What could not run, or had trouble"
    head = ("part", "", "what is known")
    return tables.grid(Table(title=title, head=head, rows=told, note=note))


def _first(row: tuple[str, str, str]) -> str:
    return row[0]


def _groups(items: Iterable[Table | Chart]) -> Iterator[Group]:
    """Keep the suite's order; charts that follow each other share a row."""
    charts: list[tuple[Chart, Markup]] = []
    for item in items:
        if isinstance(item, Chart):
            charts.append((item, chart.draw(item)))
            continue
        if charts:
            yield Group(charts, None)
            charts = []
        yield Group([], tables.grid(item))
    if charts:
        yield Group(charts, None)


def _causes(
    index: int, scores: Iterable[Score], reading: str, natives: Mapping[str, str]
) -> Causes:
    primary: Counter[tuple[str, str]] = Counter()
    also: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], tuple[Label, Score]] = {}
    n_run = 0
    for score in scores:
        verdict = score.readings.get(reading)
        if verdict is None:
            continue
        n_run += 1
        chosen = [label for label in verdict.labels if label.primary]
        mine = {(label.cause, label.native) for label in chosen}
        primary.update(mine)
        also.update({(label.cause, label.native) for label in verdict.labels} - mine)
        for label in (*chosen, *verdict.labels):
            example.setdefault((label.cause, label.native), (label, score))
    total = primary.total()
    keys = sorted(example, key=lambda key: (-primary[key], -also[key], key))
    rows = [
        _cause(index, reading, natives, primary[key], total, also[key], *example[key])
        for key in keys
    ]
    return Causes([reading], rows, total, n_run)


def _merged(found: Sequence[Causes]) -> list[Causes]:
    """Join readings that fail as often and for the same primary causes."""
    made: list[Causes] = []
    for each in found:
        alike = next((kept for kept in made if _failures(kept) == _failures(each)), None)
        if alike is None:
            made.append(each)
        else:
            alike.readings.extend(each.readings)
    return made


def _failures(found: Causes) -> tuple[Any, ...]:
    return found.n_failed, found.n_run, [(x.cause, x.native, x.n) for x in found.rows if x.n]


def _cause(
    index: int,
    reading: str,
    natives: Mapping[str, str],
    n: int,
    total: int,
    n_also: int,
    label: Label,
    score: Score,
) -> Cause:
    native = tables.visible(label.native)
    wanted = [label.cause, native] if native else [label.cause]
    show = {"run": str(index), "reading": reading, "cause": codec.encode(wanted).decode()}
    evidence = label.evidence if len(label.evidence) <= 300 else f"{label.evidence[:300]} …"
    return Cause(
        cause=label.cause,
        native=names.failure(label.native, natives),
        n=n,
        share=n / total if total else 0.0,
        n_also=n_also,
        evidence=tables.visible(evidence),
        example=tables.visible(score.task),
        show=codec.encode(show).decode(),
    )


def _absent(scores: Iterable[Score], reading: str) -> tuple[Grid, Grid]:
    """Return the reasons with their counts, and the first episodes that were not run."""
    counts: Counter[str] = Counter()
    rows: list[tuple[str, int, str]] = []
    for score in scores:
        if reading in score.readings:
            continue
        reason = score.not_run or "no verdict in this reading"
        counts[reason[:300]] += 1
        if len(rows) < LISTED:
            rows.append((score.task, score.repeat, reason[:300]))
    total = counts.total()
    common = counts.most_common(REASONS)
    rest = total - sum(n for _, n in common)
    told = [(reason, n, figures.percent(n / total)) for reason, n in common]
    if rest:
        others = tables.plural(len(counts) - REASONS, "other reason")
        told.append((others, rest, figures.percent(rest / total)))
    note = f"the first {LISTED} of {figures.count(total)}" if total > LISTED else ""
    return (
        tables.grid(Table(title="Reasons", head=("reason", "episodes", "share"), rows=tuple(told))),
        tables.grid(
            Table(title="", head=("task", "repeat", "reason"), rows=tuple(rows), note=note)
        ),
    )
