"""Reader of a folder of items, published or made: `items.jsonl`, one item a line, and pictures.

A row has `id`, `image` (a path within the folder), `question`, `answer` (one text, or all accepted
answers), `domain` and `query_type`. Optional fields are `boxes` of the clue in pixels of the
upright picture, `trace` (query, href, finds of each hop), `marks` (every known sign), and the parts
of the question: `context`, `request`, `hint`, `form`. Every field that is not read is noted.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
from msgspec.structs import replace

from toolmark.core import files
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.records import Record
from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision import final_answer
from toolmark.suites.mfcl_vision.item_records import (
    BASE_VARIATION,
    DOMAINS,
    QUERY_KINDS,
    Domain,
    Hop,
    ItemTruth,
    QueryKind,
    QuestionParts,
    SignMark,
)

T = TypeVar("T")

ITEMS_FILE = "items.jsonl"
PAGES_FOLDER = "pages"
"""The optional folder of pages next to the items, in the layout of a page corpus."""
# Bytes of a line.
_MAX_LINE_BYTES = 2**20
_MAX_QUOTED_CHARS = 200
# Kinds of notes on unread fields that are listed.
_MAX_NOTES = 20
_NON_ANSWERS = frozenset(
    map(final_answer.normalise_text, ("", final_answer.UNKNOWN, final_answer.UNANSWERABLE))
)


class ItemRow(Record, frozen=True, kw_only=True):
    """A line of `items.jsonl`. `trace` may have any form; it is used only as a list of hops."""

    id: str
    image: str
    question: str
    answer: str | tuple[str, ...]
    domain: str
    query_type: str
    boxes: tuple[Box, ...] = ()
    trace: Any = None
    marks: tuple[SignMark, ...] = ()
    context: str = ""
    request: str = ""
    hint: str = ""
    form: str = ""


class FolderItem(NamedTuple):
    """An item of a folder: the path of its picture, and the facts about it."""

    id: str
    domain: Domain
    kind: QueryKind
    image: Path
    truth: ItemTruth


class ItemFolder(NamedTuple):
    """The items of a folder, the SHA-256 of their file, and notes on unread fields."""

    path: Path
    entries: tuple[FolderItem, ...]
    sha256: str
    notes: tuple[str, ...] = ()


def read_item_folder(folder: Path) -> ItemFolder:
    """Return the items of a folder.

    Raises UsageError if the file cannot be read, and DataError with every bad row and its line.
    Pictures are not opened here: a missing or damaged picture fails only its own item.
    """
    path = folder / ITEMS_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot read items: {error.strerror}") from None
    entries: dict[str, FolderItem] = {}
    bad: list[str] = []
    lines_by_note: dict[str, list[int]] = {}
    for number, line in enumerate(data.removeprefix(BOM_UTF8).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row, unknown = _parse_row(line)
            entry = _make_folder_item(folder, row)
            if entry.id in entries:
                raise DataError(f"id {entry.id!r} stands there twice")
            entries[entry.id] = entry
            for note in (*unknown, *filter(None, (_trace_hops(row)[1],))):
                lines_by_note.setdefault(note, []).append(number)
        except DataError as error:
            bad.append(f"  line {number}: {error}")
    if bad:
        n = "1 bad row" if len(bad) == 1 else f"{len(bad)} bad rows"
        raise DataError("\n".join((f"{path}: {n}:", *bad)))
    if not entries:
        raise DataError(f"{path}: holds no item")
    sha256 = hashlib.sha256(data).hexdigest()
    return ItemFolder(folder, tuple(entries.values()), sha256, tuple(_skipped_notes(lines_by_note)))


def _skipped_notes(lines_by_note: Mapping[str, list[int]]) -> Iterator[str]:
    """Yield a note per kind of unread content, with its first line."""
    for note, lines in list(lines_by_note.items())[:_MAX_NOTES]:
        more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
        yield f"{ITEMS_FILE}, line {lines[0]}{more}: {note}"
    if len(lines_by_note) > _MAX_NOTES:
        yield f"{ITEMS_FILE}: and {len(lines_by_note) - _MAX_NOTES} more such notes"


def _parse_row(line: bytes) -> tuple[ItemRow, list[str]]:
    """Return a row, and notes on its unknown fields. Raises DataError."""
    if len(line) > _MAX_LINE_BYTES:
        raise DataError(f"longer than {_MAX_LINE_BYTES >> 20} MB")
    try:
        fields = msgspec.json.decode(line, type=dict[str, Any])
        row = msgspec.convert(fields, ItemRow)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(describe_decode_error(error)[:_MAX_QUOTED_CHARS]) from None
    known = ItemRow.__struct_fields__
    unknown = [name[:_MAX_QUOTED_CHARS] for name in fields if name not in known]
    return row, [f"field {name!r} is not read{suggest_names(name, known)}" for name in unknown]


def _make_folder_item(folder: Path, row: ItemRow) -> FolderItem:
    """Return the item of a row. Raises DataError for a missing or invalid field."""
    if missing := ", ".join(_missing_fields(row)):
        raise DataError(f"no {missing}")
    question = QuestionParts(
        request=_request_text(row), context=row.context, hint=row.hint, form=row.form
    )
    truth = ItemTruth(
        answers=_accepted_answers(row),
        question=question,
        marks=_sign_marks(row),
        hops=_trace_hops(row)[0],
        variation=BASE_VARIATION,
    )
    return FolderItem(
        id=row.id,
        domain=cast(Domain, _known_name("domain", row.domain, DOMAINS)),
        kind=cast(QueryKind, _known_name("query_type", row.query_type, QUERY_KINDS)),
        image=_image_path(folder, row.image),
        truth=truth,
    )


def _missing_fields(row: ItemRow) -> Iterator[str]:
    for name in ("id", "image", "question"):
        if not getattr(row, name).strip():
            yield name
    if not _accepted_answers(row):
        yield "answer"


def _accepted_answers(row: ItemRow) -> tuple[str, ...]:
    """Return the accepted answers. Raises DataError for one that no given answer can equal."""
    stated = (row.answer,) if isinstance(row.answer, str) else row.answer
    found = tuple(text for text in stated if text.strip())
    for text in found:
        if final_answer.normalise_text(text) in _NON_ANSWERS:
            raise DataError(
                f"answer {text[:_MAX_QUOTED_CHARS]!r} is none: it would never count as right"
            )
    return found


def _request_text(row: ItemRow) -> str:
    """Return the question without its other parts, which it often contains.

    Raises DataError if the parts cannot be separated.
    """
    if row.request.strip():
        return row.request
    remaining = row.question.strip().removeprefix(f"{row.context.strip()} ")
    for part in (row.form, row.hint):
        remaining = remaining.strip().removesuffix(f" {part.strip()}")
    for name in ("context", "hint", "form"):
        part = getattr(row, name).strip()
        if part and part in remaining:
            raise DataError(f"question holds the {name} too: say as request what else it asks")
    return remaining.strip()


def _known_name(name: str, stated: str, known: tuple[str, ...]) -> str:
    word = stated.strip().lower()
    if word not in known:
        raise DataError(f"no {name} {stated[:_MAX_QUOTED_CHARS]!r}{suggest_names(word, known)}")
    return word


def _sign_marks(row: ItemRow) -> tuple[SignMark, ...]:
    """Return the signs; clues without a box get the boxes of the row in order.

    Raises DataError for an invalid box.
    """
    for box in (*row.boxes, *(mark.box for mark in row.marks if mark.box is not None)):
        left, top, right, bottom = box
        if not left < right or not top < bottom:
            coordinates = f"[{left:g}, {top:g}, {right:g}, {bottom:g}]"
            raise DataError(f"{coordinates} is not a box [left, top, right, bottom]")
    used_boxes = {mark.box for mark in row.marks if mark.role == "clue"}
    free_boxes = [box for box in row.boxes if box not in used_boxes]
    marks = []
    for mark in row.marks:
        lacks = mark.role == "clue" and mark.box is None and bool(free_boxes)
        marks.append(replace(mark, box=free_boxes.pop(0)) if lacks else mark)
    return (*marks, *(SignMark(role="clue", box=box) for box in free_boxes))


def _trace_hops(row: ItemRow) -> tuple[tuple[Hop, ...], str]:
    """Return the hops of the trace; if it has another form, no hops and the reason."""
    try:
        return msgspec.convert(row.trace or (), tuple[Hop, ...]), ""
    except msgspec.ValidationError as error:
        return (), f"the trace is not read: {describe_decode_error(error)}"[:_MAX_QUOTED_CHARS]


def _image_path(folder: Path, name: str) -> Path:
    """Return the path of a picture. Raises DataError for a path outside the folder."""
    pure = PurePosixPath(name)
    path = folder.joinpath(*pure.parts)
    if pure.is_absolute() or ".." in pure.parts or not files.is_inside(folder, path):
        raise DataError(f"image {name[:_MAX_QUOTED_CHARS]!r} is not a file of this folder")
    return path
