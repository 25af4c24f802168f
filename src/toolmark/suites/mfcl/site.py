"""The surroundings of a speech episode: BFCL's world, and a user who may be asked to spell.

What could not be spoken is refused here, before a model is asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
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
from toolmark.perturb.speech.voice import Voice as Speaker
from toolmark.suites.bfcl import multi_turn, replay
from toolmark.suites.mfcl import judge as judging
from toolmark.suites.mfcl.answer import Answer
from toolmark.suites.mfcl.booth import Booth, Job, Recipe
from toolmark.suites.mfcl.items import TEXT, plain, turned
from toolmark.suites.mfcl.making import booth
from toolmark.types import (
    Audio,
    Call,
    Instrument,
    Message,
    Model,
    Result,
    Site,
    Task,
    Text,
    Tool,
    World,
)
from toolmark.worlds import silent

_ELSE = "; name a model for judge= (openai/NAME, http://HOST:PORT/v1#NAME), rules, or off"


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
    user: User | None
    media: Media
    made: Media

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[Talked]:
        """Return a fresh world."""
        speech = task.reference.get("speech", {})
        for turn in speech.get("turns", ()):
            if turn.get("audio"):
                self.media.take(
                    self.made, [msgspec.convert({"type": "audio", **turn["audio"]}, Audio)]
                )
        async with AsyncExitStack() as stack:
            site = self.single
            if turned(task):  # only those need BFCL's package
                site = await stack.enter_async_context(multi_turn.site(self.media))
            world = await stack.enter_async_context(site.world(plain(task), needed))
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
            user = None if self.judge == "off" else await self._user(stack, media)
            yield Booths(single, user, media, self.made)

    def missing(self, tasks: Iterable[Task]) -> Mapping[str, str]:
        """Say what the judge lacks, before speech is made for it.

        Raises DataError where BFCL's functions are needed and its package cannot be fetched.
        """
        if any(map(turned, tasks)):
            replay.kit()
        try:
            self._model()
        except UsageError as error:
            return {f"judge={self.judge}": str(error)}
        return {}

    def _model(self) -> Model | None:
        """Return the model that rules, None where none is asked. Raises UsageError."""
        if self.judge in ("rules", "off"):
            return None
        if self.judge.startswith(("test/", "baseline/")):
            raise UsageError(f"{self.judge} cannot judge, it answers no questions{_ELSE}")
        try:
            model = resolve(self.judge)
        except UsageError as error:
            raise UsageError(f"{error}{_ELSE}") from None
        if isinstance(model, Instrument):
            raise UsageError(f"{self.judge} cannot judge{_ELSE}")
        return model

    async def _user(self, stack: AsyncExitStack, media: Media) -> User:
        ruling: judging.Judge = judging.rules
        model = self._model()
        if model is not None:
            if isinstance(model, Wrapper):
                stack.push_async_callback(model.close)
            ruling = judging.Asked(model, self.judge)
        speak = Voice(self.recipe, self.made, media) if self.recipe else None
        if speak:
            speak.ready()
        return judging.Simulated(judge=ruling, speak=speak)


@dataclass(frozen=True, slots=True)
class Voice:
    """Says the user's answers in the item's voice and acoustics; the words stay as they are."""

    recipe: Recipe
    made: Media
    media: Media

    def ready(self) -> None:
        """Raise UsageError where there is no voice to answer with."""
        try:
            _ = booth(self.recipe, str(self.made.folder.parent)).voices
        except UsageError as error:
            told = "the user answers by voice; with judge=off nobody answers"
            raise UsageError(f"{error} ({told})") from None

    def __call__(self, reply: Answer, task: Task) -> Message:
        """Return the spoken answer. Raises WorldError if it cannot be spoken."""
        if task.axes["condition"] == TEXT:
            return Message(role="user", parts=(Text(reply.written),))
        # tasks from a file may have been made with another seed: theirs has their acoustics
        recipe = replace(self.recipe, rewrite=False, disfluency=False, seed=task.seed)
        own = booth(recipe, str(self.made.folder.parent))
        done = own.utter(
            Job(item=task.item, turn=-1, written=reply.aloud, condition=task.axes["condition"],
                voice=self._voice(own, task))
        )  # fmt: skip
        if done.audio is None:
            raise WorldError(f"the user's answer could not be spoken: {done.failed}")
        self.media.take(own.media, [done.audio])
        return Message(role="user", parts=(done.audio,))

    def _voice(self, own: Booth, task: Task) -> Speaker | None:
        """Return the voice that the task was spoken in, None where none is on record.

        Names come from a file and go to a program: only voices that are here are taken. Raises
        WorldError for another one, if not to go on without is asked for.
        """
        turns = task.reference.get("speech", {}).get("turns", ())
        told = next(filter(None, (turn.get("voice") for turn in turns)), None)
        if told is None:
            return None
        try:
            kept = msgspec.convert(told, Speaker)
        except msgspec.ValidationError as error:
            raise WorldError(f"the voice of this task is none: {error}") from None
        for here in own.voices:
            if (here.engine, here.name) == (kept.engine, kept.name):
                pitch = None if kept.pitch is None else min(max(kept.pitch, 0.0), 1.0)
                return replace(here, rate=min(max(kept.rate, 0.5), 2.0), pitch=pitch)
        if self.recipe.missing == "skip":
            return None
        raise WorldError(
            f"the user's answer cannot be spoken: voice {kept.name} of {kept.engine}, in which the "
            "request was, is not here; with missing=skip another voice answers"
        )
