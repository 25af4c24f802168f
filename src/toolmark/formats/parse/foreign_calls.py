"""Find calls of offered tools that stand in a reply's text or reasoning, in any known syntax.

One pass over the literal markers of the table, and a look at the first characters of the text.
Such a call is never executed: it is found so that a missing parser, or a wrong syntax, has a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from toolmark.formats.call_syntaxes import CallSyntax, call_syntaxes, syntax_by_name
from toolmark.formats.parse.thoughts import split_thoughts

WINDOW_CHARS = 512
"""How far after a marker the name of a tool is looked for, unless the call is closed earlier."""

MAX_MARKERS = 64
_MAX_FENCES = 8
_MAX_CONTROL_CHARS = 32
_FENCE = "```"
_ROLE = "assistant<|"
_OPENING = "[{(\"'` \t\r\n"
# every marker has one of these, and so have bare JSON and Python
_TELLING_SIGN = re.compile(r"[<\[{(:`=|]")
# names may have a prefix, an index and, in Markdown, backslashes
_WORD = re.compile(r"[\w.:/\\-]+")


class ForeignCall(NamedTuple):
    """A call in the text of a reply: its syntax, the offered tool, and the literal before it."""

    syntax: CallSyntax
    tool: str
    marker: str
    in_reasoning: bool = False

    @property
    def literal(self) -> str:
        """The text by which a reader recognises the syntax."""
        return self.marker or self.syntax.example


def may_have_call(text: str) -> bool:
    """Return whether a text has any sign of a call; most plain answers have none."""
    return _TELLING_SIGN.search(text) is not None


def find_foreign_call(
    text: str, tool_names: Iterable[str], reasoning: str = ""
) -> ForeignCall | None:
    """Return the first call of an offered tool in a reply, None without one.

    Dots in names may be written as underscores. Thoughts at the start of the text are reasoning.
    """
    offered = _offered_words(tool_names)
    if not offered:
        return None
    thoughts, answer = split_thoughts(text)
    if found := _find_marked(answer, offered) or _find_bare(answer, offered):
        return found
    for each in (thoughts, reasoning):
        if each and (found := _find_marked(each, offered)):
            return found._replace(in_reasoning=True)
    return None


def is_abstention(name: str) -> bool:
    """Return whether a call of this name says that no tool fits."""
    return name in call_syntaxes().abstentions


def _offered_words(tool_names: Iterable[str]) -> dict[str, str]:
    names = list(tool_names)
    return {name.replace(".", "_"): name for name in names} | {name: name for name in names}


def _offered_name(word: str, offered: Mapping[str, str]) -> str:
    """Return the offered tool that a word names, "" for none."""
    plain = word.replace("\\", "").strip(".:/-")
    base, colon, index = plain.rpartition(":")
    if colon and index.isdigit():
        plain = base
    for name in (plain, plain.removeprefix("functions."), plain.removeprefix("call:")):
        if name in offered:
            return offered[name]
    return ""


# --- after a marker ---------------------------------------------------------------------


@cache
def _marker_pattern() -> re.Pattern[str]:
    """Return the alternation of all markers, the longest first."""
    markers = {marker for each in call_syntaxes().syntaxes for marker in each.markers}
    if len(markers) > MAX_MARKERS:
        raise ValueError(f"{len(markers)} markers; the limit is {MAX_MARKERS}")
    ordered = sorted(markers, key=lambda marker: (-len(marker), marker))
    return re.compile("|".join(map(re.escape, ordered)))


@cache
def _syntaxes_of(marker: str) -> tuple[CallSyntax, ...]:
    return tuple(each for each in call_syntaxes().syntaxes if marker in each.markers)


def _find_marked(text: str, offered: Mapping[str, str]) -> ForeignCall | None:
    """Look behind each marker, at most to the next one: every character is seen once."""
    found = list(_marker_pattern().finditer(text))
    outer: CallSyntax | None = None
    outer_end = 0
    for at, match in enumerate(found):
        limit = found[at + 1].start() if at + 1 < len(found) else len(text)
        syntax = _meant_syntax(match[0], text[match.end() : match.end() + WINDOW_CHARS])
        if outer and _wraps_call(outer, match[0]) and not text[outer_end : match.start()].strip():
            syntax = outer
        outer, outer_end = syntax, match.end()
        end = text.find(syntax.call_close, match.end(), limit) if syntax.call_close else -1
        if end < 0:
            end = min(limit, match.end() + WINDOW_CHARS)
        for word in _WORD.finditer(text, match.end(), end):
            if tool := _offered_name(word[0], offered):
                return ForeignCall(syntax, tool, match[0])
    return None


def _wraps_call(outer: CallSyntax, inner: str) -> bool:
    """Return whether a marker that follows those of a syntax at once belongs to it."""
    return inner not in outer.markers and outer.name_open.startswith(inner)


def _meant_syntax(marker: str, following: str) -> CallSyntax:
    """Return the syntax that a marker begins, by the signs that follow; the last is the default."""
    *special, default = sorted(_syntaxes_of(marker), key=lambda each: not each.signs)
    for syntax in special:
        if not syntax.signs or any(sign in following for sign in syntax.signs):
            return syntax
    return default


# --- at the start -----------------------------------------------------------------------


def _find_bare(text: str, offered: Mapping[str, str]) -> ForeignCall | None:
    """Look at the first characters of the text, and at those of JSON in fences."""
    start = _skip_control_tokens(text)
    is_fenced = text.startswith(_FENCE, start)
    if is_fenced:
        start = _fence_content(text, start)
    head = text[start : start + WINDOW_CHARS]
    if found := _find_json(head, offered) or _find_python(head, offered):
        return found
    for at in _later_fences(text, start):
        if found := _find_json(text[at : at + WINDOW_CHARS], offered):
            return found
    return None


def _skip_control_tokens(text: str) -> int:
    """Return where the text begins, after blanks and control tokens such as `<|im_start|>`."""
    at = len(text) - len(text.lstrip())
    while text.startswith("<|", at):
        end = text.find("|>", at, at + _MAX_CONTROL_CHARS)
        if end < 0:
            break
        at = end + 2
        if text.startswith(_ROLE, at):
            at += len("assistant")
        while text[at : at + 1].isspace():
            at += 1
    return at


def _fence_content(text: str, fence: int) -> int:
    """Return where the content of a fence begins, after the word that names its language."""
    at = fence + len(_FENCE)
    while text[at : at + 1].isidentifier():
        at += 1
    return at


def _later_fences(text: str, start: int) -> Iterator[int]:
    at = start
    for _ in range(_MAX_FENCES):
        at = text.find(_FENCE, at)
        if at < 0:
            return
        at = _fence_content(text, at)
        yield at


def _find_json(head: str, offered: Mapping[str, str]) -> ForeignCall | None:
    """Find a name where JSON, or a Python literal, of a call has it: behind a key, or as the key.

    A name as the first of a pair, or as the only key, is the form of BFCL's own result files.
    """
    if head.lstrip()[:1] not in ("{", "[", "("):
        return None
    for word in _WORD.finditer(head):
        if tool := _offered_name(word[0], offered):
            before, after = head[: word.start()].rstrip(), head[word.end() :].lstrip()
            if before[-1:] not in ("'", '"') or after[:1] != before[-1:]:
                continue
            key = before[:-1].rstrip()
            if key.endswith(":") and _ends_with_name_key(key[:-1].rstrip()):
                return ForeignCall(_bare_json_syntax(head), tool, "")
            value = after[1:].lstrip()
            is_first = not before.strip(_OPENING)
            if is_first and value[:1] in (":", ",") and value[1:].lstrip()[:1] == "{":
                return ForeignCall(_bare_json_syntax(head), tool, "")
    return None


def _ends_with_name_key(text: str) -> bool:
    return any(
        text.endswith(f"{quote}{key}{quote}")
        for key in call_syntaxes().name_keys
        for quote in ("'", '"')
    )


def _bare_json_syntax(head: str) -> CallSyntax:
    name = "json"
    if '"tool_calls"' in head:
        name = "xlam"
    elif '"parameters"' in head and head.startswith("{"):
        name = "llama3_json"
    return syntax_by_name()[name]


def _find_python(head: str, offered: Mapping[str, str]) -> ForeignCall | None:
    """Find `f(` where the text begins like a call, in a list or quoted; or `f` and then JSON."""
    words = _WORD.finditer(head)
    first = next(words, None)
    if first is None or head[: first.start()].strip(_OPENING) or "{" in head[: first.start()]:
        return None
    tool, following = _offered_name(first[0], offered), head[first.end() :]
    if tool and not head[: first.start()].strip() and following.lstrip(" \n")[:1] == "{":
        return ForeignCall(syntax_by_name()["glm4"], tool, "")
    if not following.startswith("("):
        return None
    for word in (first, *words):
        tool = _offered_name(word[0], offered)
        if tool and head.startswith("(", word.end()):
            return ForeignCall(syntax_by_name()["pythonic"], tool, "")
    return None
