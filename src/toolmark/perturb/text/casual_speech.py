"""Disfluencies of a casual speaker: short forms, slang, and words that are left out or moved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from toolmark.core import seeds
from toolmark.language import number_words
from toolmark.language.argument_facts import SpokenText
from toolmark.perturb.text import request_words
from toolmark.perturb.text.disfluency_words import contractions, disfluency_words, verbs
from toolmark.perturb.text.word_changes import (
    Guard,
    capitalize_word,
    free_words,
    lower_first_letter,
    match_case,
    replace_from_table,
    replace_span,
)


def contraction(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Contract words: "going to" becomes "gonna"."""
    free = set(free_words(words, guard))
    places = []
    for i in free:
        for full, short in contractions():
            part = [word.lower() for word in words[i : i + len(full)]]
            follow = words[i + len(full) : i + len(full) + 1]
            if full == ("going", "to") and not (follow and follow[0] in verbs()):
                continue  # "going to Paris" stays
            if tuple(part) == full and free.issuperset(range(i, i + len(full))):
                places.append((i, len(full), short))
    if not places:
        return None
    i, n, short = seeds.draw_one(rng, sorted(places))
    return replace_span(words, i, i + n, [match_case(short, words[i])], "contraction")


def slang(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Replace a word by slang: "info" for "information"."""
    return replace_from_table(words, rng, guard, disfluency_words().slang, "slang")


def casual_pronoun(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Replace a pronoun by its casual form: "ya", "'em"."""
    return replace_from_table(
        words, rng, guard, disfluency_words().casual_pronouns, "casual_pronoun"
    )


def simpler_word(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Replace a word by a plainer one: "help" for "assistance"."""
    return replace_from_table(words, rng, guard, disfluency_words().simpler_words, "simplified")


def spelling_out(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Spell out a name of a fact after it is said, if it needs spelling."""
    places = []
    for first, behind in guard.names:
        follow = words[behind].lower() if behind < len(words) else ""
        if behind in guard.gaps or follow == "that's":
            continue  # an earlier change is there
        stripped = [re.sub(r"(?:['’]s)?[,.?!]*$", "", word) for word in words[first:behind]]
        if behind - first > 2 or sum(map(len, stripped)) > 14:
            stripped = stripped[-1:]  # of a long name only the last word is spelled
        plain = all(re.fullmatch(r"[A-Z][a-z]{1,11}", word) for word in stripped)
        if plain and any(map(request_words.needs_spelling, stripped)):
            places.append((behind - 1, tuple(stripped)))
    if not places:
        return None
    i, spelled = seeds.draw_one(rng, places)
    tail = words[i][-1] if words[i][-1] in ",.?!" else ","
    letters = ", ".join(" ".join(word.upper()) for word in spelled) + tail
    return replace_span(
        words, i, i + 1, [words[i].rstrip(",.?!") + ",", "that's", *letters.split()], "spelling_out"
    )


def preposition_drop(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Leave out a small preposition where speakers do: before a day, in "all of my"."""
    places = [
        i for i in free_words(words, guard)
        if 0 < i < len(words) - 1 and words[i] in {"of", "on", "at", "for"} and i not in guard.gaps
        and i + 1 not in guard.gaps and _may_drop(words, i)
    ]  # fmt: skip
    if not places:
        return None
    i = seeds.draw_one(rng, places)
    return replace_span(words, i, i + 2, [words[i + 1]], "preposition_drop")


def restructuring(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Move a leading clause ("For my trip, find ...") after its main clause."""
    table = disfluency_words()
    ends = [i for i, word in enumerate(words) if word[-1] in ".?!"]
    for start in [0, *(i + 1 for i in ends)]:
        end = next((i for i in ends if i >= start), len(words) - 1)
        comma = next((i for i in range(start, end) if words[i].endswith(",")), None)
        if comma is None or not 1 <= comma - start <= 9 or end - comma < 3:
            continue
        if (
            words[start].lower() not in table.clause_openers
            or words[comma + 1].lower() not in table.main_clause_openers
        ):
            continue
        if any(word.endswith((",", ";")) for word in words[comma + 1 : end]):
            continue
        if {comma + 1, end + 1} & guard.gaps:
            continue
        if any(first <= end and start < behind for first, behind in guard.done):
            continue
        mark = words[end][-1] if words[end][-1] in ".?!" else ""
        main = [capitalize_word(words[comma + 1]), *words[comma + 2 : end + 1]]
        lead = [lower_first_letter(words[start]), *words[start + 1 : comma + 1]]
        main[-1] = main[-1].rstrip(".?!") + ","
        lead[-1] = lead[-1].rstrip(",") + mark
        return replace_span(words, start, end + 1, main + lead, "restructuring")
    return None


def _may_drop(words: Sequence[str], i: int) -> bool:
    """Return whether the preposition at i may be left out: only in a few safe contexts."""
    before, after = words[i - 1].lower(), words[i + 1].lower()
    match words[i]:
        case "of":
            if before == "couple":
                return words[i + 1].islower() and not number_words.is_number_word(after)
            is_determiner = after in disfluency_words().determiners
            return is_determiner and before in {"all", "outside", "inside"}
        case "on":
            is_day_name = (
                re.sub(r"\W*$", "", after).title() in disfluency_words().day_and_month_names
                and words[i + 1][0].isupper()
            )
            return is_day_name or (
                after == "the" and any(map(_is_day_ordinal, words[i + 2 : i + 3]))
            )
        case "at":
            return before in {"start", "starting", "home"} or after in {"around", "about"}
        case _:
            return before in {"years", "hours", "days"} and bool(number_words.is_number_word(after))


def _is_day_ordinal(word: str) -> bool:
    """Return whether a word is a day of the month: third, twenty-first, 3rd."""
    stripped = re.sub(r"\W*$", "", word).lower()
    return (
        bool(re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)", stripped))
        or stripped.split("-")[-1] in _DAY_ORDINALS
    )


_DAY_ORDINALS = frozenset(
    rank for rank, n in number_words.ORDINAL_NUMBERS.items() if n <= 20 or n == 30
)
