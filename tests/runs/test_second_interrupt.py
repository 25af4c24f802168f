"""A second Ctrl-C ends the process, whatever it is stuck in."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

_PROGRAM = """
import asyncio, itertools, re, sys
import uvloop
from toolmark.runs import termination_signals

async def main():
    stop = asyncio.Event()
    with (
        termination_signals.interrupt_on_termination(),
        termination_signals.stop_on_signals(asyncio.get_running_loop(), stop),
    ):
        print("ready", flush=True)
        {stuck}

{run}(main())
"""
_PATTERN = r're.match("(a+)+$", "a" * 60 + "b")'
_STUCK = {
    "in Python": "while True: pass",
    "in a call into C that looks for no signal": "sum(itertools.repeat(0))",
    "in a pattern": _PATTERN,
    "after it was asked to stop": "await stop.wait(); print('asked', flush=True); "
    "sum(itertools.repeat(0))",
}


@pytest.mark.parametrize("run", ["uvloop.run", "asyncio.run"])
@pytest.mark.parametrize("where", _STUCK)
def test_a_second_ctrl_c_ends_a_process_that_is_stuck(where: str, run: str) -> None:
    program = _PROGRAM.format(stuck=_STUCK[where], run=run)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "ready\n"
            child.send_signal(signal.SIGINT)
            if where == "after it was asked to stop":
                assert child.stdout.readline() == "asked\n"
            else:
                with pytest.raises(subprocess.TimeoutExpired):  # two at once would count as one
                    child.wait(0.3)
            child.send_signal(signal.SIGINT)
            assert child.wait(60) == -signal.SIGINT
        finally:
            child.kill()


def test_the_first_ctrl_c_asks_and_the_handlers_are_given_back() -> None:
    stuck = "await stop.wait(); print('asked', flush=True)"
    program = _PROGRAM.format(stuck=stuck, run="uvloop.run")
    after = "import signal\nprint(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)\n"
    with subprocess.Popen(
        [sys.executable, "-c", program + after], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
    assert out == "asked\nTrue\n"
    assert child.returncode == 0
