"""An agent of the user's own as an Agent: `async def my_agent(session)`."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from toolmark.agents.agent_session import AgentFunction, SessionModel, SessionPlayer
from toolmark.agents.tool_loop import ToolLoop, merge_sampling, run_tool_loop
from toolmark.core.called_code import CodeHolder
from toolmark.core.environment import Environment
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Sampling, Step, Task, ToolFormat, Trajectory
from toolmark.core.token_counts import sum_usage
from toolmark.formats.native_format import NATIVE_FORMAT


class FunctionAgent(ToolLoop, CodeHolder):
    """Plays an episode with a function, whose calls and replies drive the tool loop.

    The function makes its calls as records: it is asked in the native tool format whatever the
    run's is. The model that it may ask is the run's.
    """

    def __init__(self, function: AgentFunction, media: MediaStore | None = None) -> None:
        self.function = function
        self.media = media

    def called_code(self) -> tuple[Any, ...]:
        """Return the function: a run's identity has the hash of its module."""
        return (self.function,)

    def bind_media(self, media: MediaStore) -> FunctionAgent:
        """Return the agent with the pictures and recordings of a run."""
        return FunctionAgent(self.function, media)

    async def __call__(
        self,
        task: Task,
        model: Model,
        tool_format: ToolFormat,
        environment: Environment,
        sampling: Sampling,
        repeat: int = 0,
        *,
        steps: list[Step] | None = None,
    ) -> Trajectory:
        """Play the episode. Raises what the function raises."""
        played: list[Step] = [] if steps is None else steps
        asked = SessionModel(model, merge_sampling(sampling, task.sampling), repeat)
        player = SessionPlayer(self.function, asked, played, self.media)
        try:
            found = await run_tool_loop(
                task, player, NATIVE_FORMAT, environment, sampling, repeat, steps=played
            )
        finally:
            await player.close()
            played[:] = player.add_asked(played)
        replies = [reply for step in played for reply in step.model_replies]
        return replace(
            found,
            steps=tuple(played),
            usage=sum_usage([reply.usage for reply in replies]),
            latency_s=sum(reply.latency_s for reply in replies),
        )
