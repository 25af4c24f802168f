"""The first process of a sandbox is read from a pipe without blocking the loop, and not lost."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import pytest

from toolmark.environments.mcp import sandbox
from toolmark.environments.mcp.pid_report import PidReport

REPORT = b'{\n    "child-pid": 4711,\n    "cgroup-namespace": 1\n}\n'


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reads, writes = os.pipe()
    yield reads, writes
    for fd in (reads, writes):
        with suppress(OSError):
            os.close(fd)


def test_a_report_that_comes_in_pieces_is_read_whole(pipe: tuple[int, int]) -> None:
    async def scene() -> int:
        report = PidReport(pipe[0])
        reading = asyncio.create_task(report.read())
        for byte in REPORT:
            os.write(pipe[1], bytes([byte]))
            await asyncio.sleep(0)
        return await reading

    assert asyncio.run(scene()) == 4711


def test_what_came_before_a_cancelled_read_is_not_lost(pipe: tuple[int, int]) -> None:
    async def scene() -> int:
        report = PidReport(pipe[0])
        os.write(pipe[1], REPORT[:12])
        reading = asyncio.create_task(report.read())
        while not report._received:
            await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert report.read_now() == 0  # does not wait
        os.write(pipe[1], REPORT[12:])
        return report.read_now()

    assert asyncio.run(scene()) == 4711


def test_a_pipe_that_ends_without_a_report_is_no_process(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"bwrap: cannot")
    os.close(pipe[1])
    assert asyncio.run(PidReport(pipe[0]).read()) == 0
    assert PidReport(pipe[0]).read_now() == 0


class SlowReport(PidReport):
    """A report that does not come until somebody asks what is there now."""

    events: list[str] = []

    async def read(self) -> int:
        self.events.append("read")
        await asyncio.Event().wait()
        raise AssertionError

    def read_now(self) -> int:
        self.events.append("read now")
        return super().read_now()


@asynccontextmanager
async def started(ticks: list[int]) -> AsyncIterator[asyncio.Task[None]]:
    """Start a sandbox whose first process is not known yet; count what else the loop does."""

    async def box() -> None:
        spec = sandbox.SandboxSpec(mounts=sandbox.system_mounts(), cwd="/")
        async with sandbox.open_sandboxed(["sleep", "600"], {}, spec):
            raise AssertionError

    async def tick() -> None:
        while True:
            await asyncio.sleep(0)
            ticks.append(1)

    ticking = asyncio.create_task(tick())
    running = asyncio.create_task(box())
    try:
        yield running
    finally:
        ticking.cancel()
        await asyncio.gather(ticking, running, return_exceptions=True)


@pytest.mark.parametrize("n_cancels", [1, 2])
def test_a_cancelled_start_leaves_the_loop_free(
    monkeypatch: pytest.MonkeyPatch, n_cancels: int
) -> None:
    if sandbox.describe_missing():
        pytest.skip("no bubblewrap here")
    events: list[str] = []
    monkeypatch.setattr(SlowReport, "events", events)
    monkeypatch.setattr(sandbox, "PidReport", SlowReport)
    monkeypatch.setattr(sandbox, "_PID_TIMEOUT_S", 0.05 if n_cancels == 1 else 600.0)
    ticks: list[int] = []

    async def until(n_reads: int) -> None:
        while events.count("read") < n_reads:
            await asyncio.sleep(0)

    async def scene() -> None:
        async with started(ticks) as running:
            await until(1)
            running.cancel()
            await until(2)  # the end waits for the report
            before = len(ticks)
            if n_cancels == 2:
                running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert n_cancels == 2 or len(ticks) > before

    asyncio.run(scene())
    assert events == ["read", "read", "read now"]
