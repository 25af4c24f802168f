"""Whether an answer states a value: not denied, not one of several, no bound, no question.

Each guard looks at a bounded number of tokens around a value, so the time is linear in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from toolmark.language.value_tokens import ValueToken, is_glued, text_at
from toolmark.scoring.comparators import condition_guards as conditions
from toolmark.scoring.comparators.guard_words import guard_words, phrases
from toolmark.scoring.comparators.withdrawal_guards import (
    DENIED,
    RULED_OUT,
    find_withdrawal,
    is_bare_end,
    is_denied_from,
    is_excluded,
)

WINDOW = 12  # tokens before a value in which a word can deny it
_AFTER_WINDOW = 6
_MAX_GAP = 10  # tokens between two values of one list, or before a correction
_MAX_OR_GAP = 7
_SENTENCE_ENDS = frozenset(".!?")
_QUOTES = frozenset("\"'`*_“”‘’«»([{)]}~≈")


_MAX_BARE_LIST = 200  # tokens
_MAX_LEAD = 6  # articles and quotes before a value
_LEADS = _QUOTES | {"the", "a", "an"}
_CORRECTING = frozenset(
    {"actually", "but", "i", "in", "it", "it's", "that", "that's", "this", "wait"}
)
_ALTERNATIVE_LEADS = _LEADS | {"maybe", "perhaps"}


class Candidate(NamedTuple):
    """A value that a text contains: its tokens, `last` exclusive, and whether it is expected."""

    first: int
    last: int
    matches: bool


class AnswerText(NamedTuple):
    """The tokens of an answer and the values in it, in order.

    - `is_complete`: whether all values of the kind are among them, as with numbers. Of a plain
      text only the expected value is known.
    - `is_open`: whether there may be values that are not known, as with places.
    - `is_time`: whether the values are dates or clock times.
    """

    tokens: Sequence[ValueToken]
    candidates: Sequence[Candidate]
    is_complete: bool = True
    is_open: bool = False
    is_time: bool = False


def find_refusals(answer: AnswerText) -> list[str]:
    """Return for each value why it is not stated, "" where it is."""
    questions = _question_marks(answer.tokens)
    lists = _list_refusals(answer)
    found = []
    for n, candidate in enumerate(answer.candidates):
        before = answer.candidates[n - 1].last if n else 0
        found.append(
            lists[n]
            or _bound_candidates(answer, candidate)
            or _denied_before(answer, candidate, before)
            or _denied_after(answer, n)
            or _corrected_candidates(answer, n)
            or _withdrawn_candidates(answer, n)
            or _conditional_candidates(answer, n)
            or _restated_candidates(answer, candidate)
            or ("it is asked, not stated" if questions[candidate.last - 1] else "")
        )
        if n and not found[n] and found[n - 1] == DENIED and _is_reason(answer, n):
            found[n] = DENIED
    return found


# --- around one value -------------------------------------------------------------------


def _bound_candidates(answer: AnswerText, candidate: Candidate) -> str:
    """Return a refusal where the value is only a bound: at least 15, 15 or more."""
    tokens, start = answer.tokens, candidate.first
    low = max(start - _MAX_LEAD, 0)
    while start > low and tokens[start - 1].text in _LEADS:
        start -= 1
    names = ["bounds_before", *(["time_bounds_before"] if answer.is_time else [])]
    for name in names:
        for at in range(max(start - 4, 0), start):
            if phrases(name).end_at(tokens, at) == start and not _is_sum(tokens, at):
                return "it is a bound, not the value"
    after = _skip_quotes(tokens, candidate.last)
    if phrases("bounds_after").end_at(tokens, after):
        plus = text_at(tokens, after) == "+"
        if not plus or (is_glued(tokens, after) and not is_glued(tokens, after + 1)):
            return "it is a bound, not the value"
    return ""


def _is_sum(tokens: Sequence[ValueToken], at: int) -> bool:
    """Return whether "up to" belongs to a verb that names a sum: adds up to."""
    return text_at(tokens, at) == "up" and text_at(tokens, at - 1) in guard_words().sum_verbs


def _denied_before(answer: AnswerText, candidate: Candidate, before: int) -> str:
    """Return a refusal where a word of the same clause denies the value.

    `before` is the end of the value before this one: what stands before that denies that one.
    """
    tokens, start = answer.tokens, candidate.first
    low = max(start - WINDOW, before, 0)
    for at in range(start - 1, low - 1, -1):
        if _ends_clause(tokens, at):
            low = at if phrases("negations").end_at(tokens, at) else at + 1  # instead of
            break
        if tokens[at + 1].new_line:
            low = at + 1
            break
    if _negation(tokens, low, start) or _is_without(answer, start):
        return DENIED
    if phrases("doubts").find_in(tokens, low, start) >= 0:
        return "it is not what the answer settles on"
    return ""


def _ends_clause(tokens: Sequence[ValueToken], at: int) -> bool:
    if tokens[at].folded == "yet":  # not yet
        before = text_at(tokens, at - 1)
        return before != "not" and not before.endswith("n't")
    return tokens[at].folded in guard_words().clause_ends and not _is_inner(tokens, at)


def _is_without(answer: AnswerText, start: int) -> bool:
    """Return whether a value that is no number follows "no" or "without": but no plum."""
    if answer.is_complete and not (answer.is_open or answer.is_time):
        return False
    tokens = answer.tokens
    start -= text_at(tokens, start - 1) in {"a", "an", "the", "any"}
    return text_at(tokens, start - 1) in {"no", "without"}


def _is_inner(tokens: Sequence[ValueToken], at: int) -> bool:
    """Return whether a point stands inside a word or an abbreviation: e.g., v1.2."""
    return tokens[at].text in ".,:" and is_glued(tokens, at + 1) and is_glued(tokens, at)


def _negation(tokens: Sequence[ValueToken], low: int, high: int) -> bool:
    at = low
    while at < high:
        harmless = phrases("not_negations").end_at(tokens, at)
        if harmless:
            at = harmless
            continue
        last = phrases("negations").end_at(tokens, at)
        if (last and last <= high) or tokens[at].folded.endswith("n't"):
            return True
        at += 1
    return False


def _denied_after(answer: AnswerText, n: int) -> str:
    """Return a refusal where the clause goes on to deny the value: 15 is wrong."""
    tokens, candidate = answer.tokens, answer.candidates[n]
    at = _skip_quotes(tokens, candidate.last)
    is_number = answer.is_complete and not (answer.is_open or answer.is_time)
    if is_denied_from(tokens, at, may_count=is_number):
        return RULED_OUT
    if not is_number and is_excluded(tokens, at):  # of numbers: 3 failed
        return RULED_OUT
    return ""


def _withdrawn_candidates(answer: AnswerText, n: int) -> str:
    """Return a refusal where the answer takes the value back or leaves it open."""
    candidate, later = answer.candidates[n], answer.candidates[n + 1 : n + 2]
    following = later[0].first if later else len(answer.tokens)
    has_other = bool(later) and answer.is_complete and later[0].matches != candidate.matches
    tokens, first, last = answer.tokens, candidate.first, candidate.last
    if answer.is_time and is_bare_end(tokens, first, last, following):
        return "it is one of several values"
    return find_withdrawal(tokens, first, last, following, has_other=has_other)


def _conditional_candidates(answer: AnswerText, n: int) -> str:
    """Return a refusal where the value holds on a condition, in the past only, or is replaced."""
    candidate, later = answer.candidates[n], answer.candidates[n + 1 : n + 2]
    place = conditions.place_value(answer.tokens, candidate.first, candidate.last)
    is_plain = not answer.is_complete
    if conditions.is_conditional(place) or (is_plain and conditions.is_pending(place)):
        return conditions.CONDITIONAL
    is_known = answer.is_complete and not answer.is_open
    has_other = not is_known or (bool(later) and later[0].matches != candidate.matches)
    following = later[0].first if later else len(answer.tokens)
    known_other = following if later and is_known else 0
    if conditions.is_former(place, known_other, has_other=has_other):
        return conditions.FORMER
    is_number = is_known and not answer.is_time
    if has_other and conditions.is_superseded(
        place, following, is_number=is_number, is_plain=is_plain
    ):
        return conditions.REPLACED
    if answer.is_time and conditions.is_cancelled(place, following):
        return conditions.REPLACED
    if is_number and _has_neighbour(answer, n, place) and conditions.is_deduction(place):
        return conditions.OTHER_QUANTITY
    return ""


def _has_neighbour(answer: AnswerText, n: int, place: conditions.ValueContext) -> bool:
    """Return whether the sentence of a value has another value next to it."""
    near = [*answer.candidates[max(n - 1, 0) : n], *answer.candidates[n + 1 : n + 2]]
    return any(
        each.matches != answer.candidates[n].matches and place.start <= each.first < place.end
        for each in near
    )


def _is_reason(answer: AnswerText, n: int) -> bool:
    """Return whether a value is named again as why it is denied: not 14, because 14 is even."""
    left, right = answer.candidates[n - 1], answer.candidates[n]
    between = answer.tokens[left.last : min(right.first, left.last + _MAX_GAP)]
    if left.matches != right.matches or any(t.text in _SENTENCE_ENDS for t in between):
        return False
    return any(token.folded in {"because", "since"} for token in between)


def _skip_quotes(tokens: Sequence[ValueToken], at: int) -> int:
    while at < len(tokens) and tokens[at].text in _QUOTES:
        at += 1
    return at


def _corrected_candidates(answer: AnswerText, n: int) -> str:
    """Return a refusal where the answer takes the value back: 15, no, 16."""
    tokens, end = answer.tokens, answer.candidates[n].last
    at = end
    while at < len(tokens) and at < end + 4 and tokens[at].kind == "sign":
        at += 1
    last = phrases("corrections").end_at(tokens, at)
    if not last or at == end:
        return ""
    if not answer.is_complete:
        more = any(token.kind != "sign" for token in tokens[last : last + 3])
        word = text_at(tokens, last) if text_at(tokens, last - 1) == "no" else ""
        is_other = word.isalpha() and word not in _CORRECTING  # red and blue, no green
        return "it is taken back" if more and not is_other else ""
    after = n + 1 < len(answer.candidates) and answer.candidates[n + 1]
    if after and after.first - last <= _MAX_GAP and not after.matches:
        return "it is taken back"
    return ""


def _restated_candidates(answer: AnswerText, candidate: Candidate) -> str:
    """Return a refusal where the sentence repeats the question: you asked whether it is 15."""
    tokens, low = answer.tokens, candidate.first
    while low > 0 and candidate.first - low < 2 * WINDOW:
        if tokens[low].new_line or tokens[low - 1].text in _SENTENCE_ENDS:
            break
        low -= 1
    restated = phrases("restatements").find_in(tokens, low, candidate.first) >= 0
    return "it is asked, not stated" if restated else ""


def _question_marks(tokens: Sequence[ValueToken]) -> list[bool]:
    """Return for each token whether its sentence is a question that is not answered with yes."""
    found, asked = [False] * len(tokens), False
    for at in range(len(tokens) - 1, -1, -1):
        if tokens[at].text in _SENTENCE_ENDS and not is_glued(tokens, at + 1):
            asked = tokens[at].text == "?" and text_at(tokens, at + 1) not in {"yes", "correct"}
        found[at] = asked
        if tokens[at].new_line:
            asked = False
    return found


# --- several values ---------------------------------------------------------------------


def _list_refusals(answer: AnswerText) -> list[str]:
    """Return for each value whether it is one of several, or the end of a range."""
    found = [""] * len(answer.candidates)
    if not answer.is_complete:
        return [_single_alternative(answer, candidate) for candidate in answer.candidates]
    start = 0
    for n in range(1, len(answer.candidates) + 1):
        if n < len(answer.candidates) and _joint(answer, n):
            continue
        if n - start > 1:
            _mark_list(answer, start, n, found)
        start = n
    for n in range(1, len(answer.candidates)):
        _mark_range(answer, n, found)
    if answer.is_open:
        for n, candidate in enumerate(answer.candidates):
            found[n] = found[n] or _single_alternative(answer, candidate)
    return found


def _gap(answer: AnswerText, n: int) -> list[str]:
    """Return the words and signs between a value and the one before it."""
    left, right = answer.candidates[n - 1].last, answer.candidates[n].first
    if right - left > _MAX_GAP or any(t.new_line for t in answer.tokens[left : right + 1]):
        return ["."]
    return [token.folded for token in answer.tokens[left:right] if token.text not in _QUOTES]


def _joint(answer: AnswerText, n: int) -> bool:
    gap = _gap(answer, n)
    joints = guard_words().joints | {",", "/", "|"}
    if gap[:1] == ["or"] or gap[:2] == [",", "or"]:  # 15 or, in other years, 16
        return len(gap) <= _MAX_OR_GAP and not _SENTENCE_ENDS & {*gap}
    return (
        bool(gap)
        and gap[0] in {"or", "and", ",", "/", "|", "maybe", "perhaps"}
        and all(word in joints for word in gap)
    )


def _mark_list(answer: AnswerText, start: int, end: int, found: list[str]) -> None:
    """Mark the values of one list where the list leaves open which of them is meant."""
    members = answer.candidates[start:end]
    if len({each.matches for each in members}) < 2:
        return
    words = {word for n in range(start + 1, end) for word in _gap(answer, n)}
    first, tokens = members[0].first, answer.tokens
    is_open = bool(words & guard_words().alternatives)
    low = max(first - WINDOW, 0)
    is_open = is_open or phrases("possibilities").find_in(tokens, low, first) >= 0
    if first < 3 and len(tokens) < _MAX_BARE_LIST:  # an answer that is nothing but a list
        signs = {t.text for t in (*tokens[:first], *tokens[members[-1].last :])}
        is_open = is_open or signs <= _QUOTES | {".", "!"}
    if is_open:
        for n in range(start, end):
            found[n] = "it is one of several values"


def _mark_range(answer: AnswerText, n: int, found: list[str]) -> None:
    """Mark the two ends of a range; of a change from one value to another only the first."""
    left, right = answer.candidates[n - 1], answer.candidates[n]
    gap = _gap(answer, n)
    tokens = answer.tokens
    low = max(left.first - 8, 0)
    between = text_at(tokens, _back_over_quotes(tokens, left.first)) == "between"
    if (between and gap == ["and"]) or (len(gap) == 1 and gap[0] in guard_words().range_signs):
        if left.matches == right.matches:
            return
        changed = phrases("changes").find_in(tokens, low, left.first) >= 0
        came_from = text_at(tokens, _back_over_quotes(tokens, left.first)) == "from"
        found[n - 1] = found[n - 1] or "it is the end of a range"
        if not (changed and came_from):
            found[n] = found[n] or "it is the end of a range"


def _back_over_quotes(tokens: Sequence[ValueToken], at: int) -> int:
    at -= 1
    while at > 0 and tokens[at].text in _QUOTES:
        at -= 1
    return at


def _single_alternative(answer: AnswerText, candidate: Candidate) -> str:
    """Return a refusal where "or" stands next to a value whose alternatives are not known."""
    tokens = answer.tokens
    after = _skip_quotes(tokens, candidate.last)
    after += text_at(tokens, after) == ","
    joined = text_at(tokens, after) in guard_words().alternatives
    if joined and not phrases("harmless_after_or").end_at(tokens, after + 1):
        slash = text_at(tokens, after) == "/"
        if not slash or after + 1 < len(tokens):
            return "it is one of several values"
    before = candidate.first - 1
    while before > candidate.first - _MAX_LEAD and text_at(tokens, before) in _ALTERNATIVE_LEADS:
        before -= 1
    if text_at(tokens, before) in {"or", "/", "either"}:
        return "it is one of several values"
    low = max(candidate.first - WINDOW, 0)
    listed = text_at(tokens, candidate.last) in {",", "or", "/"}
    announced = phrases("possibilities").find_in(tokens, low, candidate.first) >= 0
    near = phrases("possibilities").find_in(tokens, max(candidate.first - 4, 0), candidate.first)
    if listed and announced and near >= 0:
        return "it is one of several values"
    return ""
