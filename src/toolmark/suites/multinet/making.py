"""From rows to tasks: which are asked, in which forms, and their pictures, made for those alone.

`Maker.item` maps the tasks of one row to the same tasks as they are asked, and hangs on nothing
else: whoever shards tasks elsewhere calls it there unchanged.
"""

from __future__ import annotations

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
from toolmark.suites.multinet import play, tools, wording
from toolmark.suites.multinet.frame import (
    Calls,
    Choice,
    Family,
    Form,
    Frame,
    Odds,
    Rows,
    Truth,
    Words,
)
from toolmark.types import Limits, Record, Task, Tool

FORMS: tuple[Form, ...] = ("text", "tool")
PARAMETERS = "parameters"
"""In the reference of Calls: the names of each function's parameters, in their order."""
SIMILARITY = "similarity"
"""In the reference of texts and Calls: the encoder that says how alike they are."""
_CATEGORY = {
    "sqa3d": "type", "odinw": "subset", "overcooked": "layout", "openx": "morphology",
}  # fmt: skip
_SHARED = ("odinw", "overcooked")  # options mean the same in every row of a category
_FEW = 8  # rows that are not worth starting processes for

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
            suite=named(frame.family),
            category=frame.slices.get(_CATEGORY.get(frame.family, ""), frame.family),
            turns=wording.turns(frame, form, seen=self.seen),
            tools=tools.offered(frame, functions) if form == "tool" else (),
            reference=self._reference(frame, form, functions),
            axes=self._axes(frame, form),
            limits=Limits(steps=1),
            seed=self.seed,
        )

    def _axes(self, frame: Frame, form: Form) -> dict[str, str]:
        found = {"form": form, "family": frame.family, "source": frame.source, **frame.slices}
        if self.rows.clustered:
            found["group"] = frame.group
        if frame.family in _SHARED and isinstance(frame.space, Choice | Odds):
            found["class"] = frame.space.options[int(frame.truth)]  # type: ignore[arg-type]
        return found

    def _reference(self, frame: Frame, form: Form, functions: Sequence[Tool]) -> dict[str, Any]:
        """Return what a grader knows of a row."""
        known = {name: getattr(frame, name) for name in Truth.__struct_fields__ if name != "form"}
        held: dict[str, Any] = msgspec.to_builtins(Truth(**known, form=form))
        if functions:
            held[PARAMETERS] = {tool.name: [*tool.parameters["properties"]] for tool in functions}
        if isinstance(frame.space, Words | Calls):
            held[SIMILARITY] = self.similarity
        return held


def named(family: Family) -> str:
    """Return the name of a family's suite."""
    return f"multinet-{family}"


class Maker(Record, frozen=True, kw_only=True):
    """Puts pictures into tasks. `home` is the folder in which they are kept."""

    rows: Any  # Rows, a protocol; travels with the maker to other processes
    home: str

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Finish tasks in their order, the rows on all cores."""
        units = (tuple(unit) for _, unit in groupby(tasks, key=lambda task: task.item))
        for made in workers.each(self.item, units, workers.cores(), few=_FEW):
            yield from made

    def item(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks of one row as they are asked; without its pictures, why it has none."""
        try:
            found = self.rows.pictures(tasks[0].item)
            media = Media(Path(self.home))
            shown = [media.image(each.data, each.mime) for each in found]
        except DataError as error:
            return [_failed(task, str(error)) for task in tasks]
        return [replace(task, turns=wording.pictured(task.turns, shown)) for task in tasks]


def _failed(task: Task, why: str) -> Task:
    return replace(task, reference={**task.reference, play.FAILED: why})


def effort(tasks: Iterable[Task]) -> str:
    """Say how many rows need their pictures."""
    n = sum(1 for _ in groupby(tasks, key=lambda task: task.item))
    return f"pictures for {n:,} {'row' if n == 1 else 'rows'}" if n else ""
