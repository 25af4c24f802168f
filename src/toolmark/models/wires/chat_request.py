"""A Request as the body of a chat completion."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from toolmark.core import secrets
from toolmark.core.errors import DataError, UsageError
from toolmark.core.json_codec import restore_surrogates
from toolmark.core.media import MediaStore
from toolmark.core.records import Audio, Image, Message, Part, Request, Sampling, Text, Tool
from toolmark.models import audio_encoding
from toolmark.models.endpoint_profile import EndpointProfile

Json = dict[str, Any]

_MAX_ENCODED_TOOLS = 256
_MAX_NAME_CHARS = 64
_AUDIO_FORMAT_BY_MIME = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
# the settings of Sampling, and the fields that carry them; the profile may name another
_SETTING_FIELDS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "reasoning_effort": "reasoning_effort",
}
_RESERVED_FIELDS = ("messages", "model", "stream", "tools")

_encode_json = msgspec.json.Encoder().encode


class EncodedTools(NamedTuple):
    """One tuple of tools as sent: encoded, with the names that had to be changed."""

    tools: tuple[Tool, ...]
    encoded: bytes
    sent_names: dict[str, str]
    original_names: dict[str, str]


class RequestEncoder:
    """Encodes requests to one model; each tuple of tools is encoded once and cached."""

    def __init__(self, model: str, profile: EndpointProfile, media: MediaStore | None) -> None:
        self.media = media
        self._body_start = b'{"model":' + _encode_json(model) + b',"messages":'
        self.profile = profile
        letters = "a-zA-Z0-9_.-" if profile.allows_dots else "a-zA-Z0-9_-"
        self._illegal_chars = re.compile(f"[^{letters}]")
        self._match_legal_name = re.compile(f"[{letters}]{{1,{_MAX_NAME_CHARS}}}").fullmatch
        self._encoded_tools: dict[int, EncodedTools] = {}
        self._last_settings: tuple[Sampling | None, bytes] = (None, b"")

    def encode_request(
        self, request: Request, *, repair_arguments: bool = False
    ) -> tuple[bytes, EncodedTools]:
        """Encode the request, and return it with the tools as sent.

        `repair_arguments` is for servers that refuse an earlier message of the model: arguments
        that are not a JSON object are sent as an empty one.
        """
        tools = self.encode_tools(request.tools)
        encoded = _encode_any_json(self._encode_messages(request.messages, tools, repair_arguments))
        return self._body_start + encoded + tools.encoded + self._encode_tail(
            request.sampling
        ), tools

    def encode_tools(self, tools: tuple[Tool, ...]) -> EncodedTools:
        """Return the tools as sent; the same tuple object is encoded once."""
        # the entry refers to the tuple, so that no other object gets its id while it is cached
        encoded_tools = self._encoded_tools.get(id(tools))
        if encoded_tools is None:
            if len(self._encoded_tools) >= _MAX_ENCODED_TOOLS:
                del self._encoded_tools[next(iter(self._encoded_tools))]
            encoded_tools = self._encoded_tools[id(tools)] = self._encode_tools(tools)
        return encoded_tools

    def _encode_tools(self, tools: tuple[Tool, ...]) -> EncodedTools:
        sent_names: dict[str, str] = {}
        illegal_names = [tool.name for tool in tools if not self._match_legal_name(tool.name)]
        if illegal_names:
            taken = {tool.name for tool in tools}.difference(illegal_names)
            for name in dict.fromkeys(illegal_names):
                sent_names[name] = self._unused_name(name, taken)
                taken.add(sent_names[name])
        functions = [_encode_tool(tool, sent_names.get(tool.name, tool.name)) for tool in tools]
        original_names = {name: tool for tool, name in sent_names.items()}
        return EncodedTools(
            tools,
            b',"tools":' + _encode_any_json(functions) if tools else b"",
            sent_names,
            original_names,
        )

    def _legal_name(self, name: str) -> str:
        return self._illegal_chars.sub("_", name)[:_MAX_NAME_CHARS] or "_"

    def _unused_name(self, name: str, taken: set[str]) -> str:
        """Return a valid name that is not taken, with a suffix if necessary."""
        legal_name = candidate = self._legal_name(name)
        n = 1
        while candidate in taken:
            n += 1
            suffix = f"_{n}"
            candidate = legal_name[: _MAX_NAME_CHARS - len(suffix)] + suffix
        return candidate

    def _encode_tail(self, sampling: Sampling) -> bytes:
        """Encode the settings and close the body; the last settings are cached."""
        if self._last_settings[0] is not sampling:
            self._last_settings = (sampling, self._encode_settings(sampling))
        return self._last_settings[1]

    def _encode_settings(self, sampling: Sampling) -> bytes:
        field_names = {**_SETTING_FIELDS, "max_tokens": self.profile.token_limit_field}
        chosen = {
            field_names[name]: value
            for name, value in given_settings(sampling).items()
            if name not in self.profile.unsent_settings
        }
        _check_extra(sampling.extra)
        settings = chosen | sampling.extra
        return b"," + _encode_any_json(settings)[1:] if settings else b"}"

    def _encode_messages(
        self, messages: tuple[Message, ...], encoded_tools: EncodedTools, repair_arguments: bool
    ) -> list[Json]:
        encoded: list[Json] = []
        pending_media: list[Part] = []  # media of tool results, sent after the last result
        for message in messages:
            if pending_media and message.role != "tool":
                encoded.append({"role": "user", "content": self._encode_parts(pending_media)})
                pending_media = []
            if message.role == "tool":
                content = self._encode_result(message, pending_media)
                id = restore_surrogates(message.call_id)
                encoded.append({"role": "tool", "tool_call_id": id, "content": content})
            elif message.calls:
                encoded.append(self._encode_calls_message(message, encoded_tools, repair_arguments))
            else:
                encoded.append(
                    {"role": message.role, "content": self._encode_content(message.parts)}
                )
        if pending_media:
            encoded.append({"role": "user", "content": self._encode_parts(pending_media)})
        return encoded

    def _encode_calls_message(
        self, message: Message, encoded_tools: EncodedTools, repair_arguments: bool
    ) -> Json:
        """Encode an assistant's message with its calls."""
        calls = [
            {
                "id": restore_surrogates(call.id),
                "type": "function",
                "function": {
                    "name": self._sent_name(call.name, encoded_tools),
                    "arguments": _object_or_empty(call.arguments)
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

    def _sent_name(self, name: str, encoded_tools: EncodedTools) -> str:
        """Return the name as sent; a name that the model invented is made valid too."""
        if self._match_legal_name(name):
            return name
        return encoded_tools.sent_names.get(name) or self._legal_name(restore_surrogates(name))

    def _encode_result(self, message: Message, pending_media: list[Part]) -> str | list[Json]:
        media = [part for part in message.parts if not isinstance(part, Text)]
        if not media or self.profile.takes_media_in_results:
            return self._encode_content(message.parts)
        pending_media.extend(media)
        return restore_surrogates(message.text) or "(shown below)"

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
            case Image():
                url = f"data:{part.mime};base64,{_encode_base64(self._read_media(part))}"
                return {"type": "image_url", "image_url": {"url": url}}
            case Audio():
                audio_format = _AUDIO_FORMAT_BY_MIME.get(part.mime)
                if audio_format is None:
                    raise DataError(f"audio of type {part.mime!r} cannot be sent: wav or mp3 only")
                audio_bytes = self._read_media(part)
                if audio_format != self.profile.audio_form == "mp3":
                    audio_format, audio_bytes = "mp3", audio_encoding.encode_mp3(audio_bytes)
                data = {"data": _encode_base64(audio_bytes), "format": audio_format}
                return {"type": "input_audio", "input_audio": data}

    def _read_media(self, part: Image | Audio) -> bytes:
        if self.media is None:
            raise UsageError("a message holds media, but the model has no media store")
        return self.media.read(part)


def given_settings(sampling: Sampling) -> dict[str, Any]:
    """Return the settings that are not None, by their names."""
    values = {name: getattr(sampling, name) for name in _SETTING_FIELDS}
    return {name: value for name, value in values.items() if value is not None}


def check_sampling(sampling: Sampling) -> None:
    """Raise UsageError, before any request, for settings that no request can contain."""
    _check_extra(sampling.extra)
    temperature, top_p, max_tokens = sampling.temperature, sampling.top_p, sampling.max_tokens
    if temperature is not None and not 0 <= temperature < math.inf:
        raise UsageError(f"temperature must be a number from 0; got {temperature}")
    if top_p is not None and not 0 <= top_p <= 1:
        raise UsageError(f"top-p must be from 0 to 1; got {top_p}")
    if max_tokens is not None and max_tokens < 1:
        raise UsageError(f"max-tokens must be at least 1; got {max_tokens}")


def _check_extra(extra: Mapping[str, Any]) -> None:
    for name in _RESERVED_FIELDS:
        if name in extra:
            raise UsageError(f"the extra body may not set {name!r}: toolmark sets it")
    try:
        json.dumps(dict(extra), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the extra body is not JSON: {error}") from None
    for place in secrets.key_paths_in_body(extra):
        raise UsageError(
            f"the extra body holds what looks like a key, at {place!r}, and is stored with the "
            "run: give it by --header, by TOOLMARK_HEADER or by the provider's variable"
        )


def _encode_tool(tool: Tool, name: str) -> Json:
    """Encode one tool; empty fields are left out, because strict servers refuse {} as a schema."""
    function: Json = {"name": name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters:
        function["parameters"] = tool.parameters
    return {"type": "function", "function": function}


def _object_or_empty(arguments: str) -> str:
    """Return the arguments if they are a JSON object that any server can parse, else {}."""
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return "{}"
    return arguments


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _encode_any_json(value: Any) -> bytes:
    """Encode JSON with msgspec, or (huge integers, lone surrogates) with the standard library."""
    try:
        return _encode_json(value)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value).encode()
