"""What all probes share: the requests they send, and how they show an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from toolmark.core.errors import EndpointError, Rejected
from toolmark.core.records import Check, Message, Part, Reply, Request, Sampling, Text, Tool
from toolmark.models import complaint_rules

TextExplainer: TypeAlias = Callable[[Reply, str], tuple[str, str] | None]
"""Takes a reply and the name of a tool: says what call stands in the text, and the next step."""

PROBE_SAMPLING = Sampling(max_tokens=2048)  # enough for a model that thinks first
TOOL_NAME = "get_weather"
ONE_CITY_QUESTION = "What is the weather in Paris? Use the tool."
PLAIN_QUESTION = "Name three large cities."
TWO_CITIES_QUESTION = (
    "What is the weather in Paris and in Rome? Call the tool once for each, at once."
)
_WEATHER_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
_MAX_QUOTED_CHARS = 120


def make_request(text: str, tool: str = TOOL_NAME) -> Request:
    """Return a question with one tool, which tells the weather in a city."""
    return Request(
        messages=(Message(role="user", parts=(Text(text),)),),
        tools=(
            Tool(name=tool, description="Tell the weather in a city.", parameters=_WEATHER_SCHEMA),
        ),
        sampling=PROBE_SAMPLING,
    )


def add_results(request: Request, reply: Reply, results: Sequence[str]) -> Request:
    """Return the request of the next step: what was replied, whole, and a result of each call."""
    parts: tuple[Part, ...] = (Text(reply.text),) if reply.text else ()
    calls = reply.calls
    if not has_distinct_ids(reply):
        calls = tuple(replace(call, id=f"call_{index}") for index, call in enumerate(calls))
    said = Message(role="assistant", parts=parts, calls=calls, provider_state=reply.provider_state)
    answers = tuple(
        Message(role="tool", parts=(Text(result),), call_id=call.id)
        for call, result in zip(calls, results, strict=True)
    )
    return replace(request, messages=(*request.messages, said, *answers))


def has_distinct_ids(reply: Reply) -> bool:
    """Return whether each call of a reply has an id of its own."""
    ids = {call.id for call in reply.calls}
    return len(ids) == len(reply.calls) and "" not in ids


def fail_check(name: str, error: EndpointError) -> Check:
    """Return the check of a probe that got no reply."""
    return Check(name=name, status="fail", detail=str(error), next_step=next_step(error))


def next_step(error: EndpointError) -> str:
    """Return what to do about an error; most refusals say it themselves."""
    if not isinstance(error, Rejected):
        return "try again; raise --timeout if it was too slow"
    return "run with --tool-format prompt, which sends no tools" if error.subject == "tools" else ""


def endpoint_complaint(error: EndpointError) -> str:
    """Return what the endpoint said, without the next step that toolmark added to it."""
    text = str(error)
    for rule in complaint_rules.load_table().rules:
        if rule.next_step:
            text = text.removesuffix(f"; {rule.next_step}")
    return text


def quote_text(text: str) -> str:
    """Return the beginning of what a model said, in quotes."""
    return repr(text[:_MAX_QUOTED_CHARS])
