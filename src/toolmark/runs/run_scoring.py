"""Scores and summary of a run, from its tasks and trajectories alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
from msgspec.structs import replace

from toolmark.core.errors import failure_of, suggest_names
from toolmark.core.failure import NEVER_FITS, Failure
from toolmark.core.records import VARIATION_AXIS, Cause, Score, Table, Task, Trajectory, Verdict
from toolmark.environments.mcp import sandbox
from toolmark.formats.native_format import NativeFormat
from toolmark.models.token_prices import ModelPrice
from toolmark.runs import presentation_writer, reply_cautions, reply_facts, run_logbook
from toolmark.runs.costs import cost_estimates, run_usage
from toolmark.runs.floors import floor_numbers
from toolmark.runs.record_files import write_document
from toolmark.runs.run_store import Run
from toolmark.runs.sound_record import sound_caution
from toolmark.runs.suite import Scorer
from toolmark.runs.variations.own_names import restore_task, restore_trajectory
from toolmark.runs.variations.variation_kinds import parse_kinds
from toolmark.scoring.episode import Episode
from toolmark.scoring.foreign_call_labels import (
    counted_syntax,
    describe_foreign_calls,
    label_foreign_calls,
)
from toolmark.statistics.estimates import count_groups
from toolmark.statistics.interval_warnings import missing_warning
from toolmark.statistics.label_formulas import PredictionPoweredMean
from toolmark.statistics.metric_formulas import Mean, Metric, PassRate
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.statistics.variation_effects import (
    VariationEffect,
    effect_table,
    measure_effects,
    summary_fields,
)

KNOWN_CAUSES = get_args(Cause)
KNOWN_OUTCOMES = ("correct", "incorrect")


def score_episode(
    scorer: Scorer,
    task: Task,
    trajectory: Trajectory,
    failure: Failure | None = None,
    price: ModelPrice | None = None,
) -> Score:
    """Score one episode by every grading rule. An error of the scorer itself is a `failure`.

    A grading rule other than the headline may be left out: the episode then does not count in it.
    Where a failure is given the episode counts as not run, and the scorer is not called. `price` is
    that of the model under test.
    """
    verdicts: dict[str, Verdict] = {}
    if failure is None:
        try:
            own = Episode(restore_task(task), restore_trajectory(task, trajectory), price)
            found = scorer.score(own)
            _check_rule_names(found, scorer.rules)
            verdicts = {name: check_verdict(found[name]) for name in scorer.rules if name in found}
            verdicts = label_foreign_calls(task, trajectory, verdicts)
        # a scorer's bug must not end a run, nor count against the model
        except (Exception, SystemExit) as error:
            failure = failure_of(error, "scorer")
            # of toolmark's own errors too: the row or the scorer is wrong
            if failure.kind == "bug":
                failure = replace(failure, kind="scorer")
    return _make_score(scorer, task, trajectory.repeat, verdicts, failure)


def _make_score(
    scorer: Scorer,
    task: Task,
    repeat: int,
    verdicts: dict[str, Verdict],
    failure: Failure | None,
) -> Score:
    group = "" if task.axes.get("group") else scorer.group(restore_task(task))
    return Score(
        task=task.id,
        item=task.item or task.id,
        repeat=repeat,
        category=task.category,
        axes={**task.axes, "group": group} if group else task.axes,
        verdicts=verdicts,
        failure=failure,
    )


def first_request_never_fits(run: Run) -> bool:
    """Return whether the first request of every episode was too long for the model.

    Such a run says nothing about the model: a list of tools that fits in no request would be scored
    as if the model had called none. This is decided over all completed episodes of scored tasks,
    each time that the run is scored. One request that fits is enough to return False.
    """
    n = 0
    for trajectory in run.trajectories():
        if run.task(trajectory.task).kind == "scored":
            if not is_first_request_too_long(trajectory):
                return False
            n += 1
    return n > 0


def is_first_request_too_long(trajectory: Trajectory) -> bool:
    """Return whether the first request of an episode was too long for the model."""
    replies = (reply for step in trajectory.steps for reply in step.model_replies)
    first = next(replies, None)
    return first is not None and first.stop == "over_long"


def has_unscored_episodes(run: Run) -> bool:
    """Return whether an episode that was played could not be scored, or not be judged."""
    return any(is_unscored(score) for score in run.stored_scores())


def is_unscored(score: Score) -> bool:
    """Return whether the episode was played, and its scorer or a judge failed."""
    failure = score.failure
    return failure is not None and (failure.kind == "scorer" or failure.stage == "judge")


def _check_rule_names(verdicts: Mapping[str, Verdict], rules: Sequence[str]) -> None:
    """Raise ValueError unless the verdicts are of these grading rules, the headline among them."""
    for name in verdicts:
        if name not in rules:
            raise ValueError(f"no rule {name!r}{suggest_names(name, rules)}")
    if rules[0] not in verdicts:
        raise ValueError(f"no verdict in the headline rule {rules[0]!r}")


def check_verdict(verdict: Verdict) -> Verdict:
    """Return a verdict if it may be stored. Raises ValueError naming what is invalid."""
    _check_values(verdict.outcome, verdict.value, verdict.parts)
    for name, word in verdict.traits.items():
        if not isinstance(word, str):
            raise ValueError(f"the trait {name!r} of a verdict is a word, got {word!r:.80}")
    for label in verdict.labels:
        if label.cause not in KNOWN_CAUSES:
            raise ValueError(f"no cause {label.cause!r}{suggest_names(label.cause, KNOWN_CAUSES)}")
    if sum(label.primary for label in verdict.labels) != (verdict.outcome == "incorrect"):
        raise ValueError("a failed verdict has exactly one primary label, a correct one none")
    return verdict


def _check_values(outcome: object, value: object, parts: Mapping[str, object]) -> None:
    """Raise ValueError for what a record's constructor lets pass."""
    if outcome not in KNOWN_OUTCOMES:
        raise ValueError(f"no outcome {outcome!r:.80}{suggest_names(str(outcome), KNOWN_OUTCOMES)}")
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"the value of a verdict is from 0 to 1, got {value!r:.80}")
    for name, number in parts.items():
        if not isinstance(number, int | float) or not math.isfinite(number):
            raise ValueError(f"the part {name!r} of a verdict is a number, got {number!r:.80}")


def write_summary(run: Run, scorer: Scorer) -> dict[str, Any]:
    """Store what readers need of complete scores, then the summary, and return the summary."""
    causes: Counter[Failure] = Counter()
    foreign: Counter[str] = Counter()
    headline, *others = scorer.rules
    counted = _count_foreign_calls(
        _iterate_counting_failures(run.stored_scores(), causes), headline, foreign
    )
    by_rule = {headline: gather_columns(counted, headline)}
    by_rule |= {name: gather_columns(run.stored_scores(), name) for name in others}
    metrics = {name: summary_metrics(scorer, table) for name, table in by_rule.items()}
    table = by_rule[scorer.rules[0]]
    plan = run.info.plan
    # with any other tool format, calls are text
    if plan.tool_format != NativeFormat.name:
        foreign.clear()
    used = run_usage.measure_run_usage(run, partial(cost_estimates.estimate_costs, table))
    notes = (
        sound_caution(run.info.sound),
        _run_caution(run, scorer, table, causes),
        *reply_cautions.list_cautions(used.replies, plan.sampling.max_tokens),
        describe_foreign_calls(foreign, int(table.run.sum())),
        headline_warning(metrics[headline][0], table),
    )
    caution = _join_notes(notes)
    kinds = [kind.name for kind in parse_kinds(plan.vary)]
    varied = {kind: gather_columns(run.stored_scores(), headline, kind) for kind in kinds}
    effects = measure_effects(table, varied, metrics[headline][0])
    presentation_writer.write_views(run, scorer)
    presentation_writer.write_presentation(
        run, scorer, by_rule, metrics, caution, _effect_tables(effects, scorer.rules)
    )
    head, *parts = [_metric_fields(metric, table) for metric in metrics[scorer.rules[0]]]
    n_run_varied = sum(int(each.run.sum()) for each in varied.values())
    n_run = int(table.run.sum()) + n_run_varied
    summary = {
        "suite": plan.suite,
        **({"data_label": run.info.data_label} if run.info.data_label else {}),
        "model": plan.model,
        **({"agent": plan.agent} if plan.agent else {}),
        "tool_format": plan.tool_format,
        **({"sample": plan.sample} if plan.sample and plan.limit is None else {}),
        **({"plan_sha256": plan.study.plan_sha256} if plan.study is not None else {}),
        **({"caution": caution} if caution else {}),
        "n_planned": run.info.n_planned,
        "n_run": n_run,
        "n_not_run": run.info.n_planned - n_run,
        "failures": _count_by_kind(causes),
        **({"foreign_calls": dict(foreign)} if foreign else {}),
        "score": head,
        "parts": {part["name"]: part for part in parts},
        **({"variations": summary_fields(effects)} if effects else {}),
        **({"n_run_varied": n_run_varied} if n_run_varied else {}),
        **_floor_fields(run, metrics[headline][0], table, headline),
        "rule": scorer.rules[0],
        "rules": scorer.rules,
        **_differing_rules(head, {name: (metrics[name][0], by_rule[name]) for name in others}),
        "spent": run_usage.summary_fields(used),
        **reply_facts.summary_fields(used.replies),
        "run_dir": str(run.path),
    }
    # before the summary: without it the run is not finished, and the same command enters it again
    run_logbook.enter_score(run, summary)
    write_document(Path(run.path) / "summary.json", summary)
    return summary


def _effect_tables(effects: Sequence[VariationEffect], rules: Sequence[str]) -> tuple[Table, ...]:
    return (effect_table(effects, rules[0] if len(rules) > 1 else ""),) if effects else ()


def _floor_fields(run: Run, metric: Metric, table: Columns, rule: str) -> dict[str, Any]:
    found = floor_numbers.read_floor_numbers(run, table, metric, rule)
    return {} if found is None else {"floors": floor_numbers.floor_fields(found)}


def headline_warning(metric: Metric, table: Columns) -> str:
    """Return what is known against the headline's interval, "" where nothing is.

    Where labels of people correct a judge, what was not run is measured by the judge alone.
    """
    formula = metric.formula
    if isinstance(formula, PredictionPoweredMean):
        formula = Mean()
    estimate = metric.measure(table)
    missing = missing_warning(
        lambda rows: formula.linearise(rows).value,
        formula.select_rows(metric.select_rows(table)),
        estimate,
        lower_is_better=metric.lower_is_better,
    )
    return _join_notes((estimate.warning, missing))


def _join_notes(notes: Iterable[str]) -> str:
    """Join notes to one text; a note begins a sentence where the one before ended one."""
    joined = ""
    for note in filter(None, notes):
        if joined.endswith("."):
            joined += f" {note[0].upper()}{note[1:]}"
        else:
            joined += f"; {note}" if joined else note
    return joined


def _differing_rules(
    head: Mapping[str, Any], others: Mapping[str, tuple[Metric, Columns]]
) -> dict[str, Any]:
    """Return the headline's number by the other grading rules, of those in which it differs."""
    found = {name: _metric_fields(metric, table) for name, (metric, table) in others.items()}
    differing = {
        name: fields
        for name, fields in found.items()
        if any(fields.get(key) != head.get(key) for key in ("value", "n", "leaderboard_value"))
    }
    return {"other_rules": differing} if differing else {}


def _run_caution(run: Run, scorer: Scorer, table: Columns, causes: Container[Failure]) -> str:
    """Return what a reader must know first, "" where there is nothing.

    That is the scorer's caution, that no sandbox confined the servers, and that no request fitted.
    """
    sandbox_note = (
        sandbox.OFF_NOTE
        if run.info.plan.environment_hashes.get(sandbox.RECORD_KEY) == "off"
        else ""
    )
    never_fits = NEVER_FITS.cause in causes
    fit_note = (
        f"{NEVER_FITS.message}: they are not run, and say nothing of it" if never_fits else ""
    )
    return " ".join(
        filter(
            None,
            (
                sandbox_note,
                "; ".join(filter(None, (scorer.presentation.caution(table, run), fit_note))),
            ),
        )
    )


def _iterate_counting_failures(
    scores: Iterable[Score], causes: Counter[Failure]
) -> Iterator[Score]:
    """Yield the scores, and count why episodes were not run."""
    for score in scores:
        if score.failure is not None:
            causes[score.failure.cause] += 1
        yield score


def _count_foreign_calls(
    scores: Iterable[Score], rule: str, counts: Counter[str]
) -> Iterator[Score]:
    """Yield the scores, and count by syntax the episodes with a call as text.

    Those of varied tasks do not count, as in the headline.
    """
    for score in scores:
        verdict = None if VARIATION_AXIS in score.axes else score.verdicts.get(rule)
        if verdict is not None and verdict.parts and (syntax := counted_syntax(verdict)):
            counts[syntax] += 1
        yield score


def _count_by_kind(causes: Mapping[Failure, int]) -> dict[str, int]:
    """Return how many episodes were not run by kind, most first."""
    kinds: Counter[str] = Counter()
    for cause, n in causes.items():
        kinds[cause.kind] += n
    return dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))


def summary_metrics(scorer: Scorer, table: Columns) -> list[Metric]:
    """Return a suite's metrics, and those that repeats add where its headline is right or wrong.

    For k = 2, 4, 8 ... and the number of repeats: that all of k repeats of a task are right
    (pass^k), and that any of them is (pass@k). Tasks count equally here, whatever weights the
    headline uses.
    """
    head, *parts = scorer.metrics(table)
    rows = head.select_rows(table)
    n_repeats = int(table.repeat.max(initial=0)) + 1
    binary = np.isin(rows.value[rows.run], (0.0, 1.0)).all()
    if n_repeats < 2 or not binary or not head.measure(table).is_share:
        return [head, *parts]
    ks = [2**n for n in range(1, n_repeats.bit_length()) if 2**n < n_repeats] + [n_repeats]
    return [head, *parts, *(_passes_metric(head, k, every) for every in (True, False) for k in ks)]


def _passes_metric(head: Metric, k: int, every: bool) -> Metric:
    name = f"pass^{k}" if every else f"pass@{k}"
    description = f"{'all' if every else 'any'} of {k} right ({name})"
    return Metric(name, PassRate(k=k, all_attempts=every), description, "tasks", head.filters)


def _metric_fields(metric: Metric, table: Columns) -> dict[str, Any]:
    estimate = metric.measure(table)
    rows = metric.select_rows(table)
    n_items, n_groups = len(set(rows.item[rows.run])), count_groups(rows)
    covers_all = estimate.n == rows.run.sum()
    is_partial = bool(estimate.partial)
    optional_fields = {
        "partial": estimate.partial,
        "leaderboard_value": estimate.value if is_partial else 0,
        "warning": estimate.warning,
        "title": metric.title,
        "unit": metric.unit,
        # the interval is as wide as the items or groups make it: shown where answers share them
        "n_items": n_items if n_items < estimate.n and covers_all else 0,
        "n_groups": n_groups if n_groups < estimate.n and covers_all else 0,
    }
    return {
        "name": estimate.name,
        "value": None if is_partial else estimate.value,
        "low": None if is_partial else estimate.low,
        "high": None if is_partial else estimate.high,
        "n": estimate.n,
        "worst": estimate.worst,
        "best": estimate.best,
        **{name: value for name, value in optional_fields.items() if value},
        **({} if estimate.is_share else {"is_share": False}),
    }
