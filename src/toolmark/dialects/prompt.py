"""Calls asked for in a prompt: the tools are written into the system message, calls into text.

A prompt is a `Format` (which form calls, docs and layout have) filled with a `Wording` (what it
says). The sentences are data: a suite brings its published ones, OWN is ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolmark import codec
from toolmark.dialects.parse import python
from toolmark.dialects.render.docs import DocFormat, render
from toolmark.types import Call, Message, Reading, Reply, Result, Text, Tool


@dataclass(frozen=True, slots=True)
class Format:
    """The axes of a prompt: the form of calls, a tag around them, docs, layout, style."""

    calls: Literal["python"] = "python"
    tag: Literal[False] = False
    docs: DocFormat = "json"
    layout: str = "plaintext"
    style: str = "classic"


@dataclass(frozen=True, slots=True)
class Wording:
    """What a prompt says.

    `shapes`: how a call is written, and `kinds`: a remark on types, by form of calls; `styles`: by
    style, the sentences `persona`, `task`, `tool_call_no_tag`, `multiturn_behavior` and
    `available_tools`; `layouts`: by layout, how the sentences are put together.
    """

    shapes: Mapping[str, str]
    kinds: Mapping[str, str]
    styles: Mapping[str, Mapping[str, str]]
    layouts: Mapping[str, str]


OWN = Wording(
    shapes={"python": '[first_tool(name="text", count=2), second_tool(flag=True)]'},
    kinds={"python": ""},
    styles={
        "classic": {
            "persona": "You solve tasks by calling tools.",
            "task": "Read what the user asks and decide which of the tools below must be called, "
            "and with which arguments. Give every required argument a value that the conversation "
            "supports, and use keyword arguments only.",
            "tool_call_no_tag": "When a tool is needed, reply with the calls and nothing else, as "
            "one Python list: {output_format} {param_types}\nValues are Python literals: quoted "
            "text, numbers, True, False, None, lists, dictionaries.",
            "multiturn_behavior": "The results come back in the next message. Go on calling tools "
            "until nothing more is needed, then reply in plain words with the answer.",
            "available_tools": "The tools, in {format}:\n{functions}\n",
        }
    },
    layouts={
        "plaintext": "{persona} {task}\n\n{tool_call_format}\n\n{multiturn_behavior}\n\n"
        "{available_tools}"
    },
)


def system(form: Format, wording: Wording, docs: Sequence[dict[str, Any]]) -> str:
    """Compose the system message."""
    style = wording.styles[form.style]
    return wording.layouts[form.layout].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=style["tool_call_no_tag"].format(
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

    def read(self, reply: Reply, tools: tuple[Tool, ...], /) -> Reading:
        """Read the calls from the text. Plain words are an answer, not a fault."""
        text = codec.restore(reply.text)
        try:
            found = python.calls(text)
        except python.Unreadable as error:
            return Reading(fault=codec.escape(str(error)) if attempted(text) else "")
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
        self, reply: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply as it was, and the results as one user message of JSON."""
        said = Message(role="assistant", parts=(Text(reply.text),))
        if not results:
            return (said,)
        heard = [
            {"tool": call.name, "result": result.text}
            for call, result in zip(calls, results, strict=False)
        ]
        return said, Message(
            role="user", parts=(Text(json.dumps({"results": heard}, ensure_ascii=False)),)
        )

    def write(self, calls: Sequence[Call], /) -> Reply:
        """Return the text in which these calls would be made.

        Arguments that are no JSON object stand as they are, so that broken calls stay broken.
        """
        return Reply(text=codec.escape(f"[{', '.join(map(_written, calls))}]"))


_ATTEMPT = re.compile(r"\A[`\s]*(?:python|json)?\s*(?:\[|[\w.]+\()")


def attempted(text: str) -> bool:
    """Tell whether text that could not be read begins like calls rather than like words."""
    return _ATTEMPT.match(text) is not None and "(" in text


def _written(call: Call) -> str:
    raw = codec.restore(call.arguments)
    name = codec.restore(call.name)
    try:
        arguments = codec.loads(raw)
    except codec.BadJson:
        return f"{name}({raw}"
    if not isinstance(arguments, dict):
        return f"{name}({raw}"
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
