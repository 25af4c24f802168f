"""The body of a chat completion as a Reply.

The usual body is decoded fast, into typed structs. A body with members that the endpoint may want
back is read again for them (`chat_state`). Everything else is read by the standard library:
lone surrogates, arguments sent as an object, parts of the wrong shape.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from toolmark.core.errors import TornReply
from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Call, Reply, StopReason, Usage
from toolmark.models.wires import chat_state, chat_thoughts, reply_parts
from toolmark.models.wires.chat_arguments import quote_arguments
from toolmark.models.wires.reply_parts import ErrorInBody, WrongShape, shorten_text
from toolmark.models.wires.tool_names import ToolNames

Json = dict[str, Any]

_STOP_BY_FINISH_REASON: dict[str | None, StopReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "refusal": "refused",
    "sensitive": "refused",
    "model_length": "over_long",
}
_PLAIN_FINISH_REASONS = frozenset({None, "stop", "tool_calls"})
_USUAL_FINISH_REASONS = frozenset(
    {"stop", "tool_calls", "function_call", "length", "content_filter"}
)
_TRANSIENT_FINISH_REASONS = frozenset({"network_error", "insufficient_system_resource", "abort"})
_SILENT_PARTS = ("thinking", "reference")  # of a content that is a list
_NO_USAGE = Usage()


class _Function(Struct):
    name: str
    arguments: str = "{}"


class _Call(Struct):
    function: _Function
    id: str = ""


class _Message(Struct):
    content: str | None = None
    tool_calls: list[_Call] | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _PlainFunction(_Function, forbid_unknown_fields=True):
    pass


class _PlainCall(Struct, forbid_unknown_fields=True):
    function: _PlainFunction
    id: str = ""
    type: str = ""
    index: int | None = None


class _PlainMessage(Struct, forbid_unknown_fields=True):
    """A message of which nothing is lost in a Reply: a body with any other member is read again."""

    content: str | None = None
    tool_calls: list[_PlainCall] | None = None
    refusal: str | None = None
    role: str = ""
    reasoning: Literal[""] | None = None
    reasoning_content: Literal[""] | None = None
    reasoning_details: None = None
    annotations: msgspec.Raw = msgspec.Raw()
    audio: None = None
    function_call: None = None
    name: str | None = None


class _Choice(Struct):
    message: _Message
    finish_reason: str | None = None


class _PlainChoice(Struct):
    message: _PlainMessage
    finish_reason: str | None = None


class _CompletionDetails(Struct):
    reasoning_tokens: int | None = None


class _PromptDetails(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int | None = None
    completion_tokens_details: _CompletionDetails | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    cost: float | None = None
    cost_in_usd_ticks: int | None = None
    is_byok: bool | None = None
    cost_details: reply_parts.CostDetails | None = None


class _BodyFacts(Struct):
    model: str = ""
    usage: _Usage | None = None
    system_fingerprint: str | None = None
    provider: str | None = None


class _Body(_BodyFacts, kw_only=True):
    choices: list[_Choice]


class _PlainBody(_BodyFacts, kw_only=True):
    choices: list[_PlainChoice]


_decode_plain_body = msgspec.json.Decoder(_PlainBody).decode
_decode_body = msgspec.json.Decoder(_Body).decode


def decode_reply(body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
    """Decode a reply; `names` gives the tool's own name for a name as sent.

    Raises TornReply if the body is not JSON or contains no message, ErrorInBody if it contains an
    error. Neither text quotes the body, which may repeat a key. No body raises anything else. A
    message whose parts have the wrong shape is a malformed Reply with its JSON as the text. What is
    longer than the limits above is cut, and `Reply.defects` says so.
    """
    reply_parts.check_size(body)
    is_plain = True
    decoded: _PlainBody | _Body
    try:
        decoded = _decode_plain_body(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        is_plain = False
        try:
            decoded = _decode_body(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _decode_loosely(body, names, latency_s, origin)
    if not decoded.choices or decoded.choices[0].finish_reason == "error":
        return _decode_loosely(body, names, latency_s, origin)
    reply = _make_reply(decoded, body, names, latency_s)
    return reply if is_plain else _add_state(reply, body, origin)


def _make_reply(
    decoded: _PlainBody | _Body, body: bytes, names: ToolNames, latency_s: float
) -> Reply:
    choice = decoded.choices[0]
    message = choice.message
    defects: tuple[str, ...] = ()
    finish = choice.finish_reason
    stop: StopReason = "stop"
    if finish not in _PLAIN_FINISH_REASONS:
        stop = _stop_of_finish(finish)
    if message.refusal:
        stop = "refused"
    if len(body) > reply_parts.UNLIMITED_BYTES:
        defects = _shorten_message(message)
        stop = "length" if defects and stop == "stop" else stop
    usage, usage_defects = _read_usage(decoded.usage)
    fingerprint, upstream = decoded.system_fingerprint, decoded.provider
    return Reply(
        text=escape_surrogates(message.content or message.refusal or ""),
        calls=tuple([_make_call(made, names) for made in message.tool_calls or ()]),
        stop=stop,
        reasoning=escape_surrogates(message.reasoning_content or message.reasoning or ""),
        usage=usage,
        latency_s=latency_s,
        model=reply_parts.short_model_name(decoded.model),
        defects=defects + usage_defects,
        finish="" if finish in _PLAIN_FINISH_REASONS else _unusual_finish(finish),
        fingerprint=reply_parts.short_model_name(fingerprint) if fingerprint else "",
        upstream=reply_parts.short_model_name(upstream) if upstream else "",
    )


def _add_state(reply: Reply, body: bytes, origin: str) -> Reply:
    """Return the reply with what the endpoint wants back, and with the thoughts that it shows."""
    state = chat_state.read_state(body, reply.calls, reply.text, origin)
    if state is None:
        return reply
    reasoning = reply.reasoning or chat_thoughts.readable_reasoning(state)
    return msgspec.structs.replace(reply, provider_state=state, reasoning=reasoning)


def _stop_of_finish(finish: str | None) -> StopReason:
    """Return the stop reason; raises ErrorInBody for the words for a fault of the endpoint."""
    if finish in _TRANSIENT_FINISH_REASONS:
        message = f"the endpoint ended the reply: {finish}"
        raise ErrorInBody({"error": {"message": message, "code": "503"}})
    return _STOP_BY_FINISH_REASON.get(finish, "stop")


def _unusual_finish(finish: str | None) -> str:
    """Return the endpoint's own word, "" where it says no more than the stop reason."""
    if finish is None or finish in _USUAL_FINISH_REASONS:
        return ""
    return reply_parts.short_model_name(finish)


def _make_call(sent_call: _Call | _PlainCall, names: ToolNames) -> Call:
    name = sent_call.function.name
    return Call(
        name=escape_surrogates(names.own_name(name)),
        arguments=escape_surrogates(sent_call.function.arguments),
        id=escape_surrogates(sent_call.id),
    )


def _read_usage(usage: _Usage | None) -> tuple[Usage, tuple[str, ...]]:
    if usage is None:
        return _NO_USAGE, ()
    completion_details = usage.completion_tokens_details
    prompt_details = usage.prompt_tokens_details
    n_input, n_output = usage.prompt_tokens, usage.completion_tokens
    reasoning = (completion_details.reasoning_tokens or 0) if completion_details else 0
    cached = written = 0
    if prompt_details:
        cached = prompt_details.cached_tokens or 0
        written = prompt_details.cache_write_tokens or 0
    cached = cached or usage.prompt_cache_hit_tokens or 0
    if reasoning and usage.total_tokens == n_input + n_output + reasoning:
        n_output += reasoning  # some endpoints count thoughts apart from the output
    counted = reply_parts.check_counts(n_input, n_output, reasoning, cached, written)
    if usage.cost is None and usage.cost_in_usd_ticks is None:
        return counted
    return reply_parts.add_cost(counted, reply_parts.reported_cost(usage))


# --- what is too long -------------------------------------------------------------------


def _shorten_message(message: _Message | _PlainMessage) -> tuple[str, ...]:
    """Cut what is beyond the limits, in place; return descriptions of what was cut."""
    defects: list[str] = []
    for field in ("content", "refusal", "reasoning", "reasoning_content"):
        setattr(
            message,
            field,
            shorten_text(getattr(message, field), reply_parts.MAX_TEXT_CHARS, field, defects),
        )
    calls: list[Any] = list(message.tool_calls or ())
    if len(calls) > reply_parts.MAX_CALLS:
        defects.append(f"calls: {len(calls)}, cut at {reply_parts.MAX_CALLS}")
        message.tool_calls = calls = calls[: reply_parts.MAX_CALLS]
    chars_left = reply_parts.MAX_ARGUMENTS_CHARS
    for call in calls:
        call.id = shorten_text(call.id, reply_parts.MAX_ID_CHARS, "id", defects) or ""
        function = call.function
        function.name = (
            shorten_text(function.name, reply_parts.MAX_NAME_CHARS, "name of a call", defects) or ""
        )
        limit = min(chars_left, reply_parts.MAX_TEXT_CHARS)
        function.arguments = shorten_text(function.arguments, limit, "arguments", defects) or ""
        chars_left = max(0, chars_left - len(function.arguments))
    return tuple(dict.fromkeys(defects))


# --- anything unusual -------------------------------------------------------------------


def _decode_loosely(body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
    """Decode a body that is not as documented, as far as possible."""
    decoded = reply_parts.parse_object(body, quote_arguments)
    choice = _first_choice(decoded.get("choices"))
    message = choice.get("message") if choice else None
    failure = decoded.get("error") or (choice or {}).get("error")
    if failure and not message:
        raise ErrorInBody({"error": failure})
    if choice and choice.get("finish_reason") == "error":
        raise ErrorInBody(choice)
    if not isinstance(message, dict):
        raise TornReply("the answer holds no message")
    finish = choice.get("finish_reason") if choice else None
    finish = finish if isinstance(finish, str) else None
    usage, usage_defects = _parse_usage(decoded.get("usage"))
    other_fields = {
        "usage": usage,
        "latency_s": latency_s,
        "model": reply_parts.short_model_name(decoded.get("model")),
        "finish": _unusual_finish(finish),
        "fingerprint": reply_parts.short_model_name(decoded.get("system_fingerprint")),
        "upstream": reply_parts.short_model_name(decoded.get("provider")),
    }
    stop = _stop_of_finish(finish)
    reply = _reply_from_message(message, stop, names, other_fields, usage_defects)
    return reply if reply.stop == "malformed" else _add_state(reply, body, origin)


def _reply_from_message(
    message: Json,
    stop: StopReason,
    names: ToolNames,
    other_fields: Json,
    usage_defects: tuple[str, ...],
) -> Reply:
    refusal = message.get("refusal")
    try:
        shortened = _Message(
            content=_as_text(message.get("content")) or _as_text(refusal),
            tool_calls=[_parse_call(item) for item in _as_list(message.get("tool_calls"))],
            reasoning=_as_text(message.get("reasoning_content"))
            or _as_text(message.get("reasoning")),
        )
    except WrongShape:
        shortened = _Message(content=reply_parts.dump_json(message))
        defects = _shorten_message(shortened) + usage_defects
        return Reply(
            text=escape_surrogates(shortened.content or ""),
            stop="malformed",
            defects=defects,
            **other_fields,
        )
    defects = _shorten_message(shortened)
    if refusal:
        stop = "refused"
    elif defects and stop == "stop":
        stop = "length"
    return Reply(
        text=escape_surrogates(shortened.content or ""),
        calls=tuple(_make_call(made, names) for made in shortened.tool_calls or ()),
        stop=stop,
        reasoning=escape_surrogates(shortened.reasoning or ""),
        defects=defects + usage_defects,
        **other_fields,
    )


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise WrongShape
    return value


def _as_text(value: Any) -> str:
    """Return a text, given as such or as a list of text parts."""
    if value is None or isinstance(value, str):
        return value or ""
    texts: list[str] = []
    for part in _as_list(value):
        if isinstance(part, dict) and part.get("type") in _SILENT_PARTS:
            continue
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            raise WrongShape
        texts.append(text)
    return "".join(texts)


def _parse_call(item: Any) -> _Call:
    function = item.get("function") if isinstance(item, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise WrongShape
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if not isinstance(arguments, str):
        arguments = "{}" if arguments is None else reply_parts.dump_json(arguments)
    id = item.get("id")
    call_id = "" if id is None else id if isinstance(id, str) else reply_parts.dump_json(id)
    return _Call(function=_Function(name=name, arguments=arguments), id=call_id)


def _parse_usage(usage: Any) -> tuple[Usage, tuple[str, ...]]:
    count = reply_parts.token_count
    n_input, n_output = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    reasoning = count(usage, "completion_tokens_details", "reasoning_tokens")
    if reasoning > 0 and count(usage, "total_tokens") == n_input + n_output + reasoning:
        n_output += reasoning
    counted = reply_parts.check_counts(
        n_input,
        n_output,
        reasoning,
        count(usage, "prompt_tokens_details", "cached_tokens")
        or count(usage, "prompt_cache_hit_tokens"),
        count(usage, "prompt_tokens_details", "cache_write_tokens"),
    )
    return reply_parts.add_loose_cost(counted, usage)


def _first_choice(choices: Any) -> Json | None:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None
