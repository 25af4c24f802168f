"""Tool formats of other installed packages: entry points of the group `toolmark.tool_formats`."""

from __future__ import annotations

from typing import cast

from toolmark.core import entry_points
from toolmark.core.entry_points import Group
from toolmark.core.records import ToolFormat

GROUP: Group = "tool_formats"
MEMBERS = (
    "name",
    "calls_in_text",
    "render_opening",
    "render_turn",
    "parse_reply",
    "render_results",
    "render_calls",
)
"""What a tool format has: `core.records.ToolFormat`."""


def load_tool_format(name: str) -> ToolFormat | None:
    """Return the tool format of this name, None where no package has one.

    Raises UsageError for one that cannot be imported or lacks a method, and where several packages
    have the name.
    """
    entry = entry_points.find_entry_point(GROUP, name)
    if entry is None:
        return None
    expected = f"a tool format, which has {', '.join(MEMBERS)}"
    found = entry_points.make_object(entry, _is_tool_format, expected)
    return cast(ToolFormat, found)


def _is_tool_format(found: object) -> bool:
    return all(hasattr(found, name) for name in MEMBERS)
