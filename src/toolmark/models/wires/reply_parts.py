"""What the decoders of all wires share: limits of a reply, counts of tokens, loose JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard

import msgspec
from msgspec import Struct

from toolmark.core.errors import TornReply
from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Call, Usage
from toolmark.models.wires.tool_names import ToolNames

Json = dict[str, Any]

MAX_TEXT_CHARS = 2**20
"""The most characters that are stored of a text, of reasoning, of the arguments of a call."""
MAX_ARGUMENTS_CHARS = 4 * 2**20
"""The most characters that are stored of the arguments of all calls of a reply."""
MAX_CALLS = 1000
MAX_NAME_CHARS = MAX_ID_CHARS = 2**16
MAX_MODEL_NAME_CHARS = 200
MAX_TOKENS = 10**9
"""The largest count of tokens of one request that is believed."""
MAX_COST_USD = 10_000.0
"""The largest cost of one request that is believed."""
USD_PER_TICK = 1e-10
"""The unit in which xAI reports costs."""
MAX_OBJECTS = 10**6
"""The most objects in a body: each needs more memory than it has characters."""
MAX_LOOSE_BYTES = 16 * 2**20
"""The largest body that is read although it is not as documented.

The standard library needs more memory.
"""
UNLIMITED_BYTES = 20 * MAX_CALLS
"""Nothing in a body of at most this size is beyond a limit: a call has more than 20 bytes."""
_UNCOUNTED_BYTES = 2 * MAX_OBJECTS  # no smaller body has more objects
_MAX_DIGITS = 4000  # of an integer; Python reads 4300
_MAX_ERROR_CHARS = 4096
_MAX_ERROR_ITEMS = 100


class ErrorInBody(Exception):
    """An answer with status 200 that contains an error; `body` is the part with the error."""

    def __init__(self, body: Json) -> None:
        super().__init__("an error under status 200")
        self.body = json.dumps(_trim_error(body)).encode()


class WrongShape(Exception):
    """A part of a message has the wrong shape."""


def check_size(body: bytes) -> None:
    """Raise TornReply for a body with more parts than memory allows."""
    if len(body) > _UNCOUNTED_BYTES and body.count(b"{") > MAX_OBJECTS:
        raise TornReply(f"the answer has more than {MAX_OBJECTS} parts")


def short_model_name(name: object) -> str:
    """Return the model's name as the endpoint reports it, cut; "" for anything but a text."""
    if not isinstance(name, str):
        return ""
    name = name if len(name) <= MAX_MODEL_NAME_CHARS else cut_text(name, MAX_MODEL_NAME_CHARS)
    return _escape_name(name)


_escape_name = lru_cache(maxsize=64)(escape_surrogates)  # each reply repeats the same names


def check_counts(
    n_input: int, n_output: int, n_reasoning: int, n_cached: int, n_written: int = 0
) -> tuple[Usage, tuple[str, ...]]:
    """Return the counts; an impossible count becomes 0, and is marked.

    More cached tokens than input are input that the endpoint counts apart, as some proxies do.
    """
    if (
        0 <= n_input <= MAX_TOKENS
        and 0 <= n_output <= MAX_TOKENS
        and 0 <= n_reasoning <= MAX_TOKENS
        and 0 <= n_cached <= MAX_TOKENS
        and 0 <= n_written <= MAX_TOKENS
    ):
        n_apart = n_cached + n_written if n_cached + n_written > n_input else 0
        return Usage(
            input=n_input + n_apart,
            output=n_output,
            reasoning=n_reasoning,
            cached=n_cached,
            cache_written=n_written,
        ), ()
    counts = (n_input, n_output, n_reasoning, n_cached, n_written)
    names = ("input", "output", "reasoning", "cached", "cache_written")
    valid = {name: n for name, n in zip(names, counts, strict=True) if 0 <= n <= MAX_TOKENS}
    wrong = ", ".join(name for name in names if name not in valid)
    return Usage(**valid), (f"usage not counted, as it cannot be: {wrong}",)


class CostDetails(Struct):
    """What OpenRouter says of a cost: what the provider behind it charges for a request."""

    upstream_inference_cost: float | None = None


class ReportedCost(NamedTuple):
    """What an endpoint says that a reply costs, unchecked.

    `usd` is OpenRouter's `cost`, `ticks` are xAI's `cost_in_usd_ticks`. With a key of the user's
    own for the provider behind OpenRouter (`is_own_key`) `usd` is OpenRouter's fee alone, and
    `upstream_usd` is what that provider charges.
    """

    usd: object = None
    ticks: object = None
    is_own_key: object = None
    upstream_usd: object = None


class UsageWithCost(Protocol):
    """The fields of a wire's usage that say what a reply costs."""

    cost: float | None
    cost_in_usd_ticks: int | None
    is_byok: bool | None
    cost_details: CostDetails | None


def reported_cost(usage: UsageWithCost) -> ReportedCost:
    """Return what a usage that was decoded says of the cost."""
    upstream = usage.cost_details.upstream_inference_cost if usage.cost_details else None
    return ReportedCost(usage.cost, usage.cost_in_usd_ticks, usage.is_byok, upstream)


def add_cost(
    found: tuple[Usage, tuple[str, ...]], reported: ReportedCost
) -> tuple[Usage, tuple[str, ...]]:
    """Return the counts with the cost that the endpoint names; one that cannot be is marked.

    A fee without what the provider charges is no cost.
    """
    usd, ticks, is_own_key, upstream = reported
    value, unit = (usd, 1.0) if usd is not None else (ticks, USD_PER_TICK)
    if value is None:
        return found
    usage, defects = found
    more: object = upstream if is_own_key is True else 0.0
    if more is None:
        return found
    if _is_number(value) and _is_number(more):
        cost = value * unit + more
        if 0 <= cost <= MAX_COST_USD and more >= 0:
            return msgspec.structs.replace(usage, cost=float(cost)), defects
    return usage, (*defects, "cost not counted, as it cannot be")


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def add_loose_cost(
    found: tuple[Usage, tuple[str, ...]], usage: object
) -> tuple[Usage, tuple[str, ...]]:
    """Return the counts with the cost in loose JSON (`add_cost`)."""
    if not isinstance(usage, dict):
        return found
    details = usage.get("cost_details")
    upstream = details.get("upstream_inference_cost") if isinstance(details, dict) else None
    return add_cost(
        found,
        ReportedCost(
            usage.get("cost"), usage.get("cost_in_usd_ticks"), usage.get("is_byok"), upstream
        ),
    )


def token_count(usage: Any, *path: str) -> int:
    """Return a count at a path in loose JSON: 0 where it is absent, -1 where it is none."""
    value = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        return 0
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value <= MAX_TOKENS and value == int(value) else -1


def shorten_text(text: str | None, limit: int, label: str, defects: list[str]) -> str | None:
    """Return a text cut at the limit; what was cut is added to `defects`."""
    if text is None or len(text) <= limit:
        return text
    defects.append(f"{label}: {len(text)} characters, cut at {limit}")
    return cut_text(text, limit)


def cut_text(text: str, limit: int) -> str:
    """Return the beginning of a text with a note of its length."""
    return f"{text[:limit]} [cut: {len(text)} characters]"


CallTexts: TypeAlias = tuple[str, str, str]
"""Name, arguments and id of a call."""


def shorten_reply(
    text: str, reasoning: str, calls: list[CallTexts]
) -> tuple[str, str, list[CallTexts], tuple[str, ...]]:
    """Cut what is beyond the limits; also return descriptions of what was cut."""
    defects: list[str] = []
    text = shorten_text(text, MAX_TEXT_CHARS, "text", defects) or ""
    reasoning = shorten_text(reasoning, MAX_TEXT_CHARS, "reasoning", defects) or ""
    if len(calls) > MAX_CALLS:
        defects.append(f"calls: {len(calls)}, cut at {MAX_CALLS}")
    chars_left = MAX_ARGUMENTS_CHARS
    shortened: list[CallTexts] = []
    for name, arguments, call_id in calls[:MAX_CALLS]:
        limit = min(chars_left, MAX_TEXT_CHARS)
        arguments = shorten_text(arguments, limit, "arguments", defects) or ""
        chars_left = max(0, chars_left - len(arguments))
        name = shorten_text(name, MAX_NAME_CHARS, "name of a call", defects) or ""
        call_id = shorten_text(call_id, MAX_ID_CHARS, "id", defects) or ""
        shortened.append((name, arguments, call_id))
    return text, reasoning, shortened, tuple(dict.fromkeys(defects))


def make_calls(calls: list[CallTexts], names: ToolNames) -> tuple[Call, ...]:
    """Return the calls under the tools' own names."""
    return tuple(
        [
            Call(
                name=escape_surrogates(names.own_name(name)),
                arguments=escape_surrogates(arguments),
                id=escape_surrogates(call_id),
            )
            for name, arguments, call_id in calls
        ]
    )


def parse_object(body: bytes, rewrite_text: Callable[[str], str] | None = None) -> Json:
    """Parse a body with the standard library; raises TornReply if it is not a JSON object.

    `rewrite_text` makes JSON of what is none.
    """
    if len(body) > MAX_LOOSE_BYTES:
        raise TornReply(f"the answer is not as documented, and larger than {MAX_LOOSE_BYTES} bytes")
    try:
        text = body.decode("utf-8", "surrogatepass")
        text = rewrite_text(text) if rewrite_text else text
        decoded = json.loads(text, strict=False, parse_int=_parse_integer)
    except (ValueError, RecursionError, MemoryError):
        raise TornReply("the answer is not JSON") from None
    if not isinstance(decoded, dict):
        raise TornReply("the answer is not a JSON object")
    return decoded


def dump_json(value: Any) -> str:
    """Return a value of a body as JSON. Raises TornReply for one that is nested too deep."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        raise TornReply("the answer is nested too deep") from None


def dump_ascii(value: Any) -> str:
    """Return a value of a body as JSON of ASCII, in which lone surrogates have a form.

    Raises TornReply for one that is nested too deep.
    """
    try:
        return json.dumps(value)
    except RecursionError:
        raise TornReply("the answer is nested too deep") from None


def _parse_integer(digits: str) -> int | str:
    """Parse an integer; one that is too long for Python stays text."""
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


def _trim_error(value: Any, depth: int = 7) -> Any:
    """Return an error's value, cut to a size that can be processed."""
    match value:
        case str():
            return value[:_MAX_ERROR_CHARS]
        case dict() if depth:
            items = islice(value.items(), _MAX_ERROR_ITEMS)
            return {
                str(name)[:_MAX_ERROR_CHARS]: _trim_error(item, depth - 1) for name, item in items
            }
        case list() if depth:
            return [_trim_error(item, depth - 1) for item in value[:_MAX_ERROR_ITEMS]]
        case None | bool() | int() | float():
            return value
        case _:
            return "..."
