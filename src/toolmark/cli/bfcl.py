"""`toolmark import bfcl` and `toolmark export bfcl`: official files to a run folder and back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from toolmark import __version__, suites
from toolmark.cli import codes, screen, terminal
from toolmark.cli import options as o
from toolmark.errors import DataError, UsageError, near
from toolmark.failure import Failure
from toolmark.fetch import digest
from toolmark.report.tables import visible
from toolmark.runs import finishing, folders
from toolmark.runs.episodes import HELD_BYTES, Episodes
from toolmark.runs.plan import Plan
from toolmark.runs.store import Run
from toolmark.stats.columns import columns
from toolmark.suites.bfcl import data, export, handlers, interchange, registry, sheets, stored
from toolmark.suites.bfcl.interchange import Rows, Source
from toolmark.suites.bfcl.leaderboard import UNSCORED
from toolmark.types import Attempt, Task, Trajectory

KINDS = ("bfcl",)
READING = "official"

Kind = Annotated[str, typer.Argument(help="Which benchmark's files: bfcl.", metavar="bfcl")]
Output = Annotated[Path, o.flag("-o", "--output", help="Folder for the files.")]
Lenient = Annotated[bool, o.flag("--lenient", help="Leave rows that are wrong out as not run.")]
Chosen = Annotated[
    str | None, o.flag("-m", "--model", metavar="NAME", help="Which model, if there are several.")
]
Renamed = Annotated[
    str | None, o.flag("-m", "--model", metavar="NAME", help="The model's name in the files.")
]


class Brought(NamedTuple):
    """What came of one model's result files."""

    run: Run
    rows: Rows


def import_(
    kind: Kind,
    folder: Annotated[Path, typer.Argument(metavar="RESULT_DIR", help="Official result files.")],
    model: Chosen = None,
    lenient: Lenient = False,
    log_dir: o.LogDir = Path("runs"),
    as_json: o.AsJson = False,
) -> None:
    """Read official result files into run folders and score them; nothing in them is run."""
    _known(kind)
    out, err = screen.out(), screen.err()
    found = []
    for source in interchange.sources(folder, model):
        brought = bring(source, log_dir, lenient=lenient)
        _remark(err, brought.rows)
        found.append(brought.run.summary())
        if not as_json:
            terminal.summary(out, found[-1])
    if as_json:
        shown = found[0] if len(found) == 1 else found
        o.dump(shown)
    raise typer.Exit(codes.NOT_RUN if any(each["n_not_run"] for each in found) else 0)


def _known(kind: str) -> None:
    if kind not in KINDS:
        raise UsageError(f"no files of {kind!r}{near(kind, KINDS)}")


def _remark(err: Console, rows: Rows) -> None:
    for path, why in rows.skipped.items():
        err.print(f"left out, {why}: {visible(str(path))}", markup=False, highlight=False)
    if rows.problems:
        err.print(interchange.listed(rows.problems), markup=False, highlight=False)


def bring(source: Source, log_dir: Path, *, lenient: bool) -> Brought:
    """Make a scored run folder of one model's result files.

    Unless `lenient`, anything wrong raises a DataError that lists it all, and nothing is left.
    """
    rows = interchange.read(source)
    if not rows.categories:
        wrong = (
            interchange.listed(rows.problems)
            if rows.problems
            else "; ".join(sorted(set(rows.skipped.values())))
        )
        raise DataError(f"{source.name}: nothing to import: {wrong}")
    name, known = registry.find(data.fetch(), source.name)
    way = handlers.way(name, known) if known else interchange.guess(rows)
    suite = suites.load("bfcl", category=rows.categories)
    mangled = known.mangled if known else None
    reader = stored.Reader(suite.dialects, way, mangled=mangled)
    knobs = {**suite.knobs, "imported": source.name}
    plan = Plan(suite="bfcl", model=name, dialect=way.form, knobs=knobs)
    path = folders.claim(log_dir, plan)
    told = interchange.episodes(rows, suite, reader, lenient=lenient)
    episodes = Episodes(path)
    episodes.open_to_append(hold_bytes=HELD_BYTES)
    try:
        folders.create(
            path,
            plan,
            (_kept(episodes, *each) for each in told),
            seed=suite.seed,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            hashes={**suite.hashes, **{file.name: digest(file) for file in rows.files.values()}},
            versions={"toolmark": __version__},
        )
    finally:
        episodes.close()
    finishing.rescore(Run(path), suite.scorer)
    return Brought(Run(path), rows)


def _kept(episodes: Episodes, task: Task, what: Trajectory | str) -> Task:
    """Write what happened in a task, or why it is not run, and return the task."""
    if isinstance(what, str):
        unread = Failure(stage="import", kind="torn", message=what)
        episodes.append(Attempt(task=task.id, repeat=0, failure=unread))
    else:
        episodes.append(what)
    return task


def export_(
    kind: Kind,
    paths: Annotated[list[Path], typer.Argument(help="Run folders.", metavar="RUN...")],
    output: Output,
    model: Renamed = None,
) -> None:
    """Write runs as official result files, score files and leaderboard CSVs."""
    _known(kind)
    if model and len(paths) > 1:
        raise UsageError("--model names one run's model; export several runs one by one")
    out = screen.out()
    entrants: dict[str, sheets.Entrant] = {}
    for run in map(Run, paths):
        entrant = emit(run, output, model or run.info.plan.model.rpartition("#")[2])
        if entrant.name in entrants:
            raise UsageError(f"two runs are of {entrant.name!r}; export them apart")
        entrants[entrant.name] = entrant
        n, n_repeats = int(entrant.columns.run.sum()), run.info.plan.repeats
        left = len(entrant.columns) - n
        first = f", the first of {n_repeats} repeats" if n_repeats > 1 else ""
        told = f"{visible(entrant.name)}: {n} entries, {left} not run left out{first}"
        if _structured(run) and UNSCORED in run.info.plan.knobs.get("category", ()):
            told += f"; {UNSCORED} left out: officially no model with structured calls is asked it"
        out.print(told, markup=False, highlight=False, soft_wrap=True)
    for path in sheets.write(output / "score", list(entrants.values())):
        out.print(str(path), highlight=False, soft_wrap=True)


def emit(run: Run, output: Path, name: str) -> sheets.Entrant:
    """Write one run's result and score files, and return its row of the leaderboard."""
    if run.info.plan.suite != "bfcl":
        raise UsageError(f"{run.path}: a run of {run.info.plan.suite!r}, not of bfcl")
    if not (run.path / "scores.jsonl").exists():
        finishing.rescore(run, suites.scorer("bfcl"))
    known = registry.models(data.fetch()).get(name)
    shape = _shape(run, name, known)
    mangled = known is None or known.mangled
    folder = export.owner(name)
    spent = sheets.Spent.none()
    left_out = UNSCORED if _structured(run) else ""
    judged = {x.task: x for x in run.scores() if not x.repeat and x.category != left_out}
    table = columns(judged.values(), READING)
    rows: dict[str, list[export.Kept]] = {}
    for trajectory in run.trajectories():
        task = run.task(trajectory.task)
        if trajectory.repeat or task.category == left_out:
            continue
        if task.kind == "scored":
            spent.add(trajectory)
        score = judged.get(task.id)
        kept = export.kept(task, trajectory, score, mangled=mangled, shape=shape)
        rows.setdefault(kept.category, []).append(kept)
    # all places first: nothing is written where one of them is refused
    places = {category: Path(folder) / export.folder(category) for category in rows}
    for category, held in rows.items():
        _write(output, places[category], category, held, export.header(category, table))
    return sheets.Entrant(name, known, table, spent)


def _write(
    output: Path, place: Path, category: str, held: list[export.Kept], head: dict[str, Any]
) -> None:
    """Write a category's result file, and where any entry was judged its score file."""
    held.sort(key=lambda kept: kept.place)
    file = f"BFCL_v4_{category}"
    export.write(output / "result" / place / f"{file}_result.json", (kept.row for kept in held))
    if head:
        failures = [kept.failure for kept in held if kept.failure]
        export.write(output / "score" / place / f"{file}_score.json", [head, *failures])


def _structured(run: Run) -> bool:
    return run.info.plan.dialect == "native"


def _shape(run: Run, name: str, known: registry.Known | None) -> handlers.Shape:
    """Return how structured calls are written for the official handler of this name.

    Raises UsageError where that handler would not read the run's replies as what they are.
    """
    dialect = run.info.plan.dialect
    if dialect not in ("native", "prompt"):
        raise UsageError(
            f"{run.path}: replies in the format {dialect}; official files hold structured calls, "
            "or text as the default prompt asks for it"
        )
    if known is None:
        return "text"
    way = handlers.way(name, known)
    form = "native" if _structured(run) else "prompt"
    if form != way.form or (form == "native" and not way.shape):
        wanted = "structured calls" if way.shape else "text in a form of its own"
        wanted = "text as the default prompt asks for it" if way.form == "prompt" else wanted
        raise UsageError(
            f"{run.path}: under the name {name} the official evaluator reads {wanted}, and this "
            f"run is {form}; name a listed model of that form: --model NAME"
        )
    return way.shape
