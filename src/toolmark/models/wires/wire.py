"""What a provider protocol must offer: a request as a body, a body and a stream as a reply.

A wire is one small module. Everything around it is shared: addresses, keys, retries, complaints and
masking (`models.endpoint_model`), the transport (`models.http_client`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from toolmark.core.media import MediaStore
from toolmark.core.records import Adaptation, Reply, Request
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.wire_names import WireName
from toolmark.models.wires.listed_models import decode_listed_ids
from toolmark.models.wires.media_parts import MediaTypes
from toolmark.models.wires.tool_names import ToolNames

StreamMark: TypeAlias = Literal["", "token", "call"]
"""What an event of a stream brought first: nothing that counts, output, or the name of a call."""


class EncoderSettings(NamedTuple):
    """What the bodies of all requests to one endpoint have in common.

    `origin` is the digest of wire, address and model that a `ProviderState` must have to be sent.
    """

    model: str
    profile: EndpointProfile
    media: MediaStore | None = None
    origin: str = ""
    is_stream: bool = False


class EncodedRequest(NamedTuple):
    """A request as sent: its body, the names that tools have in it, and what had to be changed.

    `headers` replace those of all requests. `own_max_tokens` is the limit of the reply that
    toolmark set itself, 0 where the user did or there is none. `digested_bytes` is the length of a
    body whose digest stands in its place, as while it waits for a batch.
    """

    body: bytes
    names: ToolNames
    adaptations: tuple[Adaptation, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    own_max_tokens: int = 0
    digested_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        """The length of the body that is sent."""
        return self.digested_bytes or len(self.body)


class RequestEncoder:
    """Encodes requests to one model; a subclass for each wire."""

    def __init__(self, settings: EncoderSettings) -> None:
        self.settings = settings
        self.profile = settings.profile

    def encode_request(self, request: Request, *, repair_arguments: bool = False) -> EncodedRequest:
        """Return the body of a request.

        `repair_arguments` is for servers that refuse an earlier message of the model: arguments
        that are not a JSON object are sent as an empty one. Raises UsageError for settings that no
        request can have, Rejected for what the wire cannot carry, DataError for a lost file.
        """
        raise NotImplementedError


class StreamAssembler:
    """Joins the events of one stream to the body that the endpoint would have sent whole.

    So a stream and a body are read by the same decoder. A subclass for each wire. `size_bytes` is
    about how much memory the joined events take, which the transport limits. While it is None, all
    bytes of the stream count instead: many times more, because each token has a frame.
    """

    size_bytes: int | None = None

    def add_event(self, name: str, data: bytes) -> StreamMark:
        """Take one event: its name, "" for none, and its data.

        Raises TornReply for data that are no JSON object.
        """
        raise NotImplementedError

    @property
    def has_ended(self) -> bool:
        """Whether the stream said that it is complete; what follows is not read."""
        raise NotImplementedError

    @property
    def is_finished(self) -> bool:
        """Whether the reply is said to be complete, though the stream may go on.

        What may follow, such as counts of tokens, is not needed: without it the reply is one.
        """
        return self.has_ended

    def whole_body(self) -> bytes:
        """Return the body of the joined events. Raises TornReply where the end is missing."""
        raise NotImplementedError


class Wire:
    """A provider protocol, without state.

    `path` is that of every request, below the address of the endpoint. `encoder_type` encodes the
    requests to one model, `assembler_type` joins the events of one stream.
    `optional_settings` are asked of every model without the user's word, and left out where a model
    refuses them: names in `EndpointProfile.unsent_settings`. `tool_choice_fields` are the fields of
    an extra body that say which tool must be called: a model that refuses that decides itself.
    `sends_dots`: names of tools may have dots, whatever the endpoint.
    `media_types` are the pictures and sounds that it carries. A wire that `may_pause` may send a
    long reply in parts, of which each is asked for (`continue_request`).
    """

    name: ClassVar[WireName]
    path: ClassVar[str]
    encoder_type: ClassVar[type[RequestEncoder]]
    assembler_type: ClassVar[type[StreamAssembler]]
    optional_settings: ClassVar[frozenset[str]] = frozenset()
    tool_choice_fields: ClassVar[tuple[str, ...]] = ("tool_choice",)
    media_types: ClassVar[MediaTypes]
    may_pause: ClassVar[bool] = False
    sends_dots: ClassVar[bool] = False
    key_header: ClassVar[str] = "Authorization"
    models_path: ClassVar[str] = "models"

    @property
    def takes_sound(self) -> bool:
        """Whether requests may contain sound."""
        return self.media_types.sounds != ()

    def headers(self, key: str, profile: EndpointProfile) -> dict[str, str]:
        """Return the headers of every request; `key` may be ""."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def settle_profile(
        self, profile: EndpointProfile, headers: Mapping[str, str]
    ) -> EndpointProfile:
        """Return the profile with what the user's headers and the wire itself decide."""
        return profile

    def request_path(self, model: str, *, is_stream: bool) -> str:
        """Return the path below the address of the endpoint, with its query."""
        return self.path

    def make_encoder(self, settings: EncoderSettings) -> RequestEncoder:
        """Return an encoder for requests to one model."""
        return self.encoder_type(settings)

    def decode_reply(self, body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
        """Decode the body of an answer with status 200.

        Raises TornReply if the body is not JSON or contains no message, ErrorInBody if it contains
        an error. Neither text quotes the body, which may repeat a key. No body raises anything
        else. A message whose parts have the wrong shape is a malformed Reply.
        """
        raise NotImplementedError

    def make_assembler(self) -> StreamAssembler:
        """Return what joins the events of one stream."""
        return self.assembler_type()

    def continue_request(self, sent: EncodedRequest, body: bytes) -> EncodedRequest | None:
        """Return the request that lets a paused reply go on; None for one that has ended.

        `body` is that of the reply so far. Raises TornReply.
        """
        return None

    def join_bodies(self, body: bytes, rest: bytes) -> bytes:
        """Return one body of a paused reply and the rest of it. Raises TornReply, ErrorInBody."""
        return rest

    def decode_model_names(self, body: bytes) -> tuple[str, ...] | None:
        """Return the names in a list of models, None for a body of another shape."""
        return decode_listed_ids(body)
