"""Faults of a simulated user: found without a model, and numbers with and without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.runs.calendars import USER, make_task

import toolmark as tm
from toolmark.agents.user_audit import (
    FAULT_PART,
    MEANING_BY_FAULT,
    AuditedMetrics,
    AuditedPreparation,
    AuditedScore,
    AuditedViews,
    fault_part,
    fault_tables,
    find_user_faults,
)
from toolmark.agents.user_wording import user_wording
from toolmark.core.records import (
    Reply,
    Ruling,
    Score,
    Step,
    Table,
    Task,
    Tool,
    Trajectory,
    Usage,
    Verdict,
)
from toolmark.scoring.episode import Episode
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import gather_columns

LONG_REPLY = "I have looked into your calendar, and Monday at nine is free for you."


def episode(*said: Ruling, task: Task | None = None, reply: str = LONG_REPLY) -> Episode:
    steps = tuple(Step(reply=Reply(text=reply), ruling=ruling) for ruling in said)
    task = task or make_task(1)
    tools = (Tool(name="add_event"),)
    return Episode(task, Trajectory(task=task.id, steps=steps, tools=tools))


def answered(text: str, **fields: Any) -> Ruling:
    return Ruling(allowed=True, reply=text, **fields)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("It begins at 9.", None),
        ("The function I need is add an event", None),
        ("Can you help me?", None),
        ("I said: assistant, please", None),
        ("Assistant: I have added it.", "as_assistant"),
        ("Thanks.\n**Assistant:** done", "as_assistant"),
        ("Hello! How can I help you today?", "as_assistant"),
        (f"You said: {LONG_REPLY.upper()}", "as_assistant"),
        ('add_event(day="Monday")', "tool_call"),
        ("<tool_call>{}</tool_call>", "tool_call"),
        ('{"name": "add_event", "arguments": {}}', "tool_call"),
        ("It is in the cellar.", "disclosed"),
        ("CELLAR!", "disclosed"),
        ("The cellars are cold.", None),
    ],
)
def test_what_a_user_says_is_checked(text: str, fault: str | None) -> None:
    assert find_user_faults(episode(answered(text)), USER) == ((fault,) if fault else ())


def test_every_phrase_and_mark_of_the_tables_is_found() -> None:
    words = user_wording()
    for text in (*words.assistant_phrases, *words.assistant_labels):
        assert find_user_faults(episode(answered(f"{text.upper()} x")), USER) == ("as_assistant",)
    for text in words.call_marks:
        assert find_user_faults(episode(answered(f"so {text} x")), USER) == ("tool_call",)


def test_what_was_said_before_is_not_disclosed() -> None:
    by_assistant = episode(answered("The cellar, yes."), reply="Is it in the cellar?")
    assert find_user_faults(by_assistant, USER) == ()
    in_task = episode(answered("The cellar."), task=make_task(1, "Not in the cellar, please."))
    assert find_user_faults(in_task, USER) == ()
    in_goal = episode(answered("The cellar."), task=make_task(1, title="cleaning of the cellar"))
    assert find_user_faults(in_goal, USER) == ()
    twice = episode(answered("The cellar."), answered("The cellar, I said."))
    assert find_user_faults(twice, USER) == ("disclosed",)


def test_numbers_are_disclosed_as_whole_words() -> None:
    task = make_task(1, room=41)
    assert find_user_faults(episode(answered("It is 141."), task=task), USER) == ()
    assert find_user_faults(episode(answered("It is 41."), task=task), USER) == ("disclosed",)


def test_faults_of_endings_and_limits() -> None:
    assert find_user_faults(episode(Ruling(allowed=False, ending="done")), USER) == ()
    assert find_user_faults(episode(Ruling(allowed=False, ending="max_turns")), USER) == ()
    assert find_user_faults(episode(Ruling(allowed=False, ending="empty")), USER) == ("empty",)
    assert find_user_faults(episode(answered("x", faults=("cut",))), USER) == ("cut",)
    many = [answered("go on")] * USER.max_turns
    assert find_user_faults(episode(*many), USER) == ("over_max_turns",)
    assert find_user_faults(episode(*many[1:]), USER) == ()


def test_an_opening_that_ends_is_a_fault_and_counts_among_the_messages() -> None:
    task = make_task(1, "")

    def opened(**fields: Any) -> Episode:
        step = Step(reply=Reply(text="Yes?"), opening=answered("In the cellar.", **fields))
        return Episode(task, Trajectory(task=task.id, steps=(step,)))

    assert find_user_faults(opened(), USER) == ("disclosed",)
    assert find_user_faults(opened(ending="done"), USER) == ("disclosed", "ended_unanswered")


# --- in scores ------------------------------------------------------------------------------


def verdict_of(number: int, *said: Ruling) -> dict[str, Verdict]:
    return AuditedScore(lambda episode: {"exact": RIGHT if number % 2 else WRONG}, USER)(
        episode(*said)
    )


RIGHT = Verdict(outcome="correct", value=1.0)
WRONG = Verdict(outcome="incorrect", value=0.0)
BAD, GOOD = answered("add_event(1)"), answered("At 9.")


def scores() -> list[Score]:
    """Ten episodes: right where the number is odd; a fault of the user in the first four."""
    return [
        Score(task=f"t{n}", item=f"t{n}", verdicts=verdict_of(n, BAD if n < 4 else GOOD))
        for n in range(10)
    ]


def test_the_headline_is_shown_with_and_without_faults() -> None:
    columns = gather_columns(scores(), "exact")
    metrics = AuditedMetrics(lambda columns: [Metric("accuracy"), Metric("other")])(columns)
    found = {each.name: each.measure(columns) for each in metrics}
    assert [*found] == [
        "accuracy", "accuracy without user faults", "other", "user faults", "user messages",
    ]  # fmt: skip
    head, clean, faults = (found[name] for name in [*[*found][:2], "user faults"])
    assert (head.n, head.value) == (10, 0.5)
    assert (clean.n, clean.value) == (6, 0.5)
    assert clean.low is not None and head.low is not None and clean.low < head.low
    assert (faults.n, faults.value) == (10, 0.4)
    assert found["user messages"].value == 2.0


def test_faults_are_counted_by_kind() -> None:
    (table,) = fault_tables(gather_columns(scores(), "exact"))
    assert table.rows == ((MEANING_BY_FAULT["tool_call"], 4, 0.4, 0.5),)
    clean = [each for each in scores() if not each.verdicts["exact"].parts[FAULT_PART]]
    assert fault_tables(gather_columns(clean, "exact")) == []


def test_verdicts_keep_what_they_say() -> None:
    found = verdict_of(1, BAD)["exact"]
    assert (found.outcome, found.value) == ("correct", 1.0)
    assert found.parts == {FAULT_PART: 1.0, "user_messages": 2.0, fault_part("tool_call"): 1.0}


def test_a_scorer_that_judges_a_whole_run_is_audited_too() -> None:
    judged: list[object] = []

    def prepare(run: object) -> Callable[[Episode], dict[str, Verdict]]:
        judged.append(run)
        return lambda episode: {"exact": RIGHT}

    prepared = AuditedPreparation(prepare, USER)
    verdict = prepared("the run")(episode(BAD))["exact"]
    assert judged == ["the run"] and verdict.parts[FAULT_PART] == 1.0
    assert list(prepared.called_code()) == [prepare]
    assert prepared.settings() == USER.settings()


def test_an_episode_shows_what_its_user_said() -> None:
    other = Table(title="other", head=("a",), rows=())
    said = [answered("At 9.", usage=Usage(input=3, output=2)), Ruling(allowed=False, ending="done")]
    first, table = AuditedViews(lambda episode: [other], USER)(episode(*said))
    assert first == other and isinstance(table, Table)
    assert [row[1:] for row in table.rows] == [("At 9.", "", 3, 2), ("", "done", 0, 0)]
    assert AuditedViews(None, USER)(Episode(make_task(1), Trajectory(task="event-1"))) == []
    (faulty,) = AuditedViews(None, USER)(episode(BAD))
    assert isinstance(faulty, Table) and MEANING_BY_FAULT["tool_call"] in faulty.note


def test_another_description_is_another_scorer() -> None:
    other = tm.simulated_user("Have {title} put on {day}.", does_not_know="{hour}")
    score = AuditedScore(lambda episode: {}, USER)
    assert score.settings() != AuditedScore(lambda episode: {}, other).settings()
    assert len(list(score.called_code())) == 1
