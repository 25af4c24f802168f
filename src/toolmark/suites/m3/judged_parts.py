"""The judged parts of M3's verdicts, and the tables of the judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from toolmark.core.records import Table
from toolmark.judging import panel_findings
from toolmark.runs import judge_panels
from toolmark.runs.run_store import Run
from toolmark.suites.m3.judge_questions import JUDGEMENT_KINDS

JudgedParts: TypeAlias = dict[str, float]


def judged_parts(run: Run, rules: Sequence[str]) -> dict[tuple[str, int], dict[str, JudgedParts]]:
    """Return the judged parts of each episode that has any, by (task, repeat), then by rule."""
    panels = judge_panels.read_panels(run)
    parts: dict[tuple[str, int], dict[str, JudgedParts]] = {}
    for (task, repeat, kind), judgements in judge_panels.panel_judgements(run).items():
        if kind not in JUDGEMENT_KINDS:
            continue
        number = panel_findings.panel_rating(judgements.values(), panels[kind])
        if number is None:
            continue
        for rule in JUDGEMENT_KINDS[kind].rules or rules:
            episode_parts = parts.setdefault((task, repeat), {}).setdefault(rule, {})
            episode_parts[JUDGEMENT_KINDS[kind].part] = number
    return parts


def judging_tables(run: Run) -> list[Table]:
    """Return the tables of judges and their agreement; empty if the run was not judged."""
    kinds = [kind for kind in JUDGEMENT_KINDS if kind in judge_panels.read_panels(run)]
    found = panel_findings.panel_findings(run, kinds)
    return panel_findings.make_tables(found) if kinds else []
