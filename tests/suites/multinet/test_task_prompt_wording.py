"""Laws of the prompts: what is told, what is not, and that the two forms ask the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from toolmark.core.records import Turn
from toolmark.suites.multinet import answer_tools, task_prompt_wording
from toolmark.suites.multinet.frame_records import (
    ACTIONS,
    ActionVector,
    AnswerSpace,
    Choice,
    Distribution,
    Form,
    Frame,
    FreeText,
    FunctionCalls,
)
from toolmark.suites.multinet.multinet_families import Family

JOINT = tuple(f"{a} and {b}" for a in ACTIONS for b in ACTIONS)
MOTION = ActionVector(names=("hip", "knee"), low=(-1.0, 0.0), high=(1.0, 4.0), mean=(0.25, 2.5))
PLACE = {"layout": "ring", "time_left": "61 s", "score": "20", "grid": "\nX1X", "state": "pot full"}


@dataclass(frozen=True)
class Row:
    """A family's space, two truths, fields, and slices."""

    family: Family
    space: AnswerSpace
    truths: tuple[Any, Any]
    fields: dict[str, str] = field(default_factory=dict)
    slices: dict[str, str] = field(default_factory=dict)
    turns: tuple[str, ...] = ()


TASK = {"instruction": "walk on", "environment": "a yard", "history": "\n[1, 2]"}
ROWS = {
    "piqa": Row("piqa", Choice(options=("push it", "pull it")), (0, 1), {"goal": "open the door"}),
    "sqa3d": Row("sqa3d", FreeText(), ("two", "left"),
                 {"situation": "beside the sofa", "question": "how many lamps"}),
    "robovqa": Row("robovqa", FreeText(), ("yes", "grasp"),
                   {"context": "clear the table", "question": "is it done"}),
    "odinw": Row("odinw", Choice(options=("one", "two", "three")), (0, 2), {}, {"subset": "dice"}),
    "bfcl": Row("bfcl", FunctionCalls(), ((("ls()",), ()), (("cd(folder='a')",), ("pwd()",))),
                {"initial_config": '{"root": 1}', "classes": "Files", "functions": '{"name": "x"}'},
                {}, ("list all", "and now?")),
    "overcooked": Row("overcooked", Choice(options=JOINT), (28, 3), PLACE),
    "overcooked-odds": Row("overcooked", Distribution(options=JOINT), (28, 3), PLACE),
    "openx": Row("openx", MOTION, ((0.1, 0.2), (0.3, 0.4)), TASK, {"morphology": "wheeled"}),
    "openx-quadrupedal": Row("openx", MOTION, ((0.1, 0.2), (0.3, 0.4)), TASK,
                             {"morphology": "quadrupedal"}),
}  # fmt: skip


def frame(name: str, which: int = 0) -> Frame:
    row = ROWS[name]
    return Frame(
        id="r1", family=row.family, source="synthetic", space=row.space, truth=row.truths[which],
        group="g", fields=row.fields, slices=row.slices, turns=row.turns,
        baseline_answers={"majority": row.truths[which]},
    )  # fmt: skip


def said(turns: tuple[Turn, ...]) -> str:
    return "\n".join(message.text for turn in turns for message in turn.messages)


def test_each_of_the_nine_prompts_has_a_row_that_is_asked_so() -> None:
    assert (
        ROWS.keys() == task_prompt_wording.task_prompt_wording().prompts.keys() and len(ROWS) == 9
    )
    for name in ROWS:
        assert (
            task_prompt_wording.select_prompt(frame(name))
            is task_prompt_wording.task_prompt_wording().prompts[name]
        )


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("form", ["text", "tool"])
def test_the_prompt_does_not_contain_the_truth(name: str, form: Form) -> None:
    one, other = frame(name, 0), frame(name, 1)
    assert task_prompt_wording.build_turns(
        one, form, with_pictures=False
    ) == task_prompt_wording.build_turns(other, form, with_pictures=False)
    assert answer_tools.answer_tools(one) == answer_tools.answer_tools(other)


@pytest.mark.parametrize("name", ROWS)
def test_the_prompt_contains_all_that_a_row_says(name: str) -> None:
    row = ROWS[name]
    text = said(task_prompt_wording.build_turns(frame(name), "text", with_pictures=False))
    for words in (*row.fields.values(), *row.turns, row.slices.get("subset", "")):
        assert words in text
    match row.space:
        case Choice(options=options) if name != "overcooked":
            assert all(f"{k}: {reported}" in text for k, reported in enumerate(options))
        case Choice() | Distribution():
            assert all(str(k) in text for k in range(36))
        case ActionVector():
            assert all(reported in text for reported in ("hip", "knee", "-1", "4", "0.25", "2.5"))


@pytest.mark.parametrize("name", ROWS)
def test_the_forms_differ_in_the_request_alone(name: str) -> None:
    asked = task_prompt_wording.task_prompt_wording().prompts[name]
    text, tool = (
        said(task_prompt_wording.build_turns(frame(name), form, with_pictures=True))
        for form in ("text", "tool")
    )
    lost = set(text.splitlines()) - set(tool.splitlines())
    more = set(tool.splitlines()) - set(text.splitlines())
    if name == "bfcl":
        assert lost == {'Functions: {"name": "x"}', asked.reply} and not more
    else:
        assert len(lost) == len(more) == 1 and f"`{asked.tool}`" in more.pop()


@pytest.mark.parametrize("name", ["overcooked", "overcooked-odds"])
def test_the_kitchen_is_described_where_no_picture_shows_it(name: str) -> None:
    blind, seeing = (
        said(task_prompt_wording.build_turns(frame(name), "text", with_pictures=seen))
        for seen in (False, True)
    )
    assert "X1X" in blind and "pot full" in blind
    assert "X1X" not in seeing and "pot full" not in seeing and "ring" in seeing


def test_of_a_field_that_a_row_lacks_nothing_is_said() -> None:
    bare = replace(frame("sqa3d"), fields={"question": "how many lamps"})
    assert "Situation" not in said(
        task_prompt_wording.build_turns(bare, "text", with_pictures=True)
    )


@pytest.mark.parametrize(
    ("name", "tool", "keys"),
    [
        ("piqa", "choose", {"option"}), ("odinw", "choose", {"option"}),
        ("overcooked", "act", {"player_0", "player_1"}),
        ("overcooked-odds", "distribution", {"probabilities"}), ("openx", "move", {"vector"}),
        ("sqa3d", "answer", {"text"}),
    ],
)  # fmt: skip
def test_each_space_has_its_tool(name: str, tool: str, keys: set[str]) -> None:
    (made,) = answer_tools.answer_tools(frame(name))
    assert (made.name, set(made.parameters["properties"])) == (tool, keys)
    assert set(made.parameters["required"]) == keys
