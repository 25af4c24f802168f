"""Pickles put together instruction by instruction: tables as pandas wrote them, and attacks."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

Values = Sequence[str] | Sequence[float]

NONE, EMPTY, STOP = b"N", b")", b"."


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def raw(data: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(data)) + data


def name(module: str, attribute: str) -> bytes:
    return text(module) + text(attribute) + b"\x93"


def listed(*parts: bytes) -> bytes:
    return b"](" + b"".join(parts) + b"e"


def tied(*parts: bytes) -> bytes:
    return b"(" + b"".join(parts) + b"t"


def mapped(**parts: bytes) -> bytes:
    return b"}(" + b"".join(text(key) + value for key, value in parts.items()) + b"u"


def called(function: bytes, *given: bytes) -> bytes:
    return function + tied(*given) + b"R"


def built(collected: bytes, state: bytes) -> bytes:
    return collected + state + b"b"


def whole(body: bytes) -> bytes:
    return b"\x80\x04" + body + STOP


NDARRAY, DTYPE = name("numpy", "ndarray"), name("numpy", "dtype")


def array(values: bytes, kind: str, *shape: int) -> bytes:
    """Return an array; `values` is a list of objects, or bytes."""
    made = called(
        name("numpy.core.multiarray", "_reconstruct"), NDARRAY, tied(number(0)), raw(b"b")
    )
    dtype = called(DTYPE, text(kind), b"\x89", b"\x88")
    return built(made, tied(number(1), tied(*map(number, shape)), dtype, b"\x89", values))


def index(values: bytes, kind: str, n: int) -> bytes:
    made = name("pandas.core.indexes.base", "_new_Index")
    inner = mapped(data=array(values, kind, n), name=NONE)
    return called(made, name("pandas.core.indexes.base", "Index"), inner)


def labels(*names: str) -> bytes:
    return index(listed(*map(text, names)), "O8", len(names))


def row_labels(n: int) -> bytes:
    return index(raw(struct.pack(f"<{n}q", *range(n))), "i8", n)


def block(values: Values) -> bytes:
    """Return a block of one column."""
    if all(isinstance(value, str) for value in values):
        return array(listed(*(text(str(value)) for value in values)), "O8", 1, len(values))
    packed = struct.pack(f"<{len(values)}d", *map(float, values))
    return array(raw(packed), "f8", 1, len(values))


def frame(axes: bytes, blocks: bytes, names: bytes) -> bytes:
    manager = name("pandas.core.internals.managers", "BlockManager") + EMPTY + b"\x81"
    made = name("pandas.core.frame", "DataFrame") + EMPTY + b"\x81"
    return whole(built(made, mapped(_data=built(manager, tied(axes, blocks, names, NONE)))))


def table(columns: Mapping[str, Values]) -> bytes:
    """Return a pickled DataFrame of these columns."""
    n = len(next(iter(columns.values())))
    return frame(
        listed(labels(*columns), row_labels(n)),
        listed(*map(block, columns.values())),
        listed(*map(labels, columns)),
    )


def games(steps: int = 3, **changed: Any) -> dict[str, list[Any]]:
    """Return the columns of one short game; a changed column holds one value, or one per step."""
    kitchen = "['XXPXX', 'O  2O', 'X1  X', 'XDXSX']"
    state = (
        "{'players': [{'position': [1, 2], 'orientation': [0, -1]}, {'position': [3, 1], "
        "'orientation': [-1, 0], 'held_object': {'name': 'onion', 'position': [3, 1]}}], "
        "'objects': {'2,0': {'name': 'soup', 'position': [2, 0], 'state': ['onion', 3, 7]}, "
        "'0,0': {'name': 'dish', 'position': [0, 0]}}, 'order_list': ['onion']}"
    )
    columns: dict[str, Any] = {
        "layout_name": "cramped_room", "layout": kitchen, "workerid_num": 77.0, "run": "run-1",
        "round_num": 0.0, "cur_gameloop": [float(k) for k in range(steps)], "state": state,
        "joint_action": "[[0, 0], 'INTERACT']", "time_left": 180.0, "time_elapsed": 0.15,
        "score": 5.0, "reward": [5.0] + [0.0] * (steps - 1), **changed,
    }  # fmt: skip
    return {key: value if isinstance(value, list) else [value] * steps
            for key, value in columns.items()}  # fmt: skip
