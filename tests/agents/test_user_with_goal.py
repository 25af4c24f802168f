"""A user with a goal: what its model sees, how it ends a conversation, what it says when."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs.calendars import DONE, NOT_POSSIBLE, USER, Speaker, make_task, says

import toolmark as tm
from toolmark.agents.scripted_user import ScriptedUser
from toolmark.agents.simulated_user import (
    UserDescription,
    UserWithGoal,
    conversation_of_user,
    count_user_messages,
)
from toolmark.agents.user_wording import split_ending, user_wording, wording_digest
from toolmark.core.errors import DataError, RateLimited, SimulatedUserError, UsageError
from toolmark.core.records import (
    Call,
    Message,
    Reply,
    Request,
    Result,
    Ruling,
    Step,
    StopReason,
    Task,
    Text,
    Turn,
    Usage,
)

TASK = make_task(1)


def answer(
    speaker: Any, steps: Sequence[Step], *, user: UserDescription = USER, task: Task = TASK
) -> Ruling:
    made = UserWithGoal(user, speaker, "speaker", repeat=3)
    ruling, message = asyncio.run(made.answer(task, 0, steps, steps[-1].reply.text))
    assert (message is not None) == ruling.allowed
    assert message is None or message.text == ruling.reply != ""
    return ruling


def replied(text: str, ruling: Ruling | None = None, **fields: Any) -> Step:
    return Step(reply=Reply(text=text), ruling=ruling, **fields)


# --- the end --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said", "ending"),
    [
        (DONE, "", "done"),
        (f"  {DONE}\n\n", "", "done"),
        (f"Thanks.\n{DONE}", "Thanks.", "done"),
        (f"Thanks.\n\n  {DONE} ", "Thanks.", "done"),
        (f"No.\n{NOT_POSSIBLE}", "No.", "not_possible"),
        (f"Thanks. {DONE}", f"Thanks. {DONE}", ""),
        (f"{DONE}\nand one more thing", f"{DONE}\nand one more thing", ""),
        (DONE.lower(), DONE.lower(), ""),
        ("GOAL DONE", "GOAL DONE", ""),
        ("", "", ""),
    ],
)
def test_only_a_marker_alone_on_the_last_line_ends(text: str, said: str, ending: str) -> None:
    assert split_ending(text) == (said, ending)


@given(st.text())
def test_any_text_is_said_or_ends(text: str) -> None:
    said, ending = split_ending(text)
    assert ending or said == text.strip()


def test_the_last_words_are_recorded_and_not_sent() -> None:
    ruling = answer(says(f"Thank you.\n{DONE}"), [replied("It is done.")])
    assert (ruling.allowed, ruling.reply, ruling.ending) == (False, "Thank you.", "done")
    assert ruling.usage == Usage(input=100, output=7)


def test_thoughts_of_the_user_are_not_said() -> None:
    assert answer(says("<think>I must not</think>At 9."), [replied("When?")]).reply == "At 9."


@pytest.mark.parametrize("text", ["", "  \n", "<think>hm</think>"])
def test_a_user_that_says_nothing_ends_the_conversation(text: str) -> None:
    ruling = answer(says(text), [replied("When?")])
    assert (ruling.allowed, ruling.ending) == (False, "empty")


def test_a_reply_of_thoughts_alone_is_no_reply_to_a_user() -> None:
    speaker = says("never asked")
    assert answer(speaker, [replied("<think>so</think> ")]).ending == "no_answer"
    assert speaker.requests == []


@pytest.mark.parametrize("max_turns", [1, 2, 5])
def test_max_turns_counts_all_messages_of_the_user(max_turns: int) -> None:
    user = tm.simulated_user("x", max_turns=max_turns)
    speaker, steps = says("go on"), [replied("What?")]
    while (ruling := answer(speaker, steps, user=user)).allowed:
        steps = [*steps[:-1], replied("What?", ruling), replied("What?")]
    assert ruling.ending == "max_turns"
    assert count_user_messages(steps, 0) == max_turns == len(speaker.requests) + 1


# --- what it sees ---------------------------------------------------------------------------


def full_task() -> Task:
    said = [
        ("system", "SECRET system", ()),
        ("user", "first", ()),
        ("assistant", "SECRET call text", (Call(name="f", arguments='{"x": "SECRET"}'),)),
        ("tool", "SECRET result", ()),
        ("assistant", "heard", ()),
        ("user", "second", ()),
    ]
    messages = tuple(
        Message(role=role, parts=(Text(text),), calls=calls)  # type: ignore[arg-type]
        for role, text, calls in said
    )
    data = TASK.data | {"expected": "SECRET answer", "room": "SECRET room"}
    return Task(id="t", suite="s", turns=(Turn(messages=messages),), data=data)


def test_its_model_sees_what_was_said_and_nothing_else() -> None:
    speaker = says("x")
    steps = [
        replied("<think>SECRET</think>what day?", Ruling(allowed=True, reply="Monday")),
        Step(
            reply=Reply(text="SECRET aside", reasoning="SECRET"),
            calls=(Call(name="SECRET"),),
            results=(Result(parts=(Text("SECRET"),)),),
        ),
        replied("and when?"),
    ]
    answer(speaker, steps, task=full_task())
    (request,) = speaker.requests
    assert "SECRET" not in repr(request)
    assert request.tools == ()
    assert request.repeat == 3
    system, *rest = request.messages
    assert "event 1" in system.text and "Monday" in system.text and "room" in system.text
    roles = [message.role for message in rest]
    assert (system.role, *roles) == ("system", *["user", "assistant"] * (len(roles) // 2), "user")
    assert [message.text for message in rest[1:]] == [
        "first", "heard", "second", "what day?", "Monday", "and when?",
    ]  # fmt: skip


LINES = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=3)), max_size=6)


@given(LINES, st.lists(st.text(max_size=3), max_size=4))
def test_the_sides_alternate_and_the_other_side_begins(
    lines: list[Any], replies: list[str]
) -> None:
    messages = tuple(Message(role=role, parts=(Text(text),)) for role, text in lines)
    task = Task(id="t", suite="s", turns=(Turn(messages=messages),))
    steps = [replied(text, Ruling(allowed=True, reply="so")) for text in replies]
    found = conversation_of_user(task, 0, steps)
    expected = ["user" if at % 2 == 0 else "assistant" for at in range(len(found))]
    assert [message.role for message in found] == expected
    assert found[0].text.startswith(user_wording().kick_off)


def test_turns_are_in_their_order() -> None:
    turns = tuple(
        Turn(messages=(Message(role="user", parts=(Text(text),)),)) for text in ("one", "two")
    )
    task = Task(id="t", suite="s", turns=turns)
    steps = [replied("a", Ruling(allowed=False)), replied("b", turn=1)]
    found = conversation_of_user(task, 1, steps)
    assert [message.text for message in found[1:]] == ["one", "a", "two", "b"]
    assert len(conversation_of_user(task, 0, ())) == 2


# --- failures -------------------------------------------------------------------------------


def test_a_failure_of_its_model_is_the_users() -> None:
    speaker = Speaker(lambda request, n: RateLimited("too many"))
    with pytest.raises(SimulatedUserError, match="speaker: too many") as error:
        answer(speaker, [replied("When?")])
    assert (error.value.kind, error.value.status) == ("user", 429)


@pytest.mark.parametrize("stop", ["refused", "malformed", "over_long"])
def test_a_reply_that_cannot_be_used_is_a_failure(stop: StopReason) -> None:
    with pytest.raises(SimulatedUserError):
        answer(says(Reply(text="half", stop=stop)), [replied("When?")])


def test_what_shows_in_its_reply_alone_is_recorded() -> None:
    reply = Reply(text="so", calls=(Call(name="f"),), stop="length")
    assert answer(says(reply), [replied("When?")]).faults == ("tool_call", "cut")


@pytest.mark.parametrize("text", ["", DONE, "<think>x</think>"])
def test_a_user_that_does_not_open_is_a_failure(text: str) -> None:
    user = UserWithGoal(USER, says(text), "speaker")
    with pytest.raises(SimulatedUserError):
        asyncio.run(user.open_conversation(make_task(1, "")))


# --- descriptions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [{"goal": " "}, {"goal": "{a.b}"}, {"goal": 3}, {"goal": "x", "max_turns": 0},
     {"goal": "x", "max_turns": True}, {"goal": "x", "max_turns": "5"}, {"goal": "x", "knows": "{"},
     {"goal": "x", "model": object()}],
)  # fmt: skip
def test_a_wrong_description_is_refused_where_it_is_written(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        tm.simulated_user(**given)


def test_settings_hold_all_that_the_user_says_by() -> None:
    found = USER.settings()
    assert found["wording"] == wording_digest() and found["max_turns"] == 4
    others = [
        tm.simulated_user("x"), tm.simulated_user("x", knows="y"), tm.simulated_user("x", stop="y"),
        tm.simulated_user("x", persona="y"), tm.simulated_user("x", does_not_know="y"),
        tm.simulated_user("x", max_turns=6),
    ]  # fmt: skip
    assert len({repr(each.settings()) for each in others}) == len(others)


def test_hidden_values_are_of_all_fields_that_it_does_not_know() -> None:
    user = tm.simulated_user("x", does_not_know="{room} and {events}")
    task = make_task(1, events=[["Tuesday", 8, ""]])
    assert user.hidden_values(task) == ["cellar", "Tuesday", "8"]
    assert user.write_profile(task).does_not_know == "room and events"


# --- scripts --------------------------------------------------------------------------------


def script_of(task: Task, n: int) -> list[str]:
    speaker = ScriptedUser(USER).bind(task, 0)
    request = Request(messages=tuple(conversation_of_user(task, 0, ())))
    return [asyncio.run(speaker(request)).text for _ in range(n)]


def test_a_script_is_said_in_its_order_then_the_goal_is_done() -> None:
    task = make_task(1, user_script=["a", "b"])
    assert script_of(task, 4) == ["a", "b", DONE, DONE]
    assert script_of(task, 1) == ["a"]  # each episode begins anew


def test_without_a_script_one_sentence_is_repeated() -> None:
    assert script_of(make_task(1), 2) == [user_wording().neutral_answer] * 2
    assert script_of(make_task(1, ""), 1) == ["Have event 1 put on Monday."]


@pytest.mark.parametrize("script", ["a", [1], [""], {"a": 1}])
def test_a_script_is_a_list_of_texts(script: Any) -> None:
    with pytest.raises(DataError, match="event-1"):
        ScriptedUser(USER).bind(make_task(1, user_script=script), 0)
