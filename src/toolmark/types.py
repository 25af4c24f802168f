"""The words of the system: a task, what happened, and what it was worth.

Everything here is frozen data. Verbs live elsewhere: suites make Tasks, agents turn a
Task into a Trajectory, scorers turn both into Verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from toolmark.failure import Failure
from toolmark.record import Record as Record


class Check(Record, frozen=True, kw_only=True):
    """What one probe found, and the next step where it is not well."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    step: str = ""


# --- what is said -----------------------------------------------------------------------


class Text(Record, frozen=True, tag="text"):
    """A piece of text."""

    text: str


class Image(Record, frozen=True, kw_only=True, tag="image"):
    """A picture, by reference into a media store."""

    sha256: str
    mime: str
    size_bytes: int


class Audio(Record, frozen=True, kw_only=True, tag="audio"):
    """A recording, by reference into a media store."""

    sha256: str
    mime: str
    size_bytes: int


Part: TypeAlias = Text | Image | Audio
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class Call(Record, frozen=True, kw_only=True):
    """One tool call. `arguments` is the JSON text exactly as the model sent it."""

    name: str
    arguments: str = "{}"
    id: str = ""


class Message(Record, frozen=True, kw_only=True):
    """One message: role and parts; an assistant's calls; a tool result's call id."""

    role: Role
    parts: tuple[Part, ...] = ()
    calls: tuple[Call, ...] = ()
    call_id: str = ""

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


class Tool(Record, frozen=True, kw_only=True):
    """A tool as offered: `parameters` is JSON Schema, `source` the published doc as it was."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    source: Any = None


class Sampling(Record, frozen=True, kw_only=True):
    """How a reply is drawn; None leaves a setting out of the request."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    extra: dict[str, Any] = {}


# --- what is asked ----------------------------------------------------------------------


class Turn(Record, frozen=True, kw_only=True):
    """The messages of one user turn, and the tools that appear with it."""

    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()


class Limits(Record, frozen=True, kw_only=True):
    """When an episode ends by force: `steps` replies per turn, `calls` tool calls in all.

    The first `calls` calls are executed; one more ends the episode. With `single` every reply ends
    its turn, one that calls too: a call is an answer there, and `steps` does not count.
    """

    steps: int = 50
    calls: int | None = None
    single: bool = False


class Task(Record, frozen=True, kw_only=True):
    """One item as asked. `id` names the item with its axes; `item` is the base for pairing.

    `sampling` and `dialect` hold what this task fixes; where they are silent the run's own hold.
    `needs` are set-up tasks, earlier in the suite's order, whose final states this one starts from.
    """

    id: str
    suite: str
    turns: tuple[Turn, ...]
    item: str = ""
    category: str = ""
    tools: tuple[Tool, ...] = ()
    reference: Any = None
    axes: dict[str, str] = {}
    limits: Limits = Limits()
    sampling: Sampling = Sampling()
    dialect: str = ""
    seed: int = 0
    needs: tuple[str, ...] = ()
    kind: Literal["scored", "setup"] = "scored"


# --- asking a model ---------------------------------------------------------------------


class Request(Record, frozen=True, kw_only=True):
    """What a model sees. `repeat` is not sent: it keeps cached repeats apart."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    sampling: Sampling = Sampling()
    repeat: int = 0


class Usage(Record, frozen=True, kw_only=True):
    """Tokens, as the endpoint counts them."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cached: int = 0


StopReason: TypeAlias = Literal["stop", "length", "refused", "malformed", "over_long"]


class Reply(Record, frozen=True, kw_only=True):
    """What a model said. Faults of the model are stop reasons here, never exceptions.

    `length`: cut at the token limit; `refused`: the endpoint's content filter or a refusal;
    `malformed`: a body whose parts have the wrong shape; `over_long`: the conversation no longer
    fits the model. `latency_s` runs to the last byte. Lone surrogates are escaped (`codec.escape`).
    `kept`: it came from the cache, and nobody was asked. `marks` say what of the answer was beyond
    a limit and cut, or was not believed.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    stop: StopReason = "stop"
    reasoning: str = ""
    usage: Usage = Usage()
    latency_s: float = 0.0
    model: str = ""
    kept: bool = False
    marks: tuple[str, ...] = ()


class Result(Record, frozen=True, kw_only=True):
    """What a tool returned. `is_error` is the tool's own error: the model sees it."""

    parts: tuple[Part, ...] = ()
    structured: Any = None
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


# --- what happened ----------------------------------------------------------------------


class Ruling(Record, frozen=True, kw_only=True):
    """What a simulated user made of a reply without calls.

    `allowed`: it only asked for what the user may tell; then `reply` is what was told, else "".
    `topics` are those asked for, by their names in the user's list; `judge` says who decided, and
    `usage` counts its tokens where that was a model.
    """

    allowed: bool
    reply: str = ""
    topics: tuple[str, ...] = ()
    reason: str = ""
    judge: str = ""
    usage: Usage = Usage()


class Step(Record, frozen=True, kw_only=True):
    """One reply and what came of it.

    `said` holds the system and user messages new before this reply, as the dialect sent them;
    `calls` the calls as the dialect read them; `results` pairs with `calls`, shorter when the
    last ones were over a limit and not executed; `fault` says why the dialect could not read the
    reply; `phase` is what an agent that works in phases asked for; `ruling` is what a simulated
    user made of a reply without calls, where there is such a user.
    """

    reply: Reply
    turn: int = 0
    said: tuple[Message, ...] = ()
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    fault: str = ""
    phase: str = ""
    ruling: Ruling | None = None


Ending: TypeAlias = Literal[
    "answered", "steps", "calls", "length", "refused", "malformed", "over_long"
]


class Trajectory(Record, frozen=True, kw_only=True):
    """A completed episode. `tools` is empty when the world offered the Task's own."""

    task: str
    repeat: int = 0
    dialect: str = "native"
    steps: tuple[Step, ...] = ()
    answer: str = ""
    state: Any = None
    ending: Ending = "answered"
    tools: tuple[Tool, ...] = ()
    usage: Usage = Usage()
    latency_s: float = 0.0


class Attempt(Record, frozen=True, kw_only=True):
    """An episode that was not run: why, and the steps so far."""

    task: str
    repeat: int
    failure: Failure
    steps: tuple[Step, ...] = ()


class Judgement(Record, frozen=True, kw_only=True):
    """What one judge model said of one episode: `value` in [0, 1], or none and the `failure`.

    `text` is its last reply; `form` says how it was asked: what was asked otherwise does not count
    together. `usage` is that of all its replies.
    """

    task: str
    repeat: int = 0
    kind: str
    judge: str
    value: float | None = None
    text: str = ""
    failure: Failure | None = None
    form: str = ""
    usage: Usage = Usage()


# --- what it was worth ------------------------------------------------------------------

Cause: TypeAlias = Literal[
    "unknown_tool", "wrong_tool", "missing_call", "extra_call", "missing_argument",
    "unexpected_argument", "wrong_type", "wrong_value", "value_not_known", "format", "state",
    "response", "no_answer", "wrong_answer", "drift", "over_long", "over_limit", "refused",
    "perception", "retrieval", "clarification",
]  # fmt: skip


class Label(Record, frozen=True, kw_only=True):
    """Why an answer failed: a cause of the closed list, the suite's own class, the evidence."""

    cause: Cause
    native: str = ""
    evidence: str = ""
    primary: bool = False


class Verdict(Record, frozen=True, kw_only=True):
    """One reading's judgement: correct or not, a value in [0, 1], named numbers, labels.

    A failed verdict has exactly one primary label. `parts` hold finite numbers only.
    """

    outcome: Literal["correct", "incorrect"]
    value: float
    parts: dict[str, float] = {}
    labels: tuple[Label, ...] = ()


class Score(Record, frozen=True, kw_only=True):
    """The verdicts on one (task, repeat) by reading; `failure` says why where it was not run.

    There are none then, but in readings that count what was not done.
    """

    task: str
    item: str
    repeat: int = 0
    category: str = ""
    axes: dict[str, str] = {}
    readings: dict[str, Verdict] = {}
    failure: Failure | None = None


class Estimate(Record, frozen=True, kw_only=True):
    """A number with its interval; None where nothing ran. Percentages are never used: shares are.

    `share` is False of a number that is no share, such as an error or a cost: readers see it plain.
    `worst` and `best` bound the value over all outcomes of what was not run. `partial` says why
    the value measures less than its name promises; readers are shown that instead of the number.
    """

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    worst: float | None = None
    best: float | None = None
    partial: str = ""
    share: bool = True


Cell: TypeAlias = str | float | int | bool | None


class Table(Record, frozen=True, kw_only=True, tag="table"):
    """A table of a report. Cells are text or numbers; None prints as a dash.

    `heat`: how many of the last columns are shares, printed in per cent and shaded as a heat map.
    `fold`: it is closed on the page until it is asked for.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    heat: int = 0
    fold: bool = False


class Series(Record, frozen=True, kw_only=True):
    """Points of a chart; `low` and `high` are error bars, empty for none."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


class Chart(Record, frozen=True, kw_only=True, tag="chart"):
    """A chart of a report: lines over a number, or bars over names (`ticks`, x = 0, 1, ...).

    `stack`: one bar per name, the series' values, which are not negative, behind each other.
    `heat`: a row of cells per series, a column per name; values are shares.
    """

    title: str
    kind: Literal["line", "bar", "stack", "scatter", "heat"]
    series: tuple[Series, ...]
    x_label: str = ""
    y_label: str = ""
    ticks: tuple[str, ...] = ()
    note: str = ""


class Drawing(Record, frozen=True, kw_only=True, tag="drawing"):
    """A drawing of one episode, as SVG: a page shows of it what `report.drawings` lets pass.

    `over`: a picture of the run's store upon which it lies, from edge to edge.
    """

    title: str
    svg: str
    note: str = ""
    over: Image | None = None


# --- behaviour, as protocols ------------------------------------------------------------


class Model(Protocol):
    """Asks once. Raises EndpointError when no answer came; a model's fault is in the Reply."""

    async def __call__(self, request: Request, /) -> Reply:
        """Reply to the request."""
        ...


@runtime_checkable
class Instrument(Protocol):
    """A test instrument: it may look at the task, so it is bound to each episode."""

    def bind(self, task: Task, repeat: int, /) -> Model:
        """Return the model that plays this episode."""
        ...


class Reading(Struct, frozen=True):
    """What a dialect made of a reply: calls, or why there are none."""

    calls: tuple[Call, ...] = ()
    fault: str = ""


class Dialect(Protocol):
    """Renders tools and reads calls back."""

    name: str

    def open(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return the messages that open the conversation, and the tools for the request."""
        ...

    def more(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return the messages of a later turn, and the tools to add for those that appear in it."""
        ...

    def read(self, reply: Reply, tools: tuple[Tool, ...], /) -> Reading:
        """Read the calls out of a reply."""
        ...

    def answer(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply and its results as the messages that continue the conversation."""
        ...

    def write(self, calls: Sequence[Call], /) -> Reply:
        """Return the reply in which a flawless model would make these calls."""
        ...


class World(Protocol):
    """One episode's surroundings. Raises WorldError only when the transport is lost.

    Agents look by name for what only some have: `opening(messages)` returns the first turn's
    messages as they are to be said, with what only the world knows; `at_once` is how many calls
    of one reply it bears at the same time; `changed` says whether its tools are others by now;
    `user` hears a reply without calls, and may answer.
    """

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools on offer now."""
        ...

    async def call(self, call: Call, /) -> Result:
        """Execute one call; anything wrong with the call itself is an error Result."""
        ...

    async def final_state(self) -> Any:
        """Return the state that is scored and handed on; plain JSON values or None."""
        ...


class Site(Protocol):
    """Opened once per run; gives each episode its World."""

    def world(self, task: Task, needed: Mapping[str, Any], /) -> AbstractAsyncContextManager[World]:
        """Return a fresh world; `needed` holds the final states of the tasks it needs, by id."""
        ...


@runtime_checkable
class Noted(Protocol):
    """A site whose parts, such as servers, can fail, and that keeps note of it."""

    def notes(self) -> Mapping[str, Sequence[str]]:
        """Return what has happened to each part so far, by name; nothing of those that did well."""
        ...


@runtime_checkable
class Known(Protocol):
    """A site whose parts, such as servers, say what they are."""

    def known(self) -> Mapping[str, Sequence[str]]:
        """Return what each part said it is, by name; more than one line where it changed."""
        ...
