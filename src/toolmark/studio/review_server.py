"""A small web server for one person on this machine: loopback only, and only with the token.

Every request must name a loopback host, so that a foreign name that resolves here is refused, and
have the token in its path. A POST must come from a page of this server. Pages may load nothing from
other hosts and run no script except the one whose hash they state.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from toolmark.core import json_codec
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, ToolmarkError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Image
from toolmark.studio import review_pages
from toolmark.studio.review_edit_check import InvalidSteps, StepFault

MAX_BODY_BYTES = 4 * 2**20
MAX_QUERY_LENGTH = 400  # characters
_MAX_LENGTH_DIGITS = len(str(MAX_BODY_BYTES))
_LOOPBACK_HOSTS = frozenset(("127.0.0.1", "localhost", "[::1]"))
_SECURITY_HEADERS = (
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
)
# by their first bytes: a stated type is untrusted
_MIME_BY_PREFIX = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)


class ReviewSession:
    """A sequence of questions: the page of each, and what to do with an answer.

    `media` are the stores with the pictures that pages may show.
    """

    media: Sequence[MediaStore] = ()

    def __len__(self) -> int:
        """Return the number of questions."""
        raise NotImplementedError

    def next_open(self, after: int = 0) -> str:
        """Return the next question to show: an open one after `after`, else `end`."""
        raise NotImplementedError

    def render_question(self, n: int) -> str:
        """Return the page of question n, counted from 1."""
        raise NotImplementedError

    def render_search(self, n: int, query: str, address: str) -> str | None:
        """Return the page with the results of a search for question n, and of a found page.

        None where questions are not answered with a search.
        """
        return None

    def render_overview(self) -> str:
        """Return the page after the last question."""
        raise NotImplementedError

    def summary_lines(self) -> tuple[str, ...]:
        """Return the decisions so far, in sentences."""
        raise NotImplementedError

    def record_answer(self, n: int, answer: ReviewAnswer) -> None:
        """Store an answer. Raises InvalidSteps, or UsageError for an invalid answer."""
        raise NotImplementedError


class ReviewAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a page sends: the choice, a note and the text of an edit."""

    choice: str
    note: str = ""
    steps: str = ""


@dataclass(frozen=True, slots=True)
class _HttpReply:
    status: int
    body: bytes
    kind: str = "text/plain; charset=utf-8"
    place: str = ""


class ReviewServer(ThreadingHTTPServer):
    """Serves a session on 127.0.0.1 at `url`. Port 0 selects a free port."""

    daemon_threads = True

    def __init__(self, session: ReviewSession, port: int = 0) -> None:
        """Bind the port and listen. Raises UsageError when the port is taken."""
        self.session = session
        self.token = secrets.token_urlsafe(32)
        self.answer_lock = threading.Lock()
        try:
            super().__init__(("127.0.0.1", port), _ReviewHandler)
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"cannot listen on 127.0.0.1:{port}: {error}; choose another --port, 0 for any"
            ) from None

    def server_bind(self) -> None:
        """Bind without a name lookup of this address: a resolver may be slow."""
        if self.allow_reuse_address:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = self.socket.getsockname()[:2]
        self.server_address = self.socket.getsockname()

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"


class _ReviewHandler(BaseHTTPRequestHandler):
    server: ReviewServer
    timeout = 30  # seconds: closes connections of clients that send nothing

    def version_string(self) -> str:
        return "toolmark"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: addresses contain the token."""

    def handle(self) -> None:
        with suppress(ConnectionError, TimeoutError):  # the browser closed the connection
            super().handle()

    def do_GET(self) -> None:
        self._send_reply(self._check_access() or self._handle_get())

    def do_POST(self) -> None:
        self._send_reply(self._check_access() or self._check_origin() or self._handle_post())

    def _check_access(self) -> _HttpReply | None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or _host_name(hosts[0]) not in _LOOPBACK_HOSTS:
            return _text_reply(403, "not a loopback host")
        path_parts = self.path.partition("?")[0].split("/")
        token = path_parts[1] if len(path_parts) > 1 else ""
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            return _text_reply(
                403, "no token, or not that of this review: use the address as printed"
            )
        return None

    def _check_origin(self) -> _HttpReply | None:
        """Refuse a request that was not sent by a page of this server."""
        if self.headers.get("Origin") != f"http://{self.headers['Host']}":
            return _text_reply(403, "not from this page")
        if self.headers.get_content_type() != "application/json":
            return _text_reply(415, "expected JSON")
        return None

    def _path_in_session(self) -> str:
        return self.path.partition("?")[0].removeprefix(f"/{self.server.token}")

    def _handle_get(self) -> _HttpReply:
        session, path = self.server.session, self._path_in_session()
        try:
            with self.server.answer_lock:
                match path.split("/"):
                    case [""] | ["", ""]:
                        return _HttpReply(
                            303, b"", place=f"/{self.server.token}/{session.next_open()}"
                        )
                    case ["", "end"]:
                        return _page_reply(session.render_overview())
                    case ["", "media", sha256]:
                        return _picture_reply(session.media, sha256)
                    case ["", "search"]:
                        return self._handle_search(session)
                    case ["", number] if (n := _question_number(number, len(session))) is not None:
                        return _page_reply(session.render_question(n))
        except ToolmarkError as error:
            return _text_reply(500, str(error))
        return _text_reply(404, "nothing here")

    def _handle_search(self, session: ReviewSession) -> _HttpReply:
        parameters = dict(parse_qsl(self.path.partition("?")[2], errors="replace"))
        n = _question_number(parameters.get("n", ""), len(session))
        query, address = parameters.get("words", "")[:MAX_QUERY_LENGTH], parameters.get("page", "")
        page = None if n is None else session.render_search(n, query, address)
        return _text_reply(404, "nothing here") if page is None else _page_reply(page)

    def _handle_post(self) -> _HttpReply:
        session = self.server.session
        n = _question_number(self._path_in_session().removeprefix("/"), len(session))
        if n is None:
            return _text_reply(404, "nothing here")
        length = self.headers.get("Content-Length", "")
        is_valid_length = (
            length.isascii() and length.isdecimal() and len(length) <= _MAX_LENGTH_DIGITS
        )
        if not is_valid_length or int(length) > MAX_BODY_BYTES:
            return _text_reply(
                413, f"at most {MAX_BODY_BYTES >> 20} MiB, and its length must be stated"
            )
        try:
            answer = json_codec.decode_record(self.rfile.read(int(length)), ReviewAnswer)
        except msgspec.DecodeError as error:
            return _text_reply(400, f"not an answer: {describe_decode_error(error)}")
        try:
            with self.server.answer_lock:
                session.record_answer(n, answer)
                return _json_reply(200, {"next": session.next_open(n)})
        except InvalidSteps as error:
            return _json_reply(422, {"faults": error.faults})
        except UsageError as error:
            return _json_reply(422, {"faults": [StepFault("", str(error))]})
        except ToolmarkError as error:
            return _text_reply(500, str(error))

    def _send_reply(self, reply: _HttpReply) -> None:
        self.send_response(reply.status)
        for name, value in _SECURITY_HEADERS:
            self.send_header(name, value)
        html = reply.kind.startswith("text/html")
        policy = review_pages.CONTENT_SECURITY_POLICY if html else "default-src 'none'; sandbox"
        self.send_header("Content-Security-Policy", policy)
        if reply.place:
            self.send_header("Location", reply.place)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)


def _host_name(host: str) -> str:
    """Return the host name of a Host header without its port, "" if it is not valid.

    The port is not checked: a forwarded port may have another number, and a foreign page cannot
    have a loopback name.
    """
    try:
        parts = urlsplit(f"//{host}")
        port = parts.port
    except ValueError:
        return ""
    name = host.removesuffix(f":{port}") if port is not None else host
    return name.lower()


def _question_number(text: str, n: int) -> int | None:
    is_valid = text.isascii() and text.isdecimal() and len(text) < 10
    return int(text) if is_valid and 1 <= int(text) <= n else None


def _picture_reply(stores: Sequence[MediaStore], sha256: str) -> _HttpReply:
    for media in stores:
        try:
            data = media.read(Image(sha256=sha256, mime="", size_bytes=0))
        except DataError:
            continue
        kind = _image_type(data)
        return (
            _HttpReply(200, data, kind)
            if kind
            else _text_reply(415, "not a picture that browsers show")
        )
    return _text_reply(404, "no such picture in the run")


def _image_type(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _MIME_BY_PREFIX if data.startswith(start)), "")


def _page_reply(text: str) -> _HttpReply:
    return _HttpReply(200, text.encode(errors="replace"), "text/html; charset=utf-8")


def _text_reply(status: int, text: str) -> _HttpReply:
    return _HttpReply(status, text.encode(errors="replace"))


def _json_reply(status: int, value: Any) -> _HttpReply:
    return _HttpReply(status, json_codec.encode_record(value), "application/json")
