"""Laws of the verdicts: what an answer is worth in each reading, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

import toolmark as tm
from toolmark.core import seeds, sentence_encoder
from toolmark.core.errors import UsageError
from toolmark.core.records import Call, Cause, Reply, Step, StopReason, Task, Trajectory, Verdict
from toolmark.scoring.episode import Episode
from toolmark.suites.multinet import answer_scoring, conversation_calls
from toolmark.suites.multinet.answer_parsing import GRADING_RULES
from toolmark.suites.multinet.frame_records import (
    ActionVector,
    AnswerSpace,
    Choice,
    Distribution,
    Form,
    FreeText,
    FunctionCalls,
    Truth,
)
from toolmark.suites.multinet.multinet_families import Family

JOINT = tuple(map(str, range(36)))
MOTION = ActionVector(names=("x", "y", "z"), low=(-1.0, 0.0, 0.0), high=(1.0, 4.0, 2.0),
                mean=(0.0, 1.0, 1.0), slices={"base": (0, 1), "arm": (1, 3)})  # fmt: skip


def task(
    space: AnswerSpace, right: Any, form: Form = "text", family: Family = "odinw", **more: Any
) -> Task:
    guesses = more.pop("baseline_answers", {})
    known = Truth(family=family, source="synthetic", form=form, space=space, truth=right,
                  group="g", baseline_answers=guesses)  # fmt: skip
    return Task(id="t", suite="s", turns=(), data={**msgspec.to_builtins(known), **more})


def judged(asked: Task, *said: str | Reply) -> dict[str, Verdict]:
    replies = [Reply(text=each) if isinstance(each, str) else each for each in said]
    steps = tuple(Step(reply=r, turn=at, calls=r.calls) for at, r in enumerate(replies))
    return answer_scoring.score_episode(Episode(asked, Trajectory(task=asked.id, steps=steps)))


def call(name: str, arguments: str) -> Reply:
    return Reply(calls=(Call(name=name, arguments=arguments),))


# --- choices and probabilities ----------------------------------------------------------


def test_a_choice_is_right_wrong_or_invalid() -> None:
    asked = task(Choice(options=("a", "b", "c")), 1, baseline_answers={"majority": 2})
    known = {"valid": 1.0, "classes": 3.0, "truth": 1.0, "guess.majority": 2.0}
    right, wrong, beyond = (judged(asked, said)["paper"] for said in ("1", "2", "7"))
    assert (right.value, right.parts, right.labels) == (1.0, {**known, "predicted": 1.0}, ())
    assert (wrong.value, wrong.parts) == (0.0, {**known, "predicted": 2.0})
    assert wrong.labels[0].cause == "wrong_answer"
    assert beyond.parts == {**known, "valid": 0.0, "predicted": -1.0, "raw": 7.0}
    assert (beyond.labels[0].cause, beyond.labels[0].suite_cause) == ("wrong_value", "invalid")


def test_overcooked_is_scored_by_player_too() -> None:
    asked = task(Choice(options=JOINT), 28, family="overcooked")
    parts = judged(asked, "29")["paper"].parts
    assert [parts[f"{name}_{k}"] for name in ("truth", "predicted") for k in (0, 1)] == [4, 4, 4, 5]
    assert [judged(asked, "x")["paper"].parts[f"predicted_{k}"] for k in (0, 1)] == [-1, -1]


def test_players_are_judged_by_their_own_probabilities() -> None:
    """The likeliest joint action need not be made of each player's likeliest."""
    shares = [0.0] * 36
    shares[0], shares[6 * 1 + 2], shares[6 * 1 + 3] = 0.4, 0.3, 0.3
    asked = task(Distribution(options=JOINT), 6 * 1 + 2, family="overcooked")
    parts = judged(asked, str(shares))["paper"].parts
    assert (parts["predicted"], parts["predicted_0"], parts["predicted_1"]) == (0, 1, 0)
    assert parts["brier_0"] == pytest.approx(0.8) and parts["brier_1"] == pytest.approx(1.4)
    assert parts["brier"] == pytest.approx(2 * (1 - 0.3)) and parts["p"] == 0.3


def test_invalid_probabilities_have_the_worst_error_of_all() -> None:
    asked = task(
        Distribution(options=JOINT),
        28,
        family="overcooked",
        baseline_answers={"uniform": (1 / 36,) * 36},
    )
    parts = judged(asked, "[0.5, 0.5]")["paper"].parts
    for name in ("brier", "brier_sq", "brier_0", "brier_1"):
        assert parts[name] == 2.0
    assert "p" not in parts and "top" not in parts and parts["predicted"] == -1
    assert parts["guess.uniform.brier"] == pytest.approx(2 * 35 / 36)


def test_the_reference_takes_probabilities_that_are_none() -> None:
    asked = task(Distribution(options=("a", "b", "c")), 0)
    found = judged(asked, "[2, -1, 0]")
    assert found["paper"].parts["valid"] == 0 and found["reference"].parts["valid"] == 1
    odd = judged(asked, "[NaN, 0.5, 0.5]")["reference"].parts
    assert odd["valid"] == 1 and odd["predicted"] == 0
    assert not {"p", "top"} & odd.keys()  # a nan is not a number


@pytest.mark.parametrize("said", ["[NaN, 0.5, 0.5]", "[NaN, NaN, NaN]"])
def test_not_a_number_costs_what_an_invalid_answer_does(said: str) -> None:
    """Without an error the row counted, and cost nothing."""
    parts = judged(task(Distribution(options=("a", "b", "c")), 2), said)["reference"].parts
    assert parts["valid"] == 1 and (parts["brier"], parts["brier_sq"]) == (2, 2)


def test_every_player_has_an_error_whatever_was_said() -> None:
    asked = task(Distribution(options=JOINT), 28, family="overcooked")
    for said in (f"[NaN{', 0' * 34}, 1]", f"[1e308, -1e308, 1{', 0' * 33}]",
                 f"[1e308, -1e308, 1e308, -1e308, 1{', 0' * 31}]"):  # fmt: skip
        parts = judged(asked, said)["reference"].parts
        assert parts["valid"] == 1 and np.isfinite(list(parts.values())).all()
        for name in ("brier", "brier_sq", "brier_0", "brier_1"):
            assert parts[name] >= 1, name


# --- vectors ----------------------------------------------------------------------------


def test_a_vector_is_compared_with_the_training_mean() -> None:
    asked = task(
        MOTION, (1.0, 1.0, 0.0), family="openx", baseline_answers={"previous": (1.0, 1.0, 0.5)}
    )
    found = judged(asked, "[1, 1, 0.9]")["paper"]
    assert found.parts["mae"] == pytest.approx(0.3) and found.parts["base_mae"] == 2 / 3
    assert found.parts["mae.base"] == 0 and found.parts["mae.arm"] == pytest.approx(0.45)
    assert found.parts["base_mse.arm"] == 0.5
    assert found.parts["guess.previous.mae"] == pytest.approx(0.5 / 3)
    assert found.value == 1.0
    far = judged(asked, "[1, 1, 3]")["paper"]
    assert (far.value, far.labels[0].suite_cause) == (0.0, "farther")


def test_an_invalid_vector_costs_what_its_rule_says() -> None:
    asked = task(MOTION, (1.0, 1.0, 0.0), family="openx")
    found = judged(asked, "[1, 2]")
    for verdict in found.values():
        assert verdict.value == 0 and verdict.parts["valid"] == 0
    assert found["paper"].parts["mae"] == found["paper"].parts["base_mae"] == 2 / 3
    assert found["reference"].parts["mae"] == pytest.approx((2 + 4 + 2) / 3)
    assert found["reference"].parts["mse"] == pytest.approx((4 + 16 + 4) / 3)
    assert found["reference"].parts["mae.base"] == 2


def test_a_perfect_vector_is_right_where_the_mean_is_as_good() -> None:
    asked = task(MOTION, MOTION.mean, family="openx")
    assert judged(asked, str(list(MOTION.mean)))["paper"].value == 1
    assert judged(asked, "[0, 1, 1.001]")["paper"].labels[0].suite_cause == "farther"


def test_a_huge_vector_is_only_far() -> None:
    parts = judged(task(MOTION, (1.0, 1.0, 0.0), family="openx"), "[1e308, 1e308, 1e308]")
    assert parts["paper"].parts["valid"] == 1
    assert np.isfinite(list(parts["paper"].parts.values())).all()


# --- words ------------------------------------------------------------------------------


def test_words_are_compared_without_case_and_marks_by_the_paper() -> None:
    asked = task(
        FreeText(), "Brown table.", family="sqa3d", baseline_answers={"majority": "brown table"}
    )
    found = judged(asked, "brown  Table!")
    assert (found["paper"].value, found["reference"].value) == (1, 0)
    assert judged(asked, "brown table")["reference"].value == 1
    assert found["paper"].parts == {"valid": 1.0, "exact": 1.0, "guess.majority": 1.0}
    assert judged(asked, " \n")["paper"].parts["valid"] == 0


# --- calls ------------------------------------------------------------------------------

TURNS = (("cd(folder='a')", "ls()"), ("mv(source='x', destination='y')",))
NAMES = {"cd": ["folder"], "ls": [], "mv": ["source", "destination"]}


def calls(form: Form = "text") -> Task:
    return task(
        FunctionCalls(), TURNS, form, "bfcl", parameters=NAMES, baseline_answers={"majority": TURNS}
    )


@pytest.mark.parametrize(
    ("said", "exact", "flat", "ast"),
    [
        (("[cd(folder='a'), ls()]", "mv(source='x', destination='y')"), 1, 1, 1),
        (("[cd(folder='a')]", "ls() mv(source='x', destination='y')"), 0, 1, 0),
        (("cd(folder='a') ls()", "mv(source='x',destination='y')"), 0, 0, 1),
        (("cd('a') ls()", "mv(destination='y', source='x')"), 0, 0, 1),
        (("ls() cd(folder='a')", "mv(source='x', destination='y')"), 0, 0, 0),
        (("cd(folder='a') ls()", "mv(source='x', destination='z')"), 0, 0, 0),
    ],
)
def test_conversations_are_compared_by_string_and_by_structure(
    said: tuple[str, ...], exact: int, flat: int, ast: int
) -> None:
    found = judged(calls(), *said)
    assert found["paper"].value == found["paper"].parts["exact"] == exact
    assert found["reference"].value == flat
    assert found["paper"].parts["ast"] == ast
    assert found["paper"].parts["valid"] == 1 and found["paper"].parts["guess.majority"] == 1


@pytest.mark.parametrize(
    ("second", "ast"),
    [
        ("mv('x', 'y')", 1),
        ("mv('x', destination='y')", 1),
        ("mv('x', 'y', 'z')", 0),
        ("mv('x', 'y', source='x')", 0),
        ("mv('q', source='x', destination='y')", 0),
    ],
)
def test_an_argument_without_a_parameter_makes_a_call_unequal(second: str, ast: int) -> None:
    found = judged(calls(), "cd(folder='a') ls()", second)
    assert [found[rule].parts["ast"] for rule in GRADING_RULES] == [ast, ast]
    assert found["paper"].value == found["reference"].value == 0  # which compare spellings


def test_tool_calls_are_compared_by_structure() -> None:
    first = Reply(calls=(Call(name="cd", arguments='{"folder": "a"}'), Call(name="ls")))
    second = call("mv", '{"destination": "y", "source": "x"}')
    assert judged(calls("tool"), first, second)["paper"].value == 1
    bad = judged(calls("tool"), first, call("mv", "{destination"))["paper"]
    assert (bad.value, bad.parts["valid"], bad.parts["first_failure"]) == (0, 1, 2)


@pytest.mark.parametrize(
    ("second", "cause"),
    [
        ("nothing", "missing_call"), ("ls()", "wrong_tool"),
        ("mv(source='x', destination='z')", "wrong_value"), ("rm() ls()", "extra_call"),
        ("mv(source='x',destination='y')", "format"),
    ],
)  # fmt: skip
def test_the_first_turn_that_fails_tells_the_cause(second: str, cause: Cause) -> None:
    found = judged(calls(), "cd(folder='a') ls()", second)["paper"]
    assert found.labels[0].cause == cause and "turn 2" in found.labels[0].evidence
    assert found.parts["recall.1"] == 1 and found.parts["recall.2"] == 0
    assert found.parts["first_failure"] == 2


def test_a_turn_that_was_not_reached_is_empty() -> None:
    found = judged(calls(), "cd(folder='a') ls()")["paper"]
    assert found.parts["valid"] == 0 and found.labels[0].suite_cause == "invalid"


# --- how it ended -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stop", "cause"),
    [("length", "over_limit"), ("refused", "refused"), ("malformed", "format"),
     ("over_long", "over_long"), ("stop", "no_answer")],
)  # fmt: skip
def test_how_a_reply_ended_is_why_it_is_invalid(stop: StopReason, cause: Cause) -> None:
    asked = task(Choice(options=("a", "b")), 0)
    assert judged(asked, Reply(stop=stop))["paper"].labels[0].cause == cause
    as_it_stands = judged(asked, Reply(text="0", stop=stop))["paper"]
    assert as_it_stands.value == (stop != "refused"), "what was refused is not an answer"
    words = judged(task(FreeText(), "two", family="sqa3d"), Reply(text="I am", stop=stop))["paper"]
    assert words.labels[0].cause == (cause if stop != "stop" else "wrong_answer")
    assert words.parts["valid"] == (stop != "refused")


@pytest.mark.parametrize("form", ["text", "tool"])
def test_a_refusal_is_never_correct(form: Form) -> None:
    said = {"text": Reply(text="0", stop="refused"), "tool": replace(
        call("choose", '{"option": 0}'), stop="refused")}[form]  # fmt: skip
    for verdict in judged(task(Choice(options=("a", "b")), 0, form), said).values():
        assert (verdict.value, verdict.labels[0].cause) == (0, "refused")
        assert verdict.labels[0].suite_cause == "invalid"
    nothing = task(FunctionCalls(), ((), ("ls()",)), "text", "bfcl")
    assert judged(nothing, "done", "ls()")["paper"].value == 1
    spoilt = judged(nothing, Reply(stop="refused"), "ls()")["paper"]
    assert (spoilt.value, spoilt.parts["exact"], spoilt.labels[0].cause) == (0, 0, "refused")


def test_how_a_turn_ended_tells_of_that_turn_alone() -> None:
    first, cut = "cd(folder='a') ls()", Reply(text="mv(source='x'", stop="length")
    assert judged(calls(), first, cut)["paper"].labels[0].cause == "over_limit"
    assert judged(calls(), "ls()", cut)["paper"].labels[0].cause == "missing_call"
    right = Reply(text=first, stop="length")
    assert judged(calls(), right, "ls()")["paper"].labels[0].cause == "wrong_tool"


@pytest.mark.parametrize("form", ["text", "tool"])
def test_calls_longer_than_anyone_wants_are_not_taken_apart(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> str:
        raise AssertionError("it is compared as it came")

    if form == "tool":
        made = tuple(Call(name="ls", arguments=f'{{"a": {i}}}') for i in range(5_000))
        said, name = Reply(calls=made), "_structure_tool_call"
    else:
        said, name = Reply(text="f()" * 5_000), "_structure_text_call"
    right = judged(calls(form), said)["paper"]
    assert right.value == 0 and right.labels[0].cause
    spelt = conversation_calls._structure_text_call
    if form == "text":
        monkeypatch.setattr(
            conversation_calls,
            name,
            lambda text, order: fail() if text == "f()" else spelt(text, order),
        )
    else:
        monkeypatch.setattr(conversation_calls, name, fail)
    assert judged(calls(form), said)["paper"] == right


def test_a_call_where_none_was_offered_is_of_an_unknown_tool() -> None:
    asked = task(Choice(options=("a", "b")), 0)
    assert judged(asked, call("choose", "{}"))["paper"].labels[0].cause == "unknown_tool"


def test_words_where_a_call_was_wanted_are_a_missing_call() -> None:
    asked = task(Choice(options=("a", "b")), 0, "tool")
    assert judged(asked, "0")["paper"].labels[0].cause == "missing_call"


# --- how alike texts are ----------------------------------------------------------------


class Letters:
    """An encoder that counts letters."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Any:
        self.seen += texts
        return np.array([[text.count(x) for x in "abcdefghijklmnopqrstuvwxyz,"] for text in texts])


def test_similarity_is_added_where_there_is_an_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = Letters()
    monkeypatch.setattr(sentence_encoder, "is_installed", lambda: True)
    monkeypatch.setattr(sentence_encoder, "load_encoder", lambda name: count)
    suite = tm.load("multinet-sqa3d", items=6, seed=2, pictures=False, form="both")
    run = tm.run(suite, "control/oracle", log_dir=tmp_path)
    found = [v.parts["similarity"] for s in run.scores() for v in s.verdicts.values()]
    assert found == pytest.approx([1.0] * 24)
    assert len(count.seen) == len(set(count.seen)), "each text is encoded once"
    null = tm.run(suite, "control/null", log_dir=tmp_path)
    assert {s.verdicts["paper"].parts["similarity"] for s in null.scores()} == {0.0}


def test_without_an_encoder_there_is_no_similarity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_encoder, "is_installed", lambda: False)
    for name in ("auto", "none"):
        suite = tm.load("multinet-sqa3d", items=2, seed=2, pictures=False, similarity=name)
        run = tm.run(suite, "control/oracle", log_dir=tmp_path)
        assert run.summary()["score"]["value"] == 1
        assert all("similarity" not in s.verdicts["paper"].parts for s in run.scores())
    with pytest.raises(UsageError, match="embed"):
        tm.load("multinet-sqa3d", similarity="my-encoder")


def test_rules_agree_where_they_say_the_same() -> None:
    rng = seeds.make_rng(1, "answers", 0, "test")
    for _ in range(50):
        asked = task(Choice(options=JOINT), seeds.draw_below(rng, 36), family="overcooked")
        found = judged(asked, str(seeds.draw_below(rng, 40)))
        assert found.keys() == set(GRADING_RULES) and found["paper"] == found["reference"]
