"""Who plays what in a scene: the row of things alike, what stands nearer, what is by the way."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from toolmark.draw.canvas import VIVID, Colour
from toolmark.draw.emblem import COLOURS
from toolmark.draw.fonts import Family
from toolmark.suites.mfcl.vision.item import Setting, Sign
from toolmark.suites.mfcl.vision.scenes.faces import LETTERS

PLACES = ("left", "middle", "right")
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


def cast(setting: Setting, rng: random.Random, squeeze: float = 0.0) -> Cast:
    """Give every sign of a setting its part.

    `squeeze` in [0, 1] makes what is not the clue smaller, and letters narrow, where it is not 0.

    A mark of PLACES is where in the row the sign stands, a mark of COLOURS what colour its thing
    has; other things then have another colour. Raises ValueError for other marks.
    """
    for sign in setting.signs:
        if sign.mark and sign.mark not in (*PLACES, *COLOURS):
            known = ", ".join((*PLACES, *COLOURS))
            raise ValueError(f"no mark {sign.mark!r} in scenes; try: {known}")
    taken = [COLOURS[sign.mark] for sign in setting.signs if sign.mark in COLOURS]
    papers = [c for c in PAPERS if all(_apart(c, other) for other in taken)]
    rng.shuffle(papers)

    families = ("plain", "serif") if squeeze else LETTERS

    def part(n: int, low: float, high: float) -> Part:
        sign = setting.signs[n]
        paper = COLOURS.get(sign.mark, papers[n % len(papers)])
        share = setting.clue_share * rng.uniform(low, high)
        if sign.role != "clue":
            # what stands nearer stays larger than the clue
            share *= 1 - (0.1 if sign.role == "foreground" else 0.6) * squeeze**2
        return Part(n, sign, share, paper, families, 1 + 1.5 * squeeze)

    def having(role: str) -> list[int]:
        return [n for n, sign in enumerate(setting.signs) if sign.role == role]

    clue = [part(n, 1.0, 1.0) for n in having("clue")]
    alike = [part(n, 0.85, 1.1) for n in having("lookalike")]
    near = tuple(part(n, 1.3, 1.55) for n in having("foreground"))
    small = tuple(part(n, 0.6, 0.85) for n in having("clutter"))
    return Cast(_ordered([*clue, *alike], rng), near, small)


def _apart(one: Colour, two: Colour) -> bool:
    return sum(abs(a - b) for a, b in zip(one, two, strict=True)) > 150


def _ordered(parts: list[Part], rng: random.Random) -> tuple[Part, ...]:
    """Return the parts from left to right: drawn anew, but for marked places."""
    rest = [part for part in parts if part.sign.mark not in PLACES]
    rng.shuffle(rest)
    row: list[Part | None] = [None] * len(parts)
    spots = {"left": 0, "middle": len(parts) // 2, "right": len(parts) - 1}
    for part in parts:
        if part.sign.mark in PLACES:
            spot = spots[part.sign.mark]
            if row[spot] is not None:
                raise ValueError(f"two signs of the scene want to stand {part.sign.mark}")
            row[spot] = part
    return tuple(part or rest.pop() for part in row)


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
