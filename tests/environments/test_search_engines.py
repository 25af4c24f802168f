"""Engines by name: what is lacking is said, and a recording repeats what it listened to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from toolmark.core.errors import ToolEnvironmentError
from toolmark.environments import search_engines
from toolmark.environments.search_environment import FetchOutcome, SearchOutcome
from toolmark.environments.search_providers import PROVIDERS

pytest.importorskip("bs4", reason="needs toolmark[bfcl]")

BODY = b'{"web": {"results": [{"title": "k-secret", "url": "https://a.example/"}]}}'


class Said(NamedTuple):
    status: int
    body: bytes


class Line:
    """A connection that answers everything and is closed in the end."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.headers = dict(headers)
        self.n_asked = 0
        self.closed = False

    async def get(self, url: str) -> Said:
        self.n_asked += 1
        return Said(200, BODY)

    async def post(self, url: str, body: bytes) -> Said:
        raise AssertionError("not asked so")

    async def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        monkeypatch.delenv(provider.variable, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pages/a.example").mkdir(parents=True)
    (tmp_path / "pages/a.example/tea.html").write_text("<title>Tea</title>a rare tea")
    return tmp_path / "pages"


def refused(headers: Mapping[str, str]) -> Line:
    raise AssertionError("nothing leaves this machine")


def asked(
    name: str, connect: search_engines.TransportOpener, *questions: str
) -> list[SearchOutcome | FetchOutcome]:
    async def ask() -> list[SearchOutcome | FetchOutcome]:
        async with search_engines.open_engine(name, connect) as engine:
            found: list[SearchOutcome | FetchOutcome] = []
            for question in questions:
                if question.startswith("https:"):
                    found.append(await engine.fetch(question))
                else:
                    found.append(await engine.find(question, "wt-wt"))
            return found

    return asyncio.run(ask())


QUESTIONS = ("tea", "wine", "https://a.example/tea", "https://a.example/none")


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_a_provider_lacks_its_key_and_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = PROVIDERS[name].variable
    for text in (name, f"record:web.jsonl@{name}"):
        assert f"needs {variable};" in search_engines.missing_requirement(text)
    monkeypatch.setenv(variable, "k-secret")
    assert not search_engines.missing_requirement(name) and not search_engines.missing_requirement(
        f"record:web.jsonl@{name}"
    )
    assert "no search" in search_engines.missing_requirement(f"{name}:place")


def test_a_recording_asks_serpapi_unless_set_otherwise() -> None:
    assert search_engines.parse_engine_name("record:web.jsonl").recorded_engine == "serpapi"
    assert search_engines.parse_engine_name("record:me@home.jsonl") == (
        "record",
        "me@home.jsonl",
        "serpapi",
    )
    assert search_engines.parse_engine_name("record:a@b@corpus:c:d") == (
        "record",
        "a@b",
        "corpus:c:d",
    )


@pytest.mark.parametrize(
    "text", ["bing", "", "corpus", "corpus:/no/such", "replay:/no/such", "record:",
             "record:f@corpus:/no/such"],
)  # fmt: skip
def test_a_wrong_name_gets_the_choices(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPAPI_API_KEY", "k-secret")
    why = search_engines.missing_requirement(text)
    assert "corpus:FOLDER" in why and "k-secret" not in why


def test_a_recorded_corpus_replays_as_itself(folder: Path, tmp_path: Path) -> None:
    tape = tmp_path / "web.jsonl"
    live = asked(f"corpus:{folder}", refused, *QUESTIONS)
    recorded = asked(f"record:{tape}@corpus:{folder}", refused, *QUESTIONS)
    assert search_engines.missing_requirement(f"replay:{tape}") == ""
    assert live == recorded == asked(f"replay:{tape}", refused, *QUESTIONS)
    assert asked(f"replay:{tape}", refused, *reversed(QUESTIONS)) == live[::-1]
    with pytest.raises(ToolEnvironmentError, match="no answer"):
        asked(f"replay:{tape}", refused, "coffee")


def test_a_provider_is_recorded_without_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "k-secret")
    tape = tmp_path / "web.jsonl"
    lines: list[Line] = []

    def connect(headers: Mapping[str, str]) -> Line:
        lines.append(Line(headers))
        return lines[-1]

    name = f"record:{tape}@brave"
    first = asked(name, connect, "tea", "tea")
    assert (lines[0].headers["x-subscription-token"], lines[0].n_asked) == ("k-secret", 1)
    assert lines[0].closed and "k-secret" not in tape.read_text()
    assert asked(name, connect, "tea") == first[:1] and lines[1].n_asked == 0
    assert asked(f"replay:{tape}", refused, "tea") == first[:1]


def test_what_answers_from_the_disk_is_known_by_its_hash(folder: Path, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    tape.write_text("")
    corpus = (f"corpus:{folder}", f"record:{tape}@corpus:{folder}")
    first = [search_engines.source_hashes(name) for name in corpus]
    replay = search_engines.source_hashes(f"replay:{tape}")
    assert first[0] == first[1] and set(first[0]) == {"corpus"} and set(replay) == {"cassette"}
    (folder / "a.example/tea.html").write_text("<title>Tea</title>another tea")
    tape.write_text("\n")
    second = [search_engines.source_hashes(name) for name in corpus]
    assert second[0] == second[1] != first[0]
    assert search_engines.source_hashes(f"replay:{tape}") != replay
    for name in ("serpapi", f"record:{tape}", "pages", "corpus:nowhere", "replay:nowhere"):
        assert search_engines.source_hashes(name) == {}
