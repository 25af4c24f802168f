"""The measures as the reference's calculators lay them out, for comparing with its result files.

Their rules (reading `reference`), names and units (invalid shares in per cent); the numbers are
those of `labels`. A single row gives nan where the reference stops.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.scoring import brier_errors, classification

_STAY = 28  # both stay: taken where a truth is no joint action
_JOINT, _ACTIONS = 36, 6
_ERRORS = {
    "total_dataset_amse": "total_mse", "total_dataset_amae": "total_mae", "num_timesteps": "n",
    "avg_dataset_amse": "mse", "avg_dataset_amae": "mae", "normalized_amse": "normalised_mse",
    "normalized_amae": "normalised_mae",
    "normalized_quantile_filtered_amae": "normalised_quantile_filtered_mae",
    "max_relative_mae": "max_rel_mae", "proportion_beyond_threshold_mae": "prop_beyond_3x_median",
}  # fmt: skip
_SHARED = (
    "macro_precision", "macro_recall", "macro_f1", "micro_precision", "micro_recall", "micro_f1"
)  # fmt: skip
_PLAYED = (
    "exact_match", *_SHARED[3:5], "micro_precision_without_invalid", "micro_f1",
    "micro_f1_without_invalid", *_SHARED[:3], "class_precisions", "class_recalls", "class_f1s",
)  # fmt: skip
Whole: TypeAlias = NDArray[np.int64]


def lay_out_classification(truth: Any, predicted: Any, n_classes: int) -> dict[str, Any]:
    """Lay out as the classification calculator: pictures of ODinW."""
    table = classification.tally_predictions(truth, predicted, n_classes, rule="reference")
    found = classification.classification_measures(table)
    return {
        **_counts(table),
        **{f"{name}_per_class": found[f"class_{name}s"] for name in ("precision", "recall", "f1")},
        **{name: found[name] for name in _SHARED},
        **{f"total_{name}": found[name] for name in ("tp", "fp", "fn")},
        **{name: found[name] for name in ("valid_fp", "invalid_fp")},
    }


def mcq(truth: Any, predicted: Any, n_choices: int) -> dict[str, Any]:
    """Lay out as the calculator of multiple choice: PIQA."""
    table = classification.tally_predictions(truth, predicted, n_choices, rule="reference")
    said = classification.class_measures(table).predicted.tolist()
    shown = {f"choice_{choice}_count": n for choice, n in enumerate(said)}
    return {**_counts(table), "num_choices": n_choices, "choice_distribution": shown}


def _counts(table: Whole) -> dict[str, Any]:
    rates = classification.exact_match_rates(table)
    return {
        "overall_accuracy": rates["emr"],
        "valid_accuracy": rates["emr_valid"] if rates["valid"] else 0.0,
        "total_samples": rates["n"],
        "valid_predictions": rates["valid"],
        "total_invalid_preds": rates["invalid"],
        "invalid_percentage": 100 * rates["invalid_rate"],
    }


def overcooked(
    truth: Any, predicted: Any, rule: brier_errors.ValidityRule = "strict"
) -> dict[str, Any]:
    """Lay out as the calculator of Overcooked; predictions are probabilities (N, 36).

    Each player's action is the likeliest by the sums of the joint probabilities, which need not be
    the player's part of the likeliest joint action.
    """
    truth = classification.parse_predictions(truth, "reference")
    known = np.where((truth >= 0) & (truth < _JOINT), truth, _STAY)
    table, valid = brier_errors.parse_table(predicted, _JOINT, rule)
    joint = brier_errors.score_table(known, table, valid)
    found = _played(truth, joint, _JOINT)
    for player, (own, part) in enumerate(
        zip(
            classification.split_joint_actions(known),
            brier_errors.player_marginals(table),
            strict=True,
        )
    ):
        found[f"player{player}_results"] = _played(
            own, brier_errors.score_table(own, part, valid), _ACTIONS
        )
    return found


def _played(truth: Whole, rows: brier_errors.TableErrors, n: int) -> dict[str, Any]:
    table = classification.tally_predictions(truth, rows.predicted_classes, n, rule="reference")
    errors = brier_errors.BrierAccumulator()
    errors.feed(rows)
    spread = errors.measures("reference")
    found = classification.classification_measures(table)
    rates = classification.exact_match_rates(table)
    return {
        **{name: spread[own] for name, own in _ERRORS.items()},
        **{name: found[name] for name in _PLAYED},
        "total_invalid_preds": rates["invalid"],
        "percentage_invalids": 100 * rates["invalid_rate"],
        "predicted_actions": rows.predicted_classes.tolist(),
        "ground_truth_actions": truth.tolist(),
    }
