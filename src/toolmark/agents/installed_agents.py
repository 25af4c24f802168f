"""Agents by name: entry points of the group `toolmark.agents`, and classes of the user."""

from __future__ import annotations

from toolmark.agents.agent import Agent
from toolmark.core import entry_points, user_modules
from toolmark.core.entry_points import EntryPoint, Group
from toolmark.core.errors import UsageError, suggest_names

GROUP: Group = "agents"


def load_agent(name: str) -> Agent:
    """Return the agent of a name: an installed package's, `FILE.py:NAME` or `module:NAME`.

    A class is made without arguments. Raises UsageError.
    """
    entry = _find_agent(name)
    found: Agent = entry_points.make_object(entry, _is_agent, "an agents.agent.Agent")
    return found


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
    return isinstance(found, Agent)
