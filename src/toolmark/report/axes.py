"""What charts share: round ticks, scales, short numbers, colours and the legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from toolmark import svg
from toolmark.svg import Markup

# Okabe and Ito's palette, safe for colour-blind readers; the page gives lighter twins for dark
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#a8559b", "#b07a00", "#3a9bd1", "#7a7a7a", "#5b4bc4",
)  # fmt: skip
LETTER = 7.2  # mean width of a character at 13 px
ROW = 18.0


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight map from values to pixels, with its ticks."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def scale(values: Sequence[float], start: float, end: float, *, zero: bool) -> Scale:
    """Fit a scale with round ticks around the values; `zero` keeps zero in sight.

    Shares that come near 1 get the whole of 0 to 1. Values that are all alike, and none at all,
    get a scale of one unit.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if zero and low == 0 and 0.6 < high <= 1:
        high = 1.0
    if high - low < 1e-12 * max(1.0, abs(high)):
        low, high = (0.0, 1.0) if abs(low) < 1e-12 else (low - abs(low) / 2, low + abs(low) / 2)
    step = _step((high - low) / 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(i * step for i in range(first, last + 1))
    return Scale(low=ticks[0], high=ticks[-1], start=start, end=end, ticks=ticks)


def exact(values: Sequence[float], start: float, end: float) -> Scale:
    """Fit a scale whose ticks are the values themselves, with room at both ends."""
    ticks = tuple(sorted(set(values)))
    room = (ticks[-1] - ticks[0]) * 0.06 or 0.5
    return Scale(low=ticks[0] - room, high=ticks[-1] + room, start=start, end=end, ticks=ticks)


def number(value: float) -> str:
    """Return a number short enough for an axis: at most three significant digits."""
    if value == 0:
        return "0"
    if abs(value) >= 10_000 or abs(value) < 0.001:
        return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e−").replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def colour(index: int) -> str:
    """Return a series' colour as a CSS value: the page's variable, or the palette."""
    index %= len(COLOURS)
    return f"var(--s{index + 1}, {COLOURS[index]})"


def marker(index: int, x: float, y: float, *, title: str) -> Markup:
    """Draw a point; the shape goes with the series, so that colour is not the only cue."""
    tip = svg.tag("title", title)
    paint = f"fill:{colour(index)}"
    match index % 4:
        case 0:
            return svg.tag("circle", tip, cx=x, cy=y, r=4, style=paint)
        case 1:
            return svg.tag("rect", tip, x=x - 3.6, y=y - 3.6, width=7.2, height=7.2, style=paint)
        case 2:
            return svg.tag("path", tip, d=f"M{x:.1f} {y - 5:.1f}l5 8.6h-10z", style=paint)
        case _:
            return svg.tag("path", tip, d=f"M{x:.1f} {y - 5.2:.1f}l5.2 5.2-5.2 5.2-5.2-5.2z",
                           style=paint)  # fmt: skip


def legend(names: Sequence[str], left: float, right: float) -> tuple[Markup, float]:
    """Draw the names of the series in rows from the top; return them and their height."""
    if len(names) < 2:
        return Markup(""), 0.0
    parts: list[Markup] = []
    x, y = left, 12.0
    for index, name in enumerate(names):
        text = clip(name, right - left - 20)
        width = 30 + LETTER * len(text)
        if x > left and x + width - 12 > right:
            x, y = left, y + ROW
        parts.append(marker(index, x + 5, y - 4, title=name))
        parts.append(svg.tag("text", text, x=x + 14, y=y, class_="label"))
        x += width
    return svg.join(parts), y + 12


def clip(text: str, width: float) -> str:
    """Shorten a label to about this many pixels."""
    room = max(4, int(width / LETTER + 1e-9))  # of floats: a label that fits may seem not to
    return text if len(text) <= room else f"{text[: room - 1]}…"


def tip(name: str, where: str, value: float, low: float | None, high: float | None) -> str:
    """Word the tooltip of one point."""
    spread = "" if low is None or high is None else f" [{number(low)}, {number(high)}]"
    lead = f"{name}, " if name else ""
    return f"{lead}{where}: {number(round(value, 6))}{spread}"


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
