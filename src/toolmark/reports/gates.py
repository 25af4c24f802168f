"""Gates: what a run or a comparison has to reach, so that a program that asks for it can stop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Estimate, Record
from toolmark.reports.comparison_report import Comparison
from toolmark.statistics.paired_tests import SIGNIFICANCE_LEVEL

DEFAULT_MARGIN = 0.02
_MAX_DECIMALS = 12  # of a number that is shown

Outcome = Literal["worse", "better", "equal", "undecided"]
"""What a comparison shows of its second run; `comparison_outcome` defines each."""
Condition = Literal["worse", "changed", "undecided"]
"""What `--fail-if` takes: `changed` is worse or better."""
_OUTCOMES_BY_CONDITION: Mapping[Condition, tuple[Outcome, ...]] = {
    "worse": ("worse",),
    "changed": ("worse", "better"),
    "undecided": ("undecided",),
}


class Gate(Record, frozen=True, kw_only=True):
    """A gate that was asked for, and what became of it.

    - `name`: the name of its flag, without the dashes.
    - `limit`: what was asked for, as text for people.
    - `passed`: whether it holds.
    - `observed`: what was compared with the limit, as text for people.
    - `reason`: why it failed, in one line; "" where it holds.
    """

    name: str
    limit: str
    passed: bool
    observed: str
    reason: str = ""

    @property
    def summary(self) -> str:
        """One line for people, whether it holds or not."""
        if self.passed:
            return f"--{self.name} {self.limit} passed: {self.observed}"
        return f"--{self.name} {self.limit} failed: {self.reason}"


def failed_gates_text(gates: Iterable[Gate]) -> str:
    """Return one line that says which gates failed and why, "" where all hold."""
    return "; ".join(gate.summary for gate in gates if not gate.passed)


# --- gates on one run -------------------------------------------------------------------


class ScoreLimits(Record, frozen=True, kw_only=True):
    """The least headline value, and the least lower end of its interval; None is not checked."""

    value: float | None = None
    low: float | None = None


def parse_share(name: str, text: str | None) -> float | None:
    """Return a share that is written as 0.85 or as 85%; None for None.

    Raises UsageError for anything else; `name` is the flag in its message.
    """
    if text is None:
        return None
    number, percent, rest = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = math.nan
    if rest or not 0 <= share <= 1:
        raise UsageError(
            f"--{name} {text}: expected a share from 0 to 1, such as 0.85, or per cent, such as 85%"
        )
    return share


def check_score_limits(limits: ScoreLimits, headline: Mapping[str, Any]) -> tuple[Gate, ...]:
    """Compare the headline of a summary with the limits that were asked for.

    A headline that is missing or partial is not a number, so it passes no gate. Nor does a headline
    without an interval pass a gate on the interval.
    """
    gates = []
    if limits.value is not None:
        gates.append(_check_limit("fail-under", limits.value, headline, headline["value"]))
    if limits.low is not None:
        gates.append(_check_limit("fail-under-low", limits.low, headline, headline["low"]))
    return tuple(gates)


def _check_limit(
    name: str, limit: float, headline: Mapping[str, Any], observed: float | None
) -> Gate:
    estimate = _to_estimate(headline)
    score_text = f"the score is {number_format.format_estimate(estimate)}"
    if estimate.partial:
        reason = f"there is no whole score: {estimate.partial}"
    elif headline["value"] is None:
        reason = "there is no score"
    elif observed is None:
        reason = f"{score_text}, without an interval"
    elif observed < limit:
        reason = _describe_shortfall(name, observed, limit, estimate)
    else:
        reason = ""
    return Gate(
        name=name,
        limit=number_format.replace_special_spaces(_limit_text(limit, estimate.is_share)),
        passed=not reason,
        observed=number_format.replace_special_spaces(score_text),
        reason=number_format.replace_special_spaces(reason),
    )


def _describe_shortfall(name: str, observed: float, limit: float, estimate: Estimate) -> str:
    """Say by which number a gate fails; a number that is too low is visibly so."""
    score_text = f"the score is {number_format.format_estimate(estimate)}"
    number, n_decimals = repr(observed), 1
    if estimate.is_share:
        limit_percent = round(100 * limit, _MAX_DECIMALS)  # 100 * 0.07 is a little more than 7
        counts = range(1, _MAX_DECIMALS)
        n_decimals = next(
            (n for n in counts if round(100 * observed, n) < limit_percent), _MAX_DECIMALS
        )
        number = number_format.format_percent(observed, n_decimals)
    if name == "fail-under-low":
        return f"the lower end of the interval is {number}; {score_text}"
    return score_text if n_decimals == 1 else f"{score_text}, exactly {number}"


def _limit_text(limit: float, is_share: bool) -> str:
    """Return a limit as it was given, a share in per cent."""
    if not is_share:
        return number_format.format_short(limit, _MAX_DECIMALS)
    return f"{number_format.format_short(100 * limit, _MAX_DECIMALS)} %"


def _to_estimate(fields: Mapping[str, Any]) -> Estimate:
    return Estimate(**{name: fields[name] for name in Estimate.__struct_fields__ if name in fields})


# --- gates on a comparison --------------------------------------------------------------


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """Return the conditions of a comma-separated list. Raises UsageError for an unknown one."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    known = get_args(Condition)
    for word in words:
        if word not in known:
            raise UsageError(f"--fail-if {word!r}{suggest_names(word, known)}")
    if not words:
        raise UsageError(f"--fail-if: expected one or more of {', '.join(known)}")
    return tuple(condition for condition in known if condition in words)


def comparison_outcome(comparison: Comparison, margin: float = DEFAULT_MARGIN) -> Outcome:
    """Return what a comparison shows of run B, seen from run A.

    - `worse`, `better`: the test of the difference is significant at the 5 % level, and B is below,
      or above, A (the reverse where less is better).
    - `equal`: it is not significant, and the 95 % interval of the difference lies within
      plus or minus `margin`.
    - `undecided`: anything else. The interval includes differences that are larger than the margin,
      or nothing was tested.
    """
    found = comparison.paired
    p = found.p if comparison.p_adjusted is None else comparison.p_adjusted
    difference = found.difference
    if p is None or difference.value is None:
        return "undecided"
    if p <= SIGNIFICANCE_LEVEL and difference.value != 0:
        is_worse = (difference.value > 0) != comparison.lower_is_better
        return "worse" if is_worse else "better"
    ends = (difference.low, difference.high)
    is_within = all(end is not None and abs(end) <= margin for end in ends)
    return "equal" if is_within else "undecided"


def check_comparison(
    comparison: Comparison, conditions: Sequence[Condition], margin: float = DEFAULT_MARGIN
) -> Gate:
    """Return the gate that fails where the outcome is one of the conditions."""
    outcome = comparison_outcome(comparison, margin)
    failed = any(outcome in _OUTCOMES_BY_CONDITION[each] for each in conditions)
    description = _describe_outcome(comparison, outcome, margin)
    return Gate(
        name="fail-if",
        limit=",".join(conditions),
        passed=not failed,
        observed=description,
        reason=description if failed else "",
    )


def _describe_outcome(comparison: Comparison, outcome: Outcome, margin: float) -> str:
    """Say in one line what a comparison shows of run B, with its numbers."""
    found = comparison.paired
    difference = found.difference
    if difference.value is None:
        return "undecided: no episode ran in both runs"
    if found.p is None and not comparison.n_changed:
        return "undecided: too few groups of tasks, or numbers too large, to test the difference"
    if found.p is None:
        return "undecided: nothing was tested, because tasks of one id differ in content"
    values = " against ".join(
        number_format.format_estimate(
            Estimate(name="", value=value or 0.0, is_share=difference.is_share)
        )
        for value in (found.value_b, found.value_a)
    )
    ends = (difference.high, difference.low)
    opposite = replace(
        difference, value=-difference.value, low=_opposite(ends[0]), high=_opposite(ends[1])
    )
    size = number_format.format_difference(opposite)
    size += " points" if difference.is_share else ""
    p = number_format.format_p_value(found.p)
    limit = _margin_text(margin, difference)
    relation = {
        "worse": "B is worse than A",
        "better": "B is better than A",
        "equal": f"no difference beyond {limit}",
        "undecided": f"undecided, a difference beyond {limit} is not excluded",
    }[outcome]
    text = f"{relation}: {values}, B minus A {size}, p = {p}"
    return number_format.replace_special_spaces(text.replace("= <", "<"))


def _opposite(end: float | None) -> float | None:
    return None if end is None else -end


def _margin_text(margin: float, difference: Estimate) -> str:
    return _points_text(margin) if difference.is_share else number_format.format_short(margin)


def _points_text(margin: float) -> str:
    return f"{number_format.format_short(100 * margin)} points"
