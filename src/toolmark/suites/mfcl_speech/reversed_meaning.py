"""Whether a wording reverses the written meaning: opposites, negations, and the order.

Strict where a request could be reversed: a good wording that fails is replaced by the rules'.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from toolmark.language.canonical_tokens import Token
from toolmark.suites.mfcl_speech.content_words import (
    is_content_word,
    is_negation,
    share_stem,
    word_set,
)

_OPPOSITES = (
    ("on enable activate", "off disable deactivate"),
    ("in enter", "out exit"),
    ("over above exceed more greater bigger larger longer higher up increase raise upgrade boost "
     "expand maximize",
     "under below beneath less fewer smaller shorter lower down decrease reduce downgrade cut "
     "shrink minimize"),
    ("most maximum max highest largest biggest longest", "least minimum min lowest smallest "
     "shortest"),
    ("high tall", "low"),
    ("before until till earlier prior", "after since later following"),
    ("first earliest oldest previous", "last latest newest next"),
    ("to into", "from"),
    ("add insert include append attach join", "remove delete erase drop clear exclude detach leave "
     "discard"),
    ("open", "close shut"),
    ("lock", "unlock"),
    ("start begin resume play continue launch", "stop end pause halt quit terminate"),
    ("book order schedule reserve confirm subscribe", "cancel abort unsubscribe"),
    ("buy purchase", "sell"),
    ("send give", "receive"),
    ("borrow", "lend"),
    ("deposit", "withdraw"),
    ("accept approve allow permit grant", "reject refuse decline deny forbid block ban revoke"),
    ("show reveal", "hide conceal"),
    ("save keep", "lose"),
    ("cheap inexpensive cheaper cheapest", "expensive costly dear"),
    ("hot warm heat", "cold cool"),
    ("left", "right"),
    ("north", "south"),
    ("east", "west"),
    ("ascending", "descending"),
    ("encrypt encode compress lengthen", "decrypt decode decompress shorten"),
    ("push upload import", "pull download export"),
    ("mute silence", "unmute"),
    ("all every each always both only", "any sometimes"),
    ("true yes", "false"),
    ("morning am", "evening pm night"),
    ("good best better", "bad worst worse"),
    ("same equal", "different"),
    ("win", "fail"),
    ("public", "private"),
    ("inside indoors indoor", "outside outdoors outdoor"),
    ("fast quick faster", "slow slower"),
    ("new newer recent young younger", "old older"),
    ("plus", "minus"),
    ("multiply times", "divide"),
)  # fmt: skip
"""Words of one side, and those of the other."""
_AMBIGUOUS_WORDS = word_set(
    "on in out up to from into more most last next first give all any every each always both "
    "only yes am pm right left play times show keep order end times following new recent young "
    "plus minus since less hot warm cold cool morning evening night good better best same book "
    "heat equal"
)
"""Words of a side that also have other uses: they may be new if the other side stays."""
_ORDER_WORDS = word_set(
    "than between replace swap convert translate exchange change rename move copy transfer compare "
    "versus vs divide divided subtract minus instead rather then"
)
"""With one of these words, the order of what is named has a meaning."""
_NEGATING_PREFIXES = ("un", "dis", "de", "non", "mis", "im", "ir", "il")
_MIN_CROWDED_VALUES = 2


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


_SIDE_OF_WORD = {
    form: OppositeSide(axis, pole)
    for axis, poles in enumerate(_OPPOSITES)
    for pole, words in enumerate(poles)
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
            word not in _AMBIGUOUS_WORDS
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
        if side := _SIDE_OF_WORD.get(token.text):
            yield token.text, side, _governed_word(tokens, n)


def _affix_fault(before: Sequence[Token], after: Sequence[Token]) -> str:
    """Return a fault if a syllable reverses a word: locked and unlocked, sugar and less."""
    written_words = {token.text for token in before if is_content_word(token)}
    spoken_words = {token.text for token in after if is_content_word(token)}
    for own_side, other_side in ((spoken_words, written_words), (written_words, spoken_words)):
        for word in sorted(own_side - other_side):
            roots = {word.removeprefix(part) for part in _NEGATING_PREFIXES} | {
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
        or any(token.text in _ORDER_WORDS for token in tokens)
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
