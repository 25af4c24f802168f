"""One episode in the published layout, and one entry of that layout as an episode.

Every round of the dialogue is three replies: the plan, the calls as JSON, the decision. What an
entry says beyond an episode (other labels, rounds that do not agree with its steps) is kept in the
episode's state, so that nothing is lost on the way back.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from toolmark import codec
from toolmark.dialects.staged import STAGED
from toolmark.errors import DataError
from toolmark.media import Media
from toolmark.suites.m3 import data
from toolmark.suites.m3.score import given
from toolmark.types import Call, Image, Part, Reply, Result, Step, Task, Text, Trajectory

ERROR = "[Tool error]"
_UNREAD = "the round holds no call"
_MAGIC = {
    b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}  # fmt: skip
Entry = dict[str, Any]


# --- an entry as an episode -------------------------------------------------------------


def trajectory(task: Task, entry: Entry, media: Media) -> Trajectory:
    """Return what happened by an entry that was checked; pictures of results go into the store."""
    steps = list(_replies(entry, media))
    answer = codec.escape(entry.get("final_reply") or "")
    if answer:
        steps.append(Step(reply=Reply(text=answer), phase="final"))
    made = Trajectory(task=task.id, dialect=STAGED.name, steps=tuple(steps), answer=answer)
    return replace(made, state=_beyond(entry, _derived(task, made, media)))


def _replies(entry: Entry, media: Media) -> Iterator[Step]:
    """Go through the replies: by the dialogue, or by the steps alone where it disagrees."""
    rounds, stages = entry.get("dialogue") or [], entry["steps"]
    acted = [said for said in rounds if said["work"]["tool_calls"]]
    if len(acted) == len(stages) and all(map(_agree, acted, stages)):
        left = iter(stages)
        for said in rounds:
            yield from _round(said, next(left) if said["work"]["tool_calls"] else None, media)
        return
    for stage in stages:
        calls = [_bare(call) for call in stage["calls"]]
        yield _process({"tool_calls": calls}, stage, media)
    for said in rounds:
        if not said["work"]["tool_calls"]:
            yield _process(said["work"], None, media)


def _agree(said: Entry, stage: Entry) -> bool:
    """Tell whether a step holds the first calls of a round; those over the limit it leaves out."""
    asked, made = said["work"]["tool_calls"], stage["calls"]
    named = all(isinstance(call.get("name"), str) for call in asked)
    return named and _text(asked[: len(made)]) == _text([_bare(call) for call in made])


def _round(said: Entry, stage: Entry | None, media: Media) -> Iterator[Step]:
    if isinstance(said.get("prepare"), str):
        yield Step(reply=Reply(text=codec.escape(said["prepare"])), phase="plan")
    yield _process(said["work"], stage, media)
    if stage is not None and isinstance(said.get("end"), str):
        yield Step(reply=Reply(text=codec.escape(said["end"])), phase="decide")


def _process(work: Entry, stage: Entry | None, media: Media) -> Step:
    """Return the reply with the calls of a round; its text is what the file holds, as JSON."""
    made = stage["calls"] if stage else []
    return Step(
        reply=Reply(text=codec.escape(json.dumps(work, ensure_ascii=False))),
        phase="process",
        calls=tuple(map(_call, work["tool_calls"])),
        results=tuple(_result(call, media) for call in made),
        fault="" if work["tool_calls"] else _UNREAD,
    )


def _call(item: Entry) -> Call:
    arguments = json.dumps(item.get("arguments"), ensure_ascii=False)
    return Call(name=codec.escape(item["name"]), arguments=codec.escape(arguments))


def _bare(call: Entry) -> Entry:
    return {key: value for key, value in call.items() if key != "result"}


def _result(call: Entry, media: Media) -> Result:
    """Return a recorded result; one that the file does not hold is empty."""
    if "result" not in call:
        return Result()
    said = call["result"]
    if not isinstance(said, str):
        return Result(structured=codec.plain(said))
    text = said.removeprefix(f"{ERROR} ")
    if text != said and not text.startswith(ERROR):
        return Result(parts=(Text(codec.escape(text)),), is_error=True)
    found = _pictures(said, media) or Result(parts=(Text(codec.escape(said)),))
    return replace(found, is_error=said.startswith(ERROR))


def _pictures(said: str, media: Media) -> Result | None:
    """Return a result with its pictures, None where it has none or could not be written back."""
    if not said.startswith('{"text_parts"'):
        return None
    try:
        match codec.loads(said):
            case {"text_parts": list(texts), "images": [*images]} if images:
                parts = [*map(_written, texts), *(_image(image, media) for image in images)]
            case _:
                return None
    except (codec.BadJson, ValueError, TypeError):
        return None
    found = Result(parts=tuple(parts))
    return found if told(found, media) == said else None


def _written(text: Any) -> Part:
    if not isinstance(text, str):
        raise TypeError("not a text")
    return Text(codec.escape(text))


def _image(text: Any, media: Media) -> Part:
    """Keep a picture in base64. Raises ValueError or TypeError for what is none."""
    if not isinstance(text, str):
        raise TypeError("not a text")
    held = base64.b64decode(text, validate=True)
    for magic, mime in _MAGIC.items():
        if held.startswith(magic):
            return media.image(held, mime)
    raise ValueError("not a picture of a kind that is known")


def _beyond(entry: Entry, derived: Entry) -> dict[str, Any] | None:
    """Return what of an entry its episode does not say, None for nothing.

    `other` is JSON text: a state cannot hold every number.
    """
    kept = {k: v for k, v in entry.items() if k not in derived or _text(derived[k]) != _text(v)}
    absent = [key for key in derived if key not in entry]
    if not kept and not absent:
        return None
    other = codec.escape(json.dumps(kept, ensure_ascii=False))
    return {"published": {"other": other, "absent": absent}}


def _text(value: Any) -> str:
    """Return JSON that is the same for values that are: 1 and 1.0 differ."""
    return json.dumps(value, sort_keys=True)


# --- an episode as an entry -------------------------------------------------------------


def entry(task: Task, made: Trajectory, media: Media, *, imported: bool = False) -> Entry:
    """Return an episode in the published layout; an imported one exactly as it came.

    Raises DataError for pictures that the store does not hold.
    """
    derived = _derived(task, made, media)
    held = made.state.get("published") if imported and isinstance(made.state, dict) else None
    if held is None:
        return derived
    try:
        for key in held["absent"]:
            derived.pop(key, None)
        return {**derived, **codec.loads(codec.restore(held["other"]))}
    except (codec.BadJson, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"task {task.id}: its state is not what import wrote: {error}") from None


def _derived(task: Task, made: Trajectory, media: Media) -> Entry:
    rounds = list(_rounds(made))
    stages = [_calls(said, media) for said in rounds if said.step and said.step.results]
    shown = _image_name(task)
    return {
        "id": task.id,
        **({"image": shown} if shown else {}),
        "type": task.category,
        "question": _question(task),
        "steps": [{"step": at, "calls": calls} for at, calls in enumerate(stages, 1)],
        "num_step": len(stages),
        "max_num_concurrent": max(map(len, stages), default=0),
        "final_reply": codec.restore(made.answer),
        "dialogue": [
            {"prepare": said.prepare, "work": said.work, "end": _end(said, at == len(rounds), made)}
            for at, said in enumerate(rounds, 1)
        ],
    }


@dataclass(slots=True)
class _Said:
    """One round of the dialogue."""

    prepare: str = ""
    step: Step | None = None
    end: str | None = None

    @property
    def work(self) -> Entry:
        """The calls as they were written; as they were read where that was no plain JSON."""
        if self.step is None:
            return {"tool_calls": []}
        calls = self.step.calls
        try:
            found = codec.loads(codec.restore(self.step.reply.text))
        except codec.BadJson:
            found = None
        match found:
            case {"tool_calls": [*items]} if len(items) == len(calls):
                if all(map(_holds, items, calls)):
                    return dict(found)
        return {"tool_calls": [_plain(call) for call in calls]}


def _rounds(made: Trajectory) -> Iterator[_Said]:
    """Go through the rounds: three replies of the executor each, any other reply with calls."""
    said: _Said | None = None
    for step in made.steps:
        text = codec.restore(step.reply.text)
        if step.phase == "plan":
            if said is not None:
                yield said
            said = _Said(prepare=text)
        elif step.phase == "decide":
            if said is not None:
                said.end = text
        elif step.phase != "final" and (step.calls or step.fault):
            if said is not None and not _open(said, step):
                yield said
                said = None
            said = said or _Said(prepare="" if step.phase else text)
            said.step = step
    if said is not None:
        yield said


def _open(said: _Said, step: Step) -> bool:
    """Tell whether a reply with calls belongs to a round: its first, or asked for once more."""
    if said.end is not None:
        return False
    return said.step is None or (step.phase == "process" and not said.step.calls)


def _calls(said: _Said, media: Media) -> list[Entry]:
    """Return the executed calls of a round with their results."""
    assert said.step is not None
    made = []
    for item, result in zip(said.work["tool_calls"], said.step.results, strict=False):
        heard = told(result, media)
        made.append(item if heard is None else {**item, "result": heard})
    return made


def _end(said: _Said, last: bool, made: Trajectory) -> str:
    """Return the decision; an agent that is not asked for one decides by answering."""
    if said.end is not None:
        return said.end
    called = said.step is not None and bool(said.step.calls)
    return "yes" if last and called and made.answer else "no"


def _holds(item: Any, call: Call) -> bool:
    """Tell whether an item of a reply is what the call was read from."""
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return False
    if codec.escape(item["name"]).strip() != call.name.strip():
        return False
    written = item.get("arguments")
    if isinstance(written, str) and written == codec.restore(call.arguments):
        return True
    return _text(written) == _text(given(call.arguments)) or (
        written is None and call.arguments == "{}"
    )


def _plain(call: Call) -> Entry:
    arguments = given(call.arguments)
    if isinstance(arguments, str):
        arguments = codec.restore(arguments)
    return {"name": codec.restore(call.name), "arguments": arguments}


def told(result: Result, media: Media) -> Any:
    """Return a result as it is published: text, pictures in base64; None where there is nothing."""
    if not result.parts and not result.is_error:
        return result.structured
    texts = [codec.restore(part.text) for part in result.parts if isinstance(part, Text)]
    images = [
        base64.b64encode(media.read(part)).decode()
        for part in result.parts
        if isinstance(part, Image)
    ]
    text = "\n".join(texts)
    if not result.parts and result.structured is not None:
        text = json.dumps(result.structured, ensure_ascii=False)
    if images:
        held = {"text_parts": texts, "json_parts": [], "images": images}
        text = json.dumps(held, ensure_ascii=False)
    if result.is_error and not text.startswith(ERROR):
        return f"{ERROR} {text}"
    return text


def _question(task: Task) -> str:
    """Return the question without the note of where its picture lies."""
    text = task.turns[0].messages[0].text if task.turns else ""
    for name in _names(task):
        text = text.removesuffix(data.told("", name))
    return codec.restore(text)


def _names(task: Task) -> Sequence[str]:
    reference = task.reference if isinstance(task.reference, Mapping) else {}
    return [str(name) for name in reference.get("images", ())]


def _image_name(task: Task) -> str:
    """Return the path of the task's picture, below the folder of all."""
    missing = task.reference.get("missing") if isinstance(task.reference, Mapping) else None
    names = _names(task) or ([PurePosixPath(missing).name] if missing else [])
    return f"images/{names[0]}" if names else ""
