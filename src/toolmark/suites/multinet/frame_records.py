"""The records of MultiNet's suites: a row of a data set, and what a grader knows about it.

Readers and generators make Rows of Frames. The suites turn Frames into tasks whose data are a
Truth. Scoring and reports use only Truths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from toolmark.core.records import Record
from toolmark.suites.multinet.multinet_families import Family

Source: TypeAlias = Literal["published", "real", "synthetic"]
Form: TypeAlias = Literal["text", "tool"]

ACTIONS = ("NORTH", "SOUTH", "EAST", "WEST", "STAY", "INTERACT")
"""The actions of one Overcooked player.

The number of a joint action is 6 times the first player's number plus the second player's.
"""
CHOOSE_TOOL = "choose"
ACT_TOOL = "act"
DISTRIBUTION_TOOL = "distribution"
MOVE_TOOL = "move"
ANSWER_TOOL = "answer"
"""The tools with which a model answers."""
PLAYER_ARGUMENTS = ("player_0", "player_1")
"""The arguments of the tool `act`."""


class Choice(Record, frozen=True, kw_only=True, tag="choice"):
    """One of the options, answered by its index."""

    options: tuple[str, ...]


class Distribution(Record, frozen=True, kw_only=True, tag="odds"):
    """A probability for each of the options; the truth is the index of one."""

    options: tuple[str, ...]


class ActionVector(Record, frozen=True, kw_only=True, tag="motion"):
    """A vector with one number per name.

    `low`, `high` and `mean` come from the training set, by dimension. `slices` name parts of the
    vector that are scored separately: the index of the first number, and of the last number plus
    one.
    """

    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    mean: tuple[float, ...]
    slices: dict[str, tuple[int, int]] = {}


class FreeText(Record, frozen=True, kw_only=True, tag="words"):
    """A short free text."""


class FunctionCalls(Record, frozen=True, kw_only=True, tag="calls"):
    """Function calls as text, turn by turn."""


AnswerSpace: TypeAlias = Choice | Distribution | ActionVector | FreeText | FunctionCalls
# An index, a text, a vector, or calls by turn. A union in msgspec may have only one tuple type.
Answer: TypeAlias = int | str | tuple[float | tuple[str, ...], ...]


class Picture(Record, frozen=True, kw_only=True):
    """Encoded bytes of a picture and their type."""

    data: bytes
    mime: str


class Frame(Record, frozen=True, kw_only=True):
    """One row of a data set as it is asked, without its pictures.

    `group` is the episode, game, conversation or sub-set of the row. `step` counts from 0 within
    the group. `fields` are the row's named texts, which the prompt combines. `turns` are the user's
    messages by turn, if there is more than one. `truth` has the form that the space defines: an
    index, a vector, a text, or calls by turn. `baseline_answers` are the baselines' answers for
    this row, by name; readers leave them empty. `slices` are levels for reports: layout, sub-set,
    question type.
    """

    id: str
    family: Family
    source: Source
    space: AnswerSpace
    truth: Answer
    group: str
    step: int = 0
    fields: dict[str, str] = {}
    turns: tuple[str, ...] = ()
    baseline_answers: dict[str, Answer] = {}
    slices: dict[str, str] = {}


class Truth(Record, frozen=True, kw_only=True):
    """What a task stores: what a grader knows about a frame, and the form it was asked in.

    `parameters` are the ordered parameter names of each function, if the row asks for calls.
    `similarity` is the encoder that measures how similar two texts are, "" for none. `failed` is
    the reason why the row's pictures are not available.
    """

    family: Family
    source: Source
    form: Form
    space: AnswerSpace
    truth: Answer
    group: str
    step: int = 0
    baseline_answers: dict[str, Answer] = {}
    parameters: dict[str, tuple[str, ...]] = {}
    similarity: str = ""
    failed: str = ""


class Rows(Protocol):
    """The rows of one split of one data set, in an order that depends only on ids and the seed.

    Iterating more than once is cheap. Pictures are read or drawn on request. The object can be
    pickled, because it is sent to the processes that make tasks.
    """

    @property
    def clustered(self) -> bool:
        """Whether rows of one group depend on each other, so that intervals go by group."""
        ...

    @property
    def hashes(self) -> Mapping[str, str]:
        """SHA-256 of what was read, by name; empty for generated rows."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user about the data: rows left out and why, limits of synthetic data."""
        ...

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def __iter__(self) -> Iterator[Frame]:
        """Yield the rows."""
        ...

    def partial_frames(self) -> Iterator[Frame]:
        """Yield the rows without fields and guesses, if that is cheaper.

        Drawing some of many rows, and learning the baselines' answers, does not need the text that
        a model sees. All other parts are complete.
        """
        ...

    def complete_frame(self, frame: Frame) -> Frame:
        """Return one of the partial frames with all its parts."""
        ...

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return a row's pictures, oldest first. Raises DataError if one is not available."""
        ...


class OneStepRows:
    """Rows that have no partial frames: those that are made in one step inherit this."""

    __slots__ = ()

    def partial_frames(self: Iterable[Frame]) -> Iterator[Frame]:
        """Yield the rows, complete."""
        return iter(self)

    def complete_frame(self, frame: Frame) -> Frame:
        """Return the frame, which is complete."""
        return frame
