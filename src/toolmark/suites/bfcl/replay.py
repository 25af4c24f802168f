"""Replaying a multi-turn episode beside its truth, and comparing the two after each turn.

What the truth comes to is kept per task: its results, and a snapshot of its state after each
turn. Only where a call has touched what the official classes share at module level are both
sides replayed together, since there the official code lets each see the other's changes.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import copysign
from typing import Any, NamedTuple, TypeAlias

import msgspec

from toolmark.suites.bfcl import data, execution, simulators
from toolmark.suites.bfcl.execution import Act, Rewriter, Turns
from toolmark.suites.bfcl.simulators import Kit, Pool
from toolmark.types import Task
from toolmark.worlds import objects
from toolmark.worlds.objects import Objects

EMPTY = "multi_turn:empty_turn_model_response"
STATE = "multi_turn:instance_state_mismatch"
RESPONSE = "multi_turn:execution_response_mismatch"

KEPT = 1024  # tasks whose truth is kept

_SCALARS = (str, int, bool, type(None))
_FLAT = frozenset((*_SCALARS, float))

Fields: TypeAlias = Mapping[str, Mapping[str, Any]]


class Fault(NamedTuple):
    """What went wrong in a turn: the official error type, and the evidence."""

    native: str
    evidence: str


@dataclass(slots=True)
class Outcome:
    """How the turns went: a fault or None for each turn in which something was expected."""

    faults: dict[int, Fault | None] = field(default_factory=dict)
    clean: bool = True

    @property
    def first(self) -> int | None:
        """The first turn that failed."""
        return next((turn for turn, fault in self.faults.items() if fault), None)


class Turn(NamedTuple):
    """What the truth comes to in a turn: how often each result, and the state after it."""

    wanted: Mapping[str, int]
    state: Fields


@dataclass(slots=True)
class Book:
    """A truth replayed alone. `clean`: it touched nothing shared.

    `known` finds results by their keys, so that the text of a long result is seldom written;
    with an `odd` one among them, which is no dict with names for keys, it always is.
    """

    turns: list[Turn] = field(default_factory=list)
    known: dict[tuple[Any, ...], list[tuple[dict[Any, Any], str]]] = field(default_factory=dict)
    odd: bool = False
    clean: bool = True

    def text(self, value: Any) -> str | None:
        """Return a result's text; None where it cannot be one of the truth's."""
        if self.odd or not _named(value):
            return _text(value)
        alike = self.known.get(tuple(value), ())
        for result, text in alike:
            if same(value, result):
                return text
        return _text(value) if alike else None

    def add(self, value: Any) -> str:
        """Enter a result and return its text."""
        text = _text(value)
        if _named(value):
            self.known.setdefault(tuple(value), []).append((objects.copied(value), text))
        elif isinstance(value, str | dict):  # its text may be that of a dict with names
            self.odd = True
        return text


def _named(value: Any) -> bool:
    return type(value) is dict and all(type(key) is str for key in value)


def _text(value: Any) -> str:
    try:
        return objects.shown(value)
    except objects.FAULTS as error:
        return objects.failed(str(error)).text


def same(a: Any, b: Any) -> bool:
    """Tell whether two plain values are surely written alike; in doubt they are not."""
    if a is b:
        return True
    kind: Any = type(a)
    if kind is not type(b):
        return False
    if kind in _SCALARS:
        return bool(a == b)
    if kind is float:
        return bool(a == b) and copysign(1.0, a) == copysign(1.0, b)
    if kind is list:
        return _alike(a, b)
    if kind is dict:
        return (
            list(a) == list(b) and all(map(same, a, b)) and all(map(same, a.values(), b.values()))
        )
    return False


def _alike(a: list[Any], b: list[Any]) -> bool:
    if a != b:
        return False
    kinds = list(map(type, a))
    # equal text is the same text, and so is an equal number of the same type but for a signed zero
    if _FLAT.issuperset(kinds) and (float not in kinds or 0.0 not in a):
        return kinds == list(map(type, b))
    return all(map(same, a, b))


# --- a task's truth ---------------------------------------------------------------------


@lru_cache(maxsize=1)
def kit() -> Kit:
    """Return the simulators of the official wheel; it is fetched if need be."""
    return simulators.load(data.fetch())


_checks: OrderedDict[str, Check] = OrderedDict()


def check(task: Task) -> Check:
    """Return the task's check; the last ones are kept."""
    found = _checks.pop(task.id, None)
    if found is None or not found.fits(task):
        found = Check(task)
    _checks[task.id] = found
    if len(_checks) > KEPT:
        _checks.popitem(last=False)
    return found


class Check:
    """One task's reference, ready to be compared with any number of episodes."""

    def __init__(self, task: Task) -> None:
        reference = task.reference
        self.kit = kit()
        self.id = task.id
        self.category = task.category
        self.reference: Mapping[str, Any] = reference
        self.classes: list[str] = reference["classes"]
        self.long = "long_context" in task.category
        self.config = msgspec.json.encode(reference["config"])
        self.methods = {m: name for name in self.classes for m in self.kit.kind(name).methods}
        self.truth = self._read(self.rewriter("model_ground_truth"))
        self.plain = self._read(None)
        self.alike = self.truth == self.plain
        self._books: dict[bool, Book] = {}

    def fits(self, task: Task) -> bool:
        """Tell whether this is the check of a task and not of another one with its id."""
        own = self.reference
        return self.category == task.category and (own is task.reference or own == task.reference)

    def rewriter(self, side: str) -> Rewriter:
        """Return what the official executor does to the source of one side's calls."""
        return Rewriter(self.id, side, self.methods)

    def _read(self, rewrite: Rewriter | None) -> list[list[Act]]:
        kinds = [self.kit.kind(name) for name in self.classes]
        names = {method: words for kind in kinds for method, words in kind.methods.items()}
        turns: Sequence[Sequence[str]] = self.reference["truth"]
        return [[execution.truth(call, names, rewrite) for call in turn] for turn in turns]

    def pool(self) -> Pool:
        """Return fresh copies of what instances share."""
        return self.kit.pool(self.classes, self.long)

    def open(self, pool: Pool) -> Objects:
        """Return fresh instances."""
        return self.kit.open(self.classes, self.config, self.long, pool)

    def official(self, model: Turns) -> Outcome:
        """Compare as the official checker does, with what both sides share there."""
        book = self._book(plain=False)
        if book.clean:
            outcome = self._beside(book, model)
            if outcome.clean:
                return outcome
        return self._together(model)

    def fair(self, model: Turns) -> Outcome:
        """Compare with nothing shared and no source text rewritten."""
        return self._beside(self._book(plain=True), model)

    def _book(self, *, plain: bool) -> Book:
        plain = plain or self.alike
        if plain not in self._books:
            self._books[plain] = self._written(self.plain if plain else self.truth)
        return self._books[plain]

    def _written(self, truth: Sequence[Sequence[Act]]) -> Book:
        pool = self.pool()
        side = self.open(pool)
        book = Book()
        state: Fields = {}
        for expected in truth:
            wanted = Counter([book.add(run(side, act)) for act in expected])
            state = {
                name: _snapshot(instance, state.get(name, {}))
                for name, instance in side.instances.items()
            }
            book.clean = book.clean and self.kit.clean(pool)
            book.turns.append(Turn(wanted, state))
        return book

    def _beside(self, book: Book, model: Turns) -> Outcome:
        """Replay the model's calls; turns that it has not reached count as empty."""
        pool = self.pool()
        side = self.open(pool)
        seen: Counter[str | None] = Counter()
        outcome = Outcome()
        for at, turn in enumerate(book.turns):
            steps = model[at] if at < len(model) else []
            for step in steps:
                for act in step:
                    seen[book.text(run(side, act))] += 1
            outcome.clean = outcome.clean and self.kit.clean(pool)
            if turn.wanted:
                outcome.faults[at] = _compare(side, turn, seen) if steps else NOTHING
        return outcome

    def _together(self, model: Turns) -> Outcome:
        """Replay both sides in turn, with one pool."""
        pool = self.pool()
        left, right = self.open(pool), self.open(pool)
        seen: Counter[str | None] = Counter()
        outcome = Outcome(clean=False)
        for at, expected in enumerate(self.truth):
            steps = model[at] if at < len(model) else []
            seen.update([_text(run(left, act)) for step in steps for act in step])
            wanted = Counter([_text(run(right, act)) for act in expected])
            state = {name: objects.fields(x) for name, x in right.instances.items()}
            if expected:
                outcome.faults[at] = _compare(left, Turn(wanted, state), seen) if steps else NOTHING
        return outcome


NOTHING = Fault(EMPTY, "no call was made")


def run(side: Objects, act: Act) -> Any:
    """Execute one call; what is wrong with it is a Said."""
    if act.why:
        return objects.failed(act.why)
    return side.invoke(act.name, objects.copied(act.arguments))


def _snapshot(instance: object, before: Mapping[str, Any]) -> Mapping[str, Any]:
    """Copy the public state, or return the snapshot before where nothing has changed."""
    now = objects.fields(instance)
    return before if now == before else {name: _kept(value) for name, value in now.items()}


def _kept(value: Any) -> Any:
    """Copy plain values, and folders with what is below them, which compare themselves."""
    return objects.copied(value, _node)


def _node(value: Any) -> Any:
    if isinstance(value, set):
        return set(value)
    if not hasattr(value, "name"):
        return value
    node = object.__new__(type(value))
    held = {key: x for key, x in vars(value).items() if key in ("name", "content", "contents")}
    vars(node).update(_kept(held))
    return node


def _compare(side: Objects, turn: Turn, seen: Mapping[str | None, int]) -> Fault | None:
    different = [
        f"{name}.{key}"
        for name, kept in turn.state.items()
        for key, value in kept.items()
        if getattr(side.instances[name], key) != value
    ]
    if different:
        return Fault(STATE, f"the state differs from the expected one in {', '.join(different)}")
    for text, n in turn.wanted.items():
        if seen.get(text, 0) < n:
            return Fault(RESPONSE, f"no call so far returned {execution.shown(text)}")
    return None
