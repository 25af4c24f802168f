"""Pictures that a suite shows its models are varied like any other."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
from PIL import Image as Picture

import toolmark as tm
from toolmark.core import seeds
from toolmark.core.media import MediaStore
from toolmark.core.records import Image, Task, Trajectory
from toolmark.perturb.image import box_geometry, picture_file, picture_variations
from toolmark.scoring.episode import Episode
from toolmark.suites.m3.local import m3_local_suite
from toolmark.suites.m3.local.families import FAMILIES
from toolmark.suites.mfcl_vision import episode_scoring, task_maker
from toolmark.suites.mfcl_vision.item_records import ItemTruth, QuestionParts


@pytest.mark.parametrize("family", ["darkroom", "labels", "ledger"])
def test_pictures_of_m3_local_take_every_variation(family: str, tmp_path: Path) -> None:
    media = MediaStore(tmp_path)
    task = m3_local_suite.make_task(
        FAMILIES[family][0](random.Random(1)), family, 0, 1, "exact", media
    )
    [shown, *_] = [
        part
        for turn in task.turns
        for message in turn.messages
        for part in message.parts
        if isinstance(part, Image)
    ]
    image = picture_file.decode_picture(media.read(shown), task.id)
    for name in picture_variations.variation_names():
        made = picture_variations.vary_picture(
            image, name, seeds.make_rng(task.seed, task.item, 0, name)
        )
        part = media.add_image(*picture_file.encode_variation(made.image, name))
        assert picture_file.picture_size(media.read(part), task.id) == made.image.size
        assert part.sha256 != shown.sha256


def test_a_suite_asks_what_is_the_same_once() -> None:
    asked = ("occlusion=0.50", "edges", "occlusion=0.5", "edges=100/200")
    made = tm.load("mfcl-vision", items=1, seed=7, variations=asked)
    assert [task.axes["variation"] for task in made.tasks] == ["occlusion=0.5", "edges"]


@pytest.mark.parametrize(
    ("clue", "bars"), [((0.0, 0.0, 90.0, 160.0), 1.0), ((0.0, 0.0, 9.0, 9.0), 0.0)]
)
def test_a_verdict_tells_whether_the_crop_was_filled_up(
    clue: box_geometry.Box, bars: float
) -> None:
    image = Picture.new("RGB", (90, 160))
    made = picture_variations.vary_picture(
        image, "crop-16:9", seeds.make_rng(0, "a", 0, ""), [clue]
    )
    reported = {**made.settings, task_maker.NOTE_SETTING: made.note}
    truth = ItemTruth(
        answers=("1987",),
        question=QuestionParts(request="When?"),
        variation="base",
        settings=reported,
    )
    task = Task(id="a", suite="mfcl-vision", turns=(), data=msgspec.to_builtins(truth))
    for verdict in episode_scoring.score_episode(
        Episode(task, Trajectory(task="a", answer="1987"))
    ).values():
        assert verdict.parts[episode_scoring.BARS_PART] == bars
