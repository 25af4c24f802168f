"""Intervals, paired tests, columns, summaries and figures of seeded scores of many shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.golden.plain import plain, sparse, tried

from toolmark.core import number_format, seeds
from toolmark.core.failure import Failure
from toolmark.core.records import Estimate, Label, Score, Verdict
from toolmark.statistics import confidence_intervals, estimates, interval_limits, rater_agreement
from toolmark.statistics.metric_formulas import UnboundedMean
from toolmark.statistics.paired_comparison import compare_paired, holm_adjusted
from toolmark.statistics.paired_tests import mcnemar
from toolmark.statistics.score_columns import (
    Columns,
    gather_columns,
    have_equal_values,
    merge_equal_rules,
)

LOST = Failure(stage="run", kind="not_reached", message="lost")
CAUSES = ("wrong_value", "format", "missing_call")
LEVELS = (0.5, 0.9, 0.95, 0.99)


def record(folder: Path) -> dict[str, Any]:
    """Return what every public function of the statistics says of every shape."""
    shapes = {
        name: list(make(seeds.make_rng(15, name, 0, "shape"))) for name, make in SHAPES.items()
    }
    collected = {name: gather_columns(scores, "strict") for name, scores in shapes.items()}
    found = {
        "figures": _figures(),
        "wilson": _wilson(),
        "ratio": _ratio(),
        "bootstrap": _bootstrap(),
        "columns": {name: _columns(name, scores) for name, scores in shapes.items()},
        "summary": {name: _summary(each) for name, each in collected.items()},
        "paired": dict(_paired(collected)),
        "tests": _tests(),
        "agreement": _agreement(),
    }
    # machines and libraries differ in the last bits
    return {name: {"$tolerance": {"**": 1e-10}, **each} for name, each in found.items()}


# --- shapes of scores -------------------------------------------------------------------

Values = Callable[[Random], float]


def _binary(chance: float) -> Values:
    return lambda rng: float(rng.random() < chance)


def _graded(rng: Random) -> float:
    return seeds.draw_between(rng, 0, 8) / 8


def _always(value: float) -> Values:
    return lambda rng: value


def _scores(
    n: int,
    value: Values = _graded,
    *,
    repeats: int = 1,
    uneven: bool = False,
    lost: float = 0.0,
    groups: int = 0,
    per_item: int = 1,
    heavy: bool = False,
    prefix: str = "t",
) -> Callable[[Random], Iterator[Score]]:
    def make(rng: Random) -> Iterator[Score]:
        for at in range(n):
            item = f"i{at // per_item}"
            group = f"g{0 if heavy and at >= groups else at % groups}" if groups else ""
            for repeat in range(seeds.draw_between(rng, 1, repeats) if uneven else repeats):
                yield _score(f"{prefix}{at}", item, repeat, group, rng, value, lost)

    return make


def _score(
    task: str, item: str, repeat: int, group: str, rng: Random, value: Values, lost: float
) -> Score:
    axes = {"level": seeds.draw_one(rng, ("low", "high"))}
    if group and seeds.draw_below(rng, 12):
        axes["group"] = group
    gone = rng.random() < lost
    return Score(
        task=task, item=item, repeat=repeat, category=f"c{len(item) % 3}", axes=axes,
        verdicts={} if gone else _readings(rng, value), failure=LOST if gone else None,
    )  # fmt: skip


def _readings(rng: Random, value: Values) -> dict[str, Verdict]:
    strict = value(rng)
    parts = {"x": rng.random() * 10 - 2, "constant": 2.0}
    if seeds.draw_below(rng, 3):
        parts["sometimes"] = float(seeds.draw_below(rng, 3))
    if seeds.draw_below(rng, 2):
        parts["huge"] = 1e300 * rng.random()
    readings = {"strict": _verdict(strict, parts, rng), "twin": _verdict(strict, {}, rng)}
    if seeds.draw_below(rng, 4):
        readings["mild"] = _verdict(min(1.0, strict + 0.25), {}, rng)
    return readings


def _verdict(value: float, parts: dict[str, float], rng: Random) -> Verdict:
    if value > 0.5:
        return Verdict(outcome="correct", value=value, parts=parts)
    second = Label(cause="state", suite_cause="later")
    first = Label(
        cause=seeds.draw_one(rng, CAUSES),  # type: ignore[arg-type]
        suite_cause=f"n{seeds.draw_below(rng, 3)}", primary=seeds.draw_below(rng, 9) > 0,
    )  # fmt: skip
    return Verdict(outcome="incorrect", value=value, parts=parts, labels=(second, first))


SHAPES: dict[str, Callable[[Random], Iterator[Score]]] = {
    "empty": _scores(0),
    "one right": _scores(1, _always(1.0)),
    "one wrong": _scores(1, _always(0.0)),
    "one half": _scores(1, _always(0.5)),
    "two": _scores(2, _binary(0.5)),
    "none ran": _scores(5, lost=1.1),
    "all right": _scores(12, _always(1.0)),
    "all wrong": _scores(12, _always(0.0)),
    "all alike": _scores(25, _always(0.375)),
    "binary 19": _scores(19, _binary(0.4)),
    "binary 20": _scores(20, _binary(0.4)),
    "binary 60": _scores(60, _binary(0.8)),
    "binary with lost": _scores(40, _binary(0.6), lost=0.3),
    "graded 8": _scores(8),
    "graded 14": _scores(14),
    "graded 15": _scores(15),
    "graded 80": _scores(80),
    "graded 220": _scores(220),
    "graded 240 in two answers": _scores(240, repeats=2),
    "graded with lost": _scores(30, lost=0.2),
    "repeats": _scores(22, _binary(0.5), repeats=4),
    "repeats with lost": _scores(22, _binary(0.5), repeats=4, lost=0.25),
    "uneven repeats": _scores(24, repeats=5, uneven=True, lost=0.1),
    "repeats of few": _scores(3, repeats=3),
    "repeats that agree": _scores(21, _always(1.0), repeats=2),
    "tasks of an item": _scores(40, _binary(0.6), per_item=3),
    "graded tasks of an item": _scores(40, per_item=4, lost=0.15, prefix="u"),
    "groups": _scores(50, _binary(0.7), groups=10),
    "many groups": _scores(66, groups=22, repeats=2),
    "two groups": _scores(20, _binary(0.5), groups=2),
    "one group": _scores(9, groups=1),
    "one heavy group": _scores(40, _binary(0.4), groups=3, heavy=True),
    "nearly right": _scores(40, lambda rng: 1.0 - (rng.random() < 0.05) / 8),
}


# --- figures ----------------------------------------------------------------------------

NUMBERS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 0.04996, 0.05, 0.00049, 0.0005, 0.9994, 0.9995, 0.99951, 9.9995,
    12.3456, 99.95, 123.456, 999.5, 1000.0, 1234.5678, 999999.4, 1e6, -1e6, 1.5e6, 1e-4, 9.99e-5,
    -0.0123, 0.00123456, 3e-7, 1e12, 1e-12, 0.1, 0.0999, 10.0, 9.999, 0.012345, 0.00999,
    math.inf, -math.inf, math.nan,
)  # fmt: skip
CHANCES = (
    0.0, 9.9e-5, 0.0001, 0.00011, 0.000123, 0.00123, 0.0123, 0.0449, 0.0494, 0.0495, 0.0496, 0.05,
    0.0504, 0.0505, 0.0506, 0.051, 0.0999, 0.1, 0.101, 0.105, 0.5, 0.999, 1.0,
)  # fmt: skip
ENDS = (
    (0.5, 0.4, 0.6), (0.5, 0.4, 0.61), (0.5, 0.4, 0.62), (0.5, 0.4, 0.63), (0.0, 0.0, 0.329),
    (1.0, 0.8, 1.0), (0.5, None, None), (0.5, 0.4, None), (0.5, None, 0.6), (None, None, None),
    (-0.0004, -0.01, 0.01), (0.031, -0.01, 0.072), (-0.25, -0.5, 0.0), (0.614, 0.587, 0.641),
    (12.5, 3.0, 14.0), (0.9, 1e-5, 0.95), (1e7, 1.0, 2e7), (0.30, 0.29, 0.31), (0.0, 0.0, 0.02),
)  # fmt: skip


def _figures() -> dict[str, Any]:
    reported: dict[str, Any] = {
        "decimal": {repr(x): number_format.format_decimal(x) for x in NUMBERS},
        "decimal like": {
            f"{x!r} like {y!r}": number_format.format_decimal(x, like=y)
            for x in (0.0, 0.5, -12.3456, 1e7, math.inf, -1e-6)
            for y in (0.0, 0.01, 0.5, 12.0, 1234.0, 1e7, 1e-6, math.nan)
        },
        "chance": {repr(p): number_format.format_p_value(p) for p in CHANCES},
        "count": [number_format.format_count(n) for n in (0, 9, 999, 1000, 1234567)],
        "percent": [
            number_format.format_percent(x) for x in (0.0, 0.0004, 0.0005, 0.382, 0.99949, 1.0)
        ],
        "plain": number_format.replace_special_spaces(f"a{number_format.NO_BREAK_SPACE}b\u202fc"),
        "words": [
            interval_limits.NO_INTERVAL_NOTE,
            number_format.DASH,
            interval_limits.FEWEST_ANSWERS,
            number_format.SYMMETRY_TOLERANCE,
        ],
    }
    for value, low, high in ENDS:
        for share in (True, False):
            for partial in ("", "1 of 4 run"):
                estimate = Estimate(
                    name="x", value=value, low=low, high=high, is_share=share, partial=partial
                )
                reported[
                    f"{value} {low} {high} {'share' if share else 'number'} {partial}".strip()
                ] = {
                    "value": number_format.format_estimate(estimate),
                    "share": number_format.format_share(estimate),
                    "number": number_format.format_number(estimate),
                    "wide": number_format.format_plus_minus(estimate),
                    "points": number_format.format_points(estimate),
                    "difference": number_format.format_difference(estimate),
                    "bare": number_format.lacks_interval(estimate),
                }
    return reported


# --- intervals --------------------------------------------------------------------------


def _wilson() -> dict[str, Any]:
    pairs = [(k, n) for n in (0, 1, 2, 3, 10, 57, 1000) for k in sorted({0, 1, n // 2, n - 1, n})]
    found = {
        f"{k} of {n} at {level}": plain(confidence_intervals.wilson(k, n, level=level))
        for k, n in pairs
        if 0 <= k <= n
        for level in LEVELS
    }
    return found | {
        f"{k} of {n}": tried(confidence_intervals.wilson, k, n)
        for k, n in ((-1, 5), (6, 5), (1, 0))
    }


def _clusters() -> dict[str, tuple[list[float], list[float], list[str]]]:
    """Return hits, totals and groups by name."""
    made: dict[str, tuple[list[float], list[float], list[str]]] = {
        "none": ([], [], []),
        "no totals": ([0.0, 0.0], [0.0, 0.0], ["a", "b"]),
        "all": ([2.0, 3.0, 1.0], [2.0, 3.0, 1.0], ["a", "b", "c"]),
        "nothing": ([0.0, 0.0, 0.0], [2.0, 3.0, 1.0], ["a", "b", "c"]),
        "one group": ([1.0, 0.0, 1.0], [1.0, 1.0, 1.0], ["a", "a", "a"]),
        "g just 2": ([1.0, 0.0], [1.0, 1.0], ["a", "b"]),
        "g below 2": ([3.0, 0.0], [4.0, 1.0], ["a", "b"]),
        "negative": ([-1.0, 0.0], [1.0, 1.0], ["a", "b"]),
        "lengths": ([1.0], [1.0, 1.0], ["a", "b"]),
        "rounding": ([0.1] * 10, [0.1] * 10, list("abcdefghij")),
        "agreeing groups": ([1.0, 0.0] * 6, [1.0] * 12, [str(i // 2) for i in range(12)]),
        "next to 1": ([0.999] + [1.0] * 9, [1.0] * 10, list("abcdefghij")),
        "next to 0": ([0.001] + [0.0] * 9, [1.0] * 10, list("abcdefghij")),
    }
    for n, g in ((4, 3), (9, 9), (30, 5), (30, 19), (40, 20), (60, 21), (100, 60)):
        rng = seeds.make_rng(15, f"{n} {g}", 0, "clusters")
        totals = [float(seeds.draw_between(rng, 0, 5)) for _ in range(n)]
        hits = [seeds.draw_between(rng, 0, 8) / 8 * total for total in totals]
        made[f"{n} rows in {g}"] = hits, totals, [f"g{seeds.draw_below(rng, g)}" for _ in range(n)]
        made[f"{n} single rows {g}"] = (
            [float(seeds.draw_below(rng, 2)) for _ in range(n)],
            [1.0] * n,
            [f"{i}" for i in range(n)],
        )
    return made


def _ratio() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (hits, totals, groups) in _clusters().items():
        for level in LEVELS:
            found[f"{name} at {level}"] = tried(
                confidence_intervals.ratio_interval, hits, totals, groups, level=level
            )
        sizes = np.array([totals.count(x) for x in set(totals)], dtype=float)
        found[f"{name}: Kish, codes"] = [
            plain(confidence_intervals.effective_n_groups(np.sort(sizes))) if len(sizes) else None,
            plain(confidence_intervals.group_codes(groups)),
        ]
        if name == "lengths":
            continue
        found[f"{name}: share"] = tried(_share, name, hits, totals, groups)
    holes = [1.0, math.nan, 2.0, 0.0, 1.0]
    over = [2.0, 2.0, math.nan, 0.0, 3.0]
    found["share with holes"] = sparse(
        estimates.estimate_pooled_share("x", holes, over, list("abcde"))
    )
    return found


def _share(*given: Any) -> dict[str, Any]:
    return sparse(estimates.estimate_pooled_share(*given))


def _bootstrap() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for n in (0, 5, 19, 20, 21, 50):
        rng = seeds.make_rng(15, f"{n}", 0, "bootstrap")
        columns = {
            "skewed": [rng.random() ** 6 * 100 for _ in range(n)],
            "signed": [rng.random() - 0.5 for _ in range(n)],
            "binary": [float(seeds.draw_below(rng, 2)) for _ in range(n)],
            "alike": [3.25] * n,
            "zero": [0.0] * n,
            "huge": [1e300 * rng.random() for _ in range(n)],
            "largest": [1.7e308] * (n - 1) + [1.0] if n else [],
            "one apart": [0.0] * (n - 1) + [1.0] if n else [],
            "tiny": [1e-300 * rng.random() for _ in range(n)],
        }
        over = [float(seeds.draw_below(rng, 3)) for _ in range(n)]
        names = [f"{i}" for i in range(n)]
        for name, values in columns.items():
            found[f"{n} {name}"] = plain(confidence_intervals.bootstrap_interval(values, names))
            found[f"{n} {name}, level 0.8, 500 draws, seed 3"] = plain(
                confidence_intervals.bootstrap_interval(values, names, level=0.8, draws=500, seed=3)
            )
            found[f"{n} {name} over counts"] = plain(
                confidence_intervals.bootstrap_interval(values, names, denominators=over)
            )
            found[f"{n} {name} over ones"] = plain(
                confidence_intervals.bootstrap_interval(
                    values, names, denominators=[x + 1 for x in over]
                )
            )
            paired_up = [f"{i // 2}" for i in range(n)]
            found[f"{n} {name} in pairs"] = plain(
                confidence_intervals.bootstrap_interval(values, paired_up)
            )
    rng = seeds.make_rng(15, "many", 0, "bootstrap")
    many = [rng.random() ** 3 for _ in range(2500)]
    found["2500 in several blocks"] = plain(
        confidence_intervals.bootstrap_interval(many, range(2500))
    )
    return found


# --- columns and summaries --------------------------------------------------------------


def _columns(name: str, scores: list[Score]) -> dict[str, Any]:
    rules = {rule: gather_columns(scores, rule) for rule in ("strict", "twin", "mild")}
    whole = rules["strict"]
    reported: dict[str, Any] = {
        "rows": {rule: len(each) for rule, each in rules.items()},
        "distinct": {rule: len(each) for rule, each in merge_equal_rules(rules).items()},
        "same": [
            have_equal_values(whole, rules["twin"]),
            have_equal_values(whole, rules["mild"]),
            have_equal_values(whole, whole),
        ],
        "groups": estimates.count_groups(whole),
        "unknown": [plain(whole.part("no such")), plain(whole.axis("no such"))][: len(whole)],
    }
    if len(whole) <= 25:
        reported["held"] = {rule: _loaded(each) for rule, each in rules.items()}
        reported["where"] = _loaded(whole.where(whole.category == "c2"))
    return reported


def _loaded(each: Columns) -> dict[str, Any]:
    names = (
        "task",
        "item",
        "category",
        "repeat",
        "run",
        "correct",
        "value",
        "cause",
        "suite_cause",
        "axes",
        "parts",
        "cluster",
    )
    return {name: plain(getattr(each, name)) for name in names}


def _summary(each: Columns) -> dict[str, Any]:
    reported: dict[str, Any] = {
        "mean": sparse(estimates.estimate_mean(each, "mean")),
        "noise": sparse(estimates.estimate_repeat_noise(each)),
        "noise named": estimates.estimate_repeat_noise(each, "other").name,
    }
    for part in ("x", "constant", "sometimes", "huge", "no such"):
        reported[f"average {part}"] = sparse(estimates.estimate_part_average(each, part))
    for k in (1, 2, 3, 4, 6):
        for every in (True, False):
            name = f"pass{'^' if every else '@'}{k}"
            reported[name] = sparse(estimates.estimate_pass_rate(each, k, name, every=every))
    return reported


# --- two runs ---------------------------------------------------------------------------

SIDES = (
    ("binary 19", "binary 20"), ("binary 20", "binary 60"), ("binary 60", "binary with lost"),
    ("graded 8", "graded 14"), ("graded 14", "graded 15"), ("graded 15", "graded 80"),
    ("graded 80", "graded with lost"), ("repeats", "repeats with lost"), ("empty", "two"),
    ("repeats", "uneven repeats"), ("tasks of an item", "graded tasks of an item"),
    ("groups", "many groups"), ("one group", "groups"), ("one heavy group", "two groups"),
    ("all right", "all wrong"), ("all right", "all right"), ("none ran", "two"),
    ("one right", "one wrong"), ("one half", "one half"), ("all alike", "all alike"),
    ("nearly right", "binary 60"), ("graded tasks of an item", "binary 60"),
    ("many groups", "repeats that agree"), ("graded 220", "graded 240 in two answers"),
    ("empty", "empty"),
)  # fmt: skip


def _paired(collected: dict[str, Columns]) -> Iterator[tuple[str, Any]]:
    for one, other in SIDES:
        a, b = collected[one], collected[other]
        yield f"{one} | {other}", _pair(compare_paired(a, b, name="difference"))
        yield f"{other} | {one}, seed 3", _pair(compare_paired(b, a))
        for part in ("x", "sometimes"):
            found = compare_paired(a, b, UnboundedMean(part=part))
            yield f"{one} | {other}: {part}", _pair(found)


def _pair(found: Any) -> dict[str, Any]:
    return sparse(found) | {"difference": sparse(found.difference)}


def _tests() -> dict[str, Any]:
    ps: tuple[list[float], ...] = (
        [],
        [0.04],
        [0.01, 0.04, 0.03],
        [0.5, 0.5, 0.5],
        [0.001, 0.2, 1.0, 0.001],
        [0.02] * 5,
    )
    counts = ((0, 0), (1, 0), (0, 6), (5, 5), (3, 12), (40, 61), (400, 450))
    return {
        "holm": {f"{each}": holm_adjusted(each) for each in ps},
        "McNemar": {f"{one}, {other}": plain(mcnemar(one, other)) for one, other in counts},
    }


# --- raters -----------------------------------------------------------------------------


def _agreement() -> dict[str, Any]:
    hole = math.nan
    tables: dict[str, list[list[float]]] = {
        "one rater": [[1.0, 2.0]],
        "nothing": [[hole, hole], [hole, hole]],
        "alike": [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]],
        "all equal": [[1.0, 1.0], [1.0, 1.0]],
        "apart": [[1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 3.5, 1.0]],
        "no unit shared": [[1.0, hole], [hole, 2.0]],
        "holes": [[1.0, 2.0, hole, 4.0], [1.5, hole, 3.0, 4.0], [hole, 2.5, 3.0, 1.0]],
        "no units": [[], []],
    }
    rng = seeds.make_rng(15, "raters", 0, "agreement")
    tables["seeded"] = [
        [
            float(seeds.draw_between(rng, 1, 5)) if seeds.draw_below(rng, 5) else hole
            for _ in range(30)
        ]
        for _ in range(4)
    ]
    found = {}
    for name, table in tables.items():
        ratings = np.array(table)
        found[name] = {
            "pairs": plain(rater_agreement.rater_pairs(ratings)),
            "difference": rater_agreement.mean_difference(ratings),
            "alpha": rater_agreement.krippendorff_alpha(ratings),
        }
    return found
