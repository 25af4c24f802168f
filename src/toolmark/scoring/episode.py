"""An episode: one (task, repeat) and what happened in it. Scorers, metrics and views get it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from toolmark.core.json_codec import InvalidJson, parse_json
from toolmark.core.records import (
    Call,
    Ending,
    Message,
    Reply,
    Result,
    Step,
    Task,
    Text,
    Trajectory,
    Usage,
)
from toolmark.models.token_prices import ModelPrice, uncounted_media_in, usage_cost


class EpisodeCall(NamedTuple):
    """One call that the model made, in the order of the calls.

    - `arguments`: the arguments as plain values, None where they are not a JSON object.
    - `raw_arguments`: the JSON text that the model sent.
    - `result`: the text that the tool returned, None where the call was not executed because a
      limit ended the episode.
    - `is_error`: whether the tool refused the call, or failed because of it.
    - `duration_s`: how long the call took, 0 where it was not executed.
    - `turn`: the user turn in which it was made, from 0. `step`: the reply that made it, from 0.
    """

    name: str
    arguments: dict[str, Any] | None
    raw_arguments: str
    result: str | None
    is_error: bool
    duration_s: float
    turn: int
    step: int


class Episode:
    """One task with its trajectory, and the views of both that scorers and metrics need.

    - `task`: what was asked; `data` is what the suite stored with it.
    - `trajectory`: what happened; `answer`, `state`, `ending` and `latency_s` are read from it.
    - `repeat`: the number of the repeat, from 0.
    """

    def __init__(self, task: Task, trajectory: Trajectory, price: ModelPrice | None = None) -> None:
        self.task = task
        self.trajectory = trajectory
        self._price = price

    @property
    def data(self) -> Any:
        """What the suite stored with the task, such as the fields of its row."""
        return self.task.data

    @property
    def repeat(self) -> int:
        """The number of the repeat, from 0."""
        return self.trajectory.repeat

    @property
    def answer(self) -> str:
        """The text of the last reply, "" if that reply made calls."""
        return self.trajectory.answer

    @property
    def state(self) -> Any:
        """What the environment's `final_state` returned: plain JSON values, or None."""
        return self.trajectory.state

    @property
    def ending(self) -> Ending:
        """Why the episode ended: `answered`, a limit, or a fault of the model."""
        return self.trajectory.ending

    @property
    def tokens(self) -> Usage:
        """The tokens of all replies, as the endpoint counted them."""
        return self.trajectory.usage

    @property
    def cost(self) -> float | None:
        """What the model's replies cost in US$, as if none came from a cache; None if not known.

        That is what the endpoint reports, else the price that the run recorded. The price does not
        count where the task has sound or pictures whose tokens have a price of their own.
        """
        price = self._price
        if price is not None and uncounted_media_in([self.task], {"model": price}):
            price = None
        costs = [
            usage_cost(price, reply.usage)
            for step in self.trajectory.steps
            for reply in step.model_replies
        ]
        known = [each for each in costs if each is not None]
        return sum(known) if known and len(known) == len(costs) else None

    @property
    def latency_s(self) -> float:
        """The time that all replies took together, in seconds."""
        return self.trajectory.latency_s

    @cached_property
    def calls(self) -> tuple[EpisodeCall, ...]:
        """All calls, in their order, with parsed arguments and results."""
        return tuple(
            call
            for number, step in enumerate(self.trajectory.steps)
            for call in _calls_of_step(step, number)
        )

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The conversation: what the system and the user said, replies with calls, and results.

        A simulated user's messages are among them. The form is the same in every tool format.
        """
        return tuple(message for step in self.trajectory.steps for message in _step_messages(step))


def _calls_of_step(step: Step, number: int) -> Iterator[EpisodeCall]:
    for place, call in enumerate(step.calls):
        result = step.results[place] if place < len(step.results) else None
        durations = step.call_durations_s
        yield EpisodeCall(
            name=call.name,
            arguments=read_arguments(call),
            raw_arguments=call.arguments,
            result=None if result is None else result.text,
            is_error=result is not None and result.is_error,
            duration_s=durations[place] if place < len(durations) else 0.0,
            turn=step.turn,
            step=number,
        )


def read_arguments(call: Call) -> dict[str, Any] | None:
    """Return the arguments of a call as plain values, None where they are not a JSON object."""
    try:
        found = parse_json(call.arguments)
    except InvalidJson:
        return None
    return found if isinstance(found, dict) else None


def _step_messages(step: Step) -> Iterator[Message]:
    yield from step.new_messages
    yield _reply_message(step.reply, step.calls)
    for place, result in enumerate(step.results):
        yield _result_message(result, step.calls[place])


def _reply_message(reply: Reply, calls: tuple[Call, ...]) -> Message:
    parts = (Text(reply.text),) if reply.text else ()
    return Message(role="assistant", parts=parts, calls=calls)


def _result_message(result: Result, call: Call) -> Message:
    return Message(role="tool", parts=result.parts, call_id=call.id)
