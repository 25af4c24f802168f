"""The endpoint of a model: from its name as the user wrote it to address, model name and key."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from toolmark.core import entry_points, secrets
from toolmark.core.errors import UsageError, suggest_names
from toolmark.models import model_family
from toolmark.models.provider_table import Provider, provider_table, providers
from toolmark.models.wire_names import WIRE_NAMES, WireName

OWN_KEY_VARIABLE = "TOOLMARK_API_KEY"
_ENDING_BY_WIRE: Mapping[WireName, str] = MappingProxyType(
    {"chat": "/chat/completions", "responses": "/responses", "anthropic": "/messages"}
)
_GEMINI_METHOD = re.compile(r"/(?:models|tunedModels)/[^/]+:(?:g|streamG)enerateContent$")
_CREDENTIALS_AND_QUERY = re.compile(r"(?<=//).*@|\?[^#]*")
_ALLOWED_QUERY = re.compile(r"[\w.~=&%:+,-]+", re.ASCII)
_HOST_AND_PORT = re.compile(r"[\w.-]+:[0-9]{1,5}(?:[/#]|$)", re.ASCII)
_PROVIDER_BY_FAMILY: Mapping[str, str] = MappingProxyType({"google": "gemini"})
"""Which provider is named otherwise than the family of its models."""
_SECRET_PARAMETER = re.compile("key|token|secret|sig|auth|pass|cred|code|session", re.IGNORECASE)
_MAX_QUERY_WORD_CHARS = 24  # of a word in a query: what is longer may be a key


class EndpointAddress(NamedTuple):
    """An address without credentials, the model's name there, and the variable with the key.

    `needs_key` says that the endpoint answers nothing without a key. `wire` is how it is asked;
    `is_wire_of_address` says that the path of the user's address decided that.
    """

    url: str
    name: str
    key_name: str
    needs_key: bool
    wire: WireName = "chat"
    is_wire_of_address: bool = False


def is_provider_spec(spec: str) -> bool:
    """Return whether the name begins with a provider's name."""
    scheme, slash, _ = spec.partition("/")
    return bool(slash) and scheme in providers()


def resolve_address(
    spec: str,
    base_url: str | None,
    wire: WireName | None = None,
    *,
    needs_sound: bool = False,
) -> EndpointAddress:
    """Return the address of `PROVIDER/NAME` or `http(s)://HOST:PORT/v1#NAME`; raises UsageError.

    `base_url` replaces a provider's address; for OpenAI so does OPENAI_BASE_URL. `wire` replaces
    the provider's own, which is chat at any other address. An address that ends in the path of a
    wire decides for that wire.
    """
    scheme, _, name = spec.partition("/")
    if is_provider_spec(spec):
        if not name:
            raise UsageError(f"name the model: {scheme}/NAME")
        check_model_name(name)
        provider = providers()[scheme]
        url_from_environ = os.environ.get("OPENAI_BASE_URL") if scheme == "openai" else ""
        own_url = base_url or url_from_environ
        named = _wire_of_path(own_url, provider) if own_url and wire is None else None
        if wire is not None and not own_url:
            _check_provider_wire(scheme, provider, wire)
        wire = provider.choose_wire(
            wire or named, has_base_url=bool(own_url), needs_sound=needs_sound
        )
        provider_url = provider.url_of_wire(wire)
        url = check_base_url(own_url or provider_url, wire)
        needs_key = url == provider_url
        return EndpointAddress(
            url, name, provider.key_variable, needs_key, wire, is_wire_of_address=named is not None
        )
    if scheme in (missing := provider_table().missing) and name:
        raise UsageError(f"{scheme}/ is not supported: {missing[scheme]}")
    if not spec.startswith(("http://", "https://")):
        known = _suggest_spec(spec)
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
    check_model_name(name)
    named = _wire_of_path(url) if wire is None else None
    wire = wire or named or "chat"
    return EndpointAddress(
        check_base_url(url, wire), name, OWN_KEY_VARIABLE, False, wire,
        is_wire_of_address=named is not None,
    )  # fmt: skip


def _suggest_spec(spec: str) -> str:
    """Return the end of a sentence about a model that nothing names: what may be meant."""
    if _HOST_AND_PORT.match(spec):
        return f"; did you mean: http://{spec}"
    family = model_family.model_family(spec)
    provider = _PROVIDER_BY_FAMILY.get(family, family)
    if "/" not in spec and provider in providers():
        return f"; did you mean: {provider}/{spec}"
    prefix = f"{spec.partition('/')[0]}/" if "/" in spec else spec
    return suggest_names(prefix, _name_prefixes(), listing="toolmark run --help")


def _name_prefixes() -> tuple[str, ...]:
    """Return what the name of a model can begin with."""
    others = ("http://", "https://", "baseline/", "control/", "module:attribute")
    wires = entry_points.entry_point_names("wires")
    return (*(f"{name}/" for name in (*providers(), *wires)), *others)


def join_path(url: str, path: str) -> str:
    """Return the address of a sub-path: `.../v1?a=b` and `models` give `.../v1/models?a=b`.

    The path may have a query of its own.
    """
    base_url, sign, query = url.partition("?")
    return f"{base_url}/{path}{'&' if sign and '?' in path else sign}{query}"


def check_model_name(name: str) -> None:
    """Raise UsageError for a model's name that looks like a key."""
    if ".." in name.split("/"):
        raise UsageError(f"not a model's name: {name!r}")
    if secrets.has_key_prefix(name):
        raise UsageError(
            "the model's name looks like a key, and names are stored: keys come from the "
            f"provider's variable, from {OWN_KEY_VARIABLE} or by --header"
        )


def check_base_url(text: str, wire: WireName = "chat") -> str:
    """Return the checked base of an address, with its query, without the path of the wire.

    Raises UsageError, also for the path of another wire.
    """
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
    path = _path_without_ending(parts.path.rstrip("/"), wire)
    for other in WIRE_NAMES:
        if _path_without_ending(path, other) != path:
            raise UsageError(f"{shown} is an address of another wire; next: --wire {other}")
    query = parts.query
    if wire == "gemini":  # the wire itself says whether it streams
        query = "&".join(each for each in query.split("&") if each != "alt=sse")
    return f"{parts.scheme}://{parts.netloc}{path}{_check_query(query)}"


def _wire_of_path(address: str, provider: Provider | None = None) -> WireName | None:
    """Return the wire whose path an address ends with, None for a plain one."""
    try:
        path = urlsplit(address.strip()).path.rstrip("/")
    except ValueError:  # is reported where the address is checked
        return None
    for wire in WIRE_NAMES:
        if _path_without_ending(path, wire) != path:
            return wire
    is_chat = provider is not None and provider.chat_path and path.endswith(provider.chat_path)
    return "chat" if is_chat else None


def _check_provider_wire(name: str, provider: Provider, wire: WireName) -> None:
    """Raise UsageError for a wire that a provider does not offer at its own address."""
    if wire not in provider.all_wires:
        raise UsageError(
            f"{name} does not offer the {wire} wire at its own address, but "
            f"{' and '.join(provider.all_wires)}; next: leave out --wire, or give an address that "
            "offers it by --base-url"
        )


def _path_without_ending(path: str, wire: WireName) -> str:
    """Return the path of an address without what the wire adds to it."""
    if wire == "gemini":
        return _GEMINI_METHOD.sub("", path)
    return path.removesuffix(_ENDING_BY_WIRE.get(wire, ""))


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
