"""`toolmark judge`: have judge models rate the episodes of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated, Any

from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes
from toolmark.core import secrets
from toolmark.core.errors import UsageError, suggest_names
from toolmark.models.connection_defaults import (
    DEFAULT_CONNECTIONS,
    DEFAULT_RETRIES,
    TIMEOUT_S,
)
from toolmark.reports.table_format import pluralize, render_text, visible_text

if TYPE_CHECKING:
    from toolmark.core.model import Model
    from toolmark.runs import judge_panels
    from toolmark.runs.run_store import Run
    from toolmark.suites.m3.judge_panel import PanelFindings

out = consoles.stdout_console()
err = consoles.stderr_console()
JUDGED_SUITES = ("m3", "m3-local")

Judges = Annotated[
    list[str],
    options.option("-j", "--judge", metavar="MODEL", help="A judge; repeat it, 3 or more."),
]
Kinds = Annotated[
    str,
    options.option("--kind", metavar="KINDS", help="Of completion, grounding, steps, by a comma."),
]
ShowPictures = Annotated[bool, options.option("--see", help="Show judges the task's pictures.")]


def judge(
    path: options.RunPath,
    judge: Judges,
    kind: Kinds = "completion,grounding,steps",
    pictures: ShowPictures = False,
    base_url: options.BaseUrl = None,
    header: options.Headers = None,
    max_connections: options.RequestsPerModel = DEFAULT_CONNECTIONS,
    max_retries: options.Retries = DEFAULT_RETRIES,
    timeout: options.Timeout = TIMEOUT_S,
    cache: options.CacheDir = None,
    as_json: options.AsJson = False,
) -> None:
    """Have judge models rate task completion and information grounding, then score anew."""
    import uvloop

    from toolmark import api
    from toolmark.core.media import MediaStore
    from toolmark.runs import run_finalization
    from toolmark.runs.damaged_files import check_files
    from toolmark.runs.record_files import lock_folder
    from toolmark.runs.run_store import RUN_FILES
    from toolmark.suites import run_scorers
    from toolmark.suites.m3 import judge_panel, judge_questions

    run = api.open_run(path)
    kinds = _parse_kinds(kind, judge_questions.JUDGEMENT_KINDS)
    _check_judging(run, judge)
    names = {_judge_name(name, base_url): name for name in judge}
    if len(names) < len(judge):
        raise UsageError("judges of one name at one address: with --base-url each needs its own")
    settings = options.connection_settings(
        judge, base_url=base_url, header=header, max_connections=max_connections,
        max_retries=max_retries, timeout=timeout, cache=cache,
    ) | {"media": MediaStore(run.path / "media")}  # fmt: skip
    forms = {name: judge_questions.form_hash(name, shows_pictures=pictures) for name in kinds}
    with lock_folder(run.path):
        run.verify()
        check_files(run.path, RUN_FILES)
        uvloop.run(
            _collect_judgements(
                run, names, forms, judge_questions.make_asker(shows_pictures=pictures), settings
            )
        )
        summary = run_finalization.rescore_locked_run(run, run_scorers.scorer_for_run(run))
    found = judge_panel.panel_findings(run, kinds)
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


def _parse_kinds(text_of_kinds: str, known: Iterable[str]) -> list[str]:
    kinds = list(dict.fromkeys(word.strip() for word in text_of_kinds.split(",") if word.strip()))
    for name in kinds:
        if name not in known:
            raise UsageError(f"--kind: no judgement {name!r}{suggest_names(name, known)}")
    if not kinds:
        raise UsageError(f"--kind: name one{suggest_names('', known)}")
    return kinds


def _check_judging(run: Run, judges: list[str]) -> None:
    suite = run.info.plan.suite
    if suite not in JUDGED_SUITES:
        raise UsageError(
            f"{run.path}: a run of {suite!r}; judged are runs of {', '.join(JUDGED_SUITES)}"
        )
    duplicate = next((name for name in judges if judges.count(name) > 1), None)
    if duplicate is not None:
        raise UsageError(
            f"--judge {secrets.mask_model_spec(duplicate)} is given twice; a judge has one voice"
        )
    if not run.completed_episodes():
        raise UsageError(f"{run.path}: no completed episode yet; run it first")


def _judge_name(name: str, base_url: str | None) -> str:
    """Return a judge's name; of one that is asked elsewhere than usual, the address is part."""
    from toolmark.models.model_resolver import public_model_address

    location = public_model_address(name, base_url) if base_url else ""
    return f"{location}#{name.partition('/')[2]}" if location else secrets.mask_model_spec(name)


async def _collect_judgements(
    run: Run,
    judges: Mapping[str, str],
    forms: Mapping[str, str],
    ask: judge_panels.JudgeFunction,
    settings: dict[str, Any],
) -> None:
    from toolmark.cli import progress_display
    from toolmark.runs import judge_panels

    async with AsyncExitStack() as stack:
        models = {name: await open_model(stack, judges[name], settings) for name in judges}
        with progress_display.show_progress(err, f"judge {len(judges)} models") as watch:
            await judge_panels.collect_judgements(
                run, models, forms, ask, n_concurrent=settings["max_connections"], watch=watch
            )


async def open_model(stack: AsyncExitStack, name: str, settings: Mapping[str, Any]) -> Model:
    """Return the model of that name, closed with the stack. Raises UsageError for controls."""
    from toolmark.core.model import Control
    from toolmark.suites.model_registry import make_model

    model = make_model(name, **settings)
    if isinstance(model, Control):
        raise UsageError(f"{name} is a control, which sees the reference; name a model")
    stack.push_async_callback(model.close)
    return model


def _print_findings(run: Run, found: list[PanelFindings], summary: Mapping[str, Any]) -> None:
    from toolmark.cli import console_output
    from toolmark.suites.m3 import judge_panel

    for table in judge_panel.make_tables(found):
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
