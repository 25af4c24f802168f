"""Whether text looks like calls, however it is written and however long it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolmark.formats.parse import reply_parser
from toolmark.formats.parse.reply_text import MAX_CHARS

pieces = st.lists(st.sampled_from(["python", "json", "`", " ", "\t", "\n", "[", "(", "f", "."]))


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("f(a=1", True),
        ("```python\n[f(a=1", True),
        ("```json f(", True),
        ("`` ` [f(", True),
        ("python(", True),
        ("f and then (g)", False),
        ("[f", False),
        ("", False),
        ("x <TOOLCALL>", True),
        ('{"function" : 1', True),
    ],
)
def test_what_begins_like_a_call_is_an_attempt(text: str, verdict: bool) -> None:
    assert reply_parser.looks_like_calls(text) is verdict


@given(pieces.map("".join))
@example("```python [f(")
@example("python  json(")
def test_a_call_begins_where_a_plain_pattern_finds_its_beginning(text: str) -> None:
    plain = re.compile(r"\A[`\s]*(?:python|json)?\s*(?:\[|[\w.]+\()")
    assert bool(reply_parser._PYTHON_CALLS.match(text)) == bool(plain.match(text))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("run", ["\t", " ", "\n", "`", "` ", "[", "(", "a", ".", "python", "<"])
def test_no_run_of_characters_takes_more_than_linear_time(run: str) -> None:
    text = (run * MAX_CHARS)[: MAX_CHARS - 20]
    for head in ("", "python", "```json", '"function"'):
        reply_parser.looks_like_calls(f"{head}{text}!")
