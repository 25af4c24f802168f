"""Which values of a server's configuration must not be shown: found by where they stand.

A key that is hidden too often tears a text apart, one that is hidden too seldom is stolen: what
the environment fills in is hidden, what is written out is judged by its name and its look.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl, unquote, urlsplit

_NAME = re.compile(
    "key|token(?!s)|secret|pass(?!age|ive)|pwd|credential|cookie|dsn|bearer|jwt|auth(?!or(?!i))"
    "|(?:^|[^a-z])pat(?:$|[^a-z])|pw(?:$|[^a-z])",
    re.IGNORECASE,
)
OPEN = ("accept", "accept-encoding", "accept-language", "content-type", "user-agent")  # headers
_WORDS = re.compile(r"\W*(?:[^\W\d_]{1,20}|\d{1,12})(?:[\W_]+(?:[^\W\d_]{1,20}|\d{1,12}))*\W*")
_MIXED = 10  # characters from which words and numbers joined by hyphens may be a key
_LONG = 16  # characters from which a step of a path may be one
_FLAG = re.compile(r"true|false|yes|no|on|off|none|null|\d{1,5}", re.IGNORECASE)
_PAIR = re.compile(r"""([\w.-]+)["']?\s*[=:]\s*["']?([^\s"'&;,]+)""")
_SCHEMES = ("basic", "bearer", "digest", "token")  # a header's first word, and no key
_WHOLE_PAIR = re.compile(r"-{0,2}([\w.-]+)\s*[=:]\s*(.+)", re.DOTALL)


def named(name: str) -> bool:
    """Tell whether something of that name is to be kept to oneself: a key, token, password."""
    return _NAME.search(name) is not None


def of_variable(name: str, value: str) -> Iterator[str]:
    """Go through the secrets in a variable from outside: all of it, but for a path or a flag."""
    if named(name) or not (_path(value) or _FLAG.fullmatch(value)):
        yield value
        yield from of_text(value)


def of_entry(name: str, value: str) -> Iterator[str]:
    """Go through the secrets in a named value: all of it, if the name or its look says so."""
    if named(name) or not _plain(value):
        yield value
    yield from of_text(value)


def of_header(name: str, value: str) -> Iterator[str]:
    """Go through the secrets in a header: all of it, and each word behind the first."""
    if name.lower() in OPEN:
        return
    yield value
    yield from (word.strip("\"',;") for word in value.split()[1:])
    yield from of_text(value)


def of_arguments(args: Sequence[str]) -> Iterator[str]:
    """Go through the secrets in a command line: behind a flag or a name that says so."""
    for before, text in zip(("", *args), args, strict=False):
        flag = before.startswith("-") and not before.startswith("--no-") and "=" not in before
        if flag and named(before) and not text.startswith("--"):
            yield text
        if (pair := _WHOLE_PAIR.fullmatch(text)) and named(pair[1]):
            yield from of_header(pair[1], pair[2])
        yield from of_text(text)


def of_text(text: str) -> Iterator[str]:
    """Go through the secrets inside a text: an address's, and those of `name=value` in it."""
    if "://" in text:
        yield from _of_address(text)
    for name, value in _PAIR.findall(text):
        if named(name) and value.lower() not in _SCHEMES:
            yield value


def _of_address(text: str) -> Iterator[str]:
    try:
        parts = urlsplit(text)
        user, word = parts.username, parts.password
    except ValueError:
        yield text
        return
    long = [held for held in parts.path.split("/") if len(held) >= _LONG]
    maybe = [*(long if parts.scheme in ("http", "https") else ()), "" if word else user or ""]
    for held in (word or "", *(held for held in maybe if not _plain(held))):
        yield from (held, unquote(held))
    for name, value in parse_qsl(parts.query):
        if named(name) or not _plain(value):
            yield value


def _plain(value: str) -> bool:
    """Tell whether a text is a path, an address, or of words and numbers, which are no keys."""
    if "://" in value or _path(value):
        return True
    if _WORDS.fullmatch(value) is None:
        return not any(letter.isalnum() for letter in value)
    return " " in value or len(value) < _MIXED or value.isdecimal() or not _mixed(value)


def _mixed(value: str) -> bool:
    return any(map(str.isdecimal, value)) and any(map(str.isalpha, value))


def _path(value: str) -> bool:
    """Tell whether a text is a path; one from the root starts with a folder that is there."""
    if value.startswith(("./", "../", "~/", "${workspace}")):
        return True
    root, _, rest = value.partition("/")
    return bool(rest and not root) and os.path.exists(f"/{rest.partition('/')[0]}")
