"""Ids of calls in the form that an endpoint takes."""

from __future__ import annotations

from toolmark.core.records import Adaptation, Call, Message, Text
from toolmark.models.wires.call_ids import rename_calls


def said(*calls: tuple[str, str]) -> Message:
    return Message(role="assistant", calls=tuple(Call(name=n, id=id) for n, id in calls))


def result(id: str) -> Message:
    return Message(role="tool", parts=(Text("x"),), call_id=id)


def test_ids_that_have_the_form_stay() -> None:
    changes: list[Adaptation] = []
    messages = (said(("f", "abcDEF123")), result("abcDEF123"))
    assert rename_calls(messages, "nine", changes) is messages
    messages = (said(("f", "functions.f:7")), result("functions.f:7"))
    assert rename_calls(messages, "functions", changes) is messages
    assert changes == []


def test_others_are_renamed_the_same_way_each_time_with_their_results() -> None:
    changes: list[Adaptation] = []
    messages = (said(("f", "call_0"), ("g", "abcDEF123")), result("call_0"), result("abcDEF123"))
    first = rename_calls(messages, "nine", changes)
    new = first[0].calls[0].id
    assert len(new) == 9 and new.isalnum()
    assert [each.call_id for each in first[1:]] == [new, "abcDEF123"]
    assert rename_calls((*messages, said(("f", "x"))), "nine", [])[: len(first)] == first
    assert [each.kind for each in changes] == ["call_id"]


def test_the_form_with_a_place_counts_all_calls() -> None:
    messages = (said(("f", "a"), ("g", "b")), result("b"), result("a"), said(("f", "a")),
                result("a"))  # fmt: skip
    found = rename_calls(messages, "functions", [])
    assert [call.id for each in found for call in each.calls] == [
        "functions.f:0", "functions.g:1", "functions.f:2",
    ]  # fmt: skip
    assert [each.call_id for each in found if each.role == "tool"] == [
        "functions.g:1", "functions.f:0", "functions.f:2",
    ]  # fmt: skip


def test_no_two_calls_of_a_history_have_one_id_and_earlier_ids_stay() -> None:
    """A new id may be one that the history has already, or that a later call brings."""
    steps = (
        said(("f", "functions.f:1")), result("functions.f:1"),
        said(("f", "call_x")), result("call_x"),  # its place is 1, which is taken
        said(("f", "functions.f:2")), result("functions.f:2"),  # was given to the one before
        said(("f", "functions.f:1")), result("functions.f:1"),  # a server that counts by message
    )  # fmt: skip
    found = rename_calls(steps, "functions", [])
    ids = [call.id for each in found for call in each.calls]
    assert ids == ["functions.f:1", "functions.f:2", "functions.f:3", "functions.f:4"]
    assert [each.call_id for each in found if each.role == "tool"] == ids
    for n in range(0, len(steps), 2):
        assert rename_calls(steps[:n], "functions", []) == found[:n]
