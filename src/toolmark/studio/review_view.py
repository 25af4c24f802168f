"""An episode as a person reads it: question, rounds of calls with their results, answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolmark.core import json_codec, number_format
from toolmark.core.records import Audio, Image, Part, Result, Step, Task, Text, Trajectory
from toolmark.reports.table_format import visible_text
from toolmark.studio import review_episodes

MAX_TEXT_LENGTH = 20_000  # characters of one text


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture to load from the run's media, or a description of a part that cannot be shown."""

    sha256: str
    description: str


ContentPiece: TypeAlias = str | Picture


@dataclass(frozen=True, slots=True)
class CallView:
    """One call and its result; `was_executed` is false where the episode ended before the call."""

    name: str
    arguments: str
    pieces: tuple[ContentPiece, ...] = ()
    is_error: bool = False
    was_executed: bool = True


@dataclass(frozen=True, slots=True)
class RoundView:
    """One reply: its text and its calls. `number` is 0 without calls."""

    number: int
    calls: tuple[CallView, ...]
    text: str = ""
    reasoning: str = ""
    fault: str = ""
    phase: str = ""


@dataclass(frozen=True, slots=True)
class TrajectoryView:
    """One trajectory, or a reference, prepared for display."""

    rounds: tuple[RoundView, ...]
    answer: str
    ending: str = "answered"

    @property
    def n_calls(self) -> int:
        """The number of calls."""
        return sum(len(made.calls) for made in self.rounds)


def question_view(task: Task) -> list[tuple[str, tuple[ContentPiece, ...]]]:
    """Return the messages of a task as (role, pieces), with the pictures in their places."""
    return [
        (message.role, tuple(_part_pieces(message.parts)))
        for message in review_episodes.task_messages(task)
    ]


def trajectory_view(trajectory: Trajectory) -> TrajectoryView:
    """Return the view of a trajectory. A last reply that only repeats the answer is omitted."""
    rounds: list[RoundView] = []
    number = 0
    for step in trajectory.steps:
        if not step.calls and step.reply.text == trajectory.answer and not step.fault:
            continue
        number += bool(step.calls)
        rounds.append(_round_view(step, number if step.calls else 0))
    return TrajectoryView(tuple(rounds), clip_text(trajectory.answer), trajectory.ending)


def _round_view(step: Step, number: int) -> RoundView:
    missing = len(step.calls) - len(step.results)
    results: Sequence[Result | None] = [*step.results, *(None,) * missing]
    return RoundView(
        number=number,
        calls=tuple(
            CallView(
                name=clip_text(call.name, 300),
                arguments=clip_text(format_json(review_episodes.arguments_value(call.arguments))),
                pieces=tuple(_result_pieces(result)) if result else (),
                is_error=bool(result and result.is_error),
                was_executed=result is not None,
            )
            for call, result in zip(step.calls, results, strict=True)
        ),
        text=clip_text(step.reply.text),
        reasoning=clip_text(step.reply.reasoning),
        fault=clip_text(step.fault, 2000),
        phase=visible_text(step.phase),
    )


def reference_view(task: Task) -> TrajectoryView | None:
    """Return the view of the task's reference, None where it has none."""
    steps, answer = review_episodes.reference_steps(task)
    if not steps and not answer:
        return None
    rounds = (
        RoundView(
            number=i,
            calls=tuple(
                CallView(
                    name=clip_text(str(call.get("name", "")), 300),
                    arguments=clip_text(format_json(call.get("arguments"))),
                )
                for call in step["calls"]
            ),
        )
        for i, step in enumerate(steps, 1)
    )
    return TrajectoryView(tuple(rounds), clip_text(answer))


def _result_pieces(result: Result) -> Iterator[ContentPiece]:
    yield from _part_pieces(result.parts)
    if result.structured is not None and not result.text:
        yield clip_text(format_json(result.structured))


def _part_pieces(parts: Sequence[Part]) -> Iterator[ContentPiece]:
    for part in parts:
        match part:
            case Text(text=text):
                yield clip_text(text)
            case Image() | Audio():
                about = (
                    f"{visible_text(part.mime)}, {number_format.format_count(part.size_bytes)} "
                    "bytes"
                )
                yield Picture(part.sha256 if isinstance(part, Image) else "", about)


def format_json(value: Any) -> str:
    """Return a value as indented JSON; text is returned unchanged."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def clip_text(text: str, max_length: int = MAX_TEXT_LENGTH) -> str:
    """Shorten a long text, with a note of the number cut, and make every character visible."""
    if len(text) <= max_length:
        return visible_text(json_codec.escape_surrogates(json_codec.restore_surrogates(text)))
    n_omitted = number_format.format_count(len(text) - max_length)
    return (
        f"{clip_text(text[:max_length], max_length)} … [{n_omitted} more characters in the run "
        "folder]"
    )
