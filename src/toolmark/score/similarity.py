"""Short texts: exact match, and how alike sentence embeddings are (MultiNet v1.0).

Texts are compared in lower case, without punctuation, blanks made one. Readings: in `paper` (the
code of the paper's own runs) both sides are brought to that form; in `reference` (the public
harness) the truth alone, since there an adapter has done it to the prediction. A prediction is
valid if it is a text that is not blank; an invalid one is wrong and like nothing (0).

In `reference` the measures stand under its own names too, in its own units (per cent).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np

from toolmark.encoder import Encoder
from toolmark.errors import UsageError
from toolmark.score.spread import Moments, Numbers, Reading, check

SIMILAR = 0.8
"""From here on two texts count as alike."""
_MARKS = re.compile(r"[^\w\s]")
_NAMES = {
    "exact_match_accuracy": "exact", "avg_similarity_score": "similarity",
    "max_similarity_score": "similarity_max", "min_similarity_score": "similarity_min",
    "similarity_std": "similarity_std", "total_samples": "n", "total_invalid_preds": "invalid",
}  # fmt: skip


def valid(text: Any) -> bool:
    """Tell whether a prediction is a text that is not blank."""
    return isinstance(text, str) and bool(text.strip())


def plain(text: str) -> str:
    """Return a text in lower case, without punctuation, blanks made one; underscores stay."""
    if text.isalnum():  # one word: nothing to take away
        return text.lower()
    return " ".join(_MARKS.sub("", text.lower()).split())


def exact(truth: str, predicted: Any, reading: Reading = "paper") -> bool:
    """Tell whether a prediction is the truth. A text of marks alone may be the truth's equal."""
    if not valid(predicted):
        return False
    if reading == "paper":
        return predicted == truth or plain(predicted) == plain(truth)
    return bool(predicted == plain(truth))


def cosines(truths: Sequence[str], predicted: Sequence[Any], encode: Encoder) -> Numbers:
    """Return the cosine of each prediction with its truth (N,); 0 where it is invalid.

    Texts are encoded as they are, each once.
    """
    made = np.zeros(len(predicted))
    at = [place for place, text in enumerate(predicted) if valid(text)]
    if not at:
        return made
    texts = list(dict.fromkeys(text for i in at for text in (truths[i], predicted[i])))
    places = {text: place for place, text in enumerate(texts)}
    rows = np.asarray(encode(texts), dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(norms > 0, norms, 1)
    left, right = (rows[[places[side[i]] for i in at]] for side in (truths, predicted))
    made[at] = np.einsum("nd,nd->n", left, right)
    return made


class Texts:
    """Scores of texts that come in chunks."""

    def __init__(self, reading: Reading = "paper", encode: Encoder | None = None) -> None:
        check(reading)
        self.reading = reading
        self.encode = encode
        self.n = self.invalid = self.right = self.alike = 0
        self._cosines = Moments()

    def feed(self, truths: Sequence[str], predicted: Sequence[Any]) -> None:
        """Take more texts. Raises UsageError for sides of different length."""
        if len(truths) != len(predicted):
            raise UsageError(f"{len(truths)} truths and {len(predicted)} predictions")
        read = [valid(text) for text in predicted]
        pairs = zip(truths, predicted, strict=True)
        self.mark([exact(truth, text, self.reading) for truth, text in pairs], read)
        if self.encode is not None:
            self.add(cosines(truths, predicted, self.encode))

    def mark(self, exact: Sequence[bool], valid: Sequence[bool]) -> None:
        """Take more texts that were compared already: which are exact, and which valid."""
        self.n += len(valid)
        self.right += sum(map(bool, exact))
        self.invalid += len(valid) - sum(map(bool, valid))

    def add(self, found: Numbers) -> None:
        """Take cosines (N,) that were made elsewhere."""
        self.alike += int(np.count_nonzero(found >= SIMILAR))
        self._cosines.feed(found)

    def found(self) -> dict[str, float]:
        """Return the measures: shares, nan of nothing; similarities only where some were made."""
        read = self.n - self.invalid
        found = {
            "n": self.n,
            "invalid": self.invalid,
            "invalid_rate": self.invalid / self.n if self.n else nan,
            "exact": self.right / self.n if self.n else nan,
            "exact_valid": self.right / read if read else nan,
        }
        if self._cosines.n:
            found |= {
                "similarity": self._cosines.mean,
                "similarity_max": self._cosines.high,
                "similarity_min": self._cosines.low,
                "similarity_std": self._cosines.std,
                "similar": self.alike / self._cosines.n,
            }
        return {**found, **_named(found)} if self.reading == "reference" else found


def _named(found: dict[str, float]) -> dict[str, float]:
    named = {name: found[own] for name, own in _NAMES.items() if own in found}
    named["invalid_percentage"] = 100 * found["invalid_rate"]
    if "similar" in found:
        named["high_similarity_percentage"] = 100 * found["similar"]
        named["high_similarity_threshold"] = SIMILAR
    return named


def texts(
    truths: Sequence[str],
    predicted: Sequence[Any],
    *,
    encode: Encoder | None = None,
    reading: Reading = "paper",
) -> dict[str, float]:
    """Score predicted texts, None where there is none; `encode` adds similarities."""
    whole = Texts(reading, encode)
    whole.feed(truths, predicted)
    return whole.found()
