"""What one refusal proves of other requests: little, unless the server names a setting."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.servers import anthropic_server, fake

from toolmark.core.errors import Unavailable
from toolmark.core.records import Call, Message, Reply, Request, Sampling, Text, Tool
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.wires.wire_registry import wire_by_name

Json = dict[str, Any]
Refuse = Callable[[Json], str]
"""Returns why a body is refused, "" where it is not."""
USER = Message(role="user", parts=(Text("go"),))
TOOLS = (Tool(name="f"),)
THOUGHTS = "property 'messages.1.reasoning_content' is unsupported"


def serve(refuse: Refuse) -> fake.Behaviour:
    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        complaint = refuse(asked.json)
        said = {"role": "assistant", "content": "hi", "reasoning_content": "hm"}
        body = {"error": {"message": complaint}} if complaint else fake.reply(said)
        writer.write(fake.raw(400 if complaint else 200, json.dumps(body).encode()))

    return behave


def thoughts(body: Json) -> list[str]:
    return [m["reasoning_content"] for m in body["messages"] if "reasoning_content" in m]


def play(
    refuse: Refuse, *conversations: Sequence[str], at_once: bool = False
) -> tuple[list[Reply], list[Json], frozenset[str]]:
    """Hold conversations by these questions; return replies, bodies and what is refused."""

    async def hold(model: EndpointModel, questions: Sequence[str]) -> list[Reply]:
        messages: tuple[Message, ...] = ()
        replies = []
        for text in questions:
            messages += (Message(role="user", parts=(Text(text),)),)
            reply = await model(Request(messages=messages))
            state = reply.provider_state
            said = (Text(f"{reply.text} {questions}"),)  # no two conversations are the same
            messages += (Message(role="assistant", parts=said, provider_state=state),)
            replies.append(reply)
        return replies

    async def go() -> tuple[list[Reply], list[Json], frozenset[str]]:
        async with fake.serve(serve(refuse)) as server:
            model = EndpointModel(server.url, "m")
            if at_once:
                found = await asyncio.gather(*(hold(model, each) for each in conversations))
            else:
                found = [await hold(model, each) for each in conversations]
            await model.close()
            bodies = [asked.json for asked in server.asked]
            return [reply for each in found for reply in each], bodies, model.refused_settings

    return asyncio.run(go())


def always(body: Json) -> str:
    return THOUGHTS if thoughts(body) else ""


def odd_alone(body: Json) -> str:
    is_odd = body["messages"][0]["content"] == "odd"
    return THOUGHTS if is_odd and thoughts(body) else ""


def test_one_odd_conversation_leaves_the_thoughts_of_all_others() -> None:
    replies, bodies, refused = play(odd_alone, ("odd", "b", "c"), ("d", "e"), ("odd", "f"))
    assert refused == frozenset()
    # the odd one is refused once; the next one has its thoughts, so that no third one lacks them
    assert [len(thoughts(body)) for body in bodies] == [0, 1, 0, 0, 0, 1, 0, 1, 0]
    kinds = [[each.kind for each in reply.adaptations] for reply in replies]
    assert kinds == [[], ["state_dropped"], ["state_dropped"], [], [], [], ["state_dropped"]]


def test_what_two_conversations_are_refused_is_left_out_of_all() -> None:
    _, bodies, refused = play(always, ("a", "b", "c"), ("d", "e"), ("f", "g", "h"))
    assert refused == {"reasoning_history"}
    assert sum(bool(thoughts(body)) for body in bodies) == 2


def test_requests_that_were_in_flight_together_are_one_refusal() -> None:
    conversations = [(f"a{i}", f"b{i}") for i in range(8)]
    _, bodies, refused = play(always, *conversations, at_once=True)
    assert refused == frozenset()
    assert sum(bool(thoughts(body)) for body in bodies) == len(conversations)


def test_a_repair_of_one_conversation_is_made_in_its_next_steps_alone() -> None:
    def refuse(body: Json) -> str:
        is_broken = any(
            call["function"]["arguments"] == "{oops" and message["content"] != "fine"
            for message in body["messages"]
            for call in message.get("tool_calls", ())
        )
        return "Expecting value" if is_broken else ""

    def history(said: str, n_steps: int) -> Request:
        call = Call(name="f", arguments="{oops", id=said)
        broken = Message(role="assistant", parts=(Text(said),), calls=(call,))
        answer = Message(role="tool", call_id=said, parts=(Text("no"),))
        return Request(messages=(USER, broken, answer, *([USER] * n_steps)), tools=TOOLS)

    async def go() -> list[bool]:
        async with fake.serve(serve(refuse)) as server:
            model = EndpointModel(server.url, "m")
            for request in (history("a", 0), history("a", 1), history("fine", 0), history("b", 0)):
                assert (await model(request)).text == "hi"
            await model.close()
            return [b"{oops" in asked.body for asked in server.asked]

    assert asyncio.run(go()) == [True, False, False, True, True, False]


def test_a_history_that_a_server_calls_its_own_fault_is_repaired() -> None:
    message = "Failed to parse tool call arguments as JSON: parse error at line 1, column 2"

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        is_broken = b"{oops" in asked.body or b"fails" in asked.body
        body = {"error": {"code": 500, "message": message}} if is_broken else fake.says("hi")
        writer.write(fake.raw(500 if is_broken else 200, json.dumps(body).encode()))

    async def go() -> tuple[str, list[bool]]:
        async with fake.serve(behave) as server:
            model = EndpointModel(server.url, "m")
            call = Call(name="f", arguments="{oops", id="c")
            broken = Message(role="assistant", calls=(call,))
            result = Message(role="tool", call_id="c", parts=(Text("no"),))
            reply = await model(Request(messages=(USER, broken, result), tools=TOOLS))
            fails = Message(role="user", parts=(Text("fails"),))
            with pytest.raises(Unavailable):  # there is nothing to repair
                await model(Request(messages=(fails,), tools=TOOLS))
            await model.close()
            return reply.text, [b"{oops" in asked.body for asked in server.asked]

    assert asyncio.run(go()) == ("hi", [True, False, False])


YES, NO = True, False


@pytest.mark.parametrize(
    ("param", "sent"), [("temperature", [YES, NO, NO, NO]), (None, [YES, NO, YES, NO, NO])]
)
def test_a_setting_that_the_server_names_in_a_field_is_refused_once(
    param: str | None, sent: list[bool]
) -> None:
    error = {"message": "temperature is not supported with this model", "param": param}

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        is_refused = "temperature" in asked.json
        body = {"error": error} if is_refused else fake.says("hi")
        writer.write(fake.raw(400 if is_refused else 200, json.dumps(body).encode()))

    async def go() -> tuple[list[bool], list[Reply]]:
        async with fake.serve(behave) as server:
            model = EndpointModel(server.url, "m")
            request = Request(messages=(USER,), sampling=Sampling(temperature=0.5))
            replies = [await model(request) for _ in range(3)]
            await model.close()
            return ["temperature" in asked.json for asked in server.asked], replies

    asked, replies = asyncio.run(go())
    assert asked == sent
    # each reply says it, that of the first request too
    notes = [[each.kind for each in reply.adaptations] for reply in replies]
    assert notes == [["setting"]] * 3


def test_the_models_own_limit_is_asked_for_once() -> None:
    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        n = asked.json["max_tokens"]
        text = f"max_tokens: {n} > 900, which is the maximum allowed number of output tokens for m"
        refused = {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
        said = anthropic_server.message([{"type": "text", "text": "fine"}])
        body = refused if n > 900 else said
        writer.write(fake.raw(400 if n > 900 else 200, json.dumps(body).encode()))

    async def go() -> list[int]:
        async with fake.serve(behave) as server:
            model = EndpointModel(server.url, "m", wire=wire_by_name("anthropic"))
            for _ in range(3):
                reply = await model(Request(messages=(USER,)))
                assert any("900" in each.detail for each in reply.adaptations)
            await model.close()
            return [asked.json["max_tokens"] for asked in server.asked]

    assert asyncio.run(go())[1:] == [900, 900, 900]
