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
def official() -> Ask:
    return asker("official.py")


@pytest.fixture(scope="session")
def official_formats() -> Ask:
    return asker("official_formats.py")


def asker(script: str) -> Ask:
    """Return what sends jobs to a script beside this file, and brings its answers."""
    command = [sys.executable, str(Path(__file__).with_name(script)), str(data.fetch())]

    def ask(jobs: Sequence[Sequence[Any]]) -> list[Any]:
        done = subprocess.run(
            command, input=json.dumps(jobs), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answers: list[Any] = json.loads(done.stdout)
        assert len(answers) == len(jobs)
        return answers

    return ask
