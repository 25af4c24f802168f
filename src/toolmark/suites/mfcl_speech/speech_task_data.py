"""What the tasks of the speech suites store, and the record of an utterance within it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from toolmark.core.records import Audio, Record
from toolmark.perturb.speech import acoustic_settings, effect_timeline
from toolmark.perturb.speech.voice import Voice

WhitelistValue: TypeAlias = str | int | float
Whitelist: TypeAlias = Mapping[str, WhitelistValue]
"""What a simulated user may reveal: values by topic."""


class Recognition(Record, frozen=True, kw_only=True):
    """What one recogniser wrote, and its error rates: of all words, and of those of values.

    The rates are None where nobody knows what was said.
    """

    text: str
    simulated: bool
    wer: float | None = None
    entity_wer: float | None = None


class SpokenWords(Record, frozen=True, kw_only=True):
    """The record of an utterance: words at every stage, voice and acoustics.

    `changes` are (feature, word, before, after): first those of the rewrite, by their place in the
    written text, then the disfluencies, by their place in what is said. `timeline` is in the order
    of time. `gate` says why a listener could not follow, after that many `draws` of the acoustics.
    `failed` says why there is no sound; the words are present anyway. `rewriter` is the model that
    worded it, and `refused` says why the rules' wording replaced the model's.
    """

    rewritten: str = ""
    uttered: str = ""
    changes: tuple[tuple[str, int, str, str], ...] = ()
    voice: Voice | None = None
    settings: acoustic_settings.AcousticSettings | None = None
    draws: int = 0
    timeline: tuple[effect_timeline.Effect, ...] = ()
    seconds: float = 0.0
    stoi: float | None = None
    gate: str = ""
    audio: Audio | None = None
    rewriter: str = ""
    refused: str = ""
    failed: str = ""


class Utterance(SpokenWords, frozen=True, kw_only=True):
    """An utterance that was made, with what each recogniser heard, by its name."""

    heard: dict[str, Recognition] = {}


class SpokenTurn(SpokenWords, frozen=True, kw_only=True):
    """A turn's utterance as its task stores it.

    A task that is asked by transcript has the `transcript` of its `recogniser`. A task that is
    asked by sound has the `transcripts` of all recognisers, by name. `snr_db` compares the speech
    with all beds and other talkers together.
    """

    transcripts: dict[str, Recognition] = {}
    recogniser: str = ""
    transcript: str | None = None
    simulated: bool = False
    wer: float | None = None
    entity_wer: float | None = None
    snr_db: float | None = None


SILENT_TURN = SpokenTurn()
"""Stored for a turn in which the user says nothing."""


class SpeechRecord(Record, frozen=True, kw_only=True):
    """The utterances of a task by turn; `failed` is the reason why the task could not be spoken."""

    turns: list[SpokenTurn]
    failed: str = ""


class SpeechTaskData(Record, frozen=True, kw_only=True):
    """The data of a task of a speech suite.

    `bfcl` are the data of the BFCL entry (`official_bfcl.bfcl_task_data`), None for one without
    a truth. `written` is what the user says in each turn, as written. `whitelist` is what the user
    may reveal, by turn or once for all turns. `speech` is None for a task that is asked in writing.
    """

    bfcl: dict[str, Any] | None
    written: list[str]
    whitelist: list[dict[str, WhitelistValue]] | dict[str, WhitelistValue] = []
    speech: SpeechRecord | None = None

    @property
    def turns(self) -> list[SpokenTurn]:
        """The utterances by turn, none for a task that is asked in writing."""
        return [] if self.speech is None else self.speech.turns


def turn_whitelist(data: SpeechTaskData, turn: int) -> Whitelist:
    """Return what the user may reveal in a turn; nothing beyond the last list."""
    if isinstance(data.whitelist, dict):
        return data.whitelist
    return data.whitelist[turn] if turn < len(data.whitelist) else {}
