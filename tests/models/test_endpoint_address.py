"""Names of providers, and addresses with a query: where a request goes, and with which key."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.runs import mini
from tests.servers import fake, faults

import toolmark as tm
from toolmark.core import records
from toolmark.core.errors import UsageError
from toolmark.models.endpoint_probes import probe_endpoint
from toolmark.models.model_resolver import make_endpoint_model, public_model_address
from toolmark.models.provider_table import providers
from toolmark.runs.run_store import Run

DOCS = Path(__file__).parents[2] / "docs"
CHAT = "/v1/chat/completions"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in providers().values():
        monkeypatch.delenv(provider.key_variable, raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.parametrize("name", providers())
def test_a_provider_is_asked_at_its_address_with_its_own_key(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = providers()[name]
    url, key = provider.url, provider.key_variable
    with pytest.raises(UsageError, match=f"set {key}$"):
        make_endpoint_model(f"{name}/org/model:free")
    monkeypatch.setenv(key, "a-key-of-this-one")
    model = make_endpoint_model(f"{name}/org/model:free")
    assert (model.url, model.model, model.key_name) == (url, "org/model:free", key)
    assert model.name == f"{name}/org/model:free"
    assert public_model_address(f"{name}/org/model:free", None) == url


@pytest.mark.parametrize("name", providers())
def test_only_the_providers_own_key_goes_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for each, provider in providers().items():
        monkeypatch.setenv(provider.key_variable, f"key-of-{each}-here")
    monkeypatch.setenv("TOOLMARK_API_KEY", "my-own-key-here")

    async def asked() -> fake.Asked:
        async with fake.serve(fake.send(faults.WHOLE, then="close")) as server:
            model = make_endpoint_model(f"{name}/m", base_url=server.url)
            await model(mini_request())
            await model.close()
            return server.asked[0]

    found = asyncio.run(asked())
    keys = {header: each for header, each in found.headers.items() if "key-" in each}
    key = f"key-of-{name}-here"
    match providers()[name].wire:
        case "anthropic":
            assert (keys, found.target) == ({"x-api-key": key}, "/v1/messages")
        case "gemini":
            expected = {"x-goog-api-key": key}, "/v1/models/m:generateContent"
            assert (keys, found.target) == expected
        case _:
            assert (keys, found.target) == ({"authorization": f"Bearer {key}"}, CHAT)


def mini_request() -> records.Request:
    said = records.Message(role="user", parts=(records.Text("hello"),))
    return records.Request(messages=(said,))


def test_only_openais_address_is_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://env:1/v1")
    assert public_model_address("openai/m", None) == "http://env:1/v1"
    assert public_model_address("groq/m", None) == providers()["groq"].url


def test_a_name_that_is_nearly_a_providers_is_reported() -> None:
    with pytest.raises(UsageError, match="did you mean: anthropic/"):
        make_endpoint_model("antropic/claude")
    with pytest.raises(UsageError, match="groq/NAME"):
        make_endpoint_model("groq/")


def test_every_provider_stands_in_the_page_on_endpoints() -> None:
    page = (DOCS / "how-to/endpoints.md").read_text("utf-8")
    for name, provider in providers().items():
        assert f"| `{name}/NAME` | `{provider.key_variable}` |" in page


# --- a query ----------------------------------------------------------------------------


def test_a_query_is_sent_with_every_request() -> None:
    async def asked() -> list[str]:
        async with fake.serve(fake.answer(200, fake.says("x"))) as server:
            given = f"{server.url}/?api-version=2024-10-21#m"
            assert public_model_address(given, None) == f"{server.url}?api-version=2024-10-21"
            await probe_endpoint(given)
            return [each.target for each in server.asked]

    seen = asyncio.run(asked())
    assert {each.partition("?")[2] for each in seen} == {"api-version=2024-10-21"}
    assert {f"{CHAT}?api-version=2024-10-21", "/v1/models?api-version=2024-10-21"} <= set(seen)


def test_a_run_asks_with_the_query_and_another_one_is_another_run(tmp_path: Path) -> None:
    async def play() -> tuple[list[str], list[Run]]:
        async with fake.serve(fake.answer(200, fake.says("1"))) as server:
            runs = [
                await tm.arun(
                    mini.load(n=2), "openai/m", log_dir=tmp_path,
                    base_url=f"{server.url}/chat/completions?api-version={version}",
                    headers=[("api-key", "not-a-real-key-0")],
                )
                for version in ("1", "2")
            ]  # fmt: skip
            return [each.target for each in server.asked], runs

    seen, (one, other) = asyncio.run(play())
    assert seen == [f"{CHAT}?api-version={n}" for n in (1, 1, 2, 2)]
    assert one.info.plan.hash != other.info.plan.hash
    assert one.info.plan.base_url.endswith("/v1?api-version=1")


@pytest.mark.parametrize(
    "query",
    [
        "subscription-key=u:p", "KEY=u:p", "api-version=1&sig=u:p", "x=u:p" + "0" * 24, "u:p",
        "u%3ap", "u:p" + "x" * 40, "access_token=u:p", "a=u:p b", "a=u:pé",
    ],
)  # fmt: skip
def test_what_may_be_a_key_is_refused_and_not_shown(query: str) -> None:
    for spec, base_url in ((f"http://h/v1?{query}#m", None), ("openai/m", f"http://h/v1?{query}")):
        with pytest.raises(UsageError, match="the query of an address") as caught:
            make_endpoint_model(spec, base_url=base_url)
        assert "u:p" not in str(caught.value)


@pytest.mark.parametrize("query", ["api-version=2024-12-01-preview", "beta=true", "a=1&b=2", "a="])
def test_what_is_no_key_stays_as_it_is(query: str) -> None:
    assert public_model_address(f"http://h/v1/?{query}#m", None) == f"http://h/v1?{query}"
    assert make_endpoint_model(f"http://h/v1?{query}#m").url == f"http://h/v1?{query}"
