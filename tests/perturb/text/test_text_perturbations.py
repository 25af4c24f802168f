"""Disfluencies by name: each is one that the suites use, and a seed repeats it."""

from __future__ import annotations

import pytest

from toolmark.perturb.text.disfluencies import FEATURES
from toolmark.perturb.text.text_perturbations import DISFLUENCIES, load_perturbation

TEXTS = (
    "For my trip, I want information on flights to Rome on Friday.",
    "I am going to book a table for them. Could you help me and find the best restaurant?",
    "Please find all of my assistance requests and book a room for tomorrow.",
)


def test_the_names_are_those_of_the_suites_but_the_one_that_needs_facts() -> None:
    assert {*DISFLUENCIES} == {*FEATURES} - {"spelling_out"}


@pytest.mark.parametrize("name", DISFLUENCIES)
def test_a_disfluency_changes_some_text_and_a_seed_repeats_it(name: str) -> None:
    perturbation = load_perturbation(name)
    changed = {text: perturbation.apply(text, 3) for text in TEXTS}
    assert any(text != other for text, other in changed.items())
    assert changed == {text: load_perturbation(name).apply(text, 3) for text in TEXTS}


@pytest.mark.parametrize("name", DISFLUENCIES)
def test_a_text_without_a_place_stays_as_it_is(name: str) -> None:
    for text in ("", "  \n ", "x  y"):
        changed = load_perturbation(name).apply(text, 0)
        assert changed == text or changed.split() != text.split()
