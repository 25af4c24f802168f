"""A refusal says its status once, and what it means where the server does not."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core import http_status
from toolmark.core.data_files import read_table
from toolmark.core.http_status import HttpStatuses, describe_status, says_nothing

SAID = [
    (404, "", "404: not found"),
    (404, "404", "404: not found"),
    (404, "Not Found", "404: not found"),
    (404, "404 page not found", "404: not found"),
    (404, "HTTP 404: Not Found", "404: not found"),
    (404, "404 Not Found: no deployment x", "404: Not Found: no deployment x"),
    (404, "model 404 is not here", "404: model 404 is not here"),
    (404, "4041 is not here", "404: 4041 is not here"),
    (401, "401: bad key", "401: bad key"),
    (400, "Error code: 400 - {'a': 1}", "400: {'a': 1}"),
    (400, "{}", "400: bad request"),
    (500, "Internal Server Error", "500: internal server error"),
    (503, "null", "503: service unavailable"),
    (413, "", "413: content too large"),
    (413, "Payload Too Large", "413: content too large"),
    (413, "<html><title>413 Request Entity Too Large</title>",
     "413: content too large (the answer is a web page)"),
    (422, "Unprocessable Entity", "422: unprocessable content"),
    (404, "404 404: no such model", "404: no such model"),
    (529, "", "529: the server gives no reason"),
    (404, "<html><head><title>404 Not Found</title></head></html>",
     "404: not found (the answer is a web page)"),
    (404, "<!DOCTYPE html><HTML><title>Welcome\n to us</title>",
     "404: Welcome to us (the answer is a web page)"),
    (404, "<html><title>It never ends", "404: It never ends (the answer is a web page)"),
    (404, "<b>x</b>", "404: <b>x</b>"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "said"), SAID)
def test_a_status_is_said_once_and_explained_where_the_body_is_not(
    status: int, body: str, said: str
) -> None:
    assert describe_status(status, body) == said


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, "found"),
        (404, "not"),
        (500, "server"),
        (503, "unavailable"),
        (403, "Forbidden: forbidden"),
        (413, "large"),
    ],
)
def test_words_that_are_only_a_part_of_the_phrase_are_shown(status: int, body: str) -> None:
    assert describe_status(status, body) == f"{status}: {body}"
    assert not says_nothing(status, body)


def test_the_phrases_are_those_of_the_table_and_not_of_this_python() -> None:
    known = read_table(http_status.__file__, "http_statuses.toml", HttpStatuses).phrases
    for status, phrases in known.items():
        lines = {describe_status(status, phrase) for phrase in ("", *phrases)}
        assert lines == {f"{status}: {phrases[0]}"}
    assert {each.value for each in HTTPStatus if each.value >= 300} <= known.keys()


@given(st.integers(400, 599), st.text(max_size=80))
def test_what_a_body_says_is_shown_unless_it_says_nothing(status: int, body: str) -> None:
    line = describe_status(status, body)
    assert line.startswith(f"{status}: ") and not line.startswith(f"{status}: {status}\n")
    if not says_nothing(status, body) and not body.lstrip().startswith("<"):
        tail = line.removeprefix(f"{status}: ")
        assert tail and body.strip().endswith(tail)
