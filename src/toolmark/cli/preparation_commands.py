"""Commands that come before a run: list, doctor, make, fetch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes
from toolmark.core import json_codec, user_modules
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.number_format import format_count, pluralize
from toolmark.reports.table_format import visible_text
from toolmark.suites.suite_names import SUITES

if TYPE_CHECKING:
    from toolmark.core.records import Check
    from toolmark.runs import dataset_folder

out = consoles.stdout_console()
err = consoles.stderr_console()
FETCHERS = {
    "mcp-servers": "toolmark.suites.m3.local.server_configuration:install_servers",
    **{name: entry.fetch for name, entry in SUITES.items() if entry.fetch},
}


def list_suites(
    suite: Annotated[str | None, typer.Argument(help="Show this suite's parameters.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the suites and what other packages add, or the parameters of one suite."""
    from toolmark.cli import console_output, installed_additions
    from toolmark.suites import suite_registry

    if as_json:
        options.print_json(
            _suite_details(suite)
            if suite
            else {
                "suites": [_suite_summary(name) for name in suite_registry.SUITES],
                "installed": installed_additions.list_additions(),
            }
        )
        return
    if suite is None:
        console_output.print_suites(
            out,
            {
                name: (suite_registry.suite_summary(name), suite_registry.missing_requirement(name))
                for name in suite_registry.SUITES
            },
        )
        installed_additions.print_additions(out)
        out.print("next: toolmark list SUITE shows its parameters", highlight=False)
        return
    console_output.print_parameters(
        out, suite_registry.suite_summary(suite), suite_registry.list_parameters(suite)
    )
    if suite in suite_registry.SUITES and (step := suite_registry.missing_requirement(suite)):
        out.print(f"needs: {step}", markup=False, highlight=False, soft_wrap=True)
    console_output.print_tool_formats(out, suite)
    console_output.print_baselines(out, suite)


def _suite_summary(suite: str) -> dict[str, Any]:
    """Return what is said of a suite in the list of all: `needs` is what to install first."""
    from toolmark.suites import suite_registry

    needs = suite_registry.missing_requirement(suite) if suite in suite_registry.SUITES else ""
    return {"name": suite, "about": suite_registry.suite_summary(suite), "needs": needs}


def _suite_details(suite: str) -> dict[str, Any]:
    """Return what is known of one suite; a default that is known only after loading is null."""
    from toolmark.suites import suite_registry

    parameters = [
        {
            "name": parameter.name,
            "kind": parameter.kind,
            "default": json_codec.to_plain_json(parameter.default),
            "help": parameter.description,
        }
        for parameter in suite_registry.list_parameters(suite)
    ]
    about = {
        "tool_formats": suite_registry.tool_format_note(suite),
        "baselines": list(suite_registry.baseline_names(suite)),
    }
    return _suite_summary(suite) | {"parameters": parameters} | about


def doctor(
    model: Annotated[
        str | None, options.option("-m", "--model", metavar="MODEL", help=options.MODEL_HELP)
    ] = None,
    servers: Annotated[
        Path | None,
        options.option("--servers", metavar="mcp.json", help="Start these MCP servers."),
    ] = None,
    base_url: options.BaseUrl = None,
    header: options.Headers = None,
    timeout: options.Timeout = 60.0,
    wire: options.WireChoice = None,
    stream: options.Stream = False,
    sandbox: options.SandboxMode = options.Sandbox.required,
    as_json: options.AsJson = False,
) -> None:
    """Probe an endpoint, or MCP servers, before money is spent."""
    import uvloop

    from toolmark.cli import console_output
    from toolmark.environments.mcp import sandbox as mcp_sandbox
    from toolmark.formats.missing_parser import explain_text_call
    from toolmark.models import endpoint_probes, wire_names

    if model is None and servers is None:
        raise UsageError("say what to examine: -m MODEL, --servers mcp.json, or both")
    checks: list[Check] = []
    if servers is not None:
        configured = user_modules.import_attribute(
            "toolmark.environments.mcp.server_config:read_config"
        )(servers)
        with mcp_sandbox.use_setting(sandbox.value):
            checks += uvloop.run(
                user_modules.import_attribute(
                    "toolmark.environments.mcp.server_check:check_servers"
                )(configured)
            )
    if model is not None:
        probes = endpoint_probes.probe_endpoint(
            model,
            base_url=base_url,
            headers=options.parse_headers(header),
            timeout_s=timeout,
            explain_text=explain_text_call,
            wire=None if wire is None else wire_names.check_wire_name(wire),
            stream=stream,
        )
        checks += uvloop.run(probes)
    if as_json:
        options.print_json(checks)
    else:
        console_output.print_checks(out, checks)
    failed = [check.name for check in checks if check.status == "fail"]
    exit_codes.end_command(failed_gate=f"failed: {', '.join(failed)}" if failed else "")


def make(
    suite: Annotated[str, typer.Argument(help="A suite that makes its tasks.")],
    output: options.TaskFolder,
    parameters: options.Parameters = None,
    seed: options.Seed = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a suite's tasks, all they need and a data card to a folder; `run --tasks` asks them.

    Exit code 3 if some could not be made; where none could, nothing is written.
    """
    from toolmark.cli import progress_display
    from toolmark.runs import dataset_folder, run_preparation
    from toolmark.runs.run_plan import Plan
    from toolmark.suites import suite_registry

    loaded = options.load_suite(suite, parameters, seed)
    plan = Plan(suite=loaded.name, model="", tool_format="")
    with progress_display.show_progress(err, loaded.name) as watch:
        tasks = run_preparation.finish_tasks(loaded, plan, watch)
        manifest = dataset_folder.write_dataset(
            output, loaded, tasks, description=suite_registry.suite_summary(suite)
        )
    n_failed = sum(manifest.n_failed_by_reason.values())
    if as_json:
        options.print_json(
            {
                "tasks": str(output / "tasks.jsonl"),
                "suite": loaded.name,
                "seed": loaded.provenance.seed,
                "sha256": manifest.files["tasks.jsonl"].sha256,
                "n_tasks": manifest.n_tasks,
                "n_failed": n_failed,
                "n_failed_by_reason": manifest.n_failed_by_reason,
            }
        )
    else:
        _print_made_set(output, manifest, suite, loaded.provenance.seed)
    not_made = f"{format_count(n_failed)} of {pluralize(manifest.n_tasks, 'task')} not made"
    exit_codes.end_command(not_run=not_made if n_failed else "")


def _print_made_set(output: Path, manifest: dataset_folder.Manifest, suite: str, seed: int) -> None:
    from toolmark.cli import console_output
    from toolmark.runs import dataset_folder

    lines = [
        f"{output / 'tasks.jsonl'}  {pluralize(manifest.n_tasks, 'task')}, seed {seed}, "
        f"sha256 {manifest.files['tasks.jsonl'].sha256}",
        f"  {output / dataset_folder.CARD_NAME} describes the set",
    ]
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    console_output.print_reasons(
        out, "not made", "task", Counter(manifest.n_failed_by_reason).most_common()
    )
    if n_failed := sum(manifest.n_failed_by_reason.values()):
        note = (
            f"  {format_count(n_failed)} of {pluralize(manifest.n_tasks, 'task')} could not be "
            "made and will not be run; next: correct that and give the same command again"
        )
        out.print(note, highlight=False, soft_wrap=True)
    step = consoles.shell_command("run", suite, "--tasks", output, "-m", "MODEL")
    out.print(f"  next: {step}", markup=False, highlight=False, soft_wrap=True)


def fetch(
    data: Annotated[str, typer.Argument(help=f"Which data: {', '.join(FETCHERS)}.")],
) -> None:
    """Fetch published data or servers into the cache, and say where they are.

    A package is checked by its pinned sha256; what a hub gives, which is not pinned, by its form.
    """
    if data not in FETCHERS:
        nearest = suggest_names(data, FETCHERS, listing="toolmark fetch --help")
        raise UsageError(f"no data {data!r}{nearest}")
    get = user_modules.import_attribute(FETCHERS[data])
    # servers take minutes, and report their progress
    location = get(_print_remark) if data == "mcp-servers" else get()
    out.print(str(location), markup=False, highlight=False, soft_wrap=True)


def _print_remark(line: str) -> None:
    err.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)
