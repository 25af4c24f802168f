"""A drawn world: nothing twice, nothing contradicted, nothing given away."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmark.core import seeds
from toolmark.environments.html_conversion import html_to_text
from toolmark.environments.page_corpus import PageCorpus
from toolmark.generation.drawing import emblem
from toolmark.suites.mfcl_vision.fiction import (
    Entity,
    EntityFact,
    FictionalWorld,
    entity_kinds,
    value_vocabulary,
)
from toolmark.suites.mfcl_vision.fiction.fictional_world import MAX_ENTITIES, MIN_ENTITIES
from toolmark.suites.mfcl_vision.fiction.invented_words import word_beginning

SEEDS = (0, 1, 20_260)


@cache
def world(seed: int = 0, size: int = MIN_ENTITIES, distractors: int = 1) -> FictionalWorld:
    return FictionalWorld.draw_world(seed, size=size, distractors=distractors)


@cache
def corpus(seed: int = 0, size: int = MIN_ENTITIES, distractors: int = 1) -> PageCorpus:
    return PageCorpus(world(seed, size, distractors).pages)


def facts(of: FictionalWorld) -> Iterable[tuple[Entity, EntityFact]]:
    return ((entity, fact) for entity in of.entities for fact in entity.facts.values())


def digest(of: FictionalWorld) -> str:
    said = "".join(f"{page.href}\n{page.title}\n{page.html}" for page in of.pages)
    return hashlib.sha256(f"{of.entities}{said}".encode()).hexdigest()


def first(index: PageCorpus, query: str, n: int = 3) -> list[str]:
    return [hit.href for hit in asyncio.run(index.find(query, "wt-wt")).hits[:n]]


# --- the same for a seed ----------------------------------------------------------------


def test_a_seed_draws_the_same_bytes_in_every_process() -> None:
    code = (
        "import hashlib; from toolmark.suites.mfcl_vision.fiction import FictionalWorld; "
        f"w = FictionalWorld.draw_world(5, size={MIN_ENTITIES}, distractors=2); "
        r"said = ''.join(f'{p.href}\n{p.title}\n{p.html}' for p in w.pages); "
        "print(hashlib.sha256(f'{w.entities}{said}'.encode()).hexdigest())"
    )
    reported = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": number},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for number in ("1", "2")
    ]
    assert reported == [digest(FictionalWorld.draw_world(5, size=MIN_ENTITIES, distractors=2))] * 2


def test_other_seeds_draw_other_names() -> None:
    assert not {e.name for e in world(0).entities} & {e.name for e in world(1).entities}


def test_distractors_change_nothing_but_their_own_pages() -> None:
    bare_world, full = world(distractors=0), world(distractors=8)
    assert bare_world.entities == full.entities
    assert bare_world.pages == full.pages[: len(bare_world.pages)]
    assert len(full.pages) == 9 * len(full.entities)


@pytest.mark.parametrize("size", [0, MIN_ENTITIES - 1, MAX_ENTITIES + 1])
def test_a_size_that_no_world_has_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"a world of {size} entities"):
        FictionalWorld.draw_world(0, size=size, distractors=0)


def test_fewer_distractors_than_none_are_refused() -> None:
    with pytest.raises(ValueError, match="-1 distractors"):
        FictionalWorld.draw_world(0, size=MIN_ENTITIES, distractors=-1)


@given(st.integers(0, 2**40), st.integers(MIN_ENTITIES, MAX_ENTITIES))
@settings(max_examples=8, deadline=None)
def test_every_seed_draws_about_as_many_as_asked(seed: int, size: int) -> None:
    assert len(FictionalWorld.draw_world(seed, size=size, distractors=0).entities) == pytest.approx(
        size, rel=0.1
    )


# --- nothing twice ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_names_and_addresses_are_unique_and_none_is_within_another(seed: int) -> None:
    names = [entity.name.casefold() for entity in world(seed).entities]
    assert len(set(names)) == len(names)
    words = [entity.word for entity in world(seed).entities]
    assert len(set(words)) == len(words)
    joined = "\n".join(names)
    assert all(joined.count(name) == 1 for name in names)
    hrefs = [page.href for page in world(seed).pages]
    assert len(set(hrefs)) == len(hrefs)


@pytest.mark.parametrize("seed", SEEDS)
def test_emblems_can_be_drawn_and_hold_words_that_no_other_holds(seed: int) -> None:
    symbols = [
        entity.emblem for entity in world(seed).entities if entity_kinds()[entity.kind].emblem
    ]
    assert all(symbols)
    bags = {frozenset(symbol.split()) - {"a", "an"} for symbol in symbols}
    assert len(bags) == len(symbols)
    for symbol in symbols:
        read = emblem.parse_emblem(symbol)
        assert {read.charge, read.ink, read.shape, read.field} <= set(symbol.split())
    assert not any(e.emblem for e in world(seed).entities if not entity_kinds()[e.kind].emblem)


def test_emblems_are_made_of_all_that_can_be_drawn() -> None:
    collected = {word for entity in world(size=1_000).entities for word in entity.emblem.split()}
    assert collected == {*emblem.CHARGES, *emblem.SHAPES, *emblem.COLOURS, "a", "an", "on"}


def test_choices_are_made_among_hundreds() -> None:
    chosen = {f.name for kind in entity_kinds().values() for f in kind.fields if f.sort == "choice"}
    assert all(value_vocabulary.count_values(name) >= 300 for name in chosen)


# --- nothing contradicted ---------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_links_lead_to_the_named_entity_of_the_right_kind(seed: int) -> None:
    here = world(seed)
    for entity in here.entities:
        assert [*entity.facts] == [field.name for field in entity_kinds()[entity.kind].fields]
        for field, fact in zip(
            entity_kinds()[entity.kind].fields, entity.facts.values(), strict=True
        ):
            assert (fact.name, fact.sort, fact.unit) == (field.name, field.sort, field.unit)
            assert bool(fact.link) == bool(field.link)
            if fact.link:
                target = here.entity(fact.link)
                assert (target.kind, target.name) == (field.link, fact.value)
                assert target.id != entity.id


@pytest.mark.parametrize("seed", SEEDS)
def test_what_stands_in_a_place_stands_in_the_city_of_the_place(seed: int) -> None:
    here = world(seed)
    for entity in here.entities:
        for name in {"street", "venue", "home_ground", "start", "finish"} & entity.facts.keys():
            place = here.entity(entity.facts[name].link)
            assert place.facts["city"].link == entity.facts["city"].link


@pytest.mark.parametrize(
    ("kind", "names", "owner"),
    [
        ("band", "first_album", "band"),
        ("brand", "first_product", "brand"),
        ("team", "captain", "team"),
        ("league", "champion", "league"),
        ("city", "twin", "twin"),
    ],
)
def test_what_an_owner_names_says_the_same_of_it(kind: str, names: str, owner: str) -> None:
    here = world()
    for entity in here.entities_of_kind(kind)[
        :-1
    ]:  # of an odd number of cities the last twins a taken one
        assert here.entity(entity.facts[names].link).facts[owner].link == entity.id


AGE = 16 * 365  # days before which nobody makes or leads anything
# of a kind, a date of its own; whom it names; the date of theirs that comes before it, by how much
ORDERED = [
    ("album", "released", "band", "founded", 0),
    ("award", "founded", "ceremony", "opened", 0),
    ("conference", "first_held", "venue", "opened", 0),
    ("cup", "first_held", "final_ground", "opened", 0),
    ("cup", "last_final", "", "first_held", 0),
    ("cup", "last_final", "scorer", "debut", 0),
    ("expo", "first_held", "venue", "opened", 0),
    ("festival", "first_held", "venue", "opened", 0),
    ("film", "released", "based_on", "published", 0),
    ("film", "released", "soundtrack", "founded", 0),
    ("monument", "unveiled", "donor", "founded", 0),
    ("player", "debut", "", "born", AGE),
    ("podcast", "first_aired", "theme_music", "founded", 0),
    ("product", "released", "brand", "founded", 0),
    ("race", "first_held", "start", "laid_out", 0),
    ("show", "first_aired", "theme_music", "founded", 0),
]
MAKERS = (
    "architect", "planner", "sculptor", "founder", "author", "illustrator", "director", "writer",
    "designer", "inventor", "silversmith", "clockmaker", "singer", "drummer", "host", "owner",
)  # fmt: skip


@pytest.mark.parametrize(("kind", "later", "link", "before", "gap"), ORDERED)
def test_nothing_comes_before_what_it_needs(
    kind: str, later: str, link: str, before: str, gap: int
) -> None:
    here = world(size=1_000)
    for entity in here.entities_of_kind(kind):
        first = here.entity(entity.facts[link].link) if link else entity
        assert first.facts[before].order + gap < entity.facts[later].order


def test_who_makes_or_leads_a_thing_is_of_age_by_its_first_day() -> None:
    here = world(size=1_000)
    for entity in here.entities:
        days = [
            entity.facts[name].order
            for name in ("opened", "founded", "laid_out", "unveiled", "first_held", "published",
                         "released", "first_aired", "first_cooked")
            if name in entity.facts
        ]  # fmt: skip
        for name in {*MAKERS} & entity.facts.keys():
            maker = here.entity(entity.facts[name].link)
            assert all(maker.facts["born"].order + AGE < day for day in days), (entity.kind, name)


def test_what_stands_in_a_street_was_built_after_it() -> None:
    here = world(size=1_000)
    for entity in here.entities:
        if "street" in entity.facts:
            street = here.entity(entity.facts["street"].link)
            built = entity.facts.get("opened") or entity.facts["unveiled"]
            assert street.facts["laid_out"].order < built.order


def test_no_ground_holds_more_than_it_has_seats() -> None:
    here = world(size=1_000)
    for ground in here.entities_of_kind("stadium"):
        assert ground.facts["record_crowd"].order < ground.facts["capacity"].order
    for cup in here.entities_of_kind("cup"):
        ground = here.entity(cup.facts["final_ground"].link)
        assert cup.facts["attendance"].order < ground.facts["record_crowd"].order


def test_who_decides_a_final_plays_for_the_winner() -> None:
    here = world(size=1_000)
    for cup in here.entities_of_kind("cup"):
        scorer = here.entity(cup.facts["scorer"].link)
        assert scorer.facts["team"].link == cup.facts["winner"].link


# --- nothing given away -----------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_page_tells_all_facts_of_its_entity(seed: int) -> None:
    here = world(seed)
    for entity in here.entities:
        text = html_to_text(here.page(entity.id).html)
        assert entity.emblem in text
        for fact in entity.facts.values():
            assert fact.value in fact.text
            assert fact.text in text
            assert f"{fact.value} {fact.unit}".strip() in text


@pytest.mark.parametrize("seed", SEEDS)
def test_a_value_stands_only_where_it_may(seed: int) -> None:
    here = world(seed, distractors=4)
    texts = {page.href: html_to_text(page.html) for page in here.pages}
    holding: dict[str, set[str]] = {}
    for href, text in texts.items():
        for word in set(re.findall(r"\w+", text)):
            holding.setdefault(word, set()).add(href)
    named = {entity.name for entity in here.entities}
    for entity, fact in facts(here):
        if fact.value in named:  # names stand on pages that hold names only, too
            continue
        words = re.findall(r"\w+", fact.value)
        whole = re.compile(rf"(?<![\w,.:]){re.escape(fact.value)}(?!\w|[,.:]\w)")
        some = set.intersection(*(holding[word] for word in words))
        found = {href for href in some if whole.search(texts[href])}
        assert found == {here.page(entity.id).href}, fact


@pytest.mark.parametrize("seed", SEEDS)
def test_a_name_stands_with_those_who_lead_to_it_and_on_pages_of_names(seed: int) -> None:
    here = world(seed, distractors=4)
    own = {here.page(entity.id).href: entity for entity in here.entities}
    names = {entity.name: entity.id for entity in here.entities}
    any_name = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names))
    for page in here.pages:
        if page.href in own:
            entity = own[page.href]
            may = {fact.link for fact in entity.facts.values() if fact.link} | {entity.id}
            assert {names[name] for name in any_name.findall(html_to_text(page.html))} == may


@pytest.mark.parametrize("seed", SEEDS)
def test_the_text_of_a_page_is_what_a_reader_sees(seed: int) -> None:
    assert all(page.text == html_to_text(page.html) for page in world(seed).pages)


@pytest.mark.parametrize("seed", SEEDS)
def test_pages_are_short_prose(seed: int) -> None:
    words = [len(html_to_text(page.html).split()) for page in world(seed).pages]
    assert min(words) >= 60 and max(words) <= 240


# --- look-alikes ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_each_has_six_of_its_kind_that_are_named_alike(seed: int) -> None:
    here, rng = world(seed, size=1_000), seeds.make_rng(seed, "test", 0, "alike")
    near = 0
    for entity in here.entities:
        found = here.draw_lookalikes(entity, rng, 6)
        assert len({one.id for one in found}) == 6
        assert entity not in found
        assert {one.kind for one in found} == {entity.kind}
        assert not {f.value for f in entity.facts.values() if not f.link} & {
            f.value for one in found for f in one.facts.values() if not f.link
        }
        near += all(_near(here, entity, one) for one in found)
    assert near > 0.9 * len(here.entities)


def _near(here: FictionalWorld, entity: Entity, other: Entity) -> bool:
    """Of one tribe, or sharing a word or the beginning of the word."""
    shared = set(entity.name.split()) & set(other.name.split())
    return (
        bool(shared)
        or entity.tribe == other.tribe
        or word_beginning(entity.word) == word_beginning(other.word)
    )


def test_more_lookalikes_than_there_are_others_is_refused() -> None:
    here = world()
    cafe = here.entities_of_kind("cafe")[0]
    with pytest.raises(ValueError, match="look-alikes"):
        here.draw_lookalikes(
            cafe, seeds.make_rng(0, "test", 0, "alike"), len(here.entities_of_kind("cafe"))
        )


# --- searching --------------------------------------------------------------------------


@pytest.mark.parametrize("distractors", [0, 1, 8])
def test_a_name_finds_its_page_among_the_first_three(distractors: int) -> None:
    here, index = world(distractors=distractors), corpus(distractors=distractors)
    for entity in here.entities:
        assert here.page(entity.id).href in first(index, entity.name)


def test_a_name_finds_its_page_in_a_large_world() -> None:
    here, index = world(3, 1_000, 1), corpus(3, 1_000, 1)
    for entity in here.entities:
        assert here.page(entity.id).href in first(index, entity.name)


def test_an_emblem_finds_its_page_among_the_first_three() -> None:
    here, index = world(3, 1_000, 1), corpus(3, 1_000, 1)
    for entity in here.entities:
        if entity.emblem:
            assert here.page(entity.id).href in first(index, f"emblem {entity.emblem}")


def test_words_of_a_fact_alone_find_it_no_oftener_than_others_of_its_kind() -> None:
    here, index = world(3, 1_000, 1), corpus(3, 1_000, 1)
    found, chance = 0, 0.0
    for entity, fact in list(facts(here))[::7]:
        words = fact.text.replace(entity.name, "").replace(fact.value, "")
        found += here.page(entity.id).href in first(
            index, f"{entity_kinds()[entity.kind].noun} {words}"
        )
        chance += 3 / len(here.entities_of_kind(entity.kind))
    assert found <= 2 * chance  # a fact is told in two or three ways: so many share its words
