"""Yes and no: truth values in answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from toolmark.core.errors import UsageError
from toolmark.language.value_tokens import ValueToken, cut_values, is_glued, text_at
from toolmark.scoring.comparators.comparison import (
    Comparator,
    Comparison,
    show_value,
    visible_text,
)
from toolmark.scoring.comparators.guard_words import guard_words, phrases
from toolmark.scoring.comparators.statement_guards import AnswerText, Candidate, find_refusals
from toolmark.scoring.comparators.withdrawal_guards import DENIED, RULED_OUT


class YesOrNo(Comparator, frozen=True, kw_only=True):
    """A truth value: true and false, yes and no."""

    kind: ClassVar[str] = "bool"

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare a truth value, or one word for it."""
        wanted = _expected_truth(expected)
        found = given if isinstance(given, bool) else _read_truth(given)
        shown = "yes" if wanted else "no"
        same = found is wanted
        return Comparison(same, f"the value is {'' if same else 'not '}{shown}")

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare what an answer says first, or after "the answer is"."""
        wanted, text = _expected_truth(expected), visible_text(text)
        tokens = cut_values(text)
        candidates = [
            Candidate(found.first, found.last, found.truth is wanted)
            for found in _chosen_truths(tokens)
        ]
        answer = AnswerText(tokens, candidates)
        refusals = find_refusals(answer)
        # what is denied is the opposite: not true
        candidates = [
            c._replace(matches=not c.matches) if why else c
            for c, why in zip(candidates, refusals, strict=True)
            if why in {"", DENIED, RULED_OUT}
        ]
        shown = "yes" if wanted else "no"
        if not candidates:
            return Comparison(False, "the answer says neither yes nor no")
        first = _announced_truth(tokens, candidates) or candidates[0]
        found = text[tokens[first.first].start : tokens[first.first].end]
        if first.matches:
            return Comparison(True, f"the answer says {shown}", found)
        return Comparison(False, f"the answer does not say {shown}", found)


def _announced_truth(
    tokens: Sequence[ValueToken], candidates: Sequence[Candidate]
) -> Candidate | None:
    for candidate in reversed(candidates):
        low = max(candidate.first - 6, 0)
        if phrases("answer_marks").find_in(tokens, low, candidate.first) >= 0:
            return candidate
    return None


class _Truth(NamedTuple):
    """Where an answer affirms or denies; weak where a plainer yes or no goes before it."""

    first: int
    last: int
    truth: bool
    is_weak: bool = False


def _chosen_truths(tokens: Sequence[ValueToken]) -> list[_Truth]:
    """Return what affirms or denies; "no dogs are allowed" only where nothing is plainer."""
    found = list(_find_truths(tokens))
    plain = [each for each in found if not each.is_weak]
    return plain or found


def _find_truths(tokens: Sequence[ValueToken]) -> Iterator[_Truth]:
    """Yield where an answer affirms or denies; "no issues" and "the right place" do neither."""
    at = 0
    while at < len(tokens):
        found = _truth_phrase(tokens, at) or _short_clause(tokens, at)
        skipped = phrases("undecided_answers").end_at(tokens, at)
        skipped = skipped or phrases("no_idioms").end_at(tokens, at)
        if found is None and not skipped:
            found = _truth_word(tokens, at)
        if found is not None:
            yield found
        at = found.last if found is not None else skipped or at + 1


def _opens_statement(tokens: Sequence[ValueToken], at: int) -> bool:
    return at == 0 or tokens[at].new_line or tokens[at - 1].kind == "sign"


def _ends_statement(tokens: Sequence[ValueToken], last: int) -> bool:
    return last >= len(tokens) or tokens[last].kind == "sign" or tokens[last].new_line


def _truth_phrase(tokens: Sequence[ValueToken], at: int) -> _Truth | None:
    """Read a phrase or an adverb that is an answer alone: definitely not; absolutely."""
    if not _opens_statement(tokens, at):
        return None
    for name, truth in (("no_phrases", False), ("yes_phrases", True), ("assents", True)):
        last = phrases(name).end_at(tokens, at)
        if last and (_ends_statement(tokens, last) or text_at(tokens, last) in {"that", "because"}):
            return _Truth(at, last, truth)
    return None


def _short_clause(tokens: Sequence[ValueToken], at: int) -> _Truth | None:
    """Read a sentence that is nothing but a pronoun and a verb: it does; they can't."""
    begins = at == 0 or tokens[at].new_line or tokens[at - 1].text in _STOPS
    if not begins or tokens[at].folded not in _PRONOUNS:
        return None
    verb, last = text_at(tokens, at + 1), at + 2
    denies = verb.endswith("n't") or text_at(tokens, last) == "not"
    last += text_at(tokens, last) == "not"
    stands_alone = last >= len(tokens) or tokens[last].text in _STOPS or tokens[last].new_line
    if verb.removesuffix("n't") in _SHORT_VERBS and stands_alone:
        return _Truth(at, last, not denies, is_weak=True)
    return None


def _truth_word(tokens: Sequence[ValueToken], at: int) -> _Truth | None:
    word = tokens[at].folded
    truth = _read_truth(word)
    if truth is None or _is_number_sign(tokens, at):
        return None
    is_judged = text_at(tokens, at + 1) in _REASONS and text_at(tokens, at - 1) in _JUDGING
    if _ends_statement(tokens, at + 1) or word == "yes" or is_judged:
        return _Truth(at, at + 1, truth)
    if word == "no" and (at == 0 or tokens[at].new_line):
        return _Truth(at, at + 1, truth, text_at(tokens, at + 1) not in _CLAUSE_SUBJECTS)
    return None


def _is_number_sign(tokens: Sequence[ValueToken], at: int) -> bool:
    """Return whether "no." is short for number: bus no. 5."""
    is_inner = at > 0 and not tokens[at].new_line and tokens[at - 1].kind != "sign"
    pointed = text_at(tokens, at + 1) == "." and is_glued(tokens, at + 1)
    numbered = at + 2 < len(tokens) and tokens[at + 2].kind == "number"
    return tokens[at].folded == "no" and is_inner and pointed and numbered


_STOPS = frozenset(".!?;")
_PRONOUNS = frozenset({"he", "i", "it", "she", "that", "they", "this", "we", "you"})
_SHORT_VERBS = frozenset(
    {"are", "can", "could", "did", "do", "does", "had", "has", "have", "is", "should", "was"}
    | {"were", "will", "would"}
)
_REASONS = frozenset({"as", "because", "since", "that"})
_JUDGING = frozenset({"is", "isn't", "it's", "not", "also", "quite"})
_CLAUSE_SUBJECTS = frozenset(
    {"he", "i", "it", "she", "that", "the", "there", "they", "this", "we", "you"}
)


def _read_truth(given: Any) -> bool | None:
    if not isinstance(given, str):
        return None
    word = given.strip().strip(".!").lower()
    if word in guard_words().yes_words:
        return True
    return False if word in guard_words().no_words else None


def _expected_truth(expected: Any) -> bool:
    found = expected if isinstance(expected, bool) else _read_truth(expected)
    if found is None:
        raise UsageError(
            f"the comparator bool needs true or false, got {show_value(expected)!r}; "
            "next: write true or false"
        )
    return found
