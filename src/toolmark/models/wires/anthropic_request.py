"""A Request as the body of an Anthropic Messages request."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import Raw

from toolmark.core.json_codec import restore_surrogates
from toolmark.core.records import (
    Adaptation,
    AdaptationKind,
    Image,
    Message,
    Part,
    ProviderState,
    Request,
    Text,
)
from toolmark.models.wires import anthropic_state
from toolmark.models.wires.anthropic_settings import CACHE_MARK, SettingsEncoder
from toolmark.models.wires.anthropic_tools import encode_tools, find_schema_changes
from toolmark.models.wires.history_repair import repair_messages
from toolmark.models.wires.media_parts import PDF_TYPE, MediaTypes
from toolmark.models.wires.request_parts import encode_json, media_base64, object_or_empty
from toolmark.models.wires.state_fitting import StateFitter
from toolmark.models.wires.tool_names import LegalNames, ToolNamer, ToolNames
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder

Json = dict[str, Any]

_LETTERS = "a-zA-Z0-9_-"
_MAX_NAME_CHARS = 64
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
ANTHROPIC_MEDIA = MediaTypes("anthropic", pictures=(*_IMAGE_TYPES, PDF_TYPE), sounds=())
_EMPTY = "(empty)"  # the endpoint takes no message without text
_encode = msgspec.json.Encoder().encode


class MessagesEncoder(RequestEncoder):
    """Encodes requests to one model; each tuple of tools is encoded once and cached."""

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__(settings)
        self._body_start = b'{"model":' + encode_json(settings.model)
        self.namer = ToolNamer(
            LegalNames(_LETTERS, _LETTERS, _MAX_NAME_CHARS), encode_tools, find_schema_changes
        )
        self.fitter = StateFitter(
            "anthropic", settings.origin, self.namer, anthropic_state.read_state
        )
        self._settings_encoder = SettingsEncoder(settings)

    def encode_request(self, request: Request, *, repair_arguments: bool = False) -> EncodedRequest:
        """Encode the request, and return it with the tools as sent.

        Arguments that are no object are always sent as an empty one: the wire has no other form.
        """
        names = self.namer.name_tools(request.tools)
        conversation = _Conversation(self, names)
        history = request.messages
        if repair_arguments:
            history = repair_messages(
                history, conversation.adaptations, "anthropic", anthropic_state.drop_calls
            )
        n_system = conversation.add_all(history)
        messages = conversation.finish()
        settings = self._settings_encoder.encode(
            request.sampling,
            is_continued=conversation.has_replies,
            has_new_prefix=conversation.has_new_prefix,
        )
        system = self._encode_system(history[:n_system])
        parts = (self._body_start, system, b',"messages":', messages, names.encoded, settings.tail)
        adaptations = names.adaptations if names.sent or names.schema_changes else ()
        adaptations += settings.adaptations
        if conversation.adaptations:
            adaptations += tuple(dict.fromkeys(conversation.adaptations))
        return EncodedRequest(
            b"".join(parts), names, adaptations, settings.headers, settings.own_max_tokens
        )

    def _encode_system(self, messages: tuple[Message, ...]) -> bytes:
        """Encode the instructions before the conversation.

        Their mark, like the tools and all messages, is the same in each request of an episode.
        """
        blocks: list[Json] = [
            self.encode_part(part)
            for message in messages
            for part in message.parts
            if not _is_blank(part)
        ]
        if not blocks:
            return b""
        if self.profile.caches_prompts:
            blocks[-1]["cache_control"] = CACHE_MARK
        return b',"system":' + encode_json(blocks)

    def encode_part(self, part: Part) -> Json:
        """Encode a part. Raises Rejected for sound, and for pictures of another type."""
        match part:
            case Text():
                return {"type": "text", "text": restore_surrogates(part.text)}
            case Image(mime=mime) if ANTHROPIC_MEDIA.carries(part):
                kind = "document" if mime == PDF_TYPE else "image"
                return {"type": kind, "source": self._encode_source(part)}
            case _:
                raise ANTHROPIC_MEDIA.refuse_part(part)

    def _encode_source(self, part: Image) -> Json:
        data = media_base64(part, self.settings.media)
        return {"type": "base64", "media_type": part.mime, "data": data}


class _Conversation:
    """The messages of one request, as they are added.

    All results of a step, and what the user says after them, are one message of the user.
    """

    def __init__(self, encoder: MessagesEncoder, names: ToolNames) -> None:
        self._encoder = encoder
        self._names = names
        self._messages: list[Json] = []
        self._results: list[Json] = []
        self._said: list[Part] = []
        self.adaptations: list[Adaptation] = []
        self.has_replies = False
        self.has_new_prefix = False

    def add_all(self, messages: tuple[Message, ...]) -> int:
        """Add all messages but the instructions that begin them; return how many those are."""
        n_system = 0
        for message in messages:
            match message.role:
                case "system" if not (self._messages or self._said or self._results):
                    n_system += 1
                case "tool":
                    self._results.append(self._encode_result(message))
                case "assistant":
                    self._add_reply(message)
                case role:
                    if role == "system":
                        self._note("content", "a later message of the system is sent as the user's")
                    self._said += message.parts or (Text(""),)
        return n_system

    def finish(self) -> bytes:
        """Return the encoded messages."""
        self._end_user_message()
        if not self._messages:
            self._said.append(Text(""))
            self._end_user_message()
        try:
            return _encode(self._messages)
        except (UnicodeEncodeError, OverflowError):
            return json.dumps(self._messages, default=lambda raw: json.loads(bytes(raw))).encode()

    def _note(self, kind: AdaptationKind, detail: str) -> None:
        self.adaptations.append(Adaptation(kind=kind, detail=detail))

    def _end_user_message(self) -> None:
        if not self._results and not self._said:
            return
        said, results = self._said, self._results
        self._said, self._results = [], []
        if len(said) == 1 and not results and isinstance(said[0], Text):
            text = said[0].text
            if not text.strip():
                self._note("content", f"a message without text is sent as {_EMPTY}")
            content: str | list[Json] = restore_surrogates(text) if text.strip() else _EMPTY
        else:
            content = [
                *results,
                *(self._encoder.encode_part(part) for part in said if not _is_blank(part)),
            ]
        self._messages.append({"role": "user", "content": content or _EMPTY})

    def _encode_result(self, message: Message) -> Json:
        parts = message.parts
        content: str | list[Json]
        if all(isinstance(part, Text) for part in parts):
            content = restore_surrogates(message.text)
        else:
            parts = ANTHROPIC_MEDIA.replace_unsent(parts, self.adaptations)
            content = [self._encoder.encode_part(part) for part in parts if not _is_blank(part)]
        result: Json = {
            "type": "tool_result",
            "tool_use_id": restore_surrogates(message.call_id),
            "content": content,
        }
        if message.is_error:
            result["is_error"] = True
        return result

    def _add_reply(self, message: Message) -> None:
        state = message.provider_state
        content: Raw | list[Json] | None = None
        if state is not None:
            content = self._splice_content(message, state)
        if content is None:
            content = self._encode_reply(message)
        self.has_replies = True
        if not content:
            self._note("content", "a reply without content is left out")
            return
        self._end_user_message()
        self._messages.append({"role": "assistant", "content": content})

    def _splice_content(self, message: Message, state: ProviderState) -> Raw | list[Json] | None:
        """Return the content that a message repeats; None, recorded, where it does not fit."""
        found = self._encoder.fitter.find_state(message, state, self._names, self.adaptations)
        if found is None:
            return None
        if found.n_left_out:
            self._note("state_dropped", "thoughts at the end of a reply that was cut")
        if found.n_unreadable:
            self._note("arguments", "arguments that are no object are sent as an empty one")
        blocks = found.blocks
        ids = [restore_surrogates(call.id) for call in message.calls]
        if ids != [id for id, _, _ in found.calls]:
            self._note("state_patched", "calls without ids of their own have new ones")
            blocks = anthropic_state.rename_calls(found, ids)
        if found.has_thoughts and found.offer != anthropic_state.offer_digest(self._names.encoded):
            self.has_new_prefix = True
        return Raw(b"[" + b",".join(blocks) + b"]") if blocks else []

    def _encode_reply(self, message: Message) -> list[Json]:
        """Encode an assistant's message without its provider's state."""
        content = [self._encoder.encode_part(part) for part in message.parts if not _is_blank(part)]
        for call in message.calls:
            content.append(
                {
                    "type": "tool_use",
                    "id": restore_surrogates(call.id),
                    "name": self._encoder.namer.sent_name(call.name, self._names),
                    "input": self._encode_arguments(call.arguments),
                }
            )
        return content

    def _encode_arguments(self, arguments: str) -> Raw:
        """Return the arguments in their own characters."""
        if (readable := object_or_empty(arguments)) is not arguments:
            self._note("arguments", "arguments that are no object are sent as an empty one")
        restored = restore_surrogates(readable)
        if restored is not readable:  # lone surrogates have no bytes, but a form as JSON
            restored = json.dumps(json.loads(restored))
        return Raw(restored.encode())


def _is_blank(part: Part) -> bool:
    """Return whether a part is a text without a word, which the endpoint does not take."""
    return isinstance(part, Text) and not part.text.strip()
