"""Calls written as XML, in the two forms of BFCL: arguments as attributes, or as element text.

The official decoder, quirk by quirk (specification section 3): only the first `<functions>`
section counts, and a value is cast by the type that the model itself declares; a type label that is
not known leaves text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml import ElementTree as Defused

from toolmark import codec
from toolmark.dialects.parse.frame import Decoded, Unreadable, between

LABELS = (
    "string", "integer", "float", "boolean", "null", "array", "tuple", "object", "dict",
)  # fmt: skip


def verbose(text: str) -> Decoded:
    """Read calls whose arguments are attributes: `<param name="a" value="1" type="integer"/>`.

    A parameter without a name is called None, one without a value holds "". Raises Unreadable for
    broken XML, for functions without a name and for values that are not of their type.
    """
    return _guard(text, _attributes)


def concise(text: str) -> Decoded:
    """Read calls whose arguments are text: `<param name="a" type="integer">1</param>`.

    Only parameters directly below the function count. Raises Unreadable as `verbose`, and for
    parameters without a name.
    """
    return _guard(text, _texts)


def _guard(text: str, arguments: Callable[[Element], dict[Any, Any]]) -> Decoded:
    inner = between(text, "<functions>", "</functions>")
    if inner is None:
        raise Unreadable("no <functions> section")
    try:
        root = Defused.fromstring(f"<functions>{inner}</functions>", forbid_dtd=True)
        return [(each.attrib["name"], arguments(each)) for each in root.findall("function")]
    except KeyError as error:
        raise Unreadable(f"an element without {error}") from None
    except (ParseError, DefusedXmlException, SyntaxError, ValueError, TypeError) as error:
        raise Unreadable(str(error)) from None
    except (RecursionError, MemoryError):
        raise Unreadable("nested too deeply") from None


def _attributes(function: Element) -> dict[Any, Any]:
    holder = function.find("params")
    found = (function if holder is None else holder).findall("param")
    return {
        each.get("name"): cast(each.get("value", ""), each.get("type", "string")) for each in found
    }


def _texts(function: Element) -> dict[Any, Any]:
    return {
        each.attrib["name"]: cast((each.text or "").strip(), each.get("type", "string"))
        for each in function.findall("param")
    }


def cast(raw: str, label: str) -> Any:
    """Return the text as a value of the declared type; raises what Python raises for misfits."""
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
            return _literal(raw)
        case _:
            return raw


def _literal(raw: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd literals warn, and under -W error would not parse
        return codec.literal(raw)
