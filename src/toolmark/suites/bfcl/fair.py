"""The fair reading of single-turn answers: the official rules without their provable mistakes.

Each rule has a name. Where the two readings differ the verdict holds it twice: as a part
`fair:<name>`, which tables count, and as a label with the evidence. docs/bfcl.md argues each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from toolmark import codec
from toolmark.score import match
from toolmark.score.java import JAVA
from toolmark.score.javascript import JAVASCRIPT
from toolmark.score.kinds import PYTHON, Kinds
from toolmark.score.literal import NATURAL
from toolmark.score.values import Unsound
from toolmark.suites.bfcl import decode, errata, formats, label, schema
from toolmark.types import Label, Task, Trajectory, Verdict

RULES: dict[str, str] = {
    "positional": "positional arguments have the names of the schema, in its order",
    "sign": "+, ~ and not mean what they mean in Python",
    "object_list": "a list of objects is read to its own end",
    "foreign_text": "an argument's whole text counts, its body included",
    "java_collection": "a Java collection is what its Java means, however it is written",
    "best_match": "parallel calls are paired so that as many as possible match",
    "amended": "the truth is read as it was plainly meant",
    "broken_call": "calls that cannot be read are not the absence of calls",
    "cut_off": "a reply that was cut off or is malformed says nothing about calling",
}
PART = "fair:"

KINDS: dict[str, Kinds] = {"simple_java": JAVA, "simple_javascript": JAVASCRIPT}
_ALSO: dict[str, Kinds] = {"simple_java": NATURAL}

# no two repeats beside each other share a character: text of strangers is read in linear time
_BEGINS = re.compile(r"\A[`\s]*(?:(?:python|json|\[)[`\s\[]*)?[A-Za-z_][\w.]*\(")


def judge(
    task: Task, trajectory: Trajectory, made: decode.Made, found: label.Found | None
) -> tuple[label.Found | None, tuple[str, ...]] | None:
    """Return cause, error type and evidence of a failure, and the rules by which it differs.

    `made` and `found` are the official calls and failure. None: the entry is set aside.
    """
    if task.item in errata.SET_ASIDE:
        return None
    if task.reference is None:
        return _relevance(task, trajectory, made, found)
    sure = task.item not in errata.AMENDED and task.category not in schema.LANGUAGES
    if found is None and sure and decode.lossless(trajectory, made):
        return None, ()
    read = decode.whole(task, trajectory, made)
    if found is None and not read.reasons and task.item not in errata.AMENDED:
        return None, ()
    if made.native and not read.calls:
        return found, ()
    return _differing(found, *_matched(task, made, read))


def _differing(
    found: label.Found | None, fairly: label.Found | None, rules: tuple[str, ...]
) -> tuple[label.Found | None, tuple[str, ...]]:
    """Keep the official failure where both fail, and the rules where only one does."""
    if (found is None) == (fairly is None):
        return found, ()
    return fairly, rules


def _matched(
    task: Task, made: decode.Made, read: decode.Whole
) -> tuple[label.Found | None, tuple[str, ...]]:
    """Match by the official rules, then with what is mended; name the rules that mattered."""
    kind, docs = formats.original(task).category, schema.docs(task)
    kinds, also = KINDS.get(kind, PYTHON), _ALSO.get(kind)
    truth, rules = task.reference["truth"], read.reasons
    if task.item in errata.AMENDED:
        truth, rules = [_meant(one) for one in truth], (*rules, "amended")
    calls = read.calls
    check = partial(match.check, docs, truth=truth, kind=kind, kinds=kinds)
    try:
        fault = check(calls)
        if fault and also and check(calls, also=also) is None:
            enough = check(made.calls, also=also) is None  # the text as officially read
            return None, ("java_collection",) if enough else (*rules, "java_collection")
        if fault and fault.near:
            fault = match.best(docs, calls, truth)
            rules = rules if fault else (*rules, "best_match")
    except Unsound as error:
        return ("wrong_value", label.CRASHED, str(error)), rules
    return (label.found(fault, docs, calls, truth) if fault else None), rules


def _meant(truth: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, Any]:
    """Return the truth with one value of a map as a list of that one alternative."""
    return {
        name: {key: [_listed(option) for option in options] for key, options in wanted.items()}
        for name, wanted in truth.items()
    }


def _listed(option: Any) -> Any:
    if not isinstance(option, dict):
        return option
    return {key: value if isinstance(value, list) else [value] for key, value in option.items()}


# --- whether anything was called --------------------------------------------------------


def _relevance(
    task: Task, trajectory: Trajectory, made: decode.Made, found: label.Found | None
) -> tuple[label.Found | None, tuple[str, ...]]:
    """Judge as officially, but silence counts only where the model was free to speak."""
    if "irrelevance" not in task.category:
        if found and decode.whole(task, trajectory, made).calls:
            return None, ("positional",)
        return found, ()
    if found is not None:
        return found, ()
    stop = decode.said_in(trajectory).stop
    if stop in label.STOPS and stop != "refused":
        return (label.STOPS[stop], "irrelevance_error:no_answer", f"stopped: {stop}"), ("cut_off",)
    if _attempted(task, trajectory):
        return ("format", "irrelevance_error:broken_call", made.why), ("broken_call",)
    return None, ()


def _attempted(task: Task, trajectory: Trajectory) -> bool:
    """Tell whether what could not be read was meant as calls.

    Structured calls always are. Text is where it begins like a call, or where the name of a tool
    on offer follows an opening bracket and is followed by one; a tool that words mention is not.
    """
    said = decode.said_in(trajectory)
    if said.calls:
        return True
    text = codec.restore(said.text)
    if _BEGINS.match(text):
        return True
    return any(f"[{tool.name}(" in text for tool in task.tools)


def verdict(
    official: Verdict, found: label.Found | None, fairly: label.Found | None, rules: tuple[str, ...]
) -> Verdict:
    """Return the official verdict where the readings agree, else one that tells why they do not."""
    if not rules:
        return official
    parts = {**official.parts, **{f"{PART}{rule}": 1.0 for rule in rules}}
    why = "; ".join(RULES[rule] for rule in rules)
    native = f"{PART}{rules[-1]}"
    if fairly is not None:
        cause, error, evidence = fairly
        shown = f"{why}: {evidence}"[: label.MAX_CHARS]
        first = Label(cause=cause, native=error, evidence=codec.escape(shown), primary=True)
        return Verdict(outcome="incorrect", value=0.0, parts=parts, labels=(first,))
    cause, error, evidence = found or ("format", "", "")
    shown = f"{why}; officially {error}: {evidence}"[: label.MAX_CHARS]
    note = Label(cause=cause, native=native, evidence=codec.escape(shown))
    return Verdict(outcome="correct", value=1.0, parts=parts, labels=(note,))
