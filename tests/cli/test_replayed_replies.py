"""`--replay-only`: the recorded replies give the same run, with no server and no key."""

from __future__ import annotations

import json
from asyncio import StreamWriter
from pathlib import Path
from typing import Any

import pytest
from tests.servers import fake
from tests.servers.planning_endpoint import Command, play

from toolmark import api
from toolmark.cli import exit_codes

SMALL = ("-T", "graphs=6", "-T", "core=3", "-T", "depth=2", "-T", "connected=1", "--seed", "7")
KEY = "sk-recorded-1234567890abcdef"
CACHE = ("--cache", "replies")
NUMBERS = ("n_run", "n_not_run", "score", "parts", "model", "tool_format")


def ask(toolmark: Command, model: str, *words: str, log_dir: str) -> tuple[int, dict[str, Any]]:
    ended = toolmark(
        "run", "funcbench", *SMALL, "-m", model, "--json", "--log-dir", log_dir, *words
    )
    return ended.code, json.loads(ended.out) if ended.out else {"err": ended.err}


@pytest.fixture
def recorded(toolmark: Command, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Record a run at a server that demands a key; the server is closed and the key gone."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    async def behave(asked: fake.Asked, writer: StreamWriter) -> None:
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        writer.write(fake.raw(200, json.dumps(await play(asked)).encode()))
        await writer.drain()

    with fake.in_thread(behave) as server:
        address = ("--base-url", server.url)
        code, found = ask(toolmark, "openai/m", *address, *CACHE, "--limit", "4", log_dir="first")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert code == 0 and server.asked
    return {"summary": found, "address": address}


def test_a_replayed_run_is_the_recorded_one(toolmark: Command, recorded: dict[str, Any]) -> None:
    words = (*recorded["address"], *CACHE, "--replay-only", "--limit", "4")
    code, found = ask(toolmark, "openai/m", *words, log_dir="second")
    assert code == 0
    assert {name: found[name] for name in NUMBERS} == {
        name: recorded["summary"][name] for name in NUMBERS
    }
    first, second = (api.open_run(each["run_dir"]) for each in (recorded["summary"], found))
    assert first.info.plan == second.info.plan
    assert first.info.tasks_sha256 == second.info.tasks_sha256
    compared = toolmark("compare", str(first.path), str(second.path), "--fail-if", "changed")
    assert compared.code == 0


def test_what_is_not_recorded_is_not_run_with_the_next_step(
    toolmark: Command, recorded: dict[str, Any]
) -> None:
    words = ("run", "funcbench", *SMALL, "-m", "openai/m", *recorded["address"], *CACHE)
    ended = toolmark(*words, "--replay-only", "--log-dir", "more")
    assert ended.code == exit_codes.NOT_RUN
    assert "not_recorded" in ended.out and "without --replay-only" in ended.out
    (path,) = Path("more").glob("*/")
    failures = [score.failure for score in api.open_run(path).scores()]
    assert [None if each is None else each.kind for each in failures] == [None] * 4 + [
        "not_recorded"
    ] * 2


def test_another_model_is_not_answered_from_these_replies(
    toolmark: Command, recorded: dict[str, Any]
) -> None:
    words = (*recorded["address"], *CACHE, "--replay-only", "--limit", "4")
    code, found = ask(toolmark, "openai/other", *words, log_dir="other")
    assert code == exit_codes.NOT_RUN and found["failures"] == {"not_recorded": 4}


def test_the_recorded_files_fit_a_repository(toolmark: Command, recorded: dict[str, Any]) -> None:
    files = {path: path.read_bytes() for path in Path("replies").rglob("*") if path.is_file()}
    assert files
    words = (*recorded["address"], *CACHE, "--replay-only", "--limit", "4")
    ask(toolmark, "openai/m", *words, log_dir="again")
    assert files == {
        path: path.read_bytes() for path in Path("replies").rglob("*") if path.is_file()
    }
    for path, data in files.items():
        assert KEY.encode() not in data
        assert all(part.isalnum() for part in path.parts)  # portable names
        assert len(path.name) == 64 and path.parent.name == path.name[:2]
        _, line = data.split(b"\n")
        assert json.loads(line)["reply"]


def test_without_a_folder_of_replies_nothing_begins(toolmark: Command) -> None:
    for words in (("--replay-only",), ("--replay-only", "--cache", "nowhere")):
        code, _ = ask(toolmark, "openai/m", *words, log_dir="none")
        assert code == exit_codes.USAGE_ERROR
    assert not Path("nowhere").exists() and not list(Path("none").glob("*"))


def test_a_control_needs_no_recorded_reply(toolmark: Command) -> None:
    code, _ = ask(toolmark, "baseline/planner", "--replay-only", log_dir="controls")
    assert code == 0


def test_a_judge_is_refused_where_no_model_may_be_asked(
    toolmark: Command, recorded: dict[str, Any]
) -> None:
    from toolmark.core.errors import UsageError
    from toolmark.models import model_resolver

    with model_resolver.forbid_asking(), pytest.raises(UsageError, match="--replay-only"):
        model_resolver.resolve_model("http://127.0.0.1:1/v1#judge")
    assert model_resolver.resolve_model("http://127.0.0.1:1/v1#judge") is not None
