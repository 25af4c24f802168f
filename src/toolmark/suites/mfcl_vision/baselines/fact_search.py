"""Search from words to pages, through the facts of pages to further pages, to the wanted fact.

A search generator yields the calls of a round and is sent their results. It follows several trails
at once. Each trail begins at a page, matches the question's words with the labels of facts, and
gains worth for each match. The answer is a fact of the right kind, on the trail that explains most
of the question.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from heapq import nlargest
from typing import NamedTuple

from toolmark.baselines.desk_facts import parse_json
from toolmark.baselines.desk_tools import Toolkit
from toolmark.core import json_codec
from toolmark.core.records import Call
from toolmark.suites.mfcl_vision.baselines import page_facts as sheets
from toolmark.suites.mfcl_vision.baselines import question_analysis as asking
from toolmark.suites.mfcl_vision.baselines.page_facts import FactSheet, PageFact
from toolmark.suites.mfcl_vision.baselines.question_analysis import AnalysedQuestion, ChoiceClause

# Results requested from a search.
_MAX_HITS = 5
# Pages of one trail.
_MAX_DEPTH = 4
# Leads that are followed to the next round.
_MAX_TRAILS = 4
# Minimum likeness of a page title to words that were read on a sign.
MIN_TITLE_LIKENESS = 0.66
# Minimum likeness of a page title to a name that was read on a page.
_MIN_NAME_LIKENESS = 0.9
# Worth of a page's value that the question states, and the length up to which it has none.
_QUESTION_VALUE_WORTH = 1.5
_MAX_SHORT_VALUE = 3
# A position after the last word of any question.
_END_OF_QUESTION = 10_000
# Worths are relative: a word of the question that a fact's label explains is worth 1.
# Worth of a value of the wanted kind.
_KIND_WORTH = 1.0
# Cost of going to another page.
_DEPTH_COST = 0.6
# Factors for a word explained by a sentence, and for one after the words already explained.
_SENTENCE_SHARE = 0.6
_BEHIND_SHARE = 0.65
# Cost of each word of a label that the question lacks.
_SPARE_WORD_COST = 0.08
_WORD = re.compile(r"[^\W_]+")
# Minimum likeness of two words, one of which may be misread.
_MIN_WORD_LIKENESS = 0.8

FactSearch = Generator[list[Call], list[str], "FoundAnswer | None"]


class SearchLead(NamedTuple):
    """The next step of a search: a page's address, or words to search for.

    `worth` is the worth of the trail so far. `unexplained` are the words of the question that are
    not explained yet. `before` is the position in the question of the first word explained so far.
    `names` are the titles and labels on the trail. The title of the page found must have at least
    the likeness `min_likeness` to the words; with 0 the first hit is used.
    """

    words: str
    worth: float
    unexplained: frozenset[str]
    before: int = _END_OF_QUESTION
    names: tuple[str, ...] = ()
    href: str = ""
    min_likeness: float = MIN_TITLE_LIKENESS


class SearchHit(NamedTuple):
    """A search result."""

    href: str
    title: str


class Trail(NamedTuple):
    """The trail to a page: its address, its worth, the words that are not explained yet."""

    href: str
    worth: float
    unexplained: frozenset[str]
    before: int
    names: tuple[str, ...]


class FoundAnswer(NamedTuple):
    """An answer: the value, the titles and labels on its trail, its worth."""

    value: str
    names: tuple[str, ...]
    worth: float


def search_for_fact(
    question: AnalysedQuestion, leads: Sequence[SearchLead], kit: Toolkit
) -> FactSearch:
    """Search with all leads, follow the trails, and return the best answer."""
    best: FoundAnswer | None = None
    sheets_by_href: dict[str, FactSheet] = {}
    for depth in range(_MAX_DEPTH):
        trails = yield from _open_leads(leads, kit)
        known = yield from _fetch_pages([trail.href for trail in trails], sheets_by_href, kit)
        if not depth and question.choice:
            trails = _choose_trail(question.choice, trails, known)
        next_leads: list[SearchLead] = []
        for trail in trails:
            if trail.href in known:
                found, new_leads = _read_page(question, trail, known[trail.href])
                best = max([*([best] if best else []), *found], key=lambda find: find.worth,
                           default=None)  # fmt: skip
                next_leads += new_leads
        leads = nlargest(_MAX_TRAILS, next_leads, key=lambda lead: lead.worth)
        if not leads:
            break
    return best


# --- from words to pages ------------------------------------------------------------------


def _open_leads(
    leads: Sequence[SearchLead], kit: Toolkit
) -> Generator[list[Call], list[str], list[Trail]]:
    """Search with all leads at once; return the trails to the pages found."""
    trails = [
        Trail(lead.href, lead.worth, lead.unexplained, lead.before, lead.names)
        for lead in leads
        if lead.href
    ]
    searches = [
        (lead, kit.best_call("search engine query", keywords=lead.words, max_results=_MAX_HITS))
        for lead in leads
        if not lead.href
    ]
    sendable = [(lead, call) for lead, call in searches if call]
    if sendable:
        results = yield [call for _, call in sendable]
        for (lead, _), text in zip(sendable, results, strict=False):
            trails += _best_hit(lead, _parse_hits(text))
    best: dict[str, Trail] = {}
    for trail in sorted(trails, key=lambda trail: -trail.worth):
        best.setdefault(trail.href, trail)
    return list(best.values())[: 2 * _MAX_TRAILS]


def _best_hit(lead: SearchLead, hits: Sequence[SearchHit]) -> Iterator[Trail]:
    """Yield a trail to the hit with the title most like a lead's words, if like enough."""
    ranked = [
        (likeness(lead.words, hit.title), hit) for hit in (hits if lead.min_likeness else hits[:1])
    ]
    best_likeness, best = max(ranked, key=lambda pair: pair[0], default=(0.0, None))
    if best is not None and best_likeness >= lead.min_likeness:
        unexplained = lead.unexplained - asking.word_stems(best.title)
        names = (*lead.names, best.title)
        yield Trail(
            best.href, lead.worth + 2 * (best_likeness - 1), unexplained, lead.before, names
        )


def _parse_hits(text: str) -> list[SearchHit]:
    rows = json_codec.parse_rows(text)
    found = [SearchHit(str(row.get("href", "")), str(row.get("title", ""))) for row in rows]
    return [hit for hit in found if hit.href]


def likeness(query: str, title: str) -> float:
    """Return the likeness of a title to words, which may be misread or too many, from 0 to 1."""
    query_words, title_words = _WORD.findall(query.casefold()), _WORD.findall(title.casefold())
    if not query_words or not title_words:
        return 0.0
    overall = SequenceMatcher(
        None, " ".join(query_words), " ".join(title_words), autojunk=False
    ).ratio()
    matched_chars = sum(
        len(name) for name in title_words if any(_is_same_word(name, word) for word in query_words)
    )
    return max(overall, 0.95 * matched_chars / sum(map(len, title_words)))


def _is_same_word(a: str, b: str) -> bool:
    return a == b or SequenceMatcher(None, a, b, autojunk=False).ratio() >= _MIN_WORD_LIKENESS


def _choose_trail(
    choice: ChoiceClause, trails: Sequence[Trail], pages: Mapping[str, FactSheet]
) -> list[Trail]:
    """Return the trail whose first page has the greatest or least value that the choice names.

    Returns all trails if no page has a comparable value.
    """
    values_by_label: dict[tuple[int, str], dict[Trail, float]] = {}
    for trail in trails:
        for fact in pages[trail.href].facts if trail.href in pages else ():
            order_key = asking.value_order(fact.value)
            if order_key is not None and fact.label:
                values_by_label.setdefault((order_key[0], fact.label), {})[trail] = order_key[1]

    def weight(key: tuple[int, str]) -> float:
        same = len(choice.words & asking.word_stems(key[1])) + 0.5 * (key[0] == choice.dated)
        return same * len(values_by_label[key])

    if not values_by_label:
        return list(trails)
    values = values_by_label[max(values_by_label, key=weight)]
    return [(max if choice.most else min)(values, key=lambda trail: values[trail])]


# --- from page to page --------------------------------------------------------------------


def _fetch_pages(
    hrefs: Sequence[str], sheets_by_href: dict[str, FactSheet], kit: Toolkit
) -> Generator[list[Call], list[str], Mapping[str, FactSheet]]:
    """Fetch the pages that were not fetched before; return all fetched pages."""
    new = [href for href in dict.fromkeys(hrefs) if href not in sheets_by_href]
    calls = [(href, kit.best_call("fetch url content", url=href, mode="markdown")) for href in new]
    sendable = [(href, call) for href, call in calls if call]
    if sendable:
        results = yield [call for _, call in sendable]
        for (href, _), text in zip(sendable, results, strict=False):
            fields = parse_json(text)
            content = fields.get("content") if isinstance(fields, dict) else None
            if isinstance(content, str):
                sheets_by_href[href] = sheets.read_page_facts(content, href)
    return sheets_by_href


def _read_page(
    question: AnalysedQuestion, trail: Trail, page: FactSheet
) -> tuple[list[FoundAnswer], list[SearchLead]]:
    """Return the answers on a page, and the leads to further pages."""
    title_stems = asking.word_stems(page.title)
    start = trail.worth + sum(_question_value_worth(fact, question.text) for fact in page.facts)
    finds, leads = [], []
    for fact in page.facts:
        explained, gain = _explained_words(question, trail, fact, title_stems)
        names = (*trail.names, fact.label) if fact.label else trail.names
        if asking.is_of_kind(fact.value, question.answer_kind):
            finds.append(
                FoundAnswer(fact.value, names, start + gain + _KIND_WORTH * bool(explained))
            )
        if explained and _leads_on(fact, page):
            before = min(trail.before, *(question.stem_positions[word] for word in explained))
            worth, unexplained = start + gain - _DEPTH_COST, trail.unexplained - explained
            leads.append(
                SearchLead(
                    fact.value, worth, unexplained, before, names, fact.href, _MIN_NAME_LIKENESS
                )
            )
    return finds, leads


def _leads_on(fact: PageFact, page: FactSheet) -> bool:
    """Tell whether a fact's value may have a page of its own: it has a link, or is a name."""
    if fact.href:
        return fact.href != page.href
    return bool(fact.label) and fact.value[:1].isupper() and not any(map(str.isdigit, fact.value))


def _explained_words(
    question: AnalysedQuestion, trail: Trail, fact: PageFact, title_stems: set[str]
) -> tuple[frozenset[str], float]:
    """Return the words of the question that a fact explains, and their worth.

    A word in the label counts most, a word in the sentence around the value less. Words that the
    question lacks reduce the worth a little. Nested phrases name the last thing first, as in "the
    home of the owner of the shop". So words after those already explained count less too.
    """
    label = asking.word_stems(fact.label) - title_stems
    sentence = asking.word_stems(fact.said) - title_stems
    explained = trail.unexplained & (label | sentence)
    gain = sum(
        (1.0 if word in label else _SENTENCE_SHARE)
        * (1.0 if question.stem_positions[word] < trail.before else _BEHIND_SHARE)
        for word in sorted(explained)
    )
    return explained, gain - _SPARE_WORD_COST * min(
        len((label or sentence) - trail.unexplained), 10
    )


def _question_value_worth(fact: PageFact, question: str) -> float:
    """Return the worth of a page's value that the question states: this page is probably meant."""
    is_stated = f" {fact.value.lower()}" in f" {question.lower()}"
    return (
        _QUESTION_VALUE_WORTH
        if is_stated and fact.label and len(fact.value) > _MAX_SHORT_VALUE
        else 0.0
    )
