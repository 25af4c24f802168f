"""Quirks of endpoints are found by their hosts."""

from __future__ import annotations

import pytest

from toolmark.models import provider_table
from toolmark.models.endpoint_profile import DEFAULT_PROFILE, EndpointProfile
from toolmark.models.provider_table import HostQuirks, ProviderTable, profile_for_url


def test_every_entry_of_quirks_differs_from_the_defaults_and_is_found() -> None:
    for quirks in provider_table.provider_table().quirks:
        assert quirks.profile != DEFAULT_PROFILE, quirks.description
        for host in quirks.hosts:
            found = profile_for_url(f"https://{host.replace('*', 'x')}:443/v1?a=b")
            assert found is quirks.profile, host


@pytest.mark.parametrize(
    "url", ["http://localhost:8000/v1", "https://api.openai.com.evil.org/v1", ""]
)
def test_other_hosts_have_no_quirks(url: str) -> None:
    assert profile_for_url(url) is DEFAULT_PROFILE


def test_a_star_stands_for_any_part_and_the_first_entry_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, two = EndpointProfile(takes_media_in_results=True), EndpointProfile(allows_dots=True)
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
    assert profiles == [one, two, two, DEFAULT_PROFILE]
