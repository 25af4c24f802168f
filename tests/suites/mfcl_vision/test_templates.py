"""Templates cover every domain and query type, and every fact can be asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest

from toolmark.core import seeds
from toolmark.suites.mfcl_vision import fiction, scenes
from toolmark.suites.mfcl_vision.generation_parameters import CLUE_KINDS, MAX_HOPS, ClueKind
from toolmark.suites.mfcl_vision.item_records import DOMAINS, QUERY_KINDS, Domain, QueryKind
from toolmark.suites.mfcl_vision.templates import (
    PictureSubject,
    item_templates,
    picture_subjects,
    question_planner,
)
from toolmark.suites.mfcl_vision.templates.fact_paths import VALUE_SORTS, find_paths
from toolmark.suites.mfcl_vision.templates.question_phrases import (
    extreme_clauses,
    question_phrase,
    request_phrases,
)

FACTS = [
    (kind.name, field.name) for kind in fiction.entity_kinds().values() for field in kind.fields
]  # fmt: skip
# what the eye may judge, and the picture deny
SEEN = {"height", "weight", "length", "floor_area"}
# what bears lettering there bears no emblem
LETTERED = {"trophies", "gallery", "station", "park", "books", "cinema"}
BY_NAME = {sight.entity_kind: sight for sight in picture_subjects()}


def test_every_domain_is_asked_in_every_way() -> None:
    assert {(t.domain, t.kind) for t in item_templates()} == set(product(DOMAINS, QUERY_KINDS))
    assert len({t.name for t in item_templates()}) == len(item_templates()) >= 25


@pytest.mark.parametrize(("kind", "fact"), FACTS)
def test_every_fact_has_words_that_nest(kind: str, fact: str) -> None:
    reported = question_phrase(kind, fact)
    assert reported.question.count("{x}") == 1 and reported.question.endswith("?")
    assert reported.noun.startswith("the ") and reported.noun.endswith("{x}")


@pytest.mark.parametrize(
    "sight", picture_subjects(), ids=lambda sight: f"{sight.domain}-{sight.entity_kind}"
)
def test_every_sight_stands_in_scenes_that_there_are(sight: PictureSubject) -> None:
    assert sight.entity_kind in fiction.entity_kinds()
    assert sight.scenes and set(sight.scenes) <= set(scenes.SCENE_KINDS)
    assert len(set(sight.contexts)) >= 3


@pytest.mark.parametrize(
    "sight", picture_subjects(), ids=lambda sight: f"{sight.domain}-{sight.entity_kind}"
)
def test_every_sight_can_be_compared(sight: PictureSubject) -> None:
    fields = fiction.entity_kinds()[sight.entity_kind].fields
    reported = [field for field in fields if field.name in extreme_clauses()]
    assert reported
    assert all(field.sort in ("date", "time", "number") for field in reported)


@pytest.mark.parametrize(("sees", "kind"), list(product(BY_NAME, QUERY_KINDS)))
def test_ways_end_in_what_is_asked_and_come_nowhere_twice(sees: str, kind: QueryKind) -> None:
    for hops in range(1, MAX_HOPS + 1):
        for path in find_paths(sees, kind, hops):
            fields = list(_fields(sees, path))
            assert len(fields) == hops and fields[-1].sort in VALUE_SORTS[kind]
            met = [sees, *(field.link for field in fields[:-1])]
            assert len({*met} - {"person"}) == len([kind for kind in met if kind != "person"])


def _fields(at: str, path: tuple[str, ...]) -> Iterator[fiction.FactField]:
    for name in path:
        field = next(field for field in fiction.entity_kinds()[at].fields if field.name == name)
        yield field
        at = field.link


@pytest.mark.parametrize("kind", QUERY_KINDS)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("hops", range(1, MAX_HOPS + 1))
def test_every_cell_has_ways_of_every_length(domain: Domain, kind: QueryKind, hops: int) -> None:
    seen = [sight.entity_kind for sight in picture_subjects() if sight.domain == domain]
    assert any(find_paths(sees, kind, hops) for sees in seen)


def test_every_sort_of_answer_has_forms_to_ask_for() -> None:
    assert set(request_phrases().answer_forms) == {
        sort for sorts in VALUE_SORTS.values() for sort in sorts
    }


# --- how it is asked ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "sight", picture_subjects(), ids=lambda sight: f"{sight.domain}-{sight.entity_kind}"
)
def test_a_long_phrase_stands_at_the_end_of_a_request_only(sight: PictureSubject) -> None:
    reported = f"the {sight.noun} whose name you can read on a wall"
    for kind, hops in product(QUERY_KINDS, (1, 2)):
        for n, path in enumerate(find_paths(sight.entity_kind, kind, hops)):
            for draw in range(4):
                rng = seeds.make_rng(n, sight.noun, draw, "test")
                asked = question_planner._write_request(sight.entity_kind, path, reported, rng)
                assert re.search(rf"{re.escape(reported)}[.?]$", asked), asked


@pytest.mark.parametrize("clue", CLUE_KINDS)
def test_a_place_is_said_of_what_leads_on_not_of_blank_things(clue: ClueKind) -> None:
    what = {"text": "name", "symbol": "emblem"}[clue]
    team = BY_NAME["team"]
    for draw, mark in product(range(20), ("left", "right")):
        rng = seeds.make_rng(0, mark, draw, "test")
        said = question_planner._describe_clue(team, clue, "posters", mark, rng)
        assert re.search(
            rf"{mark}most {what}$|{what}( on a poster)? is furthest to the {mark}$", said
        )
        assert "the poster" not in question_planner._describe_clue(team, clue, "posters", "", rng)
        assert what in question_planner._write_choice_opening(team, clue, "opened first", rng)


def test_nothing_that_the_eye_could_judge_tells_one_from_the_others() -> None:
    assert not SEEN & set(extreme_clauses())


def test_emblems_stand_only_where_emblems_may() -> None:
    bearing = [
        sight for sight in picture_subjects() if fiction.entity_kinds()[sight.entity_kind].emblem
    ]
    assert bearing and not any(LETTERED & set(sight.scenes) for sight in bearing)


def test_a_radio_show_is_on_no_television() -> None:
    assert "screens" not in BY_NAME["show"].scenes


def test_contexts_tell_what_is_going_on_as_going_on() -> None:
    momentary = re.compile(r"\b(?:I|We|boss) (?:look|settle|write|prepare|pick|think|argue|asks)\b")
    said = {context for sight in picture_subjects() for context in sight.contexts}
    assert not [context for context in said if momentary.search(context)]
