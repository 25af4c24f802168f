"""Whatever an endpoint does, an exchange ends: as a Failure of the right kind, or as a Reply."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from tests.servers import (
    anthropic_faults,
    chat_faults,
    fake,
    faults,
    gemini_faults,
    responses_faults,
    shape_faults,
    stream_faults,
)
from tests.servers.faults import Fault

from toolmark.core.errors import EndpointError, ToolmarkError
from toolmark.core.json_codec import encode_record
from toolmark.core.records import Message, Reply, Request, Text
from toolmark.models import memory_budget
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.wire_names import WireName
from toolmark.models.wires import reply_parts
from toolmark.models.wires.wire_registry import wire_by_name

TIMEOUT_S = 0.5
"""How long an exchange may take that ends by its time alone."""
_GUARD_S = 100.0  # a test that hangs fails; how long a busy machine takes is no matter
HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
KEY = "sk-very-secret-key"


def became(found: Reply | EndpointError) -> str:
    """Return what an exchange became, as the table of faults writes it."""
    return f"reply:{found.stop}" if isinstance(found, Reply) else found.kind


async def exchange(model: EndpointModel) -> Reply | EndpointError:
    """Ask once. Anything but a Reply and an EndpointError is raised."""
    try:
        return await asyncio.wait_for(model(HELLO), _GUARD_S)
    except EndpointError as error:
        return error


SHARED: dict[str, tuple[Fault, ...]] = {
    "connection": faults.CONNECTION, "head": faults.HEADS, "framing": faults.FRAMING,
    "document": faults.DOCUMENTS, "error": faults.ERRORS, "text": shape_faults.TEXTS,
    "call": shape_faults.CALLS, "root": shape_faults.ROOTS, "about": shape_faults.ABOUT,
}  # fmt: skip
OWN: dict[WireName, tuple[Fault, ...]] = {
    "chat": chat_faults.OWN, "responses": responses_faults.OWN, "anthropic": anthropic_faults.OWN,
    "gemini": gemini_faults.OWN,
}  # fmt: skip
OWN_STREAMED: dict[WireName, tuple[Fault, ...]] = {
    "chat": chat_faults.STREAMED, "responses": responses_faults.STREAMED,
    "anthropic": anthropic_faults.STREAMED, "gemini": gemini_faults.STREAMED,
}  # fmt: skip


def groups(wire: WireName, *, is_stream: bool) -> dict[str, tuple[Fault, ...]]:
    """Return the faults of a wire; an endpoint that is asked to stream may send a whole body."""
    found = {**SHARED, "own": OWN[wire]}
    if is_stream:
        found |= {"stream": stream_faults.STREAMED, "own stream": OWN_STREAMED[wire]}
    return found


async def suffer(
    table: tuple[Fault, ...], wire: WireName, *, is_stream: bool = False
) -> dict[str, Reply | EndpointError]:
    """Ask one server that has each fault at an address of its own, all at once."""
    own_faults: list[Exception] = []  # they would pass for faults of the endpoint

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool | None:
        try:
            return await table[int(asked.target.split("/")[1])].behaviour(asked, writer)
        except ConnectionError:
            raise
        except Exception as error:
            own_faults.append(error)
            raise

    async def ask(number: int, url: str) -> Reply | EndpointError:
        timeout_s = TIMEOUT_S if "timeout" in table[number].became else _GUARD_S
        model = EndpointModel(
            url.replace("/v1", f"/{number}/v1"), "fake-1", wire=wire_by_name(wire), key=KEY,
            timeout_s=timeout_s, is_stream=is_stream,
        )  # fmt: skip
        model._client.max_body_bytes = faults.LIMIT_BYTES
        try:
            return await exchange(model)
        finally:
            await model.close()

    async with fake.serve(behave) as server:
        found = await asyncio.gather(*(ask(n, server.url) for n in range(len(table))))
    assert own_faults == []
    return {fault.name: each for fault, each in zip(table, found, strict=True)}


@pytest.mark.parametrize(
    ("wire", "is_stream", "group"),
    [
        pytest.param(
            wire, is_stream, group, id=f"{wire}-{'stream' if is_stream else 'plain'}-{group}"
        )
        for wire in OWN
        for is_stream in (False, True)
        for group in groups(wire, is_stream=is_stream)
    ],
)
def test_each_fault_becomes_what_it_is(wire: WireName, is_stream: bool, group: str) -> None:
    table = groups(wire, is_stream=is_stream)[group]
    if is_stream and group == "own":  # what was asked for is no fault
        table = tuple(fault for fault in table if fault.name not in names_of(OWN_STREAMED[wire]))
    found = asyncio.run(suffer(table, wire, is_stream=is_stream))
    wrong = {
        fault.name: (became(found[fault.name]), str(found[fault.name])[:300])
        for fault in table
        if became(found[fault.name]) not in fault.expected(wire)
    }
    assert wrong == {}
    for each in found.values():
        _check_size(each)


def _check_size(found: Reply | EndpointError) -> None:
    if isinstance(found, Reply):
        assert len(encode_record(found)) < 8 * reply_parts.MAX_TEXT_CHARS
    else:
        assert len(str(found)) < 2000
        assert found.__cause__ is None


def names_of(table: tuple[Fault, ...]) -> list[str]:
    return [fault.name for fault in table]


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("wire", OWN)
def test_there_are_enough_faults_and_each_has_a_name(wire: WireName, is_stream: bool) -> None:
    found = groups(wire, is_stream=is_stream)
    for table in found.values():
        assert len(names_of(table)) == len(set(names_of(table)))
    assert sum(map(len, found.values())) >= 120


# --- memory -----------------------------------------------------------------------------

LIMIT_KB = 700 * 1024
"""What sixteen bodies of 60 MB at once may take: the budget, one body read, the interpreter."""
_CROWD = """
import asyncio, re, sys
from toolmark.models.endpoint_model import EndpointModel
from tests.models.test_endpoint_faults import exchange

async def main(url, n):
    model = EndpointModel(url, "fake-1", timeout_s=300)
    found = await asyncio.gather(*(exchange(model) for _ in range(n)))
    await model.close()
    # ru_maxrss would begin with what the parent takes
    peak_kb = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]
    print(peak_kb, *(type(f).__name__ for f in found))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


@pytest.mark.long
@pytest.mark.parametrize("framed", ["length", "chunks"])
def test_sixteen_large_bodies_at_once_share_the_budget(framed: str) -> None:
    """Each is read whole; three at a time, the others wait."""
    text = b"x" * (60 * 2**20)
    whole = b'{"choices":[{"message":{"content":"' + text + b'"}}]}'
    if framed == "length":
        data = fake.raw(200, whole)
    else:
        data = faults.CHUNKED + b"%x\r\n" % len(whole) + whole + b"\r\n0\r\n\r\n"

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        await writer.drain()
        return True

    async def go() -> tuple[int, list[str]]:
        async with fake.serve(behave) as server:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-c", _CROWD, server.url, "16", stdout=subprocess.PIPE
            )
            out, _ = await child.communicate()
            peak_kb, *kinds = out.decode().split()
            return int(peak_kb), kinds

    peak_kb, kinds = asyncio.run(go())
    assert kinds == ["Reply"] * 16
    assert peak_kb < LIMIT_KB


def test_a_place_is_waited_for_and_given_back() -> None:
    async def go() -> list[str]:
        seen: list[str] = []
        places = memory_budget.MemoryBudget()

        async def body(name: str) -> None:
            collected = memory_budget.MemoryReservation(places)
            try:
                await collected.grow(memory_budget.SMALL_BYTES)
                await collected.grow(memory_budget.MEDIUM_BYTES + 1)
                seen.append(f"{name} in")
                await asyncio.sleep(0)
                seen.append(f"{name} out")
            finally:
                collected.release()

        tasks = [asyncio.create_task(body(str(n))) for n in range(8)]
        tasks[4].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not places.medium.locked() and not places.large.locked()
        return seen

    seen = asyncio.run(go())
    inside = peak = 0
    for line in seen:
        inside += 1 if line.endswith("in") else -1
        peak = max(peak, inside)
    assert peak == 3
    assert len(seen) == 14


def test_a_model_that_is_wrongly_asked_is_a_usage_error() -> None:
    """It is the caller's own, and no failure of the endpoint."""
    model = EndpointModel("not an address", "fake-1")
    with pytest.raises(ToolmarkError):
        asyncio.run(model(HELLO))
