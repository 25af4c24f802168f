"""The wire to an OpenAI-compatible endpoint: chat completions."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Reply
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.wire_names import WireName
from toolmark.models.wires import chat_reply, reply_parts
from toolmark.models.wires.chat_request import CHAT_MEDIA, ChatEncoder
from toolmark.models.wires.chat_stream import ChatAssembler
from toolmark.models.wires.media_parts import MediaTypes
from toolmark.models.wires.tool_names import ToolNames
from toolmark.models.wires.wire import (
    EncoderSettings,
    RequestEncoder,
    StreamAssembler,
    Wire,
)

_MAX_LISTED_MODELS = 10_000  # of a list that are read


class ChatWire(Wire):
    """Chat completions, as OpenAI defined them and most servers offer them."""

    name: ClassVar[WireName] = "chat"
    media_types: ClassVar[MediaTypes] = CHAT_MEDIA

    def headers(self, key: str, profile: EndpointProfile) -> dict[str, str]:
        """Return the key as a bearer token."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def request_path(self, model: str, *, is_stream: bool) -> str:
        """Return the same path for every request."""
        return "chat/completions"

    def make_encoder(self, settings: EncoderSettings) -> RequestEncoder:
        """Return an encoder for requests to one model."""
        return ChatEncoder(settings)

    def decode_reply(self, body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
        """Decode the body of an answer; see `Wire.decode_reply`."""
        return chat_reply.decode_reply(body, names, latency_s, origin)

    def make_assembler(self) -> StreamAssembler:
        """Return what joins the chunks of one stream."""
        return ChatAssembler()

    def decode_model_names(self, body: bytes) -> tuple[str, ...] | None:
        """Return the names in a list of models, None for a body of another shape."""
        return decode_listed_ids(body)


CHAT_WIRE = ChatWire()


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def decode_listed_ids(body: bytes) -> tuple[str, ...] | None:
    """Return the ids of `{"data": [{"id": ...}]}`, None for another shape."""
    try:
        listed = msgspec.json.decode(body, type=_Models)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return tuple(
        escape_surrogates(item.id[: reply_parts.MAX_MODEL_NAME_CHARS])
        for item in listed.data[:_MAX_LISTED_MODELS]
    )
