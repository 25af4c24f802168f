"""Chat endpoints that check the whole conversation by a provider's rule, and a thinker behind them.

A rule is small: how the provider dresses a reply with thoughts, and what it wants of an assistant's
message that comes back. A rule's complaint is the provider's own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.servers import fake, planning_endpoint, streams

Json = dict[str, Any]
Dress = Callable[[Json, str], None]
"""Add a thought to a message that is issued."""
Check = Callable[[Json, Json, bool], str]
"""Compare a message as issued with the message as it came back, in the current turn or before."""
_NEUTRAL = frozenset({"role", "content", "tool_calls"})


@dataclass(frozen=True)
class Rule:
    """One provider: its host and a model there, which choose the profile."""

    name: str
    host: str
    model: str
    dress: Dress
    check: Check
    is_id_taken: Callable[[str], bool] = bool
    make_id: Callable[[int, str], str] = lambda n, name: f"call_{n}"


def _member(name: str) -> Dress:
    def dress(message: Json, thought: str) -> None:
        message[name] = thought

    return dress


def _returns(*members: str, complaint: str, only_calls: bool = False, in_turn: bool = False,
             strict: bool = False) -> Check:  # fmt: skip
    """Want these members back unchanged."""

    def check(issued: Json, sent: Json, is_current: bool) -> str:
        if strict and not sent.keys() <= _NEUTRAL | {*members}:
            return f"property unsupported: {sorted(sent.keys() - _NEUTRAL)}"
        if (only_calls and not issued.get("tool_calls")) or (in_turn and not is_current):
            return ""
        wanted = {name: issued.get(name) for name in members}
        return "" if {name: sent.get(name) for name in members} == wanted else complaint

    return check


def _refuses(member: str) -> Check:
    def check(issued: Json, sent: Json, is_current: bool) -> str:
        return f"{member} is not allowed in the input" if member in sent else ""

    return check


def _kimi(issued: Json, sent: Json, is_current: bool) -> str:
    if not sent.get("content"):
        return "message with role 'assistant' must not be empty"
    if sent.get("tool_calls") and not sent.get("reasoning_content"):
        return "thinking is enabled but reasoning_content is missing in assistant tool call message"
    same = not issued.get("tool_calls") or sent["reasoning_content"] == issued["reasoning_content"]
    return "" if same else "reasoning_content is missing in assistant tool call message"


def _sign_first_call(message: Json, thought: str) -> None:
    for call in (message.get("tool_calls") or ())[:1]:
        call["extra_content"] = {"google": {"thought_signature": f"{thought}=="}}


def _gemini(issued: Json, sent: Json, is_current: bool) -> str:
    pairs = zip(issued.get("tool_calls") or (), sent.get("tool_calls") or (), strict=True)
    same = all(a.get("extra_content") == b.get("extra_content") for a, b in pairs)
    missing = "Function call is missing a thought_signature in functionCall parts."
    return "" if same or not is_current else missing


def _details(message: Json, thought: str) -> None:
    message["reasoning"] = thought
    message["reasoning_details"] = [
        {"type": "reasoning.text", "text": thought, "format": "anthropic-claude-v1", "index": 0,
         "signature": f"sig {thought}"},
        {"type": "reasoning.encrypted", "data": f"{thought} 1", "index": 1, "id": "rs_1",
         "format": "openai-responses-v1"},
        {"type": "reasoning.encrypted", "data": f"{thought} 2", "index": 1, "id": "rs_2",
         "format": "openai-responses-v1"},
    ]  # fmt: skip


def _split_details(message: Json, thought: str) -> None:
    message["reasoning_details"] = [
        {"type": "reasoning.text", "id": "reasoning-text-1", "format": "MiniMax-response-v1",
         "index": 0, "text": thought},
    ]  # fmt: skip


def _think_tags(message: Json, thought: str) -> None:
    message["content"] = f"<think>\n{thought}\n</think>\n\n{message['content'] or ''}"


def _thinking_parts(message: Json, thought: str) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": thought}], "closed": True}
    said = [{"type": "text", "text": message["content"]}] if message["content"] else []
    message["content"] = [thinking, *said]


_LOST = "the thoughts were changed: reasoning_content"
RULES = (
    Rule("deepseek", "api.deepseek.com", "deepseek-v4", _member("reasoning_content"), _returns(
        "reasoning_content", only_calls=True,
        complaint="The `reasoning_content` in the thinking mode must be passed back to the API.")),
    Rule("deepseek-r1", "r1.test", "deepseek-r1", _member("reasoning_content"),
         _refuses("reasoning_content")),
    Rule("kimi", "api.moonshot.ai", "kimi-k2-thinking", _member("reasoning_content"), _kimi),
    Rule("kimi-k2", "k2.test", "moonshotai/kimi-k2-instruct", _member("reasoning_content"),
         _returns("reasoning_content", complaint=_LOST),
         lambda id: id.startswith("functions."), lambda n, name: f"functions.{name}:{n}"),
    Rule("glm", "api.z.ai", "glm-5", _member("reasoning_content"),
         _returns("reasoning_content", complaint=_LOST, in_turn=True)),
    Rule("minimax", "api.minimax.io", "minimax-m2", _think_tags,
         _returns("content", complaint="thinking block lost")),
    Rule("minimax-split", "api.minimax.io", "minimax-m2", _split_details,
         _returns("reasoning_details", complaint="reasoning_details lost")),
    Rule("gemini", "generativelanguage.googleapis.com", "gemini-3-pro", _sign_first_call, _gemini),
    Rule("openrouter", "openrouter.ai", "anthropic/claude-opus-4", _details,
         _returns("reasoning_details", complaint="Invalid signature in thinking block")),
    Rule("mistral", "api.mistral.ai", "magistral-medium", _thinking_parts,
         _returns("content", complaint="thinking block lost", strict=True),
         lambda id: len(id) == 9 and id.isalnum(), lambda n, name: f"{n:09d}"),
    Rule("groq", "api.groq.com", "openai/gpt-oss-120b", _member("reasoning"),
         _returns("reasoning", complaint="reasoning is missing", strict=True)),
    Rule("vllm", "vllm.test", "qwen3", _member("reasoning"),
         _returns("reasoning", complaint="reasoning is missing")),
    Rule("llama.cpp", "llama.test", "gpt-oss", _member("reasoning_content"),
         _returns("reasoning_content", complaint=_LOST)),
)  # fmt: skip
RULE_BY_NAME = {rule.name: rule for rule in RULES}


@dataclass
class StrictEndpoint:
    """A provider that answers by `think`, and refuses a conversation that breaks its rule."""

    rule: Rule
    issued: dict[str, Json] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    url: str = ""
    n_calls: int = 0
    n_carried: int = 0
    think: Callable[[Json], Awaitable[Json]] | None = None
    damage: Callable[[Json], None] | None = None
    """Changes a request as it arrives, to show that the rule would see it."""

    async def behave(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        """Check one request and answer it, streamed if it asks for that."""
        body = asked.json
        if self.damage is not None:
            self.damage(body)
        complaint = self._check(body["messages"])
        if complaint:
            self.refused.append(complaint)
            error = {"error": {"message": complaint, "type": "invalid_request_error"}}
            writer.write(fake.raw(400, json.dumps(error).encode()))
        else:
            answer = await self._answer(body)
            is_stream = body.get("stream")
            writer.write(
                streams.chunked([streams.events(streams.chunks(answer))])
                if is_stream
                else fake.raw(200, json.dumps(answer).encode())
            )
        await writer.drain()

    async def _answer(self, body: Json) -> Json:
        plain = json.dumps(_without_state(body)).encode()
        think = self.think or _play_planner
        answer = await think(json.loads(plain))
        message = answer["choices"][0]["message"]
        for call in message.get("tool_calls") or ():
            call["id"] = self.rule.make_id(self.n_calls, call["function"]["name"])
            self.n_calls += 1
        thought = f'Überlegung {len(self.issued)}: "{body["messages"][-1]["content"][:20]}" 😀'
        self.rule.dress(message, thought)
        self.issued[_key(message)] = json.loads(json.dumps(message))
        return answer

    def _check(self, messages: list[Json]) -> str:
        last_user = max(i for i, each in enumerate(messages) if each["role"] == "user")
        for index, sent in enumerate(messages):
            for call in sent.get("tool_calls") or ():
                if not self.rule.is_id_taken(call["id"]):
                    return f"Tool call id was {call['id']} but has another form"
            if sent["role"] == "assistant":
                issued = self.issued.get(_key(sent))
                if issued is None:
                    return "an assistant's message that nobody said"
                self.n_carried += 1
                complaint = self.rule.check(issued, sent, index > last_user)
                if complaint:
                    return complaint
        return ""


async def _play_planner(body: Json) -> Json:
    return await planning_endpoint.play(fake.Asked("", {}, json.dumps(body).encode()))


def _key(message: Json) -> str:
    """Return what identifies a message whatever its state: its calls."""
    calls = message.get("tool_calls") or ()
    return json.dumps([[c["id"], c["function"]["name"], c["function"]["arguments"]] for c in calls])


def _without_state(body: Json) -> Json:
    """Return a request as the planner reads it."""
    messages = [
        {**each, "content": None} if isinstance(each.get("content"), list) else each
        for each in body["messages"]
    ]
    return {**body, "messages": messages}
