"""The wire of Gemini's generateContent."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import quote

import msgspec

from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Reply
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.wire_names import WireName
from toolmark.models.wires import gemini_reply, reply_parts
from toolmark.models.wires.gemini_request import (
    GEMINI_MEDIA,
    OPTIONAL_SETTINGS,
    TOOL_CHOICE_FIELDS,
    GeminiEncoder,
)
from toolmark.models.wires.gemini_stream import GeminiAssembler
from toolmark.models.wires.media_parts import MediaTypes
from toolmark.models.wires.tool_names import ToolNames
from toolmark.models.wires.wire import EncoderSettings, RequestEncoder, StreamAssembler, Wire

_FOLDERS = ("models/", "tunedModels/")
_METHOD = "generateContent"
_MAX_LISTED_MODELS = 10_000


class GeminiWire(Wire):
    """generateContent: contents are lists of parts, and signed parts go back unchanged."""

    name: ClassVar[WireName] = "gemini"
    optional_settings: ClassVar[frozenset[str]] = OPTIONAL_SETTINGS
    media_types: ClassVar[MediaTypes] = GEMINI_MEDIA
    tool_choice_fields: ClassVar[tuple[str, ...]] = TOOL_CHOICE_FIELDS
    key_header: ClassVar[str] = "x-goog-api-key"
    models_path: ClassVar[str] = "models?pageSize=1000"

    def headers(self, key: str, profile: EndpointProfile) -> dict[str, str]:
        """Return the key in the header of the endpoint."""
        return {self.key_header: key} if key else {}

    def request_path(self, model: str, *, is_stream: bool) -> str:
        """Return the path, which names the model and the method."""
        name = model if model.startswith(_FOLDERS) else f"models/{model}"
        method = "streamGenerateContent?alt=sse" if is_stream else _METHOD
        return f"{quote(name, safe='/@')}:{method}"

    def make_encoder(self, settings: EncoderSettings) -> RequestEncoder:
        """Return an encoder for requests to one model."""
        return GeminiEncoder(settings)

    def decode_reply(self, body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
        """Decode the body of an answer; see `Wire.decode_reply`."""
        return gemini_reply.decode_reply(body, names, latency_s, origin)

    def make_assembler(self) -> StreamAssembler:
        """Return what joins the events of one stream."""
        return GeminiAssembler()

    def decode_model_names(self, body: bytes) -> tuple[str, ...] | None:
        """Return the names of the models that answer, None for a body of another shape."""
        try:
            listed = msgspec.json.decode(body, type=_Models)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return tuple(
            escape_surrogates(
                model.name.removeprefix(_FOLDERS[0])[: reply_parts.MAX_MODEL_NAME_CHARS]
            )
            for model in listed.models[:_MAX_LISTED_MODELS]
            if _METHOD in (model.supported_generation_methods or (_METHOD,))
        )


class _Model(msgspec.Struct, rename="camel"):
    name: str
    supported_generation_methods: list[str] | None = None


class _Models(msgspec.Struct):
    models: list[_Model]


GEMINI_WIRE = GeminiWire()
