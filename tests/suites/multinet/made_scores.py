"""Scores made by hand: answers of every kind, as the suites judge them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from toolmark.core.records import Chart, Label, Score, Table, Verdict
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites.multinet.frame_records import ACTIONS

READINGS = ("paper", "reference")
LABEL = Label(cause="wrong_answer", suite_cause="wrong", primary=True)


def answer(
    item: str,
    parts: Mapping[str, float],
    right: bool,
    *,
    category: str = "piqa",
    form: str = "text",
    **axes: str,
) -> Score:
    """One answer, judged alike in both readings."""
    verdict = Verdict(
        outcome="correct" if right else "incorrect", value=float(right), parts=dict(parts),
        labels=() if right else (LABEL,),
    )  # fmt: skip
    return Score(
        task=f"{item}@{form}", item=item, category=category,
        axes={"form": form, "family": "piqa", **axes}, verdicts=dict.fromkeys(READINGS, verdict),
    )  # fmt: skip


def chosen(
    truth: Sequence[int], said: Sequence[int], n: int, *, raw: Mapping[int, int] | None = None,
    guesses: Mapping[str, Sequence[int]] | None = None, **about: str,
) -> list[Score]:  # fmt: skip
    """Answers by an index; -1 is invalid, `raw` are the numbers said there by row."""
    made = []
    for row, (right, reported) in enumerate(zip(truth, said, strict=True)):
        parts = {"valid": float(reported >= 0), "truth": float(right), "predicted": float(reported),
                 "classes": float(n)}  # fmt: skip
        if raw and row in raw:
            parts["raw"] = float(raw[row])
        parts |= {f"guess.{name}": float(x[row]) for name, x in (guesses or {}).items()}
        prefix = about.get("category", "piqa")
        made.append(answer(f"{prefix}-{row}", parts, right == reported, **about))
    return made


def played(truth: Sequence[int], said: Sequence[int], **about: str) -> list[Score]:
    """Joint actions of Overcooked; every hundred rows are a game."""
    made = []
    n = len(ACTIONS)
    for row, (right, reported) in enumerate(zip(truth, said, strict=True)):
        inside = 0 <= reported < n * n
        parts = {
            "valid": float(inside),
            "truth": right,
            "predicted": reported if inside else -1,
            "classes": n * n,
            "guess.stay": 28,
            "guess.previous": truth[max(0, row - 1)],
        }
        if not inside and reported != -1:
            parts["raw"] = reported
        for player in (0, 1):
            parts[f"truth_{player}"] = divmod(right, n)[player]
            parts[f"predicted_{player}"] = divmod(reported, n)[player] if inside else -1
        axes = {"family": "overcooked", "group": f"g{row // 100}", **about}
        axes.setdefault("category", f"kitchen {row % 2}")
        made.append(answer(f"o-{row}", {k: float(x) for k, x in parts.items()}, right == reported,
                           **axes))  # fmt: skip
    return made


def rows(scores: Iterable[Score]) -> dict[str, Columns]:
    """The columns by reading."""
    saved = list(scores)
    return {name: gather_columns(saved, name) for name in READINGS}


def titled(made: Iterable[Table | Chart]) -> dict[str, Table | Chart]:
    """Tables and charts by their titles, each of which is there once."""
    found: dict[str, Table | Chart] = {}
    for each in made:
        assert each.title not in found
        found[each.title] = each
    return found


def cells(table: Table | Chart, *keys: int) -> dict[tuple[str, ...] | str, dict[str, object]]:
    """A table's rows by their first cells."""
    assert isinstance(table, Table)
    at = keys or (0,)
    found: dict[tuple[str, ...] | str, dict[str, object]] = {}
    for row in table.rows:
        key = tuple(str(row[i]) for i in at)
        found[key if len(key) > 1 else key[0]] = dict(zip(table.head, row, strict=False))
    return found


def draws(seed: int) -> np.random.Generator:
    """Numbers for hand-made answers."""
    return np.random.default_rng(seed)
