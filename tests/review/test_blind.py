"""Preferences between two runs: sides are shuffled, names are hidden, the sums are right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.review.conftest import Maker

from toolmark.errors import UsageError
from toolmark.review.blind import Blind
from toolmark.review.server import Answer
from toolmark.runs.store import Run
from toolmark.runs.tasks import Tasks
from toolmark.stats.interval import wilson


def decide(desk: Blind, choices: str) -> None:
    """Decide the pairs in order: a, b or t for a tie."""
    for n, choice in enumerate(choices, 1):
        left = desk.left(desk.keys[n - 1])
        word = "tie" if choice == "t" else "left" if choice == left else "right"
        desk.decide(n, Answer(word))


def test_sides_are_drawn_from_the_seed_and_even(make_run: Maker) -> None:
    a, b = make_run(n=60), make_run(n=60, model="test/two")
    drawn = {seed: [Blind(a, b, "ada", seed=seed).left(key) for key in Blind(a, b, "ada").keys]
             for seed in (0, 0, 1)}  # fmt: skip
    assert drawn[0] != drawn[1]
    assert 15 < drawn[0].count("a") < 45
    assert drawn[0] == [Blind(a, b, "bob").left(key) for key in Blind(a, b, "bob").keys]


def test_a_preference_is_for_the_run_whatever_its_side(make_run: Maker) -> None:
    a, b = make_run(), make_run(model="test/two")
    decide(Blind(a, b, "ada", seed=3), "aabbt")
    found = Blind(a, b, "ada", seed=9).outcome()  # the sides of another seed change nothing
    assert (found.n, found.n_a, found.n_b, found.n_ties) == (5, 2, 2, 1)
    assert found.share_a.value == 0.5
    assert (found.share_a.low, found.share_a.high) == wilson(2, 4)


def test_agreement_counts_where_both_set_a_side_above(make_run: Maker) -> None:
    a = make_run(wrong=(0,))  # the metric: b, a, a, equal, equal
    b = make_run(model="test/two", wrong=(1, 2))
    desk = Blind(a, b, "ada")
    decide(desk, "babta")
    found = desk.outcome()
    assert (found.agreement.value, found.agreement.n) == (2 / 3, 3)
    assert (found.agreement.low, found.agreement.high) == wilson(2, 3)
    assert [row[1:] for row in found.table.rows] == [(1, 0, 1, 0), (1, 1, 0, 0), (0, 0, 1, 0)]


def test_without_scores_there_is_no_agreement(make_run: Maker) -> None:
    a, b = make_run(), make_run(model="test/two")
    (b.path / "scores.jsonl").unlink()
    desk = Blind(a, b, "ada")
    decide(desk, "aaaaa")
    assert desk.outcome().agreement.value is None
    assert [row[4] for row in desk.outcome().table.rows] == [5, 0, 0]
    assert not any("metric" in line for line in desk.lines())


def test_names_are_told_at_the_end_only(make_run: Maker) -> None:
    a, b = make_run(model="test/alpha"), make_run(model="test/beta")
    desk = Blind(a, b, "ada")
    decide(desk, "abab")
    assert desk.next() == "5"
    assert desk.lines() == ("1 pair open: the names and the result are shown at the end",)
    pages = [desk.end(), *map(desk.page, range(1, 6))]
    assert not any("alpha" in page or "beta" in page for page in pages)
    decide(desk, "ababa")
    assert desk.next() == "end"
    assert "A is test/alpha, B is test/beta." in desk.end()


def test_several_reviewers_have_a_word_each(make_run: Maker) -> None:
    a, b = make_run(), make_run(model="test/two")
    decide(Blind(a, b, "ada"), "aaaaa")
    desk = Blind(a, b, "bob")
    assert desk.next() == "1"
    decide(desk, "bbbbb")
    decide(desk, "a")
    found = desk.outcome()
    assert (found.n_a, found.n_b) == (6, 4)
    low, high = found.share_a.low, found.share_a.high
    assert low is not None
    assert high is not None
    assert high - low > wilson(6, 10)[1] - wilson(6, 10)[0]  # two words on one item are alike


def test_runs_that_cannot_be_compared_are_refused(make_run: Maker, tmp_path: Path) -> None:
    a = make_run()
    with pytest.raises(UsageError, match="two different runs"):
        Blind(a, a, "ada")
    b = make_run(model="test/two")
    path = b.path / "tasks.jsonl"
    assert len(Blind(a, b, "ada")) == 5
    decide(Blind(a, b, "ada"), "aaaaa")
    other = make_run(model="test/three", n=2)
    assert len(Blind(a, other, "ada")) == 2
    assert Blind(a, other, "ada").next() == "1"  # preferences of another pair of runs
    info = json.loads((b.path / "run.json").read_text())
    path.write_text(path.read_text().replace("What do the drinks", "What would the drinks"))
    info.pop("tasks_sha256")
    info["tasks_sha256"] = Tasks(path).sha256
    (b.path / "run.json").write_text(json.dumps(info))
    with pytest.raises(UsageError, match="no episode of the same task"):
        Blind(a, Run(b.path), "ada")


def test_an_unknown_choice_is_refused(make_run: Maker) -> None:
    desk = Blind(make_run(), make_run(model="test/two"), "ada")
    with pytest.raises(UsageError, match="known: left, right, tie"):
        desk.decide(1, Answer("a"))
    assert not desk.log.path.exists()
