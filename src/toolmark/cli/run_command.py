"""`toolmark run`: ask a model the tasks of a suite, score and store them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes, rate_options
from toolmark.core import secrets
from toolmark.core.errors import Rejected, UsageError
from toolmark.models.connection_defaults import (
    DEFAULT_CONNECTIONS,
    DEFAULT_RETRIES,
    TIMEOUT_S,
)
from toolmark.reports.table_format import visible_text

if TYPE_CHECKING:
    from toolmark.runs.run_store import Run
    from toolmark.runs.suite import Suite

out = consoles.stdout_console()
err = consoles.stderr_console()
DEFAULT_LOG_DIR = Path("runs")


def run(
    suite: options.SuiteName,
    model: options.ModelOrAgentsOwn = None,
    user_model: options.UserModelName = None,
    judge_model: options.JudgeModelName = None,
    parameters: options.Parameters = None,
    tool_format: options.ToolFormatName = None,
    agent: options.AgentName = None,
    ask_as: options.AskAs = None,
    limit: options.Limit = None,
    ids: options.Ids = None,
    sample: options.Sample = None,
    tasks: options.TaskFile = None,
    repeats: options.Repeats = 1,
    vary: options.Vary = None,
    plan: options.PlanFile = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    max_tokens: options.MaxTokens = None,
    reasoning_effort: options.Reasoning = None,
    extra_body: options.ExtraBody = None,
    base_url: options.BaseUrl = None,
    header: options.Headers = None,
    seed: options.Seed = None,
    max_connections: options.Connections = DEFAULT_CONNECTIONS,
    requests_per_minute: rate_options.RequestsPerMinute = None,
    tokens_per_minute: rate_options.TokensPerMinute = None,
    max_retries: options.Retries = DEFAULT_RETRIES,
    timeout: options.Timeout = TIMEOUT_S,
    time_limit: options.TimeLimit = None,
    audio_format: options.AudioFormat = options.AudioEncoding.wav,
    wire: options.WireChoice = None,
    stream: options.Stream = False,
    price: options.Prices = None,
    max_cost: options.MaxCost = None,
    prompt_cache: options.PromptCache = None,
    canary: options.Canary = True,
    batch: options.Batch = False,
    log_dir: options.LogDir = DEFAULT_LOG_DIR,
    cache: options.CacheDir = None,
    replay_only: options.ReplayOnly = False,
    fresh: options.Fresh = False,
    continue_: options.Continue = False,
    fail_under: options.FailUnder = None,
    fail_under_low: options.FailUnderLow = None,
    junit: options.JunitFile = None,
    markdown: options.MarkdownFile = None,
    sandbox: options.SandboxMode = options.Sandbox.required,
    floors: options.FloorsChoice = options.Floors.auto,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
) -> None:
    """Run a suite on a model: ask, score, store, and print the result; `report` makes the page."""
    from toolmark.agents import agent_session
    from toolmark.cli import batches_command, ci_output, console_output, dry_run_preview
    from toolmark.core.records import Sampling
    from toolmark.environments.mcp import sandbox as mcp_sandbox
    from toolmark.models import own_prices
    from toolmark.models.wire_names import check_wire_name
    from toolmark.reports import run_series
    from toolmark.reports.gates import check_score_limits, failed_gates_text
    from toolmark.runs import run_request, run_settings
    from toolmark.runs.run_settings import Connection
    from toolmark.suites import suite_registry

    limits = ci_output.parse_score_limits(fail_under, fail_under_low)
    if max_cost == 0:
        raise UsageError(
            "--max-cost 0 lets no request be sent; next: --dry-run asks nothing, and --replay-only "
            "takes replies from a cache"
        )
    model = model or agent_session.name_model_of(agent)
    suite_registry.check_baseline(suite, model)
    loaded = options.load_suite(suite, parameters, seed, tasks, ask_as, with_notes=False)
    # printed when the run begins: a refusal is one line
    notes = options.data_notes(loaded, tasks)
    chosen: dict[str, Any] = {
        "tool_format": tool_format,
        "agent": agent,
        "limit": limit,
        "ids": options.split_list(ids),
        "sample": sample,
        "repeats": repeats,
        "vary": options.split_list(vary),
        "tasks": tasks or "",
        "plan": plan or "",
    }
    if dry_run:
        with consoles.divert_stdout(), mcp_sandbox.use_setting(sandbox.value):
            if loaded.environment.starts_processes:
                mcp_sandbox.require_sandbox()
            asked_by = run_settings.convert_fields(
                Connection,
                base_url=base_url,
                wire=None if wire is None else check_wire_name(wire),
                stream=stream,
                price=own_prices.price_texts(price),
                batch=batch,
            )
            # nothing is asked, so a model that is only named need not exist yet
            if base_url or wire or stream or "://" in model:
                notes = (*notes, *run_request.connection_notes(loaded, model, asked_by))
            preview = dry_run_preview.make_preview(loaded, chosen, model, asked_by)
            planned = Sampling(
                max_tokens=max_tokens, extra=options.parse_extra_body(extra_body) or {}
            )
            models = dry_run_preview.PlannedModels(model, user_model, judge_model)
            preview = dry_run_preview.add_costs(preview, loaded, models, asked_by, planned)
        for note in notes:
            err.print(visible_text(note), markup=False, highlight=False, soft_wrap=True)
        if as_json:
            options.print_json(preview)
        else:
            dry_run_preview.print_preview(out, preview)
        return
    connection = options.connection_settings(
        [model], base_url=base_url, header=header, max_connections=max_connections,
        max_retries=max_retries, timeout=timeout, cache=cache, replay_only=replay_only,
        requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute,
    )  # fmt: skip
    sampling: dict[str, Any] = {
        "temperature": temperature, "top_p": top_p, "max_tokens": max_tokens,
        "reasoning_effort": reasoning_effort.value if reasoning_effort else None,
        "extra_body": options.parse_extra_body(extra_body), "audio_format": audio_format.value,
        "wire": wire, "stream": stream, "canary": canary, "price": price,
        "max_cost": max_cost, "prompt_cache": prompt_cache, "batch": batch,
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
    settings = chosen | connection | sampling | storage
    settings |= {"time_limit_s": time_limit, "user_model": user_model, "judge_model": judge_model}
    settings["floors"] = floors.value
    done, stopped, rejected = _run_with_progress(loaded, model, settings, notes)
    found = done.summary()
    # a run that was stopped says nothing of what it was asked for
    gates = () if stopped else check_score_limits(limits, found["score"])
    series = run_series.find_series(done)
    if as_json:
        more = {} if series is None else {"series": msgspec.to_builtins(series)}
        options.print_json(ci_output.with_gates({**found, **more}, gates))
    else:
        console_output.print_summary(out, found)
        console_output.print_series(out, series)
        console_output.print_failures(out, done, loaded.scorer.presentation.failure_names)
        ci_output.print_passed_gates(out, gates)
        _print_after_run(done, found)
        if floors is not options.Floors.off:
            _print_lacking_floors(done, loaded, found)
    if batch:
        batches_command.print_open_batches(err if as_json else out, done.path)
    if rejected is not None:
        consoles.print_error(err, rejected)
    ci_output.write_ci_files(done, gates, junit=junit, markdown=markdown)
    exit_codes.end_command(
        failed_gate=failed_gates_text(gates),
        not_run=console_output.not_run_reason(found),
        interrupted=stopped,
    )


def _run_with_progress(
    loaded: Suite, model: str, settings: dict[str, Any], notes: Sequence[str]
) -> tuple[Run, bool, Rejected | None]:
    """Run with live progress; Ctrl-C, SIGTERM or SIGHUP ask it to stop, a second one ends it.

    Returns the run, whether it was stopped, and the refusal that ended it.
    """
    import asyncio

    import uvloop

    from toolmark import api
    from toolmark.cli import progress_display
    from toolmark.reports import run_names
    from toolmark.runs import termination_signals

    async def main() -> tuple[Run, bool]:
        stop = asyncio.Event()
        suite = run_names.label_suite(loaded.name, loaded.provenance.data_label)
        player = run_names.player_name(settings["agent"] or "", secrets.mask_model_spec(model))
        title = f"{suite} {player}"
        stop_signals = termination_signals.stop_on_signals(asyncio.get_running_loop(), stop)
        with stop_signals, progress_display.show_progress(err, title, notes) as watch:
            release_signals()
            done = await api.arun(loaded, model, watch=watch, stop=stop, **settings)
        return done, stop.is_set()

    try:
        with consoles.divert_stdout(), termination_signals.delay_signals() as release_signals:
            return *uvloop.run(main()), None
    except Rejected as error:
        if not error.run_dir:
            raise
        return api.open_run(error.run_dir), False, error


def _print_after_run(done: Run, found: dict[str, Any]) -> None:
    from toolmark.cli import console_output
    from toolmark.reports import run_names

    if found["n_not_run"]:
        console_output.print_not_run(out, done)
    # the others were printed when the run began
    console_output.print_part_notes(
        out,
        {
            part: note
            for part, note in done.info.notes.items()
            if part not in ("data", "connection", "variations")
        },
    )
    for line in done.info.notes.get("variations", ()):
        out.print(visible_text(f"  {line}"), style="dim", highlight=False, soft_wrap=True)
    for name, versions in done.info.server_versions.items():
        if len(versions) > 1:
            note = f"  server {name} changed during the run: {'; then '.join(versions)}"
            out.print(visible_text(note), markup=False, highlight=False, soft_wrap=True)
    for line in run_names.left_out_settings(done.info):
        out.print(f"  {line}", highlight=False, soft_wrap=True)
    if done.info.plan.parameters.get("seed", 0) is None and not done.info.plan.tasks:
        out.print(f"  seed {done.info.seed} was drawn; --seed {done.info.seed} repeats these tasks")
    step = f"  next: {consoles.shell_command('report', done.path)}"
    out.print(visible_text(step), markup=False, highlight=False, soft_wrap=True)


def _print_lacking_floors(done: Run, loaded: Suite, found: dict[str, Any]) -> None:
    """Say how a run gets its floors whose episodes were all played, and its floors were not."""
    if "floors" in found or found["n_not_run"] or done.info.plan.model.startswith("control/"):
        return
    if loaded.defaults.floors:
        step = consoles.shell_command("score", done.path, "--floors", "auto")
        line = visible_text(f"  floors were not played; next: {step}")
        out.print(line, markup=False, highlight=False, soft_wrap=True)


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
