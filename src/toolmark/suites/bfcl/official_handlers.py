"""How the official handlers store replies in result files, handler by handler.

The official list names a handler for each model. A handler stores text that the default decoder
reads, structured calls in one of several shapes, or text that only its own decoder reads as calls.
A reader here returns the same as that decoder; nothing is evaluated. Handlers without a reader are
refused.
"""

from __future__ import annotations

import ast
import builtins
import json
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from toolmark.core import json_codec
from toolmark.core.errors import UsageError
from toolmark.core.records import Call
from toolmark.formats.parse import python_calls
from toolmark.official_bfcl.reply_decoding import (
    HANDLER_FAILS,
    HANDLER_READS_EMPTY,
    HANDLER_READS_OTHER,
)
from toolmark.suites.bfcl.official_models import ListedModel

ReplyForm: TypeAlias = Literal["native", "prompt"]
ArgumentShape: TypeAlias = Literal["text", "object", "parameters", ""]

_MAX_SHOWN_CHARS = 80
_MAX_LITERAL_CHARS = 1_000_000  # a longer literal is not parsed, as for Python replies


class MalformedResult(ValueError):
    """A result in a shape that its handler does not write, or with an unclear meaning."""


class StoredReply(NamedTuple):
    """A stored reply: its text, and the calls in it or in its place.

    `taken`: what the handler makes of a single-turn reply without calls, one of
    `ERROR_TYPE_OF_HANDLER_FAULT`; "" where the text itself decides.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    taken: str = ""


# (what is stored, whether its calls are executed) -> the reply; raises MalformedResult
ReplyReader: TypeAlias = Callable[[Any, bool], StoredReply]


class HandlerFormat(NamedTuple):
    """How one handler's replies are read, and the shape in which it stores structured calls.

    `reply_form`: what judges the replies, structured calls or the default text decoder.
    `reads_formats`: the handler reads texts in the format that a task of its own format asks for.
    `argument_shape` is "" where calls cannot be written so that this handler would read them.
    """

    reply_form: ReplyForm
    read_reply: ReplyReader
    argument_shape: ArgumentShape = ""
    reads_formats: bool = False


def format_json(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):
        return type(value).__name__
    return text if len(text) <= _MAX_SHOWN_CHARS else text[:_MAX_SHOWN_CHARS] + "..."


# --- text for the default decoder -------------------------------------------------------


def read_text_reply(stored: Any, is_executed: bool) -> StoredReply:
    """Read a reply in text; where there is none, every handler fails."""
    if stored is None:
        return StoredReply(taken=HANDLER_FAILS)
    if not isinstance(stored, str):
        raise MalformedResult(f"a reply is text in a run by prompt, not {format_json(stored)}")
    return StoredReply(stored)


def _read_cleaned_text(
    clean_text: Callable[[str, bool], str], stored: Any, is_executed: bool
) -> StoredReply:
    """Read a text from which something is removed before the default decoder reads it.

    The last reply without calls is searched for the answer as it was stored.
    """
    found = read_text_reply(stored, is_executed)
    cleaned = clean_text(found.text, is_executed)
    if is_executed and not _holds_calls(cleaned) and not _holds_calls(found.text):
        return found
    return found._replace(text=cleaned)


def _holds_calls(text: str) -> bool:
    try:
        return bool(python_calls.parse_reply(text))
    except python_calls.UnreadableCalls:
        return False


def _remove_code_fences(text: str, is_executed: bool) -> str:
    return text.replace("```tool_code\n", "").replace("\n```", "")


def _remove_opening_fence(text: str, is_executed: bool) -> str:
    text = text if is_executed else text.strip()
    return text.removeprefix("```json").removeprefix("```python")


# --- structured calls -------------------------------------------------------------------


def _words_only(stored: Any) -> str | None:
    """Return the text of a reply that has only text, or nothing; None for any other."""
    match stored:
        case None | []:
            return ""
        case str():
            return stored
        case [str(first), *others] if all(isinstance(text, str) for text in others):
            return first  # the official evaluator looks at no other
    return None


# what decoders of lists of calls make of words: of text, of a list of texts, of nothing


def _fault_of_iterating_decoder(stored: Any) -> str:
    """Return the fault of a decoder that iterates over any value."""
    return HANDLER_READS_EMPTY if stored in ("", [], {}) else HANDLER_FAILS


def _fault_of_list_decoder(stored: Any) -> str:
    """Return the fault of a decoder that accepts only lists of calls."""
    return HANDLER_READS_EMPTY if stored == [] else HANDLER_FAILS


def _fault_of_passing_decoder(stored: Any) -> str:
    """Return the fault of a decoder that passes on any list."""
    return (
        HANDLER_READS_OTHER
        if stored and isinstance(stored, list)
        else _fault_of_list_decoder(stored)
    )


def _fault_of_wrapping_decoder(stored: Any) -> str:
    """Return the fault of a decoder that wraps every other value in a list."""
    return HANDLER_READS_EMPTY if stored == [] else HANDLER_READS_OTHER


def _fault_of_lenient_decoder(stored: Any) -> str:
    """Return the fault of a decoder that reads lists and ignores every other value."""
    return HANDLER_FAILS if stored and isinstance(stored, list) else HANDLER_READS_EMPTY


def _read_structured(
    read_call: Callable[[Any, bool], Call],
    classify_words: Callable[[Any], str],
    stored: Any,
    is_executed: bool,
) -> StoredReply:
    """Read text, or a list of calls."""
    text = _words_only(stored)
    if text is not None:
        return StoredReply(text, taken=classify_words(stored))
    if not isinstance(stored, list):
        raise MalformedResult(f"a reply is text or a list of calls, not {format_json(stored)}")
    return StoredReply(calls=tuple(read_call(item, is_executed) for item in stored))


def read_any_reply(stored: Any, is_executed: bool) -> StoredReply:
    """Read what any handler that stores structured calls may have written."""
    return _read_structured(
        _read_any_call,
        _fault_of_iterating_decoder,
        [stored] if isinstance(stored, dict) else stored,
        is_executed,
    )


def _read_any_call(stored: Any, is_executed: bool) -> Call:
    """Read `{name: arguments}` with the arguments as JSON text or object, or Cohere's form."""
    if isinstance(stored, dict) and stored.keys() == {"tool_name", "parameters"}:
        return _read_cohere_call(stored, is_executed)
    name, arguments = _name_and_arguments(stored)
    if arguments is None:
        raise MalformedResult(f"the call of {name[:_MAX_SHOWN_CHARS]!r} has no arguments")
    return _make_call(name, arguments, may_be_text=True)


def _read_json_text_call(stored: Any, is_executed: bool) -> Call:
    """Read `{name: arguments}` with the arguments as JSON text."""
    name, arguments = _name_and_arguments(stored)
    if not isinstance(arguments, str) and not is_executed:
        raise MalformedResult(
            f"arguments are JSON text in rows of this model, not {format_json(arguments)}"
        )
    return _make_call(name, arguments, may_be_text=True)


def _read_object_call(stored: Any, is_executed: bool) -> Call:
    """Read `{name: arguments}` with the arguments as an object."""
    name, arguments = _name_and_arguments(stored)
    return _make_call(name, arguments)


def _read_object_or_text_call(stored: Any, is_executed: bool) -> Call:
    """Read `{name: arguments}` with an object, or where calls are executed also its JSON text."""
    name, arguments = _name_and_arguments(stored)
    return _make_call(name, arguments, may_be_text=is_executed)


def _read_cohere_call(stored: Any, is_executed: bool) -> Call:
    match stored:
        case {"tool_name": str(name), "parameters": arguments}:
            return _make_call(name, arguments)
    raise MalformedResult(f"a call is {{tool_name, parameters}}, not {format_json(stored)}")


def _name_and_arguments(stored: Any) -> tuple[str, Any]:
    if not isinstance(stored, dict) or len(stored) != 1:
        raise MalformedResult(f"a call is {{name: arguments}}, not {format_json(stored)}")
    ((name, arguments),) = stored.items()
    return name, arguments


def _make_call(name: str, arguments: Any, *, may_be_text: bool = False) -> Call:
    """Make a call; with `may_be_text`, arguments as text are read as JSON, otherwise as a value."""
    if not (may_be_text and isinstance(arguments, str)):
        try:
            arguments = json.dumps(arguments, ensure_ascii=False)
        except (ValueError, RecursionError) as error:  # such as an integer of any length
            raise MalformedResult(
                f"the arguments of {name[:_MAX_SHOWN_CHARS]!r}: {error}"
            ) from None
    return Call(
        name=json_codec.escape_surrogates(name), arguments=json_codec.escape_surrogates(arguments)
    )


def _read_mining_reply(stored: Any, is_executed: bool) -> StoredReply:
    """Read a list of `{"name": ..., "arguments": ...}`, stored as its original JSON."""
    text = "" if not stored else _words_only(stored)
    if text is not None:
        return StoredReply(text, taken=_fault_of_iterating_decoder(stored))
    searched_text = _to_text(stored[0] if isinstance(stored, list) else stored)
    try:
        calls = tuple(_mining_calls(stored, is_executed))
    except _DecodeFailure:
        return StoredReply(searched_text, taken=HANDLER_FAILS)
    return StoredReply(calls=calls) if calls else StoredReply(searched_text)


def _to_text(value: Any) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError) as error:  # such as an integer of any length
        raise MalformedResult(f"a value that cannot be written: {error}") from None


def _mining_calls(items: Any, is_executed: bool) -> Iterable[Call]:
    if not isinstance(items, list):
        raise _DecodeFailure
    for item in items:
        if not is_executed:
            yield _read_named_call("arguments", item, False)
        elif isinstance(item, dict):
            yield _read_named_call("arguments", {"name": "", "arguments": {}} | item, True)


# --- calls within a text ----------------------------------------------------------------


class _DecodeFailure(ValueError):
    """The handler's decoder fails on the text."""


def _read_calls_in_text(
    find_items: Callable[[str, bool], Iterable[Any]],
    read_call: Callable[[Any, bool], Call],
    stored: Any,
    is_executed: bool,
) -> StoredReply:
    """Read a text with the handler's own decoder; a text on which it fails has no calls."""
    found = read_text_reply(stored, is_executed)
    if stored is None:
        return found
    try:
        calls = tuple(read_call(item, is_executed) for item in find_items(found.text, is_executed))
    except _DecodeFailure:
        return found._replace(taken=HANDLER_FAILS)
    return found._replace(calls=calls, taken="" if calls else HANDLER_READS_EMPTY)


def _read_named_call(key: str, item: Any, is_executed: bool) -> Call:
    """Read `{"name": ..., key: ...}`."""
    if not isinstance(item, dict) or not {"name", key} <= item.keys():
        raise _DecodeFailure
    name, arguments = item["name"], item[key]
    if is_executed and not isinstance(arguments, dict):
        raise _DecodeFailure
    if not is_executed and isinstance(name, list | dict):
        raise _DecodeFailure
    return _make_call(str(name), arguments)


def _read_tagged_call(item: Any, is_executed: bool) -> Call:
    """Read a tagged call: one object of arguments; where executed, also the text of one."""
    arguments = item.get("arguments") if isinstance(item, dict) else None
    if is_executed and isinstance(arguments, str):
        arguments = _parse_json(arguments)
    if not isinstance(arguments, dict) or isinstance(item.get("name"), list | dict):
        raise _DecodeFailure
    return _read_named_call("arguments", {**item, "arguments": arguments}, is_executed)


def _parse_json(text: str) -> Any:
    try:
        return json_codec.parse_json(text)
    except json_codec.InvalidJson:
        raise _DecodeFailure from None


def _find_tagged_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the values between tags on lines of their own; invalid JSON is skipped."""
    first, last = "<tool_call>\n", "\n</tool_call>"
    found: list[Any] = []
    start = text.find(first)
    while start >= 0:
        end = text.find(last, start + len(first))
        if end < 0:
            break
        with suppress(json_codec.InvalidJson):
            found.append(json_codec.parse_json(text[start + len(first) : end]))
        start = text.find(first, end + len(last))
    return found


def _as_list(found: Any) -> Iterable[Any]:
    return found if isinstance(found, list) else [found]


def _find_json_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls of a JSON list, or the one call."""
    return _as_list(_parse_json(text))


def _find_semicolon_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls of JSON, or of several pieces of JSON separated by semicolons."""
    try:
        return _find_json_calls(text, is_executed)
    except _DecodeFailure:
        return [_parse_json(part.strip()) for part in text.split(";")]


def _find_first_tag_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls between the first tags, without fences around them."""
    _, tag, after = text.partition("<tool_call>")
    if not tag:
        raise _DecodeFailure
    inner = after.partition("<tool_call>")[0].partition("</tool_call>")[0].strip()
    if inner.startswith("```") and inner.endswith("```"):
        inner = inner.strip("`").strip().removeprefix("json").strip()
    return _find_json_calls(inner, is_executed)


def _find_unfenced_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls of JSON without its fences; a text that is no JSON has none."""
    try:
        found = json_codec.parse_json(text.replace("```", ""))
    except json_codec.InvalidJson:
        return []
    if is_executed:
        found = found.get("tool_calls", []) if isinstance(found, dict) else found
        return [
            {"name": "", "arguments": {}} | item
            for item in _as_list(found)
            if isinstance(item, dict)
        ]
    if not isinstance(found, list | dict | str):
        raise _DecodeFailure
    return found


# what the official decoder that evaluates a text can see besides Python's own names
_VISIBLE_NAMES = frozenset(
    ("LlamaHandler_3_1", "OSSHandler", "has_tool_call_tag", "json", "language", "override",
     "result", "self", *vars(builtins))
)  # fmt: skip
# expressions of which a part may never be evaluated
_LAZY_NODES = (
    ast.Await, ast.BoolOp, ast.Compare, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.Lambda,
    ast.ListComp, ast.NamedExpr, ast.SetComp, ast.Yield, ast.YieldFrom,
)  # fmt: skip


def _find_literal_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls of a Python literal, or of JSON separated by semicolons.

    The official decoder evaluates the text. A literal is its own value, and a name such as JSON's
    `true` is an error there. Raises MalformedResult for anything that would do more.
    """
    text = text.replace("<|python_tag|>", "")
    if ";" in text:
        return [_parse_json(part) for part in text.split(";")]
    if len(text) > _MAX_LITERAL_CHARS:
        raise MalformedResult(
            f"{len(text)} characters of Python; the limit is {_MAX_LITERAL_CHARS}"
        )
    found = _evaluate_literal(text.lstrip(" \t"))
    if not isinstance(found, list | tuple | dict | str):
        raise _DecodeFailure
    items = [found] if isinstance(found, dict) else list(found)
    if not _is_json(items):
        raise MalformedResult(f"values that JSON does not have, in {format_json(text)}")
    return items


def _evaluate_literal(text: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd literals warn, and under -W error would fail
            tree = ast.parse(text, mode="eval")
        nodes = list(ast.walk(tree))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        if names - _VISIBLE_NAMES and not any(isinstance(node, _LAZY_NODES) for node in nodes):
            raise _DecodeFailure
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _DecodeFailure from None
    try:
        return ast.literal_eval(tree)
    except TypeError:  # a list for a key
        raise _DecodeFailure from None
    except (ValueError, MemoryError, RecursionError):
        message = (
            f"the official handler would evaluate {format_json(text)}; toolmark evaluates nothing"
        )
        raise MalformedResult(message) from None


def _is_json(items: list[Any]) -> bool:
    try:
        return bool(json.loads(json.dumps(items)) == items)
    except (TypeError, ValueError, RecursionError):
        return False


# --- by handler -------------------------------------------------------------------------

PROMPT_FORMAT = HandlerFormat("prompt", read_text_reply, reads_formats=True)
# the format of a model that is not listed
NATIVE_FORMAT = HandlerFormat("native", read_any_reply, "text", reads_formats=True)

_JSON_TEXT_CALLS = HandlerFormat(
    "native", partial(_read_structured, _read_json_text_call, _fault_of_iterating_decoder), "text"
)
_OBJECT_CALLS = HandlerFormat(
    "native", partial(_read_structured, _read_object_call, _fault_of_wrapping_decoder), "object"
)
_LIST_DECODED_CALLS = HandlerFormat(
    "native", partial(_read_structured, _read_object_or_text_call, _fault_of_list_decoder), "object"
)
_PASSED_CALLS = HandlerFormat(
    "native",
    partial(_read_structured, _read_object_or_text_call, _fault_of_passing_decoder),
    "object",
)
_TAGGED_CALLS = HandlerFormat(
    "native", partial(_read_calls_in_text, _find_tagged_calls, _read_tagged_call)
)
_SEMICOLON_CALLS = HandlerFormat(
    "native",
    partial(_read_calls_in_text, _find_semicolon_calls, partial(_read_named_call, "arguments")),
)
_MINING_CALLS = HandlerFormat("native", _read_mining_reply)

# handlers that store OpenAI's structured calls, or, of a prompted model, text
_OPENAI_STYLE_HANDLERS = frozenset(
    ("Claude", "DeepSeekAPI", "Fireworks", "Functionary", "GLMAPI", "GoGoAgent", "Grok", "Kimi",
     "LingAPI", "Mistral", "NanbeigeAPI", "Novita", "OpenAICompletions", "OpenAIResponses",
     "QwenAPI", "QwenAgentNoThink", "QwenAgentThink", "Writer")
)  # fmt: skip
# handlers that store the same whether the model was asked natively or by prompt
_FORMAT_BY_HANDLER: dict[str, HandlerFormat] = {
    **dict.fromkeys(
        ("Bielik", "DeepseekReasoning", "Gemma", "Llama", "MiniCPM", "Nvidia", "Qwen"),
        PROMPT_FORMAT,
    ),
    **dict.fromkeys(("Arch", "Granite3FC", "PhiFC"), _LIST_DECODED_CALLS),
    **dict.fromkeys(("MistralFC", "Nova"), _PASSED_CALLS),
    **dict.fromkeys(("Granite4FC", "NanbeigeFC", "PelicanVLFC", "QwenFC"), _TAGGED_CALLS),
    **dict.fromkeys(("SalesforceLlama", "SalesforceQwen"), _SEMICOLON_CALLS),
    **dict.fromkeys(("DMCito", "Mining"), _MINING_CALLS),
    "BitAgent": HandlerFormat(
        "native",
        partial(_read_calls_in_text, _find_json_calls, partial(_read_named_call, "arguments")),
    ),
    "Cohere": HandlerFormat(
        "native",
        partial(_read_structured, _read_cohere_call, _fault_of_lenient_decoder),
        "parameters",
    ),
    "Falcon3FC": HandlerFormat(
        "native",
        partial(_read_calls_in_text, _find_first_tag_calls, partial(_read_named_call, "arguments")),
    ),
    "Hammer": HandlerFormat(
        "native",
        partial(_read_calls_in_text, _find_unfenced_calls, partial(_read_named_call, "arguments")),
    ),
    "LlamaHandler_3_1": HandlerFormat(
        "native",
        partial(_read_calls_in_text, _find_literal_calls, partial(_read_named_call, "parameters")),
    ),
    "Phi": HandlerFormat(
        "prompt", partial(_read_cleaned_text, _remove_opening_fence), reads_formats=True
    ),
}
_GEMINI_TEXT = HandlerFormat(
    "prompt", partial(_read_cleaned_text, _remove_code_fences), reads_formats=True
)


def handler_format(name: str, model: ListedModel) -> HandlerFormat:
    """Return how the rows of a listed model are read.

    Raises UsageError where only the model's own handler can read them, naming both.
    """
    if model.handler in _OPENAI_STYLE_HANDLERS:
        return _JSON_TEXT_CALLS if model.is_native else PROMPT_FORMAT
    if model.handler == "Gemini":
        return _OBJECT_CALLS if model.is_native else _GEMINI_TEXT
    if model.handler in _FORMAT_BY_HANDLER:
        return _FORMAT_BY_HANDLER[model.handler]
    raise UsageError(
        f"{name}: its official handler ({model.handler}Handler) reads replies in a way of its own "
        "that toolmark does not know; nothing was done. The official evaluator can score its files"
    )
