"""Agents by name: entry points of the group `toolmark.agents`, and code of the user."""

from __future__ import annotations

from typing import Any

from toolmark.agents.agent import Agent
from toolmark.agents.agent_session import is_agent_function
from toolmark.agents.function_agent import FunctionAgent
from toolmark.core import entry_points, user_modules
from toolmark.core.entry_points import EntryPoint, Group
from toolmark.core.errors import UsageError, suggest_names

GROUP: Group = "agents"


def load_agent(name: str) -> Agent:
    """Return the agent of a name: an installed package's, `FILE.py:NAME` or `module:NAME`.

    A class is made without arguments. Raises UsageError.
    """
    expected = "an `async def agent(session)` or an agents.agent.Agent"
    return adapt_agent(entry_points.make_object(_find_agent(name), _is_agent, expected))


def adapt_agent(found: Any) -> Agent:
    """Return an agent, or the one that plays with a function. Raises UsageError for others."""
    if isinstance(found, Agent):
        return found
    if is_agent_function(found):
        return FunctionAgent(found)
    raise UsageError(
        f"expected an agent, `async def agent(session)`, got {type(found).__name__} "
        f"{getattr(found, '__qualname__', '')}".rstrip()
    )


def _find_agent(name: str) -> EntryPoint:
    if user_modules.is_code_spec(name):
        return EntryPoint(GROUP, name, name, "", "")
    entry = entry_points.find_entry_point(GROUP, name)
    if entry is None:
        known = entry_points.entry_point_names(GROUP)
        nearest = suggest_names(name, known) if known else ": no installed package offers one"
        raise UsageError(f"no agent {name!r}{nearest}; your own: FILE.py:NAME")
    return entry


def _is_agent(found: object) -> bool:
    return isinstance(found, Agent) or is_agent_function(found)
