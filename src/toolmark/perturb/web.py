"""One request over HTTP to a speech service, and what came of it as this project's errors.

The key goes to the address that the user named and nowhere else: redirects are not followed, and
no error repeats it.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from toolmark import private
from toolmark.errors import (
    EndpointError,
    RateLimited,
    Rejected,
    Timeout,
    Torn,
    Unavailable,
    UsageError,
)

_T = TypeVar("_T")
_BLOCK_BYTES = 2**16
_SAID_BYTES = 2000
_FIRST_S, _LONGEST_S = 0.5, 60.0


class Service(NamedTuple):
    """Who is asked: the name that errors show, the base address, the key and where it is set.

    The name holds no address but a masked one.
    """

    name: str
    url: str
    key: str = ""
    key_name: str = ""
    timeout_s: float = 120.0
    most_bytes: int = 4 * 2**20


def checked(url: str, *, named: str = "the address", key_name: str = "") -> str:
    """Return the base of an address, without a slash at its end; `named` is what holds it.

    What only looks like a key, such as the number of an account or a voice, stays: whoever stores
    or shows the address masks it (`private.address`). Raises UsageError for anything but a plain
    http:// or https:// address, and for one that holds what begins as the keys of services do.
    """
    step = f": use {key_name}" if key_name else ""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise UsageError(f"{named} is no address; it looks like http://HOST:PORT/v1") from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise UsageError(f"neither credentials nor a query in an address, {named}{step}")
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or port == 0
        or not fits(url.strip())
    ):
        raise UsageError(f"{named} is no address; it looks like http://HOST:PORT/v1")
    found = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    if private.is_marked(unquote(found)):
        raise UsageError(f"{named} holds a key{step}")
    return found


def fits(text: str) -> bool:
    """Tell whether a text may stand in a request's head."""
    return text.isascii() and text.isprintable() and " " not in text


def patient(ask: Callable[[], _T], tries: int) -> _T:
    """Return what is asked for; again, `tries` times in all, after 429, 408, 5xx and silence.

    The pause doubles, unless the server names one; it is a minute at most.
    """
    for left in range(tries - 1, -1, -1):
        try:
            return ask()
        except (RateLimited, Unavailable, Timeout, Torn) as error:
            if not left:
                raise
            wished_s = getattr(error, "wait_s", None)
            pause_s = _FIRST_S * 2 ** (tries - 1 - left) if wished_s is None else wished_s
            time.sleep(min(pause_s, _LONGEST_S))
    raise AssertionError("unreachable: the last try raises")


def post(service: Service, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return the whole body of the answer, however slowly it drips: within the time-out.

    Raises EndpointError's kinds as a model does, and UsageError for a key that no head can carry.
    """
    if service.key and not fits(service.key):
        raise UsageError(f"{service.key_name} holds characters that no key has")
    head = {"User-Agent": "toolmark", **headers}
    request = urllib.request.Request(service.url + path, body, head, method="POST")
    late = f"{service.name}: no answer in {service.timeout_s:g} s"
    try:
        with _OPENER.open(request, timeout=service.timeout_s) as answer:
            return _whole(answer, service)
    except urllib.error.HTTPError as error:
        with error:
            raise _refused(error, service) from None
    except TimeoutError:
        raise Timeout(late) from None
    except IncompleteRead:
        raise Torn(f"{service.name}: the answer ended early") from None
    except (urllib.error.URLError, HTTPException, OSError) as error:
        if isinstance(getattr(error, "reason", None), TimeoutError):
            raise Timeout(late) from None
        why = _without(str(error), service)[:200]
        raise Unavailable(f"{service.name}: cannot be reached: {why}") from None


def _whole(answer: HTTPResponse, service: Service) -> bytes:
    end_s = time.monotonic() + service.timeout_s
    body = bytearray()
    while block := answer.read1(_BLOCK_BYTES):
        body += block
        if len(body) > service.most_bytes:
            raise Torn(f"{service.name}: the answer is longer than {service.most_bytes} bytes")
        if time.monotonic() > end_s:
            raise TimeoutError
    length = answer.headers.get("Content-Length", "")
    if length.isdigit() and int(length) != len(body):  # read1 takes an early end for the end
        raise Torn(f"{service.name}: {len(body)} of {length} bytes came")
    return bytes(body)


def _refused(error: urllib.error.HTTPError, service: Service) -> EndpointError:
    try:
        said = error.read(_SAID_BYTES).decode("utf-8", "replace").strip() if error.fp else ""
    except (OSError, HTTPException):  # the status is what counts
        said = ""
    said = _without(said, service)[:200]
    what = f"{service.name}: HTTP status {error.code}{': ' if said else ''}{said}"
    wait_s = _wait_s(error.headers)
    if error.code == 429:
        return RateLimited(what, wait_s, error.code)
    if error.code >= 500 or error.code == 408:
        return Unavailable(what, wait_s, error.code)
    step = f"; next: check {service.key_name}" if error.code in (401, 403) else ""
    return Rejected(what + step, error.code)


def _without(text: str, service: Service) -> str:
    """Return a text with what is secret masked: servers repeat what they were sent."""
    for part in sorted(set(private.in_address(service.url)), key=len, reverse=True):
        for form in (part, unquote(part)):
            text = text.replace(form, private.stands_for(part))
    return text.replace(service.key or "\0", "[key]")


def _wait_s(headers: Message) -> float | None:
    value = headers.get("Retry-After", "")
    return float(value) if value.replace(".", "", 1).isdigit() else None


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follow no redirect: a key must not travel to a host that the user did not name."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Stay)
