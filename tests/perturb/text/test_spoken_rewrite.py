"""The rewrite says what is written, loses nothing, and ends."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolmark.core import seeds
from toolmark.language import value_survival
from toolmark.language.argument_facts import Fact, SpokenText
from toolmark.perturb.text import disfluency_selection, spoken_rewrite


def _rewrite(
    text: str, *values: object, on: tuple[str, ...] = spoken_rewrite.FEATURES, repeat: int = 0
) -> SpokenText:
    facts = [Fact(f"p{n}", (value,)) for n, value in enumerate(values)]
    return spoken_rewrite.rewrite_request(
        text, facts, seeds.make_rng(1, "i", repeat, "spoken"), features=on
    )


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("It costs $45.50 today.", "It costs forty-five dollars and fifty cents today."),
        ("Born on 2023-04-25?", "Born on April twenty-fifth, twenty twenty-three?"),
        ("Meet at 5:30 PM.", "Meet at five thirty P M."),
        ("Mail a.bo@x.com!", "Mail A dot B O at X dot com!"),
        ("It runs 5 m/s^2 or 25°C.", "It runs five meters per second squared or "
         "twenty-five degrees Celsius."),
        ("A 10-day trip", "A ten day trip"),
        ("Buy 100 of AAPL", "Buy one hundred of A A P L"),
        ("plot 3x^2 - 2x + 1", "plot three X squared minus two X plus one"),
        ("a size of 12x18", "a size of twelve by eighteen"),
        ("values [1, 2.5, -3]", "values, one, two point five, minus three"),
        ("user USR005", "user U S R zero zero five"),
        ("I am sure it is not 7%", "I'm sure it isn't seven percent"),
    ],
)  # fmt: skip
def test_signs_are_said_as_people_say_them(written: str, said: str) -> None:
    assert _rewrite(written).text == said


def test_a_name_nobody_could_write_down_is_spelled_once() -> None:
    said = _rewrite("Tell me about Zyxxtown and Zyxxtown again", "Zyxxtown").text
    assert said == "Tell me about Zyxxtown, that's Z Y X X T O W N, and Zyxxtown again" or (
        "Zyxxtown, that's Z Y X X T O W N, and Zyxxtown again" in said
    )
    assert said.count("Z Y X X") == 1


def test_a_fact_keeps_its_wording() -> None:
    said = _rewrite("Send the text I am late to Bob", "I am late").text
    assert "I am late" in said
    assert "I'm late" in _rewrite("Send the text I am late to Bob").text


@pytest.mark.parametrize("feature", spoken_rewrite.FEATURES)
def test_a_feature_that_is_off_changes_nothing(feature: str) -> None:
    text = (
        "Find all (5 km) runs on 2023-04-25 at 10:15 for $5, I am in USA, see r2d2.txt & "
        "Zyxxtown, 7 times"
    )
    some = [_rewrite(text, "Zyxxtown", repeat=n) for n in range(10)]
    assert feature in {change.feature for said in some for change in said.changes}
    on = tuple(name for name in spoken_rewrite.FEATURES if name != feature)
    assert feature not in {change.feature for change in _rewrite(text, "Zyxxtown", on=on).changes}


def test_nothing_on_changes_nothing() -> None:
    assert _rewrite("Find 5 things (now)", on=()) == SpokenText("Find 5 things (now)")


HOSTILE = [
    "", " ", "\n" * 10_000, "@" * 10_000, "-5" * 5_000, "1" * 10_000, "9." * 5_000, "a_" * 5_000,
    "$" + "9" * 9_000 + "." + "1" * 900, "[{(" * 3_333, "twenty " * 1_500, "million " * 1_300,
    "²" * 10_000, "٣٤ " * 3_000, "漢" * 10_000, "{:" * 5_000, "🂡" * 2_000, "def " * 2_500,
    "A.B." * 2_500,
    "12:30" * 2_000, "\x00\ud7ff‮" * 3_000, "May 5 " * 1_600, "one hundred " * 900,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_ends(text: str) -> None:
    facts = [Fact("a", ("x@y", 5, "May 5")), Fact("b", (text[:50] or "z",))]
    said = spoken_rewrite.rewrite_request(text, facts, seeds.make_rng(1, "i", 0, "spoken"))
    assert not value_survival.lost_facts(text, said.text, facts)
    out = disfluency_selection.add_disfluencies(
        said, facts, (), seeds.make_rng(1, "i", 0, "disfluency")
    )
    assert not value_survival.lost_facts(text, out.text, facts)
    spoken_rewrite.exclusion_reason(text)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80), st.text(min_size=1, max_size=12) | st.integers() | st.floats())
@example("1/2 ¾ ½ Ⅷ ๓ ۵:۳۰", "½")
@example("²", 2)
def test_every_fact_survives_in_every_text(text: str, value: str | int | float) -> None:
    written = f"find {value} in {text}"
    facts = [Fact("p", (value,))]
    said = spoken_rewrite.rewrite_request(written, facts, seeds.make_rng(1, "i", 0, "spoken"))
    out = disfluency_selection.add_disfluencies(
        said, facts, (), seeds.make_rng(1, "i", 0, "disfluency")
    )
    assert not value_survival.lost_facts(written, said.text, facts)
    assert not value_survival.lost_facts(written, out.text, facts)


@pytest.mark.parametrize(
    "text",
    ["Find me 3 hotels (cheap!) in Paris, at $50-$80; e.g. 'Ritz'?", "f(x) = x^2 + 3x", "5°C",
     "Mail a@b.com: \"hi\" [1, 2]", "Straße nach Zürich für 5 €", "cost: 50% & more"],
)  # fmt: skip
def test_ordinary_punctuation_is_not_special(text: str) -> None:
    assert spoken_rewrite.exclusion_reason(text) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [("天气如何", "another script"), ("8♥ and 9♠", "pictures"), ("<b>hi</b>", "markup"),
     ('{"a": 1}', "structured data"), ("SELECT x FROM t WHERE (a)", "code"),
     (r"\frac{1}{2}", "notation"), ("  ", "empty"), ("so ####### what", "a run of signs")],
)  # fmt: skip
def test_what_no_talker_says_is_left_out(text: str, reason: str) -> None:
    assert spoken_rewrite.exclusion_reason(text) == reason
