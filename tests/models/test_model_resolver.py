"""From a model's name to a model; a key goes only where its owner sent it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.servers import fake

from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, ReplyFunction
from toolmark.core.records import Message, Reply, Request, Task, Text
from toolmark.models.model_resolver import make_endpoint_model, public_model_address
from toolmark.models.request_policies import CachedModel, RetryingModel
from toolmark.suites.model_registry import make_model

HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
TASK = Task(id="t", suite="s", turns=())


class Suite:
    name = "bench"

    def __init__(self) -> None:
        self.controls = {"oracle": self.make, "faulty": self.make}

    def make(self, task: Task, repeat: int, options: Mapping[str, str]) -> ReplyFunction:
        async def model(request: Request, /) -> Reply:
            return Reply(text=f"{task.id} {repeat} {sorted(options.items())}")

        return model


async def header(spec: str, monkeypatch: pytest.MonkeyPatch, **env: str) -> str | None:
    """Return the authorization that a server on 127.0.0.1 sees; URL in spec or env is its."""
    async with fake.serve(fake.answer(200, fake.says("x"))) as server:
        for name, value in env.items():
            monkeypatch.setenv(name, value.replace("URL", server.url))
        model = make_endpoint_model(spec.replace("URL", server.url))
        await model(HELLO)
        await model.close()
        return server.asked[0].headers.get("authorization")


def test_the_providers_key_goes_to_the_address_given_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = asyncio.run(
        header("openai/m", monkeypatch, OPENAI_API_KEY=" sk-1\n", OPENAI_BASE_URL="URL/")
    )
    assert seen == "Bearer sk-1"


def test_the_providers_key_never_goes_to_an_address_in_the_spec(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert asyncio.run(header("URL#m", monkeypatch, OPENAI_API_KEY="sk-1")) is None
    seen = asyncio.run(header("URL#m", monkeypatch, TOOLMARK_API_KEY="tm-1"))
    assert seen == "Bearer tm-1"


def test_base_url_beats_the_environment_and_addresses_are_tidied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert make_endpoint_model("openai/a/b", base_url="http://h:1/v1/").url == "http://h:1/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://env:1/v1")
    assert make_endpoint_model("openai/m", base_url="http://h:1/v1").url == "http://h:1/v1"
    assert make_endpoint_model("openai/m").url == "http://env:1/v1"
    assert make_endpoint_model("http://h:1/v1/chat/completions#m").url == "http://h:1/v1"


def test_the_address_is_the_one_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert public_model_address("openai/m", None) == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://env:1/v1/")
    for spec, base_url in [
        ("openai/m", None),
        ("openai/m", "http://h:1/v1/"),
        ("http://h:1/v1/chat/completions#m", None),
    ]:
        assert (
            public_model_address(spec, base_url) == make_endpoint_model(spec, base_url=base_url).url
        )


@pytest.mark.parametrize("spec", ["baseline/planner", "control/oracle?x=1", "package.module:thing"])
def test_what_is_asked_in_this_process_has_no_address(spec: str) -> None:
    assert public_model_address(spec, None) == ""


@pytest.mark.parametrize(
    "url", ["http://u:p@h/v1", "http://h/v1?key=u:p", "http://u:p@h:x/v1", "http://u:p/w@h/v1"]
)
def test_an_address_holds_no_secret_and_neither_does_its_error(url: str) -> None:
    for spec, base_url in [(f"{url}#m", None), ("openai/m", url)]:
        with pytest.raises(UsageError) as caught:
            public_model_address(spec, base_url)
        assert "u:p" not in str(caught.value)


def test_names() -> None:
    assert make_endpoint_model("openai/a/b", base_url="http://h/v1").model == "a/b"
    assert make_endpoint_model("http://h/v1#org/m:8b").model == "org/m:8b"
    assert getattr(make_model("http://h/v1#org/m"), "name", "") == "org/m"


@pytest.mark.parametrize(
    ("spec", "base_url", "words"),
    [
        ("openia/gpt", None, "did you mean: openai/"),
        ("gpt-5", None, "http://HOST:PORT/v1#NAME"),
        ("", None, "no model ''"),
        ("openai/", None, "openai/NAME"),
        ("openai/m", None, "set OPENAI_API_KEY"),
        ("http://h:1/v1", None, "http://h:1/v1#NAME"),
        ("http://h:1/v1#", None, "#NAME"),
        ("http://#m", None, "not an address"),
        ("http://h:port/v1#m", None, "not an address"),
        ("http://h:99999/v1#m", None, "not an address"),
        ("http://u:p@h/v1#m", None, "TOOLMARK_API_KEY"),
        ("http://u:p@h:port/v1#m", None, "not an address"),
        ("http://h/v1?key=u:p#m", None, "query"),
        ("http://u:p@h/v1?key=u:p", None, "#NAME"),
        ("http://h/v1#m", "http://g/v1", "leave --base-url out"),
        ("http://u:p@h/v1?key=u:p#m", "http://g/v1", "leave --base-url out"),
        ("openai/m", "localhost:8000", "not an address"),
        ("baseline/plannr", None, "did you mean: planner"),
        ("control/nul", None, "did you mean: null"),
        ("control/orcale", None, "did you mean: oracle"),
        ("control/null?x=1", None, "takes no options"),
        ("no_such_module_x:model", None, "cannot import no_such_module_x"),
        ("toolmark.core.json_codec:escape_surrogat", None, "did you mean: escape_surrogates"),
    ],
)
def test_a_name_that_is_wrong_says_what_would_be_right(
    spec: str, base_url: str | None, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        make_model(spec, suite=Suite(), base_url=base_url)
    assert words in str(caught.value)
    assert "u:p" not in str(caught.value)


def test_a_model_object_gets_what_an_endpoint_gets(tmp_path: Path) -> None:
    cached = make_model(
        make_endpoint_model("http://h/v1#m"), cache=tmp_path, max_retries=3, max_connections=2
    )
    assert isinstance(cached, CachedModel)
    assert isinstance(cached.model, RetryingModel)
    assert cached.model.retries == 3
    assert getattr(cached.model.model, "max_in_flight", 0) == 2


def test_an_endpoint_gets_retries_pace_and_cache(tmp_path: Path) -> None:
    cached = make_model("http://h/v1#m", cache=tmp_path, max_retries=3, max_connections=2)
    assert isinstance(cached, CachedModel)
    assert isinstance(cached.model, RetryingModel)
    assert cached.model.retries == 3
    assert getattr(cached.model.model, "max_in_flight", 0) == 2


def test_controls_of_the_suite_see_task_repeat_and_options() -> None:
    bound = make_model("control/faulty?class=wrong_value&rate=0.2", suite=Suite())
    assert isinstance(bound, Control)
    assert getattr(bound, "name", "") == "control/faulty?class=wrong_value&rate=0.2"
    reply = asyncio.run(bound.bind(TASK, 2)(HELLO))
    assert reply.text == "t 2 [('class', 'wrong_value'), ('rate', '0.2')]"


@pytest.mark.parametrize("name", ["control/null", "control/always-call", "control/dead"])
def test_generic_controls_need_no_suite(name: str) -> None:
    assert getattr(make_model(name), "name", "") == name


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("planner", "backward_planner"),
        ("eager", "eager_caller"),
        ("lexical", "lexical_matcher"),
    ],
)
def test_baselines_are_found_and_get_no_policies(name: str, module: str) -> None:
    found: Any = make_model(f"baseline/{name}")
    assert type(found).__module__ == f"toolmark.baselines.{module}"


USERS = """
from toolmark.core.model import Control
from toolmark.core.records import Reply
class Mine:
    name = "mine"
    async def __call__(self, request, /):
        return Reply(text="mine")
async def function(request, /):
    return Reply(text="function")
def factory():
    return Mine()
class Seer(Control):
    def bind(self, task, repeat, /):
        return Mine()
thing = Mine()
seer = Seer()
number = 7
"""


def test_a_users_own_model_may_be_an_object_a_class_a_function_or_a_factory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "users_own_models.py").write_text(USERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    texts = []
    for name in ("thing", "Mine", "function", "factory"):
        model: Any = make_model(f"users_own_models:{name}")
        assert isinstance(model, RetryingModel)
        texts.append(asyncio.run(model(HELLO)).text)
    assert texts == ["mine", "mine", "function", "mine"]
    for name in ("Seer", "seer"):
        assert isinstance(make_model(f"users_own_models:{name}"), Control)
    with pytest.raises(UsageError, match="is no model"):
        make_model("users_own_models:number")


SEEING = """
from toolmark.core.records import Reply
class Mine:
    def __init__(self, media):
        self.media = media
    async def __call__(self, request, /):
        return Reply(text=self.media.folder.name)
def factory(*, media):
    return Mine(media)
"""


@pytest.mark.parametrize("name", ["Mine", "factory"])
def test_a_users_own_model_that_wants_the_media_of_the_run_gets_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "users_models_that_see.py").write_text(SEEING)
    monkeypatch.syspath_prepend(str(tmp_path))
    model: Any = make_model(f"users_models_that_see:{name}", media=MediaStore(tmp_path / "held"))
    assert asyncio.run(model(HELLO)).text == "held"
    with pytest.raises(UsageError, match="wants pictures or recordings"):
        make_model(f"users_models_that_see:{name}")


def test_a_users_module_is_found_where_the_user_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_of_the_folder.py").write_text(USERS)
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))  # restores the path afterwards
    monkeypatch.chdir(tmp_path)
    assert isinstance(make_model("module_of_the_folder:thing"), RetryingModel)
