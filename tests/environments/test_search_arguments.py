"""Odd arguments of the web tools: in plain words in ours, and as they come to officially."""

from __future__ import annotations

import ast
import asyncio
import json
from typing import Any

import pytest
from tests.environments.test_search_environment import HTML, Canned

from toolmark.core.records import Call, Result
from toolmark.environments.search_environment import (
    FETCH_TOOL,
    SEARCH_TOOL,
    SearchEnvironment,
    search_tools,
)


def own(name: str, parted: bool = False, **given: Any) -> Result:
    web = SearchEnvironment(
        search_tools(takes_parts=parted), Canned(), snippets=True, takes_parts=parted
    )
    return asyncio.run(web.call(Call(name=name, arguments=json.dumps(given))))


@pytest.mark.parametrize("parted", [False, True])
@pytest.mark.parametrize("odd", ["5", "all", 2.5, 0, -3, True, [3], float("nan"), float("inf")])
def test_an_odd_number_of_hits_is_refused_in_plain_words(odd: Any, parted: bool) -> None:
    words = {"query_text" if parted else "keywords": "tea"}
    said = own(SEARCH_TOOL, parted, **words, max_results=odd)
    assert said.is_error and "max_results must be a whole number from 1 up, not" in said.text


@pytest.mark.parametrize("parted", [False, True])
def test_null_is_as_if_left_out_and_a_whole_number_may_be_written_with_a_point(
    parted: bool,
) -> None:
    first, *others = ("query_text", "image_text") if parted else ("keywords",)
    plain = own(SEARCH_TOOL, parted, **{first: "tea"})
    empty = dict.fromkeys([*others, "max_results", "region"])
    assert not plain.is_error and own(SEARCH_TOOL, parted, **{first: "tea"}, **empty) == plain
    three = own(SEARCH_TOOL, parted, **{first: "tea"}, max_results=3.0)
    assert len(ast.literal_eval(three.text)) == 3
    assert own(FETCH_TOOL, url="https://a.example/tea", mode=None) == own(
        FETCH_TOOL, url="https://a.example/tea", mode="raw"
    )
    assert own(SEARCH_TOOL, parted, **{first: None}).is_error


def test_what_should_be_text_is_named() -> None:
    assert 'keywords must be text, not ["tea"]' in own(SEARCH_TOOL, keywords=["tea"]).text
    assert "region must be text, not 5" in own(SEARCH_TOOL, keywords="tea", region=5).text
    assert "url must be text, not 5" in own(FETCH_TOOL, url=5).text
    assert "image_text must be text" in own(SEARCH_TOOL, True, query_text="tea", image_text=5).text


def test_a_scheme_has_no_case() -> None:
    said = own(FETCH_TOOL, url="HTTPS://a.example/tea")
    assert json.loads(said.text)["content"] == HTML
    for wrong in ("a.example/tea", "https:/a.example", "HTTPX://a.example", ""):
        assert "Invalid URL" in own(FETCH_TOOL, url=wrong).text


@pytest.mark.parametrize(
    ("name", "given", "reported"),
    [
        (SEARCH_TOOL, {"max_results": -3}, 9),
        (SEARCH_TOOL, {"max_results": None}, 12),
        (SEARCH_TOOL, {"max_results": 0}, 0),
        (SEARCH_TOOL, {"max_results": True}, 1),
        (SEARCH_TOOL, {"region": None}, 10),
        (SEARCH_TOOL, {"max_results": "5"}, "slice indices must be integers or None"),
        (SEARCH_TOOL, {"max_results": 2.0}, "slice indices must be integers or None"),
        (FETCH_TOOL, {"url": "HTTPS://a.example/tea"}, "Invalid URL: HTTPS://a.example/tea"),
    ],
)
def test_officially_odd_arguments_come_to_what_python_makes_of_them(
    name: str, given: dict[str, Any], reported: int | str
) -> None:
    words = {"keywords": "tea"} if name == SEARCH_TOOL else {}
    web = SearchEnvironment((), Canned(), snippets=True, official_wording=True)
    said = asyncio.run(web.call(Call(name=name, arguments=json.dumps(words | given))))
    if isinstance(reported, str):
        assert said.is_error and said.text.startswith(f"Error during execution: {reported}")
    else:
        assert len(ast.literal_eval(said.text)) == reported
