"""The executor of M3-Bench: rounds of plan, process and decide, then a reply (arXiv 2511.17729).

Structure and settings are the published ones; the prompt texts are toolmark's own. See
`docs/reference/executor.md` for the differences from the reference code, and the reasons.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from msgspec.structs import replace

from toolmark.agents import executor_prompts
from toolmark.agents.agent import Agent
from toolmark.agents.phased_model import PhasedModel
from toolmark.agents.picture_paths import PicturePaths
from toolmark.agents.tool_loop import (
    ENDING_BY_STOP,
    IN_ENVIRONMENT,
    apply_opening,
    attach_provider_state,
    execute_calls,
    merge_sampling,
    render_reply,
)
from toolmark.core.environment import Environment, read_final_state
from toolmark.core.json_codec import restore_surrogates
from toolmark.core.model import Model
from toolmark.core.records import (
    Ending,
    Message,
    Part,
    Request,
    Sampling,
    Step,
    Task,
    Text,
    Tool,
    ToolFormat,
    Trajectory,
)
from toolmark.core.token_counts import sum_usage
from toolmark.formats.executor_json import ExecutorJsonFormat, strip_thoughts

Phase: TypeAlias = Literal["plan", "process", "decide", "final"]
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Executor(Agent):
    """Runs an episode in rounds; the defaults are those of the published benchmark script.

    `max_rounds`: the most rounds. `max_concurrent`: the most calls per round. `max_chosen_tools`:
    how many tools are offered if a plan names none; those that share most words come first.
    `lenient`: as in `formats.executor_json`. `repeats_unreadable`: ask once more for JSON that
    cannot be parsed. `lists_pictures`: list the pictures that tools have made.
    """

    takes_native_models = False

    max_rounds: int = 6
    max_concurrent: int = 10
    max_chosen_tools: int = 400
    lenient: bool = True
    repeats_unreadable: bool = True
    lists_pictures: bool = True

    def adapt_control(self, control: Model, tool_format: ToolFormat) -> Model:
        """Return a control of the plain tool loop as one that gives its replies phase by phase."""
        return PhasedModel(control)

    async def __call__(
        self,
        task: Task,
        model: Model,
        tool_format: ToolFormat,
        environment: Environment,
        sampling: Sampling,
        repeat: int = 0,
        *,
        steps: list[Step] | None = None,
    ) -> Trajectory:
        """Run every turn of the task with the model; every request is a Step of its phase.

        The run's tool format is not used: the calls are the executor's own JSON. A task's limit of
        steps limits the rounds of a turn. One call over its limit of calls, or a conversation too
        long for the model, ends the episode without a reply.
        """
        with IN_ENVIRONMENT:
            task = await apply_opening(task, environment)
        episode = _Episode(self, task, model, environment, [] if steps is None else steps)
        episode.sampling = merge_sampling(sampling, task.sampling)
        episode.repeat = repeat
        ending: Ending = "answered"
        for index in range(len(task.turns)):
            ending = await episode.run_turn(index)
            if ending in ("calls", "over_long"):
                break
        last = episode.steps[-1] if episode.steps else None
        final = last is not None and last.phase == "final"
        offered = tuple(episode.offered.values())
        with IN_ENVIRONMENT:
            state = await read_final_state(environment)
        return Trajectory(
            task=task.id,
            repeat=repeat,
            tool_format=ExecutorJsonFormat.name,
            steps=tuple(episode.steps),
            answer=strip_thoughts(last.reply.text) if last is not None and final else "",
            state=state,
            ending=ending,
            tools=() if offered == task.tools else offered,
            usage=sum_usage([step.reply.usage for step in episode.steps]),
            latency_s=sum(step.reply.latency_s for step in episode.steps),
        )


class _ConversationTooLong(Exception):
    """The conversation no longer fits the model."""


class _TooManyCalls(Exception):
    """The model asked for a call beyond the task's limit."""


@dataclass(slots=True)
class _Episode:
    """One episode: the messages so far, the tools on offer, the number of calls left."""

    settings: Executor
    task: Task
    model: Model
    environment: Environment
    steps: list[Step]
    sampling: Sampling = field(default_factory=Sampling)
    repeat: int = 0
    index: int = 0
    tools: tuple[Tool, ...] = ()
    offered: dict[str, Tool] = field(default_factory=dict)
    history: tuple[Message, ...] = ()
    new_messages: tuple[Message, ...] = ()
    picture_paths: PicturePaths = field(default_factory=PicturePaths)
    tool_format: ExecutorJsonFormat = field(init=False)
    calls_left: int | None = field(init=False)
    max_parallel: int = field(init=False)

    def __post_init__(self) -> None:
        self.tool_format = ExecutorJsonFormat(lenient=self.settings.lenient)
        self.calls_left = self.task.limits.calls
        self.max_parallel = min(self.settings.max_concurrent, self.environment.max_parallel_calls)

    async def run_turn(self, index: int) -> Ending:
        """Run one user turn: rounds until the model says that it has enough, then its reply."""
        self.index = index
        self.new_messages = self.task.turns[index].messages
        self.history += self.new_messages
        question = "\n\n".join(m.text for m in self.new_messages if m.role == "user")
        n_rounds = min(self.settings.max_rounds, self.task.limits.steps)
        try:
            for number in range(1, n_rounds + 1):
                if await self._run_round(number, n_rounds, question):
                    break
            reply = (await self._ask_model("final", executor_prompts.FINAL_PROMPT)).reply
        except _ConversationTooLong:
            return "over_long"
        except _TooManyCalls:
            return "calls"
        said = Message(role="assistant", parts=(Text(strip_thoughts(reply.text)),))
        self.history += attach_provider_state((said,), reply.provider_state)
        return ENDING_BY_STOP[reply.stop]

    async def _run_round(self, number: int, n_rounds: int, question: str) -> bool:
        """Run one round and return whether the model has enough."""
        await self._refresh_tools()
        chosen = await self._choose_tools(number, n_rounds, question)
        step = await self._make_calls(chosen)
        if step.fault and not step.calls:
            self._report_unreadable(step)
            return False
        if step.calls:
            self.history += self._result_messages(step)
        decision = await self._ask_model("decide", executor_prompts.decide_prompt(question))
        return _is_yes(decision.reply.text)

    async def _refresh_tools(self) -> None:
        """Read the tools on offer now: servers may change their tools between rounds."""
        with IN_ENVIRONMENT:
            tools = await self.environment.tools() or self.task.tools
        for turn in self.task.turns[: self.index + 1]:
            tools += turn.tools
        self.tools = tools
        self.offered |= {tool.name: tool for tool in tools}

    async def _choose_tools(self, number: int, n_rounds: int, question: str) -> tuple[Tool, ...]:
        """Ask the model which tools to use."""
        step = await self._ask_model(
            "plan", executor_prompts.plan_prompt(number, n_rounds, self.tools)
        )
        text = restore_surrogates(strip_thoughts(step.reply.text))
        return select_named_tools(text, self.tools) or nearest_tools(
            f"{question}\n{text}", self.tools, self.settings.max_chosen_tools
        )

    async def _make_calls(self, tools: tuple[Tool, ...]) -> Step:
        """Ask for calls, once more if they cannot be parsed, and execute them."""
        pictures = self.picture_paths.paths if self.settings.lists_pictures else ()
        instruction = executor_prompts.process_prompt(tools, self.settings.max_concurrent, pictures)
        step = await self._ask_model("process", instruction)
        if step.fault and not step.calls and self.settings.repeats_unreadable:
            step = await self._ask_model(
                "process", instruction + executor_prompts.retry_prompt(step.fault)
            )
        wanted = step.calls[: self.settings.max_concurrent]
        allowed = wanted if self.calls_left is None else wanted[: self.calls_left]
        results, durations = await execute_calls(self.environment, allowed, self.max_parallel)
        step = self.steps[-1] = replace(step, results=results, call_durations_s=durations)
        if len(allowed) < len(wanted):
            raise _TooManyCalls
        if self.calls_left is not None:
            self.calls_left -= len(allowed)
        for result in results:
            self.picture_paths.add(result)
        return step

    async def _ask_model(self, phase: Phase, instruction: str) -> Step:
        """Ask the model in one phase and store the step; raises _ConversationTooLong."""
        message = Message(role="user", parts=(Text(instruction),))
        reply = await self.model(
            Request(
                messages=join_user_messages((*self.history, message)),
                sampling=self.sampling,
                repeat=self.repeat,
            )
        )
        parsed = self.tool_format.parse_reply(reply, self.tools) if phase == "process" else None
        step = Step(
            reply=reply,
            turn=self.index,
            new_messages=(*self.new_messages, message),
            calls=parsed.calls if parsed else (),
            fault=parsed.fault if parsed else "",
            phase=phase,
        )
        self.steps.append(step)
        self.new_messages = ()
        if reply.stop == "over_long":
            raise _ConversationTooLong
        return step

    def _result_messages(self, step: Step) -> tuple[Message, ...]:
        reply_message, result_message = render_reply(
            self.tool_format, step.reply, step.calls, step.results
        )
        notes: tuple[Part, ...] = (Text(f"({step.fault})"),) if step.fault else ()
        return reply_message, replace(result_message, parts=result_message.parts + notes)

    def _report_unreadable(self, step: Step) -> None:
        """Add a message which says that the round failed because it could not be parsed."""
        text = (
            strip_thoughts(step.reply.text)[: executor_prompts.MAX_UNREADABLE_CHARS] or "(nothing)"
        )
        self.history += (
            Message(role="assistant", parts=(Text(text),)),
            Message(role="user", parts=(Text(executor_prompts.lost_round_prompt(step.fault)),)),
        )


def join_user_messages(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Join consecutive user messages; many chat templates refuse two in a row."""
    merged: list[Message] = []
    for message in messages:
        if merged and message.role == merged[-1].role == "user":
            merged[-1] = replace(
                merged[-1], parts=(*merged[-1].parts, Text("\n\n"), *message.parts)
            )
        else:
            merged.append(message)
    return tuple(merged)


def select_named_tools(plan: str, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """Return the tools that a plan names, in the order of the offer; case is ignored.

    A name counts if a colon follows it; if none is followed by a colon, any mention counts.
    """
    lowered = plan.lower()
    ranks = {tool.name: _mention_rank(tool.name, lowered) for tool in tools}
    best = max(ranks.values(), default=0)
    return tuple(tool for tool in tools if best and ranks[tool.name] == best)


def _mention_rank(name: str, plan: str) -> int:
    """Return 2 for a name with a colon after it, 1 for the name alone, 0 for neither."""
    pattern = rf"(?<![\w/.-]){re.escape(name.lower())}(?![\w/-])"
    if re.search(pattern + r"[`*\"' ]{0,8}:", plan):
        return 2
    return 1 if re.search(pattern, plan) else 0


def nearest_tools(text: str, tools: tuple[Tool, ...], n: int) -> tuple[Tool, ...]:
    """Return the `n` tools that share most words with the text, in the order of the offer."""
    words = set(_WORD.findall(text.lower()))

    def n_shared_words(tool: Tool) -> int:
        return len(words & set(_WORD.findall(f"{tool.name} {tool.description}".lower())))

    best = sorted(range(len(tools)), key=lambda i: -n_shared_words(tools[i]))[:n]
    return tuple(tools[i] for i in sorted(best))


def _is_yes(text: str) -> bool:
    return strip_thoughts(text).lstrip(" \n*\"'`").lower().startswith("y")
