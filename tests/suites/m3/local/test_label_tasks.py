"""Codes of the family `labels`: what the picture holds is what the reference looks up."""

from __future__ import annotations

import io
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import zxingcpp
from PIL import Image

from toolmark.suites.m3.local import workspace_state
from toolmark.suites.m3.local.families import label_tasks
from toolmark.suites.m3.local.server_configuration import DATABASE_FILE
from toolmark.suites.m3.local.task_item import TaskItem


@pytest.mark.parametrize("template", label_tasks.TEMPLATES)
@pytest.mark.parametrize("seed", range(8))
def test_the_code_is_read_and_looked_up(
    template: Callable[[random.Random], TaskItem], seed: int
) -> None:
    item = template(random.Random(seed))
    with Image.open(io.BytesIO(item.picture)) as picture:
        (found,) = zxingcpp.read_barcodes(picture)
    queries = [given.get("query", "") for step in item.steps[1:] for _, given in step]
    assert any(f"'{found.text}'" in query for query in queries)
    assert found.text not in item.question


@pytest.mark.parametrize("seed", range(20))
def test_what_is_lent_was_in_and_its_loan_comes_last(seed: int) -> None:
    item = label_tasks.lend_item(random.Random(seed))
    rows = item.expected_state["data.db"]["tables"]["loans"]["rows"]
    assert [row[0] for row in rows] == sorted({row[0] for row in rows})
    assert str(rows[-1][0]) == item.answer_parts[1]
    assert rows[-1][3] > max(row[3] for row in rows[:-1])


@pytest.mark.parametrize(
    ("columns", "right"),
    [("ean, supplier, pieces, batch", True), ("a, b, c, d", False),
     ("ean, supplier, batch, pieces", False)],
)  # fmt: skip
def test_a_table_of_other_columns_is_not_the_one_asked_for(
    columns: str, right: bool, tmp_path: Path
) -> None:
    item = label_tasks.recall_item(random.Random(4))
    (tmp_path / DATABASE_FILE).write_bytes(item.files[DATABASE_FILE])
    with closing(sqlite3.connect(tmp_path / DATABASE_FILE)) as link:
        link.execute(f"CREATE TABLE recalls ({columns})")
        for _, given in item.steps[-1]:
            named = given["query"].replace("(ean, supplier, pieces, batch) ", "")
            link.execute(named)
        link.commit()
    assert (
        workspace_state.find_differences(
            item.expected_state, workspace_state.take_snapshot(tmp_path)
        )
        == []
    ) is right
