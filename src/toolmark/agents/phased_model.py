"""Models of the plain tool loop in the executor's rounds: controls and baselines."""

from __future__ import annotations

from toolmark.agents.executor_prompts import PHASE_MARKS
from toolmark.core.model import DelegatingModel, Model
from toolmark.core.records import Reply, Request
from toolmark.formats.executor_json import EXECUTOR_JSON_FORMAT


class PhasedModel(DelegatingModel):
    """Asks a model of the plain tool loop once per round, and gives its reply phase by phase.

    A reply with calls becomes a plan that names their tools, then their JSON. Whether there is more
    to do follows from the model's next reply. A reply without calls is the answer.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.pending_reply: Reply | None = None

    async def __call__(self, request: Request, /) -> Reply:
        """Reply to a request of the executor."""
        match phase_of_request(request):
            case "plan":
                reply = await self._next_reply(request)
                lines = [f"{call.name}: needed" for call in reply.calls]
                return Reply(text="\n".join(lines) or "No tool is needed.")
            case "process":
                reply = await self._next_reply(request)
                self.pending_reply = None if reply.calls else reply
                return EXECUTOR_JSON_FORMAT.render_calls(reply.calls)
            case "decide":
                return Reply(text="no" if (await self._next_reply(request)).calls else "yes")
            case _:
                reply = await self._next_reply(request)
                self.pending_reply = None
                return Reply(text=reply.text, stop=reply.stop)

    async def _next_reply(self, request: Request) -> Reply:
        if self.pending_reply is None:
            self.pending_reply = await self.model(request)
        return self.pending_reply


def phase_of_request(request: Request) -> str:
    """Return the phase of a request of the executor, "" for any other request."""
    text = request.messages[-1].text if request.messages else ""
    found = {name: text.rfind(mark) for name, mark in PHASE_MARKS.items()}
    best = max(found, key=lambda name: found[name])
    return best if found[best] >= 0 else ""
