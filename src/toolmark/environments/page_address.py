"""Identity of pages by address: one rule for serving and for scoring."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

PAGE_SUFFIXES = (".html", ".htm", ".md", ".txt")
"""Suffixes of files that are pages."""
MAX_PAGE_BYTES = 8 * 2**20
"""The bytes of a file that belong to its page; the rest is ignored, as on the public web."""


def page_key(url: str) -> str:
    """Return host, path and query of an address, which identify its page.

    The scheme, the case of the host, the file suffix and the fragment are ignored. An address that
    cannot be parsed gives "".
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host, path = unquote(parts.netloc).lower(), unquote(parts.path).rstrip("/")
    for suffix in PAGE_SUFFIXES:
        path = path.removesuffix(suffix)
    path = path.removesuffix("/index")
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{path}{query}"
