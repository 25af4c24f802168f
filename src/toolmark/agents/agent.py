"""What drives a model through an episode: the base class of agents."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from toolmark.core.environment import Environment
from toolmark.core.media import MediaStore
from toolmark.core.model import DelegatingModel, Model
from toolmark.core.records import Reply, Request, Sampling, Step, Task, ToolFormat, Trajectory


class Agent:
    """Drives a model through one episode: `ToolLoop`, or an `agents.executor.Executor`.

    `has_user`: it gives replies without calls to the user of the environment.
    `takes_native_models`: a model with `calls_natively` can play with it.
    """

    has_user: bool = False
    takes_native_models: bool = True

    def __call__(
        self,
        task: Task,
        model: Model,
        tool_format: ToolFormat,
        environment: Environment,
        sampling: Sampling,
        repeat: int = 0,
        *,
        steps: list[Step] | None = None,
    ) -> Coroutine[Any, Any, Trajectory]:
        """Play the episode; `async def` in a subclass.

        Steps are appended to `steps` as they happen.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    def bind_media(self, media: MediaStore) -> Agent:
        """Return the agent with the pictures and recordings of a run."""
        return self

    def needs_one_reply(self, task: Task) -> bool:
        """Return whether an episode of the task is one request, whatever the model replies."""
        return False

    def adapt_control(self, control: Model, tool_format: ToolFormat) -> Model:
        """Return a control as this agent can ask it: its calls are written in the tool format."""
        return control if tool_format.name == "native" else FormattedControl(control, tool_format)

    def adapt_native(self, model: Model, tool_format: ToolFormat) -> tuple[Model, ToolFormat]:
        """Return a model with `calls_natively`, and the tool format, as they fit in one episode."""
        return model, tool_format


class FormattedControl(DelegatingModel):
    """A control whose calls are written in a tool format, as a model would write them."""

    def __init__(self, control: Model, tool_format: ToolFormat) -> None:
        super().__init__(control)
        self.tool_format = tool_format

    async def __call__(self, request: Request, /) -> Reply:
        """Return the control's reply, its calls as text."""
        reply = await self.model(request)
        return self.tool_format.render_calls(reply.calls) if reply.calls else reply
