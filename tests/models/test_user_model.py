"""A model of the user's own: which one it is, and what its kept replies hang on."""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from toolmark.core.errors import UsageError, describe_error
from toolmark.core.media import MediaStore
from toolmark.core.model import adapt_function
from toolmark.core.records import Call, Message, Reply, Request, Text
from toolmark.models import user_model
from toolmark.models.model_resolver import resolve_model

HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
MINE = """
import functools
from toolmark.core.model import Model
from toolmark.core.records import Reply
def again(model):
    @functools.wraps(model)
    async def asked(request, /):
        return await model(request)
    return asked
async def one(request, /):
    return Reply(text="old")
@again
async def two(request, /):
    return Reply(text="old")
class Mine:
    async def __call__(self, request, /):
        return Reply(text="old")
    async def ask(self, request, /):
        return Reply(text="old")
class Named(Mine):
    name = "mine-7b"
class No:
    pass
class Silent(Model):
    pass
class Seeing(Mine):
    def __init__(self, media):
        self.media = media
class Broken(Mine):
    def __init__(self):
        open("/nowhere/checkpoint")
def bad(text):
    async def model(request, /):
        return text
    return model
async def searching(request, /):
    return Reply(text=next(iter(())))
short = lambda request: None
def closed(text):
    async def model(request, /):
        return Reply(text=text)
    return model
async def spoken(text, request, /):
    return Reply(text=text)
def sync(request, /):
    return Reply(text="old")
thing = Mine()
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "users_mine.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("users_mine")
    del sys.modules["users_mine"]


def test_functions_at_the_top_of_a_file_are_distinguished(mine: ModuleType) -> None:
    found = [user_model.identify_object(mine.one), user_model.identify_object(mine.two)]
    assert [who.name for who in found] == ["users_mine.one", "users_mine.two"]
    assert all(who.is_unique and who.code for who in found)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda mine: mine.Mine(), "users_mine.Mine"),
        (lambda mine: mine.Mine().ask, "users_mine.Mine.ask"),
        (lambda mine: mine.closed("a"), "users_mine.closed.<locals>.model"),
        (lambda mine: functools.partial(mine.spoken, "a"), "users_mine.spoken"),
        (lambda mine: mine.again(mine.one), "users_mine.one"),
    ],
)
def test_what_is_made_as_a_program_runs_has_no_certain_identity(
    make: Callable[[Any], object], name: str, mine: ModuleType, tmp_path: Path
) -> None:
    found = user_model.identify_object(make(mine))
    assert (found.name, found.is_unique) == (name, False)
    with pytest.raises(UsageError, match=r"cannot distinguish users_mine.* `\.name`"):
        resolve_model(make(mine), cache=tmp_path)  # type: ignore[arg-type]


def test_a_name_is_taken_at_its_word(mine: ModuleType) -> None:
    assert user_model.identify_object(mine.Named()) == user_model.ModelIdentity("mine-7b")


TELL = """
from toolmark.models import user_model
found = user_model.identify_object(one)
print(found.name, found.is_unique)
"""


def test_a_function_of_a_script_is_known_and_one_of_a_notebook_is_not(tmp_path: Path) -> None:
    (tmp_path / "evening.py").write_text(MINE + TELL)
    reported_of = {"evening.py": r"evening-[0-9a-f]{6}\.one True", "-": r"__main__\.one False"}
    for given, reported in reported_of.items():
        done = subprocess.run(
            [sys.executable, given], input=MINE + TELL, cwd=tmp_path,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert re.fullmatch(reported, done.stdout.strip())


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("sync", "is not async"),
        ("No", "No makes no model"),
        ("Silent", "Silent makes no model"),
        ("__name__", "expected a model, got str"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_it_is(
    attribute: str, words: str, mine: ModuleType
) -> None:
    with pytest.raises(UsageError, match=words):
        user_model.check_model(getattr(mine, attribute))


def test_a_model_s_code_is_that_of_its_class_too(mine: ModuleType, tmp_path: Path) -> None:
    door = tmp_path / "users_door.py"
    door.write_text("from users_mine import thing\n")
    found = user_model.identify_spec("users_door:thing", mine.thing)
    assert found.code != user_model.identify_spec("users_door:thing", object()).code

    def is_retained() -> bool:
        model: Any = resolve_model("users_door:thing", cache=tmp_path / "cache")
        reply: Reply = asyncio.run(model(HELLO))
        return reply.from_cache

    assert [is_retained(), is_retained()] == [False, True]
    Path(str(mine.__file__)).write_text(MINE + "\n# edited\n")
    assert not is_retained()


@pytest.mark.parametrize("name", ["one", "two", "Mine", "thing"])
def test_an_edited_file_is_not_answered_by_its_old_replies(
    name: str, mine: ModuleType, tmp_path: Path
) -> None:
    def said() -> tuple[str, bool]:
        model: Any = resolve_model(f"users_mine:{name}", cache=tmp_path / "cache")
        reply: Reply = asyncio.run(model(HELLO))
        return reply.text, reply.from_cache

    assert [said(), said()] == [("old", False), ("old", True)]
    Path(str(mine.__file__)).write_text(MINE.replace("old", "fresh"))
    importlib.reload(mine)
    assert [said(), said()] == [("fresh", False), ("fresh", True)]


def test_objects_and_names_share_no_replies_but_their_own(mine: ModuleType, tmp_path: Path) -> None:
    replies = []
    for each in (mine.one, mine.two, mine.one):
        model: Any = resolve_model(each, cache=tmp_path)
        replies.append(asyncio.run(model(HELLO)).from_cache)
    assert replies == [False, False, True]


def test_a_class_is_made_and_known_as_the_command_knows_it(
    mine: ModuleType, tmp_path: Path
) -> None:
    media = MediaStore(tmp_path)
    made: Any = resolve_model(mine.Seeing, media=media)
    assert made.model.model.model.function.media is media
    assert asyncio.run(made(HELLO)).text == "old"
    found = user_model.identify_object(mine.Seeing)
    assert found == user_model.identify_spec("users_mine:Seeing", mine.Seeing) and found.is_unique


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("[0.1]", r"must return a Reply, .*got str"),
        (None, "must return a Reply, .*got NoneType"),
        (Reply(text=[0.1]), "text of a Reply must be a str, got list"),  # type: ignore[arg-type]
        (Reply(calls=(Call(name="a", arguments={}),)), "JSON object, got dict"),  # type: ignore[arg-type]
        (Reply(calls=[]), "must be a tuple of Call"),  # type: ignore[arg-type]
        (Reply(stop="tool_calls"), "cannot be stored: .*'tool_calls'"),  # type: ignore[arg-type]
        (Reply(calls=(Call(name="a", id=None),)), "cannot be stored: .*null"),  # type: ignore[arg-type]
        (Reply(model=None), "cannot be stored: .*model"),  # type: ignore[arg-type]
        (Reply(usage=None), "cannot be stored: .*usage"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_reply_ends_a_run_at_once(
    reply: object, words: str, mine: ModuleType, tmp_path: Path
) -> None:
    for saved in (None, tmp_path):
        model = resolve_model(with_name(mine.bad(reply)), cache=saved)
        with pytest.raises(UsageError, match=words):
            asyncio.run(model(HELLO))


def with_name(model: Any) -> Any:
    model.name = "bad"
    return model


def test_after_an_answer_what_is_no_reply_costs_one_episode() -> None:
    replies: list[Any] = [Reply(text="fine"), None]

    async def model(request: Request, /) -> Reply:
        return replies.pop(0)  # type: ignore[no-any-return]

    async def both() -> None:
        asked = user_model.UserModel(adapt_function(model))
        await asked(HELLO)
        with pytest.raises(TypeError, match="must return a Reply"):
            await asked(HELLO)

    asyncio.run(both())


def test_a_constructor_that_fails_names_file_and_line_of_the_user(mine: ModuleType) -> None:
    line = 1 + MINE.splitlines().index('        open("/nowhere/checkpoint")')
    reported = rf"Broken cannot be made: FileNotFoundError.*\(users_mine\.py, line {line}\)"
    for spec in ("users_mine:Broken", mine.Broken):
        with pytest.raises(UsageError, match=reported):
            resolve_model(spec)


def test_an_error_is_placed_where_it_arose_in_the_users_own_file(mine: ModuleType) -> None:
    line = 1 + MINE.splitlines().index("    return Reply(text=next(iter(())))")
    with pytest.raises(RuntimeError) as found:
        asyncio.run(resolve_model(mine.searching)(HELLO))
    assert describe_error(found.value) == (
        f"RuntimeError: coroutine raised StopIteration (users_mine.py, line {line})"
    )
    with pytest.raises(KeyError) as odd:
        os.environ["NO SUCH NAME"]
    assert describe_error(odd.value).endswith(
        f"({Path(__file__).name}, line {odd.traceback[0].lineno + 1})"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [("1 / 0\n", r"ZeroDivisionError.*\(users_bad\.py, line 1\)"),
     ("def (\n", r"SyntaxError.*\(users_bad\.py, line 1\)"),
     ("import toolmark_no_such\n", "No module named 'toolmark_no_such'")],
)  # fmt: skip
def test_a_file_that_cannot_be_imported_says_where(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "users_bad.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match=f"cannot import users_bad: {why}"):
        resolve_model("users_bad:model")


def test_a_lambda_or_a_wrapper_may_hand_on_what_an_async_function_gives(mine: ModuleType) -> None:
    def wrapped(request: Request, /) -> Any:
        return mine.one(request)

    for hidden in (lambda request: mine.one(request), functools.wraps(mine.one)(wrapped)):
        model: Any = resolve_model(hidden)
        assert isinstance(asyncio.run(model(HELLO)), Reply)
    plain: Any = lambda request: Reply()  # noqa: E731
    blunt: Any = resolve_model(plain)
    with pytest.raises(UsageError, match="is not async"):
        asyncio.run(blunt(HELLO))


@pytest.mark.parametrize("later", [False, True])
def test_what_was_made_for_a_run_is_closed_and_what_was_given_is_its_owners(later: bool) -> None:
    closed: list[str] = []

    class Closing:
        async def __call__(self, request: Request, /) -> Reply:
            return Reply()

        def close(self) -> Any:
            closed.append("closed")
            return asyncio.sleep(0) if later else None

    for given, n in ((Closing(), 0), (Closing, 1)):
        made: Any = resolve_model(given)  # type: ignore[arg-type]
        asyncio.run(made.close())
        assert len(closed) == n
