"""Players of the plain loop in the executor's rounds: test instruments and baselines."""

from __future__ import annotations

from toolmark.agents.wording import MARKS
from toolmark.dialects.staged import STAGED
from toolmark.types import Model, Reply, Request


class Paced:
    """Asks a player of the plain loop once per round, and says its reply phase by phase.

    A reply with calls becomes a plan that names their tools, then their JSON; whether there is
    more to do is known from the player's next reply, and a reply without calls is the answer.
    """

    def __init__(self, player: Model) -> None:
        self.player = player
        self.held: Reply | None = None

    async def __call__(self, request: Request, /) -> Reply:
        """Reply to a request of the executor."""
        match phase(request):
            case "plan":
                reply = await self._next(request)
                lines = [f"{call.name}: needed" for call in reply.calls]
                return Reply(text="\n".join(lines) or "No tool is needed.")
            case "process":
                reply = await self._next(request)
                self.held = None if reply.calls else reply
                return STAGED.write(reply.calls)
            case "decide":
                return Reply(text="no" if (await self._next(request)).calls else "yes")
            case _:
                reply = await self._next(request)
                self.held = None
                return Reply(text=reply.text, stop=reply.stop)

    async def _next(self, request: Request) -> Reply:
        if self.held is None:
            self.held = await self.player(request)
        return self.held


def phase(request: Request) -> str:
    """Return the phase that a request of the executor belongs to, "" if it is none of them."""
    text = request.messages[-1].text if request.messages else ""
    found = {name: text.rfind(mark) for name, mark in MARKS.items()}
    best = max(found, key=lambda name: found[name])
    return best if found[best] >= 0 else ""
