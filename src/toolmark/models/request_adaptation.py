"""The form in which an endpoint takes requests, learned from what it refuses.

A request that is refused for its form is sent again: without the settings that the complaint names,
with a smaller limit of the reply, or with its history repaired. What an answer proves is remembered
for all later requests.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine, Set
from typing import Any, TypeAlias

from msgspec.structs import replace

from toolmark.core.records import Adaptation, Request
from toolmark.models import complaint_outcome
from toolmark.models.complaint_outcome import Complaint
from toolmark.models.endpoint_profile import EndpointProfile, adapt_profile
from toolmark.models.http_client import HttpResponse
from toolmark.models.wires.request_parts import given_settings
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder, Wire

UNREADABLE_STATUSES = (400, 422)
"""The statuses of a request that may pass in another form."""
_HISTORY = "reasoning_history"
_TOOL_CHOICE = "tool_choice"

PostRequest: TypeAlias = Callable[[EncodedRequest], Coroutine[Any, Any, HttpResponse]]
ReadComplaint: TypeAlias = Callable[[bytes], Complaint]


class RequestAdapter:
    """Encodes the requests to one endpoint, and remembers in which form it takes them.

    `encoder` is shared by the requests in flight. `refused` are the settings that the endpoint
    refused, `repairs_history` says that it refuses histories which are not repaired.
    """

    def __init__(self, wire: Wire, settings: EncoderSettings) -> None:
        self._wire = wire
        self._settings = settings
        self.encoder = self._make_encoder(settings.profile)
        self.refused: frozenset[str] = frozenset()
        self.repairs_history = False

    def with_profile(self, new_profile: EndpointProfile) -> RequestAdapter:
        """Return the same for another profile, with what is known of the endpoint."""
        other = copy.copy(self)
        other.encoder = self._make_encoder(adapt_profile(new_profile, self.refused))
        return other

    async def retry(
        self,
        request: Request,
        sent: EncodedRequest,
        answer: HttpResponse,
        post: PostRequest,
        read_complaint: ReadComplaint,
    ) -> tuple[EncodedRequest, HttpResponse]:
        """Ask again while the body can be changed to what the endpoint says it accepts.

        A refused setting is left out of later requests once an answer came without it: only that
        proves that the setting was the reason. The same is true of a repaired history.
        """
        given = _refusable_settings(request, self._wire)
        refused: frozenset[str] = frozenset()
        repairs, limit = self.repairs_history, 0
        while answer.status in UNREADABLE_STATUSES:
            complaint = read_complaint(answer.body)
            refused |= complaint_outcome.refused_settings(complaint) & given
            limit = _reply_limit(sent, complaint) or limit
            encoder = self._adapted_encoder(refused)
            adapted = _encode(encoder, request, limit, repairs)
            if adapted.body == sent.body and not repairs:
                # some servers parse the arguments in the history and refuse any that are not a JSON
                # object
                repairs = True
                adapted = _encode(encoder, request, limit, repairs)
            if adapted.body == sent.body:
                return sent, answer
            sent = adapted
            answer = await post(sent)
        if answer.status == 200:
            self.refused |= refused
            self.encoder = self._adapted_encoder(refused)
            self.repairs_history |= repairs
        return sent, answer

    def _make_encoder(self, profile: EndpointProfile) -> RequestEncoder:
        return self._wire.make_encoder(self._settings._replace(profile=profile))

    def _adapted_encoder(self, refused: frozenset[str]) -> RequestEncoder:
        """Return the encoder that leaves out these settings too; requests in flight share it."""
        adapted_profile = adapt_profile(self.encoder.profile, refused)
        if adapted_profile == self.encoder.profile:
            return self.encoder
        return self._make_encoder(adapted_profile)


def _refusable_settings(request: Request, wire: Wire) -> Set[str]:
    """Return what a request contains that it can be sent without."""
    found = given_settings(request.sampling).keys() | wire.optional_settings
    if not request.sampling.extra.keys().isdisjoint(wire.tool_choice_fields):
        found |= {_TOOL_CHOICE}
    has_state = any(message.provider_state for message in request.messages)
    return found | {_HISTORY} if has_state else found


def _reply_limit(sent: EncodedRequest, complaint: Complaint) -> int:
    """Return the limit that the endpoint has room for, in place of a greater one of toolmark's own.

    0 where the limit is the user's, or the complaint names none that is smaller.
    """
    room = complaint_outcome.room_for_reply(complaint) if sent.own_max_tokens else None
    return room if room is not None and 0 < room < sent.own_max_tokens else 0


def _encode(encoder: RequestEncoder, request: Request, limit: int, repairs: bool) -> EncodedRequest:
    if not limit:
        return encoder.encode_request(request, repair_arguments=repairs)
    sampling = replace(request.sampling, max_tokens=limit)
    sent = encoder.encode_request(replace(request, sampling=sampling), repair_arguments=repairs)
    detail = f"max_tokens {limit}: the endpoint has no room for more"
    adapted = Adaptation(kind="setting", detail=detail)
    return sent._replace(adaptations=(*sent.adaptations, adapted), own_max_tokens=limit)
