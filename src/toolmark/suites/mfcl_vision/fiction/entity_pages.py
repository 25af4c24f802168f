"""The page of an entity: a few paragraphs and a list of its facts."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from html import escape

from toolmark.core import seeds
from toolmark.environments.page_corpus import MemoryPage
from toolmark.suites.mfcl_vision.fiction.entity_kinds import ENTITY_KINDS
from toolmark.suites.mfcl_vision.fiction.entity_records import Entity

_HOST_BY_DOMAIN: Mapping[str, str] = {
    "": "www.almanac.example",
    "places": "www.townguide.example",
    "events": "www.whatson.example",
    "media": "www.playbill.example",
    "sports": "www.sportspages.example",
    "shopping": "www.buyersguide.example",
}
_OPENINGS = (
    "{Name} is {a}.",
    "This page tells what is known of {name}, {a}.",
    "{Name} is {a} that readers ask about often.",
)
_PERSON_OPENINGS = (
    "{Name} is a well known figure of public life.",
    "This page tells what is known of {name}.",
    "{Name} is a name that readers ask about often.",
)
_REMARKS = (
    "Corrections to the page on {name} are welcome and are checked by two editors.",
    "The editors have seen papers for all that is said here about {name}.",
    "Much more could be said about {name}, and the archive of the editors is open to readers.",
    "What is told here about {name} was compared with records and with older printed guides.",
    "Some details of {name} were long disputed; those given here are settled.",
)
_EMBLEM_SENTENCES = ("The emblem of {name} shows {emblem}.", "The emblem is {emblem}.")
_LABELS = {
    "first_held": "First edition", "twin": "Twin town", "born": "Date of birth",
    "home": "Family home", "chartered": "Town charter",
    "registered": "Registered players", "material": "Made of",
    "honours": "In honour of",
    "minutes": "Minutes played", "cups": "Cups a week", "passengers": "Passengers a day",
    "visitors": "Visitors a year", "customers": "Customers a month", "copies": "Copies sold",
    "exhibitors": "Exhibitors so far", "delegates": "Delegates so far", "lamps": "Street lamps",
    "winner": "Latest winner", "scorer": "Last winning goal", "prize": "Prize money",
    "attendance": "Attendance of the last final", "namesake": "Named after",
    "headliner": "Last headliner", "downloads": "Most downloads", "workers": "Workforce",
    "ball": "Colours of the ball", "next_stop": "Next stop", "street": "Address",
}  # fmt: skip


def fact_label(fact: str) -> str:
    """Return the label of a fact as printed on the page."""
    return _LABELS.get(fact) or fact.replace("_", " ").capitalize()


def write_entity_page(rng: random.Random, entity: Entity) -> MemoryPage:
    """Return the page of an entity."""
    kind = ENTITY_KINDS[entity.kind]
    openings = _OPENINGS if kind.name not in ("person", "player") else _PERSON_OPENINGS
    opening = _fill_pattern(seeds.draw_one(rng, openings), entity.name, a=with_article(kind.noun))
    sentences = [fact.text for fact in entity.facts.values()]
    seeds.shuffle(rng, sentences)
    if entity.emblem:
        emblem_sentence = _fill_pattern(
            seeds.draw_one(rng, _EMBLEM_SENTENCES), entity.name, emblem=entity.emblem
        )
        sentences.insert(seeds.draw_below(rng, len(sentences) + 1), emblem_sentence)
    middle = len(sentences) // 2
    remark = _fill_pattern(seeds.draw_one(rng, _REMARKS), entity.name)
    texts = [" ".join((opening, *sentences[:middle])), " ".join((*sentences[middle:], remark))]
    href = f"https://{_HOST_BY_DOMAIN[kind.domain]}/{kind.name}/{name_slug(entity.name)}"
    return make_page(href, entity.name, texts, _fact_rows(entity))


def _fact_rows(entity: Entity) -> list[tuple[str, str]]:
    rows = [
        (fact_label(fact.name), f"{fact.value} {fact.unit}".strip())
        for fact in entity.facts.values()
    ]
    return [*rows, ("Emblem", entity.emblem)] if entity.emblem else rows


def make_page(
    href: str, title: str, texts: Sequence[str], rows: Sequence[tuple[str, str]] = ()
) -> MemoryPage:
    """Return a page with a title, paragraphs and the rows of a list."""
    body = "".join(f"<p>{escape(text)}</p>\n" for text in texts)
    items = "".join(f"<li>{escape(name)}: {escape(value)}</li>\n" for name, value in rows)
    listed = f'<ul class="infobox">\n{items}</ul>\n' if rows else ""
    html = (
        '<!DOCTYPE html>\n<html lang="en">\n'
        f'<head><meta charset="utf-8"><title>{escape(title)}</title></head>\n'
        f"<body>\n<h1>{escape(title)}</h1>\n{body}{listed}</body>\n</html>\n"
    )
    visible_texts = [title, title, *texts, *(f"{name}: {value}" for name, value in rows)]
    return MemoryPage(href, title, html, "\n".join(visible_texts))


def name_slug(name: str) -> str:
    """Return a name as a part of an address."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def with_article(noun: str) -> str:
    """Return a noun with its article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _fill_pattern(pattern: str, name: str, **values: str) -> str:
    return pattern.format(Name=name, name=name, **values)
