"""What passes between the parts of MultiNet's suites: a row of a data set, and what a grader knows.

Readers and generators make Rows of Frames; the suites word them as tasks whose reference is a
Truth; scoring and reports see Truths alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from toolmark.suites.multinet.families import Family
from toolmark.types import Record, Task

Source: TypeAlias = Literal["published", "real", "synthetic"]
Form: TypeAlias = Literal["text", "tool"]

ACTIONS = ("NORTH", "SOUTH", "EAST", "WEST", "STAY", "INTERACT")
"""What one of Overcooked's players can do; a joint action is 6 times the first's plus the second's.
"""
CHOOSE, ACT, ODDS, MOVE, ANSWER = "choose", "act", "distribution", "move", "answer"
"""The tools by which answers are given."""
PLAYERS = ("player_0", "player_1")
"""The arguments of `act`."""


class Choice(Record, frozen=True, kw_only=True, tag="choice"):
    """One of the options, answered by its index."""

    options: tuple[str, ...]


class Odds(Record, frozen=True, kw_only=True, tag="odds"):
    """A probability for each of the options; the truth is the index of one."""

    options: tuple[str, ...]


class Motion(Record, frozen=True, kw_only=True, tag="motion"):
    """A vector, one number per name; `low`, `high`, `mean` are of the training set, by dimension.

    `slices` name parts of the vector that are scored by themselves: first and one past the last.
    """

    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    mean: tuple[float, ...]
    slices: dict[str, tuple[int, int]] = {}


class Words(Record, frozen=True, kw_only=True, tag="words"):
    """A short free text."""


class Calls(Record, frozen=True, kw_only=True, tag="calls"):
    """Function calls as text, turn by turn."""


Space: TypeAlias = Choice | Odds | Motion | Words | Calls
# an index, a text, a vector, or calls by turn; as msgspec reads it, who knows one tuple in a union
Answer: TypeAlias = int | str | tuple[float | tuple[str, ...], ...]


class Picture(Record, frozen=True, kw_only=True):
    """Encoded bytes of a picture and their type."""

    data: bytes
    mime: str


class Frame(Record, frozen=True, kw_only=True):
    """One row of a data set as a model is asked for it, without its pictures.

    `group` is the episode, game, conversation or sub-set that it belongs to, `step` counts within
    it, from 0. `fields` are the row's named texts, which the wording puts together. `turns` are
    the user's words, turn by turn, where there is more than one. `truth` is in the space's terms:
    an index, a vector, a text, or calls by turn. `guesses` are what the baselines answer here, by
    name; readers leave them empty. `slices` are levels to report by: layout, sub-set, question
    type.
    """

    id: str
    family: Family
    source: Source
    space: Space
    truth: Answer
    group: str
    step: int = 0
    fields: dict[str, str] = {}
    turns: tuple[str, ...] = ()
    guesses: dict[str, Answer] = {}
    slices: dict[str, str] = {}


class Truth(Record, frozen=True, kw_only=True):
    """The reference of a task: what a grader knows of a frame, and the form it was asked in.

    `parameters` are the names of each function's, in their order, where calls are asked for;
    `similarity` is the encoder that says how alike texts are, "" for none; `failed` is why the
    row's pictures cannot be had.
    """

    family: Family
    source: Source
    form: Form
    space: Space
    truth: Answer
    group: str
    step: int = 0
    guesses: dict[str, Answer] = {}
    parameters: dict[str, tuple[str, ...]] = {}
    similarity: str = ""
    failed: str = ""


def truth_of(task: Task) -> Truth:
    """Return what is known of a task's row."""
    return msgspec.convert(task.reference, Truth)


class Rows(Protocol):
    """The rows of one split of one data set, in an order that hangs on ids and the seed alone.

    Cheap to go through more than once; pictures are read or drawn when asked for. It can be
    pickled: it travels to the processes that make tasks.
    """

    @property
    def clustered(self) -> bool:
        """Whether rows of one group hang together, so that intervals go by group."""
        ...

    @property
    def hashes(self) -> Mapping[str, str]:
        """What was read, by name, as SHA-256; nothing of what is generated."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know of the data: rows left out and why, limits of a stand-in."""
        ...

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def __iter__(self) -> Iterator[Frame]:
        """Go through them."""
        ...

    def pictures(self, id: str) -> tuple[Picture, ...]:
        """Return a row's pictures, oldest first. Raises DataError where one cannot be had."""
        ...


@runtime_checkable
class Bare(Protocol):
    """Rows that can be had in two steps, the first without what most of their making goes into.

    To draw some rows of many, and to learn what the baselines answer, nobody reads what a model is
    told: rows that spare that can say so.
    """

    def bare(self) -> Iterator[Frame]:
        """Go through them without fields and guesses; all else is as it is."""
        ...

    def full(self, frame: Frame) -> Frame:
        """Return the whole of one of them."""
        ...


def bare(rows: Rows) -> Iterable[Frame]:
    """Go through rows that need not be whole."""
    return rows.bare() if isinstance(rows, Bare) else rows


def full(rows: Rows, frame: Frame) -> Frame:
    """Return the whole of one of those that `bare` goes through."""
    return rows.full(frame) if isinstance(rows, Bare) else frame
