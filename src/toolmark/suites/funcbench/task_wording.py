"""How a task is worded: the messages and the descriptions of its functions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Message, Text, Tool
from toolmark.environments.function_graph import Node

DEFAULT_WORDING = "plain"
VARIABLE_BY_NAME = "`{name}`"
_INTEGER_SCHEMA = {"type": "integer"}


class Wording(DataRecord, frozen=True):
    """The texts of one way of asking; `strict` marks the functions' schemas as strict.

    `system` is "" for no system message. The texts `by_name` are used where names link functions.
    """

    system: str
    system_by_name: str
    question: Annotated[str, Meta(pattern=placeholders("target", "given"))]
    answer: Annotated[str, Meta(pattern=placeholders("target"))]
    description: Annotated[str, Meta(pattern=placeholders("output", "inputs"))]
    variable: Annotated[str, Meta(pattern=placeholders("name", "type", "subtype"))]
    pages: Annotated[str, Meta(pattern=placeholders("cursor"))]
    choice: Annotated[str, Meta(pattern=placeholders("variable", "first", "second"))]
    strict: bool


@cache
def load_wordings() -> dict[str, Wording]:
    """Return the wordings by name."""
    return read_table(__file__, "wordings.toml", dict[str, Wording])


@cache
def prompt_texts() -> tuple[str, ...]:
    """Return every text that a task can be worded with."""
    return tuple(
        str(text)
        for wording in load_wordings().values()
        for text in msgspec.structs.astuple(wording)
        if isinstance(text, str)
    )


def check_wordings(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of wordings; none, an unknown or a repeated one is a UsageError."""
    known = load_wordings()
    for at, name in enumerate(names):
        if name not in known:
            raise UsageError(f"no wording {name!r}{suggest_names(name, known)}")
        if name in names[:at]:
            raise UsageError(f"wordings must differ; got {', '.join(names)}")
    return names or (DEFAULT_WORDING,)


def write_messages(
    wording: Wording, target: str, known_values: dict[str, int], *, by_name: bool
) -> tuple[Message, ...]:
    """Return the messages of a task: the system message where there is one, then the question."""
    listed = "\n".join(
        f"{variable} = {known_values[variable]}" for variable in sorted(known_values)
    )
    question = wording.question.format(target=target, given=listed)
    prompt = f"{question}\n\n{wording.answer.format(target=target)}"
    system = wording.system_by_name if by_name else wording.system
    opening = (Message(role="system", parts=(Text(system),)),) if system else ()
    return (*opening, Message(role="user", parts=(Text(prompt),)))


def write_tool(wording: Wording, node: Node, *, by_name: bool) -> Tool:
    """Return a function as it is offered."""
    template = VARIABLE_BY_NAME if by_name else wording.variable
    output = template.format(
        name=node.output.name, type=node.output.type, subtype=node.output.subtype
    )
    inputs = ", ".join(
        template.format(name=x.parameter, type=x.type, subtype=x.subtype) for x in node.inputs
    )
    sentences = [wording.description.format(output=output, inputs=inputs)]
    if node.cursor:
        sentences.append(wording.pages.format(cursor=node.cursor))
    for choice in node.choices:
        first, second = sorted((choice.chosen, choice.alternative))
        sentences.append(
            wording.choice.format(variable=choice.variable, first=first, second=second)
        )
    return Tool(
        name=node.function,
        description=" ".join(sentences),
        parameters=_integer_parameters(node.parameter_names),
        extra_fields={"strict": True} if wording.strict else {},
    )


def _integer_parameters(names: Iterable[str]) -> dict[str, Any]:
    listed = list(names)
    return {
        "type": "object",
        "properties": dict.fromkeys(listed, _INTEGER_SCHEMA),
        "required": listed,
        "additionalProperties": False,
    }
