"""However the program is asked to end, the servers that it started and its folders go with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.environments.mcp.mcp_episodes import fault, gone
from tests.servers.planning_endpoint import Mind

from toolmark.core.files import cache_folder
from toolmark.official_bfcl import official_data
from toolmark.runs.run_store import Run

pytestmark = pytest.mark.servers


def until(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not found() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert found()


def files(folder: Path, pids: Path, *flags: str) -> list[str]:
    """Write a task and its server; return the words that name them."""
    call = {"name": "slow/echo", "arguments": {}}
    task = {"id": "00010000", "question": "Where?", "steps": [{"step": 1, "calls": [call]}]}
    (folder / "truths.json").write_text(json.dumps([task]))
    server = fault("--child", str(pids), *flags)
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"slow": server}}))
    # off: in a sandbox the kernel ends them, and their numbers are not those of this machine
    words = ["-T", "truths=truths.json", "-T", "servers=mcp.json", "-T", "similarity=exact"]
    return [*words, "--sandbox", "off"]


@pytest.mark.parametrize(
    "signals",
    [
        (signal.SIGTERM,),
        *(
            pytest.param(signals, marks=pytest.mark.long)
            for signals in (
                (signal.SIGHUP,),
                (signal.SIGTERM, signal.SIGTERM),
                (signal.SIGINT,),
            )
        ),
    ],
)
def test_servers_and_folders_do_not_outlive_the_program(
    mind: Mind, tmp_path: Path, signals: tuple[signal.Signals, ...]
) -> None:
    mind.body = {"choices": [{"message": {"role": "assistant", "content": "hm"}}]}
    mind.wait_s = 100
    pids, brief = tmp_path / "pids", tmp_path / "brief"
    brief.mkdir()
    flags = ["--stubborn"] if len(signals) > 1 else []  # it takes its time to end
    given = files(tmp_path, pids, *flags)
    words = ["run", "m3", "-m", mind.model, *given, "-T", "agent=loop"]
    environment = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    with subprocess.Popen(
        [sys.executable, "-m", "toolmark", *words], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env={**environment, "TMPDIR": str(brief)},
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # whoever runs the tests
    ) as child:  # fmt: skip
        try:
            until(lambda: bool(mind.asked) or child.poll() is not None)
            assert list(brief.iterdir())
            for each in signals:
                child.send_signal(each)
                time.sleep(0.5)  # the first has to be heeded before the next can hurry it
            out, _ = child.communicate(timeout=100)
        finally:
            child.kill()
    assert child.returncode == 130, out
    for pid in map(int, pids.read_text().split()):
        until(lambda pid=pid: gone(pid))  # type: ignore[misc]
    assert not list(brief.iterdir())
    (run,) = (tmp_path / "runs").glob("*/")
    assert not list(Run(run).trajectories())


@pytest.mark.speech
@pytest.mark.skipif(not shutil.which("flite"), reason="speech needs flite")
def test_ctrl_c_while_speech_is_made_ends_it_without_a_run(tmp_path: Path) -> None:
    official_data.fetch_wheel()
    home = tmp_path / "cache"
    home.mkdir()
    for name in ("archives", "packages"):
        (home / name).symlink_to(cache_folder() / name)
    words = ["run", "mfcl-transcripts", "-m", "control/oracle", "-T", "items=20", "-T",
             "category=simple_python", "-T", "conditions=clean,loss", "-T",
             "engines=flite"]  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-m", "toolmark", *words], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env={**os.environ, "TOOLMARK_HOME": str(home)},
        start_new_session=True,
    ) as child:  # fmt: skip
        try:
            until(lambda: any(home.glob("speech/media/*/*")) or child.poll() is not None)
            os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all in the foreground
            out, _ = child.communicate(timeout=100)
        finally:
            child.kill()
    assert child.returncode == 130, out
    assert "Traceback" not in out and "KeyboardInterrupt" not in out
    assert "120 tasks to make: 40 clips" in out and "what was done is stored" in out
    assert not list((tmp_path / "runs").glob("*"))


def test_a_hangup_that_was_ignored_stays_ignored(mind: Mind, tmp_path: Path) -> None:
    mind.body = {"choices": [{"message": {"role": "assistant", "content": "hm"}}]}
    mind.wait_s = 1
    words = ["run", "m3", "-m", mind.model, *files(tmp_path, tmp_path / "pids"), "-T", "agent=loop"]
    environment = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
    with subprocess.Popen(
        ["nohup", sys.executable, "-m", "toolmark", *words], cwd=tmp_path, env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as child:  # fmt: skip
        try:
            until(lambda: bool(mind.asked) or child.poll() is not None)
            child.send_signal(signal.SIGHUP)
            out, _ = child.communicate(timeout=100)
        finally:
            child.kill()
    assert child.returncode == 0, out
