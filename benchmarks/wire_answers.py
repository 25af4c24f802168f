"""The same two replies in the form of each wire, whole and streamed: a call, then a text.

A model named `thinker` thinks before both. A piece of a stream has about as many characters as a
token, and no piece waits for the one before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

Json = dict[str, Any]

NAME, ARGUMENTS, CALL_ID = "tool_3", '{"city":"Paris","days":3}', "call_0001"
TEXT = "It will be sunny."
THOUGHT = "The user wants the forecast for Paris, so the tool must be called with three days. "
SEAL = "c2VhbGVk" * 16
WIRE_BY_PATH = {"completions": "chat", "responses": "responses", "messages": "anthropic"}
_PIECE_CHARS = 4


def find_answer(head: bytes, body: bytes) -> bytes:
    """Return the bytes of HTTP that answer a request."""
    path = head.split(b" ", 2)[1].decode()
    last = path.partition("?")[0].rpartition("/")[2]
    wire = WIRE_BY_PATH.get(last, "gemini")
    is_stream = "stream" in last if wire == "gemini" else b'"stream":true' in body
    is_second = b'"role":"tool"' in body or b'"role": "tool"' in body
    if wire != "chat":
        is_second = any(
            mark in body for mark in (b"function_call_output", b"tool_result", b"functionResponse")
        )
    thinks = b"thinker" in body[:40] or "thinker" in last
    return _answer(wire, is_second, thinks, is_stream)


@cache
def _answer(wire: str, is_second: bool, thinks: bool, is_stream: bool) -> bytes:
    whole, events = _FORMS[wire](is_second, thinks)
    if not is_stream:
        body = _encode(whole)
        head = "content-type: application/json\r\ncontent-length: " + str(len(body))
        return f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body
    frames = []
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        frames.append(name.encode() + b"data: " + _encode(event) + b"\n\n")
    if wire == "chat":
        frames.append(b"data: [DONE]\n\n")
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(frame), frame) for frame in frames)
    head = "content-type: text/event-stream\r\ntransfer-encoding: chunked"
    return f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + chunks + b"0\r\n\r\n"


def _encode(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _pieces(text: str) -> Iterator[str]:
    yield from (text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS))


def _chat(is_second: bool, thinks: bool) -> tuple[Json, list[Json]]:
    head = {"id": "chatcmpl-1", "created": 1_750_000_000, "model": "fake-1"}
    usage = {"prompt_tokens": 410, "completion_tokens": 21, "total_tokens": 431}
    message: Json = {"role": "assistant", "content": TEXT if is_second else None}
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    if thinks:
        message["reasoning_content"] = THOUGHT
        deltas += ({"reasoning_content": piece} for piece in _pieces(THOUGHT))
    if is_second:
        deltas += ({"content": piece} for piece in _pieces(TEXT))
    else:
        function = {"name": NAME, "arguments": ARGUMENTS}
        call = {"id": CALL_ID, "type": "function", "function": function}
        message["tool_calls"] = [call]
        start = {"index": 0, **call, "function": {"name": NAME, "arguments": ""}}
        deltas.append({"tool_calls": [start]})
        for piece in _pieces(ARGUMENTS):
            deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    finish = "stop" if is_second else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {"object": "chat.completion", **head, "choices": [choice], "usage": usage}
    chunk = {"object": "chat.completion.chunk", **head}
    ends = [*((delta, None) for delta in deltas), ({}, finish)]
    events: list[Json] = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
        for delta, end in ends
    ]
    return whole, [*events, {**chunk, "choices": [], "usage": usage}]


def _responses(is_second: bool, thinks: bool) -> tuple[Json, list[Json]]:
    output: list[Json] = []
    events: list[Json] = []
    if thinks:
        summary = [{"type": "summary_text", "text": THOUGHT}]
        start = {"type": "reasoning", "id": "rs_1", "summary": []}
        _add_item(output, events, start, start | {"summary": summary, "encrypted_content": SEAL},
                  "response.reasoning_summary_text.delta", THOUGHT)  # fmt: skip
    if is_second:
        part = {"type": "output_text", "text": TEXT, "annotations": []}
        start = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress",
                 "content": []}  # fmt: skip
        _add_item(output, events, start, start | {"status": "completed", "content": [part]},
                  "response.output_text.delta", TEXT)  # fmt: skip
    else:
        start = {"type": "function_call", "id": "fc_1", "call_id": CALL_ID, "name": NAME,
                 "arguments": "", "status": "in_progress"}  # fmt: skip
        _add_item(output, events, start, start | {"arguments": ARGUMENTS, "status": "completed"},
                  "response.function_call_arguments.delta", ARGUMENTS)  # fmt: skip
    whole = {
        "id": "resp_1", "object": "response", "model": "fake-1", "status": "completed",
        "error": None, "incomplete_details": None, "output": output,
        "usage": {"input_tokens": 410, "output_tokens": 21, "total_tokens": 431},
    }  # fmt: skip
    created = {"type": "response.created", "response": whole | {"output": [], "usage": None}}
    return whole, [created, *events, {"type": "response.completed", "response": whole}]


def _add_item(
    output: list[Json], events: list[Json], start: Json, whole: Json, kind: str, text: str
) -> None:
    index = len(output)
    output.append(whole)
    events.append({"type": "response.output_item.added", "output_index": index, "item": start})
    for piece in _pieces(text):
        events.append({"type": kind, "output_index": index, "item_id": start["id"], "delta": piece})
    events.append({"type": "response.output_item.done", "output_index": index, "item": whole})


def _messages(is_second: bool, thinks: bool) -> tuple[Json, list[Json]]:
    blocks: list[tuple[Json, Json, str, str]] = []
    if thinks:
        whole = {"type": "thinking", "thinking": THOUGHT, "signature": SEAL}
        blocks.append((whole | {"thinking": "", "signature": ""}, whole, "thinking", THOUGHT))
    if is_second:
        blocks.append(({"type": "text", "text": ""}, {"type": "text", "text": TEXT}, "text", TEXT))
    else:
        call = {"type": "tool_use", "id": CALL_ID, "name": NAME, "input": {}}
        filled = call | {"input": json.loads(ARGUMENTS)}
        blocks.append((call, filled, "partial_json", ARGUMENTS))
    stop = "end_turn" if is_second else "tool_use"
    usage = {"input_tokens": 410, "output_tokens": 21}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake-1",
               "content": [whole for _, whole, _, _ in blocks], "stop_reason": stop,
               "stop_sequence": None, "usage": usage}  # fmt: skip
    first = message | {"content": [], "stop_reason": None}
    events: list[Json] = [{"type": "message_start", "message": first}]
    for index, (start, _, member, text) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        kind = "input_json_delta" if member == "partial_json" else f"{member}_delta"
        deltas = [{"type": kind, member: piece} for piece in _pieces(text)]
        if member == "thinking":
            deltas.append({"type": "signature_delta", "signature": SEAL})
        events += (
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        )
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop, "stop_sequence": None}
    end = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 21}}
    return message, [*events, end, {"type": "message_stop"}]


def _gemini(is_second: bool, thinks: bool) -> tuple[Json, list[Json]]:
    thoughts: list[Json] = [{"text": THOUGHT, "thought": True}] if thinks else []
    seal = {"thoughtSignature": SEAL} if thinks else {}
    call = {"id": CALL_ID, "name": NAME, "args": json.loads(ARGUMENTS)}
    said: Json = {"text": TEXT, **seal} if is_second else {"functionCall": call, **seal}
    usage = {"promptTokenCount": 410, "candidatesTokenCount": 21, "totalTokenCount": 431}
    facts = {"usageMetadata": usage, "modelVersion": "fake-1", "responseId": "r1"}

    def response(parts: list[Json], finish: str | None = "STOP") -> Json:
        content = {"role": "model", "parts": parts}
        candidate = {"content": content, "index": 0}
        return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **facts}

    pieces: list[Json] = [{"text": piece, "thought": True} for each in thoughts
                          for piece in _pieces(each["text"])]  # fmt: skip
    pieces += ({"text": piece} for piece in _pieces(TEXT)) if is_second else (said,)
    last: Json = {"text": "", **seal} if is_second else {"text": ""}
    events = [response([piece], None) for piece in pieces]
    return response([*thoughts, said]), [*events, response([last])]


_FORMS = {"chat": _chat, "responses": _responses, "anthropic": _messages, "gemini": _gemini}
