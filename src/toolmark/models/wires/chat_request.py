"""A Request as the body of a chat completion."""

from __future__ import annotations

from functools import partial
from typing import Any

from toolmark.core.json_codec import restore_surrogates
from toolmark.core.records import (
    Adaptation,
    Audio,
    Image,
    Message,
    Part,
    Request,
    Sampling,
    Text,
    Tool,
)
from toolmark.models.wires import call_ids, request_parts
from toolmark.models.wires.chat_splicing import StateSplicer
from toolmark.models.wires.chat_state import drop_calls
from toolmark.models.wires.history_repair import repair_messages
from toolmark.models.wires.media_parts import (
    MEDIA_MOVED,
    MP3_TYPES,
    PDF_NAME,
    PDF_TYPE,
    WAV_TYPES,
    MediaTypes,
    read_mp3,
)
from toolmark.models.wires.request_parts import (
    SettingsTail,
    encode_json,
    given_settings,
    media_base64,
    object_or_empty,
)
from toolmark.models.wires.tool_names import LegalNames, ToolNamer, ToolNames
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder

Json = dict[str, Any]

_MAX_NAME_CHARS = 64
CHAT_MEDIA = MediaTypes("chat", sounds=(*WAV_TYPES, *MP3_TYPES))
STREAM_USAGE = "stream_usage"
OPTIONAL_SETTINGS = frozenset((STREAM_USAGE,))
"""What is asked of every endpoint that streams, and left out where one refuses it."""
_USAGE_FIELDS = {"stream_options": {"include_usage": True}}
_NO_PARAMETERS = {"type": "object", "properties": {}}


class ChatEncoder(RequestEncoder):
    """Encodes requests to one model; each tuple of tools is encoded once and cached."""

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__(settings)
        self._body_start = b'{"model":' + encode_json(settings.model) + b',"messages":'
        letters = "a-zA-Z0-9_.-" if self.profile.allows_dots else "a-zA-Z0-9_-"
        encode_tools = partial(_encode_tools, self.profile.needs_parameters)
        self.namer = ToolNamer(LegalNames(letters, letters, _MAX_NAME_CHARS), encode_tools)
        self._tail = SettingsTail()
        self._always_splices = bool(
            self.profile.required_member or self.profile.fills_empty_content
        )
        self._leaves_out_history = self._leaves_out("reasoning_history")
        self._leaves_out_choice = self._leaves_out(request_parts.TOOL_CHOICE)

    def encode_request(self, request: Request, *, repair_arguments: bool = False) -> EncodedRequest:
        """Encode the request, and return it with the tools as sent.

        To repair it, calls that nobody answered are left out too.
        """
        names = self.namer.name_tools(request.tools)
        changes: list[Adaptation] = list(names.adaptations) if names.sent else []
        messages = request.messages
        if repair_arguments:
            messages = repair_messages(messages, changes, "chat", drop_calls)
        if self.profile.call_ids != "any":
            messages = call_ids.rename_calls(messages, self.profile.call_ids, changes)
        # a list is faster than a generator
        if self._always_splices or any([each.provider_state for each in messages]):
            encoded = self._encode_spliced(messages, names, repair_arguments, changes)
        else:
            sent = self._encode_messages(messages, names, repair_arguments, changes)
            encoded = encode_json(sent)
        tail = self._tail.encode(request.sampling, self._settings)
        body = self._body_start + encoded + names.encoded + tail
        if self._leaves_out_history and any(m.provider_state for m in messages):
            detail = "left out, as the endpoint refuses thoughts in a conversation"
            changes.append(Adaptation(kind="state_dropped", detail=detail))
        if self._leaves_out_choice:
            changes += request_parts.free_choice(request.sampling, (request_parts.TOOL_CHOICE,))
        return EncodedRequest(body, names, tuple(changes))

    def _leaves_out(self, name: str) -> bool:
        return name in self.profile.unsent_settings

    def _encode_spliced(
        self,
        messages: tuple[Message, ...],
        names: ToolNames,
        repair_arguments: bool,
        changes: list[Adaptation],
    ) -> bytes:
        """Encode messages one by one, each assistant's with what the endpoint wants back."""
        splicer = StateSplicer(self.profile, self.settings.origin, messages, changes)
        encoded: list[bytes] = []
        assistants = iter([each for each in messages if each.role == "assistant"])
        for sent in self._encode_messages(messages, names, repair_arguments, changes):
            if sent["role"] == "assistant":
                encoded.append(splicer.encode_message(next(assistants), sent))
            else:
                encoded.append(encode_json(sent))
        return b"[" + b",".join(encoded) + b"]"

    def _settings(self, sampling: Sampling) -> Json:
        field_names = {"max_tokens": self.profile.token_limit_field}
        chosen = {
            field_names.get(name, name): value
            for name, value in given_settings(sampling, self.profile.unsent_settings).items()
        }
        request_parts.check_extra(sampling.extra)
        extra = {name: v for name, v in sampling.extra.items() if not self._leaves_out(name)}
        settings = chosen | extra
        if self.settings.is_stream:
            settings["stream"] = True
            if self.profile.takes_stream_options and not self._leaves_out(STREAM_USAGE):
                settings |= _USAGE_FIELDS
        return settings

    def _encode_messages(
        self,
        messages: tuple[Message, ...],
        names: ToolNames,
        repair_arguments: bool,
        changes: list[Adaptation],
    ) -> list[Json]:
        encoded: list[Json] = []
        pending_media: list[Part] = []  # media of tool results, sent after the last result
        for message in messages:
            if pending_media and message.role != "tool":
                encoded.append({"role": "user", "content": self._encode_parts(pending_media)})
                pending_media = []
            if message.role == "tool":
                content = self._encode_result(message, pending_media, changes)
                id = restore_surrogates(message.call_id)
                encoded.append({"role": "tool", "tool_call_id": id, "content": content})
            elif message.calls:
                encoded.append(self._encode_calls_message(message, names, repair_arguments))
            else:
                encoded.append(
                    {"role": message.role, "content": self._encode_content(message.parts)}
                )
        if pending_media:
            encoded.append({"role": "user", "content": self._encode_parts(pending_media)})
        return encoded

    def _encode_calls_message(
        self, message: Message, names: ToolNames, repair_arguments: bool
    ) -> Json:
        """Encode an assistant's message with its calls."""
        calls = [
            {
                "id": restore_surrogates(call.id),
                "type": "function",
                "function": {
                    "name": self.namer.sent_name(call.name, names),
                    "arguments": object_or_empty(call.arguments)
                    if repair_arguments
                    else restore_surrogates(call.arguments),
                },
            }
            for call in message.calls
        ]
        return {
            "role": message.role,
            "content": self._encode_content(message.parts) or None,
            "tool_calls": calls,
        }

    def _encode_result(
        self, message: Message, pending_media: list[Part], changes: list[Adaptation]
    ) -> str | list[Json]:
        media = [part for part in message.parts if not isinstance(part, Text)]
        if not media:
            return self._encode_content(message.parts)
        parts = CHAT_MEDIA.replace_unsent(message.parts, changes)
        media = [part for part in parts if not isinstance(part, Text)]
        if not media or self.profile.takes_media_in_results:
            return self._encode_content(parts)
        pending_media.extend(media)
        if MEDIA_MOVED not in changes:
            changes.append(MEDIA_MOVED)
        text = "".join(part.text for part in parts if isinstance(part, Text))
        return restore_surrogates(text) or "(shown below)"

    def _encode_content(self, parts: tuple[Part, ...]) -> str | list[Json]:
        if len(parts) == 1 and isinstance(parts[0], Text):
            return restore_surrogates(parts[0].text)
        if all(isinstance(part, Text) for part in parts):
            return restore_surrogates(
                "".join(part.text for part in parts if isinstance(part, Text))
            )
        return self._encode_parts(parts)

    def _encode_parts(self, parts: tuple[Part, ...] | list[Part]) -> list[Json]:
        return [self._encode_part(part) for part in parts]

    def _encode_part(self, part: Part) -> Json:
        match part:
            case Text():
                return {"type": "text", "text": restore_surrogates(part.text)}
            case Image(mime=mime):
                data = media_base64(part, self.settings.media)
                url = f"data:{mime};base64,{data}"
                if mime == PDF_TYPE:
                    return {"type": "file", "file": {"filename": PDF_NAME, "file_data": url}}
                return {"type": "image_url", "image_url": {"url": url}}
            case Audio():
                return {"type": "input_audio", "input_audio": self._encode_sound(part)}

    def _encode_sound(self, part: Audio) -> Json:
        if not CHAT_MEDIA.carries(part):
            raise CHAT_MEDIA.refuse_part(part)
        if part.mime in WAV_TYPES and self.profile.audio_form == "mp3":
            return {"data": read_mp3(part, self.settings.media), "format": "mp3"}
        audio_format = "wav" if part.mime in WAV_TYPES else "mp3"
        return {"data": media_base64(part, self.settings.media), "format": audio_format}


def _encode_tools(needs_parameters: bool, tools: tuple[Tool, ...], sent: dict[str, str]) -> bytes:
    default = _NO_PARAMETERS if needs_parameters else {}
    functions = [_encode_tool(tool, sent.get(tool.name, tool.name), default) for tool in tools]
    return b',"tools":' + encode_json(functions)


def _encode_tool(tool: Tool, name: str, default: Json) -> Json:
    """Encode one tool; empty fields are left out, because strict servers refuse {} as a schema.

    `default` is the schema of a tool without parameters, {} for none.
    """
    function: Json = {"name": name}
    if tool.description:
        function["description"] = tool.description
    if parameters := tool.parameters or default:
        function["parameters"] = parameters
    return {"type": "function", "function": function | tool.extra_fields}
