"""What was heard and how answers failed: error rates by recogniser and voice, failure modes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.summary import mean
from toolmark.suites.mfcl import modes
from toolmark.suites.mfcl import speech_marks as marks
from toolmark.types import Chart, Estimate, Series, Table

ENGINE, VOICE = "engine:", "voice:"
"""Parts of a verdict, `engine:NAME` and `voice:ENGINE NAME`: 1 where it spoke in the episode."""
ASKED, ANSWERED = "asked", "answered"
"""Parts of a verdict: questions to the user in the episode, and those that were answered."""
Cell: TypeAlias = str | float | int | None
_OTHERS = {modes.OTHER: "other: same on text", modes.UNEXPLAINED: "no rule fits"}


def failures(columns: Columns) -> Iterator[Table | Chart]:
    """Return the failure modes by condition; the written text has none: it is the control."""
    names = [*modes.MODES, *_OTHERS]
    counts: dict[str, list[int]] = {}
    for condition in marks.conditions(columns):
        asked = marks.asked(columns, condition)
        failed = asked.where(asked.run & ~asked.correct)
        if condition != marks.TEXT and len(failed):
            counts[condition] = tally(failed)
    if not counts:
        return
    told = [_OTHERS.get(name) or f"{name} {modes.MODES[name]}" for name in names]
    yield Table(
        title="Failure modes",
        head=("condition", *told, "all"),
        rows=tuple((marks.named(name, columns), *row, sum(row)) for name, row in counts.items()),
        note="Each failed answer once, under its primary mode. Other: the same turn, tool and "
        "parameter go wrong on the written text too, where that was asked. No rule fits: the "
        "written text was answered otherwise, or not asked." + marks.note(columns),
    )
    x = tuple(float(i) for i in range(len(counts)))
    shares = [[100 * n / sum(row) for n in row] for row in counts.values()]
    yield Chart(
        title=marks.mark("Failure modes, by share of failed answers", columns),
        kind="stack",
        series=tuple(
            Series(name=_OTHERS.get(name, name), x=x, y=tuple(row[at] for row in shares))
            for at, name in enumerate(names)
        ),
        ticks=tuple(marks.tick(name, columns) for name in counts),
        y_label="% of failed answers",
    )


def tally(failed: Columns) -> list[int]:
    """Count failed answers by primary mode, FM1 to FM6, then other, then what no rule explains."""
    found = [str(native) for native in failed.native]
    counts = [found.count(mode) for mode in (*modes.MODES, modes.OTHER)]
    return [*counts, len(found) - sum(counts)]


def questions(columns: Columns) -> Iterator[Table]:
    """Return how often the user was asked back by condition, and what came of it."""
    rows: list[tuple[Cell, ...]] = []
    for condition in marks.conditions(columns):
        ran = marks.asked(columns, condition)
        ran = ran.where(ran.run)
        asked, answered = (int(np.nansum(ran.part(name))) for name in (ASKED, ANSWERED))
        episodes = int(np.nansum(ran.part(ASKED) > 0))
        mark = marks.named(condition, columns)
        rows.append((mark, len(ran), episodes, asked, answered, asked - answered))
    if any(row[3] for row in rows):
        yield Table(
            title="Asking back",
            head=("condition", "answers", "of these asked", "questions", "answered", "refused"),
            rows=tuple(rows),
            note='Questions to the simulated user; a message without one ("Done.") is none. '
            "Refused: it asked for something that is not on the whitelist, or too often."
            + marks.note(columns),
        )


def recognised(columns: Columns) -> Iterator[Table | Chart]:
    """Return error rates by condition and recogniser, and the word error rates drawn."""
    ears = sorted({str(name) for name in columns.axis("recogniser") if name}) or [""]
    rates: dict[str, list[Estimate]] = {name: [] for name in ears}
    rows: list[tuple[Cell, ...]] = []
    told = [name for name in marks.conditions(columns) if name != marks.TEXT]
    for condition in told:
        for name in ears:
            part = marks.asked(columns, condition)
            part = part.where(part.axis("recogniser") == name)
            found = marks.average(part, "wer")
            rates[name].append(found)
            if found.n or not np.isnan(part.part("stoi")).all():
                mark = "saturated" if marks.saturated(part) else ""
                rows.append((condition, marks.ear(name), *_rates(part), mark))
    if not rows:
        return
    heard = any(found.n for line in rates.values() for found in line)
    yield filled(Table(
        title="The sound, and what recognisers made of it" if heard else "The sound",
        head=("condition", "recogniser", *_RATES, "mark"),
        rows=tuple(rows),
        note=(_RATED if heard else _SOUND) + marks.note(columns),
    ))  # fmt: skip
    if heard and len(told) * len(ears) > 1:
        yield Chart(
            title="Word error rate by condition", kind="bar", ticks=tuple(told),
            series=tuple(_rate(marks.ear(name), found) for name, found in rates.items()),
            y_label="word error rate, %", note="Whiskers are 95 % intervals.",
        )  # fmt: skip


_RATES = ("n", "word error rate", "entity error rate", "STOI", "SNR dB")
_EMPTY = (None, "", figures.DASH)
_SOUND = "Means over clips, in brackets 95 % intervals over items."
_RATED = (
    "Means over transcripts, each of which counts alike however long; in brackets 95 % intervals "
    "over items. Transcripts are compared with what was said, disfluencies included; rates may "
    "pass 100 %."
)


def filled(table: Table) -> Table:
    """Return a table without the columns in which no row has anything."""
    kept = [at for at in range(len(table.head)) if any(row[at] not in _EMPTY for row in table.rows)]
    rows = tuple(tuple(row[at] for at in kept) for row in table.rows)
    return replace(table, head=tuple(table.head[at] for at in kept), rows=rows)


def _rates(part: Columns) -> tuple[Cell, ...]:
    words, entities, stoi = (marks.average(part, name) for name in ("wer", "entity_wer", "stoi"))
    told = None if stoi.value is None else f"{stoi.value:.2f}"
    if told and stoi.low is not None and stoi.high is not None:
        told = f"{told} [{stoi.low:.2f},{figures.SPACE}{stoi.high:.2f}]"
    n = int(part.run.sum())
    ratio = marks.average(part, "snr_db").value
    return n, figures.share(words), figures.share(entities), told, ratio


def _rate(name: str, found: Sequence[Estimate]) -> Series:
    def numbers(values: Iterator[float | None]) -> tuple[float, ...]:
        return tuple(float("nan") if value is None else 100 * value for value in values)

    return Series(
        name=name, x=tuple(float(i) for i in range(len(found))),
        y=numbers(e.value for e in found), low=numbers(e.low for e in found),
        high=numbers(e.high for e in found),
    )  # fmt: skip


def voices(columns: Columns) -> Iterator[Table]:
    """Return error rates and accuracy by engine and condition, and by voice over all conditions."""
    rows: list[tuple[Cell, ...]] = []
    for engine, spoke in _spoken(columns, ENGINE):
        for condition in marks.conditions(spoke):
            part = marks.asked(spoke, condition)
            right = figures.share(mean(part, "accuracy"))
            rows.append((engine, marks.named(condition, columns), *_rates(part), right))
    rated = _SOUND if np.isnan(columns.part("wer")).all() else _RATED
    told = f"{rated} An episode of several voices counts with each.{marks.note(columns)}"
    if rows:
        head = ("engine", "condition", *_RATES, "accuracy")
        yield filled(Table(title="Voice engines", head=head, rows=tuple(rows), note=told))
    rows = []
    for name, part in _spoken(columns, VOICE):
        engine, _, own = name.partition(" ")
        right = figures.share(mean(part, "accuracy"))
        rows.append((engine, marks.mark(own, part), *_rates(part), right))
    if rows:
        title, head = "Voices, over all conditions", ("engine", "voice", *_RATES, "accuracy")
        yield filled(Table(title=title, head=head, rows=tuple(rows), note=told))


def _spoken(columns: Columns, prefix: str) -> Iterator[tuple[str, Columns]]:
    """Go through what spoke, with the answers to what it said."""
    for part in sorted(name for name in columns.parts if name.startswith(prefix)):
        yield part.removeprefix(prefix), columns.where(columns.part(part) > 0)
