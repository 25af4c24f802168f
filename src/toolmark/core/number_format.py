"""Numbers for readers: the one place that turns a number into text for terminal, page and JSON.

Thousands are separated by a narrow no-break space, a minus is a true minus sign, shares are in per
cent and their differences in percentage points. Numbers that go to a model, into a drawing's
coordinates or into a file that another program reads are not formatted here.
"""

from __future__ import annotations

import math

from toolmark.core.records import Estimate

DASH = "–"
NO_BREAK_SPACE = "\u00a0"
THOUSANDS_SEPARATOR = "\u202f"
# outside: powers of ten
_LARGEST_PLAIN = 1e6
_SMALLEST_PLAIN = 1e-4
_LARGEST_EXACT = 1e15  # whole numbers above are not shown digit by digit
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DIGIT_SIGNS = str.maketrans({",": THOUSANDS_SEPARATOR, "-": "−"})
SYMMETRY_TOLERANCE = 0.01  # how far an end of an interval may be from the shared half-width


# --- plain numbers ----------------------------------------------------------------------


def format_count(n: int) -> str:
    """Return a whole number with narrow spaces between thousands."""
    return f"{n:,}".translate(_DIGIT_SIGNS)


def pluralize(n: int, word: str, plural: str = "") -> str:
    """Return "1 task", "2 tasks"; `plural` is a plural that is not the word with an s."""
    return f"{format_count(n)} {word if n == 1 else plural or f'{word}s'}"


def format_fixed(value: float, n_decimals: int, *, signed: bool = False) -> str:
    """Return a number with a fixed count of decimals; a number that rounds to zero has no sign."""
    if not math.isfinite(value):
        return _format_non_finite(value)
    rounded = f"{value:{'+' if signed else ''},.{n_decimals}f}"
    is_zero = not rounded.strip("+-0.,")
    return (rounded.lstrip("+-") if is_zero else rounded).translate(_DIGIT_SIGNS)


def format_decimal(value: float, *, like: float | None = None) -> str:
    """Return 12.35, 1.235, 0.0123, 1.23 × 10⁻⁵ or ∞: at least three significant digits.

    `like` is a number whose count of decimals is used instead.
    """
    if not math.isfinite(value):
        return _format_non_finite(value)
    size = abs(value if like is None or not math.isfinite(like) else like)
    if size >= _LARGEST_PLAIN or 0 < size < _SMALLEST_PLAIN:
        return _format_power_of_ten(value, 2) if value else "0"
    n_decimals = 3 if size == 0 else max(0, min(3, 3 - math.floor(math.log10(size))))
    n_decimals = max(n_decimals, 2 - math.floor(math.log10(size))) if 0 < size < 1 else n_decimals
    return format_fixed(value, n_decimals)


def format_short(value: float, n_digits: int = 4) -> str:
    """Return 12.35, 0.5, 12 345 or 1.2 × 10⁻⁵: few significant digits, without zeros at the end.

    Whole numbers and the digits before the point are never rounded.
    """
    if not math.isfinite(value):
        return _format_non_finite(value)
    if value == int(value) and abs(value) < _LARGEST_EXACT:
        return format_count(int(value))
    size = abs(value)
    if not _SMALLEST_PLAIN <= size < _LARGEST_PLAIN:
        return _format_power_of_ten(value, n_digits - 1, strip=True)
    n_decimals = max(0, n_digits - 1 - math.floor(math.log10(size)))
    return _strip_zeros(format_fixed(value, n_decimals))


def format_fixed_interval(value: float, low: float, high: float, n_decimals: int) -> str:
    """Return "0.62 [0.58, 0.66]": a number and its interval with the same count of decimals."""
    text, *ends = (format_fixed(each, n_decimals) for each in (value, low, high))
    return f"{text} [{ends[0]},{NO_BREAK_SPACE}{ends[1]}]"


def format_duration(seconds: float) -> str:
    """Return 0.42 s, 12.3 s, 30 s, 3 min 20 s or 2 h 3 min: the two largest units."""
    if not math.isfinite(seconds):
        return DASH
    if 0 < seconds < 0.005:
        return f"{format_short(seconds, 1)} s"
    if round(seconds, 1) < 60:
        return f"{_strip_zeros(format_fixed(seconds, 2 if seconds < 9.995 else 1))} s"
    minutes, seconds_left = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        large, small = f"{format_count(hours)} h", f"{minutes_left} min" if minutes_left else ""
    else:
        large, small = f"{minutes} min", f"{seconds_left} s" if seconds_left else ""
    return f"{large} {small}".strip()


def format_usd(usd: float) -> str:
    """Return $12.35, $0.0123 or $0: two decimals from a dollar on, below it three digits."""
    if usd == 0 or not math.isfinite(usd):
        return f"${format_fixed(usd, 0)}"
    size = abs(usd)
    n_decimals = 2 if size >= 0.9995 else min(12, 2 - math.floor(math.log10(size)))
    return f"{'−' if usd < 0 else ''}${format_fixed(size, n_decimals)}"


def format_p_value(p: float) -> str:
    """Return a p-value with two significant digits, or "< 0.0001".

    A value that would be rounded to 0.05 has three digits, so that its side of 0.05 is visible.
    """
    if p < 0.0001:
        return f"<{NO_BREAK_SPACE}0.0001"
    text = f"{p:.2f}" if p >= 0.1 else f"{p:.2g}"
    return f"{p:.3g}" if text == "0.05" else text


# --- shares and differences of shares ---------------------------------------------------


def format_percent(share: float, n_decimals: int = 1) -> str:
    """Return "38.2 %" with a no-break space."""
    return f"{format_fixed(100 * share, n_decimals)}{NO_BREAK_SPACE}%"


def format_percent_interval(low: float, high: float) -> str:
    """Return "[26.1, 52.4]" in per cent, without the per cent sign."""
    return f"[{format_fixed(100 * low, 1)},{NO_BREAK_SPACE}{format_fixed(100 * high, 1)}]"


def format_signed_points(difference: float) -> str:
    """Return a difference of shares in percentage points, "+3.1"; no sign on one that is 0.0."""
    return format_fixed(100 * difference, 1, signed=True)


# --- estimates --------------------------------------------------------------------------


def format_estimate(estimate: Estimate) -> str:
    """Return a share in per cent, or any other number plain, with its interval."""
    return format_share(estimate) if estimate.is_share else format_number(estimate)


def format_number(estimate: Estimate) -> str:
    """Return "0.879 [0.812, 0.951]": a number that is not a share, with its interval.

    The interval has the same decimals as the number. Dashes are used as in `format_share`.
    """
    if estimate.partial:
        return f"{DASH} ({estimate.partial})"
    if estimate.value is None:
        return DASH
    text = format_decimal(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    low, high = (format_decimal(end, like=estimate.value) for end in (estimate.low, estimate.high))
    return f"{text} [{low},{NO_BREAK_SPACE}{high}]"


def format_share(estimate: Estimate) -> str:
    """Return "38.2 % [26.1, 52.4]"; without an interval there are no brackets.

    Returns a dash where nothing ran, and "– (1 of 4 categories run)" where the value is partial.
    """
    if estimate.partial:
        return f"{DASH} ({estimate.partial})"
    if estimate.value is None:
        return DASH
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
    text = format_fixed(100 * value, 1)
    if low is None or high is None:
        return text
    half = (high - low) / 2
    if max(abs(value - low - half), abs(high - value - half)) <= SYMMETRY_TOLERANCE:
        return f"{text} ± {format_fixed(100 * half, 1)}"
    return f"{text} {format_percent_interval(low, high)}"


def format_points(estimate: Estimate) -> str:
    """Return a difference of shares in percentage points: "+3.1 [-1.0, +7.2]"."""
    if estimate.value is None:
        return DASH
    text = format_signed_points(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{format_signed_points(estimate.low)}, {format_signed_points(estimate.high)}]"


def format_size(size: float, is_share: bool) -> str:
    """Return the size of a difference: "3.1 points" of shares, "0.123" of other numbers."""
    return f"{format_fixed(100 * size, 1)} points" if is_share else format_decimal(size)


def format_difference(estimate: Estimate) -> str:
    """Return "+3.1 [−1.0, +7.2]" points for shares, "+0.012 [−0.003, +0.027]" for other numbers."""
    if estimate.is_share or estimate.value is None:
        return format_points(estimate)
    numbers = [
        f"+{text}" if end > 0 and text.strip("0.") else text
        for end in (estimate.value, estimate.low, estimate.high)
        if end is not None
        for text in (format_decimal(end, like=estimate.value),)
    ]
    return (
        numbers[0]
        if len(numbers) < 3
        else f"{numbers[0]} [{numbers[1]},{NO_BREAK_SPACE}{numbers[2]}]"
    )


def lacks_interval(estimate: Estimate) -> bool:
    """Tell whether a number that is not a share has no interval."""
    lacks = estimate.low is None or estimate.high is None
    return lacks and not (estimate.is_share or estimate.value is None or estimate.partial)


# --- parts ------------------------------------------------------------------------------


def replace_special_spaces(text: str) -> str:
    """Return text for a terminal, with ordinary spaces that can be searched and copied."""
    return text.replace(NO_BREAK_SPACE, " ").replace(THOUSANDS_SEPARATOR, " ")


def _format_non_finite(value: float) -> str:
    return DASH if math.isnan(value) else "∞" if value > 0 else "−∞"


def _format_power_of_ten(value: float, n_decimals: int, *, strip: bool = False) -> str:
    digits, _, power = f"{value:.{n_decimals}e}".partition("e")
    digits = _strip_zeros(digits) if strip else digits
    raised = str(int(power)).translate(_SUPERSCRIPTS)
    return f"{digits}{NO_BREAK_SPACE}×{NO_BREAK_SPACE}10{raised}".translate(_DIGIT_SIGNS)


def _strip_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
