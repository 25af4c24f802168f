"""The variations of pictures: how many a second and core, and what toolmark adds to the libraries.

    python benchmarks/images.py [--pictures 12] [--rounds 5]
    python benchmarks/images.py --draw street.png      # the picture alone, and its boxes beside it

A drawn street of 1920 x 1080, photo-like by its grain, comes as a JPEG; it is decoded, bounded to
1536 x 864, varied and encoded. The bare side makes the same calls to Pillow and OpenCV by hand, in
turns with ours, and must make the same bytes. CPU time of one process is counted, OpenCV on one
thread; the median of the rounds' ratios counts. Exits 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import median

import cv2
import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont, ImageOps

from toolmark.core import seeds
from toolmark.perturb.image import box_geometry, colour_changes, picture_file, picture_variations

BAR = 1.10
CLUE, OTHER = (590.0, 318.0, 930.0, 398.0), (1290.0, 352.0, 1570.0, 418.0)
PART = (100, 0, 1720, 1080)
"""What is drawn alone: 3:2, so that crops and resizes all change it."""
Picture = Image.Image


def main() -> None:
    """Measure, print, and exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--draw", type=Path, metavar="FILE")
    asked = parser.parse_args()
    if asked.draw:
        street().crop(PART).save(asked.draw)
        [clue] = box_geometry.shift_boxes([CLUE], -PART[0], -PART[1])
        asked.draw.with_suffix(".json").write_text(json.dumps([clue]) + "\n")
        return
    cv2.setNumThreads(1)
    data = picture_file.encode_picture(street(), picture_file.JPEG)
    print(f"{'variation':14s} {'images/s/core':>14s} {'bare':>8s} {'CPU time to bare':>17s}")
    missed = False
    for name in picture_variations.variation_names():
        ours, bare, ratio = _compared(name, data, asked.pictures, asked.rounds)
        missed |= ratio > BAR
        print(f"{name:14s} {1 / ours:14.1f} {1 / bare:8.1f} {ratio:17.3f} (bar {BAR:.2f})")
    sys.exit(missed)


def street() -> Picture:
    """Draw a street: two shops with signs, one of them the clue, a road, a van in front."""
    image = Image.linear_gradient("L").resize((1920, 1080))
    image = ImageOps.colorize(image, (150, 190, 226), (236, 226, 208))
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 800, 1920, 1080), (92, 94, 100))
    pen.rectangle((0, 770, 1920, 830), (168, 164, 158))
    for x in range(60, 1920, 260):
        pen.polygon([(x, 950), (x + 130, 950), (x + 120, 966), (x - 10, 966)], (226, 222, 208))
    _house(pen, 160, (176, 92, 74), (36, 72, 60), 430, 980)
    _house(pen, 1120, (206, 184, 144), (92, 40, 52), 360, 620)
    _sign(pen, CLUE, "Odell & Marsh", (246, 236, 208), (36, 72, 60))
    _sign(pen, OTHER, "Marsh Bakery", (250, 240, 240), (92, 40, 52))
    pen.rounded_rectangle((1180, 700, 1700, 940), 36, (214, 158, 46))
    pen.polygon([(1700, 760), (1800, 820), (1800, 940), (1690, 940)], (214, 158, 46))
    for x in (1290, 1660):
        pen.ellipse((x - 56, 886, x + 56, 998), (34, 34, 38))
        pen.ellipse((x - 24, 918, x + 24, 966), (180, 182, 186))
    pen.text((1440, 800), "FREIGHT 24", (60, 44, 20), ImageFont.load_default(58), anchor="mm")
    return _grainy(image)


def _house(
    pen: ImageDraw.ImageDraw, left: int, wall: tuple[int, ...], trim: tuple[int, ...], sign: int,
    width: int,
) -> None:  # fmt: skip
    right, low = left + width, 780
    pen.rectangle((left, 120, right, low), wall)
    for n in range(max(2, width // 200)):
        x = left + 50 + n * (width - 80) // max(2, width // 200)
        pen.rectangle((x, 160, x + 110, 280), (70, 88, 108), (240, 236, 226), 6)
    pen.rectangle((left, sign - 70, right, sign + 74), trim)
    pen.rectangle((left + 40, sign + 100, right - 220, low - 20), (58, 74, 92), trim, 10)
    pen.rectangle((right - 170, sign + 100, right - 50, low), (64, 46, 36), trim, 10)


def _sign(
    pen: ImageDraw.ImageDraw, box: tuple[float, ...], text: str, ink: tuple[int, ...],
    ground: tuple[int, ...],
) -> None:  # fmt: skip
    left, top, right, bottom = box
    pen.rectangle((left, top, right, bottom), ground)
    font = ImageFont.load_default(46)
    pen.text(((left + right) / 2, (top + bottom) / 2), text, ink, font, anchor="mm")


def _grainy(image: Picture) -> Picture:
    gen = np.random.Generator(np.random.PCG64(7))
    grain = gen.normal(0, 5, (1080, 1920, 1))
    return Image.fromarray((np.asarray(image) + grain).clip(0, 255).astype(np.uint8))


def _compared(name: str, data: bytes, many: int, rounds: int) -> tuple[float, float, float]:
    """Return CPU seconds per picture, ours and bare, the best of all rounds, and their ratio."""
    ours, bare = partial(_ours, name, data), partial(_bare, name, data, _by_hand(name, data))
    assert ours() == bare(), f"{name}: the bare calls make another picture"
    pairs = [(_cost(ours, many), _cost(bare, many)) for _ in range(rounds)]
    mine, theirs = (min(side) for side in zip(*pairs, strict=True))
    return mine, theirs, median(one / other for one, other in pairs)


def _cost(make: Callable[[], bytes], many: int) -> float:
    start = time.process_time()
    for _ in range(many):
        make()
    return (time.process_time() - start) / many


def _ours(name: str, data: bytes) -> bytes:
    made, _ = _varied(name, data)
    return picture_file.encode_variation(made.image, name)[0]


def _varied(name: str, data: bytes) -> tuple[picture_variations.VariedPicture, Picture]:
    image = picture_file.decode_picture(data, "street.jpg")
    boxes = box_geometry.scale_boxes([CLUE], image.width / 1920, image.height / 1080)
    return picture_variations.vary_picture(
        image, name, seeds.make_rng(0, "street", 0, name), boxes
    ), image


def _bare(name: str, data: bytes, change: Callable[[Picture], Picture]) -> bytes:
    """Make the same by calls to the libraries alone."""
    image: Picture = Image.open(BytesIO(data))
    image.load()
    image.thumbnail((1536, 1536), Image.Resampling.LANCZOS, reducing_gap=3.0)
    made, out = change(image), BytesIO()
    if name == "edges":
        made.save(out, "PNG", compress_level=1)
    else:
        made.save(out, "JPEG", quality=92)
    return out.getvalue()


def _by_hand(name: str, data: bytes) -> Callable[[Picture], Picture]:
    """Return the change as the libraries' own calls; what was drawn is known to them."""
    done, image = _varied(name, data)
    kind = name.partition("=")[0].partition("-")[0]
    if kind == "crop":
        left, top, width, height = (int(value) for value in done.settings.values())
        return lambda image: image.crop((left, top, left + width, top + height))
    if kind == "resize":
        return lambda image: image.resize(done.image.size, Image.Resampling.LANCZOS)
    if kind == "jitter":
        drawn = [float(done.settings[key]) for key in ("light", "contrast", "saturation", "hue")]
        matrix = colour_changes.colour_matrix(*drawn)
        return lambda image: image.convert("RGB", matrix)
    if kind == "occlusion":
        patch = ImageChops.difference(image, done.image).getbbox()
        return lambda image: _patched(image, patch)
    plain: dict[str, Callable[[Picture], Picture]] = {
        "base": lambda image: image, "gray": lambda image: image.convert("L").convert("RGB"),
        "edges": _edges, "red": _red_green,
    }  # fmt: skip
    return plain[kind]


def _patched(image: Picture, patch: tuple[int, int, int, int] | None) -> Picture:
    image.paste((128, 128, 128), patch)
    return image


def _edges(image: Picture) -> Picture:
    smooth = cv2.GaussianBlur(np.asarray(image.convert("L")), (5, 5), 1.4)
    return Image.fromarray(cv2.Canny(smooth, 100, 200)).convert("RGB")


def _red_green(image: Picture) -> Picture:
    red, green, _ = image.split()
    return Image.merge("RGB", (red, green, Image.new("L", image.size)))


if __name__ == "__main__":
    main()
