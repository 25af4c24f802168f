"""The wire of OpenAI's Responses API, which stores nothing between requests."""

from __future__ import annotations

from typing import ClassVar

from toolmark.core.records import Reply
from toolmark.models.wire_names import WireName
from toolmark.models.wires import responses_reply
from toolmark.models.wires.media_parts import MediaTypes
from toolmark.models.wires.responses_request import (
    OPTIONAL_SETTINGS,
    RESPONSES_MEDIA,
    ResponsesEncoder,
)
from toolmark.models.wires.responses_stream import ResponsesAssembler
from toolmark.models.wires.tool_names import ToolNames
from toolmark.models.wires.wire import RequestEncoder, StreamAssembler, Wire


class ResponsesWire(Wire):
    """Responses: reasoning comes back encrypted, and goes with the conversation."""

    name: ClassVar[WireName] = "responses"
    path: ClassVar[str] = "responses"
    encoder_type: ClassVar[type[RequestEncoder]] = ResponsesEncoder
    assembler_type: ClassVar[type[StreamAssembler]] = ResponsesAssembler
    optional_settings: ClassVar[frozenset[str]] = OPTIONAL_SETTINGS
    media_types: ClassVar[MediaTypes] = RESPONSES_MEDIA

    def decode_reply(self, body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
        """Decode the body of an answer; see `Wire.decode_reply`."""
        return responses_reply.decode_reply(body, names, latency_s, origin)


RESPONSES_WIRE = ResponsesWire()
