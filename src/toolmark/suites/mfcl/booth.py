"""One utterance, from written words to sound and transcripts.

The stages: rewrite, disfluencies, voice, acoustics, recognisers. Each draws from its own generator
(seed, item, stage), so that one can be changed or left out and the others stay as they are: an item
has the same words and the same voice in every condition. What it costs to make is kept by content:
nothing is synthesised or transcribed twice.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from random import Random
from typing import Literal

import msgspec

from toolmark import __version__, fetch, seeds
from toolmark.errors import DataError, EndpointError, UsageError
from toolmark.media import Media
from toolmark.perturb.hear import errors
from toolmark.perturb.hear import recogniser as hearing
from toolmark.perturb.speech import chain, intelligible, pool, room, synth, talkers, voice
from toolmark.perturb.speech.clip import RATE, Clip, resampled, wav
from toolmark.perturb.speech.voice import Voice
from toolmark.perturb.text import controller, spoken
from toolmark.perturb.text.facts import Fact, Said
from toolmark.types import Audio, Record, Tool

OTHERS = (
    "Remind me to water the plants on Thursday evening.",
    "Play the new album by The Midnight Harbour in the kitchen.",
    "Order two large mushroom pizzas to fourteen Elm Street.",
    "What is the weather going to be like in Lisbon tomorrow?",
    "Turn the heating down to eighteen degrees.",
    "Call Rebecca and tell her the meeting has moved to noon.",
    "Set a timer for thirty five minutes.",
    "Book a table for six at Giovanni's on Friday night.",
    "How many grams are there in twelve ounces?",
    "Find me a train from Leeds to Edinburgh before nine.",
)
"""What other people in the room say: commands of their own, so that one carried out can be told."""
_BABBLE = 6
_DRAWS = 4  # of a preset's acoustics, until a listener can follow
_FORM = 3  # of what is kept: count up when the same job would come out another way


class Recipe(Record, frozen=True, kw_only=True):
    """How a set is made: all that decides it but the words, the conditions and the ears."""

    seed: int = 0
    rewrite: bool = True
    disfluency: bool = True
    engines: tuple[str, ...] = ()
    missing: Literal["error", "skip"] = "error"
    rate_hz: int = RATE


class Job(Record, frozen=True, kw_only=True):
    """One utterance to make: which, in what words, with which values that must survive."""

    item: str
    turn: int
    written: str
    condition: str
    facts: tuple[Fact, ...] = ()
    tools: tuple[Tool, ...] = ()
    ears: tuple[str, ...] = ()


class Heard(Record, frozen=True, kw_only=True):
    """What one recogniser wrote, and how wrong it is: of all words, and of those of values."""

    text: str
    simulated: bool
    wer: float
    entity_wer: float | None = None


class Uttered(Record, frozen=True, kw_only=True):
    """An utterance and its record: words at every stage, voice, acoustics, and what was heard.

    `changes` and `timeline` are in the order of words and of time. `gate` says why a listener could
    not follow, after that many `draws` of the acoustics. `failed` says why there is no
    sound; the words are there all the same.
    """

    spoken: str = ""
    said: str = ""
    changes: tuple[tuple[str, int, str, str], ...] = ()
    voice: Voice | None = None
    settings: chain.Settings | None = None
    draws: int = 0
    timeline: tuple[chain.Effect, ...] = ()
    seconds: float = 0.0
    stoi: float | None = None
    gate: str = ""
    audio: Audio | None = None
    heard: dict[str, Heard] = {}
    failed: str = ""


class Booth:
    """What makes utterances; holds voices, other talkers, rooms and recognisers once loaded."""

    def __init__(self, recipe: Recipe, home: Path | None = None) -> None:
        self.recipe = recipe
        self.home = home or self.place()
        self.media = Media(self.home / "media")

    @staticmethod
    def place() -> Path:
        """Return the folder in which speech is kept: the cache's."""
        return fetch.cache() / "speech"

    @cached_property
    def voices(self) -> list[Voice]:
        """The voices to draw from."""
        return voice.available(self.recipe.engines, missing=self.recipe.missing)

    @cached_property
    def bank(self) -> chain.Bank:
        """What acoustics draw from: others who talk, babble, rooms; the same for all items."""
        rng = seeds.of(self.recipe.seed, "", 0, "others")
        spoken = [(text, pool.draw(self.voices, rng)) for text in OTHERS]
        clips = [synth.say(text, who, folder=self.home / "voices") for text, who in spoken]
        talks = tuple(
            talkers.Talk(f"talk-{n}", clip, text)
            for n, (clip, text) in enumerate(zip(clips, OTHERS, strict=True))
        )
        rooms = room.bank(self.home / "rooms", self.recipe.seed)
        return chain.Bank(babble=tuple(clips[:_BABBLE]), talks=talks, rooms=rooms)

    def utter(self, job: Job) -> Uttered:
        """Make an utterance, or take it from where it is kept. One that fails says why."""
        path = self._place(job)
        kept = _kept(path)
        if kept is not None and (kept.audio is None or self.media.holds(kept.audio)):
            return kept
        words = self.worded(job)
        try:
            done = self._sounded(job, words)
        except (DataError, EndpointError) as error:
            return _written(words, failed=str(error))
        _keep(path, done)
        return done

    def worded(self, job: Job) -> tuple[Said, Said]:
        """Return the words as a person says them, and then with the disfluencies of talk."""
        said = Said(job.written)
        if self.recipe.rewrite:
            said = spoken.rewrite(job.written, job.facts, self._rng(job, "rewrite"))
        if not self.recipe.disfluency:
            return said, said
        rng = self._rng(job, "disfluency")
        return said, controller.apply(said, job.facts, job.tools, rng)

    def spoken(self, job: Job, text: str) -> tuple[Voice, Clip]:
        """Return who says it and how it sounds with nothing done to it: one voice per item."""
        who = pool.draw(self.voices, seeds.of(self.recipe.seed, job.item, 0, "voice"))
        return who, synth.say(text, who, folder=self.home / "voices")

    def silent(self, job: Job) -> Uttered:
        """Return the words alone."""
        return _written(self.worded(job))

    def repeated(self, job: Job, clip: Clip) -> Uttered:
        """Return what becomes of a sound that exists; only real recognisers can hear it."""
        return self._changed(job, resampled(clip), "")

    def _sounded(self, job: Job, words: tuple[Said, Said]) -> Uttered:
        text = words[1].text
        who, clean = self.spoken(job, text)
        done = self._changed(job, clean, text)
        first = _written(words)
        return msgspec.structs.replace(
            done, voice=who, spoken=first.spoken, said=first.said, changes=first.changes
        )

    def _changed(self, job: Job, clean: Clip, text: str) -> Uttered:
        """Draw acoustics and apply them; of a preset another draw where nobody could follow."""
        draw, most = 1, _DRAWS if job.condition in chain.PRESETS else 1
        settings, (clip, timeline), gate = self._drawn(job, clean, draw)
        while not gate.passed and draw < most:
            draw += 1
            settings, (clip, timeline), gate = self._drawn(job, clean, draw)
        sent = resampled(clip, self.recipe.rate_hz)
        return Uttered(
            settings=settings,
            draws=draw,
            timeline=timeline,
            seconds=clip.seconds,
            stoi=gate.stoi,
            gate=gate.reason,
            audio=self.media.audio(wav(sent), "audio/wav"),
            heard={name: self._heard(job, name, clip, timeline, text) for name in job.ears},
        )

    def _drawn(
        self, job: Job, clean: Clip, draw: int
    ) -> tuple[chain.Settings, chain.Heard, intelligible.Gate]:
        bank = self.bank if job.condition != "clean" else None
        settings = chain.draw(job.condition, self._rng(job, f"{job.condition} {draw}"), bank)
        heard = chain.apply(clean, settings, bank)
        return settings, heard, intelligible.gate(clean, heard.clip, heard.timeline)

    def _heard(
        self, job: Job, name: str, clip: Clip, timeline: Sequence[chain.Effect], text: str
    ) -> Heard:
        values = tuple(str(value) for fact in job.facts for value in fact.values[:1])
        context = hearing.Context(
            text=text,
            timeline=tuple(timeline),
            entities=values,
            seed_key=f"{self.recipe.seed} {job.item} {job.turn} {job.condition}",
        )
        ear = _ear(name)
        if ear.simulated and not text:
            raise UsageError(f"{name} writes down texts that are known; for sound: pocketsphinx")
        found = hearing.hear(ear, clip, context, self.home / "transcripts")
        lost, n = errors.entity(text, found.text, values)
        return Heard(
            text=found.text,
            simulated=found.simulated,
            wer=errors.wer(text, found.text),
            entity_wer=lost / n if n else None,
        )

    def _rng(self, job: Job, stage: str) -> Random:
        return seeds.of(self.recipe.seed, job.item, 0, f"{stage} {job.turn}")

    def _place(self, job: Job) -> Path:
        key = msgspec.json.encode([_FORM, __version__, self.recipe, self.voices, job])
        name = hashlib.sha256(key).hexdigest()
        return self.home / "utterances" / name[:2] / f"{name}.json"


@lru_cache(maxsize=16)
def _ear(name: str) -> hearing.Recogniser:
    return hearing.by_name(name)


def _written(words: tuple[Said, Said], failed: str = "") -> Uttered:
    first, last = words
    changes = {change: None for said in words for change in said.changes}
    return Uttered(
        spoken=first.text,
        said=last.text,
        changes=tuple((c.feature, c.at, c.before, c.after) for c in changes),
        failed=failed,
    )


def _kept(path: Path) -> Uttered | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Uttered)
    except (OSError, msgspec.DecodeError):
        return None


def _keep(path: Path, done: Uttered) -> None:
    part = path.with_suffix(f".{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(msgspec.json.encode(done))
    part.replace(path)
