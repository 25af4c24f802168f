"""Calls requested in a prompt: the system message lists the tools, the reply text has the calls.

A prompt is a `PromptVariant` (the form of calls, docs and layout) filled with a `PromptWording`
(the sentences). The sentences are data: a suite has its published ones, `DEFAULT_WORDING` is that
of toolmark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolmark.core import json_codec
from toolmark.core.records import Call, Message, ParsedReply, Reply, Result, Text, Tool
from toolmark.formats.parse import reply_parser
from toolmark.formats.parse.reply_parser import looks_like_calls as looks_like_calls
from toolmark.formats.render.call_text import render_calls
from toolmark.formats.render.tool_docs import ToolDocForm, render_docs

PromptLayout: TypeAlias = Literal["plaintext", "markdown"]
PromptStyle: TypeAlias = Literal["classic", "experimental"]
DEFAULT_NAME = "prompt"
"""The name of the tool format that asks in the default variant."""


@dataclass(frozen=True, slots=True)
class PromptVariant:
    """The axes of a prompt: the form of calls, a tag around them, docs, layout, style."""

    calls: reply_parser.CallForm = "python"
    tag: bool = False
    docs: ToolDocForm = "json"
    layout: PromptLayout = "plaintext"
    style: PromptStyle = "classic"


@dataclass(frozen=True, slots=True)
class PromptWording:
    """The text of a prompt.

    `shapes`: how a call is written, and `kinds`: a note on types, by form of calls. `styles`: by
    style, the sentences `persona`, `task`, `tool_call_no_tag`, `tool_call_with_tag`,
    `multiturn_behavior` and `available_tools`. `layouts`: by layout, how the sentences are
    combined.
    """

    shapes: Mapping[str, str]
    kinds: Mapping[str, str]
    styles: Mapping[str, Mapping[str, str]]
    layouts: Mapping[str, str]


_XML_TYPES_REMARK = (
    "Each type is one of string, integer, float, boolean, null, array, dict; arrays and "
    "dictionaries are written as Python literals, and text has &, < and > escaped."
)
DEFAULT_WORDING = PromptWording(
    shapes={
        "python": '[first_tool(name="text", count=2), second_tool(flag=True)]',
        "json": '[{"function": "first_tool", "parameters": {"name": "text", "count": 2}}, '
        '{"function": "second_tool", "parameters": {"flag": true}}]',
        "verbose_xml": '<functions><function name="first_tool"><params><param name="name" '
        'value="text" type="string"/><param name="count" value="2" type="integer"/></params>'
        '</function><function name="second_tool"><params><param name="flag" value="true" '
        'type="boolean"/></params></function></functions>',
        "concise_xml": '<functions><function name="first_tool"><param name="name" type="string">'
        'text</param><param name="count" type="integer">2</param></function><function '
        'name="second_tool"><param name="flag" type="boolean">true</param></function></functions>',
    },
    kinds={
        "python": "\nValues are Python literals: quoted text, numbers, True, False, None, lists, "
        "dictionaries.",
        "json": "\nValues are JSON: quoted text, numbers, true, false, null, arrays, objects.",
        "verbose_xml": f"\n{_XML_TYPES_REMARK}",
        "concise_xml": f"\n{_XML_TYPES_REMARK}",
    },
    styles={
        "classic": {
            "persona": "You solve tasks by calling tools.",
            "task": "Read what the user asks and decide which of the tools below must be called, "
            "and with which arguments. Give every required argument a value that the conversation "
            "supports, and name every argument.",
            "tool_call_no_tag": "When a tool is needed, reply with the calls and nothing else, in "
            "this form: {output_format}{param_types}",
            "tool_call_with_tag": "When a tool is needed, reply with the calls inside one tag and "
            "nothing else, in this form: <TOOLCALL>{output_format}</TOOLCALL>{param_types}",
            "multiturn_behavior": "The results come back in the next message. Go on calling tools "
            "until nothing more is needed, then reply in plain words with the answer.",
            "available_tools": "The tools, in {format}:\n{functions}\n",
        },
        "experimental": {
            "persona": "Turn requests into tool calls.",
            "task": "Choose the calls that fulfil the request below, with the values it gives for "
            "their arguments; name every argument.",
            "tool_call_no_tag": "Write only the calls, exactly so: {output_format}{param_types}",
            "tool_call_with_tag": "Write only the calls, inside one tag, exactly so: "
            "<TOOLCALL>{output_format}</TOOLCALL>{param_types}",
            "multiturn_behavior": "Results follow each reply. Call on until all is done; then "
            "answer in words.",
            "available_tools": "Tools ({format}):\n{functions}\n",
        },
    },
    layouts={
        "plaintext": "{persona} {task}\n\n{tool_call_format}\n\n{multiturn_behavior}\n\n"
        "{available_tools}",
        "markdown": "{persona}\n\n# Task\n\n{task}\n\n# Calls\n\n{tool_call_format}\n\n"
        "# Conversation\n\n{multiturn_behavior}\n\n# Tools\n\n{available_tools}",
    },
)


def render_system_message(
    variant: PromptVariant, wording: PromptWording, docs: Sequence[dict[str, Any]]
) -> str:
    """Compose the system message."""
    style = wording.styles[variant.style]
    calls = style["tool_call_with_tag" if variant.tag else "tool_call_no_tag"]
    return wording.layouts[variant.layout].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=calls.format(
            output_format=wording.shapes[variant.calls], param_types=wording.kinds[variant.calls]
        ),
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=style["available_tools"].format(
            format=variant.docs, functions=render_docs(docs, variant.docs)
        ),
    )


def tool_document(tool: Tool) -> dict[str, Any]:
    """Return the document that a prompt shows: the published one, else one from its schema."""
    if isinstance(tool.source, dict):
        return {**tool.source, "description": tool.description}
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }


class PromptFormat:
    """A prompt format with its wording."""

    calls_in_text = True

    def __init__(
        self,
        variant: PromptVariant | None = None,
        wording: PromptWording = DEFAULT_WORDING,
        *,
        name: str = DEFAULT_NAME,
        document_of: Callable[[Tool], dict[str, Any]] = tool_document,
    ) -> None:
        self.name = name
        self.variant = variant or PromptVariant()
        self.wording = wording
        self.document_of = document_of

    def open(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Put the prompt before the first system message, or add one; send no tools."""
        text = render_system_message(
            self.variant, self.wording, [self.document_of(tool) for tool in tools]
        )
        remaining = messages
        if messages and messages[0].role == "system":
            text = f"{text}\n\n{messages[0].text}"
            remaining = messages[1:]
        return (Message(role="system", parts=(Text(text),)), *remaining), ()

    def more(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Write tools that appear later before the turn's first message; send none."""
        if not tools:
            return messages, ()
        text = render_docs([self.document_of(tool) for tool in tools], self.variant.docs)
        first_text = f"{text}\n{messages[0].text}" if messages else text
        return (Message(role="user", parts=(Text(first_text),)), *messages[1:]), ()

    def read(self, response: Reply, tools: tuple[Tool, ...], /) -> ParsedReply:
        """Parse the calls in the text; plain words are an answer, not a fault."""
        text = json_codec.restore_surrogates(response.text)
        fault = "nothing that can be read as calls"
        try:
            found = reply_parser.parse_reply(text, self.variant.calls, tag=self.variant.tag)
        except reply_parser.UnreadableCalls as error:
            found, fault = [], json_codec.escape_surrogates(str(error))
        if not found:
            return ParsedReply(fault=fault if looks_like_calls(text) else "")
        return ParsedReply(
            calls=tuple(
                Call(
                    name=json_codec.escape_surrogates(name),
                    arguments=json.dumps(json_codec.to_plain_json(arguments), ensure_ascii=False),
                    id=f"call_{index}",
                )
                for index, (name, arguments) in enumerate(found)
            )
        )

    def answer(
        self, response: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply unchanged, and the results as one user message of JSON."""
        reply_message = Message(role="assistant", parts=(Text(response.text),))
        if not results:
            return (reply_message,)
        result_rows = [
            {"tool": call.name, "result": result.text}
            for call, result in zip(calls, results, strict=False)
        ]
        return reply_message, Message(
            role="user", parts=(Text(json.dumps({"results": result_rows}, ensure_ascii=False)),)
        )

    def write(self, calls: Sequence[Call], /) -> Reply:
        """Return the text that makes these calls.

        Arguments that are not a JSON object are not changed, so that broken calls stay broken.
        """
        return Reply(
            text=json_codec.escape_surrogates(
                render_calls(calls, self.variant.calls, tag=self.variant.tag)
            )
        )
