"""An endpoint of the Messages API whose model thinks, and takes back only what it said.

It validates whole conversations by the rules of the API, and answers with its errors. Where the API
is lenient (thoughts of earlier turns, an order that it mends) it is strict: a content must come
back as it was said, whole, after the same tools, instructions and messages. What it knows of its
replies is sealed in the signatures of their thoughts, so any server takes back what another said.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.servers import fake
from tests.servers.sealing import digest, seal, unseal

from toolmark.baselines.backward_planner import BackwardPlanner
from toolmark.core.model import ReplyFunction
from toolmark.core.records import Call, Message, Reply, Request, Text, Tool

Json = dict[str, Any]
VERSIONS = ("2023-06-01", "2026-10-21")
BINDING_BETA = "thinking-binding-controls-2026-08-01"
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SAMPLING = ("temperature", "top_p", "top_k")
_FIELDS = frozenset((
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking",
    "output_config", "cache_control", "metadata", "stop_sequences", "stream", *_SAMPLING,
))  # fmt: skip
_THOUGHTS = ("thinking", "redacted_thinking")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_MAX_MARKS = 4


class Refusal(Exception):
    """A request that the endpoint refuses, in its words."""

    def __init__(
        self, message: str, kind: str = "invalid_request_error", status: int = 400
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = error(kind, message)


def error(kind: str, message: str) -> Json:
    """Write an error."""
    return {
        "type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1",
    }  # fmt: skip


# --- what is sealed ---------------------------------------------------------------------


def unsigned(content: list[Json]) -> list[Json]:
    """Return a content without its signatures."""
    return [{k: v for k, v in b.items() if k not in ("signature", "data")} for b in content]


def unmarked(value: Any) -> Any:
    """Return a value without the marks of what is to be stored."""
    if isinstance(value, dict):
        return {name: unmarked(each) for name, each in value.items() if name != "cache_control"}
    return [unmarked(each) for each in value] if isinstance(value, list) else value


def prefix_digest(body: Json, n_messages: int) -> str:
    """Return the digest of all that comes before a message."""
    before = [body.get("system"), body.get("tools"), body["messages"][:n_messages]]
    return digest(unmarked(before))


# --- the rules --------------------------------------------------------------------------


def check_request(body: Json, headers: dict[str, str], *, samples: bool = False) -> list[Json]:
    """Raise Refusal for a request that breaks a rule; return which thoughts are left out.

    With `samples` the model takes settings of sampling.
    """
    version = headers.get("anthropic-version", "")
    if version not in VERSIONS:
        raise Refusal(f"anthropic-version: {version!r} is not a valid version")
    _check_fields(body, version, samples)
    names = [tool.get("name") for tool in body.get("tools", ())]
    for index, tool in enumerate(body.get("tools", ())):
        _check_tool(tool, f"tools.{index}.custom")
        if names.index(tool["name"]) != index:
            raise Refusal("tools: Tool names must be unique.")
    if json.dumps(body).count('"cache_control"') > _MAX_MARKS:
        raise Refusal("A maximum of 4 blocks with cache_control may be provided.")
    drops = _reads_binding(body, headers)
    _check_messages(body["messages"])
    dropped: list[Json] = []
    for index, message in enumerate(body["messages"]):
        if message["role"] == "assistant":
            dropped += _check_content(body, index, drops=drops)
    return dropped


def _check_fields(body: Json, version: str, samples: bool) -> None:
    for name in body.keys() - _FIELDS:
        raise Refusal(f"{name}: Extra inputs are not permitted")
    for name in _SAMPLING:
        if name in body and version > VERSIONS[0]:
            raise Refusal(f"{name}: Extra inputs are not permitted")
        if name in body and not samples:
            raise Refusal(f"`{name}` is deprecated for this model.")
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            raise Refusal(f"{name}: Field required")
    thinking = body.get("thinking", {"type": "adaptive"})
    if thinking["type"] != "adaptive":
        raise Refusal(
            f'"thinking.type.{thinking["type"]}" is not supported for this model. Use '
            '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
    if body.get("output_config", {}).get("effort", "low") not in _EFFORTS:
        raise Refusal("output_config.effort: Input should be 'low', 'medium' or 'high'")
    for block in body.get("system", ()):
        if block.get("type") != "text" or not block["text"].strip():
            raise Refusal("system: text content blocks must contain non-whitespace text")


def _reads_binding(body: Json, headers: dict[str, str]) -> bool:
    """Return whether thoughts whose prefix has changed are left out."""
    binding = body.get("thinking", {}).get("block_binding")
    if binding is None:
        return False
    if BINDING_BETA not in headers.get("anthropic-beta", "").split(","):
        raise Refusal("thinking.adaptive.block_binding: Extra inputs are not permitted")
    return bool(binding.get("prefix_mismatch_behavior") == "drop_block")


def _check_tool(tool: Json, place: str) -> None:
    if not _LEGAL_NAME.fullmatch(tool.get("name", "")):
        raise Refusal(f"{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
    schema = tool.get("input_schema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise Refusal(f"{place}.input_schema.type: Field required")
    if schema.keys() & {"oneOf", "allOf", "anyOf"}:
        raise Refusal(
            f"{place}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the "
            "top level"
        )
    for name in tool.keys() - {"name", "description", "input_schema", "cache_control", "strict"}:
        raise Refusal(f"{place}.{name}: Extra inputs are not permitted")


def blocks_of(message: Json) -> list[Json]:
    """Return the content of a message as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _check_messages(messages: list[Json]) -> None:
    if not messages:
        raise Refusal("messages: at least one message is required")
    if messages[0]["role"] != "user":
        raise Refusal("messages: first message must use the user role")
    if messages[-1]["role"] != "user":
        raise Refusal("This model does not support assistant message prefill.")
    open_ids: list[str] = []
    for index, message in enumerate(messages):
        blocks = blocks_of(message)
        if not blocks:
            raise Refusal(f"messages.{index}: all messages must have non-empty content")
        for block in blocks:
            if block["type"] == "text" and not block["text"].strip():
                raise Refusal("messages: text content blocks must contain non-whitespace text")
        if message["role"] == "user":
            _check_results(blocks, open_ids, index)
            open_ids = []
        elif messages[index - 1]["role"] == "assistant":
            raise Refusal('messages: roles must alternate between "user" and "assistant"')
        else:
            open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]


def _check_results(blocks: list[Json], open_ids: list[str], index: int) -> None:
    kinds = [block["type"] for block in blocks]
    found = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    n_before_text = next((i for i, kind in enumerate(kinds) if kind != "tool_result"), len(kinds))
    missing = [each for each in open_ids if each not in found[:n_before_text]]
    if missing:
        raise Refusal(
            f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )
    for each in found:
        if each not in open_ids or found.count(each) > 1:
            raise Refusal(
                f"messages.{index}.content: unexpected `tool_use_id` found in `tool_result` "
                f"blocks: {each}. Each `tool_result` block must have a corresponding `tool_use` "
                "block in the previous message."
            )


def _check_content(body: Json, index: int, *, drops: bool) -> list[Json]:
    """Check that a content is as it was said, where it was said; return what is left out."""
    content = blocks_of(body["messages"][index])
    place = f"messages.{index}.content"
    if content[0]["type"] not in _THOUGHTS:
        raise Refusal(
            f"{place}.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{content[0]['type']}`. When `thinking` is enabled, a final `assistant` message "
            "must start with a thinking block"
        )
    dropped: list[Json] = []
    for at, block in enumerate(content):
        if block["type"] not in _THOUGHTS:
            continue
        try:
            known = unseal(str(block.get("signature", block.get("data"))))
        except ValueError:
            known = {}
        if known.get("at") != at:
            raise Refusal(f"{place}.{at}: Invalid `signature` in `thinking` block")
        if known["content"] != digest(unsigned(content)):
            raise Refusal(
                f"{place}.{at}: `thinking` or `redacted_thinking` blocks in the latest assistant "
                "message cannot be modified. These blocks must remain as they were in the "
                "original response."
            )
        if known["prefix"] != prefix_digest(body, index):
            if not drops:
                raise Refusal(
                    f"{place}.{at}: Invalid `signature` in `thinking` block. The block is bound "
                    "to a different conversation. Remove the block, or set "
                    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
                )
            dropped.append(
                {"type": "thinking_dropped", "path": f"{place}.{at}",
                 "reason": "prefix_binding_mismatch"}
            )  # fmt: skip
    return dropped


# --- who answers ------------------------------------------------------------------------


def read_request(body: Json) -> Request:
    """Read a request back into the words of the core."""
    messages = [
        Message(role="system", parts=(Text(block["text"]),)) for block in body.get("system", ())
    ]
    for message in body["messages"]:
        blocks = blocks_of(message)
        if message["role"] == "assistant":
            calls = tuple(
                Call(name=each["name"], arguments=json.dumps(each["input"]), id=each["id"])
                for each in blocks
                if each["type"] == "tool_use"
            )
            messages.append(Message(role="assistant", calls=calls))
            continue
        for block in blocks:
            if block["type"] == "text":
                messages.append(Message(role="user", parts=(Text(block["text"]),)))
            elif block["type"] == "tool_result":
                result = Text("".join(b.get("text", "") for b in blocks_of(block)))
                messages.append(Message(role="tool", parts=(result,), call_id=block["tool_use_id"]))
    tools = tuple(
        Tool(name=t["name"], description=t.get("description", ""), parameters=t["input_schema"])
        for t in body.get("tools", ())
    )
    return Request(messages=tuple(messages), tools=tools)


def write_content(reply: Reply, body: Json) -> list[Json]:
    """Write a reply as the content of a model that thinks before each thing that it does."""
    step = sum(message["role"] == "assistant" for message in body["messages"])
    name = digest([body["messages"], body.get("tools")])
    content: list[Json] = [{"type": "thinking", "thinking": f"Step {step}.", "signature": ""}]
    if not reply.calls:
        content.append({"type": "text", "text": reply.text})
    elif step % 2 == 0:
        content.append({"type": "text", "text": "I look that up."})
    for call in reply.calls:
        if content[-1]["type"] == "tool_use":
            content.append({"type": "thinking", "thinking": "", "signature": ""})
        if step % 3 == 2 and content[-1]["type"] != "redacted_thinking":
            content.append({"type": "redacted_thinking", "data": ""})
        content.append(
            {"type": "tool_use", "id": f"toolu_{name}{len(content)}", "name": call.name,
             "input": json.loads(call.arguments), "caller": {"type": "direct"}}
        )  # fmt: skip
    known = {"prefix": prefix_digest(body, len(body["messages"])),
             "content": digest(unsigned(content))}  # fmt: skip
    for at, block in enumerate(content):
        if block["type"] in _THOUGHTS:
            block["data" if "data" in block else "signature"] = seal({**known, "at": at})
    return content


def message(content: list[Json], **more: Any) -> Json:
    """Write a message with this content."""
    kinds = [block.get("type") for block in content]
    n_thoughts = sum(kind in _THOUGHTS for kind in kinds)
    usage = {
        "input_tokens": 20, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 2,
        "output_tokens": 20 + 5 * n_thoughts,
        "output_tokens_details": {"thinking_tokens": 5 * n_thoughts},
        "service_tier": "standard",
    }  # fmt: skip
    return {
        "id": f"msg_{digest(content)}", "type": "message", "role": "assistant",
        "model": "thinker-1", "content": content,
        "stop_reason": "tool_use" if "tool_use" in kinds else "end_turn", "stop_sequence": None,
        "stop_details": None, "usage": usage, **more,
    }  # fmt: skip


# --- streams ----------------------------------------------------------------------------


def events(whole: Json, n: int = 9) -> Iterator[Json]:
    """Go through the events of a streamed message, in pieces of n characters."""
    ended = {name: whole[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    usage = whole["usage"]
    started = {**usage, "output_tokens": 1}
    started.pop("output_tokens_details", None)
    begun = {**whole, **dict.fromkeys(ended), "content": [], "usage": started}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        start = block | {
            name: value
            for name, value in (("text", ""), ("thinking", ""), ("signature", ""), ("input", {}))
            if name in block
        }
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in _deltas(block, n):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    counts = {name: usage[name] for name in ("output_tokens", "output_tokens_details")}
    yield {"type": "message_delta", "delta": ended, "usage": counts}
    yield {"type": "message_stop"}


def _deltas(block: Json, n: int) -> Iterator[Json]:
    texts = {"text": "text_delta", "thinking": "thinking_delta"}
    for name, kind in texts.items():
        text = block.get(name, "") if block["type"] == name else ""
        for at in range(0, len(text), n):
            yield {"type": kind, name: text[at : at + n]}
    if block["type"] == "thinking":
        yield {"type": "signature_delta", "signature": block["signature"]}
    if "input" in block:
        yield {"type": "input_json_delta", "partial_json": ""}
        text = json.dumps(block["input"]) if block["input"] else ""
        for at in range(0, len(text), n):
            yield {"type": "input_json_delta", "partial_json": text[at : at + n]}


def write_events(parts: Iterator[Json]) -> bytes:
    """Write events as the bytes of a stream."""
    return b"".join(
        f"event: {part['type']}\ndata: ".encode()
        + json.dumps(part, ensure_ascii=False).encode()
        + b"\n\n"
        for part in parts
    )


# --- the endpoint -----------------------------------------------------------------------


@dataclass
class Thinker:
    """Plays the planner behind the rules; fails with 529 from request `fails_from` on.

    With `samples` the model takes settings of sampling.
    """

    samples: bool = False
    fails_from: int | None = None
    think: ReplyFunction = field(default_factory=BackwardPlanner)
    bodies: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    async def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        if asked.target.startswith("/v1/models") and ":" not in asked.target:
            writer.write(fake.raw(200, b'{"data":[{"id":"thinker","type":"model"}]}'))
            return
        if self.fails_from is not None and len(self.bodies) >= self.fails_from:
            body = json.dumps(error("overloaded_error", "Overloaded")).encode()
            writer.write(fake.raw(529, body))
            return
        try:
            if asked.target != "/v1/messages":
                raise Refusal("Not found", "not_found_error", 404)
            dropped = check_request(asked.json, asked.headers, samples=self.samples)
        except Refusal as refusal:
            self.refusals.append(str(refusal))
            writer.write(fake.raw(refusal.status, json.dumps(refusal.body).encode()))
            return
        self.bodies.append(asked.json)
        self.headers.append(asked.headers)
        writer.write(await self._answer(asked.json, dropped))

    async def _answer(self, body: Json, dropped: list[Json]) -> bytes:
        content = write_content(await self.think(read_request(body)), body)
        whole = message(content, input_transformations=dropped)
        if not body.get("stream"):
            return fake.raw(200, json.dumps(whole).encode(), {"request-id": "req_1"})
        data = write_events(events(whole))
        return fake.raw(200, data, {"content-type": "text/event-stream"})
