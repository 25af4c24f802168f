"""Tool formats that ask in a call syntax of open models, so that no server-side parser is needed.

A format has the name of its syntax, `hermes` or `qwen3_coder`. The system message lists the tools
and shows two calls; replies are read by the table (`call_syntaxes`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.core.records import Call, Message, ParsedReply, Reply, Result, Text, Tool
from toolmark.formats.call_syntaxes import CallSyntax, askable_syntaxes, syntax_by_name
from toolmark.formats.native_format import UNREAD_CALLS
from toolmark.formats.parse.foreign_calls import find_foreign_call
from toolmark.formats.parse.reply_text import UnreadableCalls
from toolmark.formats.parse.syntax_readers import read_calls
from toolmark.formats.parse.thoughts import separate_thoughts
from toolmark.formats.prompt_format import tool_document
from toolmark.formats.render.syntax_text import render_syntax_calls, render_syntax_results
from toolmark.formats.render.tool_docs import render_docs

_EXAMPLE_CALLS = (
    Call(name="first_tool", arguments='{"place": "Rome", "count": 2}'),
    Call(name="second_tool", arguments='{"is_final": true}'),
)


class SyntaxWording(DataRecord, frozen=True):
    """The sentences of the system message: `value_notes` are by the shape of the syntax."""

    opening: Annotated[str, Meta(pattern=placeholders("example", "value_note", "functions"))]
    later_tools: Annotated[str, Meta(pattern=placeholders("functions"))]
    value_notes: dict[str, str]


def syntax_wording() -> SyntaxWording:
    """Return the sentences."""
    return read_table(__file__, "syntax_wording.toml", SyntaxWording)


class SyntaxFormat:
    """Asks and reads in one call syntax."""

    calls_in_text = True

    def __init__(self, syntax: CallSyntax) -> None:
        self.syntax = syntax
        self.name = syntax.name

    def render_opening(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Put the prompt before the first system message, or add one; send no tools."""
        wording = syntax_wording()
        text = wording.opening.format(
            example=render_syntax_calls(self.syntax, _EXAMPLE_CALLS),
            value_note=wording.value_notes.get(self.syntax.shape, ""),
            functions=_render_tools(tools),
        )
        remaining = messages
        if messages and messages[0].role == "system":
            text = f"{text}\n\n{messages[0].text}"
            remaining = messages[1:]
        return (Message(role="system", parts=(Text(text),)), *remaining), ()

    def render_turn(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Write tools that appear later before the turn's first message; send none."""
        if not tools:
            return messages, ()
        text = syntax_wording().later_tools.format(functions=_render_tools(tools))
        if not messages:
            return (Message(role="user", parts=(Text(text),)),), ()
        first = replace(messages[0], parts=(Text(f"{text}\n\n"), *messages[0].parts))
        return (first, *messages[1:]), ()

    def parse_reply(self, reply: Reply, tools: tuple[Tool, ...], /) -> ParsedReply:
        """Parse the calls in the text; plain words are an answer, and thoughts are reasoning.

        Calls in another syntax are a fault that names it.
        """
        separated = separate_thoughts(reply)
        changed = None if separated is reply else separated
        text = json_codec.restore_surrogates(separated.text)
        try:
            found, fault = read_calls(self.syntax, text, tools), ""
        except UnreadableCalls as error:
            found, fault = [], json_codec.escape_surrogates(str(error))
        if not found and not fault:
            foreign = find_foreign_call(text, [tool.name for tool in tools])
            fault = f"a call as {foreign.syntax.name} writes it" if foreign else ""
            if not fault and reply.calls:
                fault = UNREAD_CALLS
        calls = tuple(
            make_call(name, arguments, index) for index, (name, arguments) in enumerate(found)
        )
        return ParsedReply(calls=calls, fault=fault, reply=changed)

    def render_results(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply unchanged, and the results as one user message in the syntax's form."""
        reply_message = Message(role="assistant", parts=(Text(reply.text),))
        if not results:
            return (reply_message,)
        text = render_syntax_results(self.syntax, calls, results)
        return reply_message, Message(role="user", parts=(Text(text),))

    def render_calls(self, calls: Sequence[Call], /) -> Reply:
        """Return the text that makes these calls; broken arguments stay broken."""
        text = render_syntax_calls(self.syntax, calls)
        return Reply(text=json_codec.escape_surrogates(text))


def make_call(name: str, arguments: Mapping[str, object], index: int) -> Call:
    """Return a call of a text reply, with its arguments as JSON."""
    return Call(
        name=json_codec.escape_surrogates(name),
        arguments=json.dumps(json_codec.to_plain_json(dict(arguments)), ensure_ascii=False),
        id=f"call_{index}",
    )


def _render_tools(tools: Sequence[Tool]) -> str:
    return render_docs([tool_document(tool) for tool in tools], "json")


@cache
def syntax_formats() -> Mapping[str, SyntaxFormat]:
    """Return the tool formats that ask in a call syntax, by name."""
    return {syntax.name: SyntaxFormat(syntax) for syntax in askable_syntaxes()}


def is_syntax_format(name: str) -> bool:
    """Return whether a tool format of this name asks in a call syntax."""
    syntax = syntax_by_name().get(name)
    return syntax is not None and syntax.render is not None
