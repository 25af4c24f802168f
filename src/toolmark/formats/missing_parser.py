"""What a call that came back as text says about a server."""

from __future__ import annotations

from toolmark.core.records import Reply
from toolmark.formats.call_syntaxes import parser_step
from toolmark.formats.parse.foreign_calls import find_foreign_call


def explain_text_call(reply: Reply, tool: str) -> tuple[str, str] | None:
    """Return what call of the tool stands in a reply's text, and the next step; None without one.

    The step names the flag of the server's parser, and the tool format that needs no parser.
    """
    found = find_foreign_call(reply.text, [tool], reply.reasoning)
    if found is None:
        return None
    place = "reasoning" if found.in_reasoning else "text"
    detail = f"the call came back as {place}, as {found.syntax.name} writes it"
    return f"{detail} ({found.syntax.models}): {reply.text[:120]!r}", parser_step(found.syntax)
