"""An endpoint of Gemini's generateContent whose model thinks, and demands its signatures.

It validates whole conversations by the rules of the API, and answers with its errors: a signature
on the first call of each step of the current turn, results in one content, in order, under the
names and ids of their calls. Where the API is lenient it is strict: what has a signature must come
back as it was said, whole, where it was said. What it knows of its replies is sealed in the
signatures, so any server takes back what another one said.
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
DUMMY_SIGNATURE = "skip_thought_signature_validator"
_TARGET = re.compile(r"/v1/models/([\w.-]+):(generateContent|streamGenerateContent\?alt=sse)")
_LEGAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_FIELDS = frozenset(("contents", "systemInstruction", "tools", "toolConfig", "generationConfig"))
_SETTINGS = frozenset(("temperature", "topP", "maxOutputTokens", "thinkingConfig"))
_LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
_KINDS = frozenset(("text", "inlineData", "functionCall", "functionResponse"))


class Refusal(Exception):
    """A request that the endpoint refuses, in its words."""

    def __init__(self, message: str, kind: str = "INVALID_ARGUMENT", status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        self.body = error(message, kind, status)


def error(message: str, kind: str, code: int, *details: Json) -> Json:
    """Write an error."""
    found: Json = {"code": code, "message": message, "status": kind}
    return {"error": {**found, "details": list(details)} if details else found}


# --- the rules --------------------------------------------------------------------------


def check_request(body: Json, *, thinks: bool = True) -> None:
    """Raise Refusal for a request that breaks a rule; one that does not think signs nothing."""
    _check_fields(body, thinks=thinks)
    for tool in body.get("tools", ()):
        for function in tool["functionDeclarations"]:
            _check_function(function)
    contents = body["contents"]
    if not contents:
        raise Refusal("* GenerateContentRequest.contents: contents is not specified\n")
    for index, content in enumerate(contents):
        _check_content(content, index)
    _check_order(contents)
    if thinks:
        _check_signatures(contents)


def _check_fields(body: Json, *, thinks: bool) -> None:
    for name in body.keys() - _FIELDS:
        raise Refusal(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
    config = body.get("generationConfig", {})
    for name in config.keys() - _SETTINGS:
        raise Refusal(
            f"Invalid JSON payload received. Unknown name \"{name}\" at 'generation_config': "
            "Cannot find field."
        )
    thinking = config.get("thinkingConfig")
    if thinking is not None and not thinks:
        raise Refusal("Thinking is not enabled for models/thinker")
    if (thinking or {}).get("thinkingLevel", "LOW") not in _LEVELS:
        raise Refusal("Thinking level is not supported for this model.")
    for part in body.get("systemInstruction", {"parts": []})["parts"]:
        if part.keys() != {"text"}:
            raise Refusal("Developer instruction must be text.")


def _check_function(function: Json) -> None:
    if not _LEGAL_NAME.fullmatch(function.get("name", "")):
        raise Refusal(
            "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function "
            "name. Must start with a letter or an underscore."
        )
    if "parameters" in function:
        raise Refusal("This organization takes JSON Schema only.")
    if function.get("parametersJsonSchema", {"type": "object"}).get("type") != "object":
        raise Refusal("functionDeclaration parameters schema should be of type OBJECT.")


def _check_content(content: Json, index: int) -> None:
    place = f"GenerateContentRequest.contents[{index}]"
    if content.get("role") not in ("user", "model"):
        raise Refusal("Please use a valid role: user, model.")
    if not content.get("parts"):
        raise Refusal(f"* {place}.parts: contents.parts must not be empty.\n")
    for part in content["parts"]:
        if len(_KINDS & part.keys()) != 1 or part.keys() - _KINDS - {"thought", "thoughtSignature"}:
            raise Refusal(f"* {place}.parts[0].data: required oneof field 'data' must have one "
                          "initialized field\n")  # fmt: skip
        if not isinstance(part.get("functionCall", {"args": {}}).get("args", {}), dict):
            raise Refusal(f"Invalid value at 'contents[{index}].parts[0].function_call.args'")
        if content["role"] == "user" and part.keys() & {"functionCall", "thought"}:
            raise Refusal("Function calls and thoughts are of the model's role.")


def calls_of(content: Json) -> list[Json]:
    """Return the calls of a content."""
    return [part["functionCall"] for part in content["parts"] if "functionCall" in part]


def results_of(content: Json) -> list[Json]:
    """Return the results in a content."""
    return [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]


def _check_order(contents: list[Json]) -> None:
    open_calls: list[Json] = []
    for index, content in enumerate(contents):
        results, calls = results_of(content), calls_of(content)
        if open_calls or results:
            _check_results(content, results, open_calls)
        before = contents[index - 1]["role"] if index else ""
        if content["role"] == "model" and before != "user":
            raise Refusal(
                "Please ensure that function call turn comes immediately after a user turn or "
                "after a function response turn."
            )
        if content["role"] == before == "user" and not results_of(contents[index - 1]):
            raise Refusal("This organization takes one content of a user at a time.")
        open_calls = calls
    if open_calls or contents[-1]["role"] != "user":
        raise Refusal("Please ensure that single turn requests end with a user role.")


def _check_results(content: Json, results: list[Json], calls: list[Json]) -> None:
    if len(results) != len(calls) or len(results) != len(content["parts"]):
        raise Refusal(
            "Please ensure that the number of function response parts is equal to the number of "
            "function call parts of the function call turn."
        )
    for result, call in zip(results, calls, strict=True):
        if (result.get("id"), result["name"]) != (call.get("id"), call["name"]):
            raise Refusal(f"Function response {result['name']} is of another call.")
        if result["response"].keys() not in ({"output"}, {"error"}):
            raise Refusal("A function response is its output or its error.")


# --- signatures -------------------------------------------------------------------------


def said(parts: list[Json]) -> list[Any]:
    """Return what parts say, however their texts are cut, and without signatures."""
    found: list[Any] = []
    for part in parts:
        if "text" not in part:
            found.append(part.get("functionCall"))
        elif found and isinstance(found[-1], list) and found[-1][0] == part.get("thought", False):
            found[-1][1] += part["text"]
        elif part["text"]:
            found.append([part.get("thought", False), part["text"]])
    return found


def _check_signatures(contents: list[Json]) -> None:
    turn = max(
        (i for i, c in enumerate(contents) if c["role"] == "user" and not results_of(c)), default=0
    )
    for index, content in enumerate(contents):
        if content["role"] != "model":
            continue
        for part in content["parts"]:
            _check_signature(part, content["parts"], index)
        first = next((part for part in content["parts"] if "functionCall" in part), None)
        if first is not None and index > turn and "thoughtSignature" not in first:
            raise Refusal(
                "Function call is missing a thought_signature in functionCall parts. This is "
                "required for tools to work correctly, and missing thought_signature may lead to "
                "degraded model performance. Additional data, function call "
                f"`default_api:{first['functionCall']['name']}` , position {index + 1}."
            )


def _check_signature(part: Json, parts: list[Json], index: int) -> None:
    signature = part.get("thoughtSignature")
    if signature is None or signature == DUMMY_SIGNATURE:
        return
    try:
        known = unseal(signature)
    except ValueError:
        known = None
    if known != {"at": index, "said": digest(said(parts)), "part": digest(said([part]))}:
        raise Refusal("Corrupted thought signature.")


# --- who answers ------------------------------------------------------------------------


def read_request(body: Json) -> Request:
    """Read a request back into the words of the core."""
    messages = [
        Message(role="system", parts=(Text(part["text"]),))
        for part in body.get("systemInstruction", {"parts": []})["parts"]
    ]
    for index, content in enumerate(body["contents"]):
        texts = tuple(
            Text(p["text"]) for p in content["parts"] if "text" in p and not p.get("thought")
        )
        calls = tuple(
            Call(name=call["name"], arguments=json.dumps(call["args"]), id=f"{index}-{at}")
            for at, call in enumerate(calls_of(content))
        )
        if content["role"] == "model":
            messages.append(Message(role="assistant", parts=texts, calls=calls))
        elif texts:
            messages.append(Message(role="user", parts=texts))
        for at, result in enumerate(results_of(content)):
            text = Text("".join(result["response"].values()))
            messages.append(Message(role="tool", parts=(text,), call_id=f"{index - 1}-{at}"))
    tools = tuple(
        Tool(name=f["name"], description=f.get("description", ""),
             parameters=f.get("parametersJsonSchema", {}))
        for tool in body.get("tools", ()) for f in tool["functionDeclarations"]
    )  # fmt: skip
    return Request(messages=tuple(messages), tools=tools)


def write_content(reply: Reply, body: Json, *, thinks: bool = True) -> Json:
    """Write a reply as the content of a model that thinks before each step.

    In every other step its calls have no ids.
    """
    step = sum(content["role"] == "model" for content in body["contents"])
    name = digest([body["contents"], body.get("tools")])
    parts: list[Json] = [{"text": f"Step {step}.", "thought": True}] if thinks else []
    if not reply.calls:
        parts.append({"text": reply.text})
    elif step % 3 == 0:
        parts.append({"text": "I look that up."})
    for index, call in enumerate(reply.calls):
        made: Json = {"name": call.name, "args": json.loads(call.arguments)}
        parts.append({"functionCall": made | ({"id": f"{name}{index}"} if step % 2 else {})})
    if thinks:
        first = next((part for part in parts if "functionCall" in part), parts[-1])
        known = {"at": len(body["contents"]), "said": digest(said(parts))}
        first["thoughtSignature"] = seal({**known, "part": digest(said([first]))})
    return {"role": "model", "parts": parts}


def response(parts: Any, finish: str | None = "STOP", **more: Any) -> Json:
    """Write a response with these parts; `more` are members of the candidate."""
    n_thoughts = sum(isinstance(p, dict) and p.get("thought") is True for p in parts or ())
    usage = {
        "promptTokenCount": 30, "cachedContentTokenCount": 8, "candidatesTokenCount": 20,
        "thoughtsTokenCount": 5 * n_thoughts, "totalTokenCount": 50 + 5 * n_thoughts,
    }  # fmt: skip
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
    return {
        "candidates": [candidate | more], "usageMetadata": usage,
        "modelVersion": "thinker-1", "responseId": f"r{digest(parts)}",
    }  # fmt: skip


# --- streams ----------------------------------------------------------------------------


def events(whole: Json, n: int = 9) -> Iterator[Json]:
    """Go through the events of a streamed response, in pieces of n characters.

    A signed text ends with an empty part that has its signature.
    """
    candidate = whole["candidates"][0]
    about = {k: v for k, v in whole.items() if k in ("modelVersion", "responseId")}
    usage = {"promptTokenCount": whole["usageMetadata"]["promptTokenCount"]}
    for part in candidate["content"]["parts"]:
        for piece in _pieces(part, n):
            content = {"role": "model", "parts": [piece]}
            yield {
                "candidates": [{"content": content, "index": 0}],
                "usageMetadata": usage,
                **about,
            }
    ended = {"content": {"role": "model", "parts": [{"text": ""}]}}
    yield whole | {"candidates": [candidate | ended]}


def _pieces(part: Json, n: int) -> Iterator[Json]:
    if "text" not in part:
        yield part
        return
    text, rest = part["text"], {k: v for k, v in part.items() if k != "text"}
    signature = rest.pop("thoughtSignature", None)
    for at in range(0, len(text), n):
        yield {"text": text[at : at + n], **rest}
    if signature is not None:
        yield {"text": "", **rest, "thoughtSignature": signature}


def write_events(parts: Iterator[Json]) -> bytes:
    """Write events as the bytes of a stream."""
    return b"".join(
        b"data: " + json.dumps(part, ensure_ascii=False).encode() + b"\r\n\r\n" for part in parts
    )


# --- the endpoint -----------------------------------------------------------------------


@dataclass
class Thinker:
    """Plays the planner behind the rules; fails with 503 from request `fails_from` on.

    Without `thinks` it has no thoughts and no signatures.
    """

    thinks: bool = True
    fails_from: int | None = None
    think: ReplyFunction = field(default_factory=BackwardPlanner)
    bodies: list[Json] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    async def __call__(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        if asked.target.startswith("/v1/models?"):
            writer.write(fake.raw(200, b'{"models":[{"name":"models/thinker"}]}'))
            return
        if self.fails_from is not None and len(self.bodies) >= self.fails_from:
            busy = error("The model is overloaded.", "UNAVAILABLE", 503)
            writer.write(fake.raw(503, json.dumps([busy]).encode()))
            return
        try:
            if not _TARGET.fullmatch(asked.target) or "authorization" in asked.headers:
                raise Refusal("models/x is not found for API version v1.", "NOT_FOUND", 404)
            check_request(asked.json, thinks=self.thinks)
        except Refusal as refusal:
            self.refusals.append(str(refusal))
            writer.write(fake.raw(refusal.status, json.dumps(refusal.body).encode()))
            return
        self.bodies.append(asked.json)
        self.targets.append(asked.target)
        writer.write(await self._answer(asked))

    async def _answer(self, asked: fake.Asked) -> bytes:
        reply = await self.think(read_request(asked.json))
        whole = response(write_content(reply, asked.json, thinks=self.thinks)["parts"])
        if not asked.target.endswith("?alt=sse"):
            return fake.raw(200, json.dumps(whole).encode())
        data = write_events(events(whole))
        return fake.raw(200, data, {"content-type": "text/event-stream"})
