"""The command line: thin. Reads words, calls `api`, prints. Exit codes: `codes`."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
import uvloop

from toolmark import __version__, api
from toolmark.cli import (
    author_command,
    console_output,
    consoles,
    dry_run_preview,
    exit_codes,
    import_export_commands,
    judge_command,
    perturb_commands,
    preparation_commands,
    progress_display,
    replay_command,
    review_commands,
    serve_command,
    stored_run_commands,
    tune_command,
)
from toolmark.cli import command_options as o
from toolmark.cli.wrong_command_lines import (
    CommandGroup,
    CommandLineError,
    describe_command_line_error,
)
from toolmark.core import secrets, user_modules
from toolmark.core.errors import DataError, Rejected, ToolmarkError, UsageError
from toolmark.core.number_format import format_short
from toolmark.environments.mcp import sandbox as boxes
from toolmark.models.request_policies import DEFAULT_CONNECTIONS, DEFAULT_RETRIES
from toolmark.models.wires.chat_completions import TIMEOUT_S
from toolmark.reports import run_names
from toolmark.reports.table_format import visible_text
from toolmark.runs import termination_signals
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Suite
from toolmark.suites import suite_registry

app = typer.Typer(
    name="toolmark",
    help="Measure how well models act: function calls, tool workflows, actions.",
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `toolmark demo` (no key needed), then `toolmark run funcbench -m MODEL`.\n\n"
    + o.ENVIRONMENT_HELP,
)
out = consoles.stdout_console()
err = consoles.stderr_console()


DEFAULT_LOG_DIR = Path("runs")


@app.command(
    epilog=f"""Examples:

`toolmark run funcbench -m baseline/planner -T core=10 -T depth=5 -T connected=10`

`toolmark run bfcl -m openai/gpt-5 -T category=live --repeats 3`

`toolmark run bfcl -m http://localhost:8000/v1#my-model --dialect prompt --sample 200`

`toolmark run m3-local -m http://localhost:8000/v1#my-model -T instances=1 --seed 7`

`toolmark run mfcl-vision -m http://localhost:8000/v1#my-model -T items=25 --seed 7`

`toolmark run m3 -m openai/gpt-5 -T truths=GT.json -T images=DIR -T servers=mcp.json`

{o.ENVIRONMENT_HELP}
"""
)
def run(
    suite: o.SuiteName,
    model: o.ModelName,
    knob: o.Parameters = None,
    dialect: o.ToolFormatName = None,
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
    max_connections: o.Connections = DEFAULT_CONNECTIONS,
    max_retries: o.Retries = DEFAULT_RETRIES,
    timeout: o.Timeout = TIMEOUT_S,
    time_limit: o.TimeLimit = None,
    audio_format: o.AudioFormat = o.AudioEncoding.wav,
    log_dir: o.LogDir = DEFAULT_LOG_DIR,
    cache: o.CacheDir = None,
    fresh: o.Fresh = False,
    continue_: o.Continue = False,
    fail_under: o.FailUnder = None,
    sandbox: o.SandboxMode = o.Sandbox.required,
    dry_run: o.DryRun = False,
    as_json: o.AsJson = False,
) -> None:
    """Run a suite on a model: ask, score, store, and print the result; `report` makes the page."""
    suite_registry.check_baseline(suite, model)
    loaded = o.load_suite(suite, knob, seed, tasks)
    chosen: dict[str, Any] = {
        "tool_format": dialect, "limit": limit, "ids": o.split_list(ids), "sample": sample,
        "repeats": repeats, "tasks": tasks or "",
    }  # fmt: skip
    if dry_run:
        with boxes.use_setting(sandbox.value):
            if loaded.environment.starts_processes:
                boxes.require_sandbox()
            preview = dry_run_preview.make_preview(loaded, chosen)
        if as_json:
            o.print_json(preview)
        else:
            dry_run_preview.print_preview(out, preview)
        return
    connection = o.connection_settings(
        [model], base_url=base_url, header=header, max_connections=max_connections,
        max_retries=max_retries, timeout=timeout, cache=cache,
    )  # fmt: skip
    sampling: dict[str, Any] = {
        "temperature": temperature, "top_p": top_p, "max_tokens": max_tokens,
        "reasoning_effort": reasoning_effort.value if reasoning_effort else None,
        "extra_body": o.parse_extra_body(extra_body), "audio_format": audio_format.value,
    }  # fmt: skip
    if fresh and continue_:
        raise UsageError("--fresh begins a new run, --continue goes on with one: leave out one")
    storage = {
        "log_dir": log_dir,
        "resume": not fresh,
        "continue_": continue_,
        "command": _masked_command(),
        "sandbox": sandbox.value,
    }
    settings = chosen | connection | sampling | storage | {"time_limit_s": time_limit}
    done, stopped, rejected = _execute(loaded, model, settings)
    found = done.summary()
    if as_json:
        o.print_json(found)
    else:
        console_output.print_summary(out, found)
        console_output.print_failures(out, done, loaded.scorer.presentation.failure_names)
        _print_after_run(done, found)
    if rejected is not None:
        consoles.print_error(err, rejected)
    exit_codes.end_command(
        failed_gate="" if stopped else _gate_failure(found, fail_under),
        not_run=console_output.not_run_reason(found),
        interrupted=stopped,
    )


def _execute(
    loaded: Suite, model: str, settings: dict[str, Any]
) -> tuple[Run, bool, Rejected | None]:
    """Run with live progress; Ctrl-C, SIGTERM or SIGHUP ask it to stop, a second one ends it.

    Returns the run, whether it was stopped, and the refusal that ended it.
    """

    async def main() -> tuple[Run, bool]:
        stop = asyncio.Event()
        title = f"{loaded.name} {run_names.short_model_name(secrets.mask_model_spec(model))}"
        stop_signals = termination_signals.stop_on_signals(asyncio.get_running_loop(), stop)
        with stop_signals, progress_display.show_progress(err, title) as watch:
            release_signals()
            done = await api.arun(loaded, model, watch=watch, stop=stop, **settings)
        return done, stop.is_set()

    try:
        with termination_signals.delay_signals() as release_signals:
            return *uvloop.run(main()), None
    except Rejected as error:
        if not error.run_dir:
            raise
        return api.open_run(error.run_dir), False, error


def _print_after_run(done: Run, found: dict[str, Any]) -> None:
    if found["n_not_run"]:
        console_output.print_not_run(out, done)
    # what is to be known of the data was told when they were read
    console_output.print_part_notes(
        out, {part: note for part, note in done.info.notes.items() if part != "data"}
    )
    for name, versions in done.info.servers.items():
        if len(versions) > 1:
            note = f"  server {name} changed during the run: {'; then '.join(versions)}"
            out.print(visible_text(note), markup=False, highlight=False, soft_wrap=True)
    if done.info.dropped:
        left_out = ", ".join(done.info.dropped)
        out.print(f"  the server refused {left_out}: its own default was used", highlight=False)
    if done.info.plan.knobs.get("seed", 0) is None and not done.info.plan.tasks:
        out.print(f"  seed {done.info.seed} was drawn; --seed {done.info.seed} repeats these tasks")
    step = f"  next: {consoles.shell_command('report', done.path)}"
    out.print(visible_text(step), markup=False, highlight=False, soft_wrap=True)


def _gate_failure(found: dict[str, Any], fail_under: float | None) -> str:
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
        why = f"the score is {_format_below(head['value'], fail_under)}"
    else:
        return ""
    return f"--fail-under {format_short(fail_under)} failed: {why}"


def _format_below(value: float, limit: float) -> str:
    """Return a number with as many digits as are needed to see that it is below a limit."""
    limit_text = format_short(limit)
    texts = (format_short(value, n_digits) for n_digits in range(4, 18))
    return next((text for text in texts if text != limit_text), repr(value))


app.command("list", epilog="Examples: `toolmark list`, `toolmark list funcbench`")(
    preparation_commands.list_suites
)
app.command(
    epilog="Examples: `toolmark doctor -m http://localhost:8000/v1#my-model`, "
    "`toolmark doctor --servers mcp.json`"
)(preparation_commands.doctor)
app.command(
    epilog="Examples: `toolmark make funcbench -T core=10 -T depth=5 -T graphs=20 --seed 7 "
    "-o DIR`, `toolmark make mfcl-vision -T items=25 --seed 7 -o DIR`"
)(preparation_commands.make)
app.command(epilog="Examples: `toolmark fetch bfcl`, `toolmark fetch m3-servers`")(
    preparation_commands.fetch
)
app.command(epilog="Example: `toolmark score runs/funcbench-baseline-planner-native-1a2b3c4d-1`")(
    stored_run_commands.score
)
app.command(epilog="Example: `toolmark report runs/A runs/B -o page.html`")(
    stored_run_commands.report
)
app.command(epilog="Example: `toolmark compare runs/old runs/new`")(stored_run_commands.compare)
app.command(epilog="Example: `toolmark show runs/A live_simple_3-2-0`")(stored_run_commands.show)
app.command(epilog="Examples: `toolmark review RUN`, `toolmark review --blind RUN_A RUN_B`")(
    review_commands.review
)
app.command(epilog="Example: `toolmark calibrate runs/A/pairs.jsonl -o calibration.html`")(
    review_commands.calibrate
)
app.command(epilog="Example: `toolmark judge runs/A -j openai/gpt-5-mini -j URL#B -j URL#C`")(
    judge_command.judge
)
app.command(epilog="Example: `toolmark author m3 -m MODEL --judge MODEL -T truths=T.json -o DIR`")(
    author_command.author
)
app.command(
    epilog="""Examples:

`toolmark tune mfcl-vision -T items=20 --seed 7 -m MODEL -m MODEL -m MODEL -o DIR`

`toolmark tune mfcl-vision -o DIR` goes on with it, after `toolmark review DIR` too

`toolmark tune mfcl-vision --draft PICTURES` begins a set of your own pictures

`toolmark tune mfcl-vision -T source=PICTURES -T search=brave -m MODEL -o DIR`
"""
)(tune_command.tune)
app.command(epilog="Example: `toolmark serve funcbench -T core=10 -T depth=5 --seed 7`")(
    serve_command.serve
)


app.command(
    "import",
    epilog="Examples: `toolmark import bfcl RESULT_DIR`, "
    "`toolmark import m3 RESULTS.json --truths GT.json`",
)(import_export_commands.import_files)
app.command(
    "export",
    epilog="Examples: `toolmark export bfcl RUN -o DIR`, `toolmark export m3 RUN -o FILE.json`",
)(import_export_commands.export_files)
app.command(epilog="Example: `toolmark replay runs/A --servers mcp.json`")(replay_command.replay)
app.add_typer(perturb_commands.app, name="perturb")


@app.command(epilog="Example: `toolmark demo`")
def demo(
    log_dir: o.LogDir = DEFAULT_LOG_DIR,
) -> None:
    """Generate, run, score, compare and report, with no key and no GPU."""
    from toolmark.cli import demo_command

    demo_command.run_demo(out, err, log_dir)


def _masked_command() -> str:
    """Return the command as given, without the values of headers and what may be a key."""
    arguments = []
    hide = False
    for argument in sys.argv[1:]:
        if argument.startswith("--header="):
            argument = "--header=..."
        arguments.append("..." if hide else argument)
        hide = argument == "--header"
    return shlex.join(["toolmark", *secrets.mask_command(arguments)])


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"toolmark {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Measure how well models act: function calls, tool workflows, actions."""


def main() -> None:
    """Run the command line; errors on purpose become one line and an exit code."""
    try:
        with termination_signals.interrupt_on_termination():
            code = app(prog_name="toolmark", standalone_mode=False) or 0
    except CommandLineError as error:
        _exit_with_error(UsageError(describe_command_line_error(error)), exit_codes.USAGE_ERROR)
    except (UsageError, DataError) as error:
        _exit_with_error(error, exit_codes.USAGE_ERROR)
    except ToolmarkError as error:  # an endpoint or a server that something needs
        _exit_with_error(error, exit_codes.NOT_RUN)
    except OSError as error:  # of a file that is named by the command, or lies in a folder of it
        if error.filename is None:
            raise
        path = os.fsdecode(error.filename)
        _exit_with_error(DataError(f"{path}: {error.strerror}"), exit_codes.USAGE_ERROR)
    except ModuleNotFoundError as error:  # of a library that is imported only when it is needed
        step = user_modules.error_install_command(error)
        if not step:
            raise
        _exit_with_error(UsageError(f"{error}; next: {step}"), exit_codes.USAGE_ERROR)
    if code == exit_codes.INTERRUPTED:
        err.print("toolmark: interrupted; what was done is stored", highlight=False)
    sys.exit(code)


def _exit_with_error(error: ToolmarkError, code: int) -> NoReturn:
    consoles.print_error(err, error)
    sys.exit(code)
