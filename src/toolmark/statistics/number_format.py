"""Numbers for display: shares in per cent, differences in percentage points, others plain."""

from __future__ import annotations

import math

from toolmark.core.records import Estimate
from toolmark.statistics.interval_limits import FEWEST_ANSWERS, FEWEST_GROUPS

DASH = "–"
NO_BREAK_SPACE = "\u00a0"
# outside: powers of ten
_LARGEST_PLAIN = 1e6
_SMALLEST_PLAIN = 1e-4
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NO_INTERVAL_NOTE = (
    f"No interval where a plain number rests on fewer than {FEWEST_GROUPS} items or groups, a "
    f"relative error on fewer than {FEWEST_ANSWERS} answers (in each part of a mean), or where all "
    "are alike."
)
SYMMETRY_TOLERANCE = 0.01  # how far an end of an interval may be from the shared half-width


def format_estimate(estimate: Estimate) -> str:
    """Return a share in per cent, or any other number plain, with its interval."""
    return format_share(estimate) if estimate.share else format_number(estimate)


def format_number(estimate: Estimate) -> str:
    """Return "0.879 [0.812, 0.951]": a number that is not a share, with its interval.

    The interval has the same decimals as the number. Dashes are used as in `format_share`.
    """
    if estimate.value is None:
        return DASH
    if estimate.partial:
        return f"{DASH} ({estimate.partial})"
    text = format_decimal(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    low, high = (format_decimal(end, like=estimate.value) for end in (estimate.low, estimate.high))
    return f"{text} [{low},{NO_BREAK_SPACE}{high}]"


def format_decimal(value: float, *, like: float | None = None) -> str:
    """Return 12.35, 1.235, 0.0123, 1.23 × 10⁻⁵ or ∞: at least three significant digits.

    `like` is a number whose count of decimals is used instead.
    """
    if not math.isfinite(value):
        return DASH if math.isnan(value) else "∞" if value > 0 else "−∞"
    size = abs(value if like is None or not math.isfinite(like) else like)
    if size >= _LARGEST_PLAIN or 0 < size < _SMALLEST_PLAIN:
        digits, _, power = f"{value:.2e}".partition("e")
        raised = str(int(power)).translate(_SUPERSCRIPTS)
        return (
            f"{digits}{NO_BREAK_SPACE}×{NO_BREAK_SPACE}10{raised}".replace("-", "−")
            if value
            else "0"
        )
    places = 3 if size == 0 else max(0, min(3, 3 - math.floor(math.log10(size))))
    places = max(places, 2 - math.floor(math.log10(size))) if 0 < size < 1 else places
    return f"{value:,.{places}f}".replace(",", "\u202f").replace("-", "−")


def format_share(estimate: Estimate) -> str:
    """Return "38.2 % [26.1, 52.4]"; without an interval there are no brackets.

    Returns a dash where nothing ran, and "– (1 of 4 categories run)" where the value is partial.
    """
    if estimate.value is None:
        return DASH
    if estimate.partial:
        return f"{DASH} ({estimate.partial})"
    text = format_percent(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} {format_percent_interval(estimate.low, estimate.high)}"


def format_plus_minus(estimate: Estimate) -> str | None:
    """Return "61.4 ± 2.7" in per cent, or "0.0 [0.0, 32.9]" where the interval is asymmetric.

    Returns None where nothing ran or the value is partial.
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None or estimate.partial:
        return None
    if low is None or high is None:
        return f"{100 * value:.1f}"
    half = (high - low) / 2
    if max(abs(value - low - half), abs(high - value - half)) <= SYMMETRY_TOLERANCE:
        return f"{100 * value:.1f} ± {100 * half:.1f}"
    return f"{100 * value:.1f} {format_percent_interval(low, high)}"


def format_points(estimate: Estimate) -> str:
    """Return a difference of shares in percentage points: "+3.1 [-1.0, +7.2]"."""
    if estimate.value is None:
        return DASH
    text = _format_signed_points(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{_format_signed_points(estimate.low)}, {_format_signed_points(estimate.high)}]"


def format_difference(estimate: Estimate) -> str:
    """Return "+3.1 [−1.0, +7.2]" points for shares, "+0.012 [−0.003, +0.027]" for other numbers."""
    if estimate.share or estimate.value is None:
        return format_points(estimate)
    numbers = [
        f"+{text}" if end > 0 else text
        for end in (estimate.value, estimate.low, estimate.high)
        if end is not None
        for text in (format_decimal(end, like=estimate.value),)
    ]
    return (
        numbers[0]
        if len(numbers) < 3
        else f"{numbers[0]} [{numbers[1]},{NO_BREAK_SPACE}{numbers[2]}]"
    )


def format_percent(value: float) -> str:
    """Return "38.2 %" with a no-break space."""
    return f"{100 * value:.1f}{NO_BREAK_SPACE}%"


def format_percent_interval(low: float, high: float) -> str:
    """Return "[26.1, 52.4]" in per cent, without the per cent sign."""
    return f"[{100 * low:.1f},{NO_BREAK_SPACE}{100 * high:.1f}]"


def lacks_interval(estimate: Estimate) -> bool:
    """Tell whether a number that is not a share has no interval."""
    lacks = estimate.low is None or estimate.high is None
    return lacks and not (estimate.share or estimate.value is None or estimate.partial)


def format_count(n: int) -> str:
    """Return a whole number with thin spaces between thousands."""
    return f"{n:,}".replace(",", "\u202f")


def format_p_value(p: float) -> str:
    """Return a p-value with two significant digits, or "< 0.0001".

    A value that would be rounded to 0.05 has three digits, so that its side of 0.05 is visible.
    """
    if p < 0.0001:
        return f"<{NO_BREAK_SPACE}0.0001"
    text = f"{p:.2f}" if p >= 0.1 else f"{p:.2g}"
    return f"{p:.3g}" if text == "0.05" else text


def _format_signed_points(value: float) -> str:
    # a true minus sign, and no sign on a number that rounds to zero
    rounded = round(100 * value, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def replace_special_spaces(text: str) -> str:
    """Return text for a terminal, with ordinary spaces that can be searched and copied."""
    return text.replace(NO_BREAK_SPACE, " ").replace("\u202f", " ")
