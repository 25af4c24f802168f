"""Whether tool calls arrive: one, two at once, and of a tool with a dot in its name."""

from __future__ import annotations

from msgspec.structs import replace

from toolmark.core.errors import EndpointError, Rejected
from toolmark.core.number_format import pluralize
from toolmark.core.records import Check, Reply, Request
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.probes import probe_requests
from toolmark.models.probes.probe_requests import ONE_CITY_QUESTION, TOOL_NAME, TextExplainer


async def probe_tool_calls(
    model: EndpointModel, request: Request, explain_text: TextExplainer | None
) -> tuple[Check, Reply | None]:
    """Ask for one call; the reply is None where there was none."""
    name = "tool calls"
    try:
        reply = await model(request)
    except EndpointError as error:
        return probe_requests.fail_check(name, error), None
    if reply.calls and reply.calls[0].name == TOOL_NAME:
        detail = f"{reply.calls[0].name}({reply.calls[0].arguments[:80]})"
        return Check(name=name, status="ok", detail=detail), reply
    if explain_text and (explained := explain_text(reply, TOOL_NAME)):
        found, step = explained
        return Check(name=name, status="fail", detail=found, next_step=step), reply
    detail = f"no call came back ({reply.stop}): {probe_requests.quote_text(reply.text)}"
    step = (
        "switch on the server's tool parser (vLLM: --enable-auto-tool-choice and"
        " --tool-call-parser; llama.cpp: --jinja), or use --tool-format prompt"
    )
    return Check(name=name, status="fail", detail=detail, next_step=step), reply


async def probe_parallel_calls(
    model: EndpointModel, request: Request
) -> tuple[Check, Reply | None]:
    """Ask for two calls in one reply; the reply is None where there was none."""
    name = "parallel calls"
    try:
        reply = await model(request)
    except EndpointError as error:
        return probe_requests.fail_check(name, error), None
    n = len(reply.calls)
    if n < 2:
        detail = f"{pluralize(n, 'call')} in one reply where two were asked for"
        step = "expect low parallel scores"
        return Check(name=name, status="warn", detail=detail, next_step=step), reply
    # Gemini pairs results with calls by their order, and gives no ids
    if model.wire.name != "gemini" and not probe_requests.has_distinct_ids(reply):
        ids = ", ".join(repr(call.id) for call in reply.calls)
        detail = f"{n} calls in one reply, whose ids are missing or the same: {ids}"
        step = "toolmark gives them ids of its own; is the server's tool parser up to date?"
        return Check(name=name, status="warn", detail=detail, next_step=step), reply
    return Check(name=name, status="ok", detail=f"{n} calls in one reply"), reply


async def probe_dotted_names(model: EndpointModel) -> Check:
    """Try a tool name with a dot unchanged; the wire changes it unless the profile allows dots."""
    name = "dots in names"
    if model.wire.sends_dots:
        return await _probe_sent_dots(name, model)
    dotted = model.with_profile(replace(model.profile, allows_dots=True))
    try:
        reply = await dotted(probe_requests.make_request(ONE_CITY_QUESTION, "weather.get"))
    except Rejected:
        detail = "refused by the endpoint, so weather.get is sent as weather_get and mapped back"
        return Check(name=name, status="ok", detail=detail)
    except EndpointError as error:
        return replace(probe_requests.fail_check(name, error), status="warn")
    if any(call.name == "weather.get" for call in reply.calls):
        detail = "accepted; weather.get is sent as weather_get all the same, and mapped back"
        return Check(name=name, status="ok", detail=detail)
    detail = (
        "not refused, but no call came back; weather.get is sent as weather_get, and mapped back"
    )
    return Check(name=name, status="ok", detail=detail)


async def _probe_sent_dots(name: str, model: EndpointModel) -> Check:
    """Try a tool name with a dot on a wire that sends names so."""
    try:
        await model(probe_requests.make_request(ONE_CITY_QUESTION, "weather.get"))
    except EndpointError as error:
        return replace(probe_requests.fail_check(name, error), status="warn")
    return Check(name=name, status="ok", detail="accepted; weather.get is sent as it is")
