"""`toolmark tune`: make items harder until most of a panel of models fails them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import uvloop

from toolmark import api, private, suites
from toolmark.cli import codes, progress, screen
from toolmark.cli import options as o
from toolmark.errors import UsageError, near
from toolmark.media import Media
from toolmark.models.openai import TIMEOUT_S
from toolmark.models.policy import CONNECTIONS, RETRIES
from toolmark.models.resolve import resolve
from toolmark.report.tables import plural, text, visible
from toolmark.runs.plan import Plan
from toolmark.runs.suite import Suite
from toolmark.types import Instrument, Model

if TYPE_CHECKING:
    from toolmark.suites.mfcl.vision.tune.folder import Tuning
    from toolmark.suites.mfcl.vision.tune.records import Request

out = screen.out()
err = screen.err()
SUITES = ("mfcl-vision",)
BASE = "variations=base"
REFUSED = 5  # pictures that are named

Models = Annotated[
    list[str] | None,
    o.flag("-m", "--model", metavar="MODEL", help="Of the panel; repeat it. " + o.MODELS),
]
Output = Annotated[
    Path | None, o.flag("-o", "--output", metavar="DIR", help="New, or to be continued.")
]
Drafting = Annotated[
    Path | None,
    o.flag("--draft", metavar="FOLDER", help="Only write a draft of items.jsonl for its pictures."),
]
Edits = Annotated[
    str | None,
    o.flag("--edits", metavar="EDITS", help="Of unhint,context,crop,hops, in the order to try."),
]
Attempts = Annotated[int, o.flag("--attempts", help="A model fails if so many do.", min=1)]
Rounds = Annotated[int, o.flag("--rounds", help="Edits of an item at most.", min=0)]


def tune(
    suite: Annotated[str, typer.Argument(help="mfcl-vision.", metavar="SUITE")],
    model: Models = None,
    output: Output = None,
    draft: Drafting = None,
    edits: Edits = None,
    attempts: Attempts = 2,
    rounds: Rounds = 4,
    knob: o.Knobs = None,
    dialect: o.DialectName = None,
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
    as_json: o.AsJson = False,
) -> None:
    """Edit items until most of a panel fails them; what a person then finds solvable is kept.

    Without -m it goes on with the folder as it was begun.
    """
    if suite not in SUITES:
        raise UsageError(f"no tuning of {suite!r}{near(suite, SUITES)}")
    if draft is not None:
        _draft(draft)
        return
    if output is None:
        raise UsageError("where to? name a folder: -o DIR")
    if model:
        loaded, request = _begin(
            output, suite, tuple(model), knob, seed, dialect,
            {"limit": limit, "ids": o.words(ids), "sample": sample, "repeats": attempts,
             "base_url": o.elsewhere(model, base_url) and base_url},
            edits, rounds,
        )  # fmt: skip
    else:
        if knob or ids or limit or sample or edits or dialect or base_url or seed is not None:
            raise UsageError("name the panel (-m), or go on with a folder by -o alone")
        loaded, request = _again(output, suite)
        base_url = request.plan.base_url or None
    settings = o.endpoint(
        request.models, base_url=base_url, header=header, max_connections=max_connections,
        max_retries=max_retries, timeout=timeout, cache=cache,
    ) | {"media": Media(output / "media")}  # fmt: skip
    stopped = uvloop.run(_work(output, loaded, request, settings))
    _finish(output, loaded, stopped, as_json=as_json)


# --- what is asked for ------------------------------------------------------------------


def _begin(
    output: Path,
    name: str,
    models: tuple[str, ...],
    knob: list[str] | None,
    seed: int | None,
    dialect: str | None,
    chosen: dict[str, Any],
    edits: str | None,
    rounds: int,
) -> tuple[Suite, Request]:
    """Return the suite and what is asked for; the seed is that of the folder, if it is there."""
    from toolmark.suites.mfcl.vision.tune import folder, records

    if any(word.partition("=")[0].strip() == "variations" for word in knob or ()):
        raise UsageError("variations: tuned is the picture as it is; leave the knob out")
    for model in models:  # the folder is gone on with by what it holds
        private.check_stored("-m", model)
    private.check_stored("--base-url", chosen["base_url"])
    twice = next((name for name in models if models.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"-m {twice} is given twice; a model has one voice")
    loaded = o.load(name, [*(knob or ()), BASE], seed)
    plan = Plan(
        suite=loaded.name, model=", ".join(models), dialect=api.dialect_of(loaded, dialect),
        knobs=dict(loaded.knobs), sampling=loaded.sampling, **chosen,
    )  # fmt: skip
    api.able(loaded, plan)
    drawn = folder.Tuning(output).request.seed if folder.there(output) else loaded.seed
    request = records.Request(
        plan=plan, models=models, edits=_edits(edits), rounds=rounds, seed=drawn,
        hashes=dict(loaded.hashes),
    )  # fmt: skip
    return _seeded(loaded, drawn), request


def _again(output: Path, name: str) -> tuple[Suite, Request]:
    """Return the suite and the request of a folder. Raises UsageError for what has changed."""
    from toolmark.suites.mfcl.vision.tune import folder

    if not folder.there(output):
        raise UsageError(f"{output}: nothing begun there; name the panel: -m MODEL -m MODEL ...")
    tuning = folder.Tuning(output)
    if tuning.request.plan.suite != name:
        raise UsageError(f"{output}: a tuning of {tuning.request.plan.suite!r}, not of {name!r}")
    return tuning.suite(), tuning.request


def _seeded(loaded: Suite, seed: int) -> Suite:
    if loaded.seed == seed:
        return loaded
    return suites.load(loaded.name, **{**loaded.knobs, "seed": seed})


def _edits(words: str | None) -> tuple[str, ...]:
    from toolmark.suites.mfcl.vision.tune.edits import HARDER

    if words is None:
        return HARDER
    chosen = tuple(dict.fromkeys(o.words(words)))
    for word in chosen:
        if word not in HARDER:
            raise UsageError(f"--edits: no edit {word!r}{near(word, HARDER)}")
    return chosen


# --- the work ---------------------------------------------------------------------------


async def _work(output: Path, loaded: Suite, request: Request, settings: Mapping[str, Any]) -> str:
    """Tune, and return why a model could no longer be asked, "" if all could."""
    from toolmark.suites.mfcl.vision import knobs
    from toolmark.suites.mfcl.vision.tune import folder, loop, own

    source = knobs.folder(loaded.knobs["source"])
    owned = own.read(source, {task.item for task in loaded.tasks}) if source else {}
    async with AsyncExitStack() as stack:
        panel: dict[str, Model | Instrument] = {}
        if not folder.there(output):  # a name that is none makes no folder
            panel = await _panel(stack, loaded, request.models, settings)
        tuning = folder.begun(output, request)
        writer = stack.enter_context(tuning.writing())
        watch = stack.enter_context(
            progress.watching(err, f"tune with {plural(len(request.models), 'model')}")
        )
        loop.fill(tuning, writer, loaded, watch)
        editor = loop.Editor(tuning, writer, loaded, owned, loop.further)
        editor.edit()
        if not loop.waiting(tuning):
            return ""
        panel = panel or await _panel(stack, loaded, request.models, settings)
        state = await loop.tune(
            tuning, writer, loaded, panel, editor, at_once=settings["max_connections"], watch=watch
        )
        return state.stopped


async def _panel(
    stack: AsyncExitStack, loaded: Suite, names: tuple[str, ...], settings: Mapping[str, Any]
) -> dict[str, Model | Instrument]:
    """Return the models by name, closed with the stack."""
    found = {}
    for name in names:
        model = resolve(name, suite=loaded, **settings)
        close = getattr(model, "close", None)
        if close is not None:
            stack.push_async_callback(close)
        found[name] = model
    return found


# --- what is said -----------------------------------------------------------------------


def _draft(folder: Path) -> None:
    from toolmark.suites.mfcl.vision.tune import draft

    made = draft.draft(folder)
    lines = [f"{made.path}  {plural(made.n_added, 'row')} added, {made.n_there} there before"]
    refused = list(made.refused.values())
    lines += [f"  left out: {why}" for why in refused[:REFUSED]]
    if len(refused) > REFUSED:
        lines.append(f"  left out: {len(refused) - REFUSED} more")
    lines.append("  next: fill in question, answer, domain and query_type of each row, boxes of "
                 f"the clue where you can; then toolmark tune {SUITES[0]} -T source={folder} "
                 "-T search=... -m MODEL -o DIR")  # fmt: skip
    _print(lines)
    raise typer.Exit(0 if made.n_added or made.n_there else 1)


def _finish(output: Path, loaded: Suite, stopped: str, *, as_json: bool) -> None:
    from toolmark.suites.mfcl.vision.tune import folder, publish

    tuning = folder.Tuning(output)
    made = publish.publish(tuning, loaded)
    counts = tuning.count()
    if as_json:
        found = {"items": counts, "set": str(made or ""), "dir": str(output), "stopped": stopped}
        o.dump(found)
    else:
        tables = [text(table) for table in publish.summary(tuning)]
        out.print("\n\n".join(tables), markup=False, highlight=False, soft_wrap=True)
        _print(_told(tuning, made, stopped))
    raise typer.Exit(codes.NOT_RUN if counts["open"] or counts["broken"] else 0)


def _told(tuning: Tuning, made: Path | None, stopped: str) -> list[str]:
    counts = tuning.count()
    again = screen.command("tune", tuning.request.plan.suite, "-o", tuning.path)
    lines = []
    if broken := [item.last.broken for item in tuning.items.values() if item.last.broken]:
        lines += [f"  no picture: {why}" for why in broken[:REFUSED]]
    if counts["open"]:
        failed = [t.failure for item in tuning.items.values() for t in item.trials if t.failure]
        why = stopped or (failed[-1].line if failed else "it was ended")
        lines += [f"  not run: {why[:500]}", f"  next: {again}"]
    if made is not None:
        lines.append(f"{made}  {plural(counts['kept'], 'item')}; -T source={made} asks them")
    elif (tuning.path / "set").exists():
        lines.append(f"  {tuning.path / 'set'} is of an earlier state: nothing is kept now")
    if counts["waiting"]:
        lines.append(f"  next: {screen.command('review', tuning.path)}, then {again}")
    return lines


def _print(lines: list[str]) -> None:
    for line in lines:
        out.print(visible(line), markup=False, highlight=False, soft_wrap=True)
