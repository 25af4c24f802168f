"""Arrangement of a scene's signs: the row of the clue, the foreground, and clutter."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from toolmark.generation.drawing.canvas import VIVID_COLOURS, Colour
from toolmark.generation.drawing.fonts import Family
from toolmark.suites.mfcl_vision.item_records import SceneSetting, Sign

LETTER_FAMILIES: tuple[Family, ...] = ("plain", "plain", "serif", "wide", "wide", "round")

MARKED_POSITIONS = ("left", "right")
# Size variation between clue and look-alikes: small, so that size does not reveal the clue.
ROW_SIZE_RANGE = (
    0.93,
    1.07,
)
# Maximum reduction of a row; a clue is never more than a fifth smaller than asked.
MAX_SHRINKAGE = 0.14
# Letter height in the foreground, relative to the row's largest letters.
FOREGROUND_SIZE_RANGE = (1.28, 1.5)
# Colours beyond the vivid ones, as used for shops, posters and covers.
PAPER_COLOURS: tuple[Colour, ...] = (
    *VIVID_COLOURS, (250, 246, 236), (24, 28, 34), (240, 222, 190), (214, 232, 226), (246, 206, 76),
    (54, 66, 54), (236, 236, 240), (92, 28, 36), (16, 60, 74), (244, 180, 160),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StyledSign:
    """A sign with its index in the setting, and the style of the object that shows it.

    `share` is the height of its letters as a share of the picture's height. `paper` is the colour
    of the object. `row_width_factor` is how much wider than usual its rows may be.
    """

    n: int
    sign: Sign
    share: float
    paper: Colour
    families: tuple[Family, ...]
    row_width_factor: float


@dataclass(frozen=True, slots=True)
class SignArrangement:
    """The clue and its look-alikes from left to right, then foreground and clutter."""

    row: tuple[StyledSign, ...]
    foreground: tuple[StyledSign, ...]
    clutter: tuple[StyledSign, ...]

    @property
    def closed_ends(self) -> tuple[bool, bool]:
        """Whether no object of the row's kind may be further left, and further right.

        A sign's mark requires this.
        """
        return self.row[0].sign.mark == "left", self.row[-1].sign.mark == "right"


def arrange_signs(
    setting: SceneSetting, rng: random.Random, squeeze: float = 0.0
) -> SignArrangement:
    """Return the arrangement of a setting's signs.

    `squeeze` in [0, 1] makes the row smaller by one factor; above 0 letters are narrow. A sign's
    mark is its position in the row. Raises ValueError for marks that are not in `MARKED_POSITIONS`,
    and for two signs with the same mark.
    """
    for sign in setting.signs:
        if sign.mark and sign.mark not in MARKED_POSITIONS:
            raise ValueError(f"no mark {sign.mark!r} in scenes; try: {', '.join(MARKED_POSITIONS)}")
    papers = list(PAPER_COLOURS)
    rng.shuffle(papers)
    families = ("plain", "serif") if squeeze else LETTER_FAMILIES

    def parts(role: str, size: float, low: float, high: float) -> list[StyledSign]:
        return [
            StyledSign(n, sign, size * rng.uniform(low, high), papers[n % len(papers)], families,
                 1 + 1.5 * squeeze)
            for n, sign in enumerate(setting.signs)
            if sign.role == role
        ]  # fmt: skip

    size = setting.clue_share * (1 - MAX_SHRINKAGE * squeeze)
    row = [*parts("clue", size, *ROW_SIZE_RANGE), *parts("lookalike", size, *ROW_SIZE_RANGE)]
    largest = max((part.share for part in row), default=size)
    foreground = parts(
        "foreground", largest, FOREGROUND_SIZE_RANGE[0], FOREGROUND_SIZE_RANGE[1] - 0.22 * squeeze
    )
    small = parts("clutter", size, 0.6, 0.85)
    return SignArrangement(_order_row(row, rng), tuple(foreground), tuple(small))


def _order_row(parts: list[StyledSign], rng: random.Random) -> tuple[StyledSign, ...]:
    """Return the signs from left to right: in random order, with marked signs at their ends.

    Raises ValueError for two signs with the same mark.
    """
    for position in MARKED_POSITIONS:
        if sum(part.sign.mark == position for part in parts) > 1:
            raise ValueError(f"two signs of the scene want to stand {position}")
    rng.shuffle(parts)
    spots = {"left": 0, "": 1, "right": 2}
    return tuple(sorted(parts, key=lambda part: spots[part.sign.mark]))


def spread_along(
    rng: random.Random, widths: Sequence[float], span: float, gap: float
) -> list[float]:
    """Return where objects of these widths begin along a span, at least `gap` apart.

    Raises ValueError if they do not fit.
    """
    spare = span - sum(widths) - gap * (len(widths) - 1)
    if spare < 0:
        raise ValueError(f"{len(widths)} things are {-spare:.0f} pixels too wide for their place")
    cuts = [rng.uniform(0.4, 1.0) for _ in range(len(widths) + 1)]
    starts, x = [], 0.0
    for n, width in enumerate(widths):
        x += spare * cuts[n] / sum(cuts)
        starts.append(x)
        x += width + gap
    return starts


def share_width(parts: Sequence[StyledSign], width: float) -> list[float]:
    """Divide a width between signs: larger letters and longer words get more."""
    weights = [part.share * max(5, _longest_word(part.sign)) for part in parts]
    return [width * weight / sum(weights) for weight in weights]


def _longest_word(sign: Sign) -> int:
    return max((len(word) for line in sign.lines for word in line.split()), default=0)
