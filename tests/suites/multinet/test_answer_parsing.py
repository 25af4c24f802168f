"""Laws of reading: what is written is read back, by text and by call; calls as text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmark.core.records import Call
from toolmark.suites.multinet import answer_parsing
from toolmark.suites.multinet.answer_parsing import GRADING_RULES, GradingRule
from toolmark.suites.multinet.baseline_players import format_answer
from toolmark.suites.multinet.frame_records import (
    ActionVector,
    AnswerSpace,
    Choice,
    Distribution,
    Form,
    FreeText,
    Truth,
)
from toolmark.suites.multinet.multinet_families import Family

JOINT = tuple(map(str, range(36)))
WILD = 'text with "quotes", (brackets) and \ud800 half a letter'


def truth(space: AnswerSpace, right: Any, form: Form = "text", family: Family = "odinw") -> Truth:
    return Truth(family=family, source="synthetic", form=form, space=space, truth=right, group="g")


def read(known: Truth, reading: GradingRule) -> Any:
    (reply,) = format_answer(known, known.truth)
    if known.form == "tool":
        return answer_parsing.parse_call_answer(known, reply.calls, reading)
    return answer_parsing.parse_text_answer(known, reply.text, reading)


floats = st.floats(allow_nan=False, allow_infinity=False)
vectors = st.lists(floats, min_size=1, max_size=14).map(tuple)


@given(vectors, st.sampled_from(["text", "tool"]), st.sampled_from(GRADING_RULES))
def test_a_vector_is_read_as_it_is_written(made: Any, form: Form, reading: GradingRule) -> None:
    n = len(made)
    space = ActionVector(
        names=tuple(map(str, range(n))), low=(0.0,) * n, high=(1.0,) * n, mean=made
    )
    assert read(truth(space, made, form, "openx"), reading).value == made


@given(st.integers(0, 35), st.sampled_from(["text", "tool"]), st.sampled_from(GRADING_RULES),
       st.sampled_from(["odinw", "overcooked"]))  # fmt: skip
def test_a_choice_is_read_as_it_is_written(
    right: int, form: Form, reading: GradingRule, family: Family
) -> None:
    assert read(truth(Choice(options=JOINT), right, form, family), reading).value == right
    certain = read(truth(Distribution(options=JOINT), right, form, "overcooked"), reading).value
    assert certain == tuple(float(k == right) for k in range(36))


@pytest.mark.parametrize("form", ["text", "tool"])
@pytest.mark.parametrize("right", ["two", WILD, "  yes "])
def test_words_are_read_as_they_are_written(right: str, form: Form) -> None:
    for reading in GRADING_RULES:
        assert read(truth(FreeText(), right, form, "sqa3d"), reading).value == right


@pytest.mark.parametrize(
    ("said", "paper", "reference"),
    [
        ("0", 0, 0), (" 1\n", 1, 1), ("Solution 1: because", None, 1), ("+1", None, 1),
        ("2", None, None), ("Coordinate 1", None, None), ("one", None, None), ("01", None, 1),
    ],
)  # fmt: skip
def test_piqa_is_read_strictly_by_the_paper(said: str, paper: Any, reference: Any) -> None:
    known = truth(Choice(options=("a", "b")), 0, family="piqa")
    assert answer_parsing.parse_text_answer(known, said, "paper").value == paper
    assert answer_parsing.parse_text_answer(known, said, "reference").value == reference


def test_only_a_whole_number_out_of_range_can_be_clipped() -> None:
    known = truth(Choice(options=("a", "b", "c")), 0)
    assert answer_parsing.parse_text_answer(known, "7", "paper").raw == 7
    assert answer_parsing.parse_text_answer(known, "-2", "paper").raw == -2
    for digits in (400, 4_300, 4_301, 100_000):
        assert answer_parsing.parse_text_answer(known, "9" * digits, "paper").raw == 2**53
        assert answer_parsing.parse_text_answer(known, "-" + "9" * digits, "paper").raw == -(2**53)
        tool = truth(Choice(options=("a", "b", "c")), 0, "tool")
        made = [Call(name="choose", arguments=f'{{"option": {"9" * digits}}}')]
        assert answer_parsing.parse_call_answer(tool, made, "paper").raw == 2**53
    assert answer_parsing.parse_text_answer(known, "seven", "paper").raw is None
    assert answer_parsing.parse_text_answer(known, "1", "paper").raw is None


@settings(max_examples=300)
@given(st.text(alphabet="01_+- x\u0663\uff13", max_size=8))
def test_a_whole_number_is_what_int_takes(words: str) -> None:
    try:
        wanted = int(words.strip())
    except ValueError:
        wanted = None
    assert answer_parsing.parse_integer(words.strip()) == wanted


@given(st.integers(3_990, 4_010), st.integers(0, 9), st.sampled_from(["", "+", "-"]))
def test_digits_are_counted_by_what_they_say(zeros: int, last: int, sign: str) -> None:
    assert answer_parsing.parse_integer(f"{sign}{'0' * zeros}{last}") == int(f"{sign}{last}")
    far = answer_parsing.parse_integer(f"{sign}1{'0' * zeros}{last}")
    assert far is not None and abs(far) > 2**53 and (far < 0) == (sign == "-")


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
    for reading in GRADING_RULES:
        found = answer_parsing.parse_call_answer(known, calls, reading)
        assert found.value is None and found.fault and found.cause == cause


def test_a_whole_number_may_be_written_with_a_fraction_of_nothing() -> None:
    known = truth(Choice(options=("a", "b", "c")), 1, "tool")
    made = [Call(name="choose", arguments='{"option": 1.0}')]
    assert answer_parsing.parse_call_answer(known, made, "paper").value == 1


@pytest.mark.parametrize("name", ["north", "JUMP", 4, None, ["STAY"]])
def test_only_the_names_of_actions_are_actions(name: Any) -> None:
    known = truth(Choice(options=JOINT), 28, "tool", "overcooked")
    made = [Call(name="act", arguments=json.dumps({"player_0": "STAY", "player_1": name}))]
    assert answer_parsing.parse_call_answer(known, made, "paper").cause == "wrong_value"


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
    assert answer_parsing.extract_calls(said, "paper") == paper
    assert answer_parsing.extract_calls(said, "reference") == reference


@settings(max_examples=200)
@given(st.text(alphabet="ab(),'\"[] \n\\", max_size=60), st.sampled_from(GRADING_RULES))
def test_any_text_is_read(said: str, reading: GradingRule) -> None:
    for call in answer_parsing.extract_calls(said, reading):
        assert call.endswith(")") and "(" in call


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("say(it's fine) ls()", ("ls()",)), ("a(b] ls()", ("ls()",)), ("a([ls()", ("ls()",)),
        ("a(b(c), '", ("b(c)",)), ("a(b(c)] d()", ("b(c)", "d()")), ("a(\\'b(\\'ls()", ("ls()",)),
        ("say('ls()'", ()), ("1) ls()", ("ls()",)), ("(ls())", ("ls()",)),
    ],
)  # fmt: skip
def test_what_does_not_close_costs_no_other_call(said: str, found: tuple[str, ...]) -> None:
    assert answer_parsing.extract_calls(said, "paper") == found


@given(st.lists(st.sampled_from(["f()", "g(a='(')", "h([1, {2: ')'}])", "p.q(r(s), \"]\")"])),
       st.sampled_from([" ", ", ", "] and [", "\n", ") "]))  # fmt: skip
def test_calls_are_found_whatever_stands_between_them(calls: list[str], between: str) -> None:
    assert answer_parsing.extract_calls(f"So: {between.join(calls)}.", "paper") == tuple(calls)


HOSTILE = {
    "openings": "a(" * 2**19, "one word": "a" * 2**20, "brackets": "(" * 2**20,
    "quotes": "a('" * 2**18, "marks": r"a(\'" * 2**18, "numbers": f"[{'1,' * 2**19}]",
    "digits": "9" * 2**20, "calls": "f()" * 2**18, "blanks": " " * 2**20 + "x",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_is_no_list_and_no_turn_of_calls(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(said: str) -> Any:
        raise AssertionError("it is refused before anything is made of it")

    monkeypatch.setattr(answer_parsing, "_parse_literal", fail)
    monkeypatch.setattr(answer_parsing, "_balanced_spans", fail)
    said = HOSTILE[name]
    motion = ActionVector(names=("x", "y"), low=(0.0,) * 2, high=(1.0,) * 2, mean=(0.5,) * 2)
    for reading in GRADING_RULES:
        assert answer_parsing.extract_calls(said, reading) == ()
        for space in (Distribution(options=JOINT), motion, FreeText()):
            assert (
                "at most" in answer_parsing.parse_text_answer(truth(space, 0), said, reading).fault
            )
        assert (
            answer_parsing.parse_text_answer(truth(Choice(options=JOINT), 0), said, reading).value
            is None
        )


@pytest.mark.parametrize("name", HOSTILE)
def test_the_longest_text_that_is_read_is_read_once(name: str) -> None:
    """Each opening looked for its own end once, and a turn cost the square of its length."""
    said = HOSTILE[name][: answer_parsing.MAX_TEXT_CHARS - 1] + ")"
    steps = sum(1 for _ in answer_parsing._TOKEN.finditer(said))
    seen = 0

    class Counted(str):
        def __getitem__(self, at: Any) -> str:
            nonlocal seen
            seen += 1
            return super().__getitem__(at)

    list(answer_parsing._balanced_calls(Counted(said)))
    assert seen <= 2 * steps
