"""The environment of a speech episode: BFCL's, and a simulated user who answers questions.

A task that could not be spoken is refused here, before a model is asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from toolmark.core.environment import (
    DelegatingFactory,
    EnvironmentFactory,
    EnvironmentWithUser,
    SimulatedUser,
)
from toolmark.core.errors import ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model
from toolmark.core.records import Message, Task, Text
from toolmark.core.task_data import read_task_data
from toolmark.environments.class_environments import ClassEnvironments
from toolmark.environments.no_op_environment import NoOpEnvironment
from toolmark.models.model_resolver import resolve_model
from toolmark.official_bfcl import multi_turn_tasks, truth_replay
from toolmark.perturb.speech.voice import Voice
from toolmark.suites.mfcl_speech import clarification_judge
from toolmark.suites.mfcl_speech.speech_items import SAID, TEXT, is_multi_turn, original_task
from toolmark.suites.mfcl_speech.speech_pipeline import SpeechPipeline, SpeechRecipe, UtteranceJob
from toolmark.suites.mfcl_speech.speech_task_data import SpeechTaskData
from toolmark.suites.mfcl_speech.speech_task_maker import load_pipeline
from toolmark.suites.mfcl_speech.user_answers import UserAnswer

_JUDGE_CHOICES = "; name a model for judge= (openai/NAME, http://HOST:PORT/v1#NAME), rules, or off"


class SpeechEnvironments(DelegatingFactory):
    """Gives each episode BFCL's environment for its category; stores the sound of a transcript."""

    def __init__(
        self,
        single_turn: EnvironmentFactory,
        user: SimulatedUser | None,
        media: MediaStore,
        made_media: MediaStore,
    ) -> None:
        super().__init__(single_turn)
        self.single_turn = single_turn
        self.user = user
        self.media = media
        self.made_media = made_media

    @asynccontextmanager
    async def open_environment(
        self, task: Task, states: Mapping[str, Any], /
    ) -> AsyncIterator[EnvironmentWithUser]:
        """Return a fresh environment."""
        sounds = [turn.audio for turn in read_task_data(task, SpeechTaskData).turns if turn.audio]
        self.media.copy_from(self.made_media, sounds)
        async with AsyncExitStack() as stack:
            factory = self.single_turn
            if is_multi_turn(task):  # only those need BFCL's package
                factory = await stack.enter_async_context(
                    multi_turn_tasks.open_environments(self.media)
                )
            environment = await stack.enter_async_context(
                factory.open_environment(original_task(task), states)
            )
            yield EnvironmentWithUser(environment, self.user)


@dataclass(frozen=True, slots=True)
class SpeechEnvironmentOpener:
    """Opens BFCL's environment factories with a user: `judge` is `rules`, `off`, or a model's name.

    With a recipe the user answers by voice.
    """

    judge: str
    made_media: MediaStore
    recipe: SpeechRecipe | None = None

    @asynccontextmanager
    async def __call__(self, media: MediaStore) -> AsyncIterator[SpeechEnvironments]:
        """Open them; the run's store gets the sound."""
        async with AsyncExitStack() as stack:
            single = ClassEnvironments(NoOpEnvironment)
            user = None if self.judge == "off" else await self._make_user(stack, media)
            yield SpeechEnvironments(single, user, media, self.made_media)

    def missing_requirements(self, tasks: Iterable[Task]) -> Mapping[str, str]:
        """Return what the judge lacks, before speech is made for it.

        Raises DataError where BFCL's functions are needed and its package cannot be fetched.
        """
        if any(map(is_multi_turn, tasks)):
            truth_replay.load_simulators()
        try:
            self._judge_model()
        except UsageError as error:
            return {f"judge={self.judge}": str(error)}
        return {}

    def _judge_model(self) -> Model | None:
        """Return the model that rules, None where none is asked. Raises UsageError."""
        if self.judge in ("rules", "off"):
            return None
        if self.judge.startswith(("control/", "baseline/")):
            raise UsageError(f"{self.judge} cannot judge, it answers no questions{_JUDGE_CHOICES}")
        try:
            model = resolve_model(self.judge)
        except UsageError as error:
            raise UsageError(f"{error}{_JUDGE_CHOICES}") from None
        if isinstance(model, Control):
            raise UsageError(f"{self.judge} cannot judge{_JUDGE_CHOICES}")
        return model

    async def _make_user(self, stack: AsyncExitStack, media: MediaStore) -> SimulatedUser:
        judge: clarification_judge.Judge = clarification_judge.judge_by_rules
        model = self._judge_model()
        if model is not None:
            stack.push_async_callback(model.close)
            judge = clarification_judge.ModelJudge(model, self.judge)
        voice = AnswerVoice(self.recipe, self.made_media, media) if self.recipe else None
        if voice:
            voice.check_available()
        return clarification_judge.SimulatedUser(judge=judge, speak_answer=voice)


@dataclass(frozen=True, slots=True)
class AnswerVoice:
    """Says the user's answers in the item's voice and acoustics, without any change of words."""

    recipe: SpeechRecipe
    made_media: MediaStore
    media: MediaStore

    def check_available(self) -> None:
        """Raise UsageError where there is no voice to answer with."""
        try:
            _ = load_pipeline(self.recipe, str(self.made_media.folder.parent)).voices
        except UsageError as error:
            advice = "the user answers by voice; with judge=off nobody answers"
            raise UsageError(f"{error} ({advice})") from None

    def __call__(self, reply: UserAnswer, task: Task) -> Message:
        """Return the spoken answer. Raises ToolEnvironmentError if it cannot be spoken."""
        if task.axes["condition"] == TEXT:
            return Message(role="user", parts=(Text(reply.written),))
        if task.axes["condition"] == SAID:
            return Message(role="user", parts=(Text(reply.spoken),))
        # tasks from a file may have been made with another seed, which decides their acoustics
        recipe = replace(self.recipe, rewrite=False, disfluency=False, seed=task.seed)
        pipeline = load_pipeline(recipe, str(self.made_media.folder.parent))
        utterance = pipeline.make_utterance(
            UtteranceJob(
                item=task.item,
                turn=-1,
                written=reply.spoken,
                condition=task.axes["condition"],
                voice=self._find_voice(pipeline, task),
            )
        )
        if utterance.audio is None:
            raise ToolEnvironmentError(f"the user's answer could not be spoken: {utterance.failed}")
        self.media.copy_from(pipeline.media, [utterance.audio])
        return Message(role="user", parts=(utterance.audio,))

    def _find_voice(self, pipeline: SpeechPipeline, task: Task) -> Voice | None:
        """Return the voice that the task was spoken in, None where none is recorded.

        Names come from a file and go to a program, so only installed voices are accepted. Raises
        ToolEnvironmentError for another one, unless the recipe says to skip missing voices.
        """
        voices = (turn.voice for turn in read_task_data(task, SpeechTaskData).turns)
        wanted = next(filter(None, voices), None)
        if wanted is None:
            return None
        for candidate in pipeline.voices:
            if (candidate.engine, candidate.name) == (wanted.engine, wanted.name):
                pitch = None if wanted.pitch is None else min(max(wanted.pitch, 0.0), 1.0)
                return replace(candidate, rate=min(max(wanted.rate, 0.5), 2.0), pitch=pitch)
        if self.recipe.missing == "skip":
            return None
        raise ToolEnvironmentError(
            f"the user's answer cannot be spoken: voice {wanted.name} of {wanted.engine}, in which "
            "the request was, is not here; with missing=skip another voice answers"
        )
