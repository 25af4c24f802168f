"""Multi-turn verdicts: the model's calls and the truth's are replayed side by side and compared.

After each turn in which something is expected, the public state must be equal and every result
of the truth must be among the model's results so far (the official checker's two tests).
"""

from __future__ import annotations

from collections.abc import Sequence

from toolmark import codec
from toolmark.suites.bfcl import execution, replay
from toolmark.suites.bfcl.execution import Act, Turns
from toolmark.suites.bfcl.replay import EMPTY, RESPONSE, STATE, Check, Outcome
from toolmark.types import Cause, Label, Task, Trajectory, Verdict

FORCED = "multi_turn:force_terminated"
INFERENCE = "multi_turn:inference_error"

_CAUSES: dict[str, Cause] = {EMPTY: "no_answer", STATE: "state", RESPONSE: "response"}
_MAX_CHARS = 600


def score(task: Task, trajectory: Trajectory) -> dict[str, Verdict]:
    """Judge one episode in both readings.

    `official` lets both sides share what the official classes share at module level within one
    check; `fair` keeps them apart, takes strings and dicts as they were sent, and drops no call
    because another one of the same reply cannot be read.
    """
    check = replay.check(task)
    model, plain = execution.both(trajectory, check.rewriter("model"))
    official = check.official(model)
    same = official.clean and model == plain and check.alike
    fair = official if same else check.fair(plain)
    first = _verdict(check, trajectory, model, official)
    again = first if same else _verdict(check, trajectory, plain, fair)
    return {"official": first, "fair": again}


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
            return (
                "missing_call",
                f"first divergence: {execution.told(act)} was expected and not made",
            )
        return _argument(
            near, act
        ), f"first divergence: {execution.told(near)} instead of {execution.told(act)}"
    if not left:
        at = next((i for i, (x, y) in enumerate(zip(made, wanted, strict=True)) if x != y), 0)
        return (
            "drift",
            f"first divergence: call {at + 1} is {execution.told(made[at])}, out of order",
        )
    unknown = next((act for act in left if act.name not in check.methods), None)
    if unknown is not None:
        return "unknown_tool", f"first divergence: {execution.told(unknown)}: there is no such tool"
    return "extra_call", f"first divergence: {execution.told(left[0])} was not expected"


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


def _kept(text: str) -> str:
    return codec.escape(text[:_MAX_CHARS])
