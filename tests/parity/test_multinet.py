"""MultiNet's measures against the reference: its values, and what was published of its runs.

The blocks `expected` belong to the reading `reference`, `paper_definition` to `paper`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from tests import published_data
from tests.parity import calculators

from toolmark.scoring import (
    action_errors,
    brier_errors,
    classification,
    conversation_matching,
    error_statistics,
    text_similarity,
)

ENDLESS = {"nan": nan, "inf": inf, "-inf": -inf}
OUR_NAMES = {"n_kept": "n_inside"}  # what the vectors call a number, and what we call it
SPELT = {"None": None, "True (bool, accepted as 1)": True, "np.int64(2)": np.int64(2), "[0]": [0]}


@pytest.fixture(scope="module")
def vectors() -> Any:
    return published_data.read_json(published_data.MULTINET_METRICS)


@pytest.fixture(scope="module")
def records() -> Any:
    return published_data.read_json(published_data.MULTINET_PREDICTIONS)


def meet(found: Any, wanted: Any, where: str, tolerance: float = 1e-9) -> None:
    """Compare all that is wanted, at all levels."""
    match wanted:
        case dict():
            for name, value in wanted.items():
                meet(found[OUR_NAMES.get(name, name)], value, f"{where}.{name}", tolerance)
        case list():
            assert list(found) == wanted, where
        case _:
            value = ENDLESS.get(wanted, wanted) if isinstance(wanted, str) else wanted
            assert found == pytest.approx(value, abs=tolerance, rel=1e-9, nan_ok=True), where


def value(spelt: str) -> Any:
    """Return the value that the file of vectors spells."""
    if spelt in SPELT:
        return SPELT[spelt]
    if spelt.endswith("(str)"):
        return spelt.split("'")[1]
    return float(spelt.split()[0]) if spelt.endswith("(float)") else int(spelt)


# --- values of its functions ------------------------------------------------------------


def test_classes(vectors: Any) -> None:
    assert len(vectors["discrete"]) == 8
    for case in vectors["discrete"]:
        given = case["true"], case["pred"], case["num_classes"]
        for made in (given, (np.array(given[0]), np.array(given[1], dtype=float), given[2])):
            found = classification.measure_labels(*made)
            assert found.keys() == case["expected"].keys()
            assert found["class_f1s"].keys() == case["expected"]["class_f1s"].keys()
            meet(found, case["expected"], case["name"])
            assert classification.measure_labels(*made, rule="reference") == found
        table = classification.clip_tally(classification.tally_predictions(*given))
        meet(classification.classification_measures(table), case["expected_clipped"], case["name"])


def test_calculators_of_classes_and_choices(vectors: Any) -> None:
    case = vectors["classification_calculator"]
    given = [value(spelt) for spelt in case["extracted_outputs"]]
    found = calculators.lay_out_classification(case["true"], given, case["num_classes"])
    assert found.keys() == case["expected"].keys()
    meet(found, case["expected"], "classification")
    case = vectors["mcq_calculator"]
    given = [value(spelt) for spelt in case["extracted_outputs"]]
    found = calculators.mcq(case["true"], given, case["expected"]["num_choices"])
    assert found.keys() == case["expected"].keys()
    meet(found, case["expected"], "mcq")


def test_calculator_of_overcooked(vectors: Any) -> None:
    assert len(vectors["overcooked"]) == 2
    for case in vectors["overcooked"]:
        found = calculators.overcooked(case["true"], case["probs"])
        assert found.keys() == case["expected"].keys()
        meet(found, case["expected"], case["name"])


def test_one_row_of_probabilities(vectors: Any) -> None:
    case = vectors["brier_single"]
    wanted = {"mae": case["mae"], "mse": case["mse"]}
    meet(
        classification.measure_probabilities(case["label"], case["p"], len(case["p"])),
        wanted,
        "array",
    )
    row = brier_errors.score_row(
        case["label"], brier_errors.parse_distribution(case["p"], len(case["p"]))
    )
    meet({"mae": row.brier, "mse": row.brier_sq}, wanted, "row")
    assert 2 * (1 - row.truth_probability) == pytest.approx(case["identity_mae"], abs=1e-9)


def test_vectors_of_actions(vectors: Any) -> None:
    assert len(vectors["continuous"]) == 5
    for case in vectors["continuous"]:
        # what is no number in the file is text there: "nan", "inf", and the text "0.1" as such
        given = [
            row and [ENDLESS.get(x, x) if isinstance(x, str) else x for x in row]
            for row in case["pred"]
        ]
        stats = case["stats"]
        collected = {"baseline": stats["mean"], "low": stats["min"], "high": stats["max"]}
        paper = action_errors.measure_actions(case["true"], given, **collected)
        meet(paper, case["paper_definition"], case["name"])
        reference = action_errors.measure_actions(
            case["true"], given, **collected, rule="reference"
        )
        meet(reference, case["expected"], case["name"])


def test_outliers(vectors: Any) -> None:
    case = vectors["outlier_helpers"]
    errors = np.array(case["values"])
    paper, reference = (
        error_statistics.error_quantiles(errors, reading)
        for reading in error_statistics.GRADING_RULES
    )
    moments = error_statistics.Moments()
    moments.feed(errors)
    found = {
        "quantile_filter_default_kept": reference.n_inside,
        "quantile_filter_default_sum": reference.total,
        "quantile_filter_5_kept": paper.n_inside,
        "quantile_filter_5_sum": paper.total,
        "max_relative_mae": reference.max_relative,
        "prop_beyond_3x_median": reference.outlier_share,
        "mean_min_max_normalised": moments.normalised,
        "mean_min_max_normalised_q_default": reference.normalised,
        "mean_min_max_normalised_q5": paper.normalised,
    }
    assert found.keys() == case.keys() - {"values"}
    meet(found, {name: case[name] for name in found}, "outliers")


def test_conversations(vectors: Any) -> None:
    case = vectors["bfcl"]
    sides = [[row[side] for row in case["conversations"]] for side in ("true", "pred")]
    found = conversation_matching.measure_conversations(*sides, rule="reference")
    assert found.keys() == case["expected"].keys()
    meet(found, case["expected"], "bfcl")


def test_texts(vectors: Any) -> None:
    case = vectors["vqa"]
    found = text_similarity.measure_texts(case["true"], case["pred"], rule="reference")
    meet(found, case["expected"], "vqa")
    assert [text_similarity.normalise_text(text) for text in case["true"]] == case[
        "normalised_true"
    ]
    for text, plain in case["normalise_cases"].items():
        assert text_similarity.normalise_text(text) == plain


# --- what was published -----------------------------------------------------------------

SHARED_NAMES = {
    "recall": "micro_recall", "precision": "micro_precision", "f1": "micro_f1",
    "macro_precision": "macro_precision", "macro_recall": "macro_recall", "macro_f1": "macro_f1",
    "class_precisions": "class_precisions", "class_recalls": "class_recalls",
    "class_f1s": "class_f1s", "total_invalids": "invalid_fp",
}  # fmt: skip
# the same two measures are named in one way for Overcooked, in another for pictures
OVERCOOKED = {
    **SHARED_NAMES, "exact_match": "exact_match", "num_timesteps": "n",
    "precision_without_invalid": "micro_precision_without_invalid",
    "f1_without_invalid": "micro_f1_without_invalid",
}  # fmt: skip
PICTURES = {
    **SHARED_NAMES, "exact_match_rate": "exact_match", "exact_match_rate_without_invalids":
    "emr_valid", "precision_without_invalids": "micro_precision_without_invalid",
    "f1_without_invalids": "micro_f1_without_invalid", "total_invalid_preds": "invalid",
}  # fmt: skip
PI0 = {
    "total_timesteps": "n", "exact_match_rate": "exact_match", "joint_accuracy": "exact_match",
    **{name: name for name in ("micro_precision", "micro_recall", "micro_f1", "macro_precision",
                               "macro_recall", "macro_f1")},
    "avg_micro_precision_without_invalids": "micro_precision_without_invalid",
    "avg_micro_f1_without_invalids": "micro_f1_without_invalid",
}  # fmt: skip


def published(
    truth: Any, predicted: Any, n: int, record: Mapping[str, Any], names: Mapping[str, str]
) -> Any:
    """Meet what a record tells under these names; return the tally."""
    table = classification.tally_predictions(truth, predicted, n)
    found = {
        **classification.classification_measures(table),
        **classification.exact_match_rates(table),
    }
    reported = {name: record[name] for name in names}
    meet({name: found[own] for name, own in names.items()}, reported, "record")
    for name in ("percentage_invalids", "invalid_predictions_percentage"):
        meet(100 * found["invalid_rate"], record.get(name, 100 * found["invalid_rate"]), name)
    return table


def test_published_overcooked_of_probabilities(records: Any) -> None:
    whole = records["overcooked"]
    truth = np.array(whole["true"])
    published(truth, np.array(whole["gpt5_pred"]), 36, whole["gpt5_expected"], OVERCOOKED)
    for own, player in zip(
        classification.split_joint_actions(truth), ("player0", "player1"), strict=True
    ):
        record = whole[f"gpt5_{player}"]
        published(own, np.array(record["preds"]), 6, record, OVERCOOKED)


def test_published_overcooked_of_numbers(records: Any) -> None:
    """Numbers out of range are left as they were said, so that they can be clipped."""
    whole = records["overcooked"]
    truth = np.array(whole["true"])
    made = np.array(whole["pi0_pred"])
    record = whole["pi0_expected"]
    table = published(truth, made, 36, record, PI0)
    found = classification.classification_measures(classification.clip_tally(table))
    meet(found["exact_match"], record["avg_clipped_emr"], "clipped")
    for name in ("micro_precision", "micro_recall", "micro_f1"):
        meet(found[name], record[f"avg_clipped_{name}"], name)
    pairs = zip(
        classification.split_joint_actions(truth),
        classification.split_joint_actions(made),
        strict=True,
    )
    for player, (one, other) in enumerate(pairs):
        right = classification.measure_labels(one, other, 6)["exact_match"]
        meet(right, record[f"player{player}_accuracy"], f"player {player}")


def test_published_choices_name_the_two_rates_the_other_way_round(records: Any) -> None:
    record = records["piqa_gpt5"]
    names = {
        "exact_match_rate": "emr_valid", "exact_match_rate_with_invalids": "emr",
        "total_predictions": "n", "valid_predictions": "valid", "invalid_predictions": "invalid",
    }  # fmt: skip
    published(record["gt_labels"], record["preds"], 2, record, names)


def test_published_pictures(records: Any) -> None:
    assert len(records["odinw_gpt5"]) == 12
    for record in records["odinw_gpt5"].values():
        n = len(record["class_f1s"])
        published(record["gt_actions"], record["preds"], n, record, PICTURES)
