"""FuncBench through endpoints that refuse a conversation whose thoughts were lost or moved."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.servers import fake
from tests.servers.strict_chat import RULE_BY_NAME, RULES, Rule, StrictEndpoint

import toolmark as tm
from toolmark.core.errors import Rejected, Unavailable
from toolmark.core.records import Message, Reply, Request, Sampling, Text
from toolmark.models import provider_table
from toolmark.models.endpoint_model import EndpointModel

Json = dict[str, Any]
PARAMETERS = {"core": 4, "depth": 3, "graphs": 2, "seed": 7}
FIND = provider_table.profile_for_url


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[[Rule], Any]:
    """Serve a rule under the profile of its provider."""

    @contextmanager
    def serve(rule: Rule) -> Iterator[StrictEndpoint]:
        endpoint = StrictEndpoint(rule)
        monkeypatch.setattr(
            provider_table,
            "profile_for_url",
            lambda url, model="", wire="chat": FIND(f"https://{rule.host}/v1", model),
        )
        with fake.in_thread(endpoint.behave) as server:
            endpoint.url = server.url
            yield endpoint

    return serve


def play(endpoint: StrictEndpoint, folder: Path, **settings: Any) -> tm.Run:
    spec = f"{endpoint.url}#{endpoint.rule.model}"
    suite = tm.load("funcbench", **PARAMETERS)
    return tm.run(suite, spec, log_dir=folder, max_retries=0, **settings)


def share_correct(run: tm.Run) -> float:
    scores = list(run.scores())
    assert len(scores) == 2
    right = [s for s in scores if s.failure is None and s.verdicts]
    return float(sum(next(iter(s.verdicts.values())).value for s in right) / len(scores))


@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_a_thinker_solves_every_task_and_a_cache_plays_it_again(
    served: Callable[[Rule], Any], rule: Rule, is_stream: bool, tmp_path: Path
) -> None:
    with served(rule) as endpoint:
        n_issued: list[int] = []
        for folder in ("first", "again"):
            run = play(endpoint, tmp_path / folder, stream=is_stream, cache=tmp_path / "cache")
            assert endpoint.refused == []
            assert share_correct(run) == 1
            n_issued.append(endpoint.n_calls)
        assert n_issued[0] == n_issued[1] > 0, "the second run comes from the cache"
        assert endpoint.n_carried > 4


def _strip(request: Json) -> None:
    """Drop everything that the neutral form of a message lacks."""
    for message in request["messages"]:
        if message["role"] == "assistant":
            for name in [*message]:
                if name not in ("role", "content", "tool_calls"):
                    del message[name]
            if isinstance(message["content"], list):
                message["content"] = None
            elif message["content"] and "<think>" in message["content"]:
                message["content"] = message["content"].partition("</think>")[2].strip() or None
            for call in message.get("tool_calls") or ():
                for name in [*call]:
                    if name not in ("id", "type", "function"):
                        del call[name]


def _mutate(request: Json) -> None:
    """Change one character of each thought."""
    for message in request["messages"]:
        if message["role"] == "assistant":
            text = json.dumps(message, ensure_ascii=False)
            message.clear()
            message.update(json.loads(text.replace("Überlegung", "Uberlegung")))


def _swap(request: Json) -> None:
    """Give the thoughts of the first message with calls to the second, and the other way round."""
    said = [each for each in request["messages"] if each["role"] == "assistant"]
    if len(said) < 2:
        return
    one, two = said[0], said[1]
    for name in ({*one, *two}) - {"role", "tool_calls"}:
        one[name], two[name] = two.get(name), one.get(name)
    calls = [each["tool_calls"][0] for each in (one, two) if each.get("tool_calls")]
    if len(calls) == 2:
        extra = [call.pop("extra_content", None) for call in calls]
        for call, other in zip(calls, reversed(extra), strict=True):
            if other is not None:
                call["extra_content"] = other


@pytest.mark.parametrize("damage", [_strip, _mutate, _swap])
@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.name != "deepseek-r1"], ids=lambda rule: rule.name
)
def test_dropped_changed_and_moved_thoughts_are_refused(
    served: Callable[[Rule], Any], rule: Rule, damage: Callable[[Json], None], tmp_path: Path
) -> None:
    """The rules see it, and a run that is refused for it has no score."""
    with served(rule) as endpoint:
        endpoint.damage = damage
        run = play(endpoint, tmp_path)
        assert endpoint.refused
        failures = [score.failure for score in run.scores()]
        assert {failure.kind for failure in failures if failure} == {"rejected.other"}
        assert all(score.failure is not None for score in run.scores())


def test_a_complaint_about_thoughts_says_whose_fault_it_is(
    served: Callable[[Rule], Any], tmp_path: Path
) -> None:
    with served(RULE_BY_NAME["deepseek"]) as endpoint:
        endpoint.damage = _strip
        run = play(endpoint, tmp_path)
        messages = [score.failure.message for score in run.scores() if score.failure]
        assert messages
        assert all("toolmark's fault" in message for message in messages if "400" in message)


def test_a_run_that_was_interrupted_goes_on_with_the_thoughts(
    served: Callable[[Rule], Any], tmp_path: Path
) -> None:
    with served(RULE_BY_NAME["gemini"]) as endpoint:
        run = play(endpoint, tmp_path, cache=tmp_path / "cache")
        lines = (run.path / "trajectories.jsonl").read_bytes().splitlines(keepends=True)
        assert b"thought_signature" in lines[0]
        (run.path / "trajectories.jsonl").write_bytes(lines[0])
        for name in ("summary.json", "scores.jsonl"):
            (run.path / name).unlink()
        again = play(endpoint, tmp_path, cache=tmp_path / "other")
        assert again.path == run.path
        assert endpoint.refused == []
        assert share_correct(again) == 1


# --- a turn later, another model, another text -----------------------------------------------


def _converse(rule: Rule, change: Callable[[Message], Message]) -> tuple[Reply, Json]:
    """Say hello twice; return the second reply and request."""

    async def go() -> tuple[Reply, Json]:
        endpoint = StrictEndpoint(rule)

        async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
            message: Json = {"role": "assistant", "content": "hi"}
            rule.dress(message, "hm")
            writer.write(fake.raw(200, json.dumps(fake.reply(message)).encode()))

        profile = FIND(f"https://{rule.host}/v1", rule.model)
        async with fake.serve(behave) as server:
            model = EndpointModel(server.url, rule.model, wire_profile=profile)
            hello = Message(role="user", parts=(Text("hello"),))
            first = await model(Request(messages=(hello,)))
            said = Message(
                role="assistant", parts=(Text(first.text),), provider_state=first.provider_state
            )
            reply = await model(Request(messages=(hello, change(said), hello)))
            await model.close()
            assert endpoint.refused == []
            return reply, server.asked[1].json["messages"][1]

    return asyncio.run(go())


def test_a_later_turn_carries_the_thoughts_unless_the_endpoint_never_wants_them() -> None:
    _, sent = _converse(RULE_BY_NAME["glm"], lambda message: message)
    assert sent["reasoning_content"] == "hm"
    _, sent = _converse(RULE_BY_NAME["deepseek-r1"], lambda message: message)
    assert sent == {"role": "assistant", "content": "hi"}


def test_the_state_of_a_stranger_is_left_out_and_recorded() -> None:
    def from_elsewhere(message: Message) -> Message:
        state = message.provider_state
        assert state is not None
        return replace(message, provider_state=replace(state, origin="elsewhere"))

    reply, sent = _converse(RULE_BY_NAME["mistral"], from_elsewhere)
    assert sent == {"role": "assistant", "content": "hi"}
    assert [each.kind for each in reply.adaptations] == ["state_dropped"]


def test_a_list_of_parts_goes_back_only_with_its_own_text() -> None:
    reply, sent = _converse(
        RULE_BY_NAME["mistral"], lambda message: replace(message, parts=(Text("changed"),))
    )
    assert sent["content"] == "changed"
    assert [each.kind for each in reply.adaptations] == ["state_dropped"]


def test_too_many_tools_are_refused_before_anything_is_asked() -> None:
    tools = tuple(tm.Tool(name=f"f{n}") for n in range(129))
    profile = FIND("https://api.groq.com/v1")
    model = EndpointModel(f"http://127.0.0.1:{fake.unused()}/v1", "m", wire_profile=profile)
    request = Request(messages=(Message(role="user", parts=(Text("x"),)),), tools=tools)
    with pytest.raises(Rejected, match="129 tools"):
        asyncio.run(model(request))
    with pytest.raises(Unavailable):
        asyncio.run(model(Request(messages=request.messages, tools=tools[1:])))


# --- what is refused and left out -----------------------------------------------------------


def _ask_twice(
    behaviour: Callable[[Json], tuple[int, Json]], extra: Json | None = None
) -> tuple[list[Reply], list[Json], frozenset[str]]:
    """Ask, and ask on with the reply; return replies, requests, and what was refused."""

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        status, body = behaviour(asked.json)
        writer.write(fake.raw(status, json.dumps(body).encode()))

    async def go() -> tuple[list[Reply], list[Json], frozenset[str]]:
        async with fake.serve(behave) as server:
            model = EndpointModel(server.url, "m")
            hello = Message(role="user", parts=(Text("hello"),))
            sampling = Sampling(extra=extra or {})
            first = await model(Request(messages=(hello,), sampling=sampling))
            said = Message(
                role="assistant", parts=(Text(first.text),), provider_state=first.provider_state
            )
            second = await model(Request(messages=(hello, said, hello), sampling=sampling))
            await model.close()
            return [first, second], [each.json for each in server.asked], model.refused_settings

    return asyncio.run(go())


def test_thoughts_that_an_endpoint_refuses_are_left_out_and_recorded() -> None:
    def behaviour(request: Json) -> tuple[int, Json]:
        if any("reasoning_content" in each for each in request["messages"]):
            message = "property 'messages.1.reasoning_content' is unsupported"
            return 400, {"error": {"message": message}}
        said = {"role": "assistant", "content": "hi", "reasoning_content": "hm"}
        return 200, fake.reply(said)

    replies, asked, refused = _ask_twice(behaviour)
    assert refused == frozenset()  # one refusal: the reason may be this conversation
    assert [each.kind for each in replies[1].adaptations] == ["state_dropped"]
    assert len(asked) == 3


def test_a_forced_choice_that_is_refused_is_left_out_and_recorded() -> None:
    def behaviour(request: Json) -> tuple[int, Json]:
        if "tool_choice" in request:
            message = "tool_choice 'required' is incompatible with thinking enabled"
            return 400, {"error": {"message": message}}
        return 200, fake.says("hi")

    replies, asked, refused = _ask_twice(behaviour, {"tool_choice": "required"})
    assert refused == {"tool_choice"}
    assert [[each.kind for each in reply.adaptations] for reply in replies] == [["tool_choice"]] * 2
    assert len(asked) == 4


def test_arguments_that_end_at_the_limit_are_cut_whatever_the_endpoint_says() -> None:
    async def go(arguments: str, limit: int) -> Reply:
        body = fake.calls(("f", arguments))
        async with fake.serve(fake.answer(200, body)) as server:
            model = EndpointModel(server.url, "m")
            hello = (Message(role="user", parts=(Text("hello"),)),)
            reply = await model(Request(messages=hello, sampling=Sampling(max_tokens=limit)))
            await model.close()
            return reply

    assert asyncio.run(go('{"a": 1', 5)).stop == "length"
    assert asyncio.run(go('{"a": 1}', 5)).stop == "stop"
    assert asyncio.run(go('{"a": 1', 6)).stop == "stop"
