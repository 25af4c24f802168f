"""Who plays what in a scene: the row of things alike, what stands nearer, what is by the way."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from toolmark.draw.canvas import VIVID, Colour
from toolmark.draw.fonts import Family
from toolmark.suites.mfcl.vision.item import Setting, Sign
from toolmark.suites.mfcl.vision.scenes.faces import LETTERS

PLACES = ("left", "right")
ROW = (0.93, 1.07)  # clue and look-alikes are of one size, but for this: size tells nothing
LESS = 0.14  # by which a row shrinks at most; the clue is never a fifth smaller than asked
NEAR = (1.28, 1.5)  # what stands nearer, in heights of the row's largest letters
# beyond VIVID: what people paint shops, posters and covers with
PAPERS: tuple[Colour, ...] = (
    *VIVID, (250, 246, 236), (24, 28, 34), (240, 222, 190), (214, 232, 226), (246, 206, 76),
    (54, 66, 54), (236, 236, 240), (92, 28, 36), (16, 60, 74), (244, 180, 160),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """A sign of the setting by its number, and what its thing looks like.

    `share`: height of its letters as a share of the picture's; `paper`: colour of what bears it;
    `loose`: how much wider than usual its rows may be.
    """

    n: int
    sign: Sign
    share: float
    paper: Colour
    families: tuple[Family, ...]
    loose: float


@dataclass(frozen=True, slots=True)
class Cast:
    """The clue and its look-alikes from left to right, then foreground and clutter."""

    row: tuple[Part, ...]
    near: tuple[Part, ...]
    small: tuple[Part, ...]

    @property
    def ends(self) -> tuple[bool, bool]:
        """Whether a mark says that nothing of the row's kind stands further left, or right."""
        return self.row[0].sign.mark == "left", self.row[-1].sign.mark == "right"


def cast(setting: Setting, rng: random.Random, squeeze: float = 0.0) -> Cast:
    """Give every sign of a setting its part.

    `squeeze` in [0, 1] makes all of the row smaller alike, and letters narrow, where it is not 0.

    A mark is where in the row the sign stands. Raises ValueError for marks not in PLACES.
    """
    for sign in setting.signs:
        if sign.mark and sign.mark not in PLACES:
            raise ValueError(f"no mark {sign.mark!r} in scenes; try: {', '.join(PLACES)}")
    papers = list(PAPERS)
    rng.shuffle(papers)
    families = ("plain", "serif") if squeeze else LETTERS

    def parts(role: str, size: float, low: float, high: float) -> list[Part]:
        return [
            Part(n, sign, size * rng.uniform(low, high), papers[n % len(papers)], families,
                 1 + 1.5 * squeeze)
            for n, sign in enumerate(setting.signs)
            if sign.role == role
        ]  # fmt: skip

    size = setting.clue_share * (1 - LESS * squeeze)
    row = [*parts("clue", size, *ROW), *parts("lookalike", size, *ROW)]
    largest = max((part.share for part in row), default=size)
    near = parts("foreground", largest, NEAR[0], NEAR[1] - 0.22 * squeeze)
    small = parts("clutter", size, 0.6, 0.85)
    return Cast(_ordered(row, rng), tuple(near), tuple(small))


def _ordered(parts: list[Part], rng: random.Random) -> tuple[Part, ...]:
    """Return the parts from left to right: drawn anew, but for marked places."""
    for place in PLACES:
        if sum(part.sign.mark == place for part in parts) > 1:
            raise ValueError(f"two signs of the scene want to stand {place}")
    rng.shuffle(parts)
    spots = {"left": 0, "": 1, "right": 2}
    return tuple(sorted(parts, key=lambda part: spots[part.sign.mark]))


def spread(rng: random.Random, widths: Sequence[float], span: float, gap: float) -> list[float]:
    """Return where things of these widths begin along a span, at least `gap` apart.

    Raises ValueError where they do not fit.
    """
    spare = span - sum(widths) - gap * (len(widths) - 1)
    if spare < 0:
        raise ValueError(f"{len(widths)} things are {-spare:.0f} pixels too wide for their place")
    cuts = [rng.uniform(0.4, 1.0) for _ in range(len(widths) + 1)]
    begins, x = [], 0.0
    for n, width in enumerate(widths):
        x += spare * cuts[n] / sum(cuts)
        begins.append(x)
        x += width + gap
    return begins


def rooms(parts: Sequence[Part], width: float) -> list[float]:
    """Share out a width among parts: larger letters and longer words get more."""
    weights = [part.share * max(5, _longest(part.sign)) for part in parts]
    return [width * weight / sum(weights) for weight in weights]


def _longest(sign: Sign) -> int:
    return max((len(word) for line in sign.lines for word in line.split()), default=0)
