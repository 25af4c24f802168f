"""The rule-based judge: does a message only check what was heard, and what may be answered?

A question passes if every word of it is explained: by the words with which people check what they
heard, by a topic of the whitelist, by a value or what can be mis-heard for it, or by the user's own
request. What is left unexplained asks for something else. The rules are those of MFCL (section A6
of our specification of it); `docs/clarification.md` lists them. English only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from toolmark.suites.mfcl import words
from toolmark.suites.mfcl.lexicon import ALIKE, ASKING, COMMON, GENERIC, PLACES, SYMBOLS
from toolmark.suites.mfcl.whitelist import Value, Whitelist
from toolmark.suites.mfcl.words import MONTHS
from toolmark.types import Ruling

NAME = "rules"
LONGEST = 2000  # characters of a message that can be a question of this kind
SURE = 0.95  # likeness from which a value is read back rightly
BESIDE = frozenset({"date", "time", "address", "email", "city", "station", *MONTHS} - {"may"})
SLOT = 7  # words of a value read back

# chat: nothing is asked; preference: a wish or the next step is; absent: something that is not on
# the list; ambiguous: it cannot be told which topic
Reason: TypeAlias = Literal["chat", "preference", "absent", "ambiguous", "too long"]

_PAUSE = re.compile(r"(?<=[?!;\n])\s*|(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bmrs)(?<!\bst)(?<=\.)\s+")
_BARE = re.compile(r"\W*(?:is|was)? ?(?:that|it|this)? ?(?:right|correct)\W*\Z")
_STRONG = re.compile(r"\b(spell\w*|spelt|repeat|confirm|verify|clarify|tell me|give me|read)\b")
_START = re.compile(
    r"\W*(?:(?:please|kindly|so|and|also|then|but|just|sorry) )*(?:spell|repeat|confirm|verify|"
    r"clarify|tell me|give me|read|let me|i need|i want|i would like|i'd like|i (?:just )?have)"
)
_CUE = re.compile(
    r"\b(spell\w*|spelt|repeat|say|said|mean|meant|confirm|verify|clarify|was|is|are|were|what|"
    r"what's|which|how many|how much|hear|heard|right|correct|or|that's|again|number|name|give me|"
    r"tell me|read|when|where)\b"
)
_SAID = re.compile(
    r"\b(did you (?:just )?(?:say|mean)) (?:that )?you (?:want(?:ed)?|would like|need)"
)
_PREFERENCE = re.compile(
    r"\bwould you (?:like|prefer|rather|want)\b|\bwould .{1,40}\bsuit\b|\bprefer\w*\b|"
    r"\bfeel like\b|\b(?:do|does) (?:you|it|they|he|she) (?:also )?"
    r"(?:want|need|like|have|wish|care)\b|"
    r"\b(?:should|shall) (?:i|we|it|they|he|she)\b|\bwant me to\b|\blike me to\b|\byou like\b|"
    r"\banything else\b|"
    r"\bare you (?!saying|referring|talking)\w+|\bready to\b|\b(?:is|if) (?:that|this|it|that's) "
    r"(?:ok|okay|fine|all right|alright)\b|\bcan i (?:also |just )?(?:help|do|book|go|proceed)\b|"
    r"\bmay i (?:go|book|proceed)\b|\bi (?:can|could|will) (?!not|need|have|hear|only)|"
    r"\b(?:ok|okay)\W*\Z"
)
_HEARD = re.compile(
    r"\b(?:(?:did|do) you (?:just )?(?:say|mean|want|ask for)|you (?:just )?(?:said|mean|meant)|"
    r"i (?:just )?(?:heard|understood|have|got)|(?:is|was) (?:it|that|this|he|she)|that's|that is|"
    r"that was|it's|called|"
    r"spell(?! (?:out|that|the|it|this|these|those|your|his|her|its|their|a|for|every\w*|all)\b)|"
    r"let me confirm\W|was the \w+|is the [\w' ]{1,30}?\b)\s+(?P<slot>.+)"
)
_TAIL = re.compile(r",? *(?:,|is|was) *(?:that|this|it)? *(?:right|correct|yes)\W*\Z")
_BOTH = re.compile(r"\b(?:both|each|two)\b")
_BACK = re.compile(r"\b(?:it|that|this|them|those|these)\b")
_POINTING = re.compile(r"\bspell\w* (?:that|it|this)\b|\b(?:that|it) (?:is |was )?spel\w+")
_LETTERS = re.compile(
    r"\bspel\w+|\bletter\w*\b|\bcharacters?\b|\bdigits?\b(?! number)|\bone at a time\b"
)


def rule(message: str, whitelist: Whitelist, request: str) -> Ruling:
    """Rule on a message without calls.

    `whitelist` is what may be told, `request` what the user wants: it only explains words of the
    question, and nothing of it is ever told. The reply holds the values asked for and no other
    word: canonical spelling, then letter by letter where the spelling was asked for.
    """
    if len(message) > LONGEST:
        return Ruling(allowed=False, reason="too long", judge=NAME)
    listener = Listener(whitelist, request)
    said = [_sort(sentence) for sentence in sentences(message)]
    asked: dict[str, bool] = {}
    for at, (kind, sentence) in enumerate(said):
        if kind != "check":
            continue
        found = listener.topics(sentence)
        if isinstance(found, str) and at and said[at - 1][0] == "remark" and _BACK.search(sentence):
            found = listener.topics(f"{said[at - 1][1]} {sentence}")
        if isinstance(found, str):
            return Ruling(allowed=False, reason=found, judge=NAME)
        spelt = _LETTERS.search(sentence) is not None
        asked |= {topic: asked.get(topic, False) or spelt for topic in found}
    if not asked:
        other = any(kind == "preference" for kind, _ in said)
        return Ruling(allowed=False, reason="preference" if other else "chat", judge=NAME)
    topics = tuple(topic for topic in whitelist if topic in asked)
    return Ruling(allowed=True, reply=reply(whitelist, asked), topics=topics, judge=NAME)


def reply(whitelist: Whitelist, asked: Mapping[str, bool]) -> str:
    """Return the values of the topics asked for, in the order of the list; True: also spelled."""
    return "; ".join(
        told(value, spelt=asked[topic]) for topic, value in whitelist.items() if topic in asked
    )


def told(value: Value, *, spelt: bool) -> str:
    """Return a value as the user tells it: `Liam, L-I-A-M` where its spelling is wanted."""
    shown = words.told(value)
    if not spelt:
        return shown
    return shown + ", " + " ".join("-".join(word.upper()) for word in shown.split())


def sentences(message: str) -> list[str]:
    """Return the sentences, plain; `Is that right?` belongs to what stands before it."""
    out: list[str] = []
    text = re.sub(r"\b([ap])\.m\.?", r"\1m", words.plain(message)).replace("\u2026", "...")
    for piece in _PAUSE.split(text):
        if out and _BARE.match(piece):
            out[-1] = f"{out[-1].rstrip('. ')}, {piece}"
        elif piece.strip(" .!?-\n"):
            out.append(piece.strip())
    return out


def _sort(sentence: str) -> tuple[Literal["check", "preference", "remark"], str]:
    """Tell whether a sentence checks what was heard, asks for something else, or asks nothing."""
    sentence = _SAID.sub(r"\1", re.sub(r"\byou (?:want(?:ed)?|need(?:ed)?) to\b", "you0", sentence))
    sentence = sentence.replace("did you say you0", "did you say").replace("you0", "you want to")
    sentence = sentence.replace("did you want ", "did you say ")
    if _PREFERENCE.search(sentence):
        return "preference", sentence
    asks = sentence.endswith("?")
    if asks and _CUE.search(sentence):
        return "check", sentence
    if _START.match(_main(sentence)) and _STRONG.search(sentence):
        return "check", sentence
    return ("preference" if asks else "remark"), sentence


def _main(sentence: str) -> str:
    """Return a sentence without the clauses in front that ask for nothing."""
    while found := re.match(r"[^,:]{1,80}(?:, | - |: )(?=.*\w)", sentence):
        front = found.group()
        if _STRONG.search(front) and not re.match(r"\W*(?:let me|just|to) ", front):
            break
        rest = sentence[found.end() :]
        if not (_CUE.search(rest) and set(words.tokens(rest)) - ASKING):
            break
        if _HEARD.search(front) and not front.startswith("i "):
            break
        sentence = rest
    return sentence


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic of the whitelist: the words it goes by, and its kinds."""

    name: str
    value: Value
    words: frozenset[str]
    kinds: frozenset[str]
    nouns: frozenset[str]


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
    nouns |= set(every) - {*parts, "1"}  # the second; a 1 may be of `one more time`
    return _Topic(
        name, value, frozenset(own - {"a", "s"}), frozenset(_kinds({*parts}, value)), nouns
    )


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
    if any(letter.isdigit() for letter in value) and not kinds - {"place"}:
        kinds.add("address" if " " in value.strip() else "id")
    if not kinds - {"place"}:
        kinds.add("name" if value[:1].isupper() or parts & {"name", "title"} else "text")
    return kinds


class Listener:
    """The user's ear: which topics of the whitelist a question asks for."""

    def __init__(self, whitelist: Mapping[str, Value], request: str) -> None:
        self._all = [_topic(name, value) for name, value in whitelist.items()]
        self._request = frozenset(words.tokens(request[:20_000]))

    def topics(self, sentence: str) -> list[str] | Reason:
        """Return the topics that a question asks for, or why it is refused."""
        slots = _slots(sentence)
        main = _main(sentence)
        said = words.tokens(main.replace("at a time", ""))
        named = self._named(said, sentence)
        if isinstance(named, str):
            named = self._heard(said, slots, among=named.split("|")[1:])
            if not named:
                return "ambiguous"
        read = self._heard(said, slots, among=[]) if not named else self._exact(slots)
        chosen = [topic for topic in self._all if topic in named or topic in read]
        if not chosen:
            return self._generic(said, sentence)
        more = self._uncovered(said, chosen)
        if isinstance(more, str):
            return more
        chosen += [topic for topic in more if topic not in chosen]
        return [t.name for t in chosen] if self._explained(said, chosen, slots) else "absent"

    def _named(self, said: Sequence[str], sentence: str) -> list[_Topic] | str:
        """Return the topics named; `ambiguous|...` where one word names several."""
        pairs = {*said, *(a + b for a, b in pairwise(said))}
        hits = {topic.name: topic.words & pairs for topic in self._all}
        named = [
            topic
            for topic in self._all
            if hits[topic.name]
            and not any(hits[topic.name] < other for other in hits.values())
            and not _modifies(hits[topic.name], said, hits.values())
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
            if any(words.holds(slot, topic.value) for slot in slots)
            or (slots and {"date", "time"} & topic.kinds and words.holds(said, topic.value))
        ]
        if not exact:
            read = {word for slot in slots for word in slot if word.isdecimal()}
            exact = [
                topic
                for topic in pool
                if "address" in topic.kinds and read & set(words.tokens(str(topic.value)[:200]))
            ]
        if exact:
            return exact
        scores = {
            topic.name: max((words.likeness(slot, topic.value) for slot in slots), default=0.0)
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

    def _exact(self, slots: list[list[str]]) -> list[_Topic]:
        """Return the topics of words, not numbers, that are read back beside those named."""
        return [
            topic
            for topic in self._all
            if isinstance(topic.value, str)
            and any(words.likeness(slot, topic.value) > SURE for slot in slots)
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
        if len(found) == 2 and _BOTH.search(sentence) and not self._rest(said, found):
            return [topic.name for topic in found]
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
        self, said: Sequence[str], chosen: Sequence[_Topic], slots: list[list[str]]
    ) -> bool:
        """Tell whether nothing is said but what checks these topics."""
        read = {word for slot in slots if len(slot) <= SLOT for word in slot}
        near = any(
            words.holds(slot, topic.value)
            or words.likeness(slot, topic.value) >= words.NEAR
            or (_by_name(said, topic) and len(set(slot) - topic.words - GENERIC["name"]) < 4)
            for slot in slots
            for topic in chosen
        )
        numbers = {word for word in said if word.replace(".", "").isdecimal()}
        rest = self._rest(said, chosen) - numbers
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


def _modifies(hit: Set[str], said: Sequence[str], hits: Iterable[Set[str]]) -> bool:
    """Tell whether a topic is named only in front of another: `the account holder`."""
    others = frozenset[str]().union(*(other for other in hits if other != hit)) - hit
    after = [b for a, b in pairwise(said) if a in hit]
    return len(after) == sum(word in hit for word in said) > 0 and all(b in others for b in after)


def _slots(sentence: str) -> list[list[str]]:
    """Return the values that a question reads back, as words: `Austin or Boston` has two."""
    body = _TAIL.sub("", sentence.rstrip("?!. "))
    found = _HEARD.search(body)
    if found is None and body == sentence.rstrip("?!. ") and " or " not in sentence:
        return []
    text = found["slot"] if found else body
    pieces = re.split(r"\bor\b|, (?:for|with|and|the)\b|,|:", text)
    out = []
    for piece in pieces[:8]:
        inner = [word for word in words.tokens(piece) if word not in SYMBOLS][:40]
        while inner and inner[0] in ASKING and not inner[0].isdecimal():
            inner = inner[1:]
        while inner and inner[-1] in ASKING and not inner[-1].isdecimal():
            inner = inner[:-1]
        for cut in ("for", "in", "on", "at", "of"):
            if cut in inner[1:]:
                out.append(inner[: inner.index(cut, 1)])
        if inner:
            out.append(inner)
    return out
