"""Variations of the tools of a task: their order, names, descriptions, company and strictness.

Each returns the changed task, or the reason why it does not apply to this one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.records import Message, Task, Text, Tool, Variation

NO_SECOND_TOOL = "it offers one tool"
NO_DESCRIPTION = "its tools have no description to shorten"
NO_DISTRACTOR = "no other task of the suite has a tool of another kind"
NAMED_TOOL = "a user's message names a tool"
NOT_STRICT = "a strict schema would make a parameter required, or has no place for one of its parts"
ALREADY_STRICT = "its schemas are strict already"
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_SENTENCE_END = re.compile(r"(?<=[^.\s]{3}[.!?])\s")


class NameWords(DataRecord, frozen=True):
    """Words of other names: `synonyms` by word, and `suffixes` where a name has no such word."""

    suffixes: tuple[str, ...]
    synonyms: dict[str, str]


def _with_tools(task: Task, kind: str, tools: Sequence[Tool], **fields: Any) -> Task:
    variation = Variation(kind=kind, own_tools=task.tools, **fields)
    return replace(task, tools=tuple(tools), variation=variation)


# --- order ------------------------------------------------------------------------------


def vary_order(task: Task, seed: int) -> Task | str:
    """Return the task with its tools in another order."""
    if len(task.tools) < 2:
        return NO_SECOND_TOOL
    return _with_tools(task, "tool_order", order_tools(task.tools, seed, task.id))


def order_tools(tools: Sequence[Tool], seed: int, task_id: str) -> list[Tool]:
    """Return tools in another order, if there are at least two that differ."""
    rng, ordered = seeds.make_rng(seed, task_id, 0, "tool order"), [*tools]
    while ordered == [*tools] and any(tool != tools[0] for tool in tools):
        seeds.shuffle_items(rng, ordered)
    return ordered


# --- descriptions -----------------------------------------------------------------------


def vary_descriptions(task: Task, seed: int) -> Task | str:
    """Return the task with the first sentence of each tool, and no description of parameters."""
    tools = [shorten_tool(tool) for tool in task.tools]
    if tools == [*task.tools]:
        return NO_DESCRIPTION
    return _with_tools(task, "descriptions", tools)


def shorten_tool(tool: Tool) -> Tool:
    """Return a tool with the first sentence of its description, and none of its parameters."""
    changed = replace(
        tool,
        description=_SENTENCE_END.split(tool.description, 1)[0],
        parameters=_without_descriptions(tool.parameters),
    )
    if not isinstance(tool.source, dict):
        return changed
    source = {**tool.source}
    if isinstance(source.get("description"), str):
        source["description"] = _SENTENCE_END.split(source["description"], 1)[0]
    if isinstance(source.get("parameters"), dict):
        source["parameters"] = _without_descriptions(source["parameters"])
    return replace(changed, source=source)


def _without_descriptions(schema: Any) -> Any:
    """Return a schema whose properties are not described.

    The words stay as "": some endpoints and prompts need the field.
    """
    if isinstance(schema, list):
        return [_without_descriptions(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "properties" and isinstance(value, dict):
            found[name] = {key: _without_descriptions(each) for key, each in value.items()}
        elif name == "description" and isinstance(value, str):
            found[name] = ""
        elif name in ("items", "anyOf", "oneOf", "allOf", "additionalProperties", "$defs"):
            found[name] = _without_descriptions(value)
        else:
            found[name] = value
    return found


# --- strict -----------------------------------------------------------------------------


def vary_strictness(task: Task, seed: int) -> Task | str:
    """Return the task with strict schemas, where they ask for nothing else than the plain ones."""
    if not task.tools or all(tool.extra_fields.get("strict") for tool in task.tools):
        return ALREADY_STRICT
    tools = []
    for tool in task.tools:
        schema = _strict_schema(tool.parameters)
        if schema is None:
            return NOT_STRICT
        fields = {**tool.extra_fields, "strict": True}
        tools.append(replace(tool, parameters=schema, extra_fields=fields))
    return _with_tools(task, "strict", tools)


def _strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a schema that allows no other properties, None where one need not be given."""
    kind = schema.get("type")
    if not isinstance(kind, str) or schema.keys() & {"anyOf", "oneOf", "allOf", "$ref"}:
        return None
    found = dict(schema)
    if kind == "object":
        properties = schema.get("properties", {})
        if not isinstance(properties, dict) or {*properties} != {*schema.get("required", ())}:
            return None
        inner = {name: _strict_schema(each) for name, each in properties.items()}
        if None in inner.values():
            return None
        found |= {"properties": inner, "additionalProperties": False}
    if kind == "array":
        items = schema.get("items")
        inner_items = _strict_schema(items) if isinstance(items, dict) else None
        if inner_items is None:
            return None
        found["items"] = inner_items
    return found


# --- names ------------------------------------------------------------------------------


def vary_names(task: Task, seed: int) -> Task | str:
    """Return the task with other names of its tools, and of parameters of several words.

    One tool has the same new name in all tasks. A name of several words is replaced where a system
    message or a description has it. A parameter keeps its name where a text of the task has it too.
    """
    if not task.tools:
        return "it offers no tools"
    taken = _identifiers([_texts_of(task), [_plain_tool(tool) for tool in task.tools]])
    described = _identifiers([_texts_of(task), [_worded_parts(tool) for tool in task.tools]])
    shown: dict[str, str] = {}
    for tool in task.tools:
        shown[tool.name] = _new_tool_name(tool.name, seed, taken)
        taken |= _identifiers([shown[tool.name]])
    pattern = _mention_pattern([name for name in shown if len(_WORDS.findall(name)) > 1])
    if pattern is not None and any(map(pattern.search, _user_texts(task))):
        return NAMED_TOOL  # the name may be a value too

    def rename_mentions(text: str) -> str:
        return text if pattern is None else pattern.sub(lambda m: shown[m[0]], text)

    parameters = {
        shown[tool.name]: found
        for tool in task.tools
        if (found := _new_parameter_names(tool, described))
    }
    tools = [
        _rename_tool(tool, shown[tool.name], parameters.get(shown[tool.name], {}), rename_mentions)
        for tool in task.tools
    ]
    varied = _with_tools(
        task,
        "names",
        tools,
        own_names={new: own for own, new in shown.items()},
        own_parameters={
            name: {new: own for own, new in found.items()} for name, found in parameters.items()
        },
    )
    return replace_texts(varied, rename_mentions)


def _user_texts(task: Task) -> list[str]:
    return [m.text for turn in task.turns for m in turn.messages if m.role == "user"]


def _texts_of(task: Task) -> list[str]:
    return [message.text for turn in task.turns for message in turn.messages]


def _plain_tool(tool: Tool) -> list[Any]:
    return [tool.name, tool.description, tool.parameters, tool.source]


def _mention_pattern(names: Sequence[str]) -> re.Pattern[str] | None:
    forms = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w.])(?:{forms})(?!\w)") if names else None


def _identifiers(values: Any) -> set[str]:
    """Return all words in the texts of some values, names of several parts as their parts."""
    return {*re.findall(r"\w+", json.dumps(values, ensure_ascii=False))}


def _new_tool_name(name: str, seed: int, taken: set[str]) -> str:
    """Return another name with the same meaning: a synonym, and the other way to join words.

    Its last part is none of the words that are taken.
    """
    words = read_table(__file__, "name_words.toml", NameWords)
    prefix, dot, last = name.rpartition(".")
    parts = _WORDS.findall(last)
    # only the first word is a verb for certain: "book" may be a thing
    changed = [words.synonyms.get(part.lower(), part) for part in parts[:1]] + parts[1:]
    if changed == parts:
        rng = seeds.make_rng(seed, name, 0, "tool name")
        changed.append(seeds.draw_one(rng, words.suffixes))
    new = prefix + dot + _join_words(changed, like=last)
    number = 2
    while new.rpartition(".")[2] in taken:
        new = prefix + dot + _join_words([*changed, str(number)], like=last)
        number += 1
    return new


def _join_words(words: Sequence[str], like: str) -> str:
    """Join words with capitals where the name has underscores, else with underscores."""
    if "_" in like:
        return words[0].lower() + "".join(each[:1].upper() + each[1:].lower() for each in words[1:])
    return "_".join(word.lower() for word in words)


def _new_parameter_names(tool: Tool, described: set[str]) -> dict[str, str]:
    """Return other names of parameters by their own, where no text has the old or the new one."""
    properties = tool.parameters.get("properties")
    if not isinstance(properties, dict) or tool.parameters.keys() & {"anyOf", "oneOf", "allOf"}:
        return {}
    found: dict[str, str] = {}
    for name in properties:
        parts = _WORDS.findall(name)
        if len(parts) < 2 or not re.fullmatch(r"\w+", name):
            continue
        new = _join_words(parts, like=name)
        if (
            not {name, new} & described
            and new not in properties
            and new not in found.values()
            and new != name
        ):
            found[name] = new
    return found


def _worded_parts(tool: Tool) -> list[Any]:
    """Return what a tool says in words, and the names that its schema nests."""
    properties = tool.parameters.get("properties", {})
    return [tool.description, [*properties.values()] if isinstance(properties, dict) else []]


def _rename_tool(
    tool: Tool, name: str, parameters: Mapping[str, str], rename_mentions: Callable[[str], str]
) -> Tool:
    schema = _rename_schema(tool.parameters, parameters, rename_mentions)
    source = tool.source
    if isinstance(source, dict):
        source = {**source}
        if source.get("name") == tool.name:
            source["name"] = name
        if isinstance(source.get("description"), str):
            source["description"] = rename_mentions(source["description"])
        if isinstance(source.get("parameters"), dict):
            source["parameters"] = _rename_schema(source["parameters"], parameters, rename_mentions)
    description = rename_mentions(tool.description)
    return replace(tool, name=name, description=description, parameters=schema, source=source)


def _rename_schema(
    schema: Mapping[str, Any], names: Mapping[str, str], rename_mentions: Callable[[str], str]
) -> dict[str, Any]:
    found = dict(schema)
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {
            names.get(name, name): _rename_description(each, rename_mentions)
            for name, each in schema["properties"].items()
        }
    for field in ("required", "optional"):
        if isinstance(schema.get(field), list):
            found[field] = [names.get(name, name) for name in schema[field]]
    return found


def _rename_description(schema: Any, rename_mentions: Callable[[str], str]) -> Any:
    if not isinstance(schema, dict) or not isinstance(schema.get("description"), str):
        return schema
    return {**schema, "description": rename_mentions(schema["description"])}


def replace_texts(task: Task, change: Callable[[str], str], *, only_user: bool = False) -> Task:
    """Return the task with each text of its messages changed."""

    def change_message(message: Message) -> Message:
        if only_user and message.role != "user":
            return message
        parts = tuple(
            Text(change(part.text)) if isinstance(part, Text) else part for part in message.parts
        )
        return message if parts == message.parts else replace(message, parts=parts)

    turns = tuple(
        replace(turn, messages=tuple(map(change_message, turn.messages))) for turn in task.turns
    )
    return replace(task, turns=turns)


# --- distractors ------------------------------------------------------------------------


@dataclass(frozen=True)
class DistractorPool:
    """The tools of a suite, each name once, in the order of its tasks."""

    tools: Sequence[Tool]

    @classmethod
    def of_tasks(cls, tasks: Iterable[Task]) -> DistractorPool:
        """Gather the tools of the tasks."""
        found: dict[str, Tool] = {}
        for task in tasks:
            for tool in task.tools:
                found.setdefault(tool.name, tool)
        return cls([*found.values()])

    def add_distractors(self, task: Task, seed: int, n: int) -> Task | str:
        """Return the task with up to n tools of other tasks, all in a new order.

        A tool is left out where its name shares a word with a tool of the task or with what is
        asked: it might do the same.
        """
        if not task.tools:
            return "it offers no tools"
        rng = seeds.make_rng(seed, task.id, 0, "distractors")
        known = {*_content_words(" ".join([*_texts_of(task), *(t.name for t in task.tools)]))}
        own = {tool.name for tool in task.tools}
        added: list[Tool] = []
        for index in seeds.sample_indices(rng, len(self.tools), len(self.tools)):
            tool = self.tools[index]
            if tool.name in own or known & {*_content_words(tool.name)}:
                continue
            added.append(tool)
            if len(added) == n:
                break
        if not added:
            return NO_DISTRACTOR
        tools = [*task.tools, *added]
        seeds.shuffle_items(rng, tools)
        names = tuple(tool.name for tool in added)
        return _with_tools(task, "distractors", tools, distractors=names)


def _content_words(text: str) -> Iterator[str]:
    """Yield the beginnings of words that may name a thing: words of at least four letters."""
    return (word[:5].lower() for word in _WORDS.findall(text) if len(word) > 3)
