"""The loop asks, executes and ends as the task's limits say."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from toolmark.agents.tool_loop import merge_sampling, run_tool_loop
from toolmark.core.environment import Environment
from toolmark.core.errors import Timeout, ToolEnvironmentError
from toolmark.core.model import Model
from toolmark.core.records import (
    Call,
    Limits,
    Message,
    Reply,
    Request,
    Result,
    Sampling,
    Step,
    StopReason,
    Task,
    Text,
    Tool,
    ToolFormat,
    Trajectory,
    Turn,
    Usage,
)
from toolmark.formats.native_format import NativeFormat
from toolmark.formats.prompt_format import PromptFormat

TOOL = Tool(name="f")


def user(text: str) -> Message:
    return Message(role="user", parts=(Text(text),))


def task(*turns: str, steps: int = 50, calls: int | None = None, single: bool = False) -> Task:
    return Task(
        id="t", suite="s", tools=(TOOL,), turns=tuple(Turn(messages=(user(t),)) for t in turns),
        limits=Limits(steps=steps, calls=calls, single_reply=single),
    )  # fmt: skip


class Echo(Environment):
    """A world that repeats the arguments."""

    def __init__(self) -> None:
        self.called: list[Call] = []

    async def tools(self) -> tuple[Tool, ...]:
        return (TOOL,)

    async def call(self, call: Call, /) -> Result:
        self.called.append(call)
        return Result(parts=(Text(call.arguments),))

    async def final_state(self) -> int:
        return len(self.called)


class Script(Model):
    """Says the replies in order, and keeps the requests."""

    def __init__(self, *replies: Reply | Exception) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


def calling(n: int) -> Reply:
    calls = tuple(Call(name="f", arguments=str(i), id=f"c{i}") for i in range(n))
    return Reply(calls=calls, usage=Usage(input=10, output=1), latency_s=0.5)


def said(text: str, stop: StopReason = "stop") -> Reply:
    return Reply(text=text, stop=stop)


def play(asked: Task, replies: Sequence[Reply | Exception]) -> tuple[Trajectory, Echo, Script]:
    world, model = Echo(), Script(*replies)
    return asyncio.run(run_tool_loop(asked, model, NativeFormat(), world, Sampling())), world, model


def test_it_ends_with_a_reply_without_calls() -> None:
    found, world, model = play(task("go"), [calling(2), calling(1), said("done")])
    assert (found.ending, found.answer, found.state) == ("answered", "done", 3)
    assert [len(step.results) for step in found.steps] == [2, 1, 0]
    assert found.usage == Usage(input=20, output=2)
    assert found.latency_s == 1.0
    roles = [message.role for message in model.requests[-1].messages]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "tool"]
    assert [c.arguments for c in world.called] == ["0", "1", "0"]


@pytest.mark.parametrize(("cap", "executed"), [(3, 3), (2, 2), (4, 4)])
def test_the_first_calls_are_executed_and_one_more_ends_it(cap: int, executed: int) -> None:
    found, world, _ = play(task("go", calls=cap), [calling(2), calling(3), said("done")])
    assert found.ending == "calls"
    assert len(world.called) == executed
    assert found.answer == ""
    assert len(found.steps[-1].calls) > len(found.steps[-1].results)


def test_an_answer_after_exactly_the_cap_counts() -> None:
    found, world, _ = play(task("go", calls=3), [calling(2), calling(1), said("done")])
    assert (found.ending, found.answer, len(world.called)) == ("answered", "done", 3)


def test_steps_are_bounded_per_turn() -> None:
    found, _, model = play(task("a", "b", steps=2), [calling(1), calling(1)])
    assert (found.ending, len(model.requests)) == ("steps", 2)


def test_turns_follow_each_other_in_one_conversation() -> None:
    found, _, model = play(task("a", "b"), [calling(1), said("x"), said("y")])
    assert [step.turn for step in found.steps] == [0, 0, 1]
    assert [m.text for m in model.requests[-1].messages if m.role == "user"] == ["a", "b"]
    assert [len(step.new_messages) for step in found.steps] == [1, 0, 1]
    assert found.answer == "y"


def test_a_turn_of_a_single_reply_ends_with_it_whether_it_calls_or_not() -> None:
    asked = task("one", "two", "three", steps=1, single=True)
    found, world, _ = play(asked, [calling(2), said("x"), calling(1)])
    assert [(step.turn, len(step.calls)) for step in found.steps] == [(0, 2), (1, 0), (2, 1)]
    assert len(world.called) == 3  # each has its result, as endpoints want it
    assert (found.ending, found.answer) == ("answered", "")
    cut, _, _ = play(asked, [calling(1), said("", "over_long")])
    assert (cut.ending, len(cut.steps)) == ("over_long", 2)


@pytest.mark.parametrize("stop", ["length", "refused", "malformed", "over_long"])
def test_the_models_faults_are_endings_not_errors(stop: StopReason) -> None:
    found, _, _ = play(task("go"), [said("half", stop)])
    assert found.ending == stop


def test_a_conversation_too_long_ends_the_episode() -> None:
    found, _, model = play(task("a", "b"), [said("", "over_long")])
    assert (found.ending, len(model.requests)) == ("over_long", 1)


def test_steps_survive_an_endpoint_error() -> None:
    steps: list[Step] = []
    model = Script(calling(1), Timeout("slow"))
    with pytest.raises(Timeout):
        asyncio.run(
            run_tool_loop(task("go"), model, NativeFormat(), Echo(), Sampling(), steps=steps)
        )
    assert len(steps) == 1


def test_what_a_task_fixes_wins_over_the_runs_settings() -> None:
    run = Sampling(temperature=0.7, top_p=0.9, extra={"a": 1})
    fixed = Sampling(temperature=0.0, reasoning_effort="minimal")
    assert merge_sampling(run, fixed) == Sampling(
        temperature=0.0, top_p=0.9, reasoning_effort="minimal", extra={"a": 1}
    )


class Wide(Echo):
    """A world that takes several calls at once, later ones ending sooner."""

    def __init__(self, max_parallel_calls: int) -> None:
        super().__init__()
        self.max_parallel_calls = max_parallel_calls
        self.running: set[str] = set()
        self.busy = 0

    async def call(self, call: Call, /) -> Result:
        self.running.add(call.arguments)
        self.busy = max(self.busy, len(self.running))
        try:
            if call.arguments == "2" and len(self.running) > 2:
                raise ToolEnvironmentError("gone")
            for _ in range(20 - 2 * int(call.arguments)):
                await asyncio.sleep(0)
        finally:
            self.running.discard(call.arguments)
        return await super().call(call)


@pytest.mark.parametrize(("limit", "n"), [(1, 5), (2, 5), (2, 1)])
def test_calls_of_one_reply_run_together_as_far_as_the_environment_allows(
    limit: int, n: int
) -> None:
    world, model = Wide(limit), Script(calling(n), said("done"))
    found = asyncio.run(run_tool_loop(task("go"), model, NativeFormat(), world, Sampling()))
    assert world.busy == min(limit, n)
    assert [result.text for result in found.steps[0].results] == [str(i) for i in range(n)]


def test_no_call_goes_on_when_another_ends_the_environment() -> None:
    world = Wide(3)

    async def lost() -> set[str]:
        with pytest.raises(ToolEnvironmentError, match="gone"):
            await run_tool_loop(task("go"), Script(calling(3)), NativeFormat(), world, Sampling())
        return world.running

    assert asyncio.run(lost()) == set()
    assert world.called == []


class Calendar(Environment):
    """The least that an environment has: its calls, and a state that is not async."""

    def __init__(self) -> None:
        self.events: list[str] = []

    async def call(self, call: Call, /) -> Result:
        self.events.append(call.arguments)
        return Result()

    def final_state(self) -> object:
        return sorted(self.events)


def test_every_other_ability_of_an_environment_has_a_default() -> None:
    model = Script(calling(2), said("done"))
    found = asyncio.run(run_tool_loop(task("go"), model, NativeFormat(), Calendar(), Sampling()))
    assert found.state == ["0", "1"] and found.tools == ()
    assert model.requests[0].tools == task("go").tools
    model, plain = Script(calling(1), said("done")), Environment()
    found = asyncio.run(run_tool_loop(task("go"), model, NativeFormat(), plain, Sampling()))
    assert found.state is None and found.steps[0].results[0].is_error


class Moody(Echo):
    """A world in which `f` gives way to `g` after the first call; `h` comes and goes."""

    def __init__(self) -> None:
        super().__init__()
        self.n_asked = 0

    def tools_changed(self) -> bool:
        return len(self.called) in (1, 2)

    async def tools(self) -> tuple[Tool, ...]:
        self.n_asked += 1
        listed = [("f",), ("g", "h"), ("g",)][min(len(self.called), 2)]
        return tuple(Tool(name=name, description=str(len(self.called))) for name in listed)


@pytest.mark.parametrize("tool_format", [NativeFormat(), PromptFormat()])
def test_tools_that_come_and_go_are_offered_as_they_are(tool_format: ToolFormat) -> None:
    world = Moody()
    call = (Call(name="f", arguments="{}"),)
    model = Script(*(tool_format.render_calls(call) for _ in range(3)), said("done"))
    found = asyncio.run(run_tool_loop(task("go"), model, tool_format, world, Sampling()))
    assert world.n_asked == 3
    assert {tool.name for tool in found.tools} == {"f", "g", "h"}
    if isinstance(tool_format, NativeFormat):
        offered = [[t.name for t in request.tools] for request in model.requests]
        assert offered == [["f"], ["g", "h"], ["g"], ["g"]]
        assert [t.description for t in model.requests[2].tools] == ["2"]
    else:
        reported = [[m.text for m in step.new_messages] for step in found.steps]
        assert any("h" in text for text in reported[1])
        assert reported[2] == reported[3] == []
