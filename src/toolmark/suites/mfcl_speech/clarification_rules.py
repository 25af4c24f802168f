"""The rule-based judge: does a message only check what was heard, and what may be answered?

A question passes if every word of it is explained: by the words with which people check what they
heard, by a topic of the whitelist, by a value or a possible mishearing of it, or by the user's own
request. An unexplained word asks for something else. The rules are those of MFCL (section A6 of our
specification of it); `docs/suites/clarification.md` lists them. English only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, TypeAlias

from toolmark.core.records import Ruling
from toolmark.language import number_words, spoken_forms, word_likeness
from toolmark.language.word_likeness import MONTHS
from toolmark.suites.mfcl_speech import user_answers
from toolmark.suites.mfcl_speech.answer_whitelist import Whitelist, WhitelistValue
from toolmark.suites.mfcl_speech.clarification_lexicon import (
    CHECKING_WORDS,
    COMMON_NAME_PARTS,
    NOUNS_OF_KIND,
    PERSON_TOPICS,
    PLACE_TOPICS,
    REQUEST_SUBJECTS,
    SYNONYM_GROUPS,
)
from toolmark.suites.mfcl_speech.clarification_phrases import (
    classify_sentence,
    main_clause,
    read_back_slots,
    split_sentences,
)

JUDGE_NAME = "rules"
MAX_MESSAGE_CHARS = 2000  # longest message, in characters, that can be such a question
MAX_PLURAL_TOPICS = 3  # most topics that a plural asks for at once
EXACT_LIKENESS = 0.95  # likeness from which a value counts as read back correctly
SEPARATE_NOUNS = frozenset(
    {"date", "time", "address", "email", "city", "station", *MONTHS} - {"may"}
)
MIN_SHARED_LETTERS = 0.41  # with fewer letters in common, a dictionary word is no mishearing
MIN_NUMBER_LIKENESS = 0.8  # likeness from which letters count as a number word
MAX_SLOT_WORDS = 7  # longest value read back, in words

# chat: nothing is asked; preference: a wish or the next step is asked for; absent: something that
# is not on the list; ambiguous: the topic is unclear
RefusalReason: TypeAlias = Literal["chat", "preference", "absent", "ambiguous", "too long"]

_ANTECEDENT_KINDS = ("remark", "trouble")
_BOTH_PATTERN = re.compile(r"\b(?:both|each|two)\b")
_ALL_THREE_PATTERN = re.compile(r"\ball (?:the )?(?:three|3)\b")
_PLURAL_PATTERN = re.compile(
    r"\b(?:what|which|the|your) (?:\w+ )?(?:names|numbers|dates|times|measurements|"
    r"values|figures|dimensions|ids|codes|addresses|cities|places)\b"
)
_SINGLE_PATTERN = re.compile(r"\b(?:which|one) of\b|\bdigits?\b")
_BACK_REFERENCE = re.compile(
    r"\b(?:it|that|this|them|those|these)\b|\bthe (?:(?:proper|correct|exact|right|full) )?"
    r"(?:spelling|name|word|number|value)\b"
)
_FILLER_PHRASES = re.compile(
    r"\bat a time\b|\bone (?:more|last) time\b|\b(?:to|for) (?:me|us|you)\b|"
    r"\b(?:do me|as) a favou?r\b"
)
_TYPE_OF_PATTERN = re.compile(r"\b(?:types? of|types?\W*\Z)")
_PERSON_NAME_PATTERN = re.compile(r"\b(?:surname|(?:first|last|family|given) ?name)s?\b")
_ACTIVITY_PATTERN = re.compile(r"\byou(?:'re| are| were)(?: \w+ly)? (\w+ing)\b|\bbe (\w+ing)\b")
_SPELL_THAT_PATTERN = re.compile(
    r"\bspell\w* (?:that|it|this)\b|\b(?:that|it) (?:is |was )?spel\w+"
)
_SPELLING_REQUEST = re.compile(
    r"\bspel\w+|\bwritten\b|\bletter\w*\b|\bcharacters?\b|\bdigits?\b(?! number)|\bone at a time\b"
)

# words that are never a misheard value
_NEVER_MISHEARD = (
    CHECKING_WORDS
    | REQUEST_SUBJECTS
    | frozenset[str]().union(*NOUNS_OF_KIND.values()) - frozenset(MONTHS)
)


def rule_on_message(message: str, whitelist: Whitelist, request: str) -> Ruling:
    """Return the ruling on a message without calls.

    `whitelist` is what may be revealed, `request` what the user wants: it only explains words of
    the question, and nothing of it is ever revealed. The reply contains the requested values and no
    other word: canonical spelling, then letter by letter where the spelling was asked for.
    """
    if len(message) > MAX_MESSAGE_CHARS:
        return Ruling(allowed=False, reason="too long", judge=JUDGE_NAME)
    listener = TopicMatcher(whitelist, request)
    sorted_sentences = [classify_sentence(sentence) for sentence in split_sentences(message)]
    spelled_by_topic: dict[str, bool] = {}
    has_preference = False
    for index, (kind, sentence) in enumerate(sorted_sentences):
        if kind in ("preference", "remark"):
            has_preference |= kind == "preference"
            continue
        found = listener.match_topics(sentence, is_fragment=kind == "fragment")
        if isinstance(found, str) and kind != "check":
            has_preference |= kind == "fragment"
            continue
        previous = sorted_sentences[index - 1] if index else ("check", "")
        if (
            isinstance(found, str)
            and previous[0] in _ANTECEDENT_KINDS
            and _BACK_REFERENCE.search(sentence)
        ):
            found = listener.match_topics(f"{previous[1]} {sentence}")
        if isinstance(found, str):
            return Ruling(allowed=False, reason=found, judge=JUDGE_NAME)
        is_spelled = _SPELLING_REQUEST.search(sentence) is not None
        spelled_by_topic |= {
            topic: spelled_by_topic.get(topic, False) or is_spelled for topic in found
        }
    if not spelled_by_topic:
        return Ruling(
            allowed=False, reason="preference" if has_preference else "chat", judge=JUDGE_NAME
        )
    topics = tuple(topic for topic in whitelist if topic in spelled_by_topic)
    return Ruling(
        allowed=True,
        reply=user_answers.format_reply(whitelist, spelled_by_topic),
        topics=topics,
        judge=JUDGE_NAME,
    )


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic of the whitelist: the words that name it, and its kinds."""

    name: str
    value: WhitelistValue
    words: frozenset[str]
    kinds: frozenset[str]
    nouns: frozenset[str]
    person: bool


def _make_topic(name: str, value: WhitelistValue) -> _Topic:
    split = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", name.split(".")[-1])
    all_parts = word_likeness.split_tokens(split.replace("_", " "))
    parts = [part for part in all_parts if not part.isdecimal()]
    own_words = {part for part in parts if part not in COMMON_NAME_PARTS} | {
        "".join(parts),
        "".join(all_parts),
    }
    own_words |= {"to"} & set(parts) if len(parts) == 1 else set()
    for group in SYNONYM_GROUPS:
        own_words |= group if group & ({*parts} - {"id", "name", "number", "in", "out"}) else set()
    if "id" in parts or "number" in parts:
        own_words |= {"id"} if len(parts) == 1 else set()
    own_words |= {f"{word}s" for word in own_words if len(word) > 2}
    own_words |= {f"{word[:-1]}ies" for word in own_words if word.endswith("y")}
    own_words |= {word[:-1] for word in own_words if word.endswith("s") and len(word) > 4}
    nouns = NOUNS_OF_KIND["id"] if "id" in parts else frozenset(parts) & COMMON_NAME_PARTS
    own_words |= {"who", "whom", "whose"} if set(parts) & PERSON_TOPICS else set()
    nouns |= set(all_parts) - {*parts, "1"}  # the second; a 1 may be of `one more time`
    kinds = frozenset(_value_kinds({*parts}, value))
    is_person = bool(set(parts) & PERSON_TOPICS) or parts == ["name"]
    return _Topic(name, value, frozenset(own_words - {"a", "s"}), kinds, nouns, is_person)


def _value_kinds(parts: set[str], value: WhitelistValue) -> set[str]:
    if not isinstance(value, str):
        return {"number", *({"id"} if "id" in parts else ())}
    kinds = {"place"} if parts & PLACE_TOPICS else set()
    if word_likeness.parse_date(value):
        kinds.add("date")
    if word_likeness.parse_time(value):
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


class TopicMatcher:
    """Finds the topics of the whitelist that a question asks for."""

    def __init__(self, whitelist: Mapping[str, WhitelistValue], request: str) -> None:
        self._topics = [_make_topic(name, value) for name, value in whitelist.items()]
        self._request_words = word_likeness.split_tokens(request[:20_000])
        self._request = frozenset(self._request_words)

    def match_topics(
        self, sentence: str, *, is_fragment: bool = False
    ) -> list[str] | RefusalReason:
        """Return the topics that a question asks for, or why it is refused."""
        read_back = read_back_slots(sentence, is_fragment=is_fragment)
        said_words = word_likeness.split_tokens(_FILLER_PHRASES.sub("", main_clause(sentence)))
        named = self._named_topics(said_words, sentence)
        if isinstance(named, str):
            named = self._heard_topics(said_words, read_back, among=named.split("|")[1:])
            if not named:
                return "ambiguous"
        read_topics = (
            self._exact_topics(read_back)
            if named
            else self._heard_topics(said_words, read_back, among=[])
        )
        if read_topics and named:  # `the flight to Oslo` is about Oslo
            matched_words = {topic.name: topic.words & set(said_words) for topic in named}
            named = [
                topic
                for topic in named
                if not matched_words[topic.name] <= REQUEST_SUBJECTS or topic in read_topics
            ]
        chosen = [topic for topic in self._topics if topic in named or topic in read_topics]
        if not chosen:
            return self._generic_topics(said_words, sentence)
        added = self._additional_topics(said_words, chosen)
        if isinstance(added, str):
            return added
        chosen += [topic for topic in added if topic not in chosen]
        if is_fragment and not self._only_reads_back(said_words, read_topics, read_back):
            return "absent"
        if _TYPE_OF_PATTERN.search(sentence) and not any(
            "type" in t.words | t.nouns for t in chosen
        ):
            return "absent"
        explained = self._is_explained(said_words, chosen, read_back, main_clause(sentence))
        return [topic.name for topic in chosen] if explained else "absent"

    def _named_topics(self, said_words: Sequence[str], sentence: str) -> list[_Topic] | str:
        """Return the topics named; `ambiguous|...` where one word names several."""
        pairs = {*said_words, *(a + b for a, b in pairwise(said_words))}
        hits = {topic.name: topic.words & pairs for topic in self._topics}
        named = [
            topic
            for topic in self._topics
            if hits[topic.name]
            and not any(hits[topic.name] < other for other in hits.values())
            and not _is_modifier(topic, hits, said_words)
        ]
        if _BOTH_PATTERN.search(sentence):
            return named
        for topic in named:
            rivals = [other.name for other in named if hits[other.name] == hits[topic.name]]
            plural = any(word.endswith("s") and len(word) > 3 for word in hits[topic.name])
            if len(rivals) > 1 and not (plural and "and" in said_words):
                ties = [topic for topic in named if topic.name in rivals]
                most = max(len(t.nouns & set(said_words)) for t in ties)
                most_specific = [t for t in ties if len(t.nouns & set(said_words)) == most]
                if len(most_specific) == len(ties):
                    return "|".join(["ambiguous", *rivals])
                named = [t for t in named if t.name not in rivals or t in most_specific]
        return named

    def _heard_topics(
        self, said_words: Sequence[str], slots: list[list[str]], *, among: Sequence[str]
    ) -> list[_Topic]:
        """Return the topics whose values are read back: correctly, else the one misheard.

        `among`: the names that are still in question; empty for all.
        """
        candidates = [topic for topic in self._topics if not among or topic.name in among]
        exact = [
            topic
            for topic in candidates
            if any(_reads_back(slot, topic.value) for slot in slots)
            or (slots and {"date", "time"} & topic.kinds and _reads_back(said_words, topic.value))
        ]
        if not exact:
            numbers = {word for slot in slots for word in slot if word.isdecimal()}
            exact = [
                topic
                for topic in candidates
                if "address" in topic.kinds
                and numbers & set(word_likeness.split_tokens(str(topic.value)[:200]))
            ]
        if exact:
            return self._drop_accidental_numbers(exact, slots)
        slots = [slot for slot in slots if set(slot) - _NEVER_MISHEARD]
        scores = {
            topic.name: max((_slot_likeness(slot, topic.value) for slot in slots), default=0.0)
            for topic in candidates
        }
        best = max(scores.values(), default=0.0)
        near = [
            topic
            for topic in candidates
            if scores[topic.name] == best >= word_likeness.MIN_LIKENESS
        ]
        if len(near) == 1:
            return near
        numeric = [topic for topic in candidates if "number" in topic.kinds]
        if slots and all(word.isdecimal() for slot in slots for word in slot):
            return numeric if len(numeric) == 1 else []
        partly_said = [
            topic for topic in candidates if _distinctive_words(topic.value) & set(said_words)
        ]
        return partly_said if len(partly_said) == 1 else []

    def _only_reads_back(
        self, said_words: Sequence[str], read_topics: Sequence[_Topic], slots: list[list[str]]
    ) -> bool:
        """Return whether a fragment has only a value that it reads back correctly."""
        if not read_topics:
            return True
        if "your" in said_words:
            return False
        heard = [
            slot
            for slot in slots
            if any(_slot_likeness(slot, t.value) >= word_likeness.MIN_LIKENESS for t in read_topics)
        ]
        if heard and all(
            _shared_letters(s, word_likeness.spoken_value(t.value)) < MIN_SHARED_LETTERS
            for s in heard
            for t in read_topics
        ):
            return False
        exact = [
            topic for topic in read_topics if any(_reads_back(slot, topic.value) for slot in slots)
        ]
        return (
            "or" in said_words
            or not exact
            or not self._unexplained_words(said_words, exact)
            - {w for w in said_words if w.isdecimal()}
        )

    def _drop_accidental_numbers(self, exact: list[_Topic], slots: list[list[str]]) -> list[_Topic]:
        """Return the topics read back without those whose number belongs to another thing.

        The day of a date is no amount, and `13 seconds` is not the 13 of something else.
        """
        numbers = [topic for topic in exact if "number" in topic.kinds]
        others = [topic for topic in exact if topic not in numbers]
        if any({"date", "time"} & topic.kinds for topic in others):
            unused = {word for slot in slots for word in slot if word.isdecimal()}
            for topic in others:
                unused -= _clock_numbers(topic.value)
            return [
                t for t in exact if t in others or word_likeness.spoken_value(t.value) in unused
            ]
        units = {pair for slot in slots for pair in pairwise(slot)} & set(
            pairwise(self._request_words)
        )
        meant = [
            topic
            for topic in numbers
            if any(a == word_likeness.spoken_value(topic.value) for a, _ in units)
        ]
        return [t for t in exact if t not in numbers or t in meant] if meant else exact

    def _exact_topics(self, slots: list[list[str]]) -> list[_Topic]:
        """Return the topics of words, not numbers, that are read back besides those named."""
        return [
            topic
            for topic in self._topics
            if isinstance(topic.value, str)
            and any(_slot_likeness(slot, topic.value) > EXACT_LIKENESS for slot in slots)
        ]

    def _generic_topics(
        self, said_words: Sequence[str], sentence: str
    ) -> list[str] | RefusalReason:
        """Return the one topic of the kind that a general noun, or `spell that`, refers to."""
        noun_kinds = [
            {kind for kind in NOUNS_OF_KIND if noun in NOUNS_OF_KIND[kind]} for noun in said_words
        ]
        kinds = set[str]().union(
            *([kinds for kinds in noun_kinds if len(kinds) == 1] or noun_kinds)
        )
        if not kinds and _SPELL_THAT_PATTERN.search(sentence):
            kinds = {"name", "id", "email", "address", "text"}
        if not kinds:
            return "absent" if self._unexplained_words(said_words, []) else "ambiguous"
        found = [topic for topic in self._topics if topic.kinds & kinds]
        if len(found) > 1 and _PERSON_NAME_PATTERN.search(sentence):
            found = [topic for topic in found if topic.person] or found
        several = (
            (len(found) == 3 and _ALL_THREE_PATTERN.search(sentence))
            or _BOTH_PATTERN.search(sentence)
            or (_PLURAL_PATTERN.search(sentence) and not _SINGLE_PATTERN.search(sentence))
        )
        if 1 < len(found) <= MAX_PLURAL_TOPICS and several:
            is_excessive = (
                len(found) != 2 and _BOTH_PATTERN.search(sentence)
            ) or self._unexplained_words(said_words, found)
            return "absent" if is_excessive else [topic.name for topic in found]
        if len(found) > 1:
            return "ambiguous"
        if (
            not found
            or self._unexplained_words(said_words, found)
            or self._noun_means_another(said_words, found[0])
        ):
            return "absent"
        return [found[0].name]

    def _noun_means_another(self, said_words: Sequence[str], topic: _Topic) -> bool:
        """Return whether a general noun belongs to another thing in the request: `its name`."""
        own_words = topic.words | set(word_likeness.split_tokens(str(topic.value)[:1000]))
        nouns = {noun for kind in topic.kinds for noun in NOUNS_OF_KIND.get(kind, ())}
        return bool((set(said_words) & self._request) - CHECKING_WORDS - own_words - nouns)

    def _additional_topics(
        self, said_words: Sequence[str], chosen: Sequence[_Topic]
    ) -> list[_Topic] | RefusalReason:
        """Return the topics that general nouns refer to in addition to those chosen."""
        own_words = {word for topic in chosen for word in topic.words}
        kinds = {kind for topic in chosen for kind in topic.kinds}
        added: list[_Topic] = []
        for noun in said_words:
            if noun in own_words or not (
                noun in SEPARATE_NOUNS or _is_listed_separately(noun, said_words, own_words)
            ):
                continue
            if noun in MONTHS and not any(word.isdecimal() for word in said_words):
                continue
            noun_kinds = {kind for kind, nouns in NOUNS_OF_KIND.items() if noun in nouns}
            if noun in SEPARATE_NOUNS and noun_kinds & kinds:
                continue
            found = [
                t
                for t in self._topics
                if noun_kinds & t.kinds and t not in chosen and t not in added
            ]
            if len(found) != 1:
                return "ambiguous" if found else "absent"
            added += found
            kinds |= found[0].kinds
        return added

    def _is_explained(
        self,
        said_words: Sequence[str],
        chosen: Sequence[_Topic],
        slots: list[list[str]],
        sentence: str,
    ) -> bool:
        """Return whether the question contains only what checks these topics."""
        slot_words = {word for slot in slots if len(slot) <= MAX_SLOT_WORDS for word in slot}
        near = any(
            _reads_back(slot, topic.value)
            or _slot_likeness(slot, topic.value) >= word_likeness.MIN_LIKENESS
            or (
                _is_named_with_noun(said_words, topic)
                and len(set(slot) - topic.words - NOUNS_OF_KIND["name"]) < 4
            )
            for slot in slots
            for topic in chosen
        )
        numbers = {word for word in said_words if word.replace(".", "").isdecimal()}
        unexplained = (
            self._unexplained_words(said_words, chosen) - numbers - _matter_words(said_words)
        )
        unexplained -= {word for found in _ACTIVITY_PATTERN.findall(sentence) for word in found}
        return not unexplained or (near and unexplained <= slot_words)

    def _unexplained_words(self, said_words: Sequence[str], chosen: Sequence[_Topic]) -> set[str]:
        """Return the words that neither checking, these topics nor the request explain."""
        known = CHECKING_WORDS | self._request
        for topic in chosen:
            known |= topic.words | set(word_likeness.split_tokens(str(topic.value)[:1000]))
            for kind in topic.kinds:
                known |= NOUNS_OF_KIND.get(kind, frozenset())
            known |= NOUNS_OF_KIND["place"] if "name" in topic.kinds else set()
            known |= (
                NOUNS_OF_KIND["name"] if isinstance(topic.value, str) else NOUNS_OF_KIND["number"]
            )
        for a, b in pairwise(said_words):
            known |= {a, b} if a + b in known else set()
        return set(said_words) - known


def _distinctive_words(value: WhitelistValue) -> set[str]:
    """Return the words of a value that identify it by themselves: a surname, a street."""
    if not isinstance(value, str):
        return set()
    return {
        word for word in word_likeness.split_tokens(value[:200]) if len(word) > 3
    } - CHECKING_WORDS


def _matter_words(said_words: Sequence[str]) -> set[str]:
    """Return the words that only name the subject: `of the reservation`, `the money`."""
    out = set()
    for index, word in enumerate(said_words):
        after = said_words[index + 1] if index + 1 < len(said_words) else ""
        is_introduced = index and said_words[index - 1] in ("the", "your", "this", "that", "a")
        if (
            word in REQUEST_SUBJECTS
            and is_introduced
            and (not after or after in CHECKING_WORDS)
            and after not in ("s", "number")
        ):
            out.add(word)
    return out


def _is_listed_separately(noun: str, said_words: Sequence[str], own_words: Set[str]) -> bool:
    """Return whether a general noun is listed with the topics named: `the name and the city`."""
    content = [
        word for word in said_words if word not in ("the", "your", "exact", "full", "last", "s")
    ]
    if noun not in ("name", "number", "code"):
        return False
    for before, word, after in zip(["", *content], content, [*content[1:], ""], strict=False):
        if word == noun and "and" in (before, after) and before not in own_words and after != "of":
            return True
    return False


def _is_named_with_noun(said_words: Sequence[str], topic: _Topic) -> bool:
    """Return whether a topic is named with a noun of its kind: `the customer's name`."""
    nouns = {noun for kind in topic.kinds for noun in NOUNS_OF_KIND.get(kind, ())}
    return any(a in topic.words and b in nouns for a, b in pairwise(said_words))


def _is_modifier(topic: _Topic, hits: Mapping[str, Set[str]], said_words: Sequence[str]) -> bool:
    """Return whether a topic is named only together with another: `the account holder`.

    Another example is `customer name`. The first topic is named in front of the other; the noun
    that names the second is that of its own kind.
    """
    hit = hits[topic.name]
    others = frozenset[str]().union(*(other for other in hits.values() if other != hit)) - hit
    after = [b for a, b in pairwise(said_words) if a in hit]
    if len(after) == sum(word in hit for word in said_words) > 0 and all(
        b in others for b in after
    ):
        return not (topic.kinds & {"name", "id"} and set(after) <= _kind_nouns(topic))
    if not hit <= _kind_nouns(topic) or not others:
        return False
    before = [a for a, b in pairwise(said_words) if b in hit]
    return len(before) == sum(word in hit for word in said_words) > 0 and all(
        a in others for a in before
    )


def _kind_nouns(topic: _Topic) -> set[str]:
    """Return the general nouns of a topic's kinds."""
    return {noun for kind in topic.kinds for noun in NOUNS_OF_KIND.get(kind, ())}


def _shared_letters(slot: Sequence[str], value: str) -> float:
    """Return the share of letters, 0 to 1, that words share with a value, or a word of it."""
    heard = "".join(slot)[:80]
    parts = word_likeness.split_tokens(value[:320])
    candidates = ["".join(parts), *(part for part in parts if len(part) > 3)]
    return max(
        SequenceMatcher(None, heard, part[:80], autojunk=False).ratio() for part in candidates
    )


def _clock_numbers(value: WhitelistValue) -> set[str]:
    """Return the numbers in a date or a time, as they are said."""
    out: set[str] = set()
    if (found := word_likeness.parse_date(value)) is not None:
        out |= {str(found.day), str(found.year), str(found.year // 100), str(found.year % 100)}
    if (clock := word_likeness.parse_time(value)) is not None:
        out |= {str(clock.hour), str(clock.hour % 12 or 12), str(clock.minute)}
    return out


def _spoken_variants(value: WhitelistValue) -> list[WhitelistValue]:
    """Return a value in its spoken variants: unchanged, and joined into words."""
    if not isinstance(value, str) or len(value) > 200:
        return [value]
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", value)
    return [value, spaced] if spaced != value else [value]


def _reads_back(slot: Sequence[str], value: WhitelistValue) -> bool:
    """Return whether a value is read back; the day alone may stand for a date."""
    found = word_likeness.parse_date(value)
    if found is not None and list(slot) == [str(found.day)]:
        return True
    return any(word_likeness.contains_value(slot, way) for way in _spoken_variants(value))


def _slot_likeness(slot: Sequence[str], value: WhitelistValue) -> float:
    """Return how similar a slot and a value are, in [0, 1]; a number word may be misspelt."""
    digits = word_likeness.spoken_value(value)
    numeric = digits.replace(".", "", 1).isdecimal()
    best = (
        0.0
        if numeric and not any(w.isdecimal() for w in slot)
        else word_likeness.value_likeness(slot, value)
    )
    if (
        len(slot) == 1
        and spoken_forms.is_dictionary_word(slot[0])
        and _shared_letters(slot, digits) < MIN_SHARED_LETTERS
    ):
        best = 0.0
    if digits.isdecimal() and len(digits) < 10 and not any(word.isdecimal() for word in slot):
        name = re.sub(r"\W", "", number_words.cardinal_words(digits))
        like = SequenceMatcher(None, "".join(slot)[:80], name, autojunk=False).ratio()
        best = max(best, like if like >= MIN_NUMBER_LIKENESS else 0.0)
    return best
