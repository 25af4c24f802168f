"""`toolmark replay`: execute the calls of trajectories again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolmark.cli import command_options as options
from toolmark.core import user_modules


def replay(
    path: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run, or published trajectories as JSON.")
    ],
    servers: Annotated[
        Path | None,
        options.option("--servers", metavar="mcp.json", help="Who answers: MCP servers."),
    ] = None,
    cassette: Annotated[
        Path | None, options.option("--cassette", metavar="FILE", help="What answers: a recording.")
    ] = None,
    images: Annotated[
        Path | None,
        options.option("--images", metavar="DIR", help="The pictures of a file's tasks."),
    ] = None,
    ids: options.Ids = None,
    output: Annotated[
        Path | None,
        options.option(
            "-o",
            "--output",
            help="Default: replay.jsonl in the run, or here; with --ids replay-part.jsonl.",
        ),
    ] = None,
    max_connections: Annotated[
        int, options.option("--max-connections", help="Trajectories in flight.", min=1)
    ] = 4,
    sandbox: options.SandboxMode = options.Sandbox.required,
    as_json: options.AsJson = False,
) -> None:
    """Execute the calls of trajectories again; say what became of each, and what is different."""
    from toolmark.environments.mcp import sandbox as mcp_sandbox

    with mcp_sandbox.use_setting(sandbox.value), mcp_sandbox.hide_paths(path):
        user_modules.import_attribute("toolmark.cli.m3_commands:replay_trajectories")(
            path,
            servers=servers,
            cassette=cassette,
            images=images,
            ids=options.split_list(ids),
            output=output,
            n_concurrent=max_connections,
            as_json=as_json,
        )
