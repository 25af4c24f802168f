"""A call as text is the cause of a failure, in any suite, and a run says how often it occurs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import toolmark as tm
from toolmark.core.records import Label, Reply, Request, Step, Task, Tool, Trajectory, Verdict
from toolmark.formats.call_syntaxes import askable_syntaxes, call_syntaxes
from toolmark.formats.syntax_format import syntax_formats
from toolmark.scoring.foreign_call_labels import (
    counted_syntax,
    describe_foreign_calls,
    label_foreign_calls,
)

TASK = Task(id="t", turns=(), tools=(Tool(name="f"),))
RIGHT = {"rule": Verdict(outcome="correct", value=1.0)}
HERMES = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'


def failed(cause: Any) -> dict[str, Verdict]:
    label = Label(cause=cause, suite_cause="own", evidence="no call", primary=True)
    return {"rule": Verdict(outcome="incorrect", value=0.0, labels=(label,))}


def played(text: str, tool_format: str = "native", **step: Any) -> Trajectory:
    return Trajectory(
        task="t", tool_format=tool_format, steps=(Step(reply=Reply(text=text), **step),)
    )


@pytest.mark.parametrize("syntax", call_syntaxes().syntaxes, ids=lambda each: each.name)
def test_a_call_as_text_is_the_cause_of_a_failure(syntax: Any) -> None:
    (verdict,) = label_foreign_calls(TASK, played(syntax.example), failed("missing_call")).values()
    first, note = verdict.labels
    assert (first.primary, first.cause, first.suite_cause) == (True, "format", "own")
    assert (note.primary, note.cause) == (False, "format")
    assert note.suite_cause == f"foreign_call:{syntax.name}" and syntax.name in note.evidence
    assert counted_syntax(verdict) == syntax.name


@pytest.mark.parametrize("cause", ["wrong_value", "extra_call", "over_limit", "refused"])
def test_a_cause_that_it_does_not_explain_stays(cause: Any) -> None:
    given = failed(cause)
    (found,) = label_foreign_calls(TASK, played(HERMES), given).values()
    assert found.labels == given["rule"].labels


def test_a_right_answer_keeps_its_verdict_and_is_counted() -> None:
    (found,) = label_foreign_calls(TASK, played(HERMES), RIGHT).values()
    assert (found.outcome, found.labels, counted_syntax(found)) == ("correct", (), "hermes")
    text_format = label_foreign_calls(TASK, played(HERMES, "prompt"), RIGHT)
    assert text_format == RIGHT


def test_replies_without_such_a_call_are_unchanged() -> None:
    calls = (tm.Call(name="f", arguments="{}"),)
    for trajectory in (
        played("No tool fits."),
        played(HERMES, calls=calls),
        played(HERMES, "executor"),
        played('<tool_call>\n{"name": "g"}\n</tool_call>'),
    ):
        assert label_foreign_calls(TASK, trajectory, failed("no_answer")) == failed("no_answer")


def test_the_sentence_names_the_marker_the_number_and_the_step() -> None:
    text = describe_foreign_calls({"hermes": 11, "json": 1}, 12)
    assert text.startswith("12 of 12 episodes have <tool_call> as text")
    assert "--tool-call-parser hermes" in text and "--tool-format hermes" in text
    assert describe_foreign_calls({}, 12) == ""


# --- whole runs -------------------------------------------------------------------------


def funcbench() -> Any:
    return tm.load("funcbench", core=4, depth=2, graphs=1, seed=5)


class WritesCalls:
    """A model that writes its one call as text, as a server without a parser passes it on."""

    def __init__(self, syntax: str) -> None:
        self.syntax = syntax

    async def __call__(self, request: Request) -> Reply:
        (name, *_) = [tool.name for tool in request.tools]
        calls = (tm.Call(name=name, arguments="{}"),)
        return syntax_formats()[self.syntax].render_calls(calls)


def test_a_run_says_that_its_server_has_no_parser(tmp_path: Path) -> None:
    run = tm.run(funcbench(), model=WritesCalls("hermes"), log_dir=tmp_path)
    summary = run.summary()
    n = summary["n_run"]
    assert summary["foreign_calls"] == {"hermes": n}
    assert f"{n} of {n} episodes have <tool_call> as text" in summary["caution"]
    assert "--tool-call-parser hermes" in (run.path / "presentation.json").read_text()
    causes = {
        label.cause
        for score in run.scores()
        for verdict in score.verdicts.values()
        for label in verdict.labels
        if label.primary
    }
    assert causes == {"format"}


@pytest.mark.parametrize("syntax", askable_syntaxes(), ids=lambda each: each.name)
def test_the_oracle_is_right_in_every_syntax(syntax: Any, tmp_path: Path) -> None:
    run = tm.run(funcbench(), model="control/oracle", tool_format=syntax.name, log_dir=tmp_path)
    summary = run.summary()
    assert (summary["score"]["value"], summary["n_not_run"]) == (1.0, 0)
    assert "foreign_calls" not in summary


async def thinks_then_answers(request: Request) -> Reply:
    return Reply(text="<think>\nHard.\n</think>\nThe answer is 7.")


@pytest.mark.parametrize("tool_format", ["prompt", "hermes"])
def test_thoughts_in_a_text_are_stored_as_reasoning(tool_format: str, tmp_path: Path) -> None:
    run = tm.run(funcbench(), thinks_then_answers, tool_format=tool_format, log_dir=tmp_path)
    for trajectory in run.trajectories():
        (step,) = trajectory.steps
        assert (step.reply.reasoning, step.reply.text) == ("Hard.", "The answer is 7.")
        assert trajectory.answer == "The answer is 7."
