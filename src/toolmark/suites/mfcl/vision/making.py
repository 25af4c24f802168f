"""From items to tasks: every picture made once, on all cores, in order.

`Maker.item` maps the tasks of one item to the same tasks as they are asked, and hangs on nothing
else: whoever shards tasks elsewhere calls it there unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from toolmark import workers
from toolmark.errors import DataError
from toolmark.media import Media
from toolmark.perturb.image import box, picture
from toolmark.suites.mfcl.vision import generate, pictures, wording
from toolmark.suites.mfcl.vision.item import BASE, Asked, Mark, Truth
from toolmark.suites.mfcl.vision.knobs import PARTS, Knobs
from toolmark.suites.mfcl.vision.layout import Entry
from toolmark.suites.mfcl.vision.site import FAILED
from toolmark.types import Image, Limits, Record, Task, Tool

NAME = "mfcl-vision"
LIMITS = Limits(steps=20)
NOTE = "note"
"""Among the settings of a picture: what to know of it."""
_SHOWN = 200  # characters of a name


class Name(NamedTuple):
    """What is known of an item before it is made."""

    id: str
    domain: str
    kind: str


class Picture(NamedTuple):
    """An item's picture as it is shown, and what a grader knows of it."""

    data: bytes
    mime: str
    truth: Truth


class Made(NamedTuple):
    """An item: its picture by variation, and the factors that only making it tells.

    `show` raises DataError for a picture that cannot be shown so.
    """

    show: Callable[[str], Picture]
    axes: Mapping[str, str]


class Source(Protocol):
    """Where items come from. It travels to other processes."""

    def names(self) -> Sequence[Name]:
        """Return the items in their order."""
        ...

    def make(self, id: str) -> Made:
        """Make one. Raises DataError for an item whose picture cannot be had."""
        ...


class Generated(Record, frozen=True, kw_only=True):
    """Items of a fictional world, drawn from a seed."""

    seed: int
    n: int
    knobs: Knobs

    def names(self) -> Sequence[Name]:
        """Return the items, evenly over domains and query types."""
        numbers = generate.numbers(self.n, self.knobs)
        return [Name(generate.named(k), *generate.cell(k)) for k in numbers]

    def make(self, id: str) -> Made:
        """Draw an item. Raises DataError where none can be drawn as the knobs want it."""
        item = generate.item(self.seed, generate.numbered(id), self.knobs)

        def show(variation: str) -> Picture:
            shown = generate.vary(item, variation)
            truth = generate.truth(item, variation, shown)
            return Picture(shown.data, shown.mime, _noted(truth, shown.note))

        told = {"clue": _clue(item.marks), "hops": str(len(item.plan.hops))}
        return Made(show, {"template": item.plan.template, **told, **_parts(item.plan.asked)})


class Published(Record, frozen=True, kw_only=True):
    """The items of a folder; `parts` say of those named whether a question keeps them."""

    entries: tuple[Entry, ...]
    seed: int
    parts: dict[str, tuple[bool, ...]] = {}

    def names(self) -> Sequence[Name]:
        """Return the items in the order of the file."""
        return [Name(entry.id, entry.domain, entry.kind) for entry in self.entries]

    def make(self, id: str) -> Made:
        """Read the picture of an item. Raises DataError with the file's name and why."""
        entry = next(entry for entry in self.entries if entry.id == id)
        data = picture.load(entry.image, entry.image.name[:_SHOWN])
        image = picture.read(data, entry.image.name)
        full = picture.size(data, entry.image.name)
        x, y = image.width / full[0], image.height / full[1]
        marks = tuple(_placed(mark, image.size, (x, y), entry.image.name)
                      for mark in entry.truth.marks)  # fmt: skip
        kept = pictures.kept(data)
        asked = wording.parted(entry.truth.asked, self.parts, self.seed, id)

        def show(variation: str) -> Picture:
            shown = pictures.show(
                image, marks, variation, self.seed, id, pictures.needed(entry.kind)
            )
            if kept and variation == BASE:
                shown = shown._replace(data=data, mime=kept)
            truth = replace(
                entry.truth, asked=asked, marks=shown.marks, variation=variation,
                settings=shown.settings, size=shown.size,
            )  # fmt: skip
            return Picture(shown.data, shown.mime, _noted(truth, shown.note))

        hops = str(len(entry.truth.hops) or "")
        return Made(show, {"clue": _clue(marks), "hops": hops, **_parts(asked)})


def _parts(asked: Asked) -> dict[str, str]:
    """Return which parts a question has, as factors."""
    return {part: "yes" if getattr(asked, part) else "no" for part in PARTS}


def _placed(mark: Mark, size: tuple[int, int], scale: tuple[float, float], name: str) -> Mark:
    """Return a sign with what of its box lies in the picture. Raises DataError for nothing."""
    if mark.box is None:
        return mark
    left, top, right, bottom = box.clipped(box.scaled([mark.box], *scale)[0], size)
    if left < right and top < bottom:
        return replace(mark, box=(left, top, right, bottom))
    told = ", ".join(f"{edge:g}" for edge in mark.box)
    raise DataError(f"{name}: the box [{told}] of a {mark.role} lies outside the picture")


def _clue(marks: Iterable[Mark]) -> str:
    """Return what tells the way, "" where that is not known."""
    clues = [mark for mark in marks if mark.role == "clue"]
    drawn = "symbol" if any(mark.symbol for mark in clues) else ""
    return "text" if any(mark.text for mark in clues) else drawn


def _noted(truth: Truth, note: str) -> Truth:
    return replace(truth, settings={**truth.settings, NOTE: note}) if note else truth


@dataclass(frozen=True, slots=True)
class Items:
    """The tasks before they are made: each item in all variations, then the next item."""

    names: Sequence[Name]
    variations: tuple[str, ...]
    tools: tuple[Tool, ...]

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.names) * len(self.variations)

    def __iter__(self) -> Iterator[Task]:
        """Go through them."""
        for name in self.names:
            for variation in self.variations:
                yield self._task(name, variation)

    def _task(self, name: Name, variation: str) -> Task:
        return Task(
            id=f"{name.id}@{variation}",
            item=name.id,
            suite=NAME,
            category=name.domain,
            turns=(wording.turn(_blank(variation).asked, None),),
            tools=self.tools,
            reference=msgspec.to_builtins(_blank(variation)),
            axes={"variation": variation, "domain": name.domain, "kind": name.kind},
            limits=LIMITS,
        )


class Maker(Record, frozen=True, kw_only=True):
    """Makes tasks ready to be asked. `home` is the folder in which pictures are kept."""

    source: Source
    home: str
    seed: int

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Finish tasks in their order, the items on all cores."""
        return workers.by_item(self.item, tasks)

    def item(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks of one item as they are asked; of a bad picture why there is none."""
        try:
            made = self.source.make(tasks[0].item)
        except DataError as error:
            return [self._failed(task, str(error)) for task in tasks]
        return [self._finished(task, made) for task in tasks]

    def _finished(self, task: Task, made: Made) -> Task:
        try:
            shown = made.show(task.axes["variation"])
        except DataError as error:
            return self._failed(task, str(error))
        part = Media(Path(self.home)).image(shown.data, shown.mime)
        return self._with(task, shown.truth, part, made.axes)

    def _failed(self, task: Task, why: str) -> Task:
        blank = replace(_blank(task.axes["variation"]), settings={FAILED: why})
        return self._with(task, blank, None, {})

    def _with(self, task: Task, truth: Truth, part: Image | None, axes: Mapping[str, str]) -> Task:
        return replace(
            task,
            turns=(wording.turn(truth.asked, part),),
            reference=msgspec.to_builtins(truth),
            axes={**task.axes, **axes},
            seed=self.seed,
        )


def _blank(variation: str) -> Truth:
    """Return what is known of an item that is not made."""
    return Truth(answers=(), asked=Asked(request=""), variation=variation)


def effort(tasks: Iterable[Task]) -> str:
    """Say how many pictures these tasks need."""
    n = sum(1 for _ in tasks)
    return f"{n:,} {'picture' if n == 1 else 'pictures'} to be made" if n else ""
