"""Agents that know one surface feature of a question see neither its truth nor its group."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from msgspec import structs

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.core.records import Message, Request, Task, Text, Turn
from toolmark.suites.model_registry import make_model
from toolmark.suites.multinet.frame_records import (
    ActionVector,
    AnswerSpace,
    Choice,
    Distribution,
    Frame,
    FreeText,
    Truth,
)
from toolmark.suites.multinet.multinet_families import FAMILIES, Family
from toolmark.suites.multinet.surface_agents import (
    NearestQuestions,
    list_surface_agents,
    surface_controls,
)

OPTIONS = Choice(options=("cut the rope", "a knife", "wait for the rain", "zip"))
VECTOR = ActionVector(names=("x", "y"), low=(-1.0, 0.0), high=(3.0, 1.0), mean=(0.5, 0.5))


def make_task(family: Family, space: AnswerSpace, question: str) -> Task:
    truth = Truth(family=family, source="synthetic", form="text", space=space, truth=0, group="g")
    message = Message(role="user", parts=(Text(question),))
    return Task(
        id="t", item="row-0", suite=f"multinet-{family}", turns=(Turn(messages=(message,)),),
        data=msgspec.to_builtins(truth),
    )  # fmt: skip


def text_of(name: str, family: Family, space: AnswerSpace, question: str = "") -> str:
    task = make_task(family, space, question)
    model = surface_controls(family, ())[name](task, 0, {})
    assert isinstance(model, Model)
    return asyncio.run(model(Request(messages=task.turns[0].messages))).text


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("first-option", 0),
        ("last-option", 3),
        ("longest-option", 2),
        ("shortest-option", 3),
        ("nearest-option", 2),
        ("farthest-option", 1),
        ("lowest-option", 1),
        ("highest-option", 3),
    ],
)
def test_options_are_chosen_by_place_length_words_or_alphabet(name: str, at: int) -> None:
    question = "Shall I wait for the end of the rope or zip?"
    assert text_of(name, "piqa", OPTIONS, question) == str(at)


@pytest.mark.parametrize(
    ("name", "text"),
    [("yes", "yes"), ("no", "no"), ("first-alternative", "left"), ("last-alternative", "around")],
)
def test_texts_are_fixed_or_the_alternatives_of_the_question(name: str, text: str) -> None:
    question = "Is it one or two? Should I turn: left, right or around?"
    assert text_of(name, "sqa3d", FreeText(), question) == text


def test_without_alternatives_none_is_named() -> None:
    assert text_of("first-alternative", "sqa3d", FreeText(), "What is left?") == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zero-action", "[0.0, 0.0]"),
        ("lowest-action", "[-1.0, 0.0]"),
        ("highest-action", "[3.0, 1.0]"),
        ("middle-action", "[1.0, 0.5]"),
    ],
)
def test_actions_are_fixed_by_their_ranges(name: str, text: str) -> None:
    assert text_of(name, "openx", VECTOR) == text


def test_what_has_no_options_gets_no_answer() -> None:
    shares = Distribution(options=("a", "b"))
    assert text_of("first-option", "overcooked", shares) == ""


def make_frame(at: int, question: str, truth: str, group: str) -> Frame:
    return Frame(
        id=f"row-{at}", family="sqa3d", source="synthetic", space=FreeText(), truth=truth,
        group=group, fields={"question": question},
    )  # fmt: skip


FRAMES = (
    make_frame(0, "is the blue door open", "yes", "one"),
    make_frame(1, "is the blue door open", "no", "one"),
    make_frame(2, "is the blue door shut", "maybe", "two"),
    make_frame(3, "how many chairs", "four", "two"),
)


def test_the_most_similar_question_is_one_of_another_group() -> None:
    found = NearestQuestions(FRAMES).answers
    assert found == {"row-0": "maybe", "row-1": "maybe", "row-2": "yes", "row-3": "yes"}
    assert NearestQuestions(FRAMES[:2]).answers == {}


def test_the_answer_does_not_depend_on_the_truth_of_the_row() -> None:
    other = (structs.replace(FRAMES[0], truth="something else"), *FRAMES[1:])
    assert NearestQuestions(other).answers["row-0"] == NearestQuestions(FRAMES).answers["row-0"]


def test_every_agent_that_a_family_lists_can_be_made_by_its_name() -> None:
    for family in FAMILIES:
        listed = list_surface_agents(family)
        assert {f"control/{name}" for name in surface_controls(family, ())} == {*listed}
        assert all(listed.values())
    suite = tm.load("multinet-piqa", items=2, seed=1)
    assert {*list_surface_agents("piqa")} == {*suite.defaults.shortcuts}
    for name in suite.defaults.shortcuts:
        assert make_model(name, suite=suite).name == name
    with pytest.raises(UsageError, match="takes no options"):
        surface_controls("piqa", ())["first-option"](make_task("piqa", OPTIONS, ""), 0, {"a": "b"})
