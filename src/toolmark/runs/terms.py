"""Words of sensitive categories in what users say and in tools: a check, no verdict.

Counted as words, whatever is meant by them: a male connector counts under gender. That a category
is rare, or stands in one kind of text only, is what a reader of a data card wants to see.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from toolmark.types import Table, Tool


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PEOPLE = _words("man men people person woman women")
TERMS: Mapping[str, frozenset[str]] = {
    "gender": _words(
        "boy boys brother brothers daughter daughters father fathers female females feminine "
        "gender genders girl girls he her hers herself him himself his husband husbands lady "
        "ladies male males man masculine men mother mothers nonbinary she sister sisters son sons "
        "transgender wife wives woman women"
    ),
    "race": _words(
        "aboriginal african africans arab arabs asian asians caucasian caucasians ethnic "
        "ethnicities ethnicity hispanic hispanics indigenous latina latinas latino latinos race "
        "races racial roma tribal tribe tribes"
    )
    | {f"{colour} {word}" for colour in ("black", "brown", "white") for word in _PEOPLE},
    "religion": _words(
        "atheist atheists bible buddhism buddhist buddhists catholic catholics christian "
        "christianity christians church churches gurdwara hindu hinduism hindus islam islamic jew "
        "jewish jews judaism mosque mosques muslim muslims protestant protestants quran rabbi "
        "religion religions religious sikh sikhs synagogue synagogues temple temples torah"
    ),
}
"""Of each category plain words, one or two in a row; English, as the texts are."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SHOWN = 6  # of the commonest words of a row
_DEPTH = 12


class Count(NamedTuple):
    """How many texts hold a word of the category, of how many, and each word's count."""

    texts: int
    of: int
    words: Counter[str]


def count(texts: Iterable[str]) -> dict[str, Count]:
    """Count the words of every category in texts; a text that comes again counts once."""
    held: Counter[str] = Counter()
    words: dict[str, Counter[str]] = {category: Counter() for category in TERMS}
    distinct = dict.fromkeys(texts)
    for text in distinct:
        said = list(_said(text))
        for category, terms in TERMS.items():
            met = [word for word in said if word in terms]
            words[category].update(met)
            held[category] += bool(met)
    return {name: Count(held[name], len(distinct), words[name]) for name in TERMS}


def schema(tool: Tool) -> str:
    """Return what a tool says to a model: its name, its description, its parameters' texts."""
    return "\n".join((tool.name, tool.description, *_texts(tool.parameters)))


def table(queries: Iterable[str], schemas: Iterable[str]) -> Table:
    """Return the check as a table of a data card."""
    found = {"queries": count(queries), "function schemas": count(schemas)}
    rows = tuple(
        (category, where, counts[category].texts, counts[category].of, _common(counts[category]))
        for category in TERMS
        for where, counts in found.items()
    )
    return Table(
        title="Sensitive words",
        head=("category", "in", "texts with such a word", "texts", "commonest"),
        rows=rows,
        note="Words are counted whatever is meant by them, each distinct text once.",
    )


def _said(text: str) -> Iterator[str]:
    """Go through the words of a text, then the pairs of neighbours; names of tools are split."""
    words = [word.lower() for word in _WORD.findall(text)]
    yield from words
    yield from map(" ".join, pairwise(words))


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth < _DEPTH:
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner, depth + 1)
    elif isinstance(value, list | tuple) and depth < _DEPTH:
        for inner in value:
            yield from _texts(inner, depth + 1)


def _common(found: Count) -> str:
    ranked = sorted(found.words.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{word} {n}" for word, n in ranked[:_SHOWN])
