"""The rule-based judge: does a message only check what was heard, and what may be answered?

A question passes if every word of it is explained: by the words with which people check what they
heard, by a topic of the whitelist, by a value or what can be mis-heard for it, or by the user's own
request. What is left unexplained asks for something else. The rules are those of MFCL (section A6
of our specification of it); `docs/clarification.md` lists them. English only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, TypeAlias

from toolmark.perturb.text import numerals, readout
from toolmark.suites.mfcl import answer, words
from toolmark.suites.mfcl.lexicon import (
    ALIKE,
    ASKING,
    COMMON,
    GENERIC,
    MATTER,
    PEOPLE,
    PLACES,
)
from toolmark.suites.mfcl.phrases import main, sentences, slots, sort
from toolmark.suites.mfcl.whitelist import Value, Whitelist
from toolmark.suites.mfcl.words import MONTHS
from toolmark.types import Ruling

NAME = "rules"
LONGEST = 2000  # characters of a message that can be a question of this kind
MANY = 3  # topics that a plural asks for at once
SURE = 0.95  # likeness from which a value is read back rightly
BESIDE = frozenset({"date", "time", "address", "email", "city", "station", *MONTHS} - {"may"})
LIKE = 0.41  # letters in common without which a word of the dictionary is no mis-hearing
MISSPELT = 0.8  # likeness from which letters pass for a number word
SLOT = 7  # words of a value read back

# chat: nothing is asked; preference: a wish or the next step is; absent: something that is not on
# the list; ambiguous: it cannot be told which topic
Reason: TypeAlias = Literal["chat", "preference", "absent", "ambiguous", "too long"]

_BEFORE = ("remark", "trouble")
_BOTH = re.compile(r"\b(?:both|each|two)\b")
_THREE = re.compile(r"\ball (?:the )?(?:three|3)\b")
_MANY = re.compile(
    r"\b(?:what|which|the|your) (?:\w+ )?(?:names|numbers|dates|times|measurements|"
    r"values|figures|dimensions|ids|codes|addresses|cities|places)\b"
)
_ONE = re.compile(r"\b(?:which|one) of\b|\bdigits?\b")
_BACK = re.compile(
    r"\b(?:it|that|this|them|those|these)\b|\bthe (?:(?:proper|correct|exact|right|full) )?"
    r"(?:spelling|name|word|number|value)\b"
)
_ASIDE = re.compile(
    r"\bat a time\b|\bone (?:more|last) time\b|\b(?:to|for) (?:me|us|you)\b|"
    r"\b(?:do me|as) a favou?r\b"
)
_SORT_OF = re.compile(r"\b(?:types? of|types?\W*\Z)")
_FAMILY = re.compile(r"\b(?:surname|(?:first|last|family|given) ?name)s?\b")
_DOING = re.compile(r"\byou(?:'re| are| were)(?: \w+ly)? (\w+ing)\b|\bbe (\w+ing)\b")
_POINTING = re.compile(r"\bspell\w* (?:that|it|this)\b|\b(?:that|it) (?:is |was )?spel\w+")
_LETTERS = re.compile(
    r"\bspel\w+|\bwritten\b|\bletter\w*\b|\bcharacters?\b|\bdigits?\b(?! number)|\bone at a time\b"
)

# words that are never a value mis-heard
_PLAIN = ASKING | MATTER | frozenset[str]().union(*GENERIC.values()) - frozenset(MONTHS)


def rule(message: str, whitelist: Whitelist, request: str) -> Ruling:
    """Rule on a message without calls.

    `whitelist` is what may be told, `request` what the user wants: it only explains words of the
    question, and nothing of it is ever told. The reply holds the values asked for and no other
    word: canonical spelling, then letter by letter where the spelling was asked for.
    """
    if len(message) > LONGEST:
        return Ruling(allowed=False, reason="too long", judge=NAME)
    listener = Listener(whitelist, request)
    said = [sort(sentence) for sentence in sentences(message)]
    asked: dict[str, bool] = {}
    other = False
    for at, (kind, sentence) in enumerate(said):
        if kind in ("preference", "remark"):
            other |= kind == "preference"
            continue
        found = listener.topics(sentence, fragment=kind == "fragment")
        if isinstance(found, str) and kind != "check":
            other |= kind == "fragment"
            continue
        before = said[at - 1] if at else ("check", "")
        if isinstance(found, str) and before[0] in _BEFORE and _BACK.search(sentence):
            found = listener.topics(f"{before[1]} {sentence}")
        if isinstance(found, str):
            return Ruling(allowed=False, reason=found, judge=NAME)
        spelt = _LETTERS.search(sentence) is not None
        asked |= {topic: asked.get(topic, False) or spelt for topic in found}
    if not asked:
        return Ruling(allowed=False, reason="preference" if other else "chat", judge=NAME)
    topics = tuple(topic for topic in whitelist if topic in asked)
    return Ruling(allowed=True, reply=answer.reply(whitelist, asked), topics=topics, judge=NAME)


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic of the whitelist: the words it goes by, and its kinds."""

    name: str
    value: Value
    words: frozenset[str]
    kinds: frozenset[str]
    nouns: frozenset[str]
    person: bool


def _topic(name: str, value: Value) -> _Topic:
    split = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", name.split(".")[-1])
    every = words.tokens(split.replace("_", " "))
    parts = [part for part in every if not part.isdecimal()]
    own = {part for part in parts if part not in COMMON} | {"".join(parts), "".join(every)}
    own |= {"to"} & set(parts) if len(parts) == 1 else set()
    for group in ALIKE:
        own |= group if group & ({*parts} - {"id", "name", "number", "in", "out"}) else set()
    if "id" in parts or "number" in parts:
        own |= {"id"} if len(parts) == 1 else set()
    own |= {f"{word}s" for word in own if len(word) > 2}
    own |= {f"{word[:-1]}ies" for word in own if word.endswith("y")}
    own |= {word[:-1] for word in own if word.endswith("s") and len(word) > 4}
    nouns = GENERIC["id"] if "id" in parts else frozenset(parts) & COMMON
    own |= {"who", "whom", "whose"} if set(parts) & PEOPLE else set()
    nouns |= set(every) - {*parts, "1"}  # the second; a 1 may be of `one more time`
    kinds = frozenset(_kinds({*parts}, value))
    person = bool(set(parts) & PEOPLE) or parts == ["name"]
    return _Topic(name, value, frozenset(own - {"a", "s"}), kinds, nouns, person)


def _kinds(parts: set[str], value: Value) -> set[str]:
    if not isinstance(value, str):
        return {"number", *({"id"} if "id" in parts else ())}
    kinds = {"place"} if parts & PLACES else set()
    if words.day(value):
        kinds.add("date")
    if words.hour(value):
        kinds.add("time")
    if "@" in value:
        kinds.add("email")
    if re.search(r"\w\.[A-Za-z]\w{1,3}\Z", value) and "@" not in value:
        kinds.add("file")
    if any(letter.isdigit() for letter in value) and not kinds - {"place"}:
        kinds.add("address" if " " in value.strip() else "id")
    if not kinds - {"place"}:
        kinds.add("name" if value[:1].isupper() or parts & {"name", "title"} else "text")
    return kinds


class Listener:
    """The user's ear: which topics of the whitelist a question asks for."""

    def __init__(self, whitelist: Mapping[str, Value], request: str) -> None:
        self._all = [_topic(name, value) for name, value in whitelist.items()]
        self._words = words.tokens(request[:20_000])
        self._request = frozenset(self._words)

    def topics(self, sentence: str, *, fragment: bool = False) -> list[str] | Reason:
        """Return the topics that a question asks for, or why it is refused."""
        read_back = slots(sentence, whole=fragment)
        said = words.tokens(_ASIDE.sub("", main(sentence)))
        named = self._named(said, sentence)
        if isinstance(named, str):
            named = self._heard(said, read_back, among=named.split("|")[1:])
            if not named:
                return "ambiguous"
        read = self._exact(read_back) if named else self._heard(said, read_back, among=[])
        if read and named:  # `the flight to Oslo` is about Oslo
            own = {topic.name: topic.words & set(said) for topic in named}
            named = [topic for topic in named if not own[topic.name] <= MATTER or topic in read]
        chosen = [topic for topic in self._all if topic in named or topic in read]
        if not chosen:
            return self._generic(said, sentence)
        more = self._uncovered(said, chosen)
        if isinstance(more, str):
            return more
        chosen += [topic for topic in more if topic not in chosen]
        if fragment and not self._alone(said, read, read_back):
            return "absent"
        if _SORT_OF.search(sentence) and not any("type" in t.words | t.nouns for t in chosen):
            return "absent"
        explained = self._explained(said, chosen, read_back, main(sentence))
        return [topic.name for topic in chosen] if explained else "absent"

    def _named(self, said: Sequence[str], sentence: str) -> list[_Topic] | str:
        """Return the topics named; `ambiguous|...` where one word names several."""
        pairs = {*said, *(a + b for a, b in pairwise(said))}
        hits = {topic.name: topic.words & pairs for topic in self._all}
        named = [
            topic
            for topic in self._all
            if hits[topic.name]
            and not any(hits[topic.name] < other for other in hits.values())
            and not _modifies(topic, hits, said)
        ]
        if _BOTH.search(sentence):
            return named
        for topic in named:
            rivals = [other.name for other in named if hits[other.name] == hits[topic.name]]
            plural = any(word.endswith("s") and len(word) > 3 for word in hits[topic.name])
            if len(rivals) > 1 and not (plural and "and" in said):
                ties = [topic for topic in named if topic.name in rivals]
                most = max(len(t.nouns & set(said)) for t in ties)
                own = [t for t in ties if len(t.nouns & set(said)) == most]
                if len(own) == len(ties):
                    return "|".join(["ambiguous", *rivals])
                named = [t for t in named if t.name not in rivals or t in own]
        return named

    def _heard(
        self, said: Sequence[str], slots: list[list[str]], *, among: Sequence[str]
    ) -> list[_Topic]:
        """Return the topics whose values are read back: rightly, else the one mis-heard.

        `among`: the names that are still in question; empty for all.
        """
        pool = [topic for topic in self._all if not among or topic.name in among]
        exact = [
            topic
            for topic in pool
            if any(_held(slot, topic.value) for slot in slots)
            or (slots and {"date", "time"} & topic.kinds and _held(said, topic.value))
        ]
        if not exact:
            read = {word for slot in slots for word in slot if word.isdecimal()}
            exact = [
                topic
                for topic in pool
                if "address" in topic.kinds and read & set(words.tokens(str(topic.value)[:200]))
            ]
        if exact:
            return self._sifted(exact, slots)
        slots = [slot for slot in slots if set(slot) - _PLAIN]
        scores = {
            topic.name: max((_near(slot, topic.value) for slot in slots), default=0.0)
            for topic in pool
        }
        best = max(scores.values(), default=0.0)
        near = [topic for topic in pool if scores[topic.name] == best >= words.NEAR]
        if len(near) == 1:
            return near
        counted = [topic for topic in pool if "number" in topic.kinds]
        if slots and all(word.isdecimal() for slot in slots for word in slot):
            return counted if len(counted) == 1 else []
        held = [topic for topic in pool if _part(topic.value) & set(said)]
        return held if len(held) == 1 else []

    def _alone(self, said: Sequence[str], read: Sequence[_Topic], slots: list[list[str]]) -> bool:
        """Tell whether a fragment says nothing beside a value that it reads back rightly."""
        if not read:
            return True
        if "your" in said:
            return False
        heard = [slot for slot in slots if any(_near(slot, t.value) >= words.NEAR for t in read)]
        if heard and all(_letters(s, words.told(t.value)) < LIKE for s in heard for t in read):
            return False
        exact = [topic for topic in read if any(_held(slot, topic.value) for slot in slots)]
        return (
            "or" in said
            or not exact
            or not self._rest(said, exact) - {w for w in said if w.isdecimal()}
        )

    def _sifted(self, exact: list[_Topic], slots: list[list[str]]) -> list[_Topic]:
        """Return the topics read back without those whose number stands for another thing.

        The day of a date is no amount, and `13 seconds` is not the 13 of something else.
        """
        numbers = [topic for topic in exact if "number" in topic.kinds]
        whole = [topic for topic in exact if topic not in numbers]
        if any({"date", "time"} & topic.kinds for topic in whole):
            left = {word for slot in slots for word in slot if word.isdecimal()}
            for topic in whole:
                left -= _clock(topic.value)
            return [t for t in exact if t in whole or words.told(t.value) in left]
        units = {pair for slot in slots for pair in pairwise(slot)} & set(pairwise(self._words))
        meant = [topic for topic in numbers if any(a == words.told(topic.value) for a, _ in units)]
        return [t for t in exact if t not in numbers or t in meant] if meant else exact

    def _exact(self, slots: list[list[str]]) -> list[_Topic]:
        """Return the topics of words, not numbers, that are read back beside those named."""
        return [
            topic
            for topic in self._all
            if isinstance(topic.value, str)
            and any(_near(slot, topic.value) > SURE for slot in slots)
        ]

    def _generic(self, said: Sequence[str], sentence: str) -> list[str] | Reason:
        """Return the one topic of the kind that a general noun, or `spell that`, stands for."""
        stands = [{kind for kind in GENERIC if noun in GENERIC[kind]} for noun in said]
        kinds = set[str]().union(*([kinds for kinds in stands if len(kinds) == 1] or stands))
        if not kinds and _POINTING.search(sentence):
            kinds = {"name", "id", "email", "address", "text"}
        if not kinds:
            return "absent" if self._rest(said, []) else "ambiguous"
        found = [topic for topic in self._all if topic.kinds & kinds]
        if len(found) > 1 and _FAMILY.search(sentence):
            found = [topic for topic in found if topic.person] or found
        several = (
            (len(found) == 3 and _THREE.search(sentence))
            or _BOTH.search(sentence)
            or (_MANY.search(sentence) and not _ONE.search(sentence))
        )
        if 1 < len(found) <= MANY and several:
            bad = (len(found) != 2 and _BOTH.search(sentence)) or self._rest(said, found)
            return "absent" if bad else [topic.name for topic in found]
        if len(found) > 1:
            return "ambiguous"
        if not found or self._rest(said, found) or self._other(said, found[0]):
            return "absent"
        return [found[0].name]

    def _other(self, said: Sequence[str], topic: _Topic) -> bool:
        """Tell whether a general noun belongs to another thing in the request: `its name`."""
        own = topic.words | set(words.tokens(str(topic.value)[:1000]))
        nouns = {noun for kind in topic.kinds for noun in GENERIC.get(kind, ())}
        return bool((set(said) & self._request) - ASKING - own - nouns)

    def _uncovered(self, said: Sequence[str], chosen: Sequence[_Topic]) -> list[_Topic] | Reason:
        """Return the topics that general nouns stand for beside those chosen."""
        own = {word for topic in chosen for word in topic.words}
        kinds = {kind for topic in chosen for kind in topic.kinds}
        more: list[_Topic] = []
        for noun in said:
            if noun in own or not (noun in BESIDE or _apart(noun, said, own)):
                continue
            if noun in MONTHS and not any(word.isdecimal() for word in said):
                continue
            stands = {kind for kind, nouns in GENERIC.items() if noun in nouns}
            if noun in BESIDE and stands & kinds:
                continue
            found = [t for t in self._all if stands & t.kinds and t not in chosen and t not in more]
            if len(found) != 1:
                return "ambiguous" if found else "absent"
            more += found
            kinds |= found[0].kinds
        return more

    def _explained(
        self,
        said: Sequence[str],
        chosen: Sequence[_Topic],
        slots: list[list[str]],
        sentence: str,
    ) -> bool:
        """Tell whether nothing is said but what checks these topics."""
        read = {word for slot in slots if len(slot) <= SLOT for word in slot}
        near = any(
            _held(slot, topic.value)
            or _near(slot, topic.value) >= words.NEAR
            or (_by_name(said, topic) and len(set(slot) - topic.words - GENERIC["name"]) < 4)
            for slot in slots
            for topic in chosen
        )
        numbers = {word for word in said if word.replace(".", "").isdecimal()}
        rest = self._rest(said, chosen) - numbers - _matters(said)
        rest -= {word for found in _DOING.findall(sentence) for word in found}
        return not rest or (near and rest <= read)

    def _rest(self, said: Sequence[str], chosen: Sequence[_Topic]) -> set[str]:
        """Return the words that neither checking, these topics nor the request explain."""
        known = ASKING | self._request
        for topic in chosen:
            known |= topic.words | set(words.tokens(str(topic.value)[:1000]))
            for kind in topic.kinds:
                known |= GENERIC.get(kind, frozenset())
            known |= GENERIC["place"] if "name" in topic.kinds else set()
            known |= GENERIC["name"] if isinstance(topic.value, str) else GENERIC["number"]
        for a, b in pairwise(said):
            known |= {a, b} if a + b in known else set()
        return set(said) - known


def _part(value: Value) -> set[str]:
    """Return the words of a value that stand for it by themselves: a surname, a street."""
    if not isinstance(value, str):
        return set()
    return {word for word in words.tokens(value[:200]) if len(word) > 3} - ASKING


def _matters(said: Sequence[str]) -> set[str]:
    """Return the words that only say what it is all about: `of the reservation`, `the money`."""
    out = set()
    for at, word in enumerate(said):
        after = said[at + 1] if at + 1 < len(said) else ""
        led = at and said[at - 1] in ("the", "your", "this", "that", "a")
        if (
            word in MATTER
            and led
            and (not after or after in ASKING)
            and after not in ("s", "number")
        ):
            out.add(word)
    return out


def _apart(noun: str, said: Sequence[str], own: Set[str]) -> bool:
    """Tell whether a general noun is listed beside the topics named: `the name and the city`."""
    bare = [word for word in said if word not in ("the", "your", "exact", "full", "last", "s")]
    if noun not in ("name", "number", "code"):
        return False
    for before, word, after in zip(["", *bare], bare, [*bare[1:], ""], strict=False):
        if word == noun and "and" in (before, after) and before not in own and after != "of":
            return True
    return False


def _by_name(said: Sequence[str], topic: _Topic) -> bool:
    """Tell whether a topic is named with a noun of its kind: `the customer's name`."""
    nouns = {noun for kind in topic.kinds for noun in GENERIC.get(kind, ())}
    return any(a in topic.words and b in nouns for a, b in pairwise(said))


def _modifies(topic: _Topic, hits: Mapping[str, Set[str]], said: Sequence[str]) -> bool:
    """Tell whether a topic is named only beside another: `the account holder`, `customer name`.

    The first is named in front of the other; of the second the noun is that of its own kind.
    """
    hit = hits[topic.name]
    others = frozenset[str]().union(*(other for other in hits.values() if other != hit)) - hit
    after = [b for a, b in pairwise(said) if a in hit]
    if len(after) == sum(word in hit for word in said) > 0 and all(b in others for b in after):
        return not (topic.kinds & {"name", "id"} and set(after) <= _nouns(topic))
    if not hit <= _nouns(topic) or not others:
        return False
    before = [a for a, b in pairwise(said) if b in hit]
    return len(before) == sum(word in hit for word in said) > 0 and all(a in others for a in before)


def _nouns(topic: _Topic) -> set[str]:
    """Return the general nouns of a topic's kinds."""
    return {noun for kind in topic.kinds for noun in GENERIC.get(kind, ())}


def _letters(slot: Sequence[str], value: str) -> float:
    """Return how far words and a value, or a word of it, have letters in common, in [0, 1]."""
    heard = "".join(slot)[:80]
    parts = words.tokens(value[:320])
    whole = ["".join(parts), *(part for part in parts if len(part) > 3)]
    return max(SequenceMatcher(None, heard, part[:80], autojunk=False).ratio() for part in whole)


def _clock(value: Value) -> set[str]:
    """Return the numbers in a date or a time, as they are said."""
    out: set[str] = set()
    if (found := words.day(value)) is not None:
        out |= {str(found.day), str(found.year), str(found.year // 100), str(found.year % 100)}
    if (clock := words.hour(value)) is not None:
        out |= {str(clock.hour), str(clock.hour % 12 or 12), str(clock.minute)}
    return out


def _ways(value: Value) -> list[Value]:
    """Return a value as it may be said: as it is, and written together as words."""
    if not isinstance(value, str) or len(value) > 200:
        return [value]
    apart = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", value)
    return [value, apart] if apart != value else [value]


def _held(slot: Sequence[str], value: Value) -> bool:
    """Tell whether a value is read back; the day alone may stand for a date."""
    found = words.day(value)
    if found is not None and list(slot) == [str(found.day)]:
        return True
    return any(words.holds(slot, way) for way in _ways(value))


def _near(slot: Sequence[str], value: Value) -> float:
    """Return how far a slot passes for a value, in [0, 1]; a number word may be misspelt."""
    digits = words.told(value)
    numeric = digits.replace(".", "", 1).isdecimal()
    best = 0.0 if numeric and not any(w.isdecimal() for w in slot) else words.likeness(slot, value)
    if len(slot) == 1 and readout.known(slot[0]) and _letters(slot, digits) < LIKE:
        best = 0.0
    if digits.isdecimal() and len(digits) < 10 and not any(word.isdecimal() for word in slot):
        name = re.sub(r"\W", "", numerals.cardinal(digits))
        like = SequenceMatcher(None, "".join(slot)[:80], name, autojunk=False).ratio()
        best = max(best, like if like >= MISSPELT else 0.0)
    return best
