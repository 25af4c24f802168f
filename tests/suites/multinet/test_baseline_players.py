"""Baselines as players: what they say is read as what they guessed, in both forms."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from msgspec import structs

from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.core.records import Message, Reply, Request, Step, Task, Text, Tool, Trajectory, Turn
from toolmark.scoring.episode import Episode
from toolmark.suites import model_registry
from toolmark.suites.multinet import (
    answer_parsing,
    answer_scoring,
    baseline_players,
    control_models,
)
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
from toolmark.suites.multinet.multinet_families import (
    BASELINES_BY_FAMILY,
    FAMILIES,
    FAMILIES_BY_BASELINE,
    Family,
)

JOINT = tuple(map(str, range(36)))
CASES: dict[str, tuple[Family, AnswerSpace, Any, Any]] = {
    "choice": ("piqa", Choice(options=("a", "b")), 1, 1),
    "joint action": ("overcooked", Choice(options=JOINT), 33, 33),
    "sure odds": ("overcooked", Distribution(options=JOINT), 3, (0.0,) * 3 + (1.0,) + (0.0,) * 32),
    "even odds": ("overcooked", Distribution(options=JOINT), (1 / 36,) * 36, (1 / 36,) * 36),
    "motion": (
        "openx", ActionVector(names=("x", "y"), low=(0.0, 0.0), high=(1.0, 1.0), mean=(0.5, 0.5)),
        (0.1, -1e-17), (0.1, -1e-17),
    ),
    "words": ("sqa3d", FreeText(), 'a "quoted" answer', 'a "quoted" answer'),
}  # fmt: skip


def truth(family: Family, space: AnswerSpace, form: Form, known: Any, right: Any = None) -> Truth:
    usual: dict[type, Any] = {FunctionCalls: (), ActionVector: (0.0, 0.0), FreeText: "right"}
    right = usual.get(type(space), 0) if right is None else right
    return Truth(family=family, source="synthetic", form=form, space=space, group="g",
                 baseline_answers=known, truth=right)  # fmt: skip


def task(known: Truth, tools: tuple[Tool, ...] = ()) -> Task:
    return Task(id="t", suite=f"multinet-{known.family}", turns=(), tools=tools,
                data=msgspec.to_builtins(known))  # fmt: skip


@pytest.mark.parametrize("form", ["text", "tool"])
@pytest.mark.parametrize("space", [Choice(options=("only",)), Distribution(options=("only",))])
def test_where_any_option_is_right_what_errs_on_purpose_gives_none(
    space: AnswerSpace, form: Form
) -> None:
    known = truth("odinw", space, form, {}, 0)
    turned = structs.replace(task(known), turns=(Turn(messages=(said := Message(role="user"),)),))
    reply = asyncio.run(
        control_models.faulty_control(turned, 0, {"class": "wrong"})(Request(messages=(said,)))
    )
    trajectory = Trajectory(task="t", tool_format="native", steps=(Step(reply=reply, turn=0),))
    for verdict in answer_scoring.score_episode(Episode(turned, trajectory)).values():
        assert verdict.outcome == "incorrect" and verdict.parts["valid"] == 0


def play(model: Model, said: list[str]) -> Reply:
    return asyncio.run(
        model(Request(messages=tuple(Message(role=role, parts=(Text("x"),)) for role in said)))  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("reading", answer_parsing.GRADING_RULES)
@pytest.mark.parametrize("name", CASES)
def test_what_a_player_says_is_read_as_its_guess(
    name: str, reading: answer_parsing.GradingRule
) -> None:
    family, space, answer, read = CASES[name]
    known = BASELINES_BY_FAMILY[family][0]
    text = truth(family, space, "text", {known: answer})
    model = baseline_players.BaselineModel(known).bind(task(text), 0)
    assert (
        answer_parsing.parse_text_answer(text, play(model, ["system", "user"]).text, reading).value
        == read
    )
    tool = truth(family, space, "tool", {known: answer})
    model = baseline_players.BaselineModel(known).bind(task(tool), 0)
    reply = play(model, ["system", "user"])
    assert (
        not reply.text
        and answer_parsing.parse_call_answer(tool, reply.calls, reading).value == read
    )


def test_calls_are_said_turn_by_turn() -> None:
    said = (("cd('docs')", "mv(source='a', to='b')"), (), ("nonsense",))
    text = truth("bfcl", FunctionCalls(), "text", {"majority": said})
    model = baseline_players.BaselineModel("majority").bind(task(text), 0)
    talk = ["system", "user"]
    for calls in said:
        reply = play(model, talk)
        assert answer_parsing.extract_calls(reply.text, "paper") == (
            calls if calls != ("nonsense",) else ()
        )
        talk += ["assistant", "user"]
    assert play(model, talk) == Reply(), "nothing is left to say"


def test_calls_of_tools_name_what_stands_at_a_place() -> None:
    shape = {"type": "object", "properties": {"folder": {"type": "string"}}}
    known = truth("bfcl", FunctionCalls(), "tool", {"majority": (("cd('docs')",), ("1 + ",))})
    offered = (Tool(name="cd", parameters=shape),)
    model = baseline_players.BaselineModel("majority").bind(task(known, offered), 0)
    (call,) = play(model, ["user"]).calls
    assert call.name == "cd" and json.loads(call.arguments) == {"folder": "docs"}
    assert play(model, ["user", "assistant", "tool"]) == Reply(), "a result calls for no answer"
    spoilt = play(model, ["user", "assistant", "tool", "user"])
    assert spoilt.text == "[1 + ]" and not spoilt.calls


def test_a_player_never_looks_at_the_truth() -> None:
    for name, (family, space, answer, _) in CASES.items():
        known = BASELINES_BY_FAMILY[family][0]
        truths = ("a", "b") if isinstance(space, FreeText | ActionVector) else (1, 0)
        asked = [task(truth(family, space, "text", {known: answer}, right)) for right in truths]
        played = [
            play(baseline_players.BaselineModel(known).bind(each, 0), ["user"]) for each in asked
        ]
        assert played[0] == played[1], name


def test_every_baseline_can_be_named_and_others_get_a_clear_error() -> None:
    assert {
        name for family in FAMILIES for name in BASELINES_BY_FAMILY[family]
    } == FAMILIES_BY_BASELINE.keys()
    for name in FAMILIES_BY_BASELINE:
        assert model_registry.make_model(f"baseline/{name}").name == f"baseline/{name}"
    with pytest.raises(UsageError, match=r"no baseline 'majorty'; did you mean: majority"):
        model_registry.make_model("baseline/majorty")
    piqa = task(truth("piqa", Choice(options=("a", "b")), "text", {"uniform": 1}))
    with pytest.raises(UsageError, match=r"multinet-piqa has no baseline 'stay'.*uniform"):
        baseline_players.BaselineModel("stay").bind(piqa, 0)
    with pytest.raises(UsageError, match="plays no suite but MultiNet's"):
        baseline_players.BaselineModel("stay").bind(Task(id="t", suite="funcbench", turns=()), 0)
    nothing = baseline_players.BaselineModel("majority").bind(piqa, 0)
    assert play(nothing, ["user"]) == Reply(), "where there was nothing to learn"


@pytest.mark.parametrize(
    "said", ["cd('docs', 'more')", "rm('docs')", "cd('docs', folder='docs', 1)", "rm()"]
)
def test_a_call_has_every_argument_even_without_name(said: str) -> None:
    shape = {"type": "object", "properties": {"folder": {"type": "string"}}}
    known = truth("bfcl", FunctionCalls(), "tool", {"majority": ((said,),)})
    offered = (Tool(name="cd", parameters=shape),)
    reply = play(baseline_players.BaselineModel("majority").bind(task(known, offered), 0), ["user"])
    if said == "rm()":  # it has none to lose
        assert [call.name for call in reply.calls] == ["rm"]
    else:
        assert reply.text == f"[{said}]" and not reply.calls
