"""The web as two tools, with the signatures and result shapes of BFCL V4: search and fetch.

What answers is an Engine: a search provider and the public web, a folder of pages, or a recording
of either. A page that cannot be had is an answer that the model sees; an engine that is down is
not, it ends the episode as not run.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec

from toolmark import codec
from toolmark.errors import EndpointError, WorldError
from toolmark.types import Call, Record, Result, Tool
from toolmark.worlds import page, public
from toolmark.worlds.cassette import Cassette
from toolmark.worlds.objects import Said, arguments, failed, result, shown

SEARCH, FETCH = "search_engine_query", "fetch_url_content"
PROVIDER = "https://serpapi.com/search"
MODES = ("raw", "markdown", "truncate")


class Hit(Record, frozen=True):
    """A search result."""

    title: str
    href: str
    body: str = ""


class Found(Record, frozen=True, kw_only=True):
    """What a search came to: hits, or the engine's own refusal of the question."""

    hits: tuple[Hit, ...] = ()
    error: str = ""


class Got(Record, frozen=True, kw_only=True):
    """What fetching a page came to: its HTML or text, or why it cannot be had."""

    content: str = ""
    error: str = ""


class Engine(Protocol):
    """What answers. Raises WorldError when it cannot be asked."""

    async def find(self, keywords: str, region: str, /) -> Found:
        """Search."""
        ...

    async def fetch(self, url: str, /) -> Got:
        """Fetch a page."""
        ...


# --- the world --------------------------------------------------------------------------


class Search:
    """One episode on the web. Without `snippets` a hit is a title and an address only."""

    def __init__(self, offered: tuple[Tool, ...], engine: Engine, *, snippets: bool) -> None:
        self.offered = offered
        self.engine = engine
        self.snippets = snippets

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools; they never change."""
        return self.offered

    async def call(self, call: Call, /) -> Result:
        """Search or fetch; whatever is wrong with the call is an error text."""
        return result(await self._said(call))

    async def final_state(self) -> None:
        """Return nothing: the web stays as it is."""
        return None

    async def _said(self, call: Call) -> Said:
        tools: dict[str, Callable[..., Awaitable[Any]]] = {SEARCH: self._search, FETCH: self._fetch}
        tool = tools.get(call.name)
        if tool is None:
            return failed(f"name '{codec.restore(call.name)}' is not defined")
        given = arguments(call)
        if isinstance(given, Said):
            return given
        try:
            inspect.signature(tool).bind(**given)
            return Said(shown(await tool(**given)))
        except (TypeError, ValueError) as error:
            return failed(str(error))

    async def _search(self, keywords: Any, max_results: Any = 10, region: Any = "wt-wt") -> Any:
        found = await self.engine.find(_text(keywords), _text(region))
        if found.error:
            return {"error": found.error}
        hits = found.hits[:max_results]
        if not self.snippets:
            return [{"title": hit.title, "href": hit.href} for hit in hits]
        return [{"title": hit.title, "href": hit.href, "body": hit.body} for hit in hits]

    async def _fetch(self, url: Any, mode: Any = "raw") -> Any:
        if not _text(url).startswith(("http://", "https://")):
            raise ValueError(f"Invalid URL: {url}")
        got = await self.engine.fetch(url)
        if got.error:
            return _lost(url, got.error)
        try:
            return {"content": await asyncio.to_thread(_read, got.content, mode)}
        except ValueError as error:
            return _lost(url, str(error))


def _lost(url: str, why: str) -> dict[str, str]:
    return {"error": f"An error occurred while fetching {url}: {why}"}


def _read(content: str, mode: Any) -> str:
    match mode:
        case "raw":
            return content
        case "markdown":
            return page.markdown(content)
        case "truncate":
            return page.bare(content)
        case _:
            raise ValueError(f"Unsupported mode: {mode}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value


# --- a provider and the public web ------------------------------------------------------


class Answer(Protocol):
    """A response of the transport."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def body(self) -> bytes:
        """The whole body."""
        ...


class Web:
    """SerpApi's DuckDuckGo engine for searching, the public web for pages.

    `get` is the transport. Being told to slow down, or no answer, is met by waiting and asking
    again, a bounded number of times; after that the engine is down.
    """

    def __init__(
        self,
        get: Callable[[str], Awaitable[Answer]],
        key: str,
        *,
        waits_s: Sequence[float] = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0),
        page: Callable[[str], Awaitable[str]] = public.fetch,
    ) -> None:
        self.get = get
        self.key = key
        self.waits_s = waits_s
        self.page = page

    async def find(self, keywords: str, region: str, /) -> Found:
        """Search with the provider."""
        asked = {"engine": "duckduckgo", "q": keywords, "kl": region, "api_key": self.key}
        url = f"{PROVIDER}?{urlencode(asked, errors='replace')}"
        for wait_s in self.waits_s:
            found = await self._asked(url)
            if isinstance(found, Found):
                return found
            await asyncio.sleep(wait_s)
        last = await self._asked(url)
        if isinstance(last, Found):
            return last
        raise WorldError(f"the search provider: {last}")

    async def fetch(self, url: str, /) -> Got:
        """Fetch a public page."""
        try:
            return Got(content=codec.escape(await self.page(url)))
        except public.PageError as error:
            return Got(error=str(error))

    async def _asked(self, url: str) -> Found | str:
        """Return what was found, or why to ask again."""
        try:
            answer = await self.get(url)
        except EndpointError as error:
            return f"{error}"
        if answer.status in (401, 403):
            raise WorldError("the search provider refuses the key in SERPAPI_API_KEY")
        if answer.status == 429 or answer.status >= 500:
            return f"status {answer.status}"
        try:
            return _found(msgspec.json.decode(answer.body, type=_Organic))
        except msgspec.DecodeError:
            return f"status {answer.status}, a body that is no search result"


class _Item(msgspec.Struct):
    title: str | None = None
    link: str | None = None
    snippet: str | None = None


class _Organic(msgspec.Struct):
    organic_results: list[_Item] | None = None
    error: str = ""


def _found(answer: _Organic) -> Found | str:
    if "429" in answer.error:
        return "its hourly limit or its searches are used up"
    if answer.organic_results is None:
        return Found(
            error="Failed to retrieve the search results from server. Please try again later."
        )
    items = answer.organic_results
    return Found(
        hits=tuple(Hit(item.title or "", item.link or "", item.snippet or "") for item in items)
    )


# --- a recording ------------------------------------------------------------------------


class Recorded:
    """Answers from a cassette; what it does not hold is asked of `engine` and kept.

    Without an engine a question never asked cannot be answered: the episode is not run.
    """

    def __init__(self, cassette: Cassette, engine: Engine | None = None) -> None:
        self.cassette = cassette
        self.engine = engine

    async def find(self, keywords: str, region: str, /) -> Found:
        """Search, or repeat what a search found."""
        question = {"keywords": keywords, "region": region}
        if self.engine is not None and (SEARCH, question) not in self.cassette:
            self._keep(SEARCH, question, await self.engine.find(keywords, region))
        return msgspec.convert(self._known(SEARCH, question), Found)

    async def fetch(self, url: str, /) -> Got:
        """Fetch a page, or repeat what was fetched."""
        question = {"url": url}
        if self.engine is not None and (FETCH, question) not in self.cassette:
            self._keep(FETCH, question, await self.engine.fetch(url))
        return msgspec.convert(self._known(FETCH, question), Got)

    def _keep(self, tool: str, question: dict[str, str], answer: Found | Got) -> None:
        self.cassette.record(tool, question, msgspec.to_builtins(answer))

    def _known(self, tool: str, question: dict[str, str]) -> Any:
        try:
            return self.cassette.answer(tool, question)
        except KeyError:
            asked = codec.escape(str(question))[:200]
            raise WorldError(f"{self.cassette.path} holds no answer to {tool} {asked}") from None
