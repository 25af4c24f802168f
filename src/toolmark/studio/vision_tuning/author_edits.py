"""Edits that an author wrote: `edits.jsonl` next to the items, tried before any other.

A row has `id` and the parts that replace those of the item: `context`, `request`, `hint`, `form`.
A question with another answer has `answer`, and its hops as `trace` if they are known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, suggest_names
from toolmark.core.records import Record
from toolmark.suites.mfcl_vision.item_records import Hop

EDITS_FILE = "edits.jsonl"
_MAX_QUOTED_CHARS = 200


class AuthorEdit(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One edit of one item; parts that are None are unchanged."""

    id: str
    note: str = ""
    context: str | None = None
    request: str | None = None
    hint: str | None = None
    form: str | None = None
    answer: str | tuple[str, ...] = ()
    trace: tuple[Hop, ...] = ()

    @property
    def parts(self) -> dict[str, str | None]:
        """The parts of the question."""
        return {name: getattr(self, name) for name in ("context", "request", "hint", "form")}

    @property
    def answers(self) -> tuple[str, ...]:
        """The accepted answers; empty where the item's own answers stay."""
        stated = (self.answer,) if isinstance(self.answer, str) else self.answer
        return tuple(text for text in stated if text.strip())


def read_author_edits(folder: Path, known: Collection[str]) -> Mapping[str, tuple[AuthorEdit, ...]]:
    """Return the edits of a folder by item, in order; {} where there is no file.

    Raises DataError that lists every bad row with its line.
    """
    path = folder / EDITS_FILE
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    found: dict[str, tuple[AuthorEdit, ...]] = {}
    bad: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            edit = _parse_row(line, known)
        except DataError as error:
            bad.append(f"  line {number}: {error}")
        else:
            found[edit.id] = (*found.get(edit.id, ()), edit)
    if bad:
        n = "1 bad row" if len(bad) == 1 else f"{len(bad)} bad rows"
        raise DataError("\n".join((f"{path}: {n}:", *bad)))
    return found


def _parse_row(line: bytes, known: Collection[str]) -> AuthorEdit:
    try:
        edit = msgspec.json.decode(line, type=AuthorEdit)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(describe_decode_error(error)[:_MAX_QUOTED_CHARS]) from None
    if edit.id not in known:
        raise DataError(f"no item {edit.id[:_MAX_QUOTED_CHARS]!r}{suggest_names(edit.id, known)}")
    if edit.request is not None and not edit.request.strip():
        raise DataError("an empty request asks nothing")
    if all(text is None for text in edit.parts.values()) and not edit.answers:
        raise DataError("the edit changes nothing; give a context, request, hint, form or answer")
    return edit
