"""How people trip over their words: one pure function for each feature, in exclusive classes.

A feature takes words, a generator and a guard, and returns what is said with the one change it
made, or None where it finds no place. Symbols are always read out by the rewrite, so the class
"spelling" holds the spelling out of one argument alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeAlias

from toolmark import seeds
from toolmark.perturb.text import names, numerals
from toolmark.perturb.text.facts import Change, Said
from toolmark.perturb.text.tables import VERBS


class Guard(NamedTuple):
    """What must stay whole: words by index, and gaps (gap i lies before word i) nothing may enter.

    `names` are the words (first, behind the last) of facts, which may be spelled out after them;
    `done` are those of earlier changes.
    """

    words: frozenset[int] = frozenset()
    gaps: frozenset[int] = frozenset()
    names: tuple[tuple[int, int], ...] = ()
    done: tuple[tuple[int, int], ...] = ()


Feature: TypeAlias = Callable[[Sequence[str], Random, Guard], Said | None]

_FILLERS = ("um,", "uh,", "er,", "uhm,", "ah,")
_HESITATIONS = (
    "let me see,", "hmm,", "how do I put it,", "let me think,", "hang on,", "hold on,",
    "bear with me,", "let's see,",
)  # fmt: skip
_MARKERS = ("you know,", "I mean,", "like,", "well,", "right,", "you see,")
# What a false start or a correction says belongs to no other class: none of the words above.
_STRETCHED = {  # only spellings that every engine says as the longer word
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
_STARTS = (
    "Can I", "Could I", "I was going to", "So I wanted", "Is there", "What I", "I'm trying to",
    "Do you", "I was just", "Maybe I", "There's a", "So I have", "Would it", "The thing",
    "Okay so I", "I just", "What about", "I've been", "So the", "If I",
)  # fmt: skip
_BREAKS = (
    "no,", "wait,", "sorry,", "no, wait,", "no, sorry,", "scratch that,", "let me start over,",
    "let me say that again,", "let me put it another way,",
)  # fmt: skip
_CASUAL = (
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
_SIMPLER = {
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
_FUNCTION = frozenset((
    "the", "a", "an", "to", "of", "in", "on", "at", "for", "and", "or", "with", "from",
    "by", "my", "your", "this", "that", "is", "are", "was", "can", "could", "would", "i",
    "i'd", "i'm", "you", "we", "it", "me", "please", "what", "what's", "how", "which", "be",
    "do", "does", "will", "should",
))  # fmt: skip
_AGAIN = _FUNCTION - frozenset((
    "it", "me", "us", "or", "and", "that", "be", "you", "this",
))  # fmt: skip
_LEADS = frozenset((
    "for", "in", "on", "at", "if", "when", "after", "before", "while", "since", "because",
    "during", "with", "from", "under", "within",
))  # fmt: skip
_MAINS = frozenset((
    "can", "could", "would", "please", "find", "get", "what", "what's", "how", "i", "i'd",
    "i'll", "i'm", "let's", "is", "are",
))  # fmt: skip
_STUTTER = re.compile(r"[A-Za-z][a-z']*$")


def filled_pause(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Put um or uh between two words."""
    gaps = [i for i in _gaps(words, guard) if i < len(words) - 1] or _gaps(words, guard)
    return _insert(words, rng, guard, gaps, _FILLERS, "filled_pause")


def hesitation(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Play for time before a fact or at the start of a clause."""
    gaps = [i for i in _gaps(words, guard) if i in guard.words or words[i - 1][-1] in ",.?!"]
    return _insert(words, rng, guard, gaps, _HESITATIONS, "hesitation")


def elongation(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Stretch a small word: the becomes theee."""
    places = [i for i in _free(words, guard) if words[i] in _STRETCHED]
    if not places:
        return None
    i = seeds.choice(rng, places)
    return _splice(words, i, i + 1, [_STRETCHED[words[i]]], "elongation")


def word_repetition(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Say a small word twice."""
    places = [
        i for i in _free(words, guard)
        if words[i].lower() in _FUNCTION and _STUTTER.match(words[i]) and i + 1 < len(words)
        and i not in guard.gaps and words[i].lower() not in {"a", "that"} and _once(words, i)
    ]  # fmt: skip
    if not places:
        return None
    i = seeds.choice(rng, places)
    again = words[i] if words[i].startswith("I") else words[i].lower()
    return _splice(words, i, i + 1, [words[i] + ",", again], "word_repetition")


def restart(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Break off in mid-sentence and say the last two or three words again."""
    plain = set(_free(words, guard))
    places = [
        (i, n) for n in (2, 3) for i in range(len(words) - n)
        if plain.issuperset(range(i, i + n)) and not guard.gaps.intersection(range(i, i + n + 1))
        and all(_STUTTER.match(words[k]) for k in range(i, i + n))
        and words[i + n - 1].lower() not in _CLASHING
        and not any(_title(word) for word in words[i + 1 : i + n + 1])  # a name stays whole
        and words[i].lower() in _AGAIN and words[i + n - 1].lower() not in _FUNCTION - {"my", "the"}
    ]  # fmt: skip
    if not places:
        return None
    i, n = seeds.choice(rng, places)
    part = list(words[i : i + n])
    again = [_lowered(part[0]), *part[1:]]
    return _splice(words, i, i + n, [*part[:-1], part[-1] + ",", *again], "restart")


def self_correction(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Say a wrong verb first and mend it: book, no, sorry, I meant find."""
    places = [i for i in _free(words, guard) if words[i] in _SLIPS and _verbal(words, i)]
    if not places:
        return None
    i = places[0] if len(places) == 1 else seeds.choice(rng, places[:3])
    mend = seeds.choice(rng, _REPAIRS)
    return _splice(words, i, i, [_SLIPS[words[i]] + ",", *mend.split()], "self_correction")


def false_start(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Begin another sentence and give it up."""
    greets = bool(words) and words[0].rstrip(",").lower() in {"hi", "hey", "hello", "please", "ok"}
    if len(words) < 4 or greets or {0, 1} & guard.words or 1 in guard.gaps:
        return None
    start = f"{seeds.choice(rng, _STARTS)}, {seeds.choice(rng, _BREAKS)}".split()
    return _splice(words, 0, 1, [*start, _lowered(words[0], words[1:2])], "false_start")


def contraction(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Run two words together: going to becomes gonna."""
    free = set(_free(words, guard))
    places = []
    for i in free:
        for full, short in _CASUAL:
            part = [word.lower() for word in words[i : i + len(full)]]
            follow = words[i + len(full) : i + len(full) + 1]
            if full == ("going", "to") and not (follow and _acts(follow[0])):
                continue  # going to Paris stays
            if tuple(part) == full and free.issuperset(range(i, i + len(full))):
                places.append((i, len(full), short))
    if not places:
        return None
    i, n, short = seeds.choice(rng, sorted(places))
    return _splice(words, i, i + n, [_cased(short, words[i])], "contraction")


def slang(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Take the word of the street: info for information."""
    return _exchange(words, rng, guard, _SLANG, "slang")


def casual_pronoun(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Slur a pronoun: ya, 'em."""
    return _exchange(words, rng, guard, _PRONOUNS, "casual_pronoun")


def simplified(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Take a plainer word: help for assistance."""
    return _exchange(words, rng, guard, _SIMPLER, "simplified")


def marker(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Drop in you know or I mean where a clause begins, else between two words."""
    gaps = _gaps(words, guard)
    clauses = [i for i in gaps if words[i - 1][-1] in ",.?!;"]
    return _insert(words, rng, guard, clauses or gaps, _MARKERS, "marker")


def spelling_out(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Spell a name of a fact after saying it, where it could be written in more ways than one."""
    places = []
    for first, behind in guard.names:
        follow = words[behind].lower() if behind < len(words) else ""
        if behind in guard.gaps or follow == "that's":
            continue  # something was said there already
        bare = [re.sub(r"(?:['’]s)?[,.?!]*$", "", word) for word in words[first:behind]]
        if behind - first > 2 or sum(map(len, bare)) > 14:
            bare = bare[-1:]  # long names are spelled in part
        plain = all(re.fullmatch(r"[A-Z][a-z]{1,11}", word) for word in bare)
        if plain and any(map(names.doubtful, bare)):
            places.append((behind - 1, tuple(bare)))
    if not places:
        return None
    i, spelled = seeds.choice(rng, places)
    tail = words[i][-1] if words[i][-1] in ",.?!" else ","
    letters = ", ".join(" ".join(word.upper()) for word in spelled) + tail
    return _splice(
        words, i, i + 1, [words[i].rstrip(",.?!") + ",", "that's", *letters.split()], "spelling_out"
    )


def preposition_drop(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Leave out a small preposition where talkers do: before a day, in "all of my"."""
    places = [
        i for i in _free(words, guard)
        if 0 < i < len(words) - 1 and words[i] in {"of", "on", "at", "for"} and i not in guard.gaps
        and i + 1 not in guard.gaps and _dropped(words, i)
    ]  # fmt: skip
    if not places:
        return None
    i = seeds.choice(rng, places)
    return _splice(words, i, i + 2, [words[i + 1]], "preposition_drop")


def restructuring(words: Sequence[str], rng: Random, guard: Guard) -> Said | None:
    """Put the clause in front ("For my trip, find ...") behind its main clause."""
    ends = [i for i, word in enumerate(words) if word[-1] in ".?!"]
    for start in [0, *(i + 1 for i in ends)]:
        end = next((i for i in ends if i >= start), len(words) - 1)
        comma = next((i for i in range(start, end) if words[i].endswith(",")), None)
        if comma is None or not 1 <= comma - start <= 9 or end - comma < 3:
            continue
        if words[start].lower() not in _LEADS or words[comma + 1].lower() not in _MAINS:
            continue
        if any(word.endswith((",", ";")) for word in words[comma + 1 : end]):
            continue
        if {comma + 1, end + 1} & guard.gaps:
            continue
        if any(first <= end and start < behind for first, behind in guard.done):
            continue
        mark = words[end][-1] if words[end][-1] in ".?!" else ""
        main = [_raised(words[comma + 1]), *words[comma + 2 : end + 1]]
        lead = [_lowered(words[start]), *words[start + 1 : comma + 1]]
        main[-1] = main[-1].rstrip(".?!") + ","
        lead[-1] = lead[-1].rstrip(",") + mark
        return _splice(words, start, end + 1, main + lead, "restructuring")
    return None


CLASSES: dict[str, dict[str, Feature]] = {
    "structure": {"preposition_drop": preposition_drop, "restructuring": restructuring},
    "style": {
        "contraction": contraction, "slang": slang, "casual_pronoun": casual_pronoun,
        "simplified": simplified,
    },
    "repair": {"self_correction": self_correction, "false_start": false_start},
    "spelling": {"spelling_out": spelling_out},
    "repeat": {"word_repetition": word_repetition, "restart": restart},
    "marker": {"marker": marker},
    "pause": {
        "filled_pause": filled_pause, "hesitation": hesitation, "elongation": elongation,
    },
}  # fmt: skip
"""The classes in the order their changes are made; at most one feature of each in an utterance."""

FEATURES = tuple(name for features in CLASSES.values() for name in features)


def _splice(words: Sequence[str], i: int, j: int, new: Sequence[str], feature: str) -> Said:
    after = [part for word in new for part in word.split()]
    text = " ".join([*words[:i], *after, *words[j:]])
    return Said(text, (Change(feature, i, " ".join(words[i:j]), " ".join(after)),))


def _free(words: Sequence[str], guard: Guard) -> list[int]:
    return [i for i in range(len(words)) if i not in guard.words]


def _gaps(words: Sequence[str], guard: Guard) -> list[int]:
    return [i for i in range(1, len(words)) if i not in guard.gaps]


def _insert(
    words: Sequence[str],
    rng: Random,
    guard: Guard,
    gaps: Sequence[int],
    options: Sequence[str],
    feature: str,
) -> Said | None:
    """Put words into a gap, with the pauses and the capital letter that they ask for.

    What the text says already, whatever its case and pauses, is not said again.
    """
    gaps = [i for i in gaps if words[i - 1].lower() not in _CLASHING]
    text = _bare(" ".join(words))
    options = [option for option in options if _bare(option) not in text]
    if not gaps or not options:
        return None
    i, what = seeds.choice(rng, gaps), seeds.choice(rng, options)
    if words[i - 1][-1] in ".?!":
        first = words[i] if i in guard.words else _lowered(words[i], words[i + 1 : i + 2])
        return _splice(words, i, i + 1, [_raised(what), first], feature)
    if words[i - 1][-1] in ",;:":
        return _splice(words, i, i, [what], feature)
    return _splice(words, i - 1, i, [words[i - 1] + ",", what], feature)


def _bare(text: str) -> str:
    """Return the words alone, each between spaces, for a search of whole words."""
    words = re.findall(r"[\w']+", text.casefold().replace("’", "'"))
    return f" {' '.join(words)} "


_CLASHING = frozenset(("like", "well", "right", "know", "mean", "see", "ah", "er", "um", "uh"))
"""Words that would be heard as fillers before a pause."""


def _exchange(
    words: Sequence[str], rng: Random, guard: Guard, table: dict[str, str], feature: str
) -> Said | None:
    places = [i for i in _free(words, guard) if words[i].rstrip(",.?!").lower() in table]
    if not places:
        return None
    i = seeds.choice(rng, places)
    bare = words[i].rstrip(",.?!")
    new = _cased(table[bare.lower()], bare) + words[i][len(bare) :]
    return _splice(words, i, i + 1, [new], feature)


def _acts(word: str) -> bool:
    return word in VERBS or word in {"be", "need", "have", "want", "go", "do", "visit", "stay"}


def _title(word: str) -> bool:
    return word[:1].isupper() and word[:2] not in _SELF


def _once(words: Sequence[str], i: int) -> bool:
    return words[i].lower() != words[i + 1].lower() and (
        not i or words[i - 1].lower() != words[i].lower()
    )


def _verbal(words: Sequence[str], i: int) -> bool:
    before = words[i - 1].lower() if i else ""
    return before in {"to", "you", "please", "i", "and", "me", "can", "then"}


def _dropped(words: Sequence[str], i: int) -> bool:
    """Tell whether a talker may drop the preposition: a few safe surroundings."""
    before, after = words[i - 1].lower(), words[i + 1].lower()
    match words[i]:
        case "of":
            if before == "couple":
                return words[i + 1].islower() and not numerals.counts(after)
            return before in {"all", "outside", "inside"} and after in _OWNED
        case "on":
            named = re.sub(r"\W*$", "", after).title() in _DAYS and words[i + 1][0].isupper()
            return named or (after == "the" and any(map(_ranked, words[i + 2 : i + 3])))
        case "at":
            return before in {"start", "starting", "home"} or after in {"around", "about"}
        case _:
            return before in {"years", "hours", "days"} and bool(numerals.counts(after))


_OWNED = frozenset(("the", "my", "your", "our", "his", "her", "their", "this", "these", "those"))
_DAYS = frozenset((
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
))  # fmt: skip


def _ranked(word: str) -> bool:
    """Tell whether a word is a day of the month: third, twenty-first, 3rd."""
    bare = re.sub(r"\W*$", "", word).lower()
    return bool(re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)", bare)) or bare.split("-")[-1] in _RANKS


_RANKS = frozenset(rank for rank, n in numerals.RANKS.items() if n <= 20 or n == 30)


def _cased(new: str, old: str) -> str:
    return new[0].upper() + new[1:] if old[:1].isupper() and len(old) > 1 else new


def _raised(word: str) -> str:
    return word[0].upper() + word[1:]


def _lowered(word: str, after: Sequence[str] = ()) -> str:
    """Return a word that no longer begins a sentence; I and what may be a name stay."""
    bare = re.sub(r"(?:['’](?:s|re|ve|d|ll|t))?\W*$", "", word).lower()
    named = any(_title(other) for other in after) and bare not in _FUNCTION
    if named or re.match(r"I(?!\w)", word) or not word[:1].isupper() or word[1:2].isupper():
        return word
    return word[0].lower() + word[1:] if bare in _COMMON else word


_COMMON = VERBS | _FUNCTION | _LEADS | _MAINS | frozenset((
    "additionally", "after", "finally", "first", "furthermore", "given", "however", "lastly",
    "moreover", "next", "otherwise", "second", "specifically", "third",
    "also", "although", "any", "are", "as", "assume", "did", "had", "has", "have", "having", "he",
    "her", "here", "his", "just", "let", "now", "once", "one", "our", "recently", "she", "so",
    "some", "suppose", "then", "there", "these", "they", "those", "today", "tomorrow", "two",
    "where", "who", "why", "your",
))  # fmt: skip
_SELF = frozenset({"I", "I'"})
