"""Quirks of endpoints are found by their hosts."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from msgspec.structs import asdict

from toolmark.models import provider_table
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.endpoint_profile import DEFAULT_PROFILE, EndpointProfile
from toolmark.models.provider_table import HostQuirks, ProviderTable, profile_for_url
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.models.wires.wire_registry import wire_by_name


def test_every_entry_of_quirks_differs_from_the_defaults_and_is_found() -> None:
    for quirks in provider_table.provider_table().quirks:
        assert quirks.profile != DEFAULT_PROFILE, quirks.description
        for host in quirks.hosts:
            for model, wire in product(quirks.models or ("x",), quirks.wires or WIRE_NAMES):
                url = f"https://{host.replace('*', 'x')}:443/v1?a=b"
                found = profile_for_url(url, model.replace("*", "").upper(), wire)
                wanted = asdict(quirks.profile).items() - asdict(DEFAULT_PROFILE).items()
                assert wanted <= asdict(found).items(), (host, model)


@pytest.mark.parametrize(
    "url", ["http://localhost:8000/v1", "https://api.openai.com.evil.org/v1", ""]
)
def test_other_hosts_have_no_quirks(url: str) -> None:
    assert profile_for_url(url) is DEFAULT_PROFILE


def test_a_star_stands_for_any_part_and_entries_add_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = EndpointProfile(takes_media_in_results=True, max_tools=5)
    two = EndpointProfile(allows_dots=True, max_tools=9)
    both = EndpointProfile(takes_media_in_results=True, allows_dots=True, max_tools=5)
    table = ProviderTable(
        providers={},
        quirks=(
            HostQuirks(description="", hosts=("eu.models.org",), profile=one),
            HostQuirks(description="", hosts=("*.models.org", "models.org"), profile=two),
        ),
    )
    monkeypatch.setattr(provider_table, "provider_table", lambda: table)
    hosts = ("eu.models.org", "us.models.org", "MODELS.org", "mymodels.org")
    profiles = [profile_for_url(f"https://{host}/v1") for host in hosts]
    assert profiles == [both, two, two, DEFAULT_PROFILE]


def test_rules_of_a_host_and_of_a_model_hold_together() -> None:
    groq = profile_for_url("https://api.groq.com/openai/v1", "moonshotai/kimi-k2-instruct")
    assert (groq.max_tools, groq.call_ids) == (128, "functions")


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_the_identity_has_what_replies_depend_on_alone(wire: WireName) -> None:
    """Replies that were cached before a field came stay valid where it says nothing of them."""

    def identity(**fields: Any) -> str:
        spoken, profile = wire_by_name(wire), EndpointProfile(**fields)
        return EndpointModel("http://h/v1", "m", wire=spoken, wire_profile=profile).identity

    plain = identity()
    assert identity(max_tools=128, caches_prompts=True) == plain
    assert (identity(system_role="developer") == plain) is (wire != "responses")
    for name, value in (("history", "none"), ("call_ids", "nine"), ("required_member", "x")):
        assert identity(**{name: value}) != plain
