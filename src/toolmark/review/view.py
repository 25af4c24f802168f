"""An episode as a person reads it: question, rounds of calls with their results, answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolmark import codec
from toolmark.report.tables import visible
from toolmark.review import episodes
from toolmark.stats import figures
from toolmark.types import Audio, Image, Part, Result, Step, Task, Text, Trajectory

LONGEST = 20_000  # characters of one text


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture to load from the run's media, or what to say of a part that cannot be shown."""

    sha256: str
    about: str


Piece: TypeAlias = str | Picture


@dataclass(frozen=True, slots=True)
class Move:
    """One call and what it returned; `executed` is false where the episode ended before it."""

    name: str
    arguments: str
    pieces: tuple[Piece, ...] = ()
    is_error: bool = False
    executed: bool = True


@dataclass(frozen=True, slots=True)
class Round:
    """One reply: what was said beside the calls, and the calls. `number` is 0 without calls."""

    number: int
    moves: tuple[Move, ...]
    text: str = ""
    reasoning: str = ""
    fault: str = ""
    phase: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """One trajectory, or a reference, made ready."""

    rounds: tuple[Round, ...]
    answer: str
    ending: str = "answered"

    @property
    def n_calls(self) -> int:
        """How many calls it makes."""
        return sum(len(made.moves) for made in self.rounds)


def question(task: Task) -> list[tuple[str, tuple[Piece, ...]]]:
    """Return what the task says as (role, pieces), the pictures where they stand."""
    return [(message.role, tuple(_pieces(message.parts))) for message in episodes.messages(task)]


def side(trajectory: Trajectory) -> Side:
    """Make a trajectory ready. A last reply that only repeats the answer is left out."""
    rounds: list[Round] = []
    number = 0
    for step in trajectory.steps:
        if not step.calls and step.reply.text == trajectory.answer and not step.fault:
            continue
        number += bool(step.calls)
        rounds.append(_round(step, number if step.calls else 0))
    return Side(tuple(rounds), clip(trajectory.answer), trajectory.ending)


def _round(step: Step, number: int) -> Round:
    missing = len(step.calls) - len(step.results)
    results: Sequence[Result | None] = [*step.results, *(None,) * missing]
    return Round(
        number=number,
        moves=tuple(
            Move(
                name=clip(call.name, 300),
                arguments=clip(pretty(episodes.value(call.arguments))),
                pieces=tuple(_returned(result)) if result else (),
                is_error=bool(result and result.is_error),
                executed=result is not None,
            )
            for call, result in zip(step.calls, results, strict=True)
        ),
        text=clip(step.reply.text),
        reasoning=clip(step.reply.reasoning),
        fault=clip(step.fault, 2000),
        phase=visible(step.phase),
    )


def reference(task: Task) -> Side | None:
    """Return the reference that the task carries, None where it has none."""
    steps, answer = episodes.reference(task)
    if not steps and not answer:
        return None
    rounds = (
        Round(
            number=i,
            moves=tuple(
                Move(
                    name=clip(str(call.get("name", "")), 300),
                    arguments=clip(pretty(call.get("arguments"))),
                )
                for call in step["calls"]
            ),
        )
        for i, step in enumerate(steps, 1)
    )
    return Side(tuple(rounds), clip(answer))


def _returned(result: Result) -> Iterator[Piece]:
    yield from _pieces(result.parts)
    if result.structured is not None and not result.text:
        yield clip(pretty(result.structured))


def _pieces(parts: Sequence[Part]) -> Iterator[Piece]:
    for part in parts:
        match part:
            case Text(text=text):
                yield clip(text)
            case Image() | Audio():
                about = f"{visible(part.mime)}, {figures.count(part.size_bytes)} bytes"
                yield Picture(part.sha256 if isinstance(part, Image) else "", about)


def pretty(value: Any) -> str:
    """Return a value as indented JSON; text, which was no JSON, as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def clip(text: str, longest: int = LONGEST) -> str:
    """Shorten a long text, saying by how much, and make every character visible."""
    if len(text) <= longest:
        return visible(codec.escape(codec.restore(text)))
    rest = figures.count(len(text) - longest)
    return f"{clip(text[:longest], longest)} … [{rest} more characters in the run folder]"
