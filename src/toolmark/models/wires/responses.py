"""The wire of OpenAI's Responses API, which stores nothing between requests."""

from __future__ import annotations

from typing import ClassVar

from toolmark.core.records import Reply
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.wire_names import WireName
from toolmark.models.wires import responses_reply
from toolmark.models.wires.chat_completions import decode_listed_ids
from toolmark.models.wires.media_parts import MediaTypes
from toolmark.models.wires.responses_request import (
    OPTIONAL_SETTINGS,
    RESPONSES_MEDIA,
    ResponsesEncoder,
)
from toolmark.models.wires.responses_stream import ResponsesAssembler
from toolmark.models.wires.tool_names import ToolNames
from toolmark.models.wires.wire import EncoderSettings, RequestEncoder, StreamAssembler, Wire


class ResponsesWire(Wire):
    """Responses: reasoning comes back encrypted, and goes with the conversation."""

    name: ClassVar[WireName] = "responses"
    optional_settings: ClassVar[frozenset[str]] = OPTIONAL_SETTINGS
    media_types: ClassVar[MediaTypes] = RESPONSES_MEDIA

    def headers(self, key: str, profile: EndpointProfile) -> dict[str, str]:
        """Return the key as a bearer token."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def request_path(self, model: str, *, is_stream: bool) -> str:
        """Return the same path for every request."""
        return "responses"

    def make_encoder(self, settings: EncoderSettings) -> RequestEncoder:
        """Return an encoder for requests to one model."""
        return ResponsesEncoder(settings)

    def decode_reply(self, body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
        """Decode the body of an answer; see `Wire.decode_reply`."""
        return responses_reply.decode_reply(body, names, latency_s, origin)

    def make_assembler(self) -> StreamAssembler:
        """Return what joins the events of one stream."""
        return ResponsesAssembler()

    def decode_model_names(self, body: bytes) -> tuple[str, ...] | None:
        """Return the names in a list of models, None for a body of another shape."""
        return decode_listed_ids(body)


RESPONSES_WIRE = ResponsesWire()
