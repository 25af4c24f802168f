"""What the user's functions do wrong is no fault of the model: the episode is not run, others are.

Functions that cannot work at all are refused before anything is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.authoring.faulty_suites import (
    BAD,
    GOOD,
    Caller,
    Fine,
    environment_with,
    failures,
    outcomes,
    play,
    tasks,
)
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.core.records import Label

HERE = Path(__file__).name


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Foreign(BaseException):
    pass


def _raise(error: BaseException) -> Any:
    raise error


def _recursive() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def _deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(5000):
        found = [found]
    return found


def _generate() -> Any:
    yield 1


# --- tools ------------------------------------------------------------------------------


RAISED = {
    "an error": lambda self: _raise(ValueError("wrong")),
    "an error of a key": lambda self: dict[str, str]()["missing"],
    "an assertion": lambda self: _raise(AssertionError()),
    "a time-out of its own": lambda self: _raise(TimeoutError("mine")),
    "the end of an iteration": lambda self: _raise(StopIteration()),
    "no memory": lambda self: _raise(MemoryError()),
    "endless recursion": lambda self: _recurse(),
    "an error without a text": lambda self: _raise(Odd()),
    "a cancellation": lambda self: _raise(asyncio.CancelledError()),
    "an exit": lambda self: sys.exit(3),
    "an exit without a code": lambda self: _raise(SystemExit()),
    "a foreign base": lambda self: _raise(Foreign("base")),
}


def _recurse() -> Any:
    return _recurse()


NONSENSE = {
    "bytes": lambda self: b"\xff",
    "an object": lambda self: object(),
    "NaN": lambda self: float("nan"),
    "infinity in a list": lambda self: {"a": [float("inf")]},
    "a text of 60 MB": lambda self: "x" * (60 * 2**20),
    "a list in itself": lambda self: _recursive(),
    "a deep list": lambda self: _deep(),
    "a key that is an object": lambda self: {object(): 1},
    "a key that is a tuple": lambda self: {(1, 2): 1},
    "a function": lambda self: print,
    "a generator": lambda self: _generate(),
}


@pytest.mark.parametrize("name", [*RAISED, *NONSENSE])
def test_a_faulty_tool_ends_its_episode_alone_and_names_the_users_line(
    name: str, tmp_path: Path
) -> None:
    function: Callable[..., Any] = (RAISED | NONSENSE)[name]
    function.__annotations__ = {}
    run = play(tmp_path, environment=environment_with(function))
    assert outcomes(run) == {GOOD: "correct"}
    failure = failures(run)[BAD]
    assert (failure.stage, failure.kind) == ("environment", "environment")
    assert HERE in failure.first_line and ", line " in failure.first_line
    assert len(failure.first_line) < 400
    assert run.summary()["n_not_run"] == 1


def sleeps(self: Any) -> None:
    time.sleep(60)


def spins(self: Any) -> None:
    while True:
        pass


def swallows(self: Any) -> None:
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.01)


def swallows_once(self: Any) -> None:
    for _ in range(2):
        with contextlib.suppress(BaseException):
            time.sleep(60)


async def awaits(self: Any) -> None:
    await asyncio.sleep(60)


async def blocks(self: Any) -> None:
    await asyncio.sleep(0)
    time.sleep(60)


async def swallows_awaiting(self: Any) -> None:
    while True:
        with contextlib.suppress(Exception):
            await asyncio.sleep(60)


async def swallows_cancellation(self: Any) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(60)


async def sleeps_between_awaits(self: Any) -> None:
    await asyncio.sleep(0)
    time.sleep(60)


@pytest.mark.parametrize("function", [sleeps, spins, swallows, sleeps_between_awaits])
def test_the_smaller_of_the_limits_of_episode_and_tool_ends_a_call_that_blocks(
    function: Callable[..., Any], tmp_path: Path
) -> None:
    function.__annotations__ = {}
    act = tm.tool(name="act", time_limit_s=60)(function)
    made = tm.Suite(
        name="blocking",
        tasks=tasks(),
        scorer=lambda episode: True,
        environment=type("Blocking", (Fine,), {"act": act}),
    )
    run = tm.run(made, Caller(), log_dir=tmp_path, time_limit_s=0.4)
    assert outcomes(run) == {GOOD: "correct"}
    failure = failures(run)[BAD]
    assert (failure.stage, failure.kind) == ("environment", "time_limit")


@pytest.mark.parametrize(
    "function",
    [
        sleeps,
        spins,
        swallows,
        swallows_once,
        awaits,
        blocks,
        swallows_awaiting,
        swallows_cancellation,
    ],
    ids=lambda function: function.__name__,
)
def test_a_tool_that_hangs_is_interrupted(function: Any, tmp_path: Path) -> None:
    run = play(tmp_path, environment=environment_with(function))
    assert outcomes(run) == {GOOD: "correct"}
    failure = failures(run)[BAD]
    assert (failure.stage, failure.kind) == ("environment", "environment")
    assert HERE in failure.first_line


def test_a_refusal_of_the_tool_is_read_by_the_model(tmp_path: Path) -> None:
    function = environment_with(lambda self: _raise(tm.ToolError("no such event")))
    run = play(tmp_path, environment=function)
    assert failures(run) == {} and outcomes(run) == {BAD: "correct", GOOD: "correct"}
    [bad] = [each for each in run.trajectories() if each.task == BAD]
    [result] = bad.steps[0].results
    assert result.is_error and result.text == "no such event"


def test_arguments_that_a_tool_changes_stay_as_the_model_gave_them(tmp_path: Path) -> None:
    def clear(self: Any, items: list[int]) -> int:
        items.clear()
        return len(items)

    run = play(tmp_path, Caller(arguments={"items": [1, 2]}), environment=environment_with(clear))
    [bad] = [each for each in run.trajectories() if each.task == BAD]
    assert bad.steps[0].calls[0].arguments == '{"items": [1, 2]}'


class NotJson:
    pass


def arguments_variadic(self: Any, *items: int) -> None: ...
def arguments_by_name(self: Any, **items: int) -> None: ...
def argument_by_position(self: Any, item: int, /) -> None: ...
def argument_without_type(self, item): ...  # type: ignore[no-untyped-def]
def argument_of_unknown_type(self: Any, item: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def argument_of_class(self: Any, item: NotJson) -> None: ...
def argument_of_function(self: Any, item: Callable[[], int]) -> None: ...
def default_of_class(self: Any, item: int = NotJson()) -> None: ...  # type: ignore[assignment]
def default_of_other_type(self: Any, item: int = "x") -> None: ...  # type: ignore[assignment]
def default_of_no_number(self: Any, item: float = float("nan")) -> None: ...
def no_self() -> None: ...


@pytest.mark.parametrize(
    "function",
    [arguments_variadic, arguments_by_name, argument_by_position, argument_without_type,
     argument_of_unknown_type, argument_of_class, argument_of_function, default_of_class,
     default_of_other_type, default_of_no_number, no_self],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_a_function_that_no_schema_describes_is_refused_before(
    function: Any, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="tool act: "):
        play(tmp_path, environment=environment_with(function))
    assert not [*tmp_path.iterdir()]


class Act(Fine):
    @tm.tool
    def act(self) -> str:
        return "base"


class Overridden(Act):
    @tm.tool
    def act(self) -> str:
        return "overridden"


class Removed(Act):
    act = None  # type: ignore[assignment]


class MarkedStatic(Fine):
    @tm.tool
    @staticmethod
    def act() -> str:
        return "static"


class StaticMarked(Fine):
    @staticmethod
    @tm.tool
    def act() -> str:
        return "static"


class MarkedOfClass(Fine):
    @tm.tool
    @classmethod
    def act(cls) -> str:
        return cls.__name__


class OfClassMarked(Fine):
    @classmethod
    @tm.tool
    def act(cls) -> str:
        return cls.__name__


@pytest.mark.parametrize(
    ("kind", "text"),
    [(Act, "base"), (Overridden, "overridden"), (MarkedStatic, "static"), (StaticMarked, "static"),
     (MarkedOfClass, "MarkedOfClass"), (OfClassMarked, "OfClassMarked")],
)  # fmt: skip
def test_methods_of_every_kind_are_tools(kind: Any, text: str, tmp_path: Path) -> None:
    run = play(tmp_path, environment=kind)
    [bad] = [each for each in run.trajectories() if each.task == BAD]
    [result] = bad.steps[0].results
    assert (result.text, result.is_error) == (text, False)


def test_a_subclass_removes_a_tool_by_none(tmp_path: Path) -> None:
    run = play(tmp_path, environment=Removed)
    [bad] = [each for each in run.trajectories() if each.task == BAD]
    assert bad.steps[0].results[0].is_error


def _unmarked() -> type:
    return type("Unmarked", (Act,), {"act": lambda self: "unmarked"})


def _twice() -> type:
    return type("Twice", (Act,), {"other": tm.tool(name="act")(lambda self: "twice")})


def _property() -> type:
    return type("Property", (Fine,), {"act": property(tm.tool(lambda self: "property"))})


def _marked_property() -> type:
    return type("Property", (Fine,), {"act": tm.tool(property(lambda self: "property"))})  # type: ignore[call-overload]


def _partial() -> type:
    return type("Partial", (Fine,), {"act": tm.tool(name="act")(functools.partial(sleeps))})


def _reserved(name: str) -> type:
    return type("Reserved", (Fine,), {name: tm.tool(lambda self: "reserved")})


@pytest.mark.parametrize(
    "make",
    [_unmarked, _twice, _property, _marked_property, _partial,
     *(functools.partial(_reserved, name) for name in ("call", "tools", "final_state", "opening"))],
)  # fmt: skip
def test_a_class_whose_tools_are_not_clear_is_refused_before(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    with pytest.raises(UsageError):
        play(tmp_path, environment=make())
    assert not [*tmp_path.iterdir()]


# --- environments -----------------------------------------------------------------------


def faulty_state(make: Callable[[], Any]) -> type:
    class Faulty(Fine):
        def __init__(self, task: tm.Task) -> None:
            self.is_bad = task.id == BAD

        def final_state(self) -> Any:
            return make() if self.is_bad else {"events": {3, 1}}

    return Faulty


@pytest.mark.parametrize(
    "fail",
    [lambda: _raise(ValueError("no calendar")), lambda: sys.exit(1), lambda: _raise(Odd())],
    ids=["error", "exit", "without text"],
)
def test_a_constructor_that_fails_ends_its_episode_alone(fail: Any, tmp_path: Path) -> None:
    class Faulty(Fine):
        def __init__(self, task: tm.Task) -> None:
            if task.id == BAD:
                fail()

    run = play(tmp_path, environment=Faulty)
    assert outcomes(run) == {GOOD: "correct"}
    assert (failures(run)[BAD].stage, failures(run)[BAD].kind) == ("environment", "environment")
    assert HERE in failures(run)[BAD].first_line


STATES = {
    "an error": lambda: _raise(ValueError("wrong")),
    "an exit": lambda: sys.exit(1),
    "an object": object,
    "NaN": lambda: float("nan"),
    "bytes": lambda: b"a",
    "a list in itself": _recursive,
    "a generator": _generate,
    "a key that is a tuple": lambda: {(1, 2): 3},
}


@pytest.mark.parametrize("name", STATES)
def test_a_final_state_that_fails_ends_its_episode_alone(name: str, tmp_path: Path) -> None:
    run = play(tmp_path, environment=faulty_state(STATES[name]))
    assert outcomes(run) == {GOOD: "correct"}
    assert (failures(run)[BAD].stage, failures(run)[BAD].kind) == ("environment", "environment")
    [good] = run.trajectories()
    assert good.state == {"events": [1, 3]}


def test_an_environment_that_swallows_errors_when_it_is_left_hides_none(tmp_path: Path) -> None:
    class Swallows(Fine):
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: object) -> bool:
            return True

        @tm.tool
        def act(self) -> str:
            raise ValueError("wrong")

    run = play(tmp_path, environment=Swallows)
    assert outcomes(run) == {GOOD: "correct"}
    assert failures(run)[BAD].kind == "environment"


def test_a_constructor_of_two_arguments_is_refused_before(tmp_path: Path) -> None:
    class Two(Fine):
        def __init__(self, task: tm.Task, other: int) -> None: ...

    with pytest.raises(UsageError, match="other"):
        play(tmp_path, environment=Two)
    assert not [*tmp_path.iterdir()]


# --- scorers and metrics ----------------------------------------------------------------


def only_bad(make: Callable[[], Any], right: Any = True) -> Callable[[tm.Episode], Any]:
    """Return a function that fails for the bad task alone."""

    def judge(episode: tm.Episode) -> Any:
        return make() if episode.task.id == BAD else right

    return judge


VERDICTS = {
    "an error": lambda: _raise(ValueError("wrong")),
    "an exit": lambda: sys.exit(1),
    "none": lambda: None,
    "a text": lambda: "yes",
    "two": lambda: 2,
    "a negative number": lambda: -0.1,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "a huge number": lambda: 10**400,
    "a list": lambda: [True],
    "a class": lambda: tm.Verdict,
    "a generator": _generate,
    "an unknown outcome": lambda: tm.Verdict(outcome="maybe", value=0.5),  # type: ignore[arg-type]
    "a right verdict of NaN": lambda: tm.Verdict(outcome="correct", value=float("nan")),
    "a right verdict of seven": lambda: tm.Verdict(outcome="correct", value=7),
    "a right verdict of nothing": lambda: tm.Verdict(outcome="correct", value=0),
    "a wrong verdict without a label": lambda: tm.Verdict(outcome="incorrect", value=0),
    "a wrong verdict of an unknown cause": lambda: tm.Verdict(
        outcome="incorrect", value=0, labels=(Label(cause="bad", primary=True),)  # type: ignore[arg-type]
    ),
    "a part that is a text": lambda: tm.Verdict(
        outcome="correct", value=1, parts={"a": "x"}  # type: ignore[dict-item]
    ),
    "a part that is no number": lambda: tm.Verdict(
        outcome="correct", value=1, parts={"a": float("nan")}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VERDICTS)
def test_a_scorer_that_fails_leaves_its_episode_unscored(name: str, tmp_path: Path) -> None:
    run = play(tmp_path, scorer=only_bad(VERDICTS[name]))
    assert outcomes(run) == {GOOD: "correct"}
    failure = failures(run)[BAD]
    assert (failure.stage, failure.kind) == ("scorer", "scorer")
    assert len(failure.first_line) < 400
    head = run.summary()["score"]
    assert (head["value"], head["n"]) == (1, 1)  # nothing is counted against the model
    assert [*run.attempts()] == [] and len([*run.trajectories()]) == 2


NUMBERS = {
    "an error": lambda: _raise(ValueError("wrong")),
    "an exit": lambda: sys.exit(1),
    "a text": lambda: "a",
    "NaN": lambda: float("nan"),
    "a huge number": lambda: 10**400,
    "a list": lambda: [1],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_metric_that_fails_leaves_its_episode_unscored(name: str, tmp_path: Path) -> None:
    run = play(tmp_path, metrics=[tm.mean("x", only_bad(NUMBERS[name], 1))])
    assert outcomes(run) == {GOOD: "correct"}
    assert (failures(run)[BAD].stage, failures(run)[BAD].kind) == ("scorer", "scorer")
    assert HERE in failures(run)[BAD].first_line
    assert run.summary()["parts"]["x"]["n"] == 1


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    run = play(
        tmp_path, scorer=only_bad(lambda: np.bool_(True)),
        metrics=[tm.mean("x", lambda episode: np.int64(3))],  # type: ignore[arg-type,return-value]
    )  # fmt: skip
    assert outcomes(run) == {BAD: "correct", GOOD: "correct"}
    assert run.summary()["parts"]["x"]["value"] == 3


async def _judges(episode: tm.Episode) -> bool:
    return True


class _AsyncJudge:
    async def __call__(self, episode: tm.Episode) -> bool:
        return True


@pytest.mark.parametrize(
    "parts",
    [{"scorer": 3}, {"scorer": _judges}, {"scorer": _AsyncJudge()}, {"scorer": lambda: True},
     {"scorer": lambda one, other: True}, {"metrics": [tm.mean("x", _judges)]},  # type: ignore[arg-type]
     {"metrics": [tm.mean("x", lambda: 1)]},  # type: ignore[misc,arg-type]
     {"metrics": [tm.mean("x", len), tm.mean("x", len)]}],  # type: ignore[arg-type]
)  # fmt: skip
def test_functions_that_cannot_judge_are_refused_before(parts: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        play(tmp_path, **parts)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("fail", [lambda: _raise(ValueError("wrong")), lambda: sys.exit(1)])
def test_a_table_that_fails_harms_no_score(fail: Any, tmp_path: Path) -> None:
    run = play(tmp_path, tables=[lambda rows: fail()])
    assert run.summary()["score"]["value"] == 1


# --- what functions print ---------------------------------------------------------------

LOUD = '''
import os, subprocess, sys
import toolmark as tm

print("imported")
kept = sys.stdout


class Loud(tm.Environment):
    def __init__(self, task: tm.Task) -> None:
        print("constructed")

    @tm.tool
    def say(self) -> str:
        """Say."""
        print("called")
        kept.write("kept")
        os.write(1, b"descriptor")
        subprocess.run(["echo", "child"])
        return "said"

    def final_state(self) -> object:
        print("state")
        return []


def judge(episode: tm.Episode) -> bool:
    print("judged")
    return True


@tm.suite
def loud() -> tm.Suite:
    """A loud suite."""
    return tm.Suite(
        tasks=tm.read_tasks("rows.jsonl"), environment=Loud, scorer=judge,
        metrics=[tm.mean("x", lambda episode: print("measured") or 1)],
        tables=[lambda rows: print("shown") or []],
    )
'''
PRINTED = ("imported", "constructed", "called", "kept", "descriptor", "child", "state", "judged",
           "measured")  # fmt: skip


@pytest.mark.parametrize("command", ["run", "check", "score"])
def test_what_the_users_code_prints_is_not_in_the_output_of_json(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    (tmp_path / "rows.jsonl").write_text('{"question": "Hello?", "solution": [{"name": "say"}]}\n')

    def toolmark(*words: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "toolmark", *words]
        return subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, env=os.environ)

    done = toolmark("run", "loud.py:loud", "-m", "control/oracle", "--json")
    if command == "check":
        done = toolmark("check", "loud.py:loud", "--json")
    if command == "score":
        [run] = (tmp_path / "runs").glob("*/")
        done = toolmark("score", str(run), "--json")
    assert isinstance(json.loads(done.stdout), dict)
    if command == "run":
        assert done.returncode == 0
        for word in PRINTED:
            assert word in done.stderr


def test_a_broken_file_of_the_user_is_named_with_its_line(toolmark: Command) -> None:
    Path("broken.py").write_text("import toolmark as tm\n\n1 / 0\n")
    said = toolmark("run", "broken.py:suite", "-m", "control/null")
    assert said.code == 2
    assert "broken.py" in said.err and "line 3" in said.err and "ZeroDivisionError" in said.err
