"""Replay a multi-turn episode in parallel with its truth, and compare the two after each turn.

The results of the truth, and a snapshot of its state after each turn, are cached per task. Only
where a call has changed what the official classes share at module level are both sides replayed
together, since the official code lets each see the other's changes.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import copysign
from typing import Any, NamedTuple, TypeAlias

import msgspec

from toolmark.core.records import Task
from toolmark.core.task_data import read_task_data
from toolmark.environments import object_environment
from toolmark.environments.object_environment import EpisodeObjects
from toolmark.official_bfcl import executable_calls, official_data, simulators
from toolmark.official_bfcl.bfcl_task_data import MultiTurnTaskData
from toolmark.official_bfcl.executable_calls import CallsByTurn, ExecutableCall, SourceRewriter
from toolmark.official_bfcl.simulators import SharedRecords, SimulatorKit

EMPTY_TURN = "multi_turn:empty_turn_model_response"
STATE_MISMATCH = "multi_turn:instance_state_mismatch"
RESPONSE_MISMATCH = "multi_turn:execution_response_mismatch"

MAX_CACHED_CHECKS = 1024  # tasks whose truth is cached

_SCALARS = (str, int, bool, type(None))
_FLAT_TYPES = frozenset((*_SCALARS, float))

StateFields: TypeAlias = Mapping[str, Mapping[str, Any]]


class TurnFault(NamedTuple):
    """What went wrong in a turn: the official error type, and the evidence."""

    error_type: str
    evidence: str


@dataclass(slots=True)
class ReplayOutcome:
    """The outcome of the turns: a fault or None for each turn in which something was expected."""

    faults: dict[int, TurnFault | None] = field(default_factory=dict)
    shared_unchanged: bool = True

    @property
    def first_failed_turn(self) -> int | None:
        """The first turn that failed."""
        return next((turn for turn, fault in self.faults.items() if fault), None)


class ExpectedTurn(NamedTuple):
    """The truth's outcome in a turn: how often each result occurs, and the state after it."""

    n_results: Mapping[str, int]
    state: StateFields


@dataclass(slots=True)
class TruthRecord:
    """A truth replayed alone. `shared_unchanged`: it changed nothing shared.

    `results_by_keys` finds results by their keys, so that the text of a long result is seldom
    written. `has_other_results`: some result is not a dict with names for keys; then the text is
    always written.
    """

    turns: list[ExpectedTurn] = field(default_factory=list)
    results_by_keys: dict[tuple[Any, ...], list[tuple[dict[Any, Any], str]]] = field(
        default_factory=dict
    )
    has_other_results: bool = False
    shared_unchanged: bool = True

    def result_text(self, value: Any) -> str | None:
        """Return a result's text; None where it cannot be one of the truth's."""
        if self.has_other_results or not _has_string_keys(value):
            return _result_text(value)
        candidates = self.results_by_keys.get(tuple(value), ())
        for result, text in candidates:
            if is_same(value, result):
                return text
        return _result_text(value) if candidates else None

    def add_result(self, value: Any) -> str:
        """Add a result and return its text."""
        text = _result_text(value)
        if _has_string_keys(value):
            self.results_by_keys.setdefault(tuple(value), []).append(
                (object_environment.copy_plain(value), text)
            )
        elif isinstance(value, str | dict):  # its text may be that of a dict with names
            self.has_other_results = True
        return text


def _has_string_keys(value: Any) -> bool:
    return type(value) is dict and all(type(key) is str for key in value)


def _result_text(value: Any) -> str:
    try:
        return object_environment.value_text(value)
    except object_environment.METHOD_ERRORS as error:
        return object_environment.failed_outcome(str(error)).text


def is_same(a: Any, b: Any) -> bool:
    """Return whether two plain values certainly have the same text; False in doubt."""
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
        return _is_same_list(a, b)
    if kind is dict:
        return (
            list(a) == list(b)
            and all(map(is_same, a, b))
            and all(map(is_same, a.values(), b.values()))
        )
    return False


def _is_same_list(a: list[Any], b: list[Any]) -> bool:
    if a != b:
        return False
    kinds = list(map(type, a))
    # equal text is the same text; so is an equal number of the same type, except a signed zero
    if _FLAT_TYPES.issuperset(kinds) and (float not in kinds or 0.0 not in a):
        return kinds == list(map(type, b))
    return all(map(is_same, a, b))


# --- a task's truth ---------------------------------------------------------------------


@lru_cache(maxsize=1)
def load_simulators() -> SimulatorKit:
    """Return the simulators of the official wheel; it is fetched if it is missing."""
    return simulators.load_simulators(official_data.fetch_wheel())


_cached_checks: OrderedDict[str, TruthCheck] = OrderedDict()


def find_check(task: Task) -> TruthCheck:
    """Return the task's check; the most recent ones are cached."""
    found = _cached_checks.pop(task.id, None)
    if found is None or not found.is_of_task(task):
        found = TruthCheck(task)
    _cached_checks[task.id] = found
    if len(_cached_checks) > MAX_CACHED_CHECKS:
        _cached_checks.popitem(last=False)
    return found


class TruthCheck:
    """One task's truth, ready to be compared with any number of episodes."""

    def __init__(self, task: Task) -> None:
        data = read_task_data(task, MultiTurnTaskData)
        self.simulators = load_simulators()
        self.id = task.id
        self.category = task.category
        self.stored_data = task.data
        self.truth = data.truth
        self.classes = data.classes
        self.is_long_context = "long_context" in task.category
        self.config = msgspec.json.encode(data.config)
        self.methods = {
            m: name for name in self.classes for m in self.simulators.find_class(name).methods
        }
        self.rewritten_truth = self._read_truth(self.make_rewriter("model_ground_truth"))
        self.plain_truth = self._read_truth(None)
        self.truths_agree = self.rewritten_truth == self.plain_truth
        self._records: dict[bool, TruthRecord] = {}

    def is_of_task(self, task: Task) -> bool:
        """Return whether this is the check of a task and not of another one with its id."""
        stored = self.stored_data
        return self.category == task.category and (stored is task.data or stored == task.data)

    def make_rewriter(self, instance_suffix: str) -> SourceRewriter:
        """Return what the official executor does to the source of one side's calls."""
        return SourceRewriter(self.id, instance_suffix, self.methods)

    def _read_truth(self, rewrite: SourceRewriter | None) -> list[list[ExecutableCall]]:
        kinds = [self.simulators.find_class(name) for name in self.classes]
        names = {
            method: parameters for kind in kinds for method, parameters in kind.methods.items()
        }
        return [
            [executable_calls.read_truth_call(call, names, rewrite) for call in turn]
            for turn in self.truth
        ]

    def copy_shared(self) -> SharedRecords:
        """Return fresh copies of what instances share."""
        return self.simulators.copy_shared(self.classes, self.is_long_context)

    def make_instances(self, shared: SharedRecords) -> EpisodeObjects:
        """Return fresh instances."""
        return self.simulators.make_instances(
            self.classes, self.config, self.is_long_context, shared
        )

    def compare_officially(self, model_turns: CallsByTurn) -> ReplayOutcome:
        """Compare as the official checker does, with what both sides share there."""
        record = self._truth_record(plain=False)
        if record.shared_unchanged:
            outcome = self._replay_model(record, model_turns)
            if outcome.shared_unchanged:
                return outcome
        return self._replay_both(model_turns)

    def compare_fairly(self, model_turns: CallsByTurn) -> ReplayOutcome:
        """Compare with nothing shared and no source text rewritten."""
        return self._replay_model(self._truth_record(plain=True), model_turns)

    def _truth_record(self, *, plain: bool) -> TruthRecord:
        plain = plain or self.truths_agree
        if plain not in self._records:
            self._records[plain] = self._replay_truth(
                self.plain_truth if plain else self.rewritten_truth
            )
        return self._records[plain]

    def _replay_truth(self, truth: Sequence[Sequence[ExecutableCall]]) -> TruthRecord:
        shared = self.copy_shared()
        instances = self.make_instances(shared)
        record = TruthRecord()
        state: StateFields = {}
        for expected in truth:
            expected_results = Counter(
                [record.add_result(execute_call(instances, call)) for call in expected]
            )
            state = {
                name: _copy_state(instance, state.get(name, {}))
                for name, instance in instances.instances.items()
            }
            record.shared_unchanged = record.shared_unchanged and self.simulators.is_unchanged(
                shared
            )
            record.turns.append(ExpectedTurn(expected_results, state))
        return record

    def _replay_model(self, record: TruthRecord, model_turns: CallsByTurn) -> ReplayOutcome:
        """Replay the model's calls; turns that it has not reached count as empty."""
        shared = self.copy_shared()
        instances = self.make_instances(shared)
        n_results: Counter[str | None] = Counter()
        outcome = ReplayOutcome()
        for index, turn in enumerate(record.turns):
            steps = model_turns[index] if index < len(model_turns) else []
            for step in steps:
                for call in step:
                    n_results[record.result_text(execute_call(instances, call))] += 1
            outcome.shared_unchanged = outcome.shared_unchanged and self.simulators.is_unchanged(
                shared
            )
            if turn.n_results:
                outcome.faults[index] = (
                    _compare_turn(instances, turn, n_results) if steps else NO_CALL_FAULT
                )
        return outcome

    def _replay_both(self, model_turns: CallsByTurn) -> ReplayOutcome:
        """Replay both sides alternately, with one set of shared records."""
        shared = self.copy_shared()
        model_side, truth_side = self.make_instances(shared), self.make_instances(shared)
        n_results: Counter[str | None] = Counter()
        outcome = ReplayOutcome(shared_unchanged=False)
        for index, expected in enumerate(self.rewritten_truth):
            steps = model_turns[index] if index < len(model_turns) else []
            n_results.update(
                [_result_text(execute_call(model_side, call)) for step in steps for call in step]
            )
            expected_results = Counter(
                [_result_text(execute_call(truth_side, call)) for call in expected]
            )
            state = {
                name: object_environment.public_attributes(x)
                for name, x in truth_side.instances.items()
            }
            if expected:
                outcome.faults[index] = (
                    _compare_turn(model_side, ExpectedTurn(expected_results, state), n_results)
                    if steps
                    else NO_CALL_FAULT
                )
        return outcome


NO_CALL_FAULT = TurnFault(EMPTY_TURN, "no call was made")


def execute_call(instances: EpisodeObjects, call: ExecutableCall) -> Any:
    """Execute one call; an error is a CallOutcome."""
    if call.error:
        return object_environment.failed_outcome(call.error)
    return instances.invoke_method(call.name, object_environment.copy_plain(call.arguments))


def _copy_state(instance: object, before: Mapping[str, Any]) -> Mapping[str, Any]:
    """Copy the public state, or return the snapshot before where nothing has changed."""
    current = object_environment.public_attributes(instance)
    return (
        before
        if current == before
        else {name: _copy_value(value) for name, value in current.items()}
    )


def _copy_value(value: Any) -> Any:
    """Copy plain values, and folders with their contents, which compare themselves."""
    return object_environment.copy_plain(value, _copy_node)


def _copy_node(value: Any) -> Any:
    if isinstance(value, set):
        return set(value)
    if not hasattr(value, "name"):
        return value
    node = object.__new__(type(value))
    attributes = {
        key: x for key, x in vars(value).items() if key in ("name", "content", "contents")
    }
    vars(node).update(_copy_value(attributes))
    return node


def _compare_turn(
    instances: EpisodeObjects, turn: ExpectedTurn, n_results: Mapping[str | None, int]
) -> TurnFault | None:
    different = [
        f"{name}.{key}"
        for name, expected in turn.state.items()
        for key, value in expected.items()
        if getattr(instances.instances[name], key) != value
    ]
    if different:
        return TurnFault(
            STATE_MISMATCH, f"the state differs from the expected one in {', '.join(different)}"
        )
    for text, n in turn.n_results.items():
        if n_results.get(text, 0) < n:
            return TurnFault(
                RESPONSE_MISMATCH, f"no call so far returned {executable_calls.format_value(text)}"
            )
    return None
