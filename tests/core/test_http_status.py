"""A refusal says its status once, and what it means where the server does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.http_status import describe_status, says_nothing

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


@given(st.integers(400, 599), st.text(max_size=80))
def test_what_a_body_says_is_shown_unless_it_says_nothing(status: int, body: str) -> None:
    line = describe_status(status, body)
    assert line.startswith(f"{status}: ") and not line.startswith(f"{status}: {status}\n")
    if not says_nothing(status, body) and not body.lstrip().startswith("<"):
        tail = line.removeprefix(f"{status}: ")
        assert tail and body.strip().endswith(tail)
