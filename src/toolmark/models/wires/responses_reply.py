"""The body of a response of OpenAI's Responses API as a Reply.

The usual body is decoded fast, into typed structs. Everything else is read by the standard library.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw, Struct

from toolmark.core.errors import TornReply
from toolmark.core.records import ProviderState, Reply, StopReason, Usage
from toolmark.models.wires import reply_parts
from toolmark.models.wires.reply_building import ReplyContent, ReplyEnvelope, build_reply
from toolmark.models.wires.reply_parts import ErrorInBody, WrongShape
from toolmark.models.wires.tool_names import ToolNames

Json = dict[str, Any]
_Empty: TypeAlias = tuple[()] | None

_UNFINISHED = ("queued", "in_progress", "cancelled")
_NO_USAGE = Usage()
_FAILED = {"message": "the response failed", "code": "server_error"}


class _Part(Struct):
    type: str = ""
    text: str = ""
    refusal: str = ""


class _Item(Struct):
    type: str = ""
    content: list[_Part] | None = None
    summary: list[_Part] | None = None
    call_id: str = ""
    name: str | None = None
    arguments: str = "{}"


# what the neutral records have room for: any other member, and any other type of item, is state


class _PlainPart(Struct, tag="output_text", tag_field="type", forbid_unknown_fields=True):
    text: str
    annotations: _Empty = None
    logprobs: _Empty = None


class _PlainMessage(Struct, tag="message", tag_field="type", forbid_unknown_fields=True):
    content: list[_PlainPart]
    id: str | None = None
    role: Literal["assistant"] = "assistant"
    status: Literal["completed"] | None = None
    phase: None = None


class _PlainCall(Struct, tag="function_call", tag_field="type", forbid_unknown_fields=True):
    call_id: str
    name: str
    arguments: str
    id: str | None = None
    status: Literal["completed"] | None = None
    namespace: None = None
    caller: None = None


class _InputDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(Struct):
    reasoning_tokens: int | None = None


class _Usage(Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None
    cost: float | None = None
    cost_in_usd_ticks: int | None = None
    is_byok: bool | None = None
    cost_details: reply_parts.CostDetails | None = None


class _IncompleteDetails(Struct):
    reason: str | None = None


class _Body(Struct):
    output: Raw
    status: str | None = None
    incomplete_details: _IncompleteDetails | None = None
    error: Raw = Raw(b"")
    model: str = ""
    usage: _Usage | None = None


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_plain_items = msgspec.json.Decoder(list[_PlainMessage | _PlainCall]).decode
_decode_items = msgspec.json.Decoder(list[_Item]).decode


class _Output(NamedTuple):
    """What a response said; a refusal takes the place of a text."""

    content: ReplyContent
    is_refusal: bool = False


def decode_reply(body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
    """Decode a response; `names` gives the tool's own name for a name as sent.

    Raises TornReply if the body is no finished response, ErrorInBody if it contains an error.
    Neither text quotes the body, which may repeat a key. No body raises anything else. Items of the
    wrong shape are a malformed Reply with their JSON as the text. What is longer than the limits
    is cut, and `Reply.defects` says so; the items that go back are never cut.
    """
    reply_parts.check_size(body)
    try:
        decoded = _decode_body(body)
        if decoded.error and bytes(decoded.error) != b"null":
            return _decode_loosely(body, names, latency_s, origin)
        output = _read_output(bytes(decoded.output))
    except (msgspec.DecodeError, UnicodeError, RecursionError, WrongShape):
        return _decode_loosely(body, names, latency_s, origin)
    details = decoded.incomplete_details
    stop, finish = _read_status(decoded.status, details.reason if details else None)
    model = reply_parts.short_model_name(decoded.model)
    envelope = ReplyEnvelope(stop, finish, model, *_read_usage(decoded.usage))
    is_long = len(body) > reply_parts.UNLIMITED_BYTES
    return _make_reply(output, envelope, names, latency_s, origin, is_long=is_long)


def _read_output(raw: bytes) -> _Output:
    """Return the output, with its bytes where the neutral records lack a part of it."""
    try:
        plain = _decode_plain_items(raw)
    except msgspec.ValidationError:
        return _join_items(_decode_items(raw), raw.decode())
    text = ""
    calls: list[tuple[str, str, str]] = []
    for index, item in enumerate(plain):
        if isinstance(item, _PlainCall):
            calls.append((item.name, item.arguments, item.call_id))
        elif index or len(item.content) != 1:
            return _join_items(_decode_items(raw), raw.decode())
        else:
            text = item.content[0].text
    return _Output(ReplyContent(text, "", calls))


def _join_items(items: list[_Item], state: str) -> _Output:
    texts: list[str] = []
    refusals: list[str] = []
    thoughts: list[str] = []
    calls: list[tuple[str, str, str]] = []
    for item in items:
        match item.type:
            case "message":
                parts = item.content or ()
                texts += [part.text for part in parts]
                refusals += [part.refusal for part in parts if part.type == "refusal"]
            case "function_call":
                if item.name is None:
                    raise WrongShape
                calls.append((item.name, item.arguments, item.call_id))
            case "reasoning":  # its own text, where the endpoint shows that, else the summary
                thoughts += [part.text for part in item.content or item.summary or ()]
    reasoning = "\n\n".join(filter(None, thoughts))
    text, refusal = "".join(texts), "".join(refusals)
    return _Output(ReplyContent(text or refusal, reasoning, calls, state), bool(refusal))


def _read_status(status: object, reason: object) -> tuple[StopReason, str]:
    """Return how the reply ended, and the endpoint's own word for an end that `stop` lacks."""
    if status in _UNFINISHED:
        raise TornReply("the response is not finished")
    if status == "failed":
        raise ErrorInBody({"error": _FAILED})
    if status != "incomplete" or reason == "max_output_tokens":
        return ("length" if status == "incomplete" else "stop"), ""
    finish = reply_parts.short_model_name(reason)
    return ("refused" if reason == "content_filter" else "length"), finish


def _read_usage(usage: _Usage | None) -> tuple[Usage, tuple[str, ...]]:
    if usage is None:
        return _NO_USAGE, ()
    read, made = usage.input_tokens_details, usage.output_tokens_details
    counted = reply_parts.check_counts(
        usage.input_tokens,
        usage.output_tokens,
        (made.reasoning_tokens or 0) if made else 0,
        (read.cached_tokens or 0) if read else 0,
        (read.cache_write_tokens or 0) if read else 0,
    )
    return reply_parts.add_cost(counted, reply_parts.reported_cost(usage))


def _make_reply(
    output: _Output,
    envelope: ReplyEnvelope,
    names: ToolNames,
    latency_s: float,
    origin: str,
    *,
    is_long: bool,
) -> Reply:
    if output.is_refusal:
        envelope = envelope._replace(stop="refused")
    content, state = output.content, None
    if content.state:
        state = ProviderState(wire="responses", origin=origin, data=content.state)
    return build_reply(content, envelope, state, names, latency_s, is_long=is_long)


# --- anything unusual -------------------------------------------------------------------


def _decode_loosely(body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
    """Decode a body that is not as documented, as far as possible."""
    decoded = reply_parts.parse_object(body)
    items = decoded.get("output")
    if (failure := decoded.get("error")) and not items:
        raise ErrorInBody({"error": failure})
    if decoded.get("status") == "failed":
        raise ErrorInBody({"error": failure or _FAILED})
    if not isinstance(items, list):
        raise TornReply("the answer holds no output")
    details = decoded.get("incomplete_details")
    stop, finish = _read_status(
        decoded.get("status"), details.get("reason") if isinstance(details, dict) else None
    )
    model = reply_parts.short_model_name(decoded.get("model"))
    envelope = ReplyEnvelope(stop, finish, model, *_parse_usage(decoded.get("usage")))
    try:
        output = _parse_output(items)
    except WrongShape:
        output = _Output(ReplyContent(reply_parts.dump_json(items), "", []))
        envelope = envelope._replace(stop="malformed")
    return _make_reply(output, envelope, names, latency_s, origin, is_long=True)


def _parse_output(items: list[Any]) -> _Output:
    """Return what items say: those that are as documented as the fast way reads them."""
    source = reply_parts.dump_ascii(items)
    try:
        return _read_output(source.encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError, WrongShape):
        parsed = [_parse_item(item) for item in items]
    is_lossy = any(item.type not in ("message", "function_call") for item in parsed)
    return _join_items(parsed, source if is_lossy else "")


def _parse_item(item: Any) -> _Item:
    if not isinstance(item, dict):
        raise WrongShape
    kind = item.get("type")
    if kind == "message":
        return _Item(type=kind, content=_parse_parts(item.get("content")))
    if kind == "reasoning":
        content, summary = item.get("content"), item.get("summary")
        return _Item(type=kind, content=_parse_parts(content), summary=_parse_parts(summary))
    if kind != "function_call":
        return _Item(type=kind if isinstance(kind, str) else "")
    name, arguments, call_id = item.get("name"), item.get("arguments"), item.get("call_id")
    if not isinstance(name, str):
        raise WrongShape
    return _Item(
        type=kind,
        name=name,
        arguments="{}" if arguments is None else _as_text(arguments),
        call_id="" if call_id is None else _as_text(call_id),
    )


def _parse_parts(value: Any) -> list[_Part]:
    """Return the parts of a text, which some servers send as the text itself."""
    if value is None or isinstance(value, str):
        return [_Part(text=value)] if value else []
    if not isinstance(value, list):
        raise WrongShape
    parts: list[_Part] = []
    for part in value:
        if not isinstance(part, dict):
            raise WrongShape
        text, refusal = part.get("text") or "", part.get("refusal") or ""
        if not isinstance(text, str) or not isinstance(refusal, str):
            raise WrongShape
        parts.append(_Part(type="refusal" if refusal else "", text=text, refusal=refusal))
    return parts


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else reply_parts.dump_json(value)


def _parse_usage(usage: Any) -> tuple[Usage, tuple[str, ...]]:
    counted = reply_parts.check_counts(
        reply_parts.token_count(usage, "input_tokens"),
        reply_parts.token_count(usage, "output_tokens"),
        reply_parts.token_count(usage, "output_tokens_details", "reasoning_tokens"),
        reply_parts.token_count(usage, "input_tokens_details", "cached_tokens"),
        reply_parts.token_count(usage, "input_tokens_details", "cache_write_tokens"),
    )
    return reply_parts.add_loose_cost(counted, usage)
