"""A baseline without a model: it calls the tool that shares most words with the question.

It sees only a Request. Argument values are copied from the question, each once and in order:
numbers for numbers; quotations, dates and capitalised names for strings. If a required value is
missing, it abstains. It makes one call at most.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from toolmark.baselines.word_stems import word_stems
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Tool

NO_TOOL_TEXT = "None of the tools fits this request."
DONE_TEXT = "Done."

# chosen on a sample of the published questions: below it a tool shares too few words
_MIN_SCORE = 0.15
_NUMBER = re.compile(r"(?<![\w.-])-?\d{1,18}(?:\.\d{1,18})?(?!\w)")
_STRING = re.compile(
    r"\"([^\"]{1,60})\"|(?<!\w)'([^']{1,60})'(?!\w)"  # a quotation
    r"|\b(\d{4}-\d\d-\d\d)\b"  # a date
    r"|(?<=[a-z,] )([A-Z][\w.&-]*(?: [A-Z][\w.&-]*)*)"  # a name, not at the start of a sentence
)


class LexicalMatcher(Model):
    """Calls the tool that shares most words with the question, if all required values are found."""

    name = "baseline/lexical"
    calls_natively = True
    accepts_audio = False

    async def __call__(self, request: Request, /) -> Reply:
        """Reply with one call, with a refusal, or, after a result, with a closing text."""
        last = next((m for m in reversed(request.messages) if m.role in ("user", "tool")), None)
        if last is not None and last.role == "tool":
            return Reply(text=DONE_TEXT)
        tool = choose_tool(last.text, request.tools) if last is not None else None
        arguments = fill_arguments(tool, last.text) if tool and last is not None else None
        if tool is None or arguments is None:
            return Reply(text=NO_TOOL_TEXT)
        text = json.dumps(arguments, ensure_ascii=False)
        return Reply(calls=(Call(name=tool.name, arguments=text, id="call_0"),))


def choose_tool(question: str, tools: Sequence[Tool]) -> Tool | None:
    """Return the tool that shares most words with a question, None if each shares too few."""
    stems = word_stems(question)
    best = max(tools, key=lambda tool: _tool_score(stems, tool), default=None)
    return best if best is not None and _tool_score(stems, best) >= _MIN_SCORE else None


def _tool_score(question_stems: set[str], tool: Tool) -> float:
    """Return the mean of two shares: of the name's words, and of the first sentence's words."""
    name, purpose = word_stems(tool.name), word_stems(tool.description.partition(". ")[0])
    return (_share_in(name, question_stems) + _share_in(purpose, question_stems)) / 2


def _share_in(words: set[str], question_stems: set[str]) -> float:
    return len(words & question_stems) / len(words) if words else 0.0


def fill_arguments(tool: Tool, question: str) -> dict[str, Any] | None:
    """Return values for the required parameters, and for options that the question names.

    Returns None if a required value is not in the question.
    """
    properties = tool.parameters.get("properties")
    required = tool.parameters.get("required") or []
    values = _ValuesInText(question)
    filled: dict[str, Any] = {}
    for key, spec in (properties if isinstance(properties, dict) else {}).items():
        schema = spec if isinstance(spec, dict) else {}
        option = values.named_option(schema.get("enum") or ())
        if option is not None:
            filled[key] = option
        elif key in required:
            value = None if "enum" in schema else values.take_value(schema)
            if value is None:
                return None
            filled[key] = value
    return filled


class _ValuesInText:
    """The values in a question; each is used once."""

    def __init__(self, text: str) -> None:
        self._stems = word_stems(text)
        self._numbers = [float(found[0]) for found in _NUMBER.finditer(text)]
        self._strings = [next(filter(None, found.groups())) for found in _STRING.finditer(text)]

    def named_option(self, options: Sequence[Any]) -> str | None:
        """Return the first option whose words are all in the question."""
        for option in options:
            words = word_stems(option) if isinstance(option, str) else set()
            if words and words <= self._stems:
                return str(option)
        return None

    def take_value(self, schema: dict[str, Any]) -> Any:
        """Return the next value of a schema's type, None if there is none."""
        match schema.get("type"):
            case "integer" | "number":
                return _plain_number(self._numbers.pop(0)) if self._numbers else None
            case "string":
                return self._strings.pop(0) if self._strings else None
            case "boolean":
                return bool(schema.get("default", False))
            case "array":
                return self._take_values((schema.get("items") or {}).get("type"))
            case _:
                return None

    def _take_values(self, kind: Any) -> list[Any] | None:
        """Return all unused numbers or strings as a list, None if there are none."""
        if kind in ("integer", "number"):
            numbers, self._numbers = self._numbers, []
            return [_plain_number(number) for number in numbers] or None
        strings, self._strings = self._strings, []
        return strings or None


def _plain_number(number: float) -> int | float:
    return int(number) if number.is_integer() else number
