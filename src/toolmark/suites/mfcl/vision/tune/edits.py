"""Edits of an item: each keeps question and answer true, and says what it did.

| edit | what it does |
|---|---|
| own | what the author wrote for the item, in `edits.jsonl` beside the items |
| unhint | takes the hint away |
| context | puts sentences before the question that have nothing to do with it |
| crop | cuts the picture to another shape; clue and look-alikes stay |
| hops | draws another item of the same domain and query type, one page further (generated ones) |
| hint | says where to look and how far to go; only for what a person found unclear |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from toolmark import seeds
from toolmark.media import Media
from toolmark.perturb.image import picture
from toolmark.suites.mfcl.vision import laws, pictures, wording
from toolmark.suites.mfcl.vision.item import Mark, Truth
from toolmark.suites.mfcl.vision.score import truth_of
from toolmark.suites.mfcl.vision.tune.asides import ASIDES
from toolmark.suites.mfcl.vision.tune.own import Own
from toolmark.types import Image, Task

OWN, HINT, UNHINT, HOPS = "own", "hint", "unhint", "hops"
HARDER = (UNHINT, "context", "crop", HOPS)
"""In the order in which they are tried."""
_N_ASIDES = 2
_SHAPES = ("crop-4:3", "crop-16:9")
_ROWS, _COLUMNS = ("upper", "middle", "lower"), ("left", "middle", "right")


class Edited(NamedTuple):
    """A task after an edit, and what was done."""

    task: Task
    told: str


def apply(name: str, task: Task, rng: Random, media: Media) -> Edited:
    """Make one edit other than own and hops. Raises ValueError where the item allows it not."""
    return _MADE[name](task, rng, media)


def written(task: Task, own: Own) -> Edited:
    """Put in what an author wrote. Raises ValueError where the question tells the answer then."""
    truth = truth_of(task)
    parts = {name: text for name, text in own.parts.items() if text is not None}
    asked = replace(truth.asked, **parts)
    truth = replace(truth, asked=asked)
    if own.answers:  # the old way, and where look-alikes lead, belong to the old question
        marks = tuple(replace(mark, answer="", hrefs=()) for mark in truth.marks)
        truth = replace(truth, answers=own.answers, hops=own.trace, marks=marks)
    told = own.note or f"own {', '.join([*parts, *(['answer'] if own.answers else [])])}"
    return Edited(_asked(task, truth), told)


def _unhint(task: Task, rng: Random, media: Media) -> Edited:
    truth = truth_of(task)
    if not truth.asked.hint:
        raise ValueError("it has no hint")
    asked = replace(truth.asked, hint="")
    return Edited(_asked(task, replace(truth, asked=asked)), f"took away {truth.asked.hint!r}")


def _context(task: Task, rng: Random, media: Media) -> Edited:
    truth = truth_of(task)
    free = [aside for aside in ASIDES if aside not in truth.asked.context]
    if len(free) < _N_ASIDES:
        raise ValueError("every sentence stands there already")
    added = " ".join(free[i] for i in seeds.sample(rng, len(free), _N_ASIDES))
    context = f"{truth.asked.context} {added}".strip()
    asked = replace(truth.asked, context=context)
    return Edited(_asked(task, replace(truth, asked=asked)), f"added {added!r}")


def _crop(task: Task, rng: Random, media: Media) -> Edited:
    """Cut to the first of the shapes, in a drawn order, that leaves something away."""
    truth = truth_of(task)
    if not any(mark.role == "clue" and mark.box for mark in truth.marks):
        raise ValueError("it is not known where the clue is")
    old = shown(task)
    image = picture.read(media.read(old), task.item)
    shapes = list(_SHAPES)
    seeds.shuffle(rng, shapes)
    why = ""
    for shape in shapes:
        cut = pictures.show(image, truth.marks, shape, task.seed, task.item, pictures.CHOICE)
        if not cut.note:
            made = replace(truth, marks=cut.marks, size=cut.size)
            part = media.image(cut.data, cut.mime)
            return Edited(_asked(task, made, part), f"{shape}: {_sized(image.size, cut.size)}")
        why = cut.note
    raise ValueError(why)


def _sized(old: tuple[int, int], new: tuple[int, int]) -> str:
    return f"{old[0]} x {old[1]} to {new[0]} x {new[1]} pixels"


def _hint(task: Task, rng: Random, media: Media) -> Edited:
    truth = truth_of(task)
    if truth.asked.hint:
        raise ValueError("it has a hint already")
    clue = next((mark for mark in truth.marks if mark.role == "clue"), None)
    n = len(truth.hops)
    further = f" {n} pages have to be found one after the other." if n > 1 else ""
    said = f"{_look(clue, truth)}{further}"
    asked = replace(truth.asked, hint=said)
    return Edited(_asked(task, replace(truth, asked=asked)), f"added {said!r}")


def _look(clue: Mark | None, truth: Truth) -> str:
    """Say where to look, and at what, without a word of what stands there."""
    if clue is None:
        return "Say in words what the picture shows and search for that."
    what = "emblem" if clue.symbol and not clue.text else "lettering" if clue.text else "clue"
    placed = any(laws.holds(wording.question(truth.asked), word) for word in _COLUMNS)
    if clue.box is None or not all(truth.size) or placed:
        return f"The {what} in the picture tells what to search for."
    x = (clue.box[0] + clue.box[2]) / 2 / truth.size[0]
    y = (clue.box[1] + clue.box[3]) / 2 / truth.size[1]
    row, column = _ROWS[min(2, int(3 * y))], _COLUMNS[min(2, int(3 * x))]
    place = "centre" if row == column else f"{row} {column}"
    return f"The {what} in the {place} of the picture tells what to search for."


_MADE: Mapping[str, Callable[[Task, Random, Media], Edited]] = {
    UNHINT: _unhint, "context": _context, "crop": _crop, HINT: _hint,
}  # fmt: skip


def shown(task: Task) -> Image:
    """Return the picture of a task, which must have one."""
    return next(
        part
        for turn in task.turns
        for message in turn.messages
        for part in message.parts
        if isinstance(part, Image)
    )


def _asked(task: Task, truth: Truth, part: Image | None = None) -> Task:
    """Return the task as it is asked now. Raises ValueError where the question tells the answer."""
    question = wording.question(truth.asked)
    if told := next((answer for answer in truth.answers if laws.holds(question, answer)), ""):
        raise ValueError(f"the question would tell the answer {told!r}")
    turn = wording.turn(truth.asked, part or shown(task))
    return replace(task, turns=(turn,), reference=msgspec.to_builtins(truth))
