"""Serving a task to other programs: `toolmark serve`."""

from __future__ import annotations

import signal
import socket
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from toolmark.cli import command_options as options
from toolmark.core.errors import UsageError, suggest_names

if TYPE_CHECKING:
    from toolmark.core.records import Task
    from toolmark.runs.suite import Suite

SERVED_SUITES = ("funcbench",)


def serve(
    suite: Annotated[str, typer.Argument(help="Which suite: funcbench.", metavar="SUITE")],
    parameters: options.Parameters = None,
    seed: options.Seed = None,
    task: Annotated[
        str | None, options.option("--task", metavar="ID", help="Which task. Default: the first.")
    ] = None,
    http: Annotated[
        bool,
        options.option("--http", help="Streamable HTTP on 127.0.0.1 instead of standard input."),
    ] = False,
    port: Annotated[
        int, options.option("--port", help="For --http; 0 takes a free one.", min=0, max=65535)
    ] = 0,
    show: Annotated[
        bool, options.option("--show", help="Print the task's id and question on stderr.")
    ] = False,
) -> None:
    """Offer a task's functions as tools of an MCP server; other tasks over HTTP by ?task=ID."""
    import asyncio

    if suite not in SERVED_SUITES:
        raise UsageError(f"no server for {suite!r}{suggest_names(suite, SERVED_SUITES)}")
    from toolmark.suites.funcbench import workflow_alignment

    workflow_alignment.require_mcp()
    from toolmark.suites.funcbench import mcp_task_server

    loaded = options.load_suite(suite, parameters, seed)
    chosen = _find_task(loaded, task)
    if show:
        _print_task(chosen)
    if not http:
        # a thread that waits for input cannot be stopped otherwise
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        asyncio.run(mcp_task_server.serve_stdio(mcp_task_server.find_among(chosen)))
        return
    http_server = mcp_task_server.make_http_server(mcp_task_server.find_among(chosen, loaded))
    with _open_socket(port) as listener:
        signal.signal(signal.SIGINT, http_server.handle_exit)  # ended so, from the first word on
        sys.stdout.write(
            f"http://127.0.0.1:{listener.getsockname()[1]}{mcp_task_server.HTTP_PATH}\n"
        )
        sys.stdout.flush()
        http_server.run(sockets=[listener])


def _find_task(loaded: Suite, id: str | None) -> Task:
    if id is None:
        return next(iter(loaded))
    for task in loaded:
        if task.id == id:
            return task
    listing = f"toolmark make {loaded.name} -o DIR"
    nearest = suggest_names(id, [task.id for task in loaded], listing=listing)
    raise UsageError(f"no task {id!r}{nearest}")


def _print_task(task: Task) -> None:
    prompt = "\n\n".join(message.text for turn in task.turns for message in turn.messages)
    sys.stderr.write(f"{task.id}, seed {task.seed}\n\n{prompt}\n")
    sys.stderr.flush()


def _open_socket(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port), backlog=1024)
    except OSError as error:
        raise UsageError(f"--port {port}: cannot listen there: {error.strerror}") from None
