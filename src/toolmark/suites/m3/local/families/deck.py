"""Slides and charts that must go into a presentation: powerpoint, calculator."""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from PIL import Image

from toolmark.suites.m3.local import files, scenes
from toolmark.suites.m3.local.families import words
from toolmark.suites.m3.local.families.numbers import clear, rounded
from toolmark.suites.m3.local.item import Arguments, Item, Template

Slides = list[tuple[str, list[str]]]

_CALCULATE = "calculator/calculate"
_ID = "deck"
_THINGS = (("Visitors", "people"), ("Harvest", "tonnes"), ("Loans", "books"), ("Trips", "rides"))
_PERIODS = (
    ("Q1", "Q2", "Q3", "Q4"),
    ("Mon", "Tue", "Wed", "Thu", "Fri"),
    ("May", "June", "July", "August", "September"),
)
_COSTS = ("Hall", "Music", "Posters", "Tents", "Lights", "Prizes", "Drinks", "Insurance", "Stage")
_EVENTS = ("Summer fair", "Harvest supper", "Lantern night", "Book market", "River day")

_GROWTH = (
    "Please put the gist of this chart on a new slide at the end of review.pptx and save the file "
    "under the same name. Its title is that of the chart, without the unit; it has two bullet "
    "points, Change and Mean: the change from the first to the last value in per cent with its "
    "sign, and the mean of all values, each with one decimal, exactly in the form\n"
    "Change: +1.2 %\nMean: 3.4 {unit}\nTell me the change."
)
_BUDGET = (
    "We agreed on the slide in the photo. In plans.pptx the slide with that title still has other "
    "bullet points: please make them those of the photo, word for word and in that order, with one "
    "more at the end of the form\nTotal: 123 crowns\nwith what they come to. The other slides stay "
    "as they are; save the file under the same name. On which slide is it, counted from 1, and "
    "what is the total?"
)
_EXHIBIT = (
    "Each slide of atlas.pptx tells of one town. Please place this very picture on the slide of "
    "the town that it deals with, 4 inches wide, and make the slide's bullet points one single one "
    "of the form\nTotal: 123 {unit}\nwith the sum of what the picture shows. Save the file under "
    "the same name. Which town is it, and what is the total?"
)


def growth(rng: random.Random) -> Item:
    """Sum up a chart on a new last slide: its change and its mean."""
    old, (town,) = _slides(rng), words.towns(rng, 1)
    what, unit = rng.choice(_THINGS)
    labels = rng.choice(_PERIODS)
    values, change, mean = _course(rng, len(labels))
    title = f"{what} in {town}"
    points = [f"Change: {change:+} %", f"Mean: {mean} {unit}"]
    first, last = values[0], values[-1]
    return Item(
        template="growth",
        question=_GROWTH.format(unit=unit),
        picture=_drawn(rng, title, labels, values, unit),
        name="chart.png",
        files={"review.pptx": files.deck(old)},
        steps=(
            (
                _open("review"),
                (_CALCULATE, {"expression": f"100*({last}-{first})/{first}"}),
                (_CALCULATE, {"expression": f"({_plus(values)})/{len(values)}"}),
            ),
            (_do("add_slide", layout_index=1, title=title),),
            (_points(len(old), points),),
            (_save("review"),),
        ),
        expects=_shown("review", [*old, (title, points)]),
        form="change in per cent, with its sign",
        answer=(f"{change:+}",),
    )


def budget(rng: random.Random) -> Item:
    """Bring a slide in line with the photo of one, and add what its lines come to."""
    slides = _slides(rng, 5)
    event = rng.choice(_EVENTS)
    title = f"{event}: costs"
    costs = {name: rng.randint(35, 640) for name in rng.sample(_COSTS, rng.randint(3, 5))}
    at = rng.randrange(1, len(slides))
    slides[at] = (title, [f"{name}: to be agreed" for name in rng.sample(_COSTS, 3)])
    lines = [f"{name}: {n} crowns" for name, n in costs.items()]
    total = sum(costs.values())
    points = [*lines, f"Total: {total} crowns"]
    after = [(title, points) if index == at else slide for index, slide in enumerate(slides)]
    return Item(
        template="budget",
        question=_BUDGET,
        picture=scenes.slide(rng, title=title, bullets=lines),
        name="slide.png",
        files={"plans.pptx": files.deck(slides)},
        steps=(
            (_open("plans"), (_CALCULATE, {"expression": _plus(list(costs.values()))})),
            (_do("extract_presentation_text"),),
            (_points(at, points),),
            (_save("plans"),),
        ),
        expects=_shown("plans", after),
        form="number of the slide, total",
        answer=(str(at + 1), str(total)),
    )


def exhibit(rng: random.Random) -> Item:
    """Place a chart on the slide of the town it deals with, with its sum."""
    towns = words.towns(rng, rng.randint(5, 7))
    what, unit = rng.choice(_THINGS)
    labels = rng.choice(_PERIODS)
    values = [rng.randint(21, 190) for _ in labels]
    slides: Slides = [(town, ["No figures yet"]) for town in towns]
    at = rng.randrange(1, len(towns))
    points = [f"Total: {sum(values)} {unit}"]
    after = [(town, points if index == at else old) for index, (town, old) in enumerate(slides)]
    place = {"operation": "add", "image_source": "/workspace/images/figure.png"}
    spot = {"left": 5.5, "top": 3.5, "width": 4.0}
    picture = _drawn(rng, f"{what} in {towns[at]}", labels, values, unit)
    shown = {
        "sha256": hashlib.sha256(picture).hexdigest(),
        # of the height nothing is said, so it need not be quite that of the picture
        "size_in": [{"near": 4, "within": 0.02}, {"near": 4 * _ratio(picture), "within": 0.5}],
    }
    placed = [[shown] if index == at else [] for index in range(len(towns))]
    return Item(
        template="exhibit",
        question=_EXHIBIT.format(unit=unit),
        picture=picture,
        name="figure.png",
        files={"atlas.pptx": files.deck(slides)},
        steps=(
            (_open("atlas"), (_CALCULATE, {"expression": _plus(values)})),
            (_do("extract_presentation_text"),),
            (_do("manage_image", slide_index=at, **place, **spot), _points(at, points)),
            (_save("atlas"),),
        ),
        expects={"atlas.pptx": {**_shown("atlas", after)["atlas.pptx"], "placed": placed}},
        form="town, total",
        answer=(towns[at], str(sum(values))),
        rivals=tuple(towns),
    )


def _course(rng: random.Random, n: int) -> tuple[list[int], Decimal, Decimal]:
    """Return values, their change in per cent and their mean, rounded in the one way there is."""
    while True:
        values = [rng.randint(21, 190) for _ in range(n)]
        change = Fraction(100 * (values[-1] - values[0]), values[0])
        mean = Fraction(sum(values), n)
        if abs(change) > 1 and clear(change, 1) and clear(mean, 1):
            return values, rounded(change, 1), rounded(mean, 1)


def _slides(rng: random.Random, n: int = 0) -> Slides:
    """Return slides on towns, so none has the title of another."""
    towns = words.towns(rng, n or rng.randint(2, 5))
    return [(f"News from {town}", words.goods(rng, rng.randint(2, 3))) for town in towns]


def _drawn(
    rng: random.Random, title: str, labels: Sequence[str], values: Sequence[int], unit: str
) -> bytes:
    kind: Literal["bar", "line"] = rng.choice(("bar", "line"))
    return scenes.chart(rng, title=title, labels=labels, values=values, unit=unit, kind=kind)


def _ratio(picture: bytes) -> float:
    """Return the height of a picture as a share of its width."""
    with Image.open(io.BytesIO(picture)) as shown:
        return shown.height / shown.width


def _plus(values: Sequence[int]) -> str:
    return "+".join(map(str, values))


def _do(tool: str, **arguments: Any) -> tuple[str, Arguments]:
    return f"powerpoint/{tool}", {**arguments, "presentation_id": _ID}


def _open(name: str) -> tuple[str, Arguments]:
    return "powerpoint/open_presentation", {"file_path": f"/workspace/{name}.pptx", "id": _ID}


def _save(name: str) -> tuple[str, Arguments]:
    return _do("save_presentation", file_path=f"/workspace/{name}.pptx")


def _points(at: int, points: Sequence[str]) -> tuple[str, Arguments]:
    return _do("add_bullet_points", slide_index=at, placeholder_idx=1, bullet_points=list(points))


def _shown(name: str, slides: Slides) -> dict[str, Any]:
    """Expect a presentation of these slides and no others."""
    return {f"{name}.pptx": {"slides": [[title, "\n".join(points)] for title, points in slides]}}


TEMPLATES: tuple[Template, ...] = (growth, budget, exhibit)
