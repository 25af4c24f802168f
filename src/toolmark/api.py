"""The public functions. One async door (`arun`), one sync door (`run`)."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop
from msgspec.structs import replace

from toolmark import suites
from toolmark.agents.loop import merge
from toolmark.errors import DataError, Rejected, UsageError, alike, near
from toolmark.media import Media
from toolmark.models import doctor, sound
from toolmark.models.encode import check_sampling
from toolmark.models.resolve import address, resolve
from toolmark.models.sound import Form
from toolmark.runs import card, dataset, runner, scoring, store, versions
from toolmark.runs.plan import FileTasks, Plan, select, task_file, world
from toolmark.runs.store import Folder, Run
from toolmark.runs.suite import Scorer, Suite
from toolmark.types import Instrument, Model, Sampling, Task

if TYPE_CHECKING:
    from toolmark.report.compare import Comparison


_ENDS = (signal.SIGTERM, signal.SIGHUP)


def load(name: str, **knobs: Any) -> Suite:
    """Return a suite with these knobs: an iterable of Tasks with a length.

    Raises UsageError naming the nearest valid word for an unknown suite or knob.
    """
    return suites.load(name, **knobs)


async def arun(
    suite: Suite,
    model: str | Model | Instrument,
    *,
    dialect: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    max_tokens: int | None = None,
    reasoning_effort: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    repeats: int = 1,
    limit: int | None = None,
    ids: Sequence[str] = (),
    sample: int | None = None,
    tasks: str | Path = "",
    log_dir: str | Path = "runs",
    cache: str | Path | None = None,
    max_connections: int = 16,
    max_retries: int = 5,
    timeout_s: float = 600.0,
    audio_format: Form = "wav",
    resume: bool = True,
    command: str = "",
    watch: runner.Watcher | None = None,
    stop: asyncio.Event | None = None,
) -> Run:
    """Run a suite on a model and return the run.

    Settings left at None are the suite's own, else the endpoint's. The newest run of the same
    request that misses episodes is continued, unless `resume` is False. `sample` draws that
    many tasks spread over the categories; `tasks` takes the tasks from a JSONL file, or a folder
    that `make` wrote. `audio_format` is how an endpoint gets sound: wav, or mp3, which is smaller.

    Raises UsageError for a request that cannot be, Rejected when the endpoint refuses it
    (what was done is kept), DataError for damaged files.
    """
    if not isinstance(suite, Suite):
        raise UsageError(f"expected a Suite, got {suite!r}; next: tm.load(NAME)")
    _positive("repeats", repeats)
    _positive("max_connections", max_connections)
    suite = of_set(suite, tasks)
    asked = Sampling(
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        reasoning_effort=reasoning_effort,
        extra=dict(extra_body or {}),
    )
    speech = dialect_of(suite, dialect)
    plan = Plan(
        suite=suite.name,
        model=model if isinstance(model, str) else _name(model),
        dialect=speech,
        knobs=dict(suite.knobs),
        base_url=address(model, base_url) if isinstance(model, str) else "",
        sampling=merge(suite.sampling, asked),
        repeats=repeats,
        limit=limit,
        ids=tuple(ids),
        sample=sample,
        tasks=str(tasks),
        tasks_sha256=_digest(task_file(Path(tasks))) if tasks else "",
        world=world(suite),
        audio=audio_format,
    )
    check_sampling(plan.sampling)
    sound.check(audio_format)
    able(suite, plan)
    path, fresh = _folder(Path(log_dir), plan, resume=resume)
    try:
        player = resolve(
            model,
            suite=suite,
            base_url=base_url,
            headers=headers,
            timeout_s=timeout_s,
            max_connections=max_connections,
            max_retries=max_retries,
            cache=None if cache is None else Path(cache),
            media=Media(path / "media"),
            audio=audio_format,
        )
        if isinstance(player, Instrument):  # its options are wrong now or never
            player.bind(next(iter(suite)), 0)
        if fresh and suite.hears:
            await doctor.listen(player, Media(path / "media"), ask=bool(plan.base_url))
        if fresh:
            with _interruptible():
                store.create(
                    path,
                    plan,
                    finished(suite, plan, watch),
                    media=Media(task_file(Path(tasks)).with_name("media"))
                    if tasks
                    else suite.media,
                    refers=suite.refers,
                    seed=suite.seed,
                    command=command,
                    created=datetime.now(UTC).isoformat(timespec="seconds"),
                    hashes=dict(suite.hashes),
                    versions=versions.found(),
                )
    except BaseException:
        if fresh and path.exists():
            store.discard(path)
        raise
    try:
        with Folder(path) as folder:
            if not fresh:
                with _interruptible():
                    _mend(folder, suite, plan, watch)
            if not tasks and suite.notes:
                folder.note(notes={"data": suite.notes})
            await runner.execute(
                folder,
                suite,
                player,
                suite.dialects[speech],
                max_connections=max_connections,
                watch=watch,
                stop=stop,
            )
            folder.note(dropped=getattr(player, "dropped", ()))
    except Rejected as error:
        error.run_dir = str(path)
        raise
    except UsageError:
        if fresh:
            _withdraw(path)
        raise
    finally:
        await _closed(player)
    return Run(path)


def run(suite: Suite, model: str | Model | Instrument, **settings: Any) -> Run:
    """Do what `arun` does, from code that is not async."""
    if asyncio._get_running_loop() is not None:
        raise UsageError("a loop is running already (a notebook?): use `await tm.arun(...)`")
    return uvloop.run(arun(suite, model, **settings))


def open_run(path: str | Path) -> Run:
    """Open a run folder."""
    return Run(Path(path))


def rescore(run: Run | str | Path, scorer: Scorer | None = None) -> Run:
    """Score a stored run anew without asking the model; returns the run.

    A run of your own suite needs its `scorer`: nothing that a run folder names is imported.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    scoring.rescore(opened, scorer or scorer_of(opened.info.plan.suite))
    return opened


def compare(a: Run, b: Run, scorer: Scorer | None = None, *, differing: bool = False) -> Comparison:
    """Compare two runs item by item: paired difference with interval and exact test.

    Where tasks differ in content under one id nothing is tested, unless `differing` asks for it.
    """
    from toolmark.report import compare as comparing

    known = scorer or scorer_of(a.info.plan.suite)
    return comparing.compare(a, b, known, differing=differing)


def write_report(*runs: Run, path: str | Path | None = None, scorer: Scorer | None = None) -> Path:
    """Write one self-contained HTML page over the runs; by default into the first one's folder."""
    from toolmark.report import page

    if not runs:
        raise UsageError("no run to report on")
    target = Path(path) if path is not None else runs[0].path / "report.html"
    return page.write(runs, (lambda _: scorer) if scorer else scorer_of, target)


def scorer_of(name: str) -> Scorer:
    """Return a built-in suite's scorer. A folder's word is not enough to import other code."""
    if name not in suites.SUITES:
        raise UsageError(f"{name!r} is not a built-in suite: pass its scorer (--suite module:load)")
    return suites.scorer(name)


def finished(suite: Suite, plan: Plan, watch: runner.Watcher | None = None) -> Iterator[Task]:
    """Go through the tasks of the plan as they are asked; those of a file are finished already.

    The watcher is told of each that had to be made.
    """
    chosen = select(suite, plan, suite.seed)
    made = chosen if plan.tasks else suite.make(chosen)
    if watch is None or made is chosen:
        yield from made
        return
    n = sum(1 for _ in select(suite, plan, suite.seed))
    effort = suite.effort(select(suite, plan, suite.seed))
    progress = runner.Progress(n_planned=0, n_to_make=n, effort=effort)
    watch(progress)
    for task in made:
        progress.n_made += 1
        watch(progress)
        yield task


def of_set(suite: Suite, tasks: str | Path) -> Suite:
    """Return the suite as a made set's tasks were made, where `tasks` is the folder of one.

    Knobs, seed and hashes are the set's; who judges, and whatever else says how tasks are asked,
    stays as it is. Raises UsageError where the user named a knob that contradicts the set, and
    DataError for a set of another suite, or one that was changed.
    """
    manifest = dataset.verify(Path(tasks)) if tasks else None
    if manifest is None:
        return suite
    if manifest.suite != suite.name:
        raise DataError(f"{tasks}: a set of suite {manifest.suite!r}, not of {suite.name!r}")
    made: dict[str, Any] = dict(manifest.knobs)
    if suite.name in suites.SUITES:
        try:
            made = suites.settled(suite.name, made)
        except UsageError as error:
            raise DataError(f"{Path(tasks) / dataset.MANIFEST}: {error}") from None
    own = card.placeless(suite.knobs)
    for name in suite.given:
        kept = manifest.seed if name == "seed" else card.placeless(made).get(name, own.get(name))
        wish = suite.seed if name == "seed" else own.get(name)
        if name not in suite.asking and wish != kept:
            raise UsageError(
                f"{tasks} was made with {name}={kept}, not {wish}: leave {name} out, or make "
                "another set"
            )
    made |= {name: suite.knobs[name] for name in suite.asking if name in suite.knobs}
    standing = {name: suite.hashes[name] for name in suite.standing if name in suite.hashes}
    read = {name: sha for name, sha in manifest.hashes.items() if name not in suite.standing}
    return dataclasses.replace(
        suite,
        tasks=FileTasks(Path(tasks), suite.name),
        knobs=made,
        seed=manifest.seed,
        hashes=read | standing,
        site=suite.reopen(made, Path(tasks)) if suite.reopen else suite.site,
        notes=() if suite.reopen else suite.notes,
    )


def _mend(folder: Folder, suite: Suite, plan: Plan, watch: runner.Watcher | None) -> None:
    """Make again what could not be made when the run began, if it is there to be made."""
    if suite.broken is None or plan.tasks or suite.seed != folder.run.info.seed:
        return
    broken = {task.id for task in folder.run.tasks() if suite.broken(task)}
    broken -= {id for id, _ in folder.run.done()}
    if not broken:
        return
    again = replace(plan, ids=tuple(sorted(broken)), sample=None, limit=None)
    made = {task.id: task for task in finished(suite, again, watch)}
    folder.replace(made, suite.media, suite.refers)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let signals that a loop would heed later raise KeyboardInterrupt now: it stands still."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {name: signal.getsignal(name) for name in (signal.SIGINT, *_ENDS)}
    mine = [name for name, how in before.items() if callable(how)]
    try:
        for name in mine:
            signal.signal(name, signal.default_int_handler)
        yield
    finally:
        for name in mine:
            signal.signal(name, before[name])


def able(suite: Suite, plan: Plan) -> None:
    """Raise UsageError, before anything is asked, where no task of the plan could be run."""
    lacking = suite.missing(select(suite, plan, suite.seed))
    if lacking and all(suite.missing([task]) for task in select(suite, plan, suite.seed)):
        reasons = {name: why.partition("\n")[0] for name, why in lacking.items()}
        raise UsageError(f"no task can be run: {alike(reasons)}")


def dialect_of(suite: Suite, name: str | None) -> str:
    """Return the dialect of that name, the suite's own for None. Raises UsageError."""
    if name is None:
        return next(iter(suite.dialects))
    if name not in suite.dialects:
        raise UsageError(
            f"suite {suite.name!r} has no dialect {name!r}{near(name, suite.dialects)}"
        )
    return name


def _name(model: Model | Instrument) -> str:
    return str(getattr(model, "name", "") or type(model).__name__)


def _positive(name: str, value: int) -> None:
    if value < 1:
        raise UsageError(f"{name} must be at least 1; got {value}")


def _digest(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: cannot read tasks: not a file")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: cannot read tasks: {error.strerror}") from None


async def _closed(model: Model | Instrument) -> None:
    close = getattr(model, "close", None)
    if close is not None:
        await close()


def _folder(parent: Path, plan: Plan, *, resume: bool) -> tuple[Path, bool]:
    """Return the folder to work in, and whether it is new."""
    last = store.newest(parent, plan) if resume else None
    if last is not None and len(last.done()) < last.info.n_episodes:
        return last.path, False
    return store.claim(parent, plan), True


def _withdraw(path: Path) -> None:
    """Remove a run that turned out to be wrongly asked before anything was done in it."""
    made = Run(path)
    if any(made.trajectories()) or any(made.attempts()):
        return
    (path / "run.json").unlink()
    store.discard(path)
