from __future__ import annotations

import io
import json
import threading
import time
import wave
from collections.abc import Callable, Iterator
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from toolmark.core import errors
from toolmark.perturb.hearing import recogniser_registry, remote_recogniser
from toolmark.perturb.hearing.recogniser import HeardWord, HearingContext
from toolmark.perturb.speech.audio_clip import Clip
from toolmark.suites.mfcl_speech import speech_suite_builder

CLIP = Clip(np.linspace(-0.5, 0.5, 1600, dtype=np.float32), 16_000)
KEY = "sk-very-secret"
Answer = Callable[[BaseHTTPRequestHandler], None]


class Server(ThreadingHTTPServer):
    """Answers with what the test sets, one after another; keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.answers: list[Answer] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, dict(self.headers.items()), body))
        answers = self.server.answers
        (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    def log_message(self, *_: Any) -> None:
        pass


def _reply(status: int, body: bytes, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", headers.get("Length", str(len(body))))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def _drip(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    try:
        for _ in range(100):
            handler.wfile.write(b" ")
            time.sleep(0.05)
    except OSError:
        return


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("TOOLMARK_API_KEY", KEY)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Server()
    thread = threading.Thread(target=made.serve_forever, args=(0.05,))
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def _ours(
    server: Server, kind: str = "openai", **settings: Any
) -> remote_recogniser.RemoteRecogniser:
    return remote_recogniser.RemoteRecogniser(kind, "model-1", server.url, **settings)


def test_openai_form_is_asked_and_read(server: Server) -> None:
    server.answers = [_reply(200, json.dumps({"text": " Play music. "}).encode())]
    ours = recogniser_registry.load_recogniser(f"openai:model-1@{server.url}")
    heard = ours.hear(CLIP, HearingContext(text="never sent"))
    assert (heard.text, heard.simulated, heard.recogniser) == ("Play music.", False, ours.name)
    path, headers, body = server.asked[0]
    assert path == "/v1/audio/transcriptions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert b"never sent" not in body
    kind = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    form: Any = BytesParser().parsebytes(kind + body).get_payload()
    parts = {
        part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
        for part in form
    }
    assert parts["model"] == b"model-1"
    with wave.open(io.BytesIO(parts["file"])) as sound:
        assert (sound.getframerate(), sound.getnframes()) == (16_000, 1600)


def test_deepgram_form_is_asked_and_read(server: Server) -> None:
    word = {"word": "play", "punctuated_word": "Play", "start": 0.1, "end": 0.3, "confidence": 0.9}
    best = {"transcript": "Play.", "words": [word]}
    answer = {"results": {"channels": [{"alternatives": [best]}]}}
    server.answers = [_reply(200, json.dumps(answer).encode())]
    heard = recogniser_registry.load_recogniser(f"deepgram:nova/3@{server.url}").hear(
        CLIP, HearingContext()
    )
    assert heard.text == "Play."
    assert heard.words == (HeardWord("Play", 0.1, 0.3, 0.9),)
    path, headers, body = server.asked[0]
    assert path.startswith("/v1/listen?model=nova%2F3&")
    assert headers["Authorization"] == f"Token {KEY}"
    assert body.startswith(b"RIFF")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (_reply(401, f"bad key {KEY}".encode()), errors.Rejected),
        (_reply(404, b"no such model"), errors.Rejected),
        (_reply(429, b"slow down", Retry_After="0"), errors.RateLimited),
        (_reply(500, b"oops", Retry_After="0"), errors.Unavailable),
        (_reply(302, b"", Location="http://127.0.0.1:9/steal"), errors.Rejected),
        (_reply(200, b'{"text": "pla', Length="500"), errors.TornReply),
        (_reply(200, b"<html>junk</html>"), errors.TornReply),
        (_reply(200, b'{"text": 3}'), errors.TornReply),
        (_reply(200, b'["text"]'), errors.TornReply),
        (_reply(200, b"[" * 100_000), errors.TornReply),
        (_reply(200, b" " * (4 * 2**20 + 9)), errors.TornReply),
        (_drip, errors.Timeout),
    ],
)
def test_faults_are_distinguished_without_the_key(
    answer: Answer, error: type[errors.EndpointError], server: Server
) -> None:
    server.answers = [answer]
    for kind in ("openai", "deepgram"):
        with pytest.raises(error) as caught:
            _ours(server, kind, timeout_s=0.4, tries=1).hear(CLIP, HearingContext())
        assert KEY not in str(caught.value)
    assert len(server.asked) == 2


def test_passing_faults_are_asked_again_and_lasting_ones_are_not(server: Server) -> None:
    good = _reply(200, b'{"text": "yes"}')
    busy = _reply(429, b"", Retry_After="0")
    server.answers = [busy, _reply(503, b"", Retry_After="0"), good]
    assert _ours(server).hear(CLIP, HearingContext()).text == "yes"
    server.answers = [_reply(400, b"bad"), good]
    with pytest.raises(errors.Rejected):
        _ours(server).hear(CLIP, HearingContext())
    assert len(server.asked) == 4


def test_a_server_that_is_not_there_is_unavailable(server: Server) -> None:
    with pytest.raises(errors.Unavailable):
        remote_recogniser.RemoteRecogniser("openai", "m", "http://127.0.0.1:1/v1", tries=1).hear(
            CLIP, HearingContext()
        )


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "http://user:pw@host/v1", "http://h/v1?key=x", "ftp://h", "h"]
)
def test_odd_addresses_are_refused(address: str) -> None:
    with pytest.raises(errors.UsageError, match="address"):
        remote_recogniser.load_remote("openai", f"m@{address}")


NUMBERS = (
    "0123456789abcdef0123456789abcdef", "21m00Tcm4TlvDq8ikWAM",
    "7d444840-9dc0-11d1-b245-5ffdce74fad2",
)  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_in_an_address_are_asked_and_not_named(server: Server, number: str) -> None:
    server.answers = [_reply(200, b'{"text": "yes"}'), _reply(404, f"no {number}".encode())]
    ours = recogniser_registry.load_recogniser(f"openai:m@{server.url}/{number}")
    heard = ours.hear(CLIP, HearingContext())
    assert server.asked[0][0] == f"/v1/{number}/audio/transcriptions"
    assert number not in heard.recogniser + ours.name and "[key-" in ours.name
    with pytest.raises(errors.Rejected) as caught:
        ours.hear(CLIP, HearingContext())
    assert number not in str(caught.value)
    with pytest.raises(errors.UsageError, match="recognisers holds what looks like a key"):
        speech_suite_builder._split_recognisers("transcript", [f"openai:m@{server.url}/{number}"])


@pytest.mark.parametrize("step", ["sk-abcdefghijkl", "sk%2Dabcdefghijkl"])
def test_a_key_in_an_address_is_refused_with_where_to_put_it(step: str) -> None:
    with pytest.raises(errors.UsageError, match="holds a key: use TOOLMARK_API_KEY") as caught:
        remote_recogniser.load_remote("openai", f"m@http://host/{step}/v1")
    assert "abcdefghijkl" not in str(caught.value)


def test_a_provider_without_key_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPGRAM_API_KEY", raising=False)
    with pytest.raises(errors.UsageError, match="DEEPGRAM_API_KEY"):
        recogniser_registry.load_recogniser("deepgram:nova-3")


def test_too_long_a_clip_is_refused_before_it_is_sent(server: Server) -> None:
    with pytest.raises(errors.UsageError, match="25 MB"):
        _ours(server).hear(Clip(np.zeros(14 * 10**6, np.float32), 16_000), HearingContext())
    assert not server.asked
