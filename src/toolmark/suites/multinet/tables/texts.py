"""Tables of free answers: short texts, and function calls turn by turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan

import numpy as np

from toolmark.score import similarity
from toolmark.score.spread import Reading
from toolmark.score.turns import Conversations, Turns
from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.summary import average
from toolmark.suites.multinet.tables import measure
from toolmark.suites.multinet.tables.measure import Cell, Variants
from toolmark.types import Chart, Series, Table

_HEAD = ("", "n", "exact", "exact of valid", "invalid", "similarity", f"≥ {similarity.SIMILAR}")
_TEXT = (
    "Exact: the same words once case, punctuation and spaces are set aside. Similarity: the cosine "
    "of the answers' embeddings, 0 where invalid; a dash where no encoder is installed (the extra "
    "`embed`)."
)
_MORE = "Standard deviation of the rows themselves. An invalid answer is like nothing: 0."
_CALLS = (
    "Exact by strings: the calls of every turn letter by letter, as the paper has it; in the "
    "reference reading those of all turns in one list, wherever a turn ends: a conversation can be "
    "right there though a turn of it is invalid. Equal calls may "
    "differ there by a space or by the order of arguments. By structure: names and values "
    "compared. A "
    "tool call has no spelling, so in that form both columns are by structure. Invalid: "
    "conversations with a turn that is empty where calls were wanted; invalid turns: the share of "
    "such turns. First failure: the turn, one past the last where there is none."
)
_TURNS = (
    "All calls: the share of conversations that have every call of that turn right and no other. "
    "Recall: the share of the turn's calls that stand in their place before the first wrong one of "
    "that turn; each turn is counted by itself, whatever went wrong before it."
)


# --- texts ------------------------------------------------------------------------------


def texts(readings: Mapping[str, Columns], by: str) -> Iterator[Table | Chart]:
    """Go through what there is to see of short texts, by category too."""
    variants = measure.variants(readings)
    own = measure.named(variants)
    yield answers(own)
    yield from more(own)
    _, first = measure.first(own)
    names = measure.levels(first.category)
    if len(names) > 1:
        yield _categories(measure.forms(variants), names, by)


def _categories(forms: Variants, names: Sequence[str], by: str) -> Table:
    """Return the shares by category in each form, the baselines' beside one's own."""
    _, first = measure.first(forms)
    guesses = measure.guesses(first)
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        for form, (reading, columns) in forms.items():
            part = columns.where((columns.category == name) & columns.run)
            if len(part):
                right = (measure.right(part, each) for each in guesses)
                rows.append((name, *_text(form, reading, part), *right))
    note = "Last the baselines' exact match on the same rows." if guesses else ""
    names_of = (measure.called(first, each) for each in guesses)
    return Table(title=f"Texts by {by}", head=(by, "form", *_HEAD[1:], *names_of),
                 rows=tuple(rows), note=note + measure.caveat(first))  # fmt: skip


def answers(own: Variants) -> Table:
    """Return one's own rows and the baselines', which answered the same items."""
    reading, first = measure.first(own)
    rows = [_text(name, *found) for name, found in own.items()]
    rows += [
        _text(measure.called(first, name), reading, measure.guess(first, name), own=False)
        for name in measure.guesses(first)
    ]
    note = f"{_TEXT} In brackets 95 % intervals over {measure.counted(first)}"
    note += f"{measure.FEW}.{measure.caveat(first)}"
    return Table(title="Texts", head=_HEAD, rows=measure.joined(rows), note=note)


def more(own: Variants) -> Iterator[Table]:
    """Return how the similarities of one's own rows spread, where there are some."""
    found = {name: _found(columns, reading) for name, (reading, columns) in own.items()}
    keys = ("similarity", "similarity_min", "similarity_max", "similarity_std")
    rows: list[tuple[Cell, ...]] = [
        (name, int(told["n"]), *(figures.decimal(told[key]) for key in keys))
        for name, told in found.items() if "similarity" in told
    ]  # fmt: skip
    if rows:
        head = ("", "n", "similarity", "least", "largest", "standard deviation")
        yield Table(title="More measures: texts", head=head, rows=measure.joined(rows), note=_MORE,
                    fold=True)  # fmt: skip


def _found(columns: Columns, reading: Reading) -> dict[str, float]:
    """Ask the library of metrics."""
    ran = columns.where(columns.run)
    alike = ran.part("similarity")
    made = similarity.Texts(reading)
    made.mark((ran.value == 1).tolist(), (ran.part("valid") == 1).tolist())
    made.add(alike[~np.isnan(alike)])
    return made.found()


def _text(name: str, reading: Reading, columns: Columns, *, own: bool = True) -> tuple[Cell, ...]:
    found = _found(columns, reading)
    if not found["n"]:
        return (name, 0)
    told = own and "similarity" in found
    return (
        name,
        int(found["n"]),
        figures.share(measure.exact(columns)),
        figures.share(measure.exact(measure.readable(columns))),
        figures.percent(found["invalid_rate"]),
        figures.number(average(columns, "similarity")) if told else None,
        figures.percent(found["similar"]) if told else None,
    )


# --- calls ------------------------------------------------------------------------------


def calls(readings: Mapping[str, Columns], by: str) -> Iterator[Table | Chart]:
    """Go through what there is to see of function calls, turn by turn."""
    yield from conversations(measure.named(measure.variants(readings)))


def conversations(own: Variants) -> Iterator[Table | Chart]:
    """Return one's own rows and the baselines', then how far each gets."""
    _, first = measure.first(own)
    talks = {name: _talks(columns, reading) for name, (reading, columns) in own.items()}
    rows = [_calls(name, columns, talks[name]) for name, (_, columns) in own.items()]
    rows += [_guessed(name, first) for name in measure.guesses(first)]
    head = ("", "conversations", "exact by strings", "exact by structure", "of valid", "invalid",
            "invalid turns", "first failure", "turns", "calls", "calls wanted")  # fmt: skip
    note = f"{_CALLS} In brackets 95 % intervals over {measure.counted(first)}."
    note += measure.caveat(first)
    yield Table(title="Conversations", head=head, rows=measure.joined(rows), note=note)
    if any(each.recalls() for each in talks.values()):
        yield _turns(talks)
        yield Chart(
            title="Recall of calls by turn", kind="line",
            series=tuple(
                Series(name=name, x=tuple(map(float, each.recalls())),
                       y=tuple(each.recalls().values()))
                for name, each in talks.items()
            ),
            x_label="turn", y_label="recall", note=_TURNS[_TURNS.index("Recall:") :],
        )  # fmt: skip


def _turns(talks: Mapping[str, Conversations]) -> Table:
    """Return what was right turn by turn."""
    n = max(len(each.accuracies()) for each in talks.values())
    rows: list[tuple[Cell, ...]] = []
    for name, each in talks.items():
        for what, found in (("all calls", each.accuracies()), ("recall", each.recalls())):
            rows.append((name, what, *(found.get(at) for at in range(1, n + 1))))
    return Table(title="Calls by turn", head=("", "", *(f"turn {at}" for at in range(1, n + 1))),
                 rows=measure.joined(rows), heat=n, note=_TURNS)  # fmt: skip


def _talks(columns: Columns, reading: Reading) -> Conversations:
    """Put conversations together again, for the library of metrics."""
    ran = columns.where(columns.run)
    parts = {name: column.tolist() for name, column in ran.parts.items()}
    n = sum(name.startswith("match.") for name in parts)
    made = Conversations(reading)
    for row, right in enumerate(ran.value.tolist()):
        told = {name: column[row] for name, column in parts.items()}
        there = [at for at in range(1, n + 1) if not isnan(told[f"match.{at}"])]
        recalls = (told.get(f"recall.{at}", nan) for at in there)
        counts = (_whole(told.get(name, nan)) for name in _COUNTS)
        made.add(Turns(right == 1, tuple(told[f"match.{at}"] == 1 for at in there),
                       tuple(None if isnan(x) else x for x in recalls), *counts),
                 _whole(told["turns"]))  # fmt: skip
    return made


_COUNTS = ("first_failure", "invalid_turns", "calls", "calls_truth")


def _whole(number: float) -> int:
    return 0 if isnan(number) else int(number)


def _calls(name: str, columns: Columns, talks: Conversations) -> tuple[Cell, ...]:
    ran = columns.where(columns.run)
    if not len(ran):
        return (name, 0)
    found = talks.found()
    return (
        name,
        talks.n,
        figures.share(measure.exact(columns)),
        figures.share(measure.share(ran, "ast")),
        figures.share(measure.exact(measure.readable(ran))),
        figures.percent(found["invalid_conversation_percentage"] / 100),
        figures.percent(found["invalid_turn_percentage"] / 100),
        f"{found['avg_turn_of_first_failure']:.2f}",
        f"{talks.turns / talks.n:.2f}",
        f"{found['avg_predicted_functions_per_sample']:.2f}",
        f"{found['avg_ground_truth_functions_per_sample']:.2f}",
    )


def _guessed(name: str, columns: Columns) -> tuple[Cell, ...]:
    """Return the cells of a baseline, of which only whether it was exact is known."""
    found = measure.guess(columns, name)
    return (measure.called(columns, name), len(found), figures.share(measure.exact(found)))
