"""The report: one HTML file that needs nothing else, of bounded size, made as a stream."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import jinja2

from toolmark import codec, svg
from toolmark.errors import DataError, UsageError
from toolmark.failure import NO_VERDICT
from toolmark.files import atomic_file
from toolmark.media import Media
from toolmark.report import compare, episode, facts, names, parts, tables
from toolmark.report.facts import Side
from toolmark.report.shelf import Shelf
from toolmark.runs.presentation import Views, provisional, read_presentation
from toolmark.runs.scores import Scores
from toolmark.runs.store import NOT_SCORED, Run
from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.svg import Markup
from toolmark.types import Attempt, Task, Trajectory

FLIPS = 100  # flipped items of each way that the page names
FOLDER = Path(__file__).parent
_JOINT = re.compile(r"(?<=[_/?&#:])")
SOUND = 10_000_000  # bytes of recordings in a page, as text: about four minutes of plain WAV
SLACK_BYTES = 65_536  # for what is told only after the choice, such as how many are shown


@dataclass(frozen=True, slots=True)
class _Shelves:
    failed: Shelf
    solved: Shelf
    absent: Shelf

    @property
    def all(self) -> tuple[Shelf, ...]:
        return (self.failed, self.solved, self.absent)


def write(runs: Sequence[Run], path: Path, *, limit_bytes: int = 30_000_000) -> Path:
    """Write one self-contained page over runs and return its path.

    Nothing is needed but their folders. A run that is not scored is shown as far as it is stored.

    Below `limit_bytes` everything is shown; beyond, all failures up to the limit and a seeded
    sample of successes, and the page says so. Memory is bounded by the limit and by the columns
    of the scores. Raises UsageError for no run, DataError for a damaged folder and when the file
    cannot be written; a page that was there is replaced only by a whole one.
    """
    if not runs:
        raise UsageError("no run to report on")
    shown = [read_presentation(run) or provisional(run) for run in runs]
    told = names.tell(runs)
    gathered = [
        facts.side(index, run, each, name)
        for index, (run, each, name) in enumerate(zip(runs, shown, told, strict=True))
    ]
    sides = [made for made, _ in gathered]
    columns = [found for _, found in gathered]
    beside = {
        "profiles": facts.profiles(runs, sides, shown, columns),
        "across": facts.across(runs, sides, shown, columns),
    }
    shelves = _Shelves(
        Shelf(limit_bytes, SOUND), Shelf(limit_bytes, SOUND), Shelf(limit_bytes // 10, SOUND)
    )
    for index, (run, each, (_, found)) in enumerate(zip(runs, shown, gathered, strict=True)):
        _fill(shelves, index, run, each.readings, found[each.readings[0]], path.parent)
    frame = _frame(runs, sides) | beside
    fixed = sum(len(piece.encode()) for piece in _render(frame, [], ""))
    _share(shelves, limit_bytes - fixed - SLACK_BYTES)
    blocks = [block for shelf in shelves.all for block in shelf.blocks()]
    _save(path, _render(frame, blocks, _shown(shelves)))
    return path


def _fill(
    shelves: _Shelves,
    index: int,
    run: Run,
    readings: Sequence[str],
    table: Columns,
    page: Path,
) -> None:
    """Offer every episode of a run to the shelf it belongs on; `page` is the page's folder."""
    keys = [*zip(table.task.tolist(), table.repeat.tolist(), strict=True)]
    solved = dict(zip(keys, table.correct.tolist(), strict=True))
    absent = {key for key, ran in zip(keys, table.run.tolist(), strict=True) if not ran}
    scores, views = Scores(run), Views(run)
    for trajectory in run.trajectories():
        key = (trajectory.task, trajectory.repeat)
        if key in solved and key not in absent:
            shelf = shelves.solved if solved[key] else shelves.failed
            shelf.offer((index, *key), _maker(index, run, trajectory, scores, views, page))
        elif key in absent or run.task(trajectory.task).kind == "scored":
            absent.discard(key)
            attempt = _unscored(trajectory, scores)
            shelves.absent.offer((index, *key), _ghost(index, run, readings, attempt, page))
    last = {(a.task, a.repeat): n for n, a in enumerate(run.attempts())}
    for n, attempt in enumerate(run.attempts()):
        key = (attempt.task, attempt.repeat)
        if key in absent and last[key] == n:
            shelves.absent.offer((index, *key), _ghost(index, run, readings, attempt, page))


def _maker(
    index: int, run: Run, trajectory: Trajectory, scores: Scores, views: Views, page: Path
) -> Callable[[], episode.Block]:
    """Show what was judged when the run was scored, read when it is wanted."""

    def make() -> episode.Block:
        task: Task = run.task(trajectory.task)
        key = (trajectory.task, trajectory.repeat)
        verdicts = scores[key].readings
        return episode.block(index, task, trajectory, verdicts, views[key], _media(run), page)

    return make


def _unscored(trajectory: Trajectory, scores: Scores) -> Attempt:
    """Return an episode that was played, but which the scorer could not judge, as not run."""
    key = (trajectory.task, trajectory.repeat)
    return Attempt(
        task=trajectory.task,
        repeat=trajectory.repeat,
        failure=(scores[key].failure if key in scores else NOT_SCORED) or NO_VERDICT,
        steps=trajectory.steps,
    )


def _ghost(
    index: int, run: Run, readings: Sequence[str], attempt: Attempt, page: Path
) -> Callable[[], episode.Block]:
    def make() -> episode.Block:
        task = run.task(attempt.task)
        return episode.absent(index, task, attempt, readings, _media(run), page)

    return make


def _media(run: Run) -> Media:
    return Media(run.path / "media")


def _share(shelves: _Shelves, room: int) -> None:
    """Divide the room: nine tenths are for failures, if they need it, the rest for the others.

    Recordings take SOUND bytes at most, those of failures first; where not all fits they go before
    episodes do: they keep what episodes leave, a sixth at least.
    """
    room = max(0, room)
    failed, solved, absent = shelves.all
    absent.shrink(min(absent.limit_bytes, room // 20))
    silent = sum(shelf.size_bytes - shelf.sound_bytes for shelf in shelves.all)
    for_sound = min(SOUND, max(room // 6, room - silent))
    for shelf in shelves.all:
        shelf.hush(for_sound)
        for_sound -= shelf.sound_bytes
    failed.shrink(room * 9 // 10 - absent.size_bytes)
    solved.shrink(room - absent.size_bytes - failed.size_bytes)


def _shown(shelves: _Shelves) -> str:
    failed, solved, absent = shelves.all
    quiet = _hushed(shelves)
    if all(shelf.n_kept == shelf.n_offered for shelf in shelves.all):
        return f"Every episode is on this page.{quiet}"
    told = [
        f"{figures.count(shelf.n_kept)} of {figures.count(shelf.n_offered)} {word}"
        for shelf, word in ((failed, "failures"), (solved, "successes"), (absent, "not run"))
        if shelf.n_offered
    ]
    return (
        f"To keep this page small it holds {', '.join(told)}: a random sample with a fixed seed "
        "where not all fit. The tables above count every episode; the rest is in the run folder."
        f"{quiet}"
    )


def _hushed(shelves: _Shelves) -> str:
    """Say how many episodes have their recordings with them, where not all have."""
    n_hushed = sum(shelf.n_hushed for shelf in shelves.all)
    if not n_hushed:
        return ""
    n_loud = sum(shelf.n_loud for shelf in shelves.all)
    return (
        f" Recordings take {SOUND // 1_000_000} MB of it at most, failures first: "
        f"{figures.count(n_loud)} of {tables.plural(n_loud + n_hushed, 'episode')} can be heard "
        "here; the others show the waveform and link to the file in the run folder."
    )


def _frame(runs: Sequence[Run], sides: list[Side]) -> dict[str, Any]:
    """Gather what the template needs, but for the episodes."""
    script = (FOLDER / "script.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    about = [
        {
            "name": side.name,
            "readings": [read.name for read in side.readings],
            "words": side.readings[0].words,
            "repeats": run.info.plan.repeats,
        }
        for side, run in zip(sides, runs, strict=True)
    ]
    return {
        "title": _title(sides),
        "sides": sides,
        "parts": [tables.grid(table) for table in parts.listed(sides)],
        "comparisons": [*_comparisons(runs)],
        "cautions": facts.cautions(sides),
        "n_not_run": sum(side.n_not_run for side in sides),
        "runs": episode.embed(about).decode(),
        "script": script,
        "script_hash": Markup(f"sha256-{digest}"),
        "style": Markup((FOLDER / "style.css").read_text(encoding="utf-8")),
        "version": metadata.version("toolmark"),
        "dash": figures.DASH,
        "share": figures.value,
        "percent": figures.percent,
        "interval": figures.interval,
        "count": figures.count,
        "plural": tables.plural,
    }


def _title(sides: Sequence[Side]) -> str:
    suites = ", ".join(dict.fromkeys(side.suite for side in sides))
    return f"{sides[0].model} on {suites}" if len(sides) == 1 else f"{len(sides)} runs on {suites}"


def _comparisons(runs: Sequence[Run]) -> Iterator[dict[str, Any]]:
    """Compare every pair of runs that can be compared; where suites are several, each is named.

    The pairs of one suite are read together, and tested so.
    """
    found: dict[str, list[compare.Comparison]] = {run.info.plan.suite: [] for run in runs}
    for a, b in itertools.combinations(runs, 2):
        with suppress(UsageError):  # other suites, or no item in common: side by side will do
            found[a.info.plan.suite].append(compare.compare(a, b))
    for suite, alike in found.items():
        for each in compare.together(alike):
            yield _compared(each) | {"suite": suite if len(found) > 1 else ""}


def _compared(found: compare.Comparison) -> dict[str, Any]:
    listed = [compare.summary(found), *compare.details(found)]
    flips = (
        (f"Items that only {found.a} got right", found.paired.only_a),
        (f"Items that only {found.b} got right", found.paired.only_b),
    )
    return {
        "verdict": compare.verdict(found),
        "warnings": found.warnings,
        "grids": [tables.grid(table) for table in listed],
        "flips": [(title, len(items), _links(items[:FLIPS])) for title, items in flips],
    }


def _links(items: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each item with the filters that list its episodes."""
    shown = [tables.visible(item) for item in items]
    return [(name, codec.encode({"find": name}).decode()) for name in shown]


def _render(frame: dict[str, Any], blocks: Sequence[episode.Block], shown: str) -> Iterator[str]:
    """Go through the page's text piece by piece."""
    loader = jinja2.FileSystemLoader(FOLDER)
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["breakable"] = _breakable
    index = (f"{',' if i else ''}{block.line.decode()}\n" for i, block in enumerate(blocks))
    shared: dict[str, bytes] = {}
    for block in blocks:
        shared |= {**block.drawn, **block.sounds}
    bodies = itertools.chain(
        ((f"e{i}", block.body.decode()) for i, block in enumerate(blocks)),
        ((name, data.decode()) for name, data in shared.items()),
    )
    template = environment.get_template("template.html.j2")
    return template.generate(**frame, index=index, bodies=bodies, shown=shown)


def _breakable(text: str) -> Markup:
    """Let a long name break after its joints, never within a word."""
    return Markup("<wbr>".join(svg.escape(part) for part in _JOINT.split(text)))


def _save(path: Path, pieces: Iterator[str]) -> None:
    try:
        with (
            atomic_file(path) as draft,
            draft.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.writelines(pieces)
    except OSError as error:
        raise DataError(f"{path}: cannot write the report: {error.strerror}") from None
