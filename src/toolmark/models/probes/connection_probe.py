"""Whether an endpoint answers, accepts the key and knows the model."""

from __future__ import annotations

from toolmark.core.errors import EndpointError, Rejected, suggest_names
from toolmark.core.number_format import format_count
from toolmark.core.records import Check
from toolmark.models.endpoint_model import EndpointModel


async def probe_connection(model: EndpointModel) -> list[Check]:
    """Check that the endpoint answers, accepts the key and knows the model."""
    try:
        names = await model.list_models()
    except Rejected as error:
        reachable = Check(name="reachable", status="ok", detail=model.public_url)
        step = f"set {model.key_name} to a key that this endpoint knows"
        return [reachable, Check(name="key", status="fail", detail=str(error), next_step=step)]
    except EndpointError as error:
        step = "is the server up, and is the address (it usually ends in /v1) right?"
        return [Check(name="reachable", status="fail", detail=str(error), next_step=step)]
    reachable = Check(name="reachable", status="ok", detail=model.public_url)
    if names is None:
        detail = (
            "the endpoint does not list its models; the next probe shows whether it has this one"
        )
        return [reachable, Check(name="model", status="warn", detail=detail)]
    detail = "accepted" if model.sends_key else f"none is sent, as {model.key_name} is not set"
    key = Check(name="key", status="ok", detail=detail)
    if model.model in names:
        return [
            reachable,
            key,
            Check(name="model", status="ok", detail=f"{model.model} is offered"),
        ]
    detail = (
        f"{model.model!r} is not among the {format_count(len(names))} "
        f"models{suggest_names(model.model, names)}"
    )
    # some servers accept names that they do not list, so this alone is not a failure
    step = "correct the name if the next probe fails"
    return [reachable, key, Check(name="model", status="warn", detail=detail, next_step=step)]
