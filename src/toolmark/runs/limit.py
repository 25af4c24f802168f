"""How long an episode may take: one that takes longer is left, and is not run."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from types import TracebackType

from toolmark.errors import ToolmarkError, mark
from toolmark.failure import Kind, Stage
from toolmark.types import Model, Reply, Request

CLOSING_S = 30.0  # that the world of an overdue episode has for its own closing


class Overdue(ToolmarkError):
    """An episode took longer than it may. `stage` is what it waited for just then."""

    kind: Kind = "time_limit"

    def __init__(self, limit_s: float, stage: Stage) -> None:
        super().__init__(f"took longer than {limit_s:g} s")
        self.stage = stage


class Limit:
    """A context that is cancelled from within once it has lasted `limit_s`; None lets it last.

    Then it raises Overdue, whatever its body made of being cancelled; what cancels it from
    without passes. A body that does not end by itself when it is cancelled is cancelled again
    after CLOSING_S.
    """

    def __init__(self, limit_s: float | None) -> None:
        self.limit_s = limit_s
        self.stage: Stage = "environment"
        self._stack = AsyncExitStack()
        self._due: asyncio.Timeout | None = None

    def watched(self, model: Model) -> Model:
        """Return the model such that it is known when it is waited for, and what it raised."""

        async def asked(request: Request, /) -> Reply:
            self.stage = "model"
            try:
                reply = await model(request)
            except Exception as error:
                mark(error, "model")
                raise
            self.stage = "environment"
            return reply

        return asked

    async def __aenter__(self) -> Limit:
        """Begin to count."""
        if self.limit_s is not None:
            await self._stack.enter_async_context(asyncio.timeout(self.limit_s + CLOSING_S))
            self._due = await self._stack.enter_async_context(asyncio.timeout(self.limit_s))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise Overdue where the time was over before the body was done."""
        if self.limit_s is None or self._due is None:
            return
        left = kind is None or issubclass(kind, Exception)  # None: cancelled, it ended as if done
        try:
            await self._stack.__aexit__(kind, error, trace)
        except TimeoutError:
            left = True
        if left and self._due.expired():
            raise Overdue(self.limit_s, self.stage) from None
