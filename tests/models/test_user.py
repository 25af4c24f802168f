"""A model of the user's own: which one it is, and what its kept replies hang on."""

from __future__ import annotations

import asyncio
import functools
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from toolmark.errors import UsageError
from toolmark.models import user
from toolmark.models.resolve import resolve
from toolmark.types import Message, Reply, Request, Text

HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
MINE = """
import functools
from toolmark.types import Reply
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


def test_functions_at_the_top_of_a_file_are_told_apart(mine: ModuleType) -> None:
    found = [user.who(mine.one), user.who(mine.two)]
    assert [who.name for who in found] == ["users_mine.one", "users_mine.two"]
    assert all(who.sure and who.code for who in found)


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
def test_what_is_made_as_a_program_runs_is_not_sure(
    make: Callable[[Any], object], name: str, mine: ModuleType, tmp_path: Path
) -> None:
    found = user.who(make(mine))
    assert (found.name, found.sure) == (name, False)
    with pytest.raises(UsageError, match=r"cannot tell users_mine.* `\.name`"):
        resolve(make(mine), cache=tmp_path)  # type: ignore[arg-type]


def test_a_name_is_taken_at_its_word(mine: ModuleType) -> None:
    assert user.who(mine.Named()) == user.Who("mine-7b")


TELL = """
from toolmark.models import user
found = user.who(one)
print(found.name, found.sure)
"""


def test_a_function_of_a_script_is_known_and_one_of_a_notebook_is_not(tmp_path: Path) -> None:
    (tmp_path / "evening.py").write_text(MINE + TELL)
    for given, told in (("evening.py", "evening.one True"), ("-", "__main__.one False")):
        done = subprocess.run(
            [sys.executable, given], input=MINE + TELL, cwd=tmp_path,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == told


@pytest.mark.parametrize(
    ("attribute", "words"),
    [("sync", "is not async"), ("Mine", "is a class"), ("__name__", "expected a model, got str")],
)
def test_what_cannot_be_asked_is_refused_before_it_is(
    attribute: str, words: str, mine: ModuleType
) -> None:
    with pytest.raises(UsageError, match=words):
        user.check(getattr(mine, attribute))


@pytest.mark.parametrize("name", ["one", "two", "Mine", "thing"])
def test_an_edited_file_is_not_answered_by_its_old_replies(
    name: str, mine: ModuleType, tmp_path: Path
) -> None:
    def said() -> tuple[str, bool]:
        model: Any = resolve(f"users_mine:{name}", cache=tmp_path / "cache")
        reply: Reply = asyncio.run(model(HELLO))
        return reply.text, reply.kept

    assert [said(), said()] == [("old", False), ("old", True)]
    Path(str(mine.__file__)).write_text(MINE.replace("old", "fresh"))
    importlib.reload(mine)
    assert [said(), said()] == [("fresh", False), ("fresh", True)]


def test_objects_and_names_share_no_replies_but_their_own(mine: ModuleType, tmp_path: Path) -> None:
    replies = []
    for each in (mine.one, mine.two, mine.one):
        model: Any = resolve(each, cache=tmp_path)
        replies.append(asyncio.run(model(HELLO)).kept)
    assert replies == [False, False, True]
