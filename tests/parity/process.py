"""Asking a script beside this file, which runs the official code in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from toolmark.official_bfcl import official_data

Ask = Callable[[Sequence[Sequence[Any]]], list[Any]]


def run(script: str, *arguments: str, said: str = "", python: Path | None = None) -> str:
    """Run a script on the unpacked wheel and return what it prints."""
    command = [
        str(python or sys.executable),
        str(Path(__file__).with_name(script)),
        str(official_data.fetch_wheel()),
    ]
    done = subprocess.run(
        [*command, *arguments], input=said, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def asker(script: str, python: Path | None = None) -> Ask:
    """Return what sends jobs to a script, and brings its answers."""

    def ask(jobs: Sequence[Sequence[Any]]) -> list[Any]:
        answers: list[Any] = json.loads(run(script, said=json.dumps(jobs), python=python))
        assert len(answers) == len(jobs)
        return answers

    return ask
