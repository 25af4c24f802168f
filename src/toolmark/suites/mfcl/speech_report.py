"""Tables of a speech run: the paper's Table 1, what each condition costs, failures, what was heard.

An item is asked in several conditions and by several recognisers; its answers are alike, so every
interval counts items, and conditions are compared item by item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from toolmark.perturb.speech.effect import MODULES
from toolmark.runs.suite import Metric
from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.interval import bootstrap
from toolmark.stats.paired import Paired, paired
from toolmark.stats.summary import mean
from toolmark.suites.bfcl.leaderboard import Even, Group, Pooled, combined, leaves
from toolmark.suites.mfcl import modes, speech_views
from toolmark.types import Audio, Chart, Drawing, Estimate, Series, Table, Task, Trajectory

Cell: TypeAlias = str | float | int | None

EXPERT = Even("expert", ("simple_python", "multiple", "parallel", "parallel_multiple"))
COMMUNITY = Pooled(
    "community", ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
)
MULTI_TURN = Even(
    "multi_turn", ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param")
)
HALLUCINATION = Even("hallucination", ("live_relevance", "irrelevance"))
OVERALL = Even("overall", (EXPERT, COMMUNITY, MULTI_TURN, HALLUCINATION))
GROUPS: tuple[Group, ...] = (EXPERT, COMMUNITY, MULTI_TURN, HALLUCINATION)
TOLD = {
    "simple_python": "expert simple", "multiple": "expert multiple",
    "parallel": "expert parallel", "parallel_multiple": "expert parallel multiple",
    "live_simple": "community simple", "live_multiple": "community multiple",
    "live_parallel": "community parallel",
    "live_parallel_multiple": "community parallel multiple",
    "multi_turn_base": "multi-turn base", "multi_turn_miss_func": "multi-turn miss func",
    "multi_turn_miss_param": "multi-turn miss param",
    "live_relevance": "relevance", "irrelevance": "irrelevance",
}  # fmt: skip
"""The columns of Table 1 by category; irrelevance holds the community's too."""

TEXT, CLEAN, NOISY = "text", "clean", "noisy"
SATURATED = 0.85  # PocketSphinx's word error rate beyond which its transcripts tell nothing
ENGINE = "engine:"  # parts of a verdict: engine:NAME, 1 where a synthesiser spoke in the episode
SIMULATED = "simulated"
PRESETS = ("mild", "medium", "harsh")
_LEVEL = re.compile(r"([^+@=:]+)[@=](-?\d+(?:\.\d+)?)(:[^+]+)?")
_NAMED = (
    "In per cent, with the half-width of the 95 % interval; n counts answers, intervals count "
    "items. Overall is the mean of expert, community (weighted by items), multi-turn and "
    "hallucination (relevance and irrelevance); where a column is missing there is none. The paper "
    "does not define its own."
)


# --- the numbers of a page's head -------------------------------------------------------


def metrics(columns: Columns) -> Sequence[Metric]:
    """Return the mean over all answers, then groups, conditions, columns and error rates."""
    accuracy = Metric("accuracy", partial(mean, name="accuracy"), _mark("accuracy", columns),
                      "answers")  # fmt: skip
    found = [accuracy]
    for group in GROUPS:
        if _present(group, columns):
            found.append(Metric(group.name, partial(measure, group), unit="answers"))
    for condition in conditions(columns):
        told = f"accuracy, {named(condition, columns)}"
        name = f"accuracy/{condition}"
        found.append(Metric(name, partial(_within, condition=condition), told, "answers"))
    for name, told in TOLD.items():
        if len(_column(columns, name)):
            found.append(Metric(name, partial(leaf, name=name), told, "answers"))
    for part, told in (("wer", "word error rate"), ("entity_wer", "entity error rate")):
        if not np.isnan(columns.part(part)).all():
            measured = partial(average, part=part)
            found.append(Metric(part, measured, _mark(told, columns), "transcripts"))
    return found


def measure(group: Group, columns: Columns) -> Estimate:
    """Return a group's mean with its interval; `partial` where it lacks a category."""
    return combined(group, {name: leaf(columns, name) for name in leaves(group)})


def leaf(columns: Columns, name: str) -> Estimate:
    """Return the mean of one of Table 1's columns."""
    return mean(_column(columns, name), name)


def _column(columns: Columns, name: str) -> Columns:
    names = ("irrelevance", "live_irrelevance") if name == "irrelevance" else (name,)
    return columns.where(np.isin(columns.category, names))


def _present(group: Group, columns: Columns) -> bool:
    return any(len(_column(columns, name)) for name in leaves(group))


def _within(columns: Columns, condition: str) -> Estimate:
    return mean(_asked(columns, condition), f"accuracy/{condition}")


def average(columns: Columns, part: str) -> Estimate:
    """Return the mean of a part over the answers that have it; rates may pass 1, so by bootstrap.

    Without two items there is no interval.
    """
    values = columns.part(part)
    known = ~np.isnan(values)
    if not known.any():
        return Estimate(name=part)
    low, high = bootstrap(values[known], columns.item[known])
    ends = (None, None) if np.isnan(low) else (low, high)
    return Estimate(name=part, value=float(values[known].mean()), low=ends[0], high=ends[1],
                    n=int(known.sum()))  # fmt: skip


# --- conditions and their names ---------------------------------------------------------


def conditions(columns: Columns) -> list[str]:
    """Return the conditions present: text, clean, noisy, modules, others, levels weakest first."""
    known = (TEXT, CLEAN, NOISY, *PRESETS, *MODULES)
    first = {name: place for place, name in enumerate(known)}

    def place(name: str) -> tuple[int, bool, str, float]:
        family, level = graded(name) or (name, None)
        strength = (level or 0.0) * (-1 if _is_ratio(family) else 1)
        return first.get(name, len(first)), level is not None, family, strength

    return sorted({str(name) for name in columns.axis("condition") if name}, key=place)


def graded(condition: str) -> tuple[str, float] | None:
    """Split "snr=20:babble" and "loss@3" into family and level; None of what has no number."""
    found = _LEVEL.fullmatch(condition)
    return (found[1] + (found[3] or ""), float(found[2])) if found else None


def _is_ratio(family: str) -> bool:
    return family.partition(":")[0] == "snr"


def named(condition: str, columns: Columns) -> str:
    """Return a condition's name with what a reader must know: simulated, saturated."""
    told = marks(condition, columns)
    return f"{condition} ({told})" if told else condition


def marks(condition: str, columns: Columns) -> str:
    """Return what a reader must know of a condition: whether simulated, whether saturated."""
    rows = _asked(columns, condition)
    return ", ".join([*_simulated(rows), *(["saturated"] if saturated(rows) else [])])


def _tick(condition: str, columns: Columns) -> str:
    """Return a condition's name for an axis, which has little room: its title says the rest."""
    return f"{condition}, saturated" if saturated(_asked(columns, condition)) else condition


def saturated(columns: Columns) -> bool:
    """Tell whether PocketSphinx mishears so much of these that its transcripts tell nothing."""
    found = average(columns.where(columns.axis("recogniser") == "pocketsphinx"), "wer").value
    return found is not None and found > SATURATED


def is_simulated(recogniser: str) -> bool:
    """Tell whether a recogniser only plays one."""
    return recogniser.partition(":")[0] == SIMULATED


def ear(recogniser: str) -> str:
    """Return a recogniser's name; one that is simulated says so, whatever it is called."""
    if not is_simulated(recogniser):
        return recogniser
    return f"{recogniser.partition(':')[2] or recogniser} ({SIMULATED})"


def _simulated(rows: Columns) -> Iterator[str]:
    ears = {str(name) for name in rows.axis("recogniser") if name}
    n = sum(map(is_simulated, ears))
    if n:
        yield SIMULATED if n == len(ears) else f"{n}/{len(ears)} {SIMULATED}"


def _mark(told: str, columns: Columns) -> str:
    found = list(_simulated(columns))
    return f"{told} ({found[0]})" if found else told


def _asked(columns: Columns, condition: str) -> Columns:
    return columns.where(columns.axis("condition") == condition)


def _note(columns: Columns) -> str:
    """Explain the marks that stand beside conditions."""
    told = []
    if any(_simulated(columns)):
        told.append(
            " Simulated: recognisers whose transcripts are made from the text at a drawn error "
            "rate, not heard; 2/3 simulated: two of three."
        )
    if any(saturated(_asked(columns, name)) for name in conditions(columns)):
        told.append(
            f" Saturated: PocketSphinx's word error rate there is above {100 * SATURATED:.0f} %."
        )
    return "".join(told)


# --- one run ----------------------------------------------------------------------------


def views(task: Task, trajectory: Trajectory) -> Sequence[Table | Drawing | Audio]:
    """Return one episode to look at."""
    return speech_views.views(task, trajectory)


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return Table 1 and the comparisons of each reading, then failures and what was heard."""
    made: list[Table | Chart] = []
    for reading, columns in readings.items():
        if columns.run.any():
            made += [main(reading, columns), *_conditions(reading, columns)]
            made += _effects(reading, columns)
    first = next(iter(readings.values()))
    return [*made, *_failures(first), *_heard(first), *_voices(first)] if made else ()


def main(reading: str, columns: Columns) -> Table:
    """Return Table 1: a row per condition, every column with its half-width."""
    present = [name for name in TOLD if len(_column(columns, name))]
    rows: list[tuple[Cell, ...]] = []
    for condition in conditions(columns):
        asked = _asked(columns, condition)
        cells = [_wide(measure(OVERALL, asked)), *(_wide(leaf(asked, name)) for name in present)]
        mark = marks(condition, columns)
        rows.append((condition, mark, int(asked.run.sum()), *cells))
    return Table(
        title=title(reading),
        head=("condition", "recognisers", "n", "overall", *(TOLD[name] for name in present)),
        rows=tuple(rows),
        note=_NAMED + _note(columns),
    )


def title(reading: str) -> str:
    """Return the title of Table 1 in a reading."""
    return f"Accuracy by condition and category ({reading})"


def _wide(estimate: Estimate) -> str | None:
    """Return "61.4 ± 2.7", in per cent; None where nothing ran or a category lacks."""
    if estimate.value is None or estimate.partial:
        return None
    half = ((estimate.high or 0.0) - (estimate.low or 0.0)) / 2
    return f"{100 * estimate.value:.1f} ± {100 * half:.1f}"


def difference(columns: Columns, condition: str, base: str) -> Paired:
    """Compare two conditions item by item: the recognisers' answers to an item are averaged."""
    return paired(_asked(columns, condition), _asked(columns, base))


def _conditions(reading: str, columns: Columns) -> Iterator[Table]:
    """Return clean against text, noisy against text and clean: all items, then by group."""
    present = set(conditions(columns))
    rows: list[tuple[Cell, ...]] = []
    for condition, base in ((CLEAN, TEXT), (NOISY, TEXT), (NOISY, CLEAN)):
        if not {condition, base} <= present:
            continue
        for name, part in _groups(columns):
            found = difference(part, condition, base)
            if found.n_items:
                told = (named(condition, columns), named(base, columns))
                rows.append((name, *told, *_changed(found)))
    if rows:
        yield Table(
            title=f"Text, clean and noisy audio, item by item ({reading})",
            head=("items of", "condition", "against", *_CHANGED),
            rows=tuple(rows),
            note=_PAIRED + _note(columns),
        )


_CHANGED = ("points", "low", "high", "p", "items", "lost", "won")
_PAIRED = (
    "Accuracy in percentage points, paired by item; 95 % intervals over items. Lost and won: items "
    "that turn from mostly right to mostly wrong, and back. Each row is a test of its own."
)


def _groups(columns: Columns) -> Iterator[tuple[str, Columns]]:
    yield "all", columns
    found = []
    for group in GROUPS:
        names = [*leaves(group), *(["live_irrelevance"] if group is HALLUCINATION else [])]
        part = columns.where(np.isin(columns.category, names))
        if len(part):
            found.append((group.name.replace("_", "-"), part))
    yield from found if len(found) > 1 else ()


def _changed(found: Paired) -> tuple[Cell, ...]:
    seen = found.difference
    ends = (None if x is None else 100 * x for x in (seen.value, seen.low, seen.high))
    p = None if found.p is None else figures.chance(found.p)
    return (*ends, p, found.n_items, len(found.only_b), len(found.only_a))


# --- what each module and level costs ---------------------------------------------------


def _effects(reading: str, columns: Columns) -> Iterator[Table | Chart]:
    """Return every condition against clean sound: a table, bars of modules, lines over levels."""
    present = conditions(columns)
    base = CLEAN if CLEAN in present else TEXT
    others = [name for name in present if name not in (TEXT, CLEAN)]
    if base not in present or not others:
        return
    found = {name: difference(columns, name, base) for name in others}
    rows = [(named(name, columns), *_changed(x)) for name, x in found.items() if x.n_items]
    if not rows:
        return
    note = f"Against {named(base, columns)}. {_PAIRED}{_note(columns)}"
    yield Table(
        title=f"What each condition costs ({reading})",
        head=("condition", *_CHANGED),
        rows=tuple(rows),
        note=note,
    )
    yield from _charts(reading, columns, found, base)


def _charts(
    reading: str, columns: Columns, found: Mapping[str, Paired], base: str
) -> Iterator[Chart]:
    levels = [known for known in map(graded, found) if known]
    several = {family for family, _ in levels if sum(family == each for each, _ in levels) > 1}
    families: dict[str, dict[float, Paired]] = {}
    plain: dict[str, Paired] = {}
    for condition, x in found.items():
        family, level = graded(condition) or ("", 0.0)
        if family in several:
            families.setdefault(family, {})[level] = x
        else:
            plain[_tick(condition, columns)] = x
    label = f"accuracy against {base}, points"
    if plain:
        places = [float(i) for i in range(len(plain))]
        yield Chart(
            title=_mark(f"What each condition costs, drawn ({reading})", columns),
            kind="bar", ticks=tuple(plain),
            series=(_line("", places, list(plain.values())),), y_label=label,
            note="Paired by item; whiskers are 95 % intervals.",
        )  # fmt: skip
    for family, costs in families.items():
        noise = family.partition(":")[2]
        name = f"Signal-to-noise ratio{noise and f', {noise}'}" if _is_ratio(family) else family
        yield Chart(
            title=_mark(f"{name}: what each level costs ({reading})", columns),
            kind="line", series=(_line("", list(costs), list(costs.values())),),
            x_label="dB" if _is_ratio(family) else "severity", y_label=label,
            note="Paired by item; bars are 95 % intervals.",
        )  # fmt: skip


def _line(name: str, x: Sequence[float], found: Sequence[Paired]) -> Series:
    """Return differences as points; one without items is no number, and is not drawn."""

    def points(values: Iterator[float | None]) -> tuple[float, ...]:
        return tuple(float("nan") if value is None else 100 * value for value in values)

    seen = [each.difference for each in found]
    return Series(
        name=name, x=tuple(x), y=points(e.value for e in seen), low=points(e.low for e in seen),
        high=points(e.high for e in seen),
    )  # fmt: skip


# --- failures ---------------------------------------------------------------------------


def _failures(columns: Columns) -> Iterator[Table | Chart]:
    """Return the failure modes by condition; the written text has none: it is the control."""
    names = [*modes.MODES, modes.OTHER]
    counts: dict[str, list[int]] = {}
    for condition in conditions(columns):
        asked = _asked(columns, condition)
        failed = asked.where(asked.run & ~asked.correct)
        if condition != TEXT and len(failed):
            counts[condition] = tally(failed)
    if not counts:
        return
    told = [f"{name} {modes.MODES[name]}" if name in modes.MODES else name for name in names]
    yield Table(
        title="Failure modes",
        head=("condition", *told, "all"),
        rows=tuple((named(name, columns), *row, sum(row)) for name, row in counts.items()),
        note="Each failed answer once, under its primary mode. Other: the same error happens on "
        "the written text, or no rule explains it." + _note(columns),
    )
    x = tuple(float(i) for i in range(len(counts)))
    shares = [[n / sum(row) for n in row] for row in counts.values()]
    yield Chart(
        title=_mark("Failure modes, by share of failed answers", columns),
        kind="stack",
        series=tuple(
            Series(name=name, x=x, y=tuple(row[at] for row in shares))
            for at, name in enumerate(names)
        ),
        ticks=tuple(_tick(name, columns) for name in counts),
        y_label="share of failed answers",
    )


def tally(failed: Columns) -> list[int]:
    """Count failed answers by primary mode, FM1 to FM6; what has none is other, the last."""
    found = [str(native)[:3] for native in failed.native]
    counts = [found.count(mode) for mode in modes.MODES]
    return [*counts, len(found) - sum(counts)]


# --- what was heard ---------------------------------------------------------------------


def _heard(columns: Columns) -> Iterator[Table | Chart]:
    """Return error rates by condition and recogniser, and the word error rates drawn."""
    ears = sorted({str(name) for name in columns.axis("recogniser") if name}) or [""]
    rates: dict[str, list[Estimate]] = {name: [] for name in ears}
    rows: list[tuple[Cell, ...]] = []
    told = [name for name in conditions(columns) if name != TEXT]
    for condition in told:
        for name in ears:
            part = _asked(columns, condition)
            part = part.where(part.axis("recogniser") == name)
            found = average(part, "wer")
            rates[name].append(found)
            if found.n or not np.isnan(part.part("stoi")).all():
                mark = "saturated" if saturated(part) else ""
                rows.append((condition, ear(name), *_rates(part), mark))
    if not rows:
        return
    yield Table(
        title="The sound, and what recognisers made of it",
        head=("condition", "recogniser", *_RATES, "mark"),
        rows=tuple(rows),
        note=_RATED + _note(columns),
    )
    if any(found.n for line in rates.values() for found in line):
        yield Chart(
            title="Word error rate by condition", kind="bar", ticks=tuple(told),
            series=tuple(_rate(ear(name), found) for name, found in rates.items()),
            y_label="word error rate", note="Whiskers are 95 % intervals.",
        )  # fmt: skip


_RATES = ("n", "word error rate", "entity error rate", "STOI", "SNR dB")
_RATED = "Means over transcripts, in brackets 95 % intervals over items; rates may pass 100 %."


def _rates(part: Columns) -> tuple[Cell, ...]:
    words, entities, stoi = (average(part, name) for name in ("wer", "entity_wer", "stoi"))
    told = None if stoi.value is None else f"{stoi.value:.2f}"
    if told and stoi.low is not None and stoi.high is not None:
        told = f"{told} [{stoi.low:.2f},{figures.SPACE}{stoi.high:.2f}]"
    n = int(part.run.sum())
    return n, figures.share(words), figures.share(entities), told, average(part, "snr_db").value


def _rate(name: str, found: Sequence[Estimate]) -> Series:
    def numbers(values: Iterator[float | None]) -> tuple[float, ...]:
        return tuple(float("nan") if value is None else value for value in values)

    return Series(
        name=name, x=tuple(float(i) for i in range(len(found))),
        y=numbers(e.value for e in found), low=numbers(e.low for e in found),
        high=numbers(e.high for e in found),
    )  # fmt: skip


def _voices(columns: Columns) -> Iterator[Table]:
    """Return error rates and accuracy by voice engine and condition, where the parts tell them."""
    engines = sorted(part for part in columns.parts if part.startswith(ENGINE))
    rows: list[tuple[Cell, ...]] = []
    for engine in engines:
        spoke = columns.where(columns.part(engine) > 0)
        for condition in conditions(spoke):
            part = _asked(spoke, condition)
            right = figures.share(mean(part, "accuracy"))
            rows.append((engine.removeprefix(ENGINE), named(condition, columns), *_rates(part),
                         right))  # fmt: skip
    if rows:
        yield Table(
            title="Voice engines",
            head=("engine", "condition", *_RATES, "accuracy"),
            rows=tuple(rows),
            note=f"{_RATED} An episode of several voices counts with each.{_note(columns)}",
        )


# --- several runs -----------------------------------------------------------------------


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return Table 1 of each reading over several runs: a row per run and condition."""
    made: list[Table | Chart] = []
    for reading, runs in readings.items():
        ran = {name: columns for name, columns in runs.items() if columns.run.any()}
        if len(ran) < 2:
            continue
        own = {name: main(reading, columns) for name, columns in ran.items()}
        head = tuple(dict.fromkeys(column for table in own.values() for column in table.head))
        rows = [
            (name, *(dict(zip(table.head, row, strict=True)).get(column) for column in head))
            for name, table in own.items()
            for row in table.rows
        ]
        notes = dict.fromkeys(table.note for table in own.values())
        made.append(Table(title=title(reading), head=("run", *head), rows=tuple(rows),
                          note=max(notes, key=len)))  # fmt: skip
    return made
