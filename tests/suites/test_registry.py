"""Suites are found by name, knobs by signature."""

from __future__ import annotations

from pathlib import Path
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


@pytest.mark.parametrize("name", suites.SUITES)
def test_knobs_read_from_the_source_are_those_of_the_function(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = suites.knobs(name)
    monkeypatch.setattr(suites, "needs", lambda name: "an extra")
    read = suites.knobs(name)
    assert [(k.name, k.help) for k in read] == [(k.name, k.help) for k in known]
    for found, true in zip(read, known, strict=True):
        assert found.default in (true.default, None)
        assert suites.told(found.kind) == suites.told(true.kind)


@pytest.mark.parametrize(
    ("word", "value"),
    [("yes", True), ("Yes", True), ("on", True), ("true", True), ("no", False), ("off", False),
     ("false", False), ("0", False)],
)  # fmt: skip
def test_a_switch_takes_the_words_of_a_switch(word: str, value: bool) -> None:
    assert suites.settled("funcbench", {"restate": word}) == {"restate": value}


def test_types_are_told_in_words() -> None:
    assert suites.told(tuple[str, ...]) == "words, separated by commas"
    assert suites.told(tuple[str, ...] | None) == "words, separated by commas"
    with pytest.raises(UsageError, match=r"knob restate: expected yes \| no, got 'maybe'"):
        suites.settled("funcbench", {"restate": "maybe"})


def test_an_extra_goes_where_the_package_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(plugin.__file__).parents[2]
    monkeypatch.chdir(home)
    assert plugin.install("m3").endswith("-m pip install -e '.[m3]'")
    monkeypatch.chdir(tmp_path)
    assert plugin.install("m3").endswith(f"-m pip install -e '{home}[m3]'")
    monkeypatch.setattr(plugin, "__file__", str(tmp_path / "lib/site/toolmark/plugin.py"))
    assert plugin.install("m3").endswith("-m pip install 'toolmark[m3]'")
