"""Alignment, classification, probabilities, vectors, texts and turns on seeded inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from tests.golden.plain import plain, tried

from toolmark.core import seeds
from toolmark.core.records import Tool
from toolmark.scoring import (
    action_errors,
    alignment,
    brier_errors,
    call_assignment,
    call_similarity,
    classification,
    conversation_matching,
    error_statistics,
    step_structure,
    text_similarity,
)

RULES: tuple[alignment.GradingRule, ...] = get_args(alignment.GradingRule)
READINGS: tuple[error_statistics.GradingRule, ...] = error_statistics.GRADING_RULES


# machines add numbers up in other orders, and differ in the last bits of float32
TOLERANCE = {"alike": 1e-6, "similarity": 1e-6}


def record(folder: Path) -> dict[str, Any]:
    """Return what each function makes of its inputs."""
    found = {
        "alike": _alike(),
        "trajectories": dict(_trajectories()),
        "trajectories drawn": dict(_drawn()),
        "aggregate": _aggregate(),
        "assign": _assign(),
        "structure": _structure(),
        "spread": _spread(),
        "labels": dict(_labels()),
        "brier": dict(_brier()),
        "control": dict(_control()),
        "similarity": _similarity(),
        "turns": _turns(),
    }
    return {
        name: {"$tolerance": {"**": TOLERANCE.get(name, 1e-9)}, **each}
        for name, each in found.items()
    }


# --- how alike calls are ----------------------------------------------------------------


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": ["a", "list"]}


TOOLS = (
    Tool(name="f", parameters=_schema(
        a={"type": "integer", "default": 1}, list={"type": "array"}, deep={
            "type": "object", "default": {}, "properties": {"x": {"default": 2.0}, "y": {}}},
        rows={"type": "array", "items": {"type": "object", "properties": {"k": {"default": 0}}}},
        box={"type": "array", "minItems": 4, "maxItems": 4}, tuple={"prefixItems": [{}]},
        pair={"items": [{}, {}]}, ranged={"minItems": 1, "maxItems": 2},
        ref={"$ref": "#/$defs/thing"}, lost={"$ref": "#/nowhere"}, loop={"$ref": "#"},
        odd="no schema", tilde={"$ref": "#/$defs/a~1b~0c"},
    ) | {"$defs": {"thing": {"properties": {"n": {"default": "d"}}},
                   "a/b~c": {"properties": {"t": {"default": []}}}}}),
    Tool(name="bare"), Tool(name="x", parameters=_schema(a={"default": 5})),
)  # fmt: skip
CALLS: tuple[dict[str, Any], ...] = (
    {}, {"name": "f"}, {"name": " f ", "arguments": None}, {"name": "f", "arguments": {}},
    {"name": "f", "arguments": {"a": 1}}, {"name": "f", "arguments": {"a": 1.0}},
    {"name": "f", "arguments": '{"a": 1}'}, {"name": "f", "arguments": "{a"},
    {"name": "f", "arguments": {"list": [3, 1, 2], "a": 2}}, {"name": "f", "arguments": [1, 2]},
    {"name": "f", "arguments": {"a": 1, "list": ["b", "a", {"z": [2, 1]}], "x": 1}},
    {"name": "f", "arguments": {"list": [[2, 1], [1]], "box": [4, 3, 2, 1], "pair": [2, 1]}},
    {"name": "f", "arguments": {"tuple": [2, 1], "ranged": [2, 1], "rows": [{}, {"k": 5.0}]}},
    {"name": "f", "arguments": {"deep": {"y": [2, 1]}, "ref": {}, "lost": {}, "odd": {"q": 1}}},
    {"name": "f", "arguments": {"loop": {"a": 2.5}, "tilde": {}, "deep": None}},
    {"name": "bare", "arguments": {"b": 1, "a": [2, 1.0]}}, {"name": None, "arguments": "x"},
    {"name": "other", "arguments": {"b": {"z": 1, "a": [3, 2]}, "é": "ü"}},
    {"name": "other", "arguments": 5}, {"name": "other", "arguments": True},
)  # fmt: skip


def _alike() -> dict[str, Any]:
    exact = call_similarity.exact_similarity(TOOLS)
    papers = {
        "tools": call_similarity.paper_text_writer(TOOLS),
        "none": call_similarity.paper_text_writer(),
    }
    found: dict[str, Any] = {}
    for number, call in enumerate(CALLS):
        found[f"{number} {call}"] = {
            "text": call_similarity.arguments_text(call.get("arguments")),
            "exact": exact.canonical_text(call),
            "exact without schemas": call_similarity.exact_similarity().canonical_text(call),
            **{f"paper {name}": write(call) for name, write in papers.items()},
        }
    found["texts of a step"] = list(call_similarity.step_call_texts({"calls": list(CALLS)}, TOOLS))
    found["texts of none"] = [
        list(call_similarity.step_call_texts({})),
        list(call_similarity.step_call_texts({"calls": None})),
    ]
    found["equal"] = plain(exact(["a", "b", "a"], ["b", "a", "c"]))
    rng = seeds.make_rng(15, "rows", 0, "cosine")
    rows = np.array([[rng.random() - 0.5 for _ in range(5)] for _ in range(4)] + [[0.0] * 5])
    return found | {"cosine": plain(call_similarity.cosine_matrix(rows, rows[:3]))}


# --- trajectories -----------------------------------------------------------------------


def _steps(*words: str) -> list[dict[str, Any]]:
    """Return steps: a letter is a call of that tool, a digit behind it its argument."""
    made = []
    for word in words:
        calls = [word[at : at + 2] for at in range(0, len(word), 2)]
        made.append({"calls": [{"name": c[0], "arguments": {"i": int(c[1])}} for c in calls]})
    return made


CHOSEN: dict[str, tuple[Any, Any]] = {
    "both empty": ([], []), "no prediction": (_steps("a1"), None), "neither": ([], None),
    "no truth": ([], _steps("a1")), "nothing made": (_steps("a1", "b1"), []),
    "empty steps": ([{}, {"calls": None}], [{"calls": []}]), "one": (_steps("a1"), _steps("a1")),
    "other tool": (_steps("a1"), _steps("b1")), "swapped": (_steps("a1", "b1"), _steps("b1", "a1")),
    "spread": (_steps("a1b1c1"), _steps("a1", "b1", "c1")),
    "merged": (_steps("a1", "b1", "c1"), _steps("a1b1c1")),
    "ties": (_steps("a1", "a1", "b1"), _steps("a1", "b1", "a1")),
    "ties of one step": (_steps("a1a1", "b1a1"), _steps("b1", "a1", "a1a1")),
    "more": (_steps("a1a2", "b1"), _steps("a2", "a1b1b2", "c1")),
    "same step": (_steps("a1b1"), _steps("b1a1")), "blank name": (_steps(" 1"), _steps(" 1")),
}  # fmt: skip
WRONG: dict[str, dict[str, Any]] = {
    "rule": {"rule": "fare"}, "weak": {"weak": nan}, "strong": {"strong": inf},
    "failed": {"failed": [5]}, "failed text": {"failed": ["x"]}, "below": {"failed": [-1]},
    "shape": {"similarity": [[1.0, 1.0]]}, "text": {"similarity": [["x"]]},
    "nan": {"similarity": [[nan]]}, "weak text": {"weak": "x"},
    "truth": {"truth_steps": 5}, "step": {"truth_steps": [5]},
    "calls": {"truth_steps": [{"calls": 5}]},
    "call": {"truth_steps": [{"calls": [5]}]},
    "made": {"predicted_steps": [{"calls": [{"name": "a", "arguments": {1: {2, 3}, None: 1}}]}]},
}  # fmt: skip


def _trajectories() -> Iterator[tuple[str, Any]]:
    for name, (truth, made) in CHOSEN.items():
        for rule in RULES:
            yield (
                f"{name} | {rule}",
                tried(
                    alignment.align_trajectory,
                    truth,
                    made,
                    alignment.exact_similarity(),
                    rule=rule,
                ),
            )
    for name, given in WRONG.items():
        whole = {"truth_steps": _steps("a1"), "predicted_steps": _steps("a1"),
                 "similarity": alignment.exact_similarity()} | given  # fmt: skip
        yield f"wrong {name}", tried(alignment.align_trajectory, **whole)
    truth, made = _steps("a1a2"), _steps("a1", "a2b1")
    for rule in RULES:
        for failed in ((), (0,), (0, 1), [2], {0, 1, 2}):
            found = alignment.align_trajectory(
                truth, made, alignment.exact_similarity(), rule=rule, failed=failed
            )
            yield f"failed {failed} | {rule}", plain(found)
        encode = _Noting()
        calls = [{"calls": [dict(call) for call in CALLS if call.get("name") == "f"][:6]}]
        plainly = alignment.align_trajectory(calls, calls, encode, rule=rule, tools=TOOLS)
        yield f"asked of an encoder | {rule}", {"texts": encode.asked, "found": plain(plainly)}


class _Noting:
    """A similarity that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __call__(self, one: Sequence[str], other: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append([list(one), list(other)])
        return np.equal.outer(one, other).astype(np.float32)


def _drawn() -> Iterator[tuple[str, Any]]:
    for number in range(160):
        rng = seeds.make_rng(15, str(number), 0, "trajectory")
        truth, made, table = _case(rng)
        weak = seeds.draw_one(rng, (0.6, 0.6, 0.6, 0.5, 0.0, -1.0, 0.75))
        strong = seeds.draw_one(rng, (0.8, 0.8, 0.75, 0.9))
        n_made = sum(len(step["calls"]) for step in made)
        failed = [at for at in range(n_made) if seeds.draw_below(rng, 8) == 0]
        for rule in RULES:
            found = tried(
                alignment.align_trajectory,
                truth,
                made,
                table,
                weak=weak,
                strong=strong,
                rule=rule,
                failed=failed,
            )
            yield f"{number} {rule}, weak {weak}, strong {strong}, failed {failed}", found


def _case(rng: Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], NDArray[np.float32]]:
    """Return two trajectories of few tools; similarities are eighths, so that many are equal."""
    truth, made = (
        _steps(*("".join(f"{seeds.draw_one(rng, 'aabc')}1" for _ in range(seeds.draw_below(rng, 4)))
                 for _ in range(seeds.draw_between(rng, 1, 5))))
        for _ in range(2)
    )  # fmt: skip
    rows, columns = (sum(len(step["calls"]) for step in side) for side in (truth, made))
    eighths = [[seeds.draw_between(rng, 3, 8) / 8 for _ in range(columns)] for _ in range(rows)]
    table = np.array(eighths, dtype=np.float32).reshape(rows, columns)
    if seeds.draw_below(rng, 5) == 0:
        table = -table
    return truth, made, table


def _aggregate() -> dict[str, Any]:
    samples = []
    for number in range(12):
        truth, made, table = _case(seeds.make_rng(15, str(number), 0, "sample"))
        given = None if number % 5 == 4 else made
        for rule in RULES:
            samples.append((rule, alignment.align_trajectory(truth, given, table, rule=rule)))
    found: dict[str, Any] = {
        rule: plain(
            alignment.aggregate_alignments([each for name, each in samples if name == rule])
        )
        for rule in RULES
    }
    found["none"] = plain(alignment.aggregate_alignments([]))
    bare = [{key: x for key, x in each.items() if key not in ("rounds", "counted")}
            for _, each in samples[:4]]  # fmt: skip
    found["without rounds"] = plain(alignment.aggregate_alignments(bare))
    found["means"] = [
        [
            alignment.mean_of_seven_measures(each, 0.5),
            alignment.mean_of_eight_measures(each, 0.25, 1.0),
        ]
        for _, each in samples[:6]
    ]
    return found


def _assign() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number in range(40):
        rng = seeds.make_rng(15, str(number), 0, "assign")
        truth, made, table = _case(rng)
        names = [[c["name"] for step in side for c in step["calls"]] for side in (truth, made)]
        places = [
            np.array([at for at, step in enumerate(side) for _ in step["calls"]], dtype=np.intp)
            for side in (truth, made)
        ]
        barred = [at for at in range(len(names[1])) if seeds.draw_below(rng, 6) == 0]
        cells = call_assignment.candidate_cells(names[0], names[1], table, barred)
        steps = call_assignment.CallSteps(places[0], places[1], len(truth), len(made))
        dislike = np.array([seeds.draw_below(rng, 5) for _ in cells.similarity], dtype=np.float64)
        reported = {
            "cells": plain(cells),
            "plain": plain(call_assignment.reference_assignment(cells, 0.6)),
        }
        if len(cells.similarity):
            reported["tied"] = plain(call_assignment.tie_breaking_assignment(cells, 0.6, dislike))
            reported["tied, wide"] = plain(
                call_assignment.tie_breaking_assignment(cells, 0.6, dislike * 2.0**48)
            )
            reported["taken"] = plain(
                call_assignment.build_matches(
                    cells, call_assignment.reference_assignment(cells, 0.6), steps
                )
            )
            reported["structured"] = plain(call_assignment.structural_assignment(cells, 0.6, steps))
        found[f"{number} {''.join(names[0])} {''.join(names[1])} {barred}"] = reported
    return found


def _structure() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number in range(40):
        rng = seeds.make_rng(15, str(number), 0, "structure")
        n_truth, n_made, k = (seeds.draw_between(rng, *ends) for ends in ((1, 4), (1, 5), (0, 7)))
        g = np.array(sorted(seeds.draw_below(rng, n_truth) for _ in range(k)), dtype=np.intp)
        p = np.array([seeds.draw_below(rng, n_made) for _ in range(k)], dtype=np.intp)
        mass = np.array(
            [seeds.draw_between(rng, -1 if number % 4 == 0 else 5, 8) / 8 for _ in range(k)]
        )
        places = np.arange(k, dtype=np.intp)
        joint = step_structure.StepContingency(
            step_structure.Matches(places, places, g, p, mass), n_truth, n_made
        )
        found[f"{number} {g.tolist()} {p.tolist()} {mass.tolist()}"] = {
            "coherence": joint.coherence(), "purity": joint.purity(), "order": joint.order(),
            "primary": joint.primary_steps(), "spread": plain(joint.spread),
        }  # fmt: skip
    lists: tuple[list[int], ...] = (
        [],
        [1],
        [1, 1],
        [2, 1],
        [3, 2, 1, 1, 2, 3],
        [1, 2, 3],
        [5, 1, 4, 1, 5, 9, 2, 6],
    )
    return found | {f"inversions {each}": step_structure.count_inversions(each) for each in lists}


# --- how errors are spread --------------------------------------------------------------

ROWS: dict[str, list[float]] = {
    "none": [],
    "one": [0.5],
    "zero": [0.0],
    "zeros": [0.0] * 5,
    "alike": [0.25] * 8,
    "median 0": [0.0, 0.0, 0.0, 1.0, 2.0],
    "two": [1.0, 3.0],
    "three medians": [1.0, 1.0, 3.0],
    "beyond": [1.0, 1.0, 3.0000001, 9.0],
    "nan": [1.0, nan, 2.0],
    "infinite": [1.0, inf],
    "largest": [error_statistics.LARGEST_ERROR, error_statistics.LARGEST_ERROR, 1.0],
    "signed": [-2.0, -1.0, 4.0],
}


def _rows() -> dict[str, list[float]]:
    rng = seeds.make_rng(15, "rows", 0, "spread")
    return ROWS | {
        "hundred": [rng.random() ** 3 * 10 for _ in range(100)],
        "twenty one": [float(at) for at in range(21)],
        "thousands": [rng.random() for _ in range(2500)],
    }


def _spread() -> dict[str, Any]:
    found: dict[str, Any] = {
        "ratio": {
            f"{x}/{y}": plain(error_statistics.safe_ratio(x, y))
            for x in (0.0, 1.0, -1.0, 1e308, nan, inf)
            for y in (0.0, 2.0, 1e-308, nan, inf)
        },
        "check": [
            tried(error_statistics.check_rule, name) for name in ("paper", "reference", "papers")
        ],
        "floats": {
            repr(each): plain(error_statistics.parse_floats(each, 2))
            for each in (
                [1, 2.5],
                (1, 2),
                [1],
                [1, 2, 3],
                [True, 1],
                ["1", 2],
                [1, None],
                "12",
                [10**400, 1],
                np.array([1.0, 2.0]),
                np.array(5.0),
                np.array([[1.0], [2.0]]),
                [nan, inf],
                None,
                [np.float32(0.5), np.int64(3)],
            )
        },
        "constants": plain(
            [
                error_statistics.FILTER_PERCENTILES,
                error_statistics.OUTLIER_MEDIANS,
                error_statistics.LARGEST_ERROR,
            ]
        ),
    }
    for name, values in _rows().items():
        errors = np.array(values)
        base = np.arange(1.0, len(values) + 1)
        reported: dict[str, Any] = {}
        for rule in READINGS:
            reported[f"outliers {rule}"] = plain(error_statistics.error_quantiles(errors, rule))
            reported[f"outliers {rule}, base"] = plain(
                error_statistics.error_quantiles(errors, rule, base)
            )
        whole, parts = error_statistics.Moments(), error_statistics.Moments()
        whole.feed(errors)
        for start in range(0, len(errors), 3):
            parts.feed(errors[start : start + 3])
        for kind, each in (("moments", whole), ("moments in parts", parts)):
            reported[kind] = plain(
                [each.n, each.total, each.low, each.high, each.mean, each.std, each.normalised]
            )
        rack = error_statistics.NumberBuffer()
        rack.feed(values[:2])
        rack.feed(errors[2:])
        reported["shelf"] = [len(rack), plain(rack.view()[:5])]
        found[name] = reported
    return found


# --- classes ----------------------------------------------------------------------------


def _labels() -> Iterator[tuple[str, Any]]:
    odd: tuple[Any, ...] = (0, 1, -1, True, False, None, 1.0, 1.5, "1", nan, 10**30, -(10**30),
                            np.int64(2), np.float64(1.0), np.bool_(True))  # fmt: skip
    for rule in READINGS:
        yield (
            f"said | {rule}",
            {repr(x): plain(classification.parse_prediction(x, rule)) for x in odd},
        )
        yield f"whole | {rule}", plain(classification.parse_predictions(list(odd), rule))
        for dtype in ("int8", "int64", "uint64", "bool", "float64", "object", "str"):
            values = np.array([0, 1, 1, 0], dtype=dtype)
            yield f"whole {dtype} | {rule}", plain(classification.parse_predictions(values, rule))
        floats = np.array([0.0, 1.0, 1.5, nan, inf, -2.0, 1e30])
        yield f"whole floats | {rule}", plain(classification.parse_predictions(floats, rule))
        yield f"whole of one | {rule}", plain(classification.parse_predictions(np.array(3), rule))
        yield (
            f"whole far | {rule}",
            plain(classification.parse_predictions(np.array([2**63], dtype=np.uint64), rule)),
        )
        joint = [0, 5, 6, 35, 36, -1, None, 7]
        yield f"players | {rule}", plain(classification.split_joint_actions(joint, rule=rule))
        yield f"players of 3 | {rule}", plain(classification.split_joint_actions(joint, 3, rule))
    cases: dict[str, tuple[Any, Any, int]] = {
        "none": ([], [], 3), "one": ([1], [1], 3), "single class": ([0, 0], [0, 1], 1),
        "no classes": ([0], [0], 0), "lengths": ([0, 1], [0], 2), "square": ([[0]], [[0]], 2),
        "outside": ([0, 3, -1, 1], [0, 3, -1, 5], 3), "no truth": ([None, 1], [1, 1], 2),
        "outside missed": ([5, -5, 9], [4, -5, None], 3),
        "array": (np.array([0, 2]), np.array([0.0, nan]), 3),
        "all invalid": ([0, 1, 2], [None, -1, 7], 3), "fractions": ([0, 1.5], [0, 1], 2),
    }  # fmt: skip
    for number, n in enumerate((2, 3, 5, 36)):
        rng = seeds.make_rng(15, str(number), 0, "labels")
        truth = [seeds.draw_below(rng, n) for _ in range(60)]
        said = [
            true
            if seeds.draw_below(rng, 2)
            else seeds.draw_one(rng, (0, n - 1, n, -1, None, true, 1, True))
            for true in truth
        ]
        cases[f"drawn {n}"] = truth, said, n
        cases[f"drawn {n} outside"] = [*truth, n, n + 1, -1], [*said, n, 0, -1], n
    for name, (truth, made, n) in cases.items():
        for rule in READINGS:
            yield (
                f"{name} | {rule}",
                tried(_tallied, truth, made, n, rule),
            )
    yield "classify", plain(classification.measure_labels([0, 1, 1], [0, 1, None], 2))
    yield "rule", tried(classification.measure_labels, [0], [0], 2, rule="papers")


def _tallied(truth: Any, made: Any, n: int, rule: error_statistics.GradingRule) -> dict[str, Any]:
    table = classification.tally_predictions(truth, made, n, rule=rule)
    return {
        "table": table if len(table) < 7 else int(table.sum()),
        "measures": classification.classification_measures(table),
        "rates": classification.exact_match_rates(table),
        "classes": classification.class_measures(table),
        "clipped": classification.exact_match_rates(classification.clip_tally(table)),
        "confusion": classification.confusion_matrix(table) if len(table) < 7 else None,
    }


# --- probabilities ----------------------------------------------------------------------

DISTRIBUTIONS: tuple[Any, ...] = (
    [0.2, 0.3, 0.5], (0.2, 0.3, 0.5), [1.0, 0.0, 0.0], [0, 1, 0], [0.5, 0.5, 0.5], [0.5, 0.5],
    [1.5, -0.5, 0.0], [nan, 0.5, 0.5], [inf, 0, 0], [1.0, 0.0, 1e-5], [1.0, 0.0, 1.1e-5],
    [1.0, 0.0, 0.9e-5], [True, False, False], ["1", 0, 0], None, "text", [0.4, 0.4, 0.2],
    np.array([0.1, 0.1, 0.8]), [1 / 3, 1 / 3, 1 / 3], [0.99999, 0.0, 0.0], [-1e-9, 0.5, 0.5 + 1e-9],
)  # fmt: skip


def _brier() -> Iterator[tuple[str, Any]]:
    rules: tuple[brier_errors.ValidityRule, ...] = get_args(brier_errors.ValidityRule)
    for rule in rules:
        for each in DISTRIBUTIONS:
            collected = brier_errors.parse_distribution(each, 3, rule)
            yield (
                f"{each!r} | {rule}",
                plain([collected, [brier_errors.score_row(t, collected) for t in range(3)]]),
            )
        truth = [at % 3 for at in range(len(DISTRIBUTIONS))]
        yield f"rows | {rule}", plain(brier_errors.score_rows(truth, list(DISTRIBUTIONS), 3, rule))
        yield f"one row | {rule}", plain(brier_errors.score_rows(1, [0.2, 0.3, 0.5], 3, rule))
        yield f"no rows | {rule}", plain(brier_errors.score_rows([], [], 3, rule))
        for reading in READINGS:
            yield (
                f"errors | {rule} {reading}",
                plain(
                    brier_errors.measure_probabilities(
                        truth, list(DISTRIBUTIONS), 3, validity=rule, rule=reading
                    )
                ),
            )
    rng = seeds.make_rng(15, "tables", 0, "brier")
    drawn = np.array([[rng.random() for _ in range(4)] for _ in range(50)])
    drawn /= drawn.sum(axis=1, keepdims=True)
    drawn[7] *= 2
    drawn[9, 1] = -drawn[9, 1]
    drawn[11, 2] = nan
    truth = [seeds.draw_below(rng, 4) for _ in range(50)]
    arrays: dict[str, Any] = {
        "drawn": drawn, "valid": drawn[20:], "wide": np.ones((50, 5)) / 5,
        "text": drawn.astype(str),
        "flat": drawn[0], "whole": np.eye(4, dtype=int)[truth], "objects": drawn.astype(object),
    }  # fmt: skip
    for name, table in arrays.items():
        for rule in rules:
            yield (
                f"table {name} | {rule}",
                tried(
                    brier_errors.measure_probabilities, truth[: len(table)], table, 4, validity=rule
                ),
            )
    wrongs = {"range": [0, 4], "below": [-1, 0], "floats": [0.0, 1.0], "lengths": [0]}
    for name, wrong in wrongs.items():
        yield f"truth {name}", tried(brier_errors.score_rows, wrong, drawn[:2], 4)
    yield (
        "defaults",
        plain(
            brier_errors.measure_probabilities(
                [0, 1, 2], [[0.2, 0.5, 0.4], [0.0, 1.0, 0.0], None], 3
            )
        ),
    )
    yield "none", plain(brier_errors.BrierAccumulator().measures())
    square = np.arange(9.0).reshape(1, 9)
    yield "marginals", plain(brier_errors.player_marginals(square, 3))
    joint = np.arange(72.0).reshape(2, 36)
    yield "marginals of 6", plain(brier_errors.player_marginals(joint))


# --- vectors ----------------------------------------------------------------------------


def _control() -> Iterator[tuple[str, Any]]:
    for each in ([1, 2.0], [1], [nan, 1], [inf, 1], None, "12", (True, 0), np.array([0.5, 1.0])):
        yield f"vector {each!r}", plain(action_errors.parse_vector(each, 2))
    extra: dict[str, dict[str, Any]] = {
        "bare": {}, "baseline": {"baseline": (0.5, 0.5, 0.5)},
        "range": {"low": (-1.0, -1.0, 0.0), "high": (1.0, 2.0, 1.0)},
    }  # fmt: skip
    extra["both"] = extra["baseline"] | extra["range"]
    yield "row by default", plain(action_errors.score_row((0.25, 1.0, -2.0), (0.5, -1.0, 2.0)))
    yield "row by default, invalid", tried(action_errors.score_row, (0.25, 1.0, -2.0), None)
    for name, given in extra.items():
        for reading in READINGS:
            for made in ((0.5, -1.0, 2.0), None):
                for part in (None, (1, 3)):
                    yield (
                        f"row {name} {reading} {made} {part}",
                        tried(
                            action_errors.score_row,
                            (0.25, 1.0, -2.0),
                            made,
                            rule=reading,
                            part=part,
                            **given,
                        ),
                    )
            for case, (truth, predicted) in _vectors().items():
                slices = {"first": (0, 1), "rest": (1, 3)}
                yield (
                    f"errors {case} {name} {reading}",
                    tried(action_errors.measure_actions, truth, predicted, rule=reading,
                           slices=slices, **given),
                )  # fmt: skip
    yield from _streams()


def _vectors() -> dict[str, tuple[Any, Any]]:
    rng = seeds.make_rng(15, "vectors", 0, "control")
    truth = np.array([[rng.random() * 2 - 1 for _ in range(3)] for _ in range(30)])
    made = truth + np.array([[rng.random() ** 4 for _ in range(3)] for _ in range(30)])
    made[3], made[4] = truth[3], truth[4]
    holes = made.copy()
    holes[5, 1], holes[6, 0] = nan, inf
    rows: list[Any] = made.tolist()
    rows[0], rows[1], rows[2] = None, [1.0, 2.0], "text"
    far = made.copy()
    far[0] = 1.7e308
    return {
        "drawn": (truth, made), "holes": (truth, holes), "rows": (truth.tolist(), rows),
        "right": (truth[:2], truth[:2]), "one": (truth[:1], made[:1]), "far": (truth, far),
        "none": (np.zeros((0, 3)), np.zeros((0, 3))), "whole": ([[1, 2, 3]], np.array([[1, 2, 5]])),
        "text": (truth, made.astype(str)), "narrow": (truth, made[:, :2]), "few": (truth, made[:3]),
        "all invalid": (truth[:2], [None, None]),
    }  # fmt: skip


def _streams() -> Iterator[tuple[str, Any]]:
    truth, made = _vectors()["drawn"]
    for reading in READINGS:
        stream = action_errors.ErrorStream(baseline=(0.0, 0.5, 0.0), rule=reading)
        for start in (0, 7, 20):
            stream.feed(truth[start : start + 7], made[start : start + 7])
        yield f"stream {reading}", tried(stream.measures)
        each = action_errors.ErrorStream(rule=reading, slices={"x": (2, 3)})
        each.feed(truth, made, truth + 1e-7)
        yield f"baseline by row {reading}", tried(each.measures)
        yield f"nothing {reading}", plain(action_errors.ErrorAccumulator(reading).measures())
    mixed = action_errors.ErrorAccumulator(width=3)
    mixed.feed(action_errors.score_rows(truth, made, baseline=(0, 0, 0))[""])
    yield "mixed", tried(lambda: mixed.feed(action_errors.score_rows(truth, made)[""]))
    wrong: dict[str, Mapping[str, Any]] = {
        "truth": {"truth": [[nan, 1.0, 2.0]]}, "shape": {"truth": [1.0, 2.0]},
        "text": {"truth": [["a", "b", "c"]]}, "baseline": {"baseline": (1.0, 2.0)},
        "baseline nan": {"baseline": (nan, 0.0, 0.0)}, "low": {"low": (0.0,), "high": (1.0,)},
        "slice": {"slices": {"x": (2, 4)}}, "empty slice": {"slices": {"x": (1, 1)}},
        "reading": {"rule": "papers"}, "lengths": {"predicted": made[:2]},
    }  # fmt: skip
    for name, given in wrong.items():
        whole = {"truth": truth[:1], "predicted": made[:1]} | dict(given)
        yield f"wrong {name}", tried(action_errors.score_rows, **whole)


# --- texts and turns --------------------------------------------------------------------

TRUTHS = ("Paris", "New  York", "it's", "!!", "a_b", "", "É", "two words", "yes", "No.")
PREDICTED: tuple[Any, ...] = (
    "paris", "new york!", "its", "??", "ab", "", "é", " two\nwords ", None, "no", 5, " ", "Paris.",
    "!!", "new york", "a_b", "YES", "two  words",
)  # fmt: skip


def _encode(texts: Sequence[str]) -> NDArray[np.float32]:
    rows = [[float(each.lower().count(c)) for c in "aenorsty "] for each in texts]
    return np.array(rows, dtype=np.float32).reshape(len(texts), 9)


def _similarity() -> dict[str, Any]:
    pairs = [(truth, said) for truth in TRUTHS for said in PREDICTED]
    truths, said = [truth for truth, _ in pairs], [each for _, each in pairs]
    found: dict[str, Any] = {
        "valid": {repr(each): text_similarity.is_valid_text(each) for each in PREDICTED},
        "plain": {
            each: text_similarity.normalise_text(each)
            for each in (*TRUTHS, "x1", "A-b_c", " ", "ab")
        },
        "cosines": plain(text_similarity.text_cosines(truths, said, _encode)),
        "no cosines": plain(text_similarity.text_cosines(["a"], [None], _encode)),
        "lengths": tried(text_similarity.measure_texts, ["a"], []),
        "reading": tried(text_similarity.measure_texts, [], [], rule="papers"),
        "threshold": text_similarity.SIMILARITY_THRESHOLD,
    }
    for reading in READINGS:
        found[f"exact | {reading}"] = [
            f"{truth!r} {each!r}"
            for truth, each in pairs
            if text_similarity.is_exact_match(truth, each, reading)
        ]
        found[f"texts | {reading}"] = plain(
            text_similarity.measure_texts(truths, said, rule=reading)
        )
        found[f"texts encoded | {reading}"] = plain(
            text_similarity.measure_texts(truths, said, encode=_encode, rule=reading)
        )
        found[f"nothing | {reading}"] = plain(text_similarity.measure_texts([], [], rule=reading))
        edge = text_similarity.TextAccumulator(reading)
        edge.add_comparisons([True, False, False], [True, True, False])
        edge.add_cosines(np.array([0.8, 0.7999999, 1.0]))
        found[f"parts | {reading}"] = plain(edge.measures())
    return found


def _turns() -> dict[str, Any]:
    chosen: dict[str, tuple[list[list[str]], Any]] = {
        "right": ([["a"], ["b", "c"]], [["a"], ["b", "c"]]), "none": ([], []),
        "text": ([["a"]], "a"),
        "other turn": ([["a"], ["b"]], [["a", "b"], []]), "missing turn": ([["a"], ["b"]], [["a"]]),
        "one more": ([["a"]], [["a"], ["b"]]), "empty asked": ([[], ["a"]], [["x"], ["a"]]),
        "empty more": ([["a"]], [["a"], []]), "partly": ([["a", "b", "c"]], [["a", "b", "x"]]),
        "short": ([["a", "b", "c"]], [["a", "b"]]), "long": ([["a"]], [["a", "b"]]),
        "odd turn": ([["a"], ["b"]], [5, ["b"]]), "order": ([["a", "b"]], [["b", "a"]]),
        "nothing": ([["a"], ["b"]], None), "tuples": ([["a"]], (("a",),)),
        "empty both": ([[]], [[]]),
    }  # fmt: skip
    for number in range(20):
        rng = seeds.make_rng(15, str(number), 0, "turns")
        truth = [[seeds.draw_one(rng, "ab") for _ in range(seeds.draw_below(rng, 4))]
                 for _ in range(seeds.draw_between(rng, 1, 4))]  # fmt: skip
        made = [
            [seeds.draw_one(rng, "ab") if seeds.draw_below(rng, 4) == 0 else call for call in turn]
            for turn in truth
        ][: seeds.draw_between(rng, 0, 4)]
        chosen[f"drawn {number}"] = truth, made
    found: dict[str, Any] = {}
    for reading in READINGS:
        for name, (truth, made) in chosen.items():
            found[f"{name} {truth} {made} | {reading}"] = plain(
                conversation_matching.compare_conversation(truth, made, reading)
            )
        truths, mades = zip(*chosen.values(), strict=True)
        found[f"all | {reading}"] = plain(
            conversation_matching.measure_conversations(truths, mades, rule=reading)
        )
        found[f"none | {reading}"] = plain(
            conversation_matching.measure_conversations([], [], rule=reading)
        )
    found["lengths"] = tried(conversation_matching.measure_conversations, [[]], [])
    found["reading"] = tried(conversation_matching.measure_conversations, [], [], rule="x")
    return found
