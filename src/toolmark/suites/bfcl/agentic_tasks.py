"""Memory and web search: their entries, and the environment factory for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from toolmark.core import sentence_encoder, user_modules
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.environment import Environment, EnvironmentFactory
from toolmark.core.errors import DataError, ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Limits, Message, Task, Text, Tool, Turn
from toolmark.environments import search_engines, vector_memory
from toolmark.environments.memory_environment import (
    MEMORY_PLACEHOLDER,
    KeyValueMemory,
    MemoryEnvironment,
    MemoryStore,
    Summary,
    rank_by_words,
)
from toolmark.official_bfcl import official_data, tool_schemas
from toolmark.official_bfcl.agentic_scoring import MEMORY_CATEGORIES, WEB_CATEGORIES
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.suites.bfcl.parameters import DEFAULT_ENCODER

CATEGORIES = (*WEB_CATEGORIES, *MEMORY_CATEGORIES)
GROUPS: dict[str, tuple[str, ...]] = {
    "web_search": WEB_CATEGORIES,
    "memory": MEMORY_CATEGORIES,
    "agentic": CATEGORIES,
}

# the order in which the official loader puts the scenarios' sessions
SCENARIOS = ("notetaker", "healthcare", "finance", "customer", "student")
MAX_STEPS = 21  # the official loop stops after its counter has passed 20

_DATA_FOLDER = "bfcl_eval/data"
_PROMPTS_FILE = "bfcl_eval/constants/default_prompts.py"
_TYPES_FILE = "bfcl_eval/constants/type_mappings.py"
_ANSWER_FORMAT_NAME = "ADDITIONAL_SYSTEM_PROMPT_FOR_AGENTIC_RESPONSE_FORMAT"


class _Entry(msgspec.Struct):
    id: str
    question: list[list[dict[str, str]]]
    scenario: str = ""


class _GroundTruth(msgspec.Struct):
    id: str
    ground_truth: list[str]


# --- entries ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CategoryTasks:
    """The entries of one category, with what all of them share."""

    category: str
    sessions: tuple[_Entry, ...]
    tests: tuple[_Entry, ...]
    truths: tuple[_GroundTruth, ...]
    tools: tuple[Tool, ...]
    system_prompts: Mapping[str, str]
    answer_format: str

    def __len__(self) -> int:
        """Return the number of tasks, set-up sessions included."""
        return len(self.sessions) + len(self.tests)

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks: every session, in order, before the first test."""
        earlier_sessions: dict[str, tuple[str, ...]] = {}
        for entry in self.sessions:
            needed_ids = earlier_sessions.get(entry.scenario, ())
            task = self._session_task(entry, needed_ids)
            earlier_sessions[entry.scenario] = (*needed_ids, task.id)
            yield task
        for entry, truth in zip(self.tests, self.truths, strict=True):
            yield self._test_task(entry, truth, earlier_sessions.get(entry.scenario, ()))

    def _session_task(self, entry: _Entry, needed_ids: tuple[str, ...]) -> Task:
        first, *later = (_to_messages(turn) for turn in entry.question)
        system_message = _system_message(self.system_prompts[entry.scenario])
        id = entry.id.replace("memory", self.category, 1)
        return Task(
            id=id,
            item=id,
            suite="bfcl",
            category=self.category,
            turns=tuple(Turn(messages=messages) for messages in ((system_message, *first), *later)),
            tools=self.tools,
            limits=Limits(steps=MAX_STEPS),
            needs=needed_ids,
            kind="setup",
        )

    def _test_task(self, entry: _Entry, truth: _GroundTruth, needed_ids: tuple[str, ...]) -> Task:
        text = self.answer_format
        if entry.scenario:
            text = f"{self.system_prompts[entry.scenario]}\n\n{text}"
        stem = "memory" if entry.scenario else "web_search"
        id = entry.id.replace(stem, self.category, 1)
        return Task(
            id=id,
            item=id,
            suite="bfcl",
            category=self.category,
            turns=(Turn(messages=(_system_message(text), *_to_messages(entry.question[0]))),),
            tools=self.tools,
            data=msgspec.to_builtins(BfclTaskData(truth=truth.ground_truth)),
            limits=Limits(steps=MAX_STEPS),
            needs=needed_ids,
        )


def read_tasks(root: Path, category: str) -> tuple[CategoryTasks, dict[str, str]]:
    """Return the tasks of an agentic category, and the SHA-256 of what they come from."""
    hashes: dict[str, str] = {}
    return _read_category(root, category, hashes), hashes


def _read_category(root: Path, category: str, hashes: dict[str, str]) -> CategoryTasks:
    file = "web_search" if category in WEB_CATEGORIES else "memory"
    tests = _read_rows(root, f"BFCL_v4_{file}.json", _Entry, hashes)
    truths = _read_rows(root, f"possible_answer/BFCL_v4_{file}.json", _GroundTruth, hashes)
    if [entry.id for entry in tests] != [truth.id for truth in truths]:
        raise DataError(f"BFCL_v4_{file}.json: entries and answers do not pair")
    docs = "web_search" if category in WEB_CATEGORIES else category
    types = official_data.read_constants(root / _TYPES_FILE)["GORILLA_TO_OPENAPI"]
    prompts = official_data.read_constants(root / _PROMPTS_FILE)
    sessions: list[_Entry] = []
    for scenario in SCENARIOS if category in MEMORY_CATEGORIES else ():
        name = f"memory_prereq_conversation/memory_{scenario}.json"
        sessions += _read_rows(root, name, _Entry, hashes)
    return CategoryTasks(
        category=category,
        sessions=tuple(sessions),
        tests=tuple(tests),
        truths=tuple(truths),
        tools=tuple(
            tool_schemas.make_tool(doc, types)
            for doc in _read_rows(root, f"multi_turn_func_doc/{docs}.json", dict, hashes)
        ),
        system_prompts=_system_prompts(prompts, category),
        answer_format=prompts[_ANSWER_FORMAT_NAME],
    )


def _system_prompts(prompts: Mapping[str, Any], category: str) -> dict[str, str]:
    """Return by scenario the system prompt, with a place for what is remembered."""
    if category not in MEMORY_CATEGORIES:
        return {}
    backend = "UNIFIED" if category == "memory_rec_sum" else "CORE_ARCHIVAL"
    template = prompts[f"MEMORY_BACKEND_INSTRUCTION_{backend}"]
    return {
        scenario: template.format(scenario_setting=setting, memory_content=MEMORY_PLACEHOLDER)
        for scenario, setting in prompts["MEMORY_AGENT_SETTINGS"].items()
    }


def _read_rows(root: Path, name: str, row_type: Any, hashes: dict[str, str]) -> list[Any]:
    path = root / _DATA_FOLDER / name
    try:
        return [
            msgspec.json.decode(line, type=row_type)
            for line in official_data.read_lines(path, hashes)
        ]
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: {describe_decode_error(error)}") from None


def _to_messages(turn: Sequence[Mapping[str, str]]) -> tuple[Message, ...]:
    return tuple(
        Message(role=message["role"], parts=(Text(message["content"]),))  # type: ignore[arg-type]
        for message in turn
    )


def _system_message(text: str) -> Message:
    return Message(role="system", parts=(Text(text),))


# --- the environment factory ------------------------------------------------------------


_NONE_MISSING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AgenticSettings:
    """Which categories are run, which engine answers searches, and which encoder serves memory.

    `is_only_family`: no category of another family runs in the same run.
    """

    categories: frozenset[str]
    is_only_family: bool = True
    search: str = "serpapi"
    encoder: str = DEFAULT_ENCODER

    def unavailable_categories(self) -> dict[str, str]:
        """Return the categories that cannot run on this machine, and why."""
        found: dict[str, str] = {}
        search_problem = search_engines.missing_requirement(self.search)
        if search_problem:
            found |= dict.fromkeys(WEB_CATEGORIES, search_problem)
        if not sentence_encoder.is_installed():
            found["memory_vector"] = _install_message("memory_vector needs an encoder", "embed")
        if not util.find_spec("rank_bm25"):
            found["memory_kv"] = _install_message("memory_kv searches by words", "bfcl")
        return {name: reason for name, reason in found.items() if name in self.categories}


class AgenticEnvironments(EnvironmentFactory):
    """Makes the memory or web-search environment of each episode."""

    def __init__(
        self,
        engine: Any,
        encoder: sentence_encoder.Encoder | None,
        unavailable: Mapping[str, str] = _NONE_MISSING,
    ) -> None:
        self.engine = engine
        self.encoder = encoder
        self.unavailable = unavailable

    @asynccontextmanager
    async def open_environment(
        self, task: Task, states: Mapping[str, Any], /
    ) -> AsyncIterator[Environment]:
        """Yield the task's environment; a memory continues from the session before.

        Raises ToolEnvironmentError for a category that cannot run here: its tasks are not run.
        """
        if task.category in self.unavailable:
            raise ToolEnvironmentError(self.unavailable[task.category])
        if task.category in WEB_CATEGORIES:
            from toolmark.environments.search_environment import SearchEnvironment

            snippets = task.category == "web_search_base"
            yield SearchEnvironment(
                task.tools, self.engine, snippets=snippets, official_wording=True
            )
            return
        state = states[task.needs[-1]] if task.needs else None
        yield MemoryEnvironment(
            task.tools,
            self._open_store(task.category, state),
            class_name=f"MemoryAPI_{task.category.removeprefix('memory_')}",
        )

    def _open_store(self, category: str, state: Any) -> MemoryStore:
        match category:
            case "memory_kv":
                return KeyValueMemory(rank_by_words, state)
            case "memory_vector" if self.encoder is not None:
                return vector_memory.VectorMemory(self.encoder, state)
            case "memory_rec_sum":
                return Summary(state)
            case _:
                raise UsageError(f"this factory was not opened for {category}")


@asynccontextmanager
async def open_environments(
    settings: AgenticSettings, media: MediaStore
) -> AsyncIterator[AgenticEnvironments]:
    """Open what the categories need, once for all episodes: an encoder, a search engine.

    If only some categories cannot run, their tasks are not run, with the reason. Raises UsageError
    if no category can run.
    """
    unavailable = settings.unavailable_categories()
    encoder = None
    if "memory_vector" in settings.categories - unavailable.keys():
        try:
            encoder = sentence_encoder.load_encoder(settings.encoder)
            encoder(["loaded"])  # a model is loaded with its first text: now, not in an episode
        except UsageError as error:
            unavailable["memory_vector"] = str(error)
    if settings.is_only_family and unavailable.keys() == settings.categories:
        raise UsageError("; ".join(sorted(set(unavailable.values()))))
    available = settings.categories - unavailable.keys()
    if available.isdisjoint(WEB_CATEGORIES):
        yield AgenticEnvironments(None, encoder, unavailable)
        return
    async with search_engines.open_engine(settings.search, _open_transport) as engine:
        yield AgenticEnvironments(engine, encoder, unavailable)


def _open_transport(headers: Mapping[str, str]) -> search_engines.ClosableTransport:
    from toolmark.models.http_client import HttpClient

    return HttpClient(headers, timeout_s=60.0)


def _install_message(problem: str, extra: str) -> str:
    return f"{problem}: {user_modules.install_command(extra)}"
