"""The doctor finds all well where a provider's rule is met, and names exactly what is broken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace as replace_fields
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.servers import anthropic_server, fake, gemini_server, responses_server
from tests.servers.patient import Patient, answer_probe
from tests.servers.strict_chat import RULE_BY_NAME, RULES, Rule

from toolmark.core.media import MediaStore
from toolmark.core.records import Check
from toolmark.formats.missing_parser import explain_text_call
from toolmark.models import endpoint_probes, provider_table
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.http_client import HttpResponse
from toolmark.models.probes import wire_probe
from toolmark.models.wire_names import WIRE_NAMES, WireName

Json = dict[str, Any]
PROBES = (
    "reachable", "key", "model", "tool calls", "two steps", "reasoning", "parallel calls",
    "parallel results", "streaming", "dots in names", "temperature 0", "image", "audio", "usage",
)  # fmt: skip
THINKERS = {
    "anthropic": anthropic_server.Thinker,
    "responses": responses_server.Thinker,
    "gemini": gemini_server.Thinker,
}
NO_SOUND_OR_PICTURES = {"image", "audio"}


def examine_patient(patient: Patient, folder: Path, *, stream: bool = False) -> dict[str, Check]:
    """Probe a chat endpoint with the profile of its rule."""
    rule = patient.rule

    async def go() -> list[Check]:
        async with fake.serve(patient.behave) as server:
            media = MediaStore(folder)
            profile = provider_table.profile_for_url(f"https://{rule.host}/v1", rule.model)
            one, other = (
                EndpointModel(
                    server.url, rule.model, media=media, wire_profile=profile, is_stream=is_stream,
                    timeout_s=30,
                )
                for is_stream in (stream, not stream)
            )  # fmt: skip
            try:
                return await endpoint_probes.probe_model(
                    one, media, Random(1), other=other, explain_text=explain_text_call
                )
            finally:
                await one.close()
                await other.close()

    return {check.name: check for check in asyncio.run(go())}


@pytest.mark.parametrize(
    ("rule", "stream"),
    [*((rule, False) for rule in RULES), (RULES[0], True), (RULE_BY_NAME["mistral"], True)],
    ids=lambda value: getattr(value, "name", "stream" if value else ""),
)
def test_all_is_well_where_a_providers_rule_is_met(
    rule: Rule, stream: bool, tmp_path: Path
) -> None:
    patient = Patient(rule)
    found = examine_patient(patient, tmp_path, stream=stream)
    assert tuple(found) == PROBES
    assert {name: check.status for name, check in found.items()} == dict.fromkeys(PROBES, "ok")
    assert not [check for check in found.values() if check.next_step]


REASONING = {
    "deepseek": "reasoning_content and go back; a conversation without them is refused",
    "deepseek-r1": "reasoning_content; the endpoint takes none back, so none are sent",
    "gemini": "extra_content and thought_signature and go back; a conversation without them is "
    "refused",
    "openrouter": "reasoning and reasoning_details and signature and go back; a conversation "
    "without them is refused",
    "mistral": "thinking and go back; a conversation without them is refused",
    "minimax": "<think> in the text, and go back with it",
}


@pytest.mark.parametrize(("rule", "words"), REASONING.items())
def test_reasoning_is_named_as_it_comes(rule: str, words: str, tmp_path: Path) -> None:
    found = examine_patient(Patient(RULE_BY_NAME[rule]), tmp_path)["reasoning"]
    assert found.detail == f"thoughts come as {words}"


def test_thoughts_that_count_are_read(tmp_path: Path) -> None:
    lenient = replace_fields(RULE_BY_NAME["vllm"], check=lambda issued, sent, current: "")
    detail = examine_patient(Patient(lenient), tmp_path)["reasoning"].detail
    assert detail.startswith("thoughts come as reasoning and go back: ")
    assert detail.endswith(" prompt tokens more than without them")


# --- what is broken ---------------------------------------------------------------------


def _drop_member(body: Json) -> None:
    for message in body["messages"]:
        message.pop("reasoning_content", None)


def _drop_signatures(body: Json) -> None:
    for message in body["messages"]:
        for call in message.get("tool_calls") or ():
            call.pop("extra_content", None)


def _strip_reply(answer: Json) -> None:
    answer["choices"][0]["message"].pop("reasoning_content", None)


def _hide_thoughts(answer: Json) -> None:
    answer["choices"][0]["message"].pop("reasoning", None)
    answer["usage"]["completion_tokens_details"] = {"reasoning_tokens": 64}


def _hide_results(body: Json) -> None:
    for message in body["messages"]:
        if message["role"] == "tool":
            message["content"] = "done"


def _show_one_result(body: Json) -> None:
    results = [message for message in body["messages"] if message["role"] == "tool"]
    for message in results[1:]:
        message["content"] = "done"


def _without_usage(parts: list[Json]) -> list[Json]:
    return [{key: value for key, value in part.items() if key != "usage"} for part in parts]


def _first_call_only(parts: list[Json]) -> list[Json]:
    return [part for part in parts if '"index": 1' not in json.dumps(part)]


def _cut_arguments(parts: list[Json]) -> list[Json]:
    return [
        part for part in parts if "ome" not in json.dumps(part) and "ris" not in json.dumps(part)
    ]


def _end_as_length(parts: list[Json]) -> list[Json]:
    for part in parts:
        for choice in part["choices"]:
            choice["finish_reason"] = choice["finish_reason"] and "length"
    return parts


def _without_thoughts(parts: list[Json]) -> list[Json]:
    return [part for part in parts if "reasoning_content" not in json.dumps(part)]


DEEPSEEK, VLLM = RULE_BY_NAME["deepseek"], RULE_BY_NAME["vllm"]
NO_RULE = replace_fields(VLLM, check=lambda issued, sent, current: "")
SAME_IDS = replace_fields(NO_RULE, make_id=lambda n, name: "call_0")
FAULTS: dict[str, tuple[Callable[[], Patient], dict[str, tuple[str, str]]]] = {
    "a proxy drops the thoughts that go back": (
        lambda: Patient(DEEPSEEK, damage=_drop_member),
        {"two steps": ("fail", "dropped reasoning_content: the endpoint refuses the second")},
    ),
    "a proxy drops the thoughts that come": (
        lambda: Patient(DEEPSEEK, alter=_strip_reply),
        {"two steps": ("fail", "dropped reasoning_content: ")},
    ),
    "a proxy drops signatures": (
        lambda: Patient(RULE_BY_NAME["gemini"], damage=_drop_signatures),
        {"two steps": ("fail", "dropped thought_signature: ")},
    ),
    "thoughts are dropped in silence": (
        lambda: Patient(NO_RULE, counts_state=False),
        {"reasoning": ("warn", "thoughts come as reasoning and go back, and are not read: ")},
    ),
    "thoughts are counted and do not come": (
        lambda: Patient(NO_RULE, alter=_hide_thoughts),
        {"reasoning": ("warn", "64 tokens of thoughts are counted, and none come: they cannot go")},
    ),
    "results are not shown to the model": (
        lambda: Patient(NO_RULE, damage=_hide_results),
        {"two steps": ("warn", "answered without the result: "),
         "parallel results": ("warn", "answered without the 2 results: ")},
    ),
    "one of two results is shown": (
        lambda: Patient(NO_RULE, damage=_show_one_result),
        {"parallel results": ("warn", "answered with 1 of the 2 results: ")},
    ),
    "one call at a time": (
        lambda: Patient(NO_RULE, max_calls=1),
        {"parallel calls": ("warn", "1 call in one reply where two were asked for")},
    ),
    "two calls have one id": (
        lambda: Patient(SAME_IDS, is_strict=False),
        {"parallel calls": ("warn", "2 calls in one reply, whose ids are missing or the same: ")},
    ),
    "a stream without usage": (
        lambda: Patient(NO_RULE, spoil=_without_usage),
        {"streaming": ("warn", "the streamed reply is not the whole one: usage is missing")},
    ),
    "a stream with one call": (
        lambda: Patient(NO_RULE, spoil=_first_call_only),
        {"streaming": ("warn", "the streamed reply is not the whole one: 1 call instead of 2")},
    ),
    "a stream with cut arguments": (
        lambda: Patient(NO_RULE, spoil=_cut_arguments),
        {"streaming": ("warn", "the streamed reply is not the whole one: arguments that are no")},
    ),
    "a stream with another finish": (
        lambda: Patient(NO_RULE, spoil=_end_as_length),
        {"streaming": ("warn", "the streamed reply is not the whole one: it ends as length")},
    ),
    "a stream without thoughts": (
        lambda: Patient(DEEPSEEK, spoil=_without_thoughts),
        {"streaming": ("warn", "the streamed reply is not the whole one: thoughts are missing")},
    ),
    "a stream that breaks": (
        lambda: Patient(NO_RULE, is_cut=True),
        {"streaming": ("warn", "the stream breaks: ")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_broken_is_named_and_nothing_else(name: str, tmp_path: Path) -> None:
    make, expected = FAULTS[name]
    found = examine_patient(make(), tmp_path)
    unwell = {name: check for name, check in found.items() if check.status != "ok"}
    assert {name: check.status for name, check in unwell.items()} == {
        name: status for name, (status, _) in expected.items()
    }
    for probe, (_, detail) in expected.items():
        assert unwell[probe].detail.startswith(detail), unwell[probe].detail
        assert unwell[probe].next_step


def test_the_next_step_says_on_which_way_the_thoughts_were_dropped(tmp_path: Path) -> None:
    back = examine_patient(Patient(DEEPSEEK, damage=_drop_member), tmp_path)["two steps"].next_step
    there = examine_patient(Patient(DEEPSEEK, alter=_strip_reply), tmp_path)["two steps"].next_step
    assert back.startswith("toolmark sent reasoning_content back as it came: ")
    assert there.startswith("the first reply came without reasoning_content: ")


# --- other wires ------------------------------------------------------------------------


@pytest.mark.parametrize("wire", THINKERS)
def test_an_address_is_examined_on_the_wire_that_answers_there(wire: WireName) -> None:
    thinker = THINKERS[wire](think=answer_probe)

    async def go() -> list[Check]:
        async with fake.serve(thinker) as server:
            return await endpoint_probes.probe_endpoint(f"{server.url}#thinker", timeout_s=5)

    first, *rest = asyncio.run(go())
    assert (first.name, first.status) == ("wire", "warn")
    absent = ", ".join(each for each in WIRE_NAMES if each != wire)
    assert first.detail == f"{wire} answers; not by {absent} (404)"
    assert first.next_step == f"add --wire {wire} to each run; this examination goes on with it"
    found = {check.name: check for check in rest}
    assert tuple(found) == PROBES
    assert {name for name, check in found.items() if check.status == "fail"} == set()
    for name in ("two steps", "reasoning", "parallel results", "streaming"):
        assert found[name].status == "ok", found[name]
    assert ("is sent as it is" in found["dots in names"].detail) == (wire == "gemini")


def _drop_thinking(body: Json) -> None:
    for message in body["messages"]:
        if message["role"] == "assistant":
            message["content"] = [b for b in message["content"] if b["type"] != "thinking"]


def _drop_reasoning(body: Json) -> None:
    body["input"] = [item for item in body["input"] if item.get("type") != "reasoning"]


def _drop_thought_signatures(body: Json) -> None:
    for content in body["contents"]:
        for part in content["parts"]:
            part.pop("thoughtSignature", None)


@pytest.mark.parametrize(
    ("wire", "damage", "missed"),
    [
        ("anthropic", _drop_thinking, "thinking"),
        ("responses", _drop_reasoning, "a reasoning item"),
        ("gemini", _drop_thought_signatures, "thought_signature"),
    ],
)
def test_what_a_proxy_drops_is_named_on_each_wire(
    wire: WireName, damage: Callable[[Json], None], missed: str
) -> None:
    thinker = THINKERS[wire](think=answer_probe)

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        body = asked.json if asked.body else {}
        if asked.body:
            damage(body)
        await thinker(replace_fields(asked, body=json.dumps(body).encode()), writer)

    async def go() -> list[Check]:
        async with fake.serve(behave) as server:
            return await endpoint_probes.probe_endpoint(f"{server.url}#thinker", wire=wire)

    found = {check.name: check for check in asyncio.run(go())}["two steps"]
    assert found.status == "fail"
    assert found.detail.startswith(
        f"dropped {missed}: the endpoint refuses the second request: 400"
    )
    assert found.next_step.startswith(f"toolmark sent {missed} back as it came: ")


OPENAI = {"error": {"message": "bad", "type": "invalid_request_error"}}
NO_MODEL = {"error": {"message": "The model `m` does not exist.", "code": 404}}
ANTHROPIC = {"type": "error", "error": {"type": "authentication_error", "message": "bad"}}
GEMINI = {"error": {"code": 404, "message": "models/m is not found", "status": "NOT_FOUND"}}


@pytest.mark.parametrize(
    ("wire", "status", "body", "finding"),
    [
        ("chat", 200, fake.says("ok"), "replies"),
        ("chat", 400, OPENAI, "complains"),
        ("chat", 401, OPENAI, "complains"),
        ("chat", 404, NO_MODEL, "complains"),
        ("chat", 404, OPENAI, "absent"),
        ("chat", 404, {"detail": "Not Found"}, "absent"),
        ("chat", 404, GEMINI, "absent"),
        ("chat", 405, OPENAI, "absent"),
        ("chat", 401, ANTHROPIC, "unclear"),
        ("chat", 401, "Unauthorized", "unclear"),
        ("chat", 200, {"output": []}, "absent"),
        ("chat", 200, OPENAI, "complains"),
        ("responses", 200, {"output": []}, "replies"),
        ("anthropic", 401, ANTHROPIC, "complains"),
        ("anthropic", 401, OPENAI, "unclear"),
        ("anthropic", 200, {"content": [], "stop_reason": "end_turn"}, "replies"),
        ("gemini", 404, GEMINI, "complains"),
        ("gemini", 400, [GEMINI], "complains"),
        ("gemini", 400, OPENAI, "unclear"),
        ("gemini", 200, {"candidates": []}, "replies"),
        ("gemini", 200, [], "absent"),
    ],
)
def test_a_wire_answers_in_its_own_shape(
    wire: WireName, status: int, body: Any, finding: str
) -> None:
    answer = HttpResponse(status, json.dumps(body).encode(), 0.0)
    assert wire_probe.read_answer(wire, "m", answer) == finding


def _answers(**findings: wire_probe.WireFinding) -> list[wire_probe.WireAnswer]:
    codes = {"replies": 200, "complains": 401, "absent": 404, "unclear": 500, "unreachable": 0}
    found = [findings.get(wire, "absent") for wire in WIRE_NAMES]
    return [
        wire_probe.WireAnswer(wire, each, codes[each])
        for wire, each in zip(WIRE_NAMES, found, strict=True)
    ]


@pytest.mark.parametrize(
    ("answers", "status", "detail", "chosen"),
    [
        (_answers(chat="replies"), "ok",
         "chat answers; not by responses, anthropic, gemini (404)", "chat"),
        (_answers(chat="complains", responses="complains"), "ok",
         "chat (401) and responses (401) answer; not by anthropic, gemini (404)", "chat"),
        (_answers(chat="complains", anthropic="replies"), "warn",
         "chat (401) and anthropic answer; not by responses, gemini (404)", "anthropic"),
        (_answers(), "fail",
         "none answers here: chat, responses, anthropic, gemini (404)", None),
        (_answers(chat="unclear"), "warn",
         "none answers as it should: chat (500); responses, anthropic, gemini (404)", None),
    ],
)  # fmt: skip
def test_the_wire_that_replied_is_taken(
    answers: list[wire_probe.WireAnswer], status: str, detail: str, chosen: WireName | None
) -> None:
    found = wire_probe.check_wires(answers, "chat", is_given=False)
    assert found is not None and (found.status, found.detail) == (status, detail)
    assert wire_probe.choose_wire(answers) == chosen


def test_an_address_without_its_ending_is_completed() -> None:
    patient = Patient(VLLM)

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        if asked.target.startswith("/v1/"):
            await patient.behave(asked, writer)
        else:
            writer.write(fake.raw(404, b"404 page not found"))

    async def go() -> tuple[str, list[Check]]:
        async with fake.serve(behave) as server:
            short = server.url.removesuffix("/v1")
            return server.url, await endpoint_probes.probe_endpoint(f"{short}/#qwen3")

    url, (check,) = asyncio.run(go())
    assert (check.name, check.status) == ("wire", "fail")
    assert check.next_step == f"chat answers at another address: -m {url}#qwen3"


def test_a_wire_that_was_given_and_fails_is_compared_with_the_others() -> None:
    thinker = anthropic_server.Thinker(think=answer_probe)

    async def go() -> list[Check]:
        async with fake.serve(thinker) as server:
            return await endpoint_probes.probe_endpoint(f"{server.url}#thinker", wire="chat")

    found = asyncio.run(go())
    assert [check.name for check in found] == ["wire", "reachable", "key", "model", "tool calls"]
    assert found[0].detail == "anthropic answers; not by chat, responses, gemini (404)"
    assert found[0].next_step == "give --wire anthropic instead of --wire chat"


def test_the_wire_of_an_address_that_names_it_is_not_asked_for(tmp_path: Path) -> None:
    patient = Patient(VLLM)

    async def go() -> list[Check]:
        async with fake.serve(patient.behave) as server:
            return await endpoint_probes.probe_endpoint(f"{server.url}/chat/completions#qwen3")

    assert asyncio.run(go())[0].name == "reachable"


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_chosen_wire_that_answers_as_well_as_another_is_no_mistake(wire: WireName) -> None:
    found: dict[str, wire_probe.WireFinding] = {"chat": "replies", wire: "replies"}
    answers = _answers(**found)
    both = wire_probe.check_wires(answers, wire, is_given=True)
    assert both is not None and (both.status, both.next_step) == ("ok", "")
    if wire != "chat":
        found[wire] = "complains"
        answers = _answers(**found)
        worse = wire_probe.check_wires(answers, wire, is_given=True)
        assert worse is not None and worse.status == "warn"
        assert worse.next_step == f"give --wire chat instead of --wire {wire}"
