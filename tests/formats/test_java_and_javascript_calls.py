"""Java and JavaScript as text: read by the pinned grammars, roughly without them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.formats.parse import java_calls, javascript_calls, pinned_grammars, rough_call_parser
from toolmark.formats.parse.reply_text import (
    MAX_CHARS,
    MAX_FOREIGN_CHARS,
    DecodedCalls,
    MisshapenCalls,
    UnreadableCalls,
)

# where the versions exist the `dev` extra brings them: without them these tests fail
pinned = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="the pinned grammars are made for Python below 3.13"
)
Reader = Callable[[str], DecodedCalls]


def inner(read: Reader) -> Reader:
    return lambda text: read(f"[{text}]")


@pinned
def test_both_grammars_are_here() -> None:
    assert java_calls.is_grammar_installed() and javascript_calls.is_grammar_installed()


JAVA = [
    pytest.param(inner(java_calls.parse_call), marks=pinned, id="grammar"),
    pytest.param(java_calls.parse_roughly, id="rough"),
]
SCRIPT = [
    pytest.param(inner(javascript_calls.parse_call), marks=pinned, id="grammar"),
    pytest.param(javascript_calls.parse_roughly, id="rough"),
]


@pytest.mark.parametrize("read", JAVA)
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('a.B.run(x = "text", y = 5L)', {"x": "text", "y": "5L"}),
        ("a.B.run(x = 'c', y = true)", {"x": "c", "y": "true"}),
        ('a.B.run(x = new int[]{1, 2}, y = "a, b")', {"x": "new int[]{1,2}", "y": "a, b"}),
        ('a.B.run(l = new ArrayList<String>(Arrays.asList("a", "b")))',
         {"l": 'new ArrayList<String>(Arrays.asList("a", "b"))'}),
        ("a.B.run(controller)", {None: "controller"}),
        ("a.B.run(500_000)", {}),
    ],
)  # fmt: skip
def test_java_values_stay_source_text(read: Reader, text: str, arguments: dict[Any, str]) -> None:
    ((name, found),) = read(text)
    assert name == "a.B.run"
    spaced = {key: value.replace("{1, 2}", "{1,2}") for key, value in found.items()}
    assert spaced == arguments


@pytest.mark.parametrize("read", JAVA)
def test_an_anonymous_body_is_dropped(read: Reader) -> None:
    text = 'run(m = new HashMap<String, String>() {{ put("a", "b"); }})'
    ((_, found),) = read(text)
    assert "put" not in found["m"]


@pytest.mark.parametrize("read", SCRIPT)
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("run(a = 'x', b = [1, 2])", {"a": "x", "b": "[1, 2]"}),
        ('run(a = {k: "v, w"}, b = (x) => x)', {"a": '{k: "v, w"}', "b": "(x) => x"}),
        ("run(name, flag = true)", {None: "name", "flag": "true"}),
    ],
)
def test_javascript_values_stay_source_text(
    read: Reader, text: str, arguments: dict[Any, str]
) -> None:
    assert read(text) == [("run", arguments)]


@pytest.mark.parametrize("read", [*JAVA, *SCRIPT])
@pytest.mark.parametrize("text", ["run(a = 1, a = 2)", "run(a = (1)", "run(a = 'x)", "5 +"])
def test_what_is_no_call_is_unreadable(read: Reader, text: str) -> None:
    with pytest.raises(UnreadableCalls):
        read(text)


@pinned
def test_text_without_a_call_is_misshapen() -> None:
    for read in (java_calls.parse_call, javascript_calls.parse_call):
        with pytest.raises(MisshapenCalls):
            read("[x;]")


@pytest.mark.parametrize("language", ["java", "javascript"])
def test_another_version_of_a_grammar_does_not_count(
    monkeypatch: pytest.MonkeyPatch, language: pinned_grammars.Language
) -> None:
    pins = {
        name: {**pin, "tree_sitter": "0.0.0"}
        for name, pin in pinned_grammars.PINNED_VERSIONS.items()
    }
    monkeypatch.setattr(pinned_grammars, "PINNED_VERSIONS", pins)
    monkeypatch.setattr(pinned_grammars, "parser_maker", pinned_grammars.parser_maker.__wrapped__)
    assert pinned_grammars.parser_maker(language) is None
    assert not (java_calls.is_grammar_installed() or javascript_calls.is_grammar_installed())
    assert (
        java_calls.parse_call("[run(a = 1)]")
        == javascript_calls.parse_call("[run(a = 1)]")
        == [("run", {"a": "1"})]
    )


@pytest.mark.timeout(30)
@pytest.mark.parametrize("read", [*JAVA, *SCRIPT])
def test_depth_is_bounded(read: Reader) -> None:
    for text in (
        "run(a = " + "(" * 8_000 + "1" + ")" * 8_000 + ")",
        "run(a = " + "[" * 16_000,
        "run(" + "a = 1, " * 2_000 + "b = 2)",
        "run(a = " + "-" * 16_000 + "1)",
        "\ud800",
    ):
        try:
            found = read(text)
        except UnreadableCalls:
            continue
        assert len(found) == 1


@pytest.mark.parametrize("read", [*JAVA, *SCRIPT])
def test_a_call_is_read_up_to_the_limit(read: Reader) -> None:
    room = MAX_FOREIGN_CHARS - len('run(a = "")')
    ((_, found),) = read(f'run(a = "{"x" * room}")')
    assert found == {"a": "x" * room}
    with pytest.raises(UnreadableCalls, match="the limit is 16384"):
        read(f'run(a = "{"x" * (room + 1)}")')


# the grammars of 2024 take minutes for each, hours for the longer ones
BUSY = [
    "!%" * 8_000,
    "}~" * 8_000,
    "new HashMap<\n" + ">()" * 5_000,
    "{a:[" + "1," * 8_000 + "]}",
    "!%" * 500_000,
    "new HashMap<\n" + ">()" * 300_000,
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("read", [*JAVA, *SCRIPT])
@pytest.mark.parametrize("text", BUSY, ids=lambda text: f"{text[:14]!r} {len(text)}")
def test_text_that_keeps_a_reader_busy_is_unreadable(read: Reader, text: str) -> None:
    with pytest.raises(UnreadableCalls):
        read(text)


@pinned
@pytest.mark.parametrize("read", [inner(java_calls.parse_call), inner(javascript_calls.parse_call)])
def test_a_text_without_its_time_leaves_the_next_as_it_is(
    monkeypatch: pytest.MonkeyPatch, read: Reader
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pinned_grammars, "PARSE_LIMIT_S", 1e-6)
        patch.setattr(pinned_grammars, "_SLICE_S", 1e-6)
        with pytest.raises(UnreadableCalls, match="takes longer"):
            read("run(" + "a = 1, " * 2_000 + "b = 2)")
    assert read("a.run(b = 1)") == [("a.run", {"b": "1"})]


@pinned
@pytest.mark.parametrize("language", ["java", "javascript"])
def test_a_text_read_in_slices_is_read_as_in_one(
    monkeypatch: pytest.MonkeyPatch, language: pinned_grammars.Language
) -> None:
    found = pinned_grammars.parser_maker(language)
    assert found is not None
    text = "run(" + ", ".join(f"a{n} = g({n})" for n in range(800)) + ")"
    monkeypatch.setattr(pinned_grammars, "_SLICE_S", 10.0)
    once = pinned_grammars.parse_tree(found, text).sexp()
    monkeypatch.setattr(pinned_grammars, "_SLICE_S", 1e-6)
    assert pinned_grammars.parse_tree(found, text).sexp() == once


@pytest.mark.timeout(30)
@pytest.mark.parametrize("blanks", [" ", "\t", "\n"])
def test_runs_of_blanks_are_passed_in_one_go(monkeypatch: pytest.MonkeyPatch, blanks: str) -> None:
    monkeypatch.setattr(
        rough_call_parser, "MAX_FOREIGN_CHARS", MAX_CHARS
    )  # so that a slow pattern would show
    run = blanks * (MAX_CHARS // 4)
    for text in (f"f(a={run})", f"f(a={run}!{run}", f"f(a{run}", f"f(a=new{run})", f"f(a=x{run}y)"):
        for rough in (java_calls.parse_roughly, javascript_calls.parse_roughly):
            with suppress(UnreadableCalls):
                rough(text)


@given(st.text("new \t.a<>(){x}", max_size=12))
def test_a_body_is_dropped_where_a_plain_pattern_finds_one(tail: str) -> None:
    plain = re.compile(r"(new\s+[\w.<>, ]+\([^{}]*\))\s*\{.*\}\s*\Z", re.DOTALL)
    for text in (f"new{tail}", f"new {tail}{{}}", f"new{tail}(){{}}"):
        mine, its = java_calls._ANONYMOUS_CLASS.match(text), plain.match(text)
        assert (mine and mine[1]) == (its and its[1])


@given(st.text("ab$.= \t\u00a0>(x", max_size=10))
def test_an_argument_is_named_where_a_plain_pattern_finds_its_name(piece: str) -> None:
    plain = re.compile(r"\s*([\w$.]+)\s*=(?![=>])\s*(.*\S)\s*\Z", re.ASCII | re.DOTALL)
    named = plain.match(piece)
    assert rough_call_parser._split_argument(piece) == (
        (named[1], named[2]) if named else (None, piece.strip())
    )
