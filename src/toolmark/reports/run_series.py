"""Which of several runs a run is, and what all of them scored, by the logbook of their folder."""

from __future__ import annotations

from collections.abc import Sequence

from toolmark.core import number_format
from toolmark.core.errors import ToolmarkError
from toolmark.core.records import Estimate, Record
from toolmark.runs import run_logbook
from toolmark.runs.run_logbook import Logbook, LoggedRun
from toolmark.runs.run_store import Run

MAX_SCORES_LISTED = 12


class SeriesMember(Record, frozen=True, kw_only=True):
    """A run of a series; without a headline it has not ended. `is_removed`: its folder is gone."""

    run: str
    begun: str
    n_run: int = 0
    headline: Estimate | None = None
    is_removed: bool = False


class RunSeries(Record, frozen=True, kw_only=True):
    """The runs of one plan, or of one suite without a plan, with one model and agent, oldest first.

    `position` is that of the run in question, from 1. `faults` say what is wrong with the logbook.
    """

    position: int
    n_runs: int
    of: str
    runs: tuple[SeriesMember, ...]
    faults: tuple[str, ...] = ()


def find_series(run: Run) -> RunSeries | None:
    """Return the series of a run; None where no logbook next to it has the run, or none is needed.

    A single run without a plan needs none, unless the logbook has faults.
    """
    try:
        logbook = run_logbook.read_logbook(run.path.parent)
    except ToolmarkError as error:
        return RunSeries(position=1, n_runs=1, of="", runs=(), faults=(str(error),))
    logged = logbook.find_run(run.path.name)
    faults = tuple(run_logbook.describe_faults(logbook))
    if logged is None:
        return RunSeries(position=1, n_runs=1, of="", runs=(), faults=faults) if faults else None
    members = list_members(logbook, logged)
    has_plan = bool(logged.first.plan_sha256)
    if len(members) < 2 and not has_plan and not faults:
        return None
    return RunSeries(
        position=1 + next(i for i, each in enumerate(members) if each is logged),
        n_runs=len(members),
        of=_series_name(logged, has_plan=has_plan),
        runs=tuple(describe_member(logbook, each) for each in members),
        faults=faults,
    )


def _series_name(logged: LoggedRun, *, has_plan: bool) -> str:
    who = ", model and agent" if logged.first.agent else " and model"
    return f"this plan{who}" if has_plan else f"this suite{who} in this folder"


def list_members(logbook: Logbook, logged: LoggedRun) -> list[LoggedRun]:
    """Return the runs of the same plan, or of the same suite without a plan.

    They have the same model and the same agent under test.
    """

    def series_key(each: LoggedRun) -> tuple[str, str, str, str]:
        first = each.first
        return (first.suite, first.model, first.agent, first.plan_sha256)

    wanted = series_key(logged)
    return [
        each
        for each in logbook.runs
        if series_key(each) == wanted and (each is logged or not each.is_withdrawn)
    ]


def describe_member(logbook: Logbook, logged: LoggedRun) -> SeriesMember:
    """Return a run of the logbook as readers see it."""
    name = logged.first.run
    is_latest = logbook.find_run(name) is logged
    return SeriesMember(
        run=name,
        begun=logged.first.time,
        n_run=0 if logged.last_score is None else logged.last_score.n_run,
        headline=logged.headline,
        is_removed=not (is_latest and (logbook.path.parent / name / "run.json").exists()),
    )


def describe_series(series: RunSeries | None) -> str:
    """Return `run 2 of 3 of this plan and model: 51.4 %, 52.0 % (this run), not ended`.

    "" where there is nothing to say. Numbers of answers are given where they differ.
    """
    if series is None or not series.of:
        return ""
    head = f"run {series.position} of {series.n_runs} of {series.of}"
    texts = _score_texts(series)
    first = max(0, len(texts) - MAX_SCORES_LISTED)
    more = f"{number_format.format_count(first)} earlier, " if first else ""
    return f"{head}: {more}{', '.join(texts[first:])}"


def selection_warnings(a: Run, b: Run) -> list[str]:
    """Return warnings that a compared run is one of several of its series with a score.

    A p-value is that of one look. Whoever compares the best of k runs has looked k times, and k
    times the p-value holds for any choice (Bonferroni).
    """
    found: dict[str, int] = {}
    names = {run.path.name for run in (a, b)}
    for side, run in (("A", a), ("B", b)):
        series = find_series(run)
        if series is None or not series.of:
            continue
        others = [each for each in series.runs if each.headline and each.run not in names]
        if others:
            place = f"is run {series.position} of {series.n_runs} of {series.of}"
            found[f"{side} {place}"] = len(others) + 1
    if not found:
        return []
    n_looks = max(found.values())
    return [
        f"{'; '.join(found)}: the p-value holds for runs that were chosen before their scores were "
        f"seen; for the best of {n_looks} it is at most {n_looks} times as large"
    ]


def _score_texts(series: RunSeries) -> Sequence[str]:
    sizes = {each.n_run for each in series.runs if each.headline is not None}
    texts = []
    for at, each in enumerate(series.runs, 1):
        notes = ["this run"] if at == series.position else []
        if each.headline is None or each.headline.value is None:
            text = missing_score_text(each.headline)
        else:
            text = _value_text(each.headline)
            notes += [f"n={number_format.format_count(each.n_run)}"] if len(sizes) > 1 else []
        notes += ["removed"] if each.is_removed else []
        texts.append(f"{text} ({', '.join(notes)})" if notes else text)
    return texts


def missing_score_text(headline: Estimate | None) -> str:
    """Return why a run has no value: it has not ended, or its headline is partial or missing."""
    if headline is None:
        return "not ended"
    return f"partial: {headline.partial}" if headline.partial else "no score"


def _value_text(headline: Estimate) -> str:
    """Return the value alone: intervals of many runs would hide the scores."""
    value = headline.value or 0.0
    if headline.is_share:
        return number_format.format_percent(value)
    return number_format.format_decimal(value)
