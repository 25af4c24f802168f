"""The body of a Gemini generateContent response as a Reply.

The usual body is decoded fast, into typed structs. Everything else is read by the standard library.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

from toolmark.core.errors import TornReply
from toolmark.core.records import ProviderState, Reply, StopReason, Usage
from toolmark.models.gemini_finish import ending_by_reason
from toolmark.models.wires import reply_parts
from toolmark.models.wires.gemini_state import call_arguments
from toolmark.models.wires.reply_building import ReplyContent, ReplyEnvelope, build_reply
from toolmark.models.wires.reply_parts import CallTexts, ErrorInBody, WrongShape, token_count
from toolmark.models.wires.tool_names import ToolNames

Json = dict[str, Any]

_PLAIN_REASONS = ("STOP", "MAX_TOKENS")  # `Reply.stop` says as much
_PLAIN_MEMBERS = (frozenset(("text",)), frozenset(("functionCall",)))
_NO_USAGE = Usage()


class _Call(Struct):
    name: str | None = None
    args: Raw = Raw(b"")
    id: str | None = None


class _Part(Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    function_call: _Call | None = None


class _Content(Struct):
    parts: list[_Part] | None = None


# what the neutral records have room for: any other member, and any other order, is state


class _PlainCall(Struct, forbid_unknown_fields=True):
    name: str
    args: Raw
    id: str


class _PlainPart(Struct, rename="camel", forbid_unknown_fields=True):
    text: str | None = None
    function_call: _PlainCall | None = None


class _PlainContent(Struct, forbid_unknown_fields=True):
    parts: list[_PlainPart]
    role: Literal["model"] = "model"


class _Usage(Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None


class _Candidate(Struct, rename="camel"):
    finish_reason: str
    content: Raw = Raw(b"")
    finish_message: str | None = None


class _Body(Struct, rename="camel"):
    candidates: list[_Candidate]
    usage_metadata: _Usage | None = None
    model_version: str | None = None
    response_id: str | None = None


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_plain_content = msgspec.json.Decoder(_PlainContent).decode
_decode_content = msgspec.json.Decoder(_Content).decode


class _Said(NamedTuple):
    """What a content said; `is_empty` where it has no parts."""

    content: ReplyContent
    is_empty: bool = False


_NOTHING = _Said(ReplyContent("", "", []), is_empty=True)


def decode_reply(body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
    """Decode a response; `names` gives the tool's own name for a name as sent.

    Raises TornReply if the body is no finished response, ErrorInBody if it contains an error.
    Neither text quotes the body, which may repeat a key. No body raises anything else. Parts of the
    wrong shape are a malformed Reply with their JSON as the text. What is longer than the limits is
    cut, and `Reply.defects` says so; the content that goes back is never cut.
    """
    reply_parts.check_size(body)
    try:
        decoded = _decode_body(body)
        if not decoded.candidates:
            return _decode_loosely(body, names, latency_s, origin)
        candidate = decoded.candidates[0]
        said = _read_content(bytes(candidate.content))
    except (msgspec.DecodeError, UnicodeError, RecursionError, WrongShape):
        return _decode_loosely(body, names, latency_s, origin)
    message = candidate.finish_message or ""
    stop, finish = _read_finish(candidate.finish_reason, message, said)
    model = reply_parts.short_model_name(decoded.model_version)
    request_id = reply_parts.short_model_name(decoded.response_id)
    usage, defects = _read_usage(decoded.usage_metadata)
    envelope = ReplyEnvelope(stop, finish, model, usage, defects, request_id)
    is_long = len(body) > reply_parts.UNLIMITED_BYTES
    return _make_reply(said, envelope, message, names, latency_s, origin, is_long=is_long)


def _read_content(raw: bytes) -> _Said:
    """Return what a content said, with its JSON where the neutral records lack a part of it."""
    if raw in (b"", b"null"):
        return _NOTHING
    try:
        plain = _decode_plain_content(raw).parts
    except msgspec.ValidationError:
        return _join_parts(_decode_content(raw).parts or [], raw.decode())
    text = ""
    calls: list[CallTexts] = []
    for index, part in enumerate(plain):
        call = part.function_call
        if call is not None and part.text is None and bytes(call.args).startswith(b"{"):
            calls.append((call.name, bytes(call.args).decode(), call.id))
        elif index or part.text is None or call is not None:
            return _join_parts(_decode_content(raw).parts or [], raw.decode())
        else:
            text = part.text
    if not _have_own_ids(calls):
        return _join_parts(_decode_content(raw).parts or [], raw.decode())
    return _Said(ReplyContent(text, "", calls), is_empty=not plain)


def _have_own_ids(calls: list[CallTexts]) -> bool:
    """Return whether each call has an id that no other has; others get a new one."""
    ids = {call_id for _, _, call_id in calls}
    return len(ids) == len(calls) and "" not in ids


def _join_parts(parts: list[_Part], state: str) -> _Said:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[CallTexts] = []
    for part in parts:
        if part.text is not None:
            (thoughts if part.thought else texts).append(part.text)
        if (call := part.function_call) is not None:
            if call.name is None:
                raise WrongShape
            calls.append((call.name, call_arguments(bytes(call.args)), call.id or ""))
    is_empty = not parts
    text, reasoning = "".join(texts), "".join(thoughts)
    return _Said(ReplyContent(text, reasoning, calls, "" if is_empty else state), is_empty)


def _read_finish(reason: object, message: str, said: _Said) -> tuple[StopReason, str]:
    """Return how the reply ended, and the endpoint's own word for an end that `stop` lacks.

    Raises TornReply for what is no answer, ErrorInBody for a fault of the request.
    """
    if not isinstance(reason, str) or not reason:
        raise TornReply("the response is not finished")
    ending = ending_by_reason(reason)
    if ending == "fault":
        raise ErrorInBody({"error": {"status": reason, "message": f"{reason}: {message}"}})
    if ending == "again" or (ending == "stop" and said.is_empty):
        raise TornReply("the response holds no answer")
    finish = "" if reason in _PLAIN_REASONS else reply_parts.short_model_name(reason)
    return ending, finish


def _read_usage(usage: _Usage | None) -> tuple[Usage, tuple[str, ...]]:
    if usage is None:
        return _NO_USAGE, ()
    return _count_usage(
        usage.prompt_token_count or 0,
        usage.tool_use_prompt_token_count or 0,
        usage.candidates_token_count or 0,
        usage.thoughts_token_count or 0,
        usage.cached_content_token_count or 0,
    )


def _count_usage(
    n_prompt: int, n_tool_use: int, n_said: int, n_thoughts: int, n_cached: int
) -> tuple[Usage, tuple[str, ...]]:
    """Return the counts; the endpoint counts thoughts and results of its own tools apart."""
    n_input = -1 if min(n_prompt, n_tool_use) < 0 else n_prompt + n_tool_use
    n_output = -1 if min(n_said, n_thoughts) < 0 else n_said + n_thoughts
    return reply_parts.check_counts(n_input, n_output, n_thoughts, n_cached)


def _make_reply(
    said: _Said,
    envelope: ReplyEnvelope,
    message: str,
    names: ToolNames,
    latency_s: float,
    origin: str,
    *,
    is_long: bool,
) -> Reply:
    """Return the Reply; `message` explains how it ended, for one that ended without a text."""
    content, state = said.content, None
    if not content.text and envelope.stop in ("refused", "malformed"):
        content = content._replace(text=message)
    if content.state:
        state = ProviderState(wire="gemini", origin=origin, data=content.state)
    return build_reply(content, envelope, state, names, latency_s, is_long=is_long)


# --- anything unusual -------------------------------------------------------------------


def _decode_loosely(body: bytes, names: ToolNames, latency_s: float, origin: str) -> Reply:
    """Decode a body that is not as documented, as far as possible."""
    decoded = _parse_body(body)
    candidate = _first_object(decoded.get("candidates"))
    failure = decoded.get("error")
    if failure and candidate is None:
        raise ErrorInBody({"error": failure})
    model = reply_parts.short_model_name(decoded.get("modelVersion"))
    request_id = reply_parts.short_model_name(decoded.get("responseId"))
    usage, defects = _parse_usage(decoded.get("usageMetadata"))
    if candidate is None:
        reason, message = _read_feedback(decoded.get("promptFeedback"))
        envelope = ReplyEnvelope("refused", reason, model, usage, defects, request_id)
        return _make_reply(_NOTHING, envelope, message, names, latency_s, origin, is_long=True)
    content = candidate.get("content")
    message = _text_or_empty(candidate.get("finishMessage"))
    try:
        said, is_readable = _parse_content(content), True
    except WrongShape:
        said, is_readable = _Said(ReplyContent(reply_parts.dump_json(content), "", [])), False
    stop, finish = _read_finish(candidate.get("finishReason"), message, said)
    stop = stop if is_readable else "malformed"
    envelope = ReplyEnvelope(stop, finish, model, usage, defects, request_id)
    return _make_reply(said, envelope, message, names, latency_s, origin, is_long=True)


def _parse_body(body: bytes) -> Json:
    """Return a body, of a list of them the first: errors come in such lists."""
    if not body.lstrip().startswith(b"["):
        return reply_parts.parse_object(body)
    items = reply_parts.parse_object(b'{"items":' + body + b"}").get("items")
    first = _first_object(items)
    if first is None or "error" not in first:
        raise TornReply("the answer is not a JSON object")
    return first


def _first_object(items: Any) -> Json | None:
    first = items[0] if isinstance(items, list) and items else None
    return first if isinstance(first, dict) else None


def _read_feedback(feedback: Any) -> tuple[str, str]:
    """Return why the endpoint blocked a request, and its explanation."""
    reason = feedback.get("blockReason") if isinstance(feedback, dict) else None
    if not isinstance(reason, str) or not reason:
        raise TornReply("the answer holds no candidate")
    return reply_parts.short_model_name(reason), _text_or_empty(feedback.get("blockReasonMessage"))


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _parse_content(content: Any) -> _Said:
    if content is None:
        return _NOTHING
    if not isinstance(content, dict):  # some proxies send the parts alone
        content = {"parts": content}
    parts = content.get("parts")
    if parts is None:
        return _NOTHING
    if not isinstance(parts, list):
        raise WrongShape
    source = reply_parts.dump_ascii(content)
    try:
        return _read_content(source.encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError, WrongShape):
        said = _join_parts([_parse_part(part) for part in parts], "")
    is_plain = (
        set(content) <= {"parts", "role"}
        and content.get("role", "model") == "model"
        and all(part.keys() in _PLAIN_MEMBERS for part in parts)
        and all("functionCall" in part for part in parts[1:])
        and _have_own_ids(said.content.calls)
    )
    if is_plain or said.is_empty:
        return said
    return _Said(said.content._replace(state=source))


def _parse_part(part: Any) -> _Part:
    if not isinstance(part, dict):
        raise WrongShape
    text, call = part.get("text"), part.get("functionCall")
    if text is not None and not isinstance(text, str):
        raise WrongShape
    parsed = _Part(text=text, thought=bool(part.get("thought")))
    if call is not None:
        name = call.get("name") if isinstance(call, dict) else None
        if not isinstance(name, str):
            raise WrongShape
        call_id, args = call.get("id"), call.get("args")
        parsed.function_call = _Call(
            name=name,
            args=Raw(b"" if args is None else reply_parts.dump_ascii(args).encode()),
            id=call_id if isinstance(call_id, str) else "",
        )
    return parsed


def _parse_usage(usage: Any) -> tuple[Usage, tuple[str, ...]]:
    return _count_usage(
        token_count(usage, "promptTokenCount"),
        token_count(usage, "toolUsePromptTokenCount"),
        token_count(usage, "candidatesTokenCount"),
        token_count(usage, "thoughtsTokenCount"),
        token_count(usage, "cachedContentTokenCount"),
    )
