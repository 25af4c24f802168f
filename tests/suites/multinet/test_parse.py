"""Laws of reading: what is written is read back, by text and by call; calls as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmark.suites.multinet import parse
from toolmark.suites.multinet.frame import Choice, Family, Form, Motion, Odds, Space, Truth, Words
from toolmark.suites.multinet.parse import READINGS, Reading
from toolmark.suites.multinet.players import replies
from toolmark.types import Call

JOINT = tuple(map(str, range(36)))
WILD = 'text with "quotes", (brackets) and \ud800 half a letter'


def truth(space: Space, right: Any, form: Form = "text", family: Family = "odinw") -> Truth:
    return Truth(family=family, source="synthetic", form=form, space=space, truth=right, group="g")


def read(known: Truth, reading: Reading) -> Any:
    (reply,) = replies(known, known.truth)
    if known.form == "tool":
        return parse.call(known, reply.calls, reading)
    return parse.text(known, reply.text, reading)


floats = st.floats(allow_nan=False, allow_infinity=False)
vectors = st.lists(floats, min_size=1, max_size=14).map(tuple)


@given(vectors, st.sampled_from(["text", "tool"]), st.sampled_from(READINGS))
def test_a_vector_is_read_as_it_is_written(made: Any, form: Form, reading: Reading) -> None:
    n = len(made)
    space = Motion(names=tuple(map(str, range(n))), low=(0.0,) * n, high=(1.0,) * n, mean=made)
    assert read(truth(space, made, form, "openx"), reading).value == made


@given(st.integers(0, 35), st.sampled_from(["text", "tool"]), st.sampled_from(READINGS),
       st.sampled_from(["odinw", "overcooked"]))  # fmt: skip
def test_a_choice_is_read_as_it_is_written(
    right: int, form: Form, reading: Reading, family: Family
) -> None:
    assert read(truth(Choice(options=JOINT), right, form, family), reading).value == right
    sure = read(truth(Odds(options=JOINT), right, form, "overcooked"), reading).value
    assert sure == tuple(float(k == right) for k in range(36))


@pytest.mark.parametrize("form", ["text", "tool"])
@pytest.mark.parametrize("right", ["two", WILD, "  yes "])
def test_words_are_read_as_they_are_written(right: str, form: Form) -> None:
    for reading in READINGS:
        assert read(truth(Words(), right, form, "sqa3d"), reading).value == right


@pytest.mark.parametrize(
    ("said", "paper", "reference"),
    [
        ("0", 0, 0), (" 1\n", 1, 1), ("Solution 1: because", None, 1), ("+1", None, 1),
        ("2", None, None), ("Coordinate 1", None, None), ("one", None, None), ("01", None, 1),
    ],
)  # fmt: skip
def test_piqa_is_read_strictly_by_the_paper(said: str, paper: Any, reference: Any) -> None:
    known = truth(Choice(options=("a", "b")), 0, family="piqa")
    assert parse.text(known, said, "paper").value == paper
    assert parse.text(known, said, "reference").value == reference


def test_only_a_whole_number_out_of_range_can_be_clipped() -> None:
    known = truth(Choice(options=("a", "b", "c")), 0)
    assert parse.text(known, "7", "paper").raw == 7
    assert parse.text(known, "-2", "paper").raw == -2
    assert parse.text(known, "9" * 400, "paper").raw == 2**53
    assert parse.text(known, "seven", "paper").raw is None
    assert parse.text(known, "1", "paper").raw is None


CALLS: dict[str, tuple[list[Call], str]] = {
    "none": ([], "missing_call"),
    "two": ([Call(name="choose", arguments='{"option": 1}')] * 2, "extra_call"),
    "another": ([Call(name="pick", arguments='{"option": 1}')], "unknown_tool"),
    "no JSON": ([Call(name="choose", arguments="{option")], "format"),
    "no object": ([Call(name="choose", arguments="[1]")], "format"),
    "without": ([Call(name="choose", arguments="{}")], "missing_argument"),
    "more": ([Call(name="choose", arguments='{"option": 1, "why": ""}')], "unexpected_argument"),
    "text": ([Call(name="choose", arguments='{"option": "1"}')], "wrong_type"),
    "truth": ([Call(name="choose", arguments='{"option": true}')], "wrong_type"),
    "half": ([Call(name="choose", arguments='{"option": 1.5}')], "wrong_type"),
    "beyond": ([Call(name="choose", arguments='{"option": 3}')], "wrong_value"),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_fault_of_a_call_has_its_cause(name: str) -> None:
    calls, cause = CALLS[name]
    known = truth(Choice(options=("a", "b", "c")), 1, "tool")
    for reading in READINGS:
        found = parse.call(known, calls, reading)
        assert found.value is None and found.fault and found.cause == cause


def test_a_whole_number_may_be_written_with_a_fraction_of_nothing() -> None:
    known = truth(Choice(options=("a", "b", "c")), 1, "tool")
    made = [Call(name="choose", arguments='{"option": 1.0}')]
    assert parse.call(known, made, "paper").value == 1


@pytest.mark.parametrize("name", ["north", "JUMP", 4, None, ["STAY"]])
def test_only_the_names_of_actions_are_actions(name: Any) -> None:
    known = truth(Choice(options=JOINT), 28, "tool", "overcooked")
    made = [Call(name="act", arguments=json.dumps({"player_0": "STAY", "player_1": name}))]
    assert parse.call(known, made, "paper").cause == "wrong_value"


# --- calls as text ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "paper", "reference"),
    [
        ("[ls(), cd(folder='a')]", ("ls()", "cd(folder='a')"), ("ls()", "cd(folder='a')")),
        ("post(content='a (b) c', tags=f(x))", ("post(content='a (b) c', tags=f(x))",),
         ("post(content='a (b)", "f(x)")),
        ("say(text='a)b')", ("say(text='a)b')",), ("say(text='a)",)),
        ("say(text='a\n  b')", ("say(text='a\n  b')",), ("say(text='a b')",)),
        ("First ls(), then open( it", ("ls()",), ("ls()",)),
        ("Files.ls()", ("Files.ls()",), ("ls()",)),
        ("nothing to do", (), ()),
        ("(a)", (), ()),
    ],
)  # fmt: skip
def test_calls_are_found_in_text(said: str, paper: Any, reference: Any) -> None:
    assert parse.calls(said, "paper") == paper
    assert parse.calls(said, "reference") == reference


@settings(max_examples=200)
@given(st.text(alphabet="ab(),'\"[] \n\\", max_size=60), st.sampled_from(READINGS))
def test_any_text_is_read(said: str, reading: Reading) -> None:
    for call in parse.calls(said, reading):
        assert call.endswith(")") and "(" in call


@pytest.mark.parametrize("said", ["a(" * 50_000, "a" * 600_000, "(" * 600_000, "a('" * 50_000])
def test_hostile_text_is_read_in_time(said: str) -> None:
    for reading in READINGS:
        parse.calls(said, reading)
    for space in (Choice(options=JOINT), Odds(options=JOINT), Words()):
        parse.text(truth(space, 0), said, "paper")
