"""A reply's calls, in whichever form they were asked for."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from toolmark.dialects.parse import json, python, xml
from toolmark.dialects.parse.frame import TAG, Decoded, Unreadable, bracketed, tagged
from toolmark.dialects.parse.python import Spoken

Form: TypeAlias = Literal["python", "json", "verbose_xml", "concise_xml"]

# no two repeats beside each other share a character: text of strangers is read in linear time
_PYTHON = re.compile(r"\A[`\s]*(?:(?:python|json)\s*)?(?:\[|[\w.]+\()")
_JSON = re.compile(r'"function"\s*:')
_XML = re.compile(rf"<(?:functions?\b|{TAG}>)")


def read(text: str, form: Form, *, tag: bool = False) -> Decoded:
    """Read the calls of a whole reply as BFCL does; raises Unreadable.

    With a tag only what is in the first `<TOOLCALL>` section counts.
    """
    text = _inside(text, tag)
    match form:
        case "python":
            return python.parse(text)
        case "json":
            return json.parse(text)
        case "verbose_xml":
            return xml.verbose(text)
        case "concise_xml":
            return xml.concise(text)


def whole(text: str, form: Form, *, tag: bool = False) -> list[Spoken]:
    """Read the calls as `read`, without its losses: positional arguments, signs, lists of objects.

    Raises Unreadable.
    """
    if form == "python":
        return python.whole(_inside(text, tag))
    found = json.whole(_inside(text, tag)) if form == "json" else read(text, form, tag=tag)
    return [Spoken(name, (), given) for name, given in found]


def _inside(text: str, tag: bool) -> str:
    text = bracketed(text)
    return tagged(text) if tag else text


def attempted(text: str) -> bool:
    """Tell whether text that could not be read looks like calls rather than like words."""
    if _PYTHON.match(text) is not None and "(" in text:
        return True
    return _JSON.search(text) is not None or _XML.search(text) is not None


__all__ = ["Decoded", "Form", "Spoken", "Unreadable", "attempted", "read", "whole"]
