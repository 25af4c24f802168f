"""What an episode acts on: the base classes of environments, of their factories, of wrappers."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from inspect import getattr_static
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.function_tools import FunctionTool, find_tools, is_marked
from toolmark.core.records import Call, Message, Result, Ruling, Step, Task, Text, Tool


class SimulatedUser:
    """The `user` of an Environment; raises EndpointError if a model that it asks does not answer.

    It limits its own answers in one turn: the tool loop does not count them.
    """

    async def open_conversation(self, task: Task, /) -> Ruling | None:
        """Return the first message of a task that has none of a user, as the ruling's reply.

        None for a user that only answers.
        """
        return None

    async def answer(
        self, task: Task, turn: int, steps: Sequence[Step], text: str, /
    ) -> tuple[Ruling, Message | None]:
        """Judge the text of the last step.

        With a message the turn continues, without one it ends.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define answer")


def count_user_answers(steps: Sequence[Step], turn: int) -> int:
    """Return how often the user has answered in this turn."""
    return sum(
        step.turn == turn and step.ruling is not None and step.ruling.allowed for step in steps
    )


class Environment:
    """One episode's environment. A subclass overrides what it has; every ability has a default.

    Its methods that are marked by `toolmark.tool` are its tools. Methods raise ToolEnvironmentError
    only if the connection is lost.

    - `max_parallel_calls`: how many calls of one reply it can run at the same time.
    - `user`: receives a reply without calls, and may answer.
    - `workspace`: the folder that its calls work in.

    All three are fixed when the environment is made.
    """

    max_parallel_calls: int = 1
    user: SimulatedUser | None = None
    workspace: Path | None = None

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools on offer now; with none, the task's own tools are offered."""
        return tuple(each.tool for each in method_tools(type(self)).values())

    def tools_changed(self) -> bool:
        """Return whether the tools may have changed since they were last listed; costs nothing."""
        return False

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        """Return the first turn's messages as they are sent, with what only it knows."""
        return messages

    async def call(self, call: Call, /) -> Result:
        """Execute one call; a fault of the call itself gives a Result with `is_error`."""
        found = method_tools(type(self))
        if call.name in found:
            return await found[call.name].execute_call(self, call)
        text = f"Unknown tool: {call.name}{suggest_names(call.name, found)}"
        return Result(parts=(Text(text),), is_error=True)

    def final_state(self) -> Any:
        """Return the state that is scored and passed on, plain JSON values or None.

        It may be `async def`. Read it with `read_final_state`.
        """
        return None


_tools_by_class: WeakKeyDictionary[type, Mapping[str, FunctionTool]] = WeakKeyDictionary()


def method_tools(kind: type[Environment]) -> Mapping[str, FunctionTool]:
    """Return the tools that a class of environments defines by its methods, by name.

    Raises UsageError for a method that cannot be a tool.
    """
    found = _tools_by_class.get(kind)
    if found is None:
        for name in vars(Environment):
            method = getattr_static(kind, name)
            if is_marked(method):
                raise UsageError(
                    f"{kind.__qualname__}.{name} is a part of every environment and cannot be a "
                    f"tool; next: name the method otherwise, and mark it by @tool(name={name!r})"
                )
        found = _tools_by_class[kind] = find_tools(kind)
    return found


async def read_final_state(environment: Environment) -> Any:
    """Return the final state of an environment, whether or not its `final_state` is async."""
    state = environment.final_state()
    if state is None or not isinstance(state, Awaitable):
        return state
    return await state


class EnvironmentFactory:
    """Opened once per run; makes each episode's Environment."""

    def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AbstractAsyncContextManager[Environment]:
        """Return a new environment; `needed` has the final states of the tasks it needs, by id."""
        raise NotImplementedError(f"{type(self).__name__} does not define open_environment")

    def incident_notes(self) -> Mapping[str, Sequence[str]]:
        """Return what has happened to each part so far, such as a server, by name.

        Parts without incidents are left out.
        """
        return {}

    def part_descriptions(self) -> Mapping[str, Sequence[str]]:
        """Return each part's description of itself, by name; more than one line if it changed."""
        return {}


def check_environment(candidate: object) -> None:
    """Raise UsageError for an object that a user's factory made and that is not an Environment."""
    if not isinstance(candidate, Environment):
        kind = type(candidate).__qualname__
        raise UsageError(f"{kind} is not an environment: it must inherit toolmark.Environment")


def check_factory(candidate: object) -> None:
    """Raise UsageError for an object that a user's suite opened and that is not a factory."""
    if not isinstance(candidate, EnvironmentFactory):
        kind = type(candidate).__qualname__
        raise UsageError(f"{kind} is not a factory: it must inherit toolmark.EnvironmentFactory")


class DelegatingEnvironment(Environment):
    """An environment around another one, with all of its abilities.

    A subclass overrides what it changes.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.max_parallel_calls = environment.max_parallel_calls
        self.user = environment.user
        self.workspace = environment.workspace

    async def tools(self) -> tuple[Tool, ...]:
        """Return the inner environment's tools."""
        return await self.environment.tools()

    def tools_changed(self) -> bool:
        """Return whether the inner environment's tools may have changed."""
        return self.environment.tools_changed()

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        """Return the inner environment's opening messages."""
        return await self.environment.opening(messages)

    async def call(self, call: Call, /) -> Result:
        """Execute the call in the inner environment."""
        return await self.environment.call(call)

    def final_state(self) -> Any:
        """Return the inner environment's final state."""
        return self.environment.final_state()


class EnvironmentWithUser(DelegatingEnvironment):
    """An environment with a user to talk to, or with nobody."""

    def __init__(self, environment: Environment, user: SimulatedUser | None) -> None:
        super().__init__(environment)
        self.user = user


class DelegatingFactory(EnvironmentFactory):
    """An environment factory around others, by default the first; it reports on all of them."""

    def __init__(self, *factories: EnvironmentFactory) -> None:
        self.factories = factories

    def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AbstractAsyncContextManager[Environment]:
        """Return an environment of the first factory."""
        return self.factories[0].open_environment(task, needed)

    def incident_notes(self) -> Mapping[str, Sequence[str]]:
        """Return the incidents of all inner factories."""
        return {name: n for each in self.factories for name, n in each.incident_notes().items()}

    def part_descriptions(self) -> Mapping[str, Sequence[str]]:
        """Return the parts of all inner factories."""
        return {name: n for each in self.factories for name, n in each.part_descriptions().items()}
