"""Tasks from items: before the pictures are made, and finished with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore
from toolmark.core.number_format import format_count
from toolmark.core.records import Image, Limits, Record, Task, Tool
from toolmark.generation.item_maker import ItemMaker
from toolmark.perturb.image import box_geometry, picture_file
from toolmark.suites.mfcl_vision import item_generator, picture_variants, prompts
from toolmark.suites.mfcl_vision.generation_parameters import QUESTION_PARTS, GenerationParameters
from toolmark.suites.mfcl_vision.item_folder import FolderItem
from toolmark.suites.mfcl_vision.item_records import (
    BASE_VARIATION,
    ItemTruth,
    QuestionParts,
    SignMark,
)
from toolmark.suites.mfcl_vision.web_environment import FAILURE_SETTING

SUITE_NAME = "mfcl-vision"
LIMITS = Limits(steps=20)
NOTE_SETTING = "note"
"""Key in a picture's settings: a note about the picture."""
# Characters of a file name in messages.
_MAX_NAME_CHARS = 200


class ItemHeader(NamedTuple):
    """What is known of an item before it is made."""

    id: str
    domain: str
    kind: str


class RenderedPicture(NamedTuple):
    """An item's picture as shown, with its data."""

    data: bytes
    mime: str
    truth: ItemTruth


class MadeItem(NamedTuple):
    """An item: its picture by variation, and the factors that are known only once it is made.

    `show` raises DataError for a variation that cannot be made.
    """

    show: Callable[[str], RenderedPicture]
    axes: Mapping[str, str]


class ItemSource(Protocol):
    """A source of items. It must be picklable, because worker processes use it."""

    def item_headers(self) -> Sequence[ItemHeader]:
        """Return the items in order."""
        ...

    def make_item(self, id: str) -> MadeItem:
        """Make one item. Raises DataError if its picture cannot be read or made."""
        ...


class GeneratedItems(Record, frozen=True, kw_only=True):
    """Items of a fictional world, drawn from a seed."""

    seed: int
    n: int
    parameters: GenerationParameters

    def item_headers(self) -> Sequence[ItemHeader]:
        """Return the items, evenly over domains and query types."""
        numbers = item_generator.item_numbers(self.n, self.parameters)
        return [
            ItemHeader(item_generator.item_id(k), *item_generator.item_cell(k)) for k in numbers
        ]

    def make_item(self, id: str) -> MadeItem:
        """Make an item. Raises DataError if the parameters allow none."""
        item = item_generator.generate_item(
            self.seed, item_generator.item_number(id), self.parameters
        )

        def show(variation: str) -> RenderedPicture:
            variant = item_generator.render_item(item, variation)
            truth = item_generator.item_truth(item, variation, variant)
            return RenderedPicture(variant.data, variant.mime, _with_note(truth, variant.note))

        factors = {"clue": _clue_kind(item.marks), "hops": str(len(item.plan.hops))}
        return MadeItem(
            show, {"template": item.plan.template, **factors, **_part_factors(item.plan.question)}
        )


class FolderItems(Record, frozen=True, kw_only=True):
    """The items of a folder; `parts` states for a part of the question whether it is present."""

    entries: tuple[FolderItem, ...]
    seed: int
    parts: dict[str, tuple[bool, ...]] = {}

    def item_headers(self) -> Sequence[ItemHeader]:
        """Return the items in the order of the file."""
        return [ItemHeader(entry.id, entry.domain, entry.kind) for entry in self.entries]

    def make_item(self, id: str) -> MadeItem:
        """Read the picture of an item. Raises DataError with the file's name and the reason."""
        entry = next(entry for entry in self.entries if entry.id == id)
        data = picture_file.read_picture_bytes(entry.image, entry.image.name[:_MAX_NAME_CHARS])
        image = picture_file.decode_picture(data, entry.image.name)
        full = picture_file.picture_size(data, entry.image.name)
        x, y = image.width / full[0], image.height / full[1]
        marks = tuple(_clip_mark(mark, image.size, (x, y), entry.image.name)
                      for mark in entry.truth.marks)  # fmt: skip
        original_mime = picture_variants.passthrough_mime_type(data)
        question = prompts.select_question_parts(entry.truth.question, self.parts, self.seed, id)

        def show(variation: str) -> RenderedPicture:
            variant = picture_variants.render_variant(
                image, marks, variation, self.seed, id, picture_variants.required_roles(entry.kind)
            )
            if original_mime and variation == BASE_VARIATION:
                variant = variant._replace(data=data, mime=original_mime)
            truth = replace(
                entry.truth, question=question, marks=variant.marks, variation=variation,
                settings=variant.settings, size=variant.size,
            )  # fmt: skip
            return RenderedPicture(variant.data, variant.mime, _with_note(truth, variant.note))

        hops = str(len(entry.truth.hops) or "")
        return MadeItem(show, {"clue": _clue_kind(marks), "hops": hops, **_part_factors(question)})


def _part_factors(question: QuestionParts) -> dict[str, str]:
    """Return the parts that a question has, as factors."""
    return {part: "yes" if getattr(question, part) else "no" for part in QUESTION_PARTS}


def _clip_mark(
    mark: SignMark, size: tuple[int, int], scale: tuple[float, float], name: str
) -> SignMark:
    """Return a sign with its box clipped to the picture.

    Raises DataError if the box lies outside the picture.
    """
    if mark.box is None:
        return mark
    left, top, right, bottom = box_geometry.clip_box(
        box_geometry.scale_boxes([mark.box], *scale)[0], size
    )
    if left < right and top < bottom:
        return replace(mark, box=(left, top, right, bottom))
    coordinates = ", ".join(f"{edge:g}" for edge in mark.box)
    raise DataError(f"{name}: the box [{coordinates}] of a {mark.role} lies outside the picture")


def _clue_kind(marks: Iterable[SignMark]) -> str:
    """Return the kind of the clue, text or symbol; "" if it is unknown."""
    clues = [mark for mark in marks if mark.role == "clue"]
    symbol_kind = "symbol" if any(mark.symbol for mark in clues) else ""
    return "text" if any(mark.text for mark in clues) else symbol_kind


def _with_note(truth: ItemTruth, note: str) -> ItemTruth:
    return replace(truth, settings={**truth.settings, NOTE_SETTING: note}) if note else truth


def build_pending_task(header: ItemHeader, variation: str, *, tools: tuple[Tool, ...]) -> Task:
    """Return the task of an item in a variation before its picture is made."""
    return Task(
        id=f"{header.id}@{variation}",
        item=header.id,
        suite=SUITE_NAME,
        category=header.domain,
        turns=(prompts.make_first_turn(_blank_truth(variation).question, None),),
        tools=tools,
        data=msgspec.to_builtins(_blank_truth(variation)),
        axes={"variation": variation, "domain": header.domain, "kind": header.kind},
        limits=LIMITS,
    )


@dataclass(frozen=True)
class VisionTaskMaker(ItemMaker[MadeItem]):
    """Adds pictures and questions to tasks; pictures are stored in `media`."""

    source: ItemSource
    media: MediaStore
    seed: int

    def open_item(self, tasks: Sequence[Task]) -> MadeItem:
        """Make the item. Raises DataError if its picture cannot be read or made."""
        return self.source.make_item(tasks[0].item)

    def finish_task(self, task: Task, item: MadeItem) -> Task:
        """Return the task with its picture, or with the reason if this variation has failed."""
        try:
            rendered = item.show(task.axes["variation"])
        except DataError as error:
            return self.mark_failed(task, str(error))
        part = self.media.add_image(rendered.data, rendered.mime)
        return self._update_task(task, rendered.truth, part, item.axes)

    def mark_failed(self, task: Task, reason: str) -> Task:
        """Return the task without a picture, and the reason in the settings of its reference."""
        blank = replace(_blank_truth(task.axes["variation"]), settings={FAILURE_SETTING: reason})
        return self._update_task(task, blank, None, {})

    def _update_task(
        self, task: Task, truth: ItemTruth, part: Image | None, axes: Mapping[str, str]
    ) -> Task:
        return replace(
            task,
            turns=(prompts.make_first_turn(truth.question, part),),
            data=msgspec.to_builtins(truth),
            axes={**task.axes, **axes},
            seed=self.seed,
        )


def _blank_truth(variation: str) -> ItemTruth:
    """Return the data of an item that is not made."""
    return ItemTruth(answers=(), question=QuestionParts(request=""), variation=variation)


def describe_effort(tasks: Iterable[Task]) -> str:
    """Return a text with the number of pictures that these tasks need; "" for none."""
    n = sum(1 for _ in tasks)
    return f"{format_count(n)} {'picture' if n == 1 else 'pictures'} to be made" if n else ""
