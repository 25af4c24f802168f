"""Export of a made vision set: items in the published layout, pictures and pages.

Everything is read from the tasks; pages come from the world from which the tasks were made. The
same tasks give the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from toolmark.core import files, json_codec, number_format
from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore, task_pictures
from toolmark.core.records import Table, Task
from toolmark.core.task_data import read_task_data
from toolmark.environments.page_address import MAX_PAGE_BYTES, PAGE_SUFFIXES
from toolmark.environments.page_corpus import PageSource
from toolmark.generation.portable_file_names import FileNames
from toolmark.runs.record_files import read_records
from toolmark.runs.suite import SetExport
from toolmark.suites.mfcl_vision import item_folder, prompts
from toolmark.suites.mfcl_vision.item_records import BASE_VARIATION, ItemTruth, SignMark
from toolmark.suites.mfcl_vision.web_environment import Corpora, picture_failure

IMAGES_FOLDER = "images"
FILE_DESCRIPTIONS = {
    item_folder.ITEMS_FILE: (
        "the items as published ones are written: base picture, question, accepted "
        "answers, signs with their boxes, and the way to the answer"
    ),
    IMAGES_FOLDER: "every picture: images/ITEM/VARIATION.jpg, edges as .png",
    item_folder.PAGES_FOLDER: "the pages that are searched, as host/path.html",
}
PACKAGES = ("bm25s", "opencv-python-headless", "pillow")
GENERATED_SOURCES = (
    "Pictures, questions and pages are drawn by this project (Apache-2.0): nobody and nothing in "
    "them exists, and no published picture or page went in.",
)
FOLDER_SOURCES = (
    "Pictures and questions: from the folder that was given, under a licence known to who gave it.",
)
GENERATED_LIMITS = (
    "Pictures are drawn, not photographed; what is easy or hard to see in them is so by design.",
    "Pages are short and few, and search is by words: a web of this size is easier than the real.",
    "English only; items of one template are alike.",
)
_SUFFIX_BY_MIME = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}
_SIGN_ROLES = ("clue", "lookalike", "foreground", "clutter")


def make_export(pages: Corpora | Path | None) -> SetExport:
    """Return what `make` asks for; `pages` are drawn from a task's seed, or are a folder."""
    is_generated = callable(pages)
    return SetExport(
        sources=GENERATED_SOURCES if is_generated else FOLDER_SOURCES,
        limits=GENERATED_LIMITS if is_generated else (),
        packages=PACKAGES,
        files=FILE_DESCRIPTIONS,
        user_texts=lambda task: [prompts.question_text(read_task_data(task, ItemTruth).question)],
        write_extra_files=partial(write_set_files, pages=pages),
        asking_parameters=("search", "snippets", "outages"),
    )


def write_set_files(folder: Path, pages: Corpora | Path | None) -> list[Table]:
    """Write the additional files of the set into this folder; return its data card tables."""
    media, names, tally = MediaStore(folder / "media"), FileNames(), _SetTally()
    seeds: dict[int, None] = {}
    tasks = read_records(folder / "tasks.jsonl", Task, strict=True)
    with (folder / item_folder.ITEMS_FILE).open("wb") as lines:
        for task in filter(lambda task: not picture_failure(task), tasks):
            seeds[task.seed] = None
            image = _link_image(media, names, folder, task)
            tally.count(task)
            if task.axes["variation"] == BASE_VARIATION:
                lines.write(json_codec.encode_record(_item_row(task, image)) + b"\n")
    if isinstance(pages, Path):
        _copy_pages(folder / item_folder.PAGES_FOLDER, pages)
    elif pages is not None:
        for seed in seeds:
            _write_pages(folder / item_folder.PAGES_FOLDER, pages(seed).pages)
    return tally.tables()


def _link_image(media: MediaStore, names: FileNames, folder: Path, task: Task) -> str:
    """Link a task's picture under its name in the set, and return that name."""
    part, *_ = task_pictures(task)
    # Some systems do not allow a colon in file names.
    variation = task.axes["variation"].replace(":", "x")
    name = names.file_name(IMAGES_FOLDER, task.item, variation, _SUFFIX_BY_MIME.get(part.mime, ""))
    media.link_file(part, folder / name)
    return name


def _item_row(task: Task, image: str) -> dict[str, Any]:
    """Return an item as `item_folder` reads it."""
    truth = read_task_data(task, ItemTruth)
    row = item_folder.ItemRow(
        id=task.item,
        image=image,
        question=prompts.question_text(truth.question),
        answer=truth.answers,
        domain=task.axes["domain"],
        query_type=task.axes["kind"],
        boxes=tuple(m.box for m in truth.marks if m.role == "clue" and m.box is not None),
        trace=truth.hops or None,
        marks=truth.marks,
        **{name: getattr(truth.question, name) for name in ("context", "request", "hint", "form")},
    )
    fields: dict[str, Any] = msgspec.to_builtins(row)
    return fields


def _copy_pages(folder: Path, pages: Path) -> None:
    """Copy the page files that a corpus reads from a folder."""
    for path in files.list_files(pages, PAGE_SUFFIXES):
        target = folder / path.relative_to(pages)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files.read_head(path, MAX_PAGE_BYTES))


def _write_pages(folder: Path, pages: Sequence[PageSource]) -> None:
    """Write pages in the layout of a corpus. Raises DataError for an address outside the folder."""
    for page in pages:
        parts = urlsplit(page.href)
        pure = PurePosixPath(unquote(f"{parts.netloc}{parts.path}"))
        if pure.is_absolute() or ".." in pure.parts or not pure.name:
            raise DataError(f"{page.href!r}: no address of a page")
        path = folder / (pure if pure.suffix == ".html" else pure.with_name(f"{pure.name}.html"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.html, encoding="utf-8")


class _SetTally:
    """Counts the contents of a set."""

    def __init__(self) -> None:
        self._sizes: dict[str, Counter[tuple[int, int]]] = {}
        self._cells: Counter[tuple[str, str]] = Counter()
        self._signs: dict[str, list[SignMark]] = {role: [] for role in _SIGN_ROLES}
        self._counted_items: set[str] = set()

    def count(self, task: Task) -> None:
        """Count one task."""
        truth = read_task_data(task, ItemTruth)
        self._sizes.setdefault(truth.variation, Counter())[truth.size] += 1
        if task.item not in self._counted_items:
            self._counted_items.add(task.item)
            self._cells[task.axes["domain"], task.axes["kind"]] += 1
            for mark in truth.marks:
                self._signs[mark.role].append(mark)

    def tables(self) -> list[Table]:
        """Return the tables of the data card."""
        return [self._domain_table(), self._picture_table(), self._sign_table()]

    def _domain_table(self) -> Table:
        domains = list(dict.fromkeys(domain for domain, _ in self._cells))
        kinds = list(dict.fromkeys(kind for _, kind in self._cells))
        rows: list[tuple[str | int, ...]] = []
        for domain in domains:
            rows.append((domain, *(self._cells[domain, kind] for kind in kinds)))
        return Table(title="Items by domain and query type", head=("", *kinds), rows=tuple(rows))

    def _picture_table(self) -> Table:
        rows = tuple(self._size_row(name, sizes) for name, sizes in self._sizes.items())
        head = ("variation", "pictures", "sizes", "commonest", "share")
        return Table(title="Pictures", head=head, rows=rows)

    def _size_row(
        self, name: str, sizes: Mapping[tuple[int, int], int]
    ) -> tuple[str | float | int, ...]:
        (width, height), n = Counter(sizes).most_common(1)[0]
        total = sum(sizes.values())
        return name, total, len(sizes), f"{width} x {height}", n / total

    def _sign_table(self) -> Table:
        rows = tuple(_sign_row(role, marks) for role, marks in self._signs.items() if marks)
        head = ("role", "signs", "lettered", "drawn", "height")
        note = "Height: of the box, in pixels, smallest to largest."
        return Table(title="Signs", head=head, rows=rows, note=note)


def _sign_row(role: str, marks: Sequence[SignMark]) -> tuple[str | int, ...]:
    heights = sorted(mark.box[3] - mark.box[1] for mark in marks if mark.box is not None)
    height_range = (
        " to ".join(number_format.format_fixed(each, 0) for each in (heights[0], heights[-1]))
        if heights
        else "-"
    )
    lettered = sum(bool(mark.text) for mark in marks)
    return role, len(marks), lettered, sum(bool(mark.symbol) for mark in marks), height_range
