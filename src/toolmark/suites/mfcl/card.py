"""What the data card of a speech set says: voices, conditions, word error rates, limits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec

from toolmark.perturb.speech import pool
from toolmark.perturb.speech.voice import Voice
from toolmark.runs.card import plain, unkeyed
from toolmark.suites.bfcl import data
from toolmark.suites.mfcl.booth import Recipe
from toolmark.types import Table

WORDS = (
    "Requests, tools and expected calls: BFCL's entries from PyPI's package "
    f"bfcl-eval {data.PACKAGE.version}, Apache-2.0."
)
RULES = (
    "The spoken wording and the disfluencies are this project's (Apache-2.0); what was changed is "
    "counted below."
)
MADE = "Noises and rooms: computed by this project (Apache-2.0); no recording went in."
CORPORA = {
    "musan": "MUSAN, as published CC BY 4.0 with parts in the public domain",
    "chime5": "CHiME-5, for those who registered; the same sound as CHiME-6 is CC BY-SA 4.0",
    "chime3": "backgrounds of CHiME-3, as published CC BY 4.0: the noise only",
    "demand": "DEMAND, CC BY-SA 3.0 by its manual",
    "wham": "WHAM!, as published CC BY-NC 4.0: not for commercial use",
    "rirs": "RIRS_NOISES, as published Apache-2.0; its point sources are MUSAN's",
    "tree": "no corpus that is known by its folders; its licence is known to who gave it",
}
"""What folders of recordings are, by `perturb.speech.folders`."""
ENGINES = {
    "espeak-ng": "GPL-3.0-or-later; no claim on what it says",
    "espeak-bundled": "GPL-3.0-or-later; no claim on what it says",
    "flite": "BSD in kind, voices included",
    "festival": "MIT in kind, voices included",
    "mbrola": "AGPL-3.0; voices for MBROLA alone, not to be sold",
    "piper": "of the program and of each voice's own: see its MODEL_CARD",
}
"""Under which licences synthesisers and their voices stand."""
_ELSEWHERE = "the terms of the service; many want it said that a machine speaks"
LIMITS = (
    "The voices are synthetic: few people were recorded for them, and nobody spoke these requests.",
    "English only; requests that nobody can say were left out (see above).",
    "A recogniser that is marked simulated is a model of errors, not a recogniser: its transcripts "
    "and error rates are drawn, coupled to the acoustics.",
    "Rates are means over utterances, on words without case, punctuation and fillers.",
    "BFCL is public: a model may have seen the written requests and the calls.",
)


def sources(recipe: Recipe, corpora: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return where a set comes from, and under which licences.

    `corpora` are the folders of recordings that were given: name, and what it is.
    """
    found = [WORDS, RULES]
    if recipe.rewriter:
        model = plain(unkeyed(recipe.rewriter))
        found.append(
            f"Wording by the model {model}, under its maker's terms, where it kept what was said; "
            "else by rules: see who worded it."
        )
    found += [
        f"Recordings, folder {plain(name)}: {CORPORA.get(kind, CORPORA['tree'])}. Sound that they "
        "went into keeps that licence; which one did stands in `utterances.jsonl`."
        for name, kind in corpora
    ]
    return (*found, *(() if recipe.noises else (MADE,)))


class Tally:
    """Counts what goes into a set."""

    def __init__(self) -> None:
        self._voices: dict[str, Voice] = {}
        self._features: Counter[str] = Counter()
        self._n_turns = 0
        self._conditions: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        self._rates: dict[tuple[str, bool, str], list[Mapping[str, Any]]] = defaultdict(list)
        self._worded: Counter[tuple[str, str]] = Counter()
        self._listed: Counter[str] = Counter()

    def worded(self, item: str, turn: Mapping[str, Any]) -> None:
        """Count the words and the voice of one turn: an item has the same in all conditions."""
        self._n_turns += bool(turn)
        self._features.update(change[0] for change in turn.get("changes", ()))
        if turn:
            why = turn.get("refused", "").partition(":")[0]
            self._worded[unkeyed(turn.get("rewriter", "")), why] += 1
        if turn.get("voice"):
            self._voices.setdefault(item, msgspec.convert(turn["voice"], Voice))

    def told(self, values: Mapping[str, Any]) -> None:
        """Count what the user may tell in one turn: values by topic."""
        self._listed["turns"] += 1
        self._listed["turns in which there is something to tell"] += bool(values)
        self._listed["topics in them"] += len(values)

    def uttered(self, condition: str, turn: Mapping[str, Any]) -> None:
        """Count one sound."""
        names = ("seconds", "snr_db", "stoi", "gate", "draws", "failed")
        self._conditions[condition].append({name: turn.get(name) for name in names})

    def heard(self, ear: str, condition: str, heard: Mapping[str, Any]) -> None:
        """Count one transcript."""
        self._rates[ear, heard["simulated"], condition].append(
            {name: heard.get(name) for name in ("wer", "entity_wer")}
        )

    def tables(self) -> list[Table]:
        """Return the tables of the card; none of what is not there."""
        return [
            self._pool(), self._engines(), self._acoustics(), self._errors(), self._wording(),
            self._changes(), self._whitelist(),
        ]  # fmt: skip

    def _pool(self) -> Table:
        drawn = list(self._voices.values())
        rows = tuple(
            (share.factor, share.level, share.draws, _percent(share.share), share.voices)
            for share in pool.balance(drawn)
        )
        note = (
            f"{len(drawn)} items, one voice each; {pool.people(drawn)} distinct people, not "
            "counting eSpeak, whose variants are one synthesiser."
        )
        head = ("by", "", "items", "share", "voices")
        return Table(title="Voices", head=head, rows=rows, note=note)

    def _engines(self) -> Table:
        found = Counter((voice.engine, voice.version) for voice in self._voices.values())
        rows = tuple(
            (name, version, n, ENGINES.get(name, _ELSEWHERE))
            for (name, version), n in sorted(found.items())
        )
        note = "Only those that speak in this set."
        head = ("engine", "version", "items", "licence")
        return Table(title="Synthesisers", head=head, rows=rows, note=note)

    def _wording(self) -> Table:
        """Who worded the requests; of a model also how many of its wordings were not taken."""
        if not any(name or why for name, why in self._worded):
            return Table(title="Who worded it", head=(), rows=())
        n = self._worded.total()
        rows = tuple(
            (name or "rules", f"the model's was refused: {why}" if why else "", count,
             _percent(count / n))
            for (name, why), count in self._worded.most_common()
        )  # fmt: skip
        refused = sum(count for (_, why), count in self._worded.items() if why)
        note = f"Of {n} requests a model's wording was refused for {refused}."
        return Table(title="Who worded it", head=("by", "why", "turns", "share"), rows=rows,
                     note=note)  # fmt: skip

    def _whitelist(self) -> Table:
        note = (
            "What a simulated user may tell when asked, by turn in `whitelist.jsonl`: values of "
            "the due calls that the request states, and nothing else."
        )
        return Table(title="Whitelist", head=("what", "n"), rows=tuple(self._listed.items()),
                     note=note)  # fmt: skip

    def _acoustics(self) -> Table:
        head = ("condition", "utterances", "minutes", "dB signal to noise, mean (range)",
                "STOI, mean", "drawn again", "a listener could not follow", "failed")  # fmt: skip
        rows = tuple(
            (name, len(held), sum(_known(held, "seconds")) / 60, _range(_known(held, "snr_db")),
             _mean(held, "stoi"), sum(n > 1 for n in _known(held, "draws")),
             sum(1 for _ in _known(held, "gate")), sum(1 for _ in _known(held, "failed")))
            for name, held in self._conditions.items()
        )  # fmt: skip
        return Table(title="Conditions", head=head, rows=rows)

    def _errors(self) -> Table:
        rows = tuple(
            (ear, "simulated" if simulated else "real", condition, len(held),
             _percent(_mean(held, "wer")), _percent(_mean(held, "entity_wer")),
             _percent(fmean(rate == 0 for rate in _known(held, "wer"))))
            for (ear, simulated, condition), held in sorted(self._rates.items())
        )  # fmt: skip
        head = ("recogniser", "", "condition", "transcripts", "word error rate",
                "entity error rate", "without error")  # fmt: skip
        return Table(title="Word error rates, measured", head=head, rows=rows)

    def _changes(self) -> Table:
        rows = tuple(sorted(self._features.items(), key=lambda pair: (-pair[1], pair[0])))
        note = f"{self._n_turns} requests."
        return Table(title="What talk put in", head=("feature", "times"), rows=rows, note=note)


def _known(held: Iterable[Mapping[str, Any]], name: str) -> Iterator[Any]:
    return (each[name] for each in held if each[name] not in (None, ""))


def _mean(held: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = list(_known(held, name))
    return fmean(values) if values else None


def _range(values: Iterable[float]) -> str | None:
    found = list(values)
    if not found:
        return None
    return f"{fmean(found):.1f} ({min(found):.1f} to {max(found):.1f})"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"
