"""Runs that are asked in batches: which can be, and how many episodes wait together."""

from __future__ import annotations

from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.models.batches.batched_endpoint import batch_limits
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_settings import Connection
from toolmark.runs.runner import Progress, ProgressWatcher
from toolmark.runs.suite import Suite
from toolmark.runs.task_selection import select_tasks

_STEP = "next: leave out --batch"


def check_batch_run(
    suite: Suite, plan: Plan, connection: Connection, time_limit_s: float | None = None
) -> None:
    """Raise UsageError, before anything is asked, for a run that cannot be asked in batches.

    A batch answers each request once, hours later. So an episode must be one request, whatever the
    model replies.
    """
    if not connection.batch:
        return
    if connection.stream:
        raise UsageError("--batch gets whole replies; next: leave out --stream or --batch")
    if connection.replay_only:
        raise UsageError(f"--replay-only asks no model, also not in batches; {_STEP}")
    if time_limit_s is not None:
        raise UsageError(
            "--time-limit would end the episodes while they wait for their batch, which may take a "
            "day; next: leave out --time-limit or --batch"
        )
    if connection.requests_per_minute is not None or connection.tokens_per_minute is not None:
        raise UsageError(
            "limits per minute do not count for a batch, which the provider answers at its own "
            "pace; next: leave out --requests-per-minute and --tokens-per-minute, or --batch"
        )
    if not plan.wire:
        raise UsageError(f"{plan.model} is no endpoint of a provider with batches; {_STEP}")
    batch_limits(plan.wire)
    _check_suite(suite, plan)


def _check_suite(suite: Suite, plan: Plan) -> None:
    if suite.environment.user is not None or suite.environment.answers_replies:
        raise UsageError(
            f"suite {suite.name!r} has a simulated user, who answers the model's replies, and a "
            f"batch answers one request of an episode; {_STEP}, or have nobody answer (-T)"
        )
    for task in select_tasks(suite, plan, suite.provenance.seed):
        is_alone = task.kind == "scored" and not task.needs
        if not (is_alone and suite.defaults.agent.needs_one_reply(task)):
            raise UsageError(
                f"task {task.id} may take several replies, and a batch answers one request of an "
                "episode; next: leave out --batch, or choose tasks of one reply by -T or --ids"
            )


def count_slots(plan: Plan, connection: Connection) -> int:
    """Return how many episodes are in flight at most: in batches, those of a full one."""
    return batch_limits(plan.wire).n_items if connection.batch else connection.max_connections


def watch_activity(watch: ProgressWatcher | None, model: Model | None) -> ProgressWatcher | None:
    """Return a watcher that is also given what the model does that takes long."""
    if watch is None or model is None:
        return watch

    def watch_with_activity(progress: Progress) -> None:
        progress.activity = model.activity
        watch(progress)

    return watch_with_activity
