"""The paired comparison as plain loops: slow, simple, frozen; what the quick one must equal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import bdtr, ndtri, stdtrit

from toolmark.statistics.score_columns import Columns

EXACT_ITEMS = 14
DRAWS = 20_000
REACH = float(ndtri(0.975) + ndtri(0.8))


def paired(a: Columns, b: Columns, *, part: str = "", share: bool = True) -> dict[str, Any]:
    """Return the fields of a Paired as a plain dict, the difference's among them."""
    sides = [_rows(table, part) for table in (a, b)]
    by = "task" if {row["task"] for row in sides[0]} & {row["task"] for row in sides[1]} else "item"
    grouped: list[dict[str, list[dict[str, Any]]]] = []
    for rows in sides:
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            groups.setdefault(row[by], []).append(row)
        grouped.append(groups)
    keys = [key for key in grouped[0] if key in grouped[1]]
    left = [sum(len(rows) for key, rows in groups.items() if key not in keys) for groups in grouped]
    absent = [sum(not row["run"] for key in keys for row in groups[key]) for groups in grouped]
    found: dict[str, Any] = {
        "pairing": by, "unpaired_a": left[0], "unpaired_b": left[1],
        "not_run_a": absent[0], "not_run_b": absent[1],
    }  # fmt: skip
    value, right, worst, best = (
        np.array([[_averaged(groups[key], what) for key in keys] for groups in grouped])
        for what in ("value", "right", "worst", "best")
    )
    delta = value[0] - value[1] if keys else np.zeros(0)
    ran = ~np.isnan(delta)
    if not ran.any():
        return found
    first = [grouped[0][key][0] for key, fine in zip(keys, ran, strict=True) if fine]
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(row["cluster"], len(numbers)) for row in first])
    low, high, error = _spread(delta[ran], group)
    if share:
        low, high, error = max(-1.0, low), min(1.0, high), min(error, 1.0 / REACH)
        found["worst"] = float((worst[0] - best[1]).mean())
        found["best"] = float((best[0] - worst[1]).mean())
    n_items = len({row["item"] for row in first})
    found["p"], found["method"] = _test(value[0][ran], value[1][ran], group)
    found["only_a"], found["only_b"] = _flips(right[:, ran], [row["item"] for row in first])
    return found | {
        "value": float(delta[ran].mean()), "low": low, "high": high, "n": int(ran.sum()),
        "value_a": float(value[0][ran].mean()), "value_b": float(value[1][ran].mean()),
        "n_pairs": int(ran.sum()), "n_items": n_items,
        "n_groups": 0 if len(numbers) == n_items else len(numbers), "detectable": REACH * error,
    }  # fmt: skip


def _rows(table: Columns, part: str) -> list[dict[str, Any]]:
    made = []
    for n in range(len(table)):
        value = float(table.part(part)[n] if part else table.value[n])
        group = table.axis("group")[n]
        made.append({
            "task": table.task[n], "item": table.item[n], "cluster": group or table.item[n],
            "run": bool(table.run[n]) and not (part and math.isnan(value)), "value": value,
            "right": float(table.correct[n]),
        })  # fmt: skip
    return made


def _averaged(rows: list[dict[str, Any]], what: str) -> float:
    """Average the repeats of each task, then the tasks; nan where one of them never ran."""
    tasks: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        tasks.setdefault(row["task"], []).append(row)
    means = []
    for repeats in tasks.values():
        total = count = 0.0
        for row in repeats:
            if row["run"]:
                total, count = total + row["right" if what == "right" else "value"], count + 1
            elif what in ("worst", "best"):
                total, count = total + (what == "best"), count + 1
        means.append(total / count if count else math.nan)
    total = 0.0
    for mean in means:
        total += mean
    return total / len(means)


def _spread(delta: Any, group: Any) -> tuple[float, float, float]:
    total, count = np.zeros(1 + group.max()), np.zeros(1 + group.max())
    for number, each in zip(group, delta, strict=True):
        total[number] += each
        count[number] += 1
    reach = float(np.abs(total / count).max()) or 1.0
    size = count.mean()
    total = np.concatenate([total, [reach * size, -reach * size]])
    count = np.concatenate([count, [size, size]])
    middle = total.sum() / count.sum()
    n = float(count.sum()) ** 2 / float(np.square(count).sum())
    square = float(np.square(total - middle * count).sum())
    error = math.sqrt(square * n / (n - 1)) / float(count.sum())
    half = float(stdtrit(n - 1, 0.975)) * error
    return float(middle - half), float(middle + half), error


def _test(a: Any, b: Any, group: Any) -> tuple[float, str]:
    if all(each in (0.0, 1.0) for each in (*a, *b)) and len(set(group)) == len(group):
        n, m = int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum())
        return min(1.0, 2 * float(bdtr(min(n, m), n + m, 0.5))), "exact McNemar"
    total = np.zeros(1 + group.max())
    for number, each in zip(group, a - b, strict=True):
        total[number] += each
    total = total[np.abs(total) > 1e-12]
    seen = abs(float(total.sum())) - 1e-9
    if len(total) <= EXACT_ITEMS:
        signs = 1.0 - 2.0 * (np.arange(2 ** len(total))[:, None] >> np.arange(len(total)) & 1)
        return float(np.mean(np.abs(signs @ total) >= seen)), "exact sign-flip permutation"
    rng = np.random.default_rng(0)
    extreme = 0
    for start in range(0, DRAWS, 5_000):  # any blocks: the draws are one stream
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=(min(5_000, DRAWS - start), len(total)))
        extreme += int(np.sum(np.abs(signs @ total) >= seen))
    return (1 + extreme) / (1 + DRAWS), "sign-flip permutation"


def _flips(right: Any, items: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the items that one side got right in more than half of the cases, and the other not."""
    cases: dict[str, list[tuple[float, float]]] = {}
    for item, one, other in zip(items, *right, strict=True):
        cases.setdefault(item, []).append((one, other))
    most = {
        item: tuple(sum(column) > len(found) / 2 for column in zip(*found, strict=True))
        for item, found in cases.items()
    }
    return (
        tuple(item for item, (one, other) in most.items() if one and not other),
        tuple(item for item, (one, other) in most.items() if other and not one),
    )
