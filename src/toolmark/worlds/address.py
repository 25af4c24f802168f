"""What tells pages apart by their addresses: one rule for those who serve and those who score."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

SUFFIXES = (".html", ".htm", ".md", ".txt")
"""Endings of the files that are pages."""
MAX_BYTES = 8 * 2**20
"""Of a file: what is beyond is no part of the page, as on the public web."""


def place(url: str) -> str:
    """Return host and path: not the scheme, the case of the host, the ending or fragment.

    An address that cannot be read is that of no page, "".
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host, path = unquote(parts.netloc).lower(), unquote(parts.path).rstrip("/")
    for suffix in SUFFIXES:
        path = path.removesuffix(suffix)
    path = path.removesuffix("/index")
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{path}{query}"
