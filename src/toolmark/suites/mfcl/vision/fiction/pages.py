"""The page of an entity: a few paragraphs and a list of its facts."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from html import escape

from toolmark import seeds
from toolmark.suites.mfcl.vision.fiction.entity import Entity
from toolmark.suites.mfcl.vision.fiction.kinds import KINDS
from toolmark.worlds.corpus import Page

_SITES: Mapping[str, str] = {
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
_PEOPLE = (
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
_EMBLEMS = ("The emblem of {name} shows {emblem}.", "The emblem is {emblem}.")
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


def label(fact: str) -> str:
    """Return a fact's name as a reader knows it."""
    return _LABELS.get(fact) or fact.replace("_", " ").capitalize()


def page(rng: random.Random, entity: Entity) -> Page:
    """Write the page of an entity."""
    kind = KINDS[entity.kind]
    openings = _OPENINGS if kind.name not in ("person", "player") else _PEOPLE
    opening = _filled(seeds.choice(rng, openings), entity.name, a=article(kind.noun))
    told = [fact.text for fact in entity.facts.values()]
    seeds.shuffle(rng, told)
    if entity.emblem:
        said = _filled(seeds.choice(rng, _EMBLEMS), entity.name, emblem=entity.emblem)
        told.insert(seeds.below(rng, len(told) + 1), said)
    half = len(told) // 2
    remark = _filled(seeds.choice(rng, _REMARKS), entity.name)
    texts = [" ".join((opening, *told[:half])), " ".join((*told[half:], remark))]
    href = f"https://{_SITES[kind.domain]}/{kind.name}/{slug(entity.name)}"
    return written(href, entity.name, texts, _rows(entity))


def _rows(entity: Entity) -> list[tuple[str, str]]:
    rows = [
        (label(fact.name), f"{fact.value} {fact.unit}".strip()) for fact in entity.facts.values()
    ]
    return [*rows, ("Emblem", entity.emblem)] if entity.emblem else rows


def written(
    href: str, title: str, texts: Sequence[str], rows: Sequence[tuple[str, str]] = ()
) -> Page:
    """Make a page of a title, paragraphs and rows of a list."""
    body = "".join(f"<p>{escape(text)}</p>\n" for text in texts)
    items = "".join(f"<li>{escape(name)}: {escape(value)}</li>\n" for name, value in rows)
    listed = f'<ul class="infobox">\n{items}</ul>\n' if rows else ""
    html = (
        '<!DOCTYPE html>\n<html lang="en">\n'
        f'<head><meta charset="utf-8"><title>{escape(title)}</title></head>\n'
        f"<body>\n<h1>{escape(title)}</h1>\n{body}{listed}</body>\n</html>\n"
    )
    seen = [title, title, *texts, *(f"{name}: {value}" for name, value in rows)]
    return Page(href, title, html, "\n".join(seen))


def slug(name: str) -> str:
    """Return a name as it stands in an address."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def article(noun: str) -> str:
    """Return a noun with its article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _filled(pattern: str, name: str, **values: str) -> str:
    return pattern.format(Name=name, name=name, **values)
