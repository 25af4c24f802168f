"""What a reply is worth, whatever it holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.core.records import Call, Reply, Step, StopReason, Task, Trajectory, Verdict
from toolmark.official_bfcl import bfcl_controls
from toolmark.official_bfcl.bfcl_scoring import score_episode

Judge = Callable[..., Verdict]
NAME = "calculate_triangle_area"
RIGHT = Call(name=NAME, arguments='{"base": 10, "height": 5}')


@pytest.fixture
def task(tasks: dict[str, Task]) -> Task:
    return tasks["simple_python_0"]


def found(verdict: Verdict) -> tuple[str, str]:
    (label,) = verdict.labels
    assert label.primary and verdict.value == 0.0 and label.evidence
    json_codec.encode_record(verdict)
    return label.cause, label.suite_cause


def test_a_right_call_is_correct_in_both_tool_formats(task: Task, judge: Judge) -> None:
    for tool_format in ("native", "prompt"):
        verdict = judge(task, Reply(calls=(RIGHT,)), tool_format)
        assert (verdict.outcome, verdict.value, verdict.labels) == ("correct", 1.0, ())


@pytest.mark.parametrize(
    ("calls", "cause", "native"),
    [
        ([Call(name=NAME, arguments='{"base": 10')], "format", "ast_decoder:decoder_failed"),
        ([Call(name=NAME, arguments="")], "format", "ast_decoder:decoder_failed"),
        ([Call(name=NAME, arguments="[" * 10_000)], "format", "ast_decoder:decoder_failed"),
        ([Call(name=NAME, arguments='{"base": ' + "9" * 5000 + "}")], "format",
         "ast_decoder:decoder_failed"),
        ([Call(name=NAME, arguments="[1]")], "format", "ast_decoder:decoder_wrong_output_format"),
        ([Call(name="other")], "unknown_tool", "simple_function_checker:wrong_func_name"),
        ([Call(name=NAME)], "missing_argument", "simple_function_checker:missing_required"),
        ([Call(name=NAME, arguments='{"base": 10, "height": 5, "x": 1}')],
         "unexpected_argument", "simple_function_checker:unexpected_param"),
        ([Call(name=NAME, arguments='{"base": "10", "height": 5}')],
         "wrong_type", "type_error:simple"),
        ([Call(name=NAME, arguments='{"base": 1e400, "height": 5}')],
         "wrong_type", "type_error:simple"),
        ([Call(name=NAME, arguments='{"base": 11, "height": 5}')],
         "wrong_value", "value_error:others"),
        ([RIGHT, RIGHT], "extra_call", "simple_function_checker:wrong_count"),
    ],
)  # fmt: skip
def test_bad_calls_are_incorrect_with_a_cause(
    task: Task, judge: Judge, calls: list[Call], cause: str, native: str
) -> None:
    assert found(judge(task, Reply(calls=tuple(calls)))) == (cause, native)


def test_words_are_no_call(task: Task, judge: Judge, tasks: dict[str, Task]) -> None:
    said = Reply(text="I cannot do that.")
    for tool_format in ("native", "prompt"):
        assert found(judge(task, said, tool_format)) == (
            "missing_call",
            "ast_decoder:decoder_failed",
        )
        assert judge(tasks["irrelevance_0"], said, tool_format).outcome == "correct"
        relevance = judge(tasks["live_relevance_0-0-0"], said, tool_format)
        assert found(relevance) == ("missing_call", "relevance_error:decoder_failed")
    empty = judge(task, Reply())
    assert found(empty) == ("missing_call", "simple_function_checker:wrong_count")


@pytest.mark.parametrize("calls", [(), (RIGHT,)])
def test_a_task_that_lost_its_truth_is_not_judged(task: Task, calls: tuple[Call, ...]) -> None:
    played = Trajectory(task=task.id, steps=(Step(reply=Reply(calls=calls), calls=calls),))
    with pytest.raises(DataError, match="truth"):
        score_episode(replace(task, data=None), played)


def test_malformed_calls_count_as_no_call_for_irrelevance(
    tasks: dict[str, Task], judge: Judge
) -> None:
    task = tasks["irrelevance_0"]
    assert judge(task, Reply(calls=(Call(name="f", arguments="{"),))).outcome == "correct"
    assert judge(task, Reply(calls=(Call(name="f", arguments="5"),))).outcome == "correct"
    assert judge(task, Reply(text="[f(a=1"), "prompt").outcome == "correct"
    called = judge(task, Reply(calls=(Call(name="f"),)))
    assert found(called) == ("extra_call", "irrelevance_error:decoder_success")


def test_tuples_stay_tuples_in_text(tasks: dict[str, Task], judge: Judge) -> None:
    task = tasks["simple_python_71"]  # its doc asks for an array
    assert "array" in {spec["type"] for spec in task.tools[0].parameters["properties"].values()}
    (call,) = bfcl_controls.expected_calls(task)
    name, given = call
    lists = ", ".join(f"{key}={value!r}" for key, value in given.items())
    assert judge(task, Reply(text=f"[{name}({lists})]"), "prompt").outcome == "correct"
    tuples = ", ".join(
        f"{key}={tuple(value) if isinstance(value, list) else value!r}"
        for key, value in given.items()
    )
    assert tuples != lists
    verdict = judge(task, Reply(text=f"[{name}({tuples})]"), "prompt")
    assert found(verdict) == ("wrong_type", "type_error:simple")


@pytest.mark.parametrize(
    "text",
    ["x" * 10_000_000, "[" * 10_000, f"[{NAME}(base={'9' * 5000})]", "\ufdd0d800", "\x00",
     f"[{NAME}(base=9**9**9, height=__import__('os').getpid())]"],
)  # fmt: skip
def test_hostile_text_is_incorrect_and_never_a_crash(task: Task, judge: Judge, text: str) -> None:
    for tool_format in ("native", "prompt"):
        cause, native = found(judge(task, Reply(text=text), tool_format))
        assert cause in ("missing_call", "format")
        assert native == "ast_decoder:decoder_failed"


@pytest.mark.parametrize(
    ("stop", "cause"),
    [("length", "over_limit"), ("refused", "refused"), ("malformed", "format"),
     ("over_long", "over_long")],
)  # fmt: skip
def test_a_reply_that_stopped_early_is_judged_as_it_stands(
    task: Task, judge: Judge, stop: StopReason, cause: str
) -> None:
    assert found(judge(task, Reply(text="I", stop=stop)))[0] == cause
    assert judge(task, Reply(calls=(RIGHT,), stop=stop)).outcome == "correct"


def test_an_episode_without_a_reply_is_no_call(task: Task) -> None:
    verdict = score_episode(task, Trajectory(task=task.id))["official"]
    assert found(verdict) == ("missing_call", "simple_function_checker:wrong_count")
