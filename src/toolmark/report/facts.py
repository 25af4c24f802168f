"""What the page says of one run, gathered from its scores in one pass per reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from toolmark import codec, suites
from toolmark.errors import DataError, near
from toolmark.report import causes, chart, names, spent, tables
from toolmark.report.causes import Causes
from toolmark.report.tables import Grid
from toolmark.runs.presentation import FILE, Presentation, fitting
from toolmark.runs.spent import known
from toolmark.runs.store import Run
from toolmark.runs.suite import Ran
from toolmark.stats import figures
from toolmark.stats.columns import Columns, columns
from toolmark.stats.formulas import Metric
from toolmark.stats.summary import groups, noise
from toolmark.svg import Markup
from toolmark.types import Chart, Estimate, Table

NOTED = 20  # notes on one part of the site
NOTE_CHARS = 600
NAMED = 4  # ids of a selection that are named


@dataclass(frozen=True, slots=True)
class Read:
    """One reading's numbers: the headline first, then its parts.

    `units` are what n counts, `groups` of how many groups these are where they hang together;
    `words` are what readers are told for names of parts, `beside` what names become beside runs
    of which they are a part.
    """

    name: str
    estimates: list[Estimate]
    units: Mapping[str, str]
    groups: Mapping[str, int]
    words: Mapping[str, str]
    beside: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Group:
    """Charts side by side, or one table: the suite's own, in its order."""

    charts: list[tuple[Chart, Markup]]
    table: Grid | None


@dataclass(frozen=True, slots=True)
class Side:
    """One run as the page shows it; `index` is its place on it."""

    index: int
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


def side(index: int, run: Run, shown: Presentation, name: str) -> tuple[Side, dict[str, Columns]]:
    """Gather a run's facts, and the columns of each reading.

    Raises DataError for a damaged folder.
    """
    with fitting(run):
        by_reading = {reading: columns(run.scores(), reading) for reading in shown.readings}
        return _side(index, run, shown, name, by_reading), by_reading


def _side(
    index: int, run: Run, shown: Presentation, name: str, by_reading: Mapping[str, Columns]
) -> Side:
    first = by_reading[shown.readings[0]]
    plan = run.info.plan
    measured = [
        _read(reading, table, shown.metrics[reading]) for reading, table in by_reading.items()
    ]
    reasons, absent = causes.absent(run.scores(), shown.readings[0])
    own = shown.tables
    doubles = [table for table in own if isinstance(table, Table) and _repeats(table, measured)]
    return Side(
        index=index,
        name=name,
        suite=plan.suite,
        model=tables.visible(names.short(plan.model)),
        about=_about(run),
        caution=tables.visible(shown.caution),
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
        causes=causes.merged(
            [causes.count(index, run.scores(), name, shown.natives) for name in shown.readings]
        ),
        reasons=reasons,
        absent=absent,
    )


def _read(reading: str, table: Columns, metrics: Sequence[Metric]) -> Read:
    """Measure a reading; its numbers are called as a reader is told."""
    labels = {m.name: tables.visible(m.label) for m in metrics}
    found = [replace(m.measure(table), name=labels[m.name]) for m in metrics]
    units = {labels[m.name]: m.unit for m in metrics}
    hung = {labels[m.name]: groups(m.among(table)) for m in metrics}
    words = {m.name: labels[m.name] for m in metrics if m.told}
    beside = {labels[m.name]: m.beside for m in metrics if m.beside}
    return Read(reading, found, units, {name: n for name, n in hung.items() if n}, words, beside)


def across(
    runs: Sequence[Run],
    sides: Sequence[Side],
    shown: Sequence[Presentation],
    tables: Sequence[Mapping[str, Columns]],
) -> dict[str, list[Group]]:
    """Return what is shown of each suite's runs together; nothing of a suite with a single run.

    Raises DataError for scores that are not such as it shows.
    """
    made: dict[str, list[Group]] = {}
    for suite in dict.fromkeys(side.suite for side in sides):
        alike = [i for i, side in enumerate(sides) if side.suite == suite]
        first = shown[alike[0]]
        alike = [i for i in alike if first.readings == shown[i].readings and shown[i].across]
        if len(alike) < 2 or not first.across:
            continue
        _check_known(runs[alike[0]], first.across, suites.OVERVIEWS)
        together = {
            name: {sides[i].name: tables[i][name] for i in alike} for name in first.readings
        }
        with fitting(*(runs[i] for i in alike)):
            if found := list(_groups(suites.overview(first.across)(together))):
                made[suite] = found
    return made


def _check_known(run: Run, name: str, known: Iterable[str]) -> None:
    """Raise DataError for the name of an overview that toolmark does not have."""
    if name not in known:
        raise DataError(f"{run.path / FILE}: no overview {name!r}{near(name, known)}")


def profiles(
    runs: Sequence[Run],
    sides: Sequence[Side],
    shown: Sequence[Presentation],
    tables: Sequence[Mapping[str, Columns]],
) -> dict[str, list[Group]]:
    """Return what is shown of suites that belong together; nothing of a single suite.

    Raises DataError for scores that are not such as it shows.
    """
    made: dict[str, list[Group]] = {}
    models = names.models(runs)
    for profile in dict.fromkeys(each.profile for each in shown if each.profile):
        ran = [
            Ran(side.suite, model, side.name, found, asked, run.info.created)
            for run, model, asked, side, own, found in zip(
                runs, models, names.apart(runs, models), sides, shown, tables, strict=True
            )
            if own.profile == profile
        ]
        several = dict.fromkeys(each.suite for each in ran)
        if len(several) < 2:
            continue
        owner = next(run for run, own in zip(runs, shown, strict=True) if own.profile == profile)
        _check_known(owner, profile, suites.PROFILES)
        with fitting(*runs):
            if found := list(_groups(suites.profile(profile)(ran))):
                made[", ".join(several)] = found
    return made


def _spared(note: str) -> str:
    """Leave out what the page's own table says already."""
    return note.removeprefix("95 % intervals.").strip()


def cautions(sides: Sequence[Side]) -> dict[str, list[str]]:
    """Return what readers must know first, each with the runs that it is of."""
    found: dict[str, list[str]] = {}
    for side in sides:
        if side.caution:
            found.setdefault(side.caution, []).append(side.name)
    return found


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
    yield "took", spent.line(known(run))
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
            charts.append((chart.shown(item), chart.draw(item)))
            continue
        if charts:
            yield Group(charts, None)
            charts = []
        yield Group([], tables.grid(item))
    if charts:
        yield Group(charts, None)
