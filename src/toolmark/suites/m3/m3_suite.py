"""The suite of M3-Bench's published tasks on your own servers (arXiv 2511.17729)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from toolmark.core.errors import UsageError
from toolmark.core.files import cache_folder, file_sha256
from toolmark.core.media import MediaStore
from toolmark.core.records import Sampling, Task
from toolmark.core.task_data import read_task_data
from toolmark.environments.cassette import CassetteHeader
from toolmark.environments.mcp import server_config
from toolmark.runs import suite_parameters
from toolmark.runs.suite import (
    NO_REPLY_FLOOR,
    Defaults,
    Presentation,
    Provenance,
    Scorer,
    SetExport,
    Suite,
    TaskMaker,
)
from toolmark.suites.m3 import (
    episode_environments,
    judge_questions,
    judged_parts,
    m3_controls,
    m3_paper_results,
    m3_scoring,
    m3_tables,
    published_tasks,
)
from toolmark.suites.m3.m3_task_data import M3TaskData
from toolmark.suites.m3.parameters import M3Parameters

EXPORT = SetExport(
    sources=(
        "Questions, pictures and reference trajectories: M3-Bench, from the files that were given "
        "(what was read, by SHA-256, below); published by its authors under MIT.",
    ),
    limits=("Answers of live servers change: references may have aged.",),
    asking_parameters=("agent", "servers", "cassette", "mode"),
)
SCORER = Scorer(
    rules=m3_scoring.GRADING_RULES,
    score=m3_scoring.score_episode,
    metrics=m3_tables.list_metrics,
    presentation=Presentation(
        tables=m3_paper_results.make_tables, evidence=judged_parts.judging_tables, overview="m3"
    ),
    prepare=m3_scoring.prepare_scoring,
    judging=judge_questions.make_plan(),
    score_absent=m3_scoring.score_missing_prediction,
)


def load(parameters: M3Parameters) -> Suite:
    """Return the suite. Raises UsageError where the published files or the servers are missing."""
    truths, cassette = parameters.truths, parameters.cassette
    if not truths:
        raise UsageError(
            "m3 needs the published files: -T truths=test_mcp_GT.json -T images=DIR "
            "-T servers=mcp.json (docs/suites/m3.md says where they are); without them: m3-local"
        )
    if not (parameters.servers or cassette):
        raise UsageError("m3 needs -T servers=mcp.json, or -T cassette=FILE to replay")
    m3_scoring.check_encoder(parameters.similarity)
    store = MediaStore(cache_folder() / "media")
    found, notes = _load_tasks(parameters, store)
    servers = server_config.read_config(Path(parameters.servers)) if parameters.servers else ()
    files = [Path(name) for name in (truths, parameters.tasks) if name]
    environments = episode_environments.McpEnvironments(
        servers,
        cassette,
        parameters.mode,
        header=CassetteHeader(published_tasks.SUITE_NAME),
        hidden_files=tuple(files),
    )
    return Suite(
        name=published_tasks.SUITE_NAME,
        tasks=found,
        environment=environments.source(),
        scorer=SCORER,
        tool_formats=episode_environments.agent_tool_formats(parameters.agent),
        parameters=suite_parameters.recorded_values(parameters),
        controls={"oracle": m3_controls.make_oracle, "faulty": m3_controls.make_faulty},
        maker=TaskMaker(failure=published_tasks.unplayable_reason),
        defaults=Defaults(
            sampling=Sampling(temperature=0.7) if parameters.agent == "executor" else Sampling(),
            agent=episode_environments.find_agent(parameters.agent),
            floors=NO_REPLY_FLOOR,
        ),
        provenance=Provenance(
            hashes=_file_hashes(files) | environments.hashes(),
            media=store,
            notes=notes,
            export=EXPORT,
        ),
    )


def _file_hashes(files: Sequence[Path]) -> dict[str, str]:
    """Return the hash of each input file, and under `items` the hash of all of them together."""
    found = {path.name: file_sha256(path) for path in files}
    return {**found, "items": sha256(" ".join(found.values()).encode()).hexdigest()}


def _load_tasks(parameters: M3Parameters, store: MediaStore) -> tuple[list[Task], tuple[str, ...]]:
    """Return one task per reference trajectory, and the notes on the files."""
    truths, tasks = Path(parameters.truths), parameters.tasks
    entries, duplicates = published_tasks.read_task_entries(truths)
    notes = [published_tasks.duplicate_ids_note(duplicates, truths)]
    task_entries: dict[str, published_tasks.TaskEntry] = {}
    if tasks:
        listed, duplicate_tasks = published_tasks.read_task_entries(Path(tasks))
        task_entries = {entry.id: entry for entry in listed}
        known = {entry.id for entry in entries}
        unreferenced = sorted(task_entries.keys() - known)
        notes += [published_tasks.duplicate_ids_note(duplicate_tasks, Path(tasks))]
        notes += (
            [f"tasks without a reference are not asked: {', '.join(unreferenced)}"]
            if unreferenced
            else []
        )
    folder = Path(parameters.images) if parameters.images else truths.parent
    made = []
    for entry in entries:
        task_entry = task_entries.get(entry.id, entry)
        question = (
            task_entry.question if parameters.fuzzy else task_entry.prompt or task_entry.question
        )
        made.append(
            published_tasks.make_task(
                entry, question, folder, store, similarity=parameters.similarity
            )
        )
    n_without_picture = sum(bool(read_task_data(task, M3TaskData).missing) for task in made)
    if n_without_picture:
        notes.append(
            f"{n_without_picture} tasks lack their picture below {folder} and will not be run"
        )
    return made, tuple(filter(None, [*notes, *published_tasks.reference_notes(made)]))
