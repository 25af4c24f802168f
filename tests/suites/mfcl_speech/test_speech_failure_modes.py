"""Scripted agents that commit one mode each: the detector names it, and none on the oracle."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from toolmark.core.records import (
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
    Verdict,
)
from toolmark.language import number_words
from toolmark.scoring.episode import Episode
from toolmark.suites.mfcl_speech import heard_values, speech_failure_modes, speech_scoring

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
    heard = {"uttered": written, "seconds": 4.0, "timeline": [], **turn}
    return Task(
        id=f"x@{condition}", item="x", suite="mfcl-transcripts", category="simple_python",
        turns=(Turn(messages=(said,)),), tools=(BOOK,), axes={"condition": condition},
        data={
            "bfcl": {"truth": truth}, "written": [written], "whitelist": [{"city": city}],
            **({} if condition in ("text", "said") else {"speech": {"turns": [heard]}}),
        },
    )  # fmt: skip


def called(**given: Any) -> Step:
    call = Call(name="book", arguments=json.dumps(given))
    return Step(reply=Reply(calls=(call,)), calls=(call,), results=(Result(),))


def says(text: str, ruling: Ruling | None = None) -> Step:
    return Step(reply=Reply(text=text), ruling=ruling)


def played(*steps: Step) -> Trajectory:
    return Trajectory(task="x@noisy", steps=steps)


SAID_RIGHT = speech_scoring.ControlAnswers(said_right={("x", 0, "official")})


def primary(asked: Task, *steps: Step) -> str:
    verdict = speech_scoring.score_episode(Episode(asked, played(*steps)), SAID_RIGHT)["official"]
    assert verdict.outcome == "incorrect"
    [first] = [label for label in verdict.labels if label.primary]
    return first.suite_cause


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
        verdict = speech_scoring.score_episode(
            Episode(task(city, hotel, n), played(called(city=city, hotel=hotel, nights=n)))
        )
        assert verdict["official"].outcome == "correct"
        assert not verdict["official"].labels


def test_a_question_that_was_answered_is_no_mode_and_no_answer() -> None:
    ruling = Ruling(allowed=True, topics=("city",), reply="Austin")
    right = called(city="Austin", hotel="The Merrion", nights=13)
    asked = task("Austin", "The Merrion", 13)
    assert (
        speech_scoring.score_episode(Episode(asked, played(says("Which city?", ruling), right)))[
            "official"
        ].value
        == 1
    )
    found = speech_scoring.score_episode(
        Episode(asked, played(says("Which city?", ruling), right))
    )["official"].parts
    assert (found["asked"], found["answered"]) == (1, 1)


def test_the_same_error_on_the_written_text_is_not_of_perception() -> None:
    asked, steps = misnamed("Austin", "The Merrion", 13)
    control = speech_scoring.score_episode(
        Episode(task("Austin", "The Merrion", 13, condition="text"), played(*steps))
    )
    [label] = control["official"].labels
    assert label.suite_cause not in speech_failure_modes.MODES, (
        "without sound there is no mode of it"
    )
    verdict = speech_scoring.score_episode(
        Episode(asked, played(*steps)), adjacent(control["official"], *steps)
    )["official"]
    [first] = [label for label in verdict.labels if label.primary]
    assert first.suite_cause == speech_failure_modes.SAME_ON_TEXT
    assert "in writing" in first.evidence


def test_what_no_rule_explains_is_distinguished_from_what_is_wrong_on_the_text_too() -> None:
    asked = task("Austin", "The Merrion", 13)
    wrong = called(city="Austin", hotel="The Merrion", nights=9871)
    assert primary(asked, wrong) == speech_failure_modes.UNEXPLAINED
    extra = called(city="Austin", hotel="The Merrion", nights=13), Call(name="pay", arguments="{}")
    both = Step(reply=Reply(calls=(*extra[0].calls, extra[1])), calls=(*extra[0].calls, extra[1]))
    assert primary(asked, both) == speech_failure_modes.UNEXPLAINED


WRITTEN = task("Austin", "The Merrion", 15, condition="text")


def adjacent(verdict: Verdict, *steps: Step) -> speech_scoring.ControlAnswers:
    found = speech_scoring.find_text_errors(WRITTEN, played(*steps), verdict)
    return SAID_RIGHT._replace(errors={("x", 0, "official"): found})


@pytest.mark.parametrize("plays", [blended, premature, distorted, misnamed])
def test_perception_needs_the_exact_words_answered_right(plays: Any) -> None:
    for case in CASES:
        asked, steps = plays(*case)
        verdict = speech_scoring.score_episode(Episode(asked, played(*steps)))["official"]
        assert all(label.cause != "perception" for label in verdict.labels)
        [first] = [label for label in verdict.labels if label.primary]
        assert first.suite_cause == speech_failure_modes.UNEXPLAINED


def test_a_transcript_with_the_value_is_no_error_of_perception() -> None:
    """Without a word error the model read the value: whatever it made of it."""
    for city, hotel, n in CASES:
        for plays in (blended, distorted, misnamed):
            written = f"Book a room at {hotel} in {city} for {n} nights"
            asked, steps = plays(city, hotel, n)
            turn = {**asked.data["speech"]["turns"][0], "transcript": written, "wer": 0.0}
            read = replace(asked, data={**asked.data, "speech": {"turns": [turn]}})
            assert primary(read, *steps) == speech_failure_modes.UNEXPLAINED
        words = number_words.cardinal_words(str(n))
        spoken = f"book a room at {hotel.lower()} in {city.lower()} for {words} nights"
        read = task(city, hotel, n, transcript=spoken)
        wrong = called(city=city, hotel=hotel, nights={13: 30, 15: 50, 40: 14}[n])
        assert primary(read, wrong) == speech_failure_modes.UNEXPLAINED


def test_an_error_that_is_also_made_on_the_spoken_words_is_not_of_perception() -> None:
    _, steps = misnamed("Austin", "The Merrion", 13)
    said = task("Austin", "The Merrion", 13, condition="said")
    verdict = speech_scoring.score_episode(Episode(said, played(*steps)))["official"]
    assert not {label.suite_cause for label in verdict.labels} & {*speech_failure_modes.MODES}


def after_text(text: Step, *steps: Step) -> str:
    """Return the mode of an episode whose written text was answered with this."""
    judged = speech_scoring.score_episode(Episode(WRITTEN, played(text)))["official"]
    asked = task("Austin", "The Merrion", 15)
    verdict = speech_scoring.score_episode(Episode(asked, played(*steps)), adjacent(judged, text))[
        "official"
    ]
    return next(label.suite_cause for label in verdict.labels if label.primary)


def test_another_parameter_is_another_error_than_that_on_the_text() -> None:
    right = {"city": "Austin", "hotel": "The Merrion", "nights": 15}
    misheard = called(**(right | {"nights": 50}))
    assert (
        after_text(called(**(right | {"nights": 51})), misheard)
        == speech_failure_modes.SAME_ON_TEXT
    )
    assert after_text(called(**right), misheard) == "FM3"
    other = called(**(right | {"hotel": "The Marion Inn"}))
    assert after_text(other, misheard) == "FM3", "both are wrong values, of different parameters"
    more = called(city="Austin", hotel="The Marion Inn", nights=50)
    assert after_text(other, more) == "FM3", "the hotel is wrong on the text too"
    silent = says("Austin is lovely."), says("Lovely town.")
    assert (
        after_text(*silent) == speech_failure_modes.SAME_ON_TEXT
        and after_text(called(**right), silent[1]) == "FM5"
    )


def test_an_offer_of_help_is_chat_and_no_question() -> None:
    for text in ("All done. Would you like anything else?", "How else can I help you?"):
        ruling = Ruling(allowed=False, reason="preference")
        assert primary(task("Austin", "The Merrion", 15), says(text, ruling)) == "FM5"


def test_a_wish_asked_after_a_wrong_call_is_not_why_it_is_wrong() -> None:
    wish = says("Shall I add breakfast?", Ruling(allowed=False, reason="preference"))
    wrong = called(city="Austin", hotel="The Merrion", nights=50)
    assert primary(task("Austin", "The Merrion", 15), wrong, wish) == "FM3"


def test_a_question_in_a_turn_that_is_right_is_no_misfire() -> None:
    one = task("Austin", "The Merrion", 15)
    truth = ["book(city='Austin', hotel='The Merrion', nights=15)"]
    reference = {**one.data, "bfcl": {"truth": [truth, truth]},
                 "written": one.data["written"] * 2, "whitelist": [{}, {}],
                 "speech": {"turns": one.data["speech"]["turns"] * 2}}  # fmt: skip
    asked = replace(one, turns=one.turns * 2, category="multi_turn_base", data=reference)
    wish = says("Shall I add breakfast?", Ruling(allowed=False, reason="preference"))
    right = called(city="Austin", hotel="The Merrion", nights=15)
    wrong = replace(called(city="Austin", hotel="The Merrion", nights=50), turn=1)
    assert [
        label.suite_cause
        for label in speech_failure_modes.find_failure_modes(asked, played(right, wish, wrong))
    ] == ["FM3"]
    late = replace(wish, turn=1)
    assert (
        speech_failure_modes.find_failure_modes(asked, played(right, wish, late))[0].suite_cause
        == "FM4"
    )


def test_chat_where_any_call_is_due_is_drift() -> None:
    one = task("Austin", "The Merrion", 15)
    asked = replace(one, category="live_relevance", data={**one.data, "bfcl": None})
    chat = says("What a town.", Ruling(allowed=False, reason="chat"))
    assert [
        label.suite_cause for label in speech_failure_modes.find_failure_modes(asked, played(chat))
    ] == ["FM5"]
    idle = replace(asked, category="live_irrelevance")
    assert speech_failure_modes.find_failure_modes(idle, played(chat)) == []


@pytest.mark.parametrize(
    ("value", "written", "is_name"),
    [("red", "paint it red", False), ("Celsius", "what is the weather", False),
     ("Austin", "Book a room in Austin", True), ("Austin", "book a room in austin", False),
     ("The Merrion", "Book the Merrion", True), ("Find", "Find me a room", True),
     ("find", "Find me a room", False), ("Max", "call Max now", True), ("km", "in km", False),
     ("Monday", "on Monday", False), ("New York, NY", "Fly. New York it is", True),
     ("Berlin", "Berlin is fine", True), ("ai-news-now", "the page AI News Now", False),
     ("new york", "Fly to New York", True)],
)  # fmt: skip
def test_a_proper_noun_is_written_with_a_capital(value: str, written: str, is_name: bool) -> None:
    assert heard_values.is_proper_noun(value, written) is is_name


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [*((a, b, True) for a, b in [
        (15, 50), (13, 30), (5, 9), (120, 100), (2015, 2019), (4, 40), (52, 92), (123456, 12356),
        ("Boston", "Austin"), ("2024-06-13", "2024-06-30"), (3.5, 3.9)]),
        *((a, b, False) for a, b in [
            (18, 21), (2, 3), (7, 1), (400, 15), (13, 9871), ("red", "green"), ("Paris", "Berlin"),
            ("2024-06-18", "2024-06-21"), (3.5, 7.25), ("high", "low")])],
)  # fmt: skip
def test_what_sounds_alike(one: Any, other: Any, alike: bool) -> None:
    assert (
        heard_values.sounds_alike(one, other) is alike
        and heard_values.sounds_alike(other, one) is alike
    )


def test_what_was_confirmed_in_another_turn_was_not_confirmed() -> None:
    one = task("Austin", "The Merrion", 15)
    wrong = called(city="Oston", hotel="The Merrion", nights=15)
    reported = says("Which city?", Ruling(allowed=True, topics=("city",), reply="Austin"))
    first = [
        label.suite_cause
        for label in speech_failure_modes.find_failure_modes(one, played(reported, wrong))
    ]
    assert first == ["FM3"], "it was told, and still went wrong"
    later = replace(reported, turn=1)
    assert (
        speech_failure_modes.find_failure_modes(one, played(later, wrong))[0].suite_cause == "FM6"
    )


def test_a_name_deep_in_an_object_goes_by_the_path_of_its_topic() -> None:
    one = task("Austin", "The Merrion", 15)
    body = {"name": ["The Merrion"], "nights": [15]}
    reference = {**one.data, "bfcl": {"truth": [{"book": {"body": [body]}}]},
                 "whitelist": [{"body.name": "The Merrion"}]}  # fmt: skip
    asked = replace(one, data=reference)
    wrong = called(body={"name": "The Marion", "nights": 15})
    assert speech_failure_modes.find_failure_modes(asked, played(wrong))[0].suite_cause == "FM6"
    reported = says("Which name?", Ruling(allowed=True, topics=("body.name",), reply="The Merrion"))
    assert (
        speech_failure_modes.find_failure_modes(asked, played(reported, wrong))[0].suite_cause
        == "FM3"
    )


def test_misheard_and_cut_numbers_are_found_in_any_form() -> None:
    effect = {"module": "talkers", "name": "talker", "start_s": 1, "end_s": 2, "severity": 1,
              "detail": {"text": "to eighteen degrees"}}  # fmt: skip
    asked = task("Austin", "The Merrion", 40, timeline=[effect])
    taken = called(city="Austin", hotel="The Merrion", nights=18)
    assert speech_failure_modes.find_failure_modes(asked, played(taken))[0].suite_cause == "FM1"
    small = called(city="to Austin", hotel="The Merrion", nights=40)
    assert "FM1" not in [
        label.suite_cause for label in speech_failure_modes.find_failure_modes(asked, played(small))
    ]
    said = "book the merrion in austin for forty nights"
    tail = {"module": "network", "name": "tail", "start_s": 2, "end_s": 2, "severity": 1,
            "detail": {"share": 0.4}}  # fmt: skip
    cut = task("Austin", "The Merrion", 40, said=said, timeline=[tail])
    lacks = called(city="Austin", hotel="The Merrion")
    assert speech_failure_modes.find_failure_modes(cut, played(lacks))[0].suite_cause == "FM2"


def test_only_questions_count_as_asked() -> None:
    done = says("Done.", Ruling(allowed=False, reason="chat"))
    wish = says("Shall I add breakfast?", Ruling(allowed=False, reason="preference"))
    right = called(city="Austin", hotel="The Merrion", nights=15)
    for steps, asked in (((right, done), 0), ((right, wish), 1), ((right,), 0)):
        parts = speech_scoring.score_episode(
            Episode(task("Austin", "The Merrion", 15), played(*steps))
        )["official"].parts
        assert (parts["asked"], parts["answered"]) == (asked, 0)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_question_anywhere_in_a_long_reply_is_asked(place: int) -> None:
    parts = ["That is a long story. " * 430] * 2
    parts.insert(place, "Could you repeat the name? ")
    assert speech_failure_modes.asks_for_something(
        says("".join(parts)), Ruling(allowed=False, reason="too long")
    )
    assert not speech_failure_modes.asks_for_something(
        says("".join(parts).replace("?", ".")), Ruling(allowed=False)
    )
