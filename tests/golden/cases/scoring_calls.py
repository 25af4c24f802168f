"""Matching of calls and values: every public function on seeded and chosen inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.golden.plain import plain, shortened
from tests.parity import damaged_replies

from toolmark.core import seeds
from toolmark.scoring import (
    answer_matching,
    call_matching,
    java_collections,
    java_values,
    javascript_values,
    maximum_matching,
    text_scanning,
    value_conversion,
    value_matching,
)
from toolmark.scoring.value_conversion import ConvertedValue

SOURCES = 700  # of each language


def record(folder: Path) -> dict[str, Any]:
    """Return what each function makes of its inputs."""
    return {
        "java": _foreign(
            "simple_java",
            java_values.convert_java_value,
            [*java_values.JAVA_TYPES, "Widget"],
            java_values.JAVA_COLLECTION_TYPES,
        ),
        "javascript": _foreign(
            "simple_javascript",
            javascript_values.convert_javascript_value,
            [*javascript_values.JAVASCRIPT_TYPES, "Widget"],
            javascript_values.JAVASCRIPT_COLLECTION_TYPES,
        ),
        "literal": _literal(),
        "kinds": _kinds(),
        "values": dict(_values()),
        "match": dict(_match()),
        "match drawn": dict(_drawn()),
        "pairing": _pairing(),
        "text": _text(),
        "answer": _answer(),
    }


def _said(ask: Callable[..., Any], *given: Any) -> str:
    """Return the representation of what comes back, or the error; the types count here."""
    try:
        return shortened(repr(ask(*given)))
    except (
        value_matching.OfficialCheckerError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
    ) as error:
        return f"{type(error).__name__}: {error}"


# --- text of other languages ------------------------------------------------------------

JAVA = (
    "", " ", "5", "-5", "+5", "05", "5 ", "5\n", "٥", "5L", "5l", "-5L", "L", "5.0", "5.", ".5",
    "1e5", "1E-5", "1e", "5f", "5F", "1.5f", "1.5e2F", "f", "true", "false", "True", '"a"', "'a'",
    '"', "a", "null", "9" * 5000, "9" * 5000 + "L", "nan", "inf", "Infinity", "NaN", "1_0",
    "new ArrayList<>()", "new ArrayList<Integer>()", "new  ArrayList<String>() ", "ArrayList<>()",
    "new ArrayList<>(Arrays.asList())", "new ArrayList<>(Arrays.asList(1))",
    "new ArrayList<>(Arrays.asList(1, 2L, 1.5f, true, \"a\", 'b', c))",
    'new ArrayList<String>(Arrays.asList("a", "b,c"))', "new ArrayList<>(Arrays.asList(1, 2)",
    "new ArrayList<>(Arrays.asList(1,\n2))", "new ArrayList<Integer>(Arrays.asList(1, 2)) x",
    "new ArrayList<>() {{ }}", "new ArrayList<>() {{ add(1); add(2); }}",
    'new ArrayList<String>() {{ add("a"); add("b"); }}', "new ArrayList<>() {{ add(); }}",
    "new ArrayList<>() {{ add(1)\nadd(2) }}", "new ArrayList<>() {{ add(1) }", "{{add(1)}}",
    "new int[]{1, 2}", "new int[] {1,,2}", "new String[]{\"a\", \"b\"}", "new int[]{}",
    "new int[]{", "new int[3]", "new int[][]{{1}, {2}}", "new double[] {1.5, 2}",
    "new HashMap<String, Integer>()", "new HashMap<>() {{ }}", "new HashMap<",
    'new HashMap<String, Integer>() {{ put("a", 1); put("b", 2L); }}',
    'new HashMap<>() {{ put("a", "x"); put("b", true); put("c", 1.5f); put("d", z) }}',
    'new HashMap<>() {{ put("a", 1)\nput("b", 2) }}', 'new HashMap<>() {{ put("a",\n1) }}',
    'new HashMap<>() {{ put("a" 1); }}', 'new HashMap<>() { put("a", 1); }',
    'new HashMap<String,\nInteger>()', 'new HashMap<> ()\n{ {put("a",  1 ) ;} }',
    'new HashMap<>() {{ put("a", put("b", 1)); }}', 'new HashMap<>() {{ put("a", 1); put("b',
    'new HashMap<>() {{ put("q", "x", "y"); put("", 1); }}', "new HashMap<X", "x new HashMap<>() y",
    'new HashMap<A new HashMap<>()', 'new HashMap<>() {{ put("a\nb", 1); put("c", 2); }}',
)  # fmt: skip
JAVASCRIPT = (
    "", " ", "5", "-5", "5n", "-5n", "n", "5.0", "5.", ".5", "1e5", "true", "false", "True", "null",
    '"a"', "'a'", '"a\'', '"', "''", "a", "9" * 5000, "9" * 5000 + "n", "5\n", "٥", "nan", "inf",
    "[]", "[ ]", "[1]", "[1, 2]", "[1, 'a', \"b\", true, 2.5, 5n, x]", "[1,,2]", "[1, 2", "1, 2]",
    "new Array()", "new Array(1, 2)", "new  Array( 1 )", "new Array(3", "[[1, 2], [3]]",
    "[[1], [2]",
    "[[1, 2]]", "[ [1],[2] ]", "[[1], x, [2]]", "[[1]; [2]]", "[[]]", "[[], []]", "[[1]\n, [2]]",
    "new Array([1, 2], [3])", "new Array([1]", "[[1, 2], 3]", "[[1], [2]] tail", "[\n1\n]",
    "[" + "9" * 5000 + "]", "{}", "{ }", "{a: 1}", '{"a": 1, "b": "x"}', "{'a': [1, 2], b: {c: 1}}",
    "{a: 1, b: 2, c}", "{a}", "{a:}", "{:1}", "{::1}", "{a: 1,}", "{a: x, y, b: 2}", "{a: 1",
    "{a: {b: 1}, c: 2}", "{a: [1, 2], b: 3}", "{a: [x, 'y'], 'b c': true}", "{\na: 1\n}",
    "{a: 'x:y', b: 1}", "{a: 1, :2}", "{a: 1,b: 2}", "{a:1,b:2,c:3}", "{a: new Array(1), b: 2}",
    '{"a": "x, y", "b": "z"}', "{a: 1, b: 2} tail", "x {a: 1}", "{a b: 1}", "{a: , b: 1}",
)  # fmt: skip


def _foreign(
    category: str,
    convert: Callable[[str, str, str | None], Any],
    types: Sequence[str],
    nested: Sequence[str],
) -> dict[str, str]:
    chosen = JAVA if category == "simple_java" else JAVASCRIPT
    maps = ("HashMap", "Set") if category == "simple_java" else ("dict",)
    found: dict[str, str] = {}

    def add(kind: str, inner: str | None, said: str) -> None:
        name = f"{kind}<{inner}>" if inner else kind
        found[f"{name} {shortened(said)!r}"] = _said(convert, said, kind, inner)

    for said in chosen:
        for kind in types:
            if kind in nested:
                for inner in (None, "integer", "String", "Boolean", "boolean", "char", "float"):
                    add(kind, inner, said)
            elif kind not in ("byte", "short", "double", "Hashtable", "Queue", "Stack"):
                add(kind, None, said)
    for kind in types:
        add(kind, None, "-12")
    for number in range(SOURCES):
        rng = seeds.make_rng(15, str(number), 0, f"golden {category}")
        kind = seeds.draw_one(rng, [*types, *[*nested] * 5, *maps * 3])
        inner = seeds.draw_one(rng, [*types, None]) if kind in nested else None
        add(kind, inner, damaged_replies.source(category, rng))
    return found


LITERAL = (
    "Arrays.asList()", "Arrays.asList(1, \"a\", 'b', 2L, true)", "List.of(List.of(1), List.of())",
    "Collections.singletonList(5)", "Collections.emptyList()", "Collections.emptyMap()",
    'Collections.singletonMap("a", 1)', 'Map.of("a", 1, "b", "x")', 'Map.of("a")', "Map.of()",
    'Map.ofEntries(Map.entry("a", 1), Map.entry("b", List.of(2)))', "Map.ofEntries(5)",
    "java.util.List.of(1)", "java.util.Arrays.asList(1) x", "new java.util.ArrayList<>(5)",
    "new ArrayList<>(List.of(1, 2)) {{ add(3); }}", "new LinkedList<>()", "new HashMap<>(16)",
    'new TreeMap<>(Map.of("a", 1)) {{ put("b", 2); this.put("c", 3) }}', "new HashMap<>(1, 2)",
    "new ArrayList<>() {{ add(1); remove(0); }}", "new ArrayList<>() {{ put(1, 2); }}",
    "new HashMap<>() {{ add(1); }}", "new HashMap<>() {{ put(1); }}", "new ArrayList<>() { }",
    "new ArrayList<>() {{ this . add ( \"a\\n\\u0041\\q\" ) ; ; }}", "new ArrayList<>() x",
    "new ArrayList<>() { x }", "new ArrayList<>(x)", "new int[]{1, 2, }",
    "new int[][]{{1}, {2, 3}}",
    "new int[][]{{1} x, {2}}", "new int[][]{{1}{2}}", "new int[][]{{}}",
    "new int[2][]{{1}}", "new String[]{\"a, b\", 'c', null}", "new int[]{1} x", "new int[]{1",
    "new int[]{{1}, {2}", "new Map.Entry<A, B>[]{x}", '"List.of(1)"', "List.of(1);",
    "List.of(1)); ",
    "List.of(" * 25 + ")" * 25, "new int[]{" * 3 + "1" + "}" * 3, "{" * 25 + "}" * 25,
    "new int[]{" + "{" * 25 + "}" * 25 + "}", "List.of(\"a\\\"b\")",
    "new ArrayList<List<Integer>>()",
    "List.of(" + "1," * 33_000 + "1)", "List . of(1)", "list.of(1)", "new List<>(1.5)", "",
)  # fmt: skip


def _literal() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for said in (*LITERAL, *JAVA):
        shown = shortened(said)
        found[f"collection {shown!r}"] = _said(java_collections.parse_collection, said)
        for kind, inner in (
            ("Array", "integer"), ("Array", "any"), ("ArrayList", "String"), ("ArrayList", None),
            ("HashMap", None), ("String", None), ("integer", None),
        ):  # fmt: skip
            found[f"{kind}<{inner}> {shown!r}"] = _said(
                java_collections.convert_java_collection, said, kind, inner
            )
    for depth in (0, 19, 20, 21):
        found[f"depth {depth}"] = _said(
            java_collections.parse_collection, "List.of(List.of(1))", depth
        )
    for said in ("a, b) c", "a", ")", "a)", "(a, b), c)", "'a,b', \"c)\")", "[a)", "'a", "{,},)"):
        found[f"split {said!r}"] = _said(java_collections.split_elements, said, 0)
    for said in (
        "a",
        "\\n\\t\\r\\b\\f\\0",
        "\\u00e9\\u00E9",
        "\\u00g0",
        "\\'\\\"\\\\",
        "\\",
        "\\\n",
    ):
        found[f"unescaped {said!r}"] = java_collections.unescape_literal(said)
    for number in range(SOURCES // 2):
        rng = seeds.make_rng(15, str(number), 0, "golden literal")
        said = damaged_replies.source("simple_java", rng)
        kind = seeds.draw_one(rng, ("Array", "ArrayList", "HashMap"))
        inner = seeds.draw_one(rng, ("integer", "String", "any", None))
        found[f"{kind}<{inner}> {said!r}"] = _said(
            java_collections.convert_java_collection, said, kind, inner
        )
    return found


# --- values -----------------------------------------------------------------------------

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 5, 5.0, 0.1, 10**400, "", "x", "5", "New York, NY", [], [1], [1.5],
    ["a"], [[1]], [{}], (1, 2), (), {}, {"a": 1}, {1, 2},
)  # fmt: skip
SPECS: tuple[dict[str, Any], ...] = (
    *({"type": kind} for kind in ("string", "integer", "float", "boolean", "dict", "any", "odd")),
    {"type": "array", "items": {"type": "integer"}}, {"type": "tuple", "items": {"type": "float"}},
    {"type": "array", "items": {"type": "odd"}}, {"type": "tuple", "items": {"type": "string"}},
)  # fmt: skip
NUMBERS = ("", "5", " 5 ", "-5", "+5", "1_0", "5.5", "1e3", "nan", "inf", "Infinity", "NaN", "iota",
           "x", "0x1F", "٣", "None", "9" * 5000, "infinit", "1e999")  # fmt: skip


def _kinds() -> dict[str, str]:
    found = {}
    for spec in SPECS:
        for value in VALUES:
            name = f"{_spec(spec)} {shortened(repr(value))}"
            found[name] = _typed(value_conversion.PYTHON_CONVERTER.convert, spec, value)
    for said in NUMBERS:
        found[f"number {shortened(said)!r}"] = _said(value_conversion.parse_number, said)
        found[f"integer {shortened(said)!r}"] = _integer(said)
    for name, rules in (
        ("java", java_values.JAVA_CONVERTER),
        ("javascript", javascript_values.JAVASCRIPT_CONVERTER),
        ("literal", java_collections.JAVA_COLLECTION_CONVERTER),
        ("python", value_conversion.PYTHON_CONVERTER),
    ):
        reads: Any = rules
        found[f"{name} scalars"] = _said(sorted, reads.unconverted_types)
        for spec, value in FOREIGN:
            found[f"{name} {_spec(spec)} {value!r}"] = _typed(reads.convert, spec, value)
    return found


FOREIGN: tuple[tuple[dict[str, Any], Any], ...] = (
    ({"type": "integer"}, "5"), ({"type": "integer"}, 5), ({"type": "String"}, "a"),
    ({"type": "odd"}, "a"), ({"type": "Array", "items": {"type": "integer"}}, "new int[]{1}"),
    ({"type": "ArrayList", "items": {"type": "any"}}, "List.of(1)"), ({"type": "dict"}, "{a: 1}"),
    ({"type": "array", "items": {"type": "float"}}, "[1.5]"), ({"type": "HashMap"}, "Map.of()"),
    ({"type": "Array", "items": {"type": "odd"}}, "x"),
    ({"type": "array", "items": {"type": "odd"}}, "x"),
    ({"type": "Array", "items": {"type": "integer"}}, [1]), ({"type": "Set"}, "x"),
)  # fmt: skip


def _integer(said: str) -> str:
    try:
        return _said(value_conversion.parse_integer, said)
    except ValueError as error:  # no digits at all: whoever asks has looked
        return f"ValueError: {error}"


def _spec(spec: Mapping[str, Any]) -> str:
    return f"{spec['type']}<{spec['items']['type']}>" if "items" in spec else str(spec["type"])


def _typed(read: Callable[[Any, Any], ConvertedValue], spec: Any, value: Any) -> str:
    def ask() -> tuple[Any, ...]:
        expected, inner, made, native = read(spec, value)
        return expected.__name__, inner.__name__ if inner else None, made, native

    return _said(ask)


TEXTS = ("", "a", "A", " a.b,c/d-e_f*g^h ", "it's", 'it"s', "É", "(a)", "a\nb", "\ud800", "ß")
OPTIONS: tuple[Any, ...] = (
    [], [""], ["a"], ["", "A"], [5, "a"], [["a", "B"]], [["a"], ""], [[]], ["x", []], [[1, 2], [3]],
    [{"a": [1, 2]}], [{"a": ["X", ""]}, ""], [{"a": [1]}, {"b": [2]}], [{"a": 1}], [{"a": "xyz"}],
    [5], [[{"a": [1]}]], [[{"a": [1]}, {"b": ["q", ""]}]], [[{}], [{"a": [1]}]], [{}],
    [[{"a": [1]}, {"a": [2]}], ""], [["É.x", "y"]], [{"a": [[1, 2]]}], [{"a": [None]}],
    [None], [{"a": [{"b": 1}]}], [[["a"], "b"]], [("a",)],
)  # fmt: skip
GIVEN: tuple[Any, ...] = (
    [], ["a"], ["A ", "b"], [1, 2], [3], ("a", "b"), ["é-X", "Y"], [{"a": 1}], [{"a": 1}, {}],
    [{"a": 1}, {"b": "Q."}], [{"a": 2}, {"a": 2}], [{}], [5], [["a"], "B"], {}, {"a": 1}, {"a": 3},
    {"a": "x"}, {"a": "x-"}, {"b": 2}, {"a": 1, "b": 2}, {"a": [1, 2]}, {"a": None},
    {"a": {"b": 1}},
    {"c": 1}, {"a": "y"}, "not a map", {"a": "xy"},
)  # fmt: skip


def _values() -> Iterator[tuple[str, str]]:
    for said in TEXTS:
        yield f"normal {plain(said)!r}", plain(value_matching.normalise_text(said))
        for options in OPTIONS[:6]:
            yield (
                f"text {plain(said)!r} {options!r}",
                _said(value_matching.check_text, said, options),
            )
    for given in GIVEN:
        for options in OPTIONS:
            if isinstance(given, (list, tuple)):
                yield (
                    f"array {given!r} {options!r}",
                    _said(value_matching.check_list, given, options),
                )
                yield (
                    f"mappings {given!r} {options!r}",
                    _said(value_matching.check_maps, given, options),
                )
            else:
                yield (
                    f"mapping {given!r} {options!r}",
                    _said(value_matching.check_map, given, options),
                )


# --- calls ------------------------------------------------------------------------------


def _doc(name: str, required: Sequence[str], **types: Any) -> dict[str, Any]:
    properties = {
        key: kind if isinstance(kind, dict) else {"type": kind} for key, kind in types.items()
    }
    return {"name": name, "parameters": {"required": list(required), "properties": properties}}


DOCS = [
    _doc("f", ["a"], a="integer", b="string", c="float"),
    _doc("g", [], t={"type": "array", "items": {"type": "string"}}, d="dict", flag="boolean"),
    _doc("h", ["p"], p={"type": "tuple", "items": {"type": "dict"}},
         n={"type": "array", "items": {"type": "float"}}, x="any"),
]  # fmt: skip
TRUTHS: tuple[list[dict[str, Any]], ...] = (
    [{"f": {"a": [1, 2], "b": ["x", ""], "c": [1.0, 2.5]}}],
    [{"f": {"a": [1]}}],
    [{"g": {"t": [["a", "B"], ""], "d": [{"k": [1, ""]}], "flag": [True]}}],
    [{"h": {"p": [[{"k": [1]}]], "n": [[1.0, 2.0]], "x": ["var", 5, ""]}}],
    [{"f": {"a": [1]}}, {"f": {"a": [2, 1]}}],
    [{"f": {"a": [1, 2]}}, {"f": {"a": [1]}}],
    [{"g": {"flag": [True, ""]}}, {"f": {"a": [3]}}, {"g": {"t": [[]]}}],
    [{"nobody": {}}],
    [{"f": {"a": [""], "b": ["", "y"]}}],
    [{"g": {"t": ["", ["a"]], "d": ["", {"k": ["V"]}], "flag": [""]}}],
    [{"f": {"a": ["name"], "zzz": [1]}}],
)
MADE: tuple[list[tuple[str, dict[Any, Any]]], ...] = (
    [], [("f", {"a": 1})], [("f", {"a": 1, "c": 2.5})], [("f", {"a": 1, "b": "X.", "c": 1})],
    [("f", {"a": "1", "c": 1.0})], [("f", {"b": "x"})], [("f", {"a": 1, "c": 9.0, "b": "q"})],
    [("f", {"a": 1, "zzz": 1, "c": 1.0})], [("f", {"a": True, "c": 1.0})], [("F", {"a": 1})],
    [("g", {"t": ["A ", "b"], "d": {"k": 1}, "flag": True})], [("g", {"d": {}, "flag": True})],
    [("g", {"t": [1], "d": {"k": 2}, "flag": True})], [("g", {"flag": "true", "d": {"z": 1}})],
    [("g", {"t": ("a", "b"), "d": {"k": 1}, "flag": True})], [("g", {})], [("g", {"flag": True})],
    [("h", {"p": [{"k": 1}], "n": [1, 2]})],
    [("h", {"p": ({"k": 1},), "n": [1.0, 2.0], "x": "Var"})],
    [("h", {"p": [{"k": 2}], "n": [1.0], "x": 5})], [("h", {"p": [1], "n": [1.0, 2.0], "x": 5})],
    [("f", {"a": 1}), ("f", {"a": 2})], [("f", {"a": 2}), ("f", {"a": 1})],
    [("f", {"a": 1}), ("f", {"a": 1})], [("f", {"a": 2}), ("f", {"a": 2})],
    [("f", {"a": 3}), ("g", {"t": []}), ("g", {"flag": True})],
    [("g", {"t": []}), ("f", {"a": 3}), ("g", {})], [("g", {}), ("f", {"a": 4}), ("h", {"p": []})],
    [("f", {"a": ""})], [("f", {"a": "", "b": "Y"})], [("f", {"a": "name", "zzz": 1})],
    [("f", {"a": 5, "b": ""})], [("g", {"t": [], "d": {"k": "v"}})], [("nobody", {})],
    [("f", {"a": 10**400, "c": 10**400})], [("h", {"p": [{}], "n": [2.0, 1.0], "x": None})],
    [("f", {"a": [1]})], [("f", {"a": {"b": 1}, 5: 1})],
)  # fmt: skip
CATEGORIES = ("simple_python", "multiple", "parallel", "live_parallel_multiple")


def _fault(fault: call_matching.MatchFault | None) -> Any:
    if fault is None:
        return "matches"
    reported = [fault.error_type, fault.call_index, fault.tool, fault.parameter]
    reported += [
        shortened(repr(fault.value)),
        shortened(repr(fault.accepted_values)),
        fault.expected_call,
    ]
    return (
        [*reported, [_fault(near) for near in fault.candidates]] if fault.candidates else reported
    )


def _checked(ask: Callable[..., call_matching.MatchFault | None], *given: Any) -> Any:
    try:
        return _fault(ask(*given))
    except (value_matching.OfficialCheckerError, KeyError, TypeError, StopIteration) as error:
        return f"{type(error).__name__}: {error}"


def _match() -> Iterator[tuple[str, Any]]:
    for t, truth in enumerate(TRUTHS):
        for m, made in enumerate(MADE):
            name = f"truth {t}, made {m}"
            for category in CATEGORIES:
                docs = [doc for doc in DOCS if doc["name"] in truth[0]] or DOCS
                docs = docs if category == "simple_python" else DOCS
                found = _checked(call_matching.check_calls, docs, made, truth, category)
                yield f"{name}, {category}", found
            yield f"{name}, best", _checked(call_matching.check_any_pairing, DOCS, made, truth)
    for also in (None, java_collections.JAVA_COLLECTION_CONVERTER):
        for said in ("new int[]{1, 2}", "List.of(1, 2)", "[1, 2]", "x", 5):
            doc = _doc("j", ["a"], a={"type": "ArrayList", "items": {"type": "integer"}})
            for wanted in ([[1, 2]], [[1, 2], ""], ["x"], [""]):
                call, truths = ("j", {"a": said}), {"j": {"a": wanted}}
                yield (
                    f"java {said!r} {wanted} {also is not None}",
                    _checked(
                        call_matching.check_call,
                        doc,
                        call,
                        truths,
                        3,
                        java_values.JAVA_CONVERTER,
                        also,
                    ),
                )


def _drawn() -> Iterator[tuple[str, Any]]:
    """Draw truths and calls of two parameters, so that most options meet most values."""
    scalars: tuple[Any, ...] = (1, 2, "a", "A.", "", 1.0, True, None, [1], ["a"], {"k": 1}, "1")
    for number in range(600):
        rng = seeds.make_rng(15, str(number), 0, "golden match")
        n = seeds.draw_between(rng, 1, 3)
        truth = [_wanted(rng, scalars) for _ in range(n)]
        made = [_given(rng, each, scalars) for each in truth]
        if seeds.draw_below(rng, 3):
            seeds.shuffle_items(rng, made)
        if seeds.draw_below(rng, 8) == 0:
            made = made[:-1]
        category = "parallel_multiple" if n > 1 else "multiple"
        shown = f"{number} {truth} {made}"
        yield f"{shown} check", _checked(call_matching.check_calls, DOCS, made, truth, category)
        if n > 1:
            yield f"{number} best", _checked(call_matching.check_any_pairing, DOCS, made, truth)


def _wanted(rng: Random, scalars: Sequence[Any]) -> dict[str, Any]:
    doc = seeds.draw_one(rng, DOCS)
    keys = [key for key in doc["parameters"]["properties"] if seeds.draw_below(rng, 4)]
    return {doc["name"]: {key: _options(rng, key, scalars) for key in keys}}


def _options(rng: Random, key: str, scalars: Sequence[Any]) -> list[Any]:
    fitting: dict[str, tuple[Any, ...]] = {
        "a": (1, 2, 3), "b": ("a", "A b"), "c": (1.0, 2.5), "t": (["a"], ["a", "B"], []),
        "d": ({"k": [1, 2]}, {"k": ["a", ""], "l": [""]}), "flag": (True, False),
        "p": ([{"k": [1]}], [{"k": [1]}, {"k": ["a"]}]), "n": ([1.0], [1.0, 2.0]), "x": ("v", 5),
    }  # fmt: skip
    count = seeds.draw_between(rng, 1, 2)
    found = [seeds.draw_one(rng, fitting[key]) for _ in range(count)]
    if seeds.draw_below(rng, 3) == 0:
        found.append("")
    if seeds.draw_below(rng, 6) == 0:
        found.append(seeds.draw_one(rng, scalars))
    return found


def _given(
    rng: Random, truth: Mapping[str, Mapping[str, Any]], scalars: Sequence[Any]
) -> tuple[str, dict[Any, Any]]:
    ((name, wanted),) = truth.items()
    given: dict[Any, Any] = {}
    for key, options in wanted.items():
        chosen = seeds.draw_one(rng, options)
        if isinstance(chosen, dict):
            chosen = {k: v[0] if isinstance(v, list) else v for k, v in chosen.items()}
        if isinstance(chosen, list):
            chosen = [{k: v[0] for k, v in x.items()} if isinstance(x, dict) else x for x in chosen]
        if chosen != "" or seeds.draw_below(rng, 4) == 0:
            given[key] = chosen
        if seeds.draw_below(rng, 8) == 0:
            given[key] = damaged_replies.value(chosen, rng)
        if seeds.draw_below(rng, 20) == 0:
            given[key] = seeds.draw_one(rng, scalars)
    if seeds.draw_below(rng, 15) == 0:
        given["more"] = 1
    return (
        seeds.draw_one(rng, ("f", "g", name.upper())) if seeds.draw_below(rng, 15) == 0 else name
    ), given


def _pairing() -> dict[str, Any]:
    found = {"none": plain(maximum_matching.match_most([]))}
    for n in (1, 2, 3, 5, 8):
        for number in range(12):
            rng = seeds.make_rng(15, f"{n} {number}", 0, "pairing")
            fits = [[seeds.draw_below(rng, 3) == 0 for _ in range(n)] for _ in range(n)]
            shown = "/".join("".join(".x"[fit] for fit in row) for row in fits)
            found[shown] = plain(maximum_matching.match_most(fits))
    return found


# --- text -------------------------------------------------------------------------------


def _text() -> dict[str, Any]:
    said = ("", "ab", "a\nb", "\n", "  x", " \t\n", "add(1) add(2)", "add()add(3)",
            "add(1\n) add(2)",
            "add(add(1))", "add((1))", "add(", "add(1", "add(1)\nadd(\nadd(2)")  # fmt: skip
    head = re.compile(r"add\(")
    found: dict[str, Any] = {}
    for each in said:
        for start in range(min(4, len(each) + 1)):
            found[f"line {each!r} {start}"] = text_scanning.find_line_end(each, start)
            found[f"skip {each!r} {start}"] = text_scanning.skip_blanks(each, start)
        for least in (0, 1, 2):
            found[f"between {each!r} {least}"] = list(
                text_scanning.find_between(each, head, ")", least=least)
            )
            found[f"between {each!r} {least} ))"] = list(
                text_scanning.find_between(each, head, "))", least=least)
            )
    return found


ANSWERS: tuple[list[str], ...] = (["Paris"], ["$50"], ["50%"], ["1.2"], ["12"], ["a.b", "c"], [""],
                                  [], ["New York"],
           ["it's"], ["."], ["x_y"], ["-5"], ["É"], ["3"])  # fmt: skip
SAID = (
    "", "Paris", "paris.", "It is Paris!", "Parisian", "xParis", "The price is $50.", "50%", "50 %",
    "1.2", "12", "1.23", "11.2", "a1.2", "It is 12.", "version 1.2.3", "a.b", "ab", "c", "x c y",
    "New  York", "new-york", "New York City", "its", 'it"s', "x_y", "xy", "-5", "5", "é", "É", "3.",
    "3.5", ".3", "3a", "1,2", "I do not know", "I don't know.", "i can't answer",
    '"I cannot answer"',
    "{'answer': 'Paris', 'context': 'x'}", '{"answer": "Lyon", "context": "not Paris"}',
    '{"Answer": "Paris"}', '{"context": "x", "answer": "Paris"} tail }', "{'answer': Paris",
    '```json\n{"answer": "Paris", "context": "c"}\n```', '{"answer": "a", "answer": "Paris"}',
    '{"answer": "a \\"b\\" c", "context": ""}', "{answer: Paris, context: y}", "answer: Paris",
    '{"answer": "Paris", "why": "x"}', '{"answer": }', '"answer" : "Paris"', "' '", "unknown",
)  # fmt: skip


def _answer() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for said in SAID:
        found[f"{said!r}"] = {
            "normal": answer_matching.normalise_official(said),
            "unknown": answer_matching.is_unknown_answer(said),
            "field": answer_matching.extract_answer_field(said),
            "field by quotes": answer_matching.extract_answer_field(
                said, answer_matching.QUOTED_KEYS
            ),
            "field bare": answer_matching.extract_answer_field(said, answer_matching.UNQUOTED_KEYS),
            "official": {
                repr(each): answer_matching.find_answer_official(said, each)
                for each in ANSWERS
                if answer_matching.find_answer_official(said, each) is not None
            },
            "fair": {
                repr(each): answer_matching.find_answer_fair(said, each)
                for each in ANSWERS
                if answer_matching.find_answer_fair(said, each) is not None
            },
        }
    return found
