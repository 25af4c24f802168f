"""Pictures that a suite shows its models are varied like any other."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
from PIL import Image as Picture

from toolmark import seeds
from toolmark.media import Media
from toolmark.perturb.image import box, picture, variation
from toolmark.suites.m3.local import suite
from toolmark.suites.m3.local.families import FAMILIES
from toolmark.suites.mfcl.vision import making, score
from toolmark.suites.mfcl.vision import suite as vision
from toolmark.suites.mfcl.vision.item import Asked, Truth
from toolmark.types import Image, Task, Trajectory


@pytest.mark.parametrize("family", ["darkroom", "labels", "ledger"])
def test_pictures_of_m3_local_take_every_variation(family: str, tmp_path: Path) -> None:
    media = Media(tmp_path)
    task = suite.task(FAMILIES[family][0](random.Random(1)), family, 0, 1, "exact", media)
    [shown, *_] = [
        part
        for turn in task.turns
        for message in turn.messages
        for part in message.parts
        if isinstance(part, Image)
    ]
    image = picture.read(media.read(shown), task.id)
    for name in variation.names():
        made = variation.vary(image, name, seeds.of(task.seed, task.item, 0, name))
        part = media.image(*picture.encode(made.image, name))
        assert picture.size(media.read(part), task.id) == made.image.size
        assert part.sha256 != shown.sha256


def test_a_suite_asks_what_is_the_same_once() -> None:
    asked = ("occlusion=0.50", "edges", "occlusion=0.5", "edges=100/200")
    made = vision.load(items=1, seed=7, variations=asked)
    assert [task.axes["variation"] for task in made.tasks] == ["occlusion=0.5", "edges"]


@pytest.mark.parametrize(
    ("clue", "bars"), [((0.0, 0.0, 90.0, 160.0), 1.0), ((0.0, 0.0, 9.0, 9.0), 0.0)]
)
def test_a_verdict_tells_whether_the_crop_was_filled_up(clue: box.Box, bars: float) -> None:
    image = Picture.new("RGB", (90, 160))
    made = variation.vary(image, "crop-16:9", seeds.of(0, "a", 0, ""), [clue])
    told = {**made.settings, making.NOTE: made.note}
    truth = Truth(answers=("1987",), asked=Asked(request="When?"), variation="base", settings=told)
    task = Task(id="a", suite="mfcl-vision", turns=(), reference=msgspec.to_builtins(truth))
    for verdict in score.score(task, Trajectory(task="a", answer="1987")).values():
        assert verdict.parts[score.BARS] == bars
