"""Runs in batches: which are refused, and that they end as single runs do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.models.test_batches import FAST, answer_body, wire_of, write_reply
from tests.runs import mini
from tests.runs.batched_rows import N_ROWS, ROWS, facts, run_rows, stop_at, write_rows
from tests.servers import fake
from tests.servers.batch_server import KEY, Answer, BatchServer, user_text

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.core.records import Limits
from toolmark.models.batches import batched_endpoint
from toolmark.models.batches.anthropic_batches import AnthropicBatches
from toolmark.models.batches.batch_protocol import BatchLimits
from toolmark.models.batches.openai_batches import OpenAIBatches
from toolmark.models.unrecorded_requests import Unrecorded
from toolmark.runs.batches import batch_records

Json = dict[str, Any]
WIRES = ("chat", "responses", "anthropic")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(batched_endpoint, "DEFAULT_TIMING", FAST)
    monkeypatch.setenv("TOOLMARK_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path)


@pytest.mark.parametrize("wire", WIRES)
def test_scores_are_those_of_a_run_that_asked_singly(wire: str) -> None:
    server = BatchServer(answer_body)
    with fake.in_thread(server) as served:
        single = facts(run_rows(served.url, wire, batch=False))
        done = run_rows(served.url, wire, batch=True)
    assert facts(done) == single
    assert len(server.batches) == 1 and server.paid().total() == N_ROWS - 2
    assert done.info.plan.batch and not server.faults
    assert [each.state for each in batch_records.list_run_batches(done.path)] == ["ended"]
    assert not list(done.path.glob("tmp*"))


@pytest.mark.parametrize("wire", ["chat", "anthropic"])
def test_a_run_that_was_stopped_goes_on_with_the_same_batch(wire: str) -> None:
    server = BatchServer(answer_body, n_looks=10**6)
    path = "/v1/messages/batches/" if wire == "anthropic" else "/v1/batches/"
    with fake.in_thread(server) as served:
        stopped, seen = stop_at(served.url, wire, server, f"GET {path}")
        assert stopped.summary()["n_run"] == 0
        assert any(f": 0 of {N_ROWS} done, expires in 23 h" in text for text in seen)
        (entry,) = batch_records.list_open_batches(stopped.path)
        assert entry.batch_id in server.batches and KEY not in str(entry)
        server.n_looks = 1
        done = run_rows(served.url, wire, batch=True)
        assert done.path == stopped.path
        assert facts(done) == facts(run_rows(served.url, wire, batch=False))
    assert len(server.batches) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_limit_of_the_cost_holds_in_batches(wire: str) -> None:
    server = BatchServer(answer_body)
    with fake.in_thread(server) as served:
        money = {"price": "1000,1000", "max_tokens": 10}
        none = run_rows(served.url, wire, batch=True, max_cost=1.0, **money)
        assert none.summary()["n_run"] == 0 and not server.batches
        some = run_rows(served.url, wire, batch=True, max_cost=9.0, **money)
    assert 0 < some.summary()["n_run"] < N_ROWS
    cost = some.summary()["spent"]["cost"]
    assert cost["model"]["paid_usd"] + some.info.unrecorded.unanswered_usd <= 9.0


def test_requests_that_come_while_results_are_read_are_not_submitted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = BatchServer(answer_body, n_looks=10**6)
    with fake.in_thread(server) as served:
        stop_at(served.url, "anthropic", server, "GET /v1/messages/batches/")
        server.n_looks = 0
        limits = BatchLimits(3, 10**6)  # as many episodes at the same time
        monkeypatch.setattr(AnthropicBatches, "limits", limits)
        done = run_rows(served.url, "anthropic", batch=True)
    assert done.summary()["n_run"] == N_ROWS - 1 and len(server.batches) == 1


def test_more_episodes_than_a_batch_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = BatchLimits(10, 10**6)
    monkeypatch.setattr(OpenAIBatches, "limits", limits)
    server = BatchServer(answer_body)
    with fake.in_thread(server) as served:
        done = run_rows(served.url, "chat", batch=True)
        assert facts(done) == facts(run_rows(served.url, "chat", batch=False))
    assert [len(batch.items) for batch in server.batches.values()] == [10, 10, 4]


def test_repeats_are_requests_of_their_own() -> None:
    said: list[str] = []

    def changing(body: Json) -> Answer:
        said.append(user_text(body))
        return 200, write_reply(wire_of(body), f"{said[-1]}: {said.count(said[-1])}")

    server = BatchServer(changing)
    with fake.in_thread(server) as served:
        done = run_rows(served.url, "responses", batch=True, repeats=2)
    replies = [step.reply.text for each in done.trajectories() for step in each.steps]
    assert len(set(replies)) == 2 * N_ROWS and len(server.batches) == 1


def test_a_cache_answers_before_a_batch_does() -> None:
    server = BatchServer(answer_body)
    with fake.in_thread(server) as served:
        for resume in (True, False):
            run_rows(served.url, "chat", batch=True, cache="replies", resume=resume, limit=4)
    assert len(server.batches) == 1


MINI = "tests.runs.mini:load"
REFUSED: dict[str, tuple[str, str, Json, str]] = {
    "several replies": (MINI, "http://127.0.0.1:1/v1#m", {}, "may take several replies"),
    "a generated suite": ("funcbench", "openai/m", {}, "may take several replies"),
    "a control": (ROWS, "control/null", {}, "is no endpoint"),
    "a baseline": (ROWS, "baseline/eager", {}, "is no endpoint"),
    "gemini": (ROWS, "gemini/m", {}, "the gemini wire has no batches"),
    "streaming": (ROWS, "openai/m", {"stream": True}, "--stream"),
    "a time limit": (ROWS, "openai/m", {"time_limit_s": 5.0}, "--time-limit"),
    "a limit per minute": (ROWS, "openai/m", {"tokens_per_minute": 9}, "limits per minute"),
    "replay": (ROWS, "openai/m", {"replay_only": True, "cache": "."}, "--replay-only"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_asked_in_batches_is_refused_before_anything_is_asked(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    suite, model, settings, text = REFUSED[name]
    with pytest.raises(UsageError) as refused:
        tm.run(suite, model, batch=True, **settings)
    line = str(refused.value)
    assert text in line and "next: " in line and "\n" not in line
    assert not Path("runs").exists()


def test_a_suite_whose_environment_answers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(UsageError, match="simulated user"):
        tm.run(tm.load("mfcl-transcripts", items=1), "openai/m", batch=True)
    silent = tm.load("mfcl-transcripts", items=1, judge="off")
    assert not silent.environment.answers_replies


def test_a_model_object_is_refused() -> None:
    with pytest.raises(UsageError, match="is no endpoint"):
        tm.run(ROWS, _model, batch=True)


async def _model(request: tm.Request) -> tm.Reply:
    raise AssertionError


def test_equal_requests_share_an_answer_that_is_paid_once(tmp_path: Path) -> None:
    tasks = [replace(task, id=f"{task.id}-{n}") for task in mini.Sums(2) for n in range(3)]
    single = [replace(task, limits=Limits(single_reply=True)) for task in tasks]
    suite = tm.Suite(name="twins", tasks=single, scorer=lambda episode: True)
    server = BatchServer(answer_body)
    with fake.in_thread(server) as served:
        run = tm.run(
            suite, f"{served.url}#m", batch=True, price="1,1", max_tokens=9, max_cost=1.0,
            log_dir=tmp_path,
        )  # fmt: skip
    cost = run.summary()["spent"]["cost"]["model"]
    assert sum(len(batch.items) for batch in server.batches.values()) == 2
    assert cost["n_replies"] == 6 and cost["paid_usd"] == pytest.approx(cost["new_usd"] / 3)
    assert run.info.unrecorded.unanswered_usd == 0.0


def test_what_a_stopped_run_left_in_a_batch_counts_nothing_until_it_is_read() -> None:
    server = BatchServer(answer_body, n_looks=10**6)
    with fake.in_thread(server) as served:
        stopped, _ = stop_at(served.url, "chat", server, "GET /v1/batches/")
        assert stopped.info.unrecorded == Unrecorded()
