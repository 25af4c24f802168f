"""Texts with the fields of a task in them: `{name}`, and nothing else between the braces.

A value is put in as it is: braces in it are text. `{{` and `}}` stand for braces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.records import Task

# one branch for each first character: the pattern takes time linear in the text
_PIECES = re.compile(r"(?P<text>[^{}]+)|(?P<brace>\{\{|\}\})|\{(?P<field>[A-Za-z_]\w*)\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Field:
    """A place of a template that a field of the task fills."""

    name: str


Piece: TypeAlias = str | Field


@dataclass(frozen=True, slots=True)
class FieldTemplate:
    """A text with fields. `label` is what messages call it."""

    text: str
    label: str
    pieces: tuple[Piece, ...]

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields, each once, in their order."""
        names = (piece.name for piece in self.pieces if isinstance(piece, Field))
        return tuple(dict.fromkeys(names))

    def fill_fields(self, task: Task) -> str:
        """Return the text with the values of a task. Raises DataError for a field it lacks."""
        values = {name: self.read_field(task, name) for name in self.field_names}
        return "".join(
            value_text(values[piece.name]) if isinstance(piece, Field) else piece
            for piece in self.pieces
        )

    def name_fields(self) -> str:
        """Return the text with the names of its fields, as words, in the place of their values."""
        return "".join(
            piece.name.replace("_", " ") if isinstance(piece, Field) else piece
            for piece in self.pieces
        )

    def read_field(self, task: Task, name: str) -> Any:
        """Return the value of a field of a task. Raises DataError for a field it lacks."""
        data = task.data if isinstance(task.data, Mapping) else {}
        if name not in data:
            known = [key for key in data if isinstance(key, str)]
            raise DataError(
                f"task {task.id}: no field {name!r}, which {self.label} has as {{{name}}}"
                f"{suggest_names(name, known)}"
            )
        return data[name]


def parse_template(text: str, label: str) -> FieldTemplate:
    """Return a template. Raises UsageError for braces that enclose no plain name."""
    if not isinstance(text, str):
        raise UsageError(f"{label}: expected a text, got {type(text).__name__}")
    return FieldTemplate(text, label, tuple(_read_pieces(text, label)))


def _read_pieces(text: str, label: str) -> Iterator[Piece]:
    at = 0
    while at < len(text):
        found = _PIECES.match(text, at)
        if found is None:
            raise UsageError(
                f"{label}: {text[at : at + 20]!r} is not a field: write {{name}} with the plain "
                "name of a field of the task, and {{ or }} for a brace"
            )
        if found["field"] is not None:
            yield Field(found["field"])
        else:
            yield found["text"] or found["brace"][0]
        at = found.end()


def value_text(value: object) -> str:
    """Return a value as it stands in a text: a text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def scalar_texts(value: object) -> Iterator[str]:
    """Yield the texts and numbers in a value, as texts; no names of fields, no true and false."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from scalar_texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from scalar_texts(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)
