"""Pickled tables, DataFrames of pandas and lists of rows, read without running any of their code.

A pickle is a program: it can name any Python function and call it, and Python's own reader runs it.
This module only interprets the instructions symbolically: a call or a new object is recorded with
its arguments, so that nothing can run. Only the instructions and names that such tables need are
accepted. The cost of a file is bounded by its size.
"""

from __future__ import annotations

import os
import pickletools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

import numpy as np

from toolmark.core import files
from toolmark.core.errors import DataError
from toolmark.core.number_format import format_count

Column: TypeAlias = "Sequence[Any] | np.ndarray[Any, Any]"

MAX_BYTES = 64 * 2**20
MAX_INSTRUCTIONS = 6_000_000
"""The most instructions of a file; each makes at most one small object besides its own bytes."""
MAX_FILE_BYTES = 2**32
"""The limit for a file of rows; at most MAX_BYTES are loaded, long texts stay in the file."""
_MIN_INSTRUCTION_LIMIT = 100_000  # always allowed, whatever the size of the file
MAX_COLUMNS = 64
"""The limit for columns of a table, and for names in a row."""
MAX_LOADED_TEXT_CHARS = 4096
"""A longer text stays in the file, in characters."""
_ALLOWED_NAMES = {
    "pandas.core.frame.DataFrame", "pandas.core.internals.managers.BlockManager",
    "pandas.core.indexes.base._new_Index", "pandas.core.indexes.base.Index",
    "pandas.core.indexes.numeric.Int64Index", "numpy.core.multiarray._reconstruct",
    "numpy.ndarray", "numpy.dtype", "numpy.core.multiarray.scalar",
    "numpy._core.multiarray.scalar",
}  # fmt: skip
_NUMBER_TYPES = ("i8", "f8", "b1")
# the errors that a damaged file causes
_DAMAGE_ERRORS = (ValueError, TypeError, AttributeError, LookupError, OverflowError)
_MAX_SHOWN_CHARS = 200  # characters of file content in a message


class TextInFile(NamedTuple):
    """A long text that stays in its file: where it begins, and its size in bytes."""

    start: int
    size: int


class _Refused(Exception):
    """Why a file is not accepted."""


class _NamedGlobal:
    """A global that a file names."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class _SymbolicObject:
    """An object that was not made: its class or function, its arguments, and its state."""

    __slots__ = ("arguments", "name", "state")

    def __init__(self, name: str, arguments: Any) -> None:
        self.name = name
        self.arguments = arguments
        self.state: Any = None


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a pickled list of dictionaries.

    Texts of more than `MAX_LOADED_TEXT_CHARS` characters become `TextInFile`. Numbers of numpy
    become plain numbers; callers check the types of values. Raises DataError, with the file's
    name, as `read_table` does.
    """
    try:
        with files.open_regular_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            # a row is mostly names and values
            max_instructions = min(MAX_INSTRUCTIONS, max(_MIN_INSTRUCTION_LIMIT, size // 4))
            found = _run_instructions(_BoundedReader(file), _KeepShortTexts(), max_instructions)
        if isinstance(found, _SymbolicObject):
            raise _Refused(
                f"it holds {found.name.rpartition('.')[2]} where a list of rows should be"
            )
        if not isinstance(found, list):
            raise _Refused(f"it holds {type(found).__name__} where a list of rows should be")
        return _check_rows(found)
    except _Refused as error:
        raise DataError(f"{path}: {error}") from None
    except _DAMAGE_ERRORS as error:
        raise DataError(f"{path}: no pickled rows: {str(error)[:_MAX_SHOWN_CHARS]}") from None


def read_table(path: Path, column_names: Sequence[str]) -> dict[str, Column]:
    """Return columns of a pickled DataFrame by name: all of equal length, text unchanged.

    Raises DataError, with the file's name, for a file that is too large, cut off, uses instructions
    that such a table does not need, or has another shape.
    """
    data = files.read_head(path, MAX_BYTES + 1)
    try:
        if len(data) > MAX_BYTES:
            raise _Refused(f"more than {MAX_BYTES >> 20} MiB")
        return _read_columns(_run_instructions(data, _keep_all, MAX_INSTRUCTIONS), column_names)
    except _Refused as error:
        raise DataError(f"{path}: {error}") from None
    except _DAMAGE_ERRORS as error:
        raise DataError(f"{path}: not a pickled table: {str(error)[:_MAX_SHOWN_CHARS]}") from None


# --- the instructions -------------------------------------------------------------------


def _keep_all(value: Any, offset: int) -> Any:
    return value


class _KeepShortTexts:
    """Stores the values of instructions, except for long texts."""

    def __init__(self) -> None:
        self._n_bytes = 0

    def __call__(self, value: Any, offset: int) -> Any:
        """Return the value to store; `offset` is the byte after the instruction and its length."""
        if not isinstance(value, str | bytes):
            return value
        if len(value) > MAX_LOADED_TEXT_CHARS and isinstance(value, str) and value.isascii():
            return TextInFile(offset, len(value))
        self._n_bytes += len(value)
        if self._n_bytes > MAX_BYTES:
            raise _Refused(f"more than {MAX_BYTES >> 20} MiB besides its long texts")
        return value


class _BoundedReader:
    """A file that is read only as far as it has data, because lengths in it may be false."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        if self._size > MAX_FILE_BYTES:
            raise _Refused(f"more than {MAX_FILE_BYTES >> 30} GiB")
        self.tell = file.tell

    def read(self, n: int) -> bytes:
        """Read `n` bytes, or the bytes that are left."""
        if n > MAX_BYTES:
            raise _Refused(f"a piece of more than {MAX_BYTES >> 20} MiB")
        return self._file.read(
            n if n <= MAX_LOADED_TEXT_CHARS else min(n, self._size - self.tell())
        )

    def readline(self) -> bytes:
        """Read a short line; a longer line is cut."""
        return self._file.readline(MAX_LOADED_TEXT_CHARS)


def _run_instructions(
    data: bytes | _BoundedReader, keep: Callable[[Any, int], Any], max_instructions: int
) -> Any:
    """Interpret the instructions; pickletools checks lengths before it reads."""
    stack: list[Any] = []
    memo: list[Any] = []
    marks: list[int] = []
    argument: Any
    for n, (step, argument, offset) in enumerate(pickletools.genops(cast("BinaryIO", data)), 1):
        if n > max_instructions:
            raise _Refused(f"refused: more than {format_count(max_instructions)} instructions")
        match step.name:
            case "MEMOIZE":
                memo.append(stack[-1])
            case "BINPUT" | "LONG_BINPUT" if argument == len(memo):  # they are numbered in order
                memo.append(stack[-1])
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case "MARK":
                marks.append(len(stack))
            case "STOP":
                return stack.pop()
            case "PROTO" | "FRAME":
                pass
            case name if name in _VALUE_INSTRUCTIONS:
                stack.append(
                    keep(
                        _VALUE_INSTRUCTIONS[name](argument),
                        (offset or 0) + _INSTRUCTION_BYTES.get(name, 0),
                    )
                )
            case name if name in _MARK_INSTRUCTIONS:
                start = marks.pop()
                parts = stack[start:]
                del stack[start:]
                _MARK_INSTRUCTIONS[name](stack, parts)
            case name if name in _STACK_INSTRUCTIONS:
                size, build = _STACK_INSTRUCTIONS[name]
                parts = stack[-size:]
                if len(parts) < size:
                    raise _Refused(f"nothing there at byte {offset}")
                del stack[-size:]
                stack.append(build(*parts))
            case name:
                raise _Refused(f"refused: instruction {name} at byte {offset}")
    raise _Refused("no end")


def _allowed_global(module: Any, name: Any) -> _NamedGlobal:
    if not (isinstance(module, str) and isinstance(name, str)):
        raise _Refused("a name that is not text")
    full_name = f"{module}.{name}"
    if full_name not in _ALLOWED_NAMES:
        raise _Refused(f"refused: it asks for {full_name[:_MAX_SHOWN_CHARS]}")
    return _NamedGlobal(full_name)


def _symbolic_call(maker: Any, arguments: Any) -> _SymbolicObject:
    if not isinstance(maker, _NamedGlobal):
        raise _Refused("refused: it calls what is not a name")
    return _SymbolicObject(maker.name, arguments)


def _set_state(symbolic: Any, state: Any) -> _SymbolicObject:
    if not isinstance(symbolic, _SymbolicObject):
        raise _Refused("refused: it changes what it has not made")
    symbolic.state = state
    return symbolic


def _extend_list(stack: list[Any], parts: list[Any]) -> None:
    _require_list(stack[-1]).extend(parts)


def _require_list(target: Any) -> list[Any]:
    if not isinstance(target, list):
        raise _Refused("it appends to what is not a list")
    return target


def _append_item(target: Any, part: Any) -> list[Any]:
    _require_list(target).append(part)
    return _require_list(target)


def _set_items(stack: list[Any], parts: list[Any]) -> None:
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        _set_item(stack[-1], key, value)


def _set_item(target: Any, key: Any, value: Any) -> dict[str, Any]:
    # hashing a tuple of tuples can take exponential time
    if not (isinstance(target, dict) and isinstance(key, str)):
        raise _Refused("it sets an item of something other than a dictionary with text keys")
    target[key] = value
    return target


_VALUE_INSTRUCTIONS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT",
         "BINBYTES", "SHORT_BINBYTES", "NONE"), lambda given: given,
    ),
    "NEWTRUE": lambda _: True, "NEWFALSE": lambda _: False, "EMPTY_LIST": lambda _: [],
    "EMPTY_DICT": lambda _: {}, "EMPTY_TUPLE": lambda _: (),
}  # fmt: skip
_INSTRUCTION_BYTES = {"BINUNICODE": 5}  # instruction and length; other texts are short
_MARK_INSTRUCTIONS: Mapping[str, Callable[[list[Any], list[Any]], None]] = {
    "APPENDS": _extend_list, "SETITEMS": _set_items,
    "TUPLE": lambda stack, parts: stack.append(tuple(parts)),
}  # fmt: skip
_STACK_INSTRUCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "TUPLE1": (1, lambda *parts: parts),
    "TUPLE2": (2, lambda *parts: parts),
    "TUPLE3": (3, lambda *parts: parts),
    "STACK_GLOBAL": (2, _allowed_global),
    "NEWOBJ": (2, _symbolic_call),
    "REDUCE": (2, _symbolic_call),
    "BUILD": (2, _set_state),
    "APPEND": (2, _append_item),
    "SETITEM": (3, _set_item),
}


# --- from symbolic objects to values ----------------------------------------------------
# Nothing of a file is printed or compared before its type is known: lists that contain each other
# many times are small until they are written out.


def _read_columns(frame: Any, column_names: Sequence[str]) -> dict[str, Column]:
    """Return the columns from the block manager: axes, and values and names of each block."""
    manager = _require_type(_require_type(frame, "DataFrame").state["_data"], "BlockManager")
    axes, blocks, names = manager.state[:3]
    labels, rows = (_read_axis(axis) for axis in axes)
    if max(len(blocks), len(labels)) > MAX_COLUMNS:
        raise _Refused(f"more than {MAX_COLUMNS} columns")
    found: dict[str, Column] = {}
    for block, name in zip(blocks, names, strict=True):
        values, column_labels = _read_array(block), _read_axis(name)
        if values.shape != (len(column_labels), len(rows)):
            raise _Refused(
                f"a block has the shape {values.shape}, not {(len(column_labels), len(rows))}"
            )
        found.update(zip(map(_require_text, column_labels), values, strict=True))
    if set(found) != set(map(_require_text, labels)):
        raise _Refused("its blocks do not hold the columns that it names")
    if missing := [name for name in column_names if name not in found]:
        raise _Refused(f"no column {', '.join(missing)}")
    return {name: found[name] for name in column_names}


def _check_rows(found: list[Any]) -> list[dict[str, Any]]:
    """Return a list, checked to contain dictionaries, with their numbers made plain in place."""
    first_positions: dict[int, int] = {}
    for n, row in enumerate(found):
        if not isinstance(row, dict):
            raise _Refused(f"row {n} is not a dictionary")
        # a file of a few bytes can repeat one row a million times
        if (earlier := first_positions.setdefault(id(row), n)) != n:
            raise _Refused(f"row {n} is row {earlier} once more, not one of its own")
        if len(row) > MAX_COLUMNS:
            raise _Refused(
                f"row {n} has {format_count(len(row))} names; at most {MAX_COLUMNS} are read"
            )
        for name, value in row.items():
            row[name] = _plain_number(value)
    return found


def _plain_number(value: Any) -> Any:
    """Return a value; a number of numpy becomes a plain one."""
    if not (isinstance(value, _SymbolicObject) and value.name.endswith(".scalar")):
        return value
    dtype, data = value.arguments
    name = _require_type(dtype, "dtype").arguments[0]
    if name not in _NUMBER_TYPES:
        raise _Refused("a number of another kind")
    (found,) = np.frombuffer(data, dtype=np.dtype(name).newbyteorder("<")).tolist()
    return found


def _require_type(symbolic: Any, name: str) -> _SymbolicObject:
    if not isinstance(symbolic, _SymbolicObject) or symbolic.name.rpartition(".")[2] != name:
        found = symbolic.name if isinstance(symbolic, _SymbolicObject) else type(symbolic).__name__
        raise _Refused(f"not a pickled table: {found} where {name} should be")
    return symbolic


def _require_text(label: Any) -> str:
    if not isinstance(label, str):
        raise _Refused(f"a column's name is not text but {type(label).__name__}")
    return label


def _read_axis(index: Any) -> np.ndarray[Any, Any]:
    array = _read_array(_require_type(index, "_new_Index").arguments[1]["data"])
    if array.ndim != 1:
        raise _Refused(f"an axis of {array.ndim} dimensions")
    return array


def _read_array(symbolic: Any) -> np.ndarray[Any, Any]:
    """Return an array from its pickled state: version, shape, type, column order, and values."""
    _, shape, dtype, by_columns, values = _require_type(symbolic, "_reconstruct").state
    name = _require_type(dtype, "dtype").arguments[0]
    if not isinstance(name, str) or name not in (*_NUMBER_TYPES, "O8"):
        raise _Refused("an array of something else than numbers and texts")
    if not (isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)):
        raise _Refused("an array without a shape")
    if name in _NUMBER_TYPES:
        flat = np.frombuffer(values, dtype=np.dtype(name).newbyteorder("<"))
    elif isinstance(values, list) and all(type(value) is str for value in values):
        flat = np.array(values, dtype=object)
    else:
        raise _Refused("an array of objects that are not texts")
    return flat.reshape(shape, order="F" if by_columns else "C")
