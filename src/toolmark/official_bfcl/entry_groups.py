"""Which BFCL entries depend on each other: those of one scenario, conversation or set of tools.

The four multi-turn categories ask the same 200 scenarios, both web categories the same 100
questions, and the three memory categories ask about the same five conversations. Many single-turn
entries offer the same tools, also across categories. A model that misunderstands a scenario or a
tool fails in all of them, so intervals count groups of entries.
"""

from __future__ import annotations

import hashlib
import re

from toolmark.core.records import Task

_SCENARIO = re.compile(r"multi_turn_[a-z_]+?_(\d+)\Z")
_QUESTION = re.compile(r"web_search_[a-z_]+?_(\d+)\Z")
_CONVERSATION = re.compile(r"memory_[a-z_]+?_\d+-([a-z]+)-\d+\Z")
_DIGEST_LENGTH = 12


def entry_group(task: Task) -> str:
    """Return the name of the group of an entry, in any category and prompt format.

    Single-turn entries are grouped by the names of their tools.
    """
    entry = task.item or task.id
    for kind, pattern in (
        ("scenario", _SCENARIO),
        ("question", _QUESTION),
        ("conversation", _CONVERSATION),
    ):
        if found := pattern.match(entry):
            return f"{kind} {found[1]}"
    names = "\n".join(sorted(tool.name for tool in task.tools))
    return f"tools {hashlib.sha256(names.encode()).hexdigest()[:_DIGEST_LENGTH]}"
