"""Templates cover every domain and query type, and every fact can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from toolmark.suites.mfcl.vision import fiction, scenes
from toolmark.suites.mfcl.vision.item import DOMAINS, KINDS, Domain, Kind
from toolmark.suites.mfcl.vision.knobs import MAX_HOPS
from toolmark.suites.mfcl.vision.templates import SIGHTS, TEMPLATES, Sight
from toolmark.suites.mfcl.vision.templates.paths import SORTS, paths
from toolmark.suites.mfcl.vision.templates.phrases import EXTREMES, FORMS, phrase

FACTS = [
    (kind.name, field.name) for kind in fiction.KINDS.values() for field in kind.fields
]  # fmt: skip
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
    assert len(told) >= 2
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
