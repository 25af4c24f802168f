"""Calls asked for in a prompt: the tools are written into the system message, calls into text.

A prompt is a `Format` (which form calls, docs and layout have) filled with a `Wording` (what it
says). The sentences are data: a suite brings its published ones, OWN is ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolmark import codec
from toolmark.dialects.parse import reply
from toolmark.dialects.parse.reply import attempted as attempted
from toolmark.dialects.render.calls import write
from toolmark.dialects.render.docs import DocFormat, render
from toolmark.types import Call, Message, Reading, Reply, Result, Text, Tool

Layout: TypeAlias = Literal["plaintext", "markdown"]
Style: TypeAlias = Literal["classic", "experimental"]


@dataclass(frozen=True, slots=True)
class Format:
    """The axes of a prompt: the form of calls, a tag around them, docs, layout, style."""

    calls: reply.Form = "python"
    tag: bool = False
    docs: DocFormat = "json"
    layout: Layout = "plaintext"
    style: Style = "classic"


@dataclass(frozen=True, slots=True)
class Wording:
    """What a prompt says.

    `shapes`: how a call is written, and `kinds`: a remark on types, by form of calls; `styles`: by
    style, the sentences `persona`, `task`, `tool_call_no_tag`, `tool_call_with_tag`,
    `multiturn_behavior` and `available_tools`; `layouts`: by layout, how they are put together.
    """

    shapes: Mapping[str, str]
    kinds: Mapping[str, str]
    styles: Mapping[str, Mapping[str, str]]
    layouts: Mapping[str, str]


_LABELS = (
    "Each type is one of string, integer, float, boolean, null, array, dict; arrays and "
    "dictionaries are written as Python literals, and text has &, < and > escaped."
)
OWN = Wording(
    shapes={
        "python": '[first_tool(name="text", count=2), second_tool(flag=True)]',
        "json": '[{"function": "first_tool", "parameters": {"name": "text", "count": 2}}, '
        '{"function": "second_tool", "parameters": {"flag": true}}]',
        "verbose_xml": '<functions><function name="first_tool"><params><param name="name" '
        'value="text" type="string"/><param name="count" value="2" type="integer"/></params>'
        '</function><function name="second_tool"><params><param name="flag" value="true" '
        'type="boolean"/></params></function></functions>',
        "concise_xml": '<functions><function name="first_tool"><param name="name" type="string">'
        'text</param><param name="count" type="integer">2</param></function><function '
        'name="second_tool"><param name="flag" type="boolean">true</param></function></functions>',
    },
    kinds={
        "python": "\nValues are Python literals: quoted text, numbers, True, False, None, lists, "
        "dictionaries.",
        "json": "\nValues are JSON: quoted text, numbers, true, false, null, arrays, objects.",
        "verbose_xml": f"\n{_LABELS}",
        "concise_xml": f"\n{_LABELS}",
    },
    styles={
        "classic": {
            "persona": "You solve tasks by calling tools.",
            "task": "Read what the user asks and decide which of the tools below must be called, "
            "and with which arguments. Give every required argument a value that the conversation "
            "supports, and name every argument.",
            "tool_call_no_tag": "When a tool is needed, reply with the calls and nothing else, in "
            "this form: {output_format}{param_types}",
            "tool_call_with_tag": "When a tool is needed, reply with the calls inside one tag and "
            "nothing else, in this form: <TOOLCALL>{output_format}</TOOLCALL>{param_types}",
            "multiturn_behavior": "The results come back in the next message. Go on calling tools "
            "until nothing more is needed, then reply in plain words with the answer.",
            "available_tools": "The tools, in {format}:\n{functions}\n",
        },
        "experimental": {
            "persona": "Turn requests into tool calls.",
            "task": "Choose the calls that fulfil the request below, with the values it gives for "
            "their arguments; name every argument.",
            "tool_call_no_tag": "Write only the calls, exactly so: {output_format}{param_types}",
            "tool_call_with_tag": "Write only the calls, inside one tag, exactly so: "
            "<TOOLCALL>{output_format}</TOOLCALL>{param_types}",
            "multiturn_behavior": "Results follow each reply. Call on until all is done; then "
            "answer in words.",
            "available_tools": "Tools ({format}):\n{functions}\n",
        },
    },
    layouts={
        "plaintext": "{persona} {task}\n\n{tool_call_format}\n\n{multiturn_behavior}\n\n"
        "{available_tools}",
        "markdown": "{persona}\n\n# Task\n\n{task}\n\n# Calls\n\n{tool_call_format}\n\n"
        "# Conversation\n\n{multiturn_behavior}\n\n# Tools\n\n{available_tools}",
    },
)


def system(form: Format, wording: Wording, docs: Sequence[dict[str, Any]]) -> str:
    """Compose the system message."""
    style = wording.styles[form.style]
    calls = style["tool_call_with_tag" if form.tag else "tool_call_no_tag"]
    return wording.layouts[form.layout].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=calls.format(
            output_format=wording.shapes[form.calls], param_types=wording.kinds[form.calls]
        ),
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=style["available_tools"].format(
            format=form.docs, functions=render(docs, form.docs)
        ),
    )


def doc(tool: Tool) -> dict[str, Any]:
    """Return the doc a prompt shows: the published one if there is one, else the schema's."""
    if isinstance(tool.source, dict):
        return {**tool.source, "description": tool.description}
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }


class Prompt:
    """A prompt format with its wording."""

    def __init__(
        self,
        form: Format | None = None,
        wording: Wording = OWN,
        *,
        name: str = "prompt",
        docs: Callable[[Tool], dict[str, Any]] = doc,
    ) -> None:
        self.name = name
        self.form = form or Format()
        self.wording = wording
        self.docs = docs

    def open(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Put the prompt before an opening system message, or in front as one; send no tools."""
        text = system(self.form, self.wording, [self.docs(tool) for tool in tools])
        rest = messages
        if messages and messages[0].role == "system":
            text = f"{text}\n\n{messages[0].text}"
            rest = messages[1:]
        return (Message(role="system", parts=(Text(text),)), *rest), ()

    def more(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Write tools that appear later in front of the turn's first message; send none."""
        if not tools:
            return messages, ()
        text = render([self.docs(tool) for tool in tools], self.form.docs)
        said = f"{text}\n{messages[0].text}" if messages else text
        return (Message(role="user", parts=(Text(said),)), *messages[1:]), ()

    def read(self, said: Reply, tools: tuple[Tool, ...], /) -> Reading:
        """Read the calls from the text. Plain words are an answer, not a fault."""
        text = codec.restore(said.text)
        fault = "nothing that can be read as calls"
        try:
            found = reply.read(text, self.form.calls, tag=self.form.tag)
        except reply.Unreadable as error:
            found, fault = [], codec.escape(str(error))
        if not found:
            return Reading(fault=fault if attempted(text) else "")
        return Reading(
            calls=tuple(
                Call(
                    name=codec.escape(name),
                    arguments=json.dumps(codec.plain(arguments), ensure_ascii=False),
                    id=f"call_{index}",
                )
                for index, (name, arguments) in enumerate(found)
            )
        )

    def answer(
        self, said: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply as it was, and the results as one user message of JSON."""
        own = Message(role="assistant", parts=(Text(said.text),))
        if not results:
            return (own,)
        heard = [
            {"tool": call.name, "result": result.text}
            for call, result in zip(calls, results, strict=False)
        ]
        return own, Message(
            role="user", parts=(Text(json.dumps({"results": heard}, ensure_ascii=False)),)
        )

    def write(self, calls: Sequence[Call], /) -> Reply:
        """Return the text in which these calls would be made.

        Arguments that are no JSON object stand as they are, so that broken calls stay broken.
        """
        return Reply(text=codec.escape(write(calls, self.form.calls, tag=self.form.tag)))
