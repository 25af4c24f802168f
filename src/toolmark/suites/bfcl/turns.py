"""Multi-turn verdicts: the model's calls and the truth's are replayed side by side and compared.

After each turn in which something is expected, the public state must be equal and every result
of the truth must be among the model's results so far (the official checker's two tests).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from toolmark import codec
from toolmark.suites.bfcl import data, execution, simulators
from toolmark.suites.bfcl.execution import Act, Rewriter, Turns
from toolmark.suites.bfcl.simulators import Kit, Pool
from toolmark.types import Cause, Label, Task, Trajectory, Verdict
from toolmark.worlds import objects
from toolmark.worlds.objects import Objects

EMPTY = "multi_turn:empty_turn_model_response"
STATE = "multi_turn:instance_state_mismatch"
RESPONSE = "multi_turn:execution_response_mismatch"
FORCED = "multi_turn:force_terminated"
INFERENCE = "multi_turn:inference_error"

_CAUSES: dict[str, Cause] = {EMPTY: "no_answer", STATE: "state", RESPONSE: "response"}
_SHOWN_CHARS = 160
_MAX_CHARS = 600


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


@lru_cache(maxsize=1)
def kit() -> Kit:
    """Return the simulators of the official wheel; it is fetched if need be."""
    return simulators.load(data.fetch())


def score(task: Task, trajectory: Trajectory) -> dict[str, Verdict]:
    """Judge one episode in both readings.

    `official` lets both sides share what the official classes share at module level within one
    check; `fair` keeps them apart, takes strings and dicts as they were sent, and drops no call
    because another one of the same reply cannot be read.
    """
    check = Check(task)
    model = execution.official(trajectory, check.rewriter("model"))
    plain = execution.fair(trajectory)
    official = check.play(model, check.truth, shared=True)
    same = official.clean and model == plain and check.truth == check.plain
    fair = official if same else check.play(plain, check.plain, shared=False)
    return {
        "official": _verdict(check, trajectory, model, official),
        "fair": _verdict(check, trajectory, plain, fair),
    }


class Check:
    """One task's reference, ready to be replayed any number of times."""

    def __init__(self, task: Task) -> None:
        reference = task.reference
        self.kit = kit()
        self.task = task
        self.classes: list[str] = reference["classes"]
        self.long = "long_context" in task.category
        self.config = msgspec.json.encode(reference["config"])
        self.methods = {m: name for name in self.classes for m in self.kit.kinds[name].methods}
        self.truth = self._read(self.rewriter("model_ground_truth"))
        self.plain = self._read(None)

    def rewriter(self, side: str) -> Rewriter:
        """Return what the official executor does to the source of one side's calls."""
        return Rewriter(self.task.id, side, self.methods)

    def _read(self, rewrite: Rewriter | None) -> list[list[Act]]:
        kinds = [self.kit.kinds[name] for name in self.classes]
        names = {method: words for kind in kinds for method, words in kind.methods.items()}
        turns: Sequence[Sequence[str]] = self.task.reference["truth"]
        return [[execution.truth(call, names, rewrite) for call in turn] for turn in turns]

    def open(self, pool: Pool) -> Objects:
        """Return fresh instances."""
        return self.kit.open(self.classes, self.config, self.long, pool)

    def play(self, model: Turns, truth: Sequence[Sequence[Act]], *, shared: bool) -> Outcome:
        """Replay both sides turn by turn; turns that the model has not reached count as empty."""
        ours = self.kit.pool(self.classes, self.long)
        theirs = ours if shared else self.kit.pool(self.classes, self.long)
        left, right = self.open(ours), self.open(theirs)
        seen: Counter[str] = Counter()
        outcome = Outcome()
        for turn, expected in enumerate(truth):
            steps = model[turn] if turn < len(model) else []
            seen.update([run(left, act) for step in steps for act in step])
            wanted = [run(right, act) for act in expected]
            outcome.clean = outcome.clean and self.kit.clean(ours)
            if expected:
                outcome.faults[turn] = _compare(left, right, seen, wanted) if steps else _EMPTY
        return outcome


_EMPTY = Fault(EMPTY, "no call was made")


def run(side: Objects, act: Act) -> str:
    """Execute one call and return its result as text."""
    if act.why:
        return objects.failed(act.why).text
    return side.call(act.name, objects.copied(act.arguments)).text


def _compare(
    left: Objects, right: Objects, seen: Counter[str], wanted: Sequence[str]
) -> Fault | None:
    different = _different(left, right)
    if different:
        return Fault(STATE, f"the state differs from the expected one in {', '.join(different)}")
    missing = [text for text, n in Counter(wanted).items() if seen[text] < n]
    if missing:
        return Fault(RESPONSE, f"no call so far returned {_shown(missing[0])}")
    return None


def _different(left: Objects, right: Objects) -> list[str]:
    """Return the public attributes that are not equal, as the simulators themselves compare."""
    return [
        f"{name}.{key}"
        for name, instance in right.instances.items()
        for key, value in vars(instance).items()
        if not key.startswith("_") and getattr(left.instances[name], key) != value
    ]


# --- the verdict ------------------------------------------------------------------------


def _verdict(check: Check, trajectory: Trajectory, model: Turns, outcome: Outcome) -> Verdict:
    failed = outcome.first
    n_passed = sum(fault is None for fault in outcome.faults.values())
    parts = {
        "turns": n_passed / len(outcome.faults) if outcome.faults else 1.0,
        "turns_passed": float(n_passed),
        "turns_checked": float(len(outcome.faults)),
    }
    if failed is not None:
        parts["first_failed_turn"] = failed + 1.0
    ended = _ended(check, trajectory, model)
    if ended is None and failed is None:
        return Verdict(outcome="correct", value=1.0, parts=parts)
    labels = [ended] if ended else []
    if failed is not None and failed < len(model):
        labels += _labels(check, model, outcome, failed, primary=ended is None)
    return Verdict(outcome="incorrect", value=0.0, parts=parts, labels=tuple(labels))


def _ended(check: Check, trajectory: Trajectory, model: Turns) -> Label | None:
    """Return the label of an episode that did not come to its end."""
    planned = len(check.truth)
    if trajectory.ending == "over_long":
        text = f"the conversation outgrew the model in turn {len(model)} of {planned}"
        return Label(cause="over_long", native=INFERENCE, evidence=text, primary=True)
    if len(model) != planned:
        text = f"stopped in turn {len(model)} of {planned}, after {len(trajectory.steps)} replies"
        return Label(cause="over_limit", native=FORCED, evidence=text, primary=True)
    return None


def _labels(
    check: Check, model: Turns, outcome: Outcome, turn: int, *, primary: bool
) -> list[Label]:
    """Return the labels of the first failed turn: the fault, and the first call that diverges."""
    fault = outcome.faults[turn]
    assert fault is not None
    passed = max((t for t in outcome.faults if t < turn), default=-1)
    made = [act for steps in model[passed + 1 : turn + 1] for step in steps for act in step]
    wanted = [act for acts in check.plain[passed + 1 : turn + 1] for act in acts]
    found = _divergence(check, made, wanted) if made else None
    text = f"turn {turn + 1}: {fault.evidence}"
    if found:
        text = f"{text}; {found[1]}"
    first = Label(
        cause=_CAUSES[fault.native], native=fault.native, evidence=_kept(text), primary=primary
    )
    return [first, Label(cause=found[0], evidence=_kept(found[1]))] if found else [first]


def _divergence(
    check: Check, made: Sequence[Act], wanted: Sequence[Act]
) -> tuple[Cause, str] | None:
    """Point at the first expected call that was not made, else at the first one in excess."""
    left = list(made)
    for act in wanted:
        at = next((i for i, x in enumerate(left) if _same(x, act)), None)
        if at is not None:
            del left[at]
            continue
        near = next((x for x in left if x.name == act.name), None)
        if near is None:
            return "missing_call", f"first divergence: {_call(act)} was expected and not made"
        return _argument(near, act), f"first divergence: {_call(near)} instead of {_call(act)}"
    if not left:
        at = next((i for i, (x, y) in enumerate(zip(made, wanted, strict=True)) if x != y), 0)
        return "drift", f"first divergence: call {at + 1} is {_call(made[at])}, out of order"
    unknown = next((act for act in left if act.name not in check.methods), None)
    if unknown is not None:
        return "unknown_tool", f"first divergence: {_call(unknown)}: there is no such tool"
    return "extra_call", f"first divergence: {_call(left[0])} was not expected"


def _argument(made: Act, wanted: Act) -> Cause:
    if made.why:
        return "format"
    if set(wanted.arguments) - set(made.arguments):
        return "missing_argument"
    if set(made.arguments) - set(wanted.arguments):
        return "unexpected_argument"
    return "wrong_value"


def _same(made: Act, wanted: Act) -> bool:
    return made.name == wanted.name and not made.why and made.arguments == wanted.arguments


def _call(act: Act) -> str:
    return written(act.name, act.arguments, act.why)


def written(name: str, arguments: Mapping[str, Any], why: str = "") -> str:
    """Return a call as a reader sees it, long values cut; with `why`, that instead."""
    if why:
        return f"{name}: {_shown(why)}"
    given = ", ".join(f"{key}={_shown(value)}" for key, value in arguments.items())
    return f"{name}({given})"


def _shown(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else repr(value)
    except ValueError:  # an integer beyond the digit limit
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."


def _kept(text: str) -> str:
    return codec.escape(text[:_MAX_CHARS])
