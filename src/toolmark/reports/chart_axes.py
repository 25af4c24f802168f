"""The parts that charts share: round ticks, scales, short numbers, colours and the legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from toolmark.core import svg
from toolmark.core.number_format import format_short
from toolmark.core.svg import Markup
from toolmark.core.text_excerpt import shorten_text

# Palette of Okabe and Ito, safe for colour-blind readers; the page sets lighter twins for dark mode
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#a8559b", "#b07a00", "#3a9bd1", "#7a7a7a", "#5b4bc4",
)  # fmt: skip
LETTER_PIXELS = 7.2  # mean width of a character at 13 px
LEGEND_ROW_PIXELS = 18.0


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from values to pixels, with its ticks."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]

    def to_pixel(self, value: float) -> float:
        """Return the pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def fit_scale(values: Sequence[float], start: float, end: float, *, zero: bool) -> Scale:
    """Fit a scale with round ticks around the values; `zero` makes the scale include zero.

    Shares with a maximum close to 1 get the scale 0 to 1. Equal values, and no values,
    get a scale of one unit.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if zero and low == 0 and 0.6 < high <= 1:
        high = 1.0
    if high - low < 1e-12 * max(1.0, abs(high)):
        low, high = (0.0, 1.0) if abs(low) < 1e-12 else (low - abs(low) / 2, low + abs(low) / 2)
    step = _round_step((high - low) / 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(i * step for i in range(first, last + 1))
    return Scale(low=ticks[0], high=ticks[-1], start=start, end=end, ticks=ticks)


def fit_exact_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """Fit a scale whose ticks are the values themselves, with room at both ends."""
    ticks = tuple(sorted(set(values)))
    margin = (ticks[-1] - ticks[0]) * 0.06 or 0.5
    return Scale(low=ticks[0] - margin, high=ticks[-1] + margin, start=start, end=end, ticks=ticks)


def series_colour(index: int) -> str:
    """Return the colour of a series as a CSS value: the page's variable, or the palette."""
    index %= len(COLOURS)
    return f"var(--s{index + 1}, {COLOURS[index]})"


def draw_marker(index: int, x: float, y: float, *, title: str) -> Markup:
    """Draw a point. The shape depends on the series, so that colour is not the only cue."""
    tip = svg.element("title", title)
    paint = f"fill:{series_colour(index)}"
    match index % 4:
        case 0:
            return svg.element("circle", tip, cx=x, cy=y, r=4, style=paint)
        case 1:
            return svg.element(
                "rect", tip, x=x - 3.6, y=y - 3.6, width=7.2, height=7.2, style=paint
            )
        case 2:
            return svg.element("path", tip, d=f"M{x:.1f} {y - 5:.1f}l5 8.6h-10z", style=paint)
        case _:
            return svg.element("path", tip, d=f"M{x:.1f} {y - 5.2:.1f}l5.2 5.2-5.2 5.2-5.2-5.2z",
                           style=paint)  # fmt: skip


def draw_legend(names: Sequence[str], left: float, right: float) -> tuple[Markup, float]:
    """Draw the names of the series in rows from the top; return the drawing and its height."""
    if len(names) < 2:
        return Markup(""), 0.0
    parts: list[Markup] = []
    x, y = left, 12.0
    for index, name in enumerate(names):
        text = clip_label(name, right - left - 20)
        width = 30 + LETTER_PIXELS * len(text)
        if x > left and x + width - 12 > right:
            x, y = left, y + LEGEND_ROW_PIXELS
        parts.append(draw_marker(index, x + 5, y - 4, title=name))
        parts.append(svg.element("text", text, x=x + 14, y=y, class_="label"))
        x += width
    return svg.join_children(parts), y + 12


def clip_label(text: str, width: float) -> str:
    """Shorten a label to about `width` pixels."""
    # rounding of floats may make a label that fits look too long
    max_letters = max(4, int(width / LETTER_PIXELS + 1e-9))
    return shorten_text(text, max_letters)


def tooltip_text(
    name: str, position: str, value: float, low: float | None, high: float | None
) -> str:
    """Return the tooltip text of one point."""
    spread = "" if low is None or high is None else f" [{format_short(low)}, {format_short(high)}]"
    prefix = f"{name}, " if name else ""
    return f"{prefix}{position}: {format_short(round(value, 6))}{spread}"


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
