"""Providers by name, and the quirks of endpoints by host (`providers.toml`)."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from msgspec import Meta

from toolmark.core.data_files import DataRecord, read_table
from toolmark.models.endpoint_profile import DEFAULT_PROFILE, EndpointProfile

ProviderName: TypeAlias = Annotated[str, Meta(pattern="^[a-z][a-z0-9-]*$")]
HostPattern: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9.*-]+$")]


class Provider(DataRecord, frozen=True):
    """An OpenAI-compatible endpoint with a name, and the variable that contains its key."""

    url: Annotated[str, Meta(pattern="^https://[^/?#]+(/[^?#]*[^/?#])?$")]
    key_variable: Annotated[str, Meta(pattern="^[A-Z][A-Z0-9_]*_API_KEY$")]


class HostQuirks(DataRecord, frozen=True):
    """What the endpoints on these hosts accept, and why it is listed."""

    description: str
    hosts: Annotated[tuple[HostPattern, ...], Meta(min_length=1)]
    profile: EndpointProfile


class ProviderTable(DataRecord, frozen=True):
    """The data file: providers by name, and quirks by host, of which the first counts."""

    providers: dict[ProviderName, Provider]
    quirks: tuple[HostQuirks, ...]


def provider_table() -> ProviderTable:
    """Return the content of the data file."""
    return read_table(__file__, "providers.toml", ProviderTable)


def providers() -> Mapping[str, Provider]:
    """Return the providers by name."""
    return provider_table().providers


def profile_for_url(url: str) -> EndpointProfile:
    """Return the profile of the endpoint at this address."""
    host = urlsplit(url).hostname or ""
    return next(
        (
            quirks.profile
            for quirks in provider_table().quirks
            if any(fnmatchcase(host, pattern) for pattern in quirks.hosts)
        ),
        DEFAULT_PROFILE,
    )
