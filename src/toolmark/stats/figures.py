"""Numbers as a reader sees them: shares in per cent, differences in points."""

from __future__ import annotations

from toolmark.types import Estimate

DASH = "–"
SPACE = "\u00a0"
EVEN = 0.01  # by which an end of an interval may miss the half-width that stands for both


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


def percent(value: float) -> str:
    """Return "38.2 %", the space unbreakable."""
    return f"{100 * value:.1f}{SPACE}%"


def interval(low: float, high: float) -> str:
    """Return "[26.1, 52.4]", in per cent without the sign."""
    return f"[{100 * low:.1f},{SPACE}{100 * high:.1f}]"


def count(n: int) -> str:
    """Return a whole number with thin spaces between thousands."""
    return f"{n:,}".replace(",", "\u202f")


def chance(p: float) -> str:
    """Return a p-value: two significant digits, "< 0.0001" below that."""
    if p < 0.0001:
        return f"<{SPACE}0.0001"
    return f"{p:.2f}" if p >= 0.1 else f"{p:.2g}"


def _signed(value: float) -> str:
    # a true minus sign, and no sign on what rounds to nothing
    rounded = round(100 * value, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def plain(text: str) -> str:
    """Return text for a terminal: ordinary spaces, which can be searched and copied."""
    return text.replace(SPACE, " ").replace("\u202f", " ")
