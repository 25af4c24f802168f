"""Items in a folder, as published or made: `items.jsonl`, one item a line, and pictures beside it.

A row holds `id`, `image` (a path within the folder), `question`, `answer` (one text, or all that
are accepted), `domain` and `query_type`; it may hold `boxes` of the clue in pixels of the upright
picture, `trace` (query, href, finds of each hop), `marks` (every sign that is known), and the parts
of the question: `context`, `request`, `hint`, `form`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from toolmark.errors import DataError, UsageError, near
from toolmark.suites.mfcl.vision.item import (
    DOMAINS,
    KINDS,
    Asked,
    Box,
    Domain,
    Hop,
    Kind,
    Mark,
    Truth,
)
from toolmark.types import Record

T = TypeVar("T")

FILE = "items.jsonl"
PAGES = "pages"
"""The folder of pages beside the items, as a corpus reads it, where there is one."""
_LONGEST = 2**20  # bytes of a line
_SHOWN = 200


class Row(Record, frozen=True, kw_only=True):
    """A line of `items.jsonl`. `trace` may be anything; what it holds in our form is used."""

    id: str
    image: str
    question: str
    answer: str | tuple[str, ...]
    domain: str
    query_type: str
    boxes: tuple[Box, ...] = ()
    trace: Any = None
    marks: tuple[Mark, ...] = ()
    context: str = ""
    request: str = ""
    hint: str = ""
    form: str = ""


class Entry(NamedTuple):
    """An item of a folder: where its picture lies, and what is known of it."""

    id: str
    domain: Domain
    kind: Kind
    image: Path
    truth: Truth


class Folder(NamedTuple):
    """The items of a folder and the SHA-256 of the file that holds them."""

    path: Path
    entries: tuple[Entry, ...]
    sha256: str


def read(folder: Path) -> Folder:
    """Read the items of a folder. Raises DataError that lists every bad row with its line.

    Pictures are not opened: one that is missing or damaged is its own item's affair.
    """
    path = folder / FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot read items: {error.strerror}") from None
    entries: dict[str, Entry] = {}
    bad: list[str] = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = _entry(folder, _row(line))
            if entry.id in entries:
                raise DataError(f"id {entry.id!r} stands there twice")
            entries[entry.id] = entry
        except DataError as error:
            bad.append(f"  line {number}: {error}")
    if bad:
        n = "1 bad row" if len(bad) == 1 else f"{len(bad)} bad rows"
        raise DataError("\n".join((f"{path}: {n}:", *bad)))
    if not entries:
        raise DataError(f"{path}: holds no item")
    return Folder(folder, tuple(entries.values()), hashlib.sha256(data).hexdigest())


def _row(line: bytes) -> Row:
    if len(line) > _LONGEST:
        raise DataError(f"longer than {_LONGEST >> 20} MB")
    try:
        return msgspec.json.decode(line, type=Row)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(str(error)[:_SHOWN]) from None


def _entry(folder: Path, row: Row) -> Entry:
    """Return the item of a row. Raises DataError for what it lacks."""
    if missing := ", ".join(_missing(row)):
        raise DataError(f"no {missing}")
    asked = Asked(
        request=row.request or row.question, context=row.context, hint=row.hint, form=row.form
    )
    truth = Truth(
        answers=_answers(row), asked=asked, marks=row.marks or _clues(row.boxes), hops=_hops(row)
    )
    return Entry(
        id=row.id,
        domain=cast(Domain, _one("domain", row.domain, DOMAINS)),
        kind=cast(Kind, _one("query_type", row.query_type, KINDS)),
        image=_inside(folder, row.image),
        truth=truth,
    )


def _missing(row: Row) -> Iterator[str]:
    for name in ("id", "image", "question"):
        if not getattr(row, name).strip():
            yield name
    if not _answers(row):
        yield "answer"


def _answers(row: Row) -> tuple[str, ...]:
    given = (row.answer,) if isinstance(row.answer, str) else row.answer
    return tuple(each for each in given if each.strip())


def _one(name: str, said: str, known: tuple[str, ...]) -> str:
    word = said.strip().lower()
    if word not in known:
        raise DataError(f"no {name} {said[:_SHOWN]!r}{near(word, known)}")
    return word


def _clues(boxes: tuple[Box, ...]) -> tuple[Mark, ...]:
    for left, top, right, bottom in boxes:
        if not left < right or not top < bottom:
            told = f"[{left:g}, {top:g}, {right:g}, {bottom:g}]"
            raise DataError(f"{told} is no box [left, top, right, bottom]")
    return tuple(Mark(role="clue", box=box) for box in boxes)


def _hops(row: Row) -> tuple[Hop, ...]:
    """Return the steps of the trace; none where it is written otherwise."""
    try:
        return msgspec.convert(row.trace or (), tuple[Hop, ...])
    except msgspec.ValidationError:
        return ()


def _inside(folder: Path, name: str) -> Path:
    """Return the place of a picture. A stranger's file must not lead out of its folder."""
    pure = PurePosixPath(name)
    path = folder.joinpath(*pure.parts)
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):
        inside = False
    if pure.is_absolute() or ".." in pure.parts or not inside:
        raise DataError(f"image {name[:_SHOWN]!r} is no file of this folder")
    return path
