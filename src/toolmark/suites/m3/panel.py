"""What a panel of judges comes to: one number per episode, and how far the judges agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from toolmark.failure import Failure, grouped
from toolmark.runs import judging
from toolmark.runs.store import Run
from toolmark.stats import agreement
from toolmark.suites.m3.judge import KINDS
from toolmark.types import Judgement, Record, Table

QUORUM = 3


class Judge(Record, frozen=True, kw_only=True):
    """One judge's work: how many episodes it judged and not, its mean, why it failed most often."""

    judge: str
    n: int
    n_not_run: int
    mean: float | None
    input_tokens: int
    output_tokens: int
    failure: Failure | None = None


class Pair(Record, frozen=True, kw_only=True):
    """How far two judges are apart on average, over the episodes that both judged."""

    a: str
    b: str
    n: int
    difference: float | None


class Findings(Record, frozen=True, kw_only=True):
    """One kind of judgement over a run.

    `n` episodes have a number, `n_not_run` have none for want of judges; `mean` is over the
    former. `difference` is the mean over pairs of judges, `alpha` Krippendorff's for intervals.
    """

    kind: str
    n: int
    n_not_run: int
    mean: float | None
    difference: float | None
    alpha: float | None
    judges: tuple[Judge, ...]
    pairs: tuple[Pair, ...]


def trimmed(values: Sequence[float]) -> float:
    """Return the mean without the least and the greatest, where there are more than two."""
    kept = sorted(values)[1:-1] if len(values) > 2 else values
    return sum(kept) / len(kept)


def combined(values: Sequence[float], n_asked: int) -> float | None:
    """Return the panel's number: none unless three judges answered, or all where fewer were asked.

    A judge that failed is so never a zero, and no number rests on one or two voices of a larger
    panel.
    """
    if not values or len(values) < min(QUORUM, n_asked):
        return None
    return trimmed(values)


Parts: TypeAlias = dict[str, float]


def judged(run: Run, readings: Sequence[str]) -> dict[tuple[str, int], dict[str, Parts]]:
    """Return the judged parts of each episode that has any, by (task, repeat), then by reading."""
    known = judging.panels(run)
    parts: dict[tuple[str, int], dict[str, Parts]] = {}
    for (task, repeat, kind), said in judging.counted(run).items():
        number = _number(said.values(), known[kind]) if kind in KINDS else None
        if number is None:
            continue
        for reading in KINDS[kind].readings or readings:
            mine = parts.setdefault((task, repeat), {}).setdefault(reading, {})
            mine[KINDS[kind].part] = number
    return parts


def _number(said: Iterable[Judgement], panel: judging.Panel) -> float | None:
    values = [each.value for each in said if each.value is not None]
    return combined(values, len(panel.judges))


def findings(run: Run, kinds: Sequence[str]) -> list[Findings]:
    """Return what came of each kind that was asked for."""
    known = judging.panels(run)
    counted = judging.counted(run)
    episodes = judging.episodes(run)
    found = []
    for kind in kinds:
        said = [counted.get((*key, kind), {}) for key in episodes]
        found.append(_findings(kind, said, known[kind]))
    return found


def _findings(kind: str, said: Sequence[Mapping[str, Judgement]], panel: judging.Panel) -> Findings:
    names = panel.judges
    ratings = np.full((len(names), len(said)), np.nan)
    for column, each in enumerate(said):
        for row, name in enumerate(names):
            value = each[name].value if name in each else None
            if value is not None:
                ratings[row, column] = value
    numbers = [x for each in said if (x := _number(each.values(), panel)) is not None]
    return Findings(
        kind=kind,
        n=len(numbers),
        n_not_run=len(said) - len(numbers),
        mean=sum(numbers) / len(numbers) if numbers else None,
        difference=agreement.difference(ratings),
        alpha=agreement.alpha(ratings),
        judges=tuple(_judge(name, [e[name] for e in said if name in e], len(said))
                     for name in names),
        pairs=tuple(
            Pair(a=names[pair.one], b=names[pair.other], n=pair.n, difference=pair.difference)
            for pair in agreement.pairs(ratings)
        ),
    )  # fmt: skip


def _judge(name: str, said: Sequence[Judgement], n_episodes: int) -> Judge:
    values = [each.value for each in said if each.value is not None]
    failed = grouped(each.failure for each in said if each.failure is not None)
    return Judge(
        judge=name,
        n=len(values),
        n_not_run=n_episodes - len(values),
        mean=sum(values) / len(values) if values else None,
        input_tokens=sum(each.usage.input for each in said),
        output_tokens=sum(each.usage.output for each in said),
        failure=failed[0][1][0] if failed else None,
    )


def tables(found: Sequence[Findings]) -> list[Table]:
    """Return the numbers, the judges and their pairs, as they are printed."""
    judges = [(kind.kind, *_row(judge)) for kind in found for judge in kind.judges]
    pairs = [
        (kind.kind, pair.a, pair.b, pair.n, pair.difference)
        for kind in found
        for pair in kind.pairs
        if pair.n
    ]
    made = [
        Table(
            title="Judged",
            head=("kind", "episodes", "not run", "mean", "difference of judges", "alpha"),
            rows=tuple((k.kind, k.n, k.n_not_run, k.mean, k.difference, k.alpha) for k in found),
            note="The number of an episode is the mean without the least and the greatest of more "
            "than two judges; it takes three judges, or all where fewer were asked. Difference: "
            "mean absolute difference over pairs of judges. Alpha: Krippendorff's, for intervals."
            + _doubt(found),
        ),
        Table(
            title="Judges",
            head=("kind", "judge", "judged", "not run", "mean", "input tokens", "output tokens"),
            rows=tuple(judges),
        ),
    ]
    if pairs:
        head = ("kind", "judge", "other judge", "both", "mean difference")
        made.append(Table(title="How far judges are apart", head=head, rows=tuple(pairs)))
    return made


def _doubt(found: Sequence[Findings]) -> str:
    few = [kind.kind for kind in found if len(kind.judges) < QUORUM]
    if not few:
        return ""
    return (
        f" Warning, {', '.join(few)}: fewer than {QUORUM} judges; nothing outvotes one that errs."
    )


def evidence(run: Run) -> list[Table]:
    """Return who judged a run and how far they agreed; nothing of a run that nobody judged."""
    kinds = [kind for kind in KINDS if kind in judging.panels(run)]
    return tables(findings(run, kinds)) if kinds else []


def _row(judge: Judge) -> tuple[str | int | float | None, ...]:
    return (
        judge.judge, judge.n, judge.n_not_run, judge.mean, judge.input_tokens, judge.output_tokens
    )  # fmt: skip
