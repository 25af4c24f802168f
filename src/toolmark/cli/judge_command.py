"""`toolmark judge`: have judge models rate the episodes of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes, rate_options
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.number_format import pluralize
from toolmark.models.connection_defaults import (
    DEFAULT_CONNECTIONS,
    DEFAULT_RETRIES,
    TIMEOUT_S,
)
from toolmark.reports.table_format import render_text, visible_text

if TYPE_CHECKING:
    from toolmark.judging.panel_findings import PanelFindings
    from toolmark.runs.judging_plan import JudgingPlan
    from toolmark.runs.run_store import Run
    from toolmark.runs.suite import Scorer

out = consoles.stdout_console()
err = consoles.stderr_console()

Judges = Annotated[
    list[str],
    options.option("-j", "--judge-model", metavar="MODEL", help="A judge; repeat it for a panel."),
]
Kinds = Annotated[
    str,
    options.option(
        "--kind", metavar="KINDS", help="Of what the suite asks judges, by a comma; default: all."
    ),
]
ShowPictures = Annotated[bool, options.option("--see", help="Show judges the task's pictures.")]


def judge(
    path: options.RunPath,
    judge_model: Judges,
    kind: Kinds = "",
    pictures: ShowPictures = False,
    base_url: options.BaseUrl = None,
    header: options.Headers = None,
    max_connections: options.RequestsPerModel = DEFAULT_CONNECTIONS,
    requests_per_minute: rate_options.RequestsPerMinute = None,
    tokens_per_minute: rate_options.TokensPerMinute = None,
    max_retries: options.Retries = DEFAULT_RETRIES,
    timeout: options.Timeout = TIMEOUT_S,
    cache: options.CacheDir = None,
    as_json: options.AsJson = False,
) -> None:
    """Have judge models rate the episodes of a run, then score it anew."""
    import uvloop

    from toolmark import api
    from toolmark.cli import progress_display
    from toolmark.judging import panel_findings
    from toolmark.suites import judge_models, run_scorers

    run = api.open_run(path)
    scorer = run_scorers.scorer_for_run(run)
    plan = _judging_plan(run, scorer, kind, shows_pictures=pictures)
    judges = judge_models.name_judges(judge_model, base_url)
    settings = options.connection_settings(
        judge_model, base_url=base_url, header=header, max_connections=max_connections,
        max_retries=max_retries, timeout=timeout, cache=cache,
        requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute,
    )  # fmt: skip
    with progress_display.show_progress(err, f"judge {len(judges)} models") as watch:
        summary = uvloop.run(judge_models.rejudge_run(run, scorer, plan, judges, settings, watch))
    found = panel_findings.panel_findings(run, list(plan.forms))
    if as_json:
        options.print_json({"judged": found, "summary": summary})
    else:
        _print_findings(run, found, summary)
    exit_codes.end_command(not_run=_missing_judgements(found))


def _missing_judgements(found: list[PanelFindings]) -> str:
    """Say what judges did not answer, or which episodes have no number; "" for neither."""
    if n_judgements := sum(judge.n_not_run for each in found for judge in each.judges):
        return f"{pluralize(n_judgements, 'judgement')} not made"
    n_episodes = max((each.n_not_run for each in found), default=0)
    return f"{pluralize(n_episodes, 'episode')} without a judged number" if n_episodes else ""


def _judging_plan(run: Run, scorer: Scorer, kinds: str, *, shows_pictures: bool) -> JudgingPlan:
    """Return what judges are asked. Raises UsageError where this run cannot be judged so."""
    from toolmark.suites import judge_models

    plan = judge_models.check_judging(run, scorer)
    words = dict.fromkeys(word.strip() for word in kinds.split(",") if word.strip())
    if kinds and not words:
        raise UsageError(f"--kind: name one{suggest_names('', plan.forms)}")
    return (plan.show_pictures() if shows_pictures else plan).select_kinds(list(words))


def _print_findings(run: Run, found: list[PanelFindings], summary: Mapping[str, Any]) -> None:
    from toolmark.cli import console_output
    from toolmark.judging import panel_findings

    for table in panel_findings.make_tables(found):
        out.print(render_text(table) + "\n", markup=False, highlight=False, soft_wrap=True)
    for each in found:
        for judge in each.judges:
            if judge.failure is not None:
                why = judge.failure.summary[:200]
                line = f"  {each.kind}, not run, {judge.judge}: {why}"
                out.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)
    console_output.print_summary(out, summary)
    if any(judge.n_not_run for each in found for judge in each.judges):
        out.print("  next: give the same command again to ask what is missing", highlight=False)
    step = f"  next: {consoles.shell_command('report', run.path)}"
    out.print(visible_text(step), markup=False, highlight=False, soft_wrap=True)
    console_output.print_stale_report_note(out, run.path)
