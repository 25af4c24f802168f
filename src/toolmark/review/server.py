"""A small web server for one person at this machine: loopback only, and only who has the token.

Every request must name a loopback host (a name that was made to lead here is refused) and carry
the token in its path; a POST must come from a page of this server. Pages may load nothing from
elsewhere and run no script but the one whose hash they name.
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
from typing import Any, Protocol, runtime_checkable
from urllib.parse import parse_qsl, urlsplit

import msgspec

from toolmark import codec
from toolmark.errors import DataError, ToolmarkError, UsageError
from toolmark.media import Media
from toolmark.review import pages
from toolmark.review.edit import BadSteps, Fault
from toolmark.types import Image

LARGEST_BODY = 4 * 2**20
LONGEST_SEARCH = 400  # characters
_DIGITS = len(str(LARGEST_BODY))
_LOOPBACK = frozenset(("127.0.0.1", "localhost", "[::1]"))
_HEADERS = (
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
)
# by their first bytes: what a file says of itself, or another says of it, is foreign
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)


class Desk(Protocol):
    """Questions in a row: what is shown for each, and what becomes of an answer."""

    @property
    def media(self) -> Sequence[Media]:
        """Where the pictures are that pages may show."""
        ...

    def __len__(self) -> int:
        """Return the number of questions."""
        ...

    def next(self, after: int = 0) -> str:
        """Return where to go on: the next open question after this one, else `end`."""
        ...

    def page(self, n: int) -> str:
        """Return the page of question n, counted from 1."""
        ...

    def end(self) -> str:
        """Return the page at the end."""
        ...

    def lines(self) -> tuple[str, ...]:
        """Return what was decided so far, in sentences."""
        ...

    def decide(self, n: int, answer: Answer) -> None:
        """Keep an answer. Raises BadSteps, or UsageError for what is no answer to this."""
        ...


@runtime_checkable
class Searched(Protocol):
    """A desk whose questions are answered by searching pages that it holds."""

    def search(self, n: int, words: str, page: str) -> str:
        """Return the page of a search for question n, and of a page that was found."""
        ...


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a page sends: the choice, and with it a note and the text of an edit."""

    choice: str
    note: str = ""
    steps: str = ""


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: bytes
    kind: str = "text/plain; charset=utf-8"
    place: str = ""


class Server(ThreadingHTTPServer):
    """Serves a desk on 127.0.0.1; `url` is where. Port 0 takes a free one."""

    daemon_threads = True

    def __init__(self, desk: Desk, port: int = 0) -> None:
        """Listen. Raises UsageError when the port is taken."""
        self.desk = desk
        self.token = secrets.token_urlsafe(32)
        self.turns = threading.Lock()
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"cannot listen on 127.0.0.1:{port}: {error}; choose another --port, 0 for any"
            ) from None

    def server_bind(self) -> None:
        """Bind without asking who this address is: that may take a resolver's time."""
        if self.allow_reuse_address:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = self.socket.getsockname()[:2]
        self.server_address = self.socket.getsockname()

    @property
    def url(self) -> str:
        """Where to look, the token included."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 30  # seconds: a client that sends nothing must not stay

    def version_string(self) -> str:
        return "toolmark"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: addresses hold the token."""

    def handle(self) -> None:
        with suppress(ConnectionError, TimeoutError):  # the browser went away
            super().handle()

    def do_GET(self) -> None:
        self._answer(self._fault() or self._got())

    def do_POST(self) -> None:
        self._answer(self._fault() or self._foreign() or self._posted())

    def _fault(self) -> _Reply | None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or _name(hosts[0]) not in _LOOPBACK:
            return _text(403, "not a loopback host")
        given = self.path.partition("?")[0].split("/")
        token = given[1] if len(given) > 1 else ""
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            return _text(403, "no token, or not that of this review: use the address as printed")
        return None

    def _foreign(self) -> _Reply | None:
        """Refuse what was not sent by a page of this server."""
        if self.headers.get("Origin") != f"http://{self.headers['Host']}":
            return _text(403, "not from this page")
        if self.headers.get_content_type() != "application/json":
            return _text(415, "expected JSON")
        return None

    def _inside(self) -> str:
        return self.path.partition("?")[0].removeprefix(f"/{self.server.token}")

    def _got(self) -> _Reply:
        desk, inside = self.server.desk, self._inside()
        try:
            with self.server.turns:
                match inside.split("/"):
                    case [""] | ["", ""]:
                        return _Reply(303, b"", place=f"/{self.server.token}/{desk.next()}")
                    case ["", "end"]:
                        return _page(desk.end())
                    case ["", "media", sha256]:
                        return _picture(desk.media, sha256)
                    case ["", "search"] if isinstance(desk, Searched):
                        return self._searched(desk, len(desk))
                    case ["", number] if (n := _number(number, len(desk))) is not None:
                        return _page(desk.page(n))
        except ToolmarkError as error:
            return _text(500, str(error))
        return _text(404, "nothing here")

    def _searched(self, desk: Searched, most: int) -> _Reply:
        asked = dict(parse_qsl(self.path.partition("?")[2], errors="replace"))
        n = _number(asked.get("n", ""), most)
        if n is None:
            return _text(404, "nothing here")
        words, page = asked.get("words", "")[:LONGEST_SEARCH], asked.get("page", "")
        return _page(desk.search(n, words, page))

    def _posted(self) -> _Reply:
        desk = self.server.desk
        n = _number(self._inside().removeprefix("/"), len(desk))
        if n is None:
            return _text(404, "nothing here")
        length = self.headers.get("Content-Length", "")
        known = length.isascii() and length.isdecimal() and len(length) <= _DIGITS
        if not known or int(length) > LARGEST_BODY:
            return _text(413, f"at most {LARGEST_BODY >> 20} MiB, and its length must be told")
        try:
            answer = codec.decode(self.rfile.read(int(length)), Answer)
        except msgspec.DecodeError as error:
            return _text(400, f"not an answer: {error}")
        try:
            with self.server.turns:
                desk.decide(n, answer)
                return _json(200, {"next": desk.next(n)})
        except BadSteps as error:
            return _json(422, {"faults": error.faults})
        except UsageError as error:
            return _json(422, {"faults": [Fault("", str(error))]})
        except ToolmarkError as error:
            return _text(500, str(error))

    def _answer(self, reply: _Reply) -> None:
        self.send_response(reply.status)
        for name, value in _HEADERS:
            self.send_header(name, value)
        html = reply.kind.startswith("text/html")
        policy = pages.POLICY if html else "default-src 'none'; sandbox"
        self.send_header("Content-Security-Policy", policy)
        if reply.place:
            self.send_header("Location", reply.place)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)


def _name(host: str) -> str:
    """Return the name in a Host header without its port, "" where it is none.

    The port is left aside: a forwarded one may have another number, and a stranger's page cannot
    have a loopback name.
    """
    try:
        parts = urlsplit(f"//{host}")
        port = parts.port
    except ValueError:
        return ""
    name = host.removesuffix(f":{port}") if port is not None else host
    return name.lower()


def _number(word: str, n: int) -> int | None:
    sound = word.isascii() and word.isdecimal() and len(word) < 10
    return int(word) if sound and 1 <= int(word) <= n else None


def _picture(stores: Sequence[Media], sha256: str) -> _Reply:
    for media in stores:
        try:
            data = media.read(Image(sha256=sha256, mime="", size_bytes=0))
        except DataError:
            continue
        kind = _kind(data)
        return _Reply(200, data, kind) if kind else _text(415, "not a picture that browsers show")
    return _text(404, "no such picture in the run")


def _kind(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _KINDS if data.startswith(start)), "")


def _page(text: str) -> _Reply:
    return _Reply(200, text.encode(errors="replace"), "text/html; charset=utf-8")


def _text(status: int, text: str) -> _Reply:
    return _Reply(status, text.encode(errors="replace"))


def _json(status: int, value: Any) -> _Reply:
    return _Reply(status, codec.encode(value), "application/json")
