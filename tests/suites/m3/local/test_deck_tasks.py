"""Slides of the family `deck`: the rest of a presentation stays as it was."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from PIL import Image
from pptx import Presentation
from pptx.util import Inches
from tests.suites.m3.local.made_items import make_item

from toolmark.suites.m3.local import workspace_state
from toolmark.suites.m3.local.families import deck_tasks
from toolmark.suites.m3.local.task_item import TaskItem, Template


def before(item: TaskItem) -> list[list[str]]:
    ((_, collected),) = item.files.items()
    return [
        [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
        for slide in Presentation(io.BytesIO(collected)).slides
    ]


@pytest.mark.parametrize("template", deck_tasks.TEMPLATES)
@pytest.mark.parametrize("seed", range(8))
def test_one_slide_changes_or_comes(template: Template, seed: int) -> None:
    item = make_item(template, seed)
    old = before(item)
    ((_, wanted),) = item.expected_state.items()
    new = wanted["slides"]
    same = sum(one == other for one, other in zip(old, new, strict=False))
    assert same == len(new) - 1
    assert len({title for title, *_ in new}) == len(new)  # a title leads to one slide alone


@pytest.mark.parametrize("seed", range(20))
def test_the_change_has_a_sign_and_one_decimal(seed: int) -> None:
    item = make_item(deck_tasks.growth_item, seed)
    line = item.expected_state["review.pptx"]["slides"][-1][1].splitlines()[0]
    assert re.fullmatch(r"Change: [+-]\d+\.\d %", line)
    assert item.answer_parts[0] in line


def test_only_the_very_picture_at_its_width_is_the_exhibit(tmp_path: Path) -> None:
    item = make_item(deck_tasks.exhibit_item, 3)
    dot = io.BytesIO()
    Image.new("RGB", (3, 3)).save(dot, "PNG")

    def wrong(picture: bytes, wide: float) -> list[str]:
        made = Presentation(io.BytesIO(item.files["atlas.pptx"]))
        wanted = item.expected_state["atlas.pptx"]
        for slide, texts, placed in zip(
            made.slides, wanted["slides"], wanted["placed"], strict=True
        ):
            slide.placeholders[1].text = texts[1]
            if placed:
                slide.shapes.add_picture(io.BytesIO(picture), 0, 0, width=Inches(wide))
        made.save(str(tmp_path / "atlas.pptx"))
        return workspace_state.find_differences(
            item.expected_state, workspace_state.take_snapshot(tmp_path)
        )

    assert wrong(item.picture, 4) == []
    assert wrong(item.picture, 3.5)
    assert wrong(dot.getvalue(), 4)
    assert wrong(dot.getvalue(), 0.1)
