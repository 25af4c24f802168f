"""Scorers for suites of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolmark.scoring.answer_scorer import AnswerMatches
from toolmark.scoring.comparators import Comparator
from toolmark.scoring.expected_calls import MatchCalls, Order
from toolmark.scoring.state_scorer import StateEquals


def state_equals(field: str = "expected", *, any_of: bool = False) -> StateEquals:
    """Return a scorer: the environment must end in the state that the row expects.

    Args:
        field: The field of `task.data` with the expected state, as `final_state` returns it.
        any_of: The field holds a list of states of which any is right.
    """
    return StateEquals(field, any_of=any_of)


def match_calls(
    *, order: Order = "free", ignore: Sequence[str] = (), extra_reads: bool = False
) -> MatchCalls:
    """Return a scorer: the calls of the episode must be those that the row expects.

    The row's `expected` is a list of calls, `alternatives` has further lists of which any is right.
    Values are compared as BFCL compares them.

    Args:
        order: "free" lets calls come in any order, "strict" wants that of the row.
        ignore: Names of arguments that never count, `ARGUMENT` or `TOOL.ARGUMENT`.
        extra_reads: Lets further calls of read-only tools pass.
    """
    return MatchCalls(order=order, ignore=ignore, extra_reads=extra_reads)


def answer_matches(
    field: str = "expected",
    comparator: Comparator | str | Mapping[str, Any] | None = None,
    *,
    any_of: bool = False,
) -> AnswerMatches:
    """Return a scorer: the answer must state the value that the row expects.

    Args:
        field: The field of `task.data` with the expected value.
        comparator: How the two are compared: a name such as "date", or a name with settings such as
            `{"number": {"tolerance": 0.01}}`. Without one the type of the expected value decides.
        any_of: The field holds a list of values of which any is right.
    """
    return AnswerMatches(field, comparator, any_of=any_of)
