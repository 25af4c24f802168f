"""Disfluencies: one pure function for each feature, in exclusive classes.

A feature takes words, a random generator and a guard. It returns the spoken text with its one
change, or None if there is no place for the change. The rewrite always reads symbols aloud, so the
class "spelling" only spells out one argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeAlias

from toolmark.core import seeds
from toolmark.language import number_words
from toolmark.language.argument_facts import SpokenText, TextChange
from toolmark.language.value_words import IMPERATIVE_VERBS
from toolmark.perturb.text import ambiguous_names


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

_FILLERS = ("um,", "uh,", "er,", "uhm,", "ah,")
_HESITATIONS = (
    "let me see,", "hmm,", "how do I put it,", "let me think,", "hang on,", "hold on,",
    "bear with me,", "let's see,",
)  # fmt: skip
_MARKERS = ("you know,", "I mean,", "like,", "well,", "right,", "you see,")
# False starts and corrections use none of the words above, so that classes stay exclusive.
_ELONGATIONS = {  # only spellings that every engine pronounces as the longer word
    "can": "caaan", "need": "neeed", "me": "meee", "see": "seee", "keep": "keeep", "what": "whaaat",
}  # fmt: skip
_SLIPS = {
    "find": "book", "get": "send", "book": "check", "calculate": "compare", "tell": "send",
    "show": "send", "check": "change", "send": "get", "create": "delete", "add": "remove",
    "compute": "convert", "search": "look", "order": "cancel", "give": "send", "convert": "compare",
    "determine": "describe", "estimate": "explain", "list": "count", "plan": "book", "look": "ask",
    "provide": "send", "retrieve": "delete", "play": "stop", "analyze": "compare",
    "identify": "count",
    "generate": "find", "schedule": "cancel", "update": "delete", "locate": "list",
    "make": "find", "buy": "sell", "set": "check", "predict": "plot",
}  # fmt: skip
_REPAIRS = ("no, sorry, I meant", "wait, no,", "sorry,", "no, wait,", "or rather,", "no, not that,")
_FALSE_STARTS = (
    "Can I", "Could I", "I was going to", "So I wanted", "Is there", "What I", "I'm trying to",
    "Do you", "I was just", "Maybe I", "There's a", "So I have", "Would it", "The thing",
    "Okay so I", "I just", "What about", "I've been", "So the", "If I",
)  # fmt: skip
_BREAK_OFFS = (
    "no,", "wait,", "sorry,", "no, wait,", "no, sorry,", "scratch that,", "let me start over,",
    "let me say that again,", "let me put it another way,",
)  # fmt: skip
_CASUAL_CONTRACTIONS = (
    (("going", "to"), "gonna"), (("want", "to"), "wanna"), (("got", "to"), "gotta"),
    (("have", "to"), "hafta"), (("let", "me"), "lemme"), (("give", "me"), "gimme"),
    (("kind", "of"), "kinda"), (("out", "of"), "outta"), (("could", "you"), "couldja"),
    (("would", "you"), "wouldja"), (("because",), "'cause"),
    (("about",), "'bout"), (("trying", "to"), "tryna"), (("a", "lot", "of"), "a lotta"),
)  # fmt: skip
_SLANG = {
    "information": "info", "photos": "pics", "photo": "pic",
    "pictures": "pics", "money": "cash", "friends": "buddies", "friend": "buddy",
    "great": "awesome", "favorite": "go-to", "children": "kids",
    "temperature": "temp", "application": "app", "quickly": "real quick",
    "relax": "chill", "relaxing": "chill", "laptop": "machine", "television": "TV",
    "conversation": "chat", "vehicle": "ride", "meal": "bite", "apartment": "place",
}  # fmt: skip
_PRONOUNS = {"you": "ya", "them": "'em", "your": "yer", "him": "'im", "yourself": "yerself"}
_SIMPLER_WORDS = {
    "assistance": "help", "assist": "help", "retrieve": "get", "obtain": "get", "utilize": "use",
    "purchase": "buy", "determine": "figure out", "calculate": "work out", "compute": "work out",
    "require": "need", "approximately": "about", "additionally": "also",
    "identify": "find", "locate": "find", "currently": "now", "regarding": "about",
    "subsequently": "then", "inquire": "ask", "initiate": "start",
    "numerous": "many", "sufficient": "enough", "possess": "have", "commence": "start",
    "ensure": "make sure", "verify": "check", "examine": "check", "residing": "living",
    "kindly": "please", "generate": "make", "analyze": "look at", "evaluate": "check",
    "furthermore": "also", "display": "show",
    "entire": "whole", "attempt": "try", "modify": "change",
}  # fmt: skip
_FUNCTION_WORDS = frozenset((
    "the", "a", "an", "to", "of", "in", "on", "at", "for", "and", "or", "with", "from",
    "by", "my", "your", "this", "that", "is", "are", "was", "can", "could", "would", "i",
    "i'd", "i'm", "you", "we", "it", "me", "please", "what", "what's", "how", "which", "be",
    "do", "does", "will", "should",
))  # fmt: skip
_RESTARTABLE_WORDS = _FUNCTION_WORDS - frozenset((
    "it", "me", "us", "or", "and", "that", "be", "you", "this",
))  # fmt: skip
_CLAUSE_OPENERS = frozenset((
    "for", "in", "on", "at", "if", "when", "after", "before", "while", "since", "because",
    "during", "with", "from", "under", "within",
))  # fmt: skip
_MAIN_CLAUSE_OPENERS = frozenset((
    "can", "could", "would", "please", "find", "get", "what", "what's", "how", "i", "i'd",
    "i'll", "i'm", "let's", "is", "are",
))  # fmt: skip
_REPEATABLE_WORD = re.compile(r"[A-Za-z][a-z']*$")


def filled_pause(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Insert "um" or "uh" between two words."""
    gaps = [i for i in _free_gaps(words, guard) if i < len(words) - 1] or _free_gaps(words, guard)
    return _insert_words(words, rng, guard, gaps, _FILLERS, "filled_pause")


def hesitation(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Insert a hesitation before a fact or at the start of a clause."""
    gaps = [i for i in _free_gaps(words, guard) if i in guard.words or words[i - 1][-1] in ",.?!"]
    return _insert_words(words, rng, guard, gaps, _HESITATIONS, "hesitation")


def elongation(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Lengthen a small word: "need" becomes "neeed"."""
    places = [i for i in _free_words(words, guard) if words[i] in _ELONGATIONS]
    if not places:
        return None
    i = seeds.draw_one(rng, places)
    return _replace_span(words, i, i + 1, [_ELONGATIONS[words[i]]], "elongation")


def word_repetition(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Say a small word twice."""
    places = [
        i
        for i in _free_words(words, guard)
        if words[i].lower() in _FUNCTION_WORDS
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
    return _replace_span(words, i, i + 1, [words[i] + ",", again], "word_repetition")


def restart(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Repeat two or three words in the middle of a sentence."""
    plain = set(_free_words(words, guard))
    places = [
        (i, n)
        for n in (2, 3)
        for i in range(len(words) - n)
        if plain.issuperset(range(i, i + n))
        and not guard.gaps.intersection(range(i, i + n + 1))
        and all(_REPEATABLE_WORD.match(words[k]) for k in range(i, i + n))
        and words[i + n - 1].lower() not in _FILLER_LIKE_WORDS
        # a name is not split
        and not any(_is_capitalised(word) for word in words[i + 1 : i + n + 1])
        and words[i].lower() in _RESTARTABLE_WORDS
        and words[i + n - 1].lower() not in _FUNCTION_WORDS - {"my", "the"}
    ]
    if not places:
        return None
    i, n = seeds.draw_one(rng, places)
    part = list(words[i : i + n])
    again = [_lower_first_letter(part[0]), *part[1:]]
    return _replace_span(words, i, i + n, [*part[:-1], part[-1] + ",", *again], "restart")


def self_correction(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Say a wrong verb first and correct it: "book, no, sorry, I meant find"."""
    places = [
        i for i in _free_words(words, guard) if words[i] in _SLIPS and _is_verb_position(words, i)
    ]
    if not places:
        return None
    i = places[0] if len(places) == 1 else seeds.draw_one(rng, places[:3])
    repair = seeds.draw_one(rng, _REPAIRS)
    return _replace_span(words, i, i, [_SLIPS[words[i]] + ",", *repair.split()], "self_correction")


def false_start(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Begin with another sentence and abandon it."""
    greets = bool(words) and words[0].rstrip(",").lower() in {"hi", "hey", "hello", "please", "ok"}
    if len(words) < 4 or greets or {0, 1} & guard.words or 1 in guard.gaps:
        return None
    start = f"{seeds.draw_one(rng, _FALSE_STARTS)}, {seeds.draw_one(rng, _BREAK_OFFS)}".split()
    return _replace_span(
        words, 0, 1, [*start, _lower_first_letter(words[0], words[1:2])], "false_start"
    )


def contraction(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Contract words: "going to" becomes "gonna"."""
    free = set(_free_words(words, guard))
    places = []
    for i in free:
        for full, short in _CASUAL_CONTRACTIONS:
            part = [word.lower() for word in words[i : i + len(full)]]
            follow = words[i + len(full) : i + len(full) + 1]
            if full == ("going", "to") and not (follow and _is_verb(follow[0])):
                continue  # "going to Paris" stays
            if tuple(part) == full and free.issuperset(range(i, i + len(full))):
                places.append((i, len(full), short))
    if not places:
        return None
    i, n, short = seeds.draw_one(rng, sorted(places))
    return _replace_span(words, i, i + n, [_match_case(short, words[i])], "contraction")


def slang(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Replace a word by slang: "info" for "information"."""
    return _replace_from_table(words, rng, guard, _SLANG, "slang")


def casual_pronoun(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Replace a pronoun by its casual form: "ya", "'em"."""
    return _replace_from_table(words, rng, guard, _PRONOUNS, "casual_pronoun")


def simpler_word(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Replace a word by a plainer one: "help" for "assistance"."""
    return _replace_from_table(words, rng, guard, _SIMPLER_WORDS, "simplified")


def marker(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Insert "you know" or "I mean" where a clause begins, else between two words."""
    gaps = _free_gaps(words, guard)
    clauses = [i for i in gaps if words[i - 1][-1] in ",.?!;"]
    return _insert_words(words, rng, guard, clauses or gaps, _MARKERS, "marker")


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
        if plain and any(map(ambiguous_names.needs_spelling, stripped)):
            places.append((behind - 1, tuple(stripped)))
    if not places:
        return None
    i, spelled = seeds.draw_one(rng, places)
    tail = words[i][-1] if words[i][-1] in ",.?!" else ","
    letters = ", ".join(" ".join(word.upper()) for word in spelled) + tail
    return _replace_span(
        words, i, i + 1, [words[i].rstrip(",.?!") + ",", "that's", *letters.split()], "spelling_out"
    )


def preposition_drop(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Leave out a small preposition where speakers do: before a day, in "all of my"."""
    places = [
        i for i in _free_words(words, guard)
        if 0 < i < len(words) - 1 and words[i] in {"of", "on", "at", "for"} and i not in guard.gaps
        and i + 1 not in guard.gaps and _may_drop(words, i)
    ]  # fmt: skip
    if not places:
        return None
    i = seeds.draw_one(rng, places)
    return _replace_span(words, i, i + 2, [words[i + 1]], "preposition_drop")


def restructuring(words: Sequence[str], rng: Random, guard: Guard) -> SpokenText | None:
    """Move a leading clause ("For my trip, find ...") after its main clause."""
    ends = [i for i, word in enumerate(words) if word[-1] in ".?!"]
    for start in [0, *(i + 1 for i in ends)]:
        end = next((i for i in ends if i >= start), len(words) - 1)
        comma = next((i for i in range(start, end) if words[i].endswith(",")), None)
        if comma is None or not 1 <= comma - start <= 9 or end - comma < 3:
            continue
        if (
            words[start].lower() not in _CLAUSE_OPENERS
            or words[comma + 1].lower() not in _MAIN_CLAUSE_OPENERS
        ):
            continue
        if any(word.endswith((",", ";")) for word in words[comma + 1 : end]):
            continue
        if {comma + 1, end + 1} & guard.gaps:
            continue
        if any(first <= end and start < behind for first, behind in guard.done):
            continue
        mark = words[end][-1] if words[end][-1] in ".?!" else ""
        main = [_capitalise(words[comma + 1]), *words[comma + 2 : end + 1]]
        lead = [_lower_first_letter(words[start]), *words[start + 1 : comma + 1]]
        main[-1] = main[-1].rstrip(".?!") + ","
        lead[-1] = lead[-1].rstrip(",") + mark
        return _replace_span(words, start, end + 1, main + lead, "restructuring")
    return None


CLASSES: dict[str, dict[str, Feature]] = {
    "structure": {"preposition_drop": preposition_drop, "restructuring": restructuring},
    "style": {
        "contraction": contraction, "slang": slang, "casual_pronoun": casual_pronoun,
        "simplified": simpler_word,
    },
    "repair": {"self_correction": self_correction, "false_start": false_start},
    "spelling": {"spelling_out": spelling_out},
    "repeat": {"word_repetition": word_repetition, "restart": restart},
    "marker": {"marker": marker},
    "pause": {
        "filled_pause": filled_pause, "hesitation": hesitation, "elongation": elongation,
    },
}  # fmt: skip
"""The features by class; an utterance gets at most one feature of each class."""

FEATURES = tuple(name for features in CLASSES.values() for name in features)


def _replace_span(
    words: Sequence[str], i: int, j: int, new: Sequence[str], feature: str
) -> SpokenText:
    after = [part for word in new for part in word.split()]
    text = " ".join([*words[:i], *after, *words[j:]])
    return SpokenText(text, (TextChange(feature, i, " ".join(words[i:j]), " ".join(after)),))


def _free_words(words: Sequence[str], guard: Guard) -> list[int]:
    return [i for i in range(len(words)) if i not in guard.words]


def _free_gaps(words: Sequence[str], guard: Guard) -> list[int]:
    return [i for i in range(1, len(words)) if i not in guard.gaps]


def _insert_words(
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
    gaps = [i for i in gaps if words[i - 1].lower() not in _FILLER_LIKE_WORDS]
    text = _normalised_text(" ".join(words))
    options = [option for option in options if _normalised_text(option) not in text]
    if not gaps or not options:
        return None
    i, what = seeds.draw_one(rng, gaps), seeds.draw_one(rng, options)
    if words[i - 1][-1] in ".?!":
        first = (
            words[i] if i in guard.words else _lower_first_letter(words[i], words[i + 1 : i + 2])
        )
        return _replace_span(words, i, i + 1, [_capitalise(what), first], feature)
    if words[i - 1][-1] in ",;:":
        return _replace_span(words, i, i, [what], feature)
    return _replace_span(words, i - 1, i, [words[i - 1] + ",", what], feature)


def _normalised_text(text: str) -> str:
    """Return only the words, each between spaces, to search for complete words."""
    words = re.findall(r"[\w']+", text.casefold().replace("’", "'"))
    return f" {' '.join(words)} "


_FILLER_LIKE_WORDS = frozenset(
    ("like", "well", "right", "know", "mean", "see", "ah", "er", "um", "uh")
)
"""Words that sound like fillers before a pause."""


def _replace_from_table(
    words: Sequence[str], rng: Random, guard: Guard, table: dict[str, str], feature: str
) -> SpokenText | None:
    places = [i for i in _free_words(words, guard) if words[i].rstrip(",.?!").lower() in table]
    if not places:
        return None
    i = seeds.draw_one(rng, places)
    stripped = words[i].rstrip(",.?!")
    new = _match_case(table[stripped.lower()], stripped) + words[i][len(stripped) :]
    return _replace_span(words, i, i + 1, [new], feature)


def _is_verb(word: str) -> bool:
    return word in IMPERATIVE_VERBS or word in {
        "be",
        "need",
        "have",
        "want",
        "go",
        "do",
        "visit",
        "stay",
    }


def _is_capitalised(word: str) -> bool:
    return word[:1].isupper() and word[:2] not in _FIRST_PERSON


def _is_not_repeated(words: Sequence[str], i: int) -> bool:
    return words[i].lower() != words[i + 1].lower() and (
        not i or words[i - 1].lower() != words[i].lower()
    )


def _is_verb_position(words: Sequence[str], i: int) -> bool:
    before = words[i - 1].lower() if i else ""
    return before in {"to", "you", "please", "i", "and", "me", "can", "then"}


def _may_drop(words: Sequence[str], i: int) -> bool:
    """Return whether the preposition at i may be left out: only in a few safe contexts."""
    before, after = words[i - 1].lower(), words[i + 1].lower()
    match words[i]:
        case "of":
            if before == "couple":
                return words[i + 1].islower() and not number_words.is_number_word(after)
            return before in {"all", "outside", "inside"} and after in _DETERMINERS
        case "on":
            is_day_name = (
                re.sub(r"\W*$", "", after).title() in _DAY_AND_MONTH_NAMES
                and words[i + 1][0].isupper()
            )
            return is_day_name or (
                after == "the" and any(map(_is_day_ordinal, words[i + 2 : i + 3]))
            )
        case "at":
            return before in {"start", "starting", "home"} or after in {"around", "about"}
        case _:
            return before in {"years", "hours", "days"} and bool(number_words.is_number_word(after))


_DETERMINERS = frozenset(
    ("the", "my", "your", "our", "his", "her", "their", "this", "these", "those")
)
_DAY_AND_MONTH_NAMES = frozenset((
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
))  # fmt: skip


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


def _match_case(new: str, old: str) -> str:
    return new[0].upper() + new[1:] if old[:1].isupper() and len(old) > 1 else new


def _capitalise(word: str) -> str:
    return word[0].upper() + word[1:]


def _lower_first_letter(word: str, after: Sequence[str] = ()) -> str:
    """Return a word that no longer begins a sentence; "I" and possible names stay."""
    stripped = re.sub(r"(?:['’](?:s|re|ve|d|ll|t))?\W*$", "", word).lower()
    before_name = any(_is_capitalised(other) for other in after) and stripped not in _FUNCTION_WORDS
    if before_name or re.match(r"I(?!\w)", word) or not word[:1].isupper() or word[1:2].isupper():
        return word
    return word[0].lower() + word[1:] if stripped in _COMMON_WORDS else word


_COMMON_WORDS = (
    IMPERATIVE_VERBS
    | _FUNCTION_WORDS
    | _CLAUSE_OPENERS
    | _MAIN_CLAUSE_OPENERS
    | frozenset(
        (
            "additionally",
            "after",
            "finally",
            "first",
            "furthermore",
            "given",
            "however",
            "lastly",
            "moreover",
            "next",
            "otherwise",
            "second",
            "specifically",
            "third",
            "also",
            "although",
            "any",
            "are",
            "as",
            "assume",
            "did",
            "had",
            "has",
            "have",
            "having",
            "he",
            "her",
            "here",
            "his",
            "just",
            "let",
            "now",
            "once",
            "one",
            "our",
            "recently",
            "she",
            "so",
            "some",
            "suppose",
            "then",
            "there",
            "these",
            "they",
            "those",
            "today",
            "tomorrow",
            "two",
            "where",
            "who",
            "why",
            "your",
        )
    )
)
_FIRST_PERSON = frozenset({"I", "I'"})
