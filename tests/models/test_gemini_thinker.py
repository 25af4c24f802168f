"""A model that thinks is asked by the gemini wire, and gets all of its signatures back."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.models import thinking_runs
from tests.models.thinking_runs import success
from tests.servers import fake
from tests.servers.gemini_server import (
    DUMMY_SIGNATURE,
    Json,
    Refusal,
    Thinker,
    calls_of,
    check_request,
    results_of,
)

from toolmark.agents.tool_loop import render_reply
from toolmark.core.errors import Rejected
from toolmark.core.records import Call, Message, Reply, Request, Result, Text, Tool
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.wires.gemini import GEMINI_WIRE
from toolmark.runs.run_store import Run


def play(server: fake.Server, folder: Path, **more: Any) -> Run:
    """Run FuncBench on a thinker."""
    return thinking_runs.play(server, folder, "gemini", **more)


def contents(body: Json, role: str) -> list[Json]:
    found: list[Json] = [each for each in body["contents"] if each["role"] == role]
    return found


@pytest.mark.parametrize("thinks", [True, False])
@pytest.mark.parametrize("stream", [False, True])
def test_a_thinker_solves_funcbench(tmp_path: Path, stream: bool, thinks: bool) -> None:
    thinker = Thinker(thinks=thinks)
    with fake.in_thread(thinker) as server:
        assert success(play(server, tmp_path, stream=stream, max_connections=1)) == 1.0
    assert len(thinker.refusals) == (0 if thinks else 2)
    assert max(len(contents(body, "model")) for body in thinker.bodies) > 2
    assert max(len(results_of(c)) for b in thinker.bodies for c in b["contents"]) > 1
    assert {target.endswith("?alt=sse") for target in thinker.targets} == {stream}
    configs = [body["generationConfig"] for body in thinker.bodies]
    assert all(("thinkingConfig" in config) == thinks for config in configs)


# --- what the endpoint refuses ----------------------------------------------------------


def signed(body: Json) -> list[Json]:
    """Return the parts that have a signature."""
    return [p for c in body["contents"] for p in c["parts"] if "thoughtSignature" in p]


def drop_signature(index: int) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        del signed(body)[index]["thoughtSignature"]

    return change


def alter_signature(body: Json) -> None:
    part = signed(body)[-1]
    text = part["thoughtSignature"]
    part["thoughtSignature"] = text[:-8] + ("A" if text[-8] != "A" else "B") + text[-7:]


def swap_signatures(body: Json) -> None:
    first, *_, last = signed(body)
    name = "thoughtSignature"
    first[name], last[name] = last[name], first[name]


def move_signature(body: Json) -> None:
    """Put the signature of parallel calls on the second one."""
    content = next(each for each in body["contents"] if len(calls_of(each)) > 1)
    first, second, *_ = [part for part in content["parts"] if "functionCall" in part]
    second["thoughtSignature"] = first.pop("thoughtSignature")


def spread_signature(body: Json) -> None:
    content = next(each for each in body["contents"] if len(calls_of(each)) > 1)
    first, second, *_ = [part for part in content["parts"] if "functionCall" in part]
    second["thoughtSignature"] = first["thoughtSignature"]


def drop_thought(body: Json) -> None:
    del contents(body, "model")[0]["parts"][0]


def join_texts(body: Json) -> None:
    """Make one text of the thought and of what was said after it."""
    thought, said, *rest = contents(body, "model")[0]["parts"]
    joined = [{"text": thought["text"] + said["text"]}, *rest]
    contents(body, "model")[0]["parts"] = joined


def drop_content(body: Json) -> None:
    body["contents"] = [body["contents"][0], *body["contents"][3:]]


def alter_call(name: str, value: Any) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        for content in body["contents"]:
            for call in calls_of(content):
                call[name] = value

    return change


def drop_results(body: Json) -> None:
    body["contents"] = [each for each in body["contents"] if not results_of(each)]


def split_results(body: Json) -> None:
    at = next(i for i, each in enumerate(body["contents"]) if len(results_of(each)) > 1)
    first, *rest = body["contents"][at]["parts"]
    body["contents"][at : at + 1] = [
        {"role": "user", "parts": [first]}, {"role": "user", "parts": rest},
    ]  # fmt: skip


def swap_results(body: Json) -> None:
    next(c for c in body["contents"] if len(results_of(c)) > 1)["parts"].reverse()


def add_text_to_results(body: Json) -> None:
    next(c for c in body["contents"] if results_of(c))["parts"].append({"text": "x"})


def alter_result(name: str, value: Any) -> Callable[[Json], None]:
    def change(body: Json) -> None:
        next(r for c in body["contents"] for r in results_of(c))[name] = value

    return change


MUTATIONS: dict[str, tuple[Callable[[Json], None], str]] = {
    "the first signature dropped": (drop_signature(0), "is missing a thought_signature"),
    "the last signature dropped": (drop_signature(-1), "is missing a thought_signature"),
    "a signature altered": (alter_signature, "Corrupted thought signature"),
    "signatures swapped": (swap_signatures, "Corrupted thought signature"),
    "a signature on the second call": (move_signature, "signature"),
    "a signature on all calls": (spread_signature, "Corrupted thought signature"),
    "a thought dropped": (drop_thought, "Corrupted thought signature"),
    "texts joined": (join_texts, "Corrupted thought signature"),
    "a step dropped": (drop_content, "Corrupted thought signature"),
    "another name": (alter_call("name", "f"), "is of another call"),
    "other arguments": (alter_call("args", {}), "Corrupted thought signature"),
    "arguments as text": (alter_call("args", "{}"), "Invalid value at"),
    "another id": (alter_call("id", "call_9"), "is of another call"),
    "no results": (drop_results, "number of function response parts"),
    "results in two contents": (split_results, "number of function response parts"),
    "results in another order": (swap_results, "is of another call"),
    "a text among results": (add_text_to_results, "number of function response parts"),
    "a result of another name": (alter_result("name", "f"), "is of another call"),
    "a result as text": (alter_result("response", {"text": "x"}), "its output or its error"),
    "no contents": (lambda body: body.update(contents=[]), "contents is not specified"),
    "an empty content": (
        lambda body: body["contents"][0].update(parts=[]), "must not be empty"),
    "a role of the system": (
        lambda body: body["contents"][0].update(role="system"), "valid role"),
    "the old type of schema": (
        lambda body: body["tools"][0]["functionDeclarations"][0].update(parameters={}),
        "JSON Schema only"),
    "an unknown field": (lambda body: body.update(messages=[]), "Unknown name"),
}  # fmt: skip


@pytest.fixture(scope="module")
def long_body(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Json]:
    """The longest request that a run sent, with parallel calls."""
    thinker = Thinker()
    with fake.in_thread(thinker) as server:
        play(server, tmp_path_factory.mktemp("runs"))
    parallel = [b for b in thinker.bodies if any(len(calls_of(c)) > 1 for c in b["contents"])]
    yield max(parallel, key=lambda body: len(body["contents"]))


def test_signatures_are_demanded_in_the_current_turn_alone(long_body: Json) -> None:
    body = copy.deepcopy(long_body)
    answer = {"role": "model", "parts": [{"text": "Done."}]}
    body["contents"] += [answer, {"role": "user", "parts": [{"text": "Thanks."}]}]
    for part in signed(body):
        del part["thoughtSignature"]
    check_request(body)


# --- conversations of other models ------------------------------------------------------

FOREIGN = (
    Message(role="user", parts=(Text("Call f twice."),)),
    Message(role="assistant", calls=(Call(name="f", id="a"), Call(name="f", id="b"))),
    Message(role="tool", call_id="a", parts=(Text("1"),)),
    Message(role="tool", call_id="b", parts=(Text("2"),)),
)
TOOLS = (Tool(name="f", parameters={"type": "object", "properties": {}}),)


def ask_foreign(thinker: Thinker, *, n: int = 1) -> list[Reply]:
    """Ask with the conversation of another model, then with the replies to it."""

    async def ask() -> list[Reply]:
        async with fake.serve(thinker) as server:
            model = EndpointModel(server.url, "thinker", wire=GEMINI_WIRE)
            replies: list[Reply] = []
            messages: tuple[Message, ...] = FOREIGN
            try:
                for _ in range(n):
                    replies.append(await model(Request(messages=messages, tools=TOOLS)))
                    results = (Result(parts=(Text("3"),)),) * len(replies[-1].calls)
                    messages += render_reply(NATIVE_FORMAT, replies[-1], replies[-1].calls, results)
                    messages += (Message(role="user", parts=(Text("Go on."),)),)
            finally:
                await model.close()
            return replies

    return asyncio.run(ask())


def test_calls_that_another_model_made_are_marked_once_they_are_refused() -> None:
    thinker = Thinker()
    (reply,) = ask_foreign(thinker)
    assert [each.kind for each in reply.adaptations] == ["state_patched"]
    assert len(thinker.refusals) == 1
    parts = thinker.bodies[0]["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [DUMMY_SIGNATURE, None]


def test_in_later_requests_they_are_marked_at_once_and_stay_as_they_were() -> None:
    thinker = Thinker()
    _, second = ask_foreign(thinker, n=2)
    assert len(thinker.refusals) == 1
    assert [each.kind for each in second.adaptations] == ["state_patched"]
    first, later = (body["contents"] for body in thinker.bodies)
    assert later[: len(first)] == first


def test_a_model_that_signs_nothing_is_sent_no_signature() -> None:
    thinker = Thinker(thinks=False)
    for reply in ask_foreign(thinker, n=2):
        assert "state_patched" not in [each.kind for each in reply.adaptations]
    assert not any(signed(body) for body in thinker.bodies)


def test_a_signature_that_is_refused_stops_the_run_with_the_next_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: Any, **more: Any) -> None:
        raise Refusal("Corrupted thought signature.")

    monkeypatch.setattr("tests.servers.gemini_server.check_request", refuse)
    with pytest.raises(Rejected, match="toolmark's fault"):
        ask_foreign(Thinker())
