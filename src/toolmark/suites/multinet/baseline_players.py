"""The baselines as models: each replies with its guess in the form that the task asks for.

`baseline_answers` computes the guesses. Here a guess becomes a text or a tool call, which the same
parser and the same grading rules read as any model's reply. A baseline reads only the guess stored
in the task, never the truth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.model import Control, Model
from toolmark.core.records import Call, Reply, Request, Task, Tool
from toolmark.core.task_data import read_task_data
from toolmark.formats.parse import python_calls
from toolmark.suites.multinet.frame_records import (
    ACT_TOOL,
    ACTIONS,
    ANSWER_TOOL,
    CHOOSE_TOOL,
    DISTRIBUTION_TOOL,
    MOVE_TOOL,
    PLAYER_ARGUMENTS,
    ActionVector,
    Answer,
    Choice,
    Distribution,
    FunctionCalls,
    Truth,
)
from toolmark.suites.multinet.multinet_families import BASELINES_BY_FAMILY


class BaselineModel(Control):
    """A baseline by name: `majority`, `previous` and so on. It runs only on MultiNet's suites."""

    def __init__(self, name: str) -> None:
        self.name = f"baseline/{name}"
        self._baseline = name

    def bind(self, task: Task, repeat: int, /) -> Model:
        """Return the model for one task; if the baseline has no guess, it replies with nothing.

        Raises UsageError for a suite that has no such baseline.
        """
        try:
            truth = read_task_data(task, Truth)
        except DataError:
            raise UsageError(f"{self.name} plays no suite but MultiNet's") from None
        available = BASELINES_BY_FAMILY[truth.family]
        if self._baseline not in available:
            suggestion = suggest_names(self._baseline, available)
            raise UsageError(f"{task.suite} has no baseline {self._baseline!r}{suggestion}")
        answer = truth.baseline_answers.get(self._baseline)
        return PreparedReplies(() if answer is None else format_answer(truth, answer, task.tools))


class PreparedReplies(Model):
    """Returns one prepared reply in each user turn, and an empty reply after the last one."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = replies

    async def __call__(self, request: Request, /) -> Reply:
        """Return the reply of this turn; a tool result does not advance to the next reply."""
        turn = sum(message.role == "user" for message in request.messages) - 1
        after_tool_result = request.messages[-1].role == "tool"
        return Reply() if after_tool_result or turn >= len(self._replies) else self._replies[turn]


def format_answer(truth: Truth, answer: Answer, tools: Sequence[Tool] = ()) -> tuple[Reply, ...]:
    """Return the replies of an error-free model that gives this answer, turn by turn.

    `tools` are the offered tools; their parameter names replace positional arguments. A text that
    is not a call, or calls a function that is not offered, becomes the text of the reply.
    """
    if isinstance(truth.space, FunctionCalls):
        turns: Sequence[Sequence[str]] = answer  # type: ignore[assignment]
        if truth.form == "text":
            return tuple(Reply(text=f"[{', '.join(calls)}]") for calls in turns)
        order = {tool.name: list(tool.parameters.get("properties", ())) for tool in tools}
        return tuple(_calls_reply(calls, order) for calls in turns)
    if truth.form == "text":
        return (
            Reply(
                text=answer if isinstance(answer, str) else json.dumps(_plain_answer(truth, answer))
            ),
        )
    name, arguments = _answer_call(truth, answer)
    return (Reply(calls=(Call(name=name, arguments=json.dumps(arguments), id="call_0"),)),)


def _plain_answer(truth: Truth, answer: Answer) -> object:
    """Return an answer as plain JSON; an option index for a Distribution becomes all its shares."""
    if isinstance(truth.space, Distribution) and isinstance(answer, int):
        return [float(k == answer) for k in range(len(truth.space.options))]
    return answer


def _answer_call(truth: Truth, answer: Answer) -> tuple[str, Mapping[str, object]]:
    """Return the tool that gives an answer, and its arguments."""
    plain = _plain_answer(truth, answer)
    match truth.space:
        case Choice() if truth.family == "overcooked" and isinstance(answer, int):
            names = dict(enumerate(ACTIONS))  # an index out of range has no name
            pair = divmod(answer, len(ACTIONS))
            return ACT_TOOL, {
                key: names.get(k, f"{k}") for key, k in zip(PLAYER_ARGUMENTS, pair, strict=True)
            }
        case Choice():
            return CHOOSE_TOOL, {"option": plain}
        case Distribution():
            return DISTRIBUTION_TOOL, {"probabilities": plain}
        case ActionVector():
            return MOVE_TOOL, {"vector": plain}
        case _:
            return ANSWER_TOOL, {"text": plain}


def _calls_reply(texts: Sequence[str], order: Mapping[str, Sequence[str]]) -> Reply:
    """Return a reply with tool calls made from calls written in Python syntax.

    Where a positional argument has no name, all calls become the text of the reply: a call of a
    tool has no other place for it.
    """
    as_text = Reply(text=f"[{', '.join(texts)}]")
    calls = []
    for at, text in enumerate(texts):
        try:
            (parsed,) = python_calls.parse_written_calls(text)
        except (python_calls.UnreadableCalls, ValueError):
            return as_text
        parameter_names = order.get(parsed.name, ())
        if len(parsed.positional) > len(parameter_names):
            return as_text
        named_arguments = {
            **dict(zip(parameter_names, parsed.positional, strict=False)),
            **parsed.keywords,
        }
        arguments = json.dumps(named_arguments, ensure_ascii=False, default=str)
        calls.append(Call(name=parsed.name, arguments=arguments, id=f"call_{at}"))
    return Reply(calls=tuple(calls))
