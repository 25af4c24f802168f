"""Codes of the family `labels`: what the picture holds is what the reference looks up."""

from __future__ import annotations

import io
import random
from collections.abc import Callable

import pytest
import zxingcpp
from PIL import Image

from toolmark.suites.m3.local.families import labels
from toolmark.suites.m3.local.item import Item


@pytest.mark.parametrize("template", labels.TEMPLATES)
@pytest.mark.parametrize("seed", range(8))
def test_the_code_is_read_and_looked_up(
    template: Callable[[random.Random], Item], seed: int
) -> None:
    item = template(random.Random(seed))
    with Image.open(io.BytesIO(item.picture)) as picture:
        (found,) = zxingcpp.read_barcodes(picture)
    queries = [given.get("query", "") for step in item.steps[1:] for _, given in step]
    assert any(f"'{found.text}'" in query for query in queries)
    assert found.text not in item.question


@pytest.mark.parametrize("seed", range(20))
def test_what_is_lent_was_in_and_its_loan_comes_last(seed: int) -> None:
    item = labels.lend(random.Random(seed))
    rows = item.expects["data.db"]["tables"]["loans"]["rows"]
    assert [row[0] for row in rows] == sorted({row[0] for row in rows})
    assert str(rows[-1][0]) == item.answer[1]
    assert rows[-1][3] > max(row[3] for row in rows[:-1])
