"""Which values must not be stored or shown: keys, found by where they stand or how they look.

A key that is hidden too often tears a text apart, one that is hidden too seldom is stolen: what
the environment fills in is hidden, what is written out is judged by its name and its look.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from toolmark.errors import UsageError

_NAME = re.compile(
    "key|token(?!s|iz)|secret|pass(?!age|ive)|pwd|credential|cookie|dsn|bearer|jwt|auth(?!or(?!i))"
    "|(?:^|[^a-z])pat(?:$|[^a-z])|pw(?:$|[^a-z])",
    re.IGNORECASE,
)
OPEN = ("accept", "accept-encoding", "accept-language", "content-type", "user-agent")  # headers
_WORDS = re.compile(r"\W*(?:[^\W\d_]{1,20}|\d{1,12})(?:[\W_]+(?:[^\W\d_]{1,20}|\d{1,12}))*\W*")
_MIXED = 10  # characters from which words and numbers joined by hyphens may be a key
_LONG = 16  # characters from which a step of a path may be one
_FLAG = re.compile(r"true|false|yes|no|on|off|none|null|\d{1,5}", re.IGNORECASE)
_PAIR = re.compile(r"""(?<![\w.-])([\w.-]++)["']?\s*+[=:]\s*+["']?([^\s"'&;,]+)""")
_SCHEMES = ("basic", "bearer", "digest", "token")  # a header's first word, and no key
_WHOLE_PAIR = re.compile(r"-{0,2}([\w.-]+)\s*[=:]\s*(.+)", re.DOTALL)
_SHORTEST = 7  # characters of a key; see models.mask
# the beginnings by which services mark their keys
_MARKED = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|pk-|rk-|sk_|gsk_|hf_|gh[pousr]_|xox[abp]-|AKIA|AIza|eyJ|nvapi-|fw_|xai-"
    r"|tgp_|r8_|glpat-|github_pat_)[A-Za-z0-9_-]{9}"
)
_PIECE = re.compile("[A-Za-z0-9]+")
_CODED = re.compile("[A-Za-z0-9+/=]{16,}")
_RUN = re.compile("[A-Za-z0-9_+/=~.-]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGEST = re.compile("[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}")
_DRAWN = 16  # characters from which a piece of mixed letters and digits is drawn, not written
_DRAWN_LETTERS = 20
_TURNS = 3  # changes between small letters, capitals and digits, beyond what a name has
# fields of requests that look like keys by their names, or hold a hash on purpose
_OPEN_FIELDS = ("prompt_cache_key", "safety_identifier", "user")
_STANDS = re.compile(r"\[key-[0-9a-f]{8}\]")


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
        if _code(text):
            continue
        if (pair := _WHOLE_PAIR.fullmatch(text)) and named(pair[1]):
            yield from of_header(pair[1], pair[2])
        yield from of_text(text)


def _code(text: str) -> bool:
    """Tell whether a text is `module:NAME` or `FILE.py:NAME` of a file in the current folder."""
    place, _, name = text.rpartition(":")
    file = place if place.endswith(".py") else f"{place.replace('.', '/')}.py"
    return name.isidentifier() and os.path.isfile(file)


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


# --- what is written out -----------------------------------------------------------------


def looks(text: str) -> bool:
    """Tell whether some part of a text looks like a key: by its beginning, or drawn by chance."""
    if _MARKED.search(text) is not None or any(map(_drawn, _PIECE.findall(text))):
        return True
    return "+" in text and any(map(_drawn, map(_letters, _CODED.findall(text))))


def _letters(run: str) -> str:
    """Return what is left of base64 without its signs; nothing of what has none."""
    return "".join(_PIECE.findall(run)) if "+" in run else ""


def _drawn(piece: str) -> bool:
    """Tell whether letters and digits stand as no word, number or version has them."""
    if len(piece) < _DRAWN or piece.isdecimal():
        return False
    if _DIGEST.fullmatch(piece.lower()):
        return True
    kinds = ["d" if sign.isdigit() else "u" if sign.isupper() else "l" for sign in piece]
    turns = sum(one != other for one, other in pairwise(kinds))
    if "d" in kinds:
        return turns > _TURNS
    return len(piece) >= _DRAWN_LETTERS and turns > 2 * _TURNS


def stands_for(secret: str) -> str:
    """Return what is stored in a secret's place: equal for equal secrets, and of no use."""
    return f"[key-{hashlib.sha256(secret.encode('utf-8', 'replace')).hexdigest()[:8]}]"


def is_masked(text: str) -> bool:
    """Tell whether a text was stored with something in a secret's place."""
    return _STANDS.search(text) is not None


def stored(spec: str) -> str:
    """Return a model's name or its address as it may be stored."""
    return address(spec) if "://" in spec else _RUN.sub(_unlooked, spec)


def is_marked(text: str) -> bool:
    """Tell whether a text begins, somewhere, as the keys of services do."""
    return _MARKED.search(text) is not None


def check_stored(what: str, text: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raise UsageError where a text that is stored as it is holds a key; `what` it is of."""
    if is_marked(text) or address(text) != text or any(held in text for held in _set(environ)):
        raise UsageError(
            f"{what} holds what looks like a key, and is stored: give keys by the provider's "
            "variable, by TOOLMARK_API_KEY or by --header"
        )


def _set(environ: Mapping[str, str]) -> list[str]:
    """Return the keys that variables hold."""
    return [
        held
        for name, held in environ.items()
        if named(name) and len(held) >= _SHORTEST and not _path(held) and not _FLAG.fullmatch(held)
    ]


def address(url: str) -> str:
    """Return an address as it may be stored: what looks like a key in it is masked."""
    for secret in sorted(set(in_address(url)), key=len, reverse=True):
        url = url.replace(secret, stands_for(secret))
    return url


def in_address(url: str) -> Iterator[str]:
    """Go through the parts of an address that look like keys, as they stand there."""
    _, sign, rest = url.partition("://")
    if not sign:
        return
    path, _, fragment = rest.partition("#")
    path, _, query = path.partition("?")
    host, *steps = path.split("/")
    user, _, _ = host.rpartition("@")
    yield from filter(None, user.split(":"))
    for step in steps:
        if looks(unquote(step)) or _UUID.search(step):
            yield step
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        yield from (part for part in (name, value) if looks(unquote(part)))
        if value and named(name):
            yield value
    if looks(fragment):
        yield fragment


def in_body(body: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Go through the places in a request's body where a key stands, by name or by look."""
    for name, value in body.items():
        place = f"{path}{name}"
        if looks(str(name)):
            yield stands_for(place)
        else:
            yield from _in_value(str(name), value, place)


def _in_value(name: str, value: Any, place: str) -> Iterator[str]:
    match value:
        case Mapping():
            yield from in_body(value, f"{place}.")
        case list() | tuple():
            for each in value:
                yield from _in_value(name, each, place)
        case str() if name in _OPEN_FIELDS and (_DIGEST.fullmatch(value) or not looks(value)):
            return
        case str() if _closed(name, value) or (not _path(value) and looks(value)):
            yield place
        case _:
            return


def _closed(name: str, value: str) -> bool:
    return len(value) >= _SHORTEST and named(name) and not _FLAG.fullmatch(value)


def command(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return a command line as it may be stored: without what is a key by name, look or place."""
    secrets = {*of_arguments(words), *_set(environ)}
    found = []
    for word in words:
        for secret in (*in_address(word), *sorted(secrets, key=len, reverse=True)):
            word = word.replace(secret, stands_for(secret)) if len(secret) > 1 else word
        found.append(_RUN.sub(_unlooked, word))
    return found


def _unlooked(run: re.Match[str]) -> str:
    text = run[0]
    if not looks(text) or _path(text):
        return text
    whole = _MARKED.search(text) is not None
    return stands_for(text) if whole else _PIECE.sub(_undrawn, text)


def _undrawn(piece: re.Match[str]) -> str:
    return stands_for(piece[0]) if _drawn(piece[0]) else piece[0]
