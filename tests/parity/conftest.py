"""The official code as a fixture, in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from toolmark.suites.bfcl import data

Ask = Callable[[Sequence[Sequence[Any]]], list[Any]]


@pytest.fixture(scope="session")
def official(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    script = Path(__file__).with_name("official.py")
    command = [sys.executable, str(script), str(data.fetch())]

    def ask(jobs: Sequence[Sequence[Any]]) -> list[Any]:
        done = subprocess.run(
            command, input=json.dumps(jobs), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answers: list[Any] = json.loads(done.stdout)
        assert len(answers) == len(jobs)
        return answers

    return ask
