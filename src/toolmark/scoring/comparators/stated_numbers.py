"""Which numbers of an answer are stated as numbers: those of dates and labels are not.

What states the number 0 without digits, such as "none of them", is read here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from toolmark.language.value_tokens import ValueToken, is_glued, text_at
from toolmark.language.written_amounts import WrittenAmount, find_amounts
from toolmark.language.written_dates import find_dates
from toolmark.language.written_times import find_times
from toolmark.scoring.comparators.guard_words import guard_words, phrases

_SENTENCE_ENDS = frozenset(".!?;")
_MAX_NOUN_GAP = 1  # words between "there are" and "no": now, still


def countable_amounts(tokens: Sequence[ValueToken]) -> Iterator[WrittenAmount]:
    """Yield the amounts of an answer; of dates only the year, of clock times and labels none."""
    taken = {
        at
        for found in find_dates(tokens)
        if not found.is_bare
        for at in range(found.first, found.last)
        if not _is_year(tokens, at)
    }
    taken |= {at for time in find_times(tokens) for at in range(time.first, time.last)}
    amounts = [
        amount
        for amount in find_amounts(tokens)
        if amount.first not in taken and not _is_label(tokens, amount)
    ]
    sentences = _sentence_numbers(tokens)
    counted = {sentences[each.first] for each in amounts if not _is_name(tokens, each)}
    for amount in amounts:
        if not (_is_name(tokens, amount) and sentences[amount.first] in counted):
            yield amount


def _sentence_numbers(tokens: Sequence[ValueToken]) -> list[int]:
    """Return for each token the number of its sentence, counted from 0."""
    found, n = [], 0
    for at, token in enumerate(tokens):
        ended = at > 0 and tokens[at - 1].text in _SENTENCE_ENDS and not token.glued
        n += ended or token.new_line
        found.append(n)
    return found


def _is_name(tokens: Sequence[ValueToken], amount: WrittenAmount) -> bool:
    """Return whether a number is the name of a thing: room 17, lift no. 7."""
    at = amount.first - 1
    if not amount.is_plain or tokens[amount.first].new_line:
        return False
    at -= text_at(tokens, at) in {".", "#"} and is_glued(tokens, at)
    return text_at(tokens, at) in guard_words().numbered_things


def zero_amounts(tokens: Sequence[ValueToken], *, is_money: bool) -> Iterator[WrittenAmount]:
    """Yield what states the number 0, or that nothing is to be paid, without a number.

    "There are no pears" counts where its sentence has no number.
    """
    if is_money:
        for at in range(len(tokens)):
            last = phrases("free_phrases").end_at(tokens, at)
            if last and text_at(tokens, last) not in {"of", "to", "from"}:
                yield WrittenAmount((Fraction(0),), at, last)
        return
    sentences = _sentence_numbers(tokens)
    counted = {sentences[each.first] for each in find_amounts(tokens)}
    for at in range(len(tokens)):
        last = phrases("zero_phrases").end_at(tokens, at)
        if last and not phrases("not_zero_phrases").end_at(tokens, at):
            yield WrittenAmount((Fraction(0),), at, last)
        elif sentences[at] not in counted and _counts_nothing(tokens, at):
            yield WrittenAmount((Fraction(0),), at, at + 1)


def _counts_nothing(tokens: Sequence[ValueToken], at: int) -> bool:
    """Return whether "no" and a noun follow a verb, or begin a line: there are no pears."""
    if text_at(tokens, at) != "no" or phrases("no_idioms").end_at(tokens, at):
        return False
    plural = any(text_at(tokens, i).endswith("s") for i in (at + 1, at + 2))
    near = (text_at(tokens, at - 1 - gap) for gap in range(_MAX_NOUN_GAP + 1))
    opens = tokens[at].new_line  # no messages
    return plural and (opens or any(word in guard_words().zero_openers for word in near))


def _is_year(tokens: Sequence[ValueToken], at: int) -> bool:
    return len(tokens[at].text) == 4 and tokens[at].text.isdigit()


def _is_label(tokens: Sequence[ValueToken], amount: WrittenAmount) -> bool:
    """Return whether a number only counts what follows: step 3, and "1." before an item."""
    if text_at(tokens, amount.first - 1) in guard_words().labels:
        return True
    first, last = amount.first, amount.last
    marked = text_at(tokens, last) in {".", ")"} and is_glued(tokens, last)
    on_same_line = last + 1 < len(tokens) and not tokens[last + 1].new_line
    return amount.is_plain and tokens[first].new_line and marked and on_same_line
