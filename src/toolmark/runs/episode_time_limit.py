"""How long an episode may take: one that takes longer is abandoned, and is not run."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from types import TracebackType

from toolmark.core.call_time_limits import EpisodeTimeOver, limit_episode
from toolmark.core.canary import RequestGuard
from toolmark.core.errors import ToolmarkError, mark_stage
from toolmark.core.failure import Kind, Stage
from toolmark.core.model import DelegatingModel, Model
from toolmark.core.number_format import format_duration
from toolmark.core.records import Reply, Request

CLEANUP_LIMIT_S = 30.0  # extra time for the environment of an overdue episode to close


class EpisodeTimeout(ToolmarkError):
    """An episode took longer than its limit. `stage` is what it waited for at that time."""

    kind: Kind = "time_limit"

    def __init__(self, limit_s: float, stage: Stage) -> None:
        super().__init__(f"took longer than {format_duration(limit_s)}")
        self.stage = stage


class TimeLimit:
    """A context that is cancelled from within after `limit_s` seconds; None means no limit.

    It then raises EpisodeTimeout, whatever its body did when it was cancelled. Cancellation from
    outside propagates. A body that does not end when it is cancelled is cancelled again after
    CLEANUP_LIMIT_S.
    """

    def __init__(self, limit_s: float | None) -> None:
        self.limit_s = limit_s
        self.stage: Stage = "environment"
        self._stack: AsyncExitStack | None = None
        self._deadline: asyncio.Timeout | None = None

    async def __aenter__(self) -> TimeLimit:
        """Start the time limit."""
        if self.limit_s is not None:
            limit_episode(self.limit_s)
            self._stack = stack = AsyncExitStack()
            await stack.enter_async_context(asyncio.timeout(self.limit_s + CLEANUP_LIMIT_S))
            self._deadline = await stack.enter_async_context(asyncio.timeout(self.limit_s))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise EpisodeTimeout where the time was over before the body was done."""
        if self.limit_s is None or self._stack is None or self._deadline is None:
            return
        # None: cancelled, it ended as if done
        has_ended = kind is None or issubclass(kind, Exception)
        try:
            await self._stack.__aexit__(kind, error, trace)
        except TimeoutError:
            has_ended = True
        # a function that blocks ends before the deadline can be noticed
        is_over = kind is not None and issubclass(kind, EpisodeTimeOver)
        if has_ended and (is_over or self._deadline.expired()):
            raise EpisodeTimeout(self.limit_s, self.stage) from None


class EpisodeModel(DelegatingModel):
    """The model of one episode, or the one that speaks for its user.

    It shows the time limit when it is waited for, and its errors are marked with its stage. The
    guard sees each request first. `replies` gets each reply with its stage.
    """

    def __init__(
        self,
        model: Model,
        limit: TimeLimit,
        guard: RequestGuard,
        replies: list[tuple[Stage, Reply]],
        stage: Stage = "model",
    ) -> None:
        super().__init__(model)
        self._replies = replies
        self._limit = limit
        self._guard = guard
        self._stage = stage

    async def __call__(self, request: Request, /) -> Reply:
        """Return the inner model's reply. Raises SandboxError where the guard does."""
        self._guard.check_request(request)
        self._limit.stage = self._stage
        try:
            reply = await self.model(request)
        except Exception as error:
            mark_stage(error, self._stage)
            raise
        self._limit.stage = "environment"
        self._replies.append((self._stage, reply))
        return reply
