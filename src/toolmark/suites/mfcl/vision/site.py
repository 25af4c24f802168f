"""The surroundings of a vision episode: the web as two tools, and a user who knows no more.

What answers searches is the pages that the items were made with, or any engine of
`worlds.engines`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from toolmark.errors import UsageError, WorldError
from toolmark.media import Media
from toolmark.models.http import Client
from toolmark.suites.mfcl.vision import answer, wording
from toolmark.suites.mfcl.vision.score import truth_of
from toolmark.types import Message, Ruling, Step, Task, Text, Tool
from toolmark.worlds import engines
from toolmark.worlds.corpus import Corpus
from toolmark.worlds.outages import Shaky
from toolmark.worlds.search import PARTS, SEARCH, Engine, Search

PAGES = "pages"
"""The engine that searches the pages of the items themselves."""
Corpora: TypeAlias = Callable[[int], Corpus]
"""From the seed of a world to its pages."""
FAILED = "failed"
"""Among the settings of a picture: why there is none."""
_ELSE = (
    "the set was made with other knobs or another version; say -T search=corpus:DIR/pages with the "
    "folder of the set"
)
_TIMEOUT_S = 60.0


class Unknowing:
    """A user who, asked back, says once an episode that it does not know."""

    async def answer(
        self, task: Task, turn: int, steps: Sequence[Step], text: str, /
    ) -> tuple[Ruling, Message | None]:
        """Rule on a text: a question is answered once, by saying nothing new."""
        if answer.read(text).kind != "asks":
            return Ruling(allowed=False, reason="no question", judge="rules"), None
        if any(step.ruling is not None and step.ruling.allowed for step in steps):
            return Ruling(allowed=False, reason="too often", judge="rules"), None
        said = Message(role="user", parts=(Text(wording.REPLY),))
        return Ruling(allowed=True, reply=wording.REPLY, judge="rules"), said


class Looking(Search):
    """One episode on the web, with somebody to talk to."""

    user = Unknowing()


class Web:
    """Gives each episode the web as its tools describe it.

    `engine` answers, or else the corpus of the world that the task was drawn from.
    """

    def __init__(self, opening: Opening, engine: Engine | None) -> None:
        self._opening = opening
        self._engine = engine
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[Looking]:
        """Return a fresh world."""
        looking = await self.calm(task)
        share = self._opening.outages
        if share:
            looking.engine = Shaky(looking.engine, share=share, seed=task.seed, item=task.item)
        yield looking

    async def calm(self, task: Task) -> Looking:
        """Return a world in which nothing is down but what is. Raises WorldError."""
        engine = self._engine or await self._own(task)
        snippets = self._opening.snippets
        return Looking(task.tools, engine, snippets=snippets, parted=parted(task.tools))

    async def _own(self, task: Task) -> Engine:
        """Return the pages of the task's world. Raises WorldError where they are others."""
        async with self._turn:  # a world is drawn once, however many wait for it
            corpus = await asyncio.to_thread(self._opening.corpus, task.seed)
        for hop in truth_of(task).hops:
            if (await corpus.fetch(hop.href)).error:
                raise WorldError(f"{hop.href} is no page of seed {task.seed} here: {_ELSE}")
        return corpus


def failed(task: Task) -> str:
    """Return why a task's picture could not be made, "" if it was."""
    return str(truth_of(task).settings.get(FAILED, ""))


def parted(tools: Iterable[Tool]) -> bool:
    """Tell whether the search tool asks for its query in parts."""
    search = next((tool for tool in tools if tool.name == SEARCH), None)
    return search is not None and not PARTS.keys().isdisjoint(
        search.parameters.get("properties", {})
    )


@dataclass(frozen=True, slots=True)
class Opening:
    """Opens the web once for a run.

    `pages` are those of the items: drawn from a task's seed, in a folder, or not known.
    """

    search: str
    pages: Corpora | Path | None
    snippets: bool = True
    outages: float = 0.0

    def __post_init__(self) -> None:
        """Raise UsageError for a share of outages that is none."""
        if not 0 <= self.outages <= 1:
            raise UsageError(f"outages={self.outages:g}: a share of the calls, from 0 to 1")

    @asynccontextmanager
    async def __call__(self, media: Media) -> AsyncIterator[Web]:
        """Open it. Raises UsageError where something is lacking."""
        if why := self._lacking():
            raise UsageError(why)
        if self.search == PAGES and callable(self.pages):
            yield Web(self, None)
            return
        async with engines.opened(self._named(), _connected) as engine:
            yield Web(self, engine)

    def missing(self, tasks: Iterable[Task]) -> Mapping[str, str]:
        """Say what searching lacks, before pictures are made for it."""
        why = self._lacking()
        return {f"search={self.search}": why} if why else {}

    def corpus(self, seed: int) -> Corpus:
        """Return the pages that are searched, of the world of a seed. Raises UsageError."""
        if self.search == PAGES and callable(self.pages):
            return self.pages(seed)
        named = engines.source(self._named())
        if named.kind != "corpus":
            raise UsageError("these items have no pages of their own")
        return Corpus.of(Path(named.place))

    def _named(self) -> str:
        """Return the engine's name as `worlds.engines` reads it."""
        own = self.search == PAGES and isinstance(self.pages, Path)
        return f"corpus:{self.pages}" if own else self.search

    def _lacking(self) -> str:
        if self.search != PAGES:
            return engines.lacking(self.search)
        if self.pages is None:
            told = "these items bring no pages of their own"
            return f"{told}; -T search= can be {engines.CHOICES}"
        return engines.lacking(self._named()) if isinstance(self.pages, Path) else ""


def _connected(headers: Mapping[str, str]) -> engines.Connection:
    return Client(headers, timeout_s=_TIMEOUT_S)
