"""Sign candidates from lines of lettering: possible names, with a measure of legibility."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolmark.perturb.image.box_geometry import union_box
from toolmark.suites.mfcl_vision.baselines.text_recognition import RecognisedText, TextLine

MAX_CANDIDATES = 8
# A name has at least so many letters.
_MIN_LETTERS = 3
# Line heights from the end of a sign's line to the top of its next line, at most.
_MAX_LINE_SPACING = 1.2
# Largest ratio between the heights of neighbouring lines of one sign.
_MAX_HEIGHT_RATIO = 1.7
_POSITION_WORDS = {
    "left": (0.0, None), "right": (1.0, None), "top": (None, 0.0), "upper": (None, 0.0),
    "above": (None, 0.0), "bottom": (None, 1.0), "lower": (None, 1.0), "below": (None, 1.0),
    "middle": (0.5, None), "centre": (0.5, None), "center": (0.5, None),
}  # fmt: skip
_POSITION_PATTERN = re.compile(rf"\b({'|'.join(_POSITION_WORDS)})(?:most)?\b", re.IGNORECASE)


class SignCandidate(NamedTuple):
    """A possible name: its words, legibility (0 to 1), and centre as shares of the picture's sides.

    `whole` is False for a single line of a candidate with several lines.
    """

    text: str
    plain: float
    x: float
    y: float
    whole: bool = True


def find_candidates(page: RecognisedText) -> list[SignCandidate]:
    """Return possible names, most legible first: single lines, and lines below each other."""
    if not page.lines:
        return []
    tallest = max(map(_line_height, page.lines))
    stacks = list(_group_lines(page.lines))
    found = [_make_candidate(stack, page.size, tallest) for stack in stacks]
    found += [
        _make_candidate([line], page.size, tallest)._replace(whole=False)
        for stack in stacks if len(stack) > 1
        for line in stack
    ]  # fmt: skip
    nameable = [sign for sign in found if sum(map(str.isalpha, sign.text)) >= _MIN_LETTERS]
    return sorted(nameable, key=lambda sign: -sign.plain)[:MAX_CANDIDATES]


def position_fit(sign: SignCandidate, question: str) -> float:
    """Return how well a sign fits the positions in the question, from 0 to 1; 0.5 without any."""
    positions = [found[1].lower() for found in _POSITION_PATTERN.finditer(question)]
    if not positions:
        return 0.5
    gaps = []
    for x, y in map(_POSITION_WORDS.__getitem__, positions):
        gaps.append(abs(sign.x - x) if x is not None else abs(sign.y - (y or 0.0)))
    return 1.0 - sum(gaps) / len(gaps)


def _group_lines(lines: Sequence[TextLine]) -> Iterator[list[TextLine]]:
    """Yield groups of lines below each other, as on one sign."""
    remaining = sorted(lines, key=lambda line: line.box[1])
    while remaining:
        stack = [remaining.pop(0)]
        for line in list(remaining):
            if _is_below(stack[-1], line):
                stack.append(line)
                remaining.remove(line)
        yield stack


def _is_below(upper: TextLine, lower: TextLine) -> bool:
    taller, shorter = sorted((_line_height(upper), _line_height(lower)), reverse=True)
    gap = lower.box[1] - upper.box[3]
    overlap = min(upper.box[2], lower.box[2]) - max(upper.box[0], lower.box[0])
    narrow = min(line.box[2] - line.box[0] for line in (upper, lower))
    return (
        taller <= _MAX_HEIGHT_RATIO * shorter
        and -0.5 * shorter < gap < _MAX_LINE_SPACING * shorter
        and overlap > 0.5 * narrow
    )


def _line_height(line: TextLine) -> float:
    return line.box[3] - line.box[1]


def _make_candidate(
    stack: Sequence[TextLine], size: tuple[int, int], tallest: float
) -> SignCandidate:
    box = union_box([line.box for line in stack])
    confidence = sum(line.sure for line in stack) / len(stack)
    height = max(map(_line_height, stack)) / max(tallest, 1.0)
    return SignCandidate(
        text=" ".join(line.text for line in stack),
        plain=round(confidence * (0.7 + 0.3 * height), 3),
        x=(box[0] + box[2]) / 2 / size[0],
        y=(box[1] + box[3]) / 2 / size[1],
    )
