"""Benchmarks are run by hand; that the one of the whole runner still starts is tried here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolmark.models.wire_names import WIRE_NAMES

HERE = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize("kind", ["pyreqwest", "toolmark"])
def test_a_client_of_the_throughput_benchmark_plays_its_samples(kind: str) -> None:
    server = subprocess.Popen(
        [sys.executable, HERE / "server.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        done = subprocess.run(
            [sys.executable, HERE / "throughput.py", "--client", kind, url, "40"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout.splitlines()[-1])
        assert found["rate"] > 0 and found["peak"] > 0
    finally:
        server.communicate()


@pytest.mark.parametrize("wire", WIRE_NAMES)
@pytest.mark.parametrize("how", ["whole", "streamed"])
def test_a_client_of_the_wires_benchmark_plays_its_samples(wire: str, how: str) -> None:
    server = subprocess.Popen(
        [sys.executable, HERE / "server.py", "wires"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        command = [
            sys.executable,
            str(HERE / "wires.py"),
            "--client",
            url,
            wire,
            "thinker",
            how,
            "20",
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1]) > 0
    finally:
        server.communicate()
