"""Agents that take shortcuts: each knows one surface feature of a request, and no task.

What such an agent scores above chance is a weakness of the set of tasks, not a skill.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from toolmark.baselines.lexical_matcher import DONE_TEXT, NO_TOOL_TEXT, fill_arguments
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Tool

_NUMBER = re.compile(r"(?<![\w.])-?\d{1,18}(?:\.\d{1,18})?(?!\w)")
_WORD = re.compile(r"\w[\w'-]{0,60}")


def question_of(request: Request) -> str:
    """Return the text of the last user message, "" where there is none."""
    users = (message.text for message in reversed(request.messages) if message.role == "user")
    return next(users, "")


class ShortcutAgent(Model):
    """Answers each request by one rule."""

    calls_natively = True
    accepts_audio = False

    def __init__(self, name: str, answer: Callable[[Request], Reply]) -> None:
        self.name = name
        self._answer = answer

    async def __call__(self, request: Request, /) -> Reply:
        """Return what the rule says."""
        return self._answer(request)


def _reply_with(choose: Callable[[str], str], request: Request) -> Reply:
    """Return a text that is chosen from the question."""
    return Reply(text=choose(question_of(request)))


def _call_chosen(choose: Callable[[Sequence[Tool]], Sequence[Tool]], request: Request) -> Reply:
    """Return a call of each tool that is chosen; after a result, and without tools, a text."""
    last = request.messages[-1] if request.messages else None
    if not request.tools or (last is not None and last.role == "tool"):
        return Reply(text=DONE_TEXT)
    question = question_of(request)
    calls = []
    for at, tool in enumerate(choose(request.tools)):
        arguments = json.dumps(fill_arguments(tool, question) or {}, ensure_ascii=False)
        calls.append(Call(name=tool.name, arguments=arguments, id=f"call_{at}"))
    return Reply(calls=tuple(calls))


def _ask_for_value(request: Request) -> Reply:
    """Return a question for the first value that the first tool requires."""
    required = request.tools[0].parameters.get("required") if request.tools else None
    name = required[0] if isinstance(required, list) and required else "first value"
    return Reply(text=f"What is the {str(name).replace('_', ' ')}?")


def _last_number(question: str) -> str:
    found = _NUMBER.findall(question)
    return found[-1] if found else ""


def _largest_number(question: str) -> str:
    return max(_NUMBER.findall(question), key=float, default="")


def _longest_word(question: str) -> str:
    return max(_WORD.findall(question), key=len, default="")


def _last_word(question: str) -> str:
    found = _WORD.findall(question)
    return found[-1] if found else ""


def _shortest_description(tools: Sequence[Tool]) -> Tool:
    return min(tools, key=lambda tool: len(tool.description))


def _longest_description(tools: Sequence[Tool]) -> Tool:
    return max(tools, key=lambda tool: len(tool.description))


_RULES: Mapping[str, tuple[str, Callable[[Request], Reply]]] = {
    "first-tool": (
        "calls the first tool with values of the request",
        partial(_call_chosen, lambda tools: tools[:1]),
    ),
    "last-tool": (
        "calls the last tool with values of the request",
        partial(_call_chosen, lambda tools: tools[-1:]),
    ),
    "longest-tool": (
        "calls the tool with the longest description",
        partial(_call_chosen, lambda tools: [_longest_description(tools)]),
    ),
    "shortest-tool": (
        "calls the tool with the shortest description",
        partial(_call_chosen, lambda tools: [_shortest_description(tools)]),
    ),
    "every-tool": (
        "calls every tool at once with values of the request",
        partial(_call_chosen, lambda tools: tools),
    ),
    "last-number": (
        "replies with the last number of the request",
        partial(_reply_with, _last_number),
    ),
    "largest-number": (
        "replies with the largest number of the request",
        partial(_reply_with, _largest_number),
    ),
    "longest-word": (
        "replies with the longest word of the request",
        partial(_reply_with, _longest_word),
    ),
    "last-word": (
        "replies with the last word of the request",
        partial(_reply_with, _last_word),
    ),
    "ask-again": (
        "asks to hear every request again",
        partial(_reply_with, lambda question: "Could you say that again, please?"),
    ),
    "ask-value": ("asks for the first value that the first tool requires", _ask_for_value),
    "refuse": (
        "says that no tool fits",
        partial(_reply_with, lambda question: NO_TOOL_TEXT),
    ),
}
SHORTCUT_NAMES = (*_RULES,)
SHORTCUTS: Mapping[str, str] = {
    "control/null": "replies nothing",
    "control/always-call": "calls the first tool without arguments, again and again",
    **{f"baseline/{name}": description for name, (description, _) in _RULES.items()},
}
"""The agents that play every suite, each with what it does."""


def make_shortcut(name: str) -> ShortcutAgent:
    """Return the agent of a name of `SHORTCUT_NAMES`; raises KeyError for another one.

    Tools are chosen by their place or the length of their description; their arguments are values
    of the question, in its order. Texts are copied from the question, or always the same.
    """
    return ShortcutAgent(f"baseline/{name}", _RULES[name][1])
