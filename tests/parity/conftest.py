"""The official code as fixtures, each in a process of its own."""

from __future__ import annotations

import pytest
from tests.parity.process import Ask, asker


@pytest.fixture(scope="session")
def official() -> Ask:
    return asker("official.py")


@pytest.fixture(scope="session")
def official_formats() -> Ask:
    return asker("official_formats.py")


@pytest.fixture(scope="session")
def agentically() -> Ask:
    return asker("official_agentic.py")


@pytest.fixture(scope="session")
def handled() -> Ask:
    return asker("official_handlers.py")
