"""A real browser for tests of pages, and everything that a page must not do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALLED = next(filter(None, map(shutil.which, NAMES)), None)
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip


@dataclass
class Watch:
    """Everything that a page must not do."""

    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@contextmanager
def launched() -> Iterator[Browser]:
    """Start a browser; without one the test is skipped, but in CI it fails."""
    with sync_playwright() as play:
        path = INSTALLED or play.chromium.executable_path
        if not Path(path).exists():
            missing = "no Chromium for the browser test: apt-get install chromium"
            if "CI" in os.environ:
                pytest.fail(missing)
            pytest.skip(missing)
        found = play.chromium.launch(executable_path=path, args=ARGS)
        yield found
        found.close()
