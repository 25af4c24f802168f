"""What each variation does to pixels, and that the same is done for the same seed, anywhere."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from toolmark.core import seeds
from toolmark.core.errors import UsageError
from toolmark.perturb.image import colour_changes, occlusion, picture_file, picture_variations
from toolmark.perturb.image.box_geometry import Box

ALL = (
    *picture_variations.variation_names(), "edges=50/150", "occlusion=0", "occlusion=1",
    "jitter=1", "jitter=3", "jitter=4",
)  # fmt: skip
CLUE: Box = (60.0, 40.0, 160.0, 80.0)
_PRINT = (
    "from tests.perturb.image.test_picture_variations import digests; "
    "print(*digests(int(__import__('sys').argv[1])), sep='\\n')"
)


def scene(width: int = 300, height: int = 200) -> Image.Image:
    """Return a picture with colour, lines and grain, none of them at 128."""
    gen = np.random.Generator(np.random.PCG64(5))
    base = Image.fromarray(gen.integers(0, 120, (height, width, 3), dtype=np.uint8))
    image = base.filter(ImageFilter.GaussianBlur(2))
    pen = ImageDraw.Draw(image)
    pen.rectangle((60, 40, 159, 79), (250, 240, 30))
    pen.line((70, 50, 150, 70), (10, 20, 90), 5)
    return image


def vary(
    name: str, seed: int = 0, boxes: tuple[Box, ...] = (CLUE,)
) -> picture_variations.VariedPicture:
    return picture_variations.vary_picture(
        scene(), name, seeds.make_rng(seed, "item", 0, name), boxes
    )


def digests(seed: int) -> Iterator[str]:
    for name in ALL:
        made = vary(name, seed)
        data, mime = picture_file.encode_variation(made.image, name)
        reported = f"{name} {made.boxes} {made.settings} {made.note} {mime}"
        yield f"{reported} {hashlib.sha256(data).hexdigest()}"


def pixels(image: Image.Image) -> NDArray[np.int64]:
    return np.asarray(image).astype(np.int64)


@pytest.mark.parametrize("salt", ["1", "2"])
def test_the_same_seed_makes_the_same_bytes_in_any_process(salt: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PRINT, "7"], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": salt, "OMP_NUM_THREADS": salt},
    )  # fmt: skip
    assert done.stdout.splitlines() == list(digests(7))


def test_seeds_differ_where_something_is_drawn() -> None:
    drawn = [name for name in ALL if name.startswith(("crop-16", "jitter", "occlusion=0"))]
    for name in drawn:
        assert len({str(vary(name, seed).settings) + vary(name, seed).image.tobytes().hex()
                    for seed in range(8)}) > 1  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_the_picture_given_is_never_changed(name: str) -> None:
    image = scene()
    before = image.tobytes()
    made = picture_variations.vary_picture(image, name, seeds.make_rng(0, "a", 0, name), (CLUE,))
    assert image.tobytes() == before and made.image.mode == "RGB"
    assert all(isinstance(value, str | int | float) for value in made.settings.values())
    assert len(made.boxes) == 1


@pytest.mark.parametrize("name", ALL)
def test_a_picture_of_one_pixel_is_varied(name: str) -> None:
    image = Image.new("RGB", (1, 1), (9, 99, 199))
    for boxes in ((), ((0.0, 0.0, 1.0, 1.0),)):
        made = picture_variations.vary_picture(image, name, seeds.make_rng(0, "a", 0, name), boxes)
        assert (
            picture_file.decode_picture(
                picture_file.encode_variation(made.image, name)[0], name
            ).size
            == made.image.size
        )


def test_base_is_the_picture_itself() -> None:
    assert vary("base").image.tobytes() == scene().tobytes()


def test_gray_is_the_luma_of_television_within_a_level() -> None:
    made = pixels(vary("gray").image)
    luma = pixels(scene()) @ np.array([0.299, 0.587, 0.114])
    assert np.ptp(made, axis=2).max() == 0 and np.abs(made[:, :, 0] - luma).max() <= 1


def test_red_and_green_stay_and_blue_goes() -> None:
    made, given_ = pixels(vary("red-green").image), pixels(scene())
    assert np.array_equal(made[:, :, :2], given_[:, :, :2]) and made[:, :, 2].max() == 0


def test_edges_are_those_of_opencv_and_lie_on_the_outline() -> None:
    made = pixels(vary("edges").image)
    grey = cv2.cvtColor(np.asarray(scene()), cv2.COLOR_RGB2GRAY)
    theirs = cv2.Canny(cv2.GaussianBlur(grey, (5, 5), 1.4), 100, 200)
    assert set(np.unique(made)) == {0, 255} and np.ptp(made, axis=2).max() == 0
    # their grey differs by a level here and there
    assert (made[:, :, 0] != theirs).mean() < 0.001
    outline = np.zeros((200, 300), bool)
    outline[37:83, 57:163] = True
    assert (made[:, :, 0] > 0)[outline].sum() > 200 and not (made[:, :, 0] > 0)[~outline].any()


def test_lower_thresholds_find_more_edges_and_are_recorded() -> None:
    image = scene().filter(ImageFilter.GaussianBlur(1))
    few, many = (
        picture_variations.vary_picture(image, name, seeds.make_rng(0, "a", 0, ""))
        for name in ("edges", "edges=10/20")
    )
    assert pixels(many.image).sum() > pixels(few.image).sum()
    assert few.settings["low"] == 100 and many.settings == {**few.settings, "low": 10, "high": 20}


# --- colours that shift -----------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32))
def test_no_jitter_is_weaker_than_one_of_lower_severity(seed: int) -> None:
    drawn = [vary(f"jitter={severity}", seed).settings for severity in (1, 2, 3, 4)]
    for key in colour_changes.JitterRange._fields:
        sizes = [abs(float(one[key])) for one in drawn]
        assert sizes == sorted(sizes) and sizes[0] > 0


def test_greys_stay_grey_and_nothing_is_nothing() -> None:
    ramp = Image.linear_gradient("L").convert("RGB")
    for seed in range(20):
        made, _ = colour_changes.jitter_colours(ramp, 4, seeds.make_rng(seed, "a", 0, "jitter"))
        assert np.ptp(pixels(made), axis=2).max() <= 1
    still = scene().convert("RGB", colour_changes.colour_matrix(0, 0, 0, 0))
    assert np.abs(pixels(still) - pixels(scene())).max() <= 1


def test_each_part_of_a_jitter_does_what_it_says() -> None:
    given_ = pixels(scene())
    lighter = pixels(scene().convert("RGB", colour_changes.colour_matrix(0.1, 0, 0, 0)))
    inner = given_ < 200
    assert np.abs((lighter - given_)[inner] - 25.5).max() <= 1
    flatter = pixels(scene().convert("RGB", colour_changes.colour_matrix(0, -0.5, 0, 0)))
    assert np.abs((flatter - 127.5) - (given_ - 127.5) / 2).max() <= 1.5
    bleached = pixels(scene().convert("RGB", colour_changes.colour_matrix(0, 0, -1, 0)))
    assert np.ptp(bleached, axis=2).max() <= 1
    red = Image.new("RGB", (1, 1), (140, 60, 60))
    turned = red.convert("RGB", colour_changes.colour_matrix(0, 0, 0, 120)).getpixel((0, 0))
    assert isinstance(turned, tuple) and turned.index(max(turned)) != 0


# --- what is covered --------------------------------------------------------------------


def mask(boxes: list[Box], size: tuple[int, int]) -> NDArray[np.bool_]:
    found = np.zeros(size[::-1], bool)
    for left, top, right, bottom in boxes:
        found[int(top) : int(np.ceil(bottom)), int(left) : int(np.ceil(right))] = True
    return found


def covered(image: Image.Image, made: Image.Image) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (pixels(image) != pixels(made)).any(axis=2)
    return found


@st.composite
def clues(draw: st.DrawFn) -> list[Box]:
    found = []
    for _ in range(draw(st.integers(1, 4))):
        left, top = draw(st.integers(0, 280)), draw(st.integers(0, 180))
        width, height = draw(st.integers(1, 300 - left)), draw(st.integers(1, 200 - top))
        nudge = draw(st.sampled_from((0.0, 0.25)))
        found.append((left + nudge, top + nudge, float(left + width), float(top + height)))
    return found


@settings(deadline=None, max_examples=120)
@given(clues(), st.integers(0, 100), st.integers(0, 99))
def test_an_occlusion_covers_its_share_of_the_clue(
    boxes: list[Box], percent: int, seed: int
) -> None:
    image = scene()
    share = percent / 100
    made, _ = occlusion.cover_clues(image, share, seeds.make_rng(seed, "a", 0, "cover"), boxes)
    clue, hidden = mask(boxes, image.size), covered(image, made)
    assert abs(hidden[clue].sum() - share * clue.sum()) <= 0.5 * len(boxes)
    left, top, right, bottom = zip(*boxes, strict=True)
    around = mask([(min(left), min(top), max(right), max(bottom))], image.size)
    assert not hidden[~around].any()
    if len(boxes) == 1:
        assert not hidden[~clue].any()


@settings(deadline=None, max_examples=60)
@given(st.integers(20, 90), st.integers(20, 60), st.floats(0, 1), st.integers(0, 99))
def test_one_patch_is_straight_and_within_one_per_cent(
    width: int, height: int, share: float, seed: int
) -> None:
    image = scene()
    box = (30.0, 30.0, 30.0 + width, 30.0 + height)
    made, side = occlusion.cover_clues(image, share, seeds.make_rng(seed, "a", 0, "cover"), [box])
    hidden = covered(image, made)[30 : 30 + height, 30 : 30 + width]
    assert abs(hidden.mean() - share) <= 0.01
    lines = hidden if side in ("left", "right") else hidden.T
    counts = lines.sum(axis=1)
    assert np.ptp(counts) <= 1  # one line more or less, and every line begins at the side
    begin = lines[:, ::-1] if side in ("right", "bottom") else lines
    assert all(line[:n].all() for line, n in zip(begin, counts, strict=True))


@settings(deadline=None, max_examples=80)
@given(clues(), st.integers(0, 99))
def test_a_neighbouring_patch_covers_no_clue(boxes: list[Box], seed: int) -> None:
    image = scene()
    made, note = occlusion.cover_next_to_clues(image, seeds.make_rng(seed, "a", 0, "cover"), boxes)
    hidden = covered(image, made)
    clue = np.zeros((200, 300), bool)
    for left, top, right, bottom in boxes:
        clue[int(top) : int(np.ceil(bottom)), int(left) : int(np.ceil(right))] = True
    assert not hidden[clue].any()
    assert hidden.any() != bool(note)


def test_a_neighbouring_patch_is_as_large_as_the_clue_and_next_to_it() -> None:
    made = vary("occlusion=0")
    hidden = np.argwhere(covered(scene(), made.image))
    (top, left), (bottom, right) = hidden.min(0), hidden.max(0) + 1
    assert (right - left, bottom - top) == (100, 40) and len(hidden) == 4000
    gap = max(left - 160, 60 - right, top - 80, 40 - bottom)
    assert gap == 2 and made.settings == {"share": 0.0, "side": "outside"}


def test_what_is_covered_is_gone_also_in_the_file() -> None:
    made = vary("occlusion=1")
    seen = pixels(
        picture_file.decode_picture(
            picture_file.encode_variation(made.image, "occlusion=1")[0], "a"
        )
    )
    assert np.abs(seen[42:78, 62:158] - 128).max() <= 8  # nothing but the rim's ringing


def test_without_a_clue_the_middle_is_covered_and_said() -> None:
    made = vary("occlusion=1", boxes=())
    assert covered(scene(), made.image).sum() == 150 * 100 and made.note == "roi unknown"


# --- names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reported"),
    [
        ("edge", "no variation 'edge'; did you mean: edges"),
        ("crop-5:4", "no variation 'crop-5:4'; did you mean: crop-"),
        ("gray=2", "no variation 'gray=2'"),
        ("occlusion", "did you mean: occlusion=0.5"),
        ("occlusion=1.5", "occlusion= takes a share from 0 to 1"),
        ("occlusion=nan", "occlusion= takes a share from 0 to 1"),
        ("occlusion=-0", "occlusion= takes a share from 0 to 1"),
        ("jitter=5", "jitter= takes 1, 2, 3 or 4"),
        ("jitter=²", "jitter= takes 1, 2, 3 or 4"),
        ("edges=200/100", "edges= takes two thresholds, LOW/HIGH"),
        ("occlusion=٠", "occlusion= takes a share from 0 to 1"),
        ("edges=../..", "edges= takes two thresholds, LOW/HIGH"),
    ],
)
def test_an_unknown_name_is_reported_with_the_known_ones(name: str, reported: str) -> None:
    with pytest.raises(UsageError) as caught:
        picture_variations.vary_picture(scene(), name, seeds.make_rng(0, "a", 0, ""))
    assert reported in str(caught.value)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("occlusion=0.50", "occlusion=0.5"), ("occlusion=00.5", "occlusion=0.5"),
        ("occlusion=1.0", "occlusion=1"), ("occlusion=0.0", "occlusion=0"),
        ("occlusion=0.1234", "occlusion=0.1234"), ("edges=100/200", "edges"),
        ("edges=050/0150", "edges=50/150"), *((name, name) for name in ALL),
    ],
)  # fmt: skip
def test_what_is_the_same_has_one_name(written: str, name: str) -> None:
    assert picture_variations.normalise_variation(written) == name


def test_table_2_has_its_eight_in_their_order() -> None:
    assert picture_variations.TABLE_2_VARIATIONS == (
        "base", "crop-16:9", "crop-4:3", "resize-16:9", "resize-4:3", "gray", "edges", "red-green",
    )  # fmt: skip
    assert picture_variations.variation_names()[:8] == picture_variations.TABLE_2_VARIATIONS
