"""The endpoint of a model: from its name as the user wrote it to address, model name and key."""

from __future__ import annotations

import os
import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from toolmark.core import secrets
from toolmark.core.errors import UsageError, suggest_names
from toolmark.models.provider_table import providers

OWN_KEY_VARIABLE = "TOOLMARK_API_KEY"


_CREDENTIALS_AND_QUERY = re.compile(r"(?<=//).*@|\?[^#]*")
_ALLOWED_QUERY = re.compile(r"[\w.~=&%:+,-]+", re.ASCII)
_SECRET_PARAMETER = re.compile("key|token|secret|sig|auth|pass|cred|code|session", re.IGNORECASE)
_MAX_QUERY_WORD_CHARS = 24  # of a word in a query: what is longer may be a key


class EndpointAddress(NamedTuple):
    """An address without credentials, the model's name there, and the variable with the key.

    `needs_key` says that the endpoint answers nothing without a key.
    """

    url: str
    name: str
    key_name: str
    needs_key: bool


def is_provider_spec(spec: str) -> bool:
    """Return whether the name begins with a provider's name."""
    scheme, slash, _ = spec.partition("/")
    return bool(slash) and scheme in providers()


def resolve_address(spec: str, base_url: str | None) -> EndpointAddress:
    """Return the address of `PROVIDER/NAME` or `http(s)://HOST:PORT/v1#NAME`; raises UsageError.

    `base_url` replaces a provider's address; for OpenAI so does OPENAI_BASE_URL.
    """
    scheme, _, name = spec.partition("/")
    if is_provider_spec(spec):
        if not name:
            raise UsageError(f"name the model: {scheme}/NAME")
        _check_name(name)
        provider = providers()[scheme]
        url_from_environ = os.environ.get("OPENAI_BASE_URL") if scheme == "openai" else ""
        url = _check_base_url(base_url or url_from_environ or provider.url)
        return EndpointAddress(url, name, provider.key_variable, url == provider.url)
    if not spec.startswith(("http://", "https://")):
        prefix = f"{scheme}/" if "/" in spec else spec
        known = suggest_names(prefix, _name_prefixes(), listing="toolmark run --help")
        shown = secrets.mask_model_spec(spec)
        raise UsageError(f"no model {shown!r}{known}; your own endpoint: http://HOST:PORT/v1#NAME")
    if base_url:
        visible = _public_address(spec)
        raise UsageError(
            f"{visible} is an address already: leave --base-url out, or use openai/NAME"
        )
    url, _, name = spec.partition("#")
    if not name:
        raise UsageError(f"name the model after a '#': {_public_address(url)}#NAME")
    _check_name(name)
    return EndpointAddress(_check_base_url(url), name, OWN_KEY_VARIABLE, False)


def _name_prefixes() -> tuple[str, ...]:
    """Return what the name of a model can begin with."""
    others = ("http://", "https://", "baseline/", "control/", "module:attribute")
    return (*(f"{name}/" for name in providers()), *others)


def join_path(url: str, path: str) -> str:
    """Return the address of a sub-path: `.../v1?a=b` and `models` give `.../v1/models?a=b`."""
    base_url, sign, query = url.partition("?")
    return f"{base_url}/{path}{sign}{query}"


def _check_name(name: str) -> None:
    if secrets.has_key_prefix(name):
        raise UsageError(
            "the model's name looks like a key, and names are stored: keys come from the "
            f"provider's variable, from {OWN_KEY_VARIABLE} or by --header"
        )


def _check_base_url(text: str) -> str:
    """Return the checked base of the address, with its query."""
    shown = _public_address(text)
    if secrets.is_masked(text):
        raise UsageError(f"{shown} was stored without its key: write the whole address")
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise UsageError(f"not an address: {shown!r}") from None
    if parts.username or parts.password:
        raise UsageError(f"no credentials in an address: use {OWN_KEY_VARIABLE} or --header")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"not an address: {shown!r}; it looks like http://HOST:PORT/v1")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return f"{parts.scheme}://{parts.netloc}{path}{_check_query(parts.query)}"


def _check_query(text: str) -> str:
    """Return the query with its `?`; an address is stored, so it must not contain a key."""
    if not text:
        return ""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True)
    except ValueError:  # a single word may be anything
        pairs = [("key", "")]
    looks_secret = any(max(map(len, pair)) > _MAX_QUERY_WORD_CHARS for pair in pairs)
    looks_secret = looks_secret or any(
        map(secrets.looks_like_key, (each for pair in pairs for each in pair))
    )
    if (
        looks_secret
        or not _ALLOWED_QUERY.fullmatch(text)
        or any(_SECRET_PARAMETER.search(name) for name, _ in pairs)
    ):
        raise UsageError(
            "the query of an address looks as if it contained a key, and addresses are stored: "
            "give "
            f"that in the provider's variable, in {OWN_KEY_VARIABLE}, or by --header"
        )
    return f"?{text}"


def _public_address(text: str) -> str:
    """Return an address without what may be a secret: password, query, a key in its path."""
    return secrets.mask_address(_CREDENTIALS_AND_QUERY.sub("", text))
