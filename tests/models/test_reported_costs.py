"""What an endpoint says a reply costs is read on every wire, and believed only if it can be."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.servers import fake

from toolmark.core.records import Reply, Usage
from toolmark.models.model_resolver import make_endpoint_model
from toolmark.models.wires import anthropic_reply, chat_reply, responses_reply
from toolmark.models.wires.reply_parts import MAX_COST_USD
from toolmark.models.wires.tool_names import ToolNames

NAMES = ToolNames((), b"", {}, {})
COUNTS = {"input_tokens": 7, "output_tokens": 5}

Decode = Callable[[bytes, ToolNames, float, str], Reply]
WIRES: dict[str, tuple[Decode, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "chat": (
        chat_reply.decode_reply,
        lambda usage: fake.says("x") | {"usage": fake.says("x")["usage"] | usage},
    ),
    "responses": (
        responses_reply.decode_reply,
        lambda usage: {
            "model": "m",
            "status": "completed",
            "output": [
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "x"}],
                }
            ],
            "usage": COUNTS | usage,
        },
    ),
    "anthropic": (
        anthropic_reply.decode_reply,
        lambda usage: {
            "model": "m",
            "content": [{"type": "text", "text": "x"}],
            "stop_reason": "end_turn",
            "usage": COUNTS | usage,
        },
    ),
}


def read(wire: str, usage: dict[str, Any]) -> Reply:
    decode, body = WIRES[wire]
    return decode(json.dumps(body(usage)).encode(), NAMES, 0.0, "")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("reported", "usd"), [(None, None), (0, 0.0), (0.00125, 0.00125), (3, 3.0)]
)
def test_a_cost_is_read(wire: str, reported: float | None, usd: float | None) -> None:
    reply = read(wire, {"cost": reported})
    assert reply.usage == Usage(input=7, output=5, cost=usd) and reply.defects == ()
    assert read(wire, {}).usage == Usage(input=7, output=5)


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_ticks_are_a_ten_billionth_of_a_dollar(wire: str) -> None:
    reply = read(wire, {"cost_in_usd_ticks": 318_319_000})
    assert reply.usage.cost == pytest.approx(0.0318319)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("is_loose", [False, True])
@pytest.mark.parametrize(
    ("cost", "upstream", "is_own_key", "usd"),
    [
        (0.95, 19, True, 19.95),  # a fee, and what the provider charges the owner of the key
        (0, 0.02, True, 0.02),
        (0.95, None, True, None),  # a fee alone is not the cost
        (0.02, 0.02, False, 0.02),  # the provider's price is part of the cost
        (0.02, 0.02, None, 0.02),
    ],
)
def test_with_a_key_of_your_own_the_cost_is_the_fee_and_the_price_of_the_provider(
    wire: str, is_loose: bool, cost: float, upstream: float | None, is_own_key: bool, usd: float
) -> None:
    usage: dict[str, Any] = {"cost": cost, "is_byok": is_own_key}
    usage["cost_details"] = {"upstream_inference_cost": upstream}
    if is_loose:
        usage["cost_in_usd_ticks"] = "none"  # no number, so that the body is read loosely
    reply = read(wire, usage)
    assert reply.usage == Usage(input=7, output=5, cost=usd) and reply.defects == ()


@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_cannot_charge_less_than_nothing(wire: str) -> None:
    usage = {"cost": 1, "is_byok": True, "cost_details": {"upstream_inference_cost": -0.5}}
    assert read(wire, usage).usage.cost is None


@pytest.mark.parametrize("n_cached", [0, 7, 8, 400])
@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_more_cached_tokens_than_input_are_counted_apart_by_the_endpoint(
    wire: str, n_cached: int
) -> None:
    name = "prompt_tokens_details" if wire == "chat" else "input_tokens_details"
    usage = read(wire, {name: {"cached_tokens": n_cached}}).usage
    assert (usage.input, usage.cached) == (7 if n_cached <= 7 else 7 + n_cached, n_cached)
    assert usage.cached <= usage.input


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("reported", [-1, MAX_COST_USD + 1, 1e300, "1", True, [1], {"usd": 1}])
def test_a_cost_that_cannot_be_is_left_out_and_marked(wire: str, reported: object) -> None:
    reply = read(wire, {"cost": reported})
    assert reply.usage == Usage(input=7, output=5)
    assert reply.defects == ("cost not counted, as it cannot be",)


def test_marks_of_the_prompt_cache_can_be_set_and_are_no_part_of_the_identity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k" * 20)
    models = [
        make_endpoint_model("anthropic/claude-opus-4-1", prompt_cache=each)
        for each in (None, True, False)
    ]
    assert [model.profile.caches_prompts for model in models] == [True, True, False]
    assert len({model.identity for model in models}) == 1
    other = {"base_url": "http://127.0.0.1:9/v1", "wire": "anthropic"}
    marked = [
        make_endpoint_model("anthropic/m", prompt_cache=each, **other).profile.caches_prompts  # type: ignore[arg-type]
        for each in (None, True)
    ]
    assert marked == [False, True]
