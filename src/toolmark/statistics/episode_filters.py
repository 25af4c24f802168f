"""Which filters select the rows behind a cell: found from the rows themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from toolmark.core.records import EpisodeFilter, Table
from toolmark.statistics.score_columns import Columns, Mask, Names

MAX_WORDS = 40  # at most this many words of one field in a filter
_Condition = tuple[str, str, tuple[str, ...]]  # field, name, the words of which a row has one


class FilterFinder:
    """Finds filters for parts of the rows of a whole run; masks of the run are computed once.

    `rule` is the grading rule of the rows where it is not the page's own, the first.
    """

    def __init__(self, whole: Columns, rule: str = "") -> None:
        self._whole = whole
        self._rule = rule
        self._masks: dict[_Condition, Mask] = {}
        self._columns: dict[tuple[str, str], Names] = {}
        self._words: dict[tuple[str, str], set[str]] = {}

    def find_filter(self, part: Columns) -> EpisodeFilter | None:
        """Return the shortest filter that selects exactly these rows; None if none does.

        Words that all rows of the part share are tried together, then each is left out that selects
        nothing further. Where they select more, fields are tried of which each row has one of
        several words.
        """
        if not len(part):
            return None
        for conditions in (_shared_words(part), self._several_words(part)):
            chosen = list(conditions)
            if self._count_rows(chosen) == len(part):
                return self._shortest_filter(chosen)
        return None

    def find_cover(self, part: Columns) -> EpisodeFilter | None:
        """Return a filter that selects these rows, and others only if they have the same words.

        Rows that differ from others by a number of the verdict have no filter of their own: this
        one has the words that they share. None without rows.
        """
        if not len(part):
            return None
        return self.find_filter(part) or self._shortest_filter([*_shared_words(part)])

    def _shortest_filter(self, conditions: list[_Condition]) -> EpisodeFilter:
        shortest = self._drop_redundant(conditions, self._count_rows(conditions))
        return replace(_make_filter(shortest), rule=self._rule)

    def _drop_redundant(self, conditions: list[_Condition], n: int) -> list[_Condition]:
        for condition in list(conditions):
            rest = [each for each in conditions if each != condition]
            if self._count_rows(rest) == n:
                conditions = rest
        return conditions

    def _several_words(self, part: Columns) -> Iterator[_Condition]:
        """Yield the words that the rows have, field by field; first the fields with most words."""
        found: list[_Condition] = []
        for field, name in _filter_fields(part):
            words = set(map(str, _word_column(part, field, name)))
            if words == {""} or len(words) > MAX_WORDS:
                continue
            if field in ("cause", "suite_cause") and len(words) > 1:
                continue
            if field == "outcome" and len(words) > 1 and "not_run" in words:
                continue  # a filter has one outcome, or all that ran
            if words < self._whole_words(field, name):
                found.append((field, name, tuple(sorted(words))))
        yield from sorted(found, key=lambda condition: -len(condition[2]))

    def _count_rows(self, conditions: list[_Condition]) -> int:
        mask = np.ones(len(self._whole), dtype=bool)
        for condition in conditions:
            if condition not in self._masks:
                field, name, words = condition
                column = self._whole_column(field, name)
                self._masks[condition] = np.isin(column, np.array(words, dtype=object))
            mask &= self._masks[condition]
        return int(mask.sum())

    def _whole_column(self, field: str, name: str) -> Names:
        if (field, name) not in self._columns:
            self._columns[field, name] = _word_column(self._whole, field, name)
        return self._columns[field, name]

    def _whole_words(self, field: str, name: str) -> set[str]:
        if (field, name) not in self._words:
            self._words[field, name] = set(map(str, self._whole_column(field, name)))
        return self._words[field, name]


def link_rows(
    table: Table,
    whole: Columns,
    parts: Iterable[Columns | EpisodeFilter | None],
    *,
    rule: str = "",
    n_names: int = 1,
    columns: Sequence[EpisodeFilter | None] = (),
) -> Table:
    """Return a table whose cells link to the episodes behind them.

    Args:
        table: A table with a row for each part.
        whole: All rows of the run under the table's grading rule.
        parts: What each row of the table rests on: of rows those that ran (`find_cover`), or a
            filter; None where a row rests on no episode of the run.
        rule: The grading rule, "" for the page's own, the first.
        n_names: How many of the first columns are names, which have no link.
        columns: What the cells of each further column rest on, within those of their row; by
            default on all of them.
    """
    finder = FilterFinder(whole, rule)
    return replace(
        table,
        row_episodes=tuple(
            finder.find_cover(part.where(part.run)) if isinstance(part, Columns) else part
            for part in parts
        ),
        column_episodes=(
            *(None,) * n_names,
            *(columns or (EpisodeFilter(),) * (len(table.head) - n_names)),
        ),
    )


def _filter_fields(part: Columns) -> Iterator[tuple[str, str]]:
    """Yield the fields for which a page has a filter.

    First what describes a result, so that the words of the task stay where both select the same.
    Groups are no words of a task.
    """
    yield from (("outcome", ""), ("cause", ""), ("suite_cause", ""))
    yield from (("traits", name) for name in part.traits)
    yield "category", ""
    yield from (("axes", name) for name in part.axes if name != "group")


def _shared_words(part: Columns) -> Iterator[_Condition]:
    """Yield the words that all rows share."""
    ran = bool(part.run.all())
    for field, name in _filter_fields(part):
        column = _word_column(part, field, name)
        if column[0] and (column == column[0]).all():
            yield field, name, (str(column[0]),)
        elif field == "outcome" and ran:
            yield field, name, ("correct", "incorrect")


def _word_column(columns: Columns, field: str, name: str) -> Names:
    match field:
        case "outcome":
            ran = np.where(columns.correct, "correct", "incorrect")
            return np.where(columns.run, ran, "not_run").astype(object)
        case "cause":
            return columns.cause
        case "suite_cause":
            return columns.suite_cause
        case "category":
            return columns.category
        case "traits":
            return columns.trait_column(name)
        case _:
            return columns.axis(name)


def _make_filter(conditions: list[_Condition]) -> EpisodeFilter:
    found = EpisodeFilter()
    for field, name, several in conditions:
        words = several[0] if len(several) == 1 else several
        match field:
            case "cause":
                found = replace(found, cause=several)
            case "suite_cause":
                found = replace(found, cause=(*(found.cause or ("",)), *several))
            case "axes":
                found = replace(found, axes={**found.axes, name: words})
            case "traits":
                found = replace(found, traits={**found.traits, name: words})
            case "category":
                found = replace(found, category=words)
            case _:
                outcome = "run" if words == ("correct", "incorrect") else words
                found = replace(found, outcome=outcome)
    return found
