"""An error of msgspec is a sentence: field, what is expected, what was found."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from toolmark.core.decode_errors import describe_decode_error, field_path


class Step(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    kind: Literal["a", "b"] = "a"


class Row(msgspec.Struct, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=9)] = 1
    steps: tuple[Step, ...] = ()
    counts: dict[str, int] = {}
    text: Annotated[str, Meta(max_length=3)] = ""


def fault_of(value: Any) -> msgspec.ValidationError:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(value, Row)
    return raised.value


@pytest.mark.parametrize(
    ("value", "place", "text"),
    [
        ({"limit": "3"}, ".limit", "limit: expected int, got str"),
        ({"limit": 0}, ".limit", "limit: expected int >= 1, got 0"),
        ({"limit": 12}, ".limit", "limit: expected int <= 9, got 12"),
        ({"steps": [{"name": "x"}, {"name": 2}]}, ".steps[1].name",
         "steps[1].name: expected str, got int"),
        ({"steps": [{}]}, ".steps[0]", "steps[0]: missing field name"),
        ({"steps": [{"name": "x", "kind": "c"}]}, ".steps[0].kind",
         "steps[0].kind: unknown value 'c'"),
        ({"counts": {"k": "v"}}, ".counts[...]", "counts[...]: expected int, got str"),
        ({"counts": {1: 2}}, ".counts", "counts: expected str, got int"),
        ({"lmit": 3}, "", "unknown field lmit"),
        ([], "", "expected object, got array"),
    ],
)  # fmt: skip
def test_the_field_comes_first_and_what_was_found_last(value: Any, place: str, text: str) -> None:
    error = fault_of(value)
    assert field_path(error) == place
    assert describe_decode_error(error, value) == text
    assert describe_decode_error(error, value, where="$[4]") == (
        f"$[4]{place}: " + (text.partition(": ")[2] if place else text)
    )


def test_a_text_is_not_shown_because_it_may_be_a_key() -> None:
    value = {"text": "sk-12345"}
    assert describe_decode_error(fault_of(value), value) == "text: expected str of length <= 3"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ('{"limit":', "the JSON ends early"),
        ('{"limit":1} x', "not JSON: trailing characters (byte 13)"),
    ],
)
def test_what_is_no_json_is_said_in_words(data: str, text: str) -> None:
    with pytest.raises(msgspec.DecodeError) as raised:
        msgspec.json.decode(data, type=Row)
    assert describe_decode_error(raised.value) == text


def test_an_error_of_another_library_is_unchanged() -> None:
    assert describe_decode_error(OSError("Expected `x`")) == "Expected `x`"


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["limit", "steps", "name", "kind", "counts", "text"]), x
            )
        ),
        max_leaves=8,
    )
)
def test_no_mark_of_the_library_is_left(value: Any) -> None:
    try:
        msgspec.convert(value, Row)
    except msgspec.ValidationError as error:
        text = describe_decode_error(error, value)
        assert " - at " not in text and "`" not in text and not text.startswith("Expected")
