"""A simulated user keeps a turn going, is not counted in its steps, and is asked only when due."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from toolmark.agents.tool_loop import run_tool_loop
from toolmark.core.environment import Environment, SimulatedUser, count_user_answers
from toolmark.core.errors import Timeout
from toolmark.core.model import Model
from toolmark.core.records import (
    Call,
    Limits,
    Message,
    Reply,
    Request,
    Result,
    Ruling,
    Sampling,
    Step,
    StopReason,
    Task,
    Text,
    Tool,
    Trajectory,
    Turn,
)
from toolmark.formats.native_format import NativeFormat

CALL = Reply(calls=(Call(name="f", id="c"),))
ASK = Reply(text="Did you say Austin?")
DONE = Reply(text="Done.")


def said(text: str) -> Message:
    return Message(role="user", parts=(Text(text),))


def task(*turns: str, steps: int = 5, calls: int | None = None) -> Task:
    return Task(
        id="t", suite="s", tools=(Tool(name="f"),), limits=Limits(steps=steps, calls=calls),
        turns=tuple(Turn(messages=(said(text),)) for text in turns),
    )  # fmt: skip


class World(Environment):
    async def tools(self) -> tuple[Tool, ...]:
        return ()

    async def call(self, call: Call, /) -> Result:
        return Result()

    async def final_state(self) -> Any:
        return None


class Hears(World):
    """A world with a user."""

    def __init__(self, user: Any) -> None:
        self.user = user


class Patient(SimulatedUser):
    """Answers every question, `most` times per turn."""

    def __init__(self, most: int = 3) -> None:
        self.most = most
        self.heard: list[tuple[int, int, str]] = []

    async def answer(
        self, task: Task, turn: int, steps: Sequence[Step], text: str, /
    ) -> tuple[Ruling, Message | None]:
        assert steps[-1].reply.text == text
        self.heard.append((turn, len(steps), text))
        if "?" not in text or count_user_answers(steps, turn) >= self.most:
            return Ruling(allowed=False, reason="chat", judge="test"), None
        return Ruling(allowed=True, reply="Austin", topics=("city",)), said("Austin")


class Script(Model):
    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.requests.append(request)
        return self.replies.pop(0)


def play(asked: Task, environment: World, *replies: Reply) -> tuple[Trajectory, Script]:
    model = Script(*replies)
    return asyncio.run(run_tool_loop(asked, model, NativeFormat(), environment, Sampling())), model


def test_a_clarification_goes_on_with_the_turn() -> None:
    user = Patient()
    found, model = play(task("fly", "back"), Hears(user), ASK, CALL, DONE, DONE)
    assert [step.turn for step in found.steps] == [0, 0, 0, 1]
    assert [step.ruling.allowed if step.ruling else None for step in found.steps] == [
        True, None, False, False,
    ]  # fmt: skip
    assert found.steps[1].new_messages == (said("Austin"),)
    assert [m.role for m in model.requests[1].messages] == ["user", "assistant", "user"]
    assert found.ending == "answered"
    assert [turn for turn, _, _ in user.heard] == [0, 0, 1]


def test_clarifications_are_not_counted_in_steps() -> None:
    asked = task("fly", steps=2)
    found, _ = play(asked, Hears(Patient()), ASK, CALL, ASK, ASK, CALL)
    assert (found.ending, len(found.steps)) == ("steps", 5)
    bare, _ = play(asked, World(), CALL, CALL)
    assert bare.ending == "steps"


@pytest.mark.parametrize("most", [0, 1, 3])
def test_the_users_cap_holds_in_every_turn(most: int) -> None:
    found, _ = play(task("fly", "back"), Hears(Patient(most)), *[ASK] * (2 * most + 2))
    assert [step.turn for step in found.steps] == [0] * (most + 1) + [1] * (most + 1)
    assert found.ending == "answered"
    assert sum(step.ruling is not None and step.ruling.allowed for step in found.steps) == 2 * most


@pytest.mark.parametrize("stop", ["length", "refused", "malformed", "over_long"])
def test_only_a_finished_reply_with_words_is_heard(stop: StopReason) -> None:
    user = Patient()
    found, _ = play(task("fly"), Hears(user), Reply(text="Austin?", stop=stop))
    assert found.ending == stop
    play(task("fly"), Hears(user), Reply(text=" \n"))
    play(task("fly", steps=1), Hears(user), Reply(text="Austin?", calls=CALL.calls))
    assert user.heard == []


def test_without_a_user_nothing_changes() -> None:
    script = (ASK, CALL, DONE)
    plain, first = play(task("fly", "back"), World(), *script)
    none, second = play(task("fly", "back"), Hears(None), *script)
    assert plain == none
    assert first.requests == second.requests
    assert all(step.ruling is None for step in plain.steps)
    assert len(plain.steps) == 3


def test_a_refused_message_ends_the_turn_as_without_a_user() -> None:
    plain, first = play(task("fly", "back"), World(), DONE, CALL, DONE)
    heard, second = play(task("fly", "back"), Hears(Patient()), DONE, CALL, DONE)
    assert first.requests == second.requests
    assert (plain.answer, plain.ending) == (heard.answer, heard.ending)


def test_an_answer_gives_no_more_calls() -> None:
    found, _ = play(task("fly", calls=1), Hears(Patient()), CALL, ASK, CALL)
    assert found.ending == "calls"


def test_a_judge_that_fails_leaves_the_steps_behind() -> None:
    class Dead:
        async def answer(self, *args: object) -> tuple[Ruling, Message | None]:
            raise Timeout("judge")

    steps: list[Step] = []
    with pytest.raises(Timeout, match="judge"):
        asyncio.run(
            run_tool_loop(
                task("fly"), Script(ASK), NativeFormat(), Hears(Dead()), Sampling(), steps=steps
            )
        )
    assert [step.reply for step in steps] == [ASK]
