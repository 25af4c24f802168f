"""The command line: thin. Reads words, calls `api`, prints. Exit codes: `codes`."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop

from toolmark import __version__, api, plugin, private, suites
from toolmark.cli import (
    author,
    codes,
    interchange,
    judge,
    perturb,
    preview,
    progress,
    ready,
    replay,
    review,
    screen,
    serve,
    stored,
    terminal,
    tune,
)
from toolmark.cli import options as o
from toolmark.errors import DataError, Rejected, ToolmarkError, UsageError
from toolmark.models.openai import TIMEOUT_S
from toolmark.models.policy import CONNECTIONS, RETRIES
from toolmark.report import names
from toolmark.report.tables import visible
from toolmark.runs import ending
from toolmark.runs.store import Run
from toolmark.runs.suite import Suite
from toolmark.worlds.mcp import sandbox as boxes

app = typer.Typer(
    name="toolmark",
    help="Measure how well models act: function calls, tool workflows, actions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `toolmark demo` (no key needed), then `toolmark run funcbench -m MODEL`.\n\n"
    + o.TWINS,
)
out = screen.out()
err = screen.err()


RUNS = Path("runs")


@app.command(
    epilog=f"""Examples:

`toolmark run funcbench -m baseline/planner -T core=10 -T depth=5 -T connected=10`

`toolmark run bfcl -m openai/gpt-5 -T category=live --repeats 3`

`toolmark run bfcl -m http://localhost:8000/v1#my-model --dialect prompt --sample 200`

`toolmark run m3-local -m http://localhost:8000/v1#my-model -T instances=1 --seed 7`

`toolmark run mfcl-vision -m http://localhost:8000/v1#my-model -T items=25 --seed 7`

`toolmark run m3 -m openai/gpt-5 -T truths=GT.json -T images=DIR -T servers=mcp.json`

{o.TWINS}
"""
)
def run(
    suite: o.SuiteName,
    model: o.ModelName,
    knob: o.Knobs = None,
    dialect: o.DialectName = None,
    limit: o.Limit = None,
    ids: o.Ids = None,
    sample: o.Sample = None,
    tasks: o.TaskFile = None,
    repeats: o.Repeats = 1,
    temperature: o.Temperature = None,
    top_p: o.TopP = None,
    max_tokens: o.MaxTokens = None,
    reasoning_effort: o.Reasoning = None,
    extra_body: o.ExtraBody = None,
    base_url: o.BaseUrl = None,
    header: o.Headers = None,
    seed: o.Seed = None,
    max_connections: o.Connections = CONNECTIONS,
    max_retries: o.Retries = RETRIES,
    timeout: o.Timeout = TIMEOUT_S,
    time_limit: o.TimeLimit = None,
    audio_format: o.AudioFormat = o.AudioForm.wav,
    log_dir: o.LogDir = RUNS,
    cache: o.CacheDir = None,
    fresh: o.Fresh = False,
    continue_: o.Continue = False,
    fail_under: o.FailUnder = None,
    sandbox: o.SandboxMode = o.Sandbox.required,
    dry_run: o.DryRun = False,
    as_json: o.AsJson = False,
) -> None:
    """Run a suite on a model: ask, score, store, and print the result; `report` makes the page."""
    suites.check(suite, model)
    loaded = o.load(suite, knob, seed, tasks)
    chosen: dict[str, Any] = {
        "dialect": dialect, "limit": limit, "ids": o.words(ids), "sample": sample,
        "repeats": repeats, "tasks": tasks or "",
    }  # fmt: skip
    if dry_run:
        with boxes.setting(sandbox.value):
            if loaded.sandboxed:
                boxes.require()
            preview.show(out, loaded, chosen)
        return
    asked = o.endpoint(
        [model], base_url=base_url, header=header, max_connections=max_connections,
        max_retries=max_retries, timeout=timeout, cache=cache,
    )  # fmt: skip
    said: dict[str, Any] = {
        "temperature": temperature, "top_p": top_p, "max_tokens": max_tokens,
        "reasoning_effort": reasoning_effort.value if reasoning_effort else None,
        "extra_body": o.body(extra_body), "audio_format": audio_format.value,
    }  # fmt: skip
    if fresh and continue_:
        raise UsageError("--fresh begins a new run, --continue goes on with one: leave out one")
    kept = {
        "log_dir": log_dir, "resume": not fresh, "continue_": continue_, "command": _command(),
        "sandbox": sandbox.value,
    }  # fmt: skip
    settings = chosen | asked | said | kept | {"time_limit_s": time_limit}
    done, stopped, rejected = _execute(loaded, model, settings)
    found = done.summary()
    if as_json:
        o.dump(found)
    else:
        terminal.summary(out, found)
        terminal.failures(out, done, loaded.scorer.natives)
        _finish(done, found)
    if rejected is not None:
        screen.error(err, rejected)
    failed = "" if stopped else _failed_gate(found, fail_under)
    if failed:
        err.print(f"toolmark: {failed}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(_verdict(found, failed, stopped=stopped))


def _execute(
    loaded: Suite, model: str, settings: dict[str, Any]
) -> tuple[Run, bool, Rejected | None]:
    """Run with live progress; Ctrl-C, SIGTERM or SIGHUP ask it to stop, a second one ends it.

    Returns the run, whether it was stopped, and the refusal that ended it.
    """

    async def main() -> tuple[Run, bool]:
        stop = asyncio.Event()
        named = f"{loaded.name} {names.short(private.stored(model))}"
        heeded = ending.stopping(asyncio.get_running_loop(), stop)
        with heeded, progress.watching(err, named) as watch:
            let_through()
            done = await api.arun(loaded, model, watch=watch, stop=stop, **settings)
        return done, stop.is_set()

    try:
        with ending.held_back() as let_through:
            return *uvloop.run(main()), None
    except Rejected as error:
        if not error.run_dir:
            raise
        return api.open_run(error.run_dir), False, error


def _finish(done: Run, found: dict[str, Any]) -> None:
    if found["n_not_run"]:
        terminal.not_run(out, done)
    # what is to be known of the data was told when they were read
    terminal.parts(out, {part: told for part, told in done.info.notes.items() if part != "data"})
    for name, lives in done.info.servers.items():
        if len(lives) > 1:
            told = f"  server {name} changed during the run: {'; then '.join(lives)}"
            out.print(visible(told), markup=False, highlight=False, soft_wrap=True)
    if done.info.dropped:
        left_out = ", ".join(done.info.dropped)
        out.print(f"  the server refused {left_out}: its own default was used", highlight=False)
    if done.info.plan.knobs.get("seed", 0) is None and not done.info.plan.tasks:
        out.print(f"  seed {done.info.seed} was drawn; --seed {done.info.seed} repeats these tasks")
    step = f"  next: {screen.command('report', done.path)}"
    out.print(visible(step), markup=False, highlight=False, soft_wrap=True)


def _failed_gate(found: dict[str, Any], fail_under: float | None) -> str:
    """Say why a score does not pass `--fail-under`, "" where it does.

    A score that is partial is no number, so it passes no gate.
    """
    if fail_under is None:
        return ""
    head = found["score"]
    if head["value"] is None:
        why = "there is no score"
    elif head.get("partial"):
        why = f"there is no whole score: {head['partial']}"
    elif head["value"] < fail_under:
        why = f"the score is {head['value']:.4g}"
    else:
        return ""
    return f"--fail-under {fail_under:g} failed: {why}"


def _verdict(found: dict[str, Any], failed: str, *, stopped: bool) -> int:
    """Return the exit code: stopped 130, a gate that failed 1, something not run 3, else 0."""
    if stopped:
        return codes.INTERRUPTED
    if failed:
        return codes.GATE
    return codes.NOT_RUN if found["n_not_run"] else 0


app.command("list", epilog="Examples: `toolmark list`, `toolmark list funcbench`")(ready.list_)
app.command(
    epilog="Examples: `toolmark doctor -m http://localhost:8000/v1#my-model`, "
    "`toolmark doctor --servers mcp.json`"
)(ready.doctor)
app.command(
    epilog="Examples: `toolmark make funcbench -T core=10 -T depth=5 -T graphs=20 --seed 7 "
    "-o DIR`, `toolmark make mfcl-vision -T items=25 --seed 7 -o DIR`"
)(ready.make)
app.command(epilog="Examples: `toolmark fetch bfcl`, `toolmark fetch m3-servers`")(ready.fetch)
app.command(epilog="Example: `toolmark score runs/funcbench-baseline-planner-native-1a2b3c4d-1`")(
    stored.score
)
app.command(epilog="Example: `toolmark report runs/A runs/B -o page.html`")(stored.report)
app.command(epilog="Example: `toolmark compare runs/old runs/new`")(stored.compare)
app.command(epilog="Example: `toolmark show runs/A live_simple_3-2-0`")(stored.show)
app.command(epilog="Examples: `toolmark review RUN`, `toolmark review --blind RUN_A RUN_B`")(
    review.review
)
app.command(epilog="Example: `toolmark calibrate runs/A/pairs.jsonl -o calibration.html`")(
    review.calibrate
)
app.command(epilog="Example: `toolmark judge runs/A -j openai/gpt-5-mini -j URL#B -j URL#C`")(
    judge.judge
)
app.command(epilog="Example: `toolmark author m3 -m MODEL --judge MODEL -T truths=T.json -o DIR`")(
    author.author
)
app.command(
    epilog="""Examples:

`toolmark tune mfcl-vision -T items=20 --seed 7 -m MODEL -m MODEL -m MODEL -o DIR`

`toolmark tune mfcl-vision -o DIR` goes on with it, after `toolmark review DIR` too

`toolmark tune mfcl-vision --draft PICTURES` begins a set of your own pictures

`toolmark tune mfcl-vision -T source=PICTURES -T search=brave -m MODEL -o DIR`
"""
)(tune.tune)
app.command(epilog="Example: `toolmark serve funcbench -T core=10 -T depth=5 --seed 7`")(
    serve.serve
)


app.command(
    "import",
    epilog="Examples: `toolmark import bfcl RESULT_DIR`, "
    "`toolmark import m3 RESULTS.json --truths GT.json`",
)(interchange.import_)
app.command(
    "export",
    epilog="Examples: `toolmark export bfcl RUN -o DIR`, `toolmark export m3 RUN -o FILE.json`",
)(interchange.export_)
app.command(epilog="Example: `toolmark replay runs/A --servers mcp.json`")(replay.replay)
app.add_typer(perturb.app, name="perturb")


@app.command(epilog="Example: `toolmark demo`")
def demo(
    log_dir: o.LogDir = RUNS,
) -> None:
    """Generate, run, score, compare and report, with no key and no GPU."""
    from toolmark.cli import showcase

    showcase.play(out, err, log_dir)


def _command() -> str:
    """Return the command as given, without the values of headers and what may be a key."""
    words = []
    hide = False
    for word in sys.argv[1:]:
        if word.startswith("--header="):
            word = "--header=..."
        words.append("..." if hide else word)
        hide = word == "--header"
    return shlex.join(["toolmark", *private.command(words)])


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"toolmark {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Measure how well models act: function calls, tool workflows, actions."""


def main() -> None:
    """Run the command line; errors on purpose become one line and an exit code."""
    try:
        with ending.unwinding():
            app()
    except (UsageError, DataError) as error:
        _fail(error, codes.USAGE)
    except ToolmarkError as error:  # an endpoint or a server that something needs
        _fail(error, codes.NOT_RUN)
    except OSError as error:  # of a file that is named by the command, or lies in a folder of it
        if error.filename is None:
            raise
        place = os.fsdecode(error.filename)
        _fail(DataError(f"{place}: {error.strerror}"), codes.USAGE)
    except ModuleNotFoundError as error:  # of a library that is imported only when it is needed
        step = plugin.blame(error)
        if not step:
            raise
        _fail(UsageError(f"{error}; next: {step}"), codes.USAGE)
    except SystemExit as ended:
        # typer ends a command by itself on Ctrl-C, without a word
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):
            err.print("interrupted; what was done is kept", highlight=False)
        raise


def _fail(error: ToolmarkError, code: int) -> None:
    screen.error(err, error)
    sys.exit(code)
