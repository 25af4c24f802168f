"""Search providers: each is asked as it documents, and its troubles are not answers."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from toolmark.core import json_codec
from toolmark.core.errors import ToolEnvironmentError, Unavailable
from toolmark.core.redaction import REDACTED
from toolmark.environments import public_web
from toolmark.environments.search_environment import SearchHit, SearchOutcome
from toolmark.environments.search_providers import (
    MAX_QUERY_CHARS,
    PROVIDERS,
    SEARCH_FAILED,
    SearchRequest,
    WebEngine,
    forbid_web,
)
from toolmark.models.http_client import HttpClient

KEY = "k-secret"
NAMES = sorted(PROVIDERS)
ITEM = {"title": "T", "link": "https://a.example/", "snippet": "about tea"}
OTHER = {"title": "T", "url": "https://a.example/"}
# documented shapes, with members that are of no interest
BODIES: dict[str, Any] = {
    "serpapi": {"search_metadata": {"id": "1"}, "organic_results": [ITEM, {"position": 2}]},
    "brave": {
        "type": "search",
        "query": {"original": "tea", "more_results_available": True},
        "web": {"results": [OTHER | {"description": "about tea", "age": None}, {"type": "x"}]},
    },
    "tavily": {
        "query": "tea",
        "answer": None,
        "results": [OTHER | {"content": "about tea", "score": 0.9, "raw_content": None}, {}],
        "response_time": 1.2,
    },
    "serper": {
        "searchParameters": {"q": "tea"},
        "organic": [ITEM | {"position": 1, "sitelinks": []}, {"position": 2}],
        "credits": 1,
    },
}
NOTHING: dict[str, Any] = {
    "serpapi": {"organic_results": []}, "brave": {"type": "search"}, "tavily": {"results": []},
    "serper": {"organic": []},
}  # fmt: skip


# --- against a server -------------------------------------------------------------------


class Asked(NamedTuple):
    method: str
    url: str
    headers: dict[str, str]
    body: bytes


class Fake(ThreadingHTTPServer):
    """A provider: says what it was told to say, one after another, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, bytes]] = []
        self.asked: list[Asked] = []


class Handler(BaseHTTPRequestHandler):
    server: Fake

    def do_GET(self) -> None:
        self._say("GET")

    def do_POST(self) -> None:
        self._say("POST")

    def _say(self, method: str) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        given = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append(Asked(method, self.path, given, body))
        status, answer = self.server.answers.pop(0)
        self.send_response(status)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def found(
    fake: Fake,
    name: str,
    *answers: tuple[int, Any],
    keywords: str = "tea & milk",
    region: str = "us-en",
) -> SearchOutcome:
    """Ask a provider that lives on the fake server; its own address is checked on the way."""
    provider = PROVIDERS[name]
    fake.answers = [(s, b if isinstance(b, bytes) else json.dumps(b).encode()) for s, b in answers]
    fake.asked = []

    def moved(keywords: str, region: str, key: str) -> SearchRequest:
        question = provider.build_request(keywords, region, key)
        assert question.url.startswith("https://")
        parts = urlsplit(question.url)
        where = f"http://127.0.0.1:{fake.server_address[1]}{parts.path}?{parts.query}"
        return question._replace(url=where)

    async def ask() -> SearchOutcome:
        client = HttpClient(provider.headers(KEY), timeout_s=10.0)
        try:
            web = WebEngine(provider._replace(build_request=moved), client, KEY, waits_s=(0.0, 0.0))
            return await web.find(keywords, region)
        finally:
            await client.close()

    return asyncio.run(ask())


@pytest.mark.parametrize("name", NAMES)
def test_hits_of_every_provider_look_the_same(fake: Fake, name: str) -> None:
    hits = (SearchHit("T", "https://a.example/", "about tea"), SearchHit("", ""))
    assert found(fake, name, (200, BODIES[name])) == SearchOutcome(hits=hits)
    assert found(fake, name, (200, NOTHING[name])) == SearchOutcome()


@pytest.mark.parametrize("name", NAMES)
def test_the_key_is_sent_as_documented_and_only_there(fake: Fake, name: str) -> None:
    found(fake, name, (200, BODIES[name]))
    (asked,) = fake.asked
    query = {key: values[0] for key, values in parse_qs(urlsplit(asked.url).query).items()}
    reported = query | (json.loads(asked.body) if asked.body else {})
    assert reported.get("q", reported.get("query")) == "tea & milk"
    match name:
        case "serpapi":
            assert query["api_key"] == KEY and query["kl"] == "us-en"
            assert query["engine"] == "duckduckgo"
        case "brave":
            assert asked.headers["x-subscription-token"] == KEY
            assert (query["country"], query["search_lang"]) == ("US", "en")
        case "tavily":
            assert asked.headers["authorization"] == f"Bearer {KEY}"
        case "serper":
            assert asked.headers["x-api-key"] == KEY
            assert (reported["gl"], reported["hl"]) == ("us", "en")
    assert asked.method == ("POST" if asked.body else "GET")
    assert str(asked).count(KEY) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("region", ["wt-wt", "", "nowhere", "xx-yy"])
def test_no_region_and_an_unknown_one_are_asked_all_the_same(
    fake: Fake, name: str, region: str
) -> None:
    assert found(fake, name, (200, BODIES[name]), region=region).hits


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "busy",
    [(429, b"{}"), (503, b""), (200, b"<html>"), (200, b'{"web": 1, "organic": 1'), (200, b"")],
)
def test_a_busy_provider_is_asked_again_and_then_not_run(
    fake: Fake, name: str, busy: tuple[int, bytes]
) -> None:
    assert found(fake, name, busy, busy, (200, BODIES[name])).hits and len(fake.asked) == 3
    with pytest.raises(ToolEnvironmentError, match=f"the search provider {name}") as caught:
        found(fake, name, *[busy] * 9)
    assert len(fake.asked) == 3 and KEY not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_neither_used_again_nor_printed(
    fake: Fake, name: str, status: int
) -> None:
    with pytest.raises(ToolEnvironmentError, match=PROVIDERS[name].variable) as caught:
        found(fake, name, (status, {"detail": KEY}), (200, BODIES[name]))
    assert len(fake.asked) == 1 and KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "status", "body"),
    [
        ("tavily", 432, {"detail": {"error": "over the plan"}}),
        ("tavily", 433, {"detail": {"error": "over the limit"}}),
        ("brave", 402, {"type": "ErrorResponse"}),
        ("serper", 400, {"message": "Not enough credits", "statusCode": 400}),
    ],
)
def test_searches_that_are_used_up_are_no_answer(
    fake: Fake, name: str, status: int, body: Any
) -> None:
    with pytest.raises(ToolEnvironmentError, match="used up"):
        found(fake, name, (status, body), (200, BODIES[name]))
    assert len(fake.asked) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_query_that_is_refused_is_an_error_the_model_sees(fake: Fake, name: str) -> None:
    body = {"type": "ErrorResponse", "error": {"code": "VALIDATION"}} if name == "brave" else {}
    assert found(fake, name, (422, body)) == SearchOutcome(error=SEARCH_FAILED)


def wrapped(name: str, hits: Any) -> dict[str, Any]:
    """Return hits as a provider tells them."""
    match name:
        case "serpapi":
            return {"organic_results": hits}
        case "serper":
            return {"organic": hits}
        case "brave":
            return {"web": {"results": hits}}
        case _:
            return {"results": hits}


@pytest.mark.parametrize("name", NAMES)
def test_hits_of_a_wrong_shape_are_left_out_and_not_paid_for_again(fake: Fake, name: str) -> None:
    odd = [{"title": 5}, "text", None, {"url": ["x"]}, ITEM, {"title": "\ud800"}]
    hits = found(fake, name, (200, wrapped(name, odd))).hits
    assert hits == (
        SearchHit("T", "https://a.example/", "about tea"),
        SearchHit(json_codec.escape_surrogates("\ud800"), ""),
    )
    assert len(fake.asked) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("odd", ["hits", "whole"])
def test_an_answer_of_a_wrong_shape_is_not_paid_for_again(fake: Fake, name: str, odd: str) -> None:
    body = wrapped(name, 5) if odd == "hits" else [5]
    with pytest.raises(ToolEnvironmentError, match="not a search result"):
        found(fake, name, (200, body), (200, BODIES[name]))
    assert len(fake.asked) == 1
    assert found(fake, name, (422, body)) == SearchOutcome(error=SEARCH_FAILED)
    assert found(fake, name, (414, b"<html>")) == SearchOutcome(error=SEARCH_FAILED)


@pytest.mark.parametrize("name", NAMES)
def test_a_query_of_any_length_is_answered_and_one_too_long_is_not_sent(
    fake: Fake, name: str
) -> None:
    body = (200, BODIES[name])
    for letter in ("a", " ", "\U0001f9ea"):
        assert found(fake, name, body, keywords=letter * (MAX_QUERY_CHARS - 5)).hits
        assert len(fake.asked) == 1
        for long in ({"keywords": letter * MAX_QUERY_CHARS}, {"region": letter * 400_000}):
            assert "too long" in found(fake, name, body, **long).error
            assert not fake.asked


@pytest.mark.parametrize("name", NAMES)
def test_a_key_in_a_hit_or_a_page_is_blanked(fake: Fake, name: str) -> None:
    reported = {"title": f"for {KEY}", "url": f"https://a.example/?k={KEY}", "snippet": f"'{KEY}'"}
    (hit,) = found(fake, name, (200, wrapped(name, [reported]))).hits
    assert KEY not in str(hit) and hit.title == f"for {REDACTED}"

    async def page(url: str) -> str:
        if url.endswith("lost"):
            raise public_web.PageError(f"no page for {KEY}")
        return f"<p>{KEY}</p>"

    web = WebEngine(PROVIDERS[name], Canned(), KEY, page=page)
    assert asyncio.run(web.fetch("https://a.example/")).content == f"<p>{REDACTED}</p>"
    assert asyncio.run(web.fetch("https://a.example/lost")).error == f"no page for {REDACTED}"


def test_nothing_is_sent_where_the_web_is_forbidden() -> None:
    async def page(url: str) -> str:
        raise AssertionError(url)

    web = WebEngine(PROVIDERS["serpapi"], Canned(), KEY, page=page)
    for ask in (lambda: web.find("tea", "x"), lambda: web.fetch("https://a.example/")):
        with forbid_web(), pytest.raises(ToolEnvironmentError, match="without a model"):
            asyncio.run(ask())


# --- SerpApi, as BFCL asks it ------------------------------------------------------------


class Said(NamedTuple):
    status: int
    body: bytes


class Canned:
    """A transport that says what it was told to say."""

    def __init__(self, *answers: Said | Exception) -> None:
        self.left = iter(answers)
        self.asked: list[str] = []

    async def get(self, url: str) -> Said:
        self.asked.append(url)
        answer = next(self.left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def post(self, url: str, body: bytes) -> Said:
        raise AssertionError("SerpApi is read, not written to")


HITS = Said(200, b'{"organic_results": [{"title": "T", "link": "https://a.example/"}, {"x": 1}]}')


def find(transport: Canned) -> SearchOutcome:
    web = WebEngine(PROVIDERS["serpapi"], transport, KEY, waits_s=(0.0, 0.0))
    return asyncio.run(web.find("tea & milk", "wt-wt"))


def test_serpapi_is_asked_with_words_region_and_key() -> None:
    transport = Canned(HITS)
    assert find(transport).hits == (SearchHit("T", "https://a.example/"), SearchHit("", ""))
    assert transport.asked == [
        "https://serpapi.com/search?engine=duckduckgo&q=tea+%26+milk&kl=wt-wt&api_key=k-secret"
    ]


@pytest.mark.parametrize(
    "busy", [Said(200, b'{"error": "429: out of searches"}'), Unavailable("reset")]
)
def test_serpapi_out_of_searches_or_out_of_reach_is_asked_again(busy: Said | Exception) -> None:
    transport = Canned(busy, busy, HITS)
    assert find(transport).hits and len(transport.asked) == 3
    transport = Canned(*[busy] * 9)
    with pytest.raises(ToolEnvironmentError, match="the search provider"):
        find(transport)
    assert len(transport.asked) == 3


def test_no_result_is_the_providers_own_answer() -> None:
    transport = Canned(Said(200, b'{"error": "no results for this query"}'))
    assert find(transport).error.startswith("Failed to retrieve the search results")
