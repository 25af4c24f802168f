"""Templates cover every domain and query type, and every fact can be asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest

from toolmark import seeds
from toolmark.suites.mfcl.vision import fiction, scenes
from toolmark.suites.mfcl.vision.item import DOMAINS, KINDS, Domain, Kind
from toolmark.suites.mfcl.vision.knobs import CLUES, MAX_HOPS, Clue
from toolmark.suites.mfcl.vision.templates import SIGHTS, TEMPLATES, Sight, weave
from toolmark.suites.mfcl.vision.templates.paths import SORTS, paths
from toolmark.suites.mfcl.vision.templates.phrases import EXTREMES, FORMS, phrase

FACTS = [
    (kind.name, field.name) for kind in fiction.KINDS.values() for field in kind.fields
]  # fmt: skip
# what the eye may judge, and the picture deny
SEEN = {"height", "weight", "length", "floor_area"}
# what bears lettering there bears no emblem
LETTERED = {"trophies", "gallery", "station", "park", "books", "cinema"}
BY_NAME = {sight.sees: sight for sight in SIGHTS}


def test_every_domain_is_asked_in_every_way() -> None:
    assert {(t.domain, t.kind) for t in TEMPLATES} == set(product(DOMAINS, KINDS))
    assert len({t.name for t in TEMPLATES}) == len(TEMPLATES) >= 25


@pytest.mark.parametrize(("kind", "fact"), FACTS)
def test_every_fact_has_words_that_nest(kind: str, fact: str) -> None:
    told = phrase(kind, fact)
    assert told.ask.count("{x}") == 1 and told.ask.endswith("?")
    assert told.noun.startswith("the ") and told.noun.endswith("{x}")


@pytest.mark.parametrize("sight", SIGHTS, ids=lambda sight: f"{sight.domain}-{sight.sees}")
def test_every_sight_stands_in_scenes_that_there_are(sight: Sight) -> None:
    assert sight.sees in fiction.KINDS
    assert sight.scenes and set(sight.scenes) <= set(scenes.KINDS)
    assert len(set(sight.contexts)) >= 3


@pytest.mark.parametrize("sight", SIGHTS, ids=lambda sight: f"{sight.domain}-{sight.sees}")
def test_every_sight_can_be_compared(sight: Sight) -> None:
    fields = fiction.KINDS[sight.sees].fields
    told = [field for field in fields if field.name in EXTREMES]
    assert told
    assert all(field.sort in ("date", "time", "number") for field in told)


@pytest.mark.parametrize(("sees", "kind"), list(product(BY_NAME, KINDS)))
def test_ways_end_in_what_is_asked_and_come_nowhere_twice(sees: str, kind: Kind) -> None:
    for hops in range(1, MAX_HOPS + 1):
        for path in paths(sees, kind, hops):
            fields = list(_fields(sees, path))
            assert len(fields) == hops and fields[-1].sort in SORTS[kind]
            met = [sees, *(field.link for field in fields[:-1])]
            assert len({*met} - {"person"}) == len([kind for kind in met if kind != "person"])


def _fields(at: str, path: tuple[str, ...]) -> Iterator[fiction.Field]:
    for name in path:
        field = next(field for field in fiction.KINDS[at].fields if field.name == name)
        yield field
        at = field.link


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("hops", range(1, MAX_HOPS + 1))
def test_every_cell_has_ways_of_every_length(domain: Domain, kind: Kind, hops: int) -> None:
    seen = [sight.sees for sight in SIGHTS if sight.domain == domain]
    assert any(paths(sees, kind, hops) for sees in seen)


def test_every_sort_of_answer_has_forms_to_ask_for() -> None:
    assert set(FORMS) == {sort for sorts in SORTS.values() for sort in sorts}


# --- how it is asked ---------------------------------------------------------------------


@pytest.mark.parametrize("sight", SIGHTS, ids=lambda sight: f"{sight.domain}-{sight.sees}")
def test_a_long_phrase_stands_at_the_end_of_a_request_only(sight: Sight) -> None:
    told = f"the {sight.noun} whose name you can read on a wall"
    for kind, hops in product(KINDS, (1, 2)):
        for n, path in enumerate(paths(sight.sees, kind, hops)):
            for draw in range(4):
                rng = seeds.of(n, sight.noun, draw, "test")
                asked = weave._request(sight.sees, path, told, rng)
                assert re.search(rf"{re.escape(told)}[.?]$", asked), asked


@pytest.mark.parametrize("clue", CLUES)
def test_a_place_is_said_of_what_leads_on_not_of_blank_things(clue: Clue) -> None:
    what = {"text": "name", "symbol": "emblem"}[clue]
    team = BY_NAME["team"]
    for draw, mark in product(range(20), ("left", "right")):
        rng = seeds.of(0, mark, draw, "test")
        said = weave._seen(team, clue, "posters", mark, rng)
        assert re.search(
            rf"{mark}most {what}$|{what}( on a poster)? is furthest to the {mark}$", said
        )
        assert "the poster" not in weave._seen(team, clue, "posters", "", rng)
        assert what in weave._choosing(team, clue, "opened first", rng)


def test_nothing_that_the_eye_could_judge_tells_one_from_the_others() -> None:
    assert not SEEN & set(EXTREMES)


def test_emblems_stand_only_where_emblems_may() -> None:
    bearing = [sight for sight in SIGHTS if fiction.KINDS[sight.sees].emblem]
    assert bearing and not any(LETTERED & set(sight.scenes) for sight in bearing)


def test_a_radio_show_is_on_no_television() -> None:
    assert "screens" not in BY_NAME["show"].scenes


def test_contexts_tell_what_is_going_on_as_going_on() -> None:
    momentary = re.compile(r"\b(?:I|We|boss) (?:look|settle|write|prepare|pick|think|argue|asks)\b")
    said = {context for sight in SIGHTS for context in sight.contexts}
    assert not [context for context in said if momentary.search(context)]
