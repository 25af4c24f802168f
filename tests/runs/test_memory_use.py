"""Memory grows with the connections, not with the tasks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import re, sys
from tests.runs import mini
import toolmark as tm
run = tm.run(mini.load(n=100_000), mini.Adder(), log_dir=sys.argv[1])
assert run.summary()["n_run"] == 100_000
# the high-water mark of this program; ru_maxrss would include the parent's at the fork
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""
LIMIT_MB = 300


@pytest.mark.long
def test_a_hundred_thousand_tasks_stay_under_300_mb(tmp_path: Path) -> None:
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    peak_mb = int(done.stdout)
    print(f"\npeak {peak_mb} MB")
    assert peak_mb < LIMIT_MB
