"""Providers by name, and the quirks of endpoints by host (`providers.toml`)."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

from msgspec import Meta
from msgspec.structs import asdict, replace

from toolmark.core.data_files import DataRecord, read_table
from toolmark.models.endpoint_profile import DEFAULT_PROFILE, EndpointProfile
from toolmark.models.wire_names import WireName

ProviderName: TypeAlias = Annotated[str, Meta(pattern="^[a-z][a-z0-9-]*$")]
EndpointUrl: TypeAlias = Annotated[str, Meta(pattern="^https://[^/?#]+(/[^?#]*[^/?#])?$")]
HostPattern: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9.*-]+$")]
ModelPattern: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9.*/_:-]+$")]


class Provider(DataRecord, frozen=True):
    """An endpoint with a name, and the variable that contains its key.

    `wire` is asked at `url`. `chat_url` is the address of its chat completions, where that is
    another one. `other_wires` are asked there too. `wire_at_base_url` is the wire at an address
    that the user gives for the provider.
    `wire_for_sound` is the wire of suites that send sound.
    """

    url: EndpointUrl
    key_variable: Annotated[str, Meta(pattern="^[A-Z][A-Z0-9_]*_API_KEY$")]
    wire: WireName = "chat"
    chat_url: EndpointUrl | None = None
    other_wires: tuple[WireName, ...] = ()
    wire_at_base_url: WireName | None = None
    wire_for_sound: WireName | None = None

    @property
    def all_wires(self) -> tuple[WireName, ...]:
        """The wires that are offered at the provider's own addresses."""
        return tuple(dict.fromkeys((self.wire, "chat", *self.other_wires)))

    @property
    def chat_path(self) -> str:
        """What its address of chat completions adds to the other one, "" for one address."""
        return "" if self.chat_url is None else self.chat_url.removeprefix(self.url)

    def choose_wire(
        self, chosen: WireName | None, *, has_base_url: bool, needs_sound: bool
    ) -> WireName:
        """Return the wire of the user's choice, else that of the situation."""
        if chosen is not None:
            return chosen
        if needs_sound and self.wire_for_sound is not None:
            return self.wire_for_sound
        if has_base_url and self.wire_at_base_url is not None:
            return self.wire_at_base_url
        return self.wire

    def url_of_wire(self, wire: WireName) -> str:
        """Return the provider's address for a wire."""
        return self.chat_url if wire == "chat" and self.chat_url is not None else self.url


class HostQuirks(DataRecord, frozen=True):
    """What the endpoints on these hosts accept, and why it is listed.

    `models` limits it to models of these names, in lower case, `wires` to those wires. After one
    that `is_final` no other entry counts.
    """

    description: str
    hosts: Annotated[tuple[HostPattern, ...], Meta(min_length=1)]
    profile: EndpointProfile
    wires: tuple[WireName, ...] = ()
    models: tuple[ModelPattern, ...] = ()
    is_final: bool = False


class StateWords(DataRecord, frozen=True):
    """Words in the names of a message's members that go back to the endpoint."""

    words: tuple[str, ...]


class ProviderTable(DataRecord, frozen=True):
    """The data file: providers by name, quirks by host and model, which add up.

    `state` says which members of a message go back. `missing` are providers whose protocols are not
    supported, with what to do instead.
    """

    providers: dict[ProviderName, Provider]
    quirks: tuple[HostQuirks, ...]
    state: StateWords = StateWords(())
    missing: dict[str, str] = {}


def provider_table() -> ProviderTable:
    """Return the content of the data file."""
    return read_table(__file__, "providers.toml", ProviderTable)


def providers() -> Mapping[str, Provider]:
    """Return the providers by name."""
    return provider_table().providers


def profile_for_url(url: str, model: str = "", wire: WireName = "chat") -> EndpointProfile:
    """Return the profile of the endpoint at this address, asked for this model on this wire.

    The entries that match add up, to the first final one; of two that set the same field, the
    first counts.
    """
    host, name = urlsplit(url).hostname or "", model.lower()
    fields: dict[str, Any] = {}
    for quirks in provider_table().quirks:
        if (
            any(fnmatchcase(host, pattern) for pattern in quirks.hosts)
            and (not quirks.wires or wire in quirks.wires)
            and (not quirks.models or any(fnmatchcase(name, each) for each in quirks.models))
        ):
            fields = _changed_fields(quirks.profile) | fields
            if quirks.is_final:
                break
    return replace(DEFAULT_PROFILE, **fields) if fields else DEFAULT_PROFILE


def _changed_fields(profile: EndpointProfile) -> dict[str, Any]:
    defaults = asdict(DEFAULT_PROFILE)
    return {name: value for name, value in asdict(profile).items() if value != defaults[name]}
