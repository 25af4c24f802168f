"""The body of an Anthropic message as a Reply.

The usual body is decoded fast, into typed structs. Everything else is read by the standard library.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from toolmark.core.errors import TornReply
from toolmark.core.records import Adaptation, ProviderState, Reply, StopReason, Usage
from toolmark.models.wires import anthropic_state, reply_parts
from toolmark.models.wires.reply_building import ReplyContent, ReplyEnvelope, build_reply
from toolmark.models.wires.reply_parts import CallTexts, ErrorInBody, WrongShape
from toolmark.models.wires.tool_names import ToolNames

Json = dict[str, Any]

PAUSED = "pause_turn"
_STOP_BY_REASON: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "over_long",
    "refusal": "refused",
    PAUSED: "length",
}
_PLAIN_REASONS = ("end_turn", "tool_use", "max_tokens")  # `Reply.stop` and the calls say as much
_PLAIN_MEMBERS = frozenset(("type", "text", "id", "name", "input"))
_TEXT_MEMBERS = ("text", "thinking")
_NO_USAGE = Usage()


class _Block(Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str = ""
    name: str | None = None
    input: Raw = Raw(b"")


# what the neutral records have room for: any other member, and any other block, is state


class _PlainText(Struct, tag="text", tag_field="type", forbid_unknown_fields=True):
    text: str
    citations: None = None


class _PlainCall(Struct, tag="tool_use", tag_field="type", forbid_unknown_fields=True):
    id: str
    name: str
    input: Raw
    caller: None = None
    toolset_name: None = None


class _OutputDetails(Struct):
    thinking_tokens: int | None = None


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cost: float | None = None
    cost_in_usd_ticks: int | None = None
    is_byok: bool | None = None
    cost_details: reply_parts.CostDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _StopDetails(Struct):
    category: str | None = None


class _Transformation(Struct):
    type: str = ""


class _Body(Struct):
    content: Raw
    type: str = ""
    error: Raw = Raw(b"")
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None
    model: str = ""
    usage: _Usage | None = None
    input_transformations: list[_Transformation] | None = None


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_plain_blocks = msgspec.json.Decoder(list[_PlainText | _PlainCall]).decode
_decode_blocks = msgspec.json.Decoder(list[_Block]).decode


def decode_reply(body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
    """Decode a message; `names` gives the tool's own name for a name as sent.

    Raises TornReply if the body is no message, ErrorInBody if it contains an error. Neither text
    quotes the body, which may repeat a key. No body raises anything else. Blocks of the wrong shape
    are a malformed Reply with their JSON as the text. What is longer than the limits is cut, and
    `Reply.defects` says so; the blocks that go back are never cut.
    """
    reply_parts.check_size(body)
    try:
        decoded = _decode_body(body)
        if decoded.type == "error" or decoded.error:
            return _decode_loosely(body, names, latency_s, origin)
        content = _read_content(bytes(decoded.content))
    except (msgspec.DecodeError, UnicodeError, RecursionError, WrongShape):
        return _decode_loosely(body, names, latency_s, origin)
    details = decoded.stop_details
    stop, finish = _read_stop(decoded.stop_reason, details.category if details else None)
    usage, defects = _read_usage(decoded.usage)
    changes = decoded.input_transformations or ()
    n_dropped = sum(each.type == "thinking_dropped" for each in changes)
    model = reply_parts.short_model_name(decoded.model)
    dropped = _dropped_thoughts(n_dropped) if n_dropped else ()
    envelope = ReplyEnvelope(stop, finish, model, usage, defects, adaptations=dropped)
    is_long = len(body) > reply_parts.UNLIMITED_BYTES
    return _make_reply(content, envelope, names, latency_s, origin, is_long=is_long)


def _read_content(raw: bytes) -> ReplyContent:
    """Return the content, with its bytes where the neutral records lack a part of it."""
    try:
        plain = _decode_plain_blocks(raw)
    except msgspec.ValidationError:
        return _join_blocks(_decode_blocks(raw), raw.decode())
    text = ""
    calls: list[CallTexts] = []
    for index, block in enumerate(plain):
        if isinstance(block, _PlainCall):
            source = bytes(block.input)
            if not source.startswith(b"{"):
                return _join_blocks(_decode_blocks(raw), raw.decode())
            calls.append((block.name, source.decode(), block.id))
        elif index:
            return _join_blocks(_decode_blocks(raw), raw.decode())
        else:
            text = block.text
    return ReplyContent(text, "", calls)


def _join_blocks(blocks: list[_Block], state: str) -> ReplyContent:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[CallTexts] = []
    for block in blocks:
        match block.type:
            case "text":
                texts.append(block.text or "")
            case "thinking":
                thoughts.append(block.thinking or "")
            case "tool_use":
                if block.name is None:
                    raise WrongShape
                arguments = anthropic_state.call_arguments(bytes(block.input))
                calls.append((block.name, arguments, block.id))
    return ReplyContent("".join(texts), "\n\n".join(filter(None, thoughts)), calls, state)


def _read_stop(reason: object, category: object) -> tuple[StopReason, str]:
    """Return how the message ended, and the endpoint's own word for an end that `stop` lacks."""
    if not isinstance(reason, str):
        return "stop", ""
    stop = _STOP_BY_REASON.get(reason, "stop")
    if reason in _PLAIN_REASONS:
        return stop, ""
    finish = f"{reason}: {category}" if isinstance(category, str) and category else reason
    return stop, reply_parts.short_model_name(finish)


def _read_usage(usage: _Usage | None) -> tuple[Usage, tuple[str, ...]]:
    if usage is None:
        return _NO_USAGE, ()
    details = usage.output_tokens_details
    counted = _count_usage(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        (details.thinking_tokens or 0) if details else 0,
        usage.cache_read_input_tokens or 0,
        usage.cache_creation_input_tokens or 0,
    )
    if usage.cost is None and usage.cost_in_usd_ticks is None:
        return counted
    return reply_parts.add_cost(counted, reply_parts.reported_cost(usage))


def _count_usage(
    n_fresh: int, n_output: int, n_reasoning: int, n_cached: int, n_written: int
) -> tuple[Usage, tuple[str, ...]]:
    """Return the counts; the endpoint's input excludes what was read from or put in its cache."""
    parts = (n_fresh, n_cached, n_written)
    n_input = -1 if min(parts) < 0 else sum(parts)
    return reply_parts.check_counts(n_input, n_output, n_reasoning, n_cached, n_written)


def _make_reply(
    content: ReplyContent,
    envelope: ReplyEnvelope,
    names: ToolNames,
    latency_s: float,
    origin: str,
    *,
    is_long: bool,
) -> Reply:
    state = None
    if content.state:
        data = anthropic_state.write_state(content.state, names.encoded)
        state = ProviderState(wire="anthropic", origin=origin, data=data)
    return build_reply(content, envelope, state, names, latency_s, is_long=is_long)


def _dropped_thoughts(n: int) -> tuple[Adaptation, ...]:
    detail = f"the endpoint left out {n} thoughts, before which something has changed"
    return (Adaptation(kind="state_dropped", detail=detail),)


# --- anything unusual -------------------------------------------------------------------


def _decode_loosely(body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
    """Decode a body that is not as documented, as far as possible."""
    decoded = reply_parts.parse_object(body)
    blocks = decoded.get("content")
    failure = decoded.get("error")
    if not blocks and (failure or decoded.get("type") == "error"):
        raise ErrorInBody({"error": failure or decoded})
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    if blocks is None:
        raise TornReply("the answer holds no content")
    details = decoded.get("stop_details")
    stop, finish = _read_stop(
        decoded.get("stop_reason"), details.get("category") if isinstance(details, dict) else None
    )
    model = reply_parts.short_model_name(decoded.get("model"))
    usage, defects = _parse_usage(decoded.get("usage"))
    n_dropped = _count_dropped(decoded.get("input_transformations"))
    try:
        content = _parse_content(blocks)
    except WrongShape:
        content = ReplyContent(reply_parts.dump_json(blocks), "", [])
        stop = "malformed"
    dropped = _dropped_thoughts(n_dropped) if n_dropped else ()
    envelope = ReplyEnvelope(stop, finish, model, usage, defects, adaptations=dropped)
    return _make_reply(content, envelope, names, latency_s, origin, is_long=True)


def _parse_content(blocks: Any) -> ReplyContent:
    """Return what blocks say: those that are as documented as the fast way reads them."""
    if not isinstance(blocks, list):
        raise WrongShape
    source = reply_parts.dump_ascii(blocks)
    try:
        return _read_content(source.encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError, WrongShape):
        content = _join_blocks([_parse_block(block) for block in blocks], "")
    kinds = [block.get("type") for block in blocks]
    is_plain = (
        set(kinds[1:]) <= {"tool_use"}
        and set(kinds) <= {"text", "tool_use"}
        and not any(block.keys() - _PLAIN_MEMBERS for block in blocks)
    )
    return content if is_plain else content._replace(state=source)


def _parse_block(block: Any) -> _Block:
    if not isinstance(block, dict) or not isinstance(kind := block.get("type", ""), str):
        raise WrongShape
    if kind != "tool_use":
        text, thinking = (_parse_text(block.get(name), name == kind) for name in _TEXT_MEMBERS)
        return _Block(type=kind, text=text, thinking=thinking)
    name, call_id = block.get("name"), block.get("id")
    if not isinstance(name, str):
        raise WrongShape
    return _Block(
        type=kind,
        name=name,
        id=call_id if isinstance(call_id, str) else "",
        input=Raw(reply_parts.dump_ascii(block.get("input")).encode()),
    )


def _parse_text(value: Any, is_said: bool) -> str:
    """Return a text, "" for none. Raises WrongShape for what is said and is no text."""
    if isinstance(value, str):
        return value
    if is_said and value is not None:
        raise WrongShape
    return ""


def _count_dropped(changes: Any) -> int:
    entries = changes if isinstance(changes, list) else []
    return sum(isinstance(e, dict) and e.get("type") == "thinking_dropped" for e in entries)


def _parse_usage(usage: Any) -> tuple[Usage, tuple[str, ...]]:
    counted = _count_usage(
        reply_parts.token_count(usage, "input_tokens"),
        reply_parts.token_count(usage, "output_tokens"),
        reply_parts.token_count(usage, "output_tokens_details", "thinking_tokens"),
        reply_parts.token_count(usage, "cache_read_input_tokens"),
        reply_parts.token_count(usage, "cache_creation_input_tokens"),
    )
    return reply_parts.add_loose_cost(counted, usage)
