"""One episode on the terminal: step by step, then what it was worth and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from rich.console import Console
from rich.markup import escape

from toolmark.cli.console_output import shorten_text
from toolmark.core import number_format
from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore
from toolmark.core.records import (
    Audio,
    Drawing,
    Image,
    Label,
    Message,
    Part,
    Record,
    Reply,
    Score,
    Step,
    Table,
    Task,
    Text,
    Trajectory,
    Usage,
    Verdict,
)
from toolmark.core.task_data import read_task_data
from toolmark.models.token_prices import ModelPrice
from toolmark.reports import cost_text, reply_text, run_names, table_format, usage_text
from toolmark.reports.table_format import visible_text
from toolmark.runs.costs.run_usage import measure_episode_usage

MORE_HINT = "; --all tells them all"


def print_episode(
    console: Console,
    task: Task,
    trajectory: Trajectory,
    score: Score | None,
    views: Sequence[Table | Drawing | Audio],
    failure_names: Mapping[str, str] = {},
    *,
    full_text: bool = False,
    prices: Mapping[str, ModelPrice] = {},
) -> None:
    """Print one episode step by step, then what it was worth and why, evidence only once.

    Long texts are cut unless they are wanted `whole`.
    """
    shorten = visible_text if full_text else partial(shorten_text, more=MORE_HINT)
    console.rule(escape(f"{trajectory.task}  repeat {trajectory.repeat}"))
    recordings = recordings_by_digest(task)
    for number_, step in enumerate(trajectory.steps, 1):
        _print_step(console, number_, step, recordings, shorten)
    console.print(f"[bold]ending[/] {trajectory.ending}")
    print_episode_usage(console, task, trajectory.steps, prices)
    for complaint in filter(None, (step.reply.complaint for step in trajectory.steps)):
        line = f"  the endpoint said: {shorten(complaint)}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if trajectory.answer:
        console.print("[bold]answer[/] ", end="")
        console.print(shorten(trajectory.answer), markup=False, highlight=False)
    _print_verdicts(console, score.verdicts if score else {}, failure_names, shorten)
    for each in views:
        if isinstance(each, Table):
            console.print(
                "\n" + table_format.render_text(each), markup=False, highlight=False, soft_wrap=True
            )


def print_episode_usage(
    console: Console, task: Task, steps: Sequence[Step], prices: Mapping[str, ModelPrice]
) -> None:
    """Print the tokens of an episode, and what they cost by whose prices."""
    used = measure_episode_usage(task, steps, prices)
    if used.tokens == used.user == Usage():
        return
    for line in filter(None, (usage_text.usage_line(used), cost_text.cost_line(used))):
        console.print(f"  {line}", style="dim", markup=False, highlight=False, soft_wrap=True)


def _print_verdicts(
    console: Console,
    verdicts_by_rule: Mapping[str, Verdict],
    failure_names: Mapping[str, str],
    shorten: Callable[[str], str],
) -> None:
    """Print every rule's value, the evidence of the first, and how the others' differs."""
    for rule, verdict in verdicts_by_rule.items():
        console.print(
            f"[bold]{escape(rule)}[/] {verdict.outcome} {number_format.format_short(verdict.value)}"
        )
        for name, word in verdict.traits.items():
            line = f"  {name}: {shorten(word)}"
            console.print(line, markup=False, highlight=False)
    first: list[str] = []
    for at, (rule, verdict) in enumerate(verdicts_by_rule.items()):
        labels = [_label_text(label, failure_names) for label in verdict.labels]
        lines = [f"  {line}" for line in labels]
        if at == 0:
            first = labels
        else:
            lines = [f"  {rule} also: {line.strip()}" for line in labels if line not in first]
            lines += [f"  {rule} not: {line.strip()}" for line in first if line not in labels]
        for line in lines:
            console.print(shorten(line), markup=False, highlight=False)


def _label_text(label: Label, failure_names: Mapping[str, str]) -> str:
    parts = filter(
        None,
        (
            label.cause,
            run_names.suite_cause_label(label.suite_cause, failure_names),
            label.evidence,
        ),
    )
    return f"{'*' if label.primary else ' '} {'  '.join(parts)}"


class Recording(Record, frozen=True, kw_only=True):
    """What a task of any suite may store of a recording: its words and its length."""

    audio: Audio | None = None
    uttered: str = ""
    seconds: float | None = None


class _Recordings(Record, frozen=True):
    turns: list[Recording] = []


class _RecordedSpeech(Record, frozen=True):
    speech: _Recordings = _Recordings()


def recordings_by_digest(task: Task) -> dict[str, Recording]:
    """Return what is known of a task's recordings, by their digest."""
    try:
        turns = read_task_data(task, _RecordedSpeech).speech.turns
    except DataError:  # a suite without speech may store anything
        return {}
    return {turn.audio.sha256: turn for turn in turns if turn.audio}


def message_text(message: Message, media: MediaStore | None) -> str:
    """Return a message for a reader: who says it, its words, and its media by their files."""
    parts = [
        part.text
        if isinstance(part, Text)
        else (
            f"[{part.mime}{_image_size(part, media)}, {media.path(part) if media else part.sha256}]"
        )
        for part in message.parts
    ]
    calls = [f"{call.name} {call.arguments}" for call in message.calls]
    return f"{message.role}: " + "\n".join([*parts, *calls])


def _image_size(part: Part, media: MediaStore | None) -> str:
    """Return " 64x48" of a PNG that is there: its width and height in pixels."""
    if not isinstance(part, Image) or part.mime != "image/png" or media is None:
        return ""
    try:
        with media.path(part).open("rb") as file:
            head = file.read(24)  # the signature, a chunk's length and name, two numbers
    except OSError:
        return ""
    return f" {int.from_bytes(head[16:20], 'big')}x{int.from_bytes(head[20:24], 'big')}"


def _part_text(part: Part, recordings: Mapping[str, Recording]) -> str:
    """Return a part of a message as a line: a recording by its length, its file and its words."""
    if isinstance(part, Text):
        return part.text
    if not isinstance(part, Audio):
        return f"[{part.mime}, media/{part.sha256[:2]}/{part.sha256}]"
    recording = recordings.get(part.sha256, Recording())
    length = (
        f"{number_format.format_count(part.size_bytes)} bytes"
        if recording.seconds is None
        else number_format.format_duration(recording.seconds)
    )
    quoted = f' "{recording.uttered}"' if recording.uttered else ""
    return f"[sound {length}, media/{part.sha256[:2]}/{part.sha256}]{quoted}"


def _print_reply_facts(
    console: Console, number_: int, step: Step, shorten: Callable[[str], str]
) -> None:
    """Print the head of a step: who answered, what was changed of the request, the thoughts."""
    reply = step.reply
    facts = ", ".join(f"{label} {text}" for label, text in _reply_facts(reply))
    lines = [
        *([f"  {facts}"] if facts else []),
        *(f"  changed in the request: {line}" for line in reply_text.change_lines(reply)),
        *([f"  reasoning: {reply.reasoning}"] if reply.reasoning else []),
    ]
    console.print(f"[green]model[/] step {number_}", end=" " if reply.text and not lines else "\n")
    for line in lines:
        console.print(shorten(line), style="dim", markup=False, highlight=False, soft_wrap=True)


def _reply_facts(reply: Reply) -> Iterator[tuple[str, str]]:
    if reply.latency_s:
        yield "latency", number_format.format_duration(reply.latency_s)
    yield from reply_text.step_facts(reply)


def _print_step(
    console: Console,
    number_: int,
    step: Step,
    recordings: Mapping[str, Recording],
    shorten: Callable[[str], str],
) -> None:
    for message in step.new_messages:
        console.print(f"[cyan]{message.role}[/] ", end="")
        content = " ".join(_part_text(part, recordings) for part in message.parts)
        console.print(shorten(content), markup=False, highlight=False, soft_wrap=True)
    _print_reply_facts(console, number_, step, shorten)
    if step.reply.text:
        console.print(shorten(step.reply.text), markup=False, highlight=False)
    if step.fault:
        console.print(shorten(f"  not read: {step.fault}"), markup=False, highlight=False)
    for index, call in enumerate(step.calls):
        console.print(shorten(f"  {call.name} {call.arguments}"), markup=False, highlight=False)
        if index < len(step.results):
            result = step.results[index]
            if not result.text and not result.is_error:
                continue  # an environment that does nothing has nothing to show
            sign = "!" if result.is_error else "="
            console.print(shorten(f"    {sign} {result.text}"), markup=False, highlight=False)
