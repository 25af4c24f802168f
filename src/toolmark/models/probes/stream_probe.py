"""Whether a streamed reply is the reply that comes whole: calls, finish, usage, thoughts."""

from __future__ import annotations

from toolmark.core.errors import EndpointError
from toolmark.core.number_format import format_duration, pluralize
from toolmark.core.records import Check, Reply, Request
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.probes import probe_requests
from toolmark.models.wires.request_parts import is_json

_NAME = "streaming"
_MAX_TOKEN_RATIO = 1.1  # of prompt tokens for one request; some endpoints count a little anew
_PLAIN_STEP = "run without --stream"


async def probe_stream(other: EndpointModel, request: Request, reply: Reply) -> Check:
    """Ask again for a reply that came whole, this time streamed, or the other way round.

    `other` is the model in the other way. Where only the calls differ, it is asked twice: a model
    need not call the same twice.
    """
    try:
        second = await other(request)
        differences = _list_differences(*_order_replies(other, reply, second))
        if differences and _calls_differ(reply, second):
            second = await other(request)
            differences = _list_differences(*_order_replies(other, reply, second))
    except EndpointError as error:
        if not other.is_stream:
            return probe_requests.fail_check(_NAME, error)
        detail = f"the stream breaks: {error}"
        return Check(name=_NAME, status="warn", detail=detail, next_step=_PLAIN_STEP)
    streamed = second if other.is_stream else reply
    if differences:
        detail = f"the streamed reply is not the whole one: {'; '.join(differences)}"
        # a run that streams would take the wrong replies
        return Check(
            name=_NAME,
            status="warn" if other.is_stream else "fail",
            detail=detail,
            next_step=_PLAIN_STEP,
        )
    if streamed.first_token_s is None:
        detail = "accepted, but the reply comes whole: no time to the first token"
        return Check(name=_NAME, status="warn", detail=detail, next_step=_PLAIN_STEP)
    detail = (
        f"as whole: calls, finish, usage; first token after "
        f"{format_duration(streamed.first_token_s)} of {format_duration(streamed.latency_s)}"
    )
    return Check(name=_NAME, status="ok", detail=detail)


def _order_replies(other: EndpointModel, first: Reply, second: Reply) -> tuple[Reply, Reply]:
    """Return the whole reply and the streamed one."""
    return (first, second) if other.is_stream else (second, first)


def _calls_differ(whole: Reply, streamed: Reply) -> bool:
    return sorted(call.name for call in whole.calls) != sorted(c.name for c in streamed.calls)


def _list_differences(whole: Reply, streamed: Reply) -> list[str]:
    """Return what the streamed reply lacks of the whole one, or has otherwise."""
    found: list[str] = []
    if _calls_differ(whole, streamed):
        n_whole, n_streamed = len(whole.calls), len(streamed.calls)
        if n_whole != n_streamed:
            found.append(f"{pluralize(n_streamed, 'call')} instead of {n_whole}")
        else:
            names = ", ".join(call.name for call in streamed.calls)
            found.append(f"calls of other tools: {names}")
    broken = [call for call in streamed.calls if not is_json(call.arguments)]
    if broken and all(is_json(call.arguments) for call in whole.calls):
        found.append(
            f"arguments that are no JSON: {probe_requests.quote_text(broken[0].arguments)}"
        )
    if whole.stop != streamed.stop:
        found.append(f"it ends as {streamed.stop} instead of {whole.stop}")
    if whole.provider_state is not None and streamed.provider_state is None:
        found.append("thoughts are missing")
    found += _usage_differences(whole, streamed)
    return found


def _usage_differences(whole: Reply, streamed: Reply) -> list[str]:
    counted, other = whole.usage, streamed.usage
    if counted.input and counted.output and not (other.input and other.output):
        return ["usage is missing"]
    low, high = sorted((counted.input, other.input))
    if high > low * _MAX_TOKEN_RATIO:
        return [f"{other.input} prompt tokens instead of {counted.input}"]
    return []
