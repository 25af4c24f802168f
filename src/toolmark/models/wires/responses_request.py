"""A Request as the body of an OpenAI Responses request, without state at the endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from toolmark.core.errors import UsageError
from toolmark.core.json_codec import restore_surrogates
from toolmark.core.records import (
    Adaptation,
    Image,
    Message,
    Part,
    ProviderState,
    Request,
    Sampling,
    Text,
    Tool,
)
from toolmark.models.wires import request_parts
from toolmark.models.wires.history_repair import repair_messages
from toolmark.models.wires.media_parts import PDF_NAME, PDF_TYPE, MediaTypes
from toolmark.models.wires.request_parts import (
    SettingsTail,
    encode_json,
    media_base64,
    object_or_empty,
)
from toolmark.models.wires.responses_state import drop_calls, read_repaired, read_state
from toolmark.models.wires.state_fitting import StateFitter, dropped_state
from toolmark.models.wires.tool_names import LegalNames, ToolNamer, ToolNames
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder

Json = dict[str, Any]

ENCRYPTED_REASONING = "encrypted_reasoning"
REASONING_SUMMARY = "reasoning_summary"
OPTIONAL_SETTINGS = frozenset((ENCRYPTED_REASONING, REASONING_SUMMARY))
"""What is asked of every model, and left out where a model refuses it."""
_MAX_NAME_CHARS = 64
_CIPHERTEXT_FIELD = "reasoning.encrypted_content"
_UNREPLAYABLE_FIELDS = (
    "background", "conversation", "context_management", "previous_response_id", "prompt", "store",
)  # fmt: skip
RESPONSES_MEDIA = MediaTypes("responses", sounds=())
_NO_PARAMETERS: Json = {"type": "object", "properties": {}}


class ResponsesEncoder(RequestEncoder):
    """Encodes requests to one model; each tuple of tools is encoded once and cached."""

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__(settings)
        self._body_start = b'{"model":' + encode_json(settings.model) + b',"input":['
        letters = "a-zA-Z0-9_.-" if self.profile.allows_dots else "a-zA-Z0-9_-"
        self.namer = ToolNamer(LegalNames(letters, letters, _MAX_NAME_CHARS), _encode_tools)
        self._fitter = StateFitter(
            "responses", settings.origin, self.namer, read_state, "output", compares_ids=True
        )
        self._tail = SettingsTail()

    def encode_request(self, request: Request, *, repair_arguments: bool = False) -> EncodedRequest:
        """Encode the request, and return it with the tools as sent."""
        names = self.namer.name_tools(request.tools)
        adaptations: list[Adaptation] = []
        messages = request.messages
        if repair_arguments:
            messages = repair_messages(messages, adaptations, "responses", drop_calls)
        items = self._encode_items(messages, names, repair_arguments, adaptations)
        tail = self._tail.encode(request.sampling, self._settings)
        body = b"".join((self._body_start, items, b"]", names.encoded, tail))
        if request_parts.TOOL_CHOICE in self.profile.unsent_settings:
            adaptations += request_parts.free_choice(request.sampling, (request_parts.TOOL_CHOICE,))
        changed = tuple(dict.fromkeys(adaptations)) if adaptations else ()
        return EncodedRequest(body, names, names.adaptations + changed if names.sent else changed)

    def _settings(self, sampling: Sampling) -> Json:
        unsent = self.profile.unsent_settings
        extra = request_parts.extra_without_choice(
            _check_extra(sampling.extra), unsent, (request_parts.TOOL_CHOICE,)
        )
        given = request_parts.given_settings(sampling, unsent)
        reasoning: Json = {}
        if "reasoning_effort" in given:
            reasoning["effort"] = given.pop("reasoning_effort")
        if REASONING_SUMMARY not in unsent:
            reasoning["summary"] = "auto"
        if "max_tokens" in given:
            given["max_output_tokens"] = given.pop("max_tokens")
        include = [] if ENCRYPTED_REASONING in unsent else [_CIPHERTEXT_FIELD]
        settings = {"store": False, **given, **extra}
        # what the user adds to these two does not replace what a conversation needs
        if include := include + [each for each in extra.get("include", ()) if each not in include]:
            settings["include"] = include
        if reasoning := reasoning | extra.get("reasoning", {}):
            settings["reasoning"] = reasoning
        if self.settings.is_stream:
            settings["stream"] = True
        return settings

    def _encode_items(
        self,
        messages: tuple[Message, ...],
        names: ToolNames,
        repair_arguments: bool,
        adaptations: list[Adaptation],
    ) -> bytes:
        """Encode the history; an output that fits goes back in its own bytes."""
        pieces: list[bytes] = []
        pending: list[Json] = []
        for message in messages:
            state = message.provider_state
            spliced = (
                None
                if state is None
                else self._splice_output(message, state, names, repair_arguments, adaptations)
            )
            if spliced is None:
                pending += self._encode_message(message, names, repair_arguments, adaptations)
                continue
            if pending:
                pieces.append(encode_json(pending)[1:-1])
                pending = []
            if spliced:
                pieces.append(spliced)
        if pending:
            pieces.append(encode_json(pending)[1:-1])
        return b",".join(pieces)

    def _splice_output(
        self,
        message: Message,
        state: ProviderState,
        names: ToolNames,
        repair_arguments: bool,
        adaptations: list[Adaptation],
    ) -> bytes | None:
        """Return the output that a message repeats; None, recorded, where it does not fit."""
        items = self._fitter.find_state(message, state, names, adaptations)
        if items is None:
            return None
        if repair_arguments and any(object_or_empty(each) != each for _, _, each in items.calls):
            detail = "arguments that are no object are sent as an empty one"
            adaptations.append(Adaptation(kind="state_patched", detail=detail))
            items = read_repaired(state.data) or items
        if items.n_left_out:
            adaptations.append(dropped_state("reasoning that came without its ciphertext"))
        return items.encoded

    def _encode_message(
        self,
        message: Message,
        names: ToolNames,
        repair_arguments: bool,
        adaptations: list[Adaptation],
    ) -> list[Json]:
        match message.role:
            case "tool":
                parts = message.parts
                if not (len(parts) == 1 and isinstance(parts[0], Text)):
                    parts = RESPONSES_MEDIA.replace_unsent(parts, adaptations)
                return [
                    {
                        "type": "function_call_output",
                        "call_id": restore_surrogates(message.call_id),
                        "output": self._encode_content(parts),
                    }
                ]
            case "assistant":
                return self._encode_reply(message, names, repair_arguments)
            case _:
                role = self.profile.system_role if message.role == "system" else "user"
                return [{"role": role, "content": self._encode_content(message.parts)}]

    def _encode_reply(
        self, message: Message, names: ToolNames, repair_arguments: bool
    ) -> list[Json]:
        """Encode an assistant's message without its provider's state."""
        calls: list[Json] = [
            {
                "type": "function_call",
                "call_id": restore_surrogates(call.id),
                "name": self.namer.sent_name(call.name, names),
                "arguments": object_or_empty(call.arguments)
                if repair_arguments
                else restore_surrogates(call.arguments),
            }
            for call in message.calls
        ]
        if calls and not message.parts:
            return calls
        return [{"role": "assistant", "content": self._encode_content(message.parts)}, *calls]

    def _encode_content(self, parts: tuple[Part, ...]) -> str | list[Json]:
        if len(parts) == 1 and isinstance(parts[0], Text):
            return restore_surrogates(parts[0].text)
        if all(isinstance(part, Text) for part in parts):
            return restore_surrogates(
                "".join(part.text for part in parts if isinstance(part, Text))
            )
        return [self._encode_part(part) for part in parts]

    def _encode_part(self, part: Part) -> Json:
        match part:
            case Text():
                return {"type": "input_text", "text": restore_surrogates(part.text)}
            case Image(mime=mime):
                url = f"data:{mime};base64,{media_base64(part, self.settings.media)}"
                if mime == PDF_TYPE:
                    return {"type": "input_file", "filename": PDF_NAME, "file_data": url}
                return {"type": "input_image", "image_url": url, "detail": "auto"}
            case _:
                raise RESPONSES_MEDIA.refuse_part(part)


def _check_extra(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the extra body. Raises UsageError for what toolmark sets or cannot ask twice."""
    request_parts.check_extra(extra)
    for name in _UNREPLAYABLE_FIELDS:
        if name in extra:
            raise UsageError(
                f"the extra body may not set {name!r}: each request holds the whole conversation, "
                "and the endpoint stores nothing"
            )
    if extra.get("truncation", "disabled") != "disabled":
        raise UsageError(
            "the extra body may not set 'truncation': what the endpoint leaves out is not on record"
        )
    kinds: tuple[tuple[Literal["include", "reasoning"], type], ...] = (
        ("include", list),
        ("reasoning", dict),
    )
    for name, kind in kinds:
        if name in extra and not isinstance(extra[name], kind):
            shape = "a list" if kind is list else "an object"
            raise UsageError(f"the extra body: {name!r} must be {shape}")
    return extra


def _encode_tools(tools: tuple[Tool, ...], sent: dict[str, str]) -> bytes:
    return b',"tools":' + encode_json(
        [_encode_tool(tool, sent.get(tool.name, tool.name)) for tool in tools]
    )


def _encode_tool(tool: Tool, name: str) -> Json:
    """Encode one tool; without `strict` the endpoint demands a strict schema where it can.

    An extra field that is None leaves the member of that name out.
    """
    function: Json = {"type": "function", "name": name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.parameters or _NO_PARAMETERS
    function["strict"] = False
    function |= tool.extra_fields
    return {name: value for name, value in function.items() if value is not None}
