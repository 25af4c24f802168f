"""One official result row as an episode, and the verdict on an error that stands for a reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolmark import codec
from toolmark.suites.bfcl import score as scoring
from toolmark.suites.bfcl.handlers import Misshapen, Read, Said, Way, shown, written
from toolmark.types import (
    Dialect,
    Label,
    Reply,
    Step,
    Task,
    Trajectory,
    Usage,
    Verdict,
)

ERROR = "Error during inference"

NESTED = ("multi_turn_", "memory_", "web_search_")
SPENT = ("input_token_count", "output_token_count", "latency")
_MOST = 2**53  # a count beyond is noise, and readers of JSON do not agree on it


class Row(msgspec.Struct):
    """A line of an official result file; other fields (logs) are not read."""

    id: str
    result: Any = msgspec.UNSET
    input_token_count: Any = None
    output_token_count: Any = None
    latency: Any = None
    reasoning_content: Any = None
    traceback: Any = None


class Reader:
    """Reads one model's rows.

    `mangled` says whether its calls write the dots of tool names as underscores; None takes
    either.
    """

    def __init__(
        self,
        dialects: Mapping[str, Dialect],
        way: Way,
        *,
        mangled: bool | None = None,
    ) -> None:
        self.dialects = dialects
        self.way = way
        self.mangled = mangled

    def trajectory(self, task: Task, row: Row) -> Trajectory:
        """Return the episode that a row tells of. Raises Misshapen."""
        dialect = self.dialects[task.dialect or self.way.form]
        if row.result is msgspec.UNSET:
            raise Misshapen("no result")
        if _failed(row):
            return _error(task, row, dialect.name)
        turns = self._turns(task, row)
        names = _names(task, self.mangled) if dialect.name == "native" else {}
        steps: list[Step] = []
        for number, told in enumerate(turns):
            for reply, taken in told:
                meant = _renamed(reply, names) if names and reply.calls else reply
                calls = dialect.read(meant, task.tools).calls
                steps.append(Step(reply=meant, turn=number, calls=calls, fault=taken))
        last = steps[-1] if steps else None
        return Trajectory(
            task=task.id,
            dialect=dialect.name,
            steps=tuple(steps),
            answer="" if last is None or last.calls else last.reply.text,
            ending="answered" if len(turns) == len(task.turns) else "steps",
            usage=Usage(
                input=sum(step.reply.usage.input for step in steps),
                output=sum(step.reply.usage.output for step in steps),
            ),
            latency_s=sum(step.reply.latency_s for step in steps),
        )

    def _turns(self, task: Task, row: Row) -> list[list[tuple[Reply, str]]]:
        """Return the replies turn by turn; in a single turn with what the handler makes of it."""
        if not task.category.startswith(NESTED):
            said = self._read(task)(row.result, False)
            return [[(_reply(said, row, None), said.taken)]]
        if not isinstance(row.result, list):
            raise Misshapen(f"a result is a list of turns here, not {shown(row.result)}")
        turns = []
        for i, steps in enumerate(row.result):
            if not isinstance(steps, list):
                raise Misshapen(f"turn {i + 1} is a list of steps, not {shown(steps)}")
            # a turn without a step still counts as one
            read = self._read(task)
            told = [(_reply(read(said, True), row, (i, j)), "") for j, said in enumerate(steps)]
            turns.append(told or [(Reply(), "")])
        return turns

    def _read(self, task: Task) -> Read:
        if not task.dialect:
            return self.way.read
        if not self.way.formats:
            raise Misshapen("the model's official handler reads no other formats than its own")
        return self.way.read if self.way.form == "prompt" else written


def _reply(said: Said, row: Row, place: tuple[int, int] | None) -> Reply:
    reasoning = _at(row.reasoning_content, place)
    sent, got, took = (_number(row, name, place) for name in SPENT)
    return Reply(
        text=codec.escape(said.text),
        calls=said.calls,
        reasoning=codec.escape(reasoning) if isinstance(reasoning, str) else "",
        usage=Usage(input=int(sent), output=int(got)),
        latency_s=took,
    )


def _names(task: Task, mangled: bool | None) -> dict[str, str]:
    """Return what the names in stored calls mean where they do not mean themselves.

    Where the official evaluator expects underscores it refuses the dotted name, so that the two
    change places; a model of which nothing is known may use either.
    """
    if mangled is False:
        return {}
    tools = [tool.name for tool in task.tools]
    dotted = {name: name.replace(".", "_") for name in tools if "." in name}
    back = {plain: name for name, plain in dotted.items() if plain not in tools}
    return back | dotted if mangled else back


def _renamed(reply: Reply, names: Mapping[str, str]) -> Reply:
    calls = [
        msgspec.structs.replace(call, name=names.get(call.name, call.name)) for call in reply.calls
    ]
    return msgspec.structs.replace(reply, calls=tuple(calls))


def _at(value: Any, place: tuple[int, int] | None) -> Any:
    """Return the number or text of one step from a list of lists; the value itself for one turn."""
    if place is None:
        return value
    for index in place:
        if not isinstance(value, list) or index >= len(value):
            return None
        value = value[index]
    return value


def _number(row: Row, name: str, place: tuple[int, int] | None) -> float:
    """Return a count or a time of one reply.

    One that is not there, or beyond all sense, is 0, which the official statistics leave out.
    Raises Misshapen for what is no number.
    """
    held = getattr(row, name)
    lists = [held, *held] if place and isinstance(held, list) else [held] if place else []
    if any(each is not None and not isinstance(each, list) for each in lists):
        raise Misshapen(f"{name} is a list of lists of numbers here, not {shown(held)}")
    value = _at(held, place)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misshapen(f"{name} is a number, not {shown(value)}")
    return value if 0 <= value <= _MOST else 0


# --- errors in the place of a reply -----------------------------------------------------


def _failed(row: Row) -> bool:
    return isinstance(row.result, str) and (
        row.traceback is not None or row.result.startswith(ERROR)
    )


def _error(task: Task, row: Row, dialect: str) -> Trajectory:
    text = codec.escape(row.result)
    step = Step(reply=Reply(text=text, stop="malformed"), fault=f"{ERROR}, not a reply")
    return Trajectory(task=task.id, dialect=dialect, steps=(step,), answer=text, ending="malformed")


def failed(trajectory: Trajectory) -> bool:
    """Tell whether an imported row holds the text of an error in the place of a reply."""
    steps = trajectory.steps
    return len(steps) == 1 and steps[0].fault.startswith(ERROR)


def score(task: Task, trajectory: Trajectory) -> Mapping[str, Verdict]:
    """Judge one episode. Only the official reading takes an error's text for the model's."""
    if not failed(trajectory):
        return scoring.score(task, trajectory)
    for prefix, native in (("multi_turn_", "multi_turn"), (NESTED, "agentic")):
        if task.category.startswith(prefix):
            label = Label(
                cause="no_answer",
                native=f"{native}:inference_error",
                evidence=trajectory.answer[:400],
                primary=True,
            )
            return {"official": Verdict(outcome="incorrect", value=0.0, labels=(label,))}
    return {"official": scoring.score(task, trajectory)["official"]}
