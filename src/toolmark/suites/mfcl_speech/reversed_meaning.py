"""Whether a wording reverses the written meaning: opposites, negations, and the order.

Strict where a request could be reversed: a good wording that fails is replaced by the rules'.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Annotated, NamedTuple

from msgspec import Meta

from toolmark.core.data_files import DataRecord, read_table
from toolmark.language.canonical_tokens import Token
from toolmark.suites.mfcl_speech.content_words import (
    content_words,
    is_content_word,
    is_negation,
    share_stem,
)

_MIN_CROWDED_VALUES = 2


class Opposites(DataRecord, frozen=True):
    """A row of the data file: words of one side, and those of the other."""

    one: Annotated[str, Meta(pattern="^[a-z]+( [a-z]+)*$")]
    other: Annotated[str, Meta(pattern="^[a-z]+( [a-z]+)*$")]


def opposites() -> tuple[Opposites, ...]:
    """Return the rows of the data file. Of two rows with a common form the last counts."""
    return read_table(__file__, "opposites.csv", tuple[Opposites, ...])


class OppositeSide(NamedTuple):
    """One of two opposites."""

    axis: int
    pole: int

    @property
    def opposite(self) -> OppositeSide:
        """The opposite."""
        return OppositeSide(self.axis, 1 - self.pole)


def find_reversal(before: Sequence[Token], after: Sequence[Token], names: AbstractSet[str]) -> str:
    """Return how the spoken text reverses the written one, "" if it does not.

    `names` are words of the written text that name something.
    """
    return (
        _negation_fault(before, after)
        or _opposite_fault(before, after)
        or _affix_fault(before, after)
        or _order_fault(before, after, names)
    )


# --- negations --------------------------------------------------------------------------


def _negation_fault(before: Sequence[Token], after: Sequence[Token]) -> str:
    """Return a fault if another thing is negated or excluded; the next word identifies it."""
    written_objects = [
        _governed_word(before, n) for n in range(len(before)) if is_negation(before, n)
    ]
    spoken_objects = [_governed_word(after, n) for n in range(len(after)) if is_negation(after, n)]
    if len(spoken_objects) > len(written_objects):
        return "denies something that was not denied"
    if len(spoken_objects) < len(written_objects):
        return "leaves out what was denied"
    if all(_is_same_word(a, b) for a, b in zip(written_objects, spoken_objects, strict=True)):
        return ""
    return "denies something else than what was denied"


def _governed_word(tokens: Sequence[Token], n: int) -> str:
    """Return what a word governs: the next number, or the next word that carries meaning."""
    following = (token.text for token in tokens[n + 1 :] if token.values or is_content_word(token))
    return next(following, "")


def _is_same_word(a: str, b: str) -> bool:
    return a == b or (a.isalpha() and b.isalpha() and share_stem(a, b))


# --- opposites --------------------------------------------------------------------------


def _word_forms(word: str) -> Iterator[str]:
    yield from (word, f"{word}s", f"{word}es", f"{word}d", f"{word}ed", f"{word}ing")
    yield from (f"{word}{word[-1]}ed", f"{word}{word[-1]}ing", f"{word[:-1]}ing", f"{word}ly")


@cache
def _side_of_word() -> Mapping[str, OppositeSide]:
    """Return the side of each form of a word: of two pairs the last, of two words the first."""
    return {
        form: OppositeSide(axis, pole)
        for axis, pair in enumerate(opposites())
        for pole, words in enumerate((pair.one, pair.other))
        for word in reversed(words.split())
        for form in (
            _word_forms(word) if len(word) > 3 or word in {"add", "buy", "cut", "end"} else (word,)
        )
    }


def _opposite_fault(before: Sequence[Token], after: Sequence[Token]) -> str:
    """Return a fault if the wording takes the opposite side, or a side that was not written."""
    written_sides, spoken_sides = list(_sided_words(before)), list(_sided_words(after))
    written_counts = Counter(side for _, side, _ in written_sides)
    spoken_counts = Counter(side for _, side, _ in spoken_sides)
    written_pairs = {
        (side, governed_word) for _, side, governed_word in written_sides if governed_word
    }
    for word, side, governed_word in spoken_sides:
        gave_way = (
            written_counts[side.opposite] > spoken_counts[side.opposite]
            and spoken_counts[side] > written_counts[side]
        )
        is_unwritten = not written_counts[side] and (
            word not in content_words().ambiguous_words
            or governed_word in _governed_by(written_pairs, side.opposite)
        )
        is_crossed = (side.opposite, governed_word) in written_pairs and (
            side,
            governed_word,
        ) not in written_pairs
        if gave_way or is_unwritten or is_crossed:
            return f"says the opposite, or what was not asked: {word}"
    return ""


def _governed_by(pairs: AbstractSet[tuple[OppositeSide, str]], side: OppositeSide) -> set[str]:
    return {governed_word for other_side, governed_word in pairs if other_side == side}


def _sided_words(tokens: Sequence[Token]) -> Iterator[tuple[str, OppositeSide, str]]:
    """Yield the words that take a side: the word, its side, what it governs."""
    for n, token in enumerate(tokens):
        if side := _side_of_word().get(token.text):
            yield token.text, side, _governed_word(tokens, n)


def _affix_fault(before: Sequence[Token], after: Sequence[Token]) -> str:
    """Return a fault if a syllable reverses a word: locked and unlocked, sugar and less."""
    written_words = {token.text for token in before if is_content_word(token)}
    spoken_words = {token.text for token in after if is_content_word(token)}
    for own_side, other_side in ((spoken_words, written_words), (written_words, spoken_words)):
        for word in sorted(own_side - other_side):
            roots = {word.removeprefix(part) for part in content_words().negating_prefixes} | {
                word.removesuffix("less")
            }
            for root in roots - {word}:
                if len(root) > 2 and any(share_stem(root, one) for one in other_side - own_side):
                    return f"turns a word into its opposite: {word}"
    return ""


# --- the order --------------------------------------------------------------------------


def _order_fault(before: Sequence[Token], after: Sequence[Token], names: AbstractSet[str]) -> str:
    """Return a fault if names, numbers or units change order; all words where order may matter."""
    written_words, spoken_words = (
        [token.text for token in row if is_content_word(token)] for row in (before, after)
    )
    is_crowded = _is_crowded(before)
    checks = (
        (
            "words",
            written_words if is_crowded else [word for word in written_words if word in names],
            spoken_words,
        ),
        ("numbers", _number_texts(before, are_dates=False), _number_texts(after, are_dates=False)),
        ("dates", _number_texts(before, are_dates=True), _number_texts(after, are_dates=True)),
        (
            "units",
            *([t.text for t in row if t.text.startswith("unit:")] for row in (before, after)),
        ),
    )
    for kind, written, spoken in checks:
        if moved := _first_moved(written, spoken):
            return f"says {kind} in another order: {moved}"
    return ""


def _is_crowded(tokens: Sequence[Token]) -> bool:
    """Return whether words could be exchanged: they are counted, negated, compared or opposed."""
    sides = {side for _, side, _ in _sided_words(tokens)}
    return (
        any(side.opposite in sides for side in sides)
        or any(token.text in content_words().order_words for token in tokens)
        or any(is_negation(tokens, n) for n in range(len(tokens)))
        or len(_number_texts(tokens, are_dates=False)) >= _MIN_CROWDED_VALUES
    )


def _number_texts(tokens: Sequence[Token], *, are_dates: bool) -> list[str]:
    return [
        token.text for token in tokens
        if token.values and bool(re.fullmatch(r"‹\d\d-\d\d›", token.text)) == are_dates
    ]  # fmt: skip


def _first_moved(written: Sequence[str], spoken: Sequence[str]) -> str:
    """Return the first word that moved before one that it followed; repeated words may move."""
    once = [word for word, n in Counter(written).items() if n == 1]
    furthest = -1
    for word in once:
        equal = [n for n, one in enumerate(spoken) if one == word]
        positions = equal or [
            n for n, one in enumerate(spoken) if one not in once and _is_same_word(one, word)
        ]
        behind = [n for n in positions if n >= furthest]
        if positions and not behind:
            return word
        furthest = min(behind, default=furthest)
    return ""
