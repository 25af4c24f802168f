"""Files of rows that are wrong, each in one place: what the file holds, and what must be named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

LINE = "line"
ROW = "row"
WEATHER = {
    "name": "weather",
    "description": "Weather forecast",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"type": "string", "enum": ["C", "F"]},
        },
        "required": ["city"],
    },
}
RIGHT_CALL = {"name": "weather", "arguments": {"city": "Rome"}}
GOOD: dict[str, Any] = {
    "question": "How is the weather in Rome?",
    "tools": [WEATHER],
    "expected": [RIGHT_CALL],
}


class Malformed(NamedTuple):
    """A wrong file.

    - `content`: its bytes; None where there is no file.
    - `number`: the line or row that the message must name, 0 where the whole file is wrong.
    - `words`: what the message must contain, the field first.
    - `name`: the name of the file.
    - `unit`: what `number` counts.
    """

    content: bytes | None
    number: int
    words: tuple[str, ...]
    name: str = "rows.jsonl"
    unit: str = LINE


def row(**changes: Any) -> dict[str, Any]:
    """Return a good row with some fields changed; a field that becomes None is left out."""
    return {name: value for name, value in (GOOD | changes).items() if value is not None}


def lines(*rows: Any) -> bytes:
    """Return a file of JSON lines; text is a line as it is."""
    return "".join(
        f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in rows
    ).encode()


def second(**changes: Any) -> bytes:
    """Return a file whose second line is wrong."""
    return lines(GOOD, row(**changes), GOOD)


def tool(schema: Any) -> list[Any]:
    """Return tools: one, named as the expected call is, with this schema."""
    return [{"name": "weather", "parameters": schema}]


def call(arguments: Any, **further: Any) -> list[Any]:
    """Return expected calls: one of `weather`."""
    return [{"name": "weather", "arguments": arguments, **further}]


def doubling_references(n: int) -> dict[str, Any]:
    """Return a schema of n definitions, each of which refers to the next one twice."""
    names = {
        f"d{at}": {"properties": {key: {"$ref": f"#/$defs/d{at + 1}"} for key in "ab"}}
        for at in range(n)
    }
    return {
        "type": "object",
        "properties": {"city": {"$ref": "#/$defs/d0"}},
        "$defs": {**names, f"d{n}": {"type": "string"}},
    }


def nested(depth: int) -> str:
    """Return a line whose question is a list in a list and so on."""
    return '{"question": ' + "[" * depth + "]" * depth + "}"


CYCLE = {
    "type": "object",
    "properties": {"city": {"$ref": "#/$defs/node"}},
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
}
ASKED = [{"role": "user", "content": "How is the weather in Rome?"}]
BFCL_FUNCTION = {
    "name": "weather",
    "description": "Weather",
    "parameters": {
        "type": "dict",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
TORN_PARQUET = b"PAR1" + b"\x00" * 64 + b"PAR1"


def _bytes_cases() -> Iterator[tuple[str, Malformed]]:
    text = lines(GOOD)
    yield "UTF-16", Malformed(text.decode().encode("utf-16"), 1, ("UTF-8",))
    yield "UTF-16 without a mark", Malformed(text.decode().encode("utf-16-le"), 1, ("UTF-8",))
    yield "a Latin-1 byte", Malformed(text + b'{"question": "caf\xe9"}\n', 2, ("0xe9", "UTF-8"))
    yield (
        "a byte order mark in the middle",
        Malformed(text + b"\xef\xbb\xbf" + text, 2, ("byte order mark",)),
    )
    yield "a NUL", Malformed(text + b'{"question": "a\x00b"}\n', 2, ("NUL", "UTF-8"))
    yield "a huge line", Malformed(text + b'{"a": "' + b"x" * (17 * 2**20), 2, ("MiB",))
    yield "truncated JSON", Malformed(text + text[:-20], 2, ("JSON", "column"))
    yield "NaN", Malformed(second().replace(b'"Rome"', b"NaN", 2)[:-1], 1, ("NaN",))
    yield "deep nesting", Malformed(text + nested(5000).encode(), 2, ("nested",))
    yield "a twin key", Malformed(text + b'{"question": "a", "question": "b"}', 2, ("question",))
    yield (
        "a twin key inside a tool",
        Malformed(
            text + text.replace(b'"type": "object"', b'"type": "object", "type": "object"'),
            2,
            ("type", "twice"),
        ),
    )
    yield "a huge number", Malformed(text + b'{"question": ' + b"9" * 9000 + b"}", 2, ("64 bits",))
    yield (
        "a number beyond 64 bits",
        Malformed(second(expected=call({"city": 10**30})), 2, ("1000000", "64 bits")),
    )
    infinite = second().replace(b'"Rome"', b"1e999", 2)
    yield "a number that is infinite", Malformed(infinite, 1, ("1e999", "too large"))
    yield "a list in a line", Malformed(text + b"[1]\n", 2, ("object", "list"))
    yield "a number in a line", Malformed(text + b"12\n", 2, ("object", "number"))
    yield "two objects in a line", Malformed(text + b"{} {}\n", 2, ("JSON", "column"))
    yield "an empty file", Malformed(b"", 0, ("no rows",))
    yield "blank lines alone", Malformed(b"\n  \n\t\n", 0, ("no rows",))
    yield "a missing file", Malformed(None, 0, ("no file",))


def _field_cases() -> Iterator[tuple[str, Malformed]]:
    for name, changes, words in (
        ("an unknown field", {"expectd": []}, ("expectd", "expected")),
        ("no question", {"question": None}, ("question", "missing")),
        ("an empty question", {"question": "  "}, ("question", "empty")),
        ("a question that is a number", {"question": 7}, ("question", "number")),
        ("question and messages", {"messages": ASKED}, ("question", "messages")),
        ("nothing expected", {"expected": None}, ("expected", "[]")),
        ("a text expected", {"expected": "weather"}, ("expected", "list")),
        ("an expected call without a name", {"expected": [{"arguments": {}}]},
         ("expected[0].name",)),
        ("an id that is a list", {"id": ["a"]}, ("id", "list")),
        ("an id that is true", {"id": True}, ("id", "true")),
        ("an id that is a fraction", {"id": 1.5}, ("id", "number")),
        ("an empty id", {"id": " "}, ("id", "empty")),
        ("a category that is a list", {"category": []}, ("category", "list")),
        ("a group that is an object", {"group": {}}, ("group", "object")),
        ("a system that is a list", {"system": ["a"]}, ("system", "list")),
        ("ignore that is a number", {"ignore": 3}, ("ignore", "list")),
        ("an ignored argument that no tool has", {"ignore": ["dayz"]}, ("ignore", "days")),
        ("alternatives that are no lists", {"alternatives": [3]}, ("alternatives[0]", "number")),
        ("must_call that is a text", {"must_call": "yes"}, ("must_call", "true or false")),
        ("must_call against expected", {"must_call": False}, ("must_call", "expected")),
        ("a review that is unknown", {"review": "accpeted"}, ("review", "accepted")),
        ("a solution that is a number", {"solution": 3}, ("solution", "number")),
        ("a solution that calls no tool", {"solution": [{"name": "wether"}]},
         ("solution[0].name", "weather")),
    ):  # fmt: skip
        yield name, Malformed(second(**changes), 2, words)


def _tool_cases() -> Iterator[tuple[str, Malformed]]:
    properties = {"city": {"type": "string"}}
    for name, tools, words in (
        ("tools that are an object", {"a": 1}, ("tools", "list")),
        ("a tool that is a text", ["weather"], ("tools[0]", "text")),
        ("a tool without a name", [{"parameters": {}}], ("tools[0].name",)),
        ("a tool whose name is a number", [{"name": 3}], ("tools[0].name",)),
        ("an OpenAI tool without a name", [{"type": "function", "function": {}}],
         ("tools[0].function.name",)),
        ("two tools of one name", [WEATHER, WEATHER], ("tools[1].name", "weather")),
        ("a description that is a list", [{"name": "weather", "description": []}],
         ("tools[0].description", "list")),
        ("a schema that is a text", tool("x"), ("tools[0].parameters", "text")),
        ("a schema of a list", tool({"type": "array"}), ("tools[0].parameters.type", "array")),
        ("a parameter that is a text", tool({"properties": {"city": "text"}}),
         ("tools[0].parameters.properties.city", "text")),
        ("a type that does not exist", tool({"properties": {"city": {"type": "strng"}}}),
         ("tools[0].parameters.properties.city.type", "string")),
        ("required that is true", tool({"properties": properties, "required": True}),
         ("tools[0].parameters.required", "list")),
        ("a required parameter without a schema",
         tool({"properties": properties, "required": ["town"]}),
         ("tools[0].parameters.required", "town")),
        ("an enum that is a text", tool({"properties": {"city": {"enum": "Rome"}}}),
         ("tools[0].parameters.properties.city.enum",)),
        ("a schema with a cycle", tool(CYCLE), ("tools[0].parameters", "#/$defs/node", "cycle")),
        ("a schema that is its own reference", tool({"$ref": "#"}),
         ("tools[0].parameters", "#", "itself")),
        ("a remote reference",
         tool({"properties": {"city": {"$ref": "https://example.com/a.json"}}}),
         ("tools[0].parameters", "https://example.com/a.json", "fetched")),
        ("a reference to a file", tool({"properties": {"city": {"$ref": "file:///etc/passwd"}}}),
         ("tools[0].parameters", "file:///etc/passwd", "fetched")),
        ("exponential references", tool(doubling_references(40)), ("tools[0].parameters", "$ref")),
        ("a reference to nothing", tool({"properties": {"city": {"$ref": "#/$defs/town"}}}),
         ("tools[0].parameters", "#/$defs/town")),
        ("a reference to no schema",
         tool({"properties": {"city": {"$ref": "#/$defs/a"}}, "$defs": {"a": 3}}),
         ("tools[0].parameters", "#/$defs/a", "schema")),
        ("a reference that is a number", tool({"properties": {"city": {"$ref": 3}}}),
         ("tools[0].parameters", "$ref")),
    ):  # fmt: skip
        yield name, Malformed(second(tools=tools), 2, words)


def _contradictions() -> Iterator[tuple[str, Malformed]]:
    for name, expected, words in (
        ("a call of an unknown tool", [{"name": "wether", "arguments": {}}],
         ("expected[0].name", "weather")),
        ("arguments of another type", call({"city": 3}), ("expected[0].arguments.city", "string")),
        ("arguments beyond the maximum", call({"city": "Rome", "days": 99}),
         ("expected[0].arguments.days", "14")),
        ("an argument outside the enum", call({"city": "Rome", "unit": "K"}),
         ("expected[0].arguments.unit", "C")),
        ("a required argument is missing", call({"days": 3}), ("expected[0].arguments", "city")),
        ("an argument that the schema lacks", call({"city": "Rome", "day": 3}),
         ("expected[0].arguments.day", "days")),
        ("accepted values of another type", call({}, accepted={"city": [3]}),
         ("expected[0].accepted.city", "string")),
        ("no accepted value", call({}, accepted={"city": []}), ("expected[0].accepted.city",)),
        ("an argument with one value and several", call({"city": "a"}, accepted={"city": ["a"]}),
         ("expected[0].accepted.city", "arguments")),
        ("arguments that are a list", call([1]), ("expected[0].arguments", "list")),
        ("arguments that are torn JSON", call('{"city": '), ("expected[0].arguments", "JSON")),
        ("accepted that is a text", call({}, accepted={"city": "Rome"}),
         ("expected[0].accepted", "list")),
        ("an unknown field of a call", [{"name": "weather", "argumnets": {}}],
         ("expected[0].argumnets", "arguments")),
    ):  # fmt: skip
        yield name, Malformed(second(expected=expected), 2, words)
    yield (
        "an alternative against its schema",
        Malformed(
            second(alternatives=[[RIGHT_CALL], call({"city": 3})]),
            2,
            ("alternatives[1][0].arguments.city", "string"),
        ),
    )
    twins = lines(row(id="a"), row(id="b"), row(id="a"))
    yield "two rows of one id", Malformed(twins, 3, ("id", "a"))
    twins = lines(row(id="7"), row(id=7))
    yield "an id as text and as number", Malformed(twins, 2, ("id", "7"))
    taken = lines(row(id="row-2"), row())
    yield "an id that a row without id has", Malformed(taken, 2, ("id", "row-2"))
    proposed = lines(GOOD, row(review="proposed"), GOOD, row(review="proposed"))
    yield "proposed rows", Malformed(proposed, 0, ("2", "proposed", "toolmark review"))


def _message_cases() -> Iterator[tuple[str, Malformed]]:
    called = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "weather"}}]}
    for name, messages, words in (
        ("no messages", [], ("messages", "list")),
        ("messages that are a text", "hello", ("messages", "list")),
        ("a message that is a text", ["hello"], ("messages[0]", "text")),
        ("an unknown role", [{"role": "usr", "content": "a"}], ("messages[0].role", "user")),
        ("a role that is a list", [{"role": [], "content": "a"}], ("messages[0].role",)),
        ("a message without content", [{"role": "user"}], ("messages[0].content",)),
        ("content that is a number", [{"role": "user", "content": 3}],
         ("messages[0].content", "number")),
        ("a picture", [{"role": "user", "content": [{"type": "image_url"}]}],
         ("messages[0].content[0]", "image_url")),
        ("a result without its call", [*ASKED, {"role": "tool", "tool_call_id": "9",
         "content": "sun"}], ("messages[1]", "9")),
        ("a result that names no call", [*ASKED, {"role": "tool", "content": "sun"}],
         ("messages[1].tool_call_id",)),
        ("a call without its result", [*ASKED, called, *ASKED], ("messages[1].tool_calls", "1")),
        ("calls that are an object", [*ASKED, {"role": "assistant", "tool_calls": {}}],
         ("messages[1].tool_calls", "object")),
        ("a call without a name", [*ASKED, {"role": "assistant", "tool_calls": [{}]}],
         ("messages[1].tool_calls[0]", "name")),
        ("a call id that is a number", [*ASKED, {"role": "tool", "tool_call_id": 3}],
         ("messages[1].tool_call_id", "number")),
        ("the model's turn at the end", [*ASKED, {"role": "assistant", "content": "Sun."}],
         ("messages[1]", "assistant")),
        ("the system alone", [{"role": "system", "content": "Be brief."}],
         ("messages[0]", "system")),
        ("OpenAI's old form of a call", [*ASKED, {"role": "assistant",
         "function_call": {"name": "weather"}}], ("messages[1].function_call", "tool_calls")),
        ("a call in history without an id", [*ASKED, {"role": "assistant", "tool_calls":
         [{"function": {"name": "weather"}}]}], ("messages[1].tool_calls[0].id",)),
    ):  # fmt: skip
        yield name, Malformed(second(question=None, messages=messages), 2, words)


def _table_cases() -> Iterator[tuple[str, Malformed]]:
    head = "question,tools,expected\n"
    good = f'Hello?,"{json.dumps([WEATHER]).replace(chr(34), chr(34) * 2)}",[]\n'
    for name, text, number, words in (
        ("CSV with too many cells", head + good + "a,[],[],[]\n", 3, ("cells",)),
        ("CSV with too few cells", head + good + "a,[]\n", 3, ("cells",)),
        ("CSV with an open quote", head + good + '"a,[],[]\n', 3, ("quote",)),
        ("CSV with text after a quote", head + good + '"a"b,[],[]\n', 3, ("CSV",)),
        ("CSV with a cell of torn JSON", head + good + "a,[1,[]\n", 3, ("tools", "JSON")),
        ("CSV with two columns of one name", "question,question,expected\n" + good, 1,
         ("question", "twice")),
        ("CSV with an unnamed column", "question,,expected\n" + good, 1, ("column 2",)),
        ("CSV with a head alone", head, 0, ("no rows",)),
        ("CSV that is empty", "", 0, ("no rows",)),
    ):  # fmt: skip
        yield name, Malformed(text.encode(), number, words, "rows.csv")
    for name, data in (("an object", b"{}"), ("a text", b'"a"')):
        yield f"JSON that is {name}", Malformed(data, 0, ("list",), "rows.json")
    yield "JSON list of a text", Malformed(b'[{}, "a"]'.replace(b"{}", lines(GOOD)), 2,
                                           ("object", "text"), "rows.json", ROW)  # fmt: skip
    yield "JSON list without rows", Malformed(b"[]", 0, ("no rows",), "rows.json")
    yield "JSON list that is torn", Malformed(b'[{"a": 1},', 0, ("JSON", "line"), "rows.json")
    yield "no Parquet", Malformed(b"hello", 0, ("Parquet",), "rows.parquet")
    yield "torn Parquet", Malformed(TORN_PARQUET, 0, ("Parquet",), "rows.parquet")


def _shape_cases() -> Iterator[tuple[str, Malformed]]:
    official = {"id": "simple_python_0", "question": [ASKED], "function": [BFCL_FUNCTION]}
    yield "BFCL without truth", Malformed(lines(official), 1, ("ground_truth", "possible_answer"))
    wrong = {**official, "ground_truth": ["weather"]}
    yield "BFCL with a truth that is a text", Malformed(lines(wrong), 1, ("ground_truth",))
    wrong = {**official, "ground_truth": [{"weather": {"city": "Rome"}}]}
    yield (
        "BFCL with a truth that is no list",
        Malformed(lines(wrong), 1, ("ground_truth[0].weather.city", "list")),
    )
    turns = {**official, "question": [ASKED, ASKED]}
    yield "BFCL with several turns", Malformed(lines(turns), 1, ("question", "turns"))
    later = {"id": "simple_python_1", "question": "Hello?"}
    truth = [{"weather": {"city": ["Rome"]}}]
    yield (
        "BFCL, then a row without function",
        Malformed(lines({**official, "ground_truth": truth}, later), 2, ("function",)),
    )
    request = {"messages": ASKED, "tools": [{"type": "function", "function": WEATHER}]}
    yield "K2 without responses", Malformed(lines({"request": request}), 1, ("finish_reason",))
    answered = {"request": request, "finish_reason": "tool_calls"}
    yield (
        "K2, then a row without request",
        Malformed(lines(answered, {"finish_reason": "stop"}), 2, ("request",)),
    )
    reply = {"role": "assistant", "tool_calls": [{"id": "1", "function": RIGHT_CALL}]}
    logged = {"messages": [*ASKED, reply], "tools": request["tools"]}
    yield (
        "OpenAI, then a row without an answer",
        Malformed(lines(logged, {**logged, "messages": ASKED}), 2, ("messages", "assistant")),
    )
    yield (
        "OpenAI, then a row without messages",
        Malformed(lines(logged, {"tools": []}), 2, ("messages",)),
    )
    torn = {"role": "assistant", "tool_calls": [{"function": {"name": "weather",
                                                              "arguments": "{"}}]}  # fmt: skip
    yield (
        "OpenAI with torn arguments",
        Malformed(
            lines({**logged, "messages": [*ASKED, torn]}),
            1,
            ("messages[-1].tool_calls[0].arguments", "JSON"),
        ),
    )


CASES: dict[str, Malformed] = dict(
    case
    for cases in (
        _bytes_cases,
        _field_cases,
        _tool_cases,
        _contradictions,
        _message_cases,
        _table_cases,
        _shape_cases,
    )
    for case in cases()
)
