"""Scripted agents that are right but for one failure mode each, on tasks as they were heard.

What they go by is not what the detectors go by: true times of words, a list of what others say,
the names of parameters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any, TypeAlias

from tests.suites.mfcl_speech import speech_run

from toolmark.core import json_codec, seeds
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Task
from toolmark.language import normalised_words, value_survival
from toolmark.official_bfcl import bfcl_controls, multi_turn_tasks
from toolmark.perturb.hearing import transcript_errors
from toolmark.suites.mfcl_speech import clarification_rules, speech_items

Calls: TypeAlias = list[tuple[str, dict[str, Any]]]
Plays: TypeAlias = list[Calls]

NAMES = {
    "city", "location", "artist", "country", "name", "title", "team", "author", "person",
    "company", "singer", "player", "destination", "origin", "from", "to", "state", "region",
    "place", "actor", "actress", "director", "university", "composer", "character", "player_name",
    "city_name", "team_name", "company_name", "artist_name", "movie", "museum", "museum_name",
    "actor_name", "restaurant", "street", "loc", "address", "park_name", "book_title", "book",
    "painting", "landmark", "departure", "start_location", "end_location", "stock_name", "team1",
    "receiver", "sender", "receiver_id", "start", "end", "source", "host_name", "instrument",
}  # fmt: skip
CHAT = (
    "That sounds like a wonderful idea! Let me know if there is anything else I can do for you.",
    "I'm sorry, but none of the tools fits this request.",
    "Great question. People have thought about this for ages. What else can I help you with?",
    "Sure, happy to help with that.",
    "I am afraid that I cannot do that.",
    "From what I know, the answer is about 42.",
    "Hello there! How can I help you today?",
    "Good choice, many people like that.",
)
QUESTIONS = (
    "Which airline would you like to fly with?",
    "Would you like a receipt by email?",
    "What is your budget for this?",
    "Could you tell me your account number?",
    "Should I also save that for later?",
    "Sorry, I could not hear you at all. Could you say all of it again?",
    "Happy to help! Which colour would you prefer?",
    "Please give me your date of birth first.",
    "Do you want me to go ahead with that?",
)
PAIRS = ("b", "p"), ("d", "t"), ("g", "k"), ("f", "v"), ("s", "z"), ("m", "n"), ("l", "r")
NEAR = dict(PAIRS) | {b: a for a, b in PAIRS}


def right(task: Task) -> Plays:
    """Return the expected calls by turn."""
    plain = speech_items.original_task(task)
    if task.category in multi_turn_tasks.CATEGORIES:
        turns = multi_turn_tasks.expected_calls(plain)
        return [
            [(c.name, json_codec.parse_json(json_codec.restore_surrogates(c.arguments))) for c in t]
            for t in turns
        ]
    return [bfcl_controls.expected_calls(plain)]


def replies(plays: Plays, words: dict[int, str]) -> list[Reply]:
    """Return what a model says that makes a turn's calls at once; in some turns words instead."""
    made = []
    for turn, calls in enumerate(plays):
        if turn in words:
            made.append(Reply(text=words[turn]))
            continue
        if calls:
            made.append(Reply(calls=tuple(Call(name=n, arguments=json.dumps(g)) for n, g in calls)))
        if not calls or len(plays) > 1:
            made.append(Reply(text="Done."))
    return made


Agent: TypeAlias = Callable[[Task, Random], tuple[Plays, dict[int, str]] | None]


def spoilt(task: Task, agent: Agent) -> list[Reply] | None:
    """Return what an agent says to a noisy task; None where its mode is not possible there."""
    if task.axes["condition"] in ("text", "clean"):
        return None
    found = agent(task, seeds.make_rng(speech_run.SEED, task.item, 0, agent.__name__))
    return found and replies(*found)


def model(agent: Agent) -> Callable[..., Model]:
    """Return what makes the agent's model for a task; where it cannot err it is right."""

    def make(task: Task, repeat: int, options: Any) -> Model:
        return multi_turn_tasks.ScriptedModel(spoilt(task, agent) or replies(right(task), {}))

    return make


# --- places at which a call can be wrong ------------------------------------------------


Place: TypeAlias = tuple[int, int, str, int | None]  # turn, call, parameter, entry of a list


def places(task: Task, plays: Plays, rng: Random) -> Iterator[tuple[Place, Any]]:
    """Go through the values that the user says and that are heard, in a drawn order."""
    found: list[tuple[Place, Any]] = []
    for turn, calls in enumerate(plays):
        for at, (_, given) in enumerate(calls):
            for name, value in given.items():
                if isinstance(value, list):
                    found += [((turn, at, name, n), each) for n, each in enumerate(value)]
                else:
                    found.append(((turn, at, name, None), value))
    for n in seeds.sample_indices(rng, len(found), len(found)):
        place, value = found[n]
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            continue
        record = task.data["speech"]["turns"][place[0]]
        if (
            record
            and value_survival.value_spans(record["uttered"], value)
            and whole(task, place[0], value)
        ):
            yield place, value


def whole(task: Task, turn: int, value: Any) -> bool:
    """Tell whether nothing of a value was cut off."""
    record = task.data["speech"]["turns"][turn]
    left = speech_run.cut(record)
    if left is None:
        return True
    last = max(end for _, end in value_survival.value_spans(record["uttered"], value))
    after = [letter for letter, _, _ in speech_run.timed(record["uttered"]) if letter >= last]
    return bool(after) and speech_run.begins(record["uttered"], after[0]) <= left


def put(plays: Plays, place: Place, value: Any) -> Plays:
    """Return the calls with another value at a place."""
    made = deepcopy(plays)
    turn, at, name, entry = place
    if entry is None:
        made[turn][at][1][name] = value
    else:
        made[turn][at][1][name][entry] = value
    return made


def chosen(task: Task, place: Place) -> bool:
    """Tell whether a parameter takes one of a few words only."""
    name = place[2]
    tools = [*task.tools, *(tool for each in task.turns for tool in each.tools)]
    specs = [tool.parameters.get("properties", {}).get(name, {}) for tool in tools]
    return any("enum" in spec or "enum" in spec.get("items", {}) for spec in specs)


# --- the agents -------------------------------------------------------------------------


def blends(task: Task, rng: Random) -> tuple[Plays, dict[int, str]] | None:
    """FM1: put a value of the other speaker's into a call."""
    plays = right(task)
    for place, value in places(task, plays, rng):
        record = task.data["speech"]["turns"][place[0]]
        for other in speech_run.taken(record):
            number = isinstance(other, int)
            own = " ".join([*task.data["written"], record["uttered"], str(value)])
            if number == isinstance(value, int | float) and not value_survival.value_spans(
                own, other
            ):
                return put(plays, place, other), {}
    return None


def hastens(task: Task, rng: Random) -> tuple[Plays, dict[int, str]] | None:
    """FM2: act without what came after the cut."""
    made = right(task)
    before = deepcopy(made)
    for turn, calls in enumerate(made):
        for _, given in calls:
            for name in [n for n, value in given.items() if gone(task, turn, value)]:
                del given[name]
        saved = [
            call for call, old in zip(calls, before[turn], strict=True) if call[1] or not old[1]
        ]
        calls[:] = saved or calls
    return (made, {}) if made != before else None


def gone(task: Task, turn: int, value: Any) -> bool:
    """Tell whether a value, or of a list an entry, was cut off."""
    if not task.data["speech"]["turns"][turn]:
        return False
    return any(
        speech_run.lost(task, turn, each)
        for each in (value if isinstance(value, list) else [value])
    )


def distorts(task: Task, rng: Random) -> tuple[Plays, dict[int, str]] | None:
    """FM3: take a value that is not a name for one that sounds like it."""
    plays = right(task)
    found = [(p, v) for p, v in places(task, plays, rng) if not chosen(task, p)]
    found.sort(key=lambda each: isinstance(each[1], str))  # numbers first
    for place, value in found:
        if isinstance(value, str):
            said = task.data["written"][place[0]]
            if value.isascii() and value.islower() and value in said and len(value) > 4:
                return put(plays, place, misheard(task, place[0], value, rng)), {}
        elif (other := confused(value)) is not None:
            return put(plays, place, other), {}
    return None


def misnames(task: Task, rng: Random) -> tuple[Plays, dict[int, str]] | None:
    """FM6: spell a proper noun as it sounded, and do not ask."""
    plays = right(task)
    for place, value in places(task, plays, rng):
        known = place[2].lower().strip("_") in NAMES and not chosen(task, place)
        if known and isinstance(value, str) and value[:1].isupper() and len(value) > 3:
            return put(plays, place, misheard(task, place[0], value, rng)), {}
    return None


def asks(task: Task, rng: Random) -> tuple[Plays, dict[int, str]] | None:
    """FM4: ask for what the user cannot tell, instead of the calls of a turn."""
    plays = right(task)
    turn = seeds.draw_one(rng, due(task, plays))
    reported = task.data["whitelist"][turn]
    written = task.data["written"][turn]
    for n in seeds.sample_indices(rng, len(QUESTIONS), len(QUESTIONS)):
        text = QUESTIONS[n]
        if not clarification_rules.rule_on_message(text, reported, written).allowed:
            return plays, {turn: text}
    return None


def chats(task: Task, rng: Random) -> tuple[Plays, dict[int, str]] | None:
    """FM5: chat instead of the calls of a turn."""
    plays = right(task)
    return plays, {seeds.draw_one(rng, due(task, plays)): seeds.draw_one(rng, CHAT)}


def due(task: Task, plays: Plays) -> list[int]:
    """Return the turns in which something is to be called."""
    return [turn for turn, calls in enumerate(plays) if calls]


AGENTS: dict[str, Agent] = {
    "FM1": blends, "FM2": hastens, "FM3": distorts, "FM4": asks, "FM5": chats, "FM6": misnames,
}  # fmt: skip


# --- what sounds alike ------------------------------------------------------------------


def confused(n: float) -> float | None:
    """Return the number that this one is taken for: 50 for 15, 9 for 5, 120 for 12; None of 0."""
    digits = str(n)
    teens = {f"1{k}": f"{k}0" for k in range(3, 10)}
    swap = teens | {b: a for a, b in teens.items()} | {"5": "9", "9": "5", "1": "9"}
    if digits in swap:
        return type(n)(swap[digits])
    for a, b in (("5", "9"), ("9", "5")):
        if a in digits:
            return type(n)(digits.replace(a, b, 1))
    if n and digits.isdecimal():
        return int(digits[:-1]) if len(digits) > 2 else int(digits + "0")
    return None


def misheard(task: Task, turn: int, value: str, rng: Random) -> str:
    """Return what the recogniser made of a value, or else the value with a consonant like it."""
    record = task.data["speech"]["turns"][turn]
    if rng.random() < 0.5 and (found := written_down(record, value)):
        return found.title() if value[:1].isupper() else found
    spots = [n for n, letter in enumerate(value) if letter.lower() in NEAR]
    if not spots:
        return value + "s"
    n = seeds.draw_one(rng, spots)
    new = NEAR[value[n].lower()]
    return value[:n] + (new.upper() if value[n].isupper() else new) + value[n + 1 :]


def written_down(record: dict[str, Any], value: str) -> str:
    """Return the words that stand in the transcript for a value; "" if they are right."""
    wanted = normalised_words.normalise_words(value)
    words: list[tuple[str, str]] = []
    for piece in transcript_errors.align_texts(record["uttered"], record["transcript"]):
        if piece.op == "insert" and words:
            words[-1] = (words[-1][0], f"{words[-1][1]} {' '.join(piece.heard)}")
        for n, word in enumerate(piece.reference):
            words.append((word, piece.heard[n] if n < len(piece.heard) else ""))
    for at in range(len(words) - len(wanted) + 1):
        if [word for word, _ in words[at : at + len(wanted)]] == wanted:
            got = " ".join(other for _, other in words[at : at + len(wanted)]).split()
            return " ".join(got) if got != wanted else ""
    return ""
