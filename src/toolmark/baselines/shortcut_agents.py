"""Agents that take shortcuts: each knows one surface feature of a request, and no task.

What such an agent scores above chance is a weakness of the set of tasks, not a skill.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from toolmark.baselines.lexical_matcher import DONE_TEXT, fill_arguments
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Tool

_NUMBER = re.compile(r"(?<![\w.])-?\d{1,18}(?:\.\d{1,18})?(?!\w)")
_WORD = re.compile(r"\w[\w'-]{0,60}")


def question_of(request: Request) -> str:
    """Return the text of the last user message, "" where there is none."""
    users = (message.text for message in reversed(request.messages) if message.role == "user")
    return next(users, "")


class ShortcutAgent(Model):
    """Answers by one rule: a call of one tool where it chooses one, else a text."""

    calls_natively = True
    accepts_audio = False

    def __init__(
        self,
        name: str,
        choose_tool: Callable[[Sequence[Tool]], Tool] | None = None,
        choose_text: Callable[[str], str] | None = None,
    ) -> None:
        self.name = name
        self._choose_tool = choose_tool
        self._choose_text = choose_text

    async def __call__(self, request: Request, /) -> Reply:
        """Return the call, or the text that was chosen; after a result a closing text."""
        question = question_of(request)
        if self._choose_text is not None:
            return Reply(text=self._choose_text(question))
        last = request.messages[-1] if request.messages else None
        if self._choose_tool is None or not request.tools or (last and last.role == "tool"):
            return Reply(text=DONE_TEXT)
        tool = self._choose_tool(request.tools)
        arguments = json.dumps(fill_arguments(tool, question) or {}, ensure_ascii=False)
        return Reply(calls=(Call(name=tool.name, arguments=arguments, id="call_0"),))


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


_TOOL_RULES: Mapping[str, Callable[[Sequence[Tool]], Tool]] = {
    "first-tool": lambda tools: tools[0],
    "last-tool": lambda tools: tools[-1],
    "longest-tool": _longest_description,
    "shortest-tool": _shortest_description,
}
_TEXT_RULES: Mapping[str, Callable[[str], str]] = {
    "last-number": _last_number,
    "largest-number": _largest_number,
    "longest-word": _longest_word,
    "last-word": _last_word,
}
SHORTCUT_NAMES = (*_TOOL_RULES, *_TEXT_RULES)
SHORTCUTS: Mapping[str, str] = {
    "control/null": "replies nothing",
    "control/always-call": "calls the first tool without arguments, again and again",
    "baseline/first-tool": "calls the first tool with values of the request",
    "baseline/last-tool": "calls the last tool with values of the request",
    "baseline/longest-tool": "calls the tool with the longest description",
    "baseline/shortest-tool": "calls the tool with the shortest description",
    "baseline/last-number": "replies with the last number of the request",
    "baseline/largest-number": "replies with the largest number of the request",
    "baseline/longest-word": "replies with the longest word of the request",
    "baseline/last-word": "replies with the last word of the request",
}
"""The ten that play every suite, each with what it does."""


def make_shortcut(name: str) -> ShortcutAgent:
    """Return the agent of a name of `SHORTCUT_NAMES`; raises KeyError for another one.

    Tools are chosen by their place or the length of their description; their arguments are values
    of the question, in its order. Texts are copied from the question.
    """
    label = f"baseline/{name}"
    if name in _TOOL_RULES:
        return ShortcutAgent(label, choose_tool=_TOOL_RULES[name])
    return ShortcutAgent(label, choose_text=_TEXT_RULES[name])
