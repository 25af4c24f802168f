"""Tables of free answers: short texts, and function calls turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.summary import average
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import Cell, Variants
from toolmark.suites.multinet.tables.odds import number
from toolmark.types import Chart, Series, Table

ALIKE = 0.8
"""Cosine from which two texts count as alike."""
_HEAD = ("", "n", "exact", "exact of valid", "invalid", "similarity", f"≥ {ALIKE}")
_TEXT = (
    "Exact: the same words once case, punctuation and spaces are set aside. Similarity: the cosine "
    "of the answers' embeddings, 0 where invalid; a dash where no encoder is installed (the extra "
    "`embed`)."
)
_CALLS = (
    "Exact by strings: the calls of all turns in one list, letter by letter, as the paper has it; "
    "equal calls may differ there by a space or by the order of arguments. By structure: names and "
    "values compared. First failure: the turn, one past the last where there is none."
)


# --- texts ------------------------------------------------------------------------------


def texts(readings: Mapping[str, Columns], by: str) -> Iterator[Table | Chart]:
    """Go through what there is to see of short texts, by category too."""
    own = measure.named(measure.variants(readings))
    yield answers(own)
    _, first = measure.first(own)
    names = measure.levels(first.category)
    if len(names) > 1:
        guesses = measure.guesses(first)
        parts = {name: first.where((first.category == name) & first.run) for name in names}
        yield Table(
            title=f"Texts by {by}",
            head=(by, *_HEAD[1:], *guesses),
            rows=tuple(
                (*_text(name, part), *(measure.right(part, each) for each in guesses))
                for name, part in parts.items() if len(part)
            ),
            note="Last the baselines' exact match on the same rows." if guesses else "",
        )  # fmt: skip


def answers(own: Variants) -> Table:
    """Return one's own rows and the baselines', which answered the same items."""
    _, first = measure.first(own)
    rows = [_text(name, columns) for name, (_, columns) in own.items()]
    rows += [_text(name, measure.guess(first, name), own=False) for name in measure.guesses(first)]
    note = f"{_TEXT} In brackets 95 % intervals over {measure.counted(first)}."
    return Table(title="Texts", head=_HEAD, rows=tuple(rows), note=note)


def _text(name: str, columns: Columns, *, own: bool = True) -> tuple[Cell, ...]:
    ran = columns.where(columns.run)
    if not len(ran):
        return (name, 0, *(None,) * 5)
    alike = ran.part("similarity")
    told = own and not np.isnan(alike).all()
    return (
        name,
        len(ran),
        figures.share(measure.exact(columns)),
        figures.share(measure.exact(measure.readable(ran))),
        measure.invalid(ran),
        number(average(ran, "similarity")) if told else None,
        figures.percent(float((alike[~np.isnan(alike)] >= ALIKE).mean())) if told else None,
    )


# --- calls ------------------------------------------------------------------------------


def calls(readings: Mapping[str, Columns], by: str) -> Iterator[Table | Chart]:
    """Go through what there is to see of function calls, turn by turn."""
    yield from conversations(measure.named(measure.variants(readings)))


def conversations(own: Variants) -> Iterator[Table | Chart]:
    """Return one's own rows and the baselines', then how far each gets."""
    _, first = measure.first(own)
    rows = [_calls(name, columns) for name, (_, columns) in own.items()]
    rows += [_guessed(name, first) for name in measure.guesses(first)]
    head = ("", "conversations", "exact by strings", "exact by structure", "of valid", "invalid",
            "first failure", "turns")  # fmt: skip
    yield Table(title="Conversations", head=head, rows=tuple(rows), note=_CALLS)
    shown = {name: _recalls(columns) for name, (_, columns) in own.items()}
    if any(shown.values()):
        yield Chart(
            title="Recall of calls by turn, until the first failure", kind="line",
            series=tuple(
                Series(name=name, x=tuple(map(float, line)), y=tuple(line.values()))
                for name, line in shown.items()
            ),
            x_label="turn", y_label="recall",
            note="Turns after the first that failed count 0.",
        )  # fmt: skip


def _recalls(columns: Columns) -> dict[int, float]:
    """Return the mean recall by turn."""
    found = {
        int(part.removeprefix("recall.")): float(np.nanmean(column))
        for part, column in columns.parts.items()
        if part.startswith("recall.") and not np.isnan(column).all()
    }
    return dict(sorted(found.items()))


def _calls(name: str, columns: Columns) -> tuple[Cell, ...]:
    ran = columns.where(columns.run)
    if not len(ran):
        return (name, 0)
    return (
        name,
        len(ran),
        figures.share(measure.exact(columns)),
        figures.share(measure.share(ran, "ast")),
        figures.share(measure.exact(measure.readable(ran))),
        measure.invalid(ran),
        _average(ran, "first_failure"),
        _average(ran, "turns"),
    )


def _guessed(name: str, columns: Columns) -> tuple[Cell, ...]:
    """Return the cells of a baseline, of which only whether it was exact is known."""
    found = measure.guess(columns, name)
    return (name, len(found), figures.share(measure.exact(found)))


def _average(columns: Columns, part: str) -> str | None:
    found = average(columns, part)
    return None if found.value is None else f"{found.value:.2f}"
