"""The official generation loops and ours, against one server whose replies hash the conversation.

Requests are equal, or they differ in a way that the page of the suite lists; verdicts are equal.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.parity import loop_wires
from tests.parity.drawn_replies import ODD_VALUES, Replies, ReplyForm
from tests.parity.process import Ask, asker
from tests.parity.standins import Encoder, fetched, found
from tests.servers import fake

from toolmark import api
from toolmark.core import sentence_encoder
from toolmark.core.records import Task
from toolmark.environments import search_engines
from toolmark.environments.search_environment import FetchOutcome, SearchHit, SearchOutcome
from toolmark.models.wire_names import WireName
from toolmark.official_bfcl import official_data, official_models
from toolmark.runs.run_store import Run

CATEGORIES = (
    "multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context",
    "memory_kv", "memory_vector", "memory_rec_sum", "web_search_base", "web_search_no_snippet",
)  # fmt: skip


# what `make test` leaves out: their loop is that of another category
AGAIN = ("multi_turn_miss_param", "multi_turn_long_context", "web_search_no_snippet")


class Way(NamedTuple):
    """One entry of the official list as which both sides ask, and its wire.

    `form`: how its model writes calls. `is_bare`: its handler sends no ids of results, and empty
    texts in the place of null.
    """

    entry: str
    form: ReplyForm
    wire: WireName = "chat"
    is_bare: bool = False

    def tidy(self, body: Any) -> Any:
        """Return a request without what differs in every request: see the page of the suite."""
        tidied = loop_wires.WIRES[self.wire].tidy(body)
        for message in tidied["messages"] if self.is_bare else ():
            message.pop("tool_call_id", None)
            message["content"] = message["content"] or ""
        return tidied


WAYS = (
    Way("openbmb/MiniCPM-SALA-FC", "native"),
    Way("kimi-k2-0905-preview", "text"),
    Way("gpt-4.1-2025-04-14-FC", "native", "responses"),
    Way("gpt-4.1-2025-04-14", "text", "responses"),
    Way("gpt-5-mini-2025-08-07-FC", "native", "responses"),
    Way("claude-sonnet-4-5-20250929-FC", "native", "anthropic"),
    Way("claude-sonnet-4-5-20250929", "text", "anthropic"),
    Way("gemini-2.5-flash-FC", "native", "gemini"),
    Way("gemini-2.5-flash", "fenced", "gemini"),
    Way("firefunction-v2-FC", "native", is_bare=True),
    Way("palmyra-x-004", "native"),
    Way("nvidia/llama-3.1-nemotron-ultra-253b-v1", "tagged"),
    Way("DM-Cito-8B-v3", "listed"),
)


OTHERS = (
    "DeepSeek-V3.2-Exp", "DeepSeek-V3.2-Exp-FC", "glm-4.6-FC", "glm-4.5-FC", "grok-4-0709",
    "grok-4-0709-FC", "kimi-k2-0905-preview-FC", "nvidia/nemotron-4-340b-instruct",
    "qwen/qwq-32b-FC-novita", "qwen/qwq-32b-novita", "BitAgent/GoGoAgent",
)  # fmt: skip
"""Entries of handlers that send the same body through their package as without it."""


# as Python writes a set, where its quotes are escaped too
_SET = re.compile(rb"\{(\\*'[^'{}]*'(?:, \\*'[^'{}]*')+)\}")


def _sort_set(found: re.Match[bytes]) -> bytes:
    """Sort a set: its order differs from process to process."""
    return b"{%s}" % b", ".join(sorted(found[1].split(b", ")))


# --- the server -------------------------------------------------------------------------


class Heard(NamedTuple):
    """A request: who asked, of which entry where that is said, and the body."""

    who: str
    entry: str
    body: Any


class Endpoint:
    """Answers both sides by the same draw."""

    def __init__(self, replies: Replies, category: str, way: Way) -> None:
        self.replies = replies
        self.category = category
        self.way = way
        self.heard: list[Heard] = []

    async def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        who, *more = asked.target.strip("/").split("/")
        body = json.loads(_SET.sub(_sort_set, asked.body))
        self.heard.append(Heard(who, more[0] if who == "official" else "", body))
        wire = loop_wires.WIRES[self.way.wire]
        drawn = self.replies.draw(
            self.category, wire.read_messages(body), wire.read_tools(body), form=self.way.form,
            whole_arguments=wire.whole_arguments,
        )  # fmt: skip
        reply = wire.write_reply(drawn, len(self.heard))
        writer.write(fake.raw(200, json.dumps(reply).encode()))
        await writer.drain()


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
        wire=way.wire,
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


Selection = Mapping[Way, Sequence[str]]  # the conversations of each way


def compare(
    looped: Ask, folder: Path, category: str, tasks: Sequence[Task], selection: Selection
) -> dict[Way, Compared]:
    """Let both sides have the conversations; all official ones are had by one process."""
    replies = Replies(tasks)
    endpoints = {way: Endpoint(replies, category, way) for way in selection}
    with ExitStack() as stack:
        urls = {
            way: stack.enter_context(fake.in_thread(endpoint)).url.removesuffix("/v1")
            for way, endpoint in endpoints.items()
        }
        jobs = [
            ["play", way.entry, category, list(ids), f"{urls[way]}/official"]
            for way, ids in selection.items()
        ]
        runs = {
            way: play_ours(folder / str(number), way, category, scored(tasks, ids), urls[way])
            for number, (way, ids) in enumerate(selection.items())
        }
        answers = looped(jobs)
    return {
        way: compare_way(endpoints[way], each, runs[way], tasks)
        for way, each in zip(selection, answers, strict=True)
    }


def compare_way(
    endpoint: Endpoint, answers: list[Any], run: Run, tasks: Sequence[Task]
) -> Compared:
    theirs: dict[str, list[Any]] = {}
    tidy = endpoint.way.tidy
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
            place, their_text, our_text = first_difference(theirs[id], ours[id])
            if kind := kind_of_difference(their_text, our_text, str(ours[id])):
                listed[kind] += 1
            else:
                unlisted.append((id, place, *_around(their_text, our_text)))
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


def kind_of_difference(theirs: str, ours: str, said: str) -> str:
    """Return the name under which the page lists a difference, "" if it does not.

    `said` is our request. A text that the executor changed has another size, too.
    """
    if "(a(b=1)" in theirs or "=a(b=1)" in theirs:
        return "dictionary of dictionaries"
    if evaluated(ours) == evaluated(theirs) or ("disk_usage" in ours and ODD_VALUES[0] in said):
        return "blank before a bracket"
    return ""


def evaluated(text: str) -> str:
    """Return a text without what the official executor changes in the source of a call."""
    return re.sub(r"(\w)\s+\(", r"\1(", re.sub(r"\w+_instance\.", "", text))


def scored(tasks: Sequence[Task], ids: Sequence[str]) -> list[str]:
    return [task.id for task in tasks if task.id in ids and task.kind == "scored"]


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
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if theirs.keys() != ours.keys():
            return path, lacking(theirs, ours), lacking(ours, theirs)
        pairs = [(f"{path}.{key}", theirs[key], ours[key]) for key in theirs]
    elif isinstance(theirs, list) and isinstance(ours, list):
        pairs = [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(theirs, ours, strict=False))]
        if all(a == b for _, a, b in pairs):
            return path, f"{len(theirs)} of them", f"{len(ours)} of them"
    else:
        return path, str(theirs), str(ours)
    return next(first_difference(a, b, at) for at, a, b in pairs if a != b)


def lacking(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    return str({key: one[key] for key in one.keys() - other.keys()})


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


def check_equal(category: str, made: Mapping[Way, Compared]) -> None:
    for way, each in made.items():
        print(category, way.entry, each._replace(unlisted=[]))
    assert {way.entry: each.unlisted for way, each in made.items() if each.unlisted} == {}


@pytest.mark.parametrize(
    "category",
    [pytest.param(name, marks=[pytest.mark.long] if name in AGAIN else []) for name in CATEGORIES],
)
def test_some_conversations_are_the_official_ones(
    looped: Ask, stubbed: None, tmp_path: Path, category: str
) -> None:
    tasks = list(api.load("bfcl", category=category))
    ids = [task.id for task in tasks if task.kind == "scored"]
    if category.startswith("memory"):  # one of the scenario with the fewest sessions
        ways = WAYS[CATEGORIES.index(category) % 3 :: 3]
        chosen = {way: needed(tasks, ids[-1:]) for way in ways}
    else:
        chosen = {way: [ids[7 * number]] for number, way in enumerate(WAYS)}
    check_equal(category, compare(looped, tmp_path, category, tasks, chosen))


def test_a_model_is_asked_as_other_entries_are(looped: Ask, stubbed: None, tmp_path: Path) -> None:
    category = "multi_turn_miss_func"
    listed = official_models.read_models(official_data.fetch_wheel())
    ways = [Way(entry, "native" if listed[entry].is_native else "text") for entry in OTHERS]
    tasks = list(api.load("bfcl", category=category))
    made = compare(looped, tmp_path, category, tasks, {way: [f"{category}_3"] for way in ways})
    check_equal(category, made)
    assert all(each.n == 1 and each.n_requests > 2 for each in made.values())


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.entry)
def test_all_conversations_are_the_official_ones(
    looped: Ask, stubbed: None, tmp_path: Path, way: Way, category: str
) -> None:
    tasks = list(api.load("bfcl", category=category))
    every = {way: [task.id for task in tasks]}
    check_equal(category, compare(looped, tmp_path, category, tasks, every))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_packages_of_the_vendors_send_what_the_stand_ins_send(
    looped: Ask, handler_python: Path
) -> None:
    category = "multi_turn_miss_func"
    packaged = asker("official_loops.py", handler_python)
    tasks = list(api.load("bfcl", category=category))
    ids = [task.id for task in tasks][::40]

    def sent(ask: Ask, way: Way) -> list[Any]:
        endpoint = Endpoint(Replies(tasks), category, way)
        with fake.in_thread(endpoint) as server:
            url = f"{server.url.removesuffix('/v1')}/official"
            assert len(ask([["play", way.entry, category, ids, url]])[0]) == len(ids)
        return [(heard.entry, way.tidy(heard.body)) for heard in endpoint.heard]

    assert set(packaged([["packages"]])[0]) == {"anthropic", "google", "openai"}
    for way in WAYS:
        theirs, ours = sent(packaged, way), sent(looped, way)
        assert theirs == ours, first_difference([x for _, x in theirs], [x for _, x in ours])
