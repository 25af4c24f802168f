"""The command line: thin. Reads words, calls `api`, prints. Exit codes: `codes`."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer
import typer.main

from toolmark.cli import (
    audit_command,
    author_command,
    batches_command,
    check_command,
    consoles,
    exit_codes,
    import_export_commands,
    judge_command,
    logbook_command,
    new_commands,
    perturb_commands,
    plan_command,
    preparation_commands,
    rank_command,
    replay_command,
    review_commands,
    run_command,
    serve_command,
    stored_run_commands,
    tune_command,
)
from toolmark.cli import command_options as options
from toolmark.cli.wrong_command_lines import (
    CommandGroup,
    CommandLineError,
    describe_command_line_error,
)
from toolmark.core import user_modules
from toolmark.core.errors import DataError, ToolmarkError, UsageError
from toolmark.core.version import TOOLMARK_VERSION

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
    + options.ENVIRONMENT_HELP,
)
out = consoles.stdout_console()
err = consoles.stderr_console()


DEFAULT_LOG_DIR = Path("runs")


app.command(
    epilog=f"""Examples:

`toolmark run funcbench -m baseline/planner -T core=10 -T depth=5 -T connected=10`

`toolmark run bfcl -m openai/gpt-5 -T category=live --repeats 3`

`toolmark run bfcl -m openai/gpt-5 -T category=single_turn --vary names,values`

`toolmark run bfcl -m http://localhost:8000/v1#my-model --tool-format prompt --sample 200`

`toolmark run m3-local -m http://localhost:8000/v1#my-model -T instances=1 --seed 7`

`toolmark run mfcl-vision -m http://localhost:8000/v1#my-model -T items=25 --seed 7`

`toolmark run m3 -m openai/gpt-5 -T truths=GT.json -T images=DIR -T servers=mcp.json`

`toolmark run my_suites.py:support -m MODEL --fail-under 85% --junit junit.xml`

`toolmark run my_suites.py:support -m MODEL --cache replies --replay-only --fail-under 85%`

{options.ENVIRONMENT_HELP}
"""
)(run_command.run)
app.command("list", epilog="Examples: `toolmark list`, `toolmark list funcbench`")(
    preparation_commands.list_suites
)
app.command(
    epilog="Examples: `toolmark check rows.jsonl --show 2`, `toolmark check my_suites.py:calendar`"
)(check_command.check)
app.command(
    epilog="Examples: `toolmark doctor -m http://localhost:8000/v1#my-model`, "
    "`toolmark doctor --servers mcp.json`"
)(preparation_commands.doctor)
app.command(
    epilog="Examples: `toolmark make funcbench -T core=10 -T depth=5 -T graphs=20 --seed 7 "
    "-o DIR`, `toolmark make mfcl-vision -T items=25 --seed 7 -o DIR`"
)(preparation_commands.make)
app.command(epilog="Examples: `toolmark fetch bfcl`, `toolmark fetch mcp-servers`")(
    preparation_commands.fetch
)
app.command(
    epilog="Examples: `toolmark score runs/funcbench-baseline-planner-native-1a2b3c4d-1`, "
    "`toolmark score runs/A --fail-under-low 80%`"
)(stored_run_commands.score)
app.command(
    epilog="Examples: `toolmark report runs/A runs/B -o page.html`, "
    "`toolmark report runs/A --junit junit.xml --markdown summary.md`"
)(stored_run_commands.report)
app.command(
    epilog="Examples: `toolmark compare runs/old runs/new`, "
    "`toolmark compare runs/old runs/new --fail-if worse,undecided --margin 5%`"
)(stored_run_commands.compare)
app.command(epilog="Examples: `toolmark rank runs/A runs/B runs/C`, `toolmark rank runs/* --json`")(
    rank_command.rank
)
app.command(
    epilog="Examples: `toolmark plan bfcl -T category=live --expect 0.7 --half-width 0.03`, "
    "`toolmark plan funcbench --seed 7 --pilot RUN --difference 0.05 --correlation 0.4 "
    "-o plan.json`"
)(plan_command.plan)
app.command("logbook", epilog="Examples: `toolmark logbook`, `toolmark logbook DIR --json`")(
    logbook_command.show_logbook
)
app.command(
    epilog="Examples: `toolmark audit PUBLISHED_DIR`, `toolmark audit PUBLISHED_DIR -o page.html "
    "--json > audit.json`"
)(audit_command.audit)
app.command(epilog="Examples: `toolmark batches runs/A`, `toolmark batches runs/A --cancel`")(
    batches_command.batches
)
app.command(epilog="Example: `toolmark show runs/A live_simple_3-2-0`")(stored_run_commands.show)
app.command(
    epilog="Examples: `toolmark review RUN`, `toolmark review --blind RUN_A RUN_B`, "
    "`toolmark review rows.jsonl`, `toolmark review RUN --labels`"
)(review_commands.review)
app.command(epilog="Example: `toolmark calibrate runs/A/pairs.jsonl -o calibration.html`")(
    review_commands.calibrate
)
app.command(epilog="Example: `toolmark judge runs/A -j openai/gpt-5-mini -j URL#B -j URL#C`")(
    judge_command.judge
)
app.command(
    epilog="Example: `toolmark author m3 -m MODEL --judge-model MODEL -T truths=T.json -o DIR`"
)(author_command.author)
app.command(
    epilog="""Examples:

`toolmark tune mfcl-vision -T items=20 --seed 7 -m MODEL -m MODEL -m MODEL -o DIR`

`toolmark tune mfcl-vision -o DIR` goes on with it, after `toolmark review DIR` too

`toolmark tune mfcl-vision --draft PICTURES` begins a set of your pictures

`toolmark tune mfcl-vision -T source=PICTURES -T search=brave -m MODEL -o DIR`
"""
)(tune_command.tune)
app.command(epilog="Example: `toolmark serve funcbench -T core=10 -T depth=5 --seed 7`")(
    serve_command.serve
)


app.command(
    "import",
    epilog="""Examples:

`toolmark import bfcl RESULT_DIR`

`toolmark import m3 RESULTS.json --truths GT.json`

`toolmark import traces spans.jsonl log.jsonl -o rows.jsonl --per-tool 50 --redact-emails`
""",
)(import_export_commands.import_files)
app.command(
    "export",
    epilog="Examples: `toolmark export bfcl RUN -o DIR`, `toolmark export m3 RUN -o FILE.json`, "
    "`toolmark export traces RUN -o spans.jsonl`",
)(import_export_commands.export_files)
app.command(epilog="Example: `toolmark replay runs/A --servers mcp.json`")(replay_command.replay)
app.add_typer(perturb_commands.app, name="perturb")
app.add_typer(new_commands.app, name="new")


@app.command(epilog="Example: `toolmark demo`")
def demo(
    log_dir: options.LogDir = DEFAULT_LOG_DIR,
) -> None:
    """Generate, run, score, compare and report, with no key and no GPU."""
    from toolmark.cli import demo_command

    demo_command.run_demo(out, err, log_dir)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        out.print(f"toolmark {TOOLMARK_VERSION}", highlight=False)
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


@functools.cache  # built once: it takes a tenth of a second, and `main` may be called again
def _build_command() -> Callable[..., int | None]:
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line; errors on purpose become one line and an exit code."""
    from toolmark.runs import termination_signals

    try:
        with termination_signals.interrupt_on_termination():
            code = _build_command()(prog_name="toolmark", standalone_mode=False) or 0
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
