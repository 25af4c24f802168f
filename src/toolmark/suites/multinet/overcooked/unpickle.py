"""Pickled tables, DataFrames of pandas and lists of rows, without running anything of them.

A pickle is a program: it may name any function of Python and call it, and Python's own reader
follows it. Here its instructions are followed on paper alone: what is called or made is noted with
what it was given, so that nothing can run. Only the instructions and the names are taken that such
tables need, and what a file costs is bounded by its size.
"""

from __future__ import annotations

import os
import pickletools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

import numpy as np

from toolmark import files
from toolmark.errors import DataError

Column: TypeAlias = "Sequence[Any] | np.ndarray[Any, Any]"

MAX_BYTES = 64 * 2**20
MAX_STEPS = 6_000_000
"""Instructions of a file; each makes at most one small object beside the bytes that it brings."""
MAX_FILE = 2**32
"""Bytes of a file of rows: of these at most MAX_BYTES are kept, long texts stay where they are."""
_FEW = 100_000  # instructions that a file of any size may have
MOST_COLUMNS = 64
"""Columns of a table, names in a row."""
LONG = 4096
"""Characters of a text that stays in its file."""
_NAMES = {
    "pandas.core.frame.DataFrame", "pandas.core.internals.managers.BlockManager",
    "pandas.core.indexes.base._new_Index", "pandas.core.indexes.base.Index",
    "pandas.core.indexes.numeric.Int64Index", "numpy.core.multiarray._reconstruct",
    "numpy.ndarray", "numpy.dtype", "numpy.core.multiarray.scalar",
    "numpy._core.multiarray.scalar",
}  # fmt: skip
_NUMBERS = ("i8", "f8", "b1")
# what a damaged file ends in
_BROKEN = (ValueError, TypeError, AttributeError, LookupError, OverflowError)
_SHOWN = 200  # characters of what a file says


class Far(NamedTuple):
    """A long text that stays in its file: where it begins, and how many bytes it has."""

    start: int
    size: int


class _Odd(Exception):
    """Why a file is not read."""


class _Name:
    """Something that a file names."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class _Held:
    """What would have been made: of which name, with what, and what was put into it."""

    __slots__ = ("given", "name", "state")

    def __init__(self, name: str, given: Any) -> None:
        self.name = name
        self.given = given
        self.state: Any = None


def records(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a pickled list of dictionaries, texts of more than LONG characters as Far.

    Numbers of numpy are plain ones; whoever asks for a value checks what it is. Raises DataError,
    with the file's name, as `table`.
    """
    try:
        with files.opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            most = min(MAX_STEPS, max(_FEW, size // 4))  # rows are names, and values behind them
            found = _followed(_Bounded(file), _Kept(), most)
        if isinstance(found, _Held):
            raise _Odd(f"it holds {found.name.rpartition('.')[2]} where a list of rows should be")
        if not isinstance(found, list):
            raise _Odd(f"it holds {type(found).__name__} where a list of rows should be")
        return _rows(found)
    except _Odd as error:
        raise DataError(f"{path}: {error}") from None
    except _BROKEN as error:
        raise DataError(f"{path}: no pickled rows: {str(error)[:_SHOWN]}") from None


def table(path: Path, wanted: Sequence[str]) -> dict[str, Column]:
    """Return columns of a pickled DataFrame by name: as long as each other, text as it stands.

    Raises DataError, with the file's name, for a file that is too large, cut off, does what no
    such table needs, or holds another shape.
    """
    data = files.head(path, MAX_BYTES + 1)
    try:
        if len(data) > MAX_BYTES:
            raise _Odd(f"more than {MAX_BYTES >> 20} MiB")
        return _columns(_followed(data, _whole, MAX_STEPS), wanted)
    except _Odd as error:
        raise DataError(f"{path}: {error}") from None
    except _BROKEN as error:
        raise DataError(f"{path}: not a pickled table: {str(error)[:_SHOWN]}") from None


# --- the instructions -------------------------------------------------------------------


def _whole(given: Any, place: int) -> Any:
    return given


class _Kept:
    """Keeps what instructions bring, but for long texts."""

    def __init__(self) -> None:
        self._n = 0

    def __call__(self, given: Any, place: int) -> Any:
        """Return what is kept of it; `place` is the byte after the instruction and its length."""
        if not isinstance(given, str | bytes):
            return given
        if len(given) > LONG and isinstance(given, str) and given.isascii():
            return Far(place, len(given))
        self._n += len(given)
        if self._n > MAX_BYTES:
            raise _Odd(f"more than {MAX_BYTES >> 20} MiB beside its long texts")
        return given


class _Bounded:
    """A file of which nobody reads what is not there: lengths in it may be false."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        if self._size > MAX_FILE:
            raise _Odd(f"more than {MAX_FILE >> 30} GiB")
        self.tell = file.tell

    def read(self, n: int) -> bytes:
        """Read so many bytes, or those that are left."""
        if n > MAX_BYTES:
            raise _Odd(f"a piece of more than {MAX_BYTES >> 20} MiB")
        return self._file.read(n if n <= LONG else min(n, self._size - self.tell()))

    def readline(self) -> bytes:
        """Read a line of few bytes; what is longer is cut."""
        return self._file.readline(LONG)


def _followed(data: bytes | _Bounded, kept: Callable[[Any, int], Any], most: int) -> Any:
    """Follow the instructions; pickletools checks lengths before it reads."""
    stack: list[Any] = []
    memo: list[Any] = []
    marks: list[int] = []
    given: Any
    for n, (step, given, place) in enumerate(pickletools.genops(cast("BinaryIO", data)), 1):
        if n > most:
            raise _Odd(f"refused: more than {most:,} instructions")
        match step.name:
            case "MEMOIZE":
                memo.append(stack[-1])
            case "BINPUT" | "LONG_BINPUT" if given == len(memo):  # they come in order
                memo.append(stack[-1])
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[given])
            case "MARK":
                marks.append(len(stack))
            case "STOP":
                return stack.pop()
            case "PROTO" | "FRAME":
                pass
            case name if name in _PLAIN:
                stack.append(kept(_PLAIN[name](given), (place or 0) + _WIDTH.get(name, 0)))
            case name if name in _OF_MARK:
                start = marks.pop()
                parts = stack[start:]
                del stack[start:]
                _OF_MARK[name](stack, parts)
            case name if name in _OF_TOP:
                size, made = _OF_TOP[name]
                parts = stack[-size:]
                if len(parts) < size:
                    raise _Odd(f"nothing there at byte {place}")
                del stack[-size:]
                stack.append(made(*parts))
            case name:
                raise _Odd(f"refused: instruction {name} at byte {place}")
    raise _Odd("no end")


def _named(module: Any, name: Any) -> _Name:
    if not (isinstance(module, str) and isinstance(name, str)):
        raise _Odd("a name that is no text")
    whole = f"{module}.{name}"
    if whole not in _NAMES:
        raise _Odd(f"refused: it asks for {whole[:_SHOWN]}")
    return _Name(whole)


def _made(maker: Any, given: Any) -> _Held:
    if not isinstance(maker, _Name):
        raise _Odd("refused: it calls what is no name")
    return _Held(maker.name, given)


def _built(held: Any, state: Any) -> _Held:
    if not isinstance(held, _Held):
        raise _Odd("refused: it changes what it has not made")
    held.state = state
    return held


def _longer(stack: list[Any], parts: list[Any]) -> None:
    _list(stack[-1]).extend(parts)


def _list(target: Any) -> list[Any]:
    if not isinstance(target, list):
        raise _Odd("it appends to what is no list")
    return target


def _appended(target: Any, part: Any) -> list[Any]:
    _list(target).append(part)
    return _list(target)


def _filled(stack: list[Any], parts: list[Any]) -> None:
    for key, value in zip(parts[::2], parts[1::2], strict=True):
        _set(stack[-1], key, value)


def _set(target: Any, key: Any, value: Any) -> dict[str, Any]:
    # to hash a tuple of tuples can take for ever
    if not (isinstance(target, dict) and isinstance(key, str)):
        raise _Odd("it sets what is no dictionary of texts")
    target[key] = value
    return target


_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT",
         "BINBYTES", "SHORT_BINBYTES", "NONE"), lambda given: given,
    ),
    "NEWTRUE": lambda _: True, "NEWFALSE": lambda _: False, "EMPTY_LIST": lambda _: [],
    "EMPTY_DICT": lambda _: {}, "EMPTY_TUPLE": lambda _: (),
}  # fmt: skip
_WIDTH = {"BINUNICODE": 5}  # of an instruction and its length; other texts are short
_OF_MARK: Mapping[str, Callable[[list[Any], list[Any]], None]] = {
    "APPENDS": _longer, "SETITEMS": _filled,
    "TUPLE": lambda stack, parts: stack.append(tuple(parts)),
}  # fmt: skip
_OF_TOP: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "TUPLE1": (1, lambda *parts: parts), "TUPLE2": (2, lambda *parts: parts),
    "TUPLE3": (3, lambda *parts: parts), "STACK_GLOBAL": (2, _named), "NEWOBJ": (2, _made),
    "REDUCE": (2, _made), "BUILD": (2, _built), "APPEND": (2, _appended), "SETITEM": (3, _set),
}  # fmt: skip


# --- from what was held to values -------------------------------------------------------
# nothing of a file is printed or compared before its type is known: lists that hold each other
# many times over are small until somebody writes them out


def _columns(frame: Any, wanted: Sequence[str]) -> dict[str, Column]:
    """Put the columns together from the manager's blocks: axes, values and names of each."""
    manager = _kind(_kind(frame, "DataFrame").state["_data"], "BlockManager")
    axes, blocks, names = manager.state[:3]
    labels, rows = (_axis(axis) for axis in axes)
    if max(len(blocks), len(labels)) > MOST_COLUMNS:
        raise _Odd(f"more than {MOST_COLUMNS} columns")
    found: dict[str, Column] = {}
    for block, name in zip(blocks, names, strict=True):
        values, mine = _array(block), _axis(name)
        if values.shape != (len(mine), len(rows)):
            raise _Odd(f"a block has the shape {values.shape}, not {(len(mine), len(rows))}")
        found.update(zip(map(_text, mine), values, strict=True))
    if set(found) != set(map(_text, labels)):
        raise _Odd("its blocks do not hold the columns that it names")
    if lacking := [name for name in wanted if name not in found]:
        raise _Odd(f"no column {', '.join(lacking)}")
    return {name: found[name] for name in wanted}


def _rows(found: list[Any]) -> list[dict[str, Any]]:
    """Return what is a list of dictionaries, the numbers in them made plain where they stand."""
    seen: dict[int, int] = {}
    for n, row in enumerate(found):
        if not isinstance(row, dict):
            raise _Odd(f"row {n} is no dictionary")
        # a file of a few bytes can say one row a million times
        if (before := seen.setdefault(id(row), n)) != n:
            raise _Odd(f"row {n} is row {before} once more, not one of its own")
        if len(row) > MOST_COLUMNS:
            raise _Odd(f"row {n} has {len(row):,} names; at most {MOST_COLUMNS} are read")
        for name, value in row.items():
            row[name] = _number(value)
    return found


def _number(value: Any) -> Any:
    """Return a value; of a number of numpy the plain one."""
    if not (isinstance(value, _Held) and value.name.endswith(".scalar")):
        return value
    dtype, data = value.given
    name = _kind(dtype, "dtype").given[0]
    if name not in _NUMBERS:
        raise _Odd("a number of another kind")
    (found,) = np.frombuffer(data, dtype=np.dtype(name).newbyteorder("<")).tolist()
    return found


def _kind(held: Any, name: str) -> _Held:
    if not isinstance(held, _Held) or held.name.rpartition(".")[2] != name:
        found = held.name if isinstance(held, _Held) else type(held).__name__
        raise _Odd(f"not a pickled table: {found} where {name} should be")
    return held


def _text(label: Any) -> str:
    if not isinstance(label, str):
        raise _Odd(f"a column's name is no text but {type(label).__name__}")
    return label


def _axis(index: Any) -> np.ndarray[Any, Any]:
    array = _array(_kind(index, "_new_Index").given[1]["data"])
    if array.ndim != 1:
        raise _Odd(f"an axis of {array.ndim} dimensions")
    return array


def _array(held: Any) -> np.ndarray[Any, Any]:
    """Return an array of what it holds: version, shape, type, whether by columns, and values."""
    _, shape, dtype, by_columns, values = _kind(held, "_reconstruct").state
    name = _kind(dtype, "dtype").given[0]
    if not isinstance(name, str) or name not in (*_NUMBERS, "O8"):
        raise _Odd("an array of something else than numbers and texts")
    if not (isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)):
        raise _Odd("an array without a shape")
    if name in _NUMBERS:
        flat = np.frombuffer(values, dtype=np.dtype(name).newbyteorder("<"))
    elif isinstance(values, list) and all(type(value) is str for value in values):
        flat = np.array(values, dtype=object)
    else:
        raise _Odd("an array of objects that are no texts")
    return flat.reshape(shape, order="F" if by_columns else "C")
