"""The contents of a speech set's data card: voices, conditions, word error rates, limits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from toolmark.core import number_format
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.records import Record, Table
from toolmark.official_bfcl import official_data
from toolmark.perturb.speech import voice_pool
from toolmark.perturb.speech.voice import Voice
from toolmark.runs.data_card import escape_markdown, strip_credentials
from toolmark.suites.mfcl_speech.speech_pipeline import SpeechRecipe
from toolmark.suites.mfcl_speech.speech_task_data import SILENT_TURN, Recognition, SpokenTurn

WORDS_SOURCE = (
    "Requests, tools and expected calls: BFCL's entries from PyPI's package "
    f"bfcl-eval {official_data.PACKAGE.version}, Apache-2.0."
)
WORDING_SOURCE = (
    "The spoken wording and the disfluencies are this project's (Apache-2.0); what was changed is "
    "counted below."
)
NOISE_SOURCE = "Noises and rooms: computed by this project (Apache-2.0); no recording went in."
_SERVICE_LICENCE = "the terms of the service; many want it said that a machine speaks"
LIMITS = (
    "The voices are synthetic: few people were recorded for them, and nobody spoke these requests.",
    "English only; requests that nobody can say were left out (see above).",
    "A recogniser that is marked simulated is a model of errors, not a recogniser: its transcripts "
    "and error rates are drawn, coupled to the acoustics.",
    "Rates are means over utterances, on words without case, punctuation and fillers.",
    "BFCL is public: a model may have seen the written requests and the calls.",
)


class Licences(DataRecord, frozen=True):
    """The data file: what folders of recordings are, by their kind, and licences of synthesisers.

    The kinds are those of `perturb.speech.sound_folders`.
    """

    corpora: dict[str, str]
    engines: dict[str, str]


def licences() -> Licences:
    """Return the content of the data file."""
    return read_table(__file__, "licences.toml", Licences)


def source_notes(recipe: SpeechRecipe, corpora: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the sources of a set and their licences.

    `corpora` are the folders of recordings that were given: name, and what it is.
    """
    found = [WORDS_SOURCE, WORDING_SOURCE]
    if recipe.rewriter:
        model = escape_markdown(strip_credentials(recipe.rewriter))
        found.append(
            f"Wording by the model {model}, under its maker's terms, where it preserved what was "
            "said; "
            "else by rules: see who worded it."
        )
    known = licences().corpora
    found += [
        f"Recordings, folder {escape_markdown(name)}: "
        f"{known.get(kind, known['tree'])}. Sound that they went into keeps "
        "that licence; which one did stands in `utterances.jsonl`."
        for name, kind in corpora
    ]
    return (*found, *(() if recipe.noises else (NOISE_SOURCE,)))


class CardCounts:
    """Counts what goes into a set."""

    def __init__(self) -> None:
        self._voices: dict[str, Voice] = {}
        self._features: Counter[str] = Counter()
        self._n_turns = 0
        self._conditions: dict[str, list[SpokenTurn]] = defaultdict(list)
        self._rates: dict[tuple[str, bool, str], list[Recognition]] = defaultdict(list)
        self._rewriters: Counter[tuple[str, str]] = Counter()
        self._whitelist_counts: Counter[str] = Counter()

    def count_words(self, item: str, turn: SpokenTurn) -> None:
        """Count the words and the voice of one turn: an item has the same in all conditions."""
        self._features.update(change[0] for change in turn.changes)
        if turn != SILENT_TURN:
            self._n_turns += 1
            reason = turn.refused.partition(":")[0]
            self._rewriters[strip_credentials(turn.rewriter), reason] += 1
        if turn.voice:
            self._voices.setdefault(item, turn.voice)

    def count_whitelist(self, values: Mapping[str, Any]) -> None:
        """Count what the user may reveal in one turn: values by topic."""
        self._whitelist_counts["turns"] += 1
        self._whitelist_counts["turns in which there is something to tell"] += bool(values)
        self._whitelist_counts["topics in them"] += len(values)

    def count_sound(self, condition: str, turn: SpokenTurn) -> None:
        """Count one sound."""
        self._conditions[condition].append(turn)

    def count_transcript(self, recogniser: str, condition: str, transcript: Recognition) -> None:
        """Count one transcript."""
        self._rates[recogniser, transcript.simulated, condition].append(transcript)

    def tables(self) -> list[Table]:
        """Return the tables of the card; those without data are left out."""
        return [
            self._voice_table(),
            self._engine_table(),
            self._condition_table(),
            self._error_rate_table(),
            self._wording_table(),
            self._change_table(),
            self._whitelist_table(),
        ]

    def _voice_table(self) -> Table:
        voices = list(self._voices.values())
        rows = tuple(
            (share.factor, share.level, share.draws, _format_percent(share.share), share.voices)
            for share in voice_pool.voice_balance(voices)
        )
        note = (
            f"{len(voices)} items, one voice each; {voice_pool.count_speakers(voices)} distinct "
            "people, not counting eSpeak, whose variants are one synthesiser."
        )
        head = ("by", "", "items", "share", "voices")
        return Table(title="Voices", head=head, rows=rows, note=note)

    def _engine_table(self) -> Table:
        found = Counter((voice.engine, voice.version) for voice in self._voices.values())
        rows = tuple(
            (name, version, n, licences().engines.get(name, _SERVICE_LICENCE))
            for (name, version), n in sorted(found.items())
        )
        note = "Only those that speak in this set."
        head = ("engine", "version", "items", "licence")
        return Table(title="Synthesisers", head=head, rows=rows, note=note)

    def _wording_table(self) -> Table:
        """Return who worded the requests; for a model also how many wordings were not taken."""
        if not any(name or reason for name, reason in self._rewriters):
            return Table(title="Who worded it", head=(), rows=())
        n = self._rewriters.total()
        rows = tuple(
            (name or "rules", f"the model's was refused: {reason}" if reason else "", count,
             _format_percent(count / n))
            for (name, reason), count in self._rewriters.most_common()
        )  # fmt: skip
        refused = sum(count for (_, reason), count in self._rewriters.items() if reason)
        note = f"Of {n} requests a model's wording was refused for {refused}."
        return Table(title="Who worded it", head=("by", "why", "turns", "share"), rows=rows,
                     note=note)  # fmt: skip

    def _whitelist_table(self) -> Table:
        note = (
            "What a simulated user may tell when asked, by turn in `whitelist.jsonl`: values of "
            "the due calls that the request states, and nothing else."
        )
        return Table(
            title="Whitelist",
            head=("what", "n"),
            rows=tuple(self._whitelist_counts.items()),
            note=note,
        )

    def _condition_table(self) -> Table:
        head = ("condition", "utterances", "minutes", "dB signal to noise, mean (range)",
                "STOI, mean", "drawn again", "a listener could not follow", "failed")  # fmt: skip
        rows = tuple(
            (
                name,
                len(utterances),
                sum(_present_values(utterances, "seconds")) / 60,
                _format_range(_present_values(utterances, "snr_db")),
                _mean_of(utterances, "stoi"),
                sum(n > 1 for n in _present_values(utterances, "draws")),
                sum(1 for _ in _present_values(utterances, "gate")),
                sum(1 for _ in _present_values(utterances, "failed")),
            )
            for name, utterances in self._conditions.items()
        )
        return Table(title="Conditions", head=head, rows=rows)

    def _error_rate_table(self) -> Table:
        rows = tuple(
            (
                recogniser,
                "simulated" if simulated else "real",
                condition,
                len(transcripts),
                _format_percent(_mean_of(transcripts, "wer")),
                _format_percent(_mean_of(transcripts, "entity_wer")),
                _format_percent(fmean(rate == 0 for rate in _present_values(transcripts, "wer"))),
            )
            for (recogniser, simulated, condition), transcripts in sorted(self._rates.items())
        )
        head = ("recogniser", "", "condition", "transcripts", "word error rate",
                "entity error rate", "without error")  # fmt: skip
        return Table(title="Word error rates, measured", head=head, rows=rows)

    def _change_table(self) -> Table:
        rows = tuple(sorted(self._features.items(), key=lambda pair: (-pair[1], pair[0])))
        note = f"{self._n_turns} requests."
        return Table(title="What talk put in", head=("feature", "times"), rows=rows, note=note)


def _present_values(records: Iterable[Record], name: str) -> Iterator[Any]:
    values = (getattr(record, name) for record in records)
    return (value for value in values if value not in (None, ""))


def _mean_of(records: Sequence[Record], name: str) -> float | None:
    values = list(_present_values(records, name))
    return fmean(values) if values else None


def _format_range(values: Iterable[float]) -> str | None:
    found = list(values)
    if not found:
        return None
    mean, low, high = (
        number_format.format_fixed(each, 1) for each in (fmean(found), min(found), max(found))
    )
    return f"{mean} ({low} to {high})"


def _format_percent(share: float | None) -> str | None:
    return None if share is None else number_format.format_percent(share)
