"""Search providers that need a key, and the public web for the pages of their hits.

A provider is data: its address, its key variable and how its answers are parsed. The model never
sees that a provider is not available (no answer, too many requests, a refused key, no searches
left).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import urlencode

import msgspec

from toolmark.core import json_codec
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.errors import EndpointError, ToolEnvironmentError
from toolmark.core.redaction import REDACTED, replace_texts, secret_spellings
from toolmark.environments import public_web
from toolmark.environments.provider_circuit_breaker import ProviderCircuitBreaker
from toolmark.environments.search_environment import (
    NO_REGION,
    FetchOutcome,
    SearchHit,
    SearchOutcome,
)

SEARCH_FAILED = "Failed to retrieve the search results from server. Please try again later."
# of query and region: a character may take 12 bytes in an address, which HTTP limits to 65,534
MAX_QUERY_CHARS = 4_000
_REGION = re.compile(r"([a-z]{2})-([a-z]{2})")
# DuckDuckGo's name of a country where it is not the usual one
_COUNTRIES = {"uk": "gb"}


class SearchRegions(DataRecord, frozen=True):
    """The data file: the countries and languages that Brave knows; it refuses any other."""

    brave_countries: frozenset[str]
    brave_languages: frozenset[str]


def search_regions() -> SearchRegions:
    """Return the content of the data file."""
    return read_table(__file__, "search_regions.toml", SearchRegions)


class HttpAnswer(Protocol):
    """A response of the transport."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def body(self) -> bytes:
        """The complete body."""
        ...


class Transport(Protocol):
    """Sends requests to a provider. Raises EndpointError when no answer comes."""

    async def get(self, url: str) -> HttpAnswer:
        """Send a GET request."""
        ...

    async def post(self, url: str, body: bytes) -> HttpAnswer:
        """Send a POST request with a body."""
        ...


class SearchRequest(NamedTuple):
    """A search request to a provider: a POST where there is a body, otherwise a GET."""

    url: str
    body: bytes = b""


class Provider(NamedTuple):
    """A search provider. `variable` is the environment variable with its key.

    `build_request` makes the request from keywords, region and key. `parse_answer` returns the
    outcome, or a text with the reason to ask again. It raises json_codec.InvalidJson for a body
    that is not JSON and msgspec.ValidationError for JSON that is not a search result.
    """

    name: str
    variable: str
    build_request: Callable[[str, str, str], SearchRequest]
    headers: Callable[[str], Mapping[str, str]]
    parse_answer: Callable[[bytes], SearchOutcome | str]


# --- each of them -----------------------------------------------------------------------


class _Item(msgspec.Struct):
    title: str | None = None
    link: str | None = None
    snippet: str | None = None
    url: str | None = None
    description: str | None = None
    content: str | None = None


class _Results(msgspec.Struct):
    results: list[Any] | None = None


class _Organic(msgspec.Struct):
    organic_results: list[Any] | None = None
    error: str | None = None


class _Serper(msgspec.Struct):
    organic: list[Any] | None = None


class _Brave(msgspec.Struct):
    web: _Results | None = None


T = TypeVar("T")


def _decode_answer(body: bytes, kind: type[T]) -> T:
    """Parse a provider's JSON as Python does, including lone surrogates."""
    return msgspec.convert(json_codec.parse_json(body.decode("utf-8", "replace")), kind)


def _search_outcome(items: Sequence[Any] | None) -> SearchOutcome:
    if items is None:
        return SearchOutcome(error=SEARCH_FAILED)
    return SearchOutcome(hits=tuple(_iterate_hits(items)))


def _iterate_hits(items: Sequence[Any]) -> Iterator[SearchHit]:
    """Yield the hits; items of another shape are left out."""
    for entry in items:
        with suppress(msgspec.ValidationError):
            item = msgspec.convert(entry, _Item)
            body = item.snippet or item.description or item.content
            texts = (item.title, item.link or item.url, body)
            yield SearchHit(*(json_codec.escape_surrogates(text or "") for text in texts))


def _query_url(url: str, query: Mapping[str, str | int]) -> str:
    return f"{url}?{urlencode(query, errors='replace')}"


def _post_request(url: str, body: Mapping[str, str | int]) -> SearchRequest:
    return SearchRequest(url, json_codec.encode_record(dict(body)))


def _country_and_language(region: str) -> tuple[str, str] | None:
    """Return country and language of a DuckDuckGo region, None for no region."""
    matched = _REGION.fullmatch(region.lower())
    if matched is None or region.lower() == NO_REGION:
        return None
    return _COUNTRIES.get(matched[1], matched[1]), matched[2]


def _ask_serpapi(keywords: str, region: str, key: str) -> SearchRequest:
    query = {"engine": "duckduckgo", "q": keywords, "kl": region, "api_key": key}
    return SearchRequest(_query_url("https://serpapi.com/search", query))


def _read_serpapi(body: bytes) -> SearchOutcome | str:
    answer = _decode_answer(body, _Organic)
    if "429" in (answer.error or ""):
        return "its hourly limit or its searches are used up"
    return _search_outcome(answer.organic_results)


def _ask_brave(keywords: str, region: str, key: str) -> SearchRequest:
    # without text_decorations=false the matched words have markup
    query: dict[str, str | int] = {"q": keywords, "count": 20, "text_decorations": "false"}
    country, language = _country_and_language(region) or ("", "")
    if country in search_regions().brave_countries:
        query["country"] = country.upper()
    if language in search_regions().brave_languages:
        query["search_lang"] = language
    return SearchRequest(_query_url("https://api.search.brave.com/res/v1/web/search", query))


def _read_brave(body: bytes) -> SearchOutcome:
    web = _decode_answer(body, _Brave).web
    # Brave leaves out `web` where it found nothing
    return _search_outcome(web.results or [] if web else [])


def _ask_tavily(keywords: str, region: str, key: str) -> SearchRequest:
    # Tavily knows countries only by their English names, so the region is left out
    return _post_request("https://api.tavily.com/search", {"query": keywords, "max_results": 20})


def _read_tavily(body: bytes) -> SearchOutcome:
    return _search_outcome(_decode_answer(body, _Results).results)


def _ask_serper(keywords: str, region: str, key: str) -> SearchRequest:
    query: dict[str, str | int] = {"q": keywords, "num": 10}
    country_and_language = _country_and_language(region)
    if country_and_language:
        query |= {"gl": country_and_language[0], "hl": country_and_language[1]}
    return _post_request("https://google.serper.dev/search", query)


def _read_serper(body: bytes) -> SearchOutcome:
    return _search_outcome(_decode_answer(body, _Serper).organic)


_JSON_HEADERS = {"accept": "application/json"}
_POST_HEADERS = {"content-type": "application/json"} | _JSON_HEADERS
PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider(
            "serpapi", "SERPAPI_API_KEY", _ask_serpapi, lambda key: _JSON_HEADERS, _read_serpapi
        ),
        Provider(
            "brave",
            "BRAVE_API_KEY",
            _ask_brave,
            lambda key: {"x-subscription-token": key} | _JSON_HEADERS,
            _read_brave,
        ),
        Provider(
            "tavily",
            "TAVILY_API_KEY",
            _ask_tavily,
            lambda key: {"authorization": f"Bearer {key}"} | _POST_HEADERS,
            _read_tavily,
        ),
        Provider(
            "serper",
            "SERPER_API_KEY",
            _ask_serper,
            lambda key: {"x-api-key": key} | _POST_HEADERS,
            _read_serper,
        ),
    )
}


# --- asking them ------------------------------------------------------------------------

Answered = TypeVar("Answered", SearchOutcome, FetchOutcome)
# payment required; Tavily's limits of the plan and of pay-as-you-go
_QUOTA_STATUSES = (402, 432, 433)
_forbids_web: ContextVar[bool] = ContextVar("forbids_web", default=False)


@contextmanager
def forbid_web() -> Iterator[None]:
    """Refuse searches and public pages in this context, for agents that are no model: both cost."""
    token = _forbids_web.set(True)
    try:
        yield
    finally:
        _forbids_web.reset(token)


def _require_web() -> None:
    if _forbids_web.get():
        raise ToolEnvironmentError("the web is not asked for an agent without a model")


class WebEngine:
    """A search engine: a provider for searches, the public web for pages.

    After a rate limit, a server error or no answer it waits and asks again, at most once for each
    of `waits_s` (seconds; see `ProviderCircuitBreaker`); after that it raises ToolEnvironmentError.
    `transport` sends the provider's headers with the key. The key is redacted where an answer
    repeats it. `page` fetches a page.
    """

    def __init__(
        self,
        provider: Provider,
        transport: Transport,
        key: str,
        *,
        waits_s: Sequence[float] = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0),
        page: Callable[[str], Awaitable[str]] = public_web.fetch_page,
    ) -> None:
        self.provider = provider
        self.transport = transport
        self.key = key
        self.waits_s = waits_s
        self.fetch_page = page
        self.circuit_breaker = ProviderCircuitBreaker(provider.name)
        self._redactions = dict.fromkeys(secret_spellings((key,)), REDACTED)

    async def find(self, keywords: str, region: str, /) -> SearchOutcome:
        """Search with the provider; a query longer than MAX_QUERY_CHARS is refused unsent."""
        _require_web()
        n_chars = len(keywords) + len(region)
        if n_chars > MAX_QUERY_CHARS:
            return SearchOutcome(
                error=f"The query is too long: {n_chars} characters of {MAX_QUERY_CHARS}."
            )
        return self._without_key(await self._search_with_retries(keywords, region))

    async def fetch(self, url: str, /) -> FetchOutcome:
        """Fetch a public page."""
        _require_web()
        try:
            return self._without_key(
                FetchOutcome(content=json_codec.escape_surrogates(await self.fetch_page(url)))
            )
        except public_web.PageError as error:
            return self._without_key(FetchOutcome(error=str(error)))

    def _without_key(self, answer: Answered) -> Answered:
        """Return an answer without the key."""
        return msgspec.convert(
            replace_texts(msgspec.to_builtins(answer), self._redactions), type(answer)
        )

    async def _search_with_retries(self, keywords: str, region: str) -> SearchOutcome:
        question = self.provider.build_request(keywords, region, self.key)
        self.circuit_breaker.raise_if_tripped()
        for tries, wait_s in enumerate(self.waits_s):
            found = await self._ask_once(question)
            if isinstance(found, SearchOutcome):
                return found
            await self.circuit_breaker.wait_before_retry(tries, wait_s, found)
        last = await self._ask_once(question)
        if isinstance(last, SearchOutcome):
            return last
        raise self.circuit_breaker.record_failure(last)

    async def _ask_once(self, question: SearchRequest) -> SearchOutcome | str:
        """Return the outcome, or a text with the reason to ask again."""
        try:
            answer = await self._send_query(question)
        except EndpointError as error:
            return f"{error}"
        self.circuit_breaker.record_response()
        self._check_status(answer)
        if answer.status == 429 or answer.status >= 500:
            return f"status {answer.status}"
        refused = SearchOutcome(error=SEARCH_FAILED) if answer.status >= 400 else None
        try:
            found = self.provider.parse_answer(answer.body)
        except json_codec.InvalidJson:
            return refused or f"status {answer.status}, a body that is not JSON"
        except msgspec.ValidationError:  # a retry may cost money, and gives the same answer
            if refused:
                return refused
            reason = f"status {answer.status}, a body that is not a search result"
            raise self.circuit_breaker.record_failure(reason) from None
        if isinstance(found, SearchOutcome):
            self.circuit_breaker.record_success()
            return refused or found
        return found

    async def _send_query(self, question: SearchRequest) -> HttpAnswer:
        if question.body:
            return await self.transport.post(question.url, question.body)
        return await self.transport.get(question.url)

    def _check_status(self, answer: HttpAnswer) -> None:
        """Raise ToolEnvironmentError for a status that a retry would not change."""
        name = self.provider.name
        if answer.status in (401, 403):
            raise ToolEnvironmentError(
                f"the search provider {name} refuses the key in {self.provider.variable}"
            )
        # Serper reports an exhausted quota as a bad request
        out_of_quota = answer.status == 400 and b"credits" in answer.body[:1000]
        if out_of_quota or answer.status in _QUOTA_STATUSES:
            raise ToolEnvironmentError(
                f"the search provider {name}: its searches are used up; buy more"
            )
