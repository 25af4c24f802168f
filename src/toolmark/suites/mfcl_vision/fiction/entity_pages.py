"""The page of an entity: a few paragraphs and a list of its facts."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from html import escape
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.environments.page_corpus import MemoryPage
from toolmark.suites.mfcl_vision.fiction.entity_kinds import entity_kinds
from toolmark.suites.mfcl_vision.fiction.entity_records import Entity
from toolmark.suites.mfcl_vision.item_records import Domain

PagePattern: TypeAlias = Annotated[str, Meta(pattern=placeholders("Name", "name", "a", "emblem"))]


class PagePhrases(DataRecord, frozen=True):
    """The data file: sentences of a page, hosts by domain, labels by fact.

    {Name} and {name} stand for the entity, {a} for its noun with an article, {emblem} for what its
    emblem shows. The host of kinds that all domains use is under `common`.
    """

    openings: tuple[PagePattern, ...]
    person_openings: tuple[PagePattern, ...]
    remarks: tuple[PagePattern, ...]
    emblem_sentences: tuple[PagePattern, ...]
    hosts: dict[Domain | Literal["common"], str]
    labels: dict[str, str]


def page_phrases() -> PagePhrases:
    """Return the content of the data file."""
    return read_table(__file__, "page_phrases.toml", PagePhrases)


def fact_label(fact: str) -> str:
    """Return the label of a fact as printed on the page."""
    return page_phrases().labels.get(fact) or fact.replace("_", " ").capitalize()


def write_entity_page(rng: random.Random, entity: Entity) -> MemoryPage:
    """Return the page of an entity."""
    kind = entity_kinds()[entity.kind]
    phrases = page_phrases()
    is_person = kind.name in ("person", "player")
    openings = phrases.person_openings if is_person else phrases.openings
    opening = _fill_pattern(seeds.draw_one(rng, openings), entity.name, a=with_article(kind.noun))
    sentences = [fact.text for fact in entity.facts.values()]
    seeds.shuffle_items(rng, sentences)
    if entity.emblem:
        emblem_sentence = _fill_pattern(
            seeds.draw_one(rng, phrases.emblem_sentences), entity.name, emblem=entity.emblem
        )
        sentences.insert(seeds.draw_below(rng, len(sentences) + 1), emblem_sentence)
    middle = len(sentences) // 2
    remark = _fill_pattern(seeds.draw_one(rng, phrases.remarks), entity.name)
    texts = [" ".join((opening, *sentences[:middle])), " ".join((*sentences[middle:], remark))]
    href = f"https://{phrases.hosts[kind.domain or 'common']}/{kind.name}/{name_slug(entity.name)}"
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
