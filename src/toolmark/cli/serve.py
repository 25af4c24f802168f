"""Serving a task to other programs: `toolmark serve`."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from typing import Annotated

import typer

from toolmark.cli import options as o
from toolmark.errors import UsageError, near
from toolmark.runs.suite import Suite
from toolmark.types import Task

SERVED = ("funcbench",)


def serve(
    suite: Annotated[str, typer.Argument(help="Which suite: funcbench.", metavar="SUITE")],
    knob: o.Knobs = None,
    seed: o.Seed = None,
    task: Annotated[
        str | None, o.flag("--task", metavar="ID", help="Which task. Default: the first.")
    ] = None,
    http: Annotated[
        bool, o.flag("--http", help="Streamable HTTP on 127.0.0.1 instead of standard input.")
    ] = False,
    port: Annotated[
        int, o.flag("--port", help="For --http; 0 takes a free one.", min=0, max=65535)
    ] = 0,
    show: Annotated[
        bool, o.flag("--show", help="Print the task's id and question on stderr.")
    ] = False,
) -> None:
    """Offer a task's functions as tools of an MCP server; other tasks over HTTP by ?task=ID."""
    if suite not in SERVED:
        raise UsageError(f"no server for {suite!r}{near(suite, SERVED)}")
    from toolmark.suites.funcbench import mcp

    mcp.require()
    from toolmark.suites.funcbench import server

    loaded = o.load(suite, knob, seed)
    chosen = _chosen(loaded, task)
    if show:
        _show(chosen)
    if not http:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that waits for input cannot be told
        asyncio.run(server.stdio(server.only(chosen)))
        return
    running = server.http(server.only(chosen, loaded))
    with _listening(port) as listener:
        signal.signal(signal.SIGINT, running.handle_exit)  # ended so, from the first word on
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}{server.PATH}\n")
        sys.stdout.flush()
        running.run(sockets=[listener])


def _chosen(loaded: Suite, id: str | None) -> Task:
    if id is None:
        return next(iter(loaded))
    for task in loaded:
        if task.id == id:
            return task
    close = near(id, [task.id for task in loaded]).partition("; known")[0]  # they may be many
    raise UsageError(f"no task {id!r}{close}; `toolmark make` lists them")


def _show(task: Task) -> None:
    said = "\n\n".join(message.text for turn in task.turns for message in turn.messages)
    sys.stderr.write(f"{task.id}, seed {task.seed}\n\n{said}\n")
    sys.stderr.flush()


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port), backlog=1024)
    except OSError as error:
        raise UsageError(f"--port {port}: cannot listen there: {error.strerror}") from None
