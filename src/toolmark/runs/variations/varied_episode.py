"""What an episode of a varied task acts on, and how a control plays it."""

from __future__ import annotations

from toolmark.core.environment import DelegatingEnvironment, Environment
from toolmark.core.model import DelegatingModel, Model
from toolmark.core.records import Call, Reply, Request, Result, Task, Text, Tool, Variation
from toolmark.runs.variations.own_names import restore_call, show_reply
from toolmark.runs.variations.tool_variations import order_tools, shorten_tool


class VariedEnvironment(DelegatingEnvironment):
    """An environment whose tools a task shows otherwise; calls reach it under its own names."""

    def __init__(self, environment: Environment, task: Task, variation: Variation) -> None:
        super().__init__(environment)
        self._task_id = task.id
        self._variation = variation

    async def tools(self) -> tuple[Tool, ...]:
        """Return no tools, so that the task's are offered; else those of a server, varied."""
        if self._variation.own_tools:
            return ()
        listed = await self.environment.tools()
        match self._variation.kind:
            case "tool_order":
                return tuple(order_tools(listed, self._variation.seed, self._task_id))
            case "descriptions":
                return tuple(map(shorten_tool, listed))
        return listed

    def tools_changed(self) -> bool:
        """Return whether the inner environment's tools may have changed, where they are offered."""
        return not self._variation.own_tools and self.environment.tools_changed()

    async def call(self, call: Call, /) -> Result:
        """Execute the call under its own name; a distractor has nothing to execute."""
        if call.name in self._variation.distractors:
            text = f"{call.name} is not available for this request."
            return Result(parts=(Text(text),), is_error=True)
        return await self.environment.call(restore_call(self._variation, call))


def vary_environment(environment: Environment, task: Task) -> Environment:
    """Return the environment of a task, around it what a variation changes."""
    variation = task.variation
    return environment if variation is None else VariedEnvironment(environment, task, variation)


class ControlWithShownNames(DelegatingModel):
    """A control that was bound to the suite's own task, and calls by the names that are shown."""

    def __init__(self, model: Model, variation: Variation) -> None:
        super().__init__(model)
        self._variation = variation

    async def __call__(self, request: Request, /) -> Reply:
        """Return the control's reply, with the names that are shown."""
        return show_reply(self._variation, await self.model(request))


def show_names_to_control(model: Model, task: Task) -> Model:
    """Return a control that was bound to the suite's own task, calling by the names shown."""
    variation = task.variation
    if variation is None or not variation.own_names:
        return model
    return ControlWithShownNames(model, variation)
