"""The wire of Gemini's generateContent."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import quote

from toolmark.core.records import Reply
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.wire_names import WireName
from toolmark.models.wires import gemini_reply
from toolmark.models.wires.gemini_request import (
    GEMINI_MEDIA,
    OPTIONAL_SETTINGS,
    TOOL_CHOICE_FIELDS,
    GeminiEncoder,
)
from toolmark.models.wires.gemini_stream import GeminiAssembler
from toolmark.models.wires.listed_models import decode_listed_names
from toolmark.models.wires.media_parts import MediaTypes
from toolmark.models.wires.tool_names import ToolNames
from toolmark.models.wires.wire import RequestEncoder, StreamAssembler, Wire

_FOLDERS = ("models/", "tunedModels/")
_METHOD = "generateContent"


class GeminiWire(Wire):
    """generateContent: contents are lists of parts, and signed parts go back unchanged."""

    name: ClassVar[WireName] = "gemini"
    encoder_type: ClassVar[type[RequestEncoder]] = GeminiEncoder
    assembler_type: ClassVar[type[StreamAssembler]] = GeminiAssembler
    optional_settings: ClassVar[frozenset[str]] = OPTIONAL_SETTINGS
    media_types: ClassVar[MediaTypes] = GEMINI_MEDIA
    tool_choice_fields: ClassVar[tuple[str, ...]] = TOOL_CHOICE_FIELDS
    key_header: ClassVar[str] = "x-goog-api-key"
    models_path: ClassVar[str] = "models?pageSize=1000"
    sends_dots: ClassVar[bool] = True

    def headers(self, key: str, profile: EndpointProfile) -> dict[str, str]:
        """Return the key in the header of the endpoint."""
        return {self.key_header: key} if key else {}

    def request_path(self, model: str, *, is_stream: bool) -> str:
        """Return the path, which names the model and the method."""
        name = model if model.startswith(_FOLDERS) else f"models/{model}"
        method = "streamGenerateContent?alt=sse" if is_stream else _METHOD
        return f"{quote(name, safe='/@')}:{method}"

    def decode_reply(self, body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
        """Decode the body of an answer; see `Wire.decode_reply`."""
        return gemini_reply.decode_reply(body, names, latency_s, origin)

    def decode_model_names(self, body: bytes) -> tuple[str, ...] | None:
        """Return the names of the models that answer, None for a body of another shape."""
        return decode_listed_names(body, folder=_FOLDERS[0], method=_METHOD)


GEMINI_WIRE = GeminiWire()
