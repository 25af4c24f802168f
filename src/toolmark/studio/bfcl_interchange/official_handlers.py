"""How the official handlers store replies in result files, handler by handler.

The official list names a handler for each model. A handler stores text that the default decoder
reads, structured calls in one of several shapes, or text that only its own decoder reads as calls.
A reader here returns the same as that decoder; nothing is evaluated. Handlers without a reader are
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from toolmark.core.errors import UsageError
from toolmark.core.records import Call
from toolmark.official_bfcl import handler_structured_calls, handler_text_calls
from toolmark.official_bfcl.handler_replies import (
    ArgumentShape,
    ReplyForm,
    ReplyReader,
    read_cleaned_text,
    read_text_reply,
    remove_code_fences,
    remove_opening_fence,
)
from toolmark.official_bfcl.official_models import ListedModel


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


def _structured_format(
    read_call: Callable[[Any, bool], Call],
    classify_words: Callable[[Any], str],
    argument_shape: ArgumentShape,
) -> HandlerFormat:
    """Return the format of a handler that stores a list of calls."""
    read_reply = partial(handler_structured_calls.read_structured, read_call, classify_words)
    return HandlerFormat("native", read_reply, argument_shape)


def _named_calls_format(
    find_items: Callable[[str, bool], Iterable[Any]], arguments_key: str = "arguments"
) -> HandlerFormat:
    """Return the format of a handler whose decoder finds `{"name": ..., KEY: ...}` in a text."""
    read_call = partial(handler_text_calls.read_named_call, arguments_key)
    return HandlerFormat(
        "native", partial(handler_text_calls.read_calls_in_text, find_items, read_call)
    )


PROMPT_FORMAT = HandlerFormat("prompt", read_text_reply, reads_formats=True)
# of a model that is not listed
NATIVE_FORMAT = HandlerFormat(
    "native", handler_structured_calls.read_any_reply, "text", reads_formats=True
)

_JSON_TEXT_CALLS = _structured_format(
    handler_structured_calls.read_json_text_call,
    handler_structured_calls.fault_of_iterating_decoder,
    "text",
)
_OBJECT_CALLS = _structured_format(
    handler_structured_calls.read_object_call,
    handler_structured_calls.fault_of_wrapping_decoder,
    "object",
)
_LIST_DECODED_CALLS = _structured_format(
    handler_structured_calls.read_object_or_text_call,
    handler_structured_calls.fault_of_list_decoder,
    "object",
)
_PASSED_CALLS = _structured_format(
    handler_structured_calls.read_object_or_text_call,
    handler_structured_calls.fault_of_passing_decoder,
    "object",
)
TAGGED_CALLS = HandlerFormat(
    "native",
    partial(
        handler_text_calls.read_calls_in_text,
        handler_text_calls.find_tagged_calls,
        handler_text_calls.read_tagged_call,
    ),
)
_MINING_CALLS = HandlerFormat("native", handler_text_calls.read_mining_reply)

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
    **dict.fromkeys(("Granite4FC", "NanbeigeFC", "PelicanVLFC", "QwenFC"), TAGGED_CALLS),
    **dict.fromkeys(
        ("SalesforceLlama", "SalesforceQwen"),
        _named_calls_format(handler_text_calls.find_semicolon_calls),
    ),
    **dict.fromkeys(("DMCito", "Mining"), _MINING_CALLS),
    "BitAgent": _named_calls_format(handler_text_calls.find_json_calls),
    "Cohere": _structured_format(
        handler_structured_calls.read_cohere_call,
        handler_structured_calls.fault_of_lenient_decoder,
        "parameters",
    ),
    "Falcon3FC": _named_calls_format(handler_text_calls.find_first_tag_calls),
    "Hammer": _named_calls_format(handler_text_calls.find_unfenced_calls),
    "LlamaHandler_3_1": _named_calls_format(handler_text_calls.find_literal_calls, "parameters"),
    "Phi": HandlerFormat(
        "prompt", partial(read_cleaned_text, remove_opening_fence), reads_formats=True
    ),
}
_GEMINI_TEXT = HandlerFormat(
    "prompt", partial(read_cleaned_text, remove_code_fences), reads_formats=True
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
