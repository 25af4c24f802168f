"""What an endpoint cannot be asked is refused before anything is asked, or costs one episode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.runs import mini
from tests.servers import anthropic_server, fake

import toolmark as tm
from toolmark.core.environment import Environment, EnvironmentFactory
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Attempt, Audio, Message, Task, Text, Tool, Turn
from toolmark.models import provider_table
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.runs.suite import EnvironmentSource, Provenance, Suite

FINE = anthropic_server.message([{"type": "text", "text": "fine"}])
TOOLS = tuple(Tool(name=f"t{i}") for i in range(3))


def suite_of(*tasks: Task, environment: type[Environment] = Environment, **more: Any) -> Suite:
    class Factory(EnvironmentFactory):
        @asynccontextmanager
        async def open_environment(
            self, task: Task, setup_states: Mapping[str, Any], /
        ) -> AsyncIterator[Environment]:
            yield environment()

    @asynccontextmanager
    async def opened(media: MediaStore) -> AsyncIterator[EnvironmentFactory]:
        yield Factory()

    source = EnvironmentSource(open=opened)
    return Suite(name="limits", tasks=list(tasks), scorer=mini.SCORER, environment=source, **more)


def task(id: str, *parts: Any, tools: tuple[Tool, ...] = ()) -> Task:
    message = Message(role="user", parts=(Text("hello"), *parts))
    return Task(id=id, turns=(Turn(messages=(message,)),), tools=tools)


def play(suite: Suite, folder: Path, **settings: Any) -> tuple[Any, int]:
    """Return the run, or why there is none, and how many requests came."""
    with fake.in_thread(fake.answer(200, FINE)) as server:
        try:
            found: Any = tm.run(
                suite, f"{server.url}#m", wire="anthropic", log_dir=folder, max_retries=0,
                **settings,
            )  # fmt: skip
        except UsageError as error:
            found = str(error)
        return found, len(server.asked)


@pytest.fixture
def two_tools_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = EndpointProfile(max_tools=2)
    monkeypatch.setattr(provider_table, "profile_for_url", lambda *place: profile)


def test_pictures_that_the_wire_does_not_carry_are_refused_up_front(tmp_path: Path) -> None:
    media = MediaStore(tmp_path / "media")
    suite = suite_of(
        task("fine", media.add_image(b"x", "image/png")),
        task("odd", media.add_image(b"x", "image/bmp")),
        provenance=Provenance(media=media),
    )
    assert play(suite, tmp_path / "runs") == (
        "task odd cannot be asked: the anthropic wire takes no pictures of type 'image/bmp'; "
        "known: png, jpeg, gif, webp, pdf",
        0,
    )
    assert not [each for each in (tmp_path / "runs").glob("*") if each.is_dir()]


@pytest.mark.usefixtures("two_tools_at_most")
def test_more_tools_than_the_endpoint_takes_are_refused_up_front(tmp_path: Path) -> None:
    suite = suite_of(task("few", tools=TOOLS[:2]), task("many", tools=TOOLS))
    assert play(suite, tmp_path) == (
        "task many: 3 tools are offered, and this endpoint takes at most 2; next: choose a suite "
        "or a setting with fewer tools, or another endpoint",
        0,
    )
    # in a prompt no tool is offered to the endpoint
    done, n_asked = play(suite, tmp_path, tool_format="prompt")
    assert (len([*done.trajectories()]), n_asked) == (2, 2)


class Surprise(Environment):
    """Adds what no task shows to every second episode."""

    n_made = 0

    def __init__(self) -> None:
        type(self).n_made += 1
        self.is_odd = type(self).n_made % 2 == 0

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        return messages


class ManyTools(Surprise):
    async def tools(self) -> tuple[Tool, ...]:
        return TOOLS if self.is_odd else TOOLS[:1]


class Sounding(Surprise):
    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        sound = Audio(sha256="0" * 64, mime="audio/wav", size_bytes=1)
        added = Message(role="user", parts=(sound,))
        return (*messages, added) if self.is_odd else messages


@pytest.mark.usefixtures("two_tools_at_most")
@pytest.mark.parametrize(("environment", "subject"), [(ManyTools, "tools"), (Sounding, "sound")])
def test_what_shows_in_an_episode_alone_is_a_failure_of_that_episode(
    environment: type[Environment], subject: str, tmp_path: Path
) -> None:
    suite = suite_of(*(task(f"t{i}") for i in range(4)), environment=environment)
    done, n_asked = play(suite, tmp_path, max_connections=1)
    failures = [each.failure for each in done.episodes.records("attempts", Attempt)]
    assert {(each.kind, each.subject, each.stage) for each in failures} == {
        ("rejected.unsupported", subject, "model")
    }
    assert (len(failures), len([*done.trajectories()]), n_asked) == (2, 2, 2)
