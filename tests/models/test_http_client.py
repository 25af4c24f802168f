"""The fault table of the transport: every fault ends in time, as the error it is."""

from __future__ import annotations

import asyncio
import gzip
import resource
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from tests.servers import fake, tls

from toolmark.core.errors import EndpointError, Timeout, TornReply, Unavailable, UsageError
from toolmark.models.http_client import HttpClient, HttpResponse

TIMEOUT_S = 0.3
"""Of requests that end by their time alone; the others have time, as the machine may be busy."""
_GUARD_S = 100.0
OK = fake.raw(200, b'{"a": 1}')
ZIPPED = {"content-encoding": "gzip"}
HUGE = b"30000\r\n" + b"x" * 0x30000 + b"\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def client(timeout_s: float = _GUARD_S, **settings: int) -> HttpClient:
    return HttpClient({"authorization": "Bearer sk-secret"}, timeout_s=timeout_s, **settings)


async def once(url: str, timeout_s: float = _GUARD_S, **settings: int) -> HttpResponse:
    asking = client(timeout_s, **settings)
    try:
        return await asking.post(f"{url}/x", b"{}")
    finally:
        await asking.close()


async def ask(
    behaviour: fake.Behaviour, timeout_s: float = _GUARD_S, **settings: int
) -> HttpResponse:
    async with fake.serve(behaviour) as server:
        return await once(server.url, timeout_s, **settings)


FAULTS: list[tuple[str, fake.Behaviour, type[EndpointError]]] = [
    ("reset before the head", fake.send(b"", then="reset"), Unavailable),
    ("closed before the head", fake.send(b"", then="close"), Unavailable),
    ("reset in the head", fake.send(OK[:20], then="reset"), Unavailable),
    ("closed in the head", fake.send(OK[:20], then="close"), Unavailable),
    ("reset in the body", fake.send(OK[:-3], then="reset"), TornReply),
    ("closed in the body", fake.send(OK[:-3], then="close"), TornReply),
    ("closed in a chunk", fake.send(CHUNKED + b"30\r\nxx", then="close"), TornReply),
    ("closed between chunks", fake.send(CHUNKED + b"2\r\nxx\r\n", then="close"), TornReply),
    ("not HTTP", fake.send(b"SSH-2.0-x\r\n\r\n", then="close"), TornReply),
    ("bytes of no protocol", fake.send(b"\x16\x03\x01\xff\r\n\r\n", then="close"), TornReply),
    ("stalled before the head", fake.send(b"", then="stall"), Timeout),
    ("stalled in the head", fake.send(OK[:20], then="stall"), Timeout),
    ("stalled in the body", fake.send(OK[:-3], then="stall"), Timeout),
    ("dripping", fake.drip(OK, 0.02), Timeout),
    ("body beyond the limit", fake.answer(200, b"x" * 5000), TornReply),
    ("chunks beyond the limit", fake.send(CHUNKED + HUGE, then="stall"), TornReply),
    ("a bomb of zeros", fake.answer(200, gzip.compress(bytes(2**20)), ZIPPED), TornReply),
]


@pytest.mark.parametrize(("behaviour", "kind"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_each_fault_is_its_error_and_ends(
    behaviour: fake.Behaviour, kind: type[EndpointError]
) -> None:
    timeout_s = TIMEOUT_S if kind is Timeout else _GUARD_S
    with pytest.raises(kind) as caught:
        asyncio.run(ask(behaviour, timeout_s, max_body_bytes=1000))
    assert type(caught.value) is kind
    assert "sk-secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_refused_and_unknown_hosts_are_unavailable() -> None:
    for host in (f"127.0.0.1:{fake.unused()}", "no-such-host.invalid"):
        with pytest.raises(Unavailable):
            asyncio.run(once(f"http://{host}/v1"))


def test_status_body_and_latency_are_returned() -> None:
    answer = asyncio.run(ask(fake.answer(418, b"\x00\xff")))
    assert (answer.status, answer.body) == (418, b"\x00\xff")
    assert answer.latency_s > 0


def test_latency_runs_to_the_last_byte() -> None:
    answer = asyncio.run(ask(fake.drip(fake.raw(200, b""), 0.004)))
    assert answer.latency_s > 0.1


def test_chunked_and_compressed_bodies_are_whole() -> None:
    body = CHUNKED + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    assert asyncio.run(ask(fake.send(body, then="close"))).body == b"abcde"
    zipped = fake.answer(200, gzip.compress(b"abcde"), ZIPPED)
    assert asyncio.run(ask(zipped)).body == b"abcde"


def test_retry_after_is_read_as_seconds_and_as_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    for text, low, high in (("7", 7, 7), ("0.5", 0.5, 0.5), (later, 1800, 3600)):
        answer = asyncio.run(ask(fake.answer(429, b"", {"retry-after": text})))
        assert answer.wait_s is not None
        assert low <= answer.wait_s <= high


@pytest.mark.parametrize("text", ["soon", "-3", "nan", "inf", "Wed, 99 Foo"])
def test_an_unreadable_retry_after_is_none(text: str) -> None:
    assert asyncio.run(ask(fake.answer(429, b"", {"retry-after": text}))).wait_s is None


def test_ten_megabytes_arrive_whole() -> None:
    body = bytes(range(256)) * (10 * 4096)
    asking = HttpClient({}, timeout_s=10)

    async def go() -> HttpResponse:
        async with fake.serve(fake.answer(200, body)) as server:
            return await asking.post(server.url, b"")

    assert asyncio.run(go()).body == body


def test_a_redirect_is_not_followed() -> None:
    async def go() -> tuple[HttpResponse, int]:
        async with fake.serve(fake.answer(200, b"")) as other:
            away = fake.answer(307, b"", {"location": f"{other.url}/there?token=1"})
            return await ask(away), len(other.asked)

    answer, n_asked = asyncio.run(go())
    assert answer.status == 307
    assert answer.redirect_location.endswith("/there?token=1")
    assert n_asked == 0


def test_cancelling_ends_the_request_and_the_client_lives_on() -> None:
    async def go() -> HttpResponse:
        steps = fake.script(fake.send(b"", then="stall"), fake.answer(200, b"next"))
        async with fake.serve(steps) as server:
            asking = HttpClient({}, timeout_s=3600)  # which is not what ends it
            task = asyncio.ensure_future(asking.post(server.url, b""))
            while not server.asked:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await asking.post(server.url, b"")

    assert asyncio.run(go()).body == b"next"


def test_an_address_that_was_read_is_not_reused() -> None:
    """It may be that of a search, with its key."""

    async def go() -> None:
        async with fake.serve(fake.answer(200, b"")) as server:
            asking = client()
            urls = [f"{server.url}/search?q={n}&api_key=sk-secret" for n in range(20)]
            before = [sys.getrefcount(url) for url in urls]
            for n in range(20):
                await asking.get(urls[n])
            assert [sys.getrefcount(url) for url in urls] == before

    asyncio.run(go())


def test_the_number_of_remembered_addresses_is_bounded() -> None:
    async def go() -> int:
        async with fake.serve(fake.answer(200, b"")) as server:
            asking = client()
            urls = [f"{server.url}/{n}" for n in range(300)]
            before = [sys.getrefcount(url) for url in urls]
            for n in range(300):
                await asking.post(urls[n], b"")
            after = [sys.getrefcount(url) for url in urls]
            return sum(now > then for now, then in zip(after, before, strict=True))

    assert 0 < asyncio.run(go()) <= 64


def test_connections_are_reused_and_one_closed_by_the_server_is_replaced() -> None:
    async def go(behaviour: fake.Behaviour) -> int:
        async with fake.serve(behaviour) as server:
            asking = client()
            for _ in range(5):
                assert (await asking.post(server.url, b"")).status == 200
            return server.connections

    assert asyncio.run(go(fake.answer(200, b""))) == 1
    assert asyncio.run(go(fake.send(OK, then="close"))) == 5


def test_thousands_of_requests_in_a_row() -> None:
    async def go() -> tuple[int, int]:
        async with fake.serve(fake.answer(200, b"x")) as server:
            asking = client()
            for _ in range(2000):
                assert (await asking.post(server.url, b"y")).body == b"x"
            return server.connections, len(server.asked)

    assert asyncio.run(go()) == (1, 2000)


def test_five_hundred_connections_at_once() -> None:
    n = 500
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = 4 * n if hard == resource.RLIM_INFINITY else min(hard, 4 * n)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, room), hard))

    async def go() -> int:
        full = asyncio.Event()
        n_in = 0

        async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
            nonlocal n_in
            n_in += 1
            if n_in == n:
                full.set()
            await full.wait()  # nobody is answered before all are here
            writer.write(OK)

        async with fake.serve(behave) as server:
            asking = HttpClient({}, timeout_s=30)
            answers = await asyncio.gather(*(asking.post(server.url, b"") for _ in range(n)))
            assert all(answer.status == 200 for answer in answers)
            return server.connections

    assert asyncio.run(go()) == n
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> tuple[bytes, str]:
        async with fake.serve(fake.answer(200, b"by proxy")) as proxy:
            monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
            answer = await once("http://far-away.invalid/v1")
            return answer.body, proxy.asked[0].target

    assert asyncio.run(go()) == (b"by proxy", "http://far-away.invalid/v1/x")


def test_a_dead_proxy_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{fake.unused()}")
    with pytest.raises(Unavailable):
        asyncio.run(once("http://far-away.invalid/v1"))


def test_an_untrusted_certificate_is_unavailable_and_nothing_is_sent(tmp_path: Path) -> None:
    async def go() -> list[fake.Asked]:
        async with fake.serve(fake.answer(200, b""), ssl=tls.context(tmp_path)) as server:
            with pytest.raises(Unavailable, match=r"(?i)certificate|issuer"):
                await once(server.url)
            return server.asked

    assert asyncio.run(go()) == []


def test_tls_towards_a_plain_server_is_unavailable() -> None:
    async def go() -> None:
        async with fake.serve(fake.answer(200, b"")) as server:
            await once(server.url.replace("http:", "https:"), timeout_s=1)

    with pytest.raises((Unavailable, Timeout)):
        asyncio.run(go())


def test_a_header_that_http_forbids_is_a_usage_error_without_its_value() -> None:
    with pytest.raises(UsageError) as caught:
        HttpClient({"authorization": "Bearer sk-secret\r\nx: y"}, timeout_s=1)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(("n_unnamed", "found"), [(31, "req_1"), (32, "")])
def test_an_endpoint_that_names_no_request_is_not_asked_for_names_on(
    n_unnamed: int, found: str
) -> None:
    last = {"connection": "close"}  # else the client may write to a connection that is closing
    named = fake.send(fake.raw(200, b"{}", last | {"x-request-id": "req_1"}), then="close")
    plain = fake.send(fake.raw(200, b"{}", last), then="close")

    async def main() -> str:
        async with fake.serve(fake.script(*[plain] * n_unnamed, named)) as server:
            asking = client()
            try:
                answers = [
                    await asking.post(f"{server.url}/x", b"{}") for _ in range(n_unnamed + 1)
                ]
            finally:
                await asking.close()
        assert {each.request_id for each in answers[:-1]} == {""}
        return answers[-1].request_id

    assert asyncio.run(main()) == found
