"""Files of M3-Bench in and out, and trajectories executed again. Needs the extra `m3`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import typer

from toolmark import __version__, fetch
from toolmark.cli import codes, screen, terminal
from toolmark.cli import options as o
from toolmark.dialects.staged import STAGED
from toolmark.errors import DataError, UsageError
from toolmark.failure import Failure
from toolmark.files import atomic_file
from toolmark.media import Media
from toolmark.report import tables
from toolmark.report.tables import plural, visible
from toolmark.runs import finishing, folders
from toolmark.runs.episodes import HELD_BYTES
from toolmark.runs.jsonl import Lines
from toolmark.runs.plan import Plan
from toolmark.runs.store import Run
from toolmark.suites.m3 import data, interchange, layout, play, replay, score, suite
from toolmark.suites.m3.interchange import Rows
from toolmark.suites.m3.local import servers as local_servers
from toolmark.suites.m3.local import suite as local
from toolmark.suites.m3.replay import Past
from toolmark.types import Attempt, Task
from toolmark.worlds.mcp import config

SUITES = (data.SUITE, local.SUITE)
_SUFFIX = "_test_mcp_fuzzy"  # what the published script adds to a model's name
_REASONS = 5
out = screen.out()
err = screen.err()


# --- import -----------------------------------------------------------------------------


class Brought(NamedTuple):
    """What came of a file of predictions; `missing` are the ids without one."""

    run: Run
    rows: Rows
    missing: list[str]


def import_(
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
    name = model or source.stem.removesuffix(_SUFFIX)
    plan = _plan(name, source, truths, images, similarity)
    brought = bring(source, plan, log_dir, last=last, lenient=lenient)
    if brought.rows.problems:
        _say(interchange.listed(source, brought.rows.problems))
    if brought.missing:
        named = data.named(brought.missing)
        _say(f"{source}: no prediction, not run: {named} (in the reading fair they are worth 0)")
    found = brought.run.summary()
    if as_json:
        o.dump(found)
    else:
        terminal.summary(out, found)
    raise typer.Exit(codes.NOT_RUN if found["n_not_run"] else 0)


def _plan(
    name: str, source: Path, truths: Path, images: Path | None, similarity: str | None
) -> Plan:
    knobs: dict[str, Any] = {
        "truths": str(truths),
        "images": str(images or ""),
        "similarity": similarity or suite.ENCODER,
        "imported": source.name,
    }
    return Plan(suite=data.SUITE, model=name, dialect=STAGED.name, knobs=knobs)


def bring(source: Path, plan: Plan, log_dir: Path, *, last: bool, lenient: bool) -> Brought:
    """Make a scored run folder of a file of predictions.

    Unless `lenient`, anything wrong raises a DataError that lists it all, and nothing is made; nor
    is it where the encoder is not to be had, which is a UsageError.
    """
    score.check(plan.knobs["similarity"], flag="--similarity ")
    rows = interchange.read(source, last=last)
    truths, known = Path(plan.knobs["truths"]), Media(fetch.cache() / "media")
    tasks = _tasks(truths, plan, known)
    missing = interchange.match(rows, tasks)
    if not rows.found or (rows.problems and not lenient):
        wrong = interchange.listed(source, rows.problems)
        next_ = "" if lenient else "\nnext: --lenient leaves them out as not run"
        raise DataError(wrong + next_ if rows.problems else f"{source}: holds no prediction")
    path = folders.claim(log_dir, plan)
    folders.create(
        path,
        plan,
        tasks.values(),
        media=known,
        seed=0,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        hashes={file.name: fetch.digest(file) for file in (truths, source)},
        versions={"toolmark": __version__},
    )
    _fill(path, tasks.values(), rows)
    finishing.rescore(Run(path), suite.SCORER)
    return Brought(Run(path), rows, missing)


def _tasks(truths: Path, plan: Plan, media: Media) -> dict[str, Task]:
    entries, twice = data.read(truths)
    folder = Path(plan.knobs["images"] or truths.parent)
    similarity = plan.knobs["similarity"]
    tasks = {
        entry.id: data.task(entry, entry.question, folder, media, similarity=similarity)
        for entry in entries
    }
    for note in filter(None, (data.repeated(twice, truths), *data.notes(tasks.values()))):
        _say(note)
    return tasks


def _fill(path: Path, tasks: Iterable[Task], rows: Rows) -> None:
    """Write what happened in each task, or why it is not run.

    Of what was not run only a missing prediction is the model's own doing (`score.missed`).
    """
    media = Media(path / "media")
    trajectories, attempts = (Lines(path / f"{n}.jsonl") for n in ("trajectories", "attempts"))
    try:
        for task in tasks:
            row = rows.found.get(task.id)
            if row is not None and task.reference["steps"]:
                trajectories.append(layout.trajectory(task, row.entry, media))
                continue
            failure = score.NO_PREDICTION
            if not task.reference["steps"]:
                failure = Failure(stage="preparation", kind="preparation", message=data.EMPTY)
            elif bad := rows.bad.get(task.id):
                failure = Failure(stage="import", kind="torn", message=bad)
            attempts.append(Attempt(task=task.id, repeat=0, failure=failure))
    finally:
        trajectories.close()
        attempts.close()


# --- export -----------------------------------------------------------------------------


def export_(path: Path, output: Path) -> None:
    """Write a run's first repeat as a file of predictions."""
    run = _known(path)
    imported = "imported" in run.info.plan.knobs
    media = Media(run.path / "media")
    made = {each.task: each for each in run.trajectories() if not each.repeat}
    entries = [
        layout.entry(task, made[task.id], media, imported=imported)
        for task in run.tasks()
        if task.id in made
    ]
    interchange.write(output, entries)
    n_repeats = run.info.plan.repeats
    first = f", the first of {n_repeats} repeats" if n_repeats > 1 else ""
    left = run.info.n_tasks - len(entries)
    told = f"{output}: {len(entries)} predictions, {left} not run left out{first}"
    out.print(visible(told), markup=False, highlight=False, soft_wrap=True)


def _known(path: Path) -> Run:
    run = Run(path)
    if run.info.plan.suite not in SUITES:
        raise UsageError(f"{path}: a run of {run.info.plan.suite!r}, not of {' or '.join(SUITES)}")
    return run


# --- replay -----------------------------------------------------------------------------


def replay_(
    path: Path,
    *,
    servers: Path | None,
    cassette: Path | None,
    images: Path | None,
    ids: tuple[str, ...],
    output: Path | None,
    at_once: int,
    as_json: bool,
) -> None:
    """Execute the trajectories of a run or a file anew; exit 3 if any could not be."""
    run = _known(path) if path.is_dir() else None
    # a part never takes the place of the whole
    name = "replay-part.jsonl" if ids else "replay.jsonl"
    output = output or (run.path if run else Path()) / name
    media = Media(run.path / "media" if run else output.with_suffix(".media"))
    stage = _stage(run, servers, cassette)
    episodes = replay.of_run(run, ids) if run else replay.of_file(path, images, media, ids)
    reached = frozenset(server.name for server in stage.servers)
    pasts = (replay.past(*episode, reached) for episode in episodes)
    tally = _replayed(pasts, stage, media, at_once, output)
    if as_json:
        found = {**tally.summary(), "path": str(output)}
        o.dump(found)
    else:
        _show(tally, output)
    raise typer.Exit(codes.NOT_RUN if tally.lost else 0)


def _stage(run: Run | None, servers: Path | None, cassette: Path | None) -> play.Stage:
    """Return where the calls are executed: among servers, or on tape alone."""
    own = run is not None and run.info.plan.suite == local.SUITE
    if servers is not None:
        known = config.read(servers)
    elif own:
        known = config.parse(local_servers.CONFIG, local.SUITE)
    elif cassette is not None:
        known = ()
    else:
        raise UsageError("say who is to answer: --servers mcp.json, or --cassette FILE")
    if run is None and cassette is not None:  # a file tells too little to know its recording by
        return play.Stage(known, str(cassette), instance=None)
    prepare = local.prepare if own else None
    return play.Stage(known, str(cassette or ""), prepare=prepare)


def _replayed(
    pasts: Iterable[Past], stage: play.Stage, media: Media, at_once: int, output: Path
) -> replay.Tally:
    """Execute, count, and write every call; an older file stays until the new one is whole."""
    tally = replay.Tally()
    with atomic_file(output) as draft, closing(Lines(draft, hold_bytes=HELD_BYTES)) as lines:

        def keep(row: replay.Again) -> None:
            tally.add(row)
            lines.append(row)

        asyncio.run(replay.play(pasts, stage.site, media, at_once, keep))
    return tally


def _show(tally: replay.Tally, output: Path) -> None:
    found = tally.summary()
    for table in tally.tables():
        out.print(tables.text(table) + "\n", markup=False, highlight=False, soft_wrap=True)
    for reason, n in tally.reasons.most_common(_REASONS):
        told = f"not replayed, {plural(n, 'call')}: {reason}"
        out.print(visible(told), markup=False, highlight=False, soft_wrap=True)
    told = f"{plural(found['n_calls'], 'call')}, trajectories: {found['n_trajectories']}"
    if tally.lost:
        told += f", {len(tally.lost)} of which could not be replayed whole"
    out.print(f"{told}: {output}", markup=False, highlight=False, soft_wrap=True)


def _say(text: str) -> None:
    err.print(visible(text), markup=False, highlight=False, soft_wrap=True)
