"""Choose the disfluencies of an utterance: how many, which, and none that damages a value.

The number grows with length and complexity. Every feature has a relevance to the utterance; the
best features are applied one after another, at most one from each class. Words of a fact or of an
enum value of the tools are guarded, and a change that would remove a fact is not made.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from random import Random

from toolmark.core.records import Tool
from toolmark.language import text_meaning, value_survival
from toolmark.language.argument_facts import Fact, SpokenText, TextChange, enum_facts
from toolmark.perturb.text.disfluencies import CLASSES, FEATURES
from toolmark.perturb.text.disfluency_words import disfluency_words
from toolmark.perturb.text.word_changes import Feature, Guard

_MAX_WORDS = 2000  # a longer text is not an utterance and does not change
_MAX_CHANGES = 5


def add_disfluencies(
    spoken: SpokenText,
    facts: Sequence[Fact],
    tools: Iterable[Tool],
    rng: Random,
    *,
    features: Collection[str] = FEATURES,
) -> SpokenText:
    """Return the spoken text with disfluencies; `changes` records each with its word index.

    `features` are the features that may be used. Word indices of disfluencies refer to the returned
    text; those of the rewrite's changes still refer to the written text.
    """
    words = spoken.text.split()
    max_changes = change_budget(spoken.text)
    if not max_changes or len(words) > _MAX_WORDS:
        return spoken
    protected_facts = [*facts, *enum_facts(tools)]
    draws = {name: (rng.random(), Random(rng.getrandbits(64))) for name in FEATURES}
    text, changes = " ".join(words), list[TextChange]()
    protected = build_guard(text, protected_facts, changes)
    for names in _order_classes(feature_relevance(text, protected), draws, features):
        if len(changes) >= max_changes:
            break
        for name in names:
            found = _feature_function(name)(text.split(), draws[name][1], protected)
            if found is None or value_survival.lost_facts(spoken.text, found.text, protected_facts):
                continue
            text, changes = (
                found.text,
                [*_shift_changes(changes, found.changes[0]), found.changes[0]],
            )
            protected = build_guard(text, protected_facts, changes)
            break
    return SpokenText(text, (*spoken.changes, *changes)) if changes else spoken


def change_budget(text: str) -> int:
    """Return the largest number of changes: 0 below 3 words, 1 up to 7 words, never more than 5.

    Longer texts get one and one more for every 12 words; a text with several clauses gets one more.
    """
    n = len(text.split())
    if n < 3:
        return 0
    clauses = len(
        re.findall(r"[,;:](?=\s)|[.?!](?=\s)|\b(?:and|or|but|because|if|then|that)\b", text)
    )
    return min(1 if n <= 7 else 1 + n // 12 + (clauses >= 3), _MAX_CHANGES)


def feature_relevance(text: str, guard: Guard) -> dict[str, float]:
    """Return for every feature how well it suits the text, from 0 (not at all) to about 1.

    Long texts suit pauses and restarts, formal words suit plainer ones, names suit spelling.
    """
    n = max(len(text.split()), 1)
    long = min(n / 25, 1.0)
    formal = len(re.findall(r"\b\w{10,}\b", text)) / n
    asks = bool(re.match(r"(?:can|could|please|i|find|get|what|how|hi|hey)\b", text.lower()))
    loose = max(1 - 4 * formal, 0.2)  # a formal speaker uses few casual forms
    factor = {
        "filled_pause": 0.5 + 0.5 * long, "hesitation": 0.4 + 0.6 * bool(guard.words),
        "elongation": 0.7, "word_repetition": 0.5 + 0.5 * long, "restart": 0.3 + 0.7 * long,
        "self_correction": 0.8, "false_start": 0.5 + 0.5 * asks, "contraction": loose,
        "slang": 0.9 * loose, "casual_pronoun": 0.6 * loose,
        "simplified": min(0.5 + 5 * formal, 1.0),
        "marker": 0.4 + 0.6 * long, "spelling_out": 0.8 * bool(guard.names),
        "preposition_drop": 0.9, "restructuring": 0.9,
    }  # fmt: skip
    weights = disfluency_words().weights
    return {name: weights[name] * factor[name] for name in FEATURES}


def build_guard(text: str, facts: Sequence[Fact], changes: Sequence[TextChange]) -> Guard:
    """Return the guard of a text: facts, numbers, spelled letters and earlier changes."""
    starts = [m.start() for m in re.finditer(r"\S+", text)]
    words, gaps, names = set[int](), set[int](), set[tuple[int, int]]()
    values = {(type(value), value) for fact in facts for value in fact.values}
    for _, value in sorted(values, key=repr):
        for start, end in value_survival.value_spans(text, value):
            first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
            words.update(range(first, last + 1))
            gaps.update(range(first + 1, last + 1))
            if isinstance(value, str):
                names.add((first, last + 1))
    for first, behind in [*_number_runs(text, starts), *_letter_runs(text)]:
        words.update(range(first, behind))
        gaps.update(range(first + 1, behind))
    for change in changes:
        behind = change.at + len(change.after.split())
        words.update(range(change.at, behind))
        gaps.update(range(change.at, behind + 1))
    changed_spans = tuple((change.at, change.at + len(change.after.split())) for change in changes)
    return Guard(frozenset(words), frozenset(gaps), tuple(sorted(names)), changed_spans)


def _number_runs(text: str, starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the runs of words that are numbers, each with the unit or sign name after it."""
    runs = []
    for token in text_meaning.parse_meaning(text).tokens:
        if token.values:
            first = bisect_right(starts, token.start) - 1
            runs.append((first, bisect_right(starts, token.end - 1)))
    return [(first, min(behind + 1, len(starts))) for first, behind in runs]


def _letter_runs(text: str) -> list[tuple[int, int]]:
    """Return the runs of single letters and sign names: spelled names, codes, addresses."""
    words, signs = text.split(), disfluency_words().sign_words
    marked = [
        (bool(re.fullmatch(r"[A-Z][,.?!]?", word)) and word != "I")
        or word in signs - {"at"} or (word == "at" and "dot" in words[n + 1 : n + 4])
        for n, word in enumerate(words)
    ]  # fmt: skip
    return [(max(n - 1, 0), min(n + 2, len(words))) for n, mark in enumerate(marked) if mark]


def _order_classes(
    scores: dict[str, float], draws: dict[str, tuple[float, Random]], features: Collection[str]
) -> list[list[str]]:
    """Return the classes, best first, each with its features, best first.

    A separate random draw scales each score, so that equal texts are perturbed differently.
    """
    value = {name: scores[name] * (0.25 + draws[name][0]) for name in FEATURES}
    groups = []
    for members in CLASSES.values():
        names = [name for name in members if name in features and value[name] > 0]
        if names:
            groups.append(sorted(names, key=lambda name: -value[name]))
    return sorted(groups, key=lambda names: -value[names[0]])


def _feature_function(name: str) -> Feature:
    return next(features[name] for features in CLASSES.values() if name in features)


def _shift_changes(changes: Sequence[TextChange], new: TextChange) -> list[TextChange]:
    """Return earlier changes with their indices after a new change, which is never inside them."""
    more = len(new.after.split()) - len(new.before.split())
    return [
        TextChange(
            old.feature, old.at + more if old.at >= new.at else old.at, old.before, old.after
        )
        for old in changes
    ]
