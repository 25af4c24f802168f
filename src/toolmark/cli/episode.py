"""One episode on the terminal: step by step, then what it was worth and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.markup import escape

from toolmark.cli.terminal import short
from toolmark.media import Media
from toolmark.report import names, tables
from toolmark.report.tables import visible
from toolmark.types import (
    Audio,
    Drawing,
    Image,
    Label,
    Message,
    Part,
    Score,
    Step,
    Table,
    Task,
    Text,
    Trajectory,
    Verdict,
)

MORE = "; --all tells them all"


def show(
    console: Console,
    task: Task,
    trajectory: Trajectory,
    score: Score | None,
    views: Sequence[Table | Drawing | Audio],
    natives: Mapping[str, str] = {},
    *,
    whole: bool = False,
) -> None:
    """Print one episode step by step, then what it was worth and why, evidence only once.

    Long texts are cut unless they are wanted `whole`.
    """
    told = visible if whole else partial(short, more=MORE)
    console.rule(escape(f"{trajectory.task}  repeat {trajectory.repeat}"))
    heard = speech(task)
    for number_, step in enumerate(trajectory.steps, 1):
        _step(console, number_, step, heard, told)
    console.print(f"[bold]ending[/] {trajectory.ending}")
    if trajectory.answer:
        console.print("[bold]answer[/] ", end="")
        console.print(told(trajectory.answer), markup=False, highlight=False)
    _verdicts(console, score.readings if score else {}, natives, told)
    for each in views:
        if isinstance(each, Table):
            console.print("\n" + tables.text(each), markup=False, highlight=False, soft_wrap=True)


def _verdicts(
    console: Console,
    readings: Mapping[str, Verdict],
    natives: Mapping[str, str],
    told: Callable[[str], str],
) -> None:
    """Print every reading's value, the evidence of the first, and how the others' differs."""
    for reading, verdict in readings.items():
        console.print(f"[bold]{escape(reading)}[/] {verdict.outcome} {verdict.value:.3f}")
    first: list[str] = []
    for at, (reading, verdict) in enumerate(readings.items()):
        own = [_label(label, natives) for label in verdict.labels]
        lines = [f"  {line}" for line in own]
        if at == 0:
            first = own
        else:
            lines = [f"  {reading} also: {line.strip()}" for line in own if line not in first]
            lines += [f"  {reading} not: {line.strip()}" for line in first if line not in own]
        for line in lines:
            console.print(told(line), markup=False, highlight=False)


def _label(label: Label, natives: Mapping[str, str]) -> str:
    told = filter(None, (label.cause, names.failure(label.native, natives), label.evidence))
    return f"{'*' if label.primary else ' '} {'  '.join(told)}"


def speech(task: Task) -> dict[str, Mapping[str, Any]]:
    """Return what is known of a task's recordings, by their digest: `said`, `seconds`."""
    held = task.reference.get("speech") if isinstance(task.reference, Mapping) else None
    turns = held.get("turns") if isinstance(held, Mapping) else None
    known = [turn for turn in turns or () if isinstance(turn, Mapping)]
    return {
        str(turn["audio"].get("sha256")): turn
        for turn in known
        if isinstance(turn.get("audio"), Mapping)
    }


def asked(message: Message, media: Media | None) -> str:
    """Return a message for a reader: who says it, its words, and its media by their files."""
    parts = [
        part.text
        if isinstance(part, Text)
        else f"[{part.mime}{_size(part, media)}, {media.path(part) if media else part.sha256}]"
        for part in message.parts
    ]
    calls = [f"{call.name} {call.arguments}" for call in message.calls]
    return f"{message.role}: " + "\n".join([*parts, *calls])


def _size(part: Part, media: Media | None) -> str:
    """Return " 64x48" of a PNG that is there: its width and height in pixels."""
    if not isinstance(part, Image) or part.mime != "image/png" or media is None:
        return ""
    try:
        with media.path(part).open("rb") as file:
            head = file.read(24)  # the signature, a chunk's length and name, two numbers
    except OSError:
        return ""
    return f" {int.from_bytes(head[16:20], 'big')}x{int.from_bytes(head[20:24], 'big')}"


def _spoken(part: Part, heard: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a part of a message as a line: a recording by its length, its file and its words."""
    if isinstance(part, Text):
        return part.text
    if not isinstance(part, Audio):
        return f"[{part.mime}, media/{part.sha256[:2]}/{part.sha256}]"
    known = heard.get(part.sha256, {})
    long = known.get("seconds")
    length = f"{long:.1f} s" if isinstance(long, int | float) else f"{part.size_bytes:,} bytes"
    words = f' "{known["said"]}"' if known.get("said") else ""
    return f"[sound {length}, media/{part.sha256[:2]}/{part.sha256}]{words}"


def _step(
    console: Console,
    number_: int,
    step: Step,
    heard: Mapping[str, Mapping[str, Any]],
    told: Callable[[str], str],
) -> None:
    for message in step.said:
        console.print(f"[cyan]{message.role}[/] ", end="")
        said = " ".join(_spoken(part, heard) for part in message.parts)
        console.print(told(said), markup=False, highlight=False, soft_wrap=True)
    console.print(f"[green]model[/] step {number_}", end=" " if step.reply.text else "\n")
    if step.reply.text:
        console.print(told(step.reply.text), markup=False, highlight=False)
    if step.fault:
        console.print(told(f"  not read: {step.fault}"), markup=False, highlight=False)
    for index, call in enumerate(step.calls):
        console.print(told(f"  {call.name} {call.arguments}"), markup=False, highlight=False)
        if index < len(step.results):
            result = step.results[index]
            if not result.text and not result.is_error:
                continue  # a world in which nothing happens: there is nothing to show
            sign = "!" if result.is_error else "="
            console.print(told(f"    {sign} {result.text}"), markup=False, highlight=False)
