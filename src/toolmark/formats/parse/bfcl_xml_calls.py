"""BFCL's official decoding of calls as XML: arguments as attributes, or as element text.

Copies the official decoder, including its errors (specification section 3). Only the first
`<functions>` section counts. A value is converted to the type that the model itself declares; with
an unknown type label it stays text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml import ElementTree as Defused

from toolmark.core import json_codec
from toolmark.formats.parse.reply_text import DecodedCalls, UnreadableCalls, text_between

TYPE_LABELS = (
    "string", "integer", "float", "boolean", "null", "array", "tuple", "object", "dict",
)  # fmt: skip


def parse_verbose(text: str) -> DecodedCalls:
    """Parse calls whose arguments are attributes: `<param name="a" value="1" type="integer"/>`.

    A parameter without a name has the name None, one without a value the value "". Raises
    UnreadableCalls for broken XML, for functions without a name and for values not of their type.
    """
    return _parse_safely(text, _arguments_from_attributes)


def parse_concise(text: str) -> DecodedCalls:
    """Parse calls whose arguments are text: `<param name="a" type="integer">1</param>`.

    Only parameters directly below the function count. Raises UnreadableCalls as `parse_verbose`
    does, and for parameters without a name.
    """
    return _parse_safely(text, _arguments_from_texts)


def _parse_safely(text: str, read_arguments: Callable[[Element], dict[Any, Any]]) -> DecodedCalls:
    inner = text_between(text, "<functions>", "</functions>")
    if inner is None:
        raise UnreadableCalls("no <functions> section")
    try:
        root = Defused.fromstring(f"<functions>{inner}</functions>", forbid_dtd=True)
        return [(each.attrib["name"], read_arguments(each)) for each in root.findall("function")]
    except KeyError as error:
        raise UnreadableCalls(f"an element without {error}") from None
    except (ParseError, DefusedXmlException, SyntaxError, ValueError, TypeError) as error:
        raise UnreadableCalls(str(error)) from None
    except (RecursionError, MemoryError):
        raise UnreadableCalls("nested too deeply") from None


def _arguments_from_attributes(function: Element) -> dict[Any, Any]:
    holder = function.find("params")
    found = (function if holder is None else holder).findall("param")
    return {
        each.get("name"): convert_value(each.get("value", ""), each.get("type", "string"))
        for each in found
    }


def _arguments_from_texts(function: Element) -> dict[Any, Any]:
    return {
        each.attrib["name"]: convert_value((each.text or "").strip(), each.get("type", "string"))
        for each in function.findall("param")
    }


def convert_value(raw: str, label: str) -> Any:
    """Return the text as a value of the declared type; raises Python's own errors for misfits."""
    match label:
        case "integer":
            return int(raw)
        case "float":
            return float(raw)
        case "boolean":
            return raw.lower() == "true"
        case "null":
            return None
        case "array" | "tuple" | "object" | "dict":
            return _parse_literal(raw)
        case _:
            return raw


def _parse_literal(raw: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd literals warn, and under -W error would not parse
        return json_codec.parse_literal(raw)
