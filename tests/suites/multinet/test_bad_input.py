"""Bad input of every kind: a clear error, or an invalid prediction as specified; no crash."""

from __future__ import annotations

import builtins
import json
import math
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toolmark as tm
from toolmark.core import json_codec, worker_processes
from toolmark.core.errors import DataError
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request
from toolmark.scoring import action_errors, brier_errors, classification
from toolmark.suites.multinet import answer_parsing
from toolmark.suites.multinet.frame_records import (
    ActionVector,
    AnswerSpace,
    Choice,
    Distribution,
    FreeText,
    Truth,
)
from toolmark.suites.multinet.multinet_families import FAMILIES, Family
from toolmark.suites.multinet.overcooked import human_games

HUGE = "9" * 5000  # Python reads no whole number of more than 4,300 digits
DEEP = "[" * 100_000
ATTACK = "__import__('os').system('touch attacked')"
N = 4
FAMILY: dict[type, Family] = {
    Choice: "odinw",
    Distribution: "overcooked",
    ActionVector: "openx",
    FreeText: "sqa3d",
}
CHOICE = Choice(options=("a", "b", "c", "d"))
ODDS = Distribution(options=CHOICE.options)
MOTION = ActionVector(names=tuple("wxyz"), low=(0.0,) * N, high=(1.0,) * N, mean=(0.5,) * N)


def truth(space: AnswerSpace, right: Any = 0, family: Family | None = None) -> Truth:
    return Truth(family=family or FAMILY[type(space)], source="synthetic", form="text",
                 space=space, truth=right, group="g")  # fmt: skip


# --- texts ------------------------------------------------------------------------------

INVALID = None
CHOICES: dict[str, tuple[Any, Any]] = {  # what `paper` and `reference` make of it
    "2": (2, 2),
    " 3\n": (3, 3),
    "Option 1": (INVALID, 1),
    "2.0": (INVALID, 2),
    "+3": (3, 3),
    "0_1": (1, 0),  # as Python's int reads it; the reference takes the first digits
    "\uff12": (2, 2),
    "1__0": (INVALID, 1),
    "- 1": (INVALID, 1),
    "0" * 9_000 + "3": (3, 3),
    "1 or 2": (INVALID, 1),
    "-1": (INVALID, 1),
    "4": (INVALID, INVALID),
    "Coordinate 1": (INVALID, INVALID),
    "two": (INVALID, INVALID),
    "True": (INVALID, INVALID),
    "nan": (INVALID, INVALID),
    "inf": (INVALID, INVALID),
    "None": (INVALID, INVALID),
    "": (INVALID, INVALID),
    " \n\t": (INVALID, INVALID),
    "\udcff\x00": (INVALID, INVALID),
    HUGE: (INVALID, INVALID),
    DEEP: (INVALID, INVALID),
    ATTACK: (INVALID, INVALID),
}
CERTAIN = (1.0, 0.0, 0.0, 0.0)
SHARES: dict[str, tuple[Any, Any]] = {
    "[1, 0, 0, 0]": (CERTAIN, CERTAIN),
    "[1, 0, 0, 0.000009]": ((1.0, 0.0, 0.0, 9e-6),) * 2,
    "[0.5, 0, 0, 0]": (INVALID, INVALID),
    "[0.5, 0.5, 0.5, 0.5]": (INVALID, INVALID),
    "[1, 0, 0, 0.00002]": (INVALID, INVALID),
    "[2, -1, 0, 0]": (INVALID, (2.0, -1.0, 0.0, 0.0)),
    "[NaN, 0, 0, 1]": (INVALID, "nan"),
    "[Infinity, 0, 0, 0]": (INVALID, INVALID),
    "[1e999, 0, 0, 0]": (INVALID, INVALID),
    "[1, 0, 0]": (INVALID, INVALID),
    "[1, 0, 0, 0, 0]": (INVALID, INVALID),
    "[[1, 0, 0, 0]]": (INVALID, INVALID),
    '["1", 0, 0, 0]': (INVALID, INVALID),
    "1, 0, 0, 0": (CERTAIN, INVALID),  # Python's tuple; the reference asks for a list
    "[]": (INVALID, INVALID),
    "{}": (INVALID, INVALID),
    "1": (INVALID, INVALID),
    "likely the first": (INVALID, INVALID),
    "": (INVALID, INVALID),
    HUGE: (INVALID, INVALID),
    f"[{HUGE}, 0, 0, 0]": (INVALID, INVALID),
    DEEP: (INVALID, INVALID),
    ATTACK: (INVALID, INVALID),
    f"[{ATTACK}, 0, 0, 0]": (INVALID, INVALID),
}
MOVES: dict[str, tuple[Any, Any]] = {
    "[0.1, -2, 3e2, 4]": ((0.1, -2.0, 300.0, 4.0),) * 2,
    "[1e308, -1e308, 1e308, 0]": ((1e308, -1e308, 1e308, 0.0),) * 2,  # huge, and finite
    "[NaN, 0, 0, 0]": (INVALID, INVALID),
    "[nan, 0, 0, 0]": (INVALID, INVALID),
    "[Infinity, 0, 0, 0]": (INVALID, INVALID),
    "[-1e999, 0, 0, 0]": (INVALID, INVALID),
    "[true, false, 0, 1]": ((1.0, 0.0, 0.0, 1.0),) * 2,  # a tool's schema asks for numbers
    "[0, 0, 0]": (INVALID, INVALID),
    "[0, 0, 0, 0, 0]": (INVALID, INVALID),
    "[[0, 0], [0, 0]]": (INVALID, INVALID),
    "[0, 0, 0, null]": (INVALID, INVALID),
    "[0, 0, 0, '0']": (INVALID, INVALID),
    "[1j, 0, 0, 0]": (INVALID, INVALID),
    "{0, 1, 2, 3}": (INVALID, INVALID),
    "0": (INVALID, INVALID),
    "move left": (INVALID, INVALID),
    "": (INVALID, INVALID),
    f"[{HUGE}, 0, 0, 0]": (INVALID, INVALID),
    DEEP: (INVALID, INVALID),
    ATTACK: (INVALID, INVALID),
}
TEXTS = [
    pytest.param(space, text, read, id=f"{type(space).__name__} {text[:24]!r} {len(text)}")
    for space, table in ((CHOICE, CHOICES), (ODDS, SHARES), (MOTION, MOVES))
    for text, read in table.items()
]


@pytest.mark.parametrize(("space", "text", "read"), TEXTS)
def test_a_text_is_read_as_specified_or_invalid(space: AnswerSpace, text: str, read: Any,
                                               tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                               ) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for reading, wanted in zip(answer_parsing.GRADING_RULES, read, strict=True):
        said = answer_parsing.parse_text_answer(truth(space), text, reading)
        if wanted == "nan":
            assert math.isnan(said.value[0]), "the reference lets it pass"
        else:
            assert said.value == wanted, reading
        assert bool(said.fault) == (said.value is None)
    assert not list(tmp_path.iterdir()), "nothing of it was run"


def test_kinds_of_numbers_are_distinguished() -> None:
    assert answer_parsing.parse_text_answer(truth(CHOICE), "7", "paper").raw == 7
    assert answer_parsing.parse_text_answer(truth(CHOICE), "-7", "paper").raw == -7
    assert answer_parsing.parse_text_answer(truth(CHOICE), "seven", "paper").raw is None
    pair = truth(Choice(options=("a", "b")), family="piqa")
    assert answer_parsing.parse_text_answer(pair, "Solution 1", "paper").value is None
    assert answer_parsing.parse_text_answer(pair, "Solution 1", "reference").value == 1
    assert answer_parsing.parse_text_answer(pair, "01", "paper").value is None


# --- calls ------------------------------------------------------------------------------

ARGUMENTS: dict[str, tuple[AnswerSpace, str, str]] = {
    "no JSON": (CHOICE, '{"option": 1', "format"),
    "no object": (CHOICE, "[1]", "format"),
    "nothing": (CHOICE, "", "format"),
    "too deep": (CHOICE, DEEP, "format"),
    "huge": (CHOICE, f'{{"option": {HUGE}}}', "wrong_value"),
    "huge and below": (CHOICE, f'{{"option": -{HUGE}}}', "wrong_value"),
    "huge in a list": (MOTION, f'{{"vector": [{HUGE}, 0, 0, 0]}}', "wrong_value"),
    "bools": (ODDS, '{"probabilities": [true, false, false, false]}', "wrong_type"),
    "a bool among numbers": (MOTION, '{"vector": [0, 0, 0, true]}', "wrong_type"),
    "megabytes": (MOTION, f'{{"vector": [{"1, " * 2**19}1]}}', "format"),
    "out of range": (CHOICE, '{"option": 4}', "wrong_value"),
    "below": (CHOICE, '{"option": -1}', "wrong_value"),
    "text": (CHOICE, '{"option": "1"}', "wrong_type"),
    "a bool": (CHOICE, '{"option": true}', "wrong_type"),
    "a fraction": (CHOICE, '{"option": 1.5}', "wrong_type"),
    "not a number": (CHOICE, '{"option": NaN}', "wrong_type"),
    "endless": (CHOICE, '{"option": 1e999}', "wrong_type"),
    "absent": (CHOICE, "{}", "missing_argument"),
    "more": (CHOICE, '{"option": 1, "why": "so"}', "unexpected_argument"),
    "sum": (ODDS, '{"probabilities": [0.5, 0, 0, 0]}', "wrong_value"),
    "few": (ODDS, '{"probabilities": [1, 0]}', "wrong_value"),
    "no list": (ODDS, '{"probabilities": "even"}', "format"),
    "long": (MOTION, '{"vector": [0, 0, 0, 0, 0]}', "wrong_value"),
    "nan": (MOTION, '{"vector": [NaN, 0, 0, 0]}', "wrong_value"),
    "inf": (MOTION, '{"vector": [0, 0, 0, 1e999]}', "wrong_value"),
    "texts": (MOTION, '{"vector": ["0", "0", "0", "0"]}', "wrong_type"),
    "nested": (MOTION, '{"vector": [[0, 0, 0, 0]]}', "wrong_value"),
    "blank": (FreeText(), '{"text": " "}', "no_answer"),
    "a number": (FreeText(), '{"text": 3}', "wrong_type"),
}  # fmt: skip
TOOL = {Choice: "choose", Distribution: "distribution", ActionVector: "move", FreeText: "answer"}


@pytest.mark.parametrize("reading", answer_parsing.GRADING_RULES)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_call_that_does_not_fit_is_invalid_with_its_cause(
    name: str, reading: answer_parsing.GradingRule
) -> None:
    space, arguments, cause = ARGUMENTS[name]
    made = Call(name=TOOL[type(space)], arguments=arguments)
    said = answer_parsing.parse_call_answer(truth(space), [made], reading)
    assert said.value is None and (said.cause, bool(said.fault)) == (cause, True)


def test_only_one_call_of_the_tool_that_was_offered_is_an_answer() -> None:
    good = Call(name="choose", arguments='{"option": 1}')
    assert answer_parsing.parse_call_answer(truth(CHOICE), [good], "paper").value == 1
    for calls, cause in (([], "missing_call"), ([good, good], "extra_call"),
                         ([Call(name="move")], "unknown_tool")):  # fmt: skip
        said = answer_parsing.parse_call_answer(truth(CHOICE), calls, "paper")
        assert (said.value, said.cause) == (None, cause)
    kitchen = truth(Choice(options=tuple(map(str, range(36)))), family="overcooked")
    for pair in ({"player_0": "north", "player_1": "STAY"}, {"player_0": 0, "player_1": 4},
                 {"player_0": ["STAY"], "player_1": "STAY"}):  # fmt: skip
        act = Call(name="act", arguments=json.dumps(pair))
        assert answer_parsing.parse_call_answer(kitchen, [act], "paper").value is None


@pytest.mark.parametrize("reading", answer_parsing.GRADING_RULES)
@pytest.mark.parametrize("text", ["", "no call", DEEP, "f(" * 50_000, ")" * 50_000, ATTACK,
                                  "f('" + "x" * 100_000, "\udcff(\x00)"])  # fmt: skip
def test_calls_in_odd_texts_are_found_or_not_and_never_run(
    text: str, reading: answer_parsing.GradingRule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = answer_parsing.extract_calls(text, reading)
    assert all(call.endswith(")") for call in found)
    assert not list(tmp_path.iterdir())


# --- metrics ----------------------------------------------------------------------------

VECTORS: dict[str, Any] = {
    "not a number": [math.nan] * N,
    "endless": [math.inf, 0.0, 0.0, 0.0],
    "short": [0.0],
    "long": [0.0] * 9,
    "nested": [[0.0] * N],
    "text": "0, 0, 0, 0",
    "texts": ["0"] * N,
    "none": None,
    "a number": 1.0,
    "no dimension": np.array(1.0),
    "a whole too large": [10**400, 0, 0, 0],
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_a_bad_vector_counts_as_the_baseline_or_the_range_and_no_other_row_is_touched(
    name: str,
) -> None:
    right, mean = [[0.0] * N, [1.0] * N], [0.5] * N
    shape: dict[str, Any] = {"baseline": mean, "low": [0.0] * N, "high": [2.0] * N}
    paper = action_errors.measure_actions(right, [VECTORS[name], [0.75] * N], **shape)
    assert paper["invalid"] == 1 and paper["mae"] == pytest.approx((0.5 + 0.25) / 2)
    wide = action_errors.measure_actions(
        right, [VECTORS[name], [0.75] * N], **shape, rule="reference"
    )
    assert wide["mae"] == pytest.approx((2 + 0.25) / 2)


def test_huge_vectors_are_huge_errors_and_nothing_worse() -> None:
    right, far = [[0.0] * N] * 3, [[1e308, -1e308, 1e308, 1e308], [1e200] * N, [0.0] * N]
    found = action_errors.measure_actions(right, far, baseline=[0.5] * N)
    assert found["invalid"] == 0
    assert 1e307 < found["mae"] < math.inf and found["approx_rel_mae"] > 1e307
    assert found["max_rel_mae"] > 1e100 and not math.isnan(found["mse_mean_over_dims"])


@pytest.mark.parametrize("bad", [None, "1", 1.0, math.nan, [1], 10**30, -1, 4, b"1"])
def test_a_bad_class_is_wrong_and_no_class(bad: Any) -> None:
    found = classification.measure_labels([0, 1], [bad, 1], N)
    assert (found["tp"], found["invalid_fp"], found["fn"]) == (1, 1, 1)
    assert found["exact_match"] == 0.5


@pytest.mark.parametrize("bad", [
    None, "even", [], [1.0], [1.0, 0, 0, 0, 0], [0.5] * N, [math.nan] * N, [math.inf, 0, 0, 0],
    [2.0, -1.0, 0.0, 0.0], ["1", 0, 0, 0], [[1.0, 0, 0, 0]], 1.0,
])  # fmt: skip
def test_bad_probabilities_cost_two(bad: Any) -> None:
    found = brier_errors.measure_probabilities([0, 0], [bad, [1.0, 0.0, 0.0, 0.0]], N)
    assert (found["invalid"], found["mae"], found["mse"]) == (1, 1.0, 1.0)


# --- files ------------------------------------------------------------------------------


class Attack:
    """Runs a command when it is unpickled by who does not look."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch attacked",)


class Evaluates:
    """The same by another way."""

    def __reduce__(self) -> tuple[Any, ...]:
        return builtins.eval, (ATTACK,)


def table(rows: int = 3) -> bytes:
    """Return what is not a DataFrame, but a harmless pickle."""
    return pickle.dumps([{"joint_action": "[0, 0]"}] * rows)


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a command": (lambda: pickle.dumps(Attack()), "refused|posix"),
    "eval": (lambda: pickle.dumps(Evaluates()), "refused|eval"),
    "old protocol": (lambda: pickle.dumps(Attack(), 0), "refused|posix"),
    "inside a list": (lambda: pickle.dumps([1, 2, Attack()]), "refused|posix"),
    "cut off": (lambda: table()[:-5], "not a pickled table"),
    "cut in a text": (lambda: table()[:30], "not a pickled table"),
    "no table": (table, "not a pickled table"),
    "empty": (lambda: b"", "not a pickled table"),
    "text": (lambda: b"joint_action,reward\n", "not a pickled table|refused"),
    "a long text announced": (lambda: b"\x80\x04\x8d" + (2**62).to_bytes(8, "little"), "."),
    "deep": (lambda: b"\x80\x04" + b"](" * 10 + b"(" * 10**6 + b".", "."),
}


@pytest.mark.parametrize("name", FILES)
def test_a_bad_pickle_is_a_clear_error_and_nothing_of_it_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, reported = FILES[name]
    home = tmp_path / "home"
    path = home / "human_data" / "clean_test_trials.pickle"
    path.parent.mkdir(parents=True)
    path.write_bytes(made())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=rf"clean_test_trials\.pickle.*({reported})"):
        human_games.read_games(home, "test")
    assert os.listdir(tmp_path) == ["home"]


# --- from end to end ---------------------------------------------------------------------

REPLIES = (
    *(Reply(text=text) for text in ("", " ", "I cannot.", HUGE, DEEP, ATTACK, "[NaN, NaN]", "-1")),
    Reply(text="[1e308, -1e308, 1e308, 1e308, 1e308, 1e308, 1e308]"),
    Reply(text=f"[{', '.join(['2'] * 36)}]"),
    Reply(text=f"[NaN{', 0' * 34}, 1]"),
    Reply(text=json_codec.escape_surrogates("\udcff\x00")),
    Reply(text="x", stop="length"),
    Reply(stop="refused"),
    Reply(stop="malformed"),
    Reply(calls=(Call(name="nobody", arguments=DEEP),)),
    Reply(calls=(Call(name=""), Call(name="move", arguments="{"))),
    *(Reply(calls=(Call(name=name, arguments=given),)) for name, given in {
        "choose": '{"option": 1e999}', "act": '{"player_0": "JUMP", "player_1": null}',
        "move": '{"vector": [1e999]}', "distribution": '{"probabilities": [NaN]}',
        "answer": '{"text": ["yes"]}', "cd": f'{{"folder": {HUGE}}}',
    }.items()),
)  # fmt: skip


class Odd(Model):
    """Says all of it, one after the other."""

    name = "odd"

    def __init__(self) -> None:
        self._at = 0

    async def __call__(self, request: Request, /) -> Reply:
        self._at += 1
        return REPLIES[self._at % len(REPLIES)]


@pytest.mark.parametrize("mode", [
    *((family, {"morphology": "mobile"} if family == "openx" else {}) for family in FAMILIES),
    ("overcooked", {"mode": "probs"}),
], ids=str)  # fmt: skip
def test_no_reply_of_a_model_ends_a_run(
    mode: tuple[Family, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_processes, "available_cores", lambda: 1)
    family, more = mode
    given: dict[str, Any] = {"items": "6" if family == "bfcl" else "15"}
    given |= {} if family == "bfcl" else {"data": "synthetic", "seed": 3}
    given |= {} if family in ("piqa", "bfcl") else {"pictures": False}
    suite = tm.load(f"multinet-{family}", form="both", **given, **more)
    run = tm.run(suite, Odd(), log_dir=tmp_path)
    assert run.summary()["n_not_run"] == 0
    for each in run.scores():
        for verdict in each.verdicts.values():
            assert all(map(math.isfinite, verdict.parts.values()))
            assert verdict.outcome == "correct" or sum(x.primary for x in verdict.labels) == 1
    assert "odd" in tm.write_report(run).read_text(encoding="utf-8")
