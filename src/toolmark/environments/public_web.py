"""Fetches pages of the public web and refuses all other addresses.

An address that a model chose must not reach what only this machine can reach. Only http and https
are allowed. Every address that the host's name resolves to must be public, and the connection goes
to the checked address, so that the name cannot change in between. Each redirect is checked in the
same way. Behind a proxy the proxy connects: there a name that this machine cannot resolve is
allowed if it contains a dot.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.request import getproxies, proxy_bypass

from pyreqwest import exceptions
from pyreqwest.client import ClientBuilder
from pyreqwest.http import Url
from pyreqwest.response import Response

TIMEOUT_S = 20.0
MAX_REDIRECTS = 10
MAX_BODY_BYTES = 8 * 2**20

_UNICAST = ip_network("2000::/3")
_HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; toolmark)",
    "Accept": "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5",
    "Accept-Language": "en-US,en;q=0.9",
}
_REDIRECTS = (301, 302, 303, 307, 308)
_CHARSET = re.compile(r"charset=[\"']?([\w-]+)", re.IGNORECASE)


class PageError(Exception):
    """A page that cannot be fetched; the text gives the reason."""


class _Answer(NamedTuple):
    status: int
    location: str
    text: str


def is_public(address: str) -> bool:
    """Tell whether an IP address belongs to the public internet."""
    try:
        ip: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        if ip not in _UNICAST or ip.sixtofour is not None:
            return False
    return ip.is_global and not ip.is_multicast


async def fetch_page(url: str, *, public: Callable[[str], bool] = is_public) -> str:
    """Return the text of a page. Raises PageError, also for any address outside the public web."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            return await _follow_redirects(url, public)
    except TimeoutError:
        raise PageError(f"no complete answer within {TIMEOUT_S:.0f} s") from None


async def _follow_redirects(text: str, public: Callable[[str], bool]) -> str:
    url = _parse_url(text)
    for _ in range(MAX_REDIRECTS + 1):
        answer = await _request_page(url, await _check_target(url, public))
        if answer.status in _REDIRECTS and answer.location:
            url = _join_url(url, answer.location)
            continue
        if answer.status >= 400:
            raise PageError(f"the server answered with status {answer.status}")
        return answer.text
    raise PageError(f"more than {MAX_REDIRECTS} redirects")


async def _check_target(url: Url, public: Callable[[str], bool]) -> tuple[str, str, int] | None:
    """Return host, IP address and port to connect to, None where the proxy decides.

    The transport's own parser splits the address: with two parsers that disagree about the host,
    one host would be checked and another connected to. Raises PageError.
    """
    host, port = url.host_str or "", url.port_or_known_default
    if url.scheme not in ("http", "https") or not host or port is None:
        raise PageError("only http and https addresses with a host can be fetched")
    if url.username or url.password:
        raise PageError("an address with a user name cannot be fetched")
    addresses = await _resolve_host(host.strip("[]"), port)
    proxied = url.scheme in getproxies() and not proxy_bypass(host)
    if not addresses and not (proxied and "." in host):
        raise PageError("the host's name cannot be resolved")
    if not all(public(address) for address in addresses):
        raise PageError("the host is not on the public internet")
    return (host, addresses[0], port) if addresses and not proxied else None


def _parse_url(text: str) -> Url:
    try:
        return Url(text)
    except ValueError:
        raise PageError("not a readable address") from None


def _join_url(url: Url, location: str) -> Url:
    try:
        return url.join(location)
    except ValueError:
        raise PageError("a redirect to no readable address") from None


async def _resolve_host(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host name, none where it cannot be resolved."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(entry[4][0]) for entry in found]


async def _request_page(url: Url, target: tuple[str, str, int] | None) -> _Answer:
    limit = timedelta(seconds=TIMEOUT_S)
    builder = ClientBuilder().default_headers(_HEADERS).timeout(limit).follow_redirects(False)
    if target is not None:
        builder = builder.no_proxy().resolve(*target)
    try:
        async with builder.build() as client, client.get(url).build_streamed() as response:
            location = response.get_header("location") or ""
            if response.status in _REDIRECTS and location:
                return _Answer(response.status, location, "")
            return _Answer(response.status, "", await _read_text(response))
    except (exceptions.PyreqwestError, ValueError) as error:
        raise PageError(f"the page cannot be reached ({_error_cause(error)})") from None


async def _read_text(response: Response) -> str:
    chunks: list[bytes] = []
    size = 0
    while (chunk := await response.body_reader.read_chunk()) is not None:
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise PageError(f"the page is larger than {MAX_BODY_BYTES} bytes")
        chunks.append(chunk.to_bytes())
    charset = _CHARSET.search(response.get_header("content-type") or "")
    try:
        return b"".join(chunks).decode(charset[1] if charset else "utf-8", errors="replace")
    except LookupError:
        return b"".join(chunks).decode("utf-8", errors="replace")


def _error_cause(error: Exception) -> str:
    details = getattr(error, "details", None) or {}
    causes = details.get("causes") or []
    return str(causes[-1]["message"]) if causes else str(error)
