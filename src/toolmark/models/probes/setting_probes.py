"""Whether the settings that suites use are taken, and tokens are counted."""

from __future__ import annotations

from msgspec.structs import replace

from toolmark.core.errors import EndpointError
from toolmark.core.records import Check, Reply, Request
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.probes import probe_requests
from toolmark.models.probes.probe_requests import PROBE_SAMPLING

_VARYING_STEP = "replies vary from run to run: raise --repeats"


async def probe_sampling(model: EndpointModel, request: Request) -> Check:
    """Try the settings that suites use; the wire then leaves out what the model refuses."""
    name = "temperature 0"
    sampling = replace(PROBE_SAMPLING, temperature=0.0, top_p=1.0)
    try:
        await model(replace(request, sampling=sampling))
    except EndpointError as error:
        return probe_requests.fail_check(name, error)
    if "temperature" in model.unsent_settings:
        omitted = " and ".join(sorted(model.unsent_settings))
        detail = f"not sent: this provider's profile leaves out {omitted}, at the model's default"
        return Check(name=name, status="warn", detail=detail, next_step=_VARYING_STEP)
    refused = model.settings_refused_once & {"temperature", "top_p"}
    if "temperature" in refused:
        omitted = " and ".join(sorted(refused))
        detail = (
            f"refused by the endpoint, so requests go without {omitted}, at the model's default"
        )
        return Check(name=name, status="warn", detail=detail, next_step=_VARYING_STEP)
    omitted = "; top_p is refused and left out" if "top_p" in refused else ""
    if "top_p" in model.unsent_settings:
        omitted = "; top_p is not sent: this provider's profile leaves it out"
    return Check(name=name, status="ok", detail=f"accepted{omitted}")


def check_usage(reply: Reply) -> Check:
    """Check whether a reply says how many tokens it took."""
    used = reply.usage
    if used.input and used.output:
        detail = f"{used.input} tokens in, {used.output} out in the first probe"
        return Check(name="usage", status="ok", detail=detail)
    detail = "the endpoint does not count tokens"
    step = "a run will show no token counts"
    return Check(name="usage", status="warn", detail=detail, next_step=step)
