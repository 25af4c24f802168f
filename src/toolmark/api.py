"""The public functions. One async door (`arun`), one sync door (`run`)."""

from __future__ import annotations

import asyncio
import hashlib
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from toolmark import suites
from toolmark.agents.loop import merge
from toolmark.errors import Rejected, UsageError, alike, near
from toolmark.media import Media
from toolmark.models import doctor
from toolmark.models.encode import check_sampling
from toolmark.models.resolve import address, resolve
from toolmark.runs import runner, scoring, store
from toolmark.runs.plan import Plan, select, task_file, world
from toolmark.runs.store import Folder, Run
from toolmark.runs.suite import Scorer, Suite
from toolmark.types import Instrument, Model, Sampling, Task

if TYPE_CHECKING:
    from toolmark.report.compare import Comparison

PACKAGES = ("toolmark", "mcp", "msgspec", "numpy", "pyreqwest", "scipy", "uvloop")


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
    resume: bool = True,
    command: str = "",
    watch: runner.Watcher | None = None,
    stop: asyncio.Event | None = None,
) -> Run:
    """Run a suite on a model and return the run.

    Settings left at None are the suite's own, else the endpoint's. The newest run of the same
    request that misses episodes is continued, unless `resume` is False. `sample` draws that
    many tasks spread over the categories; `tasks` takes the tasks from a JSONL file.

    Raises UsageError for a request that cannot be, Rejected when the endpoint refuses it
    (what was done is kept), DataError for damaged files.
    """
    if not isinstance(suite, Suite):
        raise UsageError(f"expected a Suite, got {suite!r}; next: tm.load(NAME)")
    _positive("repeats", repeats)
    _positive("max_connections", max_connections)
    asked = Sampling(
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        reasoning_effort=reasoning_effort,
        extra=dict(extra_body or {}),
    )
    speech = _dialect(suite, dialect)
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
    )
    check_sampling(plan.sampling)
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
        )
        if isinstance(player, Instrument):  # its options are wrong now or never
            player.bind(next(iter(suite)), 0)
        if fresh and suite.hears:
            await doctor.listen(player, Media(path / "media"), ask=bool(plan.base_url))
        if fresh:
            store.create(
                path,
                plan,
                finished(suite, plan, watch),
                media=Media(task_file(Path(tasks)).with_name("media")) if tasks else suite.media,
                seed=suite.seed,
                command=command,
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                hashes=dict(suite.hashes),
                versions=_versions(),
            )
    except BaseException:
        if fresh and path.exists():
            store.discard(path)
        raise
    try:
        with Folder(path) as folder:
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
    progress = runner.Progress(n_planned=0)
    for task in made:
        if watch is not None and made is not chosen:
            progress.n_made += 1
            watch(progress)
        yield task


def able(suite: Suite, plan: Plan) -> None:
    """Raise UsageError, before anything is asked, where no task of the plan could be run."""
    lacking = suite.missing(select(suite, plan, suite.seed))
    if lacking and all(suite.missing([task]) for task in select(suite, plan, suite.seed)):
        reasons = {name: why.partition("\n")[0] for name, why in lacking.items()}
        raise UsageError(f"no task can be run: {alike(reasons)}")


def _dialect(suite: Suite, name: str | None) -> str:
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


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
