"""One episode as the page needs it: a line for the list, and everything step by step."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolmark import codec
from toolmark.media import Media
from toolmark.report import drawings, picture, sound, tables
from toolmark.stats import figures
from toolmark.types import (
    Attempt,
    Audio,
    Drawing,
    Image,
    Message,
    Part,
    Result,
    Step,
    Table,
    Task,
    Text,
    Tool,
    Trajectory,
    Verdict,
)

LONGEST = 20_000  # characters of one text: the rest stays in trajectories.jsonl
LARGEST = 1_000_000  # bytes of one episode: one giant must not crowd out a hundred others
FRAME = 64  # bytes of the element around a body
NOT_RUN = "not run"
UNSHOWN = "The drawing is not shown: it is no plain SVG."


@dataclass(frozen=True, slots=True)
class Block:
    """An episode made ready: its line in the list and its details, as JSON safe within HTML.

    `quiet` is the body without its recordings, "" where it has none. `drawn` are the drawings and
    pictures, `sounds` the recordings that the body names, by content: episodes that share them do
    so on the page too, which holds each once.
    """

    line: bytes
    body: bytes
    quiet: bytes = b""
    drawn: Mapping[str, bytes] = field(default_factory=dict)
    sounds: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """What it adds to the page by itself, its element included."""
        return len(self.line) + len(self.body) + FRAME

    def hushed(self) -> Block:
        """Return it without its recordings."""
        return Block(self.line, self.quiet, drawn=self.drawn) if self.quiet else self


def block(
    run: int,
    task: Task,
    trajectory: Trajectory,
    verdicts: Mapping[str, Verdict],
    views: Sequence[Table | Drawing | Audio],
    media: Media,
    page: Path | None = None,
) -> Block:
    """Make the block of a completed episode; its pictures and recordings are in that store.

    `page`: the folder of the page, from which recordings are linked.
    """
    line = {
        **_about(run, task, trajectory.repeat, trajectory.steps),
        "seconds": trajectory.latency_s,
        "outcome": {name: verdict.outcome for name, verdict in verdicts.items()},
        "cause": {name: _primary(verdict) for name, verdict in verdicts.items()},
    }
    store = _Store(media, page)
    shown = list(_views(views, store))  # above the steps, which show no waveform again
    body = {
        "steps": [_step(step, store) for step in trajectory.steps],
        "ending": trajectory.ending,
        "answer": _clip(trajectory.answer),
        "state": _json(trajectory.state),
        "tools": [signature(tool) for tool in trajectory.tools or _offered(task)],
        "reference": _json(task.reference),
        "verdicts": [_verdict(name, verdict) for name, verdict in verdicts.items()],
        "views": shown,
    }
    return _made(line, body)


def absent(
    run: int,
    task: Task,
    attempt: Attempt,
    readings: Sequence[str],
    media: Media,
    page: Path | None = None,
) -> Block:
    """Make the block of an episode that was not run, with the steps that were made."""
    line = {
        **_about(run, task, attempt.repeat, attempt.steps),
        "outcome": dict.fromkeys(readings, NOT_RUN),
        "cause": {},
    }
    store = _Store(media, page)
    body = {
        "steps": [_step(step, store) for step in attempt.steps],
        "reason": _clip(attempt.failure.text),
        "tools": [signature(tool) for tool in _offered(task)],
        "verdicts": [],
        "views": [],
    }
    return _made(line, body)


def _made(line: dict[str, Any], body: dict[str, Any]) -> Block:
    """Write an episode, and once more without its recordings if it has any."""
    sounds: dict[str, bytes] = {}
    drawn: dict[str, bytes] = {}
    fitted = _apart(_fit(_apart(body, "sound", sounds)), "svg", drawn)
    fitted = _apart(fitted, "src", drawn)
    loud, quiet = embed(fitted), embed(_hushed(fitted))
    kept = {name: data for name, data in sounds.items() if name.encode() in loud}
    return Block(embed(line), loud, quiet if kept else b"", drawn, kept)


def _apart(value: Any, key: str, into: dict[str, bytes]) -> Any:
    """Put what stands under a key apart, by a name of its content, and the name in its place."""
    match value:
        case list():
            return [_apart(item, key, into) for item in value]
        case dict():
            made = {name: _apart(item, key, into) for name, item in value.items()}
            held = made.get(key)
            if isinstance(held, str) and held:
                name = f"{key}-{hashlib.sha256(held.encode()).hexdigest()[:16]}"
                into[name] = embed(held, _OPENING if key == "svg" else _FOUL)
                made[key] = f"#{name}"
            return made
        case _:
            return value


def _hushed(value: Any) -> Any:
    match value:
        case list():
            return [_hushed(item) for item in value]
        case {"sound": str()}:
            return sound.muted(value)
        case dict():
            return {key: _hushed(item) for key, item in value.items()}
        case _:
            return value


_FOUL = re.compile(rb"<|\xe2\x80\xa8|\xe2\x80\xa9")
# of a drawing only what could end or change the script element: it has hundreds of tags
_OPENING = re.compile(rb"<(?=!|/?[sS])|\xe2\x80\xa8|\xe2\x80\xa9")
_FAIR = {b"<": b"\\u003c", b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}


def embed(value: Any, foul: re.Pattern[bytes] = _FOUL) -> bytes:
    """Write JSON that may stand inside a script element whatever text it holds."""
    return foul.sub(lambda match: _FAIR[match[0]], codec.encode(value))


def signature(tool: Tool) -> str:
    """Return a tool in one line: name(parameter: type, optional?: type).

    A schema is whatever a server published: what is not of its shape is passed over.
    """
    properties = tool.parameters.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = tool.parameters.get("required")
    required = required if isinstance(required, list) else []
    inner = ", ".join(
        f"{name}{'' if name in required else '?'}: {_kind(schema)}"
        for name, schema in properties.items()
    )
    return _clip(f"{tool.name}({inner})")


def _about(run: int, task: Task, repeat: int, steps: Sequence[Step]) -> dict[str, Any]:
    return {
        "run": run,
        "id": tables.visible(task.id),
        "repeat": repeat,
        "category": tables.visible(task.category),
        "axes": {name: tables.visible(level) for name, level in task.axes.items()},
        "steps": len(steps),
        "calls": sum(len(step.results) for step in steps),
        "skipped": sum(len(step.calls) - len(step.results) for step in steps),
        "tokens": sum(step.reply.usage.input + step.reply.usage.output for step in steps),
    }


def _primary(verdict: Verdict) -> list[str]:
    label = next((label for label in verdict.labels if label.primary), None)
    return [label.cause, tables.visible(label.native)] if label else []


class _Store:
    """A store of media as one episode shows it: its recordings share the room."""

    def __init__(self, media: Media, page: Path | None) -> None:
        self.media = media
        self.page = page
        self.room = sound.ROOM

        self.known: dict[str, dict[str, Any]] = {}
        self.looked: dict[str, dict[str, str]] = {}

    def seen(self, parts: Sequence[Part]) -> dict[str, list[dict[str, Any]]]:
        """Return the pictures and recordings among the parts; where there is none, no key."""
        sounds = [self._heard(part) for part in parts if isinstance(part, Audio)]
        pictures = [self._looked(part) for part in parts if isinstance(part, Image)]
        found = {"pictures": [made for made in pictures if made], "sounds": sounds}
        return {key: made for key, made in found.items() if made or key == "pictures"}

    def _looked(self, part: Image) -> dict[str, str]:
        if part.sha256 not in self.looked:
            self.looked[part.sha256] = picture.picture(part, self.media, page=self.page)
        return self.looked[part.sha256]

    def _heard(self, part: Audio) -> dict[str, Any]:
        """Return a recording; one that was shown before has a player, but no waveform again."""
        if part.sha256 in self.known:
            return self.known[part.sha256] | {"svg": ""}
        made = next(sound.sounds((part,), self.media, self.room, page=self.page))
        self.room -= len(made.get("sound", ""))
        self.known[part.sha256] = made
        return made


def _step(step: Step, store: _Store) -> dict[str, Any]:
    reply = step.reply
    usage = reply.usage
    return {
        "turn": step.turn,
        "said": [
            {
                "role": message.role,
                "text": _message(message),
                **store.seen(message.parts),
            }
            for message in step.said
        ],
        "text": _clip(reply.text),
        "reasoning": _clip(reply.reasoning),
        "stop": reply.stop,
        "fault": _clip("; ".join(filter(None, (step.fault, *reply.marks)))),
        "calls": [
            {"name": _clip(call.name), "arguments": _clip(call.arguments)} for call in step.calls
        ],
        "results": [
            {
                "text": _result(result),
                "error": result.is_error,
                **store.seen(result.parts),
            }
            for result in step.results
        ],
        "seconds": reply.latency_s,
        "tokens": [usage.input, usage.output, usage.reasoning, usage.cached],
    }


def _message(message: Message) -> str:
    return _clip("\n".join(_parts(message)))


def _parts(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, Text):
            yield part.text
        elif not isinstance(part, Audio):  # recordings stand below, each with what it is
            yield f"[{part.mime}, {figures.count(part.size_bytes)} bytes, sha256 {part.sha256}]"


def _result(result: Result) -> str:
    if result.parts or result.structured is None:
        return _message(Message(role="tool", parts=result.parts))
    return _json(result.structured)


def _verdict(name: str, verdict: Verdict) -> dict[str, Any]:
    return {
        "reading": name,
        "outcome": verdict.outcome,
        "value": verdict.value,
        "parts": verdict.parts,
        "labels": [
            {
                "cause": label.cause,
                "native": tables.visible(label.native),
                "evidence": _clip(label.evidence),
                "primary": label.primary,
            }
            for label in verdict.labels
        ],
    }


def _views(views: Sequence[Table | Drawing | Audio], store: _Store) -> Iterator[dict[str, Any]]:
    """Go through the views; recordings in a row stand together."""
    for heard, group in itertools.groupby(views, lambda view: isinstance(view, Audio)):
        if not heard:
            yield from (_view(view, store) for view in group)
            continue
        parts = [view for view in group if isinstance(view, Audio)]
        made = store.seen(parts)
        if len(parts) > 1:
            told = [f"{n}. {each['told']}" for n, each in enumerate(made["sounds"], 1)]
            made["sounds"] = [
                each | {"told": name} for each, name in zip(made["sounds"], told, strict=True)
            ]
        yield {"title": "Recordings" if len(parts) > 1 else "Recording", **made}


def _view(view: Table | Drawing | Audio, store: _Store) -> dict[str, Any]:
    if isinstance(view, Drawing):
        under = store.seen((view.over,)) if view.over else {}
        drawn = str(drawings.cleaned(view.svg))
        note = view.note if drawn or not view.svg else UNSHOWN
        return {"title": tables.visible(view.title), "svg": drawn, "note": tables.visible(note),
                **under}  # fmt: skip
    if isinstance(view, Audio):
        raise TypeError("recordings are shown by their store")
    made = tables.grid(view)
    return {
        "title": made.title,
        "head": made.head,
        "rows": [[_clip(cell) for cell in row] for row in made.rows],
        "numeric": made.numeric,
        "note": made.note,
        "fold": view.fold,
    }


def _offered(task: Task) -> list[Tool]:
    return [*task.tools, *(tool for turn in task.turns for tool in turn.tools)]


def _kind(schema: Any) -> str:
    kind = schema.get("type", "any") if isinstance(schema, dict) else "any"
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _json(value: Any) -> str:
    return "" if value is None else _clip(codec.encode(value).decode())


def _clip(text: str, longest: int = LONGEST) -> str:
    """Shorten a long text, saying by how much, and make every character visible."""
    if len(text) <= longest:
        return tables.visible(text)
    rest = figures.count(len(text) - longest)
    return f"{tables.visible(text[:longest])} … [{rest} more characters in the run folder]"


def _fit(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body; one that is too large is cut shorter and shorter, and says so."""
    fitted = body
    for longest in (2_000, 200, 20):
        if len(embed(fitted)) <= LARGEST:
            break
        told = f"This episode is long: texts are cut at {longest} characters, lists at {longest}."
        fitted = {**_cut(fitted, longest), "cut": told}
    return fitted


def _cut(value: Any, longest: int) -> Any:
    match value:
        case str():
            return _clip(value, longest)
        case list() | tuple():
            return [_cut(item, longest) for item in value[:longest]]
        case {"src": str()}:
            return {}
        case {"svg": str(drawing)} if len(drawing) > LARGEST // 2:
            return {**value, "svg": "", "note": "the drawing is too large for this page"}
        case {"svg": _}:
            return value  # half a drawing is none
        case dict():
            return {key: _cut(item, longest) for key, item in value.items()}
        case _:
            return value
