from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.judging import judged_sums
from tests.judging.judged_sums import Adder, is_right

import toolmark as tm
from toolmark.core.errors import Unavailable, UsageError
from toolmark.core.records import Reply, Request, Usage
from toolmark.judging.episode_labels import LABELS_FILE, EpisodeLabel
from toolmark.runs import judge_panels
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_logbook import read_logbook
from toolmark.runs.run_store import Run
from toolmark.statistics.prediction_powered import powered_mean

Change = Callable[[Request, Reply], Reply]


class Judge(tm.ScriptedJudge):
    """A scripted judge that counts its requests; `change` alters what it replies."""

    def __init__(
        self,
        rule: Callable[[Mapping[str, Any]], bool | float] = is_right,
        change: Change = lambda request, reply: reply,
        name: str = "scripted",
    ) -> None:
        super().__init__(rule, name)
        self.change = change
        self.requests: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.requests.append(request)
        return self.change(request, await super().__call__(request))


class CountingAdder(Adder):
    """An adder that is wrong in every third sum and counts its requests."""

    def __init__(self) -> None:
        super().__init__(lambda i, total: f"{total + (i % 3 == 0)}")
        self.n_asked = 0

    async def __call__(self, request: Request, /) -> Reply:
        self.n_asked += 1
        return await super().__call__(request)


def _scores(run: Run) -> dict[str, float | None]:
    return {
        score.task: score.verdicts["score"].value if score.verdicts else None
        for score in run.scores()
    }


def _is_reversed(request: Request) -> bool:
    return '"fail" or "pass"' in request.messages[0].text


def test_the_judge_scores_what_was_played(tmp_path: Path) -> None:
    judge = Judge()
    run = tm.run(judged_sums.suite(), CountingAdder(), judge_model=judge, log_dir=tmp_path)
    assert _scores(run) == {f"sum-{i}": float(i % 3 > 0) for i in range(6)}
    assert len(judge.requests) == 12
    assert {line.kind for line in run.judgements()} == {"rubric", "rubric-reversed"}
    failed = next(score for score in run.scores() if score.task == "sum-0")
    [label] = failed.verdicts["score"].labels
    assert (label.cause, label.evidence) == ("wrong_answer", "the rule gives 0")


def test_a_judged_run_has_ended_in_the_logbook_with_the_judges_score(tmp_path: Path) -> None:
    """It ends once, after the judge; a judge that finishes later is no second run."""
    seen: list[list[str]] = []

    def look(request: Request, reply: Reply) -> Reply:
        seen.append([entry.event for entry in read_logbook(tmp_path).entries])
        return reply

    run = tm.run(
        judged_sums.suite(), CountingAdder(), judge_model=Judge(change=look), log_dir=tmp_path
    )
    assert seen and all(events == ["begun"] for events in seen)
    begun, ended = read_logbook(tmp_path).entries
    assert (begun.event, ended.event) == ("begun", "ended")
    assert ended.headline is not None
    assert ended.headline.value == run.summary()["score"]["value"] == 4 / 6
    assert (ended.n_run, ended.n_planned) == (6, 6)


def test_without_a_judge_nothing_is_asked(tmp_path: Path) -> None:
    model = CountingAdder()
    with pytest.raises(UsageError, match="--judge-model"):
        tm.run(judged_sums.suite(), model, log_dir=tmp_path)
    assert model.n_asked == 0
    assert list(tmp_path.iterdir()) == []


def test_a_control_is_no_judge_and_nothing_is_asked(tmp_path: Path) -> None:
    model = CountingAdder()
    with pytest.raises(UsageError, match="control"):
        tm.run(judged_sums.suite(), model, judge_model="control/oracle", log_dir=tmp_path)
    assert model.n_asked == 0
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_suite_that_asks_no_judge_refuses_one(tmp_path: Path) -> None:
    plain = tm.Suite(
        name="sums", tasks=judged_sums.tasks(3), scorer=lambda episode: bool(episode.answer)
    )
    with pytest.raises(UsageError, match="asks no judge"):
        tm.run(plain, Adder(), judge_model=Judge(), log_dir=tmp_path)


def test_the_suite_may_name_a_judge(tmp_path: Path) -> None:
    suite = judged_sums.suite(model="tests.judging.test_rubric_scorer:KIND_JUDGE")
    run = tm.run(suite, CountingAdder(), log_dir=tmp_path)
    assert set(_scores(run).values()) == {1.0}


KIND_JUDGE = tm.ScriptedJudge(lambda evidence: True, "kind")


def test_a_judge_that_follows_the_order_fails_and_the_difference_is_a_number(
    tmp_path: Path,
) -> None:
    def first_option(request: Request, reply: Reply) -> Reply:
        answer = json.loads(reply.text)
        return Reply(
            text=json.dumps({**answer, "verdict": "fail" if _is_reversed(request) else "pass"})
        )

    run = tm.run(judged_sums.suite(), Adder(), judge_model=Judge(change=first_option),
                 log_dir=tmp_path)  # fmt: skip
    assert run.summary()["score"]["value"] == 0.0
    assert run.summary()["parts"]["order_disagreement"]["value"] == 1.0


def test_the_second_order_reverses_rubric_options_and_evidence(tmp_path: Path) -> None:
    judge = Judge()
    tm.run(judged_sums.suite(1), Adder(), judge_model=judge, log_dir=tmp_path)
    found = {_is_reversed(request): request for request in judge.requests}
    for is_reversed, (first, second) in (
        (False, judged_sums.RUBRIC),
        (True, judged_sums.RUBRIC[::-1]),
    ):
        system = found[is_reversed].messages[0].text
        assert system.index(first) < system.index(second)
        shown = found[is_reversed].messages[1].text
        assert (shown.index('"answer"') < shown.index('"expected"')) != is_reversed


@pytest.mark.parametrize(
    ("n_votes", "swap_order", "n"), [(1, False, 1), (3, False, 3), (2, True, 4)]
)
def test_votes_are_asked_in_each_order_and_the_majority_counts(
    tmp_path: Path, n_votes: int, swap_order: bool, n: int
) -> None:
    seen: list[int] = []

    def mostly_pass(request: Request, reply: Reply) -> Reply:
        seen.append(request.repeat)
        verdict = "fail" if len(seen) == 1 and n > 1 else "pass"
        return Reply(text=json.dumps({**json.loads(reply.text), "verdict": verdict}))

    suite = judged_sums.suite(1, n_votes=n_votes, swap_order=swap_order)
    run = tm.run(suite, Adder(), judge_model=Judge(change=mostly_pass), log_dir=tmp_path)
    assert len(seen) == len(set(seen)) == n  # the cache tells votes apart by the repeat
    assert _scores(run) == {"sum-0": 1.0}
    assert ("order_disagreement" in run.summary()["parts"]) == swap_order


def test_points_are_averaged(tmp_path: Path) -> None:
    suite = judged_sums.suite(2, scale="points")
    judge = Judge(lambda evidence: 0.8 if "1" in evidence["question"].split("+")[0] else 0.3)
    run = tm.run(suite, Adder(), judge_model=judge, log_dir=tmp_path)
    assert _scores(run) == pytest.approx({"sum-0": 0.3, "sum-1": 0.8})
    assert run.summary()["score"]["name"] == "judged_score"


def test_what_a_judge_did_not_answer_is_not_run_and_asked_again(tmp_path: Path) -> None:
    def fails(request: Request, reply: Reply) -> Reply:
        if "What is 2 " in request.messages[1].text:
            raise Unavailable("down")
        return (
            replace(reply, text="I would say pass.")
            if "What is 4 " in (request.messages[1].text)
            else reply
        )

    model, judge = CountingAdder(), Judge(change=fails)
    suite = judged_sums.suite()
    run = tm.run(suite, model, judge_model=judge, log_dir=tmp_path, max_retries=0)
    assert run.summary()["n_not_run"] == 2
    failures = {s.task: (s.failure.stage, s.failure.kind) for s in run.scores() if s.failure}
    assert failures == {"sum-2": ("judge", "unavailable"), "sum-4": ("judge", "judge")}
    assert run.summary()["score"]["n"] == 4
    again = Judge()
    same = tm.run(suite, model, judge_model=again, log_dir=tmp_path)
    assert same.path == run.path
    assert (len(again.requests), model.n_asked) == (4, 6)
    assert same.summary()["n_not_run"] == 0


def test_the_cache_answers_for_the_judge(tmp_path: Path) -> None:
    judges = [Judge(name="cached"), Judge(name="cached")]
    for judge in judges:
        suite = judged_sums.suite(3, n_votes=2)
        tm.run(suite, Adder(), judge_model=judge, cache=tmp_path / "cache", resume=False,
               log_dir=tmp_path / "runs")  # fmt: skip
    assert [len(judge.requests) for judge in judges] == [12, 0]


def test_a_judge_of_the_user_that_raises_is_no_fault_of_the_model(tmp_path: Path) -> None:
    broken = Judge(lambda evidence: bool(evidence["nothing"]))
    run = tm.run(judged_sums.suite(2), Adder(), judge_model=broken, log_dir=tmp_path)
    assert run.summary()["failures"] == {"judge": 2}
    failures = [line.failure for line in run.judgements()]
    assert all(each is not None and "KeyError" in each.message for each in failures)


def test_another_rubric_asks_the_judge_again_and_not_the_model(tmp_path: Path) -> None:
    model, first, second = CountingAdder(), Judge(), Judge()
    run = tm.run(judged_sums.suite(), model, judge_model=first, log_dir=tmp_path)
    stricter = judged_sums.suite(rubric=[*judged_sums.RUBRIC, "It says nothing else."])
    again = tm.run(stricter, model, judge_model=second, log_dir=tmp_path)
    assert again.path == run.path
    assert (model.n_asked, len(second.requests)) == (6, 12)


def test_scoring_by_another_rubric_takes_no_answer_to_the_old_one(tmp_path: Path) -> None:
    suite = judged_sums.suite(2)
    run = tm.run(suite, Adder(), judge_model=Judge(), log_dir=tmp_path)
    other = judged_sums.suite(2, rubric="The answer is a poem.")
    with pytest.raises(UsageError, match="judge"):
        tm.rescore(run, other.scorer)
    assert run.summary()["score"]["value"] == 1.0
    tm.rejudge(run, Judge(lambda evidence: False), scorer=other.scorer)
    assert run.summary()["score"]["value"] == 0.0


def test_a_stored_run_is_judged_by_another_judge(tmp_path: Path) -> None:
    suite = judged_sums.suite()
    run = tm.run(suite, CountingAdder(), judge_model=Judge(), log_dir=tmp_path)
    strict = Judge(lambda evidence: False, name="strict")
    tm.rejudge(run, strict, scorer=suite.scorer)
    assert run.summary()["score"]["value"] == 0.0
    assert judge_panels.read_panels(run)["rubric"].judges == ("strict",)
    n = len(strict.requests)
    tm.rejudge(run, strict, scorer=suite.scorer)
    assert len(strict.requests) == n == 12


def test_a_panel_of_judges_decides_by_majority(tmp_path: Path) -> None:
    suite = judged_sums.suite(3)
    run = tm.run(suite, Adder(), judge_model=Judge(), log_dir=tmp_path)
    kind = [Judge(lambda evidence: True, name="a"), Judge(lambda evidence: True, name="b")]
    tm.rejudge(run, *kind, Judge(lambda evidence: False, name="c"), scorer=suite.scorer)
    assert run.summary()["score"]["value"] == 1.0


def test_tokens_of_the_judge_are_counted_apart_and_versions_are_recorded(tmp_path: Path) -> None:
    def served(request: Request, reply: Reply) -> Reply:
        version = "judge-2025" if "What is 0 " in request.messages[1].text else "judge-2026"
        return replace(reply, usage=Usage(input=10, output=2), model=version)

    run = tm.run(judged_sums.suite(3), Adder(), judge_model=Judge(change=served), log_dir=tmp_path)
    spent = run.summary()["spent"]
    assert (spent["judges"]["input"], spent["tokens"]["input"]) == (60, 0)
    assert {line.served_model for line in run.judgements()} == {"judge-2025", "judge-2026"}
    assert "several versions: judge-2025, judge-2026" in run.summary()["caution"]


@pytest.mark.parametrize(
    ("judge_name", "is_relative"),
    [("http://b/v1#qwen-max", True), ("http://a/v1#gpt-5", False), ("scripted", False)],
)
def test_a_judge_of_the_model_s_family_is_a_caution(
    tmp_path: Path, judge_name: str, is_relative: bool
) -> None:
    model = Adder()
    model.name = "http://a/v1#qwen3-8b"
    run = tm.run(judged_sums.suite(2), model, judge_model=Judge(name=judge_name), log_dir=tmp_path)
    assert ("family" in run.summary()["caution"]) == is_relative
    page = tm.write_report(run).read_text()
    assert ("judges favour their own family" in page) == is_relative


def _label(run: Run, n: int, truth: Callable[[int], bool]) -> dict[str, float]:
    lines = RecordAppender(run.path / LABELS_FILE)
    labels = {}
    for place in range(n):
        i = place * 7 % run.info.n_episodes  # every episode once, in another order
        labels[f"sum-{i}"] = float(truth(i))
        lines.append(
            EpisodeLabel(task=f"sum-{i}", repeat=0, label="pass" if truth(i) else "fail",
                         reviewer="ada", time="2026-01-01T00:00:00+00:00")
        )  # fmt: skip
    lines.close()
    return labels


def test_a_hundred_labels_correct_the_number_and_fewer_do_not(tmp_path: Path) -> None:
    """The judge lets every right answer pass, and every tenth wrong one too."""
    suite = judged_sums.suite(300)
    model = Adder(lambda i, total: f"{total + (i % 2)}")
    lenient = Judge(lambda evidence: is_right(evidence) or evidence["expected"] % 10 == 0)
    run = tm.run(suite, model, judge_model=lenient, log_dir=tmp_path)
    judged = run.summary()["score"]["value"]
    assert judged == pytest.approx(0.6)
    _label(run, 99, lambda i: i % 2 == 0)
    few = tm.rescore(run, suite.scorer).summary()
    assert few["score"]["value"] == judged
    assert few["score"]["title"].endswith("uncalibrated")
    assert "99 of the 100 labels" in few["caution"]
    (run.path / LABELS_FILE).unlink()
    labels = _label(run, 120, lambda i: i % 2 == 0)
    found = tm.rescore(run, suite.scorer).summary()
    assert "uncalibrated" not in found["score"]["title"] + found.get("caution", "")
    scores = _scores(run)
    expected = powered_mean(
        [scores[f"sum-{i}"] or 0.0 for i in range(300)],
        [labels.get(f"sum-{i}", float("nan")) for i in range(300)],
        [f"sum-{i}" for i in range(300)],
    )
    head = found["score"]
    assert (head["value"], head["low"], head["high"]) == pytest.approx(expected[:3])
    assert head["low"] < 0.5 < head["high"] < judged + 0.05
    parts = found["parts"]
    assert parts["judge_sensitivity"]["value"] == 1.0
    assert parts["judge_specificity"]["value"] == pytest.approx(0.8, abs=0.08)
    assert parts["judge_sensitivity"]["n"] + parts["judge_specificity"]["n"] == 120
    assert parts["judge_specificity"]["low"] < 0.8 < parts["judge_specificity"]["high"]


def test_the_report_says_uncalibrated_without_the_suite(tmp_path: Path) -> None:
    run = tm.run(judged_sums.suite(), Adder(), judge_model=Judge(), log_dir=tmp_path)
    page = tm.write_report(tm.open_run(run.path)).read_text()
    assert "pass rate by judge, uncalibrated" in page
    assert "Judge models" in page


def test_a_comparison_names_other_judges(tmp_path: Path) -> None:
    suite = judged_sums.suite()
    runs = [
        tm.run(suite, model, judge_model=Judge(name=name), log_dir=tmp_path / name)
        for model, name in ((Adder(), "one"), (CountingAdder(), "other"))
    ]
    warnings = " ".join(tm.compare(*runs).warnings)
    assert "different judges: one and other" in warnings
    same = tm.run(suite, CountingAdder(), judge_model=Judge(name="one"), log_dir=tmp_path / "same")
    assert "different judges" not in " ".join(tm.compare(runs[0], same).warnings)


def test_a_run_that_was_stopped_is_judged_when_it_is_continued(tmp_path: Path) -> None:
    suite, judge = judged_sums.suite(40), Judge()
    stop = asyncio.Event()
    model = Adder()

    def stop_soon(i: int, total: int) -> str:
        if i == 5:
            stop.set()
        return f"{total}"

    model.change = stop_soon

    async def play(event: asyncio.Event | None) -> Run:
        return await tm.arun(
            suite, model, judge_model=judge, stop=event, max_connections=1, log_dir=tmp_path
        )

    run = asyncio.run(play(stop))
    assert 0 < len(run.completed_episodes()) < 40
    assert judge.requests == []
    assert run.summary()["n_run"] == 0
    whole = asyncio.run(play(None))
    assert whole.path == run.path
    assert len(judge.requests) == 80
    assert whole.summary()["score"]["value"] == 1.0


def test_metrics_and_tables_of_the_author_are_there_with_the_judge(tmp_path: Path) -> None:
    suite = tm.Suite(
        name="sums",
        tasks=judged_sums.tasks(4),
        scorer=tm.judge(judged_sums.RUBRIC),
        metrics=[tm.mean("length", lambda episode: len(episode.answer))],
        tables=[lambda rows: tm.table("Lengths", [{"id": r.id, **r.numbers} for r in rows])],
    )
    run = tm.run(suite, Adder(), judge_model=Judge(), log_dir=tmp_path)
    assert run.summary()["parts"]["length"]["value"] == 1.0
    assert "Lengths" in tm.write_report(run).read_text()


def test_further_fields_of_a_task_are_shown_where_they_are_named(tmp_path: Path) -> None:
    judge = Judge(lambda evidence: True)
    suite = judged_sums.suite(1, show=("answer", "hint"))
    tm.run(suite, Adder(), judge_model=judge, log_dir=tmp_path)
    shown = judge.requests[0].messages[1].text
    assert '"hint": "hint 0"' in shown
    assert "expected" not in shown and "question" not in shown
    with pytest.raises(UsageError, match="no field 'hintt' to show; did you mean: hint"):
        tm.run(judged_sums.suite(1, show=("hintt",)), Adder(), judge_model=judge, log_dir=tmp_path)


@pytest.mark.parametrize(
    ("rubric", "settings", "word"),
    [
        ("", {}, "rubric"),
        ([], {}, "rubric"),
        (["fine", 3], {}, "3"),
        ("fine", {"scale": "stars"}, "stars"),
        ("fine", {"show": "answer"}, "show"),
        ("fine", {"show": ()}, "show"),
        ("fine", {"show": ("answer", "answer")}, "twice"),
        ("fine", {"n_votes": 0}, "n_votes"),
        ("fine", {"n_votes": True}, "n_votes"),
    ],
)
def test_wrong_arguments_are_refused(rubric: Any, settings: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        tm.judge(rubric, **settings)
