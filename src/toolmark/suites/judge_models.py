"""The judge models of a run: named, opened, and asked about its episodes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from toolmark.core import secrets
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model, ReplyFunction
from toolmark.models import user_model
from toolmark.models.model_resolver import public_model_address
from toolmark.runs import judge_panels, run_finalization
from toolmark.runs.costs import run_prices
from toolmark.runs.damaged_files import check_files
from toolmark.runs.judging_plan import JudgingPlan
from toolmark.runs.record_files import lock_folder
from toolmark.runs.run_settings import Connection, model_settings
from toolmark.runs.run_store import RUN_FILES, Run
from toolmark.runs.runner import Progress, ProgressWatcher
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites.model_registry import make_model

JudgeModel: TypeAlias = str | ReplyFunction | type[Model]


def choose_judges(suite: Suite, named: Sequence[JudgeModel]) -> dict[str, JudgeModel]:
    """Return the judges of a run by name: those that are named, else the one of the suite.

    Raises UsageError where the suite needs a judge and has none, where it asks none and one is
    named, and where a task lacks what judges are meant to see.
    """
    plan = suite.scorer.judging
    if plan is None:
        if named:
            raise UsageError(f"suite {suite.name!r} asks no judge: leave out --judge-model")
        return {}
    chosen = list(named) or [plan.default_model] * bool(plan.default_model)
    if plan.is_required and not chosen:
        raise UsageError(
            f"suite {suite.name!r} is scored by a judge model: name one with --judge-model NAME, "
            "or judge_model= in Python"
        )
    if chosen:
        plan.check_task(next(iter(suite)))
    return name_judges(chosen, None)


def name_judges(judges: Sequence[JudgeModel], base_url: str | None) -> dict[str, JudgeModel]:
    """Return the judges by the names under which their answers are stored. Raises UsageError."""
    names: dict[str, JudgeModel] = {}
    for judge in judges:
        name = _judge_name(judge, base_url)
        if judge in names.values():
            raise UsageError(f"--judge-model {name} is given twice; a judge has one voice")
        if name in names:
            raise UsageError(
                "judges of one name at one address: with --base-url each needs its own"
            )
        names[name] = judge
    return names


def _judge_name(judge: JudgeModel, base_url: str | None) -> str:
    """Return a judge's name; of one that is asked elsewhere than usual, the address is part."""
    if not isinstance(judge, str):
        return user_model.identify_object(judge).name
    location = public_model_address(judge, base_url) if base_url else ""
    return f"{location}#{judge.partition('/')[2]}" if location else secrets.mask_model_spec(judge)


async def open_model(
    stack: AsyncExitStack, model: JudgeModel, settings: Mapping[str, Any]
) -> Model:
    """Return a model, closed with the stack. Raises UsageError for controls."""
    made = make_model(model, **settings)
    if isinstance(made, Control):
        raise UsageError(f"{model} is a control, which sees the reference; name a model")
    stack.push_async_callback(made.close)
    return made


async def open_judges(
    stack: AsyncExitStack, judges: Mapping[str, JudgeModel], settings: Mapping[str, Any]
) -> dict[str, Model]:
    """Return the judges by name, closed with the stack. Raises UsageError."""
    return {name: await open_model(stack, judge, settings) for name, judge in judges.items()}


async def judge_episodes(
    run: Run,
    plan: JudgingPlan,
    models: Mapping[str, Model],
    *,
    n_concurrent: int,
    watch: ProgressWatcher | None = None,
) -> Progress:
    """Ask the judges what they have not answered, in a folder that the caller has locked."""
    return await judge_panels.collect_judgements(
        run, models, plan.forms, plan.ask, rubric=plan.rubric, shown=plan.shown,
        n_concurrent=n_concurrent, watch=watch,
    )  # fmt: skip


async def rejudge_run(
    run: Run,
    scorer: Scorer,
    plan: JudgingPlan,
    judges: Mapping[str, JudgeModel],
    settings: Mapping[str, Any],
    watch: ProgressWatcher | None = None,
) -> dict[str, Any]:
    """Ask judges about the episodes of a stored run, score it again, and return the summary.

    `settings` are those of `make_model`, without the media store. Raises UsageError.
    """
    with lock_folder(run.path):
        run.verify_tasks()
        check_files(run.path, RUN_FILES)
        run_prices.record_judge_prices(run, judges, settings.get("base_url"))
        async with AsyncExitStack() as stack:
            media = {"media": MediaStore(run.path / "media")}
            models = await open_judges(stack, judges, {**settings, **media})
            await judge_episodes(
                run, plan, models, n_concurrent=settings["max_connections"], watch=watch
            )
        return run_finalization.rescore_locked_run(run, scorer)


def check_judging(run: Run, scorer: Scorer) -> JudgingPlan:
    """Return what judges are asked about a stored run. Raises UsageError where there is nothing."""
    if scorer.judging is None:
        raise UsageError(f"{run.path}: the suite {run.info.plan.suite!r} asks no judge")
    if not run.completed_episodes():
        raise UsageError(f"{run.path}: no completed episode yet; run it first")
    return scorer.judging


@asynccontextmanager
async def open_run_judges(
    path: Path,
    plan: JudgingPlan | None,
    judges: Mapping[str, JudgeModel],
    connection: Connection,
    watch: ProgressWatcher | None,
) -> AsyncIterator[Callable[[Run], Awaitable[object]] | None]:
    """Open the judges of a run in this folder, and yield what asks them; None without judges."""
    if plan is None or not judges:
        yield None
        return
    settings = model_settings(connection) | {"media": MediaStore(path / "media")}
    async with AsyncExitStack() as stack:
        models = await open_judges(stack, judges, settings)
        n = connection.max_connections
        yield partial(judge_episodes, plan=plan, models=models, n_concurrent=n, watch=watch)
