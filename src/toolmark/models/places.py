"""Where a model is asked: its name as the user wrote it, to an address, a name there and a key."""

from __future__ import annotations

import os
import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from toolmark import private
from toolmark.errors import UsageError, near

OWN_KEY = "TOOLMARK_API_KEY"


class Provider(NamedTuple):
    """An OpenAI-compatible endpoint that has a name; `key` is the variable that holds its key."""

    url: str
    key: str


PROVIDERS = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "fireworks": Provider("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY"),
}
SCHEMES = (
    *(f"{name}/" for name in PROVIDERS),
    *("http://", "https://", "baseline/", "test/", "module:attribute"),
)
_HIDDEN = re.compile(r"(?<=//).*@|\?[^#]*")
_QUERY = re.compile(r"[\w.~=&%:+,-]+", re.ASCII)
_KEYS = re.compile("key|token|secret|sig|auth|pass|cred|code|session", re.IGNORECASE)
_LONGEST = 24  # characters of a word in a query: what is longer may be a key


class Place(NamedTuple):
    """An address without credentials, the model's name there, the variable that holds the key.

    `needs_key` says that nothing is answered there without one.
    """

    url: str
    name: str
    key_name: str
    needs_key: bool


def provided(spec: str) -> bool:
    """Tell whether the name begins with a provider's."""
    scheme, slash, _ = spec.partition("/")
    return bool(slash) and scheme in PROVIDERS


def find(spec: str, base_url: str | None) -> Place:
    """Return the place of `PROVIDER/NAME` or `http(s)://HOST:PORT/v1#NAME`. Raises UsageError.

    A provider's address gives way to `base_url`, OpenAI's to OPENAI_BASE_URL too.
    """
    scheme, _, name = spec.partition("/")
    if provided(spec):
        if not name:
            raise UsageError(f"name the model: {scheme}/NAME")
        _check_name(name)
        own, key_name = PROVIDERS[scheme]
        told = os.environ.get("OPENAI_BASE_URL") if scheme == "openai" else ""
        url = _url(base_url or told or own)
        return Place(url, name, key_name, url == own)
    if not spec.startswith(("http://", "https://")):
        known = near(spec, SCHEMES)
        shown = private.stored(spec)
        raise UsageError(f"no model {shown!r}{known}; your own endpoint: http://HOST:PORT/v1#NAME")
    if base_url:
        given = _shown(spec)
        raise UsageError(f"{given} is an address already: leave --base-url out, or use openai/NAME")
    url, _, name = spec.partition("#")
    if not name:
        raise UsageError(f"name the model after a '#': {_shown(url)}#NAME")
    _check_name(name)
    return Place(_url(url), name, OWN_KEY, False)


def at(url: str, path: str) -> str:
    """Return the address of what lies below: `.../v1?a=b` and `models` is `.../v1/models?a=b`."""
    base, sign, query = url.partition("?")
    return f"{base}/{path}{sign}{query}"


def _check_name(name: str) -> None:
    if private.is_marked(name):
        raise UsageError(
            "the model's name looks like a key, and names are stored: keys come from the "
            f"provider's variable, from {OWN_KEY} or by --header"
        )


def _url(text: str) -> str:
    """Return the base of the address, checked; its query stays."""
    shown = _shown(text)
    if private.is_masked(text):
        raise UsageError(f"{shown} was stored without its key: write the whole address")
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise UsageError(f"not an address: {shown!r}") from None
    if parts.username or parts.password:
        raise UsageError(f"no credentials in an address: use {OWN_KEY} or --header")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"not an address: {shown!r}; it looks like http://HOST:PORT/v1")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return f"{parts.scheme}://{parts.netloc}{path}{_query(parts.query)}"


def _query(text: str) -> str:
    """Return the query with its sign. An address is stored, and so must not hold a key."""
    if not text:
        return ""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True)
    except ValueError:  # a bare word may be anything
        pairs = [("key", "")]
    long = any(max(map(len, pair)) > _LONGEST for pair in pairs)
    long = long or any(map(private.looks, (each for pair in pairs for each in pair)))
    if long or not _QUERY.fullmatch(text) or any(_KEYS.search(name) for name, _ in pairs):
        raise UsageError(
            "the query of an address looks as if it held a key, and addresses are stored: give "
            f"that in the provider's variable, in {OWN_KEY}, or by --header"
        )
    return f"?{text}"


def _shown(text: str) -> str:
    """Return an address without what may be a secret: password, query, a key in its path."""
    return private.address(_HIDDEN.sub("", text))
