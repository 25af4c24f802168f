"""`toolmark replay`: execute the calls of trajectories again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolmark import plugin
from toolmark.cli import options as o
from toolmark.worlds.mcp import sandbox as boxes


def replay(
    path: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run, or published trajectories as JSON.")
    ],
    servers: Annotated[
        Path | None, o.flag("--servers", metavar="mcp.json", help="Who answers: MCP servers.")
    ] = None,
    cassette: Annotated[
        Path | None, o.flag("--cassette", metavar="FILE", help="What answers: a recording.")
    ] = None,
    images: Annotated[
        Path | None, o.flag("--images", metavar="DIR", help="The pictures of a file's tasks.")
    ] = None,
    ids: o.Ids = None,
    output: Annotated[
        Path | None,
        o.flag(
            "-o",
            "--output",
            help="Default: replay.jsonl in the run, or here; with --ids replay-part.jsonl.",
        ),
    ] = None,
    max_connections: Annotated[
        int, o.flag("--max-connections", help="Trajectories in flight.", min=1)
    ] = 4,
    sandbox: o.SandboxMode = o.Sandbox.required,
    as_json: o.AsJson = False,
) -> None:
    """Execute the calls of trajectories again; say what became of each, and what is different."""
    with boxes.setting(sandbox.value), boxes.hiding(path):
        plugin.attribute("toolmark.cli.m3:replay_")(
            path,
            servers=servers,
            cassette=cassette,
            images=images,
            ids=o.words(ids),
            output=output,
            at_once=max_connections,
            as_json=as_json,
        )
