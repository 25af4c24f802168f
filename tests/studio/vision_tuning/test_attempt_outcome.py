"""What an attempt came to, and what most of a panel says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.records import Reply, Step, Task, Trajectory
from toolmark.studio.vision_tuning.attempt_outcome import fails_version, judge_attempt, panel_ruling
from toolmark.studio.vision_tuning.tuning_records import Trial, TrialOutcome
from toolmark.suites.mfcl_vision.item_records import ItemTruth, QuestionParts

LONG = "The picture shows a great many things, " * 8 + "so it is hard to say what is meant"
TASK = Task(
    id="a@base", item="a", suite="mfcl-vision", turns=(), axes={"variation": "base"},
    data=msgspec.to_builtins(
        ItemTruth(answers=("Koladin",), question=QuestionParts(request="Where?"), variation="base")
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ending", "wanted"),
    [
        ('{"answer": "koladin"}', "answered", "solved"),
        ("Koladin.", "answered", "solved"),
        ('{"answer": "Rizisk"}', "answered", "wrong"),
        ("Rizisk", "answered", "wrong"),
        ('{"answer": "I do not know"}', "answered", "refused"),
        ("I cannot answer this question", "answered", "refused"),
        ("", "answered", "refused"),
        ("No.", "refused", "refused"),
        ("", "steps", "over_long"),
        ("Rizisk or", "length", "over_long"),
        ("", "over_long", "over_long"),
        (LONG, "answered", "verbose"),
        ("Could you tell me which inn you mean?", "answered", "verbose"),
    ],
)
def test_each_way_to_fail_is_reported(text: str, ending: Any, wanted: TrialOutcome) -> None:
    trajectory = Trajectory(
        task=TASK.id, steps=(Step(reply=Reply(text=text)),), answer=text, ending=ending
    )
    came = judge_attempt(TASK, trajectory)
    assert came.outcome == wanted
    assert (came.label is None) == (wanted == "solved")


VERDICTS = st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=7)


@given(VERDICTS)
def test_a_ruling_is_final_whatever_those_that_are_missing_say(given: list[bool | None]) -> None:
    found = panel_ruling(given)
    worst = [False if verdict is None else verdict for verdict in given]
    best = [True if verdict is None else verdict for verdict in given]
    ends = {sum(full) > len(full) / 2 for full in (worst, best)}
    assert found == ("open" if len(ends) == 2 else "hard" if ends == {True} else "easy")


@given(st.lists(st.sampled_from(["solved", "wrong", "verbose", "not_run"]), max_size=4))
def test_a_model_fails_only_where_all_its_attempts_ran_and_none_solved(
    outcomes: list[TrialOutcome],
) -> None:
    trials = [
        Trial(item="a", version=0, model="m", attempt=n, outcome=each)
        for n, each in enumerate(outcomes)
    ]
    ran = [each for each in outcomes if each != "not_run"]
    wanted = False if "solved" in ran else True if len(ran) >= 3 else None
    assert fails_version(trials, 3) is wanted
