"""An endpoint in its own thread, and the command line as a function."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio import StreamWriter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.reports import made_runs
from tests.reports.made_runs import SCORER, Maker
from tests.servers import fake
from tests.servers.planning_endpoint import Command, Mind, Said, play

from toolmark.cli import app
from toolmark.runs.suite import Scorer


@pytest.fixture
def mind() -> Iterator[Mind]:
    found = Mind()

    async def behave(asked: fake.Asked, writer: StreamWriter) -> None:
        found.asked.append(asked)
        await asyncio.sleep(found.wait_s)
        if found.refuses and found.refuses in asked.json:
            complaint = {
                "message": f"Unsupported value: '{found.refuses}' does not support 0.",
                "param": found.refuses,
                "code": "unsupported_value",
            }
            writer.write(fake.raw(400, json.dumps({"error": complaint}).encode()))
            await writer.drain()
            return
        plain = found.body if found.body is not None else await play(asked)
        data = plain if isinstance(plain, bytes) else json.dumps(plain).encode()
        writer.write(fake.raw(found.status, data))
        await writer.drain()

    with fake.in_thread(behave) as server:
        found.url = server.url
        yield found


@pytest.fixture
def toolmark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    """Run a command line in the test's own folder and return what it said."""
    monkeypatch.chdir(tmp_path)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)

    def run(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["toolmark", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app.main()
        said = capsys.readouterr()
        code = ended.value.code
        return Said(code if isinstance(code, int) else 0, said.out, said.err)

    return run


@pytest.fixture
def scorer() -> Scorer:
    return SCORER


@pytest.fixture
def make_run(tmp_path: Path) -> Maker:
    """Make scored runs below the test's own folder."""
    return lambda **shape: made_runs.make(tmp_path / "runs", **shape)
