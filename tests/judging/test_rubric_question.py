from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judging import judged_sums

from toolmark.core.json_codec import SURROGATE_MARK
from toolmark.core.records import Call, Reply, Result, Step, StopReason, Text, Trajectory
from toolmark.judging.episode_material import MAX_RESULT_CHARS
from toolmark.judging.evidence_fence import fence_evidence, read_fenced
from toolmark.judging.rubric_question import (
    MAX_CALLS,
    MAX_REPLY_CHARS,
    RubricQuestion,
    episode_evidence,
    parse_reply,
)

TOKEN = "ab" * 16
GOOD = {"token": TOKEN, "reason": "all is there", "verdict": "pass"}


def _value(text: str, scale: str = "pass", stop: StopReason = "stop") -> float | None:
    reply = Reply(text=text, stop=stop)
    value, reason = parse_reply(reply, "pass" if scale == "pass" else "points", TOKEN)
    assert (value is None) == bool(reason)
    return value


def test_one_json_object_with_the_token_is_an_answer() -> None:
    text = json.dumps(GOOD)
    for said in (text, f" \n{text}\n", f"```json\n{text}\n```", f"```\n{text}\n```",
                 f"<think>pass? fail?</think>{text}", f"pass? fail?</think>\n{text}"):  # fmt: skip
        assert _value(said) == 1.0
    assert _value(json.dumps({**GOOD, "verdict": "fail"})) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pass",
        '"pass"',
        "[]",
        "null",
        json.dumps([GOOD]),
        f"Here it is: {json.dumps(GOOD)}",
        f"{json.dumps(GOOD)} That is all.",
        f"{json.dumps(GOOD)}{json.dumps(GOOD)}",
        json.dumps({**GOOD, "token": "cd" * 16}),
        json.dumps({**GOOD, "token": ""}),
        json.dumps({**GOOD, "token": [TOKEN]}),
        json.dumps({**GOOD, "verdict": "Pass"}),
        json.dumps({**GOOD, "verdict": True}),
        json.dumps({**GOOD, "verdict": ["pass"]}),
        json.dumps({**GOOD, "verdict": {"pass": 1}}),
        json.dumps({**GOOD, "score": 1}),
        json.dumps({name: value for name, value in GOOD.items() if name != "reason"}),
        json.dumps(GOOD).replace('"verdict"', '"verdict": "fail", "verdict"'),
        json.dumps(GOOD).replace('"reason"', '"token": "x", "reason"'),
        json.dumps(GOOD)[:-1],
        "[" * 100_000,
        json.dumps({**GOOD, "reason": "x" * MAX_REPLY_CHARS}),
    ],
)
def test_anything_else_is_no_answer(text: str) -> None:
    assert _value(text) is None


@pytest.mark.parametrize("stop", ["length", "refused", "malformed", "over_long"])
def test_a_reply_that_did_not_end_by_itself_is_no_answer(stop: StopReason) -> None:
    assert _value(json.dumps(GOOD), stop=stop) is None


@pytest.mark.parametrize(
    ("points", "value"),
    [("0", 0.0), ("10", 1.0), ("7", 0.7), ("7.0", 0.7), ("7.5", None), ("11", None), ("-1", None),
     ("true", None), ('"7"', None), ("NaN", None), ("Infinity", None), ("1e400", None),
     ("9" * 5000, None), ("[7]", None)],
)  # fmt: skip
def test_points_are_whole_numbers_of_the_scale(points: str, value: float | None) -> None:
    text = f'{{"token": "{TOKEN}", "reason": "", "points": {points}}}'
    assert _value(text, "points") == value


plain_text = st.text(st.characters(codec="utf-8", exclude_characters=SURROGATE_MARK))
plain_values = st.recursive(
    plain_text | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_text, inner, max_size=3),
    max_leaves=8,
)


@given(plain_values)
def test_evidence_is_read_back_as_it_was_and_stands_on_one_line(value: object) -> None:
    fenced = fence_evidence({"answer": value})
    assert len(fenced.text.splitlines()) == 3
    read = read_fenced(fenced.text, fenced.token)["answer"]
    assert json.dumps(read, sort_keys=True) == json.dumps(value, sort_keys=True)


def test_equal_evidence_of_other_episodes_has_another_token() -> None:
    tokens = {fence_evidence({"answer": "1"}, salt).token for salt in ("a 0", "a 1", "b 0")}
    assert len(tokens) == 3
    assert fence_evidence({"answer": "1"}, "a 0") == fence_evidence({"answer": "1"}, "a 0")


def test_long_episodes_are_cut_and_say_so() -> None:
    call = Call(name="f", arguments="{}")
    result = Result(parts=(Text("r" * (MAX_RESULT_CHARS + 5)),))
    steps = tuple(
        Step(reply=Reply(), calls=(call,), results=(result,)) for _ in range(MAX_CALLS + 7)
    )
    trajectory = Trajectory(
        task="sum-0", steps=steps, answer="a" * (MAX_RESULT_CHARS + 9), state=["s" * 100_000]
    )
    shown = episode_evidence(judged_sums.tasks(1)[0], trajectory, ("calls", "answer", "state"))
    assert len(shown["calls"]) == MAX_CALLS + 1
    assert shown["calls"][MAX_CALLS // 2] == "[7 more calls]"
    assert shown["calls"][0]["result"].endswith("[5 more characters]")
    assert shown["answer"].endswith("[9 more characters]")
    assert len(shown["state"]) < MAX_RESULT_CHARS + 100


def test_calls_that_were_not_executed_have_no_result() -> None:
    calls = (Call(name="f", arguments='{"a": 1}'), Call(name="g", arguments="no JSON"))
    step = Step(reply=Reply(), calls=calls, results=(Result(parts=(Text("done"),)),))
    shown = episode_evidence(
        judged_sums.tasks(1)[0], Trajectory(task="sum-0", steps=(step,)), ("calls",)
    )
    assert shown["calls"] == [
        {"name": "f", "arguments": {"a": 1}, "result": "done"},
        {"name": "g", "arguments": "no JSON", "result": None},
    ]


def test_the_form_depends_on_all_that_is_asked() -> None:
    base = RubricQuestion(criteria=("One.", "Two."))
    others = [
        RubricQuestion(criteria=("Two.", "One.")),
        RubricQuestion(criteria=("One.", "Two."), scale="points"),
        RubricQuestion(criteria=("One.", "Two."), show=("answer",)),
    ]
    forms = [each.forms()["rubric"] for each in (base, *others)]
    assert len(set(forms)) == 4
    assert len(set(base.forms().values())) == 2
    voted = RubricQuestion(criteria=("One.", "Two."), n_votes=3).forms()
    assert voted["rubric-3"] == base.forms()["rubric"]
    assert len(voted) == 6
