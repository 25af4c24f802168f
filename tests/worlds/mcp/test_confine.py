"""A confined process writes to its workspace and nowhere else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from toolmark.worlds.mcp import config, confine

needs_bwrap = pytest.mark.skipif(
    not confine.command(), reason="bubblewrap is not installed, or the system forbids it"
)
TRY = """
import os, pathlib, socket, sys, tempfile
inside, outside, sibling = map(pathlib.Path, sys.argv[1:])
(inside / "mine").write_text("x")
tempfile.NamedTemporaryFile().write(b"x")
for path in (outside / "stray", pathlib.Path("/etc/stray"), pathlib.Path.home() / "stray"):
    try:
        path.write_text("x")
        print("wrote", path)
    except OSError:
        pass
print("sees", sibling.exists(), "runs in", os.getcwd(), "reads", bool(os.listdir("/usr")))
print("processes", sum(name.isdecimal() for name in os.listdir("/proc")) < 8)
try:
    socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), timeout=2)
    print("connects")
except OSError:
    print("connects not")
"""


def said(workspace: Path, outside: Path, sibling: Path, port: int, *, network: bool) -> list[str]:
    argv = [sys.executable, "-c", TRY, str(workspace), str(outside), str(sibling)]
    done = subprocess.run(
        confine.wrapped(argv, workspace, network=network),
        capture_output=True, text=True, timeout=60, check=True, cwd=workspace,
        env={"PORT": str(port), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
    )  # fmt: skip
    return done.stdout.splitlines()


@needs_bwrap
@pytest.mark.parametrize("network", [False, True])
def test_it_writes_in_its_workspace_alone_and_sees_no_other(tmp_path: Path, network: bool) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    workspace, sibling = home / "one", home / "two"
    for folder in (outside, workspace, sibling):
        folder.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        lines = said(workspace, outside, sibling, server.getsockname()[1], network=network)
    assert lines == [
        f"sees False runs in {workspace} reads True",
        "processes True",
        "connects" if network else "connects not",
    ]
    assert [path.name for path in workspace.iterdir()] == ["mine"]
    assert not list(outside.iterdir())


def confined(code: str, *args: str, workspace: Path) -> str:
    argv = confine.wrapped([sys.executable, "-c", code, *args], workspace, network=True)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


@needs_bwrap
@pytest.mark.parametrize("above", ["/dev/shm", "/run"])
def test_a_workspace_may_lie_where_something_else_is_hidden(above: str) -> None:
    if not os.access(above, os.W_OK):
        pytest.skip(f"{above} cannot be written here")
    code = "import pathlib, sys; pathlib.Path(sys.argv[1], 'mine').write_text('x'); print('wrote')"
    with tempfile.TemporaryDirectory(dir=above) as home:
        for workspace in (Path(home, "episode"), Path(home)):
            workspace.mkdir(exist_ok=True)
            assert confined(code, str(workspace), workspace=workspace) == "wrote\n"
            assert (workspace / "mine").exists()


@needs_bwrap
@pytest.mark.parametrize("form", ["{}", "unix://{}", "unix:path={},guid=0"])
def test_sockets_of_the_system_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    code = """
import socket, sys
for path in sys.argv[1:]:
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(path)
            print("connects to", path)
        except OSError:
            pass
"""
    with ExitStack() as stack:
        held = [stack.enter_context(tempfile.TemporaryDirectory())]
        if os.access("/run", os.W_OK):
            held.append(stack.enter_context(tempfile.TemporaryDirectory(dir="/run")))
        paths = [f"{folder}/s" for folder in held]
        for path in paths:
            listening = stack.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(path)
            listening.listen()
        monkeypatch.setenv("DOCKER_HOST", form.format(paths[0]))
        workspace = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "home" / "one"
        workspace.mkdir(parents=True)
        assert confined(code, *paths, workspace=workspace) == ""
        monkeypatch.delenv("DOCKER_HOST")  # and so it is a socket that could be reached
        assert paths[0] in confined(code, *paths, workspace=workspace)


def test_the_names_of_the_network_stay_where_they_lie_among_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, names = tmp_path / "run", tmp_path / "resolv.conf"
    hidden.mkdir()
    (hidden / "stub").write_text("nameserver 127.0.0.53")
    names.symlink_to(hidden / "stub")
    monkeypatch.setattr(confine, "command", lambda: "bwrap")
    monkeypatch.setattr(confine, "_SOCKETS", (str(hidden),))
    monkeypatch.setattr(confine, "_SPARED", (str(names),))
    words = " ".join(confine.wrapped(["a"], tmp_path / "home" / "one", network=True))
    assert f"--tmpfs {hidden} --ro-bind-try {hidden}/stub {hidden}/stub" in words


@needs_bwrap
def test_only_a_server_that_asks_for_it_is_confined(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-V"]}
    plain, shut = config.parse({"mcpServers": {"a": entry, "b": {**entry, "confined": True}}}, "t")
    assert config.launch(plain, tmp_path).argv == (sys.executable, "-V")
    argv = config.launch(shut, tmp_path).argv
    assert argv[0] == confine.command() and argv[-3:] == ("--", sys.executable, "-V")


def test_without_bubblewrap_the_command_is_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confine, "command", lambda: "")
    assert confine.wrapped(["a", "b"], tmp_path, network=False) == ("a", "b")
