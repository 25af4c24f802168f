"""Which disfluencies an utterance gets: how many, which, and none that harms a value.

The budget grows with length and complexity; every feature has a relevance to the utterance; the
best are taken, at most one from each class, and made one after another. What carries a fact or
a choice of the tools' signatures is guarded, and a change that would lose a fact is undone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from random import Random

from toolmark.perturb.text import disfluency, meaning, survive
from toolmark.perturb.text.disfluency import CLASSES, FEATURES, Guard
from toolmark.perturb.text.facts import Change, Fact, Said, enums
from toolmark.types import Tool

_MOST_WORDS = 2000  # longer is no utterance: it stays as it is
_MOST = 5
_WEIGHTS = {
    "filled_pause": 1.0, "hesitation": 0.9, "elongation": 1.0, "word_repetition": 0.8,
    "restart": 0.9, "self_correction": 1.0, "false_start": 0.6, "contraction": 1.0, "slang": 1.0,
    "casual_pronoun": 0.6, "simplified": 0.9, "marker": 0.7, "spelling_out": 1.2,
    "preposition_drop": 1.2, "restructuring": 1.2,
}  # fmt: skip


def apply(
    said: Said,
    facts: Sequence[Fact],
    tools: Iterable[Tool],
    rng: Random,
    *,
    on: Collection[str] = FEATURES,
) -> Said:
    """Return what is said with disfluencies; the changes record each with its word in the text.

    `on` names the features that may be used. Positions are those in the returned text; the
    rewrite's changes keep theirs, which are positions in the written text.
    """
    words = said.text.split()
    total = budget(said.text)
    if not total or len(words) > _MOST_WORDS:
        return said
    whole = [*facts, *enums(tools)]
    drawn = {name: (rng.random(), Random(rng.getrandbits(64))) for name in FEATURES}
    text, made = " ".join(words), list[Change]()
    kept = guard(text, whole, made)
    for names in _order(relevance(text, kept), drawn, on):
        if len(made) >= total:
            break
        for name in names:
            found = _feature(name)(text.split(), drawn[name][1], kept)
            if found is None or survive.accepts(said.text, found.text, whole):
                continue
            text, made = found.text, [*_shifted(made, found.changes[0]), found.changes[0]]
            kept = guard(text, whole, made)
            break
    return Said(text, (*said.changes, *made)) if made else said


def budget(text: str) -> int:
    """Return the most changes a text may get: none below 3 words, one up to 7, never over five.

    One for every dozen words, and one more for a complex text: several clauses.
    """
    n = len(text.split())
    if n < 3:
        return 0
    clauses = len(
        re.findall(r"[,;:](?=\s)|[.?!](?=\s)|\b(?:and|or|but|because|if|then|that)\b", text)
    )
    return min(1 if n <= 7 else 1 + n // 12 + (clauses >= 3), _MOST)


def relevance(text: str, guard: Guard) -> dict[str, float]:
    """Return for every feature how well it suits the text: 0 is not at all, 1 very well.

    Long texts call for pauses and restarts, formal words for plainer ones, names for spelling.
    """
    n = max(len(text.split()), 1)
    long = min(n / 25, 1.0)
    formal = len(re.findall(r"\b\w{10,}\b", text)) / n
    asks = bool(re.match(r"(?:can|could|please|i|find|get|what|how|hi|hey)\b", text.lower()))
    loose = max(1 - 4 * formal, 0.2)  # who chooses his words does not slur them
    factor = {
        "filled_pause": 0.5 + 0.5 * long, "hesitation": 0.4 + 0.6 * bool(guard.words),
        "elongation": 0.7, "word_repetition": 0.5 + 0.5 * long, "restart": 0.3 + 0.7 * long,
        "self_correction": 0.8, "false_start": 0.5 + 0.5 * asks, "contraction": loose,
        "slang": 0.9 * loose, "casual_pronoun": 0.6 * loose,
        "simplified": min(0.5 + 5 * formal, 1.0),
        "marker": 0.4 + 0.6 * long, "spelling_out": 0.8 * bool(guard.names),
        "preposition_drop": 0.9, "restructuring": 0.9,
    }  # fmt: skip
    return {name: _WEIGHTS[name] * factor[name] for name in FEATURES}


def guard(text: str, facts: Sequence[Fact], made: Sequence[Change]) -> Guard:
    """Return what of a text must stay whole: facts, numbers, spelled letters, earlier changes."""
    starts = [m.start() for m in re.finditer(r"\S+", text)]
    words, gaps, names = set[int](), set[int](), set[tuple[int, int]]()
    values = {(type(value), value) for fact in facts for value in fact.values}
    for _, value in sorted(values, key=repr):
        for start, end in survive.spans(text, value):
            first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
            words.update(range(first, last + 1))
            gaps.update(range(first + 1, last + 1))
            if isinstance(value, str):
                names.add((first, last + 1))
    for first, behind in [*_numbers(text, starts), *_letters(text)]:
        words.update(range(first, behind))
        gaps.update(range(first + 1, behind))
    for change in made:
        behind = change.at + len(change.after.split())
        words.update(range(change.at, behind))
        gaps.update(range(change.at, behind + 1))
    done = tuple((change.at, change.at + len(change.after.split())) for change in made)
    return Guard(frozenset(words), frozenset(gaps), tuple(sorted(names)), done)


def _numbers(text: str, starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the runs of words that are numbers, with a unit or a sign's name beside them."""
    runs = []
    for token in meaning.understood(text).tokens:
        if token.values:
            first = bisect_right(starts, token.start) - 1
            runs.append((first, bisect_right(starts, token.end - 1)))
    return [(first, min(behind + 1, len(starts))) for first, behind in runs]


_SIGNS = frozenset((
    "dot", "at", "underscore", "dash", "slash", "colon", "hash", "plus", "equals",
    "percent", "that's", "backslash",
))  # fmt: skip


def _letters(text: str) -> list[tuple[int, int]]:
    """Return the runs of single letters and names of signs: spelled names, codes, addresses."""
    words = text.split()
    marked = [
        (bool(re.fullmatch(r"[A-Z][,.?!]?", word)) and word != "I")
        or word in _SIGNS - {"at"} or (word == "at" and "dot" in words[n + 1 : n + 4])
        for n, word in enumerate(words)
    ]  # fmt: skip
    return [(max(n - 1, 0), min(n + 2, len(words))) for n, mark in enumerate(marked) if mark]


def _order(
    scores: dict[str, float], drawn: dict[str, tuple[float, Random]], on: Collection[str]
) -> list[list[str]]:
    """Return the classes, best first, each with its features, best first.

    A draw of its own scales each score, so that equal texts are not all perturbed alike.
    """
    value = {name: scores[name] * (0.25 + drawn[name][0]) for name in FEATURES}
    groups = []
    for features in CLASSES.values():
        names = [name for name in features if name in on and value[name] > 0]
        if names:
            groups.append(sorted(names, key=lambda name: -value[name]))
    return sorted(groups, key=lambda names: -value[names[0]])


def _feature(name: str) -> disfluency.Feature:
    return next(features[name] for features in CLASSES.values() if name in features)


def _shifted(made: Sequence[Change], new: Change) -> list[Change]:
    """Return earlier changes at their places after a new one; it never lies inside them."""
    more = len(new.after.split()) - len(new.before.split())
    return [
        Change(old.feature, old.at + more if old.at >= new.at else old.at, old.before, old.after)
        for old in made
    ]
