"""Java and JavaScript values; tests/parity holds the conversions against the official code."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cpu_limit import processor_limit

from toolmark.scoring import (
    call_matching,
    java_collections,
    java_values,
    javascript_values,
    maximum_matching,
)
from toolmark.scoring.value_conversion import ValueConverter
from toolmark.scoring.value_matching import OfficialCheckerError


def native(kinds: ValueConverter, kind: str, options: list[Any], value: Any) -> str:
    """Match one argument; `kind` may name the element type after a slash."""
    outer, _, inner = kind.partition("/")
    spec: dict[str, Any] = {"type": outer, **({"items": {"type": inner}} if inner else {})}
    doc = {"name": "f", "parameters": {"properties": {"p": spec}, "required": []}}
    fault = call_matching.check_call(
        doc, ("f", {"p": value}), {"f": {"p": options}}, converter=kinds
    )
    return "ok" if fault is None else fault.error_type


@pytest.mark.parametrize(
    ("kind", "options", "value", "verdict"),
    [
        ("integer", [5], 5, "type_error:java"),
        ("integer", [5], "5", "ok"),
        ("integer", [5], "05", "ok"),
        ("integer", [5], "+5", "type_error:simple"),
        ("integer", ["MAX"], "MAX", "ok"),
        ("long", [5], "5", "type_error:simple"),
        ("long", [5], "5L", "ok"),
        ("float", [0.5], "0.5", "type_error:simple"),
        ("double", [3.0], "3", "ok"),
        ("boolean", [True], "True", "type_error:simple"),
        ("String", ["a b"], "A_b", "ok"),
        ("Array/String", [["a"]], 'new String[]{"a"}', "value_error:list/tuple"),
        ("Array/String", [["a"]], "new String[]{a}", "ok"),
        ("Array/integer", [[1, 2]], "new int[]{1, 2}", "ok"),
        ("ArrayList/String", [["a"]], 'new ArrayList<String>(Arrays.asList("a"))', "ok"),
        ("ArrayList/String", [["a"]], 'Arrays.asList("a")', "type_error:simple"),
        ("HashMap", [{"k": ["v"]}], 'new HashMap<A, B>() {{ put("k", "v"); }}', "ok"),
        ("HashMap", [{"k": ["v"]}], 'Map.of("k", "v")', "type_error:simple"),
        ("HashMap", ["", {"k": [""]}], "new HashMap<>()", "ok"),
    ],
)
def test_java_is_converted_by_its_type(
    kind: str, options: list[Any], value: Any, verdict: str
) -> None:
    assert native(java_values.JAVA_CONVERTER, kind, options, value) == verdict


@pytest.mark.parametrize(
    ("kind", "options", "value", "verdict"),
    [
        ("float", [3.0], 3.0, "type_error:js"),
        ("float", [3.0], "3", "ok"),
        ("float", [1e3], "1e3", "type_error:simple"),
        ("Bigint", [5], "5n", "ok"),
        ("Boolean", [True], "true", "ok"),
        ("String", ["a"], "'a'", "ok"),
        ("array/String", [["a", "b"]], "[\"a\", 'b']", "ok"),
        ("array/integer", [[1, 2]], "new Array(1, 2)", "ok"),
        ("array/integer", [[1, 2]], "[[1, 2], [3]]", "type_error:nested"),
        ("dict", [{"a": [1], "b": ["x"]}], "{a: 1, 'b': \"x\"}", "ok"),
        ("dict", [{"a": [[1, 2]]}], "{a: [1, 2]}", "ok"),
        ("dict", [{"a": [1]}], "{\na: 1}", "type_error:simple"),
    ],
)
def test_javascript_is_converted_by_its_type(
    kind: str, options: list[Any], value: Any, verdict: str
) -> None:
    assert native(javascript_values.JAVASCRIPT_CONVERTER, kind, options, value) == verdict


@pytest.mark.parametrize(
    ("kinds", "kind", "value"),
    [
        (java_values.JAVA_CONVERTER, "Set", "x"),
        (java_values.JAVA_CONVERTER, "integer", "9" * 5000),
        (java_values.JAVA_CONVERTER, "list", "x"),
        (java_values.JAVA_CONVERTER, "Array/list", "x"),
        (javascript_values.JAVASCRIPT_CONVERTER, "Bigint", "5n\n"),
        (javascript_values.JAVASCRIPT_CONVERTER, "number", "1"),
    ],
)
def test_what_the_official_code_cannot_convert_is_unsound(
    kinds: ValueConverter, kind: str, value: str
) -> None:
    with pytest.raises(OfficialCheckerError):
        native(kinds, kind, [1], value)


N = 100_000
HOSTILE = (
    "[[" + "1],[" * N,
    "new Array([" + "1],[" * N,
    "{" + "a:" * N,
    "{a" + "," * N,
    "{" + " " * N,
    "new ArrayList<>(Arrays.asList(" * (N // 10),
    "new ArrayList<>() {{ " + "add(" * N,
    "new ArrayList<>() {{ " + " " * N,
    "new HashMap<>() {{ " + 'put("' * N + "}",
    "new HashMap<>() {{ " + 'put("k", ' * N + "}",
    "new HashMap<" * N,
    "new HashMap<>" * N,
    "new HashMap<>() {" + " " * N,
    "new x[]{" * N,
    "new" + " " * N,
    "new int[" + " " * N,
    "<" * N,
    "(" * N,
    "List.of(" * N,
    "new HashMap<" + "A<" * N,
    "_" * N,
    "'" * N,
    "new List" + " " * N + "!",
    "new List" + " " * 60_000 + "!",
    "new HashMap<\n" + ">()" * N,
    f"new HashMap<{'a' * 8 * N}\n" + ">()" * 2 * N,
    "new HashMap<>() {{ " + 'put("k", 1);' * (N // 2) + "}",
    "new ArrayList<>() {{ " + "add(1);" * N + "}}",
    "[[" + "1],[" * N + "1]]",
)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:20])
def test_hostile_text_takes_linear_time(text: str) -> None:
    with processor_limit():
        for kind, inner in (("Array", "any"), ("ArrayList", "String"), ("HashMap", None)):
            java_values.convert_java_value(text, kind, inner)
            java_collections.convert_java_collection(text[:65_000], kind, inner)
        for kind in ("array", "dict"):
            javascript_values.convert_javascript_value(text, kind)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("x", "x"),
        ('"List.of(1)"', '"List.of(1)"'),
        ("List.of()", []),
        ("List.of(1, List.of(2, 3))", ["1", ["2", "3"]]),
        ("new int[][]{{1, 2}, {3}}", [["1", "2"], ["3"]]),
        ("new int[]{1, 2,}", ["1", "2"]),
        ("new ArrayList<Map<String, Integer>>(10)", []),
        ("new ArrayList<>(x)", "new ArrayList<>(x)"),
        ("Arrays.asList(new HashMap<String, List<A>>(), f(1, 2))", [{}, "f(1, 2)"]),
        ('Map.of("a,b", 1, "c)", "}")', {"a,b": "1", "c)": '"}"'}),
        ("Map.of(1)", "Map.of(1)"),
        ("List.of(1))", "List.of(1))"),
        ("List.of(1", "List.of(1"),
        ("List.of(1] ", "List.of(1]"),
        ("new HashMap<>() {{ put(\"a\", 1); clear(); }}",
         "new HashMap<>() {{ put(\"a\", 1); clear(); }}"),
    ],
)  # fmt: skip
def test_a_collection_is_read_and_anything_else_is_left(text: str, node: Any) -> None:
    assert java_collections.parse_collection(text) == node


def test_elements_are_read_by_the_type_that_is_asked_for() -> None:
    assert java_collections.convert_java_collection(
        'new String[]{"a\\"b", "2", c}', "Array", "String"
    ) == ['a"b', "2", "c"]
    assert java_collections.convert_java_collection(
        'List.of("2", 2, true, x)', "ArrayList", "any"
    ) == ["2", 2, True, "x"]
    assert java_collections.convert_java_collection("List.of(2, 2L)", "ArrayList", "long") == [
        "2",
        2,
    ]
    assert java_collections.convert_java_collection("List.of(1)", "HashMap") == "List.of(1)"
    assert java_collections.convert_java_collection("5", "integer") == 5


@pytest.mark.parametrize(
    ("fits", "n"),
    [
        ([], 0),
        ([[False]], 0),
        ([[True, True], [True, False]], 2),
        ([[True, False], [True, False]], 1),
        ([[True, True, False], [True, False, False], [False, True, True]], 3),
    ],
)
def test_as_many_are_paired_as_can_be(fits: list[list[bool]], n: int) -> None:
    owner = maximum_matching.match_most(fits)
    assert len(owner) == len(set(owner.values())) == n
    assert all(fits[left][right] for right, left in owner.items())
