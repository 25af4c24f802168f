"""A user with a goal: a model speaks for it, sees the conversation from its side, and ends it.

Its model sees what was said, never tools, calls, results, system prompts or answer keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolmark.agents.user_wording import (
    UserProfile,
    split_ending,
    user_wording,
    wording_digest,
    write_system_prompt,
)
from toolmark.core.called_code import CodeHolder
from toolmark.core.environment import SimulatedUser
from toolmark.core.errors import CostLimitReached, EndpointError, SimulatedUserError, UsageError
from toolmark.core.field_templates import FieldTemplate, parse_template, scalar_texts
from toolmark.core.model import Model
from toolmark.core.records import (
    Message,
    Reply,
    Request,
    Ruling,
    Sampling,
    Step,
    StopReason,
    Task,
    Text,
)
from toolmark.formats.executor_json import strip_thoughts

_SAMPLING = Sampling(temperature=0.0)
_UNUSABLE_STOPS: frozenset[StopReason] = frozenset(("refused", "malformed", "over_long"))
_TEXTS = ("goal", "persona", "knows", "does_not_know", "stop")


@dataclass(frozen=True)
class UserDescription(CodeHolder):
    """A simulated user of a suite, from which the user of each episode is made.

    The texts are templates over the fields of `task.data`. `model` is asked where a run names none.
    """

    goal: str
    persona: str = ""
    knows: str = ""
    does_not_know: str = ""
    stop: str = ""
    max_turns: int = 5
    model: str = ""

    def settings(self) -> Any:
        """Return the texts, the limit, and the digest of toolmark's own words."""
        texts = {name: getattr(self, name) for name in _TEXTS}
        return {**texts, "max_turns": self.max_turns, "wording": wording_digest()}

    @cached_property
    def _templates(self) -> dict[str, FieldTemplate]:
        return {
            name: parse_template(getattr(self, name), f"{name} of the simulated user")
            for name in _TEXTS
        }

    def check_templates(self) -> None:
        """Raise UsageError for a text that is not a template."""
        assert self._templates

    def write_profile(self, task: Task) -> UserProfile:
        """Return the texts of a task. Raises DataError for a field that the task lacks.

        Of what the user does not know its model reads the fields' names, not their values.
        """
        hidden = self._templates["does_not_know"]
        texts = {name: template.fill_fields(task) for name, template in self._templates.items()}
        return UserProfile(**texts)._replace(does_not_know=hidden.name_fields())

    def hidden_values(self, task: Task) -> list[str]:
        """Return the values of the fields that the user does not know, as texts."""
        template = self._templates["does_not_know"]
        return [
            text
            for name in template.field_names
            for text in scalar_texts(template.read_field(task, name))
            if text.strip()
        ]


def simulated_user(
    goal: str,
    *,
    persona: str = "",
    knows: str = "",
    does_not_know: str = "",
    stop: str = "",
    max_turns: int = 5,
    model: str = "",
) -> UserDescription:
    """Return a simulated user: a model that talks with the model under test until its goal is done.

    The user reads each reply without calls. It sends the task's question first; where a task has
    neither question nor messages, it writes the first message itself. A text may name fields of the
    row: `"{goal}"`.

    Args:
        goal: What the user wants.
        persona: Who the user is, and how it writes.
        knows: What it can say when it is asked.
        does_not_know: What it must not say. Its model reads the names of the fields in it, not
            their values; a user that says one of these values has a fault.
        stop: When the goal is done, where the goal does not say it.
        max_turns: How many messages the user sends at most, the first one included.
        model: The model that speaks for the user where the run names none by `--user-model`.
    """
    limit: object = max_turns
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise UsageError(f"max_turns of the simulated user must be at least 1; got {limit!r}")
    candidate: object = model
    if not isinstance(candidate, str):
        raise UsageError("model of the simulated user is a name; give an object to tm.run instead")
    made = UserDescription(goal, persona, knows, does_not_know, stop, max_turns, model)
    made.check_templates()
    if not goal.strip():
        raise UsageError("a simulated user needs a goal")
    return made


def check_description(candidate: object) -> None:
    """Raise UsageError for what a suite was given as its user and is not a description of one."""
    if not isinstance(candidate, UserDescription):
        kind = type(candidate).__name__
        raise UsageError(f"user: expected toolmark.simulated_user(...), got {kind}")


class UserWithGoal(SimulatedUser):
    """The user of one episode, for which a model speaks."""

    def __init__(
        self, description: UserDescription, model: Model, name: str, repeat: int = 0
    ) -> None:
        self._description = description
        self._model = model
        self._name = name
        self._repeat = repeat

    async def open_conversation(self, task: Task, /) -> Ruling | None:
        """Return the first message. Raises SimulatedUserError for a model that writes none."""
        ruling = self._read_reply(await self._ask_model(task, conversation_of_user(task, 0, ())))
        if not ruling.reply:
            raise SimulatedUserError(f"user model {self._name} did not open the conversation")
        return Ruling(
            allowed=True,
            reply=ruling.reply,
            judge=self._name,
            usage=ruling.usage,
            ending=ruling.ending,
            faults=ruling.faults,
            from_cache=ruling.from_cache,
        )

    async def answer(
        self, task: Task, turn: int, steps: Sequence[Step], text: str, /
    ) -> tuple[Ruling, Message | None]:
        """Answer a reply, or end the conversation. Raises SimulatedUserError if nothing comes."""
        if not strip_thoughts(text):
            return Ruling(allowed=False, judge=self._name, ending="no_answer"), None
        if count_user_messages(steps, turn) >= self._description.max_turns:
            return Ruling(allowed=False, judge=self._name, ending="max_turns"), None
        messages = conversation_of_user(task, turn, steps)
        ruling = self._read_reply(await self._ask_model(task, messages))
        if not ruling.allowed:
            return ruling, None
        return ruling, Message(role="user", parts=(Text(ruling.reply),))

    async def _ask_model(self, task: Task, messages: Sequence[Message]) -> Reply:
        system = write_system_prompt(self._description.write_profile(task))
        request = Request(
            messages=(
                Message(role="system", parts=(Text(system),)),
                *messages,
            ),
            sampling=_SAMPLING,
            repeat=self._repeat,
        )
        try:
            reply = await self._model(request)
        except CostLimitReached:
            raise
        except EndpointError as error:
            failed = SimulatedUserError(f"user model {self._name}: {error}")
            failed.status, failed.subject = error.status, error.subject
            raise failed from error
        if reply.stop in _UNUSABLE_STOPS:
            raise SimulatedUserError(f"user model {self._name}: its reply ended by {reply.stop!r}")
        return reply

    def _read_reply(self, reply: Reply) -> Ruling:
        """Return what the model of the user wrote as a ruling."""
        said, ending = split_ending(strip_thoughts(reply.text))
        faults = {"tool_call": bool(reply.calls), "cut": reply.stop == "length"}
        return Ruling(
            allowed=bool(said) and not ending,
            reply=said,
            judge=self._name,
            usage=reply.usage,
            ending=ending if ending or said else "empty",
            faults=tuple(name for name, is_found in faults.items() if is_found),
            from_cache=reply.from_cache,
        )


def count_user_messages(steps: Sequence[Step], turn: int) -> int:
    """Return how many messages the user has sent: the first of each turn so far, and answers."""
    n_answers = sum(step.ruling is not None and step.ruling.allowed for step in steps)
    return turn + 1 + n_answers


def conversation_of_user(task: Task, turn: int, steps: Sequence[Step]) -> list[Message]:
    """Return what was said, as the model of the user sees it: it is the assistant there.

    It begins with a line of toolmark's own, from the other side. Messages of the same side that
    follow each other are joined, so that the sides alternate. Of the model under test it has the
    replies without calls, without their thoughts.
    """
    lines: list[tuple[bool, str]] = [(False, user_wording().kick_off)]
    for number, each in enumerate(task.turns[: turn + 1]):
        lines += [
            (message.role == "user", message.text)
            for message in each.messages
            if message.role in ("user", "assistant") and not message.calls
        ]
        lines += _spoken_lines(step for step in steps if step.turn == number)
    joined: list[tuple[bool, str]] = []
    for is_own, text in lines:
        if not text.strip():
            continue
        if joined and joined[-1][0] == is_own:
            text = f"{joined.pop()[1]}\n\n{text}"
        joined.append((is_own, text))
    return [
        Message(role="assistant" if is_own else "user", parts=(Text(text),))
        for is_own, text in joined
    ]


def _spoken_lines(steps: Iterator[Step]) -> Iterator[tuple[bool, str]]:
    """Yield what was said in these steps, and whether the user said it."""
    for step in steps:
        if step.calls:
            continue
        yield False, strip_thoughts(step.reply.text)
        if step.ruling is not None and step.ruling.allowed:
            yield True, step.ruling.reply
