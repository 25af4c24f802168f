"""What an episode says of its task and its trajectory, and what a plain function makes of it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from toolmark.core.errors import UsageError
from toolmark.core.records import (
    Call,
    Ending,
    Label,
    Message,
    Reply,
    Result,
    Score,
    Step,
    Task,
    Text,
    Trajectory,
    Usage,
    Verdict,
)
from toolmark.scoring.episode import Episode
from toolmark.scoring.episode_scorer import EpisodeScorer, mean, share
from toolmark.scoring.state_scorer import StateEquals, find_difference
from toolmark.statistics.score_columns import gather_columns

ASKED = Message(role="user", parts=(Text("Pay Ann."),))
STEPS = (
    Step(
        reply=Reply(text="I look.", calls=(Call(name="look", id="1"), Call(name="pay", id="2"))),
        new_messages=(ASKED,),
        calls=(Call(name="look", id="1"), Call(name="pay", arguments="[", id="2")),
        results=(Result(parts=(Text("3 euros"),)),),
        call_durations_s=(0.25,),
    ),
    Step(reply=Reply(text="Done."), turn=1),
)
TASK = Task(id="t", turns=(), data={"expected": [1, 2]})
PLAYED = Trajectory(
    task="t",
    repeat=2,
    steps=STEPS,
    answer="Done.",
    state=[1, 2],
    usage=Usage(input=5),
    latency_s=0.5,
)


def test_calls_have_arguments_results_and_durations_as_far_as_they_were_executed() -> None:
    look, pay = Episode(TASK, PLAYED).calls
    assert (look.name, look.arguments, look.result, look.is_error) == ("look", {}, "3 euros", False)
    assert (look.duration_s, look.turn, look.step) == (0.25, 0, 0)
    assert (pay.arguments, pay.raw_arguments, pay.result) == (None, "[", None)


def test_the_conversation_has_one_form() -> None:
    found = Episode(TASK, PLAYED).messages
    assert [message.role for message in found] == ["user", "assistant", "tool", "assistant"]
    assert found[1].calls == STEPS[0].calls and found[2].call_id == "1"


def test_the_rest_is_that_of_the_task_and_of_the_trajectory() -> None:
    episode = Episode(TASK, PLAYED)
    assert (episode.data, episode.state, episode.answer) == (TASK.data, PLAYED.state, "Done.")
    assert (episode.repeat, episode.ending, episode.latency_s) == (2, "answered", 0.5)
    assert episode.tokens == PLAYED.usage


@pytest.mark.parametrize("value", [True, False, 0, 1, 0.25, 1.0])
def test_a_number_or_a_truth_value_becomes_a_verdict_of_that_value(value: float) -> None:
    (verdict,) = EpisodeScorer(lambda _: value)(Episode(TASK, PLAYED)).values()
    assert verdict.value == float(value)
    assert (verdict.outcome == "correct") is (value == 1)
    assert len(verdict.labels) == (value != 1)


@pytest.mark.parametrize("value", ["yes", None, [], 1.5, -0.1, math.nan])
def test_anything_else_is_the_scorers_fault(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="returned"):
        EpisodeScorer(lambda _: value)(Episode(TASK, PLAYED))


def test_a_verdict_is_taken_as_it_is() -> None:
    label = Label(cause="drift", evidence="x", primary=True)
    given = Verdict(outcome="incorrect", value=0.5, labels=(label,))
    assert EpisodeScorer(lambda _: given)(Episode(TASK, PLAYED)) == {"score": given}


async def asynchronous(episode: Episode) -> bool:
    return True


@pytest.mark.parametrize("function", [asynchronous, 3, "correct"])
def test_what_is_no_plain_function_is_refused_at_once(function: Any) -> None:
    with pytest.raises(UsageError):
        EpisodeScorer(function)


@pytest.mark.parametrize(
    ("ending", "cause"),
    [("steps", "over_limit"), ("refused", "refused"), ("malformed", "format"),
     ("over_long", "over_long"), ("answered", "wrong_answer")],
)  # fmt: skip
def test_the_cause_follows_from_the_ending(ending: Ending, cause: str) -> None:
    played = Trajectory(task="t", answer="no", ending=ending)
    (verdict,) = EpisodeScorer(lambda _: False)(Episode(TASK, played)).values()
    assert verdict.labels[0].cause == cause


def test_metrics_are_means_over_the_episodes_that_have_them() -> None:
    metrics = [mean("calls", lambda e: len(e.calls)), share("said", lambda e: None)]
    scorer = EpisodeScorer(lambda _: True, metrics)
    verdicts = scorer(Episode(TASK, PLAYED))
    assert verdicts["score"].parts == {"calls": 2.0}
    columns = gather_columns([Score(task="t", item="t", verdicts=verdicts)], "score")
    head, calls, said = (metric.measure(columns) for metric in scorer.list_metrics(columns))
    assert (head.name, head.value, calls.value, calls.is_share) == ("accuracy", 1.0, 2.0, False)
    assert said.value is None


@pytest.mark.parametrize("metric", [mean("m", lambda _: math.inf), share("m", lambda _: 3)])
def test_a_metric_that_is_no_number_is_the_scorers_fault(metric: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="metric 'm'"):
        EpisodeScorer(lambda _: True, [metric])(Episode(TASK, PLAYED))


def test_two_metrics_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError):
        EpisodeScorer(lambda _: True, [mean("m", lambda _: 1), share("m", lambda _: 1)])


@pytest.mark.parametrize(
    ("found", "expected", "place"),
    [
        ([1, {"a": 1}], [1.0, {"a": 1}], ""),
        ({"a": [1, 2]}, {"a": [1, 3]}, "state.a[1]"),
        ({"a": 1}, {"a": 1, "b": 2}, "state.b"),
        ({"a": 1, "b": 2}, {"a": 1}, "state.b"),
        ([1], [1, 2], "state"),
        (True, 1, "state"),
        (None, {}, "state"),
    ],
)
def test_a_difference_of_states_is_named_by_its_place(
    found: Any, expected: Any, place: str
) -> None:
    text = find_difference(found, expected)
    assert text.startswith(place) and bool(text) is bool(place)
    played = Trajectory(task="t", answer="x", state=found)
    task = Task(id="t", turns=(), data={"wanted": expected})
    verdict = StateEquals("wanted")(Episode(task, played))
    assert (verdict.outcome == "correct") is (not place)


def test_a_state_may_be_one_of_several() -> None:
    task = Task(id="t", turns=(), data={"expected": [[1], [1, 2]]})
    assert StateEquals(any_of=True)(Episode(task, PLAYED)).outcome == "correct"
    assert StateEquals()(Episode(task, PLAYED)).outcome == "incorrect"
    with pytest.raises(ValueError, match="expected"):
        StateEquals("expcted")(Episode(task, PLAYED))
