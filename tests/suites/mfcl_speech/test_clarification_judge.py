"""The simulated user tells only values asked for, whoever rules; a judge that fails is an error."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.agents.tool_loop import run_tool_loop
from toolmark.core.errors import (
    DataError,
    EndpointError,
    Rejected,
    Timeout,
    TornReply,
    Unavailable,
    UsageError,
)
from toolmark.core.media import MediaStore
from toolmark.core.model import Model, adapt_function
from toolmark.core.records import (
    Audio,
    Call,
    Message,
    Reply,
    Request,
    Ruling,
    Sampling,
    Step,
    Task,
    Text,
    Turn,
    Usage,
)
from toolmark.environments.no_op_environment import NoOpEnvironment
from toolmark.formats.native_format import NativeFormat
from toolmark.suites.mfcl_speech import clarification_judge, system_prompts
from toolmark.suites.mfcl_speech.speech_environments import SpeechEnvironmentOpener
from toolmark.suites.mfcl_speech.speech_task_data import WhitelistValue
from toolmark.suites.mfcl_speech.user_answers import UserAnswer

WHITELIST: dict[str, WhitelistValue] = {"city": "Krak\u00f3w", "days": 15}
QUESTION = clarification_judge.Question(
    "Did you say Krakow?", WHITELIST, "Fly me to Krak\u00f3w for 15 days"
)


class Says(Model):
    """A model with its replies in order, the last for ever."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.requests: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.requests.append(request)
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        return Reply(text=text, usage=Usage(input=7, output=2))


def asked(*texts: str) -> tuple[Ruling, Says]:
    model = Says(*texts)
    return asyncio.run(clarification_judge.ModelJudge(model, "m")(QUESTION)), model


def answer(**fields: Any) -> str:
    return json.dumps(fields)


def test_a_model_names_topics_and_the_values_are_ours() -> None:
    said = answer(allowed=True, topics=["city"], spell=["city"], reason="spelling")
    found, model = asked(f"<think>hm</think>```json\n{said}\n```")
    assert found == Ruling(
        allowed=True, reply="Krak\u00f3w, K-R-A-K-\u00d3-W", topics=("city",), reason="spelling",
        judge="m", usage=Usage(input=7, output=2),
    )  # fmt: skip
    given_ = json.loads(model.requests[0].messages[1].text)
    assert given_["topics"] == WHITELIST
    assert given_["message"] == QUESTION.message


@pytest.mark.parametrize(
    "text",
    [
        "", "yes", "[]", "{}", answer(allowed=1), answer(allowed=True), "[" * 100_000, "\ud800",
        answer(allowed=True, topics=["passport"]), answer(allowed=True, topics="city"),
        answer(allowed=True, topics=["city"], spell=["days"]),
        answer(allowed=True, topics=["city"], reply="Fly me"), answer(allowed=True) + " ok",
    ],
)  # fmt: skip
def test_an_answer_out_of_form_is_asked_for_again_and_is_then_an_error(text: str) -> None:
    with pytest.raises(EndpointError, match=r"\bm\b") as reported:
        asked(text)
    assert repr(text[:200]) in str(reported.value) and "judge=" in str(reported.value)
    found, model = asked(text, answer(allowed=False))
    assert (found.allowed, found.reply, found.topics) == (False, "", ())
    assert found.usage == Usage(input=14, output=4)
    assert [request.repeat for request in model.requests] == [0, 1]


def test_a_refusal_tells_nothing_whatever_it_names() -> None:
    found, _ = asked(answer(allowed=False, topics=["city", "x"], spell=["city"], reason="no"))
    assert (found.allowed, found.reply, found.topics) == (False, "", ())


@given(st.text() | st.recursive(st.none() | st.booleans() | st.text(), st.lists).map(json.dumps))
def test_no_text_of_a_judge_makes_the_user_say_more_than_values(text: str) -> None:
    with contextlib.suppress(DataError):
        read = clarification_judge.parse_judge_answer(text, WHITELIST)
        assert not read.allowed or set(read.topics) <= set(WHITELIST)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yes", "malformed"),
        (answer(allowed=1), "allowed"),
        (answer(allowed=True), "names no topic"),
        (answer(allowed=True, topics=["passport"]), "'passport' is not on the list"),
        (answer(allowed=True, topics=["city"], spell=["days"]), "'days' is not among the topics"),
        (answer(allowed=True, topics=["city"], reply="Fly me"), "unknown field `reply`"),
    ],
)
def test_an_unreadable_ruling_says_what_is_wrong_with_it(text: str, why: str) -> None:
    with pytest.raises(EndpointError) as reported:
        asked(text)
    assert why in str(reported.value)


@pytest.mark.parametrize(
    "error",
    [Unavailable("refused", 3.0), Timeout("late"), Rejected("401: no", 401), TornReply("half")],
)
def test_a_judge_that_fails_is_not_taken_for_the_model(error: EndpointError) -> None:
    async def model(request: Request, /) -> Reply:
        raise error

    with pytest.raises(type(error), match=r"^judge http://h/v1#j: ") as reported:
        asyncio.run(
            clarification_judge.ModelJudge(adapt_function(model), "http://h/v1#j")(QUESTION)
        )
    assert str(error) in str(reported.value) and "judge=" in str(reported.value)
    assert vars(reported.value) == vars(error), "how long to wait, and what the status was"


def task(more: dict[str, Any], n_turns: int = 1) -> Task:
    data = {"bfcl": None, "written": [], **more}
    said = Message(role="user", parts=(Text("fly me to crack of for fifty days"),))
    return Task(id="t", suite="s", turns=(Turn(messages=(said,)),) * n_turns, data=data)


def hear(
    user: clarification_judge.SimulatedUser,
    text: str,
    reference: Any,
    turn: int = 0,
    steps: int = 1,
) -> tuple[Ruling, Message | None]:
    past = [Step(reply=Reply(text="?"), ruling=Ruling(allowed=True), turn=turn)] * (steps - 1)
    now = Step(reply=Reply(text=text), turn=turn)
    return asyncio.run(user.answer(task(reference, turn + 1), turn, [*past, now], text))


def test_it_answers_by_the_rules_in_text() -> None:
    ruling, message = hear(
        clarification_judge.SimulatedUser(), QUESTION.message, {"whitelist": WHITELIST}
    )
    assert ruling.allowed
    assert message == Message(role="user", parts=(Text("Krak\u00f3w"),))
    ruling, message = hear(clarification_judge.SimulatedUser(), "Done.", {"whitelist": WHITELIST})
    assert (ruling.allowed, message) == (False, None)


@pytest.mark.parametrize("reference", [{}, {"whitelist": {}}, {"whitelist": []}])
def test_without_a_whitelist_nothing_is_revealed(reference: dict[str, Any]) -> None:
    ruling, message = hear(
        clarification_judge.SimulatedUser(), "How do you spell the city?", reference
    )
    assert (ruling.allowed, ruling.reply, message) == (False, "", None)


def test_every_turn_has_its_own_list() -> None:
    reference = {"whitelist": [{"city": "Lyon"}, {"city": "Oslo"}], "written": ["a", "b"]}
    for turn, city in enumerate(("Lyon", "Oslo")):
        ruling, _ = hear(
            clarification_judge.SimulatedUser(), "Which city did you say?", reference, turn
        )
        assert ruling.reply == city


def test_a_spoken_answer_is_spoken() -> None:
    sound = Message(role="user", parts=(Audio(sha256="0" * 64, mime="audio/wav", size_bytes=1),))
    said: list[UserAnswer] = []

    def speak(answer: UserAnswer, task: Task) -> Message:
        said.append(answer)
        return sound

    user = clarification_judge.SimulatedUser(speak_answer=speak)
    assert hear(user, QUESTION.message, {"whitelist": WHITELIST})[1] == sound
    assert hear(user, "Done.", {"whitelist": WHITELIST})[1] is None
    assert said == [UserAnswer("Krak\u00f3w", "Krak\u00f3w")]
    hear(user, "How many days did you say?", {"whitelist": WHITELIST})
    assert said[-1] == UserAnswer("15", "fifteen")


@pytest.mark.parametrize("most", [0, 1, 3])
def test_it_answers_so_often_in_a_turn(most: int) -> None:
    user = clarification_judge.SimulatedUser(max_answers=most)
    for steps in range(1, 6):
        ruling, message = hear(user, QUESTION.message, {"whitelist": WHITELIST}, steps=steps)
        assert ruling.allowed == (message is not None) == (steps <= most)


def test_an_episode_with_it_ends_at_the_cap() -> None:
    class World(NoOpEnvironment):
        user: Any = clarification_judge.SimulatedUser()

    item = task({"whitelist": WHITELIST, "written": ["fly"]})
    found = asyncio.run(
        run_tool_loop(item, Says(QUESTION.message), NativeFormat(), World(item), Sampling())
    )
    assert [step.ruling.allowed for step in found.steps if step.ruling] == [True] * 3 + [False]
    assert found.steps[-1].ruling == Ruling(allowed=False, reason="too often")
    assert found.ending == "answered"
    assert not any(isinstance(call, Call) for step in found.steps for call in step.calls)


def test_the_prompt_says_how_the_user_is_heard() -> None:
    assert "transcript" in system_prompts.make_system_prompt()
    assert "transcript" not in system_prompts.make_system_prompt("user")
    assert "hear the user" in system_prompts.make_system_prompt("user")
    for reported in ("language", "spelled", "letter by letter", "groups", "guess"):
        assert (
            reported in system_prompts.make_system_prompt()
            and reported in system_prompts.make_system_prompt("user")
        )


@pytest.mark.parametrize("name", ["control/oracle", "control/null", "baseline/planner"])
def test_who_answers_no_questions_cannot_judge(name: str, tmp_path: Path) -> None:
    async def opened() -> None:
        async with SpeechEnvironmentOpener(name, MediaStore(tmp_path / "made"))(
            MediaStore(tmp_path / "run")
        ):
            pass

    with pytest.raises(UsageError, match=f"{name} cannot judge.*name a model .*rules, or off"):
        asyncio.run(opened())
