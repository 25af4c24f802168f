"""The wire of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec.structs import replace

from toolmark.core.records import Reply
from toolmark.models.claude_models import DEFAULT_VERSION, refused_by_version
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.wire_names import WireName
from toolmark.models.wires import anthropic_pause, anthropic_reply
from toolmark.models.wires.anthropic_request import ANTHROPIC_MEDIA, MessagesEncoder
from toolmark.models.wires.anthropic_settings import OPTIONAL_SETTINGS
from toolmark.models.wires.anthropic_stream import MessagesAssembler
from toolmark.models.wires.media_parts import MediaTypes
from toolmark.models.wires.tool_names import ToolNames
from toolmark.models.wires.wire import (
    EncodedRequest,
    RequestEncoder,
    StreamAssembler,
    Wire,
)

_MAX_VERSION_CHARS = 200


class MessagesWire(Wire):
    """Messages: content is a list of blocks, and thoughts go back signed and unchanged."""

    name: ClassVar[WireName] = "anthropic"
    path: ClassVar[str] = "messages"
    encoder_type: ClassVar[type[RequestEncoder]] = MessagesEncoder
    assembler_type: ClassVar[type[StreamAssembler]] = MessagesAssembler
    optional_settings: ClassVar[frozenset[str]] = OPTIONAL_SETTINGS
    media_types: ClassVar[MediaTypes] = ANTHROPIC_MEDIA
    may_pause: ClassVar[bool] = True
    key_header: ClassVar[str] = "x-api-key"
    models_path: ClassVar[str] = "models?limit=1000"

    def headers(self, key: str, profile: EndpointProfile) -> dict[str, str]:
        """Return the key, the version of the API, and the features that are asked for."""
        headers = {"anthropic-version": profile.api_version or DEFAULT_VERSION}
        if key:
            headers["x-api-key"] = key
        if profile.beta_features:
            headers["anthropic-beta"] = ",".join(profile.beta_features)
        return headers

    def settle_profile(
        self, profile: EndpointProfile, headers: Mapping[str, str]
    ) -> EndpointProfile:
        """Return the profile with the version and the features that the user's headers name.

        What the version refuses on all models is never sent.
        """
        given = {name.lower(): value[:_MAX_VERSION_CHARS] for name, value in headers.items()}
        version = given.get("anthropic-version", profile.api_version or DEFAULT_VERSION).strip()
        betas = given.get("anthropic-beta", "").split(",")
        asked = (*profile.beta_features, *(each.strip() for each in betas if each.strip()))
        unsent = {*profile.unsent_settings, *refused_by_version(version)}
        return replace(
            profile,
            api_version=version,
            beta_features=tuple(dict.fromkeys(asked)),
            unsent_settings=tuple(sorted(unsent)),
        )

    def decode_reply(self, body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
        """Decode the body of an answer; see `Wire.decode_reply`."""
        return anthropic_reply.decode_reply(body, names, latency_s, origin)

    def continue_request(self, sent: EncodedRequest, body: bytes) -> EncodedRequest | None:
        """Return the request that lets a paused message go on; see `Wire.continue_request`."""
        return anthropic_pause.continue_request(sent, body)

    def join_bodies(self, body: bytes, rest: bytes) -> bytes:
        """Return one body of a paused message and its rest; see `Wire.join_bodies`."""
        return anthropic_pause.join_bodies(body, rest)


MESSAGES_WIRE = MessagesWire()
