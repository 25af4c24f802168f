"""Rows as other programs write them: OpenAI's logs, BFCL's files, K2-Vendor-Verifier's files.

The first row of a file says which shape it has. A reader turns each row into the fields of our own
rows (`authoring.call_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolmark.authoring.row_files import RowFile
from toolmark.authoring.row_messages import fail, read_json_object
from toolmark.authoring.text_rows import JsonLinesRows
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.json_kinds import kind_of

RowShape = Literal["toolmark", "OpenAI", "BFCL", "K2"]
Fields: TypeAlias = dict[str, Any]
SHAPE_NAMES: Mapping[RowShape, str] = {
    "toolmark": "rows of toolmark",
    "OpenAI": "OpenAI's messages with tools",
    "BFCL": "BFCL's questions with functions",
    "K2": "K2-Vendor-Verifier's requests and responses",
}
_OWN_FIELDS = {"expected", "accepted", "must_call", "question", "alternatives"}
_ANSWER_FOLDER = "possible_answer"


def detect_shape(fields: Mapping[str, Any]) -> RowShape:
    """Return the shape of a row by its fields."""
    if "function" in fields and "question" in fields:
        return "BFCL"
    if isinstance(fields.get("request"), dict):
        return "K2"
    if "messages" in fields and not _OWN_FIELDS & fields.keys() and _ends_with_reply(fields):
        return "OpenAI"
    return "toolmark"


def check_shape(name: str) -> RowShape:
    """Return a shape by its name, in any case. Raises UsageError with the nearest name."""
    for shape in SHAPE_NAMES:
        if shape.lower() == name.lower():
            return shape
    raise UsageError(f"no shape of rows {name!r}{suggest_names(name, SHAPE_NAMES)}")


def _ends_with_reply(fields: Mapping[str, Any]) -> bool:
    messages = fields.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return isinstance(last, dict) and last.get("role") == "assistant"


def shape_reader(shape: RowShape, rows: RowFile) -> Callable[[Fields], Fields]:
    """Return what turns a row of a file into the fields of our rows."""
    match shape:
        case "OpenAI":
            return _read_openai
        case "K2":
            return _read_k2
        case "BFCL":
            return _OfficialReader(rows)
        case _:
            return lambda fields: fields


def _read_openai(fields: Fields) -> Fields:
    """Return a row: the last assistant's message is what is expected, those before it are asked."""
    messages = fields.get("messages")
    if not isinstance(messages, list) or len(messages) < 2 or not _ends_with_reply(fields):
        fail("messages", "expected what is asked, then the assistant's message that is right")
    found = {key: each for key, each in fields.items() if key != "functions"}
    if "functions" in fields and "tools" not in fields:
        found["tools"] = fields["functions"]
    calls = messages[-1].get("tool_calls") or []
    return {**found, "messages": messages[:-1], "expected": _calls_of_message(calls)}


def _calls_of_message(calls: Any, field: str = "messages[-1].tool_calls") -> list[Fields]:
    if not isinstance(calls, list):
        fail(field, f"expected a list, got {kind_of(calls)}")
    found = []
    for at, each in enumerate(calls):
        function = each.get("function") if isinstance(each, dict) else None
        if not isinstance(function, dict):
            fail(f"{field}[{at}]", "expected {'function': {'name', 'arguments'}}")
        arguments = read_json_object(function.get("arguments", {}), f"{field}[{at}].arguments")
        found.append({"name": function.get("name"), "arguments": arguments})
    return found


def _read_k2(fields: Fields) -> Fields:
    """Return a row of a response: whether a tool is called is what is expected, not which.

    The files hold answers of one endpoint, which are no truth for the arguments: the verifier
    compares how often a tool is called, and whether the arguments fit the schema.
    """
    request = fields.get("request")
    if not isinstance(request, dict):
        fail("request", f"expected an object with messages and tools, got {kind_of(request)}")
    reason = fields.get("finish_reason")
    if not isinstance(reason, str):
        fail(
            "finish_reason",
            "missing: a file of requests alone says not whether to call; give the file with the "
            "responses of the vendor's own endpoint",
        )
    if reason not in ("tool_calls", "stop"):
        fail("finish_reason", f"{reason!r} says not whether to call; leave the row out")
    found = {key: request[key] for key in ("messages", "tools") if key in request}
    number = fields.get("data_index", fields.get("id"))
    return {
        **found,
        **({} if number is None else {"id": str(number)}),
        "must_call": reason == "tool_calls",
    }


class _OfficialReader:
    """Reads BFCL's single-turn rows; their truth is in the row or in a file of its own."""

    def __init__(self, rows: RowFile) -> None:
        self._place = rows.path.parent / _ANSWER_FOLDER / rows.path.name
        self._answers = answer_file(rows)
        self._truths: dict[str, Any] | None = None

    def __call__(self, fields: Fields) -> Fields:
        id = fields.get("id")
        functions = fields.get("function")
        if functions is None:
            fail("function", "missing; write the list of functions")
        found: Fields = {
            "id": id,
            "messages": _first_turn(fields.get("question")),
            "tools": functions if isinstance(functions, list) else [functions],
        }
        if isinstance(id, str) and "irrelevance" in id:
            return {**found, "category": _category(id), "expected": []}
        if isinstance(id, str) and "relevance" in id and "ground_truth" not in fields:
            return {**found, "category": _category(id), "must_call": True}
        truth = fields["ground_truth"] if "ground_truth" in fields else self._find_truth(id)
        calls = _calls_of_truth(truth)
        return {**found, "category": _category(str(id)), "expected": calls}

    def _find_truth(self, id: object) -> Any:
        if self._truths is None:
            self._truths = _read_truths(self._answers)
        if not isinstance(id, str) or id not in self._truths:
            fail(
                "ground_truth",
                f"missing, and {self._place} has no row of this id; add it to the row, or put the "
                "file of possible answers there",
            )
        return self._truths[id]


def _calls_of_truth(truth: Any) -> list[Fields]:
    """Return expected calls: the truth is a list of {function: {parameter: accepted values}}."""
    if not isinstance(truth, list):
        fail("ground_truth", f"expected a list of expected calls, got {kind_of(truth)}")
    calls = []
    for at, each in enumerate(truth):
        if not isinstance(each, dict):
            fail(f"ground_truth[{at}]", f"expected {{function: arguments}}, got {kind_of(each)}")
        for name, accepted in each.items():
            place = f"ground_truth[{at}].{name}"
            if not isinstance(accepted, dict):
                fail(place, f"expected accepted values by parameter, got {kind_of(accepted)}")
            for parameter, values in accepted.items():
                if not isinstance(values, list):
                    kind = kind_of(values)
                    fail(f"{place}.{parameter}", f"expected a list of accepted values, got {kind}")
            calls.append({"name": name, "accepted": accepted})
    return calls


def answer_file(rows: RowFile) -> JsonLinesRows | None:
    """Return BFCL's file of possible answers to a file of questions, None where there is none.

    BFCL lays it into the folder `possible_answer`, under the name of the questions. A copy may have
    the other ending of JSON Lines.
    """
    path = Path(rows.name).parent / _ANSWER_FOLDER / rows.path.name
    places = [path, *(path.with_suffix(ending) for ending in (".json", ".jsonl"))]
    return next((JsonLinesRows(str(place)) for place in places if place.is_file()), None)


def _read_truths(answers: JsonLinesRows | None) -> dict[str, Any]:
    return (
        {}
        if answers is None
        else {str(row.fields.get("id")): row.fields.get("ground_truth") for row in answers}
    )


def _first_turn(question: Any) -> Any:
    """Return the messages of the only turn; several turns are a suite with an environment."""
    if not isinstance(question, list) or not question:
        fail("question", f"expected a list of turns, got {kind_of(question)}")
    if isinstance(question[0], dict):
        return question
    if len(question) > 1:
        fail("question", "several turns: run the suite of BFCL, which has their environment")
    return question[0]


def _category(id: str) -> str:
    """Return the category in an id of BFCL, such as simple_python of simple_python_12."""
    words = id.split("_")
    while words and words[-1].replace("-", "").isdigit():
        words.pop()
    return "_".join(words)
