"""The fair rule for single-turn answers: the official rules without their provable mistakes.

Each correction has a name. Where the two grading rules differ, the verdict records it twice: as a
part `fair:<name>`, which tables count, and as a label with the evidence. docs/suites/bfcl.md gives
the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from toolmark.core import json_codec
from toolmark.core.records import Label, Task, Trajectory, Verdict
from toolmark.core.task_data import read_task_data
from toolmark.formats.parse import foreign_calls
from toolmark.formats.parse.thoughts import split_thoughts
from toolmark.official_bfcl import (
    errata,
    prompt_formats,
    reply_decoding,
    tool_schemas,
)
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.scoring import call_matching, fault_labels
from toolmark.scoring.java_collections import JAVA_COLLECTION_CONVERTER
from toolmark.scoring.java_values import JAVA_CONVERTER
from toolmark.scoring.javascript_values import JAVASCRIPT_CONVERTER
from toolmark.scoring.value_conversion import PYTHON_CONVERTER, ValueConverter
from toolmark.scoring.value_matching import OfficialCheckerError

CORRECTIONS: dict[str, str] = {
    "positional": "positional arguments have the names of the schema, in its order",
    "sign": "+, ~ and not mean what they mean in Python",
    "object_list": "a list of objects is read to its own end",
    "foreign_text": "an argument's whole text counts, its body included",
    "java_collection": "a Java collection is what its Java means, however it is written",
    "best_match": "parallel calls are paired so that as many as possible match",
    "amended": "the truth is read as it was plainly meant",
    "broken_call": "calls that cannot be read are not the absence of calls",
    "foreign_call": "a call of an offered tool counts in whatever syntax a model writes it",
    "abstention": "a call of a name that says that no tool fits is no call",
    "cut_off": "a reply that was cut off or is malformed says nothing about calling",
}
PART_PREFIX = "fair:"

VALUE_KINDS: dict[str, ValueConverter] = {
    "simple_java": JAVA_CONVERTER,
    "simple_javascript": JAVASCRIPT_CONVERTER,
}
_ALTERNATIVE_KINDS: dict[str, ValueConverter] = {"simple_java": JAVA_COLLECTION_CONVERTER}

# adjacent repeats share no character, so that untrusted text is read in linear time
_BEGINS_LIKE_CALL = re.compile(r"\A[`\s]*(?:(?:python|json|\[)[`\s\[]*)?([A-Za-z_][\w.]*)\(")


def judge_fairly(
    task: Task,
    trajectory: Trajectory,
    decoded: reply_decoding.DecodedReply,
    official_fault: fault_labels.LabelledFault | None,
) -> tuple[fault_labels.LabelledFault | None, tuple[str, ...]] | None:
    """Return cause, error type and evidence of a failure, and the corrections by which it differs.

    `decoded` and `official_fault` are the official calls and failure. None: the entry is set aside.
    """
    if task.item in errata.set_aside():
        return None
    if task.data is None:
        return _judge_relevance(task, trajectory, decoded, official_fault)
    is_plain = (
        task.item not in errata.errata().amended and task.category not in tool_schemas.LANGUAGES
    )
    if official_fault is None and is_plain and reply_decoding.is_lossless(trajectory, decoded):
        return None, ()
    lossless = reply_decoding.decode_without_losses(task, trajectory, decoded)
    if official_fault is None and not lossless.losses and task.item not in errata.errata().amended:
        return None, ()
    if decoded.error_type and not lossless.calls:
        return official_fault, ()
    return _keep_difference(official_fault, *_match_fairly(task, decoded, lossless))


def _keep_difference(
    official_fault: fault_labels.LabelledFault | None,
    fair_fault: fault_labels.LabelledFault | None,
    corrections: tuple[str, ...],
) -> tuple[fault_labels.LabelledFault | None, tuple[str, ...]]:
    """Return the official failure where both rules fail, and the corrections if only one fails."""
    if (official_fault is None) == (fair_fault is None):
        return official_fault, ()
    return fair_fault, corrections


def _match_fairly(
    task: Task, decoded: reply_decoding.DecodedReply, lossless: reply_decoding.LosslessReply
) -> tuple[fault_labels.LabelledFault | None, tuple[str, ...]]:
    """Match by the official rules, then with corrections; name the corrections that mattered."""
    category, docs = prompt_formats.original_task(task).category, tool_schemas.published_docs(task)
    kinds = VALUE_KINDS.get(category, PYTHON_CONVERTER)
    alternative_kinds = _ALTERNATIVE_KINDS.get(category)
    truth, corrections = read_task_data(task, BfclTaskData).truth, lossless.losses
    if task.item in errata.errata().amended:
        truth, corrections = [_amend_truth(call) for call in truth], (*corrections, "amended")
    calls = lossless.calls
    check = partial(
        call_matching.check_calls, docs, truth=truth, category=category, converter=kinds
    )
    try:
        fault = check(calls)
        if fault and alternative_kinds and check(calls, fallback=alternative_kinds) is None:
            # the text as the official decoder reads it
            suffices = check(decoded.calls, fallback=alternative_kinds) is None
            return None, ("java_collection",) if suffices else (*corrections, "java_collection")
        if fault and fault.candidates:
            fault = call_matching.check_any_pairing(docs, calls, truth)
            corrections = corrections if fault else (*corrections, "best_match")
    except OfficialCheckerError as error:
        return ("wrong_value", fault_labels.CHECKER_FAILED, str(error)), corrections
    return (fault_labels.label_fault(fault, docs, calls, truth) if fault else None), corrections


def _amend_truth(truth: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, Any]:
    """Return the truth with each single value of a map as a list of that one alternative."""
    return {
        name: {
            key: [_list_map_values(option) for option in options]
            for key, options in accepted.items()
        }
        for name, accepted in truth.items()
    }


def _list_map_values(option: Any) -> Any:
    if not isinstance(option, dict):
        return option
    return {key: value if isinstance(value, list) else [value] for key, value in option.items()}


# --- whether anything was called --------------------------------------------------------


def _judge_relevance(
    task: Task,
    trajectory: Trajectory,
    decoded: reply_decoding.DecodedReply,
    official_fault: fault_labels.LabelledFault | None,
) -> tuple[fault_labels.LabelledFault | None, tuple[str, ...]]:
    """Judge as the official rule does, but by whether an offered tool was called in any syntax.

    Silence counts only if the model was free to speak.
    """
    abstained = bool(decoded.calls) and all(
        foreign_calls.is_abstention(name) for name, _ in decoded.calls
    )
    if "irrelevance" not in task.category:
        if abstained:
            return _abstention_fault(decoded), ("abstention",)
        if official_fault and reply_decoding.decode_without_losses(task, trajectory, decoded).calls:
            return None, ("positional",)
        if official_fault and _find_foreign_call(task, trajectory):
            return None, ("foreign_call",)
        return official_fault, ()
    if official_fault is not None:
        return (None, ("abstention",)) if abstained else (official_fault, ())
    stop = reply_decoding.single_reply(trajectory).stop
    if stop in fault_labels.CAUSE_OF_STOP and stop != "refused":
        return (
            fault_labels.CAUSE_OF_STOP[stop],
            "irrelevance_error:no_answer",
            f"stopped: {stop}",
        ), ("cut_off",)
    if foreign := _find_foreign_call(task, trajectory):
        evidence = f"called {foreign.tool}, as {foreign.syntax.name} writes it; no tool fits"
        return ("extra_call", "irrelevance_error:foreign_call", evidence), ("foreign_call",)
    if _attempted_calls(task, trajectory):
        return ("format", "irrelevance_error:broken_call", decoded.reason), ("broken_call",)
    return None, ()


def _abstention_fault(decoded: reply_decoding.DecodedReply) -> fault_labels.LabelledFault:
    names = ", ".join(name for name, _ in decoded.calls)
    return "missing_call", "relevance_error:abstention", f"called {names}, which is no tool"


def _find_foreign_call(task: Task, trajectory: Trajectory) -> foreign_calls.ForeignCall | None:
    """Return a call of an offered tool in the reply's text, or in reasoning that nothing follows.

    A server's parser may swallow a call in reasoning that never ends. A model that goes on to an
    answer has only thought of the call.
    """
    reply = reply_decoding.single_reply(trajectory)
    if reply.calls:
        return None
    text = json_codec.restore_surrogates(reply.text)
    found = foreign_calls.find_foreign_call(
        text,
        [tool.name for tool in task.tools],
        json_codec.restore_surrogates(reply.reasoning),
    )
    has_answer = bool(split_thoughts(text)[1].strip())
    return None if found is not None and found.in_reasoning and has_answer else found


def _attempted_calls(task: Task, trajectory: Trajectory) -> bool:
    """Return whether text that could not be read was meant as calls.

    Structured calls always are. Text is where it begins like a call, or where the name of an
    offered tool follows an opening bracket and precedes one; a tool that is only mentioned is not a
    call.
    """
    reply = reply_decoding.single_reply(trajectory)
    if reply.calls:
        return True
    text = json_codec.restore_surrogates(reply.text)
    begun = _BEGINS_LIKE_CALL.match(text)
    if begun and not foreign_calls.is_abstention(begun[1]):
        return True
    return any(f"[{tool.name}(" in text for tool in task.tools)


def make_verdict(
    official: Verdict,
    official_fault: fault_labels.LabelledFault | None,
    fair_fault: fault_labels.LabelledFault | None,
    corrections: tuple[str, ...],
) -> Verdict:
    """Return the official verdict where the rules agree, else one that names the differences."""
    if not corrections:
        return official
    parts = {**official.parts, **{f"{PART_PREFIX}{correction}": 1.0 for correction in corrections}}
    explanation = "; ".join(CORRECTIONS[correction] for correction in corrections)
    error_type = f"{PART_PREFIX}{corrections[-1]}"
    if fair_fault is not None:
        cause, error, evidence = fair_fault
        shown_evidence = f"{explanation}: {evidence}"[: fault_labels.MAX_EVIDENCE_CHARS]
        first = Label(
            cause=cause,
            suite_cause=error,
            evidence=json_codec.escape_surrogates(shown_evidence),
            primary=True,
        )
        return Verdict(outcome="incorrect", value=0.0, parts=parts, labels=(first,))
    cause, error, evidence = official_fault or ("format", "", "")
    shown_evidence = f"{explanation}; officially {error}: {evidence}"[
        : fault_labels.MAX_EVIDENCE_CHARS
    ]
    note = Label(
        cause=cause, suite_cause=error_type, evidence=json_codec.escape_surrogates(shown_evidence)
    )
    return Verdict(outcome="correct", value=1.0, parts=parts, labels=(note,))
