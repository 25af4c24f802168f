"""What came of a call is decided by rule, and every rule decides something."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from toolmark.core.records import Call, Reply, Result, Step, Text, Tool
from toolmark.suites.m3.call_outcomes import (
    OUTCOME_DESCRIPTIONS,
    Outcome,
    classify_call,
    is_error_result,
    matches_schema,
    step_outcomes,
)

CROP = Tool(
    name="image/crop",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "x": {"type": "integer", "minimum": 0}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
GOOD = Call(name="image/crop", arguments='{"path": "a.png", "x": 1}')


def said(text: str, is_error: bool = True, structured: Any = None) -> Result:
    return Result(parts=(Text(text),), is_error=is_error, structured=structured)


TEXTS: list[tuple[str, Outcome]] = [
    # FastMCP of SDK 1.x and the MCPServer of 2.x
    ("Unknown tool: crop", "unknown_tool"),
    ("Unknown tool: 'crop'", "unknown_tool"),
    (
        "Error executing tool crop: 1 validation error for cropArguments\npath\n  Field required "
        "[type=missing, input_value={}, input_type=dict]",
        "invalid_arguments",
    ),
    ("Input validation error: 'path' is a required property", "invalid_arguments"),
    ("Error executing tool crop: [Errno 2] No such file or directory: 'a.png'", "not_found"),
    ("Error executing tool crop: Sheet 'Tea' not found", "not_found"),
    ("Error executing tool crop: division by zero", "tool_error"),
    ("Error executing tool crop", "tool_error"),
    # the TypeScript SDK, old and new
    ("MCP error -32602: Tool crop not found", "unknown_tool"),
    ("MCP error -32601: Method not found", "unknown_tool"),
    ("Tool crop disabled", "unknown_tool"),
    (
        "MCP error -32602: Input validation error: Invalid arguments for tool crop: [\n  {\n"
        '    "code": "invalid_type"',
        "invalid_arguments",
    ),
    ("MCP error -32602: Invalid arguments for tool crop", "invalid_arguments"),
    ("ENOENT: no such file or directory, open '/w/a.png'", "not_found"),
    ("MCP error -32002: Resource a.png is gone", "not_found"),
    ("MCP error -32603: Internal error", "server_error"),
    ("MCP error -32001: Request timed out", "server_error"),
    # what servers pass on from others
    ("Request failed with status code 404", "not_found"),
    ("HTTP 400: bbox is empty", "invalid_arguments"),
    ("400 Bad Request", "invalid_arguments"),
    ("crop() got an unexpected keyword argument 'z'", "invalid_arguments"),
    ("crop() missing 1 required positional argument: 'y'", "invalid_arguments"),
    ("Entity tea does not exist", "not_found"),
    ("Could not find the barcode", "not_found"),
    ("HTTP 429 Too Many Requests", "server_error"),
    ("500 Internal Server Error", "server_error"),
    ("HTTP status: 401", "server_error"),
    ("no answer within 30 s; the call was cancelled", "server_error"),
    ("the answer has 99,000,000 bytes; the limit is 16,777,216", "server_error"),
    ("connect ECONNREFUSED 127.0.0.1:9", "server_error"),
    # what a tool itself refuses
    ("Error: Only SELECT queries are allowed for read_query", "tool_error"),
    ("No QR code found", "not_found"),
    ("no faces or barcodes were detected in a.png", "not_found"),
    ("There is no way around it; found nothing", "tool_error"),
    ("", "tool_error"),
]


@pytest.mark.parametrize(("text", "outcome"), TEXTS)
def test_an_errors_text_decides(text: str, outcome: Outcome) -> None:
    assert classify_call(GOOD, [CROP], said(text)) == outcome


@pytest.mark.parametrize(("text", "outcome"), [row for row in TEXTS if row[0]])
def test_the_reference_hosts_prefix_marks_an_error(text: str, outcome: Outcome) -> None:
    assert classify_call(GOOD, [], said(f"[Tool error] {text}", is_error=False)) == outcome


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        ('{"path": "a.png", "x": 1}', "tool_error"),
        ('{"path": "a.png"}', "tool_error"),
        ('{"path": "a.png", "x": 1.0}', "tool_error"),
        ('{"x": 1}', "invalid_arguments"),
        ('{"path": "a.png", "x": "1"}', "invalid_arguments"),
        ('{"path": "a.png", "x": -1}', "invalid_arguments"),
        ('{"path": "a.png", "z": 1}', "invalid_arguments"),
        ("[]", "invalid_arguments"),
        ('"a.png"', "invalid_arguments"),
        ("null", "invalid_arguments"),
        ("", "invalid_arguments"),
        ("{path: 1}", "illegal_format"),
        ("[" * 1000, "illegal_format"),
    ],
)
def test_the_schema_explains_a_failure_that_says_nothing(arguments: str, outcome: Outcome) -> None:
    call = Call(name="image/crop", arguments=arguments)
    assert classify_call(call, [CROP], said("failed")) == outcome
    expected = "not_executed" if outcome == "tool_error" else outcome
    assert classify_call(call, [CROP], None) == expected
    assert classify_call(call, [CROP], said("done", is_error=False)) == "success"


def test_the_schema_comes_before_what_was_not_found() -> None:
    call = Call(name="image/crop", arguments="{}")
    assert classify_call(call, [CROP], said("not found")) == "invalid_arguments"


def test_a_name_that_is_not_offered_is_unknown_however_the_server_puts_it() -> None:
    call = Call(name="image/crob", arguments="{}")
    for result in (None, said("what?"), said("not found"), said("-32602")):
        assert classify_call(call, [CROP], result) == "unknown_tool"
    assert classify_call(call, [], None) == "unknown_tool"


def test_no_call_is_an_illegal_format() -> None:
    assert classify_call(None, [CROP], None, "the reply is not JSON") == "illegal_format"
    assert classify_call(None, [CROP], None) == "illegal_format"


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (said("fine"), True),
        (said("Error: no path", is_error=False), True),
        (said("Error: no path\n" + "log line\n" * 100, is_error=False), False),
        (said("Errors: 0", is_error=False), False),
        (said('{"error": "no path"}', is_error=False), True),
        (said('{"error": {"code": 5}}', is_error=False), True),
        (said('{"error": null, "rows": []}', is_error=False), False),
        (said('{"error": "", "rows": []}', is_error=False), False),
        (said('{"success": false}', is_error=False), True),
        (said('{"status": "error"}', is_error=False), True),
        (said("x", is_error=False, structured={"isError": True}), True),
        (said("x", is_error=False, structured={"result": "404 not found"}), False),
        (said("Page: 404 not found is a status", is_error=False), False),
        (said('{"error": "torn', is_error=False), False),
        (Result(), False),
    ],
)
def test_an_error_is_marked_or_announces_itself_in_files_of_others(
    result: Result, error: bool
) -> None:
    assert is_error_result(result) == error
    assert (classify_call(GOOD, [], result) == "success") != error
    unmarked = structs.replace(CROP, name="sqlite/crop")
    call = structs.replace(GOOD, name="sqlite/crop")
    assert (classify_call(call, [unmarked], result) == "success") != error, "it marks no errors"


@pytest.mark.parametrize(
    "text",
    [
        "Error: 404 in the log file is what the user looks for",
        "Error: Only SELECT queries are allowed",
        '{"success": false}',
        '{"error": "none of ours"}',
        "Unknown tool: crop, says the manual",
    ],
)
def test_in_a_run_of_ones_own_the_servers_mark_decides(text: str) -> None:
    assert is_error_result(said(text, is_error=False)) and not is_error_result(
        said(text, False), marked=True
    )
    assert classify_call(GOOD, [CROP], said(text, is_error=False)) == "success"
    assert classify_call(GOOD, [CROP], said(text)) != "success"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "nonsense"},
        {"$ref": "http://127.0.0.1:9/schema"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#"},
        {"$schema": "http://nowhere.example/"},
        {"properties": {"a": {"pattern": "("}}},
    ],
)
def test_a_schema_that_is_none_asks_for_nothing(schema: dict[str, Any]) -> None:
    assert matches_schema({"a": "x"}, Tool(name="t", parameters=schema))


def test_patterns_end_however_they_are_written() -> None:
    text = "a" * 5000 + "!"
    for pattern in ("(a+)+$", r"(?=(a+)+$)(a|aa)+\1$"):
        schema = {"properties": {"a": {"type": "string", "pattern": pattern}}}
        assert not matches_schema({"a": text}, Tool(name="t", parameters=schema))


def test_a_step_has_an_outcome_per_call_and_one_for_what_could_not_be_read() -> None:
    wrong = Call(name="image/crop", arguments="{}")
    step = Step(reply=Reply(), calls=(GOOD, wrong, GOOD), results=(said("ok", False), said("no")))
    assert step_outcomes(step, [CROP]) == ("success", "invalid_arguments", "not_executed")
    assert step_outcomes(Step(reply=Reply(), fault="not JSON"), [CROP]) == ("illegal_format",)
    assert step_outcomes(Step(reply=Reply(text="done")), [CROP]) == ()


results = st.builds(
    Result,
    parts=st.lists(st.builds(Text, st.text(max_size=30)), max_size=2).map(tuple),
    structured=st.none() | st.dictionaries(st.text(max_size=6), st.integers(), max_size=2),
    is_error=st.booleans(),
)
calls = st.builds(
    Call, name=st.sampled_from(["image/crop", "x"]), arguments=st.text(max_size=10) | st.just("{}")
)


@given(call=st.none() | calls, result=st.none() | results, fault=st.text(max_size=5))
def test_everything_has_exactly_one_outcome(
    call: Call | None, result: Result | None, fault: str
) -> None:
    found = classify_call(call, [CROP], result, fault)
    assert found in OUTCOME_DESCRIPTIONS
    if result is not None and call is not None:
        assert (found == "success") != result.is_error
