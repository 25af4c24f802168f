"""Pages of one's own: ranked as the reference does, the same every time, and never elsewhere."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmark.core.errors import UsageError

pytest.importorskip("bs4", reason="needs toolmark[bfcl]")
pytest.importorskip("bm25s", reason="needs toolmark[bfcl]")
from rank_bm25 import BM25Plus

from toolmark.environments.page_address import MAX_PAGE_BYTES
from toolmark.environments.page_corpus import MAX_HITS, MAX_QUERY_WORDS, MemoryPage, PageCorpus
from toolmark.environments.search_environment import SearchOutcome

WORDS = st.sampled_from(["tea", "milk", "cup", "pot", "leaf", "rare", "red"])
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


def corpus(*texts: str) -> PageCorpus:
    pages = [MemoryPage(f"https://a.example/{i}", "", text) for i, text in enumerate(texts)]
    return PageCorpus(pages)


def find(engine: PageCorpus, keywords: str) -> SearchOutcome:
    return asyncio.run(engine.find(keywords, "wt-wt"))


def places(found: SearchOutcome) -> list[int]:
    return [int(hit.href.rpartition("/")[2]) for hit in found.hits]


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=40), st.lists(WORDS, max_size=4))
def test_pages_rank_as_in_the_reference_and_ties_keep_their_order(
    texts: list[str], wanted: list[str]
) -> None:
    got = places(find(corpus(*texts), " ".join(wanted)))
    holding = [i for i, text in enumerate(texts) if set(wanted) & set(text.split())]
    reference = BM25Plus([text.split() or [""] for text in texts]).get_scores(wanted)
    scores = [round(float(score), 7) for score in reference]
    assert got == sorted(holding, key=lambda i: -scores[i])[:MAX_HITS]


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS, max_size=200), st.lists(WORDS, min_size=1, max_size=4))
def test_a_snippet_shows_the_first_place_of_any_word(words: list[str], wanted: list[str]) -> None:
    text = " ".join(words)
    found = find(corpus(text), " ".join(wanted)).hits
    places = [text.find(word) for word in wanted if word in text]
    assert bool(found) == bool(places)
    for hit in found:
        start = max(0, min(places) - 75)
        assert hit.body == " ".join(text[start : start + 300].split())


def test_more_ties_than_hits_are_cut_in_their_order() -> None:
    engine = corpus(*["tea"] * (2 * MAX_HITS), "tea tea")
    assert places(find(engine, "tea")) == [2 * MAX_HITS, *range(MAX_HITS - 1)]


def test_what_is_found_does_not_depend_on_what_was_asked_before() -> None:
    rng = random.Random(7)
    words = ["tea", "milk", "cup", "pot", "leaf", "rare", "red"]
    texts = [" ".join(rng.choices(words, k=9)) for _ in range(60)]
    queries = [" ".join(rng.choices(words, k=3)) for _ in range(40)]
    one, other = corpus(*texts), corpus(*texts)
    forth = {query: find(one, query) for query in queries}
    back = {query: find(other, query) for query in reversed(queries)}
    assert forth == back
    assert len(set(map(str, forth.values()))) > 5


def test_a_page_in_memory_is_found_by_its_title_and_what_a_reader_sees() -> None:
    html = "<title>x</title><script>hidden</script><p>A <b>rare</b> leaf &amp; cup</p>"
    engine = PageCorpus([MemoryPage("https://a.example/tea", "Da Hong Pao", html)])
    for query in ("hong", "RARE", "cup"):
        (hit,) = find(engine, query).hits
        assert (hit.title, hit.href) == ("Da Hong Pao", "https://a.example/tea")
        assert "rare" in hit.body and "<b>" not in hit.body
    for query in ("hidden", "amp", "script", "", "!?"):
        assert find(engine, query) == SearchOutcome()
    assert asyncio.run(engine.fetch("http://A.example/tea.html")).content == html
    assert asyncio.run(engine.fetch("https://a.example/other")).error.endswith("404")


def test_a_folder_and_memory_are_the_same_web(tmp_path: Path) -> None:
    texts = {"a.example/tea.html": "<title>Tea</title><p>a rare tea",
             "b.example/cup.html": "<title>Cup</title><p>tea in a cup"}  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    titles = ["Tea", "Cup"]
    pages = [MemoryPage(f"https://{n}", t, texts[n]) for n, t in zip(texts, titles, strict=True)]
    folder, memory = PageCorpus.from_folder(tmp_path), PageCorpus(pages)
    for query in ("tea", "cup", "rare cup"):
        assert find(folder, query) == find(memory, query)
    for name in texts:
        url = f"https://{name}"
        assert asyncio.run(folder.fetch(url)) == asyncio.run(memory.fetch(url))


@pytest.mark.parametrize(
    "html",
    ["", "kettle<![[[", "<div>" * 5000 + "kettle", "\x00kettle", "\ud800 kettle", "<?xml?>kettle",
     "<a href='javascript:kettle()'>kettle</a>", "kettle" + "</p>" * 1000],
)  # fmt: skip
def test_a_hostile_page_is_stored_and_returned_as_text(html: str) -> None:
    engine = PageCorpus([MemoryPage("https://a.example/x", "x\udc00", html)])
    found = find(engine, "kettle")
    assert bool(found.hits) == ("kettle" in html)
    content = asyncio.run(engine.fetch("https://a.example/x")).content
    assert "kettle" in content or not html
    str((found, content)).encode()  # nothing that cannot be written


@pytest.mark.parametrize(
    "query",
    ["(", "a|b", "[", "\\", ".*", "\ud800", "tea\x00", "ⅷ İ ß", "kettle " * 2 * MAX_QUERY_WORDS],
)
def test_a_hostile_query_is_words_or_nothing(query: str) -> None:
    engine = PageCorpus(
        [MemoryPage("https://a.example/x", "x", "a kettle of tea"), MemoryPage("y", "y", "milk")]
    )
    assert len(find(engine, query).hits) <= 1


def test_a_corpus_without_pages_is_refused() -> None:
    with pytest.raises(UsageError, match="without pages"):
        PageCorpus([])


def test_only_files_of_the_folder_are_its_pages(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    (folder / "wiki.md").mkdir(parents=True)  # a host that ends as a page does
    (folder / "wiki.md" / "tea.html").write_text("<p>secret tea")
    (tmp_path / "key.txt").write_text("secret key")
    (folder / "wiki.md" / "key.txt").symlink_to(tmp_path / "key.txt")
    os.mkfifo(folder / "wiki.md" / "pipe.txt")
    engine = PageCorpus.from_folder(folder)
    assert [hit.href for hit in find(engine, "secret").hits] == ["https://wiki.md/tea.html"]
    assert asyncio.run(engine.fetch("https://wiki.md/key")).error.endswith("404")


def test_a_file_without_end_is_a_page_with_one(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("tea")
    os.truncate(path, 2**40)  # takes no room on the disk
    engine = PageCorpus.from_folder(tmp_path)
    assert len(asyncio.run(engine.fetch("https://long.txt")).content) == MAX_PAGE_BYTES


@pytest.mark.parametrize(
    "names",
    [("C.html", "C#.html"), ("a b.html", "a%20b.html", "a+b.html"), ("page?id=3.html", "page.html"),
     ("ü.html", "u.html"), (b"\xff.html", "y.html")],
)  # fmt: skip
@pytest.mark.parametrize("host", ["h.example", "h.example:8080", "häuser.example", "H?x"])
def test_every_file_is_fetched_by_the_address_that_is_found(
    host: str, names: tuple[str | bytes, ...], tmp_path: Path
) -> None:
    folder = tmp_path / host
    folder.mkdir()
    for n, name in enumerate(names):
        (folder / os.fsdecode(name)).write_text(f"<title>t</title>tea {n}")
    engine = PageCorpus.from_folder(tmp_path)
    hits = find(engine, "tea").hits
    assert len(hits) == len(names)
    fetched = {asyncio.run(engine.fetch(hit.href)).content for hit in hits}
    assert fetched == {f"<title>t</title>tea {n}" for n in range(len(names))}
    for hit in hits:
        assert hit.href.isascii() and " " not in hit.href


def test_an_address_may_be_written_as_people_do(tmp_path: Path) -> None:
    (tmp_path / "häuser.example:8080").mkdir()
    (tmp_path / "häuser.example:8080" / "tee küche.html").write_text("tea")
    engine = PageCorpus.from_folder(tmp_path)
    for url in ("https://häuser.example:8080/tee küche", find(engine, "tea").hits[0].href):
        assert asyncio.run(engine.fetch(url)).content == "tea"
