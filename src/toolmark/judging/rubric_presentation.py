"""What readers see of a run that a judge model scored: numbers, judge, uncertainty."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import numpy as np

from toolmark.core.records import Table
from toolmark.judging import panel_findings
from toolmark.judging.rubric_question import RubricQuestion
from toolmark.models.model_family import model_family
from toolmark.runs import judge_panels
from toolmark.runs.run_store import Run
from toolmark.statistics.label_formulas import FEWEST_LABELS, PredictionPoweredMean
from toolmark.statistics.metric_formulas import Mean, Metric
from toolmark.statistics.score_columns import Columns

LABEL_PART = "label"
SENSITIVITY_PART = "judge_sensitivity"
SPECIFICITY_PART = "judge_specificity"
DISAGREEMENT_PART = "order_disagreement"


def list_metrics(question: RubricQuestion, columns: Columns) -> list[Metric]:
    """Return the headline, what labels say of the judge, and how often its two orders differ.

    The displayed name of the headline says whether labels correct it. With labels it is a pass rate
    on every scale, since people label episodes as pass or fail.
    """
    n_labels = _count_labels(columns)
    title = "pass rate by judge, " if question.scale == "pass" else "mean score by judge, "
    if n_labels >= FEWEST_LABELS:
        title = f"pass rate by judge, corrected by {n_labels} labels"
    else:
        title += "uncalibrated"
    name = "judged_pass_rate" if question.scale == "pass" else "judged_score"
    found = [Metric(name, PredictionPoweredMean(label_part=LABEL_PART), title)]
    if n_labels:
        found += [
            Metric(SENSITIVITY_PART, Mean(part=SENSITIVITY_PART), "judge passes what people pass"),
            Metric(SPECIFICITY_PART, Mean(part=SPECIFICITY_PART), "judge fails what people fail"),
        ]
    if question.swap_order:
        title = "judge's verdict differs by order"
        if question.scale == "points":
            title = "judge's score differs by order, mean"
        part = Mean(part=DISAGREEMENT_PART)
        found.append(Metric(DISAGREEMENT_PART, part, title, lower_is_better=True))
    return found


def _count_labels(columns: Columns) -> int:
    return int((columns.run & ~np.isnan(columns.part(LABEL_PART))).sum())


def describe_cautions(columns: Columns, run: Run) -> str:
    """Return what a reader must know before the number, "" where there is nothing."""
    return "; ".join(_list_cautions(columns, run))


def _list_cautions(columns: Columns, run: Run) -> Iterator[str]:
    if not columns.run.any():
        return
    n_labels = _count_labels(columns)
    if n_labels < FEWEST_LABELS:
        yield (
            f"uncalibrated: {n_labels} of the {FEWEST_LABELS} labels of people that are needed to "
            f"correct the judge; next: toolmark review {shlex.quote(str(run.path))} --labels"
        )
    family = model_family(run.info.plan.model)
    judges = _judge_names(run)
    relatives = [name for name in judges if family and model_family(name) == family]
    if relatives:
        yield (
            f"the judge {', '.join(relatives)} is of the family of the judged model ({family}): "
            "judges favour their own family"
        )
    for name, served in _served_models(run).items():
        if len(served) > 1:
            yield f"the judge {name} was served by several versions: {', '.join(served)}"


def _judge_names(run: Run) -> list[str]:
    """Return the judges of all panels."""
    panels = judge_panels.read_panels(run).values()
    return list(dict.fromkeys(name for panel in panels for name in panel.judges))


def _served_models(run: Run) -> dict[str, list[str]]:
    """Return what the endpoints say that answered, by judge, for the judgements that count."""
    found: dict[str, set[str]] = {}
    for by_judge in judge_panels.panel_judgements(run).values():
        for name, judgement in by_judge.items():
            if judgement.value is not None:
                found.setdefault(name, set()).add(judgement.served_model)
    return {name: sorted(served - {""}) for name, served in found.items()}


def judging_tables(question: RubricQuestion, run: Run) -> list[Table]:
    """Return the tables of the judges and what they were asked; empty if no judge was asked."""
    kinds = [kind for kind in question.kinds() if kind in judge_panels.read_panels(run)]
    if not kinds:
        return []
    served = _served_models(run)
    rows = [
        (name, ", ".join(served.get(name, ())) or None, model_family(name) or None)
        for name in _judge_names(run)
    ]
    rubric = " ".join(f"({n}) {point}" for n, point in enumerate(question.criteria, 1))
    asked = Table(
        title="Judge models",
        head=("judge", "answered as", "family"),
        rows=tuple(rows),
        note=f"Scale: {question.scale}. Shown: {', '.join(question.show)}. Rubric: {rubric}",
    )
    return [asked, *panel_findings.make_tables(panel_findings.panel_findings(run, kinds))]
