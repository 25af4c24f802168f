"""Replies in structured calls, in the shapes that handlers store."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from toolmark.core import json_codec
from toolmark.core.records import Call
from toolmark.official_bfcl.handler_replies import (
    MAX_SHOWN_CHARS,
    MalformedResult,
    StoredReply,
    format_json,
)
from toolmark.official_bfcl.reply_decoding import (
    HANDLER_FAILS,
    HANDLER_READS_EMPTY,
    HANDLER_READS_OTHER,
)


def text_without_calls(stored: Any) -> str | None:
    """Return the text of a reply that has only text, or nothing; None for any other."""
    match stored:
        case None | []:
            return ""
        case str():
            return stored
        case [str(first), *others] if all(isinstance(text, str) for text in others):
            return first  # the official evaluator looks at no other
    return None


def fault_of_iterating_decoder(stored: Any) -> str:
    """Return the fault of a decoder that iterates over any value."""
    return HANDLER_READS_EMPTY if stored in ("", [], {}) else HANDLER_FAILS


def fault_of_list_decoder(stored: Any) -> str:
    """Return the fault of a decoder that accepts only lists of calls."""
    return HANDLER_READS_EMPTY if stored == [] else HANDLER_FAILS


def fault_of_passing_decoder(stored: Any) -> str:
    """Return the fault of a decoder that passes on any list."""
    return (
        HANDLER_READS_OTHER
        if stored and isinstance(stored, list)
        else fault_of_list_decoder(stored)
    )


def fault_of_wrapping_decoder(stored: Any) -> str:
    """Return the fault of a decoder that wraps every other value in a list."""
    return HANDLER_READS_EMPTY if stored == [] else HANDLER_READS_OTHER


def fault_of_lenient_decoder(stored: Any) -> str:
    """Return the fault of a decoder that reads lists and ignores every other value."""
    return HANDLER_FAILS if stored and isinstance(stored, list) else HANDLER_READS_EMPTY


def read_structured(
    read_call: Callable[[Any, bool], Call],
    classify_words: Callable[[Any], str],
    stored: Any,
    is_executed: bool,
) -> StoredReply:
    """Read text, or a list of calls."""
    text = text_without_calls(stored)
    if text is not None:
        return StoredReply(text, handler_fault=classify_words(stored))
    if not isinstance(stored, list):
        raise MalformedResult(f"a reply is text or a list of calls, not {format_json(stored)}")
    return StoredReply(calls=tuple(read_call(item, is_executed) for item in stored))


def read_any_reply(stored: Any, is_executed: bool) -> StoredReply:
    """Read what any handler that stores structured calls may have written."""
    return read_structured(
        _read_any_call,
        fault_of_iterating_decoder,
        [stored] if isinstance(stored, dict) else stored,
        is_executed,
    )


def _read_any_call(stored: Any, is_executed: bool) -> Call:
    """Read `{name: arguments}` with the arguments as JSON text or object, or Cohere's form."""
    if isinstance(stored, dict) and stored.keys() == {"tool_name", "parameters"}:
        return read_cohere_call(stored, is_executed)
    name, arguments = _name_and_arguments(stored)
    if arguments is None:
        raise MalformedResult(f"the call of {name[:MAX_SHOWN_CHARS]!r} has no arguments")
    return make_call(name, arguments, may_be_text=True)


def read_json_text_call(stored: Any, is_executed: bool) -> Call:
    """Read `{name: arguments}` with the arguments as JSON text."""
    name, arguments = _name_and_arguments(stored)
    if not isinstance(arguments, str) and not is_executed:
        raise MalformedResult(
            f"arguments are JSON text in rows of this model, not {format_json(arguments)}"
        )
    return make_call(name, arguments, may_be_text=True)


def read_object_call(stored: Any, is_executed: bool) -> Call:
    """Read `{name: arguments}` with the arguments as an object."""
    name, arguments = _name_and_arguments(stored)
    return make_call(name, arguments)


def read_object_or_text_call(stored: Any, is_executed: bool) -> Call:
    """Read `{name: arguments}` with an object, or where calls are executed also its JSON text."""
    name, arguments = _name_and_arguments(stored)
    return make_call(name, arguments, may_be_text=is_executed)


def read_cohere_call(stored: Any, is_executed: bool) -> Call:
    """Read `{"tool_name": name, "parameters": arguments}`."""
    match stored:
        case {"tool_name": str(name), "parameters": arguments}:
            return make_call(name, arguments)
    raise MalformedResult(f"a call is {{tool_name, parameters}}, not {format_json(stored)}")


def _name_and_arguments(stored: Any) -> tuple[str, Any]:
    if not isinstance(stored, dict) or len(stored) != 1:
        raise MalformedResult(f"a call is {{name: arguments}}, not {format_json(stored)}")
    ((name, arguments),) = stored.items()
    return name, arguments


def make_call(name: str, arguments: Any, *, may_be_text: bool = False) -> Call:
    """Make a call; with `may_be_text`, arguments as text are read as JSON, otherwise as a value."""
    if not (may_be_text and isinstance(arguments, str)):
        try:
            arguments = json.dumps(arguments, ensure_ascii=False)
        except (ValueError, RecursionError) as error:  # such as an integer of any length
            raise MalformedResult(f"the arguments of {name[:MAX_SHOWN_CHARS]!r}: {error}") from None
    return Call(
        name=json_codec.escape_surrogates(name), arguments=json_codec.escape_surrogates(arguments)
    )
