"""Parquet files: hostile, damaged or of other columns, they are told by name; none is trusted."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolmark.core.errors import DataError
from toolmark.suites.multinet import step_parquet

ROWS: dict[str, list[Any]] = {
    "id": ["a", "b"], "group": ["g", "g"], "step": [0, 1], "image": [b"x", None],
    "text": ["go", None], "answer": [None, None], "action": [[1.0, 2.0], None],
    "is_last": [False, True], "extras": ["{}", None],
}  # fmt: skip
TYPES = pa.schema(
    [("id", pa.large_string()), ("group", pa.string()), ("step", pa.int32()),
     ("image", pa.large_binary()), ("text", pa.string()), ("answer", pa.string()),
     ("action", pa.list_(pa.float32())), ("is_last", pa.bool_()), ("extras", pa.string())]
)  # fmt: skip


def written(path: Path, changed: dict[str, Any] | None = None, **more: Any) -> Path:
    collected = {**ROWS, **(changed or {})}
    kinds = [(name, TYPES.field(name).type) for name in collected if name in TYPES.names]
    saved = {name: values for name, values in collected.items() if values is not None}
    schema = pa.schema([kind for kind in kinds if kind[0] in saved])
    pq.write_table(pa.table(saved, schema), path, **more)
    return path


def test_what_is_null_is_empty(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet")
    first, second = step_parquet.read_rows(path)
    assert (first.action, first.text, first.extras) == ((1.0, 2.0), "go", "{}")
    assert (second.action, second.text, second.answer, second.is_last) == ((), "", "", True)
    assert (step_parquet.read_picture(path, 0), step_parquet.read_picture(path, 1)) == (b"x", b"")
    with pytest.raises(DataError, match="no row 2"):
        step_parquet.read_picture(path, 2)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"extras": ["[]", ""]}, "row 0: extras is not a JSON object"),
        ({"extras": ["{}", "{" * 300]}, "row 1: extras: "),
        ({"id": ["a", None]}, "row 1: id, group, step or is_last is empty"),
        ({"action": [[1.0, None], []]}, "row 0: an empty number"),
        ({"text": None, "is_last": None}, "no column text, is_last"),
    ],
)
def test_bad_rows_are_reported_with_their_number(
    tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    with pytest.raises(DataError, match=f"a.parquet: {why}"):
        list(step_parquet.read_rows(written(tmp_path / "a.parquet", changed)))


def test_answer_and_extras_may_be_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"answer": None, "extras": None})
    assert [(row.answer, row.extras, row.step) for row in step_parquet.read_rows(path)] == [
        ("", "{}", 0), ("", "{}", 1),
    ]  # fmt: skip


def test_a_row_without_a_name_is_called_by_group_and_step(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"id": None})
    assert [row.id for row in step_parquet.read_rows(path)] == ["g-0000", "g-0001"]


@pytest.mark.parametrize("most", [0, step_parquet._MAX_CACHED_BYTES])
def test_pictures_are_those_of_their_rows_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(step_parquet, "_MAX_CACHED_BYTES", most)
    n = 50
    collected = {name: values[:1] * n for name, values in ROWS.items()}
    path = written(tmp_path / "a.parquet", {**collected, "image": [b"%d" % k for k in range(n)]},
                   row_group_size=7)  # fmt: skip
    for k in (*range(n), *range(n)[::-3]):
        assert step_parquet.read_picture(path, k) == b"%d" % k
    written(path, {**collected, "image": [b"x%d" % k for k in range(n)]}, row_group_size=7)
    assert step_parquet.read_picture(path, 1) == b"x1", "a file that changed is read again"


def test_other_types_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({**ROWS, "answer": ["", ""], "step": ["0", "1"], "action": [[1], [2]]}), path
    )
    with pytest.raises(DataError, match="step is string, action is list"):
        list(step_parquet.read_rows(path))


def test_a_text_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", compression="none", use_dictionary=False)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"go", b"\xff\xfe"))
    with pytest.raises(DataError, match="cannot read as Parquet"):
        list(step_parquet.read_rows(path))


def test_a_row_group_beyond_the_limits_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few kB may stand for millions of rows of the same."""
    monkeypatch.setattr(step_parquet, "MAX_ROW_GROUP_VALUES", 1000)
    n = step_parquet.MAX_ROW_GROUP_VALUES + 1
    path = written(
        tmp_path / "a.parquet",
        {name: pa.array(values[:1] * n, TYPES.field(name).type) for name, values in ROWS.items()},
        row_group_size=n,
    )
    with pytest.raises(DataError, match="row group 0"):
        next(step_parquet.read_rows(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(data=st.data())
def test_changed_bytes_and_cuts_do_no_more_than_be_refused(
    tmp_path: Path, data: st.DataObject
) -> None:
    path = written(tmp_path / "a.parquet", write_page_checksum=True)
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with suppress(DataError):
        list(step_parquet.read_rows(path))
        step_parquet.read_picture(path, 0)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").write_bytes(b"")
    for name in ("pipe", "nothing", "empty", "."):
        with pytest.raises(DataError, match=re.escape(str(tmp_path / name))):
            list(step_parquet.read_rows(tmp_path / name))


def test_a_text_that_rows_repeat_is_stored_once(tmp_path: Path) -> None:
    """A few kB may stand for gigabytes, were every row to have a copy of its own."""
    n = 3000
    collected = {name: values[:1] * n for name, values in ROWS.items()}
    collected |= {"text": ["go" * 500, None, "stop"] * 1000, "extras": ["{}", '{"a": 1}'] * 1500}
    found = list(step_parquet.read_rows(written(tmp_path / "a.parquet", collected)))
    assert [row.text for row in found] == [text or "" for text in collected["text"]]
    assert [row.extras for row in found] == collected["extras"]
    for name in ("text", "group", "extras"):
        reported = [getattr(row, name) for row in found]
        assert len({*map(id, reported)}) == len({*reported}), name


@pytest.mark.parametrize(
    ("limit", "most", "why"),
    [
        ("MAX_TEXT_BYTES", 9, "a text of more than 9 bytes as text"),
        ("MAX_FILE_TEXT_CHARS", 200, "texts of more than 0 MB; write several files"),
        ("MAX_FILE_VALUES", 39, "more than 39 values in a column; write more files"),
    ],
)
def test_what_a_file_may_hold_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, why: str
) -> None:
    collected = {name: values[:1] * 20 for name, values in ROWS.items()}
    texts = {"text": [f"text {k:05}" for k in range(20)]}
    path = written(tmp_path / "a.parquet", collected | texts,
                   row_group_size=5)  # fmt: skip
    assert len(list(step_parquet.read_rows(path))) == 20
    monkeypatch.setattr(step_parquet, limit, most)
    with pytest.raises(DataError, match=why):
        list(step_parquet.read_rows(path))


@pytest.mark.parametrize("saved", [True, False])
def test_how_a_column_is_laid_out_makes_no_difference(tmp_path: Path, saved: bool) -> None:
    """Others' tools write categories, views, lists of a fixed size."""
    plain = written(tmp_path / "a.parquet", {"action": [[1.0, 2.0], [3.0, 4.0]]})
    table = pq.read_table(plain)
    for kind, name in (
        (pa.dictionary(pa.int32(), pa.string()), "text"),
        (pa.dictionary(pa.int8(), pa.large_string()), "extras"),
        (pa.string_view(), "group"),
        (pa.binary_view(), "image"),
        (pa.list_(pa.float32(), 2), "action"),
    ):
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.array(table.column(name).to_pylist(), kind))
    pq.write_table(table, tmp_path / "b.parquet", store_schema=saved)
    other = tmp_path / "b.parquet"
    assert list(step_parquet.read_rows(other)) == list(step_parquet.read_rows(plain))
    assert [step_parquet.read_picture(other, k) for k in range(2)] == [b"x", b""]
