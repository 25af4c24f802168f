"""Scripted agents that commit one mode each: the detector names it, and none on the oracle."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolmark.suites.mfcl import modes, score
from toolmark.types import (
    Call,
    Message,
    Reply,
    Result,
    Ruling,
    Step,
    Task,
    Text,
    Tool,
    Trajectory,
    Turn,
)

BOOK = Tool(
    name="book",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string"}, "hotel": {"type": "string"}, "nights": {"type": "integer"},
            "note": {"type": "string"},
        },
        "required": ["city", "hotel", "nights"],
    },
    source={
        "name": "book", "description": "Book a hotel.",
        "parameters": {
            "type": "dict",
            "properties": {
                "city": {"type": "string"}, "hotel": {"type": "string"},
                "nights": {"type": "integer"}, "note": {"type": "string"},
            },
            "required": ["city", "hotel", "nights"],
        },
    },
)  # fmt: skip
CITIES = ["Austin", "Boston", "Dallas", "Denver", "Oakland", "Raleigh", "Tucson", "Tulsa"]
HOTELS = ["Harrow House", "The Merrion", "Linden Court", "Villa Serena", "Grand Bellamy"]
OTHER = "Remind me to call the plumber about seven leaking radiators"
CASES = [(city, hotel, n) for city in CITIES for hotel in HOTELS for n in (13, 15, 40)]


def task(city: str, hotel: str, nights: int, *, condition: str = "noisy", **turn: Any) -> Task:
    written = f"Book a room at {hotel} in {city} for {nights} nights"
    said = Message(role="user", parts=(Text(written),))
    truth = [{"book": {"city": [city], "hotel": [hotel], "nights": [nights], "note": [""]}}]
    heard = {"said": written, "seconds": 4.0, "timeline": [], "transcript": written, **turn}
    return Task(
        id=f"x@{condition}", item="x", suite="mfcl-transcripts", category="simple_python",
        turns=(Turn(messages=(said,)),), tools=(BOOK,), axes={"condition": condition},
        reference={
            "bfcl": {"truth": truth}, "written": [written], "whitelist": [{"city": city}],
            **({} if condition == "text" else {"speech": {"turns": [heard]}}),
        },
    )  # fmt: skip


def called(**given: Any) -> Step:
    call = Call(name="book", arguments=json.dumps(given))
    return Step(reply=Reply(calls=(call,)), calls=(call,), results=(Result(),))


def says(text: str, ruling: Ruling | None = None) -> Step:
    return Step(reply=Reply(text=text), ruling=ruling)


def played(*steps: Step) -> Trajectory:
    return Trajectory(task="x@noisy", steps=steps)


def primary(asked: Task, *steps: Step) -> str:
    verdict = score.score(asked, played(*steps))["official"]
    assert verdict.outcome == "incorrect"
    [first] = [label for label in verdict.labels if label.primary]
    return first.native


def blended(city: str, hotel: str, n: int) -> tuple[Task, list[Step]]:
    effect = {"module": "talkers", "name": "talker", "start_s": 1, "end_s": 3, "severity": 3,
              "detail": {"text": OTHER}}  # fmt: skip
    return task(city, hotel, n, timeline=[effect]), [
        called(city=city, hotel="the plumber", nights=n)
    ]


def premature(city: str, hotel: str, n: int) -> tuple[Task, list[Step]]:
    effect = {"module": "network", "name": "tail", "start_s": 2.39, "end_s": 2.4, "severity": 3,
              "detail": {"cut_s": 1.6}}  # fmt: skip
    cut = f"Book a room at {hotel}"
    return task(city, hotel, n, timeline=[effect], transcript=cut), [called(city=city, hotel=hotel)]


def distorted(city: str, hotel: str, n: int) -> tuple[Task, list[Step]]:
    wrong = {13: 30, 15: 50, 40: 14}[n]
    transcript = f"book a room at {hotel} in {city} for {wrong} nights"
    return task(city, hotel, n, transcript=transcript), [
        called(city=city, hotel=hotel, nights=wrong)
    ]


def misfired(city: str, hotel: str, n: int) -> tuple[Task, list[Step]]:
    ruling = Ruling(allowed=False, reason="preference")
    return task(city, hotel, n), [says("Would you like breakfast with that?", ruling)]


def drifted(city: str, hotel: str, n: int) -> tuple[Task, list[Step]]:
    ruling = Ruling(allowed=False, reason="chat")
    return task(city, hotel, n), [says(f"{city} is lovely at this time of the year.", ruling)]


def misnamed(city: str, hotel: str, n: int) -> tuple[Task, list[Step]]:
    wrong = CITIES[(CITIES.index(city) + 3) % len(CITIES)]
    return task(city, hotel, n), [called(city=wrong, hotel=hotel, nights=n)]


@pytest.mark.parametrize(
    ("mode", "plays"),
    [("FM1", blended), ("FM2", premature), ("FM3", distorted), ("FM4", misfired),
     ("FM5", drifted), ("FM6", misnamed)],
)  # fmt: skip
def test_an_injected_mode_is_named(mode: str, plays: Any) -> None:
    named = [primary(asked, *steps) for asked, steps in (plays(*case) for case in CASES)]
    share = named.count(mode) / len(named)
    print(f"{mode}: {named.count(mode)} of {len(named)}")
    assert share >= 0.95, {other: named.count(other) for other in set(named)}


def test_the_right_answer_has_no_mode() -> None:
    for city, hotel, n in CASES:
        verdict = score.score(
            task(city, hotel, n), played(called(city=city, hotel=hotel, nights=n))
        )
        assert verdict["official"].outcome == "correct"
        assert not verdict["official"].labels


def test_a_question_that_was_answered_is_no_mode_and_no_answer() -> None:
    ruling = Ruling(allowed=True, topics=("city",), reply="Austin")
    right = called(city="Austin", hotel="The Merrion", nights=13)
    asked = task("Austin", "The Merrion", 13)
    assert score.score(asked, played(says("Which city?", ruling), right))["official"].value == 1
    found = score.score(asked, played(says("Which city?", ruling), right))["official"].parts
    assert (found["asked"], found["answered"]) == (1, 1)


def test_the_same_error_on_the_written_text_is_not_of_perception() -> None:
    asked, steps = misnamed("Austin", "The Merrion", 13)
    control = score.score(task("Austin", "The Merrion", 13, condition="text"), played(*steps))
    [label] = control["official"].labels
    assert label.native not in modes.MODES, "without sound there is no mode of it"
    controls = {("x", 0, "official"): frozenset({score.signature(label)})}
    verdict = score.score(asked, played(*steps), controls)["official"]
    [first] = [label for label in verdict.labels if label.primary]
    assert first.native == modes.OTHER
    assert "written text" in first.evidence


def test_what_no_rule_explains_is_other() -> None:
    asked = task("Austin", "The Merrion", 13)
    assert primary(asked, called(city="Austin", hotel="The Merrion", nights=9871)) == modes.OTHER
