"""One episode as the page needs it: a line for the list, and the details step by step."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolmark.core import json_codec, number_format
from toolmark.core.media import MediaStore
from toolmark.core.records import (
    Attempt,
    Audio,
    Drawing,
    Image,
    Message,
    Part,
    Reply,
    Result,
    Step,
    Table,
    Task,
    Text,
    Tool,
    Trajectory,
    Verdict,
)
from toolmark.reports import (
    embedded_pictures,
    embedded_recordings,
    reply_text,
    svg_sanitizer,
    table_format,
)

MAX_TEXT_LENGTH = 20_000  # characters of one text: the rest stays in trajectories.jsonl
MAX_EPISODE_BYTES = 1_000_000  # bytes of one episode, so that a large one does not displace many
ELEMENT_BYTES = 64  # bytes of the element around a body
NOT_RUN_LABEL = "not run"
UNSAFE_DRAWING_NOTE = "The drawing is not shown: it is not a plain SVG."


@dataclass(frozen=True, slots=True)
class EpisodeBlock:
    """One episode: its line in the list and its details, as JSON that is safe within HTML.

    `details_without_recordings` is the body without its recordings, "" where it has none.
    `pictures` are the drawings and pictures and `sounds` the recordings that the body names, by a
    hash of the content. Content that several episodes share is on the page once.
    """

    list_entry: bytes
    details: bytes
    details_without_recordings: bytes = b""
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    sounds: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """The bytes that the block alone adds to the page, including its element."""
        return len(self.list_entry) + len(self.details) + ELEMENT_BYTES

    def without_recordings(self) -> EpisodeBlock:
        """Return the block without its recordings."""
        return (
            EpisodeBlock(self.list_entry, self.details_without_recordings, pictures=self.pictures)
            if self.details_without_recordings
            else self
        )


def completed_block(
    run: int,
    task: Task,
    trajectory: Trajectory,
    verdicts: Mapping[str, Verdict],
    views: Sequence[Table | Drawing | Audio],
    media: MediaStore,
    page_folder: Path | None = None,
) -> EpisodeBlock:
    """Make the block of a completed episode; `media` stores its pictures and recordings.

    Recordings are linked from `page_folder`, the folder of the page.
    """
    line = {
        **_episode_line(run, task, trajectory.repeat, trajectory.steps),
        "latency": _latency_text(trajectory.latency_s),
        "outcome": {name: verdict.outcome for name, verdict in verdicts.items()},
        "cause": {name: _primary_cause(verdict) for name, verdict in verdicts.items()},
        **_trait_values(verdicts),
    }
    store = _EpisodeMedia(media, page_folder)
    view_values = list(_view_values(views, store))  # first, so that steps draw no waveform again
    body = {
        "steps": [_step_values(step, store) for step in trajectory.steps],
        "ending": trajectory.ending,
        "answer": _clip_text(trajectory.answer),
        "state": _json_text(trajectory.state),
        "tools": [tool_signature(tool) for tool in trajectory.tools or _offered_tools(task)],
        "data": _json_text(task.data),
        "verdicts": [_verdict_values(name, verdict) for name, verdict in verdicts.items()],
        "views": view_values,
    }
    return _encode_block(line, body)


def not_run_block(
    run: int,
    task: Task,
    attempt: Attempt,
    rules: Sequence[str],
    media: MediaStore,
    page_folder: Path | None = None,
) -> EpisodeBlock:
    """Make the block of an episode that was not run, with the steps that it completed."""
    line = {
        **_episode_line(run, task, attempt.repeat, attempt.steps),
        "outcome": dict.fromkeys(rules, NOT_RUN_LABEL),
        "cause": {},
    }
    store = _EpisodeMedia(media, page_folder)
    body = {
        "steps": [_step_values(step, store) for step in attempt.steps],
        "reason": _clip_text(attempt.failure.full_text),
        "tools": [tool_signature(tool) for tool in _offered_tools(task)],
        "verdicts": [],
        "views": [],
    }
    return _encode_block(line, body)


def _encode_block(line: dict[str, Any], body: dict[str, Any]) -> EpisodeBlock:
    """Encode an episode, and again without its recordings if it has any."""
    sounds: dict[str, bytes] = {}
    pictures: dict[str, bytes] = {}
    fitted_body = _extract_by_content(
        _fit_body(_extract_by_content(body, "sound", sounds)), "svg", pictures
    )
    fitted_body = _extract_by_content(fitted_body, "src", pictures)
    full_body, silent_body = embed_json(fitted_body), embed_json(_remove_sounds(fitted_body))
    used_sounds = {name: data for name, data in sounds.items() if name.encode() in full_body}
    return EpisodeBlock(
        embed_json(line), full_body, silent_body if used_sounds else b"", pictures, used_sounds
    )


def _extract_by_content(value: Any, key: str, extracted: dict[str, bytes]) -> Any:
    """Move each text under `key` to `extracted`, named by its hash; put the name in its place."""
    match value:
        case list():
            return [_extract_by_content(item, key, extracted) for item in value]
        case dict():
            replaced = {
                name: _extract_by_content(item, key, extracted) for name, item in value.items()
            }
            content = replaced.get(key)
            if isinstance(content, str) and content:
                name = f"{key}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
                extracted[name] = embed_json(
                    content, _UNSAFE_IN_DRAWING if key == "svg" else _UNSAFE_IN_SCRIPT
                )
                replaced[key] = f"#{name}"
            return replaced
        case _:
            return value


def _remove_sounds(value: Any) -> Any:
    match value:
        case list():
            return [_remove_sounds(item) for item in value]
        case {"sound": str()}:
            return embedded_recordings.remove_sound(value)
        case dict():
            return {key: _remove_sounds(item) for key, item in value.items()}
        case _:
            return value


_UNSAFE_IN_SCRIPT = re.compile(rb"<|\xe2\x80\xa8|\xe2\x80\xa9")
# escape only what could end or change the script element: a drawing has hundreds of tags
_UNSAFE_IN_DRAWING = re.compile(rb"<(?=!|/?[sS])|\xe2\x80\xa8|\xe2\x80\xa9")
_JSON_ESCAPES = {b"<": b"\\u003c", b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}


def embed_json(value: Any, unsafe: re.Pattern[bytes] = _UNSAFE_IN_SCRIPT) -> bytes:
    """Encode JSON so that it is safe inside a script element, whatever text it contains."""
    return unsafe.sub(lambda match: _JSON_ESCAPES[match[0]], json_codec.encode_record(value))


def tool_signature(tool: Tool) -> str:
    """Return a tool in one line: name(parameter: type, optional?: type).

    Schemas come from servers and are untrusted: parts of the wrong shape are skipped.
    """
    properties = tool.parameters.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = tool.parameters.get("required")
    required = required if isinstance(required, list) else []
    inner = ", ".join(
        f"{name}{'' if name in required else '?'}: {_type_label(schema)}"
        for name, schema in properties.items()
    )
    return _clip_text(f"{tool.name}({inner})")


def _episode_line(run: int, task: Task, repeat: int, steps: Sequence[Step]) -> dict[str, Any]:
    return {
        "run": run,
        "id": table_format.visible_text(task.id),
        **({"item": table_format.visible_text(task.item)} if task.item != task.id else {}),
        "repeat": repeat,
        "category": table_format.visible_text(task.category),
        "axes": {name: table_format.visible_text(level) for name, level in task.axes.items()},
        "steps": len(steps),
        "calls": sum(len(step.results) for step in steps),
        "skipped": sum(len(step.calls) - len(step.results) for step in steps),
        "tokens": sum(
            reply.usage.input + reply.usage.output for step in steps for reply in step.model_replies
        ),
    }


def _primary_cause(verdict: Verdict) -> list[str]:
    label = next((label for label in verdict.labels if label.primary), None)
    return [label.cause, table_format.visible_text(label.suite_cause)] if label else []


def _trait_values(verdicts: Mapping[str, Verdict]) -> dict[str, dict[str, dict[str, str]]]:
    """Return the traits by grading rule, where any rule has some."""
    found = {
        rule: {name: table_format.visible_text(word) for name, word in verdict.traits.items()}
        for rule, verdict in verdicts.items()
        if verdict.traits
    }
    return {"traits": found} if found else {}


class _EpisodeMedia:
    """The media of one episode; its recordings share one limit of bytes."""

    def __init__(self, media: MediaStore, page_folder: Path | None) -> None:
        self.media = media
        self.page_folder = page_folder
        self.budget_bytes = embedded_recordings.MAX_EPISODE_BYTES

        self.recordings: dict[str, dict[str, Any]] = {}
        self.pictures: dict[str, dict[str, str]] = {}

    def embed_media(self, parts: Sequence[Part]) -> dict[str, list[dict[str, Any]]]:
        """Return the pictures and recordings among the parts; `sounds` only if there are any."""
        sounds = [self._embed_recording(part) for part in parts if isinstance(part, Audio)]
        embedded = [self._embed_picture(part) for part in parts if isinstance(part, Image)]
        found = {"pictures": [made for made in embedded if made], "sounds": sounds}
        return {key: made for key, made in found.items() if made or key == "pictures"}

    def _embed_picture(self, part: Image) -> dict[str, str]:
        if part.sha256 not in self.pictures:
            self.pictures[part.sha256] = embedded_pictures.embed_picture(
                part, self.media, page_folder=self.page_folder
            )
        return self.pictures[part.sha256]

    def _embed_recording(self, part: Audio) -> dict[str, Any]:
        """Return a recording; one that was shown before has a player, but no waveform again."""
        if part.sha256 in self.recordings:
            return self.recordings[part.sha256] | {"svg": ""}
        recording = next(
            embedded_recordings.embed_recordings(
                (part,), self.media, self.budget_bytes, page_folder=self.page_folder
            )
        )
        self.budget_bytes -= len(recording.get("sound", ""))
        self.recordings[part.sha256] = recording
        return recording


def _step_values(step: Step, store: _EpisodeMedia) -> dict[str, Any]:
    reply = step.reply
    usage = reply.usage
    return {
        "turn": step.turn,
        "new_messages": [
            {
                "role": message.role,
                "text": _message_text(message),
                **store.embed_media(message.parts),
            }
            for message in step.new_messages
        ],
        "text": _clip_text(reply.text),
        "reasoning": _clip_text(reply.reasoning),
        "stop": reply.stop,
        "complaint": _clip_text(reply.complaint),
        "fault": _clip_text("; ".join(filter(None, (step.fault, *reply.defects)))),
        "calls": [
            {"name": _clip_text(call.name), "arguments": _clip_text(call.arguments)}
            for call in step.calls
        ],
        "results": [
            {
                "text": _result_text(result),
                "error": result.is_error,
                **store.embed_media(result.parts),
            }
            for result in step.results
        ],
        "latency": _latency_text(reply.latency_s),
        "tokens": [usage.input, usage.output, usage.reasoning, usage.cached],
        **_reply_notes(reply),
    }


def _reply_notes(reply: Reply) -> dict[str, Any]:
    """Return who answered and what was changed of the request, where something is known."""
    notes = {
        "facts": [(label, _clip_text(text)) for label, text in reply_text.step_facts(reply)],
        "changes": _clip_text("\n".join(reply_text.change_lines(reply))),
    }
    return {name: value for name, value in notes.items() if value}


def _latency_text(seconds: float) -> str:
    return number_format.format_duration(seconds) if seconds else ""


def _message_text(message: Message) -> str:
    return _clip_text("\n".join(_part_texts(message)))


def _part_texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, Text):
            yield part.text
        elif not isinstance(part, Audio):  # recordings are shown below, each with its description
            yield (
                f"[{part.mime}, {number_format.format_count(part.size_bytes)} bytes, sha256 "
                f"{part.sha256}]"
            )


def _result_text(result: Result) -> str:
    if result.parts or result.structured is None:
        return _message_text(Message(role="tool", parts=result.parts))
    return _json_text(result.structured)


def _verdict_values(name: str, verdict: Verdict) -> dict[str, Any]:
    return {
        "rule": name,
        "outcome": verdict.outcome,
        "value": number_format.format_short(verdict.value),
        "parts": {name: number_format.format_short(x) for name, x in verdict.parts.items()},
        "labels": [
            {
                "cause": label.cause,
                "suite_cause": table_format.visible_text(label.suite_cause),
                "evidence": _clip_text(label.evidence),
                "primary": label.primary,
            }
            for label in verdict.labels
        ],
    }


def _view_values(
    views: Sequence[Table | Drawing | Audio], store: _EpisodeMedia
) -> Iterator[dict[str, Any]]:
    """Yield the values of the views; adjacent recordings form one group."""
    for is_recording, group in itertools.groupby(views, lambda view: isinstance(view, Audio)):
        if not is_recording:
            yield from (_table_or_drawing_values(view, store) for view in group)
            continue
        parts = [view for view in group if isinstance(view, Audio)]
        media_values = store.embed_media(parts)
        if len(parts) > 1:
            descriptions = [
                f"{n}. {each['description']}" for n, each in enumerate(media_values["sounds"], 1)
            ]
            media_values["sounds"] = [
                each | {"description": name}
                for each, name in zip(media_values["sounds"], descriptions, strict=True)
            ]
        yield {"title": "Recordings" if len(parts) > 1 else "Recording", **media_values}


def _table_or_drawing_values(view: Table | Drawing | Audio, store: _EpisodeMedia) -> dict[str, Any]:
    if isinstance(view, Drawing):
        background = store.embed_media((view.background,)) if view.background else {}
        safe_svg = str(svg_sanitizer.sanitize_svg(view.svg))
        note = view.note if safe_svg or not view.svg else UNSAFE_DRAWING_NOTE
        return {
            "title": table_format.visible_text(view.title),
            "svg": safe_svg,
            "note": table_format.visible_text(note),
            **background,
        }
    if isinstance(view, Audio):
        raise TypeError("recordings are shown by their store")
    made = table_format.make_grid(view)
    return {
        "title": made.title,
        "head": made.head,
        "rows": [[_clip_text(cell) for cell in row] for row in made.rows],
        "numeric": made.numeric,
        "note": made.note,
        "is_collapsed": view.is_collapsed,
    }


def _offered_tools(task: Task) -> list[Tool]:
    return [*task.tools, *(tool for turn in task.turns for tool in turn.tools)]


def _type_label(schema: Any) -> str:
    kind = schema.get("type", "any") if isinstance(schema, dict) else "any"
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _json_text(value: Any) -> str:
    return "" if value is None else _clip_text(json_codec.encode_record(value).decode())


def _clip_text(text: str, max_length: int = MAX_TEXT_LENGTH) -> str:
    """Shorten a long text, with a note of the number cut, and make every character visible."""
    if len(text) <= max_length:
        return table_format.visible_text(text)
    n_omitted = number_format.format_count(len(text) - max_length)
    return (
        f"{table_format.visible_text(text[:max_length])} … [{n_omitted} more characters in the run "
        "folder]"
    )


def _fit_body(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body of at most MAX_EPISODE_BYTES: shortened in stages, with a note."""
    shortened = body
    for max_length in (2_000, 200, 20):
        if len(embed_json(shortened)) <= MAX_EPISODE_BYTES:
            break
        cut_note = (
            f"This episode is long: texts are cut at {max_length} characters, lists at "
            f"{max_length}."
        )
        shortened = {**_shorten_values(shortened, max_length), "cut": cut_note}
    return shortened


def _shorten_values(value: Any, max_length: int) -> Any:
    match value:
        case str():
            return _clip_text(value, max_length)
        case list() | tuple():
            return [_shorten_values(item, max_length) for item in value[:max_length]]
        case {"src": str()}:
            return {}
        case {"svg": str(drawing)} if len(drawing) > MAX_EPISODE_BYTES // 2:
            return {**value, "svg": "", "note": "the drawing is too large for this page"}
        case {"svg": _}:
            return value  # half a drawing is not valid
        case dict():
            return {key: _shorten_values(item, max_length) for key, item in value.items()}
        case _:
            return value
