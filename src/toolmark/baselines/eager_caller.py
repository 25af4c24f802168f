"""A baseline that does not plan: it calls whatever can be called until the target is known."""

from __future__ import annotations

from toolmark.baselines import backward_planner
from toolmark.core.model import Model
from toolmark.core.records import Reply, Request


class EagerCaller(Model):
    """Calls, round by round, every function whose inputs are known, needed or not."""

    name = "baseline/eager"
    calls_natively = True
    accepts_audio = False

    async def __call__(self, request: Request, /) -> Reply:
        """Make every possible call that has not been made, else answer."""
        problem = backward_planner.parse_problem(request)
        return backward_planner.next_reply(problem, problem.functions)
