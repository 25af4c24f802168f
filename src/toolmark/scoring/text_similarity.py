"""Short texts: exact match, and similarity of sentence embeddings (MultiNet v1.0).

Texts are compared in lower case, without punctuation, with single blanks. Under the grading rule
`paper` (the code of the paper's runs) both sides are normalised. Under `reference` (the public
harness) only the truth is, since there an adapter has normalised the prediction. A prediction is
valid if it is a text that is not blank. An invalid one is wrong and has similarity 0.

Under `reference` the measures also have the reference's names, in its units (per cent).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np

from toolmark.core.errors import UsageError
from toolmark.core.sentence_encoder import Encoder
from toolmark.scoring.error_statistics import GradingRule, Moments, Numbers, check_rule

SIMILARITY_THRESHOLD = 0.8
"""The least cosine at which two texts count as similar."""
_PUNCTUATION = re.compile(r"[^\w\s]")
_REFERENCE_NAMES = {
    "exact_match_accuracy": "exact", "avg_similarity_score": "similarity",
    "max_similarity_score": "similarity_max", "min_similarity_score": "similarity_min",
    "similarity_std": "similarity_std", "total_samples": "n", "total_invalid_preds": "invalid",
}  # fmt: skip


def is_valid_text(text: Any) -> bool:
    """Tell whether a prediction is a text that is not blank."""
    return isinstance(text, str) and bool(text.strip())


def normalise_text(text: str) -> str:
    """Return a text in lower case, without punctuation, with single blanks; underscores stay."""
    if text.isalnum():  # one word: nothing to remove
        return text.lower()
    return " ".join(_PUNCTUATION.sub("", text.lower()).split())


def is_exact_match(truth: str, predicted: Any, rule: GradingRule = "paper") -> bool:
    """Tell whether a prediction is the truth; a text of only punctuation may be."""
    if not is_valid_text(predicted):
        return False
    if rule == "paper":
        return predicted == truth or normalise_text(predicted) == normalise_text(truth)
    return bool(predicted == normalise_text(truth))


def text_cosines(truths: Sequence[str], predicted: Sequence[Any], encode: Encoder) -> Numbers:
    """Return the cosine of each prediction with its truth (N,); 0 where it is invalid.

    Texts are encoded unchanged, each once.
    """
    found = np.zeros(len(predicted))
    at = [place for place, text in enumerate(predicted) if is_valid_text(text)]
    if not at:
        return found
    texts = list(dict.fromkeys(text for i in at for text in (truths[i], predicted[i])))
    row_numbers = {text: place for place, text in enumerate(texts)}
    rows = np.asarray(encode(texts), dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(norms > 0, norms, 1)
    left, right = (rows[[row_numbers[side[i]] for i in at]] for side in (truths, predicted))
    found[at] = np.einsum("nd,nd->n", left, right)
    return found


class TextAccumulator:
    """Measures of texts that come in chunks."""

    def __init__(self, rule: GradingRule = "paper", encode: Encoder | None = None) -> None:
        check_rule(rule)
        self.rule = rule
        self.encode = encode
        self.n = self.invalid = self.n_exact = self.n_similar = 0
        self._cosines = Moments()

    def feed(self, truths: Sequence[str], predicted: Sequence[Any]) -> None:
        """Add texts. Raises UsageError for sides of different length."""
        if len(truths) != len(predicted):
            raise UsageError(f"{len(truths)} truths and {len(predicted)} predictions")
        are_valid = [is_valid_text(text) for text in predicted]
        pairs = zip(truths, predicted, strict=True)
        self.add_comparisons(
            [is_exact_match(truth, text, self.rule) for truth, text in pairs], are_valid
        )
        if self.encode is not None:
            self.add_cosines(text_cosines(truths, predicted, self.encode))

    def add_comparisons(self, exact: Sequence[bool], valid: Sequence[bool]) -> None:
        """Add compared texts: which predictions are exact, and which are valid."""
        self.n += len(valid)
        self.n_exact += sum(map(bool, exact))
        self.invalid += len(valid) - sum(map(bool, valid))

    def add_cosines(self, found: Numbers) -> None:
        """Add cosines (N,) that were computed elsewhere."""
        self.n_similar += int(np.count_nonzero(found >= SIMILARITY_THRESHOLD))
        self._cosines.feed(found)

    def measures(self) -> dict[str, float]:
        """Return the measures; a share of nothing is nan. Similarities need cosines."""
        n_valid = self.n - self.invalid
        found = {
            "n": self.n,
            "invalid": self.invalid,
            "invalid_rate": self.invalid / self.n if self.n else nan,
            "exact": self.n_exact / self.n if self.n else nan,
            "exact_valid": self.n_exact / n_valid if n_valid else nan,
        }
        if self._cosines.n:
            found |= {
                "similarity": self._cosines.mean,
                "similarity_max": self._cosines.high,
                "similarity_min": self._cosines.low,
                "similarity_std": self._cosines.std,
                "similar": self.n_similar / self._cosines.n,
            }
        return {**found, **_reference_measures(found)} if self.rule == "reference" else found


def _reference_measures(found: dict[str, float]) -> dict[str, float]:
    named = {name: found[own] for name, own in _REFERENCE_NAMES.items() if own in found}
    named["invalid_percentage"] = 100 * found["invalid_rate"]
    if "similar" in found:
        named["high_similarity_percentage"] = 100 * found["similar"]
        named["high_similarity_threshold"] = SIMILARITY_THRESHOLD
    return named


def measure_texts(
    truths: Sequence[str],
    predicted: Sequence[Any],
    *,
    encode: Encoder | None = None,
    rule: GradingRule = "paper",
) -> dict[str, float]:
    """Score predicted texts, None for a missing one; `encode` adds similarities.

    Raises UsageError for sides of different length.
    """
    accumulator = TextAccumulator(rule, encode)
    accumulator.feed(truths, predicted)
    return accumulator.measures()
