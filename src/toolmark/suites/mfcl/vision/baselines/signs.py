"""From lines of lettering to the signs of a scene: what may be a name, and how plain it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolmark.perturb.image.box import union
from toolmark.suites.mfcl.vision.baselines.ocr import Line, Page

MOST = 8
_LETTERS = 3  # fewer are no name
_LEAD = 1.2  # line heights from the top of one line of a sign to the end of the line before
_LIKE = 1.7  # how much higher one line of a sign may be than the next
_PLACES = {
    "left": (0.0, None), "right": (1.0, None), "top": (None, 0.0), "upper": (None, 0.0),
    "above": (None, 0.0), "bottom": (None, 1.0), "lower": (None, 1.0), "below": (None, 1.0),
    "middle": (0.5, None), "centre": (0.5, None), "center": (0.5, None),
}  # fmt: skip
_PLACED = re.compile(rf"\b({'|'.join(_PLACES)})(?:most)?\b", re.IGNORECASE)


class Sign(NamedTuple):
    """What may be a name: its words, how plain it is (0 to 1), its middle as shares of the sides.

    `whole`: no other line stands with it, or it is all of them.
    """

    text: str
    plain: float
    x: float
    y: float
    whole: bool = True


def of(page: Page) -> list[Sign]:
    """Return what may be names, the plainest first: single lines, and lines below each other."""
    if not page.lines:
        return []
    tallest = max(map(_high, page.lines))
    stacks = list(_stacks(page.lines))
    found = [_sign(stack, page.size, tallest) for stack in stacks]
    found += [
        _sign([line], page.size, tallest)._replace(whole=False)
        for stack in stacks if len(stack) > 1
        for line in stack
    ]  # fmt: skip
    named = [sign for sign in found if sum(map(str.isalpha, sign.text)) >= _LETTERS]
    return sorted(named, key=lambda sign: -sign.plain)[:MOST]


def fits(sign: Sign, question: str) -> float:
    """Tell how well a sign stands where the question says, from 0 to 1; 0.5 where it says nowhere.

    In English the last place that is said is the one of the thing asked about.
    """
    said = [found[1].lower() for found in _PLACED.finditer(question)]
    if not said:
        return 0.5
    gaps = []
    for x, y in map(_PLACES.__getitem__, said):
        gaps.append(abs(sign.x - x) if x is not None else abs(sign.y - (y or 0.0)))
    return 1.0 - sum(gaps) / len(gaps)


def _stacks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Go through groups of lines that stand below each other as on one sign."""
    left = sorted(lines, key=lambda line: line.box[1])
    while left:
        stack = [left.pop(0)]
        for line in list(left):
            if _below(stack[-1], line):
                stack.append(line)
                left.remove(line)
        yield stack


def _below(over: Line, under: Line) -> bool:
    high, low = sorted((_high(over), _high(under)), reverse=True)
    gap = under.box[1] - over.box[3]
    beside = min(over.box[2], under.box[2]) - max(over.box[0], under.box[0])
    narrow = min(line.box[2] - line.box[0] for line in (over, under))
    return high <= _LIKE * low and -0.5 * low < gap < _LEAD * low and beside > 0.5 * narrow


def _high(line: Line) -> float:
    return line.box[3] - line.box[1]


def _sign(stack: Sequence[Line], size: tuple[int, int], tallest: float) -> Sign:
    box = union([line.box for line in stack])
    sure = sum(line.sure for line in stack) / len(stack)
    high = max(map(_high, stack)) / max(tallest, 1.0)
    return Sign(
        text=" ".join(line.text for line in stack),
        plain=round(sure * (0.7 + 0.3 * high), 3),
        x=(box[0] + box[2]) / 2 / size[0],
        y=(box[1] + box[3]) / 2 / size[1],
    )
