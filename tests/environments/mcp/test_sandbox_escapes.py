"""A server that runs what its model says gets at nothing but its workspace, and ends nothing else.

`escapes` holds the attempts. Each is made three times: in the sandbox, where it must be contained;
without one, where those that are harmless must succeed, else they prove nothing; and on a machine
without a sandbox, where nothing may start.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.environments.mcp.escapes import ATTACKS, BEGIN, Attack
from tests.environments.mcp.mcp_episodes import ask, gone, play, site, soon, task

from toolmark.core.errors import SandboxError, ToolEnvironmentError, UsageError
from toolmark.environments.mcp import sandbox
from toolmark.environments.mcp.mcp_environment import McpEnvironment

SHELL = str(Path(__file__).parents[2] / "servers" / "mcp_shell.py")
KEY = "the-answer-is-4711-and-nobody-knows"
NAMES = [attack.name for attack in ATTACKS]
# limits that are passed in a moment, and that the machine does not feel
SMALL = {"processes": 64, "memory_mib": 256, "workspace_mib": 16, "files": 500, "cpu_s": 2}

needs_sandbox = pytest.mark.skipif(
    bool(sandbox.describe_missing()), reason="no bubblewrap here, or the system forbids it"
)


def shell(**more: Any) -> dict[str, Any]:
    return {"shell": {"command": sys.executable, "args": [SHELL], **more}}


@contextmanager
def surroundings(folder: Path) -> Iterator[dict[str, Any]]:
    """Lay out what attacks look for: files, a process, sockets; return their names."""
    with ExitStack() as stack:
        run = folder / "runs" / "a"
        run.mkdir(parents=True)
        (folder / "home").mkdir()
        for path in (run / "tasks.jsonl", folder / "secret", folder / "home" / "notes"):
            path.write_text(KEY)
        process = subprocess.Popen(["sleep", "300"], env={**os.environ, "TOKEN": KEY})
        stack.callback(process.wait)
        stack.callback(process.kill)
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "s"
        abstract = f"toolmark-{os.getpid()}-{folder.name}"
        listening = [socket.create_server(("127.0.0.1", 0))]
        for name in (str(place), f"\0{abstract}"):
            one = socket.socket(socket.AF_UNIX)
            one.bind(name)
            one.listen()
            listening.append(one)
        for one in listening:
            stack.enter_context(one)
        yield {
            "SECRET": str(folder / "secret"), "KEY": KEY, "PID": process.pid, "RUN": str(run),
            "SOCKET": str(place), "ABSTRACT": abstract, "PORT": listening[0].getsockname()[1],
            "HOME": str(folder / "home"), "ENVIRONMENT": sys.prefix,
        }  # fmt: skip


async def made(attack: Attack, folder: Path) -> str:
    """Make an attempt in an episode, beside another one; return what it printed."""
    with surroundings(folder) as names:
        async with (
            asyncio.timeout(60),
            site(shell(), folder) as servers,
            servers.open_environment(task(), {}) as other,
            servers.open_environment(task(), {}) as world,
        ):
            assert isinstance(other, McpEnvironment) and isinstance(world, McpEnvironment)
            (other.workspace / "own").write_text(KEY)
            names |= {"OTHER": str(other.workspace), "HERE": str(world.workspace)}
            front = "".join(f"{name} = {value!r}\n" for name, value in names.items())
            code = f"{BEGIN}{front}{attack.code}\nprint('tried')"
            said = (await ask(world, "shell/run", code=code)).text
            assert sorted(path.name for path in other.workspace.iterdir()) in (
                ["own"], ["left", "own"]
            )  # fmt: skip
            if (other.workspace / "left").exists():
                said += "ESCAPED: left something in another workspace"
            assert (await ask(other, "shell/run", code="print('here')")).text == "here\n"
    return said


@needs_sandbox
@pytest.mark.parametrize("attack", ATTACKS, ids=NAMES)
def test_an_attempt_is_contained(
    attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/nothing")
    said = asyncio.run(made(attack, tmp_path))
    assert "ESCAPED" not in said, said
    assert said.endswith("tried\n"), said


@pytest.mark.parametrize(
    "attack", [a for a in ATTACKS if a.alone], ids=[a.name for a in ATTACKS if a.alone]
)
def test_the_attempt_succeeds_where_the_sandbox_is_off(
    attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = shell(env={"OPENAI_API_KEY": KEY})
    monkeypatch.setitem(globals(), "shell", lambda: entry)  # a key that the user handed to it
    with sandbox.use_setting("off"):
        assert "ESCAPED" in asyncio.run(made(attack, tmp_path))


@pytest.mark.parametrize("attack", ATTACKS, ids=NAMES)
def test_without_a_sandbox_nothing_starts(
    attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "describe_missing", lambda: "no bwrap here; install it")
    with pytest.raises(UsageError, match="install it"):
        asyncio.run(made(attack, tmp_path))


# --- what is used up ----------------------------------------------------------------------

FORKS = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
FILE = "f = open(HERE + '/large', 'wb')\nfor _ in range(10_000): f.write(bytes(2**20)); f.flush()"
FILES = "for n in range(100_000): open(f'{HERE}/{n}', 'w').close()"
HOLES = "for n in range(100): open(f'{HERE}/{n}', 'wb').truncate(2**20)"
MEMORY = "held = []\nwhile True: held.append(b'x' * 2**20)"
THREADS = """
import threading, time
threading.stack_size(2**16)
for _ in range(10_000): threading.Thread(target=time.sleep, args=(60,)).start()
"""
LOOP = "while True: pass"
SHARES = """
import subprocess, sys
for _ in range(4): subprocess.Popen([sys.executable, "-c", "x = b'x' * 2**27; input()"])
import time; time.sleep(60)
"""


async def adjacent(
    code: str, check: Callable[[McpEnvironment], Awaitable[None]], folder: Path
) -> str:
    """Run code in one episode; return why it ended. Another one of the run goes on."""
    async with (
        asyncio.timeout(90),
        site(shell(limits=SMALL), folder) as servers,
        servers.open_environment(task(), {}) as other,
    ):
        assert isinstance(other, McpEnvironment)
        try:
            async with servers.open_environment(task(), {}) as world:
                assert isinstance(world, McpEnvironment)
                code = f"HERE = {str(world.workspace)!r}\n{code}"
                await ask(world, "shell/run", code=code)
                await asyncio.sleep(1)
                await world.final_state()
        except SandboxError as error:
            assert (await ask(other, "shell/run", code="print('here')")).text == "here\n"
            await check(other)
            return str(error)
    return ""


async def _nothing(other: McpEnvironment) -> None:
    await other.final_state()


@needs_sandbox
@pytest.mark.parametrize(
    ("code", "why"),
    [
        (FORKS, "64 processes"),
        (THREADS, "64 processes"),
        (FILE, "16 MiB in its workspace"),
        (HOLES, "16 MiB in its workspace"),
        (FILES, "500 files in its workspace"),
        (SHARES, "256 MiB of memory"),
        (LOOP, "2 s of CPU time"),
    ],
    ids=["forks", "threads", "file", "holes", "files", "memory", "loop"],
)
def test_what_uses_too_much_ends_its_episode_and_nothing_else(
    code: str, why: str, tmp_path: Path
) -> None:
    assert f"it used more than {why}" in asyncio.run(adjacent(code, _nothing, tmp_path))


@needs_sandbox
@pytest.mark.parametrize(
    ("folder", "mib"), [("/dev/shm", sandbox.SHARED_MIB), ("/tmp", sandbox.TMP_MIB)]
)
def test_shared_memory_and_tmp_are_small_and_not_shared(
    folder: str, mib: int, tmp_path: Path
) -> None:
    code = f"""
import os
n = 0
try:
    for part in range(8):
        with open(f"{folder}/fill{{part}}", "wb", buffering=0) as file:
            for _ in range(100): n += file.write(bytes(2**20))
except OSError as error:
    print(error.strerror)
print(n)
"""

    async def scene() -> None:
        async with (
            site(shell(), tmp_path) as servers,
            servers.open_environment(task(), {}) as world,
        ):
            said, number = (await ask(world, "shell/run", code=code)).text.split("\n")[:2]
            assert said == "No space left on device" and int(number) <= mib * 2**20
        assert not Path(folder, "fill0").exists()

    asyncio.run(scene())


@needs_sandbox
def test_memory_that_one_process_takes_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            site(shell(limits=SMALL), tmp_path) as servers,
            servers.open_environment(task(), {}) as one,
        ):
            try:
                assert "MemoryError" in (await ask(one, "shell/run", code=MEMORY)).text
            except SandboxError as error:
                assert "256 MiB of memory" in str(error)

    asyncio.run(scene())


@needs_sandbox
def test_what_runs_in_the_background_ends_with_its_episode(tmp_path: Path) -> None:
    code = f"""
import os, subprocess
words = ["sh", "-c", "trap '' TERM HUP INT; while :; do sleep 0.1; done; : {tmp_path.name}"]
subprocess.Popen(words, start_new_session=True, stdin=-3, stdout=-3, stderr=-3)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp(words[0], words)
    os._exit(0)
print("begun")
"""

    def left() -> list[int]:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if tmp_path.name.encode() in path.read_bytes() and b"trap" in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    async def scene() -> None:
        async with site(shell(), tmp_path) as servers:
            async with servers.open_environment(task(), {}) as world:
                assert (await ask(world, "shell/run", code=code)).text == "begun\n"
                assert await soon(lambda: len(left()) >= 2)
            assert await soon(lambda: all(map(gone, left())))

    asyncio.run(scene())


@needs_sandbox
def test_an_answer_without_end_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            site(shell(), tmp_path) as servers,
            servers.open_environment(task(), {}) as world,
        ):
            said = await ask(world, "shell/run", code="print('x' * 40_000_000)")
            assert said.is_error and "the limit is" in said.text
            assert (await ask(world, "shell/run", code="print('here')")).text == "here\n"

    asyncio.run(scene())


@needs_sandbox
@pytest.mark.parametrize("made_of", ["link", "pipe"])
def test_what_lies_in_a_workspace_leads_the_scorer_nowhere(made_of: str, tmp_path: Path) -> None:
    state = pytest.importorskip("toolmark.suites.m3.local.workspace_state")
    (tmp_path / "secret").write_text(KEY)
    act = {"link": f"os.symlink({str(tmp_path / 'secret')!r}, 'a')", "pipe": "os.mkfifo('a')"}

    async def scene() -> Any:
        read = {"state": lambda _, workspace: state.take_snapshot(workspace)}
        async with (
            site(shell(), tmp_path, **read) as servers,
            servers.open_environment(task(), {}) as world,
        ):
            await ask(world, "shell/run", code=f"import os; {act[made_of]}")
            return await world.final_state()

    found = asyncio.run(asyncio.wait_for(scene(), 60))
    assert KEY not in json.dumps(found)


# --- without root -------------------------------------------------------------------------


@needs_sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="the others ran as an ordinary user already")
def test_an_ordinary_user_is_contained_too(tmp_path: Path) -> None:
    """Root cannot be bound in its number of processes but by groups; others are by the kernel."""
    python = shutil.which("python3", path="/usr/bin")
    setpriv = shutil.which("setpriv")
    assert python and setpriv, "needs /usr/bin/python3 and setpriv (util-linux)"
    program = Path(__file__).with_name("ordinary_user.py")
    source = Path(sandbox.__file__).parents[3]
    path = [source, *(each for each in sys.path if "site-packages" in each)]
    done = subprocess.run(
        [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", python, str(program)],
        env={
            "PATH": sandbox.SANDBOX_PATH,
            "PYTHONPATH": os.pathsep.join(map(str, path)),
            "HOME": "/tmp",
        },
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    reported = json.loads(done.stdout.splitlines()[-1])
    assert reported["forked"] <= 64 and reported["uid"] == 65534
    assert not reported["read"] and not reported["network"]


def test_a_failed_server_says_what_it_was_not_let(tmp_path: Path) -> None:
    if sandbox.describe_missing():
        pytest.skip("no bubblewrap here")
    secret = tmp_path / "secret"
    secret.write_text(KEY)
    script = tmp_path / "server.py"
    script.write_text(f"open({str(secret)!r})")
    entry = {"own": {"command": sys.executable, "args": [str(script)]}}

    async def scene() -> None:
        async with site(entry, tmp_path) as servers, servers.open_environment(task(), {}):
            pass

    with pytest.raises(ToolEnvironmentError) as caught:
        asyncio.run(scene())
    assert f'add to mcpServers.own: "paths": ["{secret}"]' in str(caught.value)


SILENT = """
from mcp.server import MCPServer

app = MCPServer("own")


@app.tool()
def read(path: str) -> str:
    return open(path).read()


app.run()
"""


@needs_sandbox
def test_a_silent_failure_of_a_tool_is_recognised_by_what_it_was_asked(tmp_path: Path) -> None:
    """Such a server tells a model that the tool failed, and nothing more."""
    script, wanted, answers = (
        tmp_path / name for name in ("server.py", "notes.txt", "truths.json")
    )
    script.write_text(SILENT)
    wanted.write_text("x")
    answers.write_text("x")
    entry = {"own": {"command": sys.executable, "args": [str(script)]}}

    def reported(path: Path) -> dict[str, tuple[str, ...]]:
        async def scene(environment: McpEnvironment) -> None:
            assert (await ask(environment, "own/read", path=str(path))).is_error

        with sandbox.hide_paths(answers):
            return play(entry, tmp_path, scene).incident_notes()

    (note,) = reported(wanted)["own"]
    assert f'add to mcpServers.own: "paths": ["{wanted}"] (the model chose this path' in note
    assert reported(answers) == {}
    assert reported(tmp_path / "absent.txt") == {}
