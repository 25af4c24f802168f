"""Calls requested in a prompt: the system message lists the tools, the reply text has the calls.

A prompt is a `PromptVariant` (the form of calls, docs and layout) filled with a `PromptWording`
(the sentences). The sentences are data: a suite has its published ones, `default_wording` is
that of toolmark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from toolmark.core import json_codec
from toolmark.core.data_files import placeholders, read_table
from toolmark.core.records import Call, Message, ParsedReply, Reply, Result, Text, Tool
from toolmark.formats.native_format import UNREAD_CALLS
from toolmark.formats.parse import reply_parser
from toolmark.formats.parse.reply_parser import looks_like_calls as looks_like_calls
from toolmark.formats.parse.thoughts import separate_thoughts
from toolmark.formats.render.call_text import render_calls
from toolmark.formats.render.tool_docs import ToolDocForm, render_docs

PromptLayout: TypeAlias = Literal["plaintext", "markdown"]
PromptStyle: TypeAlias = Literal["classic", "experimental"]
DEFAULT_NAME = "prompt"
"""The name of the tool format that asks in the default variant."""

StyleSentence: TypeAlias = Annotated[
    str, Meta(pattern=placeholders("output_format", "param_types", "format", "functions"))
]
LayoutTemplate: TypeAlias = Annotated[
    str,
    Meta(
        pattern=placeholders(
            "persona", "task", "tool_call_format", "multiturn_behavior", "available_tools"
        )
    ),
]


@dataclass(frozen=True, slots=True)
class PromptVariant:
    """The axes of a prompt: the form of calls, a tag around them, docs, layout, style."""

    call_form: reply_parser.CallForm = "python"
    has_tag: bool = False
    tool_doc_form: ToolDocForm = "json"
    layout: PromptLayout = "plaintext"
    style: PromptStyle = "classic"


@dataclass(frozen=True, slots=True)
class PromptWording:
    """The text of a prompt.

    `call_shapes`: how a call is written, and `type_notes`: a note on types, by form of calls.
    `styles`: by style, the sentences `persona`, `task`, `tool_call_no_tag`, `tool_call_with_tag`,
    `multiturn_behavior` and `available_tools`. `layouts`: by layout, how the sentences are
    combined.
    """

    call_shapes: Mapping[str, str]
    type_notes: Mapping[str, str]
    styles: Mapping[str, Mapping[str, StyleSentence]]
    layouts: Mapping[str, LayoutTemplate]


def default_wording() -> PromptWording:
    """Return the wording of toolmark."""
    return read_table(__file__, "prompt_wording.toml", PromptWording)


def render_system_message(
    variant: PromptVariant, wording: PromptWording, docs: Sequence[dict[str, Any]]
) -> str:
    """Compose the system message."""
    style = wording.styles[variant.style]
    calls = style["tool_call_with_tag" if variant.has_tag else "tool_call_no_tag"]
    return wording.layouts[variant.layout].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=calls.format(
            output_format=wording.call_shapes[variant.call_form],
            param_types=wording.type_notes[variant.call_form],
        ),
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=style["available_tools"].format(
            format=variant.tool_doc_form, functions=render_docs(docs, variant.tool_doc_form)
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
    separates_thoughts = True
    """Whether thoughts at the start of a text are taken out before calls are read."""

    def __init__(
        self,
        variant: PromptVariant | None = None,
        wording: PromptWording | None = None,
        *,
        name: str = DEFAULT_NAME,
        document_of: Callable[[Tool], dict[str, Any]] = tool_document,
    ) -> None:
        self.name = name
        self.variant = variant or PromptVariant()
        self.wording = wording or default_wording()
        self.document_of = document_of

    def render_opening(
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

    def render_turn(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Write tools that appear later before the turn's first message; send none."""
        if not tools:
            return messages, ()
        text = render_docs([self.document_of(tool) for tool in tools], self.variant.tool_doc_form)
        first_text = f"{text}\n{messages[0].text}" if messages else text
        return (Message(role="user", parts=(Text(first_text),)), *messages[1:]), ()

    def parse_reply(self, reply: Reply, tools: tuple[Tool, ...], /) -> ParsedReply:
        """Parse the calls in the text; plain words are an answer, and thoughts are reasoning."""
        separated = separate_thoughts(reply) if self.separates_thoughts else reply
        changed = None if separated is reply else separated
        text = json_codec.restore_surrogates(separated.text)
        fault = "nothing that can be read as calls"
        try:
            found = reply_parser.parse_reply(text, self.variant.call_form, tag=self.variant.has_tag)
        except reply_parser.UnreadableCalls as error:
            found, fault = [], json_codec.escape_surrogates(str(error))
        if not found:
            if not looks_like_calls(text):
                fault = UNREAD_CALLS if reply.calls else ""
            return ParsedReply(fault=fault, reply=changed)
        return ParsedReply(
            reply=changed,
            calls=tuple(
                Call(
                    name=json_codec.escape_surrogates(name),
                    arguments=json.dumps(json_codec.to_plain_json(arguments), ensure_ascii=False),
                    id=f"call_{index}",
                )
                for index, (name, arguments) in enumerate(found)
            ),
        )

    def render_results(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply unchanged, and the results as one user message of JSON."""
        reply_message = Message(role="assistant", parts=(Text(reply.text),))
        if not results:
            return (reply_message,)
        result_rows = [
            {"tool": call.name, "result": result.text}
            for call, result in zip(calls, results, strict=False)
        ]
        return reply_message, Message(
            role="user", parts=(Text(json.dumps({"results": result_rows}, ensure_ascii=False)),)
        )

    def render_calls(self, calls: Sequence[Call], /) -> Reply:
        """Return the text that makes these calls.

        Arguments that are not a JSON object are not changed, so that broken calls stay broken.
        """
        return Reply(
            text=json_codec.escape_surrogates(
                render_calls(calls, self.variant.call_form, tag=self.variant.has_tag)
            )
        )
