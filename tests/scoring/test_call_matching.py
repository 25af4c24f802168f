"""The AST rules, one law at a time; tests/parity holds them against the official code."""

from __future__ import annotations

import math
from typing import Any

import pytest

from toolmark.scoring import call_matching, value_matching
from toolmark.scoring.value_matching import OfficialCheckerError


def doc(kind: str, inner: str | None = None, *, required: bool = False) -> dict[str, Any]:
    spec: dict[str, Any] = {"type": kind}
    if inner is not None:
        spec["items"] = {"type": inner}
    needed = ["p"] if required else []
    return {"name": "f", "parameters": {"properties": {"p": spec}, "required": needed}}


def native(kind: str, options: list[Any], value: Any) -> str:
    """Match one argument; `kind` may name the element type after a slash."""
    outer, _, inner = kind.partition("/")
    fault = call_matching.check_call(
        doc(outer, inner or None), ("f", {"p": value}), {"f": {"p": options}}
    )
    return "ok" if fault is None else fault.error_type


@pytest.mark.parametrize(
    ("kind", "options", "value", "verdict"),
    [
        ("integer", [5], 5.0, "type_error:simple"),
        ("integer", [5], True, "type_error:simple"),
        ("integer", [5], "5", "type_error:simple"),
        ("float", [5.0], 5, "ok"),
        ("float", [5], 5, "ok"),
        ("float", ["x"], 5, "value_error:others"),
        ("string", ["New York"], "new_york", "ok"),
        ("string", ["a(b)"], "ab", "value_error:string"),
        ("string", ["it's"], 'it"s', "ok"),
        ("string", ["a b"], "a\tb", "value_error:string"),
        ("string", ["", None], None, "ok"),
        ("string", [None, ""], "null", "value_error:others"),
        ("string", [5], "5", "value_error:others"),
        ("string", [5], 5, "ok"),
        ("boolean", [True], "true", "type_error:simple"),
        ("boolean", [True], 1, "type_error:simple"),
        ("boolean", ["True"], "true", "value_error:others"),
        ("array/string", [["a", "b"]], ("a", "b"), "type_error:simple"),
        ("tuple/string", [["a", "b"]], ("a", "b"), "ok"),
        ("array/float", [[1.0]], [1], "type_error:nested"),
        ("array/float", [[1]], [1], "ok"),
        ("array/float", [[1]], [1.0], "ok"),
        ("array/float", [[1, 2.0]], [1, 2], "ok"),
        ("array/integer", [[1]], [1.0], "type_error:nested"),
        ("array/integer", [[1]], [True], "type_error:nested"),
        ("array/integer", ["", [1]], [True], "ok"),
        ("array/string", ["", ["a"]], [], "ok"),
        ("array/string", ["", ["a"]], [5], "value_error:list/tuple"),
        ("array/string", [["A b"]], ["a_B"], "ok"),
        ("array/string", [["a", "b"]], ["b", "a"], "value_error:list/tuple"),
        ("array/string", [], [], "type_error:simple"),
        ("array/array", [[["A"]]], [["a"]], "value_error:list/tuple"),
        ("array/string", ["var"], "VAR", "value_error:others"),
        ("array/string", ["var"], "var", "ok"),
        ("dict", [""], {}, "dict_checker:unclear"),
        ("dict", ["", {"a": [1]}], {}, "value_error:dict_key"),
        ("dict", [{"a": [1]}], {"a": True}, "ok"),
        ("dict", [{"a": [1], "b": [2]}], {"a": 9}, "value_error:dict_key"),
        ("dict", [{"a": [1], "b": ["", 2]}], {"a": 9}, "value_error:dict_value"),
        ("dict", [{"a": ["X y"]}], {"a": "xy"}, "ok"),
        ("array/dict", [[{"a": [1]}]], [{"a": 1}], "ok"),
        ("array/dict", [[{"a": [1]}]], [{"a": 1}, {"a": 1}], "value_error:list_dict_count"),
        ("array/dict", [[{"a": [1]}], [{"a": [1]}, {"a": [2]}]], [{"a": 3}, {"a": 2}],
         "value_error:dict_value"),
        ("array/dict", [[{"a": [1]}]], [], "value_error:list_dict_count"),
        ("array/dict", [[{"a": [1]}], ""], [], "ok"),
    ],
)  # fmt: skip
def test_published_probe(kind: str, options: list[Any], value: Any, verdict: str) -> None:
    assert native(kind, options, value) == verdict


def test_parameters_are_judged_in_the_order_the_model_gives_them() -> None:
    two = {
        "name": "f",
        "parameters": {
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
            "required": ["a"],
        },
    }
    truth: dict[str, dict[str, list[Any]]] = {"f": {"a": [1], "b": ["x"]}}

    def first(given: dict[Any, Any], name: str = "f") -> str:
        fault = call_matching.check_call(two, (name, given), truth)
        return fault.error_type if fault else "ok"

    assert first({"a": "no", "b": 5}, name="g") == "simple_function_checker:wrong_func_name"
    assert first({"b": 5, "c": 1}) == "simple_function_checker:missing_required"
    assert first({"c": 1, "a": "no"}) == "simple_function_checker:unexpected_param"
    assert first({"a": "no", "c": 1}) == "type_error:simple"
    assert first({"a": 2, "b": 5}) == "value_error:others"
    assert first({"a": 1}) == "simple_function_checker:missing_optional"
    assert first({"b": "x", "a": 1}) == "ok"
    assert first({"a": 1, "b": "x", None: 1}) == "simple_function_checker:unexpected_param"


def test_parallel_matching_is_greedy_and_order_of_calls_is_free() -> None:
    one = doc("integer")
    truth = [{"f": {"p": [1, 2]}}, {"f": {"p": [1]}}]
    calls = [("f", {"p": 1}), ("f", {"p": 2})]
    fault = call_matching.check_calls([one], calls, truth, "parallel")
    assert fault is not None
    assert fault.error_type == "parallel_function_checker_no_order:cannot_find_match"
    assert [near.error_type for near in fault.candidates] == ["value_error:others"]
    assert call_matching.check_calls([one], calls[::-1], truth, "parallel") is None


def test_simple_uses_the_first_doc_and_multiple_the_one_the_truth_names() -> None:
    first, second = doc("integer"), {**doc("string"), "name": "g"}
    assert (
        call_matching.check_calls([first, second], [("f", {"p": 1})], [{"g": {"p": [1]}}], "simple")
        is None
    )
    assert (
        call_matching.check_calls(
            [first, second], [("g", {"p": "x"})], [{"g": {"p": ["x"]}}], "multiple"
        )
        is None
    )


@pytest.mark.parametrize(
    ("kind", "group"),
    [
        ("simple_python", "simple_function_checker"),
        ("live_multiple", "multiple_function_checker"),
        ("parallel", "parallel_function_checker_no_order"),
        ("parallel_multiple", "parallel_function_checker_no_order"),
    ],
)
def test_a_wrong_number_of_calls_fails_before_all_else(kind: str, group: str) -> None:
    for calls in ([], [("f", {"p": 1})] * 2):
        fault = call_matching.check_calls([doc("integer")], calls, [{"f": {"p": [1]}}], kind)
        assert fault is not None
        assert (fault.error_type, fault.value, fault.accepted_values) == (
            f"{group}:wrong_count",
            len(calls),
            1,
        )


@pytest.mark.parametrize(
    ("kind", "options", "value"),
    [
        ("list", [1], 1),
        ("float", [1.0], 10**400),
        ("array/string", [["a"], None], ["b"]),
        ("dict", [{"a": [1]}, ["a"]], {"a": 2}),
        ("array/dict", [[{"a": [1]}], 7], [5]),
        ("array/dict", [[{"a": [1]}], "x"], [5]),
    ],
)
def test_what_the_official_code_cannot_judge_is_unsound(
    kind: str, options: list[Any], value: Any
) -> None:
    with pytest.raises(OfficialCheckerError):
        native(kind, options, value)


def test_a_truth_that_no_doc_describes_is_unsound() -> None:
    with pytest.raises(OfficialCheckerError):
        call_matching.check_calls([doc("integer")], [("f", {})], [{"g": {}}], "multiple")


def test_not_a_number_matches_nothing_and_surrogates_are_text() -> None:
    assert native("float", [1.0], math.nan) == "value_error:others"
    assert native("string", ["a"], "\ud800") == "value_error:string"
    assert value_matching.normalise_text("A-b_C/d.e,f*g^h i\ud800'") == 'abcdefghi\ud800"'
