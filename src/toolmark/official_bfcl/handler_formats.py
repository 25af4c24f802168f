"""Prompts of official handlers that ask by, or read, a text in a way of their own.

Their sentences are read from the wheel.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.core.records import Call, Message, ParsedReply, Reply, Result, Text, Tool
from toolmark.official_bfcl import official_data, official_prompt
from toolmark.official_bfcl.handler_replies import (
    MalformedResult,
    StoredReply,
    remove_code_fences,
)
from toolmark.official_bfcl.handler_text_calls import read_mining_reply
from toolmark.official_bfcl.official_prompt import OfficialPrompt

OwnFormat: TypeAlias = Literal["nemotron", "dm_cito"]

_FOLDER = "bfcl_eval/model_handler/api_inference"
_TAG, _END_OF_TAG = "<TOOLCALL>", "</TOOLCALL>"
_CALLS, _END_OF_CALLS = "<tool_calls>\n", "\n</tool_calls>"


class FencedPrompt(OfficialPrompt):
    """The official prompt; calls are read without the fences that Gemini's handler removes."""

    def text_of_calls(self, text: str) -> str:
        """Return the text without its fences."""
        return remove_code_fences(text, True)


class NemotronPrompt(OfficialPrompt):
    """One system message with the tools and the first question; calls stand between tags.

    The handler is listed as one of structured calls, so the conversation is of that kind: tools
    that appear later are announced and not shown, and no result is sent.
    """

    name = "nemotron"

    def __init__(self, root: Path) -> None:
        super().__init__(name=self.name, joins_user_messages=True)
        self.template = _read_texts(
            root, "nemotron.py", "_format_system_prompt", ("system_prompt_template",)
        )[0]

    def render_opening(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Put tools and the first message into a system message; send no tools."""
        spoken = list(_all_of_user(messages))
        first = next((i for i, each in enumerate(spoken) if each.role == "user"), None)
        question = "" if first is None else json_codec.restore_surrogates(spoken.pop(first).text)
        text = self.template.format(functions=list_docs(self, tools), user_prompt=question)
        return (_system_message(text), *spoken), ()

    def render_turn(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return the messages; the docs of tools that appear are not sent."""
        return _all_of_user(messages), ()

    def text_of_calls(self, text: str) -> str:
        """Return what stands between the first tags, "" where there are none."""
        return tagged_text(text) or ""

    def render_results(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply alone: the official loop finds no ids to which results belong."""
        return (Message(role="assistant", parts=(Text(reply.text),)),)

    def render_calls(self, calls: Sequence[Call], /) -> Reply:
        """Return the text that makes these calls."""
        made = super().render_calls(calls)
        return replace(made, text=f"{_TAG}{made.text}{_END_OF_TAG}")


class DmCitoPrompt(OfficialPrompt):
    """A system message with the tools; calls are a JSON list between tags."""

    name = "dm_cito"

    def __init__(self, root: Path) -> None:
        super().__init__(name=self.name)
        self.template, self.rules = _read_texts(
            root,
            "mining.py",
            "mining_system_prompt_pre_processing_chat_model",
            ("system_pre", "system_suffix"),
        )

    def render_opening(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Put the prompt before the first system message, or add one; send no tools."""
        text = self.template.format(list_docs(self, tools)) + self.rules
        if messages and messages[0].role == "system":
            text = f"{text}\n\n{json_codec.restore_surrogates(messages[0].text)}"
            messages = messages[1:]
        return (_system_message(text), *messages), ()

    def parse_reply(self, reply: Reply, tools: tuple[Tool, ...], /) -> ParsedReply:
        """Read the calls as the handler does where it executes them."""
        try:
            found = read_listed_reply(json_codec.restore_surrogates(reply.text), True)
        except MalformedResult as error:
            return ParsedReply(fault=json_codec.escape_surrogates(str(error)))
        if found.calls or not found.handler_fault or _CALLS.strip() not in reply.text:
            return ParsedReply(calls=_numbered(found.calls))
        return ParsedReply(fault=f"calls that cannot be read: {found.handler_fault}")

    def render_results(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply, and the results as one message: the list as Python writes it."""
        said = Message(role="assistant", parts=(Text(reply.text),))
        if not results:
            return (said,)
        sources = [_source_of_call(call) for call in calls]
        return said, official_prompt.result_message(sources, results)

    def render_calls(self, calls: Sequence[Call], /) -> Reply:
        """Return the text that makes these calls; arguments that are no JSON stay as they are."""
        items = [
            f'{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}' for call in calls
        ]
        return Reply(text=f"{_CALLS}[{', '.join(items)}]{_END_OF_CALLS}")


def make_own_format(name: OwnFormat) -> OfficialPrompt:
    """Return the tool format of a handler that has one of its own."""
    root = official_data.fetch_wheel()
    return NemotronPrompt(root) if name == "nemotron" else DmCitoPrompt(root)


# --- what the handlers read -------------------------------------------------------------


def tagged_text(text: str) -> str | None:
    """Return what stands between the first tags of Nemotron, None where there are none."""
    _, tag, after = text.partition(_TAG)
    inner, end, _ = after.partition(_END_OF_TAG)
    return inner if tag and end else None


def read_listed_reply(text: str, is_executed: bool) -> StoredReply:
    """Read a reply as DM-Cito's handler does: the JSON between the first tags, or of all."""
    _, tag, after = text.partition(_CALLS)
    inner, end, _ = after.partition(_END_OF_CALLS)
    stored: Any = inner.strip() if tag and end else text
    with suppress(json_codec.InvalidJson):  # the text itself is the answer
        stored = json_codec.parse_json(stored)
    return read_mining_reply(stored, is_executed)


# --- parts ------------------------------------------------------------------------------


def list_docs(prompt: OfficialPrompt, tools: tuple[Tool, ...]) -> str:
    """Return the docs of tools as the list that Python writes."""
    return str([prompt.document_of(tool) for tool in tools])


def _system_message(text: str) -> Message:
    return Message(role="system", parts=(Text(json_codec.escape_surrogates(text)),))


def _all_of_user(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages, those of the system as the user's, and joined where they follow."""
    return official_prompt.join_user_messages(
        tuple(replace(each, role="user") if each.role == "system" else each for each in messages)
    )


def _numbered(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    return tuple(replace(call, id=f"call_{index}") for index, call in enumerate(calls))


def _source_of_call(call: Call) -> str:
    """Return a call as the handler writes it for the executor."""
    arguments = json_codec.parse_json(json_codec.restore_surrogates(call.arguments))
    pairs = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"{json_codec.restore_surrogates(call.name)}({pairs})"


def _read_texts(root: Path, file: str, function: str, names: Sequence[str]) -> list[str]:
    """Return texts that a handler's function has. Raises DataError where one is missing."""
    path = root / _FOLDER / file
    found = official_data.read_local_texts(path, function)
    if missing := [name for name in names if name not in found]:
        raise DataError(f"{path}: {function} has no text {missing[0]}")
    return [found[name] for name in names]
