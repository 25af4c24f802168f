"""What a made set of pictures holds beside its tasks: items as published, pictures, pages.

All of it is read out of the tasks, and the pages out of the world that they were made from: the
same tasks make the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from toolmark import codec, files
from toolmark.errors import DataError
from toolmark.media import Media
from toolmark.runs.jsonl import records
from toolmark.runs.suite import Publisher
from toolmark.suites.mfcl.filenames import Names
from toolmark.suites.mfcl.vision import layout, wording
from toolmark.suites.mfcl.vision.item import BASE, Mark
from toolmark.suites.mfcl.vision.score import truth_of
from toolmark.suites.mfcl.vision.site import Corpora, failed
from toolmark.types import Image, Table, Task
from toolmark.worlds.address import MAX_BYTES, SUFFIXES
from toolmark.worlds.corpus import Source

IMAGES = "images"
FILES = {
    layout.FILE: "the items as published ones are written: base picture, question, accepted "
    "answers, signs with their boxes, and the way to the answer",
    IMAGES: "every picture: images/ITEM/VARIATION.jpg, edges as .png",
    layout.PAGES: "the pages that are searched, as host/path.html",
}
PACKAGES = ("bm25s", "opencv-python-headless", "pillow")
GENERATED = (
    "Pictures, questions and pages are drawn by this project (Apache-2.0): nobody and nothing in "
    "them exists, and no published picture or page went in.",
)
OWN = (
    "Pictures and questions: from the folder that was given, under a licence known to who gave it.",
)
DRAWN = (
    "Pictures are drawn, not photographed; what is easy or hard to see in them is so by design.",
    "Pages are short and few, and search is by words: a web of this size is easier than the real.",
    "English only; items of one template are alike.",
)
_ENDS = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}
_ROLES = ("clue", "lookalike", "foreground", "clutter")


def publisher(pages: Corpora | Path | None) -> Publisher:
    """Return what `make` asks for; `pages` are drawn from a task's seed, or lie in a folder."""
    drawn = callable(pages)
    return Publisher(
        sources=GENERATED if drawn else OWN,
        limits=DRAWN if drawn else (),
        packages=PACKAGES,
        files=FILES,
        said=lambda task: [wording.question(truth_of(task).asked)],
        more=partial(more, pages=pages),
    )


def more(folder: Path, pages: Corpora | Path | None) -> list[Table]:
    """Write the further files of the set in this folder, and return what its card says of them."""
    media, names, tally = Media(folder / "media"), Names(), _Tally()
    seeds: dict[int, None] = {}
    tasks = records(folder / "tasks.jsonl", Task, whole=True)
    with (folder / layout.FILE).open("wb") as lines:
        for _, unit in groupby(tasks, key=lambda task: task.item):
            for task in filter(lambda task: not failed(task), unit):
                seeds[task.seed] = None
                image = _image(media, names, folder, task)
                tally.count(task)
                if task.axes["variation"] == BASE:
                    lines.write(codec.encode(_row(task, image)) + b"\n")
    if isinstance(pages, Path):
        _copied(folder / layout.PAGES, pages)
    elif pages is not None:
        for seed in seeds:
            _written(folder / layout.PAGES, pages(seed).pages)
    return tally.tables()


def _image(media: Media, names: Names, folder: Path, task: Task) -> str:
    """Give a task's picture its name in the set."""
    part = next(p for turn in task.turns for m in turn.messages for p in m.parts
                if isinstance(p, Image))  # fmt: skip
    variation = task.axes["variation"].replace(":", "x")  # a sign that some systems refuse
    name = names.of(IMAGES, task.item, variation, _ENDS.get(part.mime, ""))
    media.link(part, folder / name)
    return name


def _row(task: Task, image: str) -> dict[str, Any]:
    """Return an item as `layout` reads it."""
    truth = truth_of(task)
    row = layout.Row(
        id=task.item,
        image=image,
        question=wording.question(truth.asked),
        answer=truth.answers,
        domain=task.axes["domain"],
        query_type=task.axes["kind"],
        boxes=tuple(m.box for m in truth.marks if m.role == "clue" and m.box is not None),
        trace=truth.hops or None,
        marks=truth.marks,
        **{name: getattr(truth.asked, name) for name in ("context", "request", "hint", "form")},
    )
    held: dict[str, Any] = msgspec.to_builtins(row)
    return held


def _copied(folder: Path, pages: Path) -> None:
    """Copy what a corpus reads of a folder: the same pages, in files of their own."""
    for path in files.below(pages, SUFFIXES):
        place = folder / path.relative_to(pages)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(files.head(path, MAX_BYTES))


def _written(folder: Path, pages: Sequence[Source]) -> None:
    """Write pages where a corpus finds them. Raises DataError for an address that leads out."""
    for page in pages:
        parts = urlsplit(page.href)
        pure = PurePosixPath(unquote(f"{parts.netloc}{parts.path}"))
        if pure.is_absolute() or ".." in pure.parts or not pure.name:
            raise DataError(f"{page.href!r}: no address of a page")
        path = folder / (pure if pure.suffix == ".html" else pure.with_name(f"{pure.name}.html"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.html, encoding="utf-8")


class _Tally:
    """Counts what goes into a set."""

    def __init__(self) -> None:
        self._sizes: dict[str, Counter[tuple[int, int]]] = {}
        self._cells: Counter[tuple[str, str]] = Counter()
        self._signs: dict[str, list[Mark]] = {role: [] for role in _ROLES}
        self._seen: set[str] = set()

    def count(self, task: Task) -> None:
        """Count one task."""
        truth = truth_of(task)
        self._sizes.setdefault(truth.variation, Counter())[truth.size] += 1
        if task.item not in self._seen:
            self._seen.add(task.item)
            self._cells[task.axes["domain"], task.axes["kind"]] += 1
            for mark in truth.marks:
                self._signs[mark.role].append(mark)

    def tables(self) -> list[Table]:
        """Return the tables of the card."""
        return [self._grid(), self._pictures(), self._objects()]

    def _grid(self) -> Table:
        domains = list(dict.fromkeys(domain for domain, _ in self._cells))
        kinds = list(dict.fromkeys(kind for _, kind in self._cells))
        rows: list[tuple[str | int, ...]] = []
        for domain in domains:
            rows.append((domain, *(self._cells[domain, kind] for kind in kinds)))
        return Table(title="Items by domain and query type", head=("", *kinds), rows=tuple(rows))

    def _pictures(self) -> Table:
        rows = tuple(self._size(name, sizes) for name, sizes in self._sizes.items())
        head = ("variation", "pictures", "sizes", "commonest", "share")
        return Table(title="Pictures", head=head, rows=rows)

    def _size(
        self, name: str, sizes: Mapping[tuple[int, int], int]
    ) -> tuple[str | float | int, ...]:
        (width, height), n = Counter(sizes).most_common(1)[0]
        total = sum(sizes.values())
        return name, total, len(sizes), f"{width} x {height}", n / total

    def _objects(self) -> Table:
        rows = tuple(_signs(role, marks) for role, marks in self._signs.items() if marks)
        head = ("role", "signs", "lettered", "drawn", "height")
        note = "Height: of the box, in pixels, smallest to largest."
        return Table(title="Signs", head=head, rows=rows, note=note)


def _signs(role: str, marks: Sequence[Mark]) -> tuple[str | int, ...]:
    heights = sorted(mark.box[3] - mark.box[1] for mark in marks if mark.box is not None)
    told = f"{heights[0]:.0f} to {heights[-1]:.0f}" if heights else "-"
    lettered = sum(bool(mark.text) for mark in marks)
    return role, len(marks), lettered, sum(bool(mark.symbol) for mark in marks), told
