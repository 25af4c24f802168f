"""Words of sensitive categories in what users say and in tools: a check, not a verdict.

Words are counted whatever is meant by them: a male connector counts under gender. The table shows a
reader of a data card where a category is rare, or appears in one kind of text only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from toolmark.core.records import Table, Tool


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PERSON_WORDS = _word_set("man men people person woman women")
WORDS_BY_CATEGORY: Mapping[str, frozenset[str]] = {
    "gender": _word_set(
        "boy boys brother brothers daughter daughters father fathers female females feminine "
        "gender genders girl girls he her hers herself him himself his husband husbands lady "
        "ladies male males man masculine men mother mothers nonbinary she sister sisters son sons "
        "transgender wife wives woman women"
    ),
    "race": _word_set(
        "aboriginal african africans arab arabs asian asians caucasian caucasians ethnic "
        "ethnicities ethnicity hispanic hispanics indigenous latina latinas latino latinos race "
        "races racial roma tribal tribe tribes"
    )
    | {f"{colour} {word}" for colour in ("black", "brown", "white") for word in _PERSON_WORDS},
    "religion": _word_set(
        "atheist atheists bible buddhism buddhist buddhists catholic catholics christian "
        "christianity christians church churches gurdwara hindu hinduism hindus islam islamic jew "
        "jewish jews judaism mosque mosques muslim muslims protestant protestants quran rabbi "
        "religion religions religious sikh sikhs synagogue synagogues temple temples torah"
    ),
}
"""Plain words of each category, one or two in a row; English, as the texts are."""

_WORD_PATTERN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAX_LISTED = 6  # of the most common words of a row
_MAX_DEPTH = 12


class CategoryCount(NamedTuple):
    """How many texts contain a word of the category, of how many, and each word's count."""

    n_texts: int
    n_total: int
    word_counts: Counter[str]


def count_sensitive_words(texts: Iterable[str]) -> dict[str, CategoryCount]:
    """Count the words of every category in texts; equal texts count once."""
    n_texts: Counter[str] = Counter()
    words: dict[str, Counter[str]] = {category: Counter() for category in WORDS_BY_CATEGORY}
    distinct = dict.fromkeys(texts)
    for text in distinct:
        spoken_words = list(_words_and_pairs(text))
        for category, terms in WORDS_BY_CATEGORY.items():
            matches = [word for word in spoken_words if word in terms]
            words[category].update(matches)
            n_texts[category] += bool(matches)
    return {
        name: CategoryCount(n_texts[name], len(distinct), words[name]) for name in WORDS_BY_CATEGORY
    }


def schema_text(tool: Tool) -> str:
    """Return what a tool tells a model: its name, its description, its parameters' texts."""
    return "\n".join((tool.name, tool.description, *_nested_texts(tool.parameters)))


def sensitive_words_table(queries: Iterable[str], schemas: Iterable[str]) -> Table:
    """Return the check as a table of a data card."""
    found = {
        "queries": count_sensitive_words(queries),
        "function schemas": count_sensitive_words(schemas),
    }
    rows = tuple(
        (
            category,
            source,
            counts[category].n_texts,
            counts[category].n_total,
            _commonest_words(counts[category]),
        )
        for category in WORDS_BY_CATEGORY
        for source, counts in found.items()
    )
    return Table(
        title="Sensitive words",
        head=("category", "in", "texts with such a word", "texts", "commonest"),
        rows=rows,
        note="Words are counted whatever is meant by them, each distinct text once.",
    )


def _words_and_pairs(text: str) -> Iterator[str]:
    """Yield the words of a text, then the pairs of neighbours; names of tools are split."""
    words = [word.lower() for word in _WORD_PATTERN.findall(text)]
    yield from words
    yield from map(" ".join, pairwise(words))


def _nested_texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth < _MAX_DEPTH:
        for name, inner in value.items():
            yield str(name)
            yield from _nested_texts(inner, depth + 1)
    elif isinstance(value, list | tuple) and depth < _MAX_DEPTH:
        for inner in value:
            yield from _nested_texts(inner, depth + 1)


def _commonest_words(found: CategoryCount) -> str:
    ranked = sorted(found.word_counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{word} {n}" for word, n in ranked[:_MAX_LISTED])
