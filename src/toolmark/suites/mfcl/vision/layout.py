"""Items in a folder, as published or made: `items.jsonl`, one item a line, and pictures beside it.

A row holds `id`, `image` (a path within the folder), `question`, `answer` (one text, or all that
are accepted), `domain` and `query_type`; it may hold `boxes` of the clue in pixels of the upright
picture, `trace` (query, href, finds of each hop), `marks` (every sign that is known), and the parts
of the question: `context`, `request`, `hint`, `form`. What is passed over is noted.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
from msgspec.structs import replace

from toolmark import files
from toolmark.errors import DataError, UsageError, near
from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision import answer
from toolmark.suites.mfcl.vision.item import (
    BASE,
    DOMAINS,
    KINDS,
    Asked,
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
_NOTES = 20  # kinds of what is passed over that are told
_NO_ANSWERS = frozenset(map(answer.normal, ("", answer.UNKNOWN, answer.UNANSWERABLE)))


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
    """The items of a folder, the SHA-256 of their file, and notes on what of it is not read."""

    path: Path
    entries: tuple[Entry, ...]
    sha256: str
    notes: tuple[str, ...] = ()


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
    over: dict[str, list[int]] = {}
    for number, line in enumerate(data.removeprefix(BOM_UTF8).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row, unknown = _row(line)
            entry = _entry(folder, row)
            if entry.id in entries:
                raise DataError(f"id {entry.id!r} stands there twice")
            entries[entry.id] = entry
            for what in (*unknown, *filter(None, (_hops(row)[1],))):
                over.setdefault(what, []).append(number)
        except DataError as error:
            bad.append(f"  line {number}: {error}")
    if bad:
        n = "1 bad row" if len(bad) == 1 else f"{len(bad)} bad rows"
        raise DataError("\n".join((f"{path}: {n}:", *bad)))
    if not entries:
        raise DataError(f"{path}: holds no item")
    sha256 = hashlib.sha256(data).hexdigest()
    return Folder(folder, tuple(entries.values()), sha256, tuple(_notes(over)))


def _notes(over: Mapping[str, list[int]]) -> Iterator[str]:
    """Say what is passed over, and where first."""
    for what, lines in list(over.items())[:_NOTES]:
        more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
        yield f"{FILE}, line {lines[0]}{more}: {what}"
    if len(over) > _NOTES:
        yield f"{FILE}: and {len(over) - _NOTES} more such notes"


def _row(line: bytes) -> tuple[Row, list[str]]:
    """Return a row, and what to say of the fields that it has beside. Raises DataError."""
    if len(line) > _LONGEST:
        raise DataError(f"longer than {_LONGEST >> 20} MB")
    try:
        held = msgspec.json.decode(line, type=dict[str, Any])
        row = msgspec.convert(held, Row)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(str(error)[:_SHOWN]) from None
    known = Row.__struct_fields__
    unknown = [name[:_SHOWN] for name in held if name not in known]
    return row, [f"field {name!r} is not read{near(name, known)}" for name in unknown]


def _entry(folder: Path, row: Row) -> Entry:
    """Return the item of a row. Raises DataError for what it lacks."""
    if missing := ", ".join(_missing(row)):
        raise DataError(f"no {missing}")
    asked = Asked(request=_request(row), context=row.context, hint=row.hint, form=row.form)
    truth = Truth(
        answers=_answers(row), asked=asked, marks=_marks(row), hops=_hops(row)[0], variation=BASE
    )  # fmt: skip
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
    """Return the accepted answers. Raises DataError for one that no answer can equal."""
    given = (row.answer,) if isinstance(row.answer, str) else row.answer
    found = tuple(each for each in given if each.strip())
    for each in found:
        if answer.normal(each) in _NO_ANSWERS:
            raise DataError(f"answer {each[:_SHOWN]!r} is none: it would never count as right")
    return found


def _request(row: Row) -> str:
    """Return what is asked beside the other parts of the question, which often holds them all.

    Raises DataError where they cannot be told apart.
    """
    if row.request.strip():
        return row.request
    rest = row.question.strip().removeprefix(f"{row.context.strip()} ")
    for part in (row.form, row.hint):
        rest = rest.strip().removesuffix(f" {part.strip()}")
    for name in ("context", "hint", "form"):
        part = getattr(row, name).strip()
        if part and part in rest:
            raise DataError(f"question holds the {name} too: say as request what it asks beside")
    return rest.strip()


def _one(name: str, said: str, known: tuple[str, ...]) -> str:
    word = said.strip().lower()
    if word not in known:
        raise DataError(f"no {name} {said[:_SHOWN]!r}{near(word, known)}")
    return word


def _marks(row: Row) -> tuple[Mark, ...]:
    """Return the signs; clues that have no box get those of the row, in order.

    Raises DataError for what is no box.
    """
    for place in (*row.boxes, *(mark.box for mark in row.marks if mark.box is not None)):
        left, top, right, bottom = place
        if not left < right or not top < bottom:
            told = f"[{left:g}, {top:g}, {right:g}, {bottom:g}]"
            raise DataError(f"{told} is no box [left, top, right, bottom]")
    held = {mark.box for mark in row.marks if mark.role == "clue"}
    free = [place for place in row.boxes if place not in held]
    marks = []
    for mark in row.marks:
        lacks = mark.role == "clue" and mark.box is None and bool(free)
        marks.append(replace(mark, box=free.pop(0)) if lacks else mark)
    return (*marks, *(Mark(role="clue", box=place) for place in free))


def _hops(row: Row) -> tuple[tuple[Hop, ...], str]:
    """Return the steps of the trace; where it is written otherwise none, and why."""
    try:
        return msgspec.convert(row.trace or (), tuple[Hop, ...]), ""
    except msgspec.ValidationError as error:
        return (), f"the trace is not read: {error}"[:_SHOWN]


def _inside(folder: Path, name: str) -> Path:
    """Return the place of a picture. A stranger's file must not lead out of its folder."""
    pure = PurePosixPath(name)
    path = folder.joinpath(*pure.parts)
    if pure.is_absolute() or ".." in pure.parts or not files.inside(folder, path):
        raise DataError(f"image {name[:_SHOWN]!r} is no file of this folder")
    return path
