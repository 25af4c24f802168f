"""The web as two tools, search and fetch, with the signatures and result shapes of BFCL V4.

A SearchEngine answers: a search provider with the public web (`search_providers`), your pages
(`page_corpus`), or a recording of either. `search_engines` opens one by its name. The model
receives an error for a page that cannot be fetched. An engine that is down ends the episode as not
run.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec

from toolmark.core import json_codec
from toolmark.core.environment import Environment
from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.records import Call, Record, Result, Tool
from toolmark.environments.cassette import Cassette
from toolmark.environments.object_environment import (
    CallOutcome,
    failed_outcome,
    name_method,
    outcome_result,
    parse_arguments,
    value_text,
)

SEARCH_TOOL, FETCH_TOOL = "search_engine_query", "fetch_url_content"
PAGE_MODES = ("raw", "markdown", "truncate")
URL_SCHEMES = ("http://", "https://")
NO_REGION = "wt-wt"
OFFICIAL_CLASS = "WebSearchAPI"  # of BFCL V4
DEFAULT_MAX_RESULTS = 10


class SearchHit(Record, frozen=True):
    """A search result."""

    title: str
    href: str
    body: str = ""


class SearchOutcome(Record, frozen=True, kw_only=True):
    """The result of a search: hits, or the engine's error for this question."""

    hits: tuple[SearchHit, ...] = ()
    error: str = ""


class FetchOutcome(Record, frozen=True, kw_only=True):
    """The result of fetching a page: its HTML or text, or why it cannot be fetched."""

    content: str = ""
    error: str = ""


class SearchEngine(Protocol):
    """Answers searches and fetches. Raises ToolEnvironmentError when it is not available."""

    async def find(self, keywords: str, region: str, /) -> SearchOutcome:
        """Search."""
        ...

    async def fetch(self, url: str, /) -> FetchOutcome:
        """Fetch a page."""
        ...


# --- the tools --------------------------------------------------------------------------

QUERY_PARTS = {
    "query_text": "Words to search for that the question gives, or that you add.",
    "image_text": "Words to search for that can be read in the image; empty if there are none.",
    "visual_features": "Words to search for that name what the image shows: things, shapes, "
    "colours; empty if there are none.",
}
_RESULT_PARAMETERS: dict[str, Any] = {
    "max_results": {
        "type": "integer",
        "description": "How many results to return at most.",
        "default": DEFAULT_MAX_RESULTS,
    },
    "region": {
        "type": "string",
        "description": "Where to search: a country and a language, such as us-en, or wt-wt for "
        "no region.",
        "default": NO_REGION,
    },
}
_PAGE_PARAMETERS: dict[str, Any] = {
    "url": {"type": "string", "description": "The address, beginning with http:// or https://."},
    "mode": {
        "type": "string",
        "enum": list(PAGE_MODES),
        "description": "How to return the page: its HTML, as Markdown, or its bare text.",
        "default": "raw",
    },
}


def search_tools(*, takes_parts: bool = False) -> tuple[Tool, Tool]:
    """Return the two tools; the descriptions are toolmark's.

    With `takes_parts` the query has one parameter for each of QUERY_PARTS (MFCL Vision, appendix
    A).
    """
    query_parameters = QUERY_PARTS if takes_parts else {"keywords": "Words to search for."}
    query_schemas = {
        name: {"type": "string", "description": text} for name, text in query_parameters.items()
    }
    return (
        Tool(
            name=SEARCH_TOOL,
            description="Search the web. Returns titles and addresses of pages, best first, and "
            "excerpts where there are any.",
            parameters={
                "type": "object",
                "properties": query_schemas | _RESULT_PARAMETERS,
                "required": [next(iter(query_parameters))],
            },
        ),
        Tool(
            name=FETCH_TOOL,
            description="Fetch a page of the web by its address.",
            parameters={"type": "object", "properties": _PAGE_PARAMETERS, "required": ["url"]},
        ),
    )


def join_query_parts(*parts: str) -> str:
    """Return the parts of a query joined into the text for the engine."""
    return " ".join(part.strip() for part in parts if part.strip())


# --- the environment --------------------------------------------------------------------


class SearchEnvironment(Environment):
    """One episode on the web. Without `snippets` a hit is a title and an address only.

    With `takes_parts` the search tool takes its query in parts, as `search_tools(takes_parts=True)`
    describes it. With `official_wording` unusual arguments have the effects of BFCL V4: max_results
    slices a list as in Python, only lower-case schemes are known, and errors on the arguments have
    Python's words. Otherwise null counts as left out, and an error says what is expected.
    """

    def __init__(
        self,
        offered_tools: tuple[Tool, ...],
        engine: SearchEngine,
        *,
        snippets: bool,
        takes_parts: bool = False,
        official_wording: bool = False,
    ) -> None:
        self.offered_tools = offered_tools
        self.engine = engine
        self.snippets = snippets
        self.takes_parts = takes_parts
        self.official_wording = official_wording

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools; they never change."""
        return self.offered_tools

    async def call(self, call: Call, /) -> Result:
        """Search or fetch; any fault in the call gives an error text."""
        return outcome_result(await self._call_outcome(call))

    async def _call_outcome(self, call: Call) -> CallOutcome:
        tools: dict[str, Callable[..., Awaitable[Any]]] = {
            SEARCH_TOOL: self._search_by_parts if self.takes_parts else self._search_web,
            FETCH_TOOL: self._fetch_page,
        }
        tool = tools.get(call.name)
        if tool is None:
            return failed_outcome(
                f"name '{json_codec.restore_surrogates(call.name)}' is not defined"
            )
        tool_arguments = parse_arguments(call)
        if isinstance(tool_arguments, CallOutcome):
            return tool_arguments
        if not self.official_wording:
            tool_arguments = {
                name: value for name, value in tool_arguments.items() if value is not None
            }
        try:
            if self.official_wording:
                tool = name_method(tool, f"{OFFICIAL_CLASS}.{call.name}")
            else:
                inspect.signature(tool).bind(**tool_arguments)
            return CallOutcome(value_text(await tool(**tool_arguments)))
        except (TypeError, ValueError) as error:
            return failed_outcome(str(error))

    async def _search_web(
        self, keywords: Any, max_results: Any = DEFAULT_MAX_RESULTS, region: Any = NO_REGION
    ) -> Any:
        most = max_results if self.official_wording else _require_count(max_results)
        region = NO_REGION if region is None else region
        found = await self.engine.find(
            _require_text(keywords, "keywords"), _require_text(region, "region")
        )
        if found.error:
            return {"error": found.error}
        hits = found.hits[:most]
        if not self.snippets:
            return [{"title": hit.title, "href": hit.href} for hit in hits]
        return [{"title": hit.title, "href": hit.href, "body": hit.body} for hit in hits]

    async def _search_by_parts(
        self,
        query_text: Any,
        image_text: Any = "",
        visual_features: Any = "",
        max_results: Any = DEFAULT_MAX_RESULTS,
        region: Any = NO_REGION,
    ) -> Any:
        parts = zip(QUERY_PARTS, (query_text, image_text, visual_features), strict=True)
        keywords = join_query_parts(*(_require_text(value, name) for name, value in parts))
        return await self._search_web(keywords, max_results, region)

    async def _fetch_page(self, url: Any, mode: Any = "raw") -> Any:
        if self.official_wording and not isinstance(url, str):
            raise TypeError(f"'{type(url).__name__}' object has no attribute 'startswith'")
        scheme = _require_text(url, "url")[: len(URL_SCHEMES[-1])]
        if not (scheme if self.official_wording else scheme.lower()).startswith(URL_SCHEMES):
            raise ValueError(f"Invalid URL: {url}")
        outcome = await self.engine.fetch(url)
        if outcome.error:
            return _fetch_error(url, outcome.error)
        try:
            return {"content": await asyncio.to_thread(_convert_page, outcome.content, mode)}
        except ValueError as error:
            return _fetch_error(url, str(error))


def _fetch_error(url: str, reason: str) -> dict[str, str]:
    return {"error": f"An error occurred while fetching {url}: {reason}"}


def _convert_page(content: str, mode: Any) -> str:
    from toolmark.environments import (
        html_conversion,  # needs an optional package, only when a page is converted
    )

    match mode:
        case "raw":
            return content
        case "markdown":
            return html_conversion.html_to_markdown(content)
        case "truncate":
            return html_conversion.html_to_text(content)
        case _:
            raise ValueError(f"Unsupported mode: {mode}")


def _require_text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, not {_json_excerpt(value)}")
    return value


def _require_count(value: Any) -> int:
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not is_whole or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"max_results must be a whole number from 1 up, not {_json_excerpt(value)}"
        )
    return int(value)


def _json_excerpt(value: Any) -> str:
    return json_codec.encode_record(json_codec.to_plain_json(value)).decode()[:100]


# --- a recording ------------------------------------------------------------------------


class RecordedEngine:
    """Answers from a cassette; other questions go to `engine`, and its answers are recorded.

    Without an engine such a question raises ToolEnvironmentError: the episode is not run.
    """

    def __init__(self, cassette: Cassette, engine: SearchEngine | None = None) -> None:
        self.cassette = cassette
        self.engine = engine

    async def find(self, keywords: str, region: str, /) -> SearchOutcome:
        """Search, or return the recorded result of the same search."""
        question = {"keywords": keywords, "region": region}
        if self.engine is not None and (SEARCH_TOOL, question) not in self.cassette:
            self._record_answer(SEARCH_TOOL, question, await self.engine.find(keywords, region))
        return msgspec.convert(self._recorded_answer(SEARCH_TOOL, question), SearchOutcome)

    async def fetch(self, url: str, /) -> FetchOutcome:
        """Fetch a page, or return the recorded result of the same fetch."""
        question = {"url": url}
        if self.engine is not None and (FETCH_TOOL, question) not in self.cassette:
            self._record_answer(FETCH_TOOL, question, await self.engine.fetch(url))
        return msgspec.convert(self._recorded_answer(FETCH_TOOL, question), FetchOutcome)

    def _record_answer(
        self, tool: str, question: dict[str, str], answer: SearchOutcome | FetchOutcome
    ) -> None:
        self.cassette.record_answer(tool, question, msgspec.to_builtins(answer))

    def _recorded_answer(self, tool: str, question: dict[str, str]) -> Any:
        try:
            return self.cassette.answer(tool, question)
        except KeyError:
            excerpt = json_codec.escape_surrogates(str(question))[:200]
            raise ToolEnvironmentError(
                f"{self.cassette.path} holds no answer to {tool} {excerpt}"
            ) from None
