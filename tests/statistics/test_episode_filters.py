"""A filter selects exactly the rows that it was found for."""

from __future__ import annotations

import itertools
import random

import numpy as np

from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import EpisodeFilter, Label, Score, Verdict
from toolmark.statistics.episode_filters import FilterFinder
from toolmark.statistics.group_tables import count_run, group_table
from toolmark.statistics.score_columns import Columns, Mask, Names, gather_columns


def draw_scores(rng: random.Random, n: int) -> list[Score]:
    made = []
    for at in range(n):
        axes = {"core": rng.choice("567"), "kind": rng.choice(["", "half"])}
        if rng.random() < 0.1:
            made.append(Score(task=f"t{at}", item=f"t{at}", axes=axes, failure=NOT_REACHED))
            continue
        right = rng.random() < 0.5
        label = Label(cause=rng.choice(["state", "format"]), suite_cause="x", primary=True)
        verdict = Verdict(
            outcome="correct" if right else "incorrect",
            value=float(right),
            labels=() if right else (label,),
            traits={"ending": rng.choice(["answer", "call limit"])},
        )
        made.append(
            Score(task=f"t{at}", item=f"t{at}", category=rng.choice("ab"), axes=axes,
                  verdicts={"official": verdict})
        )  # fmt: skip
    return made


def selected(columns: Columns, found: EpisodeFilter) -> Mask:
    """Apply a filter as the page does."""
    mask = np.ones(len(columns), dtype=bool)
    if found.outcome == "run":
        mask &= columns.run
    elif found.outcome:
        ran = np.where(columns.correct, "correct", "incorrect")
        mask &= np.where(columns.run, ran, "not_run") == found.outcome
    for word, column in zip(found.cause, (columns.cause, columns.suite_cause), strict=False):
        mask &= (column == word) | (word == "")
    if found.category:
        mask &= among(columns.category, found.category)
    for name, level in found.axes.items():
        mask &= among(columns.axis(name), level)
    for name, words in found.traits.items():
        mask &= among(columns.trait_column(name), words)
    return mask


def among(column: Names, words: str | tuple[str, ...]) -> Mask:
    return np.isin(column, np.array([words] if isinstance(words, str) else words, dtype=object))


def test_a_filter_selects_exactly_its_rows() -> None:
    rng = random.Random(3)
    columns = gather_columns(draw_scores(rng, 300), "official")
    finder = FilterFinder(columns)
    n_found = 0
    for core, category, ending in itertools.product("567", ("a", "b", ""), ("answer", "")):
        mask = columns.axis("core") == core
        if category:
            mask &= columns.category == category
        if ending:
            mask &= columns.trait_column("ending") == ending
        found = finder.find_filter(columns.where(mask))
        assert found is not None
        assert (selected(columns, found) == mask).all()
        n_found += 1
        assert found.axes["core"] == core
        assert bool(found.category) == bool(category)
    assert n_found == 18


def test_rows_with_one_of_several_words_and_those_that_ran_have_a_filter() -> None:
    columns = gather_columns(draw_scores(random.Random(6), 300), "official")
    finder = FilterFinder(columns)
    core = columns.axis("core")
    for mask in (
        columns.run,
        np.isin(core, ["5", "7"]),
        np.isin(core, ["5", "7"]) & columns.run & (columns.category == "a"),
        columns.suite_cause == "x",
        (core == "6") & (columns.cause == "state"),
    ):
        found = finder.find_filter(columns.where(mask))
        assert found is not None and (selected(columns, found) == mask).all()


def test_a_cover_has_the_rows_and_no_more_than_their_words_tell() -> None:
    columns = gather_columns(draw_scores(random.Random(7), 300), "official")
    finder = FilterFinder(columns)
    within = columns.run & (columns.axis("core") == "5")
    mask = within & (np.arange(300) % 3 > 0)
    found = finder.find_cover(columns.where(mask))
    assert found is not None and (selected(columns, found) == within).all()


def test_rows_that_no_filter_selects_have_none() -> None:
    columns = gather_columns(draw_scores(random.Random(4), 100), "official")
    finder = FilterFinder(columns)
    assert finder.find_filter(columns.where(np.arange(0, 100, 7))) is None
    assert finder.find_filter(columns.where(np.zeros(100, dtype=bool))) is None
    assert finder.find_filter(columns) == EpisodeFilter()


def test_a_table_of_groups_links_its_cells_and_not_its_names() -> None:
    columns = gather_columns(draw_scores(random.Random(5), 200), "official")
    groups = [((core,), columns.where(columns.axis("core") == core)) for core in "567"]
    made = group_table("t", ("core",), groups, {"n": count_run}, whole=columns)
    assert [found.axes for found in made.row_episodes if found] == [{"core": x} for x in "567"]
    assert made.column_episodes == (None, EpisodeFilter())
    assert not group_table("t", ("core",), groups, {"n": count_run}).row_episodes
