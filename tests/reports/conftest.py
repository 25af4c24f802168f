"""Made-up runs as fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reports import made_runs
from tests.reports.made_runs import SCORER, Maker

from toolmark.runs.suite import Scorer


@pytest.fixture
def scorer() -> Scorer:
    return SCORER


@pytest.fixture
def make_run(tmp_path: Path) -> Maker:
    """Make scored runs below the test's own folder."""
    return lambda **shape: made_runs.make(tmp_path / "runs", **shape)
