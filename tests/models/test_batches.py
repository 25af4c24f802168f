"""Requests in batches are answered as single ones are, and none is submitted twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.servers import anthropic_server, fake, responses_server
from tests.servers.batch_server import KEY, Answer, BatchServer, user_text

from toolmark.core.errors import EndpointError, Rejected, UsageError
from toolmark.core.records import Message, Reply, Request, Sampling, Text, Tool
from toolmark.models.batches.anthropic_batches import AnthropicBatches
from toolmark.models.batches.batch_ledger import BatchLedger
from toolmark.models.batches.batch_protocol import BatchLimits
from toolmark.models.batches.batch_worker import BatchTiming
from toolmark.models.batches.batched_endpoint import BatchedEndpoint
from toolmark.models.batches.openai_batches import OpenAIBatches
from toolmark.models.cost_limit import CostLimit, limit_endpoint
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.request_policies import RetryingModel
from toolmark.models.token_prices import ModelPrice, Rates
from toolmark.models.wire_names import check_wire_name
from toolmark.models.wires.wire_registry import wire_by_name

Json = dict[str, Any]
WIRES = ("chat", "responses", "anthropic")
FAST = BatchTiming(settle_s=0.05, first_pause_s=0.01, longest_pause_s=0.02, search_s=0.01)
ADD = Tool(name="add", description="Add.", parameters={"type": "object", "properties": {}})


def ask_for(text: str, repeat: int = 0, **sampling: Any) -> Request:
    message = Message(role="user", parts=(Text(text),))
    return Request(messages=(message,), tools=(ADD,), repeat=repeat, sampling=Sampling(**sampling))


def wire_of(body: Json) -> str:
    if "input" in body:
        return "responses"
    return "anthropic" if "max_tokens" in body and "tools" in body and (
        "input_schema" in body["tools"][0]
    ) else "chat"  # fmt: skip


def answer_body(body: Json) -> Answer:
    """Answer as the text says: `call`, or the text itself; `expire` and so on where it says so."""
    text, wire = user_text(body), wire_of(body)
    word = text.partition(" ")[0]
    if word in ERRORS:
        return ERRORS[word](wire)
    return 200, write_reply(wire, text, is_call=word == "call")


def write_reply(wire: str, text: str, *, is_call: bool = False) -> Json:
    given = json.dumps({"of": text})
    if wire == "responses":
        call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add",
                "arguments": given, "status": "completed"}  # fmt: skip
        said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}  # fmt: skip
        return responses_server.response([call if is_call else said])
    if wire == "anthropic":
        use = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": json.loads(given)}
        return anthropic_server.message([use if is_call else {"type": "text", "text": text}])
    return fake.calls(("add", given)) if is_call else fake.says(text)


def refuse(status: int, kind: str, message: str) -> Callable[[str], Answer]:
    """Return what writes an error in the words of a wire."""

    def write(wire: str) -> Answer:
        if wire == "anthropic":
            return status, anthropic_server.error(kind, message)
        return status, {"error": {"message": message, "type": kind, "code": None}}

    return write


ERRORS: dict[str, Callable[[str], Answer]] = {
    "expire": lambda wire: "expired",
    "cancel": lambda wire: "canceled",
    "overload": refuse(529, "overloaded_error", "Overloaded"),
    "limit": refuse(429, "rate_limit_error", "Too many requests"),
    "wrong": refuse(400, "invalid_request_error", "messages: wrong"),
    "long": refuse(400, "invalid_request_error", "prompt is too long: 9 tokens > 5 maximum"),
}


async def with_models(
    server: BatchServer,
    wire: str,
    work: Callable[[BatchedEndpoint, EndpointModel], Awaitable[Any]],
    ledger: BatchLedger | None = None,
    key: str = KEY,
) -> Any:
    """Serve, and work with a batched and a single model."""
    async with fake.serve(server) as served:
        settings: Json = {
            "wire": wire_by_name(check_wire_name(wire)),
            "key": key,
            "timeout_s": 10.0,
        }
        batched = BatchedEndpoint(
            served.url, "m", ledger=ledger, max_retries=3, timing=FAST, **settings
        )
        # the ledger of one test is used at several ports
        batched.origin = "origin"
        single = EndpointModel(served.url, "m", **settings)
        try:
            return await work(batched, single)
        finally:
            await batched.close()
            await single.close()


async def ask_all(model: Any, requests: list[Request]) -> list[Reply | BaseException]:
    return list(await asyncio.gather(*map(model, requests), return_exceptions=True))


def without_request_id(error: object) -> str:
    return str(error).partition(" (request id")[0]


def timeless(reply: Any) -> Any:
    assert isinstance(reply, Reply), reply
    return replace(reply, latency_s=0.0, request_id="", provider_state=None)


@pytest.mark.parametrize("wire", WIRES)
def test_replies_are_those_of_single_requests(wire: str) -> None:
    server = BatchServer(answer_body)
    asked = [ask_for(f"{word} {i}", i % 2) for i in range(4) for word in ("say", "call", "long")]

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> None:
        found = await ask_all(batched, asked)
        wanted = await ask_all(single, asked)
        assert list(map(timeless, found)) == list(map(timeless, wanted))

    asyncio.run(with_models(server, wire, work))
    assert not server.faults
    (batch,) = server.batches.values()
    assert [body for _, body in batch.items] == server.single
    assert server.paid().total() == 8


class Reservations(CostLimit):
    """A limit that remembers what was reserved."""

    def __init__(self) -> None:
        super().__init__(1e6, {})
        self.reserved: list[float] = []

    async def reserve_cost(self, usd: float) -> None:
        self.reserved.append(usd)
        await super().reserve_cost(usd)


@pytest.mark.parametrize("wire", WIRES)
def test_a_limit_of_the_cost_reserves_as_much_as_for_a_single_request(wire: str) -> None:
    price = ModelPrice(rates=(Rates(input=1, output=2),))

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[list[float]]:
        found = []
        for model in (batched, single):
            limit = Reservations()
            await limit_endpoint(model, limit, price)(ask_for("say " + "x" * 5000, max_tokens=7))
            found.append(limit.reserved)
        return found

    (batches, singles) = asyncio.run(with_models(BatchServer(answer_body), wire, work))
    assert batches == singles and singles[0] > 5000 / 1e6


@pytest.mark.parametrize("wire", WIRES)
def test_equal_requests_share_an_answer_and_repeats_do_not(wire: str) -> None:
    server = BatchServer(answer_body)
    asked = [ask_for("say"), ask_for("say"), ask_for("say", 1), ask_for("say", 2)]

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return [timeless(each).text for each in await ask_all(batched, asked)]

    assert asyncio.run(with_models(server, wire, work)) == ["say"] * 4
    assert sorted(server.submitted().values()) == [1, 1, 1]


FAILURES = {
    "expire": ("timeout", 0),
    "cancel": ("stopped", 0),
    "limit": ("rate_limited", 429),
    "wrong": ("rejected.other", 400),
    "overload": ("unavailable", 529),
}


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_without_an_answer_fails_as_a_single_one_does(wire: str) -> None:
    server = BatchServer(answer_body)

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> None:
        found = await ask_all(batched, [*map(ask_for, FAILURES), ask_for("say")])
        assert isinstance(found.pop(), Reply)
        kinds = [(e.kind, e.status) for e in found if isinstance(e, EndpointError)]
        assert kinds == list(FAILURES.values())
        alone = await ask_all(single, [ask_for(word) for word in list(FAILURES)[2:]])
        assert list(map(without_request_id, alone)) == list(map(without_request_id, found[2:]))

    asyncio.run(with_models(server, wire, work))
    assert len(server.batches) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_is_no_reply_is_submitted_anew(wire: str) -> None:
    seen: list[str] = []

    def once(body: Json) -> Answer:
        seen.append(user_text(body))
        is_first = seen.count(seen[-1]) == 1 and seen[-1].startswith("late")
        return (200, {"error": {"message": "overloaded", "code": 503}}) if is_first else (
            answer_body(body)
        )  # fmt: skip

    server = BatchServer(once)

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        model = RetryingModel(batched, 3, sleep=lambda wait_s: asyncio.sleep(0))
        return [
            timeless(each).text
            for each in await ask_all(model, [ask_for("say 1"), ask_for("late 1")])
        ]

    assert asyncio.run(with_models(server, wire, work)) == ["say 1", "late 1"]
    assert sorted(server.submitted().values()) == [1, 2]


@pytest.mark.parametrize("wire", WIRES)
def test_what_expired_is_asked_again_and_the_rest_is_not(wire: str) -> None:
    seen: list[str] = []

    def once(body: Json) -> Answer:
        seen.append(user_text(body))
        is_first = seen.count(seen[-1]) == 1 and seen[-1].startswith("late")
        return "expired" if is_first else answer_body(body)

    server = BatchServer(once)

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        model = RetryingModel(batched, 3, sleep=lambda wait_s: asyncio.sleep(0))
        asked = [ask_for("say 1"), ask_for("late 1"), ask_for("late 2")]
        return [timeless(each).text for each in await ask_all(model, asked)]

    assert asyncio.run(with_models(server, wire, work)) == ["say 1", "late 1", "late 2"]
    assert [len(batch.items) for batch in server.batches.values()] == [3, 2]
    assert max(server.paid().values()) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_refused_setting_is_left_out_in_the_next_batch(wire: str) -> None:
    def without_top_p(body: Json) -> Answer:
        if "top_p" in body:
            message = "Unsupported parameter: 'top_p' is not supported with this model."
            return refuse(400, "invalid_request_error", message)(wire_of(body))
        return answer_body(body)

    server, ledger = BatchServer(without_top_p), BatchLedger()
    asked = [ask_for(f"say {i}", top_p=0.5) for i in range(3)]

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> None:
        assert [timeless(each).text for each in await ask_all(batched, asked)] == [
            "say 0", "say 1", "say 2",
        ]  # fmt: skip
        assert batched.refused_settings == {"top_p"}

    for _ in range(2):  # the second time nothing is submitted
        asyncio.run(with_models(server, wire, work, ledger))
    assert [len(batch.items) for batch in server.batches.values()] == [3, 3]


@pytest.mark.parametrize("wire", WIRES)
def test_a_batch_whose_submission_was_not_answered_is_found(wire: str) -> None:
    path = "/v1/messages/batches" if wire == "anthropic" else "/v1/batches"
    server = BatchServer(answer_body, lost_answers=[path])
    others = BatchServer(answer_body)

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return [timeless(e).text for e in await ask_all(batched, [ask_for("a"), ask_for("b")])]

    asyncio.run(with_models(others, wire, work))
    server.batches |= {"z_old": replace_id(next(iter(others.batches.values())), "z_old")}
    assert asyncio.run(with_models(server, wire, work)) == ["a", "b"]
    assert len(server.batches) == 2


def replace_id(batch: Any, id: str) -> Any:
    """Return a batch of somebody else, of the same size and time."""
    batch.id, batch.metadata = id, {}
    batch.items = [(f"other-{at}", body) for at, (_, body) in enumerate(batch.items)]
    batch.answers = None
    return batch


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("phase", ["prepared", "lost", "submitted", "ended", "failed"])
def test_a_later_process_finds_the_answers_of_an_earlier_one(phase: str, wire: str) -> None:
    server, ledger = BatchServer(answer_body, n_looks=2), BatchLedger()
    asked = [ask_for(f"say {i}") for i in range(3)]
    if phase == "failed":
        path = "messages/batches" if wire == "anthropic" else "batches"
        server.refusals += [(f"POST /v1/{path}", 403, {"error": {"message": "no"}}, {})]

    async def first(batched: BatchedEndpoint, single: EndpointModel) -> None:
        waiting = asyncio.create_task(ask_all(batched, asked))
        while phase in ("prepared", "lost", "submitted") and not server.batches:
            await asyncio.sleep(0.001)
        if phase in ("ended", "failed"):
            await waiting
        waiting.cancel()
        await asyncio.wait([waiting])

    async def second(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return [timeless(each).text for each in await ask_all(batched, asked)]

    asyncio.run(with_models(server, wire, first, ledger))
    if phase == "prepared":  # the process was killed before the request went out
        server.batches.clear()
    if phase in ("prepared", "lost"):  # ... or before its answer came
        ledger._lines = [each for each in ledger._lines if each.state == "prepared"]
    assert asyncio.run(with_models(server, wire, second, ledger)) == ["say 0", "say 1", "say 2"]
    assert len(server.batches) == 1 and set(server.paid().values()) == {1}
    assert set(server.submitted().values()) == {1}


@pytest.mark.parametrize("wire", WIRES)
def test_failures_of_an_earlier_process_are_asked_again(wire: str) -> None:
    words: list[str] = ["expire", "limit", "overload", "wrong", "cancel"]
    server, ledger = BatchServer(answer_body), BatchLedger()

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return await ask_all(batched, [ask_for(word) for word in words])

    found = asyncio.run(with_models(server, wire, work, ledger))
    assert all(isinstance(each, EndpointError) for each in found)
    server.script = lambda body: (200, write_reply(wire_of(body), "now"))
    found = asyncio.run(with_models(server, wire, work, ledger))
    assert [timeless(each).text for each in found] == ["now"] * 5
    assert [len(batch.items) for batch in server.batches.values()] == [5, 5]


@pytest.mark.parametrize("wire", WIRES)
def test_a_passing_refusal_of_a_submission_is_waited_for(wire: str) -> None:
    path = "messages/batches" if wire == "anthropic" else "files"
    busy: Json = {"error": {"message": "slow down", "type": "rate_limit_error"}}
    headers = {"retry-after": "0.01"}
    refusals = [(f"POST /v1/{path}", status, busy, headers) for status in (429, 503)]
    server = BatchServer(answer_body, refusals=refusals)

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return [timeless(each).text for each in await ask_all(batched, [ask_for("a")])]

    assert asyncio.run(with_models(server, wire, work)) == ["a"]
    assert len(server.batches) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("status", "kind", "step"),
    [(404, "rejected.not_found", "offers no batches"), (401, "rejected.auth", "")],
)
def test_a_final_refusal_of_a_submission_ends_all(
    status: int, kind: str, step: str, wire: str
) -> None:
    path = "messages/batches" if wire == "anthropic" else "files"
    no: Json = {"error": {"message": "no", "type": "x"}}
    server = BatchServer(answer_body, refusals=[(f"POST /v1/{path}", status, no, {})])
    ledger = BatchLedger()

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return await ask_all(batched, [ask_for("a"), ask_for("b")])

    for error in asyncio.run(with_models(server, wire, work, ledger)):
        assert isinstance(error, Rejected)
        assert (error.kind, step in str(error)) == (kind, True)
    assert not server.batches and all(b.state == "abandoned" for b in ledger.list_batches())


def test_too_many_waiting_tokens_make_smaller_batches() -> None:
    server = BatchServer(answer_body, max_waiting=3)
    asked = [ask_for(f"say {i}") for i in range(8)]

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return [timeless(each).text for each in await ask_all(batched, asked)]

    found = asyncio.run(with_models(server, "chat", work))
    assert found == [f"say {i}" for i in range(8)]
    sizes = [len(batch.items) for batch in server.batches.values() if not batch.faults]
    assert sizes == [2, 2, 2, 2] and max(server.paid().values()) == 1


def test_a_request_for_which_there_is_no_room_is_rate_limited() -> None:
    server = BatchServer(answer_body, max_waiting=0)

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return await ask_all(batched, [ask_for("a"), ask_for("b")])

    found = asyncio.run(with_models(server, "chat", work))
    assert [e.kind for e in found if isinstance(e, EndpointError)] == ["rate_limited"] * 2
    assert not server.paid()


def test_a_line_that_the_provider_refuses_does_not_stop_the_others() -> None:
    server = BatchServer(answer_body, bad_words=("evil",))

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return await ask_all(batched, [ask_for("a"), ask_for("evil"), ask_for("b")])

    first, second, third = asyncio.run(with_models(server, "responses", work))
    assert (timeless(first).text, timeless(third).text) == ("a", "b")
    assert isinstance(second, Rejected) and second.status == 400
    assert [len(batch.items) for batch in server.batches.values()] == [3, 2]


@pytest.mark.parametrize(
    ("limits", "sizes"), [(BatchLimits(3, 10**6), [1, 3, 3]), (BatchLimits(99, 1300), [1, 2, 2, 2])]
)
def test_a_batch_is_submitted_when_it_is_full(
    limits: BatchLimits, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for protocol in (OpenAIBatches, AnthropicBatches):
        monkeypatch.setattr(protocol, "limits", limits)
    asked = [ask_for(f"say {i} {'x' * 200}") for i in range(7)]

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return await ask_all(batched, asked)

    for wire in ("chat", "anthropic"):
        server = BatchServer(answer_body)
        found = asyncio.run(with_models(server, wire, work))
        assert all(isinstance(each, Reply) for each in found)
        assert sorted(len(batch.items) for batch in server.batches.values()) == sizes
        assert not server.faults


def test_a_request_larger_than_a_batch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenAIBatches, "limits", BatchLimits(3, 500))

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        return await ask_all(batched, [ask_for("x" * 500), ask_for("a")])

    large, small = asyncio.run(with_models(BatchServer(answer_body), "chat", work))
    assert isinstance(large, Rejected) and timeless(small).text == "a"


def test_the_key_is_in_no_record_and_no_error() -> None:
    refusal: Json = {"error": {"message": f"the key {KEY} is wrong"}}
    server = BatchServer(answer_body, refusals=[("POST /v1/batches", 403, refusal, {})])
    ledger = BatchLedger()

    async def work(batched: BatchedEndpoint, single: EndpointModel) -> list[Any]:
        echoed = await ask_all(batched, [ask_for("a")])
        return echoed + await ask_all(batched, [ask_for(f"the key is {KEY}")])

    refused, echoed = asyncio.run(with_models(server, "chat", work, ledger))
    assert isinstance(refused, Rejected) and isinstance(echoed, Rejected)
    assert KEY not in f"{refused} {echoed} {ledger.list_batches()}"


def test_a_stream_and_the_gemini_wire_are_refused() -> None:
    for settings in ({"is_stream": True}, {"wire": wire_by_name("gemini")}):
        with pytest.raises(UsageError):
            BatchedEndpoint("http://127.0.0.1:1/v1", "m", **settings)


def test_a_ledger_joins_its_lines(tmp_path: Path) -> None:
    ledger = BatchLedger()
    ledger.note_prepared("k", ("a", "b"))
    ledger.note_state("k", "submitted", "batch_1")
    ledger.note_prepared("l", ("c",))
    ledger.note_state("k", "ended")
    found = ledger.list_batches()
    assert [(b.key, b.state, b.batch_id, b.items) for b in found] == [
        ("k", "ended", "batch_1", ("a", "b")), ("l", "prepared", "", ("c",)),
    ]  # fmt: skip
    assert all(each.begun_s for each in found)
