"""The executor plans, processes, decides and replies, within its limits, and forgets nothing."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.runs import mini

import toolmark as tm
from toolmark.agents.executor import Executor, join_user_messages, nearest_tools, select_named_tools
from toolmark.agents.phased_model import PhasedModel, phase_of_request
from toolmark.agents.picture_paths import PicturePaths
from toolmark.core.environment import Environment
from toolmark.core.errors import Timeout, ToolEnvironmentError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model, ReplyFunction, adapt_function
from toolmark.core.records import (
    Call,
    Image,
    Limits,
    Message,
    ProviderState,
    Reply,
    Request,
    Result,
    Sampling,
    Step,
    Task,
    Text,
    Tool,
    Trajectory,
    Turn,
    Usage,
)
from toolmark.environments.cassette import Cassette
from toolmark.environments.recording_factory import RecordingFactory, ReplayMode
from toolmark.formats.executor_json import EXECUTOR_JSON_FORMAT
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.runs.suite import Suite

TOOLS = (
    Tool(name="clock/now", description="Tell the time.\nNo arguments."),
    Tool(name="shop/find", description="Find a price.", parameters={"type": "object"}),
)
PICTURE = Image(sha256="a" * 64, mime="image/png", size_bytes=3)


def user(text: str) -> Message:
    return Message(role="user", parts=(Text(text),))


def task(*turns: str, steps: int = 50, calls: int | None = None) -> Task:
    asked = tuple(Turn(messages=(user(text),)) for text in turns or ("What does tea cost?",))
    limits = Limits(steps=steps, calls=calls)
    return Task(id="t", suite="s", tools=TOOLS, turns=asked, limits=limits)


class Shop(Environment):
    """Answers with what was called; `busy` is the most calls that ran at the same time."""

    def __init__(self, max_parallel_calls: int = 10) -> None:
        self.max_parallel_calls = max_parallel_calls
        self.running = 0
        self.busy = 0
        self.called: list[Call] = []

    async def tools(self) -> tuple[Tool, ...]:
        return TOOLS

    async def call(self, call: Call, /) -> Result:
        self.called.append(call)
        self.running += 1
        self.busy = max(self.busy, self.running)
        for _ in range(5 - len(self.called) % 5):  # later calls end sooner
            await asyncio.sleep(0)
        self.running -= 1
        if call.name == "clock/now":
            return Result(parts=(Text("noon"), PICTURE), structured={"images": ["/w/a.png"]})
        if call.name == "shop/dead":
            raise ToolEnvironmentError("the shop burnt down")
        return Result(parts=(Text(f"<{call.arguments}>"),), is_error=call.name != "shop/find")

    async def final_state(self) -> int:
        return len(self.called)


def calls(*items: tuple[str, Any]) -> str:
    listed = [{"name": name, "arguments": given} for name, given in items]
    return json.dumps({"tool_calls": listed})


FIND = calls(("shop/find", {"what": "tea"}))


class Mind(Model):
    """Says, phase by phase, what a test wants; keeps the requests."""

    def __init__(self, **said: str | list[str]) -> None:
        self.said = {"plan": "shop/find: for tea", "process": FIND, "decide": "yes", "final": "5"}
        self.lists = {name: list(text) for name, text in said.items() if isinstance(text, list)}
        self.said |= {name: text for name, text in said.items() if isinstance(text, str)}
        self.requests: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.requests.append(request)
        asked = phase_of_request(request)
        left = self.lists.get(asked)
        text = left.pop(0) if left else self.said[asked]
        if text == "<slow>":
            raise Timeout("slow")
        used = Usage(input=10, output=1)
        if text == "<too long>":
            return Reply(stop="over_long", usage=used, latency_s=1.0)
        return Reply(text=text, usage=used, latency_s=1.0)

    def last(self, asked: str) -> str:
        return next(
            r.messages[-1].text for r in reversed(self.requests) if phase_of_request(r) == asked
        )


def play(
    mind: Model, shop: Shop | None = None, asked: Task | None = None, **own: Any
) -> Trajectory:
    executor = Executor(**own)
    return asyncio.run(
        executor(asked or task(), mind, NATIVE_FORMAT, shop or Shop(), Sampling(max_tokens=9), 2)
    )


def phases(trajectory: Trajectory) -> list[str]:
    return [step.phase for step in trajectory.steps]


def test_a_round_has_three_requests_and_the_reply_is_one_more() -> None:
    mind = Mind(decide=["No.", "no", "  **Yes**, I do"])
    found = play(mind)
    assert phases(found) == ["plan", "process", "decide"] * 3 + ["final"]
    assert (found.ending, found.answer, found.tool_format, found.state) == (
        "answered", "5", "executor", 3,
    )  # fmt: skip
    assert found.usage == Usage(input=100, output=10)
    assert found.latency_s == 10.0
    assert all(not request.tools for request in mind.requests)
    assert {(r.repeat, r.sampling.max_tokens) for r in mind.requests} == {(2, 9)}


def test_rounds_are_bounded_and_end_with_a_reply() -> None:
    found = play(Mind(decide="not yet"))
    assert phases(found).count("plan") == 6
    assert found.ending == "answered"
    assert phases(play(Mind(decide="no"), max_rounds=2)).count("plan") == 2
    assert phases(play(Mind(decide="no"), asked=task(steps=1))).count("plan") == 1


def test_what_was_said_is_stored_with_the_step() -> None:
    mind = Mind(decide=["no", "yes"])
    found = play(mind)
    said = [[message.text for message in step.new_messages] for step in found.steps]
    assert said[0][0] == "What does tea cost?"
    assert [len(texts) for texts in said] == [2, 1, 1, 1, 1, 1, 1]
    for texts, request in zip(said, mind.requests, strict=True):
        assert request.messages[-1].text.endswith(texts[-1])


def test_a_plan_shows_all_tools_and_processing_shows_the_chosen_ones_with_schemas() -> None:
    mind = Mind()
    play(mind)
    plan, process = mind.last("plan"), mind.last("process")
    assert "round 1 of at most 6" in plan
    assert all(f"{tool.name}: {tool.description}" in plan for tool in TOOLS)
    assert "JSON Schema" not in plan
    assert "clock/now" not in process
    assert '{"type": "object"}' in process
    assert "at most 10" in process


def test_the_models_requests_alternate_between_user_and_assistant() -> None:
    mind = Mind(decide=["no", "yes"], process=["nonsense", "nonsense", FIND])
    play(mind)
    for request in mind.requests:
        roles = [message.role for message in request.messages]
        assert roles == [("user", "assistant")[i % 2] for i in range(len(roles))]
        assert roles[-1] == "user"


def test_results_are_heard_under_their_names_with_pictures_as_pixels() -> None:
    text = calls(("clock/now", {}), ("shop/find", {"x": 1}), ("shop/buy", {}))
    mind = Mind(process=text)
    play(mind)
    heard = mind.requests[2].messages[-1]
    assert PICTURE in heard.parts
    assert heard.text.startswith("[1] clock/now:\nnoon")
    assert '[2] shop/find:\n<{"x": 1}>' in heard.text
    assert "[3] shop/buy failed:\n<{}>" in heard.text
    assert json.loads(mind.requests[2].messages[-2].text) == json.loads(text)


def test_paths_of_pictures_are_listed_once_they_are_made() -> None:
    mind = Mind(process=[calls(("clock/now", {})), FIND], decide=["no", "yes"])
    play(mind)
    process = [r.messages[-1].text for r in mind.requests if phase_of_request(r) == "process"]
    assert "Image list" not in process[0]
    assert "Image list:\n- path: /w/a.png\n" in process[1]
    bare = Mind(process=[calls(("clock/now", {})), FIND], decide=["no", "yes"])
    play(bare, lists_pictures=False)
    assert "Image list" not in bare.last("process")


def test_calls_beyond_the_width_of_a_round_are_recorded_but_not_executed() -> None:
    mind = Mind(process=calls(*(("shop/find", {"n": n}) for n in range(5))))
    shop = Shop()
    found = play(mind, shop, max_concurrent=3)
    step = found.steps[1]
    assert (len(step.calls), len(step.results), len(shop.called)) == (5, 3, 3)
    assert [f'<{{"n": {n}}}>' for n in range(3)] == [result.text for result in step.results]
    assert "[5] shop/find: not executed" in mind.requests[2].messages[-1].text
    assert found.ending == "answered"


@pytest.mark.parametrize(("at_once", "most", "busy"), [(10, 10, 8), (3, 10, 3), (10, 4, 4)])
def test_calls_run_at_the_same_time_as_far_as_environment_and_settings_allow(
    at_once: int, most: int, busy: int
) -> None:
    shop = Shop(at_once)
    found = play(
        Mind(process=calls(*(("shop/find", n) for n in range(8)))), shop, max_concurrent=most
    )
    assert shop.busy == busy
    assert [r.text for r in found.steps[1].results] == [f"<{n}>" for n in range(min(8, most))]


def test_one_call_over_the_tasks_limit_ends_the_episode() -> None:
    mind = Mind(process=calls(("shop/find", 1), ("shop/find", 2)), decide="no")
    found = play(mind, asked=task(calls=3))
    assert (found.ending, found.answer, found.state) == ("calls", "", 3)
    assert [(len(s.calls), len(s.results)) for s in found.steps if s.phase == "process"] == [
        (2, 2), (2, 1),
    ]  # fmt: skip


def test_json_that_cannot_be_read_is_asked_for_once_more() -> None:
    mind = Mind(process=["I would look it up.", FIND])
    found = play(mind)
    assert phases(found) == ["plan", "process", "process", "decide", "final"]
    assert found.steps[1].fault and not found.steps[2].fault
    assert "could not be used" in mind.last("process")


def test_a_round_without_readable_calls_is_recorded_as_such() -> None:
    mind = Mind(process=["hm", "hm", FIND])
    found = play(mind)
    assert phases(found) == ["plan", "process", "process", "plan", "process", "decide", "final"]
    assert "[TOOL_ERROR]" in mind.requests[3].messages[-1].text
    assert mind.requests[3].messages[-2].text == "hm"
    once = play(Mind(process="hm"), repeats_unreadable=False, max_rounds=1)
    assert phases(once) == ["plan", "process", "final"]


def test_an_empty_list_is_readable_and_goes_to_the_decision() -> None:
    found = play(Mind(process=calls()))
    assert phases(found) == ["plan", "process", "decide", "final"]
    assert not found.steps[1].fault


def test_items_that_are_no_calls_are_spoken_of() -> None:
    mind = Mind(process=json.dumps([{"name": "shop/find"}, *json.loads(FIND)["tool_calls"]]))
    found = play(mind)
    assert len(found.steps[1].results) == 1
    assert "1 of 2 items" in found.steps[1].fault
    assert "1 of 2 items" in mind.requests[2].messages[-1].text


@pytest.mark.parametrize("asked", ["plan", "process", "decide", "final"])
def test_a_conversation_too_long_ends_the_episode(asked: str) -> None:
    found = play(Mind(**{asked: "<too long>"}))
    assert (found.ending, found.answer, phases(found)[-1]) == ("over_long", "", asked)


def test_steps_survive_errors_of_endpoint_and_environment() -> None:
    for mind, error, n in (
        (Mind(decide="<slow>"), Timeout, 2),
        (Mind(process=calls(("shop/dead", {}), ("shop/find", {}))), ToolEnvironmentError, 2),
    ):
        steps: list[Step] = []
        with pytest.raises(error):
            asyncio.run(Executor()(task(), mind, NATIVE_FORMAT, Shop(), Sampling(), steps=steps))
        assert len(steps) == n


def test_turns_follow_each_other_with_the_reply_between() -> None:
    mind = Mind(final=["<think>hm</think>five", "six"])
    found = play(mind, asked=task("Tea?", "Coffee?"))
    assert [step.turn for step in found.steps] == [0] * 4 + [1] * 4
    assert found.answer == "six"
    second = mind.requests[4].messages
    assert [m.text for m in second if m.role == "assistant"][-1] == "five"
    assert "Coffee?" in mind.last("decide") and "Tea?" not in mind.last("decide").split("==")[-1]


def test_what_the_endpoint_wants_back_goes_with_calls_and_with_the_reply_of_a_turn() -> None:
    class Thinker(Mind):
        async def __call__(self, request: Request, /) -> Reply:
            reply = await super().__call__(request)
            state = ProviderState(wire="chat", origin="o", data=phase_of_request(request))
            return replace(reply, provider_state=state)

    mind = Thinker()
    play(mind, asked=task("Tea?", "Coffee?"))
    said = [each for each in mind.requests[-1].messages if each.role == "assistant"]
    states = [each.provider_state.data for each in said if each.provider_state is not None]
    assert states == ["process", "final", "process"]


def test_a_plan_that_names_no_tool_gets_the_nearest_by_words() -> None:
    mind = Mind(plan="I shall see")
    play(mind, max_chosen_tools=1, asked=task("Please find the price"))
    assert "shop/find" in mind.last("process") and "clock/now" not in mind.last("process")


def test_tools_are_chosen_by_name_and_colon_then_by_name() -> None:
    tools = tuple(Tool(name=name) for name in ("b/x", "ab/x", "b/xy", "c/z"))

    def names(plan: str) -> list[str]:
        return [tool.name for tool in select_named_tools(plan, tools)]

    assert names("C/Z: why\n- `b/x`: then") == ["b/x", "c/z"]
    assert names("**ab/x**: only this, not b/xy") == ["ab/x"]
    assert names("use b/xy and c/z.") == ["b/xy", "c/z"]
    assert names("b/xyz, zab/x") == []
    assert names("") == []


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=6), st.integers(0, 8))
def test_choosing_never_invents_and_keeps_the_order(text: str, names: list[str], n: int) -> None:
    tools = tuple(Tool(name=name) for name in dict.fromkeys(names))
    for found in (select_named_tools(text, tools), nearest_tools(text, tools, n)):
        assert [tool for tool in tools if tool in found] == list(found)
    assert len(nearest_tools(text, tools, n)) == min(n, len(tools))


def test_joining_keeps_every_part_in_order() -> None:
    said = (user("a"), user("b"), Message(role="assistant"), user("c"))
    assert [(m.role, m.text) for m in join_user_messages(said)] == [
        ("user", "a\n\nb"), ("assistant", ""), ("user", "c"),
    ]  # fmt: skip


def test_a_pool_holds_paths_and_no_pictures() -> None:
    pool = PicturePaths()
    pool.add(Result(parts=(Text('{"images": ["b.png", "a.png", 3]}'),)))
    pool.add(Result(parts=(Text(json.dumps({"images": ["b.png", "x" * 2000]})),)))
    pool.add(Result(parts=(Text('{"json_parts": [{"images": ["c.png"]}, 1]}'),)))
    pool.add(Result(parts=(Text('{"images": ["no.png"]}'),), is_error=True))
    pool.add(Result(parts=(Text('{"images": "n'),), structured=[1]))
    assert pool.paths == ("b.png", "a.png", "c.png")


def test_a_player_of_the_plain_loop_plays_the_same_calls_in_rounds() -> None:
    replies = [
        Reply(calls=(Call(name="clock/now"), Call(name="shop/find", arguments='{"a": 1}'))),
        Reply(calls=(Call(name="shop/find", arguments='{"a": 2}'),)),
        Reply(text="five"),
    ]

    async def player(request: Request, /) -> Reply:
        return replies.pop(0)

    shop = Shop()
    found = play(PhasedModel(adapt_function(player)), shop)
    assert [(c.name, json.loads(c.arguments)) for c in shop.called] == [
        ("clock/now", {}), ("shop/find", {"a": 1}), ("shop/find", {"a": 2}),
    ]  # fmt: skip
    assert found.answer == "five"
    assert phases(found) == ["plan", "process", "decide"] * 2 + ["final"]


def test_a_player_that_answers_at_once_calls_nothing() -> None:
    async def player(request: Request, /) -> Reply:
        return Reply(text="I do not know")

    found = play(PhasedModel(adapt_function(player)))
    assert (found.answer, found.state) == ("I do not know", 0)
    assert phases(found) == ["plan", "process", "decide", "final"]


class Adding(Model):
    """Adds in rounds: asks `add` for the numbers of the question, answers with what came back."""

    name = "adding"

    async def __call__(self, request: Request, /) -> Reply:
        text = "\n".join(message.text for message in request.messages)
        match phase_of_request(request):
            case "plan":
                return Reply(text="add: both numbers")
            case "process":
                numbers = [int(n) for n in re.findall(r"What is (\d+) \+ (\d+)", text)[0]]
                return Reply(text=calls(("add", {"of": numbers})))
            case "decide":
                return Reply(text="yes")
            case _:
                return Reply(text=re.findall(r"\[1\] add:\n(\d+)", text)[0])


def test_a_suite_names_its_agent_and_a_recording_replaces_the_environment(
    tmp_path: Path,
) -> None:
    def suite(mode: ReplayMode, **own: Any) -> Suite:
        plain = mini.load(n=6, **own)

        @asynccontextmanager
        async def site(media: MediaStore) -> AsyncIterator[RecordingFactory]:
            async with plain.environment.open(media) as live:
                tape = Cassette(tmp_path / "tape.jsonl")
                yield RecordingFactory(live, tape, mode=mode, media=media)

        tool_formats = {"executor": EXECUTOR_JSON_FORMAT}
        return dataclasses.replace(
            plain,
            environment=dataclasses.replace(plain.environment, open=site),
            tool_formats=tool_formats,
            defaults=dataclasses.replace(plain.defaults, agent=Executor()),
        )

    played: tuple[tuple[ReplayMode, tuple[str, ...]], ...] = (
        ("record", ()),
        ("replay", ("sum-2",)),
    )
    for mode, dead in played:
        found = tm.run(suite(mode, dead=dead), Adding(), log_dir=tmp_path / mode, repeats=2)
        summary = found.summary()
        assert (summary["n_run"], summary["score"]["value"]) == (12, 1.0)
        first = next(found.trajectories())
        assert phases(first) == ["plan", "process", "decide", "final"]
        assert first.tool_format == "executor"
    lost = tm.run(suite("record", dead=("sum-2",)), Adding(), log_dir=tmp_path / "lost")
    assert lost.summary()["n_not_run"] == 1


class Noted(Control):
    """An instrument that adds what the task's reference says."""

    name = "told"

    def bind(self, task: Task, repeat: int, /) -> ReplyFunction:
        replies = [Reply(calls=(Call(name="add", arguments=json.dumps({"of": [task.data]})),))]

        async def play(request: Request, /) -> Reply:
            return replies.pop() if replies else Reply(text=str(task.data))

        return play


def test_a_control_plays_in_rounds_too(tmp_path: Path) -> None:
    plain = mini.load(n=3)
    suite = dataclasses.replace(
        plain,
        tool_formats={"executor": EXECUTOR_JSON_FORMAT},
        defaults=dataclasses.replace(plain.defaults, agent=Executor()),
    )
    found = tm.run(suite, Noted(), log_dir=tmp_path)
    assert found.summary()["score"]["value"] == 1.0
    assert [len(step.results) for step in next(found.trajectories()).steps] == [0, 1, 0, 0]
