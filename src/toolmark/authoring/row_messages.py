"""Messages and tools of rows, in the shapes of OpenAI, Anthropic and MCP, as our records.

Faults raise RowFault: the field, what is wrong with it, and how to correct it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NoReturn, get_args

from toolmark.core.json_codec import InvalidJson, parse_json
from toolmark.core.json_kinds import kind_of
from toolmark.core.records import Call, Message, Role, Text, Tool

ToolShape = Literal["OpenAI", "Anthropic", "MCP", "BFCL", "plain"]
_ROLES: dict[str, Role] = {role: role for role in get_args(Role)} | {"developer": "system"}
_OFFICIAL_ROOT_TYPE = "dict"  # of BFCL's docs, where JSON Schema says "object"
# BFCL's names of types that JSON Schema does not have
_SCHEMA_TYPE = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
_KEY_OF_SCHEMA: Mapping[str, str] = {"Anthropic": "input_schema", "MCP": "inputSchema"}
MAX_SCHEMA_NODES = 20_000
MAX_REFERENCE_DEPTH = 50
_FOREIGN_KEYWORDS = {"$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor"}


class RowFault(Exception):
    """A field of a row is wrong: `field` names it, `problem` says what is wrong and what to do."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


def fail(field: str, problem: str) -> NoReturn:
    """Raise RowFault."""
    raise RowFault(field, problem)


# --- messages -------------------------------------------------------------------------------


def read_messages(value: Any, field: str = "messages") -> tuple[Message, ...]:
    """Return messages as OpenAI or Anthropic write them, results of tools among them."""
    if not isinstance(value, list) or not value:
        fail(field, "expected a list of messages, such as [{'role': 'user', 'content': '...'}]")
    found = [
        (f"{field}[{at}]", message)
        for at, each in enumerate(value)
        for message in _read_message(each, f"{field}[{at}]")
    ]
    _check_results(found)
    return tuple(message for _, message in found)


def _read_message(value: Any, field: str) -> Iterator[Message]:
    if not isinstance(value, dict):
        fail(field, f"expected an object with role and content, got {kind_of(value)}")
    role = value.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        fail(f"{field}.role", f"expected one of {', '.join(_ROLES)}, got {role!r}")
    if "function_call" in value:
        fail(f"{field}.function_call", "an old form; write tool_calls, a list of calls with ids")
    content = value.get("content")
    calls = [
        *_openai_calls(value.get("tool_calls"), f"{field}.tool_calls"),
        *_anthropic_calls(content, f"{field}.content"),
    ]
    text = _content_text(content, f"{field}.content")
    results = list(_anthropic_results(content, f"{field}.content"))
    yield from results
    call_id = value.get("tool_call_id", "")
    if not isinstance(call_id, str):
        fail(f"{field}.tool_call_id", f"expected text, got {kind_of(call_id)}")
    if results and not text and not calls:
        return
    if not text and not calls and role not in ("assistant", "tool"):
        fail(f"{field}.content", "it is empty; write what is said, or remove the message")
    parts = (Text(text),) if text else ()
    yield Message(role=_ROLES[role], parts=parts, calls=tuple(calls), call_id=call_id)


def _content_text(content: Any, field: str) -> str:
    """Return the text of a message's content; blocks of tools are read elsewhere."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        fail(field, f"expected text or a list of parts, got {kind_of(content)}")
    texts = []
    for at, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind not in ("tool_use", "tool_result", "thinking", "redacted_thinking"):
            fail(
                f"{field}[{at}]",
                f"a part of type {kind!r} cannot be read from a row; rows hold text and tools",
            )
    return "".join(texts)


def _openai_calls(value: Any, field: str) -> Iterator[Call]:
    if value is None:
        return
    if not isinstance(value, list):
        fail(field, f"expected a list, got {kind_of(value)}")
    for at, each in enumerate(value):
        function = each.get("function") if isinstance(each, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            fail(f"{field}[{at}]", "expected {'id', 'type': 'function', 'function': {'name'}}")
        arguments = function.get("arguments", "{}")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield Call(name=function["name"], arguments=text, id=str(each.get("id") or ""))


def _anthropic_calls(content: Any, field: str) -> Iterator[Call]:
    for at, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and part.get("type") == "tool_use":
            name, given = part.get("name"), part.get("input", {})
            if not isinstance(name, str) or not isinstance(given, dict):
                fail(f"{field}[{at}]", "a tool_use has a name and an input, an object")
            yield Call(name=name, arguments=json.dumps(given), id=str(part.get("id") or ""))


def _anthropic_results(content: Any, field: str) -> Iterator[Message]:
    for at, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and part.get("type") == "tool_result":
            text = _content_text(part.get("content"), f"{field}[{at}].content")
            call_id = str(part.get("tool_use_id") or "")
            yield Message(role="tool", parts=(Text(text),), call_id=call_id)


def _check_results(messages: Iterable[tuple[str, Message]]) -> None:
    """Raise RowFault for a result without its call, and for a call without its result.

    Endpoints refuse such a history.
    """
    open_ids: dict[str, str] = {}  # of calls without a result, with the place of their message
    for field, message in messages:
        if message.role == "tool":
            if message.call_id not in open_ids:
                fail(
                    f"{field}.tool_call_id",
                    f"the result of call {message.call_id!r}, which no message before it makes; "
                    "add the assistant's message with the call",
                )
            del open_ids[message.call_id]
        elif open_ids:
            id, place = next(iter(open_ids.items()))
            fail(f"{place}.tool_calls", f"call {id!r} has no result; add the tool's message")
        for at, call in enumerate(message.calls):
            if not call.id or call.id in open_ids:
                problem = "two calls have it" if call.id else "missing"
                fail(f"{field}.tool_calls[{at}].id", f"{problem}; results name their call by it")
            open_ids[call.id] = field
    for id, place in open_ids.items():
        fail(f"{place}.tool_calls", f"call {id!r} has no result; add the tool's message")


def read_json_object(value: Any, field: str) -> dict[str, Any]:
    """Return the arguments of a call: an object, or its JSON text."""
    if isinstance(value, str):
        try:
            value = parse_json(value or "{}")
        except InvalidJson as error:
            fail(field, f"not JSON: {error}")
    if not isinstance(value, dict):
        fail(field, f"expected an object, got {kind_of(value)}")
    return value


# --- tools ----------------------------------------------------------------------------------


def read_tools(value: Any, field: str = "tools") -> tuple[Tool, ...]:
    """Return tools in any of the known shapes; the schemas are checked."""
    if not isinstance(value, list):
        fail(field, f"expected a list of tools, got {kind_of(value)}")
    tools: dict[str, Tool] = {}
    for at, each in enumerate(value):
        tool = _read_tool(each, f"{field}[{at}]")
        if tool.name in tools:
            fail(f"{field}[{at}].name", f"two tools are named {tool.name!r}; rename one")
        tools[tool.name] = tool
    return tuple(tools.values())


def tool_shape(value: Mapping[str, Any]) -> ToolShape:
    """Return the shape of a tool: whose documentation writes it so."""
    if isinstance(value.get("function"), dict):
        return "OpenAI"
    if "input_schema" in value:
        return "Anthropic"
    if "inputSchema" in value:
        return "MCP"
    parameters = value.get("parameters")
    if isinstance(parameters, dict) and parameters.get("type") == _OFFICIAL_ROOT_TYPE:
        return "BFCL"
    return "plain"


def schema_key(value: Mapping[str, Any]) -> str:
    """Return where a tool has the schema of its parameters."""
    shape = tool_shape(value)
    key = _KEY_OF_SCHEMA.get(shape, "parameters")
    return f"function.{key}" if shape == "OpenAI" else key


def _read_tool(value: Any, field: str) -> Tool:
    if not isinstance(value, dict):
        fail(field, f"expected an object with name and parameters, got {kind_of(value)}")
    shape = tool_shape(value)
    body = value["function"] if shape == "OpenAI" else value
    field = f"{field}.function" if shape == "OpenAI" else field
    key = _KEY_OF_SCHEMA.get(shape, "parameters")
    name, description = body.get("name"), body.get("description")
    description = "" if description is None else description
    if not isinstance(name, str) or not name.strip():
        fail(f"{field}.name", "a tool needs a name")
    if not isinstance(description, str):
        fail(f"{field}.description", f"expected text, got {kind_of(description)}")
    schema = body.get(key)
    schema = {"type": "object", "properties": {}} if schema in (None, {}) else schema
    if shape == "BFCL":
        schema = _convert_types(schema)
    annotations = body.get("annotations")
    return Tool(
        name=name,
        description=description,
        parameters=check_schema(schema, f"{field}.{key}"),
        source=value if shape == "BFCL" else None,
        read_only=isinstance(annotations, dict) and annotations.get("readOnlyHint") is True,
    )


def _convert_types(schema: Any) -> Any:
    """Return a schema with BFCL's names of types replaced by those of JSON Schema."""
    if isinstance(schema, list):
        return [_convert_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _convert_types(each) for key, each in schema.items()}
    kind = found.get("type")
    if isinstance(kind, str):
        found["type"] = _SCHEMA_TYPE.get(kind, kind)
    return found


def check_schema(schema: Any, field: str) -> dict[str, Any]:
    """Return the schema of a tool's parameters, with local references replaced by what they name.

    Raises RowFault for one that is no object schema, refers elsewhere, or to itself.
    """
    if not isinstance(schema, dict):
        fail(field, f"expected a JSON Schema, an object, got {kind_of(schema)}")
    resolved = _Resolver(schema, field).resolve(schema)
    if resolved.get("type", "object") != "object":
        fail(f"{field}.type", f"the arguments of a call are an object, got {resolved['type']!r}")
    properties = resolved.get("properties", {})
    if not isinstance(properties, dict):
        fail(f"{field}.properties", f"expected an object by parameter, got {kind_of(properties)}")
    for name, spec in properties.items():
        if not isinstance(spec, dict | bool):
            fail(f"{field}.properties.{name}", f"expected a schema, got {kind_of(spec)}")
    required = resolved.get("required", [])
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        fail(f"{field}.required", "expected a list of parameters' names")
    for name in required:
        if name not in properties:
            fail(f"{field}.required", f"{name!r} is required and has no schema in properties")
    return {"type": "object", **resolved, "properties": properties}


class _Resolver:
    """Replaces the local references of one schema by what they name, within a limit of size."""

    def __init__(self, root: Mapping[str, Any], field: str) -> None:
        self._root = root
        self._field = field
        self._n_nodes = 0

    def resolve(
        self, schema: Any, open_references: tuple[str, ...] = (), *, by_name: bool = False
    ) -> Any:
        """Return a schema without references; `by_name` for a mapping from names to schemas."""
        self._n_nodes += 1
        if self._n_nodes > MAX_SCHEMA_NODES:
            fail(self._field, f"larger than {MAX_SCHEMA_NODES} parts with its $refs; simplify it")
        if isinstance(schema, list):
            return [self.resolve(each, open_references) for each in schema]
        if not isinstance(schema, dict):
            return schema
        if not by_name and (word := next(iter(_FOREIGN_KEYWORDS & schema.keys()), "")):
            fail(self._field, f"{word} is not followed; write the schema here in its place")
        if len(open_references) > MAX_REFERENCE_DEPTH:
            fail(self._field, f"more than {MAX_REFERENCE_DEPTH} $refs in a chain; simplify it")
        if "$ref" in schema and not by_name:
            return self._follow(schema["$ref"], schema, open_references)
        return {
            key: self.resolve(each, open_references, by_name=key == "properties" and not by_name)
            for key, each in schema.items()
            if by_name or key not in ("$defs", "definitions")
        }

    def _follow(
        self, reference: object, schema: Mapping[str, Any], open_references: tuple[str, ...]
    ) -> dict[str, Any]:
        if not isinstance(reference, str):
            fail(self._field, f"$ref is text such as '#/$defs/NAME', got {kind_of(reference)}")
        if reference == "#":
            fail(self._field, "$ref '#' contains itself; write it without a cycle")
        if not reference.startswith("#/"):
            fail(
                self._field,
                f"$ref {reference!r} is in another document, which is never fetched; put its "
                "schema here",
            )
        if reference in open_references:
            fail(self._field, f"$ref {reference!r} contains itself; write it without a cycle")
        target = _find_reference(self._root, reference, self._field)
        siblings = {key: each for key, each in schema.items() if key != "$ref"}
        inner = self.resolve(target, (*open_references, reference))
        return {**inner, **self.resolve(siblings, open_references)}


def _find_reference(root: Mapping[str, Any], reference: str, field: str) -> Any:
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or key not in found:
            fail(field, f"$ref {reference!r} names nothing in this schema")
        found = found[key]
    if not isinstance(found, dict):
        fail(field, f"$ref {reference!r} names no schema")
    return found
