"""A message that the endpoint paused: how it goes on, and how its parts become one."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from toolmark.core.errors import TornReply
from toolmark.models.wires.anthropic_reply import PAUSED
from toolmark.models.wires.reply_parts import ErrorInBody, parse_object
from toolmark.models.wires.request_parts import encode_json
from toolmark.models.wires.wire import EncodedRequest

Json = dict[str, Any]

_MARK = PAUSED.encode()


class _Body(Struct):
    content: list[Raw]
    stop_reason: str | None = None


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


def continue_request(sent: EncodedRequest, body: bytes) -> EncodedRequest | None:
    """Return the request with the paused content as its last message; None for an ended one."""
    if _MARK not in body:
        return None
    try:
        paused = _decode_body(body)
        if paused.stop_reason != PAUSED or not paused.content:
            return None
        members = _decode_members(sent.body)
        messages = _decode_list(members["messages"])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    said = encode_json({"role": "assistant", "content": paused.content})
    members["messages"] = Raw(encode_json([*messages, Raw(said)]))
    return sent._replace(body=encode_json(members))


def join_bodies(body: bytes, rest: bytes) -> bytes:
    """Return one body: the content of both, the counts of both, the end of the rest."""
    try:
        first, last = _decode_body(body), _decode_body(rest)
        members = _decode_members(rest)
        usage = _add_counts(parse_object(body).get("usage"), parse_object(rest).get("usage"))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        failure = parse_object(rest)
        if "error" in failure:
            raise ErrorInBody({"error": failure["error"]}) from None
        raise TornReply("the rest of a paused message is no message") from None
    members["content"] = Raw(encode_json([*first.content, *last.content]))
    if usage is not None:
        members["usage"] = Raw(encode_json(usage))
    return encode_json(members)


def _add_counts(one: Any, other: Any) -> Any:
    """Return the sums of all counts of two objects; other values are those of the second."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _add_counts(one.get(key), other.get(key)) for key in one | other}
    numbers = [n for n in (one, other) if isinstance(n, int | float) and not isinstance(n, bool)]
    return sum(numbers) if numbers else one if other is None else other
