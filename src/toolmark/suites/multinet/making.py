"""From rows to tasks: which are asked, in which forms, and their pictures, made for those alone.

`Maker.item` maps the tasks of one row to the same tasks as they are asked, and hangs on nothing
else: whoever shards tasks elsewhere calls it there unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from toolmark import workers
from toolmark.errors import DataError
from toolmark.media import Media
from toolmark.suites.multinet import families, tools, wording
from toolmark.suites.multinet.frame import (
    Calls,
    Choice,
    Form,
    Frame,
    Odds,
    Rows,
    Truth,
    Words,
    truth_of,
)
from toolmark.types import Limits, Record, Task, Tool

FORMS: tuple[Form, ...] = ("text", "tool")
_CATEGORY = {
    "sqa3d": "type", "odinw": "subset", "overcooked": "layout", "openx": "morphology",
}  # fmt: skip
_KNOWN = tuple(n for n in Truth.__struct_fields__ if n in Frame.__struct_fields__)
_SHARED = ("odinw", "overcooked")  # options mean the same in every row of a category

Functions = Callable[[Frame], tuple[Tool, ...]]


def none(frame: Frame) -> tuple[Tool, ...]:
    """Return no functions: most rows are not asked for calls."""
    return ()


@dataclass(frozen=True)
class Items:
    """The tasks of some rows: a row in all its forms, then the next; pictures are still to come.

    `seen`: pictures will be sent. `functions` are those that a row can be asked to call.
    `similarity` is the encoder that will say how alike free texts are.
    """

    rows: Rows
    seed: int
    forms: tuple[Form, ...]
    seen: bool
    functions: Functions = none
    similarity: str = ""

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.rows) * len(self.forms)

    def __iter__(self) -> Iterator[Task]:
        """Go through them."""
        for frame in self.rows:
            yield from (self.task(frame, form) for form in self.forms)

    def task(self, frame: Frame, form: Form) -> Task:
        """Return a row as it is asked in a form, but for its pictures."""
        functions = self.functions(frame)
        return Task(
            id=f"{frame.id}@{form}",
            item=frame.id,
            suite=families.suite(frame.family),
            category=frame.slices.get(_CATEGORY.get(frame.family, ""), frame.family),
            turns=wording.turns(frame, form, seen=self.seen),
            tools=tools.offered(frame, functions) if form == "tool" else (),
            reference=msgspec.to_builtins(self._truth(frame, form, functions)),
            axes=self._axes(frame, form),
            limits=Limits(single=True),
            seed=self.seed,
        )

    def _axes(self, frame: Frame, form: Form) -> dict[str, str]:
        found = {"form": form, "family": frame.family, "source": frame.source, **frame.slices}
        if self.rows.clustered:
            found["group"] = frame.group
        if "history" in frame.fields:
            found["history"] = "told"
        if frame.family in _SHARED and isinstance(frame.space, Choice | Odds):
            options, right = frame.space.options, int(frame.truth)  # type: ignore[arg-type]
            found["class"] = f"{right:0{len(str(len(options) - 1))}} {options[right]}"
        return found

    def _truth(self, frame: Frame, form: Form, functions: Sequence[Tool]) -> Truth:
        """Return what a grader knows of a row."""
        known = {name: getattr(frame, name) for name in _KNOWN}
        return Truth(
            **known,
            form=form,
            parameters={tool.name: tuple(tool.parameters["properties"]) for tool in functions},
            similarity=self.similarity if isinstance(frame.space, Words | Calls) else "",
        )


class Maker(Record, frozen=True, kw_only=True):
    """Puts pictures into tasks. `home` is the folder in which they are kept.

    `root` is the folder that the data are in: what is told of a row's files begins below it.
    """

    rows: Any  # Rows, a protocol; travels with the maker to other processes
    home: str
    root: str = ""

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Finish tasks in their order, the rows on all cores."""
        return workers.by_item(self.item, tasks)

    def item(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks of one row as they are asked; without its pictures, why it has none."""
        try:
            found = self.rows.pictures(tasks[0].item)
            media = Media(Path(self.home))
            shown = [media.image(each.data, each.mime) for each in found]
        except DataError as error:
            told = {"failed": _below(str(error), self.root)}  # a field of Truth
            return [replace(task, reference={**task.reference, **told}) for task in tasks]
        return [replace(task, turns=wording.pictured(task.turns, shown)) for task in tasks]

    def draft(self, task: Task) -> Task:
        """Return one task as it is asked."""
        return self.item((task,))[0]


def _below(text: str, root: str) -> str:
    """Return a text whose places are told from a folder on: a made set is given to others."""
    if not os.path.isabs(root):
        return text
    home = Path(root)
    return text.replace(f"{home}{os.sep}", "").replace(str(home), home.name)


def failed(task: Task) -> str:
    """Return why a task's pictures cannot be had, "" if they can."""
    return truth_of(task).failed


def effort(tasks: Iterable[Task]) -> str:
    """Say how many rows need their pictures."""
    n = sum(1 for _ in groupby(tasks, key=lambda task: task.item))
    return f"pictures for {n:,} {'row' if n == 1 else 'rows'}" if n else ""
