"""`toolmark author`: have models make reference trajectories for the tasks of a suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
import uvloop

from toolmark import __version__, api, private, suites
from toolmark.cli import codes, progress, screen
from toolmark.cli import options as o
from toolmark.cli.judge import See, opened
from toolmark.errors import UsageError
from toolmark.media import Media
from toolmark.models.openai import TIMEOUT_S
from toolmark.models.policy import CONNECTIONS, RETRIES
from toolmark.report.tables import plural, visible
from toolmark.runs import folders
from toolmark.runs.plan import Plan, select, world
from toolmark.runs.store import Folder, Run
from toolmark.runs.suite import Suite
from toolmark.types import Task
from toolmark.worlds.mcp import sandbox as boxes

if TYPE_CHECKING:
    from toolmark.suites.m3.author import Counts

out = screen.out()
err = screen.err()

Judge = Annotated[
    str, o.flag("-j", "--judge", metavar="MODEL", help="Accepts, turns down, condenses.")
]
Output = Annotated[Path, o.flag("-o", "--output", metavar="DIR", help="New, or to be continued.")]
Rounds = Annotated[int, o.flag("--rounds", help="Attempts at a task at most.", min=1)]


def author(
    suite: o.SuiteName,
    model: o.ModelName,
    judge: Judge,
    output: Output,
    rounds: Rounds = 3,
    see: See = False,
    knob: o.Knobs = None,
    limit: o.Limit = None,
    ids: o.Ids = None,
    sample: o.Sample = None,
    seed: o.Seed = None,
    base_url: o.BaseUrl = None,
    header: o.Headers = None,
    max_connections: o.Requests = CONNECTIONS,
    max_retries: o.Retries = RETRIES,
    timeout: o.Timeout = TIMEOUT_S,
    cache: o.CacheDir = None,
    sandbox: o.SandboxMode = o.Sandbox.required,
    as_json: o.AsJson = False,
) -> None:
    """Have a model do the tasks and a judge decide; what it accepts becomes references."""
    loaded = o.load(suite, _exact(suite, knob), seed)
    chosen = o.words(ids)
    settings = o.endpoint(
        (model, judge), base_url=base_url, header=header, max_connections=max_connections,
        max_retries=max_retries, timeout=timeout, cache=cache,
    ) | {"media": Media(output / "media")}  # fmt: skip
    with boxes.setting(sandbox.value), boxes.hiding(output):
        plan = Plan(
            suite=loaded.name,
            # what is kept is condensed: it is no run of the model alone
            model=f"{private.stored(model)} with {private.stored(judge)}",
            dialect=next(iter(loaded.dialects)),
            knobs=dict(loaded.knobs),
            base_url=o.elsewhere((model, judge), base_url),
            sampling=loaded.sampling,
            limit=limit,
            ids=chosen,
            sample=sample,
            world=world(loaded),
        )
        counts = uvloop.run(_make(output, plan, loaded, (model, judge), rounds, see, settings))
    _finish(output, counts, as_json=as_json)


def _exact(suite: str, given: list[str] | None) -> list[str]:
    """Return the knobs; nothing is compared here, so no encoder need be there unless asked for."""
    words = list(given or ())
    named = {word.partition("=")[0].strip() for word in words}
    if "similarity" not in named and any(k.name == "similarity" for k in suites.knobs(suite)):
        words.append("similarity=exact")
    return words


def _prepare(path: Path, plan: Plan, suite: Suite) -> None:
    """Make the folder, or see that the one there is of the same request. Raises UsageError."""
    if (path / "run.json").exists():
        # by hash: what was read back holds lists where the request has tuples
        if Run(path).info.plan.hash != plan.hash:
            raise UsageError(f"{path}: made by another request; choose another folder")
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise UsageError(f"{path}: not empty, and no author's folder; choose another")
    except OSError as error:
        raise UsageError(f"{path}: cannot write there: {error.strerror}") from None
    folders.create(
        path,
        plan,
        _tasks(suite, plan),
        media=suite.media,
        seed=suite.seed,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        hashes=dict(suite.hashes),
        versions={"toolmark": __version__},
    )


def _tasks(suite: Suite, plan: Plan) -> Iterator[Task]:
    for task in select(suite, plan, suite.seed):
        if task.needs or task.kind == "setup":
            raise UsageError(f"{suite.name}: its tasks need each other; references are made apart")
        yield task


async def _make(
    path: Path,
    plan: Plan,
    suite: Suite,
    names: tuple[str, str],
    rounds: int,
    see: bool,
    settings: Mapping[str, Any],
) -> Counts:
    from toolmark.suites.m3 import author

    async with AsyncExitStack() as stack:
        model, judge = [await opened(stack, name, settings) for name in names]
        api.able(suite, plan)
        _prepare(path, plan, suite)
        folder = stack.enter_context(Folder(path))
        watch = stack.enter_context(progress.watching(err, f"author {names[0]}"))
        return await author.make(
            folder,
            suite,
            model,
            judge,
            rounds=rounds,
            see=see,
            at_once=settings["max_connections"],
            watch=watch,
        )


def _finish(path: Path, counts: Counts, *, as_json: bool) -> None:
    from toolmark.suites.m3.author import TRUTHS

    truths = str(path / TRUTHS) if counts.accepted else ""
    if as_json:
        found = msgspec.to_builtins(counts) | {"truths": truths, "run_dir": str(path)}
        o.dump(found)
    else:
        _tell(path, counts, truths)
    raise typer.Exit(_code(counts))


def _tell(path: Path, counts: Counts, truths: str) -> None:
    lines = [
        f"{plural(counts.accepted, 'task')} accepted ({counts.by_rule} condensed by rule), "
        f"{counts.rejected} turned down, {counts.not_run} not run"
    ]
    if counts.not_run:
        lost = [attempt.failure for attempt in Run(path).attempts()]
        lines += [f"  not run: {failure.line[:500]}" for failure in lost[-1:]]
        lines.append("  next: give the same command again to run what is missing")
    if truths:
        lines.append(f"  {truths}")
        step = screen.command("review", path)
        lines.append(f"  next: {step}  (models made these: look at each of them)")
    for line in lines:
        out.print(visible(line), markup=False, highlight=False, soft_wrap=True)


def _code(counts: Counts) -> int:
    """Return the exit code: something not run 3, every task turned down 1, else 0."""
    if counts.not_run:
        return codes.NOT_RUN
    return 0 if counts.accepted else codes.GATE
