"""Which topics of the whitelist a question asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from itertools import pairwise
from typing import Literal, TypeAlias

from toolmark.language import word_likeness
from toolmark.language.value_words import MONTH_NAMES
from toolmark.suites.mfcl_speech.clarification_lexicon import (
    lexicon,
    never_misheard_words,
    nouns_of,
)
from toolmark.suites.mfcl_speech.clarification_phrases import main_clause, read_back_slots
from toolmark.suites.mfcl_speech.clarification_topics import (
    Topic,
    distinctive_words,
    is_modifier,
    is_named_with_noun,
    make_topic,
)
from toolmark.suites.mfcl_speech.speech_task_data import WhitelistValue
from toolmark.suites.mfcl_speech.value_read_back import (
    MIN_SHARED_LETTERS,
    clock_numbers,
    reads_back,
    shared_letters,
    slot_likeness,
)

MAX_PLURAL_TOPICS = 3  # most topics that a plural asks for at once
EXACT_LIKENESS = 0.95  # likeness from which a value counts as read back correctly
SEPARATE_NOUNS = frozenset(
    {"date", "time", "address", "email", "city", "station", *MONTH_NAMES} - {"may"}
)
MAX_SLOT_WORDS = 7  # longest value read back, in words

# chat: nothing is asked; preference: a wish or the next step is asked for; absent: something that
# is not on the list; ambiguous: the topic is unclear
RefusalReason: TypeAlias = Literal["chat", "preference", "absent", "ambiguous", "too long"]

_BOTH_PATTERN = re.compile(r"\b(?:both|each|two)\b")
_ALL_THREE_PATTERN = re.compile(r"\ball (?:the )?(?:three|3)\b")
_PLURAL_PATTERN = re.compile(
    r"\b(?:what|which|the|your) (?:\w+ )?(?:names|numbers|dates|times|measurements|"
    r"values|figures|dimensions|ids|codes|addresses|cities|places)\b"
)
_SINGLE_PATTERN = re.compile(r"\b(?:which|one) of\b|\bdigits?\b")
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


class TopicMatcher:
    """Finds the topics of the whitelist that a question asks for."""

    def __init__(self, whitelist: Mapping[str, WhitelistValue], request: str) -> None:
        self._topics = [make_topic(name, value) for name, value in whitelist.items()]
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
                if not matched_words[topic.name] <= lexicon().request_subjects
                or topic in read_topics
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

    def _named_topics(self, spoken_words: Sequence[str], sentence: str) -> list[Topic] | str:
        """Return the topics named; `ambiguous|...` where one word names several."""
        pairs = {*spoken_words, *(a + b for a, b in pairwise(spoken_words))}
        hits = {topic.name: topic.words & pairs for topic in self._topics}
        named = [
            topic
            for topic in self._topics
            if hits[topic.name]
            and not any(hits[topic.name] < other for other in hits.values())
            and not is_modifier(topic, hits, spoken_words)
        ]
        if _BOTH_PATTERN.search(sentence):
            return named
        for topic in named:
            rivals = [other.name for other in named if hits[other.name] == hits[topic.name]]
            plural = any(word.endswith("s") and len(word) > 3 for word in hits[topic.name])
            if len(rivals) > 1 and not (plural and "and" in spoken_words):
                ties = [topic for topic in named if topic.name in rivals]
                most = max(len(t.nouns & set(spoken_words)) for t in ties)
                most_specific = [t for t in ties if len(t.nouns & set(spoken_words)) == most]
                if len(most_specific) == len(ties):
                    return "|".join(["ambiguous", *rivals])
                named = [t for t in named if t.name not in rivals or t in most_specific]
        return named

    def _heard_topics(
        self, spoken_words: Sequence[str], slots: list[list[str]], *, among: Sequence[str]
    ) -> list[Topic]:
        """Return the topics whose values are read back: correctly, else the one misheard.

        `among`: the names that are still in question; empty for all.
        """
        candidates = [topic for topic in self._topics if not among or topic.name in among]
        exact = [
            topic
            for topic in candidates
            if any(reads_back(slot, topic.value) for slot in slots)
            or (slots and {"date", "time"} & topic.kinds and reads_back(spoken_words, topic.value))
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
        slots = [slot for slot in slots if set(slot) - never_misheard_words()]
        scores = {
            topic.name: max((slot_likeness(slot, topic.value) for slot in slots), default=0.0)
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
            topic for topic in candidates if distinctive_words(topic.value) & set(spoken_words)
        ]
        return partly_said if len(partly_said) == 1 else []

    def _only_reads_back(
        self, spoken_words: Sequence[str], read_topics: Sequence[Topic], slots: list[list[str]]
    ) -> bool:
        """Return whether a fragment has only a value that it reads back correctly."""
        if not read_topics:
            return True
        if "your" in spoken_words:
            return False
        heard = [
            slot
            for slot in slots
            if any(slot_likeness(slot, t.value) >= word_likeness.MIN_LIKENESS for t in read_topics)
        ]
        if heard and all(
            shared_letters(s, word_likeness.spoken_value(t.value)) < MIN_SHARED_LETTERS
            for s in heard
            for t in read_topics
        ):
            return False
        exact = [
            topic for topic in read_topics if any(reads_back(slot, topic.value) for slot in slots)
        ]
        return (
            "or" in spoken_words
            or not exact
            or not self._unexplained_words(spoken_words, exact)
            - {w for w in spoken_words if w.isdecimal()}
        )

    def _drop_accidental_numbers(self, exact: list[Topic], slots: list[list[str]]) -> list[Topic]:
        """Return the topics read back without those whose number belongs to another thing.

        The day of a date is not an amount, and `13 seconds` is not the 13 of something else.
        """
        numbers = [topic for topic in exact if "number" in topic.kinds]
        others = [topic for topic in exact if topic not in numbers]
        if any({"date", "time"} & topic.kinds for topic in others):
            unused = {word for slot in slots for word in slot if word.isdecimal()}
            for topic in others:
                unused -= clock_numbers(topic.value)
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

    def _exact_topics(self, slots: list[list[str]]) -> list[Topic]:
        """Return the topics of words, not numbers, that are read back besides those named."""
        return [
            topic
            for topic in self._topics
            if isinstance(topic.value, str)
            and any(slot_likeness(slot, topic.value) > EXACT_LIKENESS for slot in slots)
        ]

    def _generic_topics(
        self, spoken_words: Sequence[str], sentence: str
    ) -> list[str] | RefusalReason:
        """Return the one topic of the kind that a general noun, or `spell that`, refers to."""
        noun_kinds = [_kinds_of_noun(noun) for noun in spoken_words]
        kinds = set[str]().union(
            *([kinds for kinds in noun_kinds if len(kinds) == 1] or noun_kinds)
        )
        if not kinds and _SPELL_THAT_PATTERN.search(sentence):
            kinds = {"name", "id", "email", "address", "text"}
        if not kinds:
            return "absent" if self._unexplained_words(spoken_words, []) else "ambiguous"
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
            ) or self._unexplained_words(spoken_words, found)
            return "absent" if is_excessive else [topic.name for topic in found]
        if len(found) > 1:
            return "ambiguous"
        if (
            not found
            or self._unexplained_words(spoken_words, found)
            or self._noun_means_another(spoken_words, found[0])
        ):
            return "absent"
        return [found[0].name]

    def _noun_means_another(self, spoken_words: Sequence[str], topic: Topic) -> bool:
        """Return whether a general noun belongs to another thing in the request: `its name`."""
        own_words = topic.words | set(word_likeness.split_tokens(str(topic.value)[:1000]))
        nouns = {noun for kind in topic.kinds for noun in nouns_of(kind)}
        return bool(
            (set(spoken_words) & self._request) - lexicon().checking_words - own_words - nouns
        )

    def _additional_topics(
        self, spoken_words: Sequence[str], chosen: Sequence[Topic]
    ) -> list[Topic] | RefusalReason:
        """Return the topics that general nouns refer to in addition to those chosen."""
        own_words = {word for topic in chosen for word in topic.words}
        kinds = {kind for topic in chosen for kind in topic.kinds}
        added: list[Topic] = []
        for noun in spoken_words:
            if noun in own_words or not (
                noun in SEPARATE_NOUNS or _is_listed_separately(noun, spoken_words, own_words)
            ):
                continue
            if noun in MONTH_NAMES and not any(word.isdecimal() for word in spoken_words):
                continue
            noun_kinds = _kinds_of_noun(noun)
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
        spoken_words: Sequence[str],
        chosen: Sequence[Topic],
        slots: list[list[str]],
        sentence: str,
    ) -> bool:
        """Return whether the question contains only what checks these topics."""
        slot_words = {word for slot in slots if len(slot) <= MAX_SLOT_WORDS for word in slot}
        near = any(
            reads_back(slot, topic.value)
            or slot_likeness(slot, topic.value) >= word_likeness.MIN_LIKENESS
            or (
                is_named_with_noun(spoken_words, topic)
                and len(set(slot) - topic.words - nouns_of("name")) < 4
            )
            for slot in slots
            for topic in chosen
        )
        numbers = {word for word in spoken_words if word.replace(".", "").isdecimal()}
        unexplained = (
            self._unexplained_words(spoken_words, chosen) - numbers - _matter_words(spoken_words)
        )
        unexplained -= {word for found in _ACTIVITY_PATTERN.findall(sentence) for word in found}
        return not unexplained or (near and unexplained <= slot_words)

    def _unexplained_words(self, spoken_words: Sequence[str], chosen: Sequence[Topic]) -> set[str]:
        """Return the words that neither checking, these topics nor the request explain."""
        known = lexicon().checking_words | self._request
        for topic in chosen:
            known |= topic.words | set(word_likeness.split_tokens(str(topic.value)[:1000]))
            for kind in topic.kinds:
                known |= nouns_of(kind)
            known |= nouns_of("place") if "name" in topic.kinds else set()
            known |= nouns_of("name") if isinstance(topic.value, str) else nouns_of("number")
        for a, b in pairwise(spoken_words):
            known |= {a, b} if a + b in known else set()
        return set(spoken_words) - known


def _matter_words(spoken_words: Sequence[str]) -> set[str]:
    """Return the words that only name the subject: `of the reservation`, `the money`."""
    out = set()
    for index, word in enumerate(spoken_words):
        after = spoken_words[index + 1] if index + 1 < len(spoken_words) else ""
        is_introduced = index and spoken_words[index - 1] in ("the", "your", "this", "that", "a")
        if (
            word in lexicon().request_subjects
            and is_introduced
            and (not after or after in lexicon().checking_words)
            and after not in ("s", "number")
        ):
            out.add(word)
    return out


def _is_listed_separately(noun: str, spoken_words: Sequence[str], own_words: Set[str]) -> bool:
    """Return whether a general noun is listed with the topics named: `the name and the city`."""
    content = [
        word for word in spoken_words if word not in ("the", "your", "exact", "full", "last", "s")
    ]
    if noun not in ("name", "number", "code"):
        return False
    for before, word, after in zip(["", *content], content, [*content[1:], ""], strict=False):
        if word == noun and "and" in (before, after) and before not in own_words and after != "of":
            return True
    return False


def _kinds_of_noun(noun: str) -> set[str]:
    return {kind for kind, nouns in lexicon().nouns_of_kind.items() if noun in nouns}
