"""Files of M3-Bench in and out, and trajectories executed again. Needs the extra `m3`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from toolmark.cli import command_options as options
from toolmark.cli import console_output, consoles, exit_codes
from toolmark.core import files
from toolmark.core.errors import DataError, UsageError
from toolmark.core.failure import Failure
from toolmark.core.files import atomic_file
from toolmark.core.media import MediaStore
from toolmark.core.number_format import format_count, pluralize
from toolmark.core.records import Attempt, Task
from toolmark.core.task_data import read_task_data
from toolmark.core.version import TOOLMARK_VERSION
from toolmark.environments.mcp import server_config
from toolmark.formats.executor_json import EXECUTOR_JSON_FORMAT
from toolmark.reports import table_format
from toolmark.reports.table_format import visible_text
from toolmark.runs import run_finalization, run_folders
from toolmark.runs.episode_records import BUFFER_BYTES
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run
from toolmark.studio import m3_prediction_layout, m3_replay
from toolmark.studio.m3_replay import RecordedTrajectory
from toolmark.suites.m3 import (
    episode_environments,
    m3_scoring,
    m3_suite,
    prediction_files,
    published_tasks,
)
from toolmark.suites.m3.local import m3_local_suite, server_configuration
from toolmark.suites.m3.m3_task_data import M3TaskData
from toolmark.suites.m3.parameters import DEFAULT_ENCODER
from toolmark.suites.m3.prediction_files import PredictionRows

M3_SUITES = (published_tasks.SUITE_NAME, m3_local_suite.SUITE_NAME)
_MODEL_SUFFIX = "_test_mcp_fuzzy"  # what the published script adds to a model's name
_MAX_REASONS = 5
out = consoles.stdout_console()
err = consoles.stderr_console()


# --- import -----------------------------------------------------------------------------


class ImportedPredictions(NamedTuple):
    """What came of a file of predictions; `missing` are the ids without one."""

    run: Run
    rows: PredictionRows
    missing: list[str]


def import_predictions(
    source: Path,
    truths: Path,
    *,
    images: Path | None,
    similarity: str | None,
    last: bool,
    model: str | None,
    lenient: bool,
    log_dir: Path,
    as_json: bool,
) -> None:
    """Read predictions into a run folder and score them; exit 3 if any task is not run."""
    name = model or source.stem.removesuffix(_MODEL_SUFFIX)
    plan = _import_plan(name, source, truths, images, similarity)
    imported = create_scored_run(source, plan, log_dir, last=last, lenient=lenient)
    if imported.rows.problems:
        _print_note(prediction_files.problems_text(source, imported.rows.problems))
    if imported.missing:
        listed = published_tasks.list_ids(imported.missing)
        _print_note(
            f"{source}: no prediction, not run: {listed} (in the rule fair they are worth 0)"
        )
    found = imported.run.summary()
    if as_json:
        options.print_json(found)
    else:
        console_output.print_summary(out, found)
    exit_codes.end_command(not_run=console_output.not_run_reason(found))


def _import_plan(
    name: str, source: Path, truths: Path, images: Path | None, similarity: str | None
) -> Plan:
    parameters: dict[str, Any] = {
        "truths": str(truths),
        "images": str(images or ""),
        "similarity": similarity or DEFAULT_ENCODER,
        "imported": source.name,
    }
    return Plan(
        suite=published_tasks.SUITE_NAME,
        model=name,
        tool_format=EXECUTOR_JSON_FORMAT.name,
        parameters=parameters,
    )


def create_scored_run(
    source: Path, plan: Plan, log_dir: Path, *, last: bool, lenient: bool
) -> ImportedPredictions:
    """Make a scored run folder of a file of predictions.

    Unless `lenient`, anything wrong raises a DataError that lists it all, and nothing is made; nor
    is it where the encoder is not to be had, which is a UsageError.
    """
    m3_scoring.check_encoder(plan.parameters["similarity"], flag="--similarity ")
    rows = prediction_files.read_predictions(source, last=last)
    truths, media = Path(plan.parameters["truths"]), MediaStore(files.cache_folder() / "media")
    tasks = _load_tasks(truths, plan, media)
    missing = prediction_files.match_tasks(rows, tasks)
    if not rows.rows_by_id or (rows.problems and not lenient):
        wrong = prediction_files.problems_text(source, rows.problems)
        next_ = "" if lenient else "\nnext: --lenient leaves them out as not run"
        raise DataError(wrong + next_ if rows.problems else f"{source}: holds no prediction")
    path = run_folders.claim_folder(log_dir, plan)
    run_folders.write_run(
        path,
        plan,
        tasks.values(),
        media=media,
        seed=0,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        hashes={file.name: files.file_sha256(file) for file in (truths, source)},
        versions={"toolmark": TOOLMARK_VERSION},
    )
    _write_episodes(path, tasks.values(), rows)
    run_finalization.rescore_run(Run(path), m3_suite.SCORER)
    return ImportedPredictions(Run(path), rows, missing)


def _load_tasks(truths: Path, plan: Plan, media: MediaStore) -> dict[str, Task]:
    entries, duplicates = published_tasks.read_task_entries(truths)
    folder = Path(plan.parameters["images"] or truths.parent)
    similarity = plan.parameters["similarity"]
    tasks = {
        entry.id: published_tasks.make_task(
            entry, entry.question, folder, media, similarity=similarity
        )
        for entry in entries
    }
    for note in filter(
        None,
        (
            published_tasks.duplicate_ids_note(duplicates, truths),
            *published_tasks.reference_notes(tasks.values()),
        ),
    ):
        _print_note(note)
    return tasks


def _write_episodes(path: Path, tasks: Iterable[Task], rows: PredictionRows) -> None:
    """Write what happened in each task, or why it is not run.

    Of what was not run only a missing prediction is the model's own doing (`score.missed`).
    """
    media = MediaStore(path / "media")
    trajectories, attempts = (
        RecordAppender(path / f"{n}.jsonl") for n in ("trajectories", "attempts")
    )
    try:
        for task in tasks:
            row = rows.rows_by_id.get(task.id)
            steps = read_task_data(task, M3TaskData).reference_steps
            if row is not None and steps:
                trajectories.append(
                    m3_prediction_layout.entry_to_trajectory(task, row.entry, media)
                )
                continue
            failure = m3_scoring.NO_PREDICTION
            if not steps:
                failure = Failure(
                    stage="preparation", kind="preparation", message=published_tasks.EMPTY_REFERENCE
                )
            elif bad := rows.problem_by_id.get(task.id):
                failure = Failure(stage="import", kind="torn", message=bad)
            attempts.append(Attempt(task=task.id, repeat=0, failure=failure))
    finally:
        trajectories.close()
        attempts.close()


# --- export -----------------------------------------------------------------------------


def export_predictions(path: Path, output: Path) -> None:
    """Write a run's first repeat as a file of predictions."""
    run = _open_m3_run(path)
    imported = "imported" in run.info.plan.parameters
    media = MediaStore(run.path / "media")
    trajectories = {each.task: each for each in run.trajectories() if not each.repeat}
    entries = [
        m3_prediction_layout.trajectory_to_entry(
            task, trajectories[task.id], media, imported=imported
        )
        for task in run.tasks()
        if task.id in trajectories
    ]
    prediction_files.write_entries(output, entries)
    n_repeats = run.info.plan.repeats
    first = f", the first of {n_repeats} repeats" if n_repeats > 1 else ""
    n_not_run = run.info.n_tasks - len(entries)
    predictions = pluralize(len(entries), "prediction")
    message = f"{output}: {predictions}, {format_count(n_not_run)} not run left out{first}"
    out.print(visible_text(message), markup=False, highlight=False, soft_wrap=True)


def _open_m3_run(path: Path) -> Run:
    run = Run(path)
    if run.info.plan.suite not in M3_SUITES:
        raise UsageError(
            f"{path}: a run of {run.info.plan.suite!r}, not of {' or '.join(M3_SUITES)}"
        )
    return run


# --- replay -----------------------------------------------------------------------------


def replay_trajectories(
    path: Path,
    *,
    servers: Path | None,
    cassette: Path | None,
    images: Path | None,
    ids: tuple[str, ...],
    output: Path | None,
    n_concurrent: int,
    as_json: bool,
) -> None:
    """Execute the trajectories of a run or a file anew; exit 3 if any could not be."""
    run = _open_m3_run(path) if path.is_dir() else None
    # a part never takes the place of the whole
    name = "replay-part.jsonl" if ids else "replay.jsonl"
    output = output or (run.path if run else Path()) / name
    media = MediaStore(run.path / "media" if run else output.with_suffix(".media"))
    stage = _replay_environments(run, servers, cassette)
    episodes = (
        m3_replay.run_episodes(run, ids)
        if run
        else m3_replay.file_episodes(path, images, media, ids)
    )
    reached = frozenset(server.name for server in stage.servers)
    pasts = (m3_replay.prepare_replay(*episode, reached) for episode in episodes)
    tally = _replay_all(pasts, stage, media, n_concurrent, output)
    if as_json:
        found = {**tally.summary(), "path": str(output)}
        options.print_json(found)
    else:
        _print_tally(tally, output)
    n_partial = pluralize(len(tally.unreplayed_episodes), "trajectory", "trajectories")
    exit_codes.end_command(
        not_run=f"{n_partial} not replayed whole" if tally.unreplayed_episodes else ""
    )


def _replay_environments(
    run: Run | None, servers: Path | None, cassette: Path | None
) -> episode_environments.McpEnvironments:
    """Return where the calls are executed: among servers, or on tape alone."""
    is_local = run is not None and run.info.plan.suite == m3_local_suite.SUITE_NAME
    if servers is not None:
        known_servers = server_config.read_config(servers)
    elif is_local:
        known_servers = server_config.parse_config(
            server_configuration.SERVER_CONFIG, m3_local_suite.SUITE_NAME
        )
    elif cassette is not None:
        known_servers = ()
    else:
        raise UsageError("say who is to answer: --servers mcp.json, or --cassette FILE")
    if run is None and cassette is not None:  # a file tells too little to know its recording by
        return episode_environments.McpEnvironments(
            known_servers, str(cassette), recorded_content=None
        )
    prepare = m3_local_suite.prepare_workspace if is_local else None
    return episode_environments.McpEnvironments(
        known_servers, str(cassette or ""), prepare_workspace=prepare
    )


def _replay_all(
    recorded_episodes: Iterable[RecordedTrajectory],
    stage: episode_environments.McpEnvironments,
    media: MediaStore,
    n_concurrent: int,
    output: Path,
) -> m3_replay.Tally:
    """Execute, count, and write every call; an older file stays until the new one is whole."""
    tally = m3_replay.Tally()
    with (
        atomic_file(output) as draft,
        closing(RecordAppender(draft, buffer_bytes=BUFFER_BYTES)) as lines,
    ):

        def record_row(row: m3_replay.ReplayedCall) -> None:
            tally.add(row)
            lines.append(row)

        asyncio.run(
            m3_replay.replay_all(
                recorded_episodes, stage.open_environments, media, n_concurrent, record_row
            )
        )
    return tally


def _print_tally(tally: m3_replay.Tally, output: Path) -> None:
    found = tally.summary()
    for table in tally.tables():
        out.print(
            table_format.render_text(table) + "\n", markup=False, highlight=False, soft_wrap=True
        )
    for reason, n in tally.reasons.most_common(_MAX_REASONS):
        line = f"not replayed, {pluralize(n, 'call')}: {reason}"
        out.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)
    n_trajectories = format_count(found["n_trajectories"])
    line = f"{pluralize(found['n_calls'], 'call')}, trajectories: {n_trajectories}"
    if tally.unreplayed_episodes:
        line += (
            f", {format_count(len(tally.unreplayed_episodes))} of which could not be replayed whole"
        )
    out.print(f"{line}: {output}", markup=False, highlight=False, soft_wrap=True)


def _print_note(text: str) -> None:
    err.print(visible_text(text), markup=False, highlight=False, soft_wrap=True)
