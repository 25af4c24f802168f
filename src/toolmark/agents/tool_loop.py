"""The plain agent: ask, execute, repeat until a reply contains no call."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from time import perf_counter
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from toolmark.agents.agent import Agent
from toolmark.agents.native_view import NativeView, NativeViewModel
from toolmark.core.environment import Environment, SimulatedUser, read_final_state
from toolmark.core.errors import StageContext, mark_stage
from toolmark.core.model import Model
from toolmark.core.records import (
    Call,
    Ending,
    Message,
    ProviderState,
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
    ToolFormat,
    Trajectory,
    Turn,
)
from toolmark.core.token_counts import sum_usage

T = TypeVar("T")
ENDING_BY_STOP: dict[StopReason, Ending] = {
    "stop": "answered",
    "length": "length",
    "refused": "refused",
    "malformed": "malformed",
    "over_long": "over_long",
}
_UNSET_SAMPLING = Sampling()
# an entered context costs as much as a call: the plain loop marks errors without one
IN_ENVIRONMENT, _IN_USER = StageContext("environment"), StageContext("user")
_EPISODE_ENDINGS = ("steps", "calls", "over_long")


class ToolLoop(Agent):
    """The plain agent as an object: it plays episodes with `run_tool_loop`."""

    has_user = True

    def __call__(
        self,
        task: Task,
        model: Model,
        tool_format: ToolFormat,
        environment: Environment,
        sampling: Sampling,
        repeat: int = 0,
        *,
        steps: list[Step] | None = None,
    ) -> Coroutine[Any, Any, Trajectory]:
        """Run every turn of the task with the model."""
        return run_tool_loop(task, model, tool_format, environment, sampling, repeat, steps=steps)

    def adapt_native(self, model: Model, tool_format: ToolFormat) -> tuple[Model, ToolFormat]:
        """Return both so that the model sees native calls, and the format has them as text."""
        if not tool_format.calls_in_text:
            return model, tool_format
        view = NativeView(tool_format)
        return NativeViewModel(model, view), view

    def needs_one_reply(self, task: Task) -> bool:
        """Return whether the task has one turn, which ends with its first reply."""
        ends_at_once = task.limits.single_reply or task.limits.steps == 1
        return len(task.turns) == 1 and ends_at_once


TOOL_LOOP = ToolLoop()


async def run_tool_loop(
    task: Task,
    model: Model,
    tool_format: ToolFormat,
    environment: Environment,
    sampling: Sampling,
    repeat: int = 0,
    *,
    steps: list[Step] | None = None,
) -> Trajectory:
    """Run every turn of the task with the model.

    Calls of one reply are executed in order, or at the same time if the environment's
    `max_parallel_calls` is more than 1. The results are in the order of the calls. A turn ends with
    a reply without calls, or with any reply if the task's limit is `single_reply`. Reaching another
    limit of the task, or a conversation too long for the model, ends the episode.

    If the environment's tools have changed, they are read again before the next reply. If it has a
    `user`, the user opens the conversation of a task that has no message of a user, and receives a
    reply without calls first. If the user answers, the turn continues, and the reply does not count
    as one of the turn's steps.

    `steps` is filled during the run, so that the caller has them when an EndpointError or
    ToolEnvironmentError is raised.
    """
    opening = None
    if environment.user is not None:
        task, opening = await _open_conversation(task, environment.user)
    try:
        environment_tools = await environment.tools()
        task = await apply_opening(task, environment)
    except BaseException as error:
        mark_stage(error, "environment")
        raise
    conversation = _Conversation(
        task, tool_format, environment_tools, [] if steps is None else steps
    )
    conversation.max_parallel = environment.max_parallel_calls
    conversation.user, conversation.opening = environment.user, opening
    settings = merge_sampling(sampling, task.sampling)
    ending: Ending = "answered"
    for index in range(len(task.turns)):
        conversation.begin_turn(index)
        ending = await _run_turn(conversation, model, environment, settings, repeat)
        if ending in _EPISODE_ENDINGS:
            break
    last = conversation.steps[-1] if conversation.steps else None
    try:
        state = await read_final_state(environment)
    except BaseException as error:
        mark_stage(error, "environment")
        raise
    return Trajectory(
        task=task.id,
        repeat=repeat,
        tool_format=tool_format.name,
        steps=tuple(conversation.steps),
        answer="" if last is None or last.calls else last.reply.text,
        state=state,
        ending=ending,
        tools=() if conversation.seen_tools == task.tools else conversation.seen_tools,
        usage=sum_usage([step.reply.usage for step in conversation.steps]),
        latency_s=sum(step.reply.latency_s for step in conversation.steps),
    )


class _Conversation:
    """The conversation so far: the messages, the tools on offer, the number of calls left.

    `listed_tools` are those that the environment listed last, `seen_tools` all that it ever listed.
    """

    def __init__(
        self,
        task: Task,
        tool_format: ToolFormat,
        environment_tools: tuple[Tool, ...],
        steps: list[Step],
    ) -> None:
        self.task = task
        self.tool_format = tool_format
        self.tools = environment_tools or task.tools
        self.listed_tools = self.seen_tools = environment_tools
        self.steps = steps
        self.turn = 0
        self.history: tuple[Message, ...] = ()
        self.new_messages: tuple[Message, ...] = ()
        self.offered_tools: tuple[Tool, ...] = ()
        self.calls_left = task.limits.calls
        self.max_parallel = 1
        self.user: SimulatedUser | None = None
        self.opening: Ruling | None = None

    def begin_turn(self, index: int) -> None:
        """Begin a turn: add its messages and its tools."""
        turn = self.task.turns[index]
        self.turn = index
        self.tools += turn.tools
        if index == 0:
            self.new_messages, self.offered_tools = self.tool_format.render_opening(
                turn.messages, self.tools
            )
        else:
            self.new_messages, appeared = self.tool_format.render_turn(turn.messages, turn.tools)
            self.offered_tools += appeared
        self.history += self.new_messages

    async def ask_user(self, user: SimulatedUser, text: str) -> bool:
        """Give the last reply to the user; return whether the user answered, and add the answer."""
        if not text.strip():
            return False
        with _IN_USER:
            ruling, message = await user.answer(self.task, self.turn, self.steps, text)
        self.steps[-1] = replace(self.steps[-1], ruling=ruling)
        if message is None:
            return False
        self.new_messages, appeared = self.tool_format.render_turn((message,), ())
        self.offered_tools += appeared
        self.history += self.new_messages
        return True

    async def refresh_tools(self, environment: Environment) -> None:
        """Offer the environment's present tools: new tools are added, missing ones removed."""
        with IN_ENVIRONMENT:
            now = {tool.name: tool for tool in await environment.tools()}
        before = {tool.name: tool for tool in self.listed_tools}
        removed = {name: tool for name, tool in before.items() if name not in now}
        added = tuple(tool for name, tool in now.items() if name not in before)
        self.listed_tools = tuple(now.values())
        self.seen_tools = tuple(({tool.name: tool for tool in self.seen_tools} | now).values())
        self.tools = _update_tools(self.tools, now, removed) + added
        messages, appeared = self.tool_format.render_turn((), added) if added else ((), ())
        self.offered_tools = _update_tools(self.offered_tools, now, removed) + appeared
        self.new_messages += messages
        self.history += messages


def _update_tools(
    tools: tuple[Tool, ...], current: dict[str, Tool], removed: dict[str, Tool]
) -> tuple[Tool, ...]:
    return tuple(current.get(tool.name, tool) for tool in tools if tool.name not in removed)


async def _run_turn(
    conversation: _Conversation,
    model: Model,
    environment: Environment,
    sampling: Sampling,
    repeat: int,
) -> Ending:
    steps_left = conversation.task.limits.steps
    while steps_left > 0:
        if environment.tools_changed():
            await conversation.refresh_tools(environment)
        request = Request(
            messages=conversation.history,
            tools=conversation.offered_tools,
            sampling=sampling,
            repeat=repeat,
        )
        reply = await model(request)
        parsed = conversation.tool_format.parse_reply(reply, conversation.tools)
        reply, calls = parsed.reply or reply, parsed.calls
        allowed = calls if conversation.calls_left is None else calls[: conversation.calls_left]
        results: tuple[Result, ...] = ()
        durations: tuple[float, ...] = ()
        if allowed:
            results, durations = await execute_calls(
                environment, allowed, conversation.max_parallel
            )
        conversation.steps.append(
            Step(
                reply=reply,
                turn=conversation.turn,
                new_messages=conversation.new_messages,
                calls=calls,
                results=results,
                call_durations_s=durations,
                fault=parsed.fault,
                opening=conversation.opening,
            )
        )
        conversation.new_messages, conversation.opening = (), None
        if len(allowed) < len(calls):
            return "calls"
        if conversation.calls_left is not None:
            conversation.calls_left -= len(allowed)
        conversation.history += render_reply(conversation.tool_format, reply, calls, results)
        if conversation.task.limits.single_reply:
            return ENDING_BY_STOP[reply.stop]
        if calls:
            steps_left -= 1
        elif (
            reply.stop != "stop"
            or conversation.user is None
            or not await conversation.ask_user(conversation.user, reply.text)
        ):
            return ENDING_BY_STOP[reply.stop]
    return "steps"


def render_reply(
    tool_format: ToolFormat, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...]
) -> tuple[Message, ...]:
    """Return the reply and its results as messages, with what the endpoint wants back."""
    messages = tool_format.render_results(reply, calls, results)
    return attach_provider_state(messages, reply.provider_state)


def attach_provider_state(
    messages: tuple[Message, ...], state: ProviderState | None
) -> tuple[Message, ...]:
    """Return the messages with the state on the assistant's."""
    if state is None:
        return messages
    return tuple(
        replace(each, provider_state=state) if each.role == "assistant" else each
        for each in messages
    )


async def _open_conversation(task: Task, user: SimulatedUser) -> tuple[Task, Ruling | None]:
    """Return the task with the user's first message, where it has none, and how that was said."""
    if has_user_message(task):
        return task, None
    with _IN_USER:
        opening = await user.open_conversation(task)
    if opening is None:
        return task, None
    first = task.turns[0] if task.turns else Turn()
    said = Message(role="user", parts=(Text(opening.reply),))
    turn = replace(first, messages=(*first.messages, said))
    return replace(task, turns=(turn, *task.turns[1:])), opening


def has_user_message(task: Task) -> bool:
    """Return whether the first turn of a task has a message of a user."""
    return bool(task.turns) and any(each.role == "user" for each in task.turns[0].messages)


async def apply_opening(task: Task, environment: Environment) -> Task:
    """Return the task with its first turn as the environment opens it."""
    if not task.turns:
        return task
    messages = await environment.opening(task.turns[0].messages)
    return task if messages is task.turns[0].messages else replace_first_turn(task, messages)


def replace_first_turn(task: Task, messages: tuple[Message, ...]) -> Task:
    """Return the task with these messages as its first turn."""
    return replace(task, turns=(replace(task.turns[0], messages=messages), *task.turns[1:]))


async def execute_calls(
    environment: Environment, calls: tuple[Call, ...], limit: int
) -> tuple[tuple[Result, ...], tuple[float, ...]]:
    """Execute the calls of one reply; return their results, and their durations in seconds.

    With a `limit` above 1 calls are executed at the same time, at most `limit` of them, started in
    their order. Results are in the order of the calls. When one call raises, or the caller is
    cancelled, the other calls are cancelled too, because the environment is being closed. Durations
    are whole milliseconds; there are none where every call took less than half of one.
    """
    try:
        if limit > 1 and len(calls) > 1:
            semaphore = asyncio.Semaphore(limit)
            done = [
                *await gather_all(_execute_timed(environment, call, semaphore) for call in calls)
            ]
        else:
            done = []
            for call in calls:  # a coroutine for each would cost as much as many a tool
                started_s = perf_counter()
                result = await environment.call(call)
                done.append((result, round(perf_counter() - started_s, 3)))
    except BaseException as error:
        mark_stage(error, "environment")
        raise
    results, durations = zip(*done, strict=True) if done else ((), ())
    return results, durations if any(durations) else ()


async def _execute_timed(
    environment: Environment, call: Call, semaphore: asyncio.Semaphore
) -> tuple[Result, float]:
    async with semaphore:
        started_s = perf_counter()
        result = await environment.call(call)
        return result, round(perf_counter() - started_s, 3)


async def gather_all(coroutines: Iterable[Coroutine[Any, Any, T]]) -> tuple[T, ...]:
    """Run all coroutines until they end, and return their results in order.

    When one raises, or the caller is cancelled, the others are cancelled and awaited.
    """
    running = [asyncio.create_task(work) for work in coroutines]
    try:
        return tuple(await asyncio.gather(*running))
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def merge_sampling(base: Sampling, override: Sampling) -> Sampling:
    """Return the base settings, replaced by those that `override` sets; of `extra`, field by field.

    A field of `extra` that `override` sets to None is left out.
    """
    if override == _UNSET_SAMPLING:
        return base
    settings = msgspec.structs.asdict(override)
    overrides = {name: value for name, value in settings.items() if value not in (None, {})}
    if base.extra and override.extra:
        joined = base.extra | override.extra
        overrides["extra"] = {name: value for name, value in joined.items() if value is not None}
    return msgspec.structs.replace(base, **overrides)
