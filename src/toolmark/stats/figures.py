"""Numbers as a reader sees them: shares in per cent, differences in points, others as they are."""

from __future__ import annotations

import math

from toolmark.stats.interval import FEWEST
from toolmark.types import Estimate

DASH = "–"
SPACE = "\u00a0"
_LARGE, _SMALL = 1e6, 1e-4  # beyond, numbers are told by powers of ten
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MANY = 100
"""Answers: of fewer a relative error has no interval."""
BARE = (
    f"No interval where a plain number rests on fewer than {FEWEST} items or groups, a relative "
    f"error on fewer than {MANY} answers (in each part of a mean), or where all are alike."
)
EVEN = 0.01  # by which an end of an interval may miss the half-width that stands for both


def value(estimate: Estimate) -> str:
    """Return a share in per cent, any other number plain; each with its interval."""
    return share(estimate) if estimate.share else number(estimate)


def number(estimate: Estimate) -> str:
    """Return "0.879 [0.812, 0.951]": a number that is no share, its interval in the same decimals.

    Dashes stand where they stand for a share.
    """
    if estimate.value is None:
        return DASH
    if estimate.partial:
        return f"{DASH} ({estimate.partial})"
    told = decimal(estimate.value)
    if estimate.low is None or estimate.high is None:
        return told
    low, high = (decimal(end, like=estimate.value) for end in (estimate.low, estimate.high))
    return f"{told} [{low},{SPACE}{high}]"


def decimal(value: float, *, like: float | None = None) -> str:
    """Return 12.35, 1.235, 0.0123, 1.23 × 10⁻⁵, ∞: no less than three significant digits.

    `like` is the number whose decimals it takes.
    """
    if not math.isfinite(value):
        return DASH if math.isnan(value) else "∞" if value > 0 else "−∞"
    size = abs(value if like is None or not math.isfinite(like) else like)
    if size >= _LARGE or 0 < size < _SMALL:
        digits, _, power = f"{value:.2e}".partition("e")
        raised = str(int(power)).translate(_RAISED)
        return f"{digits}{SPACE}×{SPACE}10{raised}".replace("-", "−") if value else "0"
    places = 3 if size == 0 else max(0, min(3, 3 - math.floor(math.log10(size))))
    places = max(places, 2 - math.floor(math.log10(size))) if 0 < size < 1 else places
    return f"{value:,.{places}f}".replace(",", "\u202f").replace("-", "−")


def share(estimate: Estimate) -> str:
    """Return "38.2 % [26.1, 52.4]"; no brackets without an interval.

    A dash where nothing ran; "– (1 of 4 categories run)" where the value is partial.
    """
    if estimate.value is None:
        return DASH
    if estimate.partial:
        return f"{DASH} ({estimate.partial})"
    text = percent(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} {interval(estimate.low, estimate.high)}"


def wide(estimate: Estimate) -> str | None:
    """Return "61.4 ± 2.7" in per cent, "0.0 [0.0, 32.9]" where the interval is lopsided.

    None where nothing ran or a part of it lacks.
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None or estimate.partial:
        return None
    if low is None or high is None:
        return f"{100 * value:.1f}"
    half = (high - low) / 2
    if max(abs(value - low - half), abs(high - value - half)) <= EVEN:
        return f"{100 * value:.1f} ± {100 * half:.1f}"
    return f"{100 * value:.1f} {interval(low, high)}"


def points(estimate: Estimate) -> str:
    """Return a difference of shares in percentage points: "+3.1 [-1.0, +7.2]"."""
    if estimate.value is None:
        return DASH
    text = _signed(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{_signed(estimate.low)}, {_signed(estimate.high)}]"


def difference(estimate: Estimate) -> str:
    """Return "+3.1 [−1.0, +7.2]" points of shares, "+0.012 [−0.003, +0.027]" of other numbers."""
    if estimate.share or estimate.value is None:
        return points(estimate)
    told = [
        f"+{text}" if end > 0 else text
        for end in (estimate.value, estimate.low, estimate.high)
        if end is not None
        for text in (decimal(end, like=estimate.value),)
    ]
    return told[0] if len(told) < 3 else f"{told[0]} [{told[1]},{SPACE}{told[2]}]"


def percent(value: float) -> str:
    """Return "38.2 %", the space unbreakable."""
    return f"{100 * value:.1f}{SPACE}%"


def interval(low: float, high: float) -> str:
    """Return "[26.1, 52.4]", in per cent without the sign."""
    return f"[{100 * low:.1f},{SPACE}{100 * high:.1f}]"


def bare(estimate: Estimate) -> bool:
    """Tell whether a number that is no share lacks its interval."""
    lacks = estimate.low is None or estimate.high is None
    return lacks and not (estimate.share or estimate.value is None or estimate.partial)


def count(n: int) -> str:
    """Return a whole number with thin spaces between thousands."""
    return f"{n:,}".replace(",", "\u202f")


def chance(p: float) -> str:
    """Return a p-value: two significant digits, "< 0.0001" below that.

    Of one that would be rounded to 0.05 three: it is on one side of it.
    """
    if p < 0.0001:
        return f"<{SPACE}0.0001"
    told = f"{p:.2f}" if p >= 0.1 else f"{p:.2g}"
    return f"{p:.3g}" if told == "0.05" else told


def _signed(value: float) -> str:
    # a true minus sign, and no sign on what rounds to nothing
    rounded = round(100 * value, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def plain(text: str) -> str:
    """Return text for a terminal: ordinary spaces, which can be searched and copied."""
    return text.replace(SPACE, " ").replace("\u202f", " ")
