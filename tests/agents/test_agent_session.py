"""An agent of one's own is scored as a model with the same policy, and its faults are its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.runs import mini

import toolmark as tm
from toolmark.agents import agent_session
from toolmark.agents.agent_session import AgentSession, EpisodeOver
from toolmark.agents.installed_agents import adapt_agent
from toolmark.core.errors import Unavailable, UsageError
from toolmark.core.model import NO_MODEL
from toolmark.core.records import Message, Text
from toolmark.reports import run_names
from toolmark.runs.run_store import Run


async def ask_and_do(session: AgentSession) -> str:
    """Drive the run's model as the tool loop does, through the session alone."""
    history = list(session.messages)
    while True:
        tools = tuple(
            tm.Tool(name=each.name, description=each.description, parameters=each.parameters)
            for each in session.tools
        )
        reply = await session.model(tm.Request(messages=tuple(history), tools=tools))
        said = Message(role="assistant", parts=(Text(reply.text),), calls=reply.calls)
        history.append(said)
        if reply.calls:
            results = await asyncio.gather(
                *(session.call(call.name, call.arguments) for call in reply.calls)
            )
            history += [
                Message(role="tool", parts=result.parts, call_id=call.id)
                for call, result in zip(reply.calls, results, strict=True)
            ]
        elif await session.reply(reply.text) is None:
            return ""
        else:
            history += session.messages


def outcomes(run: Run) -> dict[str, Any]:
    return {score.task: {rule: each.outcome for rule, each in score.verdicts.items()}
            for score in run.scores()}  # fmt: skip


FUNCBENCH = {"core": 4, "depth": 2, "connected": 2, "graphs": 6, "seed": 3}


@pytest.mark.parametrize(
    ("suite", "parameters", "model"),
    [
        ("funcbench", FUNCBENCH, "baseline/planner"),
        ("funcbench", FUNCBENCH, "baseline/eager"),
        ("funcbench", FUNCBENCH, "control/faulty?class=incorrect&rate=0.5"),
        ("bfcl", {"category": "multi_turn_base"}, "control/oracle"),
        ("bfcl", {"category": "multi_turn_base"}, "control/faulty?class=wrong_value&rate=0.5"),
        ("bfcl", {"category": "parallel,irrelevance"}, "baseline/lexical"),
    ],
)
def test_one_policy_has_the_same_score_as_model_and_as_agent(
    tmp_path: Path, suite: str, parameters: dict[str, Any], model: str
) -> None:
    loaded = tm.load(suite, **parameters)
    settings: dict[str, Any] = {"log_dir": str(tmp_path), "limit": 12, "floors": "off"}
    as_model = tm.run(loaded, model, **settings)
    as_agent = tm.run(loaded, model, agent=ask_and_do, **settings)
    assert outcomes(as_agent) == outcomes(as_model)
    played = {each.task: each for each in as_model.trajectories()}
    for ours in as_agent.trajectories():
        theirs = played[ours.task]
        assert [step.calls and [c.name for c in step.calls] for step in ours.steps] == [
            step.calls and [c.name for c in step.calls] for step in theirs.steps
        ]
        assert ours.ending == theirs.ending and ours.usage == theirs.usage


def play(agent: Callable[[AgentSession], Any], folder: Path, *, n: int = 1, **settings: Any) -> Run:
    return tm.run(mini.load(n=n), agent=agent, log_dir=str(folder), floors="off", **settings)


def test_an_agent_without_a_model_calls_tools_and_answers(tmp_path: Path) -> None:
    prompts = []

    async def adder(session: AgentSession) -> str:
        prompts.append(session.prompt)
        first = int(session.prompt.split()[2])
        (add,) = session.tools
        return (await add(of=[first, 1])).text

    run = play(adder, tmp_path, n=3)
    assert all(found == {"exact": "correct"} for found in outcomes(run).values())
    assert sorted(prompts) == [f"What is {i} + 1?" for i in range(3)]
    assert run.info.plan.model == NO_MODEL


def test_calls_at_the_same_time_are_one_reply_and_others_follow(tmp_path: Path) -> None:
    async def busy(session: AgentSession) -> str:
        await asyncio.gather(*(session.call("add", {"of": [i]}) for i in range(2)))
        return (await session.call("add", {"of": [1]})).text

    (played,) = play(busy, tmp_path).trajectories()
    assert [[json.loads(c.arguments)["of"] for c in step.calls] for step in played.steps] == [
        [[0], [1]], [[1]], [],
    ]  # fmt: skip
    assert played.answer == "1"


def test_an_agent_that_never_stops_ends_at_the_limit_of_the_task(tmp_path: Path) -> None:
    ended = []

    async def endless(session: AgentSession) -> str:
        try:
            while True:
                await session.call("add", {"of": [1]})
        except EpisodeOver:
            ended.append(await session.reply("too late"))
            raise

    (played,) = play(endless, tmp_path).trajectories()
    assert played.ending == "calls" and sum(len(step.results) for step in played.steps) == 3
    assert ended == [None]


async def say_one(session: AgentSession) -> str:
    return "1"


async def fail(session: AgentSession) -> str:
    raise ValueError("no idea")


async def leave(session: AgentSession) -> str:
    sys.exit(3)


async def send_an_object(session: AgentSession) -> None:
    await session.call("add", {"of": object()})


async def reply_with_a_number(session: AgentSession) -> None:
    await session.reply(1)  # type: ignore[arg-type]


async def call_a_number(session: AgentSession) -> None:
    await session.call(1, {})  # type: ignore[arg-type]


async def return_a_reply(session: AgentSession) -> tm.Reply:
    return tm.Reply(text="1")


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (fail, "no idea"),
        (leave, r"exit\(3\)"),
        (send_an_object, "not plain JSON"),
        (reply_with_a_number, "must be a str, got int"),
        (call_a_number, "cannot be stored"),
        (return_a_reply, "returns its text or None, got Reply"),
    ],
)
def test_an_agent_that_fails_is_not_run_by_its_own_fault(
    tmp_path: Path, agent: Any, said: str
) -> None:
    run = play(agent, tmp_path, n=2)
    for score in run.scores():
        assert score.failure is not None
        assert (score.failure.stage, score.failure.kind) == ("agent", "agent")
        assert re.search(said, score.failure.message)
    assert run.summary()["n_run"] == 0


def test_an_agent_that_never_ends_is_stopped_by_the_time_limit(tmp_path: Path) -> None:
    async def sleepy(session: AgentSession) -> None:
        await asyncio.sleep(3600)

    (score,) = play(sleepy, tmp_path, time_limit_s=0.2).scores()
    assert score.failure is not None and score.failure.kind == "time_limit"


def test_an_endpoint_that_fails_is_not_the_agents_fault(tmp_path: Path) -> None:
    async def dead(request: tm.Request) -> tm.Reply:
        raise Unavailable("nobody there")

    async def wraps(session: AgentSession) -> str:
        try:
            return (await session.model(tm.Request(messages=session.messages))).text
        except Exception as error:
            raise RuntimeError("my framework failed") from error

    run = tm.run(mini.load(n=1), dead, agent=wraps, log_dir=str(tmp_path), floors="off",
                 max_retries=0)  # fmt: skip
    (score,) = run.scores()
    assert score.failure is not None
    assert (score.failure.stage, score.failure.kind) == ("model", "unavailable")


async def ask_once(session: AgentSession) -> str:
    return (await session.model(tm.Request(messages=session.messages))).text


def test_an_agent_that_hides_a_failed_request_is_not_run(tmp_path: Path) -> None:
    async def dead(request: tm.Request) -> tm.Reply:
        raise Unavailable("nobody there")

    async def hides(session: AgentSession) -> str:
        try:
            return await ask_once(session)
        except Exception:
            return "I do not know."

    run = tm.run(mini.load(n=2), dead, agent=hides, log_dir=str(tmp_path), floors="off",
                 max_retries=0)  # fmt: skip
    for score in run.scores():
        assert score.failure is not None and not score.verdicts
        assert (score.failure.stage, score.failure.kind) == ("model", "unavailable")


def test_an_agent_that_asks_again_with_success_is_scored(tmp_path: Path) -> None:
    asked: list[int] = []

    async def once_dead(request: tm.Request) -> tm.Reply:
        asked.append(1)
        if len(asked) == 1:
            raise Unavailable("nobody there")
        return tm.Reply(text="1")

    async def insists(session: AgentSession) -> str:
        try:
            return await ask_once(session)
        except Unavailable:
            return await ask_once(session)

    run = tm.run(mini.load(n=1), once_dead, agent=insists, log_dir=str(tmp_path), floors="off",
                 max_retries=0)  # fmt: skip
    assert outcomes(run) == {"sum-0": {"exact": "correct"}}


def test_a_reply_along_with_a_call_is_the_next_reply(tmp_path: Path) -> None:
    async def hasty(session: AgentSession) -> None:
        await asyncio.gather(session.call("add", {"of": [1]}), session.reply("1"))

    (played,) = play(hasty, tmp_path, time_limit_s=20).trajectories()
    assert [len(step.calls) for step in played.steps] == [1, 0] and played.answer == "1"


async def call_on(session: AgentSession) -> None:
    while True:
        with contextlib.suppress(Exception):
            await session.call("add", {"of": [1]})


async def reply_on(session: AgentSession) -> None:
    while True:
        await session.reply("1")


async def ask_on(session: AgentSession) -> None:
    while True:
        with contextlib.suppress(Exception):
            await session.model(tm.Request(messages=session.messages))
            await session.reply("1")


async def give_up_waiting(session: AgentSession) -> None:
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(session.reply("1"), 0.01)
    await asyncio.sleep(3600)


@pytest.mark.parametrize("agent", [call_on, reply_on, ask_on, give_up_waiting])
def test_an_agent_that_does_not_end_with_its_episode_stops_nothing(
    tmp_path: Path, agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_session, "END_TIMEOUT_S", 0.05)
    monkeypatch.setattr(agent_session, "CANCEL_TIMEOUT_S", 0.05)
    asked: list[int] = []

    async def model(request: tm.Request) -> tm.Reply:
        asked.append(1)
        return tm.Reply(text="1")

    run = tm.run(mini.load(n=2), model, agent=agent, log_dir=str(tmp_path), floors="off")
    assert run.summary()["n_run"] == 2
    assert len(asked) == (2 if agent is ask_on else 0)


def test_an_agent_sees_the_conversation_in_which_a_task_begins(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    said = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "a", "type": "function",
             "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}]},
        {"role": "tool", "tool_call_id": "a", "content": "sunny"},
    ]  # fmt: skip
    tool = {"name": "weather", "description": "Weather.", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}}}  # fmt: skip
    rows.write_text(json.dumps({"id": "r", "messages": said, "tools": [tool], "expected": []}))
    seen: list[AgentSession] = []

    async def looks(session: AgentSession) -> str:
        seen.append(session)
        return "sunny"

    tm.run(str(rows), agent=looks, log_dir=str(tmp_path / "runs"), floors="off")
    (session,) = seen
    assert [each.role for each in session.messages] == ["system", "user", "assistant", "tool"]
    assert session.prompt == (
        'Be brief.\n\nuser: Weather in Rome?\n\nassistant: weather({"city": "Rome"})\n\ntool: sunny'
    )


def test_requests_of_the_agent_are_counted_whether_or_not_they_led_to_a_call(
    tmp_path: Path,
) -> None:
    async def model(request: tm.Request) -> tm.Reply:
        return tm.Reply(text="1", usage=replace(tm.Reply().usage, input=10, output=1))

    async def thinks(session: AgentSession) -> str:
        replies = [await session.model(tm.Request(messages=session.messages)) for _ in range(3)]
        return replies[-1].text

    run = tm.run(mini.load(n=2), model, agent=thinks, log_dir=str(tmp_path), floors="off")
    assert run.summary()["spent"]["tokens"]["input"] == 60


def test_a_run_without_model_or_agent_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no model; next: -m MODEL"):
        tm.run(mini.load(n=1), log_dir=str(tmp_path))

    async def asks(session: AgentSession) -> None:
        await session.model(tm.Request(messages=session.messages))

    with pytest.raises(UsageError, match="asks a model, and the run has none"):
        play(asks, tmp_path)


def test_a_run_is_named_by_its_agent_and_by_the_model_that_it_asks(tmp_path: Path) -> None:
    runs = [
        tm.run(mini.load(n=1), model, agent=say_one, log_dir=str(tmp_path), floors="off")
        for model in ("control/null", None)
    ]
    names = [run_names.player_name(run.info.plan.agent, run.info.plan.model) for run in runs]
    assert names == [
        "tests.agents.test_agent_session.say_one with control/null",
        "tests.agents.test_agent_session.say_one",
    ]
    assert all("say_one" in run.path.name for run in runs)
    assert [run.summary()["agent"] for run in runs] == [names[1]] * 2
    assert run_names.player_name("", "openai/m") == "openai/m"
    assert run_names.player_name("/a/b.py:c", "http://h/v1#m") == "b.py:c with m"


@pytest.mark.parametrize("found", [3, print, lambda session: "x", AgentSession, mini.load])
def test_what_is_no_agent_is_refused(found: object) -> None:
    with pytest.raises(UsageError, match=r"expected an agent, `async def agent\(session\)`, got"):
        adapt_agent(found)


def test_two_agents_made_in_a_program_do_not_continue_each_other(tmp_path: Path) -> None:
    def make(answer: str) -> Callable[[AgentSession], Any]:
        async def agent(session: AgentSession) -> str:
            return answer

        return agent

    right, wrong = play(make("1"), tmp_path), play(make("2"), tmp_path)
    assert right.path != wrong.path
    assert outcomes(right) == {"sum-0": {"exact": "correct"}}
    assert outcomes(wrong) == {"sum-0": {"exact": "incorrect"}}
