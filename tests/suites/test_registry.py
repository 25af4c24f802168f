"""Suites are found by name, knobs by signature."""

from __future__ import annotations

from typing import Any

import pytest

from toolmark import plugin, suites
from toolmark.errors import UsageError


@pytest.mark.parametrize("name", suites.SUITES)
def test_every_knob_of_every_suite_is_explained(name: str) -> None:
    assert suites.summary(name).endswith(".")
    for knob in suites.knobs(name):
        assert knob.help, f"{name}: -T {knob.name} has no help"


@pytest.mark.parametrize("name", suites.SUITES)
def test_every_suite_can_be_scored_without_its_tasks(name: str) -> None:
    assert suites.scorer(name).readings


@pytest.mark.parametrize(
    ("given", "core", "restate"),
    [
        ({"core": "6", "depth": "2", "restate": "true"}, 6, True),
        ({"core": 6, "depth": 2}, 6, False),
    ],
)
def test_words_are_read_as_the_knobs_type(given: dict[str, Any], core: int, restate: bool) -> None:
    loaded = suites.load("funcbench", **given)
    assert (loaded.knobs["core"], loaded.knobs["restate"]) == (core, restate)


@pytest.mark.parametrize("name", ["os:system", "toolmark.suites:nope", "json:dumps.nope"])
def test_what_is_no_suite_is_refused(name: str) -> None:
    with pytest.raises((UsageError, TypeError)):
        suites.scorer(name)


def test_only_plain_identifiers_name_an_attribute() -> None:
    assert plugin.named("a.b:c.d")
    assert not any(map(plugin.named, ["http://x:1/v1#m", "a:", ":b", "a b:c", "a"]))


def test_a_choice_is_told_by_its_words() -> None:
    with pytest.raises(UsageError, match=r"knob missing: expected error \| skip, got 'foo'"):
        suites.load("mfcl-speech", missing="foo")
