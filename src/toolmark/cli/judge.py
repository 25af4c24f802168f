"""`toolmark judge`: have judge models rate the episodes of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer
import uvloop

from toolmark import api, private
from toolmark.cli import codes, progress, screen, terminal
from toolmark.cli import options as o
from toolmark.errors import UsageError, near
from toolmark.media import Media
from toolmark.models.openai import TIMEOUT_S
from toolmark.models.policy import CONNECTIONS, RETRIES
from toolmark.models.resolve import address, resolve
from toolmark.report.tables import text, visible
from toolmark.runs import finishing, judging
from toolmark.runs.damage import check_files
from toolmark.runs.jsonl import locked
from toolmark.runs.store import FILES, Run
from toolmark.types import Instrument, Model

if TYPE_CHECKING:
    from toolmark.suites.m3.panel import Findings

out = screen.out()
err = screen.err()
SUITES = ("m3", "m3-local")

Judges = Annotated[
    list[str], o.flag("-j", "--judge", metavar="MODEL", help="A judge; repeat it, 3 or more.")
]
Kinds = Annotated[
    str, o.flag("--kind", metavar="KINDS", help="Of completion, grounding, steps, by a comma.")
]
See = Annotated[bool, o.flag("--see", help="Show judges the task's pictures.")]


def judge(
    path: o.RunPath,
    judge: Judges,
    kind: Kinds = "completion,grounding,steps",
    see: See = False,
    base_url: o.BaseUrl = None,
    header: o.Headers = None,
    max_connections: o.Requests = CONNECTIONS,
    max_retries: o.Retries = RETRIES,
    timeout: o.Timeout = TIMEOUT_S,
    cache: o.CacheDir = None,
    as_json: o.AsJson = False,
) -> None:
    """Have judge models rate task completion and information grounding, then score anew."""
    from toolmark.suites.m3 import judge as judging_m3
    from toolmark.suites.m3 import panel

    run = api.open_run(path)
    kinds = _kinds(kind, judging_m3.KINDS)
    _suitable(run, judge)
    names = {_called(name, base_url): name for name in judge}
    if len(names) < len(judge):
        raise UsageError("judges of one name at one address: with --base-url each needs its own")
    settings = o.endpoint(
        judge, base_url=base_url, header=header, max_connections=max_connections,
        max_retries=max_retries, timeout=timeout, cache=cache,
    ) | {"media": Media(run.path / "media")}  # fmt: skip
    forms = {name: judging_m3.form(name, see=see) for name in kinds}
    with locked(run.path):
        run.verify()
        check_files(run.path, FILES)
        uvloop.run(_collect(run, names, forms, judging_m3.asking(see=see), settings))
        summary = finishing.score_locked(run, api.judge_of(run))
    found = panel.findings(run, kinds)
    if as_json:
        o.dump({"judged": found, "summary": summary})
    else:
        _show(run, found, summary)
    short = any(each.n_not_run or any(j.n_not_run for j in each.judges) for each in found)
    raise typer.Exit(codes.NOT_RUN if short else 0)


def _kinds(words: str, known: Iterable[str]) -> list[str]:
    kinds = list(dict.fromkeys(word.strip() for word in words.split(",") if word.strip()))
    for name in kinds:
        if name not in known:
            raise UsageError(f"--kind: no judgement {name!r}{near(name, known)}")
    if not kinds:
        raise UsageError(f"--kind: name one{near('', known)}")
    return kinds


def _suitable(run: Run, judges: list[str]) -> None:
    suite = run.info.plan.suite
    if suite not in SUITES:
        raise UsageError(f"{run.path}: a run of {suite!r}; judged are runs of {', '.join(SUITES)}")
    twice = next((name for name in judges if judges.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--judge {private.stored(twice)} is given twice; a judge has one voice")
    if not run.done():
        raise UsageError(f"{run.path}: no completed episode yet; run it first")


def _called(name: str, base_url: str | None) -> str:
    """Return a judge's name; of one that is asked elsewhere than usual, the address is part."""
    place = address(name, base_url) if base_url else ""
    return f"{place}#{name.partition('/')[2]}" if place else private.stored(name)


async def _collect(
    run: Run,
    judges: Mapping[str, str],
    forms: Mapping[str, str],
    ask: judging.Ask,
    settings: dict[str, Any],
) -> None:
    async with AsyncExitStack() as stack:
        models = {name: await opened(stack, judges[name], settings) for name in judges}
        with progress.watching(err, f"judge {len(judges)} models") as watch:
            await judging.collect(
                run, models, forms, ask, at_once=settings["max_connections"], watch=watch
            )


async def opened(stack: AsyncExitStack, name: str, settings: Mapping[str, Any]) -> Model:
    """Return the model of that name, closed with the stack. Raises UsageError for instruments."""
    model = resolve(name, **settings)
    if isinstance(model, Instrument):
        raise UsageError(f"{name} is a test instrument, which sees the reference; name a model")
    close = getattr(model, "close", None)
    if close is not None:
        stack.push_async_callback(close)
    return model


def _show(run: Run, found: list[Findings], summary: Mapping[str, Any]) -> None:
    from toolmark.suites.m3 import panel

    for table in panel.tables(found):
        out.print(text(table) + "\n", markup=False, highlight=False, soft_wrap=True)
    for each in found:
        for judge in each.judges:
            if judge.failure is not None:
                why = judge.failure.line[:200]
                told = f"  {each.kind}, not run, {judge.judge}: {why}"
                out.print(visible(told), markup=False, highlight=False, soft_wrap=True)
    terminal.summary(out, summary)
    if any(judge.n_not_run for each in found for judge in each.judges):
        out.print("  next: give the same command again to ask what is missing", highlight=False)
    step = f"  next: {screen.command('report', run.path)}"
    out.print(visible(step), markup=False, highlight=False, soft_wrap=True)
    terminal.stale(out, run.path)
