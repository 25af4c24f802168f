"""Entries as they were published next to results, compared with the pinned data of today."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from toolmark.core import json_codec
from toolmark.core.records import Record, Task
from toolmark.core.task_data import read_task_data
from toolmark.official_bfcl import fair_rule, official_data, prompt_formats, tool_schemas
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.scoring import call_matching
from toolmark.scoring.value_conversion import PYTHON_CONVERTER
from toolmark.scoring.value_matching import OfficialCheckerError
from toolmark.studio.bfcl_audit.published_rows import PublishedFailure

_MAX_SHOWN_CHARS = 200


class ChangedEntry(Record, frozen=True, kw_only=True):
    """An entry that differs today from what was published; each text is then and now."""

    id: str
    question: bool = False
    functions: bool = False
    reference: bool = False
    reference_then: str = ""
    reference_now: str = ""


@dataclass(slots=True)
class PublishedEntries:
    """What was published of each entry, from the failures of all models: the first of each."""

    by_id: dict[str, PublishedFailure] = field(default_factory=dict)
    _asked_otherwise: dict[str, bool] = field(default_factory=dict)

    def add_failures(self, failures: Iterable[PublishedFailure]) -> None:
        """Add the entries of failures that are not there yet."""
        for failure in failures:
            is_described = failure.docs is not None or failure.truth is not None
            if is_described and failure.id not in self.by_id:
                failure.truth = one_call_each(failure.truth, failure.docs)
                self.by_id[failure.id] = failure

    def is_asked_otherwise(self, task: Task) -> bool:
        """Tell whether today's entry asks for another answer than the published one."""
        if task.id not in self._asked_otherwise:
            found = self.find_change(task)
            is_other = found is not None and found.reference and (found.question or found.functions)
            self._asked_otherwise[task.id] = is_other
        return self._asked_otherwise[task.id]

    def find_change(self, task: Task) -> ChangedEntry | None:
        """Return what changed of an entry since, None where nothing did or nothing is known."""
        then = self.by_id.get(task.id)
        if then is None:
            return None
        truth = entry_truth(task)
        docs = tool_schemas.published_docs(task)
        # others are published as their harness sent them, with what it added
        is_single = task.category in official_data.CATEGORIES
        found = ChangedEntry(
            id=task.id,
            question=is_single and _question_text(then.question) not in ("", _task_question(task)),
            functions=is_single and bool(docs) and then.docs is not None and then.docs != docs,
            reference=then.truth is not None and truth is not None and then.truth != truth,
        )
        if not (found.question or found.functions or found.reference):
            return None
        if found.reference:
            return ChangedEntry(
                id=task.id,
                question=found.question,
                functions=found.functions,
                reference=True,
                reference_then=_shown_difference(then.truth, truth),
                reference_now=_shown_difference(truth, then.truth),
            )
        return found


def one_call_each(truth: Any, docs: Any) -> Any:
    """Return a reference with one call in each object, as it is today.

    References of 2024 have all calls in one object, with a number behind each repeated name.
    """
    is_joined = isinstance(truth, list) and len(truth) == 1 and isinstance(truth[0], dict)
    if not is_joined or len(truth[0]) < 2:
        return truth
    known = {doc.get("name") for doc in docs if isinstance(doc, dict)} if docs else set()
    return [{_name_without_number(name, known): call} for name, call in truth[0].items()]


def _name_without_number(name: str, known: set[Any]) -> str:
    """Return the name of a function without the number behind it, where there is such a one."""
    base = name.rstrip("0123456789")
    if name in known or base == name or base[-1:] not in ("_", " "):
        return name
    return base[:-1] if base[:-1] in known else name


def entry_truth(task: Task) -> list[Any] | None:
    """Return the reference of an entry, None where it has none."""
    return None if task.data is None else read_task_data(task, BfclTaskData).truth


def _task_question(task: Task) -> str:
    texts = [message.text for turn in task.turns for message in turn.messages]
    return _plain_text(" ".join(texts))


def _question_text(question: Any) -> str:
    """Return the texts of a published question: a text, messages, or turns of messages."""
    parts: list[str] = []
    pending = [question]
    while pending and len(parts) < 1000:
        match pending.pop(0):
            case str(text):
                parts.append(text)
            case {"content": str(text)}:
                parts.append(text)
            case list(items):
                pending = [*items, *pending]
    return _plain_text(" ".join(parts))


def _plain_text(text: str) -> str:
    return " ".join(text.split())


def _shown_difference(value: Any, other: Any) -> str:
    """Return the parameters of a reference that the other does not have equally, as text."""
    if not (is_call_truth(value) and is_call_truth(other)) or len(value) != len(other):
        return json_codec.escape_surrogates(str(value))[:_MAX_SHOWN_CHARS]
    parts = []
    for call, other_call in zip(value, other, strict=True):
        for name, accepted in call.items():
            unlike = {
                key: options
                for key, options in accepted.items()
                if other_call.get(name, {}).get(key) != options
            }
            if unlike or name not in other_call:
                parts.append(f"{name}: {unlike}")
    text = "; ".join(parts) or "nothing of the other's"
    return json_codec.escape_surrogates(text)[:_MAX_SHOWN_CHARS]


# --- what the verdict would be ----------------------------------------------------------


def is_call_truth(value: Any) -> TypeGuard[list[dict[str, dict[str, list[Any]]]]]:
    """Tell whether a value has the form of a reference: calls with accepted values."""
    return isinstance(value, list) and all(
        isinstance(call, dict)
        and len(call) == 1
        and all(
            isinstance(accepted, dict)
            and all(isinstance(options, list) for options in accepted.values())
            for accepted in call.values()
        )
        for call in value
    )


def are_function_docs(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Tell whether a value has the form of function docs, as far as the checker reads them."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(doc, dict) and _is_function_doc(doc) for doc in value)
    )


def _is_function_doc(doc: dict[str, Any]) -> bool:
    match doc:
        case {"name": str(), "parameters": {"properties": dict(properties), **rest}}:
            required = rest.get("required", [])
            return isinstance(required, list) and all(map(_is_property, properties.values()))
    return False


def _is_property(spec: Any) -> bool:
    if not (isinstance(spec, dict) and isinstance(spec.get("type"), str)):
        return False
    items = spec.get("items", {"type": "string"})
    return isinstance(items, dict) and isinstance(items.get("type"), str)


def passes_checker(
    task: Task, calls: Sequence[tuple[str, Any]], *, docs: Any, truth: Any
) -> bool | None:
    """Tell whether calls pass the official checker with these docs and this reference.

    None where the docs or the reference are not of their form, or the checker cannot handle them.
    """
    if not (is_call_truth(truth) and are_function_docs(docs) and truth):
        return None
    docs = [{**doc, "parameters": {"required": [], **doc["parameters"]}} for doc in docs]
    if any(not isinstance(arguments, dict) for _, arguments in calls):
        return False
    category = prompt_formats.original_task(task).category
    converter = fair_rule.VALUE_KINDS.get(category, PYTHON_CONVERTER)
    named = [(name, arguments) for name, arguments in calls]
    lacks_doc = {next(iter(call)) for call in truth} - {doc["name"] for doc in docs}
    if lacks_doc and ("multiple" in category or "parallel" in category):
        return None
    try:
        return call_matching.check_calls(docs, named, truth, category, converter=converter) is None
    except (OfficialCheckerError, KeyError, TypeError, AttributeError, IndexError):
        return None  # docs of a file that the checker was not written for
