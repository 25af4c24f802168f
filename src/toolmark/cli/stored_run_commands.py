"""Commands on runs that are stored: score, report, compare, show. No model is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.number_format import pluralize
from toolmark.core.records import Attempt, Record, Score, Task, Trajectory
from toolmark.reports.table_format import visible_text

if TYPE_CHECKING:
    from toolmark.runs.run_store import Run
    from toolmark.runs.suite import Scorer, Suite

out, err = consoles.stdout_console(), consoles.stderr_console()
MAX_DAMAGED_LINES = 3  # that are named


def score(
    path: options.RunPath,
    suite: options.UserSuite = None,
    floors: options.FloorsChoice = options.Floors.off,
    fail_under: options.FailUnder = None,
    fail_under_low: options.FailUnderLow = None,
    junit: options.JunitFile = None,
    markdown: options.MarkdownFile = None,
    as_json: options.AsJson = False,
) -> None:
    """Score a stored run anew; no model is asked. Exit code 3 if the scorer fails on some.

    With --floors the floors that the run lacks are played first, on its tasks.
    """
    from toolmark import api
    from toolmark.cli import ci_output, console_output
    from toolmark.reports.gates import check_score_limits, failed_gates_text
    from toolmark.suites import suite_registry

    limits = ci_output.parse_score_limits(fail_under, fail_under_low)
    run = api.open_run(path)
    parameters = run.info.plan.parameters if suite else {}
    with consoles.divert_stdout():
        if suite and floors is not options.Floors.off:
            given: Scorer | Suite | None = suite_registry.load_with_known(suite, parameters)
        else:
            given = suite_registry.load_scorer(suite, parameters) if suite else None
        done = api.rescore(run, given, floors=floors.value)
    found = done.summary()
    gates = check_score_limits(limits, found["score"])
    if as_json:
        options.print_json(ci_output.with_gates(found, gates))
    else:
        console_output.print_summary(out, found)
        console_output.print_failures(out, done, _failure_labels(done))
        ci_output.print_passed_gates(out, gates)
        console_output.print_unscored(out, done)
        console_output.print_stale_report_note(out, path)
    ci_output.write_ci_files(done, gates, junit=junit, markdown=markdown)
    n_unscored = found["failures"].get("scorer", 0)
    exit_codes.end_command(
        failed_gate=failed_gates_text(gates),
        not_run=f"{pluralize(n_unscored, 'episode')} not scored" if n_unscored else "",
    )


def report(
    paths: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    output: options.Page = None,
    junit: options.JunitFile = None,
    markdown: options.MarkdownFile = None,
) -> None:
    """Write one self-contained HTML page about one or more runs."""
    from toolmark import api
    from toolmark.cli import ci_output

    runs = [*map(api.open_run, options.leave_out_logbook(paths))]
    if junit is not None and len(runs) > 1:
        raise UsageError("--junit writes about one run: give one run")
    page = api.write_report(*runs, path=output)
    out.print(visible_text(str(page)), markup=False, highlight=False, soft_wrap=True)
    for run in runs:
        ci_output.write_ci_files(run, (), junit=junit, markdown=markdown)
        _print_unfinished(run)


def compare(
    a: Annotated[Path, typer.Argument(help="The run to compare with: the old one.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="The run that is judged: the new one.", metavar="B")],
    differing: Annotated[
        bool,
        options.option("--differing", help="Test also tasks that differ in content under one id."),
    ] = False,
    rule: Annotated[
        str | None, options.option("--rule", help="Which one; by default the headline's.")
    ] = None,
    fail_if: options.FailIf = None,
    margin: options.Margin = None,
    markdown: options.MarkdownFile = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare two runs item by item: difference, interval, test, items that flipped.

    `--fail-if` judges B, the new run. `worse`: the test finds B below A. `changed`: below or above.
    `undecided`: the test finds no difference, and the interval includes one beyond `--margin`; or
    nothing could be tested.
    """
    from toolmark import api
    from toolmark.cli import ci_output
    from toolmark.reports import gates as gate_checks
    from toolmark.reports.markdown_summary import append_comparison

    conditions, limit = ci_output.parse_comparison_gate(fail_if, margin)
    found = api.compare(api.open_run(a), api.open_run(b), rule=rule, differing=differing)
    gates = (gate_checks.check_comparison(found, conditions, limit),) if conditions else ()
    if as_json:
        options.print_json(ci_output.with_gates(msgspec.to_builtins(found), gates))
    else:
        out.print(str(found), highlight=False, markup=False, soft_wrap=True)
        ci_output.print_passed_gates(out, gates)
    if markdown is not None:
        append_comparison(found, markdown, gates)
    exit_codes.end_command(failed_gate=gate_checks.failed_gates_text(gates))


def _episode_filter(run: Run, outcome: str | None, axes: Sequence[str]) -> Callable[[Score], bool]:
    """Return the test of whether an episode is listed. Raises UsageError for what no run has."""
    from toolmark.cli import console_output

    known = ("correct", "incorrect", console_output.NOT_RUN)
    if outcome is not None and outcome not in known:
        raise UsageError(f"--outcome {outcome!r}{suggest_names(outcome, known)}")
    wanted = dict(each.partition("=")[::2] for each in axes)
    levels: dict[str, set[str]] = {}
    for score in run.scores() if wanted else ():
        for name, level in score.axes.items():
            levels.setdefault(name, set()).add(level)
    for name, level in wanted.items():
        if name not in levels:
            raise UsageError(
                f"--axis {name!r}: {run.path} has no such axis{suggest_names(name, levels)}"
            )
        if level not in levels[name]:
            raise UsageError(
                f"--axis {name}={level!r}: no such level{suggest_names(level, levels[name])}"
            )

    def fits(score: Score) -> bool:
        if outcome is not None and console_output.headline_outcome(score) != outcome:
            return False
        return all(score.axes.get(name) == level for name, level in wanted.items())

    return fits


def _failure_labels(run: Run) -> Mapping[str, str]:
    """Return readers' words for the suite's failures; none of a run that is not scored."""
    from toolmark.runs.stored_presentation import read_presentation

    presentation = read_presentation(run)
    return presentation.failure_names if presentation else {}


def _print_unfinished(run: Run) -> None:
    """Say that a run is not scored, and the command that does it."""
    from toolmark.runs.stored_presentation import read_presentation, unfinished_notice

    if read_presentation(run) is None:
        line = visible_text(f"{run.path}: {unfinished_notice(run)}")
        err.print(line, markup=False, highlight=False, soft_wrap=True)


class FoundEpisode(Record, frozen=True, kw_only=True):
    """An episode that `show` is asked for: what happened and its worth, or why it was not run."""

    task: Task
    repeat: int
    trajectory: Trajectory | None = None
    score: Score | None = None
    attempt: Attempt | None = None


def show(
    path: options.RunPath,
    item: Annotated[str | None, typer.Argument(help="A task or item id; none: list them.")] = None,
    outcome: Annotated[
        str | None, options.option("--outcome", help="List only: correct, incorrect or not run.")
    ] = None,
    axis: Annotated[
        list[str] | None,
        options.option(
            "--axis",
            metavar="NAME=LEVEL",
            help="List only these, such as condition=noisy. May be repeated.",
        ),
    ] = None,
    every: Annotated[
        bool,
        options.option("--all", help="List all, not the first 50; print a task's texts whole."),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Print what happened in one task, step by step; without an id, list the tasks."""
    from toolmark import api
    from toolmark.cli import console_output

    opened = api.open_run(path)
    plan = opened.info.plan
    label = {"data_label": opened.info.data_label} if opened.info.data_label else {}
    head = {"run_dir": str(path), "suite": plan.suite, **label, "model": plan.model}
    if item is None:
        fits = _episode_filter(opened, outcome, axis or [])
        if as_json:
            options.print_json(
                head | {"episodes": list(map(_episode_row, filter(fits, opened.scores())))}
            )
            return
        console_output.print_outcomes(
            out, opened, fits, list_all=every, failure_names=_failure_labels(opened)
        )
        _print_unfinished(opened)
        return
    damaged: list[DataError] = []
    found = list(_find_episodes(opened, item, damaged))
    if not found:
        raise _no_episode_error(opened, item, damaged)
    if as_json:
        options.print_json(head | {"episodes": found} | _damage_fields(damaged))
        return
    _print_episodes(opened, found, full_text=every)
    _print_unfinished(opened)
    for fault in damaged[:MAX_DAMAGED_LINES]:
        consoles.print_error(err, fault)
    if len(damaged) > MAX_DAMAGED_LINES:
        n_more = pluralize(len(damaged) - MAX_DAMAGED_LINES, "further damaged line")
        err.print(f"toolmark: {n_more}", markup=False, highlight=False)


def _damage_fields(damaged: Sequence[DataError]) -> dict[str, list[str]]:
    return {"damaged": list(map(str, damaged))} if damaged else {}


def _no_episode_error(run: Run, item: str, damaged: Sequence[DataError]) -> UsageError | DataError:
    """Return the error that says why nothing of a task or an item can be shown."""
    names = (name for task in run.tasks() for name in (task.id, task.item) if name)
    known = dict.fromkeys(names)
    if item not in known:
        nearest = suggest_names(item, known, listing=consoles.shell_command("show", run.path))
        return UsageError(f"{run.path}: no episode of {item!r}{nearest}")
    if damaged:
        return DataError(f"nothing of {item!r} can be read: {damaged[0]}")
    return UsageError(
        f"{run.path}: {item!r} was asked for, but nothing of it is stored in trajectories.jsonl: "
        "it has not been run"
    )


def _episode_row(score: Score) -> dict[str, Any]:
    """Return a line of the list: the outcome and primary cause in the headline rule."""
    from toolmark.cli import console_output

    verdict = None if score.failure else next(iter(score.verdicts.values()), None)
    label = next((each for each in verdict.labels if each.primary), None) if verdict else None
    return {
        "task": score.task,
        "repeat": score.repeat,
        "outcome": console_output.headline_outcome(score),
        "cause": label.cause if label else "",
        "suite_cause": label.suite_cause if label else "",
        "failure": score.failure,
        "axes": score.axes,
    }


def _find_episodes(run: Run, item: str, damaged: list[DataError]) -> Iterator[FoundEpisode]:
    """Go through the episodes of a task or an item: those that ran, then those that did not.

    Lines that cannot be read are added to `damaged`; the other episodes are found all the same.
    """
    from toolmark.cli import console_output

    played: list[Trajectory] = []
    done: set[tuple[str, int]] = set()
    for trajectory in run.episodes.records("trajectories", Trajectory, damaged=damaged):
        done.add((trajectory.task, trajectory.repeat))
        task = run.task(trajectory.task)
        if item in (task.id, task.item):
            played.append(trajectory)
    # of a run that is not finished, `scores` says why an episode has none, if it can be read
    stored = run.is_finished or bool(damaged)
    found = run.episodes.records("scores", Score, damaged=damaged) if stored else run.scores()
    scores = {(s.task, s.repeat): s for s in found if item in (s.task, s.item)}
    for trajectory in played:
        score = scores.get((trajectory.task, trajectory.repeat))
        yield FoundEpisode(
            task=run.task(trajectory.task),
            repeat=trajectory.repeat,
            trajectory=trajectory,
            score=score,
        )
    attempts = run.episodes.records("attempts", Attempt, damaged=damaged)
    for attempt in console_output.incomplete_attempts(attempts, done):
        task = run.task(attempt.task)
        if item in (task.id, task.item):
            score = scores.get((attempt.task, attempt.repeat))
            yield FoundEpisode(task=task, repeat=attempt.repeat, score=score, attempt=attempt)


def _print_episodes(run: Run, found: Sequence[FoundEpisode], *, full_text: bool) -> None:
    from toolmark.cli import episode_output
    from toolmark.runs.stored_presentation import StoredViews

    views, failure_labels = StoredViews(run), _failure_labels(run)
    for each in found:
        if each.trajectory is not None:
            episode_views = views[each.task.id, each.repeat]
            episode_output.print_episode(
                out,
                each.task,
                each.trajectory,
                each.score,
                episode_views,
                failure_labels,
                full_text=full_text,
                prices=run.info.prices,
            )
        elif each.attempt is not None:
            why = each.attempt.failure.full_text
            line = f"not run, {each.task.id}, repeat {each.repeat}: {why}"
            out.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)
            steps = each.attempt.steps
            episode_output.print_episode_usage(out, each.task, steps, run.info.prices)
