"""What a server hides from the one who measures it is found: it ends its episode all the same."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.environments.mcp.mcp_episodes import ask, site, task
from tests.environments.mcp.test_sandbox_escapes import FORKS, adjacent, needs_sandbox, shell

from toolmark.core.errors import UsageError
from toolmark.environments.mcp import process_counts, resource_usage, sandbox, sandbox_limits
from toolmark.environments.mcp.mcp_environment import McpEnvironment

UNLINKED = """
import os, time
held = []
for k in range(100):
    held.append(open(HERE + "/a", "wb", buffering=0))
    os.unlink(HERE + "/a")
    for _ in range(4): held[-1].write(bytes(2**20))
time.sleep(60)
"""
MAPPED = """
import mmap, os, time
held = []
for k in range(100):
    with open(HERE + "/a", "w+b") as file:
        file.truncate(4 * 2**20)
        held.append(mmap.mmap(file.fileno(), 0))
    os.unlink(HERE + "/a")
    for at in range(0, 4 * 2**20, 4096): held[-1][at] = 1
    held[-1].flush()
time.sleep(60)
"""
DEEP = """
import os, time
os.chdir(HERE)
for _ in range(30):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
time.sleep(60)
"""
INODES = """
import os, time
for k in range(2_000): os.mknod(f"PLACE/{k}", 0o100600)
time.sleep(60)
"""
SHARED = """
import mmap, time
held = [mmap.mmap(-1, 2**25, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) for _ in range(12)]
for each in held:
    for at in range(0, len(each), 4096): each[at] = 1
time.sleep(60)
"""
FORKED = "import os\n" + SHARED.replace("(12)", "(4)").replace(
    "time.sleep(60)", "[os.fork() or time.sleep(60) for _ in range(4)]"
)
BRIEF = """
import time
for k in range(25):
    with open(f"/tmp/{k}", "wb") as file: file.write(bytes(10 * 2**20))
with open("/dev/shm/a", "wb") as file: file.write(bytes(20 * 2**20))
time.sleep(60)
"""


async def nothing(other: McpEnvironment) -> None:
    await other.final_state()


@pytest.fixture(params=["groups", "no groups"])
def groups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where control groups can be made, and where not."""
    if request.param == "no groups":
        without_groups(monkeypatch)
    return str(request.param)


def without_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_limits, "create_group", lambda limits: None)
    monkeypatch.setattr(sandbox_limits, "process_bound", process_counts.bound_without_groups)


@needs_sandbox
@pytest.mark.parametrize(
    ("code", "why"),
    [
        (UNLINKED, "16 MiB in its workspace"),
        (MAPPED, "16 MiB in its workspace"),
        (DEEP, "500 files in its workspace"),
        (INODES.replace("PLACE", "/tmp"), "500 files in memory"),
        (INODES.replace("PLACE", "/dev/shm"), "500 files in memory"),
        (SHARED, "256 MiB of memory"),
        (BRIEF, "256 MiB of memory"),
    ],
    ids=["unlinked", "mapped", "deep", "tmp", "shm", "shared", "brief"],
)
def test_what_is_hidden_is_measured(groups: str, code: str, why: str, tmp_path: Path) -> None:
    assert f"it used more than {why}" in asyncio.run(adjacent(code, nothing, tmp_path))
    assert not list(tmp_path.glob("toolmark-*"))


@needs_sandbox
def test_pages_that_processes_share_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_groups(monkeypatch)
    code = FORKED.replace("time.sleep(60)", "time.sleep(1)")
    assert asyncio.run(adjacent(code, nothing, tmp_path)) == ""


@needs_sandbox
def test_the_kernel_bounds_processes_where_there_are_no_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch looks too late here."""
    without_groups(monkeypatch)
    monkeypatch.setattr(sandbox_limits, "TICK_S", 1000.0)
    code = FORKS.replace("while True:", "for _ in range(2_000):").replace(
        "os.fork()", "if os.fork() == 0: import time; time.sleep(60)"
    )
    most = sandbox_limits.ServerLimits().processes + 300

    async def scene() -> None:
        async with (
            site(shell(), tmp_path) as servers,
            servers.open_environment(task(), {}) as world,
        ):
            assert isinstance(world, McpEnvironment)
            await ask(world, "shell/run", code=code)
            watched = world.supervisors["shell"].watched_sandbox
            assert watched is not None
            assert 400 < resource_usage.measure_processes(watched.pid, 5_000).processes <= most

    asyncio.run(scene())


@pytest.mark.parametrize(("release", "why"), [("5.10.0-9", "before 6.14"), ("6.13.1", "6.14")])
def test_root_is_refused_where_nothing_bounds_its_processes(
    release: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sandbox.describe_missing():
        pytest.skip("no bubblewrap here")
    known = process_counts.is_kernel_since
    monkeypatch.setattr(
        process_counts, "is_kernel_since", lambda first, text="": known(first, release)
    )
    monkeypatch.setattr(process_counts, "is_root", lambda: True)
    without_groups(monkeypatch)
    sandbox._try_bubblewrap.cache_clear()
    try:
        with pytest.raises(UsageError, match=why) as refused:
            sandbox.require_sandbox()
        assert "run as an ordinary user" in str(refused.value)
        monkeypatch.setattr(process_counts, "is_root", lambda: False)
        assert process_counts.bound_without_groups() == ("user" if release < "5.14" else "sandbox")
    finally:
        sandbox._try_bubblewrap.cache_clear()


def test_root_of_a_user_namespace_may_be_another_user() -> None:
    me = os.geteuid()
    assert process_counts.is_root(f"{me} 0 1\n")
    assert not process_counts.is_root(f"{me} 100000 65536\n")
    assert process_counts.is_root("") == process_counts.is_root()
    assert process_counts.is_kernel_since(
        (6, 14), "6.14.2-x"
    ) and not process_counts.is_kernel_since((6, 14), "6.9")
    assert not process_counts.is_kernel_since((6, 14), "odd")
    assert process_counts.count_user_processes() >= 1


@pytest.mark.parametrize("how", ["plain", "deep", "closed", "linked", "taken"])
def test_a_folder_is_removed_whatever_is_in_it(how: str, tmp_path: Path) -> None:
    folder, adjacent = tmp_path / "w", tmp_path / "kept"
    adjacent.mkdir()
    (adjacent / "a").touch()
    (folder / "x" / "y").mkdir(parents=True)
    (folder / "x" / "y" / "a").write_text("a")
    if how == "deep":
        here = os.open(folder, os.O_RDONLY)
        for _ in range(3_000):
            os.mkdir("d" * 20, dir_fd=here)
            inner = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        os.close(here)
    elif how == "closed":
        (folder / "x" / "y").chmod(0)
        (folder / "x").chmod(0o500)
        folder.chmod(0)
    elif how == "linked":
        (folder / "x" / "link").symlink_to(adjacent)
        (folder / "out").symlink_to("../kept")
        os.mkfifo(folder / "pipe")
    elif how == "taken":
        for n in range(50):
            (folder / f"{n}" / f"{n + 1}" / "0").mkdir(parents=True)
    resource_usage.remove_folder(folder)
    assert not folder.exists()
    assert (adjacent / "a").exists()


def test_a_folder_that_cannot_be_looked_into_is_one_file_too_many(tmp_path: Path) -> None:
    assert resource_usage.folder_size(tmp_path, most_bytes=10, most_files=5) == (0, 0)
    (tmp_path / "a").write_text("123")
    assert resource_usage.folder_size(tmp_path, most_bytes=10**6, most_files=5)[1] == 1
    assert resource_usage.folder_size(tmp_path / "absent", most_bytes=10, most_files=5) == (0, 0)
    assert resource_usage.folder_size(Path("/" + "d" * 300), most_bytes=10, most_files=5) == (0, 6)
