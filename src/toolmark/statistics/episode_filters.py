"""Which filters select the rows behind a cell: found from the rows themselves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from toolmark.core.records import EpisodeFilter
from toolmark.statistics.score_columns import Columns, Mask, Names

_Condition = tuple[str, str, str]  # field, name, word


class FilterFinder:
    """Finds filters for parts of the rows of a whole run; masks of the run are computed once."""

    def __init__(self, whole: Columns) -> None:
        self._whole = whole
        self._masks: dict[_Condition, Mask] = {}

    def find_filter(self, part: Columns) -> EpisodeFilter | None:
        """Return the shortest filter that selects exactly these rows; None if none does.

        Words that all rows of the part share are tried together, then each is left out that selects
        nothing further.
        """
        if not len(part):
            return None
        shared = list(_shared_words(part))
        if self._count_rows(shared) != len(part):
            return None
        for condition in list(shared):
            rest = [each for each in shared if each != condition]
            if self._count_rows(rest) == len(part):
                shared = rest
        return _make_filter(shared)

    def _count_rows(self, conditions: list[_Condition]) -> int:
        mask = np.ones(len(self._whole), dtype=bool)
        for condition in conditions:
            if condition not in self._masks:
                field, name, word = condition
                self._masks[condition] = _word_column(self._whole, field, name) == word
            mask &= self._masks[condition]
        return int(mask.sum())


def _shared_words(part: Columns) -> Iterator[_Condition]:
    """Yield the words that all rows share; those that a page has no filter for are left out.

    First what describes a result, so that the words of the task stay where both select the same.
    """
    fields = [("outcome", ""), ("cause", ""), *(("traits", name) for name in part.traits)]
    fields += [("category", ""), *(("axes", name) for name in part.axes)]
    for field, name in fields:
        column = _word_column(part, field, name)
        if column[0] and (column == column[0]).all():
            yield field, name, str(column[0])


def _word_column(columns: Columns, field: str, name: str) -> Names:
    match field:
        case "outcome":
            ran = np.where(columns.correct, "correct", "incorrect")
            return np.where(columns.run, ran, "not_run").astype(object)
        case "cause":
            return columns.cause
        case "category":
            return columns.category
        case "traits":
            return columns.trait_column(name)
        case _:
            return columns.axis(name)


def _make_filter(conditions: list[_Condition]) -> EpisodeFilter:
    found = EpisodeFilter()
    for field, name, word in conditions:
        match field:
            case "cause":
                found = replace(found, cause=(word,))
            case "axes":
                found = replace(found, axes={**found.axes, name: word})
            case "traits":
                found = replace(found, traits={**found.traits, name: word})
            case "outcome" if word in ("correct", "incorrect", "not_run"):
                found = replace(found, outcome=word)
            case _:
                found = replace(found, category=word)
    return found
