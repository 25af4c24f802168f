"""An agent of the user's own, seen as the model of an episode.

The agent runs at the same time as the tool loop. What it does answers the loop's requests: calls
that it makes at the same time are one reply with these calls, and its text is a reply without
calls. So limits, turns, simulated users, environments and scorers treat it as they treat a model,
and the same policy has the same score either way.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from toolmark.core.errors import ReplyError, ToolmarkError, UsageError, mark_stage
from toolmark.core.media import MediaStore
from toolmark.core.model import NO_MODEL, DelegatingModel, Model
from toolmark.core.records import (
    Audio,
    Call,
    Image,
    Message,
    Reply,
    Request,
    Result,
    Sampling,
    Step,
    Tool,
)
from toolmark.models.user_model import reply_fault

END_TIMEOUT_S = 10.0  # for an agent to end after its episode
CANCEL_TIMEOUT_S = 1.0  # and once it is cancelled
_UNSET_SAMPLING = Sampling()


class EpisodeOver(Exception):
    """The episode has ended, at a limit of its task: no further call is executed."""


class NoModel(Model):
    """`baseline/none`, the model of a run that tests an agent which needs none."""

    name = NO_MODEL

    async def __call__(self, request: Request, /) -> Reply:
        """Raise UsageError."""
        raise UsageError("the agent asks a model, and the run has none; next: -m MODEL")


def name_model_of(agent: object) -> str:
    """Return the model of a run that names none. Raises UsageError where no agent is tested."""
    if not agent:
        raise UsageError(
            "no model; next: -m MODEL, such as openai/NAME, or --agent for one that needs no model"
        )
    return NO_MODEL


class SessionModel(DelegatingModel):
    """The model that an agent asks: `await session.model(tm.Request(messages=...))`.

    A request without settings of its own gets those of the run.
    """

    def __init__(self, model: Model, sampling: Sampling, repeat: int) -> None:
        super().__init__(model)
        self._sampling = sampling
        self._repeat = repeat
        self.new_replies: list[Reply] = []
        self.error: ToolmarkError | None = None
        self.is_over = False

    async def __call__(self, request: Request, /) -> Reply:
        """Return the model's reply. Raises EndpointError, and EpisodeOver after the episode.

        `error` is a failure after which no other request was answered: the agent did not recover.
        """
        if self.is_over:
            await asyncio.sleep(0)  # an agent that asks on and on can be cancelled
            raise EpisodeOver("the episode has ended")
        if request.sampling == _UNSET_SAMPLING:
            request = replace(request, sampling=self._sampling)
        known = self.error
        try:
            reply = await self.model(replace(request, repeat=self._repeat))
        except ToolmarkError as error:
            self.error = error
            raise
        if self.error is known:
            self.error = None
        self.new_replies.append(reply)
        return reply


class SessionTool:
    """A tool on offer: `await tool(city="Rome")` calls it."""

    def __init__(self, session: AgentSession, tool: Tool) -> None:
        self._session = session
        self.name = tool.name
        self.description = tool.description
        self.parameters = tool.parameters

    def __repr__(self) -> str:
        """Return its name."""
        return f"SessionTool({self.name!r})"

    async def __call__(self, **arguments: Any) -> Result:
        """Call the tool with these arguments; raises EpisodeOver."""
        return await self._session.call(self.name, arguments)


class AgentSession:
    """One episode, as an agent of the user's own sees it.

    - `prompt`: the text of the task, with its system messages first.
    - `messages`: the new messages of this turn, as records; at first all that was said before too.
    - `media`: the pictures and recordings of this turn, to be read by `read_media`.
    - `tools`: what is on offer now. It may change after any call.
    - `model`: the model of the run, if the agent wants one: `await session.model(request)`.

    It holds nothing of the reference answer, and not the id of the task.
    """

    def __init__(self, model: SessionModel, media: MediaStore | None = None) -> None:
        self.model = model
        self.messages: tuple[Message, ...] = ()
        self.tools: tuple[SessionTool, ...] = ()
        self._media_store = media
        self._calls: list[tuple[Call, asyncio.Future[Result]]] = []
        self._said: tuple[str, asyncio.Future[str | None]] | None = None
        self._acted = asyncio.Event()
        self._is_over = False
        self._n_calls = 0

    @property
    def prompt(self) -> str:
        """The text of this turn's messages, those of the system first.

        Where a task begins in the middle of a conversation each text has its speaker.
        """
        ordered = sorted(self.messages, key=lambda message: message.role != "system")
        is_conversation = any(each.role in ("assistant", "tool") for each in ordered)
        texts = (_spoken_text(each) if is_conversation else each.text for each in ordered)
        return "\n\n".join(filter(None, texts))

    @property
    def media(self) -> tuple[Image | Audio, ...]:
        """The pictures and recordings of this turn."""
        parts = (part for message in self.messages for part in message.parts)
        return tuple(part for part in parts if isinstance(part, Image | Audio))

    def read_media(self, part: Image | Audio) -> bytes:
        """Return the bytes of a picture or a recording of the task or of a result."""
        if self._media_store is None:
            raise UsageError("this session has no pictures and no recordings")
        return self._media_store.read(part)

    async def call(self, name: str, arguments: dict[str, Any] | str | None = None, /) -> Result:
        """Call a tool, and return its result. Raises EpisodeOver.

        Calls that are made at the same time, such as by `asyncio.gather`, count as calls of one
        reply. `arguments` may be JSON text, as a model has written it.
        """
        if self._is_over:
            await asyncio.sleep(0)  # an agent that calls on and on can be cancelled
            raise EpisodeOver("the episode has ended")
        self._n_calls += 1
        text = arguments if isinstance(arguments, str) else _encode_arguments(name, arguments)
        call = Call(id=f"call_{self._n_calls}", name=name, arguments=text)
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._calls.append((call, future))
        self._acted.set()
        return await future

    async def reply(self, text: str) -> str | None:
        """Give the text as the reply of this turn; return the next user message, None at the end.

        After the reply `messages`, `media` and `tools` are those of the next turn.
        """
        if self._is_over:
            await asyncio.sleep(0)
            return None
        if self._said is not None:
            raise ReplyError("a reply is given twice; next: await one before the other")
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._said = (text, future)
        self._acted.set()
        return await future


def _spoken_text(message: Message) -> str:
    """Return who says what, calls included; the text alone of the system."""
    calls = (f"{call.name}({call.arguments})" for call in message.calls)
    said = "\n".join(filter(None, (message.text, *calls)))
    return said if message.role == "system" or not said else f"{message.role}: {said}"


def _encode_arguments(name: str, arguments: dict[str, Any] | None) -> str:
    try:
        return json.dumps(arguments or {}, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ReplyError(f"arguments of {name}: not plain JSON values: {error}") from None


AgentFunction: TypeAlias = Callable[[AgentSession], Awaitable[object]]
"""An `async def agent(session)`; a text that it returns is its reply."""


class SessionPlayer(Model):
    """Answers the requests of the tool loop with what an agent does in its session.

    `steps` are those of the loop: the results of calls are taken from there.
    """

    def __init__(
        self, agent: AgentFunction, model: SessionModel, steps: Sequence[Step],
        media: MediaStore | None,
    ) -> None:  # fmt: skip
        self.session = AgentSession(model, media)
        self._agent = agent
        self._model = model
        self._steps = steps
        self._running: asyncio.Task[object] | None = None
        self._pending: list[asyncio.Future[Result]] = []
        self._answered: asyncio.Future[str | None] | None = None
        self._has_returned = False
        self._asked: list[tuple[Reply, ...]] = []

    async def __call__(self, request: Request, /) -> Reply:
        """Return what the agent does next, as a reply. Raises EndpointError, and what it raises."""
        self._deliver_results(request)
        session = self.session
        if self._running is None:
            self._running = asyncio.create_task(self._run_agent())
        elif self._has_returned:
            return Reply()
        acted = asyncio.create_task(session._acted.wait())
        try:
            await asyncio.wait({self._running, acted}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            acted.cancel()
        await asyncio.sleep(0)  # others that act at the same time come along
        session._acted.clear()
        if self._model.error is not None:
            raise self._model.error
        if session._calls:
            calls, self._pending = map(list, zip(*session._calls, strict=True))
            session._calls = []
            if session._said is not None:  # said along with the calls, it is the next reply
                session._acted.set()
            return self._make_reply("", tuple(calls))
        if session._said is not None:
            text, self._answered = session._said
            session._said = None
            return self._make_reply(text)
        self._has_returned = True
        returned = await self._running
        if not (returned is None or isinstance(returned, str)):
            raise ReplyError(f"an agent returns its text or None, got {type(returned).__name__}")
        return self._make_reply(returned or "")

    async def _run_agent(self) -> object:
        try:
            return await self._agent(self.session)
        except EpisodeOver:
            return None
        except SystemExit as error:  # in a task of its own it would end the run
            raise ReplyError(f"the agent ended the process: exit({error.code})") from error
        except Exception as error:
            if self._model.error is not None:
                raise self._model.error from error
            mark_stage(error, "agent")
            raise

    def _make_reply(self, text: str, calls: tuple[Call, ...] = ()) -> Reply:
        """Return what the agent does as a reply, and note what it asked the model before.

        Raises ReplyError for one that cannot be stored.
        """
        reply = Reply(text=text, calls=calls)
        if fault := reply_fault(reply):
            raise ReplyError(fault)
        self._asked.append(tuple(self._model.new_replies))
        self._model.new_replies.clear()
        return reply

    def add_asked(self, steps: Sequence[Step]) -> list[Step]:
        """Return the steps with the replies of the model that were asked for before each."""
        asked = [*self._asked, *[()] * (len(steps) - len(self._asked))]
        if steps:  # what was asked after the last step counts there
            asked[len(steps) - 1] += tuple(self._model.new_replies)
        return [replace(step, asked=found) for step, found in zip(steps, asked, strict=False)]

    def _deliver_results(self, request: Request) -> None:
        """Give the agent the results of its calls, or the next message of the user."""
        session = self.session
        session.tools = tuple(SessionTool(session, tool) for tool in request.tools)
        new = request.messages if self._running is None else _new_messages(request.messages)
        if new or not self._pending:
            session.messages = new
        if self._pending:
            for future, result in zip(self._pending, self._steps[-1].results, strict=False):
                if not future.done():
                    future.set_result(result)
            self._pending = []
            return
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(session.prompt)
            self._answered = None

    async def close(self) -> None:
        """End the agent: a reply that it waits for is answered by None, a call by EpisodeOver.

        An agent that does not end is cancelled, and one that does not end then is left behind.
        """
        self.session._is_over = self._model.is_over = True
        if self._running is None:
            return
        replies = [self._answered, self.session._said[1] if self.session._said else None]
        for said in replies:
            if said is not None and not said.done():
                said.set_result(None)
        waiting = [*self._pending, *(future for _, future in self.session._calls)]
        for each in waiting:
            if not each.done():
                each.set_exception(EpisodeOver("the episode has ended"))
                each.exception()  # nobody may wait for it any more, and no log says so
        try:
            await asyncio.wait({self._running}, timeout=END_TIMEOUT_S)
        finally:
            self._running.cancel()
        await asyncio.wait({self._running}, timeout=CANCEL_TIMEOUT_S)
        if self._running.done() and not self._running.cancelled():
            self._running.exception()  # what it raises after its episode counts for nothing


def _new_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages after the last one of the assistant or of a tool."""
    answered = [i for i, each in enumerate(messages) if each.role in ("assistant", "tool")]
    return tuple(messages[answered[-1] + 1 if answered else 0 :])


def is_agent_function(candidate: object) -> bool:
    """Return whether it can be called as `async def agent(session)`."""
    function: Any = candidate if inspect.isroutine(candidate) else type(candidate).__call__
    if inspect.isclass(candidate) or not inspect.iscoroutinefunction(function):
        return False
    try:
        inspect.signature(candidate).bind(None)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True
