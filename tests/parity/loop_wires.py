"""The four wires as both sides of the generation loops speak them.

Each reads a request of either side as a conversation, writes a drawn reply, and brings a request
into a form in which only what the page of the suite lists as different everywhere is gone.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.parity.drawn_replies import Drawn, Spoken

from toolmark.models.wire_names import WireName

Json = dict[str, Any]
_NOTHING = "(nothing)"  # these two APIs have no empty texts
_THOUGHT_FIELDS = ("include", "reasoning")
_ID_NAMES = ("id", "call_id", "tool_call_id", "tool_use_id")


class LoopWire:
    """One wire; the base class speaks chat completions."""

    name: WireName = "chat"
    whole_arguments = False
    """Whether arguments are values: such a wire has no broken ones."""

    def read_messages(self, body: Json) -> list[Spoken]:
        return [
            Spoken(
                each["role"],
                each.get("content") or "",
                tuple(
                    (call["function"]["name"], call["function"]["arguments"])
                    for call in each.get("tool_calls") or ()
                ),
            )
            for each in body["messages"]
        ]

    def read_tools(self, body: Json) -> list[Json]:
        return [tool["function"] for tool in body.get("tools", ())]

    def write_reply(self, drawn: Drawn, number: int) -> Json:
        message: Json = {"role": "assistant", "content": drawn.text}
        if drawn.calls is not None:
            message["tool_calls"] = [
                {
                    "id": f"call_{number}_{at}",
                    "type": "function",
                    "function": {"name": name, "arguments": arguments},
                }
                for at, (name, arguments) in enumerate(drawn.calls)
            ]
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if drawn.calls else "stop",
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {
            "id": "x", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [choice], "usage": usage,
        }  # fmt: skip

    def tidy(self, body: Json) -> Json:
        """Return a request without what differs in every request: see the page of the suite."""
        messages = []
        for message in body["messages"]:
            message = {
                key: value for key, value in message.items() if (key, value) != ("tool_calls", [])
            }
            if message["content"] is None and "tool_calls" not in message:
                message["content"] = ""
            messages.append(message)
        return renumbered({**body, "messages": messages, "model": ""})


class ResponsesWire(LoopWire):
    """The Responses API."""

    name = "responses"

    def read_messages(self, body: Json) -> list[Spoken]:
        said = []
        for item in body["input"]:
            match item.get("type", "message"):
                case "function_call":
                    said.append(Spoken("assistant", "", ((item["name"], item["arguments"]),)))
                case "function_call_output":
                    said.append(Spoken("tool", item["output"]))
                case "message":
                    role = item["role"].replace("developer", "system")
                    said.append(Spoken(role, joined_text(item["content"])))
        return said

    def read_tools(self, body: Json) -> list[Json]:
        return list(body.get("tools", ()))

    def write_reply(self, drawn: Drawn, number: int) -> Json:
        output: list[Json] = [
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gA=="}
        ]
        if drawn.text is not None:
            said = [{"type": "output_text", "text": drawn.text, "annotations": []}]
            output.append({
                "type": "message", "id": f"msg_{number}", "role": "assistant",
                "status": "completed", "content": said,
            })  # fmt: skip
        output += [
            {"type": "function_call", "id": f"fc_{number}_{at}", "call_id": f"call_{number}_{at}",
             "name": name, "arguments": arguments, "status": "completed"}
            for at, (name, arguments) in enumerate(drawn.calls or ())
        ]  # fmt: skip
        usage = {
            "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
        }  # fmt: skip
        return {
            "id": "resp_1", "object": "response", "created_at": 0, "status": "completed",
            "model": "m", "output": output, "parallel_tool_calls": True, "tool_choice": "auto",
            "tools": [], "usage": usage,
        }  # fmt: skip

    def tidy(self, body: Json) -> Json:
        """Return a request without what is asked of every model until it refuses: thoughts.

        The system's role is that of the endpoint.
        """
        rest = {name: value for name, value in body.items() if name not in _THOUGHT_FIELDS}
        items = [
            {**item, "role": "system"} if item.get("role") == "developer" else item
            for item in body["input"]
        ]
        return renumbered({**rest, "input": items, "model": ""})


class MessagesWire(LoopWire):
    """The Messages API of Anthropic."""

    name = "anthropic"
    whole_arguments = True

    def read_messages(self, body: Json) -> list[Spoken]:
        said = [Spoken("system", joined_text(body.get("system", "")))]
        for message in body["messages"]:
            blocks = as_blocks(message["content"])
            calls = tuple((b["name"], b["input"]) for b in blocks if b["type"] == "tool_use")
            said += [Spoken("tool", b["content"]) for b in blocks if b["type"] == "tool_result"]
            text = joined_text([block for block in blocks if block["type"] == "text"])
            if calls or text:
                said.append(Spoken(message["role"], text, calls))
        return said

    def read_tools(self, body: Json) -> list[Json]:
        return list(without_marks(body.get("tools", [])))

    def write_reply(self, drawn: Drawn, number: int) -> Json:
        content: list[Json] = []
        if drawn.text is not None:
            content.append({"type": "text", "text": drawn.text or _NOTHING})
        content += [
            {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name,
             "input": json.loads(arguments)}
            for at, (name, arguments) in enumerate(drawn.calls or ())
        ]  # fmt: skip
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": content, "stop_reason": "tool_use" if drawn.calls else "end_turn",
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip

    def tidy(self, body: Json) -> Json:
        messages = [
            {**each, "content": as_blocks(each["content"])}
            for each in without_marks(body["messages"])
        ]
        rest = without_marks({key: value for key, value in body.items() if key != "messages"})
        return renumbered({**rest, "messages": messages, "model": ""})


class GeminiWire(LoopWire):
    """Google's generateContent."""

    name = "gemini"
    whole_arguments = True

    def read_messages(self, body: Json) -> list[Spoken]:
        said = [Spoken("system", joined_text(body.get("systemInstruction", {}).get("parts", "")))]
        for content in body["contents"]:
            role = "assistant" if content["role"] == "model" else "user"
            for part in content["parts"]:
                if "functionCall" in part:
                    call = part["functionCall"]
                    said.append(Spoken(role, "", ((call["name"], call["args"]),)))
                elif "functionResponse" in part:
                    (result,) = part["functionResponse"]["response"].values()
                    said.append(Spoken("tool", result))
                else:
                    said.append(Spoken(role, part["text"]))
        return said

    def read_tools(self, body: Json) -> list[Json]:
        return [
            {"name": each["name"], "description": each["description"]}
            for tool in body.get("tools", ())
            for each in tool["functionDeclarations"]
        ]

    def write_reply(self, drawn: Drawn, number: int) -> Json:
        parts: list[Json] = [] if drawn.text is None else [{"text": drawn.text or _NOTHING}]
        parts += [
            {"functionCall": {"name": name, "args": json.loads(arguments), "id": f"{number}_{at}"}}
            for at, (name, arguments) in enumerate(drawn.calls or ())
        ]
        if drawn.calls:  # the first of parallel calls is signed
            parts[-len(drawn.calls)]["thoughtSignature"] = "c2lnbmVk"
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}

    def tidy(self, body: Json) -> Json:
        """Return a request without the ids of results, and with one name for what both send."""
        tidied = copy.deepcopy(body)
        for content in tidied["contents"]:
            for part in content["parts"]:
                if result := part.get("functionResponse"):
                    result.pop("id", None)
                    result["response"] = list(result["response"].values())
        for tool in tidied.get("tools", ()):
            for function in tool["functionDeclarations"]:
                for name in ("parameters", "parametersJsonSchema"):
                    if name in function:
                        function["schema"] = with_small_types(function.pop(name))
        tidied.get("systemInstruction", {}).pop("role", None)
        thinking = tidied["generationConfig"]["thinkingConfig"]
        tidied["generationConfig"]["thinkingConfig"] = {
            name.replace("_t", "T"): value for name, value in thinking.items()
        }
        return renumbered(tidied)


WIRES: Mapping[WireName, LoopWire] = {
    wire.name: wire for wire in (LoopWire(), ResponsesWire(), MessagesWire(), GeminiWire())
}


# --- parts of bodies --------------------------------------------------------------------


def joined_text(content: str | Sequence[Json]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content)


def as_blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def without_marks(value: Any) -> Any:
    """Return a value without marks of the cache."""
    if isinstance(value, dict):
        return {k: without_marks(v) for k, v in value.items() if k != "cache_control"}
    return [without_marks(each) for each in value] if isinstance(value, list) else value


def with_small_types(schema: Any) -> Any:
    """Return a schema whose types are in small letters, as JSON Schema has them."""
    if isinstance(schema, dict):
        return {
            key: value.lower()
            if key == "type" and isinstance(value, str)
            else with_small_types(value)
            for key, value in schema.items()
        }
    return [with_small_types(each) for each in schema] if isinstance(schema, list) else schema


def renumbered(body: Json) -> Json:
    """Return a body whose ids of calls and items count anew: a server counts its answers."""
    names: dict[str, str] = {}

    def renumber(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: names.setdefault(each, f"id {len(names)}")
                if key in _ID_NAMES and isinstance(each, str)
                else renumber(each)
                for key, each in sorted(value.items())
            }
        return [renumber(each) for each in value] if isinstance(value, list) else value

    tools = body.get("tools")
    made: Json = renumber({key: value for key, value in body.items() if key != "tools"})
    return made if tools is None else {**made, "tools": tools}
