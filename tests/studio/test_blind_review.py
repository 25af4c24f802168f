"""Preferences between two runs: sides are shuffled, names are hidden, the sums are right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.studio.conftest import Maker

from toolmark.core.errors import UsageError
from toolmark.runs.run_store import Run
from toolmark.runs.task_files import TaskLookup
from toolmark.statistics.confidence_intervals import wilson
from toolmark.studio.blind_review import BlindReview
from toolmark.studio.review_server import ReviewAnswer


def decide(desk: BlindReview, choices: str) -> None:
    """Decide the pairs in order: a, b or t for a tie."""
    for n, choice in enumerate(choices, 1):
        left = desk.left_run(desk.keys[n - 1])
        word = "tie" if choice == "t" else "left" if choice == left else "right"
        desk.record_answer(n, ReviewAnswer(word))


def test_sides_are_drawn_from_the_seed_and_even(make_run: Maker) -> None:
    a, b = make_run(n=60), make_run(n=60, model="test/two")
    drawn = {
        seed: [
            BlindReview(a, b, "ada", seed=seed).left_run(key)
            for key in BlindReview(a, b, "ada").keys
        ]
        for seed in (0, 0, 1)
    }
    assert drawn[0] != drawn[1]
    assert 15 < drawn[0].count("a") < 45
    assert drawn[0] == [
        BlindReview(a, b, "bob").left_run(key) for key in BlindReview(a, b, "bob").keys
    ]


def test_a_preference_is_for_the_run_whatever_its_side(make_run: Maker) -> None:
    a, b = make_run(), make_run(model="test/two")
    decide(BlindReview(a, b, "ada", seed=3), "aabbt")
    found = BlindReview(a, b, "ada", seed=9).result()  # the sides of another seed change nothing
    assert (found.n, found.n_a, found.n_b, found.n_ties) == (5, 2, 2, 1)
    assert found.share_a.value == 0.5
    assert (found.share_a.low, found.share_a.high) == wilson(2, 4)


def test_agreement_counts_where_both_set_a_side_above(make_run: Maker) -> None:
    a = make_run(wrong=(0,))  # the metric: b, a, a, equal, equal
    b = make_run(model="test/two", wrong=(1, 2))
    desk = BlindReview(a, b, "ada")
    decide(desk, "babta")
    found = desk.result()
    assert (found.agreement.value, found.agreement.n) == (2 / 3, 3)
    assert (found.agreement.low, found.agreement.high) == wilson(2, 3)
    assert [row[1:] for row in found.table.rows] == [(1, 0, 1, 0), (1, 1, 0, 0), (0, 0, 1, 0)]


def test_without_scores_there_is_no_agreement(make_run: Maker) -> None:
    a, b = make_run(), make_run(model="test/two")
    (b.path / "scores.jsonl").unlink()
    desk = BlindReview(a, b, "ada")
    decide(desk, "aaaaa")
    assert desk.result().agreement.value is None
    assert [row[4] for row in desk.result().table.rows] == [5, 0, 0]
    assert not any("metric" in line for line in desk.summary_lines())


def test_names_are_shown_at_the_end_only(make_run: Maker) -> None:
    a, b = make_run(model="test/alpha"), make_run(model="test/beta")
    desk = BlindReview(a, b, "ada")
    decide(desk, "abab")
    assert desk.next_open() == "5"
    assert desk.summary_lines() == ("1 pair open: the names and the result are shown at the end",)
    pages = [desk.render_overview(), *map(desk.render_question, range(1, 6))]
    assert not any("alpha" in page or "beta" in page for page in pages)
    decide(desk, "ababa")
    assert desk.next_open() == "end"
    assert "A is test/alpha, B is test/beta." in desk.render_overview()


def test_several_reviewers_have_a_word_each(make_run: Maker) -> None:
    a, b = make_run(), make_run(model="test/two")
    decide(BlindReview(a, b, "ada"), "aaaaa")
    desk = BlindReview(a, b, "bob")
    assert desk.next_open() == "1"
    decide(desk, "bbbbb")
    decide(desk, "a")
    found = desk.result()
    assert (found.n_a, found.n_b) == (6, 4)
    low, high = found.share_a.low, found.share_a.high
    assert low is not None
    assert high is not None
    assert high - low > wilson(6, 10)[1] - wilson(6, 10)[0]  # two words on one item are alike


def test_runs_that_cannot_be_compared_are_refused(make_run: Maker, tmp_path: Path) -> None:
    a = make_run()
    with pytest.raises(UsageError, match="two different runs"):
        BlindReview(a, a, "ada")
    b = make_run(model="test/two")
    path = b.path / "tasks.jsonl"
    assert len(BlindReview(a, b, "ada")) == 5
    decide(BlindReview(a, b, "ada"), "aaaaa")
    other = make_run(model="test/three", n=2)
    assert len(BlindReview(a, other, "ada")) == 2
    assert BlindReview(a, other, "ada").next_open() == "1"  # preferences of another pair of runs
    info = json.loads((b.path / "run.json").read_text())
    path.write_text(path.read_text().replace("What do the drinks", "What would the drinks"))
    info.pop("tasks_sha256")
    info["tasks_sha256"] = TaskLookup(path).sha256
    (b.path / "run.json").write_text(json.dumps(info))
    with pytest.raises(UsageError):
        BlindReview(a, Run(b.path), "ada")


def test_an_unknown_choice_is_refused(make_run: Maker) -> None:
    desk = BlindReview(make_run(), make_run(model="test/two"), "ada")
    with pytest.raises(UsageError, match="known: left, right, tie"):
        desk.record_answer(1, ReviewAnswer("a"))
    assert not desk.log.path.exists()
