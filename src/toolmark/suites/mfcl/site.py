"""The surroundings of a speech episode: BFCL's world, and a user who may be asked to spell.

What could not be spoken is refused here, before a model is asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from toolmark.agents.user import User
from toolmark.errors import UsageError, WorldError
from toolmark.media import Media
from toolmark.models.policy import Wrapper
from toolmark.models.resolve import resolve
from toolmark.suites.bfcl import multi_turn
from toolmark.suites.mfcl import judge as judging
from toolmark.suites.mfcl.booth import Job, Recipe
from toolmark.suites.mfcl.items import TEXT, plain
from toolmark.suites.mfcl.making import booth
from toolmark.types import (
    Audio,
    Call,
    Instrument,
    Message,
    Result,
    Site,
    Task,
    Text,
    Tool,
    World,
)
from toolmark.worlds import silent


class Talked:
    """A world with somebody to talk to."""

    def __init__(self, world: World, user: User | None) -> None:
        self._world = world
        self.user = user

    async def tools(self) -> tuple[Tool, ...]:
        """Return the world's own tools."""
        return await self._world.tools()

    async def call(self, call: Call, /) -> Result:
        """Call in the world."""
        return await self._world.call(call)

    async def final_state(self) -> Any:
        """Return the world's state."""
        return await self._world.final_state()


@dataclass(frozen=True, slots=True)
class Booths:
    """Gives each episode BFCL's world for its category; keeps the sound behind a transcript."""

    single: Site
    turned: Site
    user: User | None
    media: Media
    made: Media

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[Talked]:
        """Return a fresh world. Raises WorldError for a task whose speech could not be made."""
        speech = task.reference.get("speech", {})
        if failed := speech.get("failed"):
            raise WorldError(f"the task could not be spoken: {failed}")
        for turn in speech.get("turns", ()):
            if turn.get("audio"):
                self.media.take(
                    self.made, [msgspec.convert({"type": "audio", **turn["audio"]}, Audio)]
                )
        site = self.turned if task.category in multi_turn.CATEGORIES else self.single
        async with site.world(plain(task), needed) as world:
            yield Talked(world, self.user)


@dataclass(frozen=True, slots=True)
class Opening:
    """Opens BFCL's sites with a user: `judge` is `rules`, `off`, or the name of a model.

    With a recipe the user answers by voice.
    """

    judge: str
    made: Media
    recipe: Recipe | None = None

    @asynccontextmanager
    async def __call__(self, media: Media) -> AsyncIterator[Booths]:
        """Open them; the run's store gets the sound."""
        async with AsyncExitStack() as stack:
            single = await stack.enter_async_context(silent.site(media))
            turned = await stack.enter_async_context(multi_turn.site(media))
            user = None if self.judge == "off" else await self._user(stack, media)
            yield Booths(single, turned, user, media, self.made)

    async def _user(self, stack: AsyncExitStack, media: Media) -> User:
        ruling: judging.Judge = judging.rules
        if self.judge != "rules":
            model = resolve(self.judge)
            if isinstance(model, Instrument):
                raise UsageError(f"{self.judge} cannot judge: name a model, rules, or off")
            if isinstance(model, Wrapper):
                stack.push_async_callback(model.close)
            ruling = judging.Asked(model, self.judge)
        speak = Voice(self.recipe, self.made, media) if self.recipe else None
        return judging.Simulated(judge=ruling, speak=speak)


@dataclass(frozen=True, slots=True)
class Voice:
    """Says the user's answers in the item's voice and acoustics; the words stay as they are."""

    recipe: Recipe
    made: Media
    media: Media

    def __call__(self, reply: str, task: Task) -> Message:
        """Return the spoken answer. Raises WorldError if it cannot be spoken."""
        if task.axes["condition"] == TEXT:
            return Message(role="user", parts=(Text(reply),))
        recipe = replace(self.recipe, rewrite=False, disfluency=False)
        own = booth(recipe, str(self.made.folder.parent))
        done = own.utter(
            Job(item=task.item, turn=-1, written=reply, condition=task.axes["condition"])
        )
        if done.audio is None:
            raise WorldError(f"the user's answer could not be spoken: {done.failed}")
        self.media.take(own.media, [done.audio])
        return Message(role="user", parts=(done.audio,))
