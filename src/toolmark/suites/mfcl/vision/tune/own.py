"""Edits that an author wrote: `edits.jsonl` beside the items, tried before any other.

A row holds `id` and what is to be put in place of what the item has: `context`, `request`, `hint`,
`form`; a question with another answer brings `answer`, and its way as `trace` if it is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from toolmark.errors import DataError, near
from toolmark.suites.mfcl.vision.item import Hop
from toolmark.types import Record

FILE = "edits.jsonl"
_SHOWN = 200


class Own(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One edit of one item; what is None stays as it is."""

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
        """The accepted answers; none where the item's own stay."""
        given = (self.answer,) if isinstance(self.answer, str) else self.answer
        return tuple(each for each in given if each.strip())


def read(folder: Path, known: Collection[str]) -> Mapping[str, tuple[Own, ...]]:
    """Return the edits of a folder by item, in order; none where there is no file.

    Raises DataError that lists every bad row with its line.
    """
    path = folder / FILE
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    found: dict[str, tuple[Own, ...]] = {}
    bad: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            own = _row(line, known)
        except DataError as error:
            bad.append(f"  line {number}: {error}")
        else:
            found[own.id] = (*found.get(own.id, ()), own)
    if bad:
        n = "1 bad row" if len(bad) == 1 else f"{len(bad)} bad rows"
        raise DataError("\n".join((f"{path}: {n}:", *bad)))
    return found


def _row(line: bytes, known: Collection[str]) -> Own:
    try:
        own = msgspec.json.decode(line, type=Own)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(str(error)[:_SHOWN]) from None
    if own.id not in known:
        raise DataError(f"no item {own.id[:_SHOWN]!r}{near(own.id, known)[:_SHOWN]}")
    if own.request is not None and not own.request.strip():
        raise DataError("an empty request asks nothing")
    if all(text is None for text in own.parts.values()) and not own.answers:
        raise DataError("nothing to put in: context, request, hint, form or answer")
    return own
