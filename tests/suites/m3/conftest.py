"""The command line as a function, with no proxy in the way."""

from __future__ import annotations

import sys

import pytest
from tests.suites.m3.endpoints import Command, Said

from toolmark.cli import app


@pytest.fixture
def toolmark(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)

    def run(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["toolmark", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app.main()
        said = capsys.readouterr()
        code = ended.value.code
        return Said(code if isinstance(code, int) else 0, said.out, said.err)

    return run
