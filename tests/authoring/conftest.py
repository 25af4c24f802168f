"""The command line as a function, for the tests of row files and users' suites."""

from __future__ import annotations

from tests.cli.conftest import toolmark

__all__ = ["toolmark"]
