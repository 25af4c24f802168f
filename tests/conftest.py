"""Property tests draw anew on a developer's machine, and the same examples in CI."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

settings.register_profile("own", deadline=None)  # a busy machine is no fault of a law
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("own")
if "CI" in os.environ:
    settings.load_profile("ci")


# background jobs of a shell ignore Ctrl-C, and so would all that they start
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Name what fails when it fails: the whole takes minutes, and pytest tells it at the end."""
    if not hasattr(config, "workerinput"):  # the workers' reports come to the one who shows them
        config.pluginmanager.register(_Named(config))


class _Named:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line(f"\nfailed: {report.nodeid}")
