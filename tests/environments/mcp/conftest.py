"""Most of these tests are of the protocol and of processes: their servers run as they are.

Those of the sandbox, in files that begin with `test_sandbox`, run what they start in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from toolmark.environments.mcp import sandbox


@pytest.fixture(autouse=True)
def _as_they_are(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.path.name.startswith("test_sandbox"):
        yield
        return
    with sandbox.use_setting("off"):
        yield
