"""A reference holds calls that were made, in an order that could have been."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.core.records import Call, Reply, Result, Step, Text, Trajectory
from toolmark.studio import m3_condensing

Made = tuple[str, dict[str, Any], str]
KNOWN = "What do the drinks in images/shelf.png cost in Lyon?"


def played(*steps: list[Made], failed: tuple[tuple[int, int], ...] = ()) -> Trajectory:
    return Trajectory(
        task="t",
        steps=tuple(
            Step(
                reply=Reply(),
                calls=tuple(Call(name=n, arguments=json.dumps(a)) for n, a, _ in step),
                results=tuple(
                    Result(parts=(Text(said),), is_error=(i, k) in failed)
                    for k, (_, _, said) in enumerate(step)
                ),
            )
            for i, step in enumerate(steps)
        ),
    )


def proposal(*steps: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    return {"steps": [{"calls": [{"name": n, "arguments": a} for n, a in s]} for s in steps]}


def names(stages: m3_condensing.Stages) -> list[list[str]]:
    return [[event.name for event in stage] for stage in stages]


READ: Made = ("ocr/read", {"path": "images/shelf.png"}, "cola code 7714")
PRICE: Made = ("shop/price", {"code": "7714"}, "2 euros")
SUN: Made = ("weather/get", {"city": "Lyon"}, "sunny")
RAIN: Made = ("weather/get", {"city": "Lyon", "day": 2}, "rain")


def bare(made: Made) -> tuple[str, dict[str, Any]]:
    return made[0], made[1]


def test_independent_calls_may_share_a_step() -> None:
    made = m3_condensing.successful_calls(played([READ], [SUN], [PRICE]))
    found = m3_condensing.check_proposal(
        proposal([bare(READ), bare(SUN)], [bare(PRICE)]), made, KNOWN
    )
    assert names(found) == [["ocr/read", "weather/get"], ["shop/price"]]


def test_a_call_that_is_not_needed_may_go() -> None:
    made = m3_condensing.successful_calls(played([READ], [SUN], [PRICE]))
    found = m3_condensing.check_proposal(proposal([bare(READ)], [bare(PRICE)]), made, KNOWN)
    assert names(found) == [["ocr/read"], ["shop/price"]]


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([[bare(READ), bare(PRICE)]], "shop/price depends on ocr/read"),
        ([[bare(PRICE)]], "which only ocr/read returned"),
        ([[bare(PRICE)], [bare(READ)]], "was made before"),
        ([[("shop/price", {"code": "9"})]], "was not made"),
        ([[("shop/cost", {"code": "7714"})]], "was not made"),
        ([[bare(READ)], [bare(READ)]], "was not made, or not so often"),
        ([], "holds no call"),
        ([[]], "has no list of calls"),
    ],
)
def test_what_did_not_happen_or_could_not_have_is_refused(
    steps: list[list[tuple[str, dict[str, Any]]]], why: str
) -> None:
    made = m3_condensing.successful_calls(played([READ], [PRICE]))
    with pytest.raises(m3_condensing.InvalidProposal, match=why):
        m3_condensing.check_proposal(proposal(*steps), made, KNOWN)


def test_a_failed_call_is_no_part_of_a_reference() -> None:
    trajectory = played([READ, SUN], [PRICE], failed=((0, 1),))
    made = m3_condensing.successful_calls(trajectory)
    assert names(m3_condensing.remove_repetitions(made)) == [["ocr/read"], ["shop/price"]]
    with pytest.raises(m3_condensing.InvalidProposal, match="or failed"):
        m3_condensing.check_proposal(proposal([bare(READ), bare(SUN)], [bare(PRICE)]), made, KNOWN)


def test_what_an_id_led_to_depends_on_who_returned_it_whoever_used_it_between() -> None:
    more: Made = ("shop/stock", {"code": "7714"}, "full")
    made = m3_condensing.successful_calls(played([READ], [PRICE], [more]))
    found = m3_condensing.check_proposal(
        proposal([bare(READ)], [bare(PRICE), bare(more)]), made, KNOWN
    )
    assert names(found) == [["ocr/read"], ["shop/price", "shop/stock"]]
    with pytest.raises(m3_condensing.InvalidProposal, match="shop/stock depends on ocr/read"):
        m3_condensing.check_proposal(proposal([bare(READ), bare(more)]), made, KNOWN)


def test_a_file_that_may_have_been_written_comes_first() -> None:
    crop: Made = ("paint/crop", {"in": "images/shelf.png", "out": "cut.png"}, "done")
    read: Made = ("ocr/read", {"path": "cut.png"}, "cola")
    made = m3_condensing.successful_calls(played([crop], [read]))
    with pytest.raises(m3_condensing.InvalidProposal, match="ocr/read depends on paint/crop"):
        m3_condensing.check_proposal(proposal([bare(crop), bare(read)]), made, KNOWN)
    both: Made = ("ocr/size", {"path": "images/shelf.png"}, "80 x 60")
    made = m3_condensing.successful_calls(played([crop], [both]))
    m3_condensing.check_proposal(proposal([bare(crop), bare(both)]), made, KNOWN)


def test_arguments_that_both_calls_share_make_no_dependence() -> None:
    one: Made = ("weather/get", {"city": "Nice", "units": "metric"}, "12 degrees, metric")
    two: Made = ("weather/get", {"city": "Metz", "units": "metric"}, "9 degrees, metric")
    made = m3_condensing.successful_calls(played([one], [two]))
    found = m3_condensing.check_proposal(proposal([bare(one), bare(two)]), made, "Nice or Metz?")
    assert len(found) == 1


def test_what_the_question_says_needs_no_finding_out() -> None:
    rain: Made = ("weather/get", {"city": "LYON"}, "rain")
    guide: Made = ("guide/find", {"near": "here"}, "Lyon and others")
    made = m3_condensing.successful_calls(played([guide], [rain]))
    assert len(m3_condensing.check_proposal(proposal([bare(guide), bare(rain)]), made, KNOWN)) == 1
    assert len(m3_condensing.check_proposal(proposal([bare(rain)]), made, KNOWN)) == 1
    with pytest.raises(m3_condensing.InvalidProposal, match="depends on guide/find"):
        m3_condensing.check_proposal(proposal([bare(guide), bare(rain)]), made, "Will it rain?")


def test_of_equal_calls_the_one_that_fits_is_meant() -> None:
    write: Made = ("sheet/put", {"cell": "A1x"}, "ok")
    look: Made = ("sheet/get", {"cell": "A1x"}, "5")
    made = m3_condensing.successful_calls(played([look], [write], [look]))
    found = m3_condensing.check_proposal(proposal([bare(write)], [bare(look)]), made, KNOWN)
    assert [stage[0].step for stage in found] == [1, 2]


def test_the_order_of_arguments_is_no_matter_but_their_values_are() -> None:
    made = m3_condensing.successful_calls(played([RAIN]))
    m3_condensing.check_proposal(
        proposal([("weather/get", {"day": 2, "city": "Lyon"})]), made, KNOWN
    )
    with pytest.raises(m3_condensing.InvalidProposal):
        m3_condensing.check_proposal(
            proposal([("weather/get", {"day": "2", "city": "Lyon"})]), made, KNOWN
        )


@pytest.mark.parametrize(
    "junk",
    [None, [], "x", {}, {"steps": {}}, {"steps": [1]}, {"steps": [{"calls": {}}]},
     {"steps": [{"calls": [1]}]}, {"steps": [{"calls": [{"name": 3}]}]},
     {"steps": [{"calls": [{"arguments": {}}]}]}],
)  # fmt: skip
def test_a_proposal_of_another_shape_is_refused(junk: Any) -> None:
    with pytest.raises(m3_condensing.InvalidProposal):
        m3_condensing.check_proposal(junk, m3_condensing.successful_calls(played([READ])), KNOWN)


POOL = [READ, PRICE, SUN, RAIN]


@given(st.lists(st.lists(st.sampled_from(POOL), min_size=1, max_size=3), min_size=1, max_size=4))
def test_the_rule_keeps_every_different_call_once_in_order(steps: list[list[Made]]) -> None:
    made = m3_condensing.successful_calls(played(*steps))
    stages = m3_condensing.remove_repetitions(made)
    flat = [event.identity for stage in stages for event in stage]
    assert flat == list(dict.fromkeys(event.identity for event in made))
    assert all(stages)


@given(
    st.lists(st.lists(st.sampled_from(POOL), min_size=1, max_size=3), min_size=1, max_size=4),
    st.lists(st.lists(st.sampled_from(POOL), min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_what_is_taken_was_made_and_never_turns_the_order_round(
    steps: list[list[Made]], wanted: list[list[Made]]
) -> None:
    made = m3_condensing.successful_calls(played(*steps))
    try:
        stages = m3_condensing.check_proposal(
            proposal(*[[*map(bare, s)] for s in wanted]), made, KNOWN
        )
    except m3_condensing.InvalidProposal:
        return
    flat = [event for stage in stages for event in stage]
    assert len({id(event) for event in flat}) == len(flat)
    ends = [(min(e.step for e in s), max(e.step for e in s)) for s in stages]
    assert all(before[1] <= after[0] for before, after in pairwise(ends))


@given(st.lists(st.lists(st.sampled_from(POOL), min_size=1, max_size=3), min_size=1, max_size=4))
def test_the_steps_as_they_were_can_always_be_taken(steps: list[list[Made]]) -> None:
    made = m3_condensing.successful_calls(played(*steps))
    same = proposal(*[[*map(bare, step)] for step in steps])
    found = m3_condensing.check_proposal(same, made, KNOWN)
    assert [[e.identity for e in s] for s in found] == [
        [m3_condensing.call_identity(n, a) for n, a, _ in step] for step in steps
    ]
