"""Runs from Python: objects as models, and settings that are wrong."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import mini

import toolmark as tm
from toolmark.core.errors import Unavailable, UsageError
from toolmark.core.records import Reply, Request, Verdict
from toolmark.reports import usage_text
from toolmark.runs.run_store import Run, Summary
from toolmark.scoring.episode import Episode


async def one(request: Request, /) -> Reply:
    if request.messages[0].text.startswith("What is 3"):
        raise Unavailable("flaky")
    return Reply(text="one")


async def two(request: Request, /) -> Reply:
    return Reply(text="two")


def answers(run: Run) -> set[str]:
    return {trajectory.answer for trajectory in run.trajectories()}


def play(model: Any, folder: Path, **more: Any) -> Any:
    settings: dict[str, Any] = {"log_dir": folder, "max_retries": 0} | more
    return tm.run(mini.load(n=6), model, **settings)


def test_two_models_never_share_a_run(tmp_path: Path) -> None:
    first, second = play(one, tmp_path), play(two, tmp_path)
    assert first.summary()["n_not_run"] == 1
    assert first.path != second.path
    assert (answers(first), answers(second)) == ({"one"}, {"two"})
    assert play(one, tmp_path).path == first.path  # the same one goes on with its own


def says(text: str) -> Callable[[Request], Any]:
    async def model(request: Request, /) -> Reply:
        return await one(request) if text == "one" else Reply(text=text)

    return model


class Mine:
    def __init__(self, text: str, name: str = "") -> None:
        self.text, self.name = text, name

    async def __call__(self, request: Request, /) -> Reply:
        reply = await one(request)
        return Reply(text=self.text) if reply else reply


@pytest.mark.parametrize("make", [says, Mine])
def test_models_without_a_stable_identity_begin_anew(
    make: Callable[[str], Any], tmp_path: Path
) -> None:
    first, second = play(make("one"), tmp_path), play(make("two"), tmp_path)
    assert first.path != second.path
    assert (answers(first), answers(second)) == ({"one"}, {"two"})


def test_a_model_with_a_name_goes_on(tmp_path: Path) -> None:
    first = play(Mine("x", "mine"), tmp_path)
    assert play(Mine("x", "mine"), tmp_path).path == first.path
    assert play(Mine("x", "yours"), tmp_path).path != first.path


def test_a_model_object_is_paced_retried_and_cached(tmp_path: Path) -> None:
    model = mini.Adder(lambda i, r: None, wait_s=0.001)
    flaky: list[int] = []

    def once(item: int, repeat: int) -> Unavailable | None:
        if item in flaky:
            return None
        flaky.append(item)
        return Unavailable("at first")

    model.trouble = once
    done = play(model, tmp_path, max_retries=2, max_connections=2, cache=tmp_path / "cache")
    assert done.summary()["n_run"] == 6
    assert model.most <= 2
    n_asked = len(model.asked)
    again = play(model, tmp_path, cache=tmp_path / "cache", resume=False)
    assert len(model.asked) == n_asked
    reported = [each.summary()["spent"] for each in (done, again)]
    assert [each["n_requests"] for each in reported] == [12, 12]
    assert [each.get("n_from_cache", 0) for each in reported] == [0, 12]
    assert "12 requests (12 answered from the cache)" in usage_text.summary_usage_line(
        again.summary()
    )


def sync(request: Request, /) -> Reply:
    return Reply(text="x")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (sync, "test_api.sync is not async"),
        (Mine, "Mine is no model and makes none .missing a required argument: 'text'"),
        (int, "int makes no model"),
        (7, "got int"),
        (None, "no model; next: -m MODEL"),
    ],
)
def test_what_is_no_model_is_refused_before_a_folder_is_made(
    model: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words):
        play(model, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_retries": -1}, "max_retries: expected int >= 0, got -1"),
        ({"max_connections": 1.5}, "max_connections: expected int, got float"),
        ({"timeout_s": 0}, "timeout_s: expected float > 0"),
        ({"temperature": "a"}, "temperature: expected float | null, got str"),
        ({"temperature": -1}, "temperature must be a number from 0"),
        ({"extra_body": [1]}, "extra_body: expected an object, got list"),
        ({"headers": "A: b"}, "headers: expected names with values, got str"),
        ({"headers": [("A", 1)]}, r"headers.*expected str, got int"),
        ({"repeats": 0}, "repeats must be at least 1"),
        ({"limit": "3"}, r"limit: expected int \| null, got str"),
        ({"ids": 3}, "ids: expected array, got int"),
        ({"log_dir": None}, "log_dir: expected a path, got NoneType"),
        ({"cache": 1}, "cache: expected a path, got int"),
        ({"audio_format": "ogg"}, "no audio format 'ogg'"),
        ({"tool_format": "promt"}, "no tool format 'promt'"),
        ({"limti": 3}, "run has no setting 'limti'; did you mean: limit"),
    ],
)
def test_a_wrong_setting_is_named_before_a_folder_is_made(
    wrong: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words.replace("`float | null`", r"`float \| null`")):
        play(two, tmp_path / "runs", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_one_id_may_stand_alone_and_headers_may_be_a_mapping(tmp_path: Path) -> None:
    done = play(two, tmp_path, ids="sum-1", headers={"X-Team": "blue"})
    assert [trajectory.task for trajectory in done.trajectories()] == ["sum-1"]
    same = play(two, tmp_path, ids=["sum-1"])
    assert same.info.plan == done.info.plan


def test_run_shows_what_arun_takes() -> None:
    shown = inspect.signature(tm.run)
    assert shown == inspect.signature(tm.arun)
    assert "max_retries" in shown.parameters


def test_in_a_loop_run_says_what_to_write() -> None:
    async def notebook() -> None:
        tm.run(mini.load(n=1), two)

    with pytest.raises(UsageError, match=r"await tm\.arun"):
        asyncio.run(notebook())


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ({"value": 0.38, "low": 0.26, "high": 0.52}, "x 38.0 % [26.0, 52.0]"),
        ({"value": 0.38, "low": None, "high": None}, "x 38.0 %"),
        ({"value": None, "low": None, "high": None, "title": "solved"}, "solved –"),
        ({"value": 1.0, "low": None, "high": None, "partial": "1 of 4 run"}, "x – (1 of 4 run)"),
        ({"value": 12.5, "low": 11.0, "high": 14.0, "is_share": False}, "x 12.50 [11.00, 14.00]"),
        ({"value": float("inf"), "low": None, "high": None, "is_share": False}, "x ∞"),
    ],
)
def test_a_summary_is_a_line_whatever_its_headline(head: dict[str, Any], line: str) -> None:
    found = Summary(score={"name": "x"} | head, n_run=3, n_not_run=1)
    assert str(found) == f"{line}, n=3, not run 1"


def misnamed(episode: Episode) -> dict[str, Verdict]:
    return {"exct": mini.score(episode)["exact"]}


def nothing(episode: Episode) -> dict[str, Verdict]:
    return {}


@pytest.mark.parametrize(
    ("score", "words"),
    [(misnamed, "no rule 'exct'; did you mean: exact"), (nothing, "headline rule 'exact'")],
)
def test_verdicts_by_other_rules_are_a_fault_of_the_scorer_and_cost_nothing_twice(
    score: Any, words: str, tmp_path: Path
) -> None:
    model = mini.Adder()
    suite = mini.load(n=3)
    wrong = replace(suite, scorer=replace(mini.SCORER, score=score))
    run = tm.run(wrong, model, log_dir=tmp_path)
    assert run.summary()["n_not_run"] == 3
    assert all(
        each.failure and each.failure.kind == "scorer" and words in each.failure.message
        for each in run.scores()
    )
    n_asked = len(model.asked)
    again = tm.run(suite, model, log_dir=tmp_path)  # mended: it is scored, and nothing is asked
    assert (again.path, len(model.asked)) == (run.path, n_asked)
    assert again.summary()["n_run"] == 3


def test_a_scorer_that_always_fails_leaves_good_scores_alone(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=3), mini.Adder(), log_dir=tmp_path)
    before = (run.path / "scores.jsonl").read_bytes()
    with pytest.raises(UsageError, match="fails on every episode, and what was there stays"):
        tm.rescore(run, replace(mini.SCORER, score=misnamed))
    assert (run.path / "scores.jsonl").read_bytes() == before
    assert not (run.path / ".scores.jsonl").exists()


def test_a_model_without_identity_never_shares_the_run_of_one_with_identity(tmp_path: Path) -> None:
    suite = mini.load(n=3)
    first = tm.run(
        suite, functools.partial(down, words="partial"), log_dir=tmp_path, limit=3, max_retries=0
    )
    second = tm.run(suite, down, log_dir=tmp_path, limit=3, max_retries=0)
    assert first.path != second.path
    assert "(unnamed)" in first.info.plan.model


async def down(request: Request, /, words: str = "") -> Reply:
    raise Unavailable("down")
