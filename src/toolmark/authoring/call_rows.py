"""Rows of (question, tools, expected calls) as tasks.

Each row becomes a task of one reply: the calls of this reply are judged, and nothing is executed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec

from toolmark.authoring import row_shapes
from toolmark.authoring.digest_counts import DigestCounts
from toolmark.authoring.row_files import NumberedRow, RowFile
from toolmark.authoring.row_messages import (
    RowFault,
    fail,
    read_json_object,
    read_messages,
    read_tools,
    schema_key,
)
from toolmark.authoring.schema_checks import SchemaChecks, check_compared_values, check_expectation
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.json_kinds import kind_of
from toolmark.core.number_format import format_count
from toolmark.core.records import Limits, Message, Task, Text, Tool, Turn
from toolmark.runs.sourced_tasks import SourcedTasks
from toolmark.scoring import comparators
from toolmark.scoring.expected_calls import CallExpectation, ExpectedCall

CALL_FIELDS = (
    "id", "question", "messages", "system", "tools", "expected", "alternatives", "ignore",
    "must_call", "compare", "solution", "category", "group", "review", "reviewer", "reviewed",
    "review_note", "source", "n_seen",
)  # fmt: skip
_PROPOSED = "proposed"
_ACCEPTED = "accepted"
# where the rows of another program write what is expected
_EXPECTED_FIELD = {"OpenAI": "messages[-1].tool_calls", "BFCL": "ground_truth"}
_MAX_CACHED_TOOLS = 64


class CallTasks(SourcedTasks):
    """The tasks of a file of rows, read one at a time.

    - `rows`: the file.
    - `shape`: how its rows are written; "" for what the first row shows.
    - `tools`: the tools of rows that name none.
    """

    def __init__(self, rows: RowFile, shape: str = "", tools: tuple[Tool, ...] = ()) -> None:
        self.rows = rows
        self.tools = tools
        self._named_shape = row_shapes.check_shape(shape) if shape else None
        self._tools_by_text: dict[str, tuple[Tool, ...]] = {}
        self._schema_checks = SchemaChecks()
        self._are_checked = False  # by a pass over all rows; later ones need not repeat it

    @cached_property
    def shape(self) -> row_shapes.RowShape:
        """How the rows are written. Raises DataError for a file without rows."""
        if self._named_shape is not None:
            return self._named_shape
        first = next(iter(self.rows), None)
        if first is None:
            raise DataError(f"{self.rows.name}: no rows; next: write {self.rows.row_form}")
        return row_shapes.detect_shape(first.fields)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.rows.n_rows

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks. Raises DataError with line and field, UsageError for rows proposed."""
        ids = None if self._are_checked else UniqueIds(self.rows)
        tasks = self.numbered_tasks()
        for number, task, is_proposed in tasks:
            if ids is not None:
                ids.add(number, task.id)
            if is_proposed:
                n_proposed = 1 + sum(is_also for _, _, is_also in tasks)
                rows = "1 row is" if n_proposed == 1 else f"{format_count(n_proposed)} rows are"
                raise UsageError(
                    f"{self.rows.name}: {rows} proposed and not reviewed; next: toolmark review "
                    f"{self.rows.name}"
                )
            yield task
        self._are_checked = True

    def first(self, n: int) -> list[Task]:
        """Return the first tasks that can be read; rows that are only proposed are among them."""
        found = (each for each in self.read() if not isinstance(each, DataError))
        return [task for _, task, _ in islice(found, n)]

    def source_hashes(self) -> Mapping[str, str]:
        """Return the hashes of the file, of BFCL's answers, and of shared tools."""
        shared = {"shared tools": digest_tools(self.tools)} if self.tools else {}
        answers = row_shapes.answer_file(self.rows) if self.shape == "BFCL" else None
        if answers is not None:
            shared[f"answers {answers.short_name}"] = answers.sha256
        return {self.rows.label: self.rows.sha256, **shared}

    def numbered_tasks(self) -> Iterator[tuple[int, Task, bool]]:
        """Yield row number, task, and whether the row is only proposed."""
        for found in self.read():
            if isinstance(found, DataError):
                raise found
            yield found

    def read(self) -> Iterator[tuple[int, Task, bool] | DataError]:
        """Yield what `numbered_tasks` does, and the error of a faulty row in its place."""
        reader = row_shapes.shape_reader(self.shape, self.rows)
        for row in self.rows.read():
            if isinstance(row, DataError):
                yield row
                continue
            try:
                fields = reader(row.fields)
                yield row.number, self._make_task(row, fields), fields.get("review") == _PROPOSED
            except RowFault as fault:
                field = _field_in_shape(fault.field, self.shape)
                yield DataError(f"{self.rows.place(row.number)}: {field}: {fault.problem}")

    def _make_task(self, row: NumberedRow, fields: Mapping[str, Any]) -> Task:
        for name in fields:
            if self.shape == "toolmark" and name not in CALL_FIELDS:
                fail(name, f"no such field{suggest_names(name, CALL_FIELDS)}{_hint_for_call(name)}")
        tools = self._read_tools(fields["tools"]) if "tools" in fields else self.tools
        expectation = read_expectation(fields)
        if not self._are_checked:
            self._check_expectation(expectation, tools)
            _check_solution(fields.get("solution"), tools)
        review = fields.get("review", _ACCEPTED)
        if review not in (_ACCEPTED, _PROPOSED):
            fail("review", f"expected {_ACCEPTED} or {_PROPOSED}, got {review!r:.80}")
        return Task(
            id=read_id(fields, row.number),
            category=read_text(fields, "category"),
            axes=read_group(fields),
            turns=(Turn(messages=read_question(fields)),),
            tools=tools,
            limits=Limits(single_reply=True),
            data=msgspec.to_builtins(expectation),
        )

    def _check_expectation(self, expectation: CallExpectation, tools: Sequence[Tool]) -> None:
        check_argument_names("ignore", expectation.ignore, tools)
        check_argument_names("compare", expectation.compare, tools)
        check_expectation(self._schema_checks, expectation, tools)
        check_compared_values(expectation)

    def _read_tools(self, value: Any) -> tuple[Tool, ...]:
        """Return the tools of a row; rows with equal tools share one tuple."""
        text = repr(value)  # of JSON values it is complete, and quicker than JSON
        found = self._tools_by_text.get(text)
        if found is None:
            found = read_tools(value)
            for at, tool in enumerate(found):
                self._schema_checks.check_tool(tool, f"tools[{at}].{schema_key(value[at])}")
            if len(self._tools_by_text) == _MAX_CACHED_TOOLS:
                del self._tools_by_text[next(iter(self._tools_by_text))]
            self._tools_by_text[text] = found
        return found


def digest_tools(tools: Sequence[Tool]) -> str:
    """Return the SHA-256 of tools."""
    return hashlib.sha256(msgspec.json.encode(tools, order="sorted")).hexdigest()


def check_argument_names(field: str, names: Collection[str], tools: Sequence[Tool]) -> None:
    """Raise RowFault for a name, `ARGUMENT` or `TOOL.ARGUMENT`, that is of no offered tool."""
    if not names:
        return
    pairs = [(tool.name, name) for tool in tools for name in tool.parameters.get("properties", {})]
    known = [*dict.fromkeys(name for _, name in pairs), *(f"{tool}.{name}" for tool, name in pairs)]
    for name in names:
        if known and name not in known:
            fail(field, f"no tool has an argument {name!r}{suggest_names(name, known)}")


_WITH_ENVIRONMENT = ("data", "turns", "goal", "user_script", "max_steps")


def _hint_for_call(field: str) -> str:
    """Return what to do with rows of a suite that has an environment."""
    if field not in _WITH_ENVIRONMENT:
        return ""
    return "; rows of a suite with an environment are run by its function: FILE.py:NAME"


class UniqueIds:
    """Finds ids that a file has twice; of each it stores a few bytes, as a file may be large."""

    def __init__(self, rows: RowFile) -> None:
        self._rows = rows
        self._seen = DigestCounts()

    def add(self, number: int, id: str) -> None:
        """Note an id. Raises DataError where an earlier row has it."""
        if self._seen.add(id.encode("utf-8", "surrogatepass")) > 1:
            self._rows.fail(number, f"id: {id!r} is the id of an earlier row too; change one")


def read_question(fields: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return what is asked: `messages`, or `question`, after `system` where it is given."""
    system, question = read_text(fields, "system"), fields.get("question")
    opening = (Message(role="system", parts=(Text(system),)),) if system else ()
    if "messages" in fields:
        if question is not None:
            fail("question", "a row has a question or messages, not both; remove one")
        messages = read_messages(fields["messages"])
        if messages[-1].role not in ("user", "tool"):
            at, role = len(fields["messages"]) - 1, messages[-1].role
            fail(
                f"messages[{at}]",
                f"the last message is the user's or a tool's, got {role}; remove it",
            )
        return (*opening, *messages)
    if question is None:
        fail("question", "missing; write what the user asks, or messages")
    if not isinstance(question, str):
        fail("question", f"expected text, got {kind_of(question)}")
    if not question.strip():
        fail("question", "it is empty; write what the user asks")
    return (*opening, Message(role="user", parts=(Text(question),)))


def read_id(fields: Mapping[str, Any], number: int) -> str:
    """Return the id of a row, by default its number."""
    id = fields.get("id")
    if id is None:
        return f"row-{number}"
    if isinstance(id, int) and not isinstance(id, bool):
        return str(id)
    if not isinstance(id, str):
        fail("id", f"expected text, got {kind_of(id)}")
    if not id.strip():
        fail("id", "it is empty; write an id, or leave it out")
    return id


def read_text(fields: Mapping[str, Any], name: str) -> str:
    """Return a field of text, "" where it is missing."""
    value = fields.get(name, "")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        fail(name, f"expected text, got {kind_of(value)}")
    return value


def read_group(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the axis of the group, the unit that intervals count; none where it is not given."""
    group = read_text(fields, "group")
    return {"group": group} if group else {}


def read_expectation(fields: Mapping[str, Any]) -> CallExpectation:
    """Return what a row expects. Raises RowFault with the field."""
    expected = fields.get("expected")
    must_call = fields.get("must_call")
    if must_call is not None and not isinstance(must_call, bool):
        fail("must_call", f"expected true or false, got {kind_of(must_call)}")
    if expected is None and must_call is None and not fields.get("alternatives"):
        fail("expected", "missing; write the list of calls, [] if none may be made")
    if expected is not None and must_call is not None and bool(expected) != must_call:
        fail("must_call", "it contradicts expected; remove one")
    alternatives = fields.get("alternatives", [])
    if not isinstance(alternatives, list):
        fail("alternatives", f"expected a list of lists of calls, got {kind_of(alternatives)}")
    ignore = fields.get("ignore", [])
    ignore = [ignore] if isinstance(ignore, str) else ignore
    if not isinstance(ignore, list) or not all(isinstance(each, str) for each in ignore):
        fail("ignore", "expected a list of arguments' names")
    return CallExpectation(
        expected=None if expected is None else read_calls(expected, "expected"),
        alternatives=[
            read_calls(each, f"alternatives[{at}]") for at, each in enumerate(alternatives)
        ],
        ignore=ignore,
        must_call=must_call,
        compare=_read_comparators(fields.get("compare", {})),
    )


def _read_comparators(value: Any) -> dict[str, Any]:
    """Return the comparators of a row as it names them, each known by its name and settings."""
    if not isinstance(value, dict):
        fail("compare", f"expected an object, such as {{'day': 'date'}}, got {kind_of(value)}")
    for name, spec in value.items():
        try:
            comparators.from_row(spec)
        except UsageError as error:
            fail(f"compare.{name}", str(error))
    return value


def read_calls(value: Any, field: str) -> list[ExpectedCall]:
    """Return expected calls: `{"name", "arguments"}`, `{"name", "accepted"}`, or OpenAI's shape."""
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        step = "; answers and states are judged by a suite: FILE.py:NAME"
        fail(field, f"expected a list of calls, got {kind_of(value)}{step}")
    return [_read_call(each, f"{field}[{at}]") for at, each in enumerate(value)]


def _read_call(value: Any, field: str) -> ExpectedCall:
    if not isinstance(value, dict):
        fail(field, f"expected an object with name and arguments, got {kind_of(value)}")
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name, arguments = value.get("name"), value.get("arguments", value.get("input", {}))
    if not isinstance(name, str) or not name:
        fail(f"{field}.name", "an expected call needs the name of its tool")
    arguments = read_json_object(arguments, f"{field}.arguments")
    accepted = value.get("accepted", {})
    if not isinstance(accepted, dict) or not all(isinstance(x, list) for x in accepted.values()):
        fail(f"{field}.accepted", "expected a list of accepted values for each argument")
    unknown = value.keys() - {"name", "arguments", "accepted", "input", "id", "type"}
    if unknown:
        word = sorted(unknown)[0]
        known = ("name", "arguments", "accepted")
        fail(f"{field}.{word}", f"no such field{suggest_names(word, known)}")
    return ExpectedCall(name=name, arguments=arguments, accepted=accepted)


def _field_in_shape(field: str, shape: row_shapes.RowShape) -> str:
    """Return the name of a field as the file writes it."""
    prefix = _EXPECTED_FIELD.get(shape)
    if prefix is not None and field.startswith("expected["):
        return prefix + field.removeprefix("expected")
    return field


def _check_solution(solution: Any, tools: Sequence[Tool]) -> None:
    """Raise RowFault for a solution that is not of texts and calls of the tools."""
    if solution is None:
        return
    if not isinstance(solution, list):
        fail("solution", f"expected a list of calls and then the answer, got {kind_of(solution)}")
    names = [tool.name for tool in tools]
    for at, step in enumerate(solution):
        if isinstance(step, str | list):
            continue
        if not isinstance(step, dict):
            fail(f"solution[{at}]", f"expected a call or a text, got {kind_of(step)}")
        name = step.get("name")
        if name not in names:
            fail(f"solution[{at}].name", f"no tool {name!r:.80}{suggest_names(str(name), names)}")
