"""A pickled table is read without running anything; whatever else the bytes are is refused."""

from __future__ import annotations

import os
import pickle
import resource
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.suites.multinet.overcooked import pickled_tables

from toolmark.core.errors import DataError
from toolmark.suites.multinet.overcooked import safe_unpickling

GOOD = pickled_tables.table({"a": ["x", "y"], "b": [1.5, 2.5]})


def read(folder: Path, data: bytes, *wanted: str) -> dict[str, list[object]]:
    path = folder / "some.pickle"
    path.write_bytes(data)
    found = safe_unpickling.read_table(path, wanted or ("a", "b"))
    return {name: list(values) for name, values in found.items()}


def test_the_columns_come_as_they_were_written(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD) == {"a": ["x", "y"], "b": [1.5, 2.5]}


class Attack:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("protocol", range(6))
def test_an_attack_is_refused_and_does_not_run(tmp_path: Path, protocol: int) -> None:
    mark = tmp_path / "ran"
    data = pickle.dumps(Attack(mark), protocol)
    with pytest.raises(DataError, match=r"some\.pickle: refused"):
        read(tmp_path, data)
    assert not mark.exists()
    pickle.loads(data)  # noqa: S301 - else the attack would prove nothing
    assert mark.exists()


@pytest.mark.parametrize(
    ("module", "attribute"),
    [
        ("os", "system"), ("builtins", "eval"), ("builtins", "getattr"), ("numpy", "load"),
        ("pandas.core.frame", "DataFrame.to_csv"), ("pandas", "read_pickle"), ("copyreg", "_x"),
        ("toolmark.suites.multinet.overcooked.safe_unpickling", "_Frame"), ("a" * 10_000, "b"),
    ],
)  # fmt: skip
def test_any_other_name_is_refused_and_reported(
    tmp_path: Path, module: str, attribute: str
) -> None:
    with pytest.raises(DataError, match=f"asks for {module[:20]}") as refused:
        read(tmp_path, pickled_tables.whole(pickled_tables.name(module, attribute)))
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("cut", [0, 1, 2, 40, len(GOOD) // 2, len(GOOD) - 1])
def test_a_file_that_is_cut_off_is_no_table(tmp_path: Path, cut: int) -> None:
    with pytest.raises(DataError, match=r"some\.pickle"):
        read(tmp_path, GOOD[:cut])


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=4))
def test_of_damaged_bytes_comes_a_table_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(GOOD)
    for place, value in changes:
        data[place] = value
    try:
        found = read(tmp_path_factory.getbasetemp(), bytes(data))
    except DataError:
        return
    assert set(found) == {"a", "b"}


def _doubled(depth: int, collected: Callable[..., bytes] = pickled_tables.listed) -> bytes:
    """Return a list that would hold 2 to the power of depth texts if it were written out."""
    if depth == 0:
        return pickled_tables.text("ha")
    return collected(_doubled(depth - 1, collected) + b"\x94", b"h" + bytes([depth - 1]))


LAUGHS = _doubled(40)
COLUMN = pickled_tables.listed(pickled_tables.text("x"), pickled_tables.text("y"))
BOMBS = {
    "a memo of 16 GiB": b"\x80\x04Nr\xff\xff\xff\x7f.",
    "bytes that are not there": b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"x.",
    "a text that is not there": b"\x80\x04X\xff\xff\xff\xff.",
    "a long number": b"\x80\x04\x8b\xff\xff\xff\x7f.",
    "lists in lists": b"\x80\x04" + b"]" * 1000 + b"a" * 999 + b".",
    "lists that hold each other": pickled_tables.whole(LAUGHS),
    "as a key": pickled_tables.whole(
        b"}" + _doubled(40, pickled_tables.tied) + pickled_tables.NONE + b"s"
    ),
    "as a name": pickled_tables.frame(
        pickled_tables.listed(
            pickled_tables.index(pickled_tables.listed(LAUGHS), "O8", 1),
            pickled_tables.row_labels(2),
        ),
        pickled_tables.listed(pickled_tables.block(["x", "y"])),
        pickled_tables.listed(pickled_tables.labels("a")),
    ),
    "as values": pickled_tables.frame(
        pickled_tables.listed(pickled_tables.labels("a"), pickled_tables.row_labels(2)),
        pickled_tables.listed(
            pickled_tables.array(
                pickled_tables.listed(LAUGHS, pickled_tables.text("y")), "O8", 1, 2
            )
        ),
        pickled_tables.listed(pickled_tables.labels("a")),
    ),
    "as bytes": pickled_tables.frame(
        pickled_tables.listed(pickled_tables.labels("a"), pickled_tables.row_labels(2)),
        pickled_tables.listed(pickled_tables.array(LAUGHS, "f8", 1, 2)),
        pickled_tables.listed(pickled_tables.labels("a")),
    ),
    "as a kind": pickled_tables.frame(
        pickled_tables.listed(pickled_tables.labels("a"), pickled_tables.row_labels(2)),
        pickled_tables.listed(
            pickled_tables.built(
                pickled_tables.called(
                    pickled_tables.name("numpy.core.multiarray", "_reconstruct"),
                    pickled_tables.NDARRAY,
                ),
                pickled_tables.tied(
                    pickled_tables.NONE,
                    pickled_tables.tied(),
                    pickled_tables.called(pickled_tables.DTYPE, LAUGHS),
                    b"\x89",
                    COLUMN,
                ),
            )
        ),
        pickled_tables.listed(pickled_tables.labels("a")),
    ),
    "a shape that is huge": pickled_tables.frame(
        pickled_tables.listed(pickled_tables.labels("a"), pickled_tables.row_labels(2)),
        pickled_tables.listed(pickled_tables.array(COLUMN, "O8", 2**31 - 1, 2**31 - 1)),
        pickled_tables.listed(pickled_tables.labels("a")),
    ),
}


@pytest.mark.parametrize("bomb", list(BOMBS))
def test_a_bomb_costs_no_memory(tmp_path: Path, bomb: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match=r"some\.pickle"):
        read(tmp_path, BOMBS[bomb])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


def test_a_file_has_a_size_and_a_number_of_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_unpickling, "MAX_INSTRUCTIONS", 100)
    with pytest.raises(DataError, match="more than 100 instructions"):
        read(tmp_path, GOOD)
    monkeypatch.setattr(safe_unpickling, "MAX_BYTES", 2**20)
    with pytest.raises(DataError, match="more than 1 MiB"):
        read(tmp_path, bytes(2**20 + 1))


OTHERS = {
    "a number": pickled_tables.whole(pickled_tables.number(1)),
    "an array": pickled_tables.whole(pickled_tables.array(COLUMN, "O8", 2)),
    "a frame without blocks": pickled_tables.whole(
        pickled_tables.name("pandas.core.frame", "DataFrame") + b")\x81"
    ),
    "a block of another length": pickled_tables.frame(
        pickled_tables.listed(pickled_tables.labels("a"), pickled_tables.row_labels(3)),
        pickled_tables.listed(pickled_tables.block(["x"])),
        pickled_tables.listed(pickled_tables.labels("a")),
    ),
    "fewer blocks than names": pickled_tables.frame(
        pickled_tables.listed(pickled_tables.labels("a", "b"), pickled_tables.row_labels(1)),
        pickled_tables.listed(pickled_tables.block(["x"])),
        pickled_tables.listed(pickled_tables.labels("a")),
    ),
    "an array of another kind": pickled_tables.frame(
        pickled_tables.listed(pickled_tables.labels("a"), pickled_tables.row_labels(1)),
        pickled_tables.listed(pickled_tables.array(pickled_tables.raw(bytes(16)), "c16", 1, 1)),
        pickled_tables.listed(pickled_tables.labels("a")),
    ),
    "too few bytes": pickled_tables.frame(
        pickled_tables.listed(pickled_tables.labels("a"), pickled_tables.row_labels(2)),
        pickled_tables.listed(pickled_tables.array(pickled_tables.raw(bytes(8)), "f8", 1, 2)),
        pickled_tables.listed(pickled_tables.labels("a")),
    ),
    "a class that is built": pickled_tables.whole(
        pickled_tables.built(
            pickled_tables.name("numpy", "dtype"),
            pickled_tables.tied(
                pickled_tables.NONE, pickled_tables.mapped(given=pickled_tables.number(1))
            ),
        )
    ),
}


@pytest.mark.parametrize("other", list(OTHERS))
def test_another_shape_is_no_table(tmp_path: Path, other: str) -> None:
    with pytest.raises(DataError, match=r"some\.pickle"):
        read(tmp_path, OTHERS[other], "a")
    assert read(tmp_path, GOOD)["a"] == ["x", "y"]  # nothing of it stayed behind


def test_a_column_that_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column c, d"):
        read(tmp_path, GOOD, "a", "c", "d")


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.pickle"):
        safe_unpickling.read_table(tmp_path / "none.pickle", ())


def records(folder: Path, data: bytes) -> list[dict[str, object]]:
    path = folder / "some.pickle"
    path.write_bytes(data)
    return safe_unpickling.read_records(path)


def test_a_row_that_is_named_again_and_again_is_refused(tmp_path: Path) -> None:
    """Two bytes would stand for a dictionary each time: 200 kB for gigabytes."""
    row = (
        b"}\x94("
        + b"".join(pickled_tables.text(f"{k}") + pickled_tables.NONE for k in range(60))
        + b"u"
    )
    assert len(records(tmp_path, pickled_tables.whole(b"](" + row + b"e"))[0]) == 60
    with pytest.raises(DataError, match=r"row 1.*row 0"):
        records(tmp_path, pickled_tables.whole(b"](" + row + b"h\0" * 20_000 + b"e"))


def test_names_in_a_row_are_bounded(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 0.*65.*64"):
        records(tmp_path, pickle.dumps([{str(k): 0 for k in range(65)}]))
    with pytest.raises(DataError, match="more than 64 columns"):
        read(tmp_path, pickled_tables.table({f"c{k}": [1.0] for k in range(65)}), "c0")
