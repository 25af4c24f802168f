"""The environment of a vision episode: web search and fetch tools, and a simulated user.

Searches are answered by the pages that the items were made with, or by any engine of
`toolmark.environments.search_engines`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from toolmark.core.environment import EnvironmentFactory, SimulatedUser
from toolmark.core.errors import ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Message, Ruling, Step, Task, Text, Tool
from toolmark.core.task_data import read_task_data
from toolmark.environments import search_engines
from toolmark.environments.page_corpus import PageCorpus
from toolmark.environments.search_environment import (
    QUERY_PARTS,
    SEARCH_TOOL,
    SearchEngine,
    SearchEnvironment,
)
from toolmark.environments.simulated_outages import UnreliableEngine
from toolmark.models.http_client import HttpClient
from toolmark.suites.mfcl_vision import final_answer, prompts
from toolmark.suites.mfcl_vision.item_records import ItemTruth
from toolmark.suites.mfcl_vision.parameters import PAGES_ENGINE

Corpora: TypeAlias = Callable[[int], PageCorpus]
"""A function from the seed of a world to its pages."""
FAILURE_SETTING = "failed"
"""Key in a picture's settings: why there is no picture."""
_PAGES_MISMATCH_HINT = (
    "the set was made with other parameters or another version; say -T search=corpus:DIR/pages "
    "with the "
    "folder of the set"
)
_TIMEOUT_S = 60.0


class UnknowingUser(SimulatedUser):
    """A simulated user who answers one question per episode, by saying that it does not know."""

    async def answer(
        self, task: Task, turn: int, steps: Sequence[Step], text: str, /
    ) -> tuple[Ruling, Message | None]:
        """Rule on a text of the model: the first question is answered, without new information."""
        if final_answer.parse_final_message(text).kind != "asks":
            return Ruling(allowed=False, reason="no question", judge="rules"), None
        if any(step.ruling is not None and step.ruling.allowed for step in steps):
            return Ruling(allowed=False, reason="too often", judge="rules"), None
        reply = Message(role="user", parts=(Text(prompts.USER_REPLY),))
        return Ruling(allowed=True, reply=prompts.USER_REPLY, judge="rules"), reply


class WebEnvironment(SearchEnvironment):
    """One episode on the web, with a simulated user."""

    user = UnknowingUser()


class WebEnvironmentFactory(EnvironmentFactory):
    """Makes a web environment for each episode, with the tools that its task describes.

    `engine` answers searches; without it, the pages of the task's own world do.
    """

    def __init__(self, opener: WebOpener, engine: SearchEngine | None) -> None:
        self._opening = opener
        self._engine = engine
        self._corpus_lock = asyncio.Lock()

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[WebEnvironment]:
        """Yield a fresh environment, with simulated outages if the suite asks for them."""
        environment = await self.environment_without_outages(task)
        share = self._opening.outages
        if share:
            environment.engine = UnreliableEngine(
                environment.engine, share=share, seed=task.seed, item=task.item
            )
        yield environment

    async def environment_without_outages(self, task: Task) -> WebEnvironment:
        """Return an environment without simulated outages. Raises ToolEnvironmentError."""
        engine = self._engine or await self._task_corpus(task)
        snippets = self._opening.snippets
        return WebEnvironment(
            task.tools, engine, snippets=snippets, takes_parts=has_split_query(task.tools)
        )

    async def _task_corpus(self, task: Task) -> SearchEngine:
        """Return the pages of the task's world.

        Raises ToolEnvironmentError if the task was made with other pages.
        """
        # A world is drawn once, however many episodes wait for it.
        async with self._corpus_lock:
            corpus = await asyncio.to_thread(self._opening.corpus, task.seed)
        for hop in read_task_data(task, ItemTruth).hops:
            if (await corpus.fetch(hop.href)).error:
                raise ToolEnvironmentError(
                    f"{hop.href} is not a page of seed {task.seed} here: {_PAGES_MISMATCH_HINT}"
                )
        return corpus


def picture_failure(task: Task) -> str:
    """Return why a task's picture could not be made, "" if it was made."""
    return str(read_task_data(task, ItemTruth).settings.get(FAILURE_SETTING, ""))


def has_split_query(tools: Iterable[Tool]) -> bool:
    """Tell whether the search tool takes its query in parts."""
    search = next((tool for tool in tools if tool.name == SEARCH_TOOL), None)
    return search is not None and not QUERY_PARTS.keys().isdisjoint(
        search.parameters.get("properties", {})
    )


@dataclass(frozen=True, slots=True)
class WebOpener:
    """Opens the web environments of a run.

    `pages` are the pages of the items: drawn from a task's seed, in a folder, or unknown (None).
    """

    search: str
    pages: Corpora | Path | None
    snippets: bool = True
    outages: float = 0.0

    def __post_init__(self) -> None:
        """Raise UsageError for a share of outages outside 0 to 1."""
        if not 0 <= self.outages <= 1:
            raise UsageError(f"outages={self.outages:g}: a share of the calls, from 0 to 1")

    @asynccontextmanager
    async def __call__(self, media: MediaStore) -> AsyncIterator[WebEnvironmentFactory]:
        """Open the environment factory. Raises UsageError if a requirement is missing."""
        if reason := self._missing_requirement():
            raise UsageError(reason)
        if self.search == PAGES_ENGINE and callable(self.pages):
            yield WebEnvironmentFactory(self, None)
            return
        async with search_engines.open_engine(self._engine_name(), _connect_client) as engine:
            yield WebEnvironmentFactory(self, engine)

    def missing_parts(self, tasks: Iterable[Task]) -> Mapping[str, str]:
        """Return what searching requires and lacks, before pictures are made."""
        reason = self._missing_requirement()
        return {f"search={self.search}": reason} if reason else {}

    def corpus(self, seed: int) -> PageCorpus:
        """Return the searched pages for the world of a seed.

        Raises UsageError if the items have no pages of their own.
        """
        if self.search == PAGES_ENGINE and callable(self.pages):
            return self.pages(seed)
        source = search_engines.answering_engine(self._engine_name())
        if source.kind != "corpus":
            raise UsageError("these items have no pages of their own")
        return PageCorpus.from_folder(Path(source.location))

    def _engine_name(self) -> str:
        """Return the engine's name in the notation of `search_engines`."""
        uses_folder = self.search == PAGES_ENGINE and isinstance(self.pages, Path)
        return f"corpus:{self.pages}" if uses_folder else self.search

    def _missing_requirement(self) -> str:
        if self.search != PAGES_ENGINE:
            return search_engines.missing_requirement(self.search)
        if self.pages is None:
            message = "these items bring no pages of their own"
            return f"{message}; -T search= can be {search_engines.ENGINE_CHOICES}"
        return (
            search_engines.missing_requirement(self._engine_name())
            if isinstance(self.pages, Path)
            else ""
        )


def _connect_client(headers: Mapping[str, str]) -> search_engines.ClosableTransport:
    return HttpClient(headers, timeout_s=_TIMEOUT_S)
