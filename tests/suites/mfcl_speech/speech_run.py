"""BFCL's own requests as they might be heard: said, drawn out in time, disturbed, written down.

Nobody speaks: a word is a burst of noise as long as its letters ask for. So all that acoustics do
to an utterance, and when, is drawn and recorded as for speech, at a small share of the cost, and
the true times of the words are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from toolmark.core import seeds
from toolmark.core.records import Message, Task, Text
from toolmark.language import value_survival
from toolmark.language.argument_facts import extract_facts
from toolmark.official_bfcl import multi_turn_tasks
from toolmark.perturb.hearing import recogniser, recogniser_registry
from toolmark.perturb.speech import acoustic_chain, acoustic_drawing, acoustic_settings
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip, level_clip
from toolmark.perturb.speech.double_talk import Talk
from toolmark.perturb.speech.room_responses import RoomResponse
from toolmark.perturb.text import disfluency_selection, spoken_rewrite
from toolmark.suites.mfcl_speech import answer_whitelist, speech_items

SEED = 11
EAR = "simulated:b@25"
QUIET_S = 0.2
OTHERS = {
    "Remind me to water the plants on Thursday evening.": ("plants", "Thursday evening"),
    "Play the new album by The Midnight Harbour in the kitchen.": ("The Midnight Harbour",),
    "Order two large mushroom pizzas to fourteen Elm Street.": (2, "mushroom pizzas", 14),
    "What is the weather going to be like in Lisbon tomorrow?": ("weather", "Lisbon"),
    "Turn the heating down to eighteen degrees.": ("heating", 18),
    "Call Rebecca and tell her the meeting has moved to noon.": ("Rebecca", "meeting", "noon"),
    "Set a timer for thirty five minutes.": ("timer", 35),
    "Book a table for six at Giovanni's on Friday night.": (6, "Giovanni's", "Friday night"),
}
"""What other people say, and what of it may end up in a call, in the order of the words."""


@cache
def timed(text: str) -> tuple[tuple[int, int, int], ...]:
    """Return of each word its place in the text, and its first and last sample in the speech.

    A letter takes 40 to 60 ms, which is fast; between words there is a short pause.
    """
    rng = seeds.make_rng(SEED, text, 0, "murmur")
    found, at, place = [], 0, 0
    for word in text.split():
        place = text.index(word, place)
        size = int(RATE_HZ * (0.04 + 0.02 * rng.random()) * min(len(word) + 1, 14))
        found.append((place, at, at + size))
        place += len(word)
        at += size + RATE_HZ // 25
    return tuple(found)


def begins(text: str, place: int) -> float:
    """Return when what stands at this place of the text begins, as a share of the speech."""
    words = timed(text)
    return max((at for letter, at, _ in words if letter <= place), default=0) / words[-1][2]


def murmured(text: str) -> Clip:
    """Return the sound of a text."""
    words = timed(text)
    still = int(QUIET_S * RATE_HZ)
    gen = np.random.Generator(
        np.random.PCG64(seeds.make_rng(SEED, text, 0, "sound").getrandbits(128))
    )
    samples = np.zeros(words[-1][2] + 2 * still, dtype=np.float32)
    for _, first, last in words:
        samples[still + first : still + last] = gen.standard_normal(last - first, np.float32)
    return level_clip(Clip(samples, RATE_HZ))


@cache
def bank() -> acoustic_settings.SoundBank:
    """Return what acoustics draw from: the others who talk, babble of them, bare rooms."""
    clips = {text: murmured(text) for text in OTHERS}
    talks = tuple(Talk(f"talk-{n}", clip, text) for n, (text, clip) in enumerate(clips.items()))
    bare = np.array([1.0, 0.0, 0.3, 0.1], dtype=np.float32)
    rooms = tuple(RoomResponse(f"room-{s}/0", bare, 0, 0.2, s) for s in (1, 2, 3, 4))
    return acoustic_settings.SoundBank(babble=tuple(clips.values())[:4], talks=talks, rooms=rooms)


def said(task: Task, turn: int) -> str:
    """Return the words of a turn as a person says them, with disfluencies."""
    key = task.item, turn  # alike in all conditions
    if key not in _SAID:
        _SAID[key] = _worded(task, turn)
    return _SAID[key]


_SAID: dict[tuple[str, int], str] = {}


def _worded(task: Task, turn: int) -> str:
    written = task.data["written"][turn]
    facts = extract_facts(speech_items.expected_by_turn(task)[turn])
    first = spoken_rewrite.rewrite_request(
        written, facts, seeds.make_rng(SEED, task.item, 0, f"rewrite {turn}")
    )
    rng = seeds.make_rng(SEED, task.item, 0, f"disfluency {turn}")
    return disfluency_selection.add_disfluencies(first, facts, task.tools, rng).text


def heard(task: Task, turn: int) -> dict[str, Any]:
    """Return the record of a turn as the suites keep it, with true times but without sound."""
    if not task.data["written"][turn].strip():
        return {}
    condition = task.axes["condition"]
    text = said(task, turn)
    clip = murmured(text)
    settings = acoustic_drawing.draw_settings(
        condition, seeds.make_rng(SEED, task.item, 0, f"{condition} {turn}"), bank()
    )
    sound, timeline, span_s = acoustic_chain.apply_settings(clip, settings, bank())
    values = tuple(
        str(v)
        for f in extract_facts(speech_items.expected_by_turn(task)[turn])
        for v in f.values[:1]
    )
    context = recogniser.HearingContext(
        text=text,
        timeline=timeline,
        span_s=span_s,
        entities=values,
        seed_key=f"{task.item} {turn} {condition}",
    )
    return {
        "uttered": text, "seconds": sound.seconds, "transcript": ear().hear(sound, context).text,
        "recogniser": EAR, "simulated": True, "timeline": msgspec.to_builtins(timeline),
    }  # fmt: skip


@cache
def ear() -> recogniser.Recogniser:
    """Return the recogniser, loaded once."""
    return recogniser_registry.load_recogniser(EAR)


def finished(task: Task) -> Task:
    """Return a task as it is asked: by what was heard of it."""
    written = task.data["written"]
    lists = whitelists(task, written)
    reference = {**task.data, "whitelist": lists}
    if task.axes["condition"] == speech_items.TEXT:
        return replace(task, data=reference)
    turns = [heard(task, turn) for turn in range(len(task.turns))]
    reference["speech"] = {"turns": turns}
    messages = [
        Message(role="user", parts=(Text(turn["transcript"]),)) if turn else None for turn in turns
    ]
    return speech_items.replace_user_messages(replace(task, data=reference), messages)


def whitelists(task: Task, written: list[str]) -> list[Any]:
    """Return what the user may tell in each turn."""
    if task.data["bfcl"] is None:
        return [{} for _ in written]
    if task.category in multi_turn_tasks.CATEGORIES:
        return list(answer_whitelist.turn_whitelists(speech_items.original_task(task), written))
    return [
        answer_whitelist.single_turn_whitelist(speech_items.expected_by_turn(task)[0], written[0])
    ]


@cache
def tasks(conditions: tuple[str, ...], **n: int) -> tuple[Task, ...]:
    """Return so many entries of each category in all of these conditions, ready to be asked."""
    found: list[Task] = []
    for category, many in n.items():
        entries, _, _ = speech_items.read_entries((category,), many, SEED)
        found += speech_items.condition_tasks(entries, "mfcl-transcripts", conditions, (EAR,))
    return tuple(map(finished, found))


def lost(task: Task, turn: int, value: Any) -> bool:
    """Tell whether all of a value was said after the cut, by the true times of its words."""
    record = task.data["speech"]["turns"][turn]
    left = cut(record)
    places = value_survival.value_spans(record["uttered"], value)
    if left is None or not places:
        return False
    return all(begins(record["uttered"], at) > left for at, _ in places)


def cut(record: dict[str, Any]) -> float | None:
    """Return the share of the speech that was left; None of what was not cut."""
    tails = (e["detail"]["share"] for e in record["timeline"] if e["name"] == "tail")
    return next((1 - share for share in tails), None)


def taken(record: dict[str, Any]) -> Iterator[Any]:
    """Go through what of others' words may be taken for the user's, as far as it was heard."""
    for effect in record["timeline"]:
        if effect["module"] == "talkers":
            text = str(effect["detail"]["text"])
            reach = float(effect["detail"]["heard"]) * len(text)
            for value in OTHERS[text]:
                if value_survival.value_spans(text, value)[0][1] <= reach:
                    yield value
