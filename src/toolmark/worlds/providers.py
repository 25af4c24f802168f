"""Search providers by key, and the public web behind their hits.

A provider is data: where it is asked, with which key, how its answer is read. What it is down for
(no answer, too many requests, a key refused, searches used up) is never an answer to the model.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import urlencode

import msgspec

from toolmark import codec
from toolmark.errors import EndpointError, WorldError
from toolmark.worlds import public
from toolmark.worlds.cassette import HIDDEN, forms, swapped
from toolmark.worlds.patience import Patience
from toolmark.worlds.search import NO_REGION, Found, Got, Hit

FAILED = "Failed to retrieve the search results from server. Please try again later."
# of a query and its region: a letter may take 12 bytes in an address, of which HTTP holds 65,534
MAX_CHARS = 4_000
_REGION = re.compile(r"([a-z]{2})-([a-z]{2})")
# DuckDuckGo's name of a country where it is not the usual one
_COUNTRIES = {"uk": "gb"}
# what Brave knows; it refuses a query that names another
_BRAVE_COUNTRIES = frozenset((
    "ar", "at", "au", "be", "br", "ca", "ch", "cl", "cn", "de", "dk", "es", "fi", "fr", "gb", "gr",
    "hk", "id", "in", "it", "jp", "kr", "mx", "my", "nl", "no", "nz", "ph", "pl", "pt", "ru", "sa",
    "se", "tr", "tw", "us", "za",
))  # fmt: skip
_BRAVE_LANGUAGES = frozenset((
    "da", "de", "en", "es", "fi", "fr", "it", "nl", "pl", "ru", "sv", "tr",
))  # fmt: skip


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


class Transport(Protocol):
    """What carries questions to a provider. Raises EndpointError when no answer came."""

    async def get(self, url: str) -> Answer:
        """Read an address."""
        ...

    async def post(self, url: str, body: bytes) -> Answer:
        """Send a body there."""
        ...


class Question(NamedTuple):
    """A search as a provider is asked: a POST where there is a body."""

    url: str
    body: bytes = b""


class Provider(NamedTuple):
    """A search provider. `variable` is where its key is kept by custom.

    `read` returns what was found, or why to ask again; it raises codec.BadJson for what is no JSON
    and msgspec.ValidationError for JSON that is no search result.
    """

    name: str
    variable: str
    ask: Callable[[str, str, str], Question]
    headers: Callable[[str], Mapping[str, str]]
    read: Callable[[bytes], Found | str]


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


def _told(body: bytes, kind: type[T]) -> T:
    """Read what a provider says: JSON as Python reads it, lone surrogates included."""
    return msgspec.convert(codec.loads(body.decode("utf-8", "replace")), kind)


def _found(items: Sequence[Any] | None) -> Found:
    if items is None:
        return Found(error=FAILED)
    return Found(hits=tuple(_hits(items)))


def _hits(items: Sequence[Any]) -> Iterator[Hit]:
    """Go through the hits; those of another shape are left out."""
    for told in items:
        with suppress(msgspec.ValidationError):
            item = msgspec.convert(told, _Item)
            body = item.snippet or item.description or item.content
            texts = (item.title, item.link or item.url, body)
            yield Hit(*(codec.escape(text or "") for text in texts))


def _address(url: str, asked: Mapping[str, str | int]) -> str:
    return f"{url}?{urlencode(asked, errors='replace')}"


def _posted(url: str, asked: Mapping[str, str | int]) -> Question:
    return Question(url, codec.encode(dict(asked)))


def _place(region: str) -> tuple[str, str] | None:
    """Return country and language of a region as DuckDuckGo writes it, None for no region."""
    read = _REGION.fullmatch(region.lower())
    if read is None or region.lower() == NO_REGION:
        return None
    return _COUNTRIES.get(read[1], read[1]), read[2]


def _ask_serpapi(keywords: str, region: str, key: str) -> Question:
    asked = {"engine": "duckduckgo", "q": keywords, "kl": region, "api_key": key}
    return Question(_address("https://serpapi.com/search", asked))


def _read_serpapi(body: bytes) -> Found | str:
    answer = _told(body, _Organic)
    if "429" in (answer.error or ""):
        return "its hourly limit or its searches are used up"
    return _found(answer.organic_results)


def _ask_brave(keywords: str, region: str, key: str) -> Question:
    # without the last one the words that were found are marked up
    asked: dict[str, str | int] = {"q": keywords, "count": 20, "text_decorations": "false"}
    country, language = _place(region) or ("", "")
    if country in _BRAVE_COUNTRIES:
        asked["country"] = country.upper()
    if language in _BRAVE_LANGUAGES:
        asked["search_lang"] = language
    return Question(_address("https://api.search.brave.com/res/v1/web/search", asked))


def _read_brave(body: bytes) -> Found:
    web = _told(body, _Brave).web
    return _found(web.results or [] if web else [])  # it leaves out what it found nothing for


def _ask_tavily(keywords: str, region: str, key: str) -> Question:
    # it knows countries by their English names only: the region is left out
    return _posted("https://api.tavily.com/search", {"query": keywords, "max_results": 20})


def _read_tavily(body: bytes) -> Found:
    return _found(_told(body, _Results).results)


def _ask_serper(keywords: str, region: str, key: str) -> Question:
    asked: dict[str, str | int] = {"q": keywords, "num": 10}
    place = _place(region)
    if place:
        asked |= {"gl": place[0], "hl": place[1]}
    return _posted("https://google.serper.dev/search", asked)


def _read_serper(body: bytes) -> Found:
    return _found(_told(body, _Serper).organic)


_JSON = {"accept": "application/json"}
_POSTED = {"content-type": "application/json"} | _JSON
PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider("serpapi", "SERPAPI_API_KEY", _ask_serpapi, lambda key: _JSON, _read_serpapi),
        Provider(
            "brave",
            "BRAVE_API_KEY",
            _ask_brave,
            lambda key: {"x-subscription-token": key} | _JSON,
            _read_brave,
        ),
        Provider(
            "tavily",
            "TAVILY_API_KEY",
            _ask_tavily,
            lambda key: {"authorization": f"Bearer {key}"} | _POSTED,
            _read_tavily,
        ),
        Provider(
            "serper",
            "SERPER_API_KEY",
            _ask_serper,
            lambda key: {"x-api-key": key} | _POSTED,
            _read_serper,
        ),
    )
}


# --- asking them ------------------------------------------------------------------------

Answered = TypeVar("Answered", Found, Got)
# payment required; Tavily's limits of the plan and of what is paid as it goes
_SPENT = (402, 432, 433)


class Web:
    """A provider for searching, the public web for pages.

    Being told to slow down, or no answer, is met by waiting and asking again, a bounded number of
    times (see `Patience`); after that the engine is down. `transport` sends the provider's headers
    with the key, which is blanked where an answer repeats it.
    """

    def __init__(
        self,
        provider: Provider,
        transport: Transport,
        key: str,
        *,
        waits_s: Sequence[float] = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0),
        page: Callable[[str], Awaitable[str]] = public.fetch,
    ) -> None:
        self.provider = provider
        self.transport = transport
        self.key = key
        self.waits_s = waits_s
        self.page = page
        self.patience = Patience(provider.name)
        self._secret = dict.fromkeys(forms((key,)), HIDDEN)

    async def find(self, keywords: str, region: str, /) -> Found:
        """Search with the provider; a query beyond MAX_CHARS is refused before it is sent."""
        n_chars = len(keywords) + len(region)
        if n_chars > MAX_CHARS:
            return Found(error=f"The query is too long: {n_chars} characters of {MAX_CHARS}.")
        return self._safe(await self._tried(keywords, region))

    async def fetch(self, url: str, /) -> Got:
        """Fetch a public page."""
        try:
            return self._safe(Got(content=codec.escape(await self.page(url))))
        except public.PageError as error:
            return self._safe(Got(error=str(error)))

    def _safe(self, answer: Answered) -> Answered:
        """Return an answer without the key."""
        return msgspec.convert(swapped(msgspec.to_builtins(answer), self._secret), type(answer))

    async def _tried(self, keywords: str, region: str) -> Found:
        question = self.provider.ask(keywords, region, self.key)
        self.patience.check()
        for tries, wait_s in enumerate(self.waits_s):
            found = await self._asked(question)
            if isinstance(found, Found):
                return found
            await self.patience.wait(tries, wait_s, found)
        last = await self._asked(question)
        if isinstance(last, Found):
            return last
        raise self.patience.lost(last)

    async def _asked(self, question: Question) -> Found | str:
        """Return what was found, or why to ask again."""
        try:
            answer = await self._sent(question)
        except EndpointError as error:
            return f"{error}"
        self.patience.heard()
        self._check(answer)
        if answer.status == 429 or answer.status >= 500:
            return f"status {answer.status}"
        refused = Found(error=FAILED) if answer.status >= 400 else None
        try:
            found = self.provider.read(answer.body)
        except codec.BadJson:
            return refused or f"status {answer.status}, a body that is no JSON"
        except msgspec.ValidationError:  # it may be paid for, and would be the same again
            if refused:
                return refused
            told = f"status {answer.status}, a body that is no search result"
            raise self.patience.lost(told) from None
        if isinstance(found, Found):
            self.patience.well()
            return refused or found
        return found

    async def _sent(self, question: Question) -> Answer:
        if question.body:
            return await self.transport.post(question.url, question.body)
        return await self.transport.get(question.url)

    def _check(self, answer: Answer) -> None:
        """Raise WorldError where asking again would change nothing."""
        name = self.provider.name
        if answer.status in (401, 403):
            raise WorldError(
                f"the search provider {name} refuses the key in {self.provider.variable}"
            )
        # Serper says so with the status of a bad request
        spent = answer.status == 400 and b"credits" in answer.body[:1000]
        if spent or answer.status in _SPENT:
            raise WorldError(f"the search provider {name}: its searches are used up; buy more")
