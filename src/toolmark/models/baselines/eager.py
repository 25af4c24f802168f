"""A baseline that does not plan: it calls whatever can be called until the target turns up."""

from __future__ import annotations

from toolmark.models.baselines import planner
from toolmark.types import Reply, Request


class Eager:
    """Calls, round by round, every function whose inputs are known, needed or not."""

    name = "baseline/eager"
    hears = False

    async def __call__(self, request: Request, /) -> Reply:
        """Make every possible call that has not been made, else answer."""
        problem = planner.read(request)
        return planner.move(problem, problem.functions)
