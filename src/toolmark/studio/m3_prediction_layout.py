"""One episode in the published layout, and one entry of that layout as an episode.

Every round of the dialogue is three replies: the plan, the calls as JSON, the decision. Content of
an entry that an episode has no field for (other labels, rounds that do not agree with its steps) is
stored in the episode's state, so that the conversion back is lossless.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Image, Part, Reply, Result, Step, Task, Text, Trajectory
from toolmark.core.task_data import read_task_data
from toolmark.formats.executor_json import EXECUTOR_JSON_FORMAT
from toolmark.suites.m3 import published_tasks
from toolmark.suites.m3.m3_scoring import parse_arguments
from toolmark.suites.m3.m3_task_data import M3TaskData

ERROR_PREFIX = "[Tool error]"
_NO_CALL_FAULT = "the round holds no call"
_IMAGE_SIGNATURES = {
    b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}  # fmt: skip
Entry = dict[str, Any]


# --- an entry as an episode -------------------------------------------------------------


def entry_to_trajectory(task: Task, entry: Entry, media: MediaStore) -> Trajectory:
    """Convert a checked entry to an episode; pictures of results are added to the store."""
    steps = list(_entry_steps(entry, media))
    answer = json_codec.escape_surrogates(entry.get("final_reply") or "")
    if answer:
        steps.append(Step(reply=Reply(text=answer), phase="final"))
    converted = Trajectory(
        task=task.id, tool_format=EXECUTOR_JSON_FORMAT.name, steps=tuple(steps), answer=answer
    )
    return replace(converted, state=_extra_state(entry, _derive_entry(task, converted, media)))


def _entry_steps(entry: Entry, media: MediaStore) -> Iterator[Step]:
    """Yield the replies from the dialogue, or from the steps alone where the two disagree."""
    rounds, stages = entry.get("dialogue") or [], entry["steps"]
    rounds_with_calls = [
        dialogue_round for dialogue_round in rounds if dialogue_round["work"]["tool_calls"]
    ]
    if len(rounds_with_calls) == len(stages) and all(
        map(_round_matches_step, rounds_with_calls, stages)
    ):
        remaining = iter(stages)
        for dialogue_round in rounds:
            yield from _round_steps(
                dialogue_round,
                next(remaining) if dialogue_round["work"]["tool_calls"] else None,
                media,
            )
        return
    for stage in stages:
        calls = [_without_result(call) for call in stage["calls"]]
        yield _call_step({"tool_calls": calls}, stage, media)
    for dialogue_round in rounds:
        if not dialogue_round["work"]["tool_calls"]:
            yield _call_step(dialogue_round["work"], None, media)


def _round_matches_step(dialogue_round: Entry, stage: Entry) -> bool:
    """Return whether a step has the first calls of a round; calls over the limit are not in it."""
    requested, executed = dialogue_round["work"]["tool_calls"], stage["calls"]
    are_named = all(isinstance(call.get("name"), str) for call in requested)
    return are_named and _canonical_json(requested[: len(executed)]) == _canonical_json(
        [_without_result(call) for call in executed]
    )


def _round_steps(dialogue_round: Entry, stage: Entry | None, media: MediaStore) -> Iterator[Step]:
    if isinstance(dialogue_round.get("prepare"), str):
        yield Step(
            reply=Reply(text=json_codec.escape_surrogates(dialogue_round["prepare"])), phase="plan"
        )
    yield _call_step(dialogue_round["work"], stage, media)
    if stage is not None and isinstance(dialogue_round.get("end"), str):
        yield Step(
            reply=Reply(text=json_codec.escape_surrogates(dialogue_round["end"])), phase="decide"
        )


def _call_step(work: Entry, stage: Entry | None, media: MediaStore) -> Step:
    """Return the reply with the calls of a round; its text is the file's content, as JSON."""
    executed = stage["calls"] if stage else []
    return Step(
        reply=Reply(text=json_codec.escape_surrogates(json.dumps(work, ensure_ascii=False))),
        phase="process",
        calls=tuple(map(_make_call, work["tool_calls"])),
        results=tuple(_parse_result(call, media) for call in executed),
        fault="" if work["tool_calls"] else _NO_CALL_FAULT,
    )


def _make_call(item: Entry) -> Call:
    arguments = json.dumps(item.get("arguments"), ensure_ascii=False)
    return Call(
        name=json_codec.escape_surrogates(item["name"]),
        arguments=json_codec.escape_surrogates(arguments),
    )


def _without_result(call: Entry) -> Entry:
    return {key: value for key, value in call.items() if key != "result"}


def _parse_result(call: Entry, media: MediaStore) -> Result:
    """Return a recorded result; one that is absent from the file is empty."""
    if "result" not in call:
        return Result()
    recorded = call["result"]
    if not isinstance(recorded, str):
        return Result(structured=json_codec.to_plain_json(recorded))
    text = recorded.removeprefix(f"{ERROR_PREFIX} ")
    if text != recorded and not text.startswith(ERROR_PREFIX):
        return Result(parts=(Text(json_codec.escape_surrogates(text)),), is_error=True)
    found = _parse_pictures(recorded, media) or Result(
        parts=(Text(json_codec.escape_surrogates(recorded)),)
    )
    return replace(found, is_error=recorded.startswith(ERROR_PREFIX))


def _parse_pictures(recorded: str, media: MediaStore) -> Result | None:
    """Return a result with its pictures, None where it has none or cannot convert back exactly."""
    if not recorded.startswith('{"text_parts"'):
        return None
    try:
        match json_codec.parse_json(recorded):
            case {"text_parts": list(texts), "images": [*images]} if images:
                parts = [*map(_text_part, texts), *(_image_part(image, media) for image in images)]
            case _:
                return None
    except (json_codec.InvalidJson, ValueError, TypeError):
        return None
    found = Result(parts=tuple(parts))
    return found if published_result(found, media) == recorded else None


def _text_part(text: Any) -> Part:
    if not isinstance(text, str):
        raise TypeError("not a text")
    return Text(json_codec.escape_surrogates(text))


def _image_part(text: Any, media: MediaStore) -> Part:
    """Store a picture in base64. Raises ValueError or TypeError for anything else."""
    if not isinstance(text, str):
        raise TypeError("not a text")
    image_bytes = base64.b64decode(text, validate=True)
    for magic, mime in _IMAGE_SIGNATURES.items():
        if image_bytes.startswith(magic):
            return media.add_image(image_bytes, mime)
    raise ValueError("not a picture of a kind that is known")


def _extra_state(entry: Entry, derived: Entry) -> dict[str, Any] | None:
    """Return the content of an entry that its episode does not express, None for nothing.

    `other` is JSON text: a state cannot store every number.
    """
    extra = {
        k: v
        for k, v in entry.items()
        if k not in derived or _canonical_json(derived[k]) != _canonical_json(v)
    }
    absent = [key for key in derived if key not in entry]
    if not extra and not absent:
        return None
    other = json_codec.escape_surrogates(json.dumps(extra, ensure_ascii=False))
    return {"published": {"other": other, "absent": absent}}


def _canonical_json(value: Any) -> str:
    """Return JSON that is equal for equal values; 1 and 1.0 differ."""
    return json.dumps(value, sort_keys=True)


# --- an episode as an entry -------------------------------------------------------------


def trajectory_to_entry(
    task: Task, trajectory: Trajectory, media: MediaStore, *, imported: bool = False
) -> Entry:
    """Return an episode in the published layout; an imported one exactly as in its file.

    Raises DataError for pictures that are not in the store, and for a state that import did not
    write.
    """
    derived = _derive_entry(task, trajectory, media)
    published = (
        trajectory.state.get("published")
        if imported and isinstance(trajectory.state, dict)
        else None
    )
    if published is None:
        return derived
    try:
        for key in published["absent"]:
            derived.pop(key, None)
        return {
            **derived,
            **json_codec.parse_json(json_codec.restore_surrogates(published["other"])),
        }
    except (json_codec.InvalidJson, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"task {task.id}: its state is not what import wrote: {error}") from None


def _derive_entry(task: Task, trajectory: Trajectory, media: MediaStore) -> Entry:
    rounds = list(_dialogue_rounds(trajectory))
    stages = [
        _executed_calls(dialogue_round, media)
        for dialogue_round in rounds
        if dialogue_round.step and dialogue_round.step.results
    ]
    picture_path = _picture_path(task)
    return {
        "id": task.id,
        **({"image": picture_path} if picture_path else {}),
        "type": task.category,
        "question": _question_text(task),
        "steps": [{"step": at, "calls": calls} for at, calls in enumerate(stages, 1)],
        "num_step": len(stages),
        "max_num_concurrent": max(map(len, stages), default=0),
        "final_reply": json_codec.restore_surrogates(trajectory.answer),
        "dialogue": [
            {
                "prepare": dialogue_round.prepare,
                "work": dialogue_round.work,
                "end": _decision_text(dialogue_round, at == len(rounds), trajectory),
            }
            for at, dialogue_round in enumerate(rounds, 1)
        ],
    }


@dataclass(slots=True)
class _Round:
    """One round of the dialogue."""

    prepare: str = ""
    step: Step | None = None
    end: str | None = None

    @property
    def work(self) -> Entry:
        """The calls as the model wrote them; as they were parsed where that was not plain JSON."""
        if self.step is None:
            return {"tool_calls": []}
        calls = self.step.calls
        try:
            found = json_codec.parse_json(json_codec.restore_surrogates(self.step.reply.text))
        except json_codec.InvalidJson:
            found = None
        match found:
            case {"tool_calls": [*items]} if len(items) == len(calls):
                if all(map(_matches_call, items, calls)):
                    return dict(found)
        return {"tool_calls": [_plain_call(call) for call in calls]}


def _dialogue_rounds(trajectory: Trajectory) -> Iterator[_Round]:
    """Yield the rounds: three replies of the executor format, or any other reply with calls."""
    current: _Round | None = None
    for step in trajectory.steps:
        text = json_codec.restore_surrogates(step.reply.text)
        if step.phase == "plan":
            if current is not None:
                yield current
            current = _Round(prepare=text)
        elif step.phase == "decide":
            if current is not None:
                current.end = text
        elif step.phase != "final" and (step.calls or step.fault):
            if current is not None and not _accepts_step(current, step):
                yield current
                current = None
            current = current or _Round(prepare="" if step.phase else text)
            current.step = step
    if current is not None:
        yield current


def _accepts_step(dialogue_round: _Round, step: Step) -> bool:
    """Return whether a reply with calls belongs to a round: as its first, or as a retry."""
    if dialogue_round.end is not None:
        return False
    return dialogue_round.step is None or (
        step.phase == "process" and not dialogue_round.step.calls
    )


def _executed_calls(dialogue_round: _Round, media: MediaStore) -> list[Entry]:
    """Return the executed calls of a round with their results."""
    assert dialogue_round.step is not None
    made = []
    for item, result in zip(
        dialogue_round.work["tool_calls"], dialogue_round.step.results, strict=False
    ):
        published = published_result(result, media)
        made.append(item if published is None else {**item, "result": published})
    return made


def _decision_text(dialogue_round: _Round, last: bool, trajectory: Trajectory) -> str:
    """Return the decision; for an agent that is not asked for one, its answer is the decision."""
    if dialogue_round.end is not None:
        return dialogue_round.end
    made_calls = dialogue_round.step is not None and bool(dialogue_round.step.calls)
    return "yes" if last and made_calls and trajectory.answer else "no"


def _matches_call(item: Any, call: Call) -> bool:
    """Return whether an item of a reply is the source of the parsed call."""
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return False
    if json_codec.escape_surrogates(item["name"]).strip() != call.name.strip():
        return False
    written = item.get("arguments")
    if isinstance(written, str) and written == json_codec.restore_surrogates(call.arguments):
        return True
    return _canonical_json(written) == _canonical_json(parse_arguments(call.arguments)) or (
        written is None and call.arguments == "{}"
    )


def _plain_call(call: Call) -> Entry:
    arguments = parse_arguments(call.arguments)
    if isinstance(arguments, str):
        arguments = json_codec.restore_surrogates(arguments)
    return {"name": json_codec.restore_surrogates(call.name), "arguments": arguments}


def published_result(result: Result, media: MediaStore) -> Any:
    """Return a result as published: text, pictures in base64; None where there is nothing."""
    if not result.parts and not result.is_error:
        return result.structured
    texts = [
        json_codec.restore_surrogates(part.text) for part in result.parts if isinstance(part, Text)
    ]
    images = [
        base64.b64encode(media.read(part)).decode()
        for part in result.parts
        if isinstance(part, Image)
    ]
    text = "\n".join(texts)
    if not result.parts and result.structured is not None:
        text = json.dumps(result.structured, ensure_ascii=False)
    if images:
        content = {"text_parts": texts, "json_parts": [], "images": images}
        text = json.dumps(content, ensure_ascii=False)
    if result.is_error and not text.startswith(ERROR_PREFIX):
        return f"{ERROR_PREFIX} {text}"
    return text


def _question_text(task: Task) -> str:
    """Return the question without the note on the place of its picture."""
    text = task.turns[0].messages[0].text if task.turns else ""
    for name in _picture_names(task):
        text = text.removesuffix(published_tasks.question_with_picture("", name))
    return json_codec.restore_surrogates(text)


def _picture_names(task: Task) -> Sequence[str]:
    return read_task_data(task, M3TaskData).images


def _picture_path(task: Task) -> str:
    """Return the path of the task's picture, relative to the folder of all files."""
    missing = read_task_data(task, M3TaskData).missing
    names = _picture_names(task) or ([PurePosixPath(missing).name] if missing else [])
    return f"images/{names[0]}" if names else ""
