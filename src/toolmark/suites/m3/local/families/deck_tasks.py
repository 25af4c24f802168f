"""Slides and charts for a presentation: powerpoint, calculator."""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from PIL import Image

from toolmark.suites.m3.local import office_files, pictures
from toolmark.suites.m3.local.families import invented_names
from toolmark.suites.m3.local.families.exact_rounding import round_half_up, rounds_uniquely
from toolmark.suites.m3.local.families.family_words import family_words, write_question
from toolmark.suites.m3.local.task_item import Arguments, TaskItem, Template

Slides = list[tuple[str, list[str]]]

_CALCULATE = "calculator/calculate"
_PRESENTATION_ID = "deck"


def growth_item(rng: random.Random) -> TaskItem:
    """Summarise a chart on a new last slide: its change and its mean."""
    old, (town,) = _random_slides(rng), invented_names.random_towns(rng, 1)
    what, unit = rng.choice(family_words().measured_things)
    labels = rng.choice(family_words().periods)
    values, change, mean = _random_series(rng, len(labels))
    title = f"{what} in {town}"
    points = [f"Change: {change:+} %", f"Mean: {mean} {unit}"]
    first, last = values[0], values[-1]
    return TaskItem(
        template="growth",
        question=write_question("deck", "growth", unit=unit),
        picture=_draw_chart(rng, title, labels, values, unit),
        picture_name="chart.png",
        files={"review.pptx": office_files.make_presentation(old)},
        steps=(
            (
                _open_presentation("review"),
                (_CALCULATE, {"expression": f"100*({last}-{first})/{first}"}),
                (_CALCULATE, {"expression": f"({_sum_expression(values)})/{len(values)}"}),
            ),
            (_powerpoint_call("add_slide", layout_index=1, title=title),),
            (_add_points(len(old), points),),
            (_save_presentation("review"),),
        ),
        expected_state=_expect_slides("review", [*old, (title, points)]),
        answer_form="change in per cent, with its sign",
        answer_parts=(f"{change:+}",),
    )


def budget_item(rng: random.Random) -> TaskItem:
    """Update a slide to match a photo of it, and add the sum of its lines."""
    slides = _random_slides(rng, 5)
    event = rng.choice(family_words().events)
    title = f"{event}: costs"
    costs = {
        name: rng.randint(35, 640) for name in rng.sample(family_words().costs, rng.randint(3, 5))
    }
    at = rng.randrange(1, len(slides))
    slides[at] = (title, [f"{name}: to be agreed" for name in rng.sample(family_words().costs, 3)])
    lines = [f"{name}: {n} crowns" for name, n in costs.items()]
    total = sum(costs.values())
    points = [*lines, f"Total: {total} crowns"]
    after = [(title, points) if index == at else slide for index, slide in enumerate(slides)]
    return TaskItem(
        template="budget",
        question=write_question("deck", "budget"),
        picture=pictures.draw_slide(rng, title=title, bullets=lines),
        picture_name="slide.png",
        files={"plans.pptx": office_files.make_presentation(slides)},
        steps=(
            (
                _open_presentation("plans"),
                (_CALCULATE, {"expression": _sum_expression(list(costs.values()))}),
            ),
            (_powerpoint_call("extract_presentation_text"),),
            (_add_points(at, points),),
            (_save_presentation("plans"),),
        ),
        expected_state=_expect_slides("plans", after),
        answer_form="number of the slide, total",
        answer_parts=(str(at + 1), str(total)),
    )


def exhibit_item(rng: random.Random) -> TaskItem:
    """Place a chart on the slide of its town, with its sum."""
    towns = invented_names.random_towns(rng, rng.randint(5, 7))
    what, unit = rng.choice(family_words().measured_things)
    labels = rng.choice(family_words().periods)
    values = [rng.randint(21, 190) for _ in labels]
    slides: Slides = [(town, ["No figures yet"]) for town in towns]
    at = rng.randrange(1, len(towns))
    points = [f"Total: {sum(values)} {unit}"]
    after = [(town, points if index == at else old) for index, (town, old) in enumerate(slides)]
    image_arguments = {"operation": "add", "image_source": "/workspace/images/figure.png"}
    position = {"left": 5.5, "top": 3.5, "width": 4.0}
    picture = _draw_chart(rng, f"{what} in {towns[at]}", labels, values, unit)
    expected_picture = {
        "sha256": hashlib.sha256(picture).hexdigest(),
        # The task does not state the height, so it may differ a little from the picture's ratio.
        "size_in": [
            {"near": 4, "within": 0.02},
            {"near": 4 * _height_ratio(picture), "within": 0.5},
        ],
    }
    placed = [[expected_picture] if index == at else [] for index in range(len(towns))]
    return TaskItem(
        template="exhibit",
        question=write_question("deck", "exhibit", unit=unit),
        picture=picture,
        picture_name="figure.png",
        files={"atlas.pptx": office_files.make_presentation(slides)},
        steps=(
            (_open_presentation("atlas"), (_CALCULATE, {"expression": _sum_expression(values)})),
            (_powerpoint_call("extract_presentation_text"),),
            (
                _powerpoint_call("manage_image", slide_index=at, **image_arguments, **position),
                _add_points(at, points),
            ),
            (_save_presentation("atlas"),),
        ),
        expected_state={
            "atlas.pptx": {**_expect_slides("atlas", after)["atlas.pptx"], "placed": placed}
        },
        answer_form="town, total",
        answer_parts=(towns[at], str(sum(values))),
        wrong_values=tuple(towns),
    )


def _random_series(rng: random.Random, n: int) -> tuple[list[int], Decimal, Decimal]:
    """Return values, their change in per cent and their mean; both round in one way only."""
    while True:
        values = [rng.randint(21, 190) for _ in range(n)]
        change = Fraction(100 * (values[-1] - values[0]), values[0])
        mean = Fraction(sum(values), n)
        if abs(change) > 1 and rounds_uniquely(change, 1) and rounds_uniquely(mean, 1):
            return values, round_half_up(change, 1), round_half_up(mean, 1)


def _random_slides(rng: random.Random, n: int = 0) -> Slides:
    """Return slides on towns; no two have the same title."""
    towns = invented_names.random_towns(rng, n or rng.randint(2, 5))
    return [
        (f"News from {town}", invented_names.random_goods(rng, rng.randint(2, 3))) for town in towns
    ]


def _draw_chart(
    rng: random.Random, title: str, labels: Sequence[str], values: Sequence[int], unit: str
) -> bytes:
    kind: Literal["bar", "line"] = rng.choice(("bar", "line"))
    return pictures.draw_chart(rng, title=title, labels=labels, values=values, unit=unit, kind=kind)


def _height_ratio(picture: bytes) -> float:
    """Return the height of a picture as a share of its width."""
    with Image.open(io.BytesIO(picture)) as shown:
        return shown.height / shown.width


def _sum_expression(values: Sequence[int]) -> str:
    return "+".join(map(str, values))


def _powerpoint_call(tool: str, **arguments: Any) -> tuple[str, Arguments]:
    return f"powerpoint/{tool}", {**arguments, "presentation_id": _PRESENTATION_ID}


def _open_presentation(name: str) -> tuple[str, Arguments]:
    return "powerpoint/open_presentation", {
        "file_path": f"/workspace/{name}.pptx",
        "id": _PRESENTATION_ID,
    }


def _save_presentation(name: str) -> tuple[str, Arguments]:
    return _powerpoint_call("save_presentation", file_path=f"/workspace/{name}.pptx")


def _add_points(at: int, points: Sequence[str]) -> tuple[str, Arguments]:
    return _powerpoint_call(
        "add_bullet_points", slide_index=at, placeholder_idx=1, bullet_points=list(points)
    )


def _expect_slides(name: str, slides: Slides) -> dict[str, Any]:
    """Return the expectation for a presentation with exactly these slides."""
    return {f"{name}.pptx": {"slides": [[title, "\n".join(points)] for title, points in slides]}}


TEMPLATES: tuple[Template, ...] = (growth_item, budget_item, exhibit_item)
