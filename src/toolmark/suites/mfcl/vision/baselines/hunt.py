"""Searching: from words to pages, over the facts of pages to other pages, to the fact asked for.

A hunt yields the calls of a round and is sent their results. It follows several trails at once:
each begins at a page, spends the question's words on the labels of facts, and is worth what it has
spent; the trail that ends in a fact of the right kind and explains most of the question answers.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from heapq import nlargest
from typing import NamedTuple

from toolmark import codec
from toolmark.models.baselines.desk_facts import loaded
from toolmark.models.baselines.desk_kit import Kit
from toolmark.suites.mfcl.vision.baselines import question as asking
from toolmark.suites.mfcl.vision.baselines import sheet as sheets
from toolmark.suites.mfcl.vision.baselines.question import Choice, Question
from toolmark.suites.mfcl.vision.baselines.sheet import Fact, Sheet
from toolmark.types import Call

_HITS = 5  # asked for by a search
_DEEP = 4  # pages of one trail
_WIDE = 4  # pages fetched in one round
NAMED = 0.66  # likeness of a title to words that were read off a sign
_EXACT = 0.9  # and to a name that was read on a page
_ASKED, _SHORT = 1.5, 3  # what a value is worth that the question says, if it is longer than that
_END = 10_000  # beyond the last word of a question
# a word of the question that a fact's label explains is worth 1
_KIND = 1.0  # of a value that is of the kind asked for
_DEPTH = 0.6  # taken off for going on to another page
_SAYS, _BEHIND = 0.6, 0.65  # shares for a sentence's word, for one behind those that led here
_SPARE = 0.08  # taken off for each word of a label that the question does not have
_WORD = re.compile(r"[^\W_]+")
_ALIKE = 0.8  # likeness of two words, one of which may be misread

Hunt = Generator[list[Call], list[str], "Find | None"]


class Lead(NamedTuple):
    """Where to go on: a page's address, or words that name it and must be searched with.

    `worth` is that of the way so far, `left` the words of the question still to be explained,
    `upto` where in the question those begin that were, `names` what the way led over. The title of
    the page must be as like to the words as `like`; with 0 the first hit will do.
    """

    words: str
    worth: float
    left: frozenset[str]
    upto: int = _END
    names: tuple[str, ...] = ()
    href: str = ""
    like: float = NAMED


class Hit(NamedTuple):
    """A search result."""

    href: str
    title: str


class Trail(NamedTuple):
    """The way to a page: its address, what it is worth, the words still to be explained."""

    href: str
    worth: float
    left: frozenset[str]
    upto: int
    names: tuple[str, ...]


class Find(NamedTuple):
    """An answer: the value, the pages and labels that led to it, what it is worth."""

    value: str
    names: tuple[str, ...]
    worth: float


def hunt(asked: Question, leads: Sequence[Lead], kit: Kit) -> Hunt:
    """Search with all leads, follow the trails, return the best find."""
    best: Find | None = None
    seen: dict[str, Sheet] = {}
    for depth in range(_DEEP):
        trails = yield from _opened(leads, kit)
        known = yield from _fetched([trail.href for trail in trails], seen, kit)
        if not depth and asked.choice:
            trails = _chosen(asked.choice, trails, known)
        onward: list[Lead] = []
        for trail in trails:
            if trail.href in known:
                ends, ways = _read(asked, trail, known[trail.href])
                best = max([*([best] if best else []), *ends], key=lambda find: find.worth,
                           default=None)  # fmt: skip
                onward += ways
        leads = nlargest(_WIDE, onward, key=lambda lead: lead.worth)
        if not leads:
            break
    return best


# --- from words to pages ------------------------------------------------------------------


def _opened(leads: Sequence[Lead], kit: Kit) -> Generator[list[Call], list[str], list[Trail]]:
    """Search with all leads at once; return the trails to the pages that they mean."""
    trails = [
        Trail(lead.href, lead.worth, lead.left, lead.upto, lead.names)
        for lead in leads
        if lead.href
    ]
    searches = [(lead, kit.call("search engine query", keywords=lead.words, max_results=_HITS))
                for lead in leads if not lead.href]  # fmt: skip
    made = [(lead, call) for lead, call in searches if call]
    if made:
        results = yield [call for _, call in made]
        for (lead, _), text in zip(made, results, strict=False):
            trails += _meant(lead, _hits(text))
    best: dict[str, Trail] = {}
    for trail in sorted(trails, key=lambda trail: -trail.worth):
        best.setdefault(trail.href, trail)
    return list(best.values())[: 2 * _WIDE]


def _meant(lead: Lead, hits: Sequence[Hit]) -> Iterator[Trail]:
    """Give the hit that is likest to the words of a lead, if it is like enough."""
    ranked = [(likeness(lead.words, hit.title), hit) for hit in (hits if lead.like else hits[:1])]
    like, best = max(ranked, key=lambda one: one[0], default=(0.0, None))
    if best is not None and like >= lead.like:
        left = lead.left - asking.stems(best.title)
        names = (*lead.names, best.title)
        yield Trail(best.href, lead.worth + 2 * (like - 1), left, lead.upto, names)


def _hits(text: str) -> list[Hit]:
    rows = codec.rows(text)
    found = [Hit(str(row.get("href", "")), str(row.get("title", ""))) for row in rows]
    return [hit for hit in found if hit.href]


def likeness(words: str, title: str) -> float:
    """Tell how like a title is to words that may be misread and may hold more, from 0 to 1."""
    said, named = _WORD.findall(words.casefold()), _WORD.findall(title.casefold())
    if not said or not named:
        return 0.0
    whole = SequenceMatcher(None, " ".join(said), " ".join(named), autojunk=False).ratio()
    told = sum(len(name) for name in named if any(_same(name, word) for word in said))
    return max(whole, 0.95 * told / sum(map(len, named)))


def _same(a: str, b: str) -> bool:
    return a == b or SequenceMatcher(None, a, b, autojunk=False).ratio() >= _ALIKE


def _chosen(choice: Choice, trails: Sequence[Trail], pages: Mapping[str, Sheet]) -> list[Trail]:
    """Return the one trail at whose start is the most, or the least, of what the choice says."""
    told: dict[tuple[int, str], dict[Trail, float]] = {}
    for trail in trails:
        for fact in pages[trail.href].facts if trail.href in pages else ():
            place = asking.order(fact.value)
            if place is not None and fact.label:
                told.setdefault((place[0], fact.label), {})[trail] = place[1]

    def weight(key: tuple[int, str]) -> float:
        same = len(choice.words & asking.stems(key[1])) + 0.5 * (key[0] == choice.dated)
        return same * len(told[key])

    if not told:
        return list(trails)
    values = told[max(told, key=weight)]
    return [(max if choice.most else min)(values, key=lambda trail: values[trail])]


# --- from page to page --------------------------------------------------------------------


def _fetched(hrefs: Sequence[str], seen: dict[str, Sheet], kit: Kit) -> Generator[
    list[Call], list[str], Mapping[str, Sheet]
]:  # fmt: skip
    """Fetch the pages that were not seen yet; return all that were."""
    new = [href for href in dict.fromkeys(hrefs) if href not in seen]
    calls = [(href, kit.call("fetch url content", url=href, mode="markdown")) for href in new]
    made = [(href, call) for href, call in calls if call]
    if made:
        results = yield [call for _, call in made]
        for (href, _), text in zip(made, results, strict=False):
            held = loaded(text)
            content = held.get("content") if isinstance(held, dict) else None
            if isinstance(content, str):
                seen[href] = sheets.read(content, href)
    return seen


def _read(asked: Question, trail: Trail, page: Sheet) -> tuple[list[Find], list[Lead]]:
    """Return what the page says to the question, and where it leads on."""
    own = asking.stems(page.title)
    start = trail.worth + sum(_told(fact, asked.text) for fact in page.facts)
    finds, ways = [], []
    for fact in page.facts:
        spent, gain = _gain(asked, trail, fact, own)
        names = (*trail.names, fact.label) if fact.label else trail.names
        if asking.fits(fact.value, asked.want):
            finds.append(Find(fact.value, names, start + gain + _KIND * bool(spent)))
        if spent and _leads(fact, page):
            upto = min(trail.upto, *(asked.places[word] for word in spent))
            worth, left = start + gain - _DEPTH, trail.left - spent
            ways.append(Lead(fact.value, worth, left, upto, names, fact.href, _EXACT))
    return finds, ways


def _leads(fact: Fact, page: Sheet) -> bool:
    """Tell whether a fact's value may have a page of its own: it has a link, or is a name."""
    if fact.href:
        return fact.href != page.href
    return bool(fact.label) and fact.value[:1].isupper() and not any(map(str.isdigit, fact.value))


def _gain(asked: Question, trail: Trail, fact: Fact, own: set[str]) -> tuple[frozenset[str], float]:
    """Return which words of the question a fact explains, and what that is worth.

    The label counts most, the sentence around the value less; words beyond count a little against.
    Things of things are said from the last to the first, "the home of the owner of the shop", so
    words behind those that led here count less too.
    """
    label, said = asking.stems(fact.label) - own, asking.stems(fact.said) - own
    spent = trail.left & (label | said)
    gain = sum(
        (1.0 if word in label else _SAYS) * (1.0 if asked.places[word] < trail.upto else _BEHIND)
        for word in sorted(spent)
    )
    return spent, gain - _SPARE * min(len((label or said) - trail.left), 10)


def _told(fact: Fact, question: str) -> float:
    """Return what it is worth that the question itself says a page's value: it means this page."""
    said = f" {fact.value.lower()}" in f" {question.lower()}"
    return _ASKED if said and fact.label and len(fact.value) > _SHORT else 0.0
