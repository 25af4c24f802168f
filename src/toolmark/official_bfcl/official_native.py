"""Structured calls as the official harness asks for them and plays them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.records import (
    Adaptation,
    Call,
    Message,
    ParsedReply,
    Reply,
    Result,
    Text,
    Tool,
)
from toolmark.formats.native_format import NativeFormat, with_unique_ids
from toolmark.models.wires.wire_registry import wire_by_name
from toolmark.official_bfcl.handler_settings import HandlerSettings

NOT_EXECUTED = "nothing of this reply was executed"

# what Gemini and Palmyra do not take of a parameter, with the words that say it in its description
_MOVED_FIELDS = (
    ("default", "Default is: {}."),
    ("optional", "Optional: {}."),
    ("required", "Required: {}."),
    ("maximum", "Maximum value: {}."),
    ("minItems", "Minimum number of items: {}."),
    ("maxItems", "Maximum number of items: {}."),
    ("additionalProperties", "Additional properties: {}."),
)


class OfficialNative(NativeFormat):
    """Sends tools as the handler of a wire does, and plays replies as the official loop does.

    A reply that the official loop cannot decode ends the turn, and nothing of it is executed.
    `is_lenient` executes every call that can be read, and tells the model of the others.
    `underscores_names` sends dots of tool names as underscores and leaves them so in the calls: the
    official checker of such an entry expects the dots. Else calls have the dots again.
    """

    def __init__(
        self,
        settings: HandlerSettings,
        *,
        is_lenient: bool = False,
        underscores_names: bool = False,
    ) -> None:
        self.settings = settings
        self.is_lenient = is_lenient
        self.underscores_names = underscores_names
        # most wires replace dots themselves
        sends_dots = wire_by_name(settings.wire).sends_dots
        self._replaces_dots = sends_dots and not (settings.keeps_dots or underscores_names)

    def render_opening(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return the messages, and the tools as the handler sends them."""
        return messages, self._render_tools(tools)

    def render_turn(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return the messages, and the tools as the handler sends them."""
        return messages, self._render_tools(tools)

    def parse_reply(self, reply: Reply, tools: tuple[Tool, ...], /) -> ParsedReply:
        """Return the calls; none if the official loop cannot decode one of them."""
        if self._replaces_dots and (sent := _names_without_dots(tools)):
            reply = _restore_dots(reply, sent)
            parsed = self._parse_calls(reply, tools)
            return replace(parsed, reply=reply)
        return self._parse_calls(reply, tools)

    def _parse_calls(self, reply: Reply, tools: tuple[Tool, ...]) -> ParsedReply:
        if not self.is_lenient:
            for number, call in enumerate(reply.calls, 1):
                if problem := _decoding_problem(call):
                    fault = f"call {number} {call.name}: {problem}; {NOT_EXECUTED}"
                    return ParsedReply(fault=json_codec.escape_surrogates(fault))
        return super().parse_reply(reply, tools)

    def render_results(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply and the results; a reply that was not executed stays as it was sent.

        No result is marked as an error: no handler does so, and some wires show the mark.
        """
        if self._replaces_dots:  # the conversation has the names as they are sent
            calls = _without_dots(calls)
            reply = replace(reply, calls=_without_dots(reply.calls))
        if calls or not reply.calls:
            unmarked = tuple(replace(result, is_error=False) for result in results)
            return super().render_results(self._sent_back(reply), calls, unmarked)
        text = self._sent_back(reply).text
        parts = (Text(text),) if text else ()
        return (Message(role="assistant", parts=parts, calls=with_unique_ids(reply.calls)),)

    def _sent_back(self, reply: Reply) -> Reply:
        return reply if self.settings.sends_text_back else replace(reply, text="")

    def _render_tools(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        rendered = tuple(render_tool(tool, self.settings) for tool in tools)
        if self._replaces_dots:
            sent = _names_without_dots(tools)
            return tuple(replace(tool, name=sent.get(tool.name, tool.name)) for tool in rendered)
        if not self.underscores_names:
            return rendered
        return tuple(replace(tool, name=tool.name.replace(".", "_")) for tool in rendered)


def _decoding_problem(call: Call) -> str:
    """Return why the official loop cannot decode a call, "" if it can."""
    try:
        arguments = json_codec.parse_json(json_codec.restore_surrogates(call.arguments))
    except json_codec.InvalidJson as error:
        return f"the arguments are not JSON: {error}"
    return "" if isinstance(arguments, dict) else "the arguments must be one JSON object"


def _names_without_dots(tools: tuple[Tool, ...]) -> dict[str, str]:
    """Return the names as sent of tools whose names have dots, where no other tool has that one."""
    counts = Counter(tool.name.replace(".", "_") for tool in tools)
    named = {tool.name: tool.name.replace(".", "_") for tool in tools if "." in tool.name}
    return {own: sent for own, sent in named.items() if counts[sent] == 1}


def _restore_dots(reply: Reply, sent: Mapping[str, str]) -> Reply:
    """Return a reply whose calls have the tools' own names, with a note of what was sent."""
    own = {name: dotted for dotted, name in sent.items()}
    calls = tuple(replace(call, name=own.get(call.name, call.name)) for call in reply.calls)
    notes = (
        Adaptation(kind="tool_name", detail=f"{dotted} -> {name}") for dotted, name in sent.items()
    )
    return replace(reply, calls=calls, adaptations=(*reply.adaptations, *notes))


def _without_dots(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    return tuple(
        replace(call, name=call.name.replace(".", "_")) if "." in call.name else call
        for call in calls
    )


# --- tools ------------------------------------------------------------------------------


def render_tool(tool: Tool, settings: HandlerSettings) -> Tool:
    """Return a tool as a handler sends it; one without a published doc stays as it is."""
    if not isinstance(tool.source, dict):
        return tool
    if settings.schema:
        moves_all_enums = settings.schema == "writer"
        tool = replace(tool, parameters=_reduced_parameters(tool.parameters, moves_all_enums))
    if settings.strict == "unset":
        tool = replace(tool, extra_fields={"strict": None, **tool.extra_fields})
    response = tool.source.get("response")
    match settings.response:
        case "field" if response is not None:
            return replace(tool, extra_fields={**tool.extra_fields, "response": response})
        case "description" if response is not None:
            sentence = f" The response field has the following schema: {json.dumps(response)}"
            return replace(tool, description=tool.description + sentence)
    return tool


def _reduced_parameters(parameters: Mapping[str, Any], moves_all_enums: bool) -> dict[str, Any]:
    """Return parameters without what Gemini and Palmyra do not take; their descriptions say it."""
    properties = {
        name: _reduced_parameter(spec, moves_all_enums)
        for name, spec in parameters["properties"].items()
    }
    found = {name: value for name, value in parameters.items() if name != "optional"}
    return {**found, "properties": properties}


def _reduced_parameter(spec: Mapping[str, Any], moves_all_enums: bool) -> dict[str, Any]:
    moved = [(field, words) for field, words in _MOVED_FIELDS if field in spec]
    is_string = spec["type"] == "string"
    if "enum" in spec and (moves_all_enums or not is_string):
        moved.append(("enum", "Enum values: {}."))
    if "format" in spec and is_string:
        moved.append(("format", "Format: {}."))
    sentences = [f" {words.format(spec[field])}" for field, words in moved]
    names = {field for field, _ in moved}
    found = {name: value for name, value in spec.items() if name not in names}
    return {**found, "description": spec.get("description", "") + "".join(sentences)}
