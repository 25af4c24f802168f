"""Tables of a run beside the paper's, and the shapes of its figures.

Only what the run has data for is shown. Rows that were not run are in no number here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.formulas import Filter, Mean, Metric, Of
from toolmark.stats.paired import paired
from toolmark.stats.summary import mean, share
from toolmark.suites.funcbench import charts, mcp, paper
from toolmark.suites.funcbench.score import NATIVE
from toolmark.suites.funcbench.slices import cores, only, variants
from toolmark.types import Chart, Table

_ENDS = ("success", "failure")
_CLASSES = (*NATIVE.items(), ("ill_typed", "2 wrong inputs: ill-typed"))
_LIKE = (
    "The paper's rows are its main experiment (all depths, 0 to 40 irrelevant functions):"
    " compare them with a run of the preset main."
)


def metrics(columns: Columns) -> Sequence[Metric]:
    """Return success and `derived`; with several core sizes also the success of each."""
    found = [
        Metric("success", Mean()),
        Metric("derived", Mean(part="derived")),
    ]
    sizes = cores(columns)
    if len(sizes) > 1:
        found += [_success_of(core) for core in sizes]
    return found


def _success_of(core: int) -> Metric:
    rows = Filter(column="axes.core", values=(str(core),))
    return Metric(f"success, core {core}", Of(rows=(rows,), formula=Mean()))


def _as_value(columns: Columns, part: str) -> Columns:
    return replace(columns, value=columns.part(part))


def tables(by: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables, then the charts."""
    columns = by["official"]
    if not columns.run.any():
        return ()
    made = [_success(columns), _calls(columns), _failures(columns), *_rates(columns)]
    made += [*_bare(columns), *_ways(columns), _work(columns), *_aligned(columns)]
    made.append(_settings(columns))
    return (*made, *charts.charts(columns))


def _success(columns: Columns) -> Table:
    sizes = cores(columns)
    rows = [
        (label, *(figures.share(mean(only(part, core=core), "")) for core in sizes))
        for label, part in variants(columns)
    ]
    known = any(core in paper.CORES for core in sizes)
    return Table(
        title="Success by number of core functions",
        head=("model", *(f"core {core}" for core in sizes)),
        rows=(*rows, *_beside(paper.SUCCESS, sizes)),
        note=_LIKE if known else "",
    )


def _beside(
    printed: Mapping[str, Sequence[float]], sizes: Sequence[int]
) -> Iterator[tuple[str | None, ...]]:
    """Give the paper's rows for these sizes; none if it has no figure for any of them."""
    if not any(core in paper.CORES for core in sizes):
        return
    for model, row in printed.items():
        cells = dict(zip(paper.CORES, row, strict=True))
        shown = (figures.percent(cells[core] / 100) if core in cells else None for core in sizes)
        yield f"{model} (paper)", *shown


def _calls(columns: Columns) -> Table:
    sizes = cores(columns)
    rows: list[tuple[str | float | None, ...]] = []
    for label, part in variants(columns):
        cells = [_made(only(part, core=core)) for core in sizes]
        rows.append((label, *(x for pair in cells for x in pair)))
    if any(core in paper.CORES for core in sizes):
        for model, row in paper.CALLS.items():
            known = dict(zip(paper.CORES, row, strict=True))
            pairs = [known.get(core, (None, None)) for core in sizes]
            rows.append((f"{model} (paper)", *(x for pair in pairs for x in pair)))
    return Table(
        title="Calls per trial, in successful and in failed trials (paper: Table 2)",
        head=(
            "model",
            *(f"core {core}, {end}" for core in sizes for end in ("success", "failure")),
        ),
        rows=tuple(rows),
        note="A dash: no such trial. Every executed call counts, ill-formed ones too.",
    )


def _made(columns: Columns) -> tuple[float | None, float | None]:
    calls = columns.part("calls")
    ends = (columns.run & columns.correct, columns.run & ~columns.correct)
    # one decimal, as the paper prints
    good, bad = (round(float(calls[end].mean()), 1) if end.any() else None for end in ends)
    return good, bad


def _failures(columns: Columns) -> Table:
    rows: list[tuple[str | int, ...]] = []
    for label, part in variants(columns):
        total = _sum(part, "errors")
        shares = (figures.percent(_sum(part, name) / total) if total else "-" for name in NATIVE)
        rows.append((label, round(total), *shares))
    for model, (errors, *row) in paper.FAILURES.items():
        rows.append((f"{model} (paper)", round(errors), *(figures.percent(x / 100) for x in row)))
    return Table(
        title="Bad calls by class (paper: Table 3)",
        head=("model", "errors", *NATIVE.values()),
        rows=tuple(rows),
        note="Counted over all trials, successful and failed. A call is in the first class whose"
        " condition it fails. Ill-typed arguments are wrong inputs.",
    )


def _rates(columns: Columns) -> Iterator[Table]:
    """Give bad calls per call made, per class: of those where the class was possible."""
    for label, part in variants(columns):
        rows = []
        for name, shown in _CLASSES:
            possible = part.part("open" if name == "not_known" else "calls")
            rate = share(name, part.part(name), possible, part.item)
            rows.append((shown, rate.n, round(_sum(part, name)), figures.share(rate)))
        yield Table(
            title=f"Rate of bad calls, {label}",
            head=("class", "calls where possible", "bad calls", "rate"),
            rows=tuple(rows),
            note="Class 3 is possible as long as the value of some parameter is still unknown.",
        )


def _bare(columns: Columns) -> Iterator[Table]:
    bare = only(columns, irrelevant=0)
    if not bare.run.any():
        return
    sizes = cores(bare)
    rows = [
        (label, *(figures.share(mean(only(part, core=core), "")) for core in sizes))
        for label, part in variants(bare)
    ]
    yield Table(
        title="Success without irrelevant functions (paper: Table 5)",
        head=("model", *(f"core {core}" for core in sizes)),
        rows=(*rows, *_beside(paper.BARE, sizes)),
    )


def _ways(columns: Columns) -> Iterator[Table]:
    """Compare every two ways in which the same items were asked."""
    rows: list[tuple[str | int | None, ...]] = []
    for core in cores(columns):
        parts = [(_way(label), only(part, core=core)) for label, part in variants(columns)]
        for (first, a), (second, b) in combinations(parts, 2):
            pair = paired(b, a, name=f"{second} - {first}")
            if pair.n_pairs == 0:
                continue
            asked = f"{first} → {second}"
            rates = figures.share(mean(a, "")), figures.share(mean(b, ""))
            change = figures.points(pair.difference)
            chance = figures.DASH if pair.p is None else figures.chance(pair.p)
            rows.append((f"this run, core {core}", asked, pair.n_pairs, *rates, change, chance))
            if asked == "plain → restate" and core in paper.RESTATE:
                rows.append(_restated(core))
    if rows:
        yield Table(
            title="The same items asked in two ways, in pairs (paper: Figs. 7, 8)",
            head=("model", "ways", "pairs", "first", "second", "difference (points)", "p"),
            rows=tuple(rows),
        )


def _way(label: str) -> str:
    return label.removeprefix("this run, ")


def _restated(core: int) -> tuple[str | None, ...]:
    """Give the paper's row for restated values."""
    model, before, after = paper.RESTATE[core]
    rates = figures.percent(before / 100), figures.percent(after / 100)
    change = f"{after - before:+.1f}"
    return f"{model} (paper), core {core}", "plain → restate", None, *rates, change, None


def _work(columns: Columns) -> Table:
    """Give what the calls of a trial were, on average."""
    rows: list[tuple[str | float, ...]] = []
    names = ("correct_core", "correct_irrelevant", "errors", "redundant", "steps", "levels")
    for label, part in variants(columns):
        for core in cores(part):
            size = only(part, core=core)
            cells = (float(np.nanmean(size.part(name))) for name in names if size.run.any())
            rows.append((label, core, int(size.run.sum()), *cells))
    return Table(
        title="What a trial was made of (means)",
        head=("model", "core", "trials", "right, core", "right, irrelevant", "bad", "repeated",
              "steps with calls", "steps at best"),
        rows=tuple(rows),
    )  # fmt: skip


def _aligned(columns: Columns) -> Iterator[Table]:
    """Give how near the calls came to the ideal schedule, where tasks were played over MCP."""
    played = only(columns, over=mcp.OVER)
    if not played.run.any():
        return
    rows = []
    for label, part in variants(played):
        for core in cores(part):
            for threads in ("single", "multi"):
                size = only(part, core=core, threads=threads)
                if not size.run.any():
                    continue
                found = (mean(_as_value(size, f"align_{name}"), "") for name in mcp.MEASURES)
                trials = int(size.run.sum())
                rows.append((label, core, threads, trials, *map(figures.share, found)))
    yield Table(
        title="Alignment with the ideal schedule",
        head=("model", "core", "calls at once", "trials", *mcp.MEASURES),
        rows=tuple(rows),
        note="Means over trials, fair reading. The schedule makes every needed call as early as"
        " its inputs are known. Coherence falls where calls that could be made at once are made"
        " one after the other.",
    )


def _settings(columns: Columns) -> Table:
    """Give success for each core, number and kind of irrelevant functions, and effort."""
    rows = []
    for label, part in variants(columns):
        keys = sorted(
            set(zip(part.axis("core"), part.axis("irrelevant"), part.axis("kind"), strict=True)),
            key=lambda key: (int(key[0]), int(key[1]), key[2]),
        )
        for core, count, kind in keys:
            found = mean(only(part, core=core, irrelevant=count, kind=kind), "")
            rows.append((label, int(core), int(count), kind, found.n, figures.share(found)))
    return Table(
        title="Success by setting",
        head=("model", "core", "irrelevant", "kind", "trials", "success"),
        rows=tuple(rows),
    )


def _sum(columns: Columns, part: str) -> float:
    return float(np.nansum(columns.part(part)))
