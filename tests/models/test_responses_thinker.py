"""A model that thinks is asked by the responses wire, and gets all of its thoughts back."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.models import thinking_runs
from tests.models.thinking_runs import success
from tests.servers import fake, responses_server
from tests.servers.responses_server import Json, Refusal, Thinker, check_request

from toolmark.core.records import Request
from toolmark.models.wires.responses_request import ResponsesEncoder
from toolmark.runs.run_store import Run


def play(server: fake.Server, folder: Path, **more: Any) -> Run:
    """Run FuncBench on a thinker."""
    return thinking_runs.play(server, folder, "responses", **more)


def faults(thinker: Thinker) -> list[str]:
    """Return why requests were refused, but for settings that a thinker does not take."""
    return [each for each in thinker.refusals if not each.startswith("Unsupported parameter")]


@pytest.mark.parametrize("stream", [False, True])
def test_a_thinker_solves_funcbench(tmp_path: Path, stream: bool) -> None:
    thinker = Thinker()
    with fake.in_thread(thinker) as server:
        assert success(play(server, tmp_path, stream=stream)) == 1.0
    assert not faults(thinker)
    assert max(sum(1 for _ in responses_server.outputs(b["input"])) for b in thinker.bodies) > 2
    assert {body.get("stream", False) for body in thinker.bodies} == {stream}


@pytest.mark.parametrize("stream", [False, True])
def test_thoughts_survive_the_cache_and_a_run_that_goes_on(tmp_path: Path, stream: bool) -> None:
    thinker = Thinker(fails_from=9)
    thinking_runs.check_resumption(thinker, play, tmp_path, stream=stream)
    assert not faults(thinker)


def test_a_model_that_does_not_think_is_asked_without_ciphertext_from_the_first_refusal_on(
    tmp_path: Path,
) -> None:
    thinker = Thinker(refuses=frozenset(("include", "reasoning")))
    with fake.in_thread(thinker) as server:
        run = play(server, tmp_path, max_connections=1)
    assert success(run) == 1.0
    left_out = {"include", "reasoning", "temperature", "top_p"}
    assert not any(left_out & body.keys() for body in thinker.bodies)
    assert len(thinker.refusals) == len(left_out)
    refused = {"encrypted_reasoning", "reasoning_summary", "temperature", "top_p"}
    assert set(run.info.refused_settings) == refused


# --- what the fixture refuses -----------------------------------------------------------


def thoughts(body: Json) -> list[int]:
    return [i for i, item in enumerate(body["input"]) if item.get("type") == "reasoning"]


def drop(index: int, *fields: str) -> Callable[[Json], None]:
    """Remove the n-th thought, or fields of it."""

    def change(body: Json) -> None:
        at = thoughts(body)[index]
        if not fields:
            del body["input"][at]
        for name in fields:
            del body["input"][at][name]

    return change


def alter_ciphertext(body: Json) -> None:
    item = body["input"][thoughts(body)[-1]]
    text = item["encrypted_content"]
    item["encrypted_content"] = text[:-8] + ("A" if text[-8] != "A" else "B") + text[-7:]


def swap_ciphertexts(body: Json) -> None:
    first, *_, last = (body["input"][at] for at in thoughts(body))
    names = ("encrypted_content", "encrypted_content")
    first[names[0]], last[names[1]] = last[names[1]], first[names[0]]


def move_thought(body: Json) -> None:
    items, at = body["input"], thoughts(body)[0]
    items[at], items[at + 1] = items[at + 1], items[at]


def move_thought_to_the_end_of_its_output(body: Json) -> None:
    items, at = body["input"], thoughts(body)[-1]
    end = next(i for i in range(at, len(items)) if items[i].get("type") == "function_call_output")
    items.insert(end - 1, items.pop(at))


def drop_output(body: Json) -> None:
    (first, *_) = responses_server.outputs(body["input"])
    ids = {item.get("call_id") for item in first} - {None}
    body["input"] = [
        item for item in body["input"] if item not in first and item.get("call_id") not in ids
    ]


def drop_phase(body: Json) -> None:
    del next(item for item in body["input"] if "phase" in item)["phase"]


def alter(kind: str, name: str, value: Any) -> Callable[[Json], None]:
    """Change a member of the first item of this type."""

    def change(body: Json) -> None:
        next(item for item in body["input"] if item.get("type") == kind)[name] = value

    return change


def drop_results(body: Json) -> None:
    body["input"] = [i for i in body["input"] if i.get("type") != "function_call_output"]


MUTATIONS: dict[str, tuple[Callable[[Json], None], str]] = {
    "the first thought dropped": (drop(0), "without its required 'reasoning' item"),
    "the last thought dropped": (drop(-1), "required 'reasoning' item|was changed"),
    "no ciphertext": (drop(0, "encrypted_content"), "Item with id 'rs_.*' not found"),
    "a thought without its id": (drop(0, "id"), "could not be verified"),
    "ciphertext altered": (alter_ciphertext, "could not be verified"),
    "ciphertexts swapped": (swap_ciphertexts, "could not be verified"),
    "a summary dropped": (drop(0, "summary"), "was changed"),
    "a thought with its text": (
        alter("reasoning", "content", [{"type": "reasoning_text", "text": "x"}]), "array too long"),
    "a thought after what it led to": (move_thought, "without its required 'reasoning' item"),
    "a thought moved to the end": (move_thought_to_the_end_of_its_output, "required|was changed"),
    "an output dropped": (drop_output, "stands where another output was"),
    "phase dropped": (drop_phase, "was changed"),
    "another name": (alter("function_call", "name", "f"), "was changed"),
    "other arguments": (alter("function_call", "arguments", "{ }"), "was changed"),
    "another call id": (alter("function_call", "call_id", "call_9"), "No tool call found"),
    "no results": (drop_results, "No tool output found"),
    "stored": (lambda body: body.update(store=True), "Storage is not available"),
    "strict tools": (lambda body: body["tools"][0].pop("strict"), "Invalid schema"),
    "an unknown field": (lambda body: body.update(messages=[]), "Unknown parameter"),
}  # fmt: skip


@pytest.fixture(scope="module")
def long_body(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Json]:
    """The longest request that a run sent."""
    thinker = Thinker()
    with fake.in_thread(thinker) as server:
        play(server, tmp_path_factory.mktemp("runs"))
    yield max(thinker.bodies, key=lambda body: len(body["input"]))


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_endpoint_refuses_what_was_changed(long_body: Json, name: str) -> None:
    change, words = MUTATIONS[name]
    body = copy.deepcopy(long_body)
    check_request(body)
    change(body)
    with pytest.raises(Refusal, match=words):
        check_request(body)


def test_a_client_that_drops_thoughts_solves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = ResponsesEncoder.encode_request

    def forget(self: ResponsesEncoder, request: Request, **more: Any) -> Any:
        messages = tuple(replace(each, provider_state=None) for each in request.messages)
        return encode(self, replace(request, messages=messages), **more)

    monkeypatch.setattr(ResponsesEncoder, "encode_request", forget)
    thinker = Thinker()
    with fake.in_thread(thinker) as server:
        found = play(server, tmp_path).summary()
    assert (found["n_run"], found["failures"]) == (0, {"rejected.other": found["n_not_run"]})
    words = "was provided without its required 'reasoning' item"
    assert all(words in each for each in faults(thinker)) and faults(thinker)
