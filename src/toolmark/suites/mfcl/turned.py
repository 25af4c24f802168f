"""Whether a wording turns what was written around: opposites, what is denied, and the order.

Strict where a request could be reversed: a good wording that fails is worded by the rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from toolmark.perturb.text.naming import Token
from toolmark.suites.mfcl.sense import alike, carries, denies, row

_AXES = (
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
_COMMON = row(
    "on in out up to from into more most last next first give all any every each always both "
    "only yes am pm right left play times show keep order end times following new recent young "
    "plus minus since less hot warm cold cool morning evening night good better best same book "
    "heat equal"
)
"""Words of a side with other uses too: they may be new where the other side does not give way."""
_SIDED = row(
    "than between replace swap convert translate exchange change rename move copy transfer compare "
    "versus vs divide divided subtract minus instead rather then"
)
"""Where these stand, what is named first is not what is named second."""
_BEFORE = ("un", "dis", "de", "non", "mis", "im", "ir", "il")
_CROWD = 2  # values


class Side(NamedTuple):
    """One of two opposites."""

    axis: int
    pole: int

    @property
    def other(self) -> Side:
        """The opposite."""
        return Side(self.axis, 1 - self.pole)


def fault(before: Sequence[Token], after: Sequence[Token], names: AbstractSet[str]) -> str:
    """Return how what was written is turned around in what is said, "" if it is not.

    `names` are words of what was written that name something.
    """
    return (
        _denied(before, after)
        or _opposite(before, after)
        or _undone(before, after)
        or _shuffled(before, after, names)
    )


# --- what is denied ---------------------------------------------------------------------


def _denied(before: Sequence[Token], after: Sequence[Token]) -> str:
    """Tell of another thing that is denied or spared: each is known by the word that follows."""
    old = [_object(before, n) for n in range(len(before)) if denies(before, n)]
    new = [_object(after, n) for n in range(len(after)) if denies(after, n)]
    if len(new) > len(old):
        return "denies something that was not denied"
    if len(new) < len(old):
        return "leaves out what was denied"
    if all(_one(a, b) for a, b in zip(old, new, strict=True)):
        return ""
    return "denies something else than what was denied"


def _object(tokens: Sequence[Token], n: int) -> str:
    """Return what a word governs: the next number, or the next word that carries the sense."""
    rest = (token.text for token in tokens[n + 1 :] if token.values or carries(token))
    return next(rest, "")


def _one(a: str, b: str) -> bool:
    return a == b or (a.isalpha() and b.isalpha() and alike(a, b))


# --- opposites --------------------------------------------------------------------------


def _forms(word: str) -> Iterator[str]:
    yield from (word, f"{word}s", f"{word}es", f"{word}d", f"{word}ed", f"{word}ing")
    yield from (f"{word}{word[-1]}ed", f"{word}{word[-1]}ing", f"{word[:-1]}ing", f"{word}ly")


_SIDES = {
    form: Side(axis, pole)
    for axis, poles in enumerate(_AXES)
    for pole, words in enumerate(poles)
    for word in reversed(words.split())
    for form in (_forms(word) if len(word) > 3 or word in {"add", "buy", "cut", "end"} else (word,))
}


def _opposite(before: Sequence[Token], after: Sequence[Token]) -> str:
    """Tell of a side that was not taken, or that something changed to."""
    old, new = list(_sides(before)), list(_sides(after))
    known, said = Counter(side for _, side, _ in old), Counter(side for _, side, _ in new)
    held = {(side, what) for _, side, what in old if what}
    for word, side, what in new:
        gave = known[side.other] > said[side.other] and said[side] > known[side]
        strange = not known[side] and (word not in _COMMON or what in _governed(held, side.other))
        crossed = (side.other, what) in held and (side, what) not in held
        if gave or strange or crossed:
            return f"says the opposite, or what was not asked: {word}"
    return ""


def _governed(held: AbstractSet[tuple[Side, str]], side: Side) -> set[str]:
    return {what for one, what in held if one == side}


def _sides(tokens: Sequence[Token]) -> Iterator[tuple[str, Side, str]]:
    """Go through the words that take a side: the word, its side, what it governs."""
    for n, token in enumerate(tokens):
        if side := _SIDES.get(token.text):
            yield token.text, side, _object(tokens, n)


def _undone(before: Sequence[Token], after: Sequence[Token]) -> str:
    """Tell of a word that a syllable makes the opposite: locked and unlocked, sugar and less."""
    old = {token.text for token in before if carries(token)}
    new = {token.text for token in after if carries(token)}
    for here, there in ((new, old), (old, new)):
        for word in sorted(here - there):
            bare = {word.removeprefix(part) for part in _BEFORE} | {word.removesuffix("less")}
            for root in bare - {word}:
                if len(root) > 2 and any(alike(root, one) for one in there - here):
                    return f"turns a word into its opposite: {word}"
    return ""


# --- the order --------------------------------------------------------------------------


def _shuffled(before: Sequence[Token], after: Sequence[Token], names: AbstractSet[str]) -> str:
    """Tell of names, numbers or units in another order; of all words where that may matter."""
    old, new = ([token.text for token in row if carries(token)] for row in (before, after))
    crowded = _crowded(before)
    checks = (
        ("words", old if crowded else [word for word in old if word in names], new),
        ("numbers", _values(before, dated=False), _values(after, dated=False)),
        ("dates", _values(before, dated=True), _values(after, dated=True)),
        (
            "units",
            *([t.text for t in row if t.text.startswith("unit:")] for row in (before, after)),
        ),
    )
    for what, wanted, said in checks:
        if moved := _moved(wanted, said):
            return f"says {what} in another order: {moved}"
    return ""


def _crowded(tokens: Sequence[Token]) -> bool:
    """Tell whether words could change places, as they are counted, denied, compared or opposed."""
    sides = {side for _, side, _ in _sides(tokens)}
    return (
        any(side.other in sides for side in sides)
        or any(token.text in _SIDED for token in tokens)
        or any(denies(tokens, n) for n in range(len(tokens)))
        or len(_values(tokens, dated=False)) >= _CROWD
    )


def _values(tokens: Sequence[Token], *, dated: bool) -> list[str]:
    return [
        token.text for token in tokens
        if token.values and bool(re.fullmatch(r"‹\d\d-\d\d›", token.text)) == dated
    ]  # fmt: skip


def _moved(wanted: Sequence[str], said: Sequence[str]) -> str:
    """Return what stands before something that it stood behind; what is said twice may."""
    once = [word for word, n in Counter(wanted).items() if n == 1]
    furthest = -1
    for word in once:
        same = [n for n, one in enumerate(said) if one == word]
        close = same or [n for n, one in enumerate(said) if one not in once and _one(one, word)]
        behind = [n for n in close if n >= furthest]
        if close and not behind:
            return word
        furthest = min(behind, default=furthest)
    return ""
