"""Asking by prompt as the official harness does: its tool formats, later turns and results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from toolmark.core import json_codec
from toolmark.core.records import Call, Message, ParsedReply, Reply, Result, Text, Tool
from toolmark.formats.parse import python_calls, reply_parser
from toolmark.formats.prompt_format import (
    DEFAULT_NAME,
    PromptFormat,
    PromptVariant,
    PromptWording,
    looks_like_calls,
)
from toolmark.official_bfcl.prompt_formats import all_variants


class OfficialPrompt(PromptFormat):
    """A prompt whose later turns and results have the official harness's wording.

    Thoughts stay in the text, where the official handler leaves them. With `joins_user_messages`
    the messages of a turn that the user says one after the other are one message.
    """

    separates_thoughts = False

    def __init__(
        self,
        variant: PromptVariant | None = None,
        wording: PromptWording | None = None,
        *,
        name: str = DEFAULT_NAME,
        joins_user_messages: bool = False,
    ) -> None:
        super().__init__(variant, wording, name=name)
        self.joins_user_messages = joins_user_messages

    def render_opening(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Put the prompt before the first system message, or add one; send no tools."""
        if self.joins_user_messages:
            messages = join_user_messages(messages)
        return super().render_opening(messages, tools)

    def render_turn(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Write tools that appear later as a Python list, in front of the turn's first message."""
        if self.joins_user_messages:
            messages = join_user_messages(messages)
        if not tools:
            return messages, ()
        docs_text = json_codec.escape_surrogates(str([self.document_of(tool) for tool in tools]))
        content = "\n".join([docs_text, *(message.text for message in messages[:1])])
        return (Message(role="user", parts=(Text(content),)), *messages[1:]), ()

    def text_of_calls(self, text: str) -> str:
        """Return the part of a reply's text in which calls are read: here all of it."""
        return text

    def parse_reply(self, reply: Reply, tools: tuple[Tool, ...], /) -> ParsedReply:
        """Read the calls; a reply that the official harness cannot write as source has none."""
        text = self.text_of_calls(json_codec.restore_surrogates(reply.text))
        try:
            python_calls.executor_strings(
                reply_parser.parse_reply(text, self.variant.call_form, tag=self.variant.has_tag)
            )
        except reply_parser.UnreadableCalls as error:
            return ParsedReply(
                fault=json_codec.escape_surrogates(str(error)) if looks_like_calls(text) else ""
            )
        read = msgspec.structs.replace(reply, text=json_codec.escape_surrogates(text))
        return super().parse_reply(read, tools)

    def render_results(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply, and the results as one message: the list as Python writes it."""
        assistant_message = Message(role="assistant", parts=(Text(reply.text),))
        if not results:
            return (assistant_message,)
        found = reply_parser.parse_reply(
            self.text_of_calls(json_codec.restore_surrogates(reply.text)),
            self.variant.call_form,
            tag=self.variant.has_tag,
        )
        return assistant_message, result_message(python_calls.executor_strings(found), results)


def result_message(sources: Sequence[str], results: Sequence[Result]) -> Message:
    """Return the results of calls in text, as the list that Python writes; `sources` name them."""
    rows = [
        {"role": "tool", "name": source, "content": json_codec.restore_surrogates(result.text)}
        for source, result in zip(sources, results, strict=False)
    ]
    return Message(role="user", parts=(Text(json_codec.escape_surrogates(repr(rows))),))


def join_user_messages(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages with those of the user that follow each other joined by a blank line."""
    joined: list[Message] = []
    for message in messages:
        if joined and message.role == joined[-1].role == "user":
            text = f"{joined[-1].text}\n\n{message.text}"
            joined[-1] = Message(role="user", parts=(Text(text),))
        else:
            joined.append(message)
    return tuple(joined)


def make_tool_formats(
    names: Sequence[str],
    wording: PromptWording,
    *,
    joins_user_messages: bool = False,
    kind: type[OfficialPrompt] = OfficialPrompt,
) -> dict[str, PromptFormat]:
    """Return the prompt tool formats by name: the default one, and one for each format."""
    make = partial(kind, wording=wording, joins_user_messages=joins_user_messages)
    tool_formats: dict[str, PromptFormat] = {DEFAULT_NAME: make()}
    tool_formats |= {name: make(all_variants()[name], name=name) for name in names}
    return tool_formats
