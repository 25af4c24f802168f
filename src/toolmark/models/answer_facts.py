"""What the request and the transport know of a reply that its body does not say."""

from __future__ import annotations

import msgspec

from toolmark.core.records import Reply, Request
from toolmark.models.http_client import HttpResponse
from toolmark.models.wires.request_parts import is_json
from toolmark.models.wires.wire import EncodedRequest


def add_answer_facts(reply: Reply, sent: EncodedRequest, answer: HttpResponse) -> Reply:
    """Return the reply with what the request and the transport know of it."""
    return msgspec.structs.replace(
        reply,
        adaptations=sent.adaptations + reply.adaptations,
        request_id=answer.request_id or reply.request_id,
        first_token_s=answer.first_token_s,
        first_call_s=answer.first_call_s,
    )


def is_cut(request: Request, sent: EncodedRequest, reply: Reply) -> bool:
    """Return whether arguments end where the limit of tokens is reached, whatever the stop says."""
    limit = request.sampling.max_tokens or sent.own_max_tokens
    if not limit or reply.usage.output < limit:
        return False
    return any(not is_json(call.arguments) for call in reply.calls)
