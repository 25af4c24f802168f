"""The web as two tools, with the signatures and result shapes of BFCL V4: search and fetch.

What answers is an Engine: a search provider and the public web (providers), pages of one's own
(corpus), or a recording of either; `engines` opens one by its name. A page that cannot be had is
an answer that the model sees; an engine that is down is not, it ends the episode as not run.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from toolmark import codec
from toolmark.errors import WorldError
from toolmark.types import Call, Record, Result, Tool
from toolmark.worlds.cassette import Cassette
from toolmark.worlds.objects import Said, arguments, failed, result, shown

SEARCH, FETCH = "search_engine_query", "fetch_url_content"
MODES = ("raw", "markdown", "truncate")
SCHEMES = ("http://", "https://")
NO_REGION = "wt-wt"
HITS = 10


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


# --- the tools --------------------------------------------------------------------------

PARTS = {
    "query_text": "Words to search for that the question gives, or that you add.",
    "image_text": "Words to search for that can be read in the image; empty if there are none.",
    "visual_features": "Words to search for that name what the image shows: things, shapes, "
    "colours; empty if there are none.",
}
_RESULTS: dict[str, Any] = {
    "max_results": {
        "type": "integer",
        "description": "How many results to return at most.",
        "default": HITS,
    },
    "region": {
        "type": "string",
        "description": "Where to search: a country and a language, such as us-en, or wt-wt for "
        "no region.",
        "default": NO_REGION,
    },
}
_PAGE: dict[str, Any] = {
    "url": {"type": "string", "description": "The address, beginning with http:// or https://."},
    "mode": {
        "type": "string",
        "enum": list(MODES),
        "description": "How to return the page: its HTML, as Markdown, or its bare text.",
        "default": "raw",
    },
}


def offer(*, parted: bool = False) -> tuple[Tool, Tool]:
    """Return the two tools, described in our words.

    `parted`: the query is asked for in the PARTS that it comes from (MFCL Vision, appendix A).
    """
    asked = PARTS if parted else {"keywords": "Words to search for."}
    words = {name: {"type": "string", "description": text} for name, text in asked.items()}
    return (
        Tool(
            name=SEARCH,
            description="Search the web. Returns titles and addresses of pages, best first, and "
            "excerpts where there are any.",
            parameters={
                "type": "object",
                "properties": words | _RESULTS,
                "required": [next(iter(asked))],
            },
        ),
        Tool(
            name=FETCH,
            description="Fetch a page of the web by its address.",
            parameters={"type": "object", "properties": _PAGE, "required": ["url"]},
        ),
    )


def joined(*parts: str) -> str:
    """Return the parts of a query as the engine is asked with them."""
    return " ".join(part.strip() for part in parts if part.strip())


# --- the world --------------------------------------------------------------------------


class Search:
    """One episode on the web. Without `snippets` a hit is a title and an address only.

    `parted`: the search tool asks for its query in parts, as `offer(parted=True)` describes it.
    `official`: odd arguments come to what they come to in BFCL V4, where max_results slices a list
    as Python does and only lower-case schemes are known; else null is as if left out, and an error
    says what is wanted.
    """

    def __init__(
        self,
        offered: tuple[Tool, ...],
        engine: Engine,
        *,
        snippets: bool,
        parted: bool = False,
        official: bool = False,
    ) -> None:
        self.offered = offered
        self.engine = engine
        self.snippets = snippets
        self.parted = parted
        self.official = official

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
        tools: dict[str, Callable[..., Awaitable[Any]]] = {
            SEARCH: self._parts if self.parted else self._search,
            FETCH: self._fetch,
        }
        tool = tools.get(call.name)
        if tool is None:
            return failed(f"name '{codec.restore(call.name)}' is not defined")
        given = arguments(call)
        if isinstance(given, Said):
            return given
        if not self.official:
            given = {name: value for name, value in given.items() if value is not None}
        try:
            inspect.signature(tool).bind(**given)
            return Said(shown(await tool(**given)))
        except (TypeError, ValueError) as error:
            return failed(str(error))

    async def _search(self, keywords: Any, max_results: Any = HITS, region: Any = NO_REGION) -> Any:
        most = max_results if self.official else _count(max_results)
        region = NO_REGION if region is None else region
        found = await self.engine.find(_text(keywords, "keywords"), _text(region, "region"))
        if found.error:
            return {"error": found.error}
        hits = found.hits[:most]
        if not self.snippets:
            return [{"title": hit.title, "href": hit.href} for hit in hits]
        return [{"title": hit.title, "href": hit.href, "body": hit.body} for hit in hits]

    async def _parts(
        self,
        query_text: Any,
        image_text: Any = "",
        visual_features: Any = "",
        max_results: Any = HITS,
        region: Any = NO_REGION,
    ) -> Any:
        parts = zip(PARTS, (query_text, image_text, visual_features), strict=True)
        keywords = joined(*(_text(value, name) for name, value in parts))
        return await self._search(keywords, max_results, region)

    async def _fetch(self, url: Any, mode: Any = "raw") -> Any:
        scheme = _text(url, "url")[: len(SCHEMES[-1])]
        if not (scheme if self.official else scheme.lower()).startswith(SCHEMES):
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
    from toolmark.worlds import page  # of an extra: asked for when a page is there to read

    match mode:
        case "raw":
            return content
        case "markdown":
            return page.markdown(content)
        case "truncate":
            return page.bare(content)
        case _:
            raise ValueError(f"Unsupported mode: {mode}")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, not {_written(value)}")
    return value


def _count(value: Any) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not whole or isinstance(value, bool) or value < 1:
        raise ValueError(f"max_results must be a whole number from 1 up, not {_written(value)}")
    return int(value)


def _written(value: Any) -> str:
    return codec.encode(codec.plain(value)).decode()[:100]


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
