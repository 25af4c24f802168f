"""The words by which a value in an answer is stated, denied or one of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from msgspec import structs

from toolmark.core.data_files import DataRecord, read_table
from toolmark.language.value_tokens import ValueToken, cut_values


class GuardWords(DataRecord, frozen=True, kw_only=True):
    """The file `guard_words.toml`; its comments say what each list is for."""

    negations: frozenset[str]
    not_negations: frozenset[str]
    denials_after: frozenset[str]
    copulas: frozenset[str]
    negative_copulas: frozenset[str]
    denied_after: frozenset[str]
    doubts: frozenset[str]
    corrections: frozenset[str]
    possibilities: frozenset[str]
    bounds_before: frozenset[str]
    time_bounds_before: frozenset[str]
    bounds_after: frozenset[str]
    range_signs: frozenset[str]
    changes: frozenset[str]
    joints: frozenset[str]
    alternatives: frozenset[str]
    harmless_after_or: frozenset[str]
    answer_marks: frozenset[str]
    mark_signs: frozenset[str]
    labels: frozenset[str]
    clause_ends: frozenset[str]
    yes_words: frozenset[str]
    no_words: frozenset[str]
    restatements: frozenset[str]
    conclusions: frozenset[str]
    hedges: frozenset[str]
    nothing_words: frozenset[str]
    first_readings: frozenset[str]
    proposals: frozenset[str]
    turns: frozenset[str]
    contrasts: frozenset[str]
    unconfirmed: frozenset[str]
    exclusions: frozenset[str]
    exclusions_after: frozenset[str]
    range_openers: frozenset[str]
    short_numbers: frozenset[str]
    conditions: frozenset[str]
    polite_conditions: frozenset[str]
    open_conditions: frozenset[str]
    other_cases: frozenset[str]
    counterfactuals: frozenset[str]
    unreal_conditions: frozenset[str]
    participles: frozenset[str]
    undecided: frozenset[str]
    futures: frozenset[str]
    waits: frozenset[str]
    past_forms: frozenset[str]
    past_times: frozenset[str]
    present_times: frozenset[str]
    present_ends: frozenset[str]
    replacements: frozenset[str]
    moves: frozenset[str]
    refusals: frozenset[str]
    replacement_openers: frozenset[str]
    cancellations: frozenset[str]
    deductions: frozenset[str]
    savings: frozenset[str]
    relative_exclusions: frozenset[str]
    likenesses: frozenset[str]
    sum_verbs: frozenset[str]
    numbered_things: frozenset[str]
    zero_phrases: frozenset[str]
    not_zero_phrases: frozenset[str]
    zero_openers: frozenset[str]
    free_phrases: frozenset[str]
    yes_phrases: frozenset[str]
    no_phrases: frozenset[str]
    assents: frozenset[str]
    no_idioms: frozenset[str]
    undecided_answers: frozenset[str]


@cache  # asked for at every token of an answer
def guard_words() -> GuardWords:
    """Return the content of the data file."""
    return read_table(__file__, "guard_words.toml", GuardWords)


class Phrases:
    """Words and phrases that are looked for in the tokens of a text."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        for phrase in phrases:
            words = tuple(token.folded for token in cut_values(phrase))
            self._by_first.setdefault(words[0], []).append(words)
        for each in self._by_first.values():
            each.sort(key=len, reverse=True)

    def end_at(self, tokens: Sequence[ValueToken], at: int) -> int:
        """Return the end of the longest phrase that begins at a token, 0 for none."""
        if not 0 <= at < len(tokens):
            return 0
        for words in self._by_first.get(tokens[at].folded, ()):
            last = at + len(words)
            if last <= len(tokens) and all(
                tokens[at + i].folded == word for i, word in enumerate(words)
            ):
                return last
        return 0

    def find_in(self, tokens: Sequence[ValueToken], start: int, end: int) -> int:
        """Return where the last phrase that ends by `end` begins, -1 for none."""
        for at in range(min(end, len(tokens)) - 1, max(start, 0) - 1, -1):
            if tokens[at].folded in self._by_first:
                last = self.end_at(tokens, at)
                if last and last <= end:
                    return at
        return -1


@cache
def phrases(name: str) -> Phrases:
    """Return the phrases of a list of the file."""
    lists: dict[str, frozenset[str]] = structs.asdict(guard_words())
    return Phrases(lists[name])
