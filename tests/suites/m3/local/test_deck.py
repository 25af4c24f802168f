"""Slides of the family `deck`: the rest of a presentation stays as it was."""

from __future__ import annotations

import io
import random
import re

import pytest
from pptx import Presentation

from toolmark.suites.m3.local.families import deck
from toolmark.suites.m3.local.item import Item, Template


def before(item: Item) -> list[list[str]]:
    ((_, held),) = item.files.items()
    return [
        [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
        for slide in Presentation(io.BytesIO(held)).slides
    ]


@pytest.mark.parametrize("template", deck.TEMPLATES)
@pytest.mark.parametrize("seed", range(8))
def test_one_slide_changes_or_comes(template: Template, seed: int) -> None:
    item = template(random.Random(seed))
    old = before(item)
    ((_, wanted),) = item.expects.items()
    new = wanted["slides"]
    same = sum(one == other for one, other in zip(old, new, strict=False))
    assert same == len(new) - 1
    assert len({title for title, *_ in new}) == len(new)  # a title leads to one slide alone


@pytest.mark.parametrize("seed", range(20))
def test_the_change_has_a_sign_and_one_decimal(seed: int) -> None:
    item = deck.growth(random.Random(seed))
    line = item.expects["review.pptx"]["slides"][-1][1].splitlines()[0]
    assert re.fullmatch(r"Change: [+-]\d+\.\d %", line)
    assert item.answer[0] in line
