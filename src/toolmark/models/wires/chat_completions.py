"""The wire to an OpenAI-compatible endpoint: chat completions."""

from __future__ import annotations

from typing import ClassVar

from toolmark.core.records import Reply
from toolmark.models.wire_names import WireName
from toolmark.models.wires import chat_reply
from toolmark.models.wires.chat_request import CHAT_MEDIA, OPTIONAL_SETTINGS, ChatEncoder
from toolmark.models.wires.chat_stream import ChatAssembler
from toolmark.models.wires.media_parts import MediaTypes
from toolmark.models.wires.tool_names import ToolNames
from toolmark.models.wires.wire import (
    RequestEncoder,
    StreamAssembler,
    Wire,
)


class ChatWire(Wire):
    """Chat completions, as OpenAI defined them and most servers offer them."""

    name: ClassVar[WireName] = "chat"
    path: ClassVar[str] = "chat/completions"
    encoder_type: ClassVar[type[RequestEncoder]] = ChatEncoder
    assembler_type: ClassVar[type[StreamAssembler]] = ChatAssembler
    media_types: ClassVar[MediaTypes] = CHAT_MEDIA
    optional_settings: ClassVar[frozenset[str]] = OPTIONAL_SETTINGS

    def decode_reply(self, body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
        """Decode the body of an answer; see `Wire.decode_reply`."""
        return chat_reply.decode_reply(body, names, latency_s, origin)


CHAT_WIRE = ChatWire()
