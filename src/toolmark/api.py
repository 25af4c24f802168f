"""The public functions. One async door (`arun`), one sync door (`run`)."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import uvloop
from msgspec import structs

from toolmark import suites
from toolmark.errors import Rejected, UsageError, alike, near
from toolmark.files import inside
from toolmark.media import Media
from toolmark.models import doctor
from toolmark.models.openai import TIMEOUT_S
from toolmark.models.policy import CONNECTIONS, RETRIES
from toolmark.models.resolve import resolve
from toolmark.models.sound import Form
from toolmark.runs import begin, finishing, folders, identity, request, runner
from toolmark.runs.lifecycle import finishing_command
from toolmark.runs.plan import Plan, select
from toolmark.runs.store import Folder, Run
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites import made
from toolmark.types import Instrument, Model, Task
from toolmark.worlds.mcp import sandbox as boxes

if TYPE_CHECKING:
    from toolmark.report.compare import Comparison


RUNS = "runs"
_P = ParamSpec("_P")
_R = TypeVar("_R")


def load(name: str, **knobs: Any) -> Suite:
    """Return a suite with these knobs: an iterable of Tasks with a length.

    Raises UsageError naming the nearest valid word for an unknown suite or knob.
    """
    return suites.load(name, **knobs)


def _confined(
    door: Callable[_P, Coroutine[Any, Any, _R]],
) -> Callable[_P, Coroutine[Any, Any, _R]]:
    """Let what a run starts be sandboxed as it asks, and see nothing of its answers."""

    @functools.wraps(door)
    async def confined(*asked: _P.args, **settings: _P.kwargs) -> _R:
        named = [RUNS, settings.get("log_dir"), settings.get("tasks")]
        places = [place for place in named if isinstance(place, str | Path) and str(place)]
        with boxes.setting(settings.get("sandbox", "required")), boxes.hiding(*places):
            return await door(*asked, **settings)

    return confined


@_confined
async def arun(
    suite: Suite,
    model: str | Model | Instrument | type[Model],
    *,
    dialect: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    max_tokens: int | None = None,
    reasoning_effort: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    base_url: str | None = None,
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    repeats: int = 1,
    limit: int | None = None,
    ids: str | Sequence[str] = (),
    sample: int | None = None,
    tasks: str | Path = "",
    log_dir: str | Path = RUNS,
    cache: str | Path | None = None,
    max_connections: int = CONNECTIONS,
    max_retries: int = RETRIES,
    timeout_s: float = TIMEOUT_S,
    time_limit_s: float | None = None,
    audio_format: Form = "wav",
    resume: bool = True,
    continue_: bool = False,
    sandbox: str = "required",
    command: str = "",
    watch: runner.Watcher | None = None,
    stop: asyncio.Event | None = None,
) -> Run:
    """Run a suite on a model and return the run.

    Settings left at None are the suite's own, else the endpoint's. The newest run of the same
    request goes on where episodes, scores or its summary are missing, unless `resume` is False;
    with `continue_` also after edits of your code. What is stored is never asked again. `sample`
    draws that
    many tasks spread over the categories; `tasks` takes the tasks from a JSONL file, or a folder
    that `make` wrote. `audio_format` is how an endpoint gets sound: wav, or mp3, which is smaller.
    An episode that takes longer than `time_limit_s` is not run; whoever continues the run may set
    another limit.

    A model object is an `async (Request) -> Reply`, or a class that makes one, given the `media`
    of the run if it takes them; it is paced, retried and cached like an endpoint.
    Its run is continued where it can be told from others: by a `.name`, or as a function at the
    top of a file; and where the file was not edited.

    MCP servers that toolmark starts run in a sandbox; where there is none the run is refused,
    unless `sandbox` is "off", which every report shows.

    Raises UsageError for a request that cannot be, Rejected when the endpoint refuses it
    (what was done is kept), DataError for damaged files.
    """
    suite = made.adopted(_suite(suite), tasks)
    drawn = request.sampling(
        extra_body,
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        reasoning_effort=reasoning_effort,
    )
    plan, sure = request.plan(
        suite,
        model,
        dialect=dialect_of(suite, dialect),
        base_url=base_url,
        sampling=drawn,
        repeats=repeats,
        limit=limit,
        ids=ids,
        sample=sample,
        tasks=tasks,
        audio=audio_format,
    )
    line = request.line(
        headers, timeout_s=timeout_s, max_connections=max_connections, max_retries=max_retries
    )
    limit_s = request.time_limit(time_limit_s)
    kept = None if cache is None else request.place("cache", cache)
    place = request.place("log_dir", log_dir)
    choice = folders.Choice(None)
    if continue_ and not resume:
        raise UsageError("a new run cannot be one that goes on: leave out one of the two")
    if resume and sure:
        goes_on = partial(begin.why_new, suite=suite, plan=plan)
        shared = identity.shared(suite)
        choice = folders.choose(place, plan, goes_on, accept_edits=continue_, shared=shared)
    asks = choice.run is None or len(choice.run.done()) < choice.run.info.n_episodes
    if asks:
        able(suite, plan)
    fresh = choice.run is None
    path = folders.claim(place, plan) if choice.run is None else choice.run.path
    watch = _telling(watch, choice.lines)
    make = partial(resolve, model, base_url=base_url, cache=kept, **structs.asdict(line))
    player = None
    if asks:
        player = await _begun(path, plan, suite, make, fresh=fresh, watch=watch, command=command)
    try:
        with _told(path, fresh=fresh), Folder(path) as folder:
            if choice.accepted:
                folder.accept(plan)
            if asks and not fresh:
                begin.mend(folder, suite, plan, partial(finished, suite, watch=watch))
            await _play(folder, suite, player, max_connections, limit_s, watch, stop)
    finally:
        if player is not None:
            await _closed(player)
    return Run(path)


def _telling(watch: runner.Watcher | None, lines: tuple[str, ...]) -> runner.Watcher | None:
    """Let a watcher know with all that it sees why this run goes on, or why a new one begins."""
    if watch is None or not lines:
        return watch

    def told(progress: runner.Progress) -> None:
        progress.begun = lines
        watch(progress)

    return told


async def _begun(
    path: Path,
    plan: Plan,
    suite: Suite,
    make: Callable[..., Model | Instrument],
    *,
    fresh: bool,
    watch: runner.Watcher | None,
    command: str,
) -> Model | Instrument:
    """Make the model, and fill the folder of a new run, of which nothing is left on failure."""
    media = Media(path / "media")
    player: Model | Instrument | None = None
    try:
        player = make(suite=suite, media=media, audio=plan.audio)
        if isinstance(player, Instrument):  # its options are wrong now or never
            player.bind(next(iter(suite)), 0)
        if fresh and suite.hears:
            await doctor.listen(player, media, ask=bool(plan.base_url))
        if fresh:
            begin.create(path, plan, suite, finished(suite, plan, watch), command)
        return player
    except BaseException:
        if player is not None:
            await _closed(player)
        if fresh and path.exists():
            folders.discard(path)
        raise


async def _play(
    folder: Folder,
    suite: Suite,
    player: Model | Instrument | None,
    max_connections: int,
    time_limit_s: float | None,
    watch: runner.Watcher | None,
    stop: asyncio.Event | None,
) -> None:
    """Run what is missing, for which there is a player, and finish the run; note what to know."""
    plan = folder.run.info.plan
    if not plan.tasks and suite.notes:
        folder.note(notes={"data": suite.notes})
    await runner.execute(
        folder,
        suite,
        player,
        suite.dialects[plan.dialect],
        max_connections=max_connections,
        time_limit_s=time_limit_s,
        watch=watch,
        stop=stop,
    )
    folder.note(dropped=getattr(player, "dropped", ()))


@contextmanager
def _told(path: Path, *, fresh: bool) -> Iterator[None]:
    """Say which run a refusal ended; take a new one back that turns out to be wrongly asked."""
    try:
        yield
    except Rejected as error:
        error.run_dir = str(path)
        raise
    except UsageError:
        if fresh:
            folders.withdraw(path)
        raise


def _shown(
    door: Callable[_P, Coroutine[Any, Any, _R]],
) -> Callable[[Callable[..., _R]], Callable[_P, _R]]:
    """Let a function show the parameters of an async one: to readers, notebooks, type checkers."""

    def dress(plain: Callable[..., _R]) -> Callable[_P, _R]:
        plain.__signature__ = inspect.signature(door)  # type: ignore[attr-defined]
        return plain

    return dress


@_shown(arun)
def run(*asked: Any, **settings: Any) -> Run:
    """Do what `arun` does, with the same parameters, from code that is not async."""
    if asyncio._get_running_loop() is not None:
        raise UsageError("a loop is running already (a notebook?): use `await tm.arun(...)`")
    return uvloop.run(arun(*asked, **settings))


def open_run(path: str | Path) -> Run:
    """Open a run folder."""
    return Run(Path(path))


def rescore(run: Run | str | Path, scorer: Scorer | None = None) -> Run:
    """Score a stored run anew without asking the model; returns the run.

    A run of your own suite needs its `scorer`, unless the code that the run was made with is as the
    run recorded it: it is imported then. Raises UsageError where it is not, and for a scorer of
    another suite; the old scores stay.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    finishing.rescore(opened, judge_of(opened, scorer))
    return opened


def compare(a: Run, b: Run, *, reading: str | None = None, differing: bool = False) -> Comparison:
    """Compare two runs item by item: paired difference with interval and exact test.

    The headline reading is compared unless another `reading` is named. Where tasks differ in
    content under one id nothing is tested, unless `differing` asks for it. Nothing is needed but
    the two folders.
    """
    from toolmark.report import compare as comparing

    return comparing.compare(a, b, reading, differing=differing)


def write_report(*runs: Run, path: str | Path | None = None) -> Path:
    """Write one self-contained HTML page over the runs; by default into the first one's folder.

    Nothing is needed but their folders. A run that is not scored is shown as far as it is stored.
    """
    from toolmark.report import page

    if not runs:
        raise UsageError("no run to report on")
    target = Path(path) if path is not None else runs[0].path / "report.html"
    return page.write(runs, target)


def judge_of(run: Run, given: Scorer | None = None) -> Scorer:
    """Return who judges a run: its suite's scorer, or `given`. Raises UsageError for another's."""
    name = run.info.plan.suite
    if given is None:
        return recorded_scorer(run) if run.info.plan.spec else scorer_of(name)
    if run.info.plan.spec:
        return given
    if name in suites.SUITES and {*given.readings} != {*(own := suites.scorer(name)).readings}:
        raise UsageError(
            f"{run.path} is of {name}, which is judged in {', '.join(own.readings)}; the scorer "
            f"given judges in {', '.join(given.readings)}: leave it out"
        )
    return given


def recorded_scorer(run: Run) -> Scorer:
    """Import the scorer of the suite that a run names, if its code is as the run recorded it.

    Every file of the user's that importing it would run must have the hash in the run's record. A
    folder's word alone imports nothing: what lies in the folder itself, or in a library, is not
    taken. Raises UsageError with the command that names the suite.
    """
    spec = run.info.plan.spec
    known = run.info.plan.modules | run.scorer().files
    why = ""
    try:
        found = identity.spec_hashes(spec)
        other = [name for name, sha256 in found.items() if known.get(name) != sha256]
        place = identity.spec_file(spec)
        if not found or place is None:
            why = f"{spec} is no code of which the run records a hash"
        elif inside(run.path, place):
            why = f"{place} lies in the run folder"
        elif other:
            why = f"{', '.join(other)} differs from what the run was made with"
    except UsageError as error:
        why = str(error)
    if why:
        command = finishing_command(run.path, spec)
        raise UsageError(f"{run.path}: {why}, so nothing was imported; next: {command}")
    return suites.scorer(spec)


def scorer_of(name: str) -> Scorer:
    """Return a built-in suite's scorer. A folder's word is not enough to import other code."""
    if name not in suites.SUITES:
        raise UsageError(
            f"{name!r} is not a built-in suite, and the run does not name its code; next: toolmark "
            "score RUN --suite FILE.py:NAME, or tm.rescore(run, scorer)"
        )
    return suites.scorer(name)


def finished(suite: Suite, plan: Plan, watch: runner.Watcher | None = None) -> Iterator[Task]:
    """Go through the tasks of the plan as they are asked; those of a file are finished already.

    The watcher is told of each that had to be made.
    """
    chosen = select(suite, plan, suite.seed)
    done = chosen if plan.tasks else suite.make(chosen)
    if watch is None or done is chosen:
        yield from done
        return
    n = sum(1 for _ in select(suite, plan, suite.seed))
    effort = suite.effort(select(suite, plan, suite.seed))
    progress = runner.Progress(n_planned=0, n_to_make=n, effort=effort)
    watch(progress)
    for task in done:
        progress.n_made += 1
        watch(progress)
        yield task


def able(suite: Suite, plan: Plan) -> None:
    """Raise UsageError, before anything is asked, where no task of the plan could be run."""
    if suite.sandboxed:
        boxes.require()
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


def _suite(given: object) -> Suite:
    if not isinstance(given, Suite):
        raise UsageError(f"expected a Suite, got {given!r}; next: tm.load(NAME)")
    return given


async def _closed(model: Model | Instrument) -> None:
    close = getattr(model, "close", None)
    if close is not None:
        await close()
