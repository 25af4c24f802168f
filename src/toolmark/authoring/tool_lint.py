"""What is weak in the schemas of tools: what endpoints refuse, and what models cannot know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from toolmark.core.records import Check, Tool

MAX_TOOLS = 128  # OpenAI's limit of one request
MAX_DESCRIPTION_CHARS = 1024  # OpenAI's limit of a function
_TYPE_KEYWORDS = {"type", "enum", "anyOf", "oneOf", "allOf", "const"}
_PORTABLE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def lint_tools(tools: Iterable[Tool]) -> Iterator[Check]:
    """Yield one warning for each kind of weakness, with the tools that have it."""
    found = list(tools)
    weak: dict[str, list[str]] = {}
    for tool in found:
        for problem in _tool_problems(tool):
            weak.setdefault(problem, []).append(tool.name)
    for problem, names in weak.items():
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        yield Check(name="schema", status="warn", detail=f"{problem}: {shown}")
    if len(found) > MAX_TOOLS:
        yield Check(
            name="schema",
            status="warn",
            detail=f"{len(found)} different tools; some endpoints take {MAX_TOOLS} in a request",
        )
    if found and not weak:
        yield Check(name="schema", status="ok", detail="names, types and descriptions are there")


def _tool_problems(tool: Tool) -> Iterator[str]:
    if not _PORTABLE_NAME.fullmatch(tool.name):
        yield "the name has signs that endpoints refuse, so another name is sent"
    if not tool.description.strip():
        yield "no description"
    elif len(tool.description) > MAX_DESCRIPTION_CHARS:
        yield f"the description has more than {MAX_DESCRIPTION_CHARS} characters"
    properties = tool.parameters.get("properties", {})
    specs = [spec for spec in properties.values() if isinstance(spec, dict)]
    if any(not spec.keys() & _TYPE_KEYWORDS for spec in specs):
        yield "a parameter without a type"
    if any(not spec.get("description") for spec in specs):
        yield "a parameter without a description"
