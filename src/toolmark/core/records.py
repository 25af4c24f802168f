"""The records of the system: a task, what happened in an episode, and its score.

Everything here is frozen data. Functions are elsewhere: suites make Tasks, agents turn a Task into
a Trajectory, scorers turn both into Verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from toolmark.core.failure import Failure
from toolmark.core.struct_base import Record as Record


class Check(Record, frozen=True, kw_only=True):
    """The result of one probe, and the next step if it is not ok."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    next_step: str = ""


# --- what is said -----------------------------------------------------------------------


class Text(Record, frozen=True, tag="text"):
    """A piece of text."""

    text: str


class Image(Record, frozen=True, kw_only=True, tag="image"):
    """A picture: a reference into a media store."""

    sha256: str
    mime: str
    size_bytes: int


class Audio(Record, frozen=True, kw_only=True, tag="audio"):
    """A recording: a reference into a media store."""

    sha256: str
    mime: str
    size_bytes: int


Part: TypeAlias = Text | Image | Audio
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class Call(Record, frozen=True, kw_only=True):
    """One tool call.

    `arguments` is the JSON text that the model sent. It may be no JSON. A tool format that reads
    calls from the reply's text writes their arguments as JSON.
    """

    name: str
    arguments: str = "{}"
    id: str = ""


class ProviderState(Record, frozen=True, kw_only=True):
    """What only the endpoint understands of a reply, as it came: thoughts, signatures, ciphertext.

    `wire` is the protocol, `origin` the digest of wire, address and model: an endpoint gets back
    what is its own only. `data` is JSON text cut from the body. Tool formats and scorers never read
    it.
    """

    wire: str
    origin: str
    data: str


class Message(Record, frozen=True, kw_only=True):
    """One message: role and parts, an assistant's calls, and the call id of a tool result.

    `is_error` marks the result of a call that failed. `provider_state` is that of the reply which
    an assistant's message repeats.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    is_error: bool = False
    provider_state: ProviderState | None = None

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


class Tool(Record, frozen=True, kw_only=True):
    """A tool as offered.

    `parameters` is JSON Schema, `source` the published document, unchanged. A call of a
    `read_only` tool changes nothing. `extra_fields` are sent next to the name where the wire has a
    place for them, such as a schema of what the tool returns.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    source: Any = None
    read_only: bool = False
    extra_fields: dict[str, Any] = {}


class Sampling(Record, frozen=True, kw_only=True):
    """Sampling settings of a reply; a setting that is None is not sent."""

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
    """Limits that end an episode: `steps` replies per turn, `calls` tool calls in total.

    The first `calls` calls are executed; one more ends the episode. With `single_reply` every reply
    ends its turn, also a reply with calls: a call is then an answer, and `steps` does not apply.
    """

    steps: int = 50
    calls: int | None = None
    single_reply: bool = False


VARIATION_AXIS = "vary"  # the axis of a score whose task was varied


class Variation(Record, frozen=True, kw_only=True):
    """How a task differs from the one that it was made from, which is asked too.

    `kind` is the kind of variation, drawn from `seed`. `own_tools` are the suite's tools where the
    task shows them otherwise. `own_names` maps names shown to those of the suite, `own_parameters`
    the names of parameters by the name shown of their tool. `distractors` are the names of tools
    that were added and cannot be executed.
    """

    kind: str
    seed: int = 0
    own_tools: tuple[Tool, ...] = ()
    own_names: dict[str, str] = {}
    own_parameters: dict[str, dict[str, str]] = {}
    distractors: tuple[str, ...] = ()


class Task(Record, frozen=True, kw_only=True):
    """One item as asked; `id` names the item with its axes, `item` is the base for pairing.

    `suite` is filled in when the tasks of a run are chosen, where it is "".

    `data` are plain values that the suite stores for its environment, scorer and controls. A suite
    describes them by a record, which `core.task_data` reads. `sampling` and `tool_format` are
    settings that this task fixes; for all others the run's settings apply. `needs` are set-up
    tasks, earlier in the suite's order, whose final states this task starts from. `variation` says
    how it was made from another task.
    """

    id: str
    suite: str = ""
    turns: tuple[Turn, ...]
    item: str = ""
    category: str = ""
    tools: tuple[Tool, ...] = ()
    data: Any = None
    axes: dict[str, str] = {}
    limits: Limits = Limits()
    sampling: Sampling = Sampling()
    tool_format: str = ""
    seed: int = 0
    needs: tuple[str, ...] = ()
    kind: Literal["scored", "setup"] = "scored"
    variation: Variation | None = None


# --- asking a model ---------------------------------------------------------------------


class Request(Record, frozen=True, kw_only=True):
    """What a model is asked; `repeat` is not sent, it separates cached repeats."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    sampling: Sampling = Sampling()
    repeat: int = 0


class Usage(Record, frozen=True, kw_only=True):
    """Tokens, as the endpoint counts them.

    `input` includes `cached`, which were read from the provider's cache, and `cache_written`, which
    were stored there. `output` includes `reasoning`. `cost` is what the endpoint itself says the
    reply costs, in US$; None where it does not say.
    """

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cached: int = 0
    cache_written: int = 0
    cost: float | None = None


AdaptationKind: TypeAlias = Literal[
    "tool_name", "tool_schema", "tool_choice", "setting", "call_id", "arguments", "state_dropped",
    "state_patched", "media_moved", "content",
]  # fmt: skip


class Adaptation(Record, frozen=True, kw_only=True):
    """What a wire changed of a request so that the endpoint takes it; `detail` says what."""

    kind: AdaptationKind
    detail: str


StopReason: TypeAlias = Literal["stop", "length", "refused", "malformed", "over_long"]


class Reply(Record, frozen=True, kw_only=True):
    """What a model replied; faults of the model are stop reasons here, never exceptions.

    `stop` is `length` for a reply cut at the token limit, `refused` for the endpoint's content
    filter or a refusal, `malformed` for a body whose parts have the wrong shape, `over_long` for a
    conversation that no longer fits the model. `latency_s` is the time to the last byte, of a
    streamed reply to its last event. Lone surrogates are escaped (`json_codec.escape_surrogates`).
    `from_cache` is true if the reply came from the cache and no model was asked. `defects` names
    the parts of the answer that were over a limit and cut, or that were not believed. `complaint`
    is what the endpoint said where it refused the conversation as too long: without keys, on one
    line, its first part.

    `provider_state` is what the endpoint wants back with this reply. `adaptations` says what was
    changed of the request. `finish` is the endpoint's own word for how the reply ended, where that
    says more than `stop`. `first_token_s` and `first_call_s` are the times to the first output and
    to the first call of a streamed reply. `request_id`, `fingerprint` and `upstream` are what the
    endpoint says of the request, of its system, and of the provider behind it.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    stop: StopReason = "stop"
    reasoning: str = ""
    usage: Usage = Usage()
    latency_s: float = 0.0
    model: str = ""
    from_cache: bool = False
    defects: tuple[str, ...] = ()
    complaint: str = ""
    provider_state: ProviderState | None = None
    adaptations: tuple[Adaptation, ...] = ()
    finish: str = ""
    first_token_s: float | None = None
    first_call_s: float | None = None
    request_id: str = ""
    fingerprint: str = ""
    upstream: str = ""


class Result(Record, frozen=True, kw_only=True):
    """What a tool returned; `is_error` is the tool's own error, which the model sees."""

    parts: tuple[Part, ...] = ()
    structured: Any = None
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


# --- what happened ----------------------------------------------------------------------


UserEnding: TypeAlias = Literal["", "done", "not_possible", "max_turns", "empty", "no_answer"]


class Ruling(Record, frozen=True, kw_only=True):
    """How a simulated user took a reply without calls.

    `allowed`: the user answers; then `reply` is its answer. Else `reply` is what it said when it
    ended the conversation, which the model is not sent, or "". `topics` are the topics that were
    asked for, by their names in the user's list. `judge` says who decided; `usage` counts its
    tokens if that was a model. A user with a goal also says by `ending` why it ended: the goal is
    done or not possible, it may say no more, it said nothing, or the reply had no text for it.
    `faults` are those that show in its own reply alone: `tool_call`, `cut`. `from_cache` is true if
    the model's reply came from the cache.
    """

    allowed: bool
    reply: str = ""
    topics: tuple[str, ...] = ()
    reason: str = ""
    judge: str = ""
    usage: Usage = Usage()
    ending: UserEnding = ""
    faults: tuple[str, ...] = ()
    from_cache: bool = False


class Step(Record, frozen=True, kw_only=True):
    """One reply, its calls and their results.

    `call_durations_s` pairs with `results`: how long each call took. `new_messages` are the system
    and user messages new before this reply, as the tool format sent them. `calls` are the calls as
    the tool format parsed them. `results` pairs with `calls`; it is shorter if the last calls were
    over a limit and not executed. `fault` says why the tool format could not parse the reply.
    `phase` is the phase of the request, for agents that work in phases. `ruling` is the simulated
    user's judgement of a reply without calls, if there is such a user. `opening` is how that user
    opened the conversation; it is on the first step, where the task has no message of a user.
    `asked` are the replies of the model that an agent under test asked before it did this; None
    where `reply` is the model's own.
    """

    reply: Reply
    turn: int = 0
    new_messages: tuple[Message, ...] = ()
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    call_durations_s: tuple[float, ...] = ()
    fault: str = ""
    phase: str = ""
    ruling: Ruling | None = None
    opening: Ruling | None = None
    asked: tuple[Reply, ...] | None = None

    @property
    def model_replies(self) -> tuple[Reply, ...]:
        """The replies of the model, which took tokens and time."""
        return (self.reply,) if self.asked is None else self.asked


Ending: TypeAlias = Literal[
    "answered", "steps", "calls", "length", "refused", "malformed", "over_long"
]


class Trajectory(Record, frozen=True, kw_only=True):
    """A completed episode; `tools` is empty if the environment offered the Task's own tools."""

    task: str
    repeat: int = 0
    tool_format: str = "native"
    steps: tuple[Step, ...] = ()
    answer: str = ""
    state: Any = None
    ending: Ending = "answered"
    tools: tuple[Tool, ...] = ()
    usage: Usage = Usage()
    latency_s: float = 0.0


class UnusedReply(Record, frozen=True, kw_only=True):
    """What a reply used that is in no step: what came after it failed. `by` is who replied."""

    by: Literal["model", "user"]
    usage: Usage = Usage()
    stop: StopReason = "stop"
    from_cache: bool = False


class Attempt(Record, frozen=True, kw_only=True):
    """An episode that was not run: the failure, the steps so far, and replies in none of them."""

    task: str
    repeat: int
    failure: Failure
    steps: tuple[Step, ...] = ()
    unused: tuple[UnusedReply, ...] = ()


class Judgement(Record, frozen=True, kw_only=True):
    """One judge model's judgement of one episode: a `value` in [0, 1], or None and a `failure`.

    `text` is the judge's last reply. `form` identifies how it was asked: judgements of different
    forms are not counted together. `usage` is the sum over all its replies. `served_model` is what
    the endpoint says that answered, such as a version. `from_cache` is true if all its replies came
    from the cache.
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
    served_model: str = ""
    from_cache: bool = False


# --- what it was worth ------------------------------------------------------------------

Cause: TypeAlias = Literal[
    "unknown_tool", "wrong_tool", "missing_call", "extra_call", "missing_argument",
    "unexpected_argument", "wrong_type", "wrong_value", "value_not_known", "format", "state",
    "response", "no_answer", "wrong_answer", "drift", "over_long", "over_limit", "refused",
    "perception", "retrieval", "clarification",
]  # fmt: skip


class Label(Record, frozen=True, kw_only=True):
    """Why an answer failed: a cause from the closed list, the suite's own class, the evidence."""

    cause: Cause
    suite_cause: str = ""
    evidence: str = ""
    primary: bool = False


class Verdict(Record, frozen=True, kw_only=True):
    """The judgement of one grading rule: outcome, a value in [0, 1], named numbers, labels.

    A failed verdict has exactly one primary label. `parts` contains finite numbers only. `traits`
    are named words that hold for correct answers too, such as how the episode ended.
    """

    outcome: Literal["correct", "incorrect"]
    value: float
    parts: dict[str, float] = {}
    labels: tuple[Label, ...] = ()
    traits: dict[str, str] = {}


class Score(Record, frozen=True, kw_only=True):
    """The verdicts on one (task, repeat) by grading rule; `failure` says why it was not run.

    A score with a failure has no verdicts, except from grading rules that count what was not run.
    """

    task: str
    item: str
    repeat: int = 0
    category: str = ""
    axes: dict[str, str] = {}
    verdicts: dict[str, Verdict] = {}
    failure: Failure | None = None


class Estimate(Record, frozen=True, kw_only=True):
    """A number with its interval; None where nothing ran; proportions are shares, not percentages.

    `is_share` is False for a number that is not a share, such as an error or a cost: it is shown
    unchanged. `worst` and `best` bound the value over all outcomes of what was not run. `partial`
    says why the value measures less than its name promises; readers see that text instead of the
    number. `warning` says why the interval may be too narrow, "" where nothing is known against it.
    """

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    worst: float | None = None
    best: float | None = None
    partial: str = ""
    is_share: bool = True
    warning: str = ""


Cell: TypeAlias = str | float | int | bool | None


class EpisodeFilter(Record, frozen=True, kw_only=True):
    """Which episodes of a run are meant; "" and empty for any. It has the page's filters.

    `outcome`: `run` is any that was run. `cause` has a cause, "" for any, and, if it is meant too,
    the suite's own class. A category, an axis and a trait may have several words: an episode has
    one of them, and "" among them stands for an episode without a word. `task` is the id of a task
    or an item.
    """

    rule: str = ""
    outcome: Literal["", "correct", "incorrect", "not_run", "run"] = ""
    cause: tuple[str, ...] = ()
    category: str | tuple[str, ...] = ""
    axes: dict[str, str | tuple[str, ...]] = {}
    traits: dict[str, str | tuple[str, ...]] = {}
    task: str = ""


class Table(Record, frozen=True, kw_only=True, tag="table"):
    """A table of a report; cells are text or numbers, None prints as a dash.

    `row_episodes` and `column_episodes` say which episodes are behind a row and behind a column: a
    cell rests on those that both name. Where one is None, or there are none, the cell has no link.

    `n_shaded_columns`: how many of the last columns are shares, printed in per cent and shaded as a
    heat map. `is_collapsed`: the table is collapsed on the page until the reader opens it.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    n_shaded_columns: int = 0
    is_collapsed: bool = False
    row_episodes: tuple[EpisodeFilter | None, ...] = ()
    column_episodes: tuple[EpisodeFilter | None, ...] = ()


class Series(Record, frozen=True, kw_only=True):
    """Points of a chart; `low` and `high` are error bars, empty for none."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


class Chart(Record, frozen=True, kw_only=True, tag="chart"):
    """A chart of a report: lines over a number, or bars over names (`ticks`, x = 0, 1, ...).

    `stack`: one bar per name; the values of the series, which are not negative, are stacked.
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
    """A drawing of one episode, as SVG; a page shows only what `reports.svg_sanitizer` allows.

    `background`: a picture of the run's store that the drawing covers from edge to edge.
    """

    title: str
    svg: str
    note: str = ""
    background: Image | None = None


# --- behaviour, as protocols ------------------------------------------------------------


class ParsedReply(Struct, frozen=True):
    """What a tool format parsed from a reply: calls, a fault, or both.

    `fault` says what could not be read as calls. The readable calls are executed in any case. A
    fault without calls ends the turn. `reply` is the reply as it is to be stored, where the format
    found something else in its text: reasoning.
    """

    calls: tuple[Call, ...] = ()
    fault: str = ""
    reply: Reply | None = None


class ToolFormat(Protocol):
    """Renders tools and parses calls.

    `calls_in_text`: replies hold calls as text that the tool format parses; else the endpoint does.
    """

    name: str
    calls_in_text: bool

    def render_opening(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return the messages that open the conversation, and the tools for the request."""
        ...

    def render_turn(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Return the messages of a later turn, and the tools to add for those that appear in it."""
        ...

    def parse_reply(self, reply: Reply, tools: tuple[Tool, ...], /) -> ParsedReply:
        """Parse the calls in a reply."""
        ...

    def render_results(
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply and its results as the messages that continue the conversation."""
        ...

    def render_calls(self, calls: Sequence[Call], /) -> Reply:
        """Return the reply in which a flawless model would make these calls."""
        ...


class TaskSequence(Protocol):
    """Tasks that can be iterated more than once, and counted without making them."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks, always in the same order."""
        ...
