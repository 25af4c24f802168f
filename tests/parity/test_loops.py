"""The official generation loops and ours, against one server whose replies hash the conversation.

Requests are equal, or they differ in a way that the page of the suite lists; verdicts are equal.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.parity.drawn_replies import Drawn, Replies, Spoken
from tests.parity.process import Ask, asker
from tests.parity.standins import Encoder, fetched, found
from tests.servers import fake

from toolmark import api
from toolmark.core import sentence_encoder
from toolmark.core.records import Task
from toolmark.environments import search_engines
from toolmark.environments.search_environment import FetchOutcome, SearchHit, SearchOutcome
from toolmark.official_bfcl import official_data, official_models
from toolmark.runs.run_store import Run

CATEGORIES = (
    "multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context",
    "memory_kv", "memory_vector", "memory_rec_sum", "web_search_base", "web_search_no_snippet",
)  # fmt: skip


class Way(NamedTuple):
    """One entry of the official list as which both sides ask."""

    entry: str
    native: bool


WAYS = {
    "chat": Way("openbmb/MiniCPM-SALA-FC", True),
    "chat-prompt": Way("kimi-k2-0905-preview", False),
}


OTHERS = (
    "DeepSeek-V3.2-Exp", "DeepSeek-V3.2-Exp-FC", "glm-4.6-FC", "glm-4.5-FC", "grok-4-0709",
    "grok-4-0709-FC", "kimi-k2-0905-preview-FC", "nvidia/nemotron-4-340b-instruct",
    "qwen/qwq-32b-FC-novita", "qwen/qwq-32b-novita", "BitAgent/GoGoAgent",
)  # fmt: skip
"""Entries of handlers that send the same body through their package as without it."""


# --- the server -------------------------------------------------------------------------


class Heard(NamedTuple):
    """A request: who asked, of which entry where that is said, and the body."""

    who: str
    entry: str
    body: Any


class Endpoint:
    """Answers chat completions of both sides by the same draw."""

    def __init__(self, replies: Replies, category: str, way: Way) -> None:
        self.replies = replies
        self.category = category
        self.way = way
        self.heard: list[Heard] = []

    async def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        who, *more = asked.target.strip("/").split("/")
        body = asked.json
        self.heard.append(Heard(who, more[0] if who == "official" else "", body))
        tools = [tool["function"] for tool in body.get("tools", ())]
        drawn = self.replies.draw(
            self.category, read_messages(body["messages"]), tools, native=self.way.native
        )
        writer.write(fake.raw(200, json.dumps(completion(drawn, len(self.heard))).encode()))
        await writer.drain()


def read_messages(messages: Sequence[Mapping[str, Any]]) -> list[Spoken]:
    return [
        Spoken(
            each["role"],
            each.get("content") or "",
            tuple(
                (call["function"]["name"], call["function"]["arguments"])
                for call in each.get("tool_calls") or ()
            ),
        )
        for each in messages
    ]


def completion(drawn: Drawn, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": drawn.text}
    if drawn.calls is not None:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{at}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for at, (name, arguments) in enumerate(drawn.calls)
        ]
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if drawn.calls else "stop",
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice],
        "usage": usage,
    }  # fmt: skip


# --- our side ---------------------------------------------------------------------------


class Web:
    """Finds what the official side finds."""

    async def find(self, keywords: str, region: str, /) -> SearchOutcome:
        hits = found(keywords, region)
        return SearchOutcome(
            hits=tuple(SearchHit(x["title"], x["link"], x["snippet"]) for x in hits)
        )

    async def fetch(self, url: str, /) -> FetchOutcome:
        try:
            return FetchOutcome(content=fetched(url).text)
        except OSError as error:
            return FetchOutcome(error=str(error))


@asynccontextmanager
async def open_web(*_named: Any) -> AsyncIterator[Web]:
    yield Web()


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search engine and the encoder are those of the official side."""
    monkeypatch.setattr(search_engines, "missing_requirement", lambda text: "")
    monkeypatch.setattr(search_engines, "open_engine", open_web)
    monkeypatch.setattr(sentence_encoder, "is_installed", lambda: True)
    monkeypatch.setattr(sentence_encoder, "load_encoder", lambda name: Encoder().encode)


def play_ours(folder: Path, way: Way, category: str, ids: Sequence[str], url: str) -> Run:
    return api.run(
        api.load("bfcl", category=category, ask_as=way.entry),
        f"{url}/ours/v1#m",
        ids=tuple(ids),
        log_dir=folder,
        max_connections=1,
        max_retries=0,
    )


# --- the comparison ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def looped() -> Ask:
    return asker("official_loops.py")


class Compared(NamedTuple):
    """What came of one category.

    `n` conversations with `n_requests` official requests; how the official code judges those with
    equal requests; which differences that the page lists were met, in how many conversations; and
    what differs otherwise. What follows a difference is not compared: it is another conversation.
    """

    n: int
    n_requests: int
    verdicts: Counter[str]
    listed: Counter[str]
    unlisted: list[Any]


def compare(
    looped: Ask, folder: Path, way: Way, category: str, tasks: Sequence[Task], ids: Sequence[str]
) -> Compared:
    endpoint = Endpoint(Replies(tasks), category, way)
    with fake.in_thread(endpoint) as server:
        url = server.url.removesuffix("/v1")
        answers = looped([["play", way.entry, category, list(ids), f"{url}/official"]])[0]
        run = play_ours(folder, way, category, [each.id for each in scored(tasks, ids)], url)
    theirs: dict[str, list[Any]] = {}
    for heard in endpoint.heard:
        if heard.who == "official":
            theirs.setdefault(heard.entry, []).append(tidy(heard.body))
    ours = bodies_by_task(run, [tidy(x.body) for x in endpoint.heard if x.who == "ours"])
    verdicts: Counter[str] = Counter()
    listed: Counter[str] = Counter()
    unlisted: list[Any] = []
    judged = {score.task: score for score in run.scores()}
    needs = {task.id: task.needs for task in tasks}
    parted: set[str] = set()
    for id, result, (valid, error) in answers:
        if not parted.isdisjoint(needs[id]):
            parted.add(id)
            listed["after another difference"] += 1
        elif valid == "evaluated":
            parted.add(id)
            listed["would be evaluated"] += 1
        elif theirs[id] != ours[id]:
            parted.add(id)
            place = first_difference(theirs[id], ours[id])
            if kind := kind_of_difference(*place[1:]):
                listed[kind] += 1
            else:
                unlisted.append((id, place[0], *_around(*place[1:])))
        elif id in judged:
            verdict = judged[id].verdicts["official"]
            causes = [x.suite_cause for x in verdict.labels if x.primary]
            mine = [verdict.outcome == "correct", "".join(causes)]
            verdicts["right" if valid else error] += 1
            if mine != [valid, error] and result[-1][-1] == []:
                listed["text next to an empty list of calls"] += 1
            elif mine != [valid, error]:
                unlisted.append((id, mine, [valid, error], result))
    return Compared(len(answers), sum(map(len, theirs.values())), verdicts, listed, unlisted)


def kind_of_difference(theirs: str, ours: str) -> str:
    """Return the name under which the page lists a difference, "" if it does not."""
    if "(a(b=1)" in theirs or "=a(b=1)" in theirs:
        return "dictionary of dictionaries"
    return "blank before a bracket" if evaluated(ours) == evaluated(theirs) else ""


def evaluated(text: str) -> str:
    """Return a text without what the official executor changes in the source of a call."""
    return re.sub(r"(\w)\s+\(", r"\1(", re.sub(r"\w+_instance\.", "", text))


def scored(tasks: Sequence[Task], ids: Sequence[str]) -> list[Task]:
    return [task for task in tasks if task.id in ids and task.kind == "scored"]


def tidy(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request without what the page lists as different in every request.

    That is the model's name, an empty list of calls, and null for no text. The ids of calls count
    requests, so they are counted anew.
    """
    messages = []
    names: dict[str, str] = {}
    for message in body["messages"]:
        message = {
            key: value for key, value in message.items() if (key, value) != ("tool_calls", [])
        }
        if message["content"] is None and "tool_calls" not in message:
            message["content"] = ""
        for call in message.get("tool_calls") or ():
            call["id"] = names.setdefault(call["id"], f"call {len(names)}")
        if "tool_call_id" in message:
            message["tool_call_id"] = names.get(message["tool_call_id"], message["tool_call_id"])
        messages.append(message)
    return {**body, "messages": messages, "model": ""}


def bodies_by_task(run: Run, bodies: list[Any]) -> dict[str, list[Any]]:
    """Return the requests of each task: one connection asks one task after the other."""
    found: dict[str, list[Any]] = {}
    at = 0
    for trajectory in run.trajectories():
        n = len(trajectory.steps)
        found[trajectory.task] = bodies[at : at + n]
        at += n
    assert at == len(bodies)
    return found


def first_difference(theirs: Any, ours: Any, path: str = "") -> Any:
    """Return where two JSON values first differ, and both sides there."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        pairs = [(f"{path}.{key}", theirs[key], ours[key]) for key in theirs]
    elif isinstance(theirs, list) and isinstance(ours, list):
        pairs = [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(theirs, ours, strict=False))]
        if all(a == b for _, a, b in pairs):
            return path, f"{len(theirs)} and {len(ours)} of them"
    else:
        return path, str(theirs), str(ours)
    return next(first_difference(a, b, at) for at, a, b in pairs if a != b)


def _around(theirs: str, ours: str) -> tuple[str, str]:
    """Return both texts around the place where they first differ."""
    at = next((i for i, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a != b), 0)
    start = max(0, at - 60)
    return theirs[start : at + 120], ours[start : at + 120]


def needed(tasks: Sequence[Task], ids: Sequence[str]) -> list[str]:
    """Return the ids with those that they need."""
    wanted = set(ids)
    for task in tasks:
        if task.id in ids:
            wanted |= set(task.needs)
    return [task.id for task in tasks if task.id in wanted]


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("way", WAYS)
def test_some_conversations_are_the_official_ones(
    looped: Ask, stubbed: None, tmp_path: Path, way: str, category: str
) -> None:
    tasks = list(api.load("bfcl", category=category))
    scored = [task.id for task in tasks if task.kind == "scored"]
    # the last of a memory are of the scenario with the fewest sessions
    chosen = scored[-2:] if category.startswith("memory") else scored[::60]
    made = compare(looped, tmp_path, WAYS[way], category, tasks, needed(tasks, chosen))
    print(category, way, made._replace(unlisted=[]))
    assert not made.unlisted


@pytest.mark.parametrize("entry", OTHERS)
def test_a_model_is_asked_as_other_entries_are(
    looped: Ask, stubbed: None, tmp_path: Path, entry: str
) -> None:
    category = "multi_turn_miss_func"
    tasks = list(api.load("bfcl", category=category))
    way = Way(entry, official_models.read_models(official_data.fetch_wheel())[entry].is_native)
    made = compare(looped, tmp_path, way, category, tasks, ["multi_turn_miss_func_3"])
    assert made.n == 1 and made.n_requests > 2
    assert not made.unlisted


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("way", WAYS)
def test_all_conversations_are_the_official_ones(
    looped: Ask, stubbed: None, tmp_path: Path, way: str, category: str
) -> None:
    tasks = list(api.load("bfcl", category=category))
    made = compare(looped, tmp_path, WAYS[way], category, tasks, [task.id for task in tasks])
    print(category, way, made._replace(unlisted=[]))
    assert not made.unlisted
