"""Changes of single places of an utterance, and the places that must not change."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeAlias

from toolmark.core import seeds
from toolmark.language.argument_facts import SpokenText, TextChange
from toolmark.perturb.text.disfluency_words import common_words, disfluency_words

_FIRST_PERSON = frozenset({"I", "I'"})


class Guard(NamedTuple):
    """What must not change: words by index, and gaps (gap i is before word i) that stay closed.

    `names` are the words (first, after the last) of facts, which may be followed by their spelling;
    `done` are the words of earlier changes, in the same form.
    """

    words: frozenset[int] = frozenset()
    gaps: frozenset[int] = frozenset()
    names: tuple[tuple[int, int], ...] = ()
    done: tuple[tuple[int, int], ...] = ()


Feature: TypeAlias = Callable[[Sequence[str], Random, Guard], SpokenText | None]


def replace_span(
    words: Sequence[str], i: int, j: int, new: Sequence[str], feature: str
) -> SpokenText:
    """Return the text with the words from i up to j replaced, as one change."""
    after = [part for word in new for part in word.split()]
    text = " ".join([*words[:i], *after, *words[j:]])
    return SpokenText(text, (TextChange(feature, i, " ".join(words[i:j]), " ".join(after)),))


def free_words(words: Sequence[str], guard: Guard) -> list[int]:
    """Return the indices of the words that may change."""
    return [i for i in range(len(words)) if i not in guard.words]


def free_gaps(words: Sequence[str], guard: Guard) -> list[int]:
    """Return the gaps, by the index of the word after, into which words may be inserted."""
    return [i for i in range(1, len(words)) if i not in guard.gaps]


def insert_words(
    words: Sequence[str],
    rng: Random,
    guard: Guard,
    gaps: Sequence[int],
    options: Sequence[str],
    feature: str,
) -> SpokenText | None:
    """Insert words into a gap, with the pauses and the capital letter that they need.

    An option that the text already contains, in any case and with any pauses, is not inserted.
    """
    gaps = [i for i in gaps if words[i - 1].lower() not in disfluency_words().filler_like_words]
    text = _normalised_text(" ".join(words))
    options = [option for option in options if _normalised_text(option) not in text]
    if not gaps or not options:
        return None
    i, what = seeds.draw_one(rng, gaps), seeds.draw_one(rng, options)
    if words[i - 1][-1] in ".?!":
        first = words[i] if i in guard.words else lower_first_letter(words[i], words[i + 1 : i + 2])
        return replace_span(words, i, i + 1, [capitalize_word(what), first], feature)
    if words[i - 1][-1] in ",;:":
        return replace_span(words, i, i, [what], feature)
    return replace_span(words, i - 1, i, [words[i - 1] + ",", what], feature)


def _normalised_text(text: str) -> str:
    """Return only the words, each between spaces, to search for complete words."""
    words = re.findall(r"[\w']+", text.casefold().replace("’", "'"))
    return f" {' '.join(words)} "


def replace_from_table(
    words: Sequence[str], rng: Random, guard: Guard, table: dict[str, str], feature: str
) -> SpokenText | None:
    """Replace one word that the table has; None if there is no such word."""
    places = [i for i in free_words(words, guard) if words[i].rstrip(",.?!").lower() in table]
    if not places:
        return None
    i = seeds.draw_one(rng, places)
    stripped = words[i].rstrip(",.?!")
    new = match_case(table[stripped.lower()], stripped) + words[i][len(stripped) :]
    return replace_span(words, i, i + 1, [new], feature)


def is_capitalised(word: str) -> bool:
    """Return whether a word begins with a capital, besides forms of I."""
    return word[:1].isupper() and word[:2] not in _FIRST_PERSON


def match_case(new: str, old: str) -> str:
    """Return a word with a capital if the word that it replaces has one."""
    return new[0].upper() + new[1:] if old[:1].isupper() and len(old) > 1 else new


def capitalize_word(word: str) -> str:
    """Return a word with a capital."""
    return word[0].upper() + word[1:]


def lower_first_letter(word: str, after: Sequence[str] = ()) -> str:
    """Return a word that no longer begins a sentence; "I" and possible names stay."""
    stripped = re.sub(r"(?:['’](?:s|re|ve|d|ll|t))?\W*$", "", word).lower()
    before_name = (
        any(is_capitalised(other) for other in after)
        and stripped not in disfluency_words().function_words
    )
    if before_name or re.match(r"I(?!\w)", word) or not word[:1].isupper() or word[1:2].isupper():
        return word
    return word[0].lower() + word[1:] if stripped in common_words() else word
