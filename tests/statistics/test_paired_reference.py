"""The quick comparison says what plain loops say, to the last digit, for runs of many shapes."""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from tests.statistics import reference_paired

from toolmark.core.failure import Failure
from toolmark.core.records import Label, Score, Verdict
from toolmark.statistics.paired_comparison import (
    N_DRAWS,
    PairedComparison,
    _draw_signs,
    compare_paired,
)
from toolmark.statistics.score_columns import Columns, gather_columns

FAILED = (Label(cause="wrong_value", primary=True),)
SHAPES: tuple[dict[str, Any], ...] = (
    {},  # single right or wrong answers
    {"repeats": 3},
    {"repeats": (1, 4)},
    {"tasks": 3},  # of an item
    {"tasks": 2, "repeats": 2, "rename": True},  # no task is common, items are
    {"groups": 7},
    {"groups": 3, "repeats": 2, "tasks": 2},
    {"graded": True},
    {"graded": True, "tasks": 2, "groups": 5, "rename": True},
    {"graded": True, "coarse": True},  # ties
    {"ungrouped": 0.5, "groups": 6},
    {"part": True},
    {"part": True, "graded": True, "repeats": 2},
    {"offset": 15, "repeats": 2},
    {"offset": 500},  # nothing in common
    {"missing": 0.6, "repeats": 2},
    {"missing": 1.0},
    {"alike": True},
    {"alike": True, "repeats": 2},
)  # fmt: skip
SIZES = (1, 2, 13, 60)


def _run(rng: Random, n: int, side: str, shape: dict[str, Any]) -> Columns:
    """Make the scores of a run in any order, as episodes end."""
    offset = shape.get("offset", 0) if side == "b" else 0
    luck = 0.5 if shape.get("alike") else rng.random()
    answers = Random(1) if shape.get("alike") else rng
    scores = []
    for item in range(offset, offset + n):
        for task in range(shape.get("tasks", 1)):
            repeats = shape.get("repeats", 1)
            for repeat in range(rng.randint(*repeats) if isinstance(repeats, tuple) else repeats):
                id = f"{item}-{task}{side if shape.get('rename') else ''}"
                scores.append(_score(rng, answers, id, str(item), repeat, luck, shape))
    rng.shuffle(scores)
    return gather_columns(scores, "fair")


def _score(
    rng: Random, answers: Random, id: str, item: str, repeat: int, luck: float,
    shape: dict[str, Any],
) -> Score:  # fmt: skip
    grouped = shape.get("groups") and rng.random() >= shape.get("ungrouped", 0.0)
    group = f"g{int(item) % shape['groups']}" if grouped else ""
    bare = Score(task=id, item=item, repeat=repeat, category="", axes={"group": group})
    right = answers.random() < luck
    value = float(right)
    if shape.get("graded"):
        value = answers.random()
        value = round(4 * value) / 4 if shape.get("coarse") else value
    if rng.random() < shape.get("missing", 0.1):
        return structs.replace(bare, failure=Failure(stage="model", kind="timeout", message=""))
    parts = {"rate": 3 * rng.random()} if shape.get("part") and rng.random() < 0.8 else {}
    outcome, labels = ("correct", ()) if right else ("incorrect", FAILED)
    verdict = Verdict(outcome=outcome, value=value, parts=parts, labels=labels)  # type: ignore[arg-type]
    return structs.replace(bare, verdicts={"fair": verdict})


def _plain(found: PairedComparison) -> dict[str, Any]:
    """Return what was found, as the reference says it: what is None is left out."""
    fields = structs.asdict(found)
    estimate = structs.asdict(fields.pop("difference"))
    saved = ("value", "low", "high", "n", "worst", "best")
    reported = fields | {name: estimate[name] for name in saved}
    return {name: reported[name] for name in reported if reported[name] is not None}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: ",".join(shape) or "plain")
def test_the_comparison_is_that_of_plain_loops_to_the_last_digit(shape: dict[str, Any]) -> None:
    n_compared = 0
    for size in SIZES:
        for seed in range(4):
            rng = Random(f"{size}{seed}{shape}")
            a, b = (_run(rng, size, side, shape) for side in "ab")
            part = "rate" if shape.get("part") and (len(a.parts) or len(b.parts)) else ""
            wanted = reference_paired.paired(a, b, part=part, share=not part)
            found = _plain(compare_paired(a, b, part=part, share=not part))
            assert {name: found[name] for name in wanted} == wanted
            n_compared += "p" in wanted
    assert n_compared or shape.get("offset") == 500 or shape.get("missing") == 1.0


@pytest.mark.parametrize("n", [15, 401, 4096, 70_001, 300_000])
def test_the_signs_are_the_stream_of_the_generator_however_many_there_are(n: int) -> None:
    stream = np.random.default_rng(3)
    for signs in islice(_draw_signs(n, 3), 3):
        assert (signs == 1.0 - 2.0 * stream.integers(0, 2, size=signs.shape)).all()
    assert sum(len(signs) for signs in _draw_signs(15, 0)) == N_DRAWS
