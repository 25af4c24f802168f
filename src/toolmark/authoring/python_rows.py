"""Rows that Python gives: a list of dicts, or a function that yields them."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from toolmark.authoring import row_text
from toolmark.authoring.row_files import NumberedRow, RowFile
from toolmark.core.called_code import check_takes, code_place, is_async
from toolmark.core.errors import DataError, ToolmarkError, UsageError, describe_error
from toolmark.core.function_tools import FunctionTool
from toolmark.core.json_codec import convert_to_json
from toolmark.core.records import Tool

GivenRows: TypeAlias = Iterable[Mapping[str, Any]] | Callable[[], Iterable[Mapping[str, Any]]]
_NAME = "rows from Python"
_STEP = "give a list of dicts, a function that yields them, or the name of a file"


class PythonRows(RowFile):
    """Rows from Python: those of a list, or of a function that is called each time they are read.

    What can be iterated only once, such as a generator, is read at once. Values are what JSON has;
    tools may be functions and `Tool` records. Raises UsageError for what gives no rows.
    """

    unit = "row"
    row_form = "one dict for each task"

    def __init__(self, rows: GivenRows) -> None:
        super().__init__(_NAME)
        given: object = rows
        if callable(rows) and not isinstance(rows, Iterable):
            self.name = f"rows of {getattr(rows, '__name__', type(rows).__name__)}"
            if is_async(rows) or inspect.isclass(given):
                raise UsageError(f"{self.name}: {_STEP}, got {_describe_callable(given)}")
            check_takes(rows, [], f"{self.name}: the function takes no argument")
            self._make: Callable[[], Iterable[Any]] = rows
            return
        if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
            raise UsageError(f"expected rows, got {type(given).__name__}; {_STEP}")
        stored = list(given) if isinstance(given, Iterator) else given
        self._make = lambda: stored

    @property
    def short_name(self) -> str:
        """The name."""
        return self.name

    @property
    def label(self) -> str:
        """What a run records the hash under."""
        return self.name

    def read(self) -> Iterator[NumberedRow | DataError]:
        """Yield the rows. Raises UsageError where the function raises."""
        try:
            yield from self._read_given()
        except ToolmarkError:
            raise
        except Exception as error:
            raise UsageError(f"{self.name}: {describe_error(error)}") from error

    def _read_given(self) -> Iterator[NumberedRow | DataError]:
        made: object = self._make()
        if not isinstance(made, Iterable) or isinstance(made, str | bytes | Mapping):
            place = code_place(self._make)
            raise UsageError(
                f"{self.name}: the function returned {type(made).__name__}; it yields dicts"
                + (f" ({place})" if place else "")
            )
        for number, given in enumerate(made, 1):
            try:
                yield NumberedRow(number, self._read_row(number, given))
            except DataError as error:
                yield error

    def _read_row(self, number: int, given: object) -> dict[str, Any]:
        """Return a row in the values that a file would give."""
        if not isinstance(given, Mapping):
            self.fail(number, f"expected a dict, got {type(given).__name__}")
        found = {}
        for name, value in given.items():
            if not isinstance(name, str):
                self.fail(number, f"a field's name is text, got {name!r:.80}")
            try:
                plain = _describe_tools(value) if name == "tools" else value
                text = json.dumps(convert_to_json(plain))
                found[name] = row_text.decode_json(text, is_one_line=True)
            except (TypeError, ValueError, RecursionError) as error:
                self.fail(number, f"{name}: {error}")
        return found

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the rows, written as JSON Lines."""
        digest = hashlib.sha256()
        for row in self:
            digest.update(json.dumps(row.fields, sort_keys=True).encode() + b"\n")
        return digest.hexdigest()


def _describe_tools(value: object) -> object:
    """Return tools as a file writes them; functions and `Tool` records become objects."""
    if not isinstance(value, list | tuple):
        return value
    found: list[Any] = []
    for each in value:
        tool = each
        if callable(each):
            try:
                tool = FunctionTool(each).tool
            except UsageError as error:
                raise ValueError(str(error)) from None
        if isinstance(tool, Tool):
            tool = {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                **({"annotations": {"readOnlyHint": True}} if tool.read_only else {}),
            }
        found.append(tool)
    return found


def _describe_callable(given: object) -> str:
    return "a class" if inspect.isclass(given) else "an async function"
