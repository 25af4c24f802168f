"""The web as tools: what is asked is answered, recorded, and never leads inside."""

from __future__ import annotations

import ast
import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from toolmark.core.errors import DataError, ToolEnvironmentError, UsageError
from toolmark.core.records import Call, Result
from toolmark.core.redaction import REDACTED
from toolmark.environments.cassette import Cassette

pytest.importorskip("bs4", reason="needs toolmark[bfcl]")
pytest.importorskip("markdownify", reason="needs toolmark[bfcl]")
from toolmark.environments import html_conversion, public_web
from toolmark.environments.page_corpus import PageCorpus
from toolmark.environments.search_environment import (
    FETCH_TOOL,
    SEARCH_TOOL,
    FetchOutcome,
    RecordedEngine,
    SearchEngine,
    SearchEnvironment,
    SearchHit,
    SearchOutcome,
    search_tools,
)

HTML = """<html><head><title>Tea</title><style>p{}</style></head><body><script>x()</script>
<h1>Da Hong Pao</h1><p>A <b>rare</b> tea from <a href="/fujian">Fujian</a>.</p></body></html>"""


class Canned:
    """Ten hits and one page; counts how often it is asked."""

    def __init__(self) -> None:
        self.n_asked = 0

    async def find(self, keywords: str, region: str, /) -> SearchOutcome:
        self.n_asked += 1
        if keywords == "nothing":
            return SearchOutcome(error="Failed to retrieve")
        hits = [
            SearchHit(f"T{i}", f"https://a.example/{i}", f"about {keywords}") for i in range(12)
        ]
        return SearchOutcome(hits=tuple(hits))

    async def fetch(self, url: str, /) -> FetchOutcome:
        self.n_asked += 1
        return (
            FetchOutcome(content=HTML) if url.endswith("/tea") else FetchOutcome(error="status 404")
        )


def ask(engine: SearchEngine, name: str, **given: Any) -> Result:
    call = Call(name=name, arguments=json.dumps(given))
    return asyncio.run(SearchEnvironment((), engine, snippets=True).call(call))


# --- the tools --------------------------------------------------------------------------


def test_hits_are_a_list_of_titles_addresses_and_snippets() -> None:
    hits = ast.literal_eval(ask(Canned(), SEARCH_TOOL, keywords="tea").text)
    assert len(hits) == 10
    assert hits[0] == {"title": "T0", "href": "https://a.example/0", "body": "about tea"}
    assert (
        len(ast.literal_eval(ask(Canned(), SEARCH_TOOL, keywords="tea", max_results=3).text)) == 3
    )


def test_without_snippets_a_hit_has_no_body() -> None:
    bare = SearchEnvironment((), Canned(), snippets=False)
    result = asyncio.run(bare.call(Call(name=SEARCH_TOOL, arguments='{"keywords": "tea"}')))
    assert ast.literal_eval(result.text)[0] == {"title": "T0", "href": "https://a.example/0"}


def test_a_page_comes_raw_as_markdown_or_bare() -> None:
    def got(**given: str) -> str:
        content = json.loads(ask(Canned(), FETCH_TOOL, url="https://a.example/tea", **given).text)
        return str(content["content"])

    assert got() == got(mode="raw") == HTML
    assert "# Da Hong Pao" in got(mode="markdown") and "**rare**" in got(mode="markdown")
    assert "[Fujian](/fujian)" in got(mode="markdown") and "x()" not in got(mode="markdown")
    assert got(mode="truncate").split("\n") == [
        "Tea", "Da Hong Pao", "A", "rare", "tea from", "Fujian", ".",
    ]  # fmt: skip


def test_what_the_web_refuses_is_an_answer() -> None:
    lost = ask(Canned(), FETCH_TOOL, url="https://a.example/x").text
    assert json.loads(lost)["error"].endswith("https://a.example/x: status 404")
    odd = ask(Canned(), FETCH_TOOL, url="https://a.example/tea", mode="pdf").text
    assert json.loads(odd)["error"].endswith("Unsupported mode: pdf")
    assert "error" in json.loads(ask(Canned(), SEARCH_TOOL, keywords="nothing").text)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (FETCH_TOOL, {"url": "file:///etc/passwd"}),
        (FETCH_TOOL, {"url": "ftp://a.example/tea"}),
        (FETCH_TOOL, {"url": ["https://a.example/tea"]}),
        (FETCH_TOOL, {}),
        (SEARCH_TOOL, {"keywords": 5}),
        (SEARCH_TOOL, {"keywords": "a", "max_results": "3"}),
        (SEARCH_TOOL, {"keywords": "a", "more": 1}),
        ("other", {}),
        ("_search_web", {"keywords": "a"}),
    ],
)
def test_a_wrong_call_is_an_error_the_model_sees(name: str, given: dict[str, Any]) -> None:
    result = ask(Canned(), name, **given)
    assert result.is_error and result.text.startswith("Error during execution: ")


# --- a recording ------------------------------------------------------------------------


def test_a_recording_answers_what_was_asked_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "web.jsonl"
    live = Canned()
    first = RecordedEngine(Cassette(path), live)
    said = [
        ask(first, SEARCH_TOOL, keywords="tea").text,
        ask(first, SEARCH_TOOL, keywords="nothing").text,
        ask(first, FETCH_TOOL, url="https://a.example/tea").text,
        ask(first, FETCH_TOOL, url="https://a.example/x").text,
    ]
    again = RecordedEngine(Cassette(path))
    assert said == [
        ask(again, SEARCH_TOOL, region="wt-wt", keywords="tea").text,
        ask(again, SEARCH_TOOL, keywords="nothing").text,
        ask(again, FETCH_TOOL, url="https://a.example/tea").text,
        ask(again, FETCH_TOOL, url="https://a.example/x").text,
    ]
    ask(first, SEARCH_TOOL, keywords="tea", max_results=2)
    assert live.n_asked == 4
    for other in ({"keywords": "Tea"}, {"keywords": "tea", "region": "us-en"}):
        with pytest.raises(ToolEnvironmentError, match="search_engine_query"):
            ask(again, SEARCH_TOOL, **other)


def test_no_secret_reaches_the_file(tmp_path: Path) -> None:
    path = tmp_path / "web.jsonl"
    secret = 'se"cret'
    Cassette(path, (secret, "")).record_answer("t", {"q": f"my {secret}"}, {"a": [secret]})
    assert "cret" not in path.read_text().replace(REDACTED, "")
    assert Cassette(path, (secret,)).answer("t", {"q": f"my {secret}"}) == {"a": [REDACTED]}


def test_a_torn_last_line_is_written_over_and_any_other_is_named(tmp_path: Path) -> None:
    path = tmp_path / "web.jsonl"
    Cassette(path).record_answer("t", {"q": 1}, "one")
    with path.open("a") as file:
        file.write('{"kind": "answer", "tool": "t", "argu')
    tape = Cassette(path)
    tape.record_answer("t", {"q": 2}, "two")
    again = Cassette(path)
    assert [again.answer("t", {"q": q}) for q in (1, 2)] == ["one", "two"]
    path.write_text('{"kind": "answer", "tool": "t", "arguments": {}, "result": 1}\nnonsense\n')
    with pytest.raises(DataError, match=r"web\.jsonl:2"):
        Cassette(path)


# --- a folder ---------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = {
        "en.example.org/wiki/Tea.html": HTML,
        "en.example.org/wiki/Coffee.html": "<title>Coffee</title><p>A dark drink.</p>",
        "b.example/notes.txt": "Tea, tea and tea again: where tea grows.",
        "b.example/picture.png": "tea",
    }
    for name, text in pages.items():
        path = tmp_path / "pages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "secret.txt").write_text("inside")
    return tmp_path / "pages"


def test_a_corpus_ranks_pages_that_hold_the_words(folder: Path) -> None:
    hits = ast.literal_eval(ask(PageCorpus.from_folder(folder), SEARCH_TOOL, keywords="Tea").text)
    assert [hit["href"] for hit in hits] == [
        "https://b.example/notes.txt",
        "https://en.example.org/wiki/Tea.html",
    ]
    assert hits[1]["title"] == "Tea" and "rare" in hits[1]["body"]
    assert ask(PageCorpus.from_folder(folder), SEARCH_TOOL, keywords="wine").text == "[]"
    assert ask(PageCorpus.from_folder(folder), SEARCH_TOOL, keywords="").text == "[]"


@pytest.mark.parametrize(
    "url", ["https://en.example.org/wiki/Tea", "http://EN.example.org/wiki/Tea.html#x"]
)
def test_a_page_of_a_corpus_has_its_address(folder: Path, url: str) -> None:
    assert (
        json.loads(ask(PageCorpus.from_folder(folder), FETCH_TOOL, url=url).text)["content"] == HTML
    )


@pytest.mark.parametrize(
    "url", ["https://../secret.txt", "https://b.example/../../secret.txt", "http://[", "https://x"]
)
def test_a_corpus_gives_nothing_but_its_pages(folder: Path, url: str) -> None:
    assert json.loads(ask(PageCorpus.from_folder(folder), FETCH_TOOL, url=url).text)[
        "error"
    ].endswith("404")


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no pages"):
        PageCorpus.from_folder(tmp_path)


# --- structured arguments ---------------------------------------------------------------


def asked(**given: Any) -> Result:
    tools = search_tools(takes_parts=True)
    web = SearchEnvironment(tools, Canned(), snippets=True, takes_parts=True)
    return asyncio.run(web.call(Call(name=SEARCH_TOOL, arguments=json.dumps(given))))


def test_the_parts_of_a_query_are_joined_for_the_engine() -> None:
    said = asked(query_text=" opening year", image_text="LUMA", visual_features="", max_results=1)
    assert ast.literal_eval(said.text)[0]["body"] == "about opening year LUMA"
    for wrong in ({"keywords": "tea"}, {"image_text": "LUMA"}, {"query_text": ["tea"]}):
        assert asked(**wrong).is_error


@pytest.mark.parametrize("parted", [False, True])
def test_the_tools_on_offer_take_what_they_say_and_ask_for_what_they_need(parted: bool) -> None:
    web = SearchEnvironment(
        search_tools(takes_parts=parted), Canned(), snippets=True, takes_parts=parted
    )
    for tool in asyncio.run(web.tools()):
        texts = {"url": "https://a.example/tea", "mode": "markdown", "max_results": 2}
        full = {name: texts.get(name, "tea") for name in tool.parameters["properties"]}
        needed = {name: full[name] for name in tool.parameters["required"]}
        for given in (full, needed):
            call = Call(name=tool.name, arguments=json.dumps(given))
            assert not asyncio.run(web.call(call)).is_error
        call = Call(name=tool.name, arguments="{}")
        assert asyncio.run(web.call(call)).is_error


# --- the public web ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "0.0.0.0",
        "100.64.0.1", "224.0.0.1", "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1",
        "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::",
        "64:ff9b::7f00:1", "ff02::1", "2001:db8::1", "nonsense",
    ],
)  # fmt: skip
def test_what_is_not_the_public_internet(address: str) -> None:
    assert not public_web.is_public(address)


def test_what_is_the_public_internet() -> None:
    assert public_web.is_public("93.184.215.14") and public_web.is_public("2606:4700::1111")


class Site(BaseHTTPRequestHandler):
    """A little site with a page, redirects and faults."""

    def do_GET(self) -> None:
        match self.path:
            case "/tea":
                self._say(200, HTML.encode("latin-1"), "text/html; charset=latin-1")
            case "/there":
                self._say(302, b"", location="/tea")
            case "/inside":
                self._say(302, b"", location="http://169.254.169.254/latest/meta-data")
            case "/file":
                self._say(302, b"", location="file:///etc/passwd")
            case "/round":
                self._say(302, b"", location="/round")
            case "/large":
                self._say(200, b"x" * (public_web.MAX_BODY_BYTES + 1))
            case "/odd":
                self._say(200, b"caf\xe9", "text/html; charset=no-such-thing")
            case _:
                self._say(404, b"gone")

    def _say(self, status: int, body: bytes, kind: str = "text/html", location: str = "") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if location:
            self.send_header("location", location)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # the client has seen enough
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{site.server_address[1]}"
        site.shutdown()
        thread.join()


def fetched(url: str, **given: Any) -> str:
    return asyncio.run(public_web.fetch_page(url, **given))


def local(address: str) -> bool:
    """Let the test's own server pass for a public one."""
    return address == "127.0.0.1" or public_web.is_public(address)


def test_pages_and_redirects_are_read(server: str) -> None:
    assert fetched(f"{server}/tea", public=local) == HTML
    assert fetched(f"{server}/there", public=local) == HTML
    assert fetched(f"{server}/odd", public=local) == "caf\ufffd"
    named = server.replace("127.0.0.1", "localhost")
    assert fetched(f"{named}/tea", public=lambda address: True) == HTML


@pytest.mark.parametrize("host", ["tea.example", "TEA.example", "münchen.example"])
def test_the_connection_goes_to_the_address_that_was_checked(
    server: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    async def resolved(name: str, port: int) -> list[str]:
        names.append(name)
        return ["127.0.0.1"]

    monkeypatch.setattr(public_web, "_resolve_host", resolved)
    url = server.replace("127.0.0.1", host)
    assert fetched(f"{url}/there", public=local) == HTML
    assert len(names) == 2 and names[0] == names[1] == names[0].lower()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/none", "status 404"),
        ("/inside", "not on the public internet"),
        ("/file", "only http and https"),
        ("/round", "redirects"),
        ("/large", "larger than"),
    ],
)
def test_faults_of_a_web_server_are_page_errors(server: str, path: str, why: str) -> None:
    with pytest.raises(public_web.PageError, match=why):
        fetched(f"{server}{path}", public=local)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/x", "http://127.0.0.1:1/", "http://2130706433/", "http://0x7f.1/",
        "http://[::1]/", "http://169.254.169.254/", "http://user:pw@93.184.215.14/",
        "http://user@93.184.215.14/", "http:///x", "https://[/", "http://93.184.215.14:99999/",
        "gopher://93.184.215.14/", "http://\ud800/", "http://a.example\\@127.0.0.1/",
        "http://127。0。0。1/", "http://" + "a" * 300 + "/",
    ],
)  # fmt: skip
def test_no_address_leads_inside(url: str) -> None:
    with pytest.raises(public_web.PageError):
        fetched(url)


@pytest.mark.parametrize(
    "html", ["<div>" * 5000 + "deep", "<?xml version='1.0'?><a>deep</a>", "deep.html", "deep<![[["]
)
def test_a_damaged_page_is_text_or_an_error_the_model_sees(html: str) -> None:
    for read in (html_conversion.html_to_markdown, html_conversion.html_to_text):
        try:
            assert "deep" in read(html)
        except ValueError as error:
            assert "beyond reading" in str(error)


def test_a_damaged_page_of_a_corpus_can_be_found(folder: Path) -> None:
    (folder / "b.example" / "broken.html").write_text("<p>kettle<![[[")
    assert "broken.html" in ask(PageCorpus.from_folder(folder), SEARCH_TOOL, keywords="kettle").text
