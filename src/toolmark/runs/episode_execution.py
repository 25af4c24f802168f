"""Plays one episode: its trajectory, or the failure where it is not run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from toolmark.agents.simulated_user import UserWithGoal
from toolmark.core.canary import RequestGuard
from toolmark.core.environment import (
    Environment,
    EnvironmentFactory,
    EnvironmentWithUser,
    check_environment,
)
from toolmark.core.errors import EndpointError, ToolEnvironmentError, ToolmarkError, failure_of
from toolmark.core.failure import ENDPOINT_KINDS, Failure, Stage
from toolmark.core.model import Control, Model, adapt_function
from toolmark.core.records import Reply, Sampling, Step, Task, ToolFormat, Trajectory, UnusedReply
from toolmark.runs.episode_time_limit import EpisodeModel, EpisodeTimeout, TimeLimit
from toolmark.runs.suite import Suite
from toolmark.runs.variations.own_names import restore_task
from toolmark.runs.variations.varied_episode import show_names_to_control, vary_environment


@dataclass(slots=True)
class EpisodeProgress:
    """An episode in progress: how far it came and, where it is not run, why.

    `replies` are all that its model and its user gave, each with the stage.
    """

    task: Task
    repeat: int
    stage: Stage = "environment"
    failure: Failure | None = None
    steps: list[Step] = field(default_factory=list)
    replies: list[tuple[Stage, Reply]] = field(default_factory=list)

    def find_unused_replies(self) -> tuple[UnusedReply, ...]:
        """Return what was replied and is in no step."""
        used = Counter(
            ("model", reply.usage, reply.from_cache)
            for step in self.steps
            for reply in step.model_replies
        )
        said = (said for step in self.steps for said in (step.opening, step.ruling) if said)
        used.update(("user", each.usage, each.from_cache) for each in said)
        unused = []
        for stage, reply in self.replies:
            key = stage, reply.usage, reply.from_cache
            used[key] -= 1
            if used[key] < 0:
                by: Literal["model", "user"] = "user" if stage == "user" else "model"
                unused.append(
                    UnusedReply(
                        by=by, usage=reply.usage, stop=reply.stop, from_cache=reply.from_cache
                    )
                )
        return tuple(unused)


class EpisodeSetting(NamedTuple):
    """What episodes are played with; `tool_format` is for tasks that name none.

    `user_model` speaks for the simulated user of a suite that has one.
    """

    suite: Suite
    environment_factory: EnvironmentFactory
    model: Model
    tool_format: ToolFormat
    sampling: Sampling
    time_limit_s: float | None = None
    user_model: Model | None = None


async def play_episode(
    episode: EpisodeProgress,
    setting: EpisodeSetting,
    store: Callable[[Trajectory], None],
    setup_states: Mapping[str, Any] | None = None,
) -> bool:
    """Play an episode and pass it to `store`. Return False and set `failure` where it is not run.

    Raises ToolmarkError for errors that are not specific to this episode: usage, a full disk.
    """
    task = episode.task
    limit = TimeLimit(setting.time_limit_s)
    try:
        if setting.suite.maker.failure and (reason := setting.suite.maker.failure(task)):
            episode.failure = Failure(stage="preparation", kind="preparation", message=reason)
            return False
        tool_format = (
            setting.suite.tool_formats[task.tool_format]
            if task.tool_format
            else setting.tool_format
        )
        model = setting.model
        if isinstance(model, Control):
            bound = adapt_function(model.bind(restore_task(task), episode.repeat))
            bound = show_names_to_control(bound, task)
            model = setting.suite.defaults.agent.adapt_control(bound, tool_format)
        elif model.calls_natively:
            model, tool_format = setting.suite.defaults.agent.adapt_native(model, tool_format)
        episode_model = EpisodeModel(model, limit, RequestGuard(task.tools), episode.replies)
        async with (
            limit,
            setting.environment_factory.open_environment(
                restore_task(task), setup_states or {}
            ) as environment,
        ):
            check_environment(environment)
            environment = vary_environment(environment, task)
            environment = _add_user(environment, episode, setting, limit)
            episode.stage = "agent"
            trajectory = await setting.suite.defaults.agent(
                task,
                episode_model,
                tool_format,
                environment,
                setting.sampling,
                episode.repeat,
                steps=episode.steps,
            )
            episode.stage = "environment"
        episode.stage = "store"
        store(trajectory)
        return True
    except EpisodeTimeout as timeout:  # the breaker counts it where the endpoint was waited for
        episode.failure = failure_of(timeout, timeout.stage)
    except EndpointError as error:
        episode.failure = failure_of(error, "model")
    except (
        ToolEnvironmentError
    ) as error:  # specific to one tool: the breaker watches only the endpoint
        episode.failure = failure_of(error, "environment")
    except ToolmarkError:
        raise
    except Exception as error:  # a bug in toolmark or in a suite must not end a long run
        episode.failure = failure_of(error, episode.stage)
    except BaseException as error:
        if _ends_the_run(error):
            raise
        episode.failure = failure_of(error, episode.stage)
    return False


def _ends_the_run(error: BaseException) -> bool:
    """Return whether an error comes from outside: Ctrl-C, or the run that is stopped.

    The user's code may raise SystemExit and CancelledError too; that ends its episode only.
    """
    if isinstance(error, asyncio.CancelledError):
        running = asyncio.current_task()
        return running is None or running.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


def _add_user(
    environment: Environment, episode: EpisodeProgress, setting: EpisodeSetting, limit: TimeLimit
) -> Environment:
    """Return the environment with the suite's simulated user, where there is one."""
    description, model = setting.suite.environment.user, setting.user_model
    if description is None or model is None:
        return environment
    name = model.name
    if isinstance(model, Control):
        model = adapt_function(model.bind(episode.task, episode.repeat))
    asked = EpisodeModel(model, limit, RequestGuard(), episode.replies, "user")
    user = UserWithGoal(description, asked, name, episode.repeat)
    return EnvironmentWithUser(environment, user)


def counts_for_breaker(failure: Failure) -> bool:
    """Return whether the model under test or the simulated user failed.

    A time limit counts too where an endpoint was waited for when the time was over.
    """
    if failure.kind == "time_limit":
        return failure.stage == "model"
    return failure.kind in ENDPOINT_KINDS or failure.kind in ("user", "budget")
