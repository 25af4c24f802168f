"""A file of a million rows is read one row at a time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

N = 1_000_000
LIMIT_MB = 300
# the high-water mark of the program; ru_maxrss would include the parent's at the fork
PEAK = (
    "import atexit, re\n"
    "atexit.register(lambda: print('peak', int(re.search(r'VmHWM:\\s+(\\d+)', "
    "open('/proc/self/status').read())[1]) // 1024))\n"
)
ITERATE = "import toolmark as tm\ntasks = tm.read_jsonl('rows.jsonl')\n"
ITERATE += f"assert sum(1 for _ in tasks) == len(tasks) == {N}\n"
COMMAND = "import sys\nfrom toolmark.cli import app\nsys.argv = {words!r}\napp.main()\n"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of a million small rows."""
    found = tmp_path_factory.mktemp("large")
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    }
    tools = [{"name": "weather", "description": "Weather", "parameters": schema}]
    with (found / "rows.jsonl").open("w") as file:
        for number in range(N):
            call = {"name": "weather", "arguments": {"city": f"City {number}", "days": number % 7}}
            question = f"How is the weather in city {number}?"
            file.write(json.dumps({"question": question, "tools": tools, "expected": [call]}))
            file.write("\n")
    return found


def peak_mb(code: str, folder: Path) -> tuple[int, float]:
    """Return the most memory that a program had, in MB, and its seconds."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PEAK + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"^peak (\d+)$", done.stdout, re.MULTILINE)
    assert found is not None
    return int(found[1]), time.monotonic() - began


@pytest.mark.long
@pytest.mark.timeout(3600)  # the processor may be shared
@pytest.mark.parametrize(
    "code",
    [
        ITERATE,
        *(
            COMMAND.format(words=["toolmark", "run", "rows.jsonl", "-m", "control/null", *words])
            for words in (("--limit", "100"), ("--ids", f"row-{N}"), ("--sample", "100"))
        ),
        COMMAND.format(words=["toolmark", "check", "rows.jsonl"]),
    ],
    ids=["iterate", "limit", "ids", "sample", "check"],
)
def test_a_million_rows_stay_under_300_mb(code: str, folder: Path) -> None:
    megabytes, seconds = peak_mb(code, folder)
    print(f"\npeak {megabytes} MB, {seconds:.0f} s")
    assert megabytes < LIMIT_MB
