"""The topics of the whitelist: the words that name each, and the kinds of its value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from toolmark.language import word_likeness
from toolmark.suites.mfcl_speech.clarification_lexicon import lexicon, nouns_of
from toolmark.suites.mfcl_speech.speech_task_data import WhitelistValue


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the whitelist: the words that name it, and its kinds."""

    name: str
    value: WhitelistValue
    words: frozenset[str]
    kinds: frozenset[str]
    nouns: frozenset[str]
    person: bool


def make_topic(name: str, value: WhitelistValue) -> Topic:
    """Return a topic of the whitelist."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", name.split(".")[-1])
    all_parts = word_likeness.split_tokens(split.replace("_", " "))
    parts = [part for part in all_parts if not part.isdecimal()]
    own_words = {part for part in parts if part not in lexicon().common_name_parts} | {
        "".join(parts),
        "".join(all_parts),
    }
    own_words |= {"to"} & set(parts) if len(parts) == 1 else set()
    for group in lexicon().synonym_groups:
        own_words |= group if group & ({*parts} - {"id", "name", "number", "in", "out"}) else set()
    if "id" in parts or "number" in parts:
        own_words |= {"id"} if len(parts) == 1 else set()
    own_words |= {f"{word}s" for word in own_words if len(word) > 2}
    own_words |= {f"{word[:-1]}ies" for word in own_words if word.endswith("y")}
    own_words |= {word[:-1] for word in own_words if word.endswith("s") and len(word) > 4}
    nouns = nouns_of("id") if "id" in parts else frozenset(parts) & lexicon().common_name_parts
    own_words |= {"who", "whom", "whose"} if set(parts) & lexicon().person_topics else set()
    nouns |= set(all_parts) - {*parts, "1"}  # the second; a 1 may be of `one more time`
    kinds = frozenset(_value_kinds({*parts}, value))
    is_person = bool(set(parts) & lexicon().person_topics) or parts == ["name"]
    return Topic(name, value, frozenset(own_words - {"a", "s"}), kinds, nouns, is_person)


def _value_kinds(parts: set[str], value: WhitelistValue) -> set[str]:
    if not isinstance(value, str):
        return {"number", *({"id"} if "id" in parts else ())}
    kinds = {"place"} if parts & lexicon().place_topics else set()
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


def distinctive_words(value: WhitelistValue) -> set[str]:
    """Return the words of a value that identify it by themselves: a surname, a street."""
    if not isinstance(value, str):
        return set()
    return {
        word for word in word_likeness.split_tokens(value[:200]) if len(word) > 3
    } - lexicon().checking_words


def is_named_with_noun(spoken_words: Sequence[str], topic: Topic) -> bool:
    """Return whether a topic is named with a noun of its kind: `the customer's name`."""
    nouns = {noun for kind in topic.kinds for noun in nouns_of(kind)}
    return any(a in topic.words and b in nouns for a, b in pairwise(spoken_words))


def is_modifier(topic: Topic, hits: Mapping[str, Set[str]], spoken_words: Sequence[str]) -> bool:
    """Return whether a topic is named only together with another: `the account holder`.

    Another example is `customer name`. The first topic is named in front of the other; the noun
    that names the second is that of its own kind.
    """
    hit = hits[topic.name]
    others = frozenset[str]().union(*(other for other in hits.values() if other != hit)) - hit
    after = [b for a, b in pairwise(spoken_words) if a in hit]
    if len(after) == sum(word in hit for word in spoken_words) > 0 and all(
        b in others for b in after
    ):
        return not (topic.kinds & {"name", "id"} and set(after) <= _kind_nouns(topic))
    if not hit <= _kind_nouns(topic) or not others:
        return False
    before = [a for a, b in pairwise(spoken_words) if b in hit]
    return len(before) == sum(word in hit for word in spoken_words) > 0 and all(
        a in others for a in before
    )


def _kind_nouns(topic: Topic) -> set[str]:
    """Return the general nouns of a topic's kinds."""
    return {noun for kind in topic.kinds for noun in nouns_of(kind)}
