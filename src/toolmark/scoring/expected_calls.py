"""Calls against those that a row expects: BFCL's matcher, any order or strict, any of several.

A row says for each argument the value that is expected, or a list of values that are accepted
(`accepted`, in which `""` means "may be left out", as in BFCL). Values are compared by the official
rules of BFCL (`scoring.call_matching`): texts without case, blanks and `,./-_*^`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from toolmark.core.called_code import CodeHolder
from toolmark.core.errors import UsageError
from toolmark.core.records import Cause, Label, Tool, Verdict
from toolmark.core.task_data import read_task_data
from toolmark.scoring import call_matching, fault_labels, maximum_matching
from toolmark.scoring.call_matching import ExpectedCall as AcceptedCall
from toolmark.scoring.call_matching import FunctionDoc, MadeCall, MatchFault
from toolmark.scoring.comparators import COMPARATORS, Comparator, from_row
from toolmark.scoring.episode import Episode, EpisodeCall
from toolmark.scoring.episode_scorer import incorrect
from toolmark.scoring.tool_docs import function_doc, is_official
from toolmark.scoring.value_matching import OfficialCheckerError

Order = Literal["free", "strict"]
_COMPARED = "value_error:"  # before the kind of a comparator, as BFCL names wrong values
OMITTABLE = ""  # the accepted value that means: the argument may be left out


class ExpectedCall(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One expected call: `arguments` with the expected value of each, or `accepted` with lists."""

    name: str
    arguments: dict[str, Any] = {}
    accepted: dict[str, list[Any]] = {}


class CallExpectation(Struct, frozen=True, omit_defaults=True):
    """What a row expects of the calls of an episode.

    - `expected`: the calls; an empty list means that nothing may be called.
    - `alternatives`: further lists of calls of which any may be made instead.
    - `ignore`: names of arguments that do not count, `ARGUMENT` or `TOOL.ARGUMENT`.
    - `must_call`: where no calls are named, whether some call must be made: valid ones count.
    - `compare`: comparators of arguments by name, `ARGUMENT` or `TOOL.ARGUMENT`
      (`scoring.comparators.from_row`). Others are compared by the rules of BFCL.
    """

    expected: list[ExpectedCall] | None = None
    alternatives: list[list[ExpectedCall]] = []
    ignore: list[str] = []
    must_call: bool | None = None
    compare: dict[str, Any] = {}

    def choices(self) -> list[list[ExpectedCall]]:
        """Return the lists of calls of which any is right."""
        return [*([] if self.expected is None else [self.expected]), *self.alternatives]


class _Judged(NamedTuple):
    """What is wrong with calls: nothing, or a cause, the official error type and evidence."""

    fault: fault_labels.LabelledFault | None
    n_right: int


class MatchCalls(CodeHolder):
    """Judges the calls of an episode by its row. An episode without such a row is not scored.

    Args:
        order: "free" lets calls come in any order, "strict" wants that of the row.
        ignore: Names of arguments that never count, `ARGUMENT` or `TOOL.ARGUMENT`.
        extra_reads: Lets further calls of read-only tools pass.
    """

    def __init__(
        self, *, order: Order = "free", ignore: Sequence[str] = (), extra_reads: bool = False
    ) -> None:
        if order not in ("free", "strict"):
            raise UsageError(f"order: expected free or strict, got {order!r}")
        self.order = order
        self.ignore = tuple(ignore)
        self.extra_reads = extra_reads

    def __call__(self, episode: Episode) -> Verdict:
        """Return the verdict: right where the calls are those of one of the row's lists."""
        row = read_task_data(episode.task, CallExpectation)
        tools = episode.trajectory.tools or episode.task.tools
        docs = [function_doc(tool) for tool in tools]
        if malformed := _first_malformed(episode.calls):
            return incorrect(episode, malformed, cause="format")
        choices = row.choices()
        if not choices:
            return self._judge_whether_called(episode, row, docs)
        judged = [self._judge_episode(episode, docs, tools, choice, row) for choice in choices]
        best = min(judged, key=lambda each: (each.fault is not None, -each.n_right))
        if best.fault is None:
            return Verdict(outcome="correct", value=1.0)
        cause, error_type, evidence = best.fault
        return _failure_verdict(episode, cause, error_type, evidence)

    def settings(self) -> Any:
        """Return the arguments that it was made with."""
        return [self.order, list(self.ignore), self.extra_reads]

    def _judge_episode(
        self,
        episode: Episode,
        docs: Sequence[FunctionDoc],
        tools: Sequence[Tool],
        choice: Sequence[ExpectedCall],
        row: CallExpectation,
    ) -> _Judged:
        ignored = {*self.ignore, *row.ignore}
        made = [
            _without_arguments(call.name, call.arguments or {}, ignored) for call in episode.calls
        ]
        doc_by_name = {doc["name"]: _without_required(doc, ignored) for doc in docs}
        wanted = [_accepted_call(call, doc_by_name.get(call.name), ignored) for call in choice]
        unknown = next((call.name for call in choice if call.name not in doc_by_name), "")
        if unknown:
            raise ValueError(f"the row expects {unknown!r}, which is not a tool of the episode")
        if self.extra_reads:
            reads = {tool.name for tool in tools if tool.read_only}
            names = {call.name for call in choice}
            made = [call for call in made if call[0] not in reads or call[0] in names]
        by_position = self.order == "strict"
        comparators = {name: from_row(spec) for name, spec in row.compare.items()}
        faults = [
            [
                _check_one(
                    doc_by_name[each.name], call, accepted, at, plain=each, comparators=comparators
                )
                for at, call in enumerate(made)
            ]
            for each, accepted in zip(choice, wanted, strict=True)
        ]
        return _judge_pairing(docs, made, wanted, faults, by_position=by_position)

    def _judge_whether_called(
        self, episode: Episode, row: CallExpectation, docs: Sequence[FunctionDoc]
    ) -> Verdict:
        if row.must_call is None:
            raise ValueError("the row has neither expected calls nor must_call")
        known = {doc["name"] for doc in docs}
        if row.must_call and not episode.calls:
            return _failure_verdict(
                episode, "missing_call", "no_call", "no call, and one is expected"
            )
        for call in episode.calls:
            if not row.must_call:
                return _failure_verdict(
                    episode, "extra_call", "call", f"called {call.name}; no call is expected"
                )
            if call.name not in known:
                return _failure_verdict(
                    episode, "unknown_tool", "unknown_tool", f"no tool {call.name}"
                )
        return Verdict(outcome="correct", value=1.0)


def _failure_verdict(episode: Episode, cause: Cause, error_type: str, evidence: str) -> Verdict:
    verdict = incorrect(episode, evidence[: fault_labels.MAX_EVIDENCE_CHARS], cause=cause)
    label = verdict.labels[0]
    if label.cause != cause:  # the ending decides
        return verdict
    kind = error_type.removeprefix(_COMPARED)
    # BFCL's own classes say nothing more to the author of rows than the cause
    compared = f"compared as {kind}" if kind in COMPARATORS and kind != error_type else ""
    named = Label(cause=cause, suite_cause=compared, evidence=label.evidence, primary=True)
    return Verdict(outcome="incorrect", value=0.0, labels=(named,))


def _first_malformed(calls: Iterable[EpisodeCall]) -> str:
    """Return the text on the first call whose arguments are not a JSON object, "" without one."""
    for number, call in enumerate(calls, 1):
        if call.arguments is None:
            shown = call.raw_arguments[:80]
            return f"call {number} {call.name}: the arguments are not a JSON object: {shown}"
    return ""


def _judge_pairing(
    docs: Sequence[FunctionDoc],
    made: Sequence[MadeCall],
    wanted: Sequence[AcceptedCall],
    faults: list[list[MatchFault | None]],
    *,
    by_position: bool,
) -> _Judged:
    """Return the first fault of a best pairing of expected and made calls."""
    if by_position:
        pairs = {at: at for at, row in enumerate(faults) if at < len(row) and row[at] is None}
    else:
        owners = maximum_matching.match_most([[f is None for f in row] for row in faults])
        pairs = {row: at for at, row in owners.items()}
    if len(pairs) == len(wanted) == len(made):
        return _Judged(None, len(pairs))
    if len(made) != len(wanted):
        return _Judged(_count_fault(made, wanted, pairs), len(pairs))
    if len(made) == 1 and (only := faults[0][0]) is not None:
        return _Judged(fault_labels.label_fault(only, docs, made, wanted), 0)
    position = next(row for row in range(len(wanted)) if row not in pairs)
    free = [at for at in range(len(made)) if at not in pairs.values()]
    nearest = tuple(
        found
        for at in ([position] if by_position else free)
        if (found := faults[position][at]) is not None
    )
    fault = MatchFault(
        "no_match",
        call_index=position,
        tool=next(iter(wanted[position])),
        expected_call=position,
        candidates=nearest,
    )
    return _Judged(fault_labels.label_fault(fault, docs, made, wanted), len(pairs))


def _count_fault(
    made: Sequence[MadeCall], wanted: Sequence[AcceptedCall], pairs: Mapping[int, int]
) -> fault_labels.LabelledFault:
    """Return the fault of too few or too many calls; it names them."""
    if len(made) < len(wanted):
        names = [next(iter(call)) for at, call in enumerate(wanted) if at not in pairs]
        cause: Cause = "missing_call"
    else:
        names = [name for at, (name, _) in enumerate(made) if at not in pairs.values()]
        cause = "extra_call"
    which = "without a match: " + ", ".join(names[:5]) if names else ""
    text = f"{len(made)} calls, expected {len(wanted)}"
    return cause, "wrong_count", f"{text}; {which}" if which else text


def _check_one(
    doc: FunctionDoc,
    call: MadeCall,
    expected: AcceptedCall,
    index: int,
    *,
    plain: ExpectedCall,
    comparators: Mapping[str, Comparator],
) -> MatchFault | None:
    """Return the first fault of a made call against an expected one, whose row is `plain`."""
    if comparators and call[0] == plain.name:
        call, fault = _compare_arguments(call, plain, index, comparators)
        if fault is not None:
            return fault
    if not is_official(doc["parameters"]):
        doc, call, expected = _without_equal(doc, call, expected, plain)
    try:
        return call_matching.check_call(doc, call, expected, index)
    except OfficialCheckerError as error:
        return MatchFault(fault_labels.CHECKER_FAILED, index, call[0], value=str(error))


def _compare_arguments(
    call: MadeCall, expected: ExpectedCall, index: int, comparators: Mapping[str, Comparator]
) -> tuple[MadeCall, MatchFault | None]:
    """Return the call with the accepted values of arguments that a comparator found right.

    For the first that it found wrong, the fault is returned too.
    """
    name, arguments = call
    found = dict(arguments)
    for argument, value in arguments.items():
        comparator = comparators.get(f"{name}.{argument}", comparators.get(str(argument)))
        accepted = expected.accepted.get(argument, ())
        choices = [each for each in accepted if each != OMITTABLE]
        if argument in expected.arguments:
            choices = [expected.arguments[argument]]
        if comparator is None or not choices:
            continue
        right = (each for each in choices if comparator.compare_value(value, each).matches)
        found[argument] = next(right, _NO_VALUE)
        if found[argument] is _NO_VALUE:
            return call, MatchFault(
                f"{_COMPARED}{comparator.kind}", index, name, str(argument), value, choices
            )
    return (name, found), None


_NO_VALUE = object()


# --- what is expected ---------------------------------------------------------------------


def _without_arguments(
    name: str, arguments: Mapping[str, Any], ignored: Iterable[str]
) -> tuple[str, dict[str, Any]]:
    return name, {
        key: value
        for key, value in arguments.items()
        if key not in ignored and f"{name}.{key}" not in ignored
    }


def _without_required(doc: FunctionDoc, ignored: Iterable[str]) -> FunctionDoc:
    """Return a doc that does not require arguments that are ignored."""
    parameters = doc["parameters"]
    required = [
        name
        for name in parameters["required"]
        if name not in ignored and f"{doc['name']}.{name}" not in ignored
    ]
    if len(required) == len(parameters["required"]):
        return doc
    return {**doc, "parameters": {**parameters, "required": required}}


def _without_equal(
    doc: FunctionDoc, call: MadeCall, expected: AcceptedCall, plain: ExpectedCall
) -> tuple[FunctionDoc, MadeCall, AcceptedCall]:
    """Return doc, made and expected call without the arguments that are as the row writes them.

    BFCL's rule refuses some values that equal the expected one, such as the list [2.5, 1].
    """
    name, arguments = call
    equal = {
        key
        for key, value in arguments.items()
        if key in plain.arguments and _is_same_json(value, plain.arguments[key])
    }
    if name != plain.name or not equal:
        return doc, call, expected
    left = {key: value for key, value in arguments.items() if key not in equal}
    wanted = {key: each for key, each in expected[plain.name].items() if key not in equal}
    return _without_required(doc, equal), (name, left), {plain.name: wanted}


def _is_same_json(one: Any, other: Any) -> bool:
    """Return whether two values are written alike in JSON: true is not 1, and 1 is not 1.0."""
    if type(one) is not type(other):
        return False
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _accepted_call(
    call: ExpectedCall, doc: FunctionDoc | None, ignored: Iterable[str]
) -> AcceptedCall:
    """Return an expected call with the values that are accepted for each argument.

    An argument that the row does not name, and that has a default in the schema, may be given as
    this default; one whose expected value is the default may be left out.
    """
    properties = {} if doc is None else doc["parameters"]["properties"]
    accepted: dict[str, Sequence[Any]] = {
        name: [_listed_form(each) for each in values] for name, values in call.accepted.items()
    }
    for name, value in call.arguments.items():
        default = properties.get(name, {}).get("default", _NO_DEFAULT)
        accepted[name] = [accepted_form(value), *([OMITTABLE] if default == value else [])]
    for name, spec in properties.items():
        if name not in accepted and "default" in spec:
            accepted[name] = [accepted_form(spec["default"]), OMITTABLE]
    _, counted = _without_arguments(call.name, accepted, ignored)
    return {call.name: counted}


_NO_DEFAULT = object()


def accepted_form(value: Any) -> Any:
    """Return a plain value as BFCL writes an accepted one: in objects, each value is a list."""
    if isinstance(value, dict):
        return {key: [inner] for key, inner in value.items()}
    if isinstance(value, list):
        return [accepted_form(each) if isinstance(each, dict) else each for each in value]
    return value


def _listed_form(value: Any) -> Any:
    """Return an accepted value in which each value of an object is a list, as the rule reads it."""
    if isinstance(value, dict):
        return {
            key: inner if isinstance(inner, list) else [accepted_form(inner)]
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_listed_form(each) if isinstance(each, dict) else each for each in value]
    return value


def plain_value(value: Any) -> Any:
    """Return an accepted value as it is given: BFCL's objects hold lists of accepted values."""
    if isinstance(value, dict):
        chosen = {
            key: next((each for each in choices if each != OMITTABLE), None)
            if isinstance(choices, list)
            else choices
            for key, choices in value.items()
        }
        return {key: plain_value(each) for key, each in chosen.items() if each is not None}
    if isinstance(value, list):
        return [plain_value(each) if isinstance(each, dict) else each for each in value]
    return value
