"""Every class of call, every way to fail, each with its evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from toolmark.core.records import (
    Call,
    Ending,
    Limits,
    Reply,
    Result,
    Step,
    Task,
    Trajectory,
    Verdict,
)
from toolmark.environments.function_graph import GraphIndex, read_graph
from toolmark.scoring.episode import Episode
from toolmark.suites.funcbench.call_classes import classify_calls
from toolmark.suites.funcbench.funcbench_scoring import score_episode


def node(function: str, kind: str, inputs: list[tuple[str, str]], output: str, value: int) -> Any:
    return {
        "function": function,
        "kind": kind,
        "inputs": [
            {"parameter": parameter, "type": "t", "subtype": source, "source": source}
            for parameter, source in inputs
        ],
        "output": {"name": output, "type": "t", "subtype": function, "value": value},
    }


GRAPH: dict[str, Any] = {
    "target": "goal",
    "nodes": [
        node("func_top", "core", [("pa", "func_low"), ("pb", "func_mid")], "goal", 412),
        node("func_low", "core", [("one", "one")], "low", 500),
        node("func_mid", "core", [("pc", "func_low")], "mid", 600),
        node("func_side", "connected", [("pd", "func_low")], "side", 700),
        node("func_far", "disconnected", [("far", "far")], "away", 800),
    ],
    "known_values": {"one": 111},
}
TASK = Task(
    id="t",
    item="t",
    suite="funcbench",
    turns=(),
    data={"graph": GRAPH},
    limits=Limits(calls=6),
)
LOW = ("func_low", {"one": 111})
MID = ("func_mid", {"pc": 500})
TOP = ("func_top", {"pa": 500, "pb": 600})
BLIND = ("func_top", {"pa": 1, "pb": 2})
MISREAD = "target computed, other value stated"
SILENT = "target computed, no value stated"
Made = tuple[str, Any]


def play(
    *steps: Sequence[Made], answer: str = "goal = 412", ending: Ending = "answered", cut: int = 0
) -> Trajectory:
    done = []
    for at, calls in enumerate(steps, 1):
        made = tuple(
            Call(name=name, arguments=x if isinstance(x, str) else json.dumps(x))
            for name, x in calls
        )
        results = tuple(Result() for _ in made[: len(made) - (cut if at == len(steps) else 0)])
        done.append(Step(reply=Reply(calls=made), calls=made, results=results))
    if ending != "calls":
        done.append(Step(reply=Reply(text=answer)))
    return Trajectory(task="t", steps=tuple(done), answer=answer, ending=ending)


def judge(trajectory: Trajectory, task: Task = TASK) -> Verdict:
    return score_episode(Episode(task, trajectory))["official"]


def classes(trajectory: Trajectory) -> list[str]:
    return [
        judged.call_class for judged in classify_calls(GraphIndex(read_graph(TASK)), trajectory)
    ]


def test_the_right_calls_and_answer_are_a_success() -> None:
    verdict = judge(play([LOW], [MID], [TOP]))
    assert verdict.outcome == "correct"
    assert verdict.value == 1.0
    assert not verdict.labels
    named = {name: value for name, value in verdict.parts.items() if value}
    assert named == {
        "calls": 3, "steps_with_calls": 3, "levels": 3, "correct_core": 3, "derived": 1,
        "derived_from_known": 1, "calls_with_unknowns": 3,
    }  # fmt: skip


def test_a_right_answer_without_the_calls_is_a_success_that_is_not_derived() -> None:
    verdict = judge(play([LOW]))
    assert verdict.outcome == "correct"
    assert verdict.parts["derived"] == 0


def test_a_guess_of_the_exact_inputs_derives_but_not_from_what_was_known() -> None:
    verdict = judge(play([TOP]))
    assert verdict.outcome == "correct"
    assert (verdict.parts["derived"], verdict.parts["derived_from_known"]) == (1, 0)
    assert judge(play([LOW, MID, TOP])).parts["derived"] == 1


def test_inexact_or_ill_formed_inputs_do_not_derive() -> None:
    typed = {"pa": "500", "pb": 600}
    for inputs in ({"pa": 500, "pb": 601}, typed, {"pa": 500}):
        assert judge(play([LOW], [MID], [("func_top", inputs)])).parts["derived"] == 0


def test_a_call_over_the_limit_does_not_derive() -> None:
    verdict = judge(play([LOW] * 5, [MID, TOP], cut=1, ending="calls"))
    assert verdict.parts["derived"] == 0


def test_the_first_predicate_that_fails_names_the_class() -> None:
    assert classes(
        play(
            [("func_nil", {}), ("func_low", {}), TOP, ("func_low", {"one": 9})],
            [("func_mid", {"pc": 501}), ("func_top", {"pa": 1, "pb": 2}), LOW],
            [("func_side", {"pd": 500}), ("func_far", {"far": 1})],
        )
    ) == [
        "not_found", "wrong_inputs", "not_known", "incorrect",
        "incorrect", "not_known", "correct",
        "correct", "not_known",
    ]  # fmt: skip


def test_calls_of_one_step_see_only_earlier_steps() -> None:
    assert classes(play([LOW, MID])) == ["correct", "not_known"]
    assert classes(play([LOW], [MID])) == ["correct", "correct"]


def test_a_wrong_call_establishes_its_output_and_an_ill_formed_one_does_not() -> None:
    assert classes(play([("func_low", {"one": 9})], [MID])) == ["incorrect", "correct"]
    assert classes(play([("func_low", {"one": "111"})], [MID])) == ["wrong_inputs", "not_known"]


def test_right_calls_are_split_and_repeats_counted() -> None:
    parts = judge(play([LOW, LOW], [("func_side", {"pd": 500.0}), MID], [TOP])).parts
    assert parts["correct_core"] == 4
    assert parts["correct_irrelevant"] == 1
    assert parts["redundant"] == 1
    assert parts["errors"] == 0


def test_class_three_is_possible_while_something_is_unknown() -> None:
    known = [node for node in GRAPH["nodes"] if node["function"] != "func_far"]
    task = msgspec.structs.replace(TASK, data={"graph": {**GRAPH, "nodes": known}})
    parts = judge(play([LOW], [MID], [TOP]), task).parts
    assert parts["calls_with_unknowns"] == 2
    assert parts["calls"] == 3


@pytest.mark.parametrize(
    ("arguments", "cause", "native"),
    [
        ("{", "format", "2 wrong inputs: unreadable"),
        ({}, "missing_argument", "2 wrong inputs: missing"),
        ({"one": 111, "x": 1}, "unexpected_argument", "2 wrong inputs: unexpected"),
        ({"one": "111"}, "wrong_type", "2 wrong inputs: ill-typed"),
        ({"one": 112}, "wrong_value", "4 incorrect value: never seen"),
    ],
)
def test_the_first_bad_call_is_why_a_wrong_answer_failed(
    arguments: Any, cause: str, native: str
) -> None:
    verdict = judge(play([("func_low", arguments)], answer="goal = 1"))
    (label,) = verdict.labels
    assert (label.cause, label.suite_cause, label.primary) == (cause, native, True)
    assert label.evidence.startswith("step 1, call 1: func_low(")


@pytest.mark.parametrize(
    ("trajectory", "cause", "native"),
    [
        (play([("func_nil", {})], answer="7"), "unknown_tool", "1 function not found"),
        (play([BLIND], answer="7"), "value_not_known", "3 value not yet known: never seen"),
        (play([LOW], answer="goal = 500"), "missing_call", "stopped before the target"),
        (play([LOW], [MID], [TOP], answer="no idea"), "no_answer", SILENT),
        (play(answer="no idea"), "missing_call", "no call made"),
        (play([LOW], answer="", ending="length"), "no_answer", "cut short"),
        (play([LOW], [MID], [TOP], answer="413"), "wrong_answer", MISREAD),
        (play([TOP], answer="413"), "wrong_answer", MISREAD),
        (play([LOW] * 7, cut=1, ending="calls"), "extra_call", "calls spent on repeats"),
        (play([LOW], ending="steps", answer=""), "over_limit", "step limit"),
        (play(answer="", ending="refused"), "refused", "refused"),
        (play(answer="", ending="malformed"), "format", "malformed reply"),
        (play([LOW], answer="", ending="over_long"), "over_long", "context full"),
    ],
)  # fmt: skip
def test_every_failure_has_one_primary_cause(
    trajectory: Trajectory, cause: str, native: str
) -> None:
    verdict = judge(trajectory)
    assert verdict.outcome == "incorrect"
    assert verdict.value == 0.0
    (primary,) = [label for label in verdict.labels if label.primary]
    assert (primary.cause, primary.suite_cause) == (cause, native)


def test_other_classes_are_labelled_besides_the_primary_cause() -> None:
    verdict = judge(play([("func_nil", {}), TOP, ("func_nil", {})], answer="?"))
    assert [label.cause for label in verdict.labels] == [
        "no_answer", "unknown_tool", "value_not_known"
    ]  # fmt: skip
    assert verdict.traits == {"ending": "no answer", "recovery": "none repaired"}


def test_the_call_over_the_limit_is_not_judged_and_ends_the_trial() -> None:
    verdict = judge(play([LOW], [LOW] * 6, cut=1, ending="calls"))
    assert verdict.outcome == "incorrect"
    assert verdict.parts["calls"] == 6


def test_an_answer_after_exactly_the_limit_is_scored() -> None:
    assert judge(play([LOW] * 4, [MID], [TOP])).outcome == "correct"


def test_more_calls_than_allowed_are_a_failure_whoever_ran_them() -> None:
    assert judge(play([LOW] * 5, [MID], [TOP])).outcome == "incorrect"


def test_evidence_of_hostile_calls_can_be_stored() -> None:
    verdict = judge(play([("func_\ud800" + "x" * 10_000, "\ud800")], answer="7"))
    for label in verdict.labels:
        assert len(label.evidence.encode()) < 500
