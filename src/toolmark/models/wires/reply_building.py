"""What the decoders of wires whose replies are lists of parts share: a Reply of what they read."""

from __future__ import annotations

from typing import NamedTuple

from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Adaptation, ProviderState, Reply, StopReason, Usage
from toolmark.models.wires import reply_parts
from toolmark.models.wires.reply_parts import CallTexts
from toolmark.models.wires.tool_names import ToolNames


class ReplyContent(NamedTuple):
    """What a reply said, and its parts as they go back, "" for none."""

    text: str
    reasoning: str
    calls: list[CallTexts]
    state: str = ""


class ReplyEnvelope(NamedTuple):
    """What a reply says of itself; `adaptations` is what the endpoint left out of the request."""

    stop: StopReason
    finish: str
    model: str
    usage: Usage
    defects: tuple[str, ...]
    request_id: str = ""
    adaptations: tuple[Adaptation, ...] = ()


def build_reply(
    content: ReplyContent,
    envelope: ReplyEnvelope,
    state: ProviderState | None,
    names: ToolNames,
    latency_s: float,
    *,
    is_long: bool,
) -> Reply:
    """Return the Reply; what of a long body is beyond the limits is cut, and its defects say so."""
    text, reasoning, calls, _ = content
    stop, defects = envelope.stop, envelope.defects
    if is_long:
        text, reasoning, calls, cut = reply_parts.shorten_reply(text, reasoning, calls)
        defects = cut + defects
        stop = "length" if cut and stop == "stop" else stop
    return Reply(
        text=escape_surrogates(text),
        calls=reply_parts.make_calls(calls, names),
        stop=stop,
        reasoning=escape_surrogates(reasoning),
        usage=envelope.usage,
        latency_s=latency_s,
        model=envelope.model,
        defects=defects,
        provider_state=state,
        finish=envelope.finish,
        request_id=envelope.request_id,
        adaptations=envelope.adaptations,
    )
