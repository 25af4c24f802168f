"""An endpoint of the Responses API that stores nothing, and takes back only what it said.

It validates whole conversations by the rules of the API without storage, and answers with its
errors. Where the API is lenient (an output in another order, a message without its phase) it is
strict: an output must come back as it was said, whole. What it knows of its replies is sealed in
the ciphertext of their reasoning, so any server takes back what another one said.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.servers import fake, sealing
from tests.servers.sealing import digest

from toolmark.baselines.backward_planner import BackwardPlanner
from toolmark.core.model import ReplyFunction
from toolmark.core.records import Call, Message, Reply, Request, Role, Text, Tool

Json = dict[str, Any]
_PREFIX = "gAAAAAB"
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SAID = ("reasoning", "function_call")
_FIELDS = frozenset((
    "model", "input", "tools", "store", "include", "reasoning", "stream", "max_output_tokens",
    "metadata", "parallel_tool_calls",
))  # fmt: skip
_REFUSED_BY_THINKERS = ("temperature", "top_p")


class Refusal(Exception):
    """A request that the endpoint refuses, in its words."""

    def __init__(
        self, message: str, param: str | None = "input", code: str | None = None, status: int = 400
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = {
            "error": {
                "message": message,
                "type": "invalid_request_error",
                "param": param,
                "code": code,
            }
        }


# --- what is sealed ---------------------------------------------------------------------


def seal(value: Any) -> str:
    """Return a ciphertext that only this kind of server can make."""
    return _PREFIX + sealing.seal(value)


def unseal(ciphertext: str) -> Any:
    """Return what was sealed. Raises ValueError for anything else."""
    if not ciphertext.startswith(_PREFIX):
        raise ValueError
    return sealing.unseal(ciphertext.removeprefix(_PREFIX))


def without_seals(items: list[Json]) -> list[Json]:
    """Return an output without its ciphertexts."""
    return [{k: v for k, v in item.items() if k != "encrypted_content"} for item in items]


# --- the rules --------------------------------------------------------------------------


def check_request(body: Json, refuses: frozenset[str] = frozenset()) -> None:
    """Raise Refusal for a request that breaks a rule; `refuses` are fields that the model lacks."""
    _check_fields(body, refuses)
    for index, tool in enumerate(body.get("tools", ())):
        _check_tool(tool, f"tools[{index}]")
    items = body["input"]
    if not isinstance(items, list) or not items:
        raise Refusal("Invalid type for 'input': expected a list of items.", "input")
    _check_calls(items)
    for step, output in enumerate(outputs(items)):
        _check_output(output, step)


def _check_fields(body: Json, refuses: frozenset[str]) -> None:
    for name in (*_REFUSED_BY_THINKERS, *refuses):
        if name == "include" and "include" in body:
            raise Refusal("Encrypted content is not supported with this model.", "include")
        if name == "reasoning" and "reasoning" in body:
            raise Refusal(
                "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
                "reasoning.summary", "unsupported_parameter",
            )  # fmt: skip
        if name in body:
            raise Refusal(
                f"Unsupported parameter: '{name}' is not supported with this model.",
                name, "unsupported_parameter",
            )  # fmt: skip
    for name in body.keys() - _FIELDS:
        raise Refusal(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    if body.get("store") is not False:
        raise Refusal("Storage is not available to this organization.", "store")
    if "include" not in refuses and body.get("include") != ["reasoning.encrypted_content"]:
        raise Refusal("This organization needs encrypted reasoning.", "include")
    if body.get("max_output_tokens", 16) < 16:
        raise Refusal(
            "Invalid 'max_output_tokens': integer below minimum value.",
            "max_output_tokens", "integer_below_min_value",
        )  # fmt: skip


def _check_tool(tool: Json, place: str) -> None:
    if tool.get("type") != "function" or "function" in tool:
        raise Refusal(f"Missing required parameter: '{place}.name'.", f"{place}.name")
    if not _LEGAL_NAME.fullmatch(tool.get("name", "")):
        raise Refusal(f"Invalid '{place}.name': string does not match pattern.", f"{place}.name")
    is_strict = tool.get("strict", True)
    if tool["parameters"].get("type") != "object" or (
        is_strict and not _is_strict_schema(tool["parameters"])
    ):
        raise Refusal(f"Invalid schema for function '{tool['name']}'.", f"{place}.parameters")


def _is_strict_schema(schema: Json) -> bool:
    """Return whether each object of a schema is closed and needs all of its properties."""
    if schema.get("type") == "array":
        return _is_strict_schema(schema["items"])
    if schema.get("type") != "object":
        return True
    properties = schema.get("properties", {})
    is_closed = schema.get("additionalProperties") is False
    needs_all = set(schema.get("required", ())) == set(properties)
    return is_closed and needs_all and all(map(_is_strict_schema, properties.values()))


def _check_calls(items: list[Json]) -> None:
    open_ids: list[str] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call":
            open_ids.append(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in open_ids:
                raise Refusal(
                    f"No tool call found for function call output with call_id {item['call_id']}."
                )
            open_ids.remove(item["call_id"])
        elif kind == "message" and item.get("role") != "assistant" and open_ids:
            break
    if open_ids:
        raise Refusal(f"No tool output found for function call {open_ids[0]}.")


def outputs(items: list[Json]) -> Iterator[list[Json]]:
    """Go through the outputs of the model that a conversation contains."""
    output: list[Json] = []
    for item in items:
        if item.get("type") in _SAID or item.get("role") == "assistant":
            output.append(item)
        elif output:
            yield output
            output = []
    if output:
        yield output


def _check_output(output: list[Json], step: int) -> None:
    thoughts = [item for item in output if item.get("type") == "reasoning"]
    for thought in thoughts:
        _check_thought(thought)
    first, last = output[0], output[-1]
    if first.get("type") != "reasoning":
        kind = first.get("type", "message")
        raise Refusal(
            f"Item '{first.get('id')}' of type '{kind}' was provided without its required "
            "'reasoning' item."
        )
    if last.get("type") == "reasoning":
        raise Refusal(
            f"Item '{last['id']}' of type 'reasoning' was provided without its required "
            "following item."
        )
    known = unseal(first["encrypted_content"])
    if known["step"] != step:
        raise Refusal(f"Item '{first['id']}' stands where another output was.")
    if known["output"] != digest(without_seals(output)):
        raise Refusal(f"The output of item '{first['id']}' was changed.")


def _check_thought(thought: Json) -> None:
    ciphertext = thought.get("encrypted_content")
    if not ciphertext:
        raise Refusal(
            f"Item with id '{thought.get('id')}' not found. Items are not persisted when `store` "
            "is set to false. Try again with `store` set to true, or remove this item from your "
            "input.",
            status=404,
        )
    if thought.get("content"):
        raise Refusal(
            "Invalid 'input.content': array too long. Expected an array with maximum length 0.",
            code="array_above_max_length",
        )
    try:
        known = unseal(ciphertext)
    except ValueError:
        known = {}
    if known.get("id") != thought.get("id"):
        raise Refusal(
            f"The encrypted content for item {thought.get('id')} could not be verified. Reason: "
            "Encrypted content could not be decrypted or parsed.",
            None, "invalid_encrypted_content",
        )  # fmt: skip


# --- who answers ------------------------------------------------------------------------


def read_request(body: Json) -> Request:
    """Read a request back into the words of the core."""
    messages: list[Message] = []
    for item in body["input"]:
        match item.get("type", "message"):
            case "function_call":
                call = Call(name=item["name"], arguments=item["arguments"], id=item["call_id"])
                made = messages.pop().calls if messages[-1].calls else ()
                messages.append(Message(role="assistant", calls=(*made, call)))
            case "function_call_output":
                text = Text(_text(item["output"]))
                messages.append(Message(role="tool", parts=(text,), call_id=item["call_id"]))
            case "message":
                role: Role = "system" if item["role"] == "developer" else item["role"]
                messages.append(Message(role=role, parts=(Text(_text(item["content"])),)))
    tools = tuple(
        Tool(name=t["name"], description=t.get("description", ""), parameters=t["parameters"])
        for t in body.get("tools", ())
    )
    return Request(messages=tuple(messages), tools=tools)


def _text(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def write_output(reply: Reply, body: Json) -> list[Json]:
    """Write a reply as the output of a model that thinks before each thing that it does."""
    step = sum(1 for _ in outputs(body["input"]))
    name = digest([body["input"], body.get("tools")])
    items: list[Json] = []

    def think(text: str) -> None:
        summary = [{"type": "summary_text", "text": text}] if text else []
        items.append({"type": "reasoning", "id": f"rs_{name}{len(items)}", "summary": summary})

    def say(text: str, phase: str) -> None:
        items.append({
            "type": "message", "id": f"msg_{name}{len(items)}", "role": "assistant",
            "status": "completed", "phase": phase,
            "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
        })  # fmt: skip

    think(f"Step {step}.")
    if not reply.calls:
        say(reply.text, "final_answer")
    elif step % 2 == 0:
        say("I look that up.", "commentary")
    for call in reply.calls:
        if items[-1]["type"] == "function_call":
            think("")
        items.append({
            "type": "function_call", "id": f"fc_{name}{len(items)}", "status": "completed",
            "call_id": f"call_{name}{len(items)}", "name": call.name, "arguments": call.arguments,
        })  # fmt: skip
    known = {"step": step, "output": digest(items)}
    for item in items:
        if item["type"] == "reasoning":
            item["encrypted_content"] = seal({**known, "id": item["id"]})
    return items


def response(output: list[Any], **more: Any) -> Json:
    """Write a response with this output."""
    n_thoughts = sum(isinstance(i, dict) and i.get("type") == "reasoning" for i in output)
    usage = {
        "input_tokens": 30, "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2},
        "output_tokens": 20 + 5 * n_thoughts, "total_tokens": 50 + 5 * n_thoughts,
        "output_tokens_details": {"reasoning_tokens": 5 * n_thoughts},
    }  # fmt: skip
    return {
        "id": f"resp_{digest(output)}", "object": "response", "created_at": 1790000000,
        "status": "completed", "error": None, "incomplete_details": None, "instructions": None,
        "model": "thinker-1", "output": output, "parallel_tool_calls": True, "store": False,
        "tool_choice": "auto", "tools": [], "temperature": 1.0, "top_p": 1.0, "metadata": {},
        "usage": usage, **more,
    }  # fmt: skip


# --- streams ----------------------------------------------------------------------------


def events(whole: Json, n: int = 9) -> Iterator[Json]:
    """Go through the events of a streamed response, in pieces of n characters."""
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item.get("id", "")}
        yield {"type": "response.output_item.added", "output_index": index, "item": _begin(item)}
        for kind, name, text, more in _spoken(item):
            place |= more
            for at in range(0, len(text), n):
                yield {"type": f"response.{kind}.delta", **place, "delta": text[at : at + n]}
            yield {"type": f"response.{kind}.done", **place, name: text}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _begin(item: Json) -> Json:
    """Write an item as its first event has it: empty, and its ciphertext incomplete."""
    emptied = {"content": [], "summary": [], "arguments": "", "encrypted_content": "gAAAAAB"}
    return item | {name: value for name, value in emptied.items() if name in item}


def _spoken(item: Json) -> Iterator[tuple[str, str, str, Json]]:
    """Go through the texts of an item: the kind of event, its member, the text, other members."""
    if item["type"] == "function_call":
        more = {"name": item["name"]}
        yield "function_call_arguments", "arguments", item["arguments"], more
    for index, part in enumerate(item.get("summary", ())):
        yield "reasoning_summary_text", "text", part["text"], {"summary_index": index}
    for index, part in enumerate(item.get("content", ())):
        place = {"content_index": index}
        if "refusal" in part:
            yield "refusal", "refusal", part["refusal"], place
        else:
            yield "output_text", "text", part["text"], {**place, "logprobs": []}


def write_events(parts: Iterator[Json]) -> bytes:
    """Write events as the bytes of a stream."""
    return b"".join(
        f"event: {part['type']}\ndata: ".encode()
        + json.dumps(part | {"sequence_number": number}, ensure_ascii=False).encode()
        + b"\n\n"
        for number, part in enumerate(parts)
    )


# --- the endpoint -----------------------------------------------------------------------


@dataclass
class Thinker:
    """Plays the planner behind the rules; fails with 503 from request `fails_from` on.

    `refuses` are fields that the model does not take.
    """

    refuses: frozenset[str] = frozenset()
    fails_from: int | None = None
    think: ReplyFunction = field(default_factory=BackwardPlanner)
    bodies: list[Json] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    async def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        if asked.target.endswith("/models"):
            writer.write(fake.raw(200, b'{"data":[{"id":"thinker"}]}'))
            return
        body = asked.json
        if self.fails_from is not None and len(self.bodies) >= self.fails_from:
            writer.write(fake.raw(503, b"busy"))
            return
        try:
            if asked.target != "/v1/responses":
                raise Refusal("Unknown request URL.", None, "unknown_url", status=404)
            check_request(body, self.refuses)
        except Refusal as refusal:
            self.refusals.append(str(refusal))
            writer.write(fake.raw(refusal.status, json.dumps(refusal.body).encode()))
            return
        self.bodies.append(body)
        writer.write(await self._answer(body))

    async def _answer(self, body: Json) -> bytes:
        whole = response(write_output(await self.think(read_request(body)), body))
        if not body.get("stream"):
            return fake.raw(200, json.dumps(whole).encode())
        data = write_events(events(whole))
        return fake.raw(200, data, {"content-type": "text/event-stream"})
