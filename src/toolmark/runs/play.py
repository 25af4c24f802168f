"""One episode, played: what it comes to, and why where it is not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolmark import canary
from toolmark.errors import EndpointError, ToolmarkError, WorldError, failure_of
from toolmark.failure import ENDPOINT, Failure, Stage
from toolmark.runs.limit import Limit, Overdue
from toolmark.runs.suite import Agent, Pacing, Suite
from toolmark.types import (
    Dialect,
    Instrument,
    Model,
    Reply,
    Request,
    Sampling,
    Site,
    Step,
    Task,
    Trajectory,
)


@dataclass(slots=True)
class Episode:
    """An episode under way: how far it came and, where it is not run, why."""

    task: Task
    repeat: int
    stage: Stage = "environment"
    failure: Failure | None = None
    steps: list[Step] = field(default_factory=list)


class Cast(NamedTuple):
    """Who plays, where, and how long at most; `dialect` is for tasks that fix none."""

    suite: Suite
    site: Site
    model: Model | Instrument
    dialect: Dialect
    sampling: Sampling
    time_limit_s: float | None = None


async def play(
    episode: Episode,
    cast: Cast,
    keep: Callable[[Trajectory], None],
    needed: Mapping[str, Any] | None = None,
) -> bool:
    """Play an episode and hand it to `keep`; False where it is not run, which it then tells.

    Raises ToolmarkError for what is not this episode's affair: usage, a disk that takes no more.
    """
    task = episode.task
    limit = Limit(cast.time_limit_s)
    try:
        if cast.suite.broken and (why := cast.suite.broken(task)):
            episode.failure = Failure(stage="preparation", kind="preparation", message=why)
            return False
        dialect = cast.suite.dialects[task.dialect] if task.dialect else cast.dialect
        model = cast.model
        if hasattr(model, "bind"):  # an Instrument; checking a protocol costs more
            model = bound(model.bind(task, episode.repeat), dialect, cast.suite.agent)
        asked = canary.guarded(limit.watched(model), task.tools)
        async with limit, cast.site.world(task, needed or {}) as world:
            episode.stage = "agent"
            trajectory = await cast.suite.agent(
                task, asked, dialect, world, cast.sampling, episode.repeat, steps=episode.steps
            )
            episode.stage = "environment"
        episode.stage = "store"
        keep(trajectory)
        return True
    except Overdue as late:  # the breaker counts it where the endpoint was waited for
        episode.failure = failure_of(late, late.stage)
    except EndpointError as error:
        episode.failure = failure_of(error, "model")
    except WorldError as error:  # one tool's affair: the breaker watches the endpoint only
        episode.failure = failure_of(error, "environment")
    except ToolmarkError:
        raise
    except Exception as error:  # a fault of ours, or of a suite, must not end a long run
        episode.failure = failure_of(error, episode.stage)
    return False


def bound(player: Model, dialect: Dialect, agent: Agent) -> Model:
    """Return an instrument's player as the agent asks it; its calls are in the dialect's words."""
    if isinstance(agent, Pacing):
        return agent.paced(player)

    async def spoken(request: Request, /) -> Reply:
        reply = await player(request)
        return dialect.write(reply.calls) if reply.calls else reply

    return player if dialect.name == "native" else spoken


def counts_for_breaker(failure: Failure) -> bool:
    """Tell whether a model failed that is asked for it: the one that plays, or the simulated user.

    So it is too where an endpoint was waited for when the time was over.
    """
    if failure.kind == "time_limit":
        return failure.stage == "model"
    return failure.kind in ENDPOINT or failure.kind == "user"
