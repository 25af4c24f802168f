"""Tasks from rows: before their pictures are made, and finished with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from toolmark.core.media import MediaStore
from toolmark.core.number_format import format_count
from toolmark.core.records import Image, Limits, Task, Tool
from toolmark.core.task_data import read_task_data
from toolmark.generation.item_maker import ItemMaker, group_by_item
from toolmark.suites.multinet import answer_tools, multinet_families, task_prompt_wording
from toolmark.suites.multinet.frame_records import (
    Choice,
    Distribution,
    Form,
    Frame,
    FreeText,
    FunctionCalls,
    Rows,
    Truth,
)

ALL_FORMS: tuple[Form, ...] = ("text", "tool")
_CATEGORY_SLICE = {
    "sqa3d": "type", "odinw": "subset", "overcooked": "layout", "openx": "morphology",
}  # fmt: skip
_COPIED_FIELDS = tuple(n for n in Truth.__struct_fields__ if n in Frame.__struct_fields__)
# options mean the same in every row of a category
_FAMILIES_WITH_SHARED_OPTIONS = ("odinw", "overcooked")

FunctionProvider = Callable[[Frame], tuple[Tool, ...]]


def no_functions(frame: Frame) -> tuple[Tool, ...]:
    """Return no functions: most rows do not ask for calls."""
    return ()


@dataclass(frozen=True)
class TaskBuilder:
    """Builds the tasks of rows, without pictures.

    `clustered`: rows of one group depend on each other. `with_pictures`: pictures will be sent.
    `functions` provides the functions that a row can ask for. `similarity` is the encoder that will
    measure how similar free texts are.
    """

    clustered: bool
    seed: int
    with_pictures: bool
    functions: FunctionProvider = no_functions
    similarity: str = ""

    def build_task(self, frame: Frame, form: Form) -> Task:
        """Return a row as a task in one form, without its pictures."""
        functions = self.functions(frame)
        return Task(
            id=f"{frame.id}@{form}",
            item=frame.id,
            suite=multinet_families.suite_name(frame.family),
            category=frame.slices.get(_CATEGORY_SLICE.get(frame.family, ""), frame.family),
            turns=task_prompt_wording.build_turns(frame, form, with_pictures=self.with_pictures),
            tools=answer_tools.answer_tools(frame, functions) if form == "tool" else (),
            data=msgspec.to_builtins(self._build_truth(frame, form, functions)),
            axes=self._build_axes(frame, form),
            limits=Limits(single_reply=True),
            seed=self.seed,
        )

    def _build_axes(self, frame: Frame, form: Form) -> dict[str, str]:
        axes = {"form": form, "family": frame.family, "source": frame.source, **frame.slices}
        if self.clustered:
            axes["group"] = frame.group
        if "history" in frame.fields:
            axes["history"] = "given"
        if frame.family in _FAMILIES_WITH_SHARED_OPTIONS and isinstance(
            frame.space, Choice | Distribution
        ):
            options, correct = frame.space.options, int(frame.truth)  # type: ignore[arg-type]
            axes["class"] = f"{correct:0{len(str(len(options) - 1))}} {options[correct]}"
        return axes

    def _build_truth(self, frame: Frame, form: Form, functions: Sequence[Tool]) -> Truth:
        """Return the Truth of a row."""
        copied = {name: getattr(frame, name) for name in _COPIED_FIELDS}
        return Truth(
            **copied,
            form=form,
            parameters={tool.name: tuple(tool.parameters["properties"]) for tool in functions},
            similarity=self.similarity if isinstance(frame.space, FreeText | FunctionCalls) else "",
        )


@dataclass(frozen=True)
class PictureMaker(ItemMaker[list[Image]]):
    """Adds pictures to tasks; they are stored in `media`.

    `root` is the folder of the data: file names in messages are relative to it.
    """

    rows: Rows
    media: MediaStore
    root: str = ""

    def open_item(self, tasks: Sequence[Task]) -> list[Image]:
        """Store the pictures of a row. Raises DataError if one is not available."""
        found = self.rows.pictures(tasks[0].item)
        return [self.media.add_image(each.data, each.mime) for each in found]

    def finish_task(self, task: Task, item: list[Image]) -> Task:
        """Return the task with the pictures of its row."""
        return replace(task, turns=task_prompt_wording.insert_pictures(task.turns, item))

    def mark_failed(self, task: Task, reason: str) -> Task:
        """Return the task with the reason in its data."""
        truth = read_task_data(task, Truth)
        failed = replace(truth, failed=_relative_to_root(reason, self.root))
        return replace(task, data=msgspec.to_builtins(failed))


def _relative_to_root(text: str, root: str) -> str:
    """Return a text with paths relative to a folder, because exported sets are shared."""
    if not os.path.isabs(root):
        return text
    root_path = Path(root)
    return text.replace(f"{root_path}{os.sep}", "").replace(str(root_path), root_path.name)


def picture_failure(task: Task) -> str:
    """Return why a task's pictures are not available, "" if they are."""
    return read_task_data(task, Truth).failed


def describe_picture_work(tasks: Iterable[Task]) -> str:
    """Return a text that says for how many rows pictures must be made."""
    n = sum(1 for _ in group_by_item(tasks))
    return f"pictures for {format_count(n)} {'row' if n == 1 else 'rows'}" if n else ""
