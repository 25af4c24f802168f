"""Disfluencies: seeded, within budget, one of a class, recorded where they are, harmless."""

from __future__ import annotations

import re

import pytest

from toolmark.core import seeds
from toolmark.core.records import Tool
from toolmark.language import value_survival
from toolmark.language.argument_facts import Fact, SpokenText, TextChange
from toolmark.perturb.text import disfluency_selection, hesitant_speech
from toolmark.perturb.text.disfluencies import CLASSES, FEATURES
from toolmark.perturb.text.word_changes import Guard

CLASS = {name: kind for kind, features in CLASSES.items() for name in features}
RICH = (
    "For my next holiday, can you find information about Paris and Vienna please? I want to stay "
    "for two days on Friday, and I have to retrieve all of the photos, so I am going to need "
    "your assistance to book Hotel Ritz for Sarah and to calculate the total of fifty euros."
)
FACTS = (
    Fact("f.city", ("Paris",)),
    Fact("f.hotel", ("Hotel Ritz",)),
    Fact("f.guest", ("Sarah",)),
    Fact("f.n", (50,)),
)


def _apply(repeat: int, text: str = RICH, on: tuple[str, ...] = FEATURES) -> SpokenText:
    tools = [Tool(name="f", parameters={"properties": {"q": {"enum": ["two days"]}}})]
    rng = seeds.make_rng(3, "item", repeat, "disfluency")
    return disfluency_selection.add_disfluencies(SpokenText(text), FACTS, tools, rng, features=on)


def test_the_seed_decides() -> None:
    assert _apply(0) == _apply(0)
    assert len({_apply(n).text for n in range(30)}) > 20


def test_one_of_a_class_within_budget_and_where_it_says() -> None:
    for n in range(150):
        said = _apply(n)
        kinds = [CLASS[change.feature] for change in said.changes]
        assert len(set(kinds)) == len(kinds) <= disfluency_selection.change_budget(RICH)
        words = said.text.split()
        for change in said.changes:
            after = change.after.split()
            assert words[change.at : change.at + len(after)] == after
        assert not value_survival.lost_facts(RICH, said.text, FACTS)
        assert "two days" in said.text.replace("two days,", "two days")


def test_every_feature_comes_up() -> None:
    plain = "Can you ask them what your uncle in Paris will do tomorrow?"
    texts = [(RICH, n) for n in range(100)] + [(plain, n) for n in range(100)]
    seen = {change.feature for text, n in texts for change in _apply(n, text).changes}
    assert seen == set(FEATURES)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_alone_is_the_only_one_and_off_is_gone(feature: str) -> None:
    alone = [_apply(n, on=(feature,)) for n in range(20)]
    assert {change.feature for said in alone for change in said.changes} == {feature}
    off = tuple(name for name in FEATURES if name != feature)
    seen = {change.feature for n in range(60) for change in _apply(n, on=off).changes}
    assert feature not in seen and seen


def test_a_short_text_gets_little() -> None:
    assert disfluency_selection.change_budget("Hi there") == 0
    assert disfluency_selection.change_budget("find me a good hotel") == 1
    budgets = [
        disfluency_selection.change_budget("please find me a hotel " * n) for n in range(1, 30)
    ]
    assert budgets == sorted(budgets) and budgets[-1] == 5


@pytest.mark.parametrize("own", ["You know", "you see,", "I mean,", "Well,", "LIKE", "Right."])
def test_no_marker_follows_the_same_one(own: str) -> None:
    words = f"{own} we could find a good hotel in town".split()
    bare = own.lower().strip(",.")
    drawn = [
        hesitant_speech.marker(words, seeds.make_rng(n, "i", 0, "m"), Guard()) for n in range(200)
    ]
    said = {found.changes[0].after.lower() for found in drawn if found}
    assert len(drawn) == 200 and None not in drawn
    assert not any(re.search(rf"\b{bare},", after) for after in said)
    assert any("you see," in after or "you know," in after for after in said)


def test_a_text_that_says_every_marker_gets_none() -> None:
    words = ["you", "know", "I", "mean", "like", "well", "right", "you", "see", "find", "it"]
    assert hesitant_speech.marker(words, seeds.make_rng(1, "i", 0, "m"), Guard()) is None


def test_changes_undone_give_the_text_back() -> None:
    for n in range(100):
        said = _apply(n)
        words = said.text.split()
        for change in sorted(said.changes, key=lambda change: -change.at):
            words[change.at : change.at + len(change.after.split())] = change.before.split()
        assert words == RICH.split()


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_leaves_guarded_words_alone(feature: str) -> None:
    words = RICH.split()
    everything = Guard(frozenset(range(len(words))), frozenset(range(len(words) + 1)))
    run = CLASSES[CLASS[feature]][feature]
    assert run(words, seeds.make_rng(1, "i", 0, feature), everything) is None


def test_a_feature_is_a_pure_function() -> None:
    words = tuple(RICH.split())
    for name in FEATURES:
        run = CLASSES[CLASS[name]][name]
        drawn = [run(words, seeds.make_rng(1, "i", 0, name), Guard()) for _ in range(2)]
        assert drawn[0] == drawn[1]


def test_the_changes_of_the_rewrite_are_recorded() -> None:
    first = TextChange("number", 3, "2", "two")
    said = disfluency_selection.add_disfluencies(
        SpokenText(RICH, (first,)), FACTS, (), seeds.make_rng(3, "item", 0, "d")
    )
    assert said.changes[0] == first
