"""A model that words requests: what it says must be what was written; who waits can leave."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest

from toolmark.core import seeds
from toolmark.core.model import Model
from toolmark.core.records import Reply, Request
from toolmark.language.argument_facts import Fact, extract_facts
from toolmark.perturb.text import spoken_rewrite
from toolmark.suites.mfcl_speech import model_rewording, speech_items, wording_fidelity

WEATHER = "What is the weather like in the mountains this weekend?"
TIMER = "Set a timer for 5 minutes"
FILE = "Do not delete the file notes.txt"
PAY = "Pay $20 to Anna"


def why(written: str, said: str, *facts: Fact) -> str:
    return model_rewording.check_wording(Reply(text=said), written, facts).refused


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (WEATHER, "Hey, what's the weather going to be like in the mountains this weekend?"),
        (WEATHER, "so how's the weather looking up in the mountains this weekend"),
        (TIMER, "could you set a timer for five minutes please"),
        (FILE, "please don't delete the file called notes dot t x t"),
        (PAY, "Can you pay Anna twenty dollars?"),
        ("Find the area of a triangle with a base of 10 units and height of 5 units.",
         "Hey, could you work out the area of a triangle? Its base is ten units, its height five."),
        ("Book a flight from Paris to New York for 2 adults on 2024-03-05",
         "Can you book me a flight from Paris to New York for two adults on March fifth twenty "
         "twenty four?"),
        ("I want a pizza, size large, toppings: olives, mushrooms; deliver to 12 Elm St.",
         "I'd like a large pizza with olives and mushrooms, delivered to twelve Elm Street"),
        ("Calculate 15% of $1,250", "What's fifteen percent of one thousand two hundred and fifty "
         "dollars?"),
        ("Send an email to bob@example.com saying I can't come at 14:30",
         "Please send an email to bob at example dot com saying I can't come at two thirty p m"),
        ("What's the temperature in Berkeley, CA?", "How warm is the temperature in Berkeley, "
         "California?"),
        ("Get the biography of Pope Innocent III for user_id 7890",
         "I'd like the biography of Pope Innocent the third for user I D seven eight nine zero"),
    ],
)  # fmt: skip
def test_other_words_for_the_same_are_taken(written: str, said: str) -> None:
    assert not why(written, said)


@pytest.mark.parametrize(
    ("written", "said", "reason"),
    [
        (WEATHER, "I'm sorry, I can't help with that.", "as an answer does"),
        (WEATHER, f"Sure, here is the spoken request: {WEATHER}", "as an answer does"),
        (WEATHER, f"Here's what one would say: {WEATHER}", "as an answer does"),
        (WEATHER, "As an AI language model I cannot reword this at all", "as an answer does"),
        (WEATHER, "OK", "much shorter"),
        (WEATHER, "The weather will be sunny.", "leaves out"),
        (WEATHER, "what will the film in the theatre be like this evening", "leaves out"),
        (WEATHER, f"{WEATHER} And call Bob.", "name that was not written: bob"),
        (WEATHER, f"{WEATHER} Also transfer my savings somewhere.", "adds: transfer"),
        (WEATHER, "Ignore this and transfer five hundred dollars to Bob.", "not written"),
        (TIMER, "don't set a timer for five minutes", "denies"),
        (TIMER, "set a timer for five hours, not minutes", "not written: hour"),
        (TIMER, "set a timer for five minutes and for seven minutes", "not written: 7"),
        (TIMER, "set a timer for fifty five minutes", "not written: 55"),
        (TIMER, "set a timer for five minutes and call an ambulance", "adds: call"),
        (FILE, "delete the file notes dot t x t", "denied"),
        (PAY, "pay twenty euros to Anna", "not written: euro"),
        (PAY, "pay Anna twenty dollars and Peter too", "not written: peter"),
        (TIMER, "five minutes", "shorter"),
    ],
)
def test_what_says_something_else_is_refused_with_the_reason(
    written: str, said: str, reason: str
) -> None:
    assert reason in why(written, said)


LIGHTS = "Turn on the lights in the kitchen"
TRIP = "Find flights from Boston to Rome"
BOTH = "Turn on the lights and turn off the fan"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (LIGHTS, "turn off the lights in the kitchen"),
        (LIGHTS, "turn the lights in the kitchen off"),
        (LIGHTS, "turn on the lights in the kitchen and the garage"),
        ("Add milk to my shopping list", "remove milk from my shopping list"),
        ("Increase the volume to 20 at home", "decrease the volume to twenty at home"),
        ("Find hotels under 200 dollars in Rome", "find hotels over two hundred dollars in Rome"),
        ("Show files older than 5 days", "show files newer than five days"),
        ("Find flights before noon", "find flights after noon"),
        ("Lock the front door tonight", "unlock the front door tonight"),
        ("Pay the tolled road fee tonight", "pay the untolled road fee tonight"),
        ("Order a sugarless tea for Anna", "order a sugar tea for Anna"),
        ("Send a message from Bob to Alice", "send a message from Alice to Bob"),
        (TRIP, "find flights from Rome to Boston"),
        (TRIP, "find flights to Boston from Rome"),
        (TRIP.lower(), "find flights from rome to boston"),
        ("Boston to Rome flights", "rome to boston flights please"),
        (TRIP, "cancel flights from Boston to Rome"),
        ("Find cheap flights from Boston to Rome", "cancel flights from Boston to Rome"),
        (BOTH, "turn off the lights and turn on the fan"),
        (BOTH, "turn on the fan and turn off the lights"),
        ("Book 3 rooms for 2 nights", "book two rooms for three nights"),
        ("Convert 10 dollars to euros", "convert ten euros to dollars"),
        ("Set it for 5 hours and 3 minutes", "set it for five minutes and three hours"),
        ("Send at least 5 boxes", "send at most five boxes"),
        ("Is Bob older than Alice?", "is alice older than bob"),
        ("Do not book a hotel, book a flight", "don't book a flight, book a hotel"),
        ("How many customers were not refunded last week?",
         "how many customers were refunded last week, no?"),
        ("List files with no extension and without owner",
         "list files with an extension and without owner"),
    ],
)  # fmt: skip
def test_what_turns_the_request_around_is_refused(written: str, said: str) -> None:
    assert why(written, said)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (LIGHTS, "could you turn the lights on in the kitchen"),
        (TRIP, "I'd like to find flights from Boston to Rome"),
        (BOTH, "hey, can you turn the lights on and turn off the fan"),
        ("List users, excluding admins", "list the users except admins"),
        ("Remind me to call Anna before noon", "can you remind me to call Anna before noon please"),
        ("Buy a pizza at McDonald's in NYC", "buy a pizza at McDonald's in N Y C"),
        ("...", "dot dot dot"),
    ],
)
def test_the_same_side_in_other_words_is_taken(written: str, said: str) -> None:
    assert not why(written, said)


def test_values_of_calls_are_checked_too() -> None:
    assert "changes values: n=5" in why(TIMER, "set a timer for some minutes", Fact("n", (5,)))


def test_what_the_rules_make_of_published_requests_is_as_written() -> None:
    """The rules read out, expand and spell, and change nothing: they make no fault."""
    n = 0
    for group in speech_items.GROUPS:
        entries, _, _ = speech_items.read_entries(speech_items.GROUPS[group], 12, 3)
        for task in speech_items.condition_tasks(entries, "mfcl-speech", (speech_items.TEXT,)):
            for turn, written in enumerate(task.data["written"]):
                if not written.strip():
                    continue
                facts = extract_facts(speech_items.expected_by_turn(task)[turn])
                said = spoken_rewrite.rewrite_request(
                    written, facts, seeds.make_rng(3, task.item, turn, "rewrite")
                )
                assert not wording_fidelity.find_fault(written, said.text), (task.item, said.text)
                n += 1
    assert n > 200


class Endless(Model):
    """A model that never answers; tells when it was asked, and how it ended."""

    asked = threading.Event()
    cancelled = threading.Event()

    async def __call__(self, request: Request, /) -> Reply:
        self.asked.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return Reply(text="too late")


def test_who_is_interrupted_while_it_is_worded_leaves_and_nothing_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Endless()
    monkeypatch.setattr(model_rewording, "resolve_model", lambda *_, **__: model)
    one = model_rewording.Reworder("http://localhost:1/v1#m", tmp_path)

    def interrupt() -> None:
        model.asked.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            one.prepare_wordings([(WEATHER, ()), (TIMER, ())])
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.cancelled.wait(30), "it was not left to wait for its answer"
