"""How the official handlers hold replies in result files, handler by handler.

The official list names a handler for each model. What it stores is text that the default decoder
reads, structured calls in one of several shapes, or text that only its own decoder reads as calls.
A way makes of it what that decoder makes of it; nothing is evaluated. Handlers without a way here
are refused.
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

from toolmark import codec
from toolmark.dialects.parse import python
from toolmark.errors import UsageError
from toolmark.suites.bfcl.decode import EMPTY, ODD, UNREAD
from toolmark.suites.bfcl.registry import Known
from toolmark.types import Call

Form: TypeAlias = Literal["native", "prompt"]
Shape: TypeAlias = Literal["text", "object", "parameters", ""]

_SHOWN_CHARS = 80
_MAX_CHARS = 1_000_000  # a literal beyond is not parsed, as replies in Python are not


class Misshapen(ValueError):
    """A result in a shape that its handler does not write, or whose meaning cannot be told."""


class Said(NamedTuple):
    """A stored reply: its text, and the calls that stand in it or in its place.

    `taken`: what the handler makes of a single-turn reply without calls, one of `decode.TAKEN`;
    "" where the text itself tells.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    taken: str = ""


# (what is stored, whether its calls are executed) -> the reply; raises Misshapen
Read: TypeAlias = Callable[[Any, bool], Said]


class Way(NamedTuple):
    """How one handler's replies are read, and the shape in which it stores structured calls.

    `form`: what judges the replies, structured calls or the default text decoder. `formats`: the
    handler reads texts in the format that a task of its own format asks for. `shape` is "" where
    calls cannot be written so that this handler would read them.
    """

    form: Form
    read: Read
    shape: Shape = ""
    formats: bool = False


def shown(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):
        return type(value).__name__
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."


# --- text for the default decoder -------------------------------------------------------


def written(said: Any, executed: bool) -> Said:
    """Read a reply in text; where there is none, every handler fails."""
    if said is None:
        return Said(taken=UNREAD)
    if not isinstance(said, str):
        raise Misshapen(f"a reply is text in a run by prompt, not {shown(said)}")
    return Said(said)


def _cleaned(clean: Callable[[str, bool], str], said: Any, executed: bool) -> Said:
    """Read a text of which something is cut before the default decoder sees it.

    The last reply without calls is searched for the answer as it was stored.
    """
    found = written(said, executed)
    cut = clean(found.text, executed)
    if executed and not _callable(cut) and not _callable(found.text):
        return found
    return found._replace(text=cut)


def _callable(text: str) -> bool:
    try:
        return bool(python.calls(text))
    except python.Unreadable:
        return False


def _unfenced(text: str, executed: bool) -> str:
    return text.replace("```tool_code\n", "").replace("\n```", "")


def _unopened(text: str, executed: bool) -> str:
    text = text if executed else text.strip()
    return text.removeprefix("```json").removeprefix("```python")


# --- structured calls -------------------------------------------------------------------


def _words(said: Any) -> str | None:
    """Return the text of a reply that holds words alone, or nothing; None for any other."""
    match said:
        case None | []:
            return ""
        case str():
            return said
        case [str(first), *rest] if all(isinstance(text, str) for text in rest):
            return first  # the official evaluator looks at no other
    return None


# what decoders of lists of calls make of words: of text, of a list of texts, of nothing


def _looped(said: Any) -> str:
    """Of a decoder that goes through whatever it is given."""
    return EMPTY if said in ("", [], {}) else UNREAD


def _checked(said: Any) -> str:
    """Of a decoder that takes lists of calls alone."""
    return EMPTY if said == [] else UNREAD


def _passed(said: Any) -> str:
    """Of a decoder that hands on any list."""
    return ODD if said and isinstance(said, list) else _checked(said)


def _wrapped(said: Any) -> str:
    """Of a decoder that makes a list of what is none."""
    return EMPTY if said == [] else ODD


def _spared(said: Any) -> str:
    """Of a decoder that looks at lists alone."""
    return UNREAD if said and isinstance(said, list) else EMPTY


def _structured(
    call: Callable[[Any, bool], Call], taken: Callable[[Any], str], said: Any, executed: bool
) -> Said:
    """Read words, or a list of calls."""
    text = _words(said)
    if text is not None:
        return Said(text, taken=taken(said))
    if not isinstance(said, list):
        raise Misshapen(f"a reply is text or a list of calls, not {shown(said)}")
    return Said(calls=tuple(call(each, executed) for each in said))


def anything(said: Any, executed: bool) -> Said:
    """Read what any handler that stores structured calls may have written."""
    return _structured(_any, _looped, [said] if isinstance(said, dict) else said, executed)


def _any(said: Any, executed: bool) -> Call:
    """Read `{name: arguments}`, the arguments as JSON text or as an object, or Cohere's form."""
    if isinstance(said, dict) and said.keys() == {"tool_name", "parameters"}:
        return _parameters(said, executed)
    name, given = _pair(said)
    if given is None:
        raise Misshapen(f"the call of {name[:_SHOWN_CHARS]!r} has no arguments")
    return _call(name, given, text=True)


def _in_text(said: Any, executed: bool) -> Call:
    """Read `{name: arguments}` with the arguments as JSON text."""
    name, given = _pair(said)
    if not isinstance(given, str) and not executed:
        raise Misshapen(f"arguments are JSON text in rows of this model, not {shown(given)}")
    return _call(name, given, text=True)


def _in_object(said: Any, executed: bool) -> Call:
    """Read `{name: arguments}` with the arguments as an object."""
    name, given = _pair(said)
    return _call(name, given)


def _in_either(said: Any, executed: bool) -> Call:
    """Read `{name: arguments}` with an object, or where calls are executed also its JSON text."""
    name, given = _pair(said)
    return _call(name, given, text=executed)


def _parameters(said: Any, executed: bool) -> Call:
    match said:
        case {"tool_name": str(name), "parameters": given}:
            return _call(name, given)
    raise Misshapen(f"a call is {{tool_name, parameters}}, not {shown(said)}")


def _pair(said: Any) -> tuple[str, Any]:
    if not isinstance(said, dict) or len(said) != 1:
        raise Misshapen(f"a call is {{name: arguments}}, not {shown(said)}")
    ((name, given),) = said.items()
    return name, given


def _call(name: str, given: Any, *, text: bool = False) -> Call:
    """Make a call; a `text` for arguments is their JSON, otherwise it is a value."""
    if not (text and isinstance(given, str)):
        try:
            given = json.dumps(given, ensure_ascii=False)
        except (ValueError, RecursionError) as error:  # such as an integer of any length
            raise Misshapen(f"the arguments of {name[:_SHOWN_CHARS]!r}: {error}") from None
    return Call(name=codec.escape(name), arguments=codec.escape(given))


def _mined(said: Any, executed: bool) -> Said:
    """Read a list of `{"name": ..., "arguments": ...}`, stored as the JSON that it was."""
    text = "" if not said else _words(said)
    if text is not None:
        return Said(text, taken=_looped(said))
    searched = _source(said[0] if isinstance(said, list) else said)
    try:
        calls = tuple(_members(said, executed))
    except _Undecoded:
        return Said(searched, taken=UNREAD)
    return Said(calls=calls) if calls else Said(searched)


def _source(value: Any) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError) as error:  # such as an integer of any length
        raise Misshapen(f"a value that cannot be written: {error}") from None


def _members(items: Any, executed: bool) -> Iterable[Call]:
    if not isinstance(items, list):
        raise _Undecoded
    for item in items:
        if not executed:
            yield _named("arguments", item, False)
        elif isinstance(item, dict):
            yield _named("arguments", {"name": "", "arguments": {}} | item, True)


# --- calls that stand in a text ---------------------------------------------------------


class _Undecoded(ValueError):
    """The handler's decoder fails on the text."""


def _inside(
    items: Callable[[str, bool], Iterable[Any]],
    call: Callable[[Any, bool], Call],
    said: Any,
    executed: bool,
) -> Said:
    """Read a text whose calls a decoder of its own finds; one that it fails on has none."""
    found = written(said, executed)
    if said is None:
        return found
    try:
        calls = tuple(call(item, executed) for item in items(found.text, executed))
    except _Undecoded:
        return found._replace(taken=UNREAD)
    return found._replace(calls=calls, taken="" if calls else EMPTY)


def _named(key: str, item: Any, executed: bool) -> Call:
    """Read `{"name": ..., key: ...}`."""
    if not isinstance(item, dict) or not {"name", key} <= item.keys():
        raise _Undecoded
    name, given = item["name"], item[key]
    if executed and not isinstance(given, dict):
        raise _Undecoded
    if not executed and isinstance(name, list | dict):
        raise _Undecoded
    return _call(str(name), given)


def _strict(item: Any, executed: bool) -> Call:
    """Read a tagged call: one object of arguments; where executed, also the text of one."""
    given = item.get("arguments") if isinstance(item, dict) else None
    if executed and isinstance(given, str):
        given = _loads(given)
    if not isinstance(given, dict) or isinstance(item.get("name"), list | dict):
        raise _Undecoded
    return _named("arguments", {**item, "arguments": given}, executed)


def _loads(text: str) -> Any:
    try:
        return codec.loads(text)
    except codec.BadJson:
        raise _Undecoded from None


def _tagged(text: str, executed: bool) -> Iterable[Any]:
    """Return what stands between tags on lines of their own; what is no JSON is passed over."""
    first, last = "<tool_call>\n", "\n</tool_call>"
    found: list[Any] = []
    start = text.find(first)
    while start >= 0:
        end = text.find(last, start + len(first))
        if end < 0:
            break
        with suppress(codec.BadJson):
            found.append(codec.loads(text[start + len(first) : end]))
        start = text.find(first, end + len(last))
    return found


def _listed(found: Any) -> Iterable[Any]:
    return found if isinstance(found, list) else [found]


def _bare(text: str, executed: bool) -> Iterable[Any]:
    """Return a JSON list of calls, or the one call."""
    return _listed(_loads(text))


def _parted(text: str, executed: bool) -> Iterable[Any]:
    """Return the calls of JSON, or of several pieces of it with semicolons between."""
    try:
        return _bare(text, executed)
    except _Undecoded:
        return [_loads(part.strip()) for part in text.split(";")]


def _enclosed(text: str, executed: bool) -> Iterable[Any]:
    """Return the calls between the first tags, fences around them dropped."""
    _, tag, rest = text.partition("<tool_call>")
    if not tag:
        raise _Undecoded
    inner = rest.partition("<tool_call>")[0].partition("</tool_call>")[0].strip()
    if inner.startswith("```") and inner.endswith("```"):
        inner = inner.strip("`").strip().removeprefix("json").strip()
    return _bare(inner, executed)


def _hammered(text: str, executed: bool) -> Iterable[Any]:
    """Return the calls of JSON without its fences; what is no JSON holds none."""
    try:
        found = codec.loads(text.replace("```", ""))
    except codec.BadJson:
        return []
    if executed:
        found = found.get("tool_calls", []) if isinstance(found, dict) else found
        return [
            {"name": "", "arguments": {}} | item
            for item in _listed(found)
            if isinstance(item, dict)
        ]
    if not isinstance(found, list | dict | str):
        raise _Undecoded
    return found


# what the official decoder that evaluates a text can see beside Python's own names
_SEEN = frozenset(
    ("LlamaHandler_3_1", "OSSHandler", "has_tool_call_tag", "json", "language", "override",
     "result", "self", *vars(builtins))
)  # fmt: skip
# expressions of which a part may never be evaluated
_LAZY = (
    ast.Await, ast.BoolOp, ast.Compare, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.Lambda,
    ast.ListComp, ast.NamedExpr, ast.SetComp, ast.Yield, ast.YieldFrom,
)  # fmt: skip


def _literal(text: str, executed: bool) -> Iterable[Any]:
    """Return the calls of a Python literal, or of JSON with semicolons between.

    The official decoder evaluates the text. A literal comes to what it says, and a name such as
    JSON's `true` is an error there. Raises Misshapen for anything that would do more.
    """
    text = text.replace("<|python_tag|>", "")
    if ";" in text:
        return [_loads(part) for part in text.split(";")]
    if len(text) > _MAX_CHARS:
        raise Misshapen(f"{len(text)} characters of Python; the limit is {_MAX_CHARS}")
    found = _evaluated(text.lstrip(" \t"))
    if not isinstance(found, list | tuple | dict | str):
        raise _Undecoded
    items = [found] if isinstance(found, dict) else list(found)
    if not _is_json(items):
        raise Misshapen(f"values that JSON does not have, in {shown(text)}")
    return items


def _evaluated(text: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd literals warn, and under -W error would fail
            tree = ast.parse(text, mode="eval")
        nodes = list(ast.walk(tree))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        if names - _SEEN and not any(isinstance(node, _LAZY) for node in nodes):
            raise _Undecoded
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _Undecoded from None
    try:
        return ast.literal_eval(tree)
    except TypeError:  # a list for a key
        raise _Undecoded from None
    except (ValueError, MemoryError, RecursionError):
        told = f"the official handler would evaluate {shown(text)}; toolmark evaluates nothing"
        raise Misshapen(told) from None


def _is_json(items: list[Any]) -> bool:
    try:
        return bool(json.loads(json.dumps(items)) == items)
    except (TypeError, ValueError, RecursionError):
        return False


# --- by handler -------------------------------------------------------------------------

PROMPT = Way("prompt", written, formats=True)
NATIVE = Way("native", anything, "text", formats=True)  # of a model that is not listed

_TEXT = Way("native", partial(_structured, _in_text, _looped), "text")
_OBJECT = Way("native", partial(_structured, _in_object, _wrapped), "object")
_CHECKED = Way("native", partial(_structured, _in_either, _checked), "object")
_PASSED = Way("native", partial(_structured, _in_either, _passed), "object")
_TAGGED = Way("native", partial(_inside, _tagged, _strict))
_PARTED = Way("native", partial(_inside, _parted, partial(_named, "arguments")))
_MINED = Way("native", _mined)

# handlers that store OpenAI's structured calls, or, of a prompted model, text
_COMMON = frozenset(
    ("Claude", "DeepSeekAPI", "Fireworks", "Functionary", "GLMAPI", "GoGoAgent", "Grok", "Kimi",
     "LingAPI", "Mistral", "NanbeigeAPI", "Novita", "OpenAICompletions", "OpenAIResponses",
     "QwenAPI", "QwenAgentNoThink", "QwenAgentThink", "Writer")
)  # fmt: skip
# those that store the same whichever way the model was asked
_ALWAYS: dict[str, Way] = {
    **dict.fromkeys(
        ("Bielik", "DeepseekReasoning", "Gemma", "Llama", "MiniCPM", "Nvidia", "Qwen"), PROMPT
    ),
    **dict.fromkeys(("Arch", "Granite3FC", "PhiFC"), _CHECKED),
    **dict.fromkeys(("MistralFC", "Nova"), _PASSED),
    **dict.fromkeys(("Granite4FC", "NanbeigeFC", "PelicanVLFC", "QwenFC"), _TAGGED),
    **dict.fromkeys(("SalesforceLlama", "SalesforceQwen"), _PARTED),
    **dict.fromkeys(("DMCito", "Mining"), _MINED),
    "BitAgent": Way("native", partial(_inside, _bare, partial(_named, "arguments"))),
    "Cohere": Way("native", partial(_structured, _parameters, _spared), "parameters"),
    "Falcon3FC": Way("native", partial(_inside, _enclosed, partial(_named, "arguments"))),
    "Hammer": Way("native", partial(_inside, _hammered, partial(_named, "arguments"))),
    "LlamaHandler_3_1": Way("native", partial(_inside, _literal, partial(_named, "parameters"))),
    "Phi": Way("prompt", partial(_cleaned, _unopened), formats=True),
}
_GEMINI = Way("prompt", partial(_cleaned, _unfenced), formats=True)


def way(name: str, known: Known) -> Way:
    """Return how the rows of a listed model are read.

    Raises UsageError where only its own handler can tell, naming both.
    """
    if known.handler in _COMMON:
        return _TEXT if known.native else PROMPT
    if known.handler == "Gemini":
        return _OBJECT if known.native else _GEMINI
    if known.handler in _ALWAYS:
        return _ALWAYS[known.handler]
    raise UsageError(
        f"{name}: its official handler ({known.handler}Handler) reads replies in a way of its own "
        "that toolmark does not know; nothing was done. The official evaluator can score its files"
    )
