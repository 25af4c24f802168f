"""Whether replies hold thoughts, under which name, and whether they are read when sent back."""

from __future__ import annotations

from msgspec.structs import replace

from toolmark.core.errors import EndpointError, Rejected
from toolmark.core.number_format import pluralize
from toolmark.core.records import Check, Reply
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.probes import probe_requests, state_members
from toolmark.models.probes.result_probes import ResultStep

_NAME = "reasoning"
_MIN_READABLE_CHARS = 20  # of thoughts that must show in the number of prompt tokens
_THINK_TAGS = ("<think>", "</think>")


async def probe_reasoning(model: EndpointModel, first: Reply, second: ResultStep | None) -> Check:
    """Check the thoughts of a reply with a call, and of the step after it, if there was one.

    The second request is sent once more without the thoughts: it must be refused, or take fewer
    tokens, unless the endpoint does not read them.
    """
    names = " and ".join(state_members.carried_members(first))
    if not names:
        return _check_without_state(model, first)
    if model.profile.history == "none" or "reasoning_history" in model.settings_refused_once:
        detail = f"thoughts come as {names}; the endpoint takes none back, so none are sent"
        return Check(name=_NAME, status="ok", detail=detail)
    comes = f"thoughts come as {names} and go back"
    if second is None or second.reply is None:
        return Check(name=_NAME, status="ok", detail=comes)
    messages = tuple(replace(message, provider_state=None) for message in second.request.messages)
    try:
        bare = await model(replace(second.request, messages=messages))
    except Rejected:
        detail = f"{comes}; a conversation without them is refused"
        return Check(name=_NAME, status="ok", detail=detail)
    except EndpointError as error:
        return Check(
            name=_NAME, status="warn", detail=f"{comes}; without them: {error}",
            next_step=probe_requests.next_step(error),
        )  # fmt: skip
    return _compare_tokens(comes, names, first, second.reply, bare)


def _compare_tokens(comes: str, names: str, first: Reply, carried: Reply, bare: Reply) -> Check:
    """Return whether the endpoint read the thoughts: then they are part of its prompt tokens."""
    n_carried, n_bare = carried.usage.input, bare.usage.input
    if n_carried > n_bare > 0:
        detail = f"{comes}: {pluralize(n_carried - n_bare, 'prompt token')} more than without them"
        return Check(name=_NAME, status="ok", detail=detail)
    if not n_carried or not n_bare:
        detail = f"{comes}; no token counts show whether they are read"
        return Check(name=_NAME, status="ok", detail=detail)
    if len(first.reasoning) < _MIN_READABLE_CHARS:
        detail = f"{comes}; the token counts do not show whether they are read"
        return Check(name=_NAME, status="ok", detail=detail)
    detail = (
        f"{comes}, and are not read: {pluralize(n_carried, 'prompt token')} with them, "
        f"{n_bare} without"
    )
    step = (
        "the model forgets its thoughts at each call: does the server's chat template take "
        f"{names} of earlier messages, and does a proxy in between pass it on?"
    )
    return Check(name=_NAME, status="warn", detail=detail, next_step=step)


def _check_without_state(model: EndpointModel, first: Reply) -> Check:
    """Return the check of a reply with nothing that must go back next to its text and calls."""
    if any(tag in first.text for tag in _THINK_TAGS):
        detail = "thoughts come as <think> in the text, and go back with it"
        return Check(name=_NAME, status="ok", detail=detail)
    if first.reasoning:
        detail = "thoughts come, and nothing that could go back: they are shown in reports only"
        return Check(name=_NAME, status="ok", detail=detail)
    if not first.usage.reasoning:
        return Check(name=_NAME, status="ok", detail="the reply holds no thoughts")
    detail = (
        f"{pluralize(first.usage.reasoning, 'token')} of thoughts are counted, and none come: they "
        "cannot go back"
    )
    step = "the model starts to think anew after each call"
    if model.wire.name == "chat":
        step += "; if the provider offers the Responses API: --wire responses returns them"
    return Check(name=_NAME, status="warn", detail=detail, next_step=step)
