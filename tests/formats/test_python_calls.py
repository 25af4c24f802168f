"""Calls written as Python: what is read, how, and what is refused without being run."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.cpu_limit import processor_limit

from toolmark.formats.parse import python_calls


def value(text: str) -> Any:
    return python_calls.parse_reply(f"[f(k={text})]")[0][1]["k"]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("", []),
        ("[]", []),
        ("[f(a=1), m.g(b='x')]", [("f", {"a": 1}), ("m.g", {"b": "x"})]),
        ("f(a=1), g(b=2)", [("f", {"a": 1}), ("g", {"b": 2})]),
        ("```\n[f(a=1)]\n```", [("f", {"a": 1})]),
        ("f(1, *x, a=2)", [("f", {"a": 2})]),
        ("f(**{'a': 1})", [("f", {None: {"a": 1}})]),
        ("f(x)(y=2)", [("", {"y": 2})]),
    ],
)
def test_calls_are_read(text: str, calls: python_calls.DecodedCalls) -> None:
    assert python_calls.parse_reply(text) == calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("...", "..."), ("+1", -1), ("not True", -1), ("~1", -1), ("-2.5", -2.5), ("true", "true"),
        ("None", None), ("(1, 'a')", (1, "a")), ("{'a': [1]}", {"a": [1]}), ("g()", "g()"),
        ("g(1)", "g(1)"), ("g(a=1)", {"g": {"a": 1}}), ("x[0]", "x[0]"), ("b'x'", b"x"),
        ("1e400", math.inf), ("2 + 3 * 4", 14), ("-1 + 2", 1), ("7 // 2", 3), ("2 ** 10", 1024),
        ("'a' + 'b'", "ab"), ("'a' * 3", "aaa"), ("1 / 4", 0.25), ("7 % 4", 3), ("2 - -1", 3),
    ],
)  # fmt: skip
def test_values_keep_their_types(text: str, expected: Any) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "text",
    [
        "hello", "[f(a=1)], [g(b=2)]", "Sure! [f(a=1)]", "```python\n[f(a=1)]\n```", "[1]",
        "[f(a=-x)]", "[f(a=lambda: 1)]", "[f(a={1, 2})]", "[f(a=[i for i in x])]", "[f(a=x.y)]",
        "[f(a=f'{x}')]", "[f(a=1 < 2)]", "[f(a=*x)]", "[f(a={**x})]", "[f(a={[1]: 2})]", "[f(a=",
        "[f(a='\x00')]", "[f(a='\ud800')]", "[f(a=1 / 0)]", f"[f(a={'9' * 5000})]",
    ],
)  # fmt: skip
def test_what_is_no_call_is_unreadable(text: str) -> None:
    with pytest.raises(python_calls.UnreadableCalls):
        python_calls.parse_reply(text)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9", "2**100000", "'a' * 10**9", "10**9 * 'a'", "'%999999999d' % 1", "1 << 99999",
        "x + 1", "[1] + [2]", "(lambda: 1)() + 1", "1 + __import__('os').getpid()", "1 + x.y",
        "2 ** -(10 ** 9)", "True + (1 if 1 else 2)",
    ],
)  # fmt: skip
def test_expressions_beyond_constant_arithmetic_are_never_evaluated(text: str) -> None:
    with processor_limit(), pytest.raises(python_calls.UnreadableCalls):
        value(text)


def test_hostile_text_runs_nothing(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    attack = f"open({str(canary)!r}, 'w').write('x')"
    for text in (
        attack,
        f"1 + {attack}",
        f"f(a={attack})",
        f"f(a=1 + {attack})",
        f"f(a=-{attack})",
    ):
        try:
            python_calls.parse_reply(text)
        except python_calls.UnreadableCalls:
            continue
    assert not canary.exists()


@pytest.mark.parametrize(
    "text",
    [
        "[f(a=" + "[" * 10_000 + "]" * 10_000 + ")]",
        "[f(a=" + "-" * 10_000 + "1)]",
        "[f(a=" + "1+" * 10_000 + "1)]",
        "[f" + ".a" * 10_000 + "(b=1)]",
        "(" * 10_000,
        "x" * 10_000_000,
        "[f(a='" + "y" * 10_000_000 + "')]",
    ],
)
def test_depth_and_size_are_bounded(text: str) -> None:
    try:
        found = python_calls.parse_reply(text)
    except python_calls.UnreadableCalls as error:
        assert len(str(error)) < 1000
    else:
        assert len(found) == 1


def test_odd_literals_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert value(r"'\d'") == "\\d"
        with pytest.raises(python_calls.UnreadableCalls):
            value("1if 1else 2")
