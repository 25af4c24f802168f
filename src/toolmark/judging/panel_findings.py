"""Results of a panel of judges: one number per episode, and the agreement between judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from toolmark.core.failure import Failure, group_failures
from toolmark.core.records import Judgement, Record, Table
from toolmark.runs import judge_panels
from toolmark.runs.run_store import Run
from toolmark.statistics import rater_agreement

QUORUM = 3


class JudgeSummary(Record, frozen=True, kw_only=True):
    """One judge: episodes judged and not judged, mean value, tokens, and most frequent failure."""

    judge: str
    n: int
    n_not_run: int
    mean: float | None
    input_tokens: int
    output_tokens: int
    failure: Failure | None = None


class JudgePair(Record, frozen=True, kw_only=True):
    """Mean difference between two judges over the `n` episodes that both judged."""

    a: str
    b: str
    n: int
    difference: float | None


class PanelFindings(Record, frozen=True, kw_only=True):
    """One kind of judgement over a run.

    `n` episodes have a number; `n_not_run` have none, because too few judges answered. `mean` is
    over the `n` episodes. `difference` is the mean absolute difference over pairs of judges.
    `alpha` is Krippendorff's alpha for intervals.
    """

    kind: str
    n: int
    n_not_run: int
    mean: float | None
    difference: float | None
    alpha: float | None
    judges: tuple[JudgeSummary, ...]
    pairs: tuple[JudgePair, ...]


def trimmed_mean(values: Sequence[float]) -> float:
    """Return the mean without the lowest and the highest value; of one or two values, the mean."""
    inner_values = sorted(values)[1:-1] if len(values) > 2 else values
    return sum(inner_values) / len(inner_values)


def combine_ratings(values: Sequence[float], n_asked: int) -> float | None:
    """Return the panel's number: None unless three judges answered, or all if fewer were asked.

    So a judge that failed never counts as zero, and no number of a larger panel depends on only one
    or two judges.
    """
    if not values or len(values) < min(QUORUM, n_asked):
        return None
    return trimmed_mean(values)


def panel_rating(judgements: Iterable[Judgement], panel: judge_panels.Panel) -> float | None:
    """Return the panel's number of one episode, None where too few judges answered."""
    values = [each.value for each in judgements if each.value is not None]
    return combine_ratings(values, len(panel.judges))


def panel_findings(run: Run, kinds: Sequence[str]) -> list[PanelFindings]:
    """Return the findings of each kind of judgement asked for."""
    panels = judge_panels.read_panels(run)
    counted = judge_panels.panel_judgements(run)
    episodes = judge_panels.scored_episodes(run)
    found = []
    for kind in kinds:
        judgements = [counted.get((*key, kind), {}) for key in episodes]
        found.append(_kind_findings(kind, judgements, panels[kind]))
    return found


def _kind_findings(
    kind: str, judgements: Sequence[Mapping[str, Judgement]], panel: judge_panels.Panel
) -> PanelFindings:
    names = panel.judges
    ratings = np.full((len(names), len(judgements)), np.nan)
    for column, each in enumerate(judgements):
        for row, name in enumerate(names):
            value = each[name].value if name in each else None
            if value is not None:
                ratings[row, column] = value
    numbers = [x for each in judgements if (x := panel_rating(each.values(), panel)) is not None]
    return PanelFindings(
        kind=kind,
        n=len(numbers),
        n_not_run=len(judgements) - len(numbers),
        mean=sum(numbers) / len(numbers) if numbers else None,
        difference=rater_agreement.mean_difference(ratings),
        alpha=rater_agreement.krippendorff_alpha(ratings),
        judges=tuple(
            _summarise_judge(name, [e[name] for e in judgements if name in e], len(judgements))
            for name in names
        ),
        pairs=tuple(
            JudgePair(
                a=names[pair.first], b=names[pair.second], n=pair.n, difference=pair.difference
            )
            for pair in rater_agreement.rater_pairs(ratings)
        ),
    )


def _summarise_judge(name: str, judgements: Sequence[Judgement], n_episodes: int) -> JudgeSummary:
    values = [each.value for each in judgements if each.value is not None]
    failed = group_failures(each.failure for each in judgements if each.failure is not None)
    return JudgeSummary(
        judge=name,
        n=len(values),
        n_not_run=n_episodes - len(values),
        mean=sum(values) / len(values) if values else None,
        input_tokens=sum(each.usage.input for each in judgements),
        output_tokens=sum(each.usage.output for each in judgements),
        failure=failed[0][1][0] if failed else None,
    )


def make_tables(found: Sequence[PanelFindings]) -> list[Table]:
    """Return the printed tables: numbers per kind, judges, pairs of judges."""
    judges = [(kind.kind, *_judge_row(judge)) for kind in found for judge in kind.judges]
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
            + _quorum_warning(found),
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


def _quorum_warning(found: Sequence[PanelFindings]) -> str:
    understaffed = [kind.kind for kind in found if len(kind.judges) < QUORUM]
    if not understaffed:
        return ""
    return (
        f" Warning, {', '.join(understaffed)}: fewer than {QUORUM} judges; nothing outvotes one "
        "that errs."
    )


def _judge_row(judge: JudgeSummary) -> tuple[str | int | float | None, ...]:
    return (
        judge.judge, judge.n, judge.n_not_run, judge.mean, judge.input_tokens, judge.output_tokens
    )  # fmt: skip
