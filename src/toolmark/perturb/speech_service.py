"""Send one HTTP request to a speech service; failures become this project's errors.

The key is sent only to the address that the user named: redirects are not followed, and no error
message contains the key.
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

from toolmark.core import secrets
from toolmark.core.errors import (
    EndpointError,
    RateLimited,
    Rejected,
    Timeout,
    TornReply,
    Unavailable,
    UsageError,
)
from toolmark.core.http_status import describe_status

_T = TypeVar("_T")
_BLOCK_BYTES = 2**16
_ERROR_BODY_BYTES = 2000
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.5, 60.0


class Service(NamedTuple):
    """A speech service: its name in errors, base address, key, and the variable that sets the key.

    An address in the name is masked. `timeout_s` is in seconds, `max_bytes` limits the answer.
    """

    name: str
    url: str
    key: str = ""
    key_name: str = ""
    timeout_s: float = 120.0
    max_bytes: int = 4 * 2**20


def check_address(url: str, *, label: str = "the address", key_name: str = "") -> str:
    """Return the base of an address, without a slash at its end; `label` names it in errors.

    A part that only looks like a key, such as the number of an account or a voice, stays: code that
    stores or shows the address masks it (`secrets.mask_address`). Raises UsageError for anything
    but a plain http:// or https:// address, and for an address with a part that has a service's key
    prefix.
    """
    hint = f": use {key_name}" if key_name else ""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise UsageError(f"{label} is not an address; it looks like http://HOST:PORT/v1") from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise UsageError(f"neither credentials nor a query in an address, {label}{hint}")
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or port == 0
        or not is_header_safe(url.strip())
    ):
        raise UsageError(f"{label} is not an address; it looks like http://HOST:PORT/v1")
    found = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    if secrets.has_key_prefix(unquote(found)):
        raise UsageError(f"{label} holds a key{hint}")
    return found


def is_header_safe(text: str) -> bool:
    """Return whether a text may be used in a request header."""
    return text.isascii() and text.isprintable() and " " not in text


def retry_request(request: Callable[[], _T], n_tries: int) -> _T:
    """Return the result of `request`; try up to `n_tries` times after 429, 408, 5xx or no answer.

    The pause doubles each time, unless the server names one; it is at most a minute.
    """
    for n_left in range(n_tries - 1, -1, -1):
        try:
            return request()
        except (RateLimited, Unavailable, Timeout, TornReply) as error:
            if not n_left:
                raise
            requested_s = error.wait_s if isinstance(error, RateLimited | Unavailable) else None
            pause_s = (
                _FIRST_PAUSE_S * 2 ** (n_tries - 1 - n_left) if requested_s is None else requested_s
            )
            time.sleep(min(pause_s, _MAX_PAUSE_S))
    raise AssertionError("unreachable: the last try raises")


def post_request(service: Service, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return the body of the answer. The timeout covers the complete answer, however slow it is.

    Raises the same kinds of EndpointError as a model, and UsageError for a key that cannot be in a
    header.
    """
    if service.key and not is_header_safe(service.key):
        raise UsageError(f"{service.key_name} holds characters that no key has")
    head = {"User-Agent": "toolmark", **headers}
    request = urllib.request.Request(service.url + path, body, head, method="POST")
    timeout_message = f"{service.name}: no answer in {service.timeout_s:g} s"
    try:
        with _OPENER.open(request, timeout=service.timeout_s) as answer:
            return _read_body(answer, service)
    except urllib.error.HTTPError as error:
        with error:
            raise _status_error(error, service) from None
    except TimeoutError:
        raise Timeout(timeout_message) from None
    except IncompleteRead:
        raise TornReply(f"{service.name}: the answer ended early") from None
    except (urllib.error.URLError, HTTPException, OSError) as error:
        if isinstance(error, urllib.error.URLError) and isinstance(error.reason, TimeoutError):
            raise Timeout(timeout_message) from None
        why = _mask_secrets(str(error), service)[:200]
        raise Unavailable(f"{service.name}: cannot be reached: {why}") from None


def _read_body(answer: HTTPResponse, service: Service) -> bytes:
    end_s = time.monotonic() + service.timeout_s
    body = bytearray()
    while block := answer.read1(_BLOCK_BYTES):
        body += block
        if len(body) > service.max_bytes:
            raise TornReply(f"{service.name}: the answer is longer than {service.max_bytes} bytes")
        if time.monotonic() > end_s:
            raise TimeoutError
    length = answer.headers.get("Content-Length", "")
    if length.isdigit() and int(length) != len(body):  # read1 does not report an early end
        raise TornReply(f"{service.name}: {len(body)} of {length} bytes came")
    return bytes(body)


def _status_error(error: urllib.error.HTTPError, service: Service) -> EndpointError:
    try:
        body = error.read(_ERROR_BODY_BYTES).decode("utf-8", "replace").strip() if error.fp else ""
    except (OSError, HTTPException):  # the status is enough
        body = ""
    body = _mask_secrets(body, service)[:200]
    message = f"{service.name}: HTTP status {describe_status(error.code, body)}"
    wait_s = _retry_after_s(error.headers)
    if error.code == 429:
        return RateLimited(message, wait_s, error.code)
    if error.code >= 500 or error.code == 408:
        return Unavailable(message, wait_s, error.code)
    hint = f"; next: check {service.key_name}" if error.code in (401, 403) else ""
    return Rejected(message + hint, error.code)


def _mask_secrets(text: str, service: Service) -> str:
    """Return a text with secrets masked: servers repeat what they were sent."""
    for part in sorted(set(secrets.keys_in_address(service.url)), key=len, reverse=True):
        for form in (part, unquote(part)):
            text = text.replace(form, secrets.placeholder_for(part))
    return text.replace(service.key or "\0", "[key]")


def _retry_after_s(headers: Message) -> float | None:
    value = headers.get("Retry-After", "")
    return float(value) if value.replace(".", "", 1).isdigit() else None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follow no redirect: a key must not be sent to a host that the user did not name."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)
