"""A Request as the body of a Gemini generateContent request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Raw

from toolmark.core.errors import UsageError
from toolmark.core.json_codec import restore_surrogates
from toolmark.core.records import (
    Adaptation,
    AdaptationKind,
    Audio,
    Call,
    Message,
    Part,
    Request,
    Sampling,
    Text,
    Tool,
)
from toolmark.models.wires import request_parts
from toolmark.models.wires.gemini_state import (
    SIGNATURE_MEMBER,
    drop_calls,
    read_state,
)
from toolmark.models.wires.history_repair import repair_messages
from toolmark.models.wires.media_parts import MP3_TYPES, WAV_TYPES, MediaTypes, read_mp3
from toolmark.models.wires.request_parts import (
    SettingsTail,
    encode_json,
    media_base64,
    object_or_empty,
)
from toolmark.models.wires.state_fitting import StateFitter
from toolmark.models.wires.tool_names import LegalNames, ToolNamer, ToolNames
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder

Json = dict[str, Any]
_ContentKind: TypeAlias = Literal["user", "results", "model"]

THOUGHT_SUMMARIES = "thought_summaries"
OPTIONAL_SETTINGS = frozenset((THOUGHT_SUMMARIES,))
"""What is asked of every model, and left out where a model refuses it."""
TOOL_CHOICE_FIELDS = ("toolConfig", "tool_config")
"""The fields of an extra body that say which tool must be called."""
_LEGAL_NAMES = LegalNames("a-zA-Z_", "a-zA-Z0-9_.:-", 128)
_RESERVED_FIELDS = ("system_instruction", "generation_config", "cachedContent", "cached_content")
_NO_SIGNATURE = "skip_thought_signature_validator"
_MAX_CACHED_CHARS = 2**12  # of arguments that are checked once
_MAX_CACHED_ARGUMENTS = 1024
_encode = msgspec.json.Encoder().encode
GEMINI_MEDIA = MediaTypes("gemini")


class GeminiEncoder(RequestEncoder):
    """Encodes requests to one model; each tuple of tools is encoded once and cached."""

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__(settings)
        self.namer = ToolNamer(_LEGAL_NAMES, _encode_tools)
        self.fitter = StateFitter("gemini", settings.origin, self.namer, read_state)
        self._tail = SettingsTail()

    def encode_request(self, request: Request, *, repair_arguments: bool = False) -> EncodedRequest:
        """Encode the request, and return it with the tools as sent.

        Arguments that are no object are always sent as an empty one: the wire has no other form.
        What an endpoint may refuse of earlier messages is that their calls have no signature.
        """
        names = self.namer.name_tools(request.tools)
        changes: list[Adaptation] = []
        history = request.messages
        if repair_arguments:
            history = repair_messages(history, changes, "gemini", drop_calls)
        conversation = _Conversation(self, names, history, repair_arguments)
        conversation.adaptations += changes
        if request_parts.TOOL_CHOICE in self.profile.unsent_settings:
            conversation.adaptations += request_parts.free_choice(
                request.sampling, TOOL_CHOICE_FIELDS
            )
        contents, system = conversation.encode()
        tail = self._tail.encode(request.sampling, self._settings)
        body = b"".join((b'{"contents":', contents, system, names.encoded, tail))
        adaptations = names.adaptations if names.sent else ()
        if conversation.adaptations:
            adaptations += tuple(dict.fromkeys(conversation.adaptations))
        return EncodedRequest(body, names, adaptations)

    def encode_part(self, part: Part) -> Json:
        """Return a part as the wire has it; sound in the form that the user chose."""
        if isinstance(part, Text):
            return {"text": restore_surrogates(part.text)}
        mime, media = part.mime, self.settings.media
        if isinstance(part, Audio) and mime in WAV_TYPES and self.profile.audio_form == "mp3":
            mime, data = "audio/mp3", read_mp3(part, media)
        else:
            mime, data = "audio/mp3" if mime in MP3_TYPES else mime, media_base64(part, media)
        return {"inlineData": {"mimeType": mime, "data": data}}

    def _settings(self, sampling: Sampling) -> Json:
        unsent = self.profile.unsent_settings
        extra = request_parts.extra_without_choice(
            _check_extra(sampling.extra), unsent, TOOL_CHOICE_FIELDS
        )
        given = request_parts.given_settings(sampling, unsent)
        effort = given.pop("reasoning_effort", None)
        thinking: Json = {}
        if effort == "none":
            thinking["thinkingBudget"] = 0
        elif effort is not None:
            thinking["thinkingLevel"] = effort.upper()
        if THOUGHT_SUMMARIES not in unsent and effort != "none":
            thinking["includeThoughts"] = True
        fields = {"temperature": "temperature", "top_p": "topP", "max_tokens": "maxOutputTokens"}
        config: Json = {fields[name]: value for name, value in given.items()}
        # what the user adds to these two does not replace what a conversation needs
        added = extra.get("generationConfig", {})
        thinking |= added.get("thinkingConfig", {})
        config |= added
        if thinking:
            config["thinkingConfig"] = thinking
        return {**extra, **({"generationConfig": config} if config else {})}


class _Conversation:
    """The contents of one request, as they are added.

    Messages in a row of one kind are one content: those of the user, the results of a step, those
    of the model.
    """

    def __init__(
        self,
        encoder: GeminiEncoder,
        names: ToolNames,
        messages: tuple[Message, ...],
        signs_all: bool,
    ) -> None:
        self._encoder = encoder
        self._names = names
        self._messages = messages
        self._signs_all = signs_all
        self._contents: list[Json] = []
        self._kind: _ContentKind | None = None
        self._parts: list[Json | Raw] = []
        self._sent_calls: dict[str, tuple[str, str]] = {}
        self.adaptations: list[Adaptation] = []

    def encode(self) -> tuple[bytes, bytes]:
        """Return the encoded contents, and the member with the instructions before them."""
        instructions: list[Json] = []
        for message in self._messages:
            match message.role:
                case "system" if self._kind is None:
                    instructions += map(self._encoder.encode_part, message.parts)
                case "tool":
                    self._add("results", [self._encode_result(message)])
                case "assistant":
                    self._add_reply(message)
                case role:
                    if role == "system":
                        self._note("content", "a later message of the system is sent as the user's")
                    parts = message.parts or (Text(""),)
                    self._add("user", [self._encoder.encode_part(part) for part in parts])
        if self._kind is None:  # the endpoint answers nothing but contents
            self._add("user", instructions or [self._encoder.encode_part(Text(""))])
            instructions = []
        system = b""
        if instructions:
            system = b',"systemInstruction":' + encode_json({"parts": instructions})
        return _encode_contents(self._contents), system

    def _note(self, kind: AdaptationKind, detail: str) -> None:
        self.adaptations.append(Adaptation(kind=kind, detail=detail))

    def _add(self, kind: _ContentKind, parts: Iterable[Json | Raw]) -> None:
        if kind != self._kind:
            self._kind, self._parts = kind, []
            role = "model" if kind == "model" else "user"
            self._contents.append({"role": role, "parts": self._parts})
        self._parts += parts

    def _encode_result(self, message: Message) -> Json:
        """Encode a result under the id and the name of its call, as the endpoint knows them."""
        call_id, parts = message.call_id, message.parts
        call = self._sent_calls.get(call_id)
        if call is None:  # a result of no call in the step before
            call = restore_surrogates(call_id), self._encoder.namer.sent_name(call_id, self._names)
        media: list[Part] = []
        if len(parts) == 1 and isinstance(parts[0], Text):
            text = parts[0].text
        else:
            text = message.text
            media += (part for part in parts if not isinstance(part, Text))
        response = {"error" if message.is_error else "output": restore_surrogates(text)}
        sent_id, name = call
        result: Json = {"name": name, "response": response, "id": sent_id}
        if not sent_id:
            del result["id"]
        if media:
            result["parts"] = [self._encoder.encode_part(part) for part in media]
        return {"functionResponse": result}

    def _add_reply(self, message: Message) -> None:
        state = message.provider_state
        found = None
        if state is not None:
            # an id is not compared: where the endpoint gave none, the conversation has one
            found = self._encoder.fitter.find_state(message, state, self._names, self.adaptations)
        if found is not None:
            self._add("model", found.parts)
            for call, (sent_id, name, _) in zip(message.calls, found.calls, strict=True):
                self._sent_calls[call.id] = (sent_id, name)
            return
        parts = [self._encoder.encode_part(part) for part in message.parts]
        for index, call in enumerate(message.calls):
            is_signed = index == 0 and self._has_to_sign(message)
            parts.append(self._encode_call(call, is_signed=is_signed))
        if parts:
            self._add("model", parts)
        else:
            self._note("content", "a reply without content is left out")

    def _encode_call(self, call: Call, *, is_signed: bool) -> Json:
        """Encode a call without its provider's state; only the first of a step is signed."""
        sent_id = restore_surrogates(call.id)
        name = self._encoder.namer.sent_name(call.name, self._names)
        self._sent_calls[call.id] = (sent_id, name)
        args, is_object = _encode_arguments(call.arguments)
        if not is_object:
            self._note("arguments", "arguments that are no object are sent as an empty one")
        made: Json = {"name": name, "args": args, "id": sent_id}
        if not sent_id:
            del made["id"]
        if not is_signed:
            return {"functionCall": made}
        self._note("state_patched", "a call that the endpoint has not signed is marked as such")
        return {"functionCall": made, SIGNATURE_MEMBER: _NO_SIGNATURE}

    def _has_to_sign(self, message: Message) -> bool:
        """Return whether the endpoint demands a signature on a reply that goes without its own.

        It does where the reply had one. Of the replies of others nothing is known before the
        endpoint refuses them: older models sign some of their replies and demand nothing.
        """
        state = message.provider_state
        return self._signs_all or (
            state is not None and state.wire == "gemini" and SIGNATURE_MEMBER in state.data
        )


def _encode_contents(contents: list[Json]) -> bytes:
    try:
        return _encode(contents)
    except UnicodeEncodeError:
        for content in contents:
            content["parts"] = [_encode_part(part) for part in content["parts"]]
        return _encode(contents)


def _encode_part(part: Json | Raw) -> Raw:
    """Encode one part; lone surrogates have no bytes, but a form as JSON."""
    try:
        return Raw(_encode(part))
    except UnicodeEncodeError:
        return Raw(json.dumps(part, default=lambda raw: json.loads(bytes(raw))).encode())


def _encode_arguments(arguments: str) -> tuple[Raw, bool]:
    """Return arguments in their own characters, and whether they are an object."""
    if len(arguments) <= _MAX_CACHED_CHARS:
        return _check_cached(arguments)
    return _check_arguments(arguments)


def _check_arguments(arguments: str) -> tuple[Raw, bool]:
    readable = object_or_empty(arguments)
    restored = restore_surrogates(readable)
    if restored is not readable:  # lone surrogates have no bytes, but a form as JSON
        restored = json.dumps(json.loads(restored, strict=False))
    return Raw(restored.encode()), readable is arguments


_check_cached = lru_cache(_MAX_CACHED_ARGUMENTS)(_check_arguments)


def _check_extra(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the extra body. Raises UsageError for what toolmark sets or cannot ask twice."""
    request_parts.check_extra(extra)
    for name in _RESERVED_FIELDS:
        if name in extra:
            raise UsageError(
                f"the extra body may not set {name!r}: settings are in 'generationConfig', and "
                "each request holds the whole conversation"
            )
    config = extra.get("generationConfig", {})
    thinking = config.get("thinkingConfig", {}) if isinstance(config, dict) else None
    if not isinstance(thinking, dict):
        raise UsageError(
            "the extra body: 'generationConfig' and its 'thinkingConfig' must be objects"
        )
    return extra


def _encode_tools(tools: tuple[Tool, ...], sent: dict[str, str]) -> bytes:
    declarations = [_encode_tool(tool, sent.get(tool.name, tool.name)) for tool in tools]
    return b',"tools":' + encode_json([{"functionDeclarations": declarations}])


def _encode_tool(tool: Tool, name: str) -> Json:
    """Encode one tool; its schema goes by the member that takes all of JSON Schema."""
    function: Json = {"name": name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters:
        function["parametersJsonSchema"] = tool.parameters
    return function
