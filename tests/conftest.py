"""Settings of all tests, their markers by folder and fixture, and the browser.

Property tests draw anew on a developer's machine, and the same examples in CI.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent
# all tests below these folders; a file elsewhere says it by `pytestmark`
MARKER_BY_FOLDER = {
    "parity": "parity",
    "environments/mcp": "servers",
    "perturb/hearing": "speech",
    "perturb/speech": "speech",
    "suites/mfcl_speech": "speech",
}

settings.register_profile("own", deadline=None)  # a busy machine is not a fault of a law
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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Leave modules and tests to themselves: none is garbage, and there are a million objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest selects by markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests the markers of their folder, and `browser` to those that use the browser."""
    for item in items:
        place = item.path.relative_to(HERE).as_posix()
        for folder, marker in MARKER_BY_FOLDER.items():
            if place.startswith(f"{folder}/"):
                item.add_marker(marker)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(scope="session", autouse=True)
def one_root_certificate() -> Iterator[None]:
    """Clients of endpoints trust one root, whose key is gone, in the place of all of the system's.

    Tests ask servers on this machine, and to read all roots takes longer than to be answered.
    """
    from toolmark.models.http_client import HttpClient

    build = HttpClient.__init__

    def build_quickly(client: HttpClient, *values: Any, **named: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SSL_CERT_FILE", str(HERE / "servers/root.pem"))
            patch.setenv("SSL_CERT_DIR", "")
            build(client, *values, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HttpClient, "__init__", build_quickly)
        yield


@pytest.fixture(scope="session", autouse=True)
def items_are_made_in_this_process() -> Iterator[None]:
    """Items are made where the test runs: to start processes takes longer than to make a few.

    Tests of worker processes ask for more cores.
    """
    from toolmark.core import worker_processes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_processes, "available_cores", lambda: 1)
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from tests.servers import chromium  # only these tests need its library

    with chromium.launched() as found:
        yield found


class _Named:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line(f"\nfailed: {report.nodeid}")
