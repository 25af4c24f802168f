"""What an answer states, from the values in it: the verdict of a comparator on prose.

A value is stated where no guard refuses it. Where the answer announces its result ("the answer is",
"Answer:"), what it announces counts alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from toolmark.language.value_tokens import ValueToken, is_glued, text_at
from toolmark.scoring.comparators.comparison import Comparison, show_value
from toolmark.scoring.comparators.guard_words import guard_words, phrases
from toolmark.scoring.comparators.statement_guards import AnswerText, Candidate, find_refusals
from toolmark.scoring.comparators.withdrawal_guards import RULED_OUT

_MAX_OTHER_ANSWER = 6  # tokens of an announced answer that is not the expected text
_MAX_MARK_GAP = 8  # tokens between an announcement and what it announces
_MARK_VERBS = frozenset(
    {":", "=", "is", "was", "are", "{", "**", "*", "should", "would", "be", "'s"}
)


def judge_answer(text: str, answer: AnswerText, expected: str) -> Comparison:
    """Return whether an answer states the expected value; `expected` is how messages show it."""
    candidates = answer.candidates
    if not candidates:
        return Comparison(False, f"the answer does not contain {expected}")
    refusals = find_refusals(answer)
    free = [c for c, why in zip(candidates, refusals, strict=True) if not why]
    announced = _announced_candidates(answer, free)
    stated = _concluded_candidates(answer, free) if announced is None else announced
    shown = {c: _excerpt(text, answer.tokens, c) for c in candidates[:50]}
    mentions = [n for n, candidate in enumerate(candidates) if candidate.matches]
    if mentions and refusals[mentions[-1]] == RULED_OUT:  # what is excluded in the end
        found = shown.get(candidates[mentions[-1]], "")
        return Comparison(False, f"the answer contains {expected}, but {RULED_OUT}", found)
    for candidate in stated:
        if candidate.matches:
            return Comparison(True, f"the answer states {expected}", shown.get(candidate, ""))
    for candidate, why in zip(candidates, refusals, strict=True):
        if candidate.matches and why:
            found = shown.get(candidate, "")
            return Comparison(False, f"the answer contains {expected}, but {why}", found)
    if stated:
        found = shown.get(stated[-1], "")
        return Comparison(False, f"the answer states {found}, not {expected}", found)
    return Comparison(False, f"the answer does not state {expected}")


def judge_whole(tokens: Sequence[ValueToken], answer: AnswerText, expected: str) -> Comparison:
    """Return whether one value is all that a text consists of, and is the expected one."""
    start, end = trim_signs(tokens)
    for candidate in answer.candidates:
        if candidate.matches and candidate.first <= start and candidate.last >= end:
            return Comparison(True, f"the value is {expected}")
    return Comparison(False, f"the value is not {expected}")


_WRAPPING = frozenset("\"'`*.“”‘’ ")


def trim_signs(tokens: Sequence[ValueToken]) -> tuple[int, int]:
    """Return the tokens of a text without quotes around it and the point at its end."""
    start, end = 0, len(tokens)
    while start < end and tokens[start].text in _WRAPPING:
        start += 1
    while end > start and tokens[end - 1].text in _WRAPPING:
        end -= 1
    return start, end


def _excerpt(text: str, tokens: Sequence[ValueToken], candidate: Candidate) -> str:
    return show_value(text[tokens[candidate.first].start : tokens[candidate.last - 1].end])


class _Sentences:
    """Where the sentences of an answer end, and which values each part of one has."""

    def __init__(self, tokens: Sequence[ValueToken], candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates
        self._firsts = [candidate.first for candidate in candidates]
        self._ends = [len(tokens)] * len(tokens)
        end = len(tokens)
        for at in range(len(tokens) - 1, -1, -1):
            ends_here = tokens[at].text in ".!?;" and not is_glued(tokens, at + 1)
            if ends_here:
                end = at
            self._ends[at] = end
            if tokens[at].new_line:
                end = at

    def end_after(self, at: int) -> int:
        """Return the end of the sentence, or of the line, that a token is in."""
        return self._ends[at]

    def values_from(self, at: int) -> Sequence[Candidate]:
        """Return the values from a token to the end of its sentence."""
        low = bisect_left(self._firsts, at)
        return self._candidates[low : bisect_left(self._firsts, self._ends[at])]


def _announced_candidates(
    answer: AnswerText, stated: Sequence[Candidate]
) -> Sequence[Candidate] | None:
    """Return the stated values of the sentence that last announces the answer.

    None where no announcement stands before a value.
    """
    tokens = answer.tokens
    sentences = _Sentences(tokens, stated)
    firsts = {candidate.first for candidate in stated}
    for mark in range(len(tokens) - 1, -1, -1):
        last = _mark_end(tokens, mark)
        if not last or last >= len(tokens):
            continue
        at = last
        while at < min(len(tokens), last + _MAX_MARK_GAP) and at not in firsts:
            if tokens[at].folded not in guard_words().mark_signs:
                break
            at += 1
        if at in firsts:
            return sentences.values_from(at)
        if not answer.is_complete and at < len(tokens) and tokens[at].kind != "sign":
            is_short = sentences.end_after(at) - at <= _MAX_OTHER_ANSWER
            # the announcement of a plain text names something that is not expected
            if is_short and not _has_value(answer, last, sentences.end_after(at)):
                return []
    return None


def _has_value(answer: AnswerText, start: int, end: int) -> bool:
    low = bisect_left(answer.candidates, start, key=lambda candidate: candidate.first)
    return low < len(answer.candidates) and answer.candidates[low].first < end


def _concluded_candidates(answer: AnswerText, stated: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the stated values after the last correction or conclusion that has any."""
    tokens = answer.tokens
    if not answer.is_complete or len({candidate.matches for candidate in stated}) < 2:
        return stated
    sentences = _Sentences(tokens, stated)
    for at in range(stated[-1].first - 1, -1, -1):
        opens = tokens[at].new_line or text_at(tokens, at - 1) in _SENTENCE_ENDS
        if opens and phrases("corrections").end_at(tokens, at):
            return [candidate for candidate in stated if candidate.first > at]
        if phrases("conclusions").end_at(tokens, at) and (
            opens
            or tokens[at].folded not in _OPENING_CONCLUSIONS
            or (_is_inner_so(tokens, at) and not (answer.is_time or answer.is_open))
        ):
            inside = sentences.values_from(at)
            if inside and (opens or _is_near_so(tokens, at, inside[0].first)):
                return inside
    return stated


def _is_inner_so(tokens: Sequence[ValueToken], at: int) -> bool:
    """Return whether "so" begins a clause that concludes: you save 80, so you pay 120."""
    follows = text_at(tokens, at + 1) not in {"far", "that", "much", "many", "long"}
    return tokens[at].folded == "so" and text_at(tokens, at - 1) in {",", ";"} and follows


def _is_near_so(tokens: Sequence[ValueToken], at: int, first: int) -> bool:
    """Return whether a value belongs to the clause of "so"; other conclusions reach further."""
    if tokens[at].folded != "so":
        return True
    return first - at <= _MAX_MARK_GAP and all(token.text != ":" for token in tokens[at:first])


_SENTENCE_ENDS = frozenset(".!?")
_OPENING_CONCLUSIONS = frozenset({"so", "then", "finally"})


def _mark_end(tokens: Sequence[ValueToken], at: int) -> int:
    """Return the end of an announcement that begins at a token, 0 for none."""
    if text_at(tokens, at) == "boxed" and text_at(tokens, at + 1) == "{":
        return at + 2
    last = phrases("answer_marks").end_at(tokens, at)
    if not last:
        return 0
    if text_at(tokens, last) in _MARK_VERBS or tokens[last - 1].folded == "is":
        return last
    if text_at(tokens, last) in {"to", "for"}:  # the answer to question 3 is
        for i in range(last, min(last + 8, len(tokens))):
            if tokens[i].text in {"is", ":", "was"}:
                return i
    return 0
