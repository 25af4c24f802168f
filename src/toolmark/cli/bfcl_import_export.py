"""`toolmark import bfcl` and `toolmark export bfcl`: official files to a run folder and back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, get_args

from rich.console import Console

from toolmark.cli import command_options as options
from toolmark.cli import console_output, consoles, exit_codes
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.failure import Failure
from toolmark.core.files import file_sha256
from toolmark.core.number_format import format_count
from toolmark.core.records import Attempt, Task, Trajectory
from toolmark.core.version import TOOLMARK_VERSION
from toolmark.formats.native_format import NativeFormat
from toolmark.formats.prompt_format import DEFAULT_NAME
from toolmark.official_bfcl import (
    handler_replies,
    handler_settings,
    handler_views,
    official_data,
    official_models,
    prompt_formats,
)
from toolmark.official_bfcl.handler_formats import OwnFormat
from toolmark.reports.table_format import visible_text
from toolmark.runs import run_finalization, run_folders
from toolmark.runs.episode_records import BUFFER_BYTES, EpisodeRecords
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run
from toolmark.statistics.score_columns import gather_columns, without_variations
from toolmark.studio.bfcl_interchange import (
    leaderboard_files,
    official_handlers,
    result_export,
    result_files,
    result_rows,
)
from toolmark.studio.bfcl_interchange.result_files import ModelFiles, ResultRows
from toolmark.suites import run_scorers, suite_registry
from toolmark.suites.bfcl.leaderboard import UNSCORED

BENCHMARKS = ("bfcl",)
RULE = "official"


class ImportedRun(NamedTuple):
    """What came of one model's result files."""

    run: Run
    rows: ResultRows


def import_results(
    kind: str,
    folder: Path,
    model: str | None = None,
    lenient: bool = False,
    log_dir: Path = Path("runs"),
    as_json: bool = False,
) -> None:
    """Read official result files into run folders and score them; nothing in them is run."""
    _check_benchmark(kind)
    out, err = consoles.stdout_console(), consoles.stderr_console()
    found = []
    for source in result_files.find_models(folder, model):
        brought = create_scored_run(source, log_dir, lenient=lenient)
        _print_problems(err, brought.rows)
        found.append(brought.run.summary())
        if not as_json:
            console_output.print_summary(out, found[-1])
    if as_json:
        output = found[0] if len(found) == 1 else found
        options.print_json(output)
    n_not_run, n_planned = (
        sum(each[name] for each in found) for name in ("n_not_run", "n_planned")
    )
    exit_codes.end_command(
        not_run=console_output.not_run_reason({"n_not_run": n_not_run, "n_planned": n_planned})
    )


def _check_benchmark(kind: str) -> None:
    if kind not in BENCHMARKS:
        raise UsageError(f"no files of {kind!r}{suggest_names(kind, BENCHMARKS)}")


def _print_problems(err: Console, rows: ResultRows) -> None:
    for path, why in rows.skipped.items():
        err.print(f"left out, {why}: {visible_text(str(path))}", markup=False, highlight=False)
    if rows.problems:
        err.print(result_files.format_problems(rows.problems), markup=False, highlight=False)


def create_scored_run(source: ModelFiles, log_dir: Path, *, lenient: bool) -> ImportedRun:
    """Make a scored run folder of one model's result files.

    Unless `lenient`, anything wrong raises a DataError that lists it all, and nothing is left.
    """
    rows = result_files.read_rows(source)
    if not rows.categories:
        wrong = (
            result_files.format_problems(rows.problems)
            if rows.problems
            else "; ".join(sorted(set(rows.skipped.values())))
        )
        raise DataError(f"{source.name}: nothing to import: {wrong}")
    name, official_model = official_models.find_model(official_data.fetch_wheel(), source.name)
    handler = (
        official_handlers.handler_format(name, official_model)
        if official_model
        else result_files.guess_handler_format(rows)
    )
    suite = suite_registry.load_suite("bfcl", category=rows.categories)
    mangled = official_model.underscores_for_dots if official_model else None
    reader = result_rows.RowReader(suite.tool_formats, handler, underscores_for_dots=mangled)
    parameters = {**suite.parameters, "imported": source.name}
    plan = Plan(suite="bfcl", model=name, tool_format=handler.reply_form, parameters=parameters)
    path = run_folders.claim_folder(log_dir, plan)
    imported = result_files.read_episodes(rows, suite, reader, lenient=lenient)
    episodes = EpisodeRecords(path)
    episodes.open_to_append(buffer_bytes=BUFFER_BYTES)
    try:
        run_folders.write_run(
            path,
            plan,
            (_store_episode(episodes, *each) for each in imported),
            seed=suite.provenance.seed,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            hashes={
                **suite.provenance.hashes,
                **{file.name: file_sha256(file) for file in rows.file_of_category.values()},
            },
            versions={"toolmark": TOOLMARK_VERSION},
        )
    finally:
        episodes.close()
    run_finalization.rescore_run(Run(path), suite.scorer)
    return ImportedRun(Run(path), rows)


def _store_episode(episodes: EpisodeRecords, task: Task, outcome: Trajectory | str) -> Task:
    """Write what happened in a task, or why it is not run, and return the task."""
    if isinstance(outcome, str):
        unread = Failure(stage="import", kind="torn", message=outcome)
        episodes.append(Attempt(task=task.id, repeat=0, failure=unread))
    else:
        episodes.append(outcome)
    return task


def export_runs(
    kind: str,
    paths: list[Path],
    output: Path,
    model: str | None = None,
) -> None:
    """Write runs as official result files, score files and leaderboard CSVs."""
    _check_benchmark(kind)
    if model and len(paths) > 1:
        raise UsageError("--model names one run's model; export several runs one by one")
    out = consoles.stdout_console()
    entrants: dict[str, leaderboard_files.LeaderboardModel] = {}
    for run in map(Run, paths):
        entrant = write_official_files(run, output, model or run.info.plan.model.rpartition("#")[2])
        if entrant.name in entrants:
            raise UsageError(f"two runs are of {entrant.name!r}; export them apart")
        entrants[entrant.name] = entrant
        n, n_repeats = int(entrant.columns.run.sum()), run.info.plan.repeats
        n_not_run = len(entrant.columns) - n
        first = f", the first of {n_repeats} repeats" if n_repeats > 1 else ""
        message = (
            f"{visible_text(entrant.name)}: {format_count(n)} entries, "
            f"{format_count(n_not_run)} not run left out{first}"
        )
        if _uses_structured_calls(run) and UNSCORED in run.info.plan.parameters.get("category", ()):
            message += (
                f"; {UNSCORED} left out: officially no model with structured calls is asked it"
            )
        out.print(message, markup=False, highlight=False, soft_wrap=True)
    for path in leaderboard_files.write_sheets(output / "score", list(entrants.values())):
        out.print(str(path), highlight=False, soft_wrap=True)


def write_official_files(run: Run, output: Path, name: str) -> leaderboard_files.LeaderboardModel:
    """Write one run's result and score files, and return its row of the leaderboard."""
    if run.info.plan.suite != "bfcl":
        raise UsageError(f"{run.path}: a run of {run.info.plan.suite!r}, not of bfcl")
    if run.info.plan.parameters.get("loop") == "lenient":
        raise UsageError(
            f"{run.path}: played in the lenient loop, of which official files say nothing; next: "
            "run it with -T loop=official"
        )
    if not (run.path / "scores.jsonl").exists():
        run_finalization.rescore_run(run, run_scorers.scorer_for_run(run))
    official_model = official_models.read_models(official_data.fetch_wheel()).get(name)
    shape = _call_shape(run, name, official_model)
    mangled = official_model is None or official_model.underscores_for_dots
    view = _entry_view(run, name, official_model)
    folder = result_export.model_folder_name(name)
    usage = leaderboard_files.RequestUsage.empty()
    excluded_category = UNSCORED if _uses_structured_calls(run) else ""
    judged = {
        x.task: x
        for x in without_variations(run.scores())
        if not x.repeat and x.category != excluded_category
    }
    table = gather_columns(judged.values(), RULE)
    rows: dict[str, list[result_export.EpisodeRows]] = {}
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        is_left_out = task.category == excluded_category or task.variation is not None
        if trajectory.repeat or is_left_out:
            continue
        if task.kind == "scored":
            usage.add_trajectory(trajectory)
        score = judged.get(task.id)
        entry = result_export.make_episode_rows(
            task,
            trajectory,
            score,
            model=name,
            underscores_for_dots=mangled,
            argument_shape=shape,
            view=view,
        )
        rows.setdefault(entry.category, []).append(entry)
    # all places first: nothing is written where one of them is refused
    category_folders = {
        category: Path(folder) / result_export.category_folder(category) for category in rows
    }
    for category, entries in rows.items():
        _write_category(
            output,
            category_folders[category],
            category,
            entries,
            result_export.score_header(category, table),
        )
    return leaderboard_files.LeaderboardModel(name, official_model, table, usage)


def _write_category(
    output: Path,
    category_folder: Path,
    category: str,
    entries: list[result_export.EpisodeRows],
    head: dict[str, Any],
) -> None:
    """Write a category's result file, and where any entry was judged its score file."""
    entries.sort(key=lambda entry: entry.number)
    file = f"BFCL_v4_{category}"
    result_export.write_json_lines(
        output / "result" / category_folder / f"{file}_result.json",
        (entry.result for entry in entries),
    )
    if head:
        failures = [entry.failure for entry in entries if entry.failure]
        result_export.write_json_lines(
            output / "score" / category_folder / f"{file}_score.json", [head, *failures]
        )


def _entry_view(
    run: Run, name: str, official_model: official_models.ListedModel | None
) -> handler_views.TrajectoryView | None:
    """Return how the handler of the entry as which a run was asked reads its replies.

    Raises UsageError where the official evaluator would read them by another handler.
    """
    entry = run.info.plan.parameters.get("ask_as", "")
    view = handler_views.view_of_entry(entry)
    if view is None:
        return None
    handler = handler_settings.find_entry(entry).handler
    if official_model is None or official_model.handler != handler:
        raise UsageError(
            f"{run.path}: asked as {entry}, whose handler ({handler}Handler) reads texts otherwise "
            f"than that of {name}; next: --model {entry}"
        )
    return view


def _uses_structured_calls(run: Run) -> bool:
    return run.info.plan.tool_format == NativeFormat.name


def _call_shape(
    run: Run, name: str, official_model: official_models.ListedModel | None
) -> handler_replies.ArgumentShape:
    """Return how structured calls are written for the official handler of this name.

    Raises UsageError where that handler would not read the run's replies as what they are.
    """
    tool_format = run.info.plan.tool_format
    is_own = tool_format in get_args(OwnFormat)
    if is_own or not (_uses_structured_calls(run) or prompt_formats.is_default_text(tool_format)):
        raise UsageError(
            f"{run.path}: replies in the format {tool_format}; official files hold structured "
            "calls, "
            "or text as the default prompt asks for it"
        )
    if official_model is None:
        return "text"
    handler = official_handlers.handler_format(name, official_model)
    form = NativeFormat.name if _uses_structured_calls(run) else DEFAULT_NAME
    lacks_shape = _uses_structured_calls(run) and not handler.argument_shape
    if form != handler.reply_form or lacks_shape:
        wanted = "structured calls" if handler.argument_shape else "text in a form of its own"
        wanted = (
            "text as the default prompt asks for it"
            if handler.reply_form == DEFAULT_NAME
            else wanted
        )
        raise UsageError(
            f"{run.path}: under the name {name} the official evaluator reads {wanted}, and this "
            f"run is {form}; name a listed model of that form: --model NAME"
        )
    return handler.argument_shape
