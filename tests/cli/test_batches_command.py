"""`toolmark batches` lists the batches of a run and cancels them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.models.test_batches import FAST, answer_body
from tests.runs.batched_rows import N_ROWS, ROWS, stop_at, write_rows
from tests.servers import fake
from tests.servers.batch_server import KEY, BatchServer
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.models.batches import batched_endpoint


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(batched_endpoint, "DEFAULT_TIMING", FAST)
    monkeypatch.setenv("TOOLMARK_API_KEY", KEY)
    write_rows(tmp_path)


@pytest.fixture
def running() -> Iterator[tuple[BatchServer, str]]:
    server = BatchServer(answer_body, n_looks=10**6)
    with fake.in_thread(server) as served:
        yield server, served.url


def test_batches_of_a_run_are_listed_and_cancelled(
    running: tuple[BatchServer, str], toolmark: Command
) -> None:
    server, url = running
    stopped, _ = stop_at(url, "chat", server, "GET /v1/batches/")
    run_folder = str(stopped.path)
    (id,) = server.batches
    refused = toolmark("batches", run_folder, "--json")
    assert refused.code == 2 and f"--base-url {url}" in refused.err
    run_folder_words = (run_folder, "--base-url", url)
    row = {"batch_id": id, "n_items": N_ROWS, "state": "running", "n_done": 0}
    assert json.loads(toolmark("batches", *run_folder_words, "--json").out) == [row]
    ended = toolmark("batches", *run_folder_words, "--cancel")
    assert ended.code == 0 and server.batches[id].is_cancelled
    (after,) = json.loads(toolmark("batches", *run_folder_words, "--json").out)
    assert after["state"] == "cancelled"
    # the same command submits anew what was not answered
    server.n_looks = 0
    words = ["run", ROWS, "-m", f"{url}#m", "--batch", "--wire", "chat", "--log-dir", "batched"]
    summary = json.loads(toolmark(*words, "--max-retries", "0", "--json").out)
    assert (summary["n_run"], summary["run_dir"]) == (N_ROWS - 1, run_folder)
    assert server.paid().total() == N_ROWS - 2 and max(server.paid().values()) == 1


def test_an_address_in_a_run_folder_gets_no_key_unless_the_user_names_it(
    running: tuple[BatchServer, str], toolmark: Command
) -> None:
    server, url = running
    stopped, _ = stop_at(url, "chat", server, "GET /v1/batches/")
    info = stopped.path / "run.json"
    with fake.in_thread(server) as other:
        info.write_text(info.read_text().replace(url, other.url))
        n_before = len(server.asked)
        assert toolmark("batches", str(stopped.path)).code == 2
        assert len(server.asked) == n_before


def test_an_id_in_a_run_folder_is_no_path(
    running: tuple[BatchServer, str], toolmark: Command
) -> None:
    server, url = running
    stopped, _ = stop_at(url, "chat", server, "GET /v1/batches/")
    (id,) = server.batches
    path = stopped.path / "batches.jsonl"
    path.write_text(path.read_text().replace(id, "../files"))
    ended = toolmark("batches", str(stopped.path), "--base-url", url)
    assert ended.code == 2 and "is no id of a batch" in ended.err


def test_a_run_that_was_not_asked_in_batches_has_none(toolmark: Command) -> None:
    done = tm.run(ROWS, "control/null", log_dir="single")
    ended = toolmark("batches", str(done.path))
    assert ended.code == 2 and "--batch" in ended.err
