"""Servers that are not installed: said before the run, and only where no task could be run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.suites.m3.endpoints import Command

from toolmark.environments.mcp import server_packages
from toolmark.runs.run_store import Run
from toolmark.suites.m3.local import server_configuration

pytestmark = pytest.mark.servers

FEW = ("-T", "family=clock,stock", "-T", "instances=1", "--seed", "3")
FETCH = "not installed yet; run `toolmark fetch mcp-servers`"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache without any server, on a machine that has all that servers need."""
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(server_packages, "missing_system_packages", lambda one: "")


@pytest.mark.usefixtures("bare")
def test_without_any_server_nothing_is_begun(toolmark: Command, tmp_path: Path) -> None:
    words = ("run", "m3-local", "-m", "control/null", *FEW, "--log-dir", tmp_path / "runs")
    said = toolmark(*words)
    assert said.code == 2
    assert f"no task can be run: {FETCH} (" in said.err
    assert not (tmp_path / "runs").exists()
    assert toolmark(*words, "--dry-run").code == 0  # what would be asked can be seen all the same


@pytest.mark.usefixtures("bare")
def test_authoring_reports_it_too(toolmark: Command, tmp_path: Path) -> None:
    said = toolmark("author", "m3-local", "-m", "http://127.0.0.1:9/v1#p", "--judge-model",
                    "http://127.0.0.1:9/v1#j", *FEW, "-o", tmp_path / "made")  # fmt: skip
    assert said.code == 2
    assert FETCH in said.err
    assert not (tmp_path / "made").exists()


@pytest.mark.usefixtures("installed")
def test_a_server_that_some_tasks_do_without_costs_the_others_alone(
    toolmark: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = server_packages._is_ready
    monkeypatch.setattr(
        server_packages,
        "_is_ready",
        lambda one, folder: one.name != "sqlite" and ready(one, folder),
    )
    said = toolmark("run", "m3-local", "-m", "control/null", *FEW, "--log-dir", tmp_path, "--json")
    assert said.code == 3, said.err
    run = Run(Path(said.json["run_dir"]))
    lost = {attempt.task: attempt.failure.message for attempt in run.attempts()}
    assert lost and said.json["n_run"]
    assert all(f"sqlite: {FETCH}" in reason for reason in lost.values())
    assert all("sqlite" in task.data["servers"] for task in map(run.task, lost))
    reported = toolmark("show", run.path).text
    assert reported.count(FETCH) == len(lost)
    reported = toolmark("run", "m3-local", "-m", "control/null", *FEW, "--log-dir", tmp_path).text
    assert FETCH in reported and f": toolmark show {run.path} " in reported


def test_the_servers_are_those_that_are_fetched() -> None:
    assert set(server_packages.read_pinned_environments()) == set(
        server_configuration.SERVER_CONFIG["mcpServers"]
    )
