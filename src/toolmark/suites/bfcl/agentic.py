"""Memory and web search: their entries, and the site on which they are played."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from toolmark import encoder as encoders
from toolmark import plugin
from toolmark.errors import DataError, UsageError, WorldError
from toolmark.media import Media
from toolmark.suites.bfcl import data, schema
from toolmark.suites.bfcl.agentic_score import MEMORY, WEB
from toolmark.types import Limits, Message, Task, Text, Tool, Turn, World
from toolmark.worlds import engines, vector
from toolmark.worlds.memory import SLOT, KeyValue, Memory, Store, Summary, by_words

CATEGORIES = (*WEB, *MEMORY)
GROUPS: dict[str, tuple[str, ...]] = {"web_search": WEB, "memory": MEMORY, "agentic": CATEGORIES}

# the order in which the official loader puts the scenarios' sessions
SCENARIOS = ("notetaker", "healthcare", "finance", "customer", "student")
STEPS = 21  # the official loop stops after its counter has passed 20
ENCODER = "all-MiniLM-L6-v2"

_DATA = "bfcl_eval/data"
_PROMPTS = "bfcl_eval/constants/default_prompts.py"
_TYPES = "bfcl_eval/constants/type_mappings.py"
_ANSWER_FORMAT = "ADDITIONAL_SYSTEM_PROMPT_FOR_AGENTIC_RESPONSE_FORMAT"


class _Entry(msgspec.Struct):
    id: str
    question: list[list[dict[str, str]]]
    scenario: str = ""


class _Truth(msgspec.Struct):
    id: str
    ground_truth: list[str]


# --- entries ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Family:
    """The entries of one category, with what all of them share."""

    category: str
    sessions: tuple[_Entry, ...]
    tests: tuple[_Entry, ...]
    truths: tuple[_Truth, ...]
    tools: tuple[Tool, ...]
    opening: Mapping[str, str]
    answer_format: str

    def __len__(self) -> int:
        """Return the number of tasks, set-up sessions included."""
        return len(self.sessions) + len(self.tests)

    def __iter__(self) -> Iterator[Task]:
        """Make the tasks: every session, in order, before the first test."""
        before: dict[str, tuple[str, ...]] = {}
        for entry in self.sessions:
            needs = before.get(entry.scenario, ())
            task = self._session(entry, needs)
            before[entry.scenario] = (*needs, task.id)
            yield task
        for entry, truth in zip(self.tests, self.truths, strict=True):
            yield self._test(entry, truth, before.get(entry.scenario, ()))

    def _session(self, entry: _Entry, needs: tuple[str, ...]) -> Task:
        first, *rest = (_messages(turn) for turn in entry.question)
        opening = _system(self.opening[entry.scenario])
        id = entry.id.replace("memory", self.category, 1)
        return Task(
            id=id,
            item=id,
            suite="bfcl",
            category=self.category,
            turns=tuple(Turn(messages=said) for said in ((opening, *first), *rest)),
            tools=self.tools,
            limits=Limits(steps=STEPS),
            needs=needs,
            kind="setup",
        )

    def _test(self, entry: _Entry, truth: _Truth, needs: tuple[str, ...]) -> Task:
        text = self.answer_format
        if entry.scenario:
            text = f"{self.opening[entry.scenario]}\n\n{text}"
        stem = "memory" if entry.scenario else "web_search"
        id = entry.id.replace(stem, self.category, 1)
        return Task(
            id=id,
            item=id,
            suite="bfcl",
            category=self.category,
            turns=(Turn(messages=(_system(text), *_messages(entry.question[0]))),),
            tools=self.tools,
            reference={"truth": truth.ground_truth},
            limits=Limits(steps=STEPS),
            needs=needs,
        )


def read(root: Path, category: str) -> tuple[Family, dict[str, str]]:
    """Return the tasks of an agentic category, and the SHA-256 of what they come from."""
    hashes: dict[str, str] = {}
    return _family(root, category, hashes), hashes


def _family(root: Path, category: str, hashes: dict[str, str]) -> Family:
    file = "web_search" if category in WEB else "memory"
    tests = _rows(root, f"BFCL_v4_{file}.json", _Entry, hashes)
    truths = _rows(root, f"possible_answer/BFCL_v4_{file}.json", _Truth, hashes)
    if [entry.id for entry in tests] != [truth.id for truth in truths]:
        raise DataError(f"BFCL_v4_{file}.json: entries and answers do not pair")
    docs = "web_search" if category in WEB else category
    types = data.constants(root / _TYPES)["GORILLA_TO_OPENAPI"]
    sentences = data.constants(root / _PROMPTS)
    sessions: list[_Entry] = []
    for scenario in SCENARIOS if category in MEMORY else ():
        name = f"memory_prereq_conversation/memory_{scenario}.json"
        sessions += _rows(root, name, _Entry, hashes)
    return Family(
        category=category,
        sessions=tuple(sessions),
        tests=tuple(tests),
        truths=tuple(truths),
        tools=tuple(
            schema.tool(doc, types)
            for doc in _rows(root, f"multi_turn_func_doc/{docs}.json", dict, hashes)
        ),
        opening=_openings(sentences, category),
        answer_format=sentences[_ANSWER_FORMAT],
    )


def _openings(sentences: Mapping[str, Any], category: str) -> dict[str, str]:
    """Return by scenario what a conversation opens with; what is remembered has a place in it."""
    if category not in MEMORY:
        return {}
    form = "UNIFIED" if category == "memory_rec_sum" else "CORE_ARCHIVAL"
    template = sentences[f"MEMORY_BACKEND_INSTRUCTION_{form}"]
    return {
        scenario: template.format(scenario_setting=setting, memory_content=SLOT)
        for scenario, setting in sentences["MEMORY_AGENT_SETTINGS"].items()
    }


def _rows(root: Path, name: str, kind: Any, hashes: dict[str, str]) -> list[Any]:
    path = root / _DATA / name
    try:
        return [msgspec.json.decode(line, type=kind) for line in data.lines(path, hashes)]
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: {error}") from None


def _messages(turn: Sequence[Mapping[str, str]]) -> tuple[Message, ...]:
    return tuple(
        Message(role=said["role"], parts=(Text(said["content"]),))  # type: ignore[arg-type]
        for said in turn
    )


def _system(text: str) -> Message:
    return Message(role="system", parts=(Text(text),))


# --- the site ---------------------------------------------------------------------------


_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Setting:
    """Which categories are played, what answers searches, and which encoder remembers.

    `alone`: no category of another family is played beside these.
    """

    categories: frozenset[str]
    alone: bool = True
    search: str = "serpapi"
    encoder: str = ENCODER

    def missing(self) -> dict[str, str]:
        """Return the categories that cannot be played here, and why."""
        found: dict[str, str] = {}
        searches = engines.lacking(self.search)
        if searches:
            found |= dict.fromkeys(WEB, searches)
        if not encoders.installed():
            found["memory_vector"] = _lacks("memory_vector needs an encoder", "embed")
        if not util.find_spec("rank_bm25"):
            found["memory_kv"] = _lacks("memory_kv searches by words", "bfcl")
        return {name: why for name, why in found.items() if name in self.categories}


class Agentic:
    """Gives each episode its memory or its web."""

    def __init__(
        self, engine: Any, encoder: encoders.Encoder | None, missing: Mapping[str, str] = _NONE
    ) -> None:
        self.engine = engine
        self.encoder = encoder
        self.missing = missing

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[World]:
        """Return the task's world; a memory goes on from the last of the sessions before.

        Raises WorldError for a category that cannot be played: its tasks are not run.
        """
        if task.category in self.missing:
            raise WorldError(self.missing[task.category])
        if task.category in WEB:
            from toolmark.worlds.search import Search

            snippets = task.category == "web_search_base"
            yield Search(task.tools, self.engine, snippets=snippets, official=True)
            return
        state = needed[task.needs[-1]] if task.needs else None
        yield Memory(task.tools, self._store(task.category, state))

    def _store(self, category: str, state: Any) -> Store:
        match category:
            case "memory_kv":
                return KeyValue(by_words, state)
            case "memory_vector" if self.encoder is not None:
                return vector.Vector(self.encoder, state)
            case "memory_rec_sum":
                return Summary(state)
            case _:
                raise UsageError(f"this site was not opened for {category}")


@asynccontextmanager
async def site(setting: Setting, media: Media) -> AsyncIterator[Agentic]:
    """Open what the categories need, once for all episodes: an encoder, a search engine.

    Where other categories can be played, those that cannot are not run, with the reason. Raises
    UsageError where nothing at all could be.
    """
    missing = setting.missing()
    encoder = None
    if "memory_vector" in setting.categories - missing.keys():
        try:
            encoder = encoders.load(setting.encoder)
            encoder(["loaded"])  # a model is read with its first text: now, not in an episode
        except UsageError as error:
            missing["memory_vector"] = str(error)
    if setting.alone and missing.keys() == setting.categories:
        raise UsageError("; ".join(sorted(set(missing.values()))))
    played = setting.categories - missing.keys()
    if played.isdisjoint(WEB):
        yield Agentic(None, encoder, missing)
        return
    async with engines.opened(setting.search, _connected) as engine:
        yield Agentic(engine, encoder, missing)


def _connected(headers: Mapping[str, str]) -> engines.Connection:
    from toolmark.models.http import Client

    return Client(headers, timeout_s=60.0)


def _lacks(what: str, extra: str) -> str:
    return f"{what}: {plugin.install(extra)}"
