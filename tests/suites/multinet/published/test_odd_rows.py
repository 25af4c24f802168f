"""Whatever stands in a stranger's row: it is a row that can be kept, or a bad row."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.suites.multinet.published import layouts

from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.suites.multinet.loaded_rows import LoadedRows, natural_sort_key
from toolmark.suites.multinet.published import bfcl, odinw, piqa, sqa3d

LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUE = st.recursive(
    LEAF, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=4), part),
    max_leaves=6,
)  # fmt: skip


def _piqa(home: Path, change: Callable[[Any], None]) -> LoadedRows:
    rows = layouts.piqa(4)
    change(rows)
    layouts.lines(home / "x.jsonl", rows)
    return piqa.rows(home, split="test", seed=0)


def _sqa3d(home: Path, change: Callable[[Any], None]) -> LoadedRows:
    layouts.sqa3d(home)
    path = home / "sqa3d/public/v1_balanced_questions_test_scannetv2.json"
    collected = json_codec.parse_json(path.read_text())
    change(collected["questions"])
    layouts.value(path, collected)
    return sqa3d.rows(home, split="test", seed=0)


def _odinw(home: Path, change: Callable[[Any], None]) -> LoadedRows:
    rows = layouts.subset(home / "mine")
    change(rows)
    layouts.value(home / "mine/object_caption_pairs.json", rows)
    return odinw.rows(home, split="test", seed=0)


def _bfcl(home: Path, change: Callable[[Any], None]) -> LoadedRows:
    asked, reported = layouts.bfcl(4)
    change(asked)
    layouts.lines(home / "questions.jsonl", asked)
    layouts.lines(home / "answers.jsonl", reported)
    return bfcl.rows(home, split="test", seed=0)


@pytest.mark.parametrize("read", [_piqa, _sqa3d, _odinw, _bfcl])
@settings(max_examples=40, deadline=None)
@given(at=st.integers(0, 3), field=st.integers(0, 20), value=VALUE)
def test_a_row_is_read_or_reported(
    tmp_path_factory: pytest.TempPathFactory,
    read: Callable[[Path, Callable[[Any], None]], LoadedRows],
    at: int,
    field: int,
    value: Any,
) -> None:
    def change(rows: Any) -> None:
        row = rows[at] = copy.deepcopy(rows[at])
        row[sorted(row)[field % len(row)]] = value

    try:
        collected = read(tmp_path_factory.mktemp("odd"), change)
    except DataError as error:
        assert any(
            word in str(error) for word in ("bad row", "id or group", "without a question", "JSON")
        )
        return
    assert len(collected) in (4, 5)
    for frame in collected:
        json_codec.encode_record(frame)


@given(st.lists(st.text(max_size=6), max_size=8))
def test_ids_have_one_order(ids: list[str]) -> None:
    assert sorted(ids, key=natural_sort_key) == sorted(ids[::-1], key=natural_sort_key)
    numbers = [str(k) for k in range(0, 200, 7)]
    assert sorted(sorted(numbers), key=natural_sort_key) == numbers
