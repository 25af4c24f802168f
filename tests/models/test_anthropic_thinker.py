"""A model that thinks is asked by the Messages wire, and gets all of its thoughts back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.models import thinking_runs
from tests.models.thinking_runs import success
from tests.servers import fake
from tests.servers.anthropic_server import BINDING_BETA, Json, Thinker

from toolmark.agents.tool_loop import render_reply
from toolmark.core.errors import Rejected
from toolmark.core.records import Message, Reply, Request, Result, Sampling, Text, Tool
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.wires.anthropic_messages import MESSAGES_WIRE
from toolmark.runs.run_store import Run

MODEL = "claude-opus-5-5"
HEADERS = {"anthropic-version": "2023-06-01"}


def play(server: fake.Server, folder: Path, **more: Any) -> Run:
    """Run FuncBench on a thinker."""
    return thinking_runs.play(server, folder, "anthropic", MODEL, **more)


def test_settings_that_a_model_refuses_are_left_out_and_on_record(tmp_path: Path) -> None:
    thinker = Thinker()
    with fake.in_thread(thinker) as server:
        run = play(server, tmp_path, max_connections=1, temperature=0.5, top_p=0.9)
    assert success(run) == 1.0
    assert set(run.info.refused_settings) == {"temperature", "top_p"}
    assert len(thinker.refusals) == 4  # each twice: one sentence alone proves nothing


def test_settings_that_the_version_refuses_are_never_sent(tmp_path: Path) -> None:
    thinker = Thinker(samples=True)
    header = ("Anthropic-Version", "2026-10-21")
    with fake.in_thread(thinker) as server:
        new = play(server, tmp_path / "new", headers=(header,), temperature=0.5)
        assert {each["anthropic-version"] for each in thinker.headers} == {"2026-10-21"}
        assert not any("temperature" in body for body in thinker.bodies)
        old = play(server, tmp_path / "old", temperature=0.5)
        assert thinker.bodies[-1]["temperature"] == 0.5
    assert success(new) == success(old) == 1.0
    assert not thinker.refusals


def test_the_version_and_the_features_are_part_of_the_identity() -> None:
    def identity(**headers: str) -> str:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        model = EndpointModel("http://127.0.0.1:1/v1", "m", wire=MESSAGES_WIRE, headers=named)
        return model.identity

    plain = identity()
    assert identity(anthropic_version="2023-06-01") == plain
    assert identity(ANTHROPIC_VERSION="2026-10-21") != plain
    assert identity(anthropic_beta="x") not in (plain, identity(anthropic_beta="y"))


# --- tools that change ------------------------------------------------------------------

TOOLS = (Tool(name="f"), Tool(name="g"))
USER = Message(role="user", parts=(Text("hello"),))


def ask_with_other_tools(thinker: Thinker, model_name: str = MODEL) -> list[Reply]:
    """Ask three times in one conversation; the tools change after the first reply."""

    async def go() -> list[Reply]:
        async with fake.serve(thinker) as server:
            model = EndpointModel(server.url, model_name, wire=MESSAGES_WIRE)
            replies: list[Reply] = []
            messages: tuple[Message, ...] = (USER,)
            for tools in (TOOLS, TOOLS[:1], TOOLS[:1]):
                replies.append(await model(Request(messages=messages, tools=tools)))
                results = tuple(Result(parts=(Text("1"),)) for _ in replies[-1].calls)
                messages += render_reply(NATIVE_FORMAT, replies[-1], replies[-1].calls, results)
                messages += (USER,)
            await model.close()
            return replies

    return asyncio.run(go())


def test_thoughts_before_other_tools_are_dropped_by_the_endpoint_and_counted() -> None:
    thinker = Thinker()
    first, *later = ask_with_other_tools(thinker)
    assert not thinker.refusals
    assert BINDING_BETA not in thinker.headers[0].get("anthropic-beta", "")
    assert [each["anthropic-beta"] for each in thinker.headers[1:]] == [BINDING_BETA] * 2
    assert not any(each.kind == "state_dropped" for each in first.adaptations)
    for reply in later:
        details = [each.detail for each in reply.adaptations if each.kind == "state_dropped"]
        assert details == ["the endpoint left out 1 thoughts, before which something has changed"]
        assert any("offered tools have changed" in each.detail for each in reply.adaptations)


def test_models_that_bind_no_thoughts_are_asked_as_ever() -> None:
    with pytest.raises(Rejected, match=r"bound to a different conversation.*report"):
        ask_with_other_tools(Thinker(), "claude-sonnet-4-6")


# --- what the fixture refuses -----------------------------------------------------------


def replies(body: Json) -> list[Json]:
    return [each for each in body["messages"] if each["role"] == "assistant"]


def first_results(body: Json) -> Json:
    found: Json = next(each for each in body["messages"] if isinstance(each["content"], list)
                       and each["content"][0]["type"] == "tool_result")  # fmt: skip
    return found


def thoughts(body: Json) -> list[tuple[Json, int]]:
    return [
        (message, at)
        for message in replies(body)
        for at, block in enumerate(message["content"])
        if block["type"] in ("thinking", "redacted_thinking")
    ]


def drop_thought(index: int) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        message, at = thoughts(body)[index]
        del message["content"][at]

    return change


def alter_thought(name: str, value: Any) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        message, at = thoughts(body)[0]
        message["content"][at][name] = value

    return change


def alter_signature(body: Json) -> None:
    message, at = thoughts(body)[0]
    text = message["content"][at]["signature"]
    message["content"][at]["signature"] = ("B" if text[0] != "B" else "C") + text[1:]


def swap_signatures(body: Json) -> None:
    (one, i), *_, (other, j) = thoughts(body)
    found = one["content"][i]["signature"]
    last = other["content"][j]
    name = "data" if "data" in last else "signature"
    one["content"][i]["signature"], last[name] = last[name], found


def move_thought(body: Json) -> None:
    message, at = thoughts(body)[0]
    message["content"].append(message["content"].pop(at))


def alter_call(name: str, value: Any) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        next(b for b in replies(body)[0]["content"] if b["type"] == "tool_use")[name] = value

    return change


def split_results(body: Json) -> None:
    results = first_results(body)
    results["content"].insert(0, {"type": "text", "text": "see"})


def drop_results(body: Json) -> None:
    first_results(body)["content"] = [{"type": "text", "text": "see"}]


def rename_result(body: Json) -> None:
    first_results(body)["content"].append(
        {"type": "tool_result", "tool_use_id": "toolu_9", "content": "x"}
    )


def drop_reply(body: Json) -> None:
    del body["messages"][1:3]


MUTATIONS: dict[str, tuple[Callable[[Json], None], str]] = {
    "the first thought dropped": (drop_thought(0), "Expected `thinking`"),
    "the last thought dropped": (drop_thought(-1), "Expected `thinking`|Invalid|modified"),
    "another thought": (alter_thought("thinking", "x"), "cannot be modified"),
    "a thought without its signature": (alter_thought("signature", ""), "Invalid `signature`"),
    "a signature altered": (alter_signature, "Invalid `signature`"),
    "signatures swapped": (swap_signatures, "Invalid `signature`|cannot be modified|different"),
    "a thought after what it led to": (move_thought, "Expected `thinking`|Invalid"),
    "another name": (alter_call("name", "f"), "cannot be modified"),
    "other arguments": (alter_call("input", {}), "cannot be modified"),
    "a member dropped": (alter_call("caller", None), "cannot be modified"),
    "another id": (alter_call("id", "toolu_9"), "without `tool_result` blocks"),
    "results after text": (split_results, "without `tool_result` blocks immediately after"),
    "no results": (drop_results, "without `tool_result` blocks immediately after"),
    "a result of no call": (rename_result, "unexpected `tool_use_id`"),
    "a reply dropped": (drop_reply, "bound to a different conversation"),
    "other tools": (lambda body: body["tools"].pop(), "bound to a different conversation"),
    "another system": (lambda body: body.update(system=[]), "bound to a different conversation"),
    "no limit": (lambda body: body.pop("max_tokens"), "max_tokens: Field required"),
    "a setting": (lambda body: body.update(temperature=1.0), "deprecated"),
    "an unknown field": (lambda body: body.update(input=[]), "Extra inputs are not permitted"),
    "a choice at the root": (lambda body: body["tools"][0]["input_schema"].update(anyOf=[]),
                             "does not support oneOf"),
}  # fmt: skip


def test_a_later_request_begins_with_the_bytes_of_an_earlier_one(tmp_path: Path) -> None:
    thinker = Thinker()
    with fake.in_thread(thinker) as server:
        play(server, tmp_path, max_connections=1)
    openings = {json.dumps([b.get("system", 0), b["tools"], b["messages"][0]]): b
                for b in thinker.bodies}  # fmt: skip
    assert len(openings) < len(thinker.bodies)
    for body in thinker.bodies:
        key = json.dumps([body.get("system", 0), body["tools"], body["messages"][0]])
        longest = openings[key]["messages"]
        assert longest[: len(body["messages"])] == body["messages"]


def test_effort_is_sent_as_the_model_takes_it(tmp_path: Path) -> None:
    thinker = Thinker()

    async def go() -> None:
        async with fake.serve(thinker) as server:
            model = EndpointModel(server.url, MODEL, wire=MESSAGES_WIRE)
            await model(Request(messages=(USER,), sampling=Sampling(reasoning_effort="low")))
            await model.close()

    asyncio.run(go())
    assert thinker.bodies[0]["output_config"] == {"effort": "low"}
    assert thinker.bodies[0]["thinking"] == {"type": "adaptive", "display": "summarized"}
