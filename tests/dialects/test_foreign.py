"""Java and JavaScript as text: read by the pinned grammars, roughly without them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from toolmark.dialects.parse import grammar, java, javascript
from toolmark.dialects.parse.frame import Decoded, Misshapen, Unreadable

pinned = pytest.mark.skipif(grammar.parser("java") is None, reason="grammars are not installed")
Reader = Callable[[str], Decoded]


def inner(read: Reader) -> Reader:
    return lambda text: read(f"[{text}]")


JAVA = [
    pytest.param(inner(java.parse), marks=pinned, id="grammar"),
    pytest.param(java.rough, id="rough"),
]
SCRIPT = [
    pytest.param(inner(javascript.parse), marks=pinned, id="grammar"),
    pytest.param(javascript.rough, id="rough"),
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
def test_an_anonymous_body_is_lost(read: Reader) -> None:
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
    with pytest.raises(Unreadable):
        read(text)


@pinned
def test_text_without_a_call_is_misshapen() -> None:
    for read in (java.parse, javascript.parse):
        with pytest.raises(Misshapen):
            read("[x;]")


@pytest.mark.parametrize("language", ["java", "javascript"])
def test_another_version_of_a_grammar_does_not_count(
    monkeypatch: pytest.MonkeyPatch, language: grammar.Language
) -> None:
    pins = {name: {**pin, "tree_sitter": "0.0.0"} for name, pin in grammar.PINS.items()}
    monkeypatch.setattr(grammar, "PINS", pins)
    monkeypatch.setattr(grammar, "parser", grammar.parser.__wrapped__)
    assert grammar.parser(language) is None
    assert not (java.exact() or javascript.exact())
    assert java.parse("[run(a = 1)]") == javascript.parse("[run(a = 1)]") == [("run", {"a": "1"})]


@pytest.mark.parametrize("read", [*JAVA, *SCRIPT])
def test_depth_and_size_are_bounded(read: Reader) -> None:
    start = time.perf_counter()
    for text in (
        "run(a = " + "(" * 20_000 + "1" + ")" * 20_000 + ")",
        "run(a = " + "[" * 20_000,
        "run(" + "a = 1, " * 20_000 + "b = 2)",
        "run(a = " + "-" * 20_000 + "1)",
        "\ud800",
    ):
        try:
            found = read(text)
        except Unreadable:
            continue
        assert len(found) == 1
    assert time.perf_counter() - start < 10
