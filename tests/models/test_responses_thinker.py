"""A model that thinks is asked by the responses wire, and gets all of its thoughts back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.models import thinking_runs
from tests.models.thinking_runs import success
from tests.servers import fake, responses_server
from tests.servers.responses_server import Json, Thinker

from toolmark.runs.run_store import Run


def play(server: fake.Server, folder: Path, **more: Any) -> Run:
    """Run FuncBench on a thinker."""
    return thinking_runs.play(server, folder, "responses", **more)


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
    "a strict tool with an open schema": (
        lambda body: body["tools"][0]["parameters"].pop("additionalProperties"), "Invalid schema"),
    "a strict tool without a needed argument": (
        lambda body: body["tools"][-1]["parameters"].pop("required"), "Invalid schema"),
    "an unknown field": (lambda body: body.update(messages=[]), "Unknown parameter"),
}  # fmt: skip
