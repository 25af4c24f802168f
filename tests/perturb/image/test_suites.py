"""Pictures that a suite shows its models are varied like any other."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from toolmark import seeds
from toolmark.media import Media
from toolmark.perturb.image import picture, variation
from toolmark.suites.m3.local import suite
from toolmark.suites.m3.local.families import FAMILIES
from toolmark.types import Image


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
