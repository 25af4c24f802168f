"""Disfluencies of a speaker who thinks, repeats or begins again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from toolmark.core import seeds
from toolmark.language.argument_facts import SpokenText
from toolmark.perturb.text.disfluency_words import disfluency_words
from toolmark.perturb.text.word_changes import (
    Guard,
    free_gaps,
    free_words,
    insert_words,
    is_capitalised,
    lower_first_letter,
    replace_span,
)

_REPEATABLE_WORD = re.compile(r"[A-Za-z][a-z']*$")


def filled_pause(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Insert "um" or "uh" between two words."""
    gaps = [i for i in free_gaps(words, guard) if i < len(words) - 1] or free_gaps(words, guard)
    return insert_words(words, rng, guard, gaps, disfluency_words().fillers, "filled_pause")


def hesitation(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Insert a hesitation before a fact or at the start of a clause."""
    gaps = [i for i in free_gaps(words, guard) if i in guard.words or words[i - 1][-1] in ",.?!"]
    return insert_words(words, rng, guard, gaps, disfluency_words().hesitations, "hesitation")


def marker(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Insert "you know" or "I mean" where a clause begins, else between two words."""
    gaps = free_gaps(words, guard)
    clauses = [i for i in gaps if words[i - 1][-1] in ",.?!;"]
    return insert_words(words, rng, guard, clauses or gaps, disfluency_words().markers, "marker")


def elongation(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Lengthen a small word: "need" becomes "neeed"."""
    longer = disfluency_words().elongations
    places = [i for i in free_words(words, guard) if words[i] in longer]
    if not places:
        return None
    i = seeds.draw_one(rng, places)
    return replace_span(words, i, i + 1, [longer[words[i]]], "elongation")


def word_repetition(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Say a small word twice."""
    places = [
        i
        for i in free_words(words, guard)
        if words[i].lower() in disfluency_words().function_words
        and _REPEATABLE_WORD.match(words[i])
        and i + 1 < len(words)
        and i not in guard.gaps
        and words[i].lower() not in {"a", "that"}
        and _is_not_repeated(words, i)
    ]
    if not places:
        return None
    i = seeds.draw_one(rng, places)
    again = words[i] if words[i].startswith("I") else words[i].lower()
    return replace_span(words, i, i + 1, [words[i] + ",", again], "word_repetition")


def restart(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Repeat two or three words in the middle of a sentence."""
    table, plain = disfluency_words(), set(free_words(words, guard))
    places = [
        (i, n)
        for n in (2, 3)
        for i in range(len(words) - n)
        if plain.issuperset(range(i, i + n))
        and not guard.gaps.intersection(range(i, i + n + 1))
        and all(_REPEATABLE_WORD.match(words[k]) for k in range(i, i + n))
        and words[i + n - 1].lower() not in disfluency_words().filler_like_words
        # a name is not split
        and not any(is_capitalised(word) for word in words[i + 1 : i + n + 1])
        and words[i].lower() in table.function_words - table.unrestartable_words
        and words[i + n - 1].lower() not in table.function_words - {"my", "the"}
    ]
    if not places:
        return None
    i, n = seeds.draw_one(rng, places)
    part = list(words[i : i + n])
    again = [lower_first_letter(part[0]), *part[1:]]
    return replace_span(words, i, i + n, [*part[:-1], part[-1] + ",", *again], "restart")


def self_correction(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Say a wrong verb first and correct it: "book, no, sorry, I meant find"."""
    slips = disfluency_words().slips
    places = [
        i for i in free_words(words, guard) if words[i] in slips and _is_verb_position(words, i)
    ]
    if not places:
        return None
    i = places[0] if len(places) == 1 else seeds.draw_one(rng, places[:3])
    repair = seeds.draw_one(rng, disfluency_words().repairs)
    return replace_span(words, i, i, [slips[words[i]] + ",", *repair.split()], "self_correction")


def false_start(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Begin with another sentence and abandon it."""
    table = disfluency_words()
    greets = bool(words) and words[0].rstrip(",").lower() in table.greetings
    if len(words) < 4 or greets or {0, 1} & guard.words or 1 in guard.gaps:
        return None
    opening = seeds.draw_one(rng, table.false_starts)
    start = f"{opening}, {seeds.draw_one(rng, table.break_offs)}".split()
    return replace_span(
        words, 0, 1, [*start, lower_first_letter(words[0], words[1:2])], "false_start"
    )


def _is_not_repeated(words: Sequence[str], i: int) -> bool:
    return words[i].lower() != words[i + 1].lower() and (
        not i or words[i - 1].lower() != words[i].lower()
    )


def _is_verb_position(words: Sequence[str], i: int) -> bool:
    before = words[i - 1].lower() if i else ""
    return before in disfluency_words().words_before_verbs
