"""The form in which an endpoint takes requests, learned from what it refuses.

A request that is refused for its form is sent again: without the settings that the complaint names,
with a smaller limit of the reply, or with its history repaired. One refusal says little of other
requests: its reason may be one odd body. So a form is used for all later requests only after a
second refusal, of another conversation, with no answer to an unchanged request in between. A
setting that the server names in a field of its own is the same in each request: one refusal is
enough.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine, Iterator, Set
from typing import Any, ClassVar, NamedTuple, TypeAlias

from msgspec.structs import replace

from toolmark.core.records import Adaptation, Message, Request
from toolmark.models import complaint_outcome
from toolmark.models.complaint_outcome import Complaint
from toolmark.models.endpoint_profile import EndpointProfile, adapt_profile
from toolmark.models.http_client import HttpResponse
from toolmark.models.wires.request_parts import given_settings
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder, Wire

UNREADABLE_STATUSES = (400, 422)
"""The statuses of a request that may pass in another form."""
_BROKEN_STATUS = 500  # with which some servers answer a history that they cannot read
_HISTORY = "reasoning_history"
_TOOL_CHOICE = "tool_choice"
_REPAIR = "repaired history"
_NOTED_BY_WIRES = frozenset((_HISTORY, _TOOL_CHOICE, "max_tokens", _REPAIR))
"""Forms that the encoders note themselves, where they change a request."""
_NO_FORMS: frozenset[str] = frozenset()

PostRequest: TypeAlias = Callable[[EncodedRequest], Coroutine[Any, Any, HttpResponse]]
ReadComplaint: TypeAlias = Callable[[bytes], Complaint]


class _Suspicion(NamedTuple):
    """When a form helped for the first time, and in which conversation.

    `n_proofs` counts what was proven until then. `first_reply` is the first message of the model in
    that conversation, None for a conversation that begins.
    """

    n_proofs: int
    first_reply: Message | None


class RequestAdapter:
    """Encodes the requests to one endpoint, and remembers in which form it takes them.

    `encoder` is shared by the requests in flight. `refused` are the settings that the endpoint
    refuses, `repairs_history` says that it refuses histories which are not repaired. `n_proofs`
    counts the requests that were refused and then passed in another form. `counts_together`:
    requests that were in flight together are several refusals, as in a batch.
    """

    counts_together: ClassVar[bool] = False

    def __init__(self, wire: Wire, settings: EncoderSettings) -> None:
        self._wire = wire
        self._settings = settings
        self.encoder = self._make_encoder(settings.profile)
        self.refused: frozenset[str] = _NO_FORMS
        self.repairs_history = False
        self.n_proofs = 0
        self._suspicions: dict[str, _Suspicion] = {}
        self._model_limit = 0  # of a reply, where the endpoint named the most that its model has

    @property
    def helpful_forms(self) -> frozenset[str]:
        """The settings that are left out, and those without which a refused request passed."""
        return self.refused | (self._suspicions.keys() - {_REPAIR})

    def with_profile(self, new_profile: EndpointProfile) -> RequestAdapter:
        """Return the same for another profile, with what is known of the endpoint."""
        other = copy.copy(self)
        other._suspicions = dict(self._suspicions)
        other.encoder = self._make_encoder(adapt_profile(new_profile, self.refused))
        return other

    def encode_request(self, request: Request) -> EncodedRequest:
        """Return the request in the form that the endpoint takes, as far as that is known."""
        if self.refused or self._suspicions or self._model_limit:
            return self._encode(request, self._forms_for(request), self._model_limit)
        return self.encoder.encode_request(request, repair_arguments=self.repairs_history)

    def note_answer(self, request: Request, sent: EncodedRequest) -> None:
        """Note that a request was answered in the form in which it was sent at first.

        What it contains is not refused, whatever was suspected before.
        """
        if self._suspicions:
            used = self._forms_for(request)
            contained = self._contained_forms(request, sent) - used
            for form in self._suspicions.keys() & contained:
                del self._suspicions[form]

    async def retry(
        self,
        request: Request,
        sent: EncodedRequest,
        answer: HttpResponse,
        post: PostRequest,
        read_complaint: ReadComplaint,
        n_proofs: int,
    ) -> tuple[EncodedRequest, HttpResponse]:
        """Ask again while the body can be changed to what the endpoint says it accepts.

        `n_proofs` is that of the time when the request was sent first. Only an answer to the
        changed request proves that its form was the reason.
        """
        given = _refusable_settings(request, self._wire)
        known = forms = self._forms_for(request)
        named_apart = _NO_FORMS
        limit, is_of_model = self._model_limit, False
        while is_unreadable(answer, read_complaint):
            complaint = read_complaint(answer.body)
            named = complaint_outcome.refused_settings(complaint) & given
            forms |= named
            if complaint_outcome.names_parameter(complaint):
                named_apart |= named - {_HISTORY}
            if room := _reply_limit(sent, complaint):
                limit, is_of_model = room, complaint_outcome.names_model_limit(complaint)
            adapted = self._encode(request, forms, limit)
            if adapted.body == sent.body and _REPAIR not in forms:
                # some servers parse the arguments in the history and refuse any that are not a JSON
                # object
                forms |= {_REPAIR}
                adapted = self._encode(request, forms, limit)
            if adapted.body == sent.body:
                return sent, answer
            sent = adapted
            answer = await post(sent)
        if answer.status == 200:
            self._model_limit = limit if is_of_model else self._model_limit
            self._note_proofs(
                forms - known, named_apart, _Suspicion(n_proofs, _first_reply(request))
            )
        return sent, answer

    def _forms_for(self, request: Request) -> frozenset[str]:
        """Return the forms that are known, and those that helped in the same conversation."""
        known = self.refused | {_REPAIR} if self.repairs_history else self.refused
        if not self._suspicions:
            return known
        first = _first_reply(request)
        return known | {
            form
            for form, suspicion in self._suspicions.items()
            if first is not None and suspicion.first_reply == first
        }

    def _note_proofs(
        self, forms: frozenset[str], named_apart: frozenset[str], proof: _Suspicion
    ) -> None:
        """Note which forms helped a request, which was sent when `proof.n_proofs` were known."""
        known = self.refused | {_REPAIR} if self.repairs_history else self.refused
        if not forms - known:
            return
        self.n_proofs += 1
        for form in forms - known:
            before = self._suspicions.get(form)
            is_second = before is not None and (
                self.counts_together or before.n_proofs <= proof.n_proofs
            )
            if form in named_apart or is_second:
                self._suspicions.pop(form, None)
                self._learn(form)
            elif before is None:
                self._suspicions[form] = _Suspicion(self.n_proofs, proof.first_reply)

    def _learn(self, form: str) -> None:
        if form == _REPAIR:
            self.repairs_history = True
        else:
            self.refused |= {form}
            self.encoder = self._adapted_encoder(frozenset((form,)))

    def _contained_forms(self, request: Request, sent: EncodedRequest) -> Set[str]:
        """Return the forms that would have changed a request."""
        found = set(_refusable_settings(request, self._wire))
        if not self.repairs_history and _REPAIR in self._suspicions:
            repaired = self.encoder.encode_request(request, repair_arguments=True)
            found |= {_REPAIR} if repaired.body != sent.body else set()
        return found

    def _encode(self, request: Request, forms: frozenset[str], limit: int) -> EncodedRequest:
        """Encode a request in these forms, and with this limit in place of toolmark's own."""
        encoder = self._adapted_encoder(forms - {_REPAIR})
        sampling = request.sampling
        lowers = bool(limit) and sampling.max_tokens is None and "max_tokens" not in sampling.extra
        if lowers:
            request = replace(request, sampling=replace(sampling, max_tokens=limit))
        sent = encoder.encode_request(request, repair_arguments=_REPAIR in forms)
        notes = [*_left_out_notes(request, forms, self._wire)]
        if lowers:
            detail = f"max_tokens {limit}: the endpoint has no room for more"
            notes.append(Adaptation(kind="setting", detail=detail))
            sent = sent._replace(own_max_tokens=limit)
        return sent._replace(adaptations=(*sent.adaptations, *notes)) if notes else sent

    def _make_encoder(self, profile: EndpointProfile) -> RequestEncoder:
        return self._wire.make_encoder(self._settings._replace(profile=profile))

    def _adapted_encoder(self, refused: frozenset[str]) -> RequestEncoder:
        """Return the encoder that leaves out these settings too; requests in flight share it."""
        adapted_profile = adapt_profile(self.encoder.profile, refused)
        if adapted_profile == self.encoder.profile:
            return self.encoder
        return self._make_encoder(adapted_profile)


def is_unreadable(answer: HttpResponse, read_complaint: ReadComplaint) -> bool:
    """Return whether a request may pass in another form."""
    if answer.status == _BROKEN_STATUS:
        return complaint_outcome.blames_history(read_complaint(answer.body))
    return answer.status in UNREADABLE_STATUSES


def begins_conversation(request: Request) -> bool:
    """Return whether nobody has replied yet in the conversation of a request."""
    return _first_reply(request) is None


def _first_reply(request: Request) -> Message | None:
    return next((each for each in request.messages if each.role == "assistant"), None)


def _refusable_settings(request: Request, wire: Wire) -> Set[str]:
    """Return what a request contains that it can be sent without."""
    found = given_settings(request.sampling).keys() | wire.optional_settings
    if not request.sampling.extra.keys().isdisjoint(wire.tool_choice_fields):
        found |= {_TOOL_CHOICE}
    has_state = wire.name == "chat" and any(each.provider_state for each in request.messages)
    return found | {_HISTORY} if has_state else found


def _left_out_notes(request: Request, forms: frozenset[str], wire: Wire) -> Iterator[Adaptation]:
    """Yield a note for each setting that a request goes without."""
    left_out = forms - _NOTED_BY_WIRES
    for name in sorted(left_out & _refusable_settings(request, wire)) if left_out else ():
        yield Adaptation(kind="setting", detail=f"{name} left out: the endpoint refuses it")


def _reply_limit(sent: EncodedRequest, complaint: Complaint) -> int:
    """Return the limit that the endpoint has room for, in place of a greater one of toolmark's own.

    0 where the limit is the user's, or the complaint names none that is smaller.
    """
    room = complaint_outcome.room_for_reply(complaint) if sent.own_max_tokens else None
    return room if room is not None and 0 < room < sent.own_max_tokens else 0
