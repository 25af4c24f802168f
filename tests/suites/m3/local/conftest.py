"""The environments of the servers: made in the cache once, and found there afterwards."""

from __future__ import annotations

import pytest

from toolmark.environments.mcp import server_packages


@pytest.fixture(scope="session")
def installed() -> None:
    """Make every environment that is not in the cache yet; only that needs the package indexes."""
    assert server_packages.install_environments(server_packages.read_pinned_environments()) == {}
