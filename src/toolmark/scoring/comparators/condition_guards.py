"""Whether an answer states a value only on a condition, for the past, or as what is replaced.

Each guard looks at a bounded number of tokens around a value, as those of `statement_guards` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from toolmark.language.value_tokens import ValueToken, text_at
from toolmark.scoring.comparators.guard_words import guard_words, phrases
from toolmark.scoring.comparators.withdrawal_guards import (
    sentence_end,
    sentence_start,
    skip_adverb,
)

CONDITIONAL = "it depends on a condition"
FORMER = "it is no longer so"
REPLACED = "it is taken back"
OTHER_QUANTITY = "it is another quantity"
_STOPS = frozenset(".!?")  # a semicolon joins the two branches of a condition
_CLAUSE_JOINTS = frozenset({"and", "but", "or", ",", ";", ":", "(", "–", "—"})
_MAX_REPLACEMENT_GAP = 10  # tokens between a value and "was moved to"
_MAX_CANCELLATION_GAP = 8
_MAX_DENIAL_GAP = 5  # tokens from "but" to a negation
_MAX_COPULA_GAP = 3  # tokens from "was" to a value
_PRESENT_VERBS = frozenset(
    {"is", "are", "it's", "costs", "has", "opens", "closes", "starts", "begins", "leaves"}
)
_PARTICIPLE_ENDS = ("ed", "en")
_PLURALS = frozenset({"are", "were", "have"})
_ARTICLES = frozenset({"the", "a", "an", "*", "**", '"', "`"})


class ValueContext(NamedTuple):
    """Where a value stands: its tokens and those of its sentence, each end exclusive."""

    tokens: Sequence[ValueToken]
    first: int
    last: int
    start: int
    end: int


def place_value(tokens: Sequence[ValueToken], first: int, last: int) -> ValueContext:
    """Return where a value stands."""
    start = sentence_start(tokens, first, _STOPS)
    return ValueContext(tokens, first, last, start, sentence_end(tokens, last, _STOPS))


# --- conditions -------------------------------------------------------------------------


def is_conditional(place: ValueContext) -> bool:
    """Return whether a value depends on a condition that is open or not met.

    A condition alone leaves a value stated: "if you add them, you get 15".
    """
    return _is_branch(place) or _is_unless(place) or _is_counterfactual(place) or _is_unmet(place)


def _opens_clause(place: ValueContext, at: int) -> bool:
    return at == place.start or text_at(place.tokens, at - 1) in _CLAUSE_JOINTS


def _is_branch(place: ValueContext) -> bool:
    """Return whether a value belongs to one of several cases: if it rains, 7; otherwise 9."""
    tokens, first_branch, n = place.tokens, -1, 0
    for at in range(place.start, place.end):
        if _opens_clause(place, at) and _opens_case(tokens, at):
            first_branch = at if n == 0 else first_branch
            n += 1
    if not n or first_branch > place.first:
        return False
    return n > 1 or _is_otherwise(tokens, place.start) or _is_otherwise(tokens, place.end + 1)


def _opens_case(tokens: Sequence[ValueToken], at: int) -> bool:
    if phrases("polite_conditions").end_at(tokens, at):
        return False
    return bool(phrases("conditions").end_at(tokens, at)) or _is_otherwise(tokens, at)


def _is_otherwise(tokens: Sequence[ValueToken], at: int) -> bool:
    return bool(phrases("other_cases").end_at(tokens, at))


def _is_unless(place: ValueContext) -> bool:
    """Return whether "unless" begins the sentence; "unless I am wrong" is only modest."""
    at = place.start
    following = text_at(place.tokens, at + 1).partition("'")[0]
    return text_at(place.tokens, at) == "unless" and following not in {"i", "we", "otherwise"}


def _is_counterfactual(place: ValueContext) -> bool:
    """Return whether the sentence says what would have been: you would have got 15, had you."""
    tokens = place.tokens
    for at in range(place.start, place.end):
        have = phrases("counterfactuals").end_at(tokens, at)
        if not have and tokens[at].folded.endswith("'d") and text_at(tokens, at + 1) == "have":
            have = at + 2
        if not have:
            continue
        verb = skip_adverb(tokens, have)
        word = text_at(tokens, verb)
        if word.endswith(_PARTICIPLE_ENDS) or word in guard_words().participles:
            others = (i for i in range(place.start, place.end) if i != verb)
            return any(phrases("unreal_conditions").end_at(tokens, i) for i in others)
    return False


def _is_unmet(place: ValueContext) -> bool:
    """Return whether a condition is said not to be met: I'd owe you 12 if I lost, but I didn't."""
    tokens = place.tokens
    words = [tokens[at].folded for at in range(place.start, place.end)]
    would = any(word in {"would", "could"} or word.endswith("'d") for word in words)
    if not would or "if" not in words:
        return False
    if phrases("undecided").find_in(tokens, place.last, place.end) >= 0:
        return True
    for at in range(place.last, place.end):
        if tokens[at].folded == "but":
            following = tokens[at + 1 : min(at + 1 + _MAX_DENIAL_GAP, place.end)]
            return any(t.folded.endswith("n't") or t.folded in {"not", "never"} for t in following)
    return False


def is_pending(place: ValueContext) -> bool:
    """Return whether a text is what will be so on a condition: it will be sent once you pay."""
    tokens, at = place.tokens, place.first
    while at > place.start and tokens[at - 1].folded in _ARTICLES:
        at -= 1
    low = at
    while low > place.start and tokens[low - 1].folded not in _CLAUSE_JOINTS:
        low -= 1
    if any(_waits_for_condition(tokens, i) for i in range(low, at)):  # once it is sent
        return True
    is_future = any(
        phrases("futures").end_at(tokens, i) == at for i in range(max(at - 4, place.start), at)
    )
    if is_future and phrases("waits").find_in(tokens, place.last, place.end) >= 0:
        return True
    is_now = text_at(tokens, at - 1) in {"is", "are", "it's"}
    return is_now and _waits_for_condition(tokens, place.last)  # it is valid if it is signed


def _waits_for_condition(tokens: Sequence[ValueToken], at: int) -> bool:
    """Return whether a condition begins at a token that is no mere politeness."""
    begins = phrases("open_conditions").end_at(tokens, at)
    return bool(begins) and not phrases("polite_conditions").end_at(tokens, at)


# --- the past ---------------------------------------------------------------------------


def is_former(place: ValueContext, other: int, *, has_other: bool) -> bool:
    """Return whether a value was so in the past only: it was 50 until now.

    `has_other`: whether the next value is another one, or not known. `other` is where another
    value begins that is known, 0 for none.
    """
    tokens = place.tokens
    following = sentence_end(tokens, min(place.end + 1, len(tokens)), _STOPS)
    past = any(phrases("past_forms").end_at(tokens, at) for at in range(place.start, place.first))
    for at in range(place.last, place.end) if past else ():
        word, after = tokens[at].folded, text_at(tokens, at + 1)
        if word in {"until", "till"}:
            is_near = after in guard_words().present_ends
            return is_near or phrases("present_times").find_in(tokens, at + 1, following) >= 0
        if word == "before" and (at + 1 >= place.end or tokens[at + 1].kind == "sign"):
            return phrases("present_times").find_in(tokens, at + 1, following) >= 0
        if word == "before" and after in guard_words().present_ends:
            return after == "being" or bool(phrases("past_forms").end_at(tokens, at + 2))
    return has_other and (_is_dated_back(place, following) or _is_followed(place, other))


def _is_followed(place: ValueContext, other: int) -> bool:
    """Return whether a present time and a present verb begin the next value: was 15, now is 16."""
    tokens, low = place.tokens, max(place.first - _MAX_COPULA_GAP, place.start)
    if not any(tokens[at].folded in {"was", "were", "cost"} for at in range(low, place.first)):
        return False
    end = min(other, place.last + 2 * _MAX_REPLACEMENT_GAP)
    at = phrases("present_times").find_in(tokens, place.last, end)
    return at >= 0 and any(tokens[i].folded in _PRESENT_VERBS for i in range(at, end))


def _is_dated_back(place: ValueContext, following: int) -> bool:
    """Return whether a past time stands in the clause of a value and a present one after it."""
    tokens, low, high = place.tokens, place.first, place.last
    while low > place.start and tokens[low - 1].folded not in _CLAUSE_JOINTS:
        low -= 1
    while high < place.end and tokens[high].folded not in _CLAUSE_JOINTS:
        high += 1
    is_past = phrases("past_times").find_in(tokens, low, high) >= 0
    return is_past and phrases("present_times").find_in(tokens, high, following) >= 0


# --- other values -----------------------------------------------------------------------


def is_superseded(place: ValueContext, following: int, *, is_number: bool, is_plain: bool) -> bool:
    """Return whether another value takes the place of this one: 14 June was moved to 21 June.

    `following` is where the next value begins. A number may count what is moved, as in "12 were
    moved to 3 rooms". Of plain texts and names, what moves is no value: Ann was moved to Rome.
    """
    if _is_adverbial(place):
        return False
    tokens, end = place.tokens, min(place.end, following)
    for at in range(place.last, min(place.last + _MAX_REPLACEMENT_GAP, end)):
        moved = bool(phrases("moves").end_at(tokens, at))
        if not moved and not phrases("replacements").end_at(tokens, at):
            continue
        word = text_at(tokens, at - 1 - text_at(tokens, at - 1).endswith("ly"))
        if word in {"and", "then"}:  # was declined by Ann and passed to Ben
            return phrases("refusals").find_in(tokens, place.start, place.first) >= 0
        counts = is_number and word in _PLURALS
        return word in guard_words().replacement_openers and not counts and not (moved and is_plain)
    return False


def _is_adverbial(place: ValueContext) -> bool:
    """Return whether a value begins the sentence after a preposition: on 12 May, in Vienna."""
    before = place.first - 1
    before -= text_at(place.tokens, before) == "the"
    return before == place.start and text_at(place.tokens, before) in {"on", "at", "in"}


def is_cancelled(place: ValueContext, following: int) -> bool:
    """Return whether a day or time is that of what is cancelled: the 18:30 train was cancelled.

    "On 12 May the train was cancelled" states the day.
    """
    if _is_adverbial(place):
        return False
    tokens = place.tokens
    end = min(place.end, following)
    for at in range(place.last, min(place.last + _MAX_CANCELLATION_GAP, end)):
        if tokens[at].folded in guard_words().clause_ends:
            return False
        copula = phrases("copulas").end_at(tokens, at)
        if copula and phrases("cancellations").end_at(tokens, skip_adverb(tokens, copula)):
            return True
    return False


def is_deduction(place: ValueContext) -> bool:
    """Return whether an amount is what is taken off another one: you save $80, a $20 voucher."""
    tokens = place.tokens
    if phrases("deductions").end_at(tokens, place.last):
        return True
    return any(
        phrases("savings").end_at(tokens, at) == place.first
        for at in range(max(place.first - 3, 0), place.first)
    )
