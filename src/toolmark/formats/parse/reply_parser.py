"""The calls of a reply, in each form in which they can be requested.

This is BFCL's official decoding, including its errors (`bfcl_json_calls`, `bfcl_xml_calls`).
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from toolmark.formats.parse import bfcl_json_calls, bfcl_xml_calls, python_calls
from toolmark.formats.parse.python_calls import WrittenCall
from toolmark.formats.parse.reply_text import (
    CALL_TAG,
    DecodedCalls,
    UnreadableCalls,
    add_brackets,
    tag_content,
)

CallForm: TypeAlias = Literal["python", "json", "verbose_xml", "concise_xml"]

# adjacent repeats share no character, so that text from outside is read in linear time
_PYTHON_CALLS = re.compile(r"\A[`\s]*(?:(?:python|json)\s*)?(?:\[|[\w.]+\()")
_JSON_CALLS = re.compile(r'"function"\s*:')
_XML_CALLS = re.compile(rf"<(?:functions?\b|{CALL_TAG}>)")


def parse_reply(text: str, form: CallForm, *, tag: bool = False) -> DecodedCalls:
    """Parse the calls of a complete reply as BFCL does; raises UnreadableCalls.

    With `tag` only the content of the first `<TOOLCALL>` section counts.
    """
    text = _reply_content(text, tag)
    match form:
        case "python":
            return python_calls.parse_calls(text)
        case "json":
            return bfcl_json_calls.parse_calls(text)
        case "verbose_xml":
            return bfcl_xml_calls.parse_verbose(text)
        case "concise_xml":
            return bfcl_xml_calls.parse_concise(text)


def parse_written_calls(text: str, form: CallForm, *, tag: bool = False) -> list[WrittenCall]:
    """Parse the calls as `parse_reply` does, but with positional arguments, signs and full lists.

    Lists of objects are read up to their own end. Raises UnreadableCalls.
    """
    if form == "python":
        return python_calls.parse_written_calls(_reply_content(text, tag))
    found = (
        bfcl_json_calls.parse_complete_calls(_reply_content(text, tag))
        if form == "json"
        else parse_reply(text, form, tag=tag)
    )
    return [WrittenCall(name, (), arguments) for name, arguments in found]


def _reply_content(text: str, tag: bool) -> str:
    text = add_brackets(text)
    return tag_content(text) if tag else text


def looks_like_calls(text: str) -> bool:
    """Return whether text that could not be parsed looks more like calls than like words."""
    if _PYTHON_CALLS.match(text) is not None and "(" in text:
        return True
    return _JSON_CALLS.search(text) is not None or _XML_CALLS.search(text) is not None


__all__ = [
    "CallForm",
    "DecodedCalls",
    "UnreadableCalls",
    "WrittenCall",
    "looks_like_calls",
    "parse_reply",
    "parse_written_calls",
]
