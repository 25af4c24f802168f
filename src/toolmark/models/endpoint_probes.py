"""Probes of an endpoint before money is spent: what works, what fails, and the next step."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random, SystemRandom

from msgspec.structs import replace

from toolmark.core import secrets, user_modules
from toolmark.core.errors import EndpointError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Check, Reply, Request
from toolmark.models import installed_wires, model_resolver
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.probes import (
    connection_probe,
    media_probes,
    probe_requests,
    reasoning_probe,
    result_probes,
    setting_probes,
    stream_probe,
    tool_call_probes,
    wire_probe,
)
from toolmark.models.probes.probe_requests import TextExplainer
from toolmark.models.probes.result_probes import ResultStep
from toolmark.models.wire_names import WIRE_NAMES, WireName

_USUAL_ENDING = "/v1"  # of an address


async def probe_endpoint(
    spec: str,
    *,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    timeout_s: float = 60.0,
    explain_text: TextExplainer | None = None,
    wire: WireName | None = None,
    stream: bool = False,
) -> list[Check]:
    """Probe the endpoint that `spec` names; raises UsageError if it names none.

    `explain_text` reads a call that came back as text. `wire` and `stream` are as a run's. At an
    address of the user, each wire is tried unless one is given.
    """
    _check_probed(spec)
    with tempfile.TemporaryDirectory() as folder:
        media = MediaStore(Path(folder))
        ask = partial(
            model_resolver.make_endpoint_model,
            base_url=base_url,
            headers=headers,
            timeout_s=timeout_s,
            media=media,
        )
        make = partial(ask, spec)
        checks: list[Check] = []
        chosen, is_own = wire, _is_own_address(spec, base_url)
        if wire is None and is_own:
            checks, chosen = await _find_wire(make, wire)
            if any(check.status == "fail" for check in checks):
                return [await _find_longer_address(spec, ask, check) for check in checks]
        model = make(wire=chosen, stream=stream)
        other = make(wire=chosen, stream=not stream)
        try:
            checks += await probe_model(model, media, other=other, explain_text=explain_text)
        finally:
            await model.close()
            await other.close()
        if wire is not None and is_own and _has_failed(checks, "tool calls"):
            checks = (await _find_wire(make, wire))[0] + checks
        return checks


async def probe_model(
    model: EndpointModel,
    media: MediaStore,
    rng: Random | None = None,
    *,
    other: EndpointModel | None = None,
    explain_text: TextExplainer | None = None,
) -> list[Check]:
    """Probe a model that reads its media from `media`; each probe fails independently.

    `other` is the same model, streamed where `model` is not, or the other way round; without it
    streaming is not probed. Stops early if nothing further can work: endpoint not reachable, key
    refused, no such model. The endpoint's messages are shown without secrets and control
    characters. `rng` draws the contents of results, pictures and sounds; by default they differ
    each time, so that no cache knows them.
    """
    checks = await connection_probe.probe_connection(model)
    if not any(check.status == "fail" for check in checks):
        checks += await _probe_replies(model, media, rng or SystemRandom(), other, explain_text)
    return [replace(check, detail=model.mask(check.detail)) for check in checks]


async def _probe_replies(
    model: EndpointModel,
    media: MediaStore,
    rng: Random,
    other: EndpointModel | None,
    explain_text: TextExplainer | None,
) -> list[Check]:
    request = probe_requests.make_request(probe_requests.ONE_CITY_QUESTION)
    check, reply = await tool_call_probes.probe_tool_calls(model, request, explain_text)
    checks = [check]
    if reply is None:
        return checks + await _probe_without_tools(model, media, rng, other)
    step: ResultStep | None = None
    if reply.calls:
        step = await result_probes.probe_results(
            "two steps", model, request, reply, rng, explain_text
        )
        checks.append(step.check)
    checks.append(await reasoning_probe.probe_reasoning(model, reply, step))
    takes_results = not _has_failed(checks, "two steps")
    checks += await _probe_parallel(
        model, rng, other, explain_text, reply, takes_results=takes_results
    )
    checks.append(await tool_call_probes.probe_dotted_names(model))
    return checks + await _probe_other(model, media, rng, request, reply)


async def _probe_other(
    model: EndpointModel, media: MediaStore, rng: Random, request: Request, reply: Reply
) -> list[Check]:
    """Probe what does not depend on tools; `reply` is that to the request."""
    return [
        await setting_probes.probe_sampling(model, request),
        await media_probes.probe_image(model, media, rng),
        await media_probes.probe_audio(model, media, rng),
        setting_probes.check_usage(reply),
    ]


async def _probe_without_tools(
    model: EndpointModel, media: MediaStore, rng: Random, other: EndpointModel | None
) -> list[Check]:
    """Probe a model that refuses a request with tools; nothing where it refuses any request."""
    request = replace(probe_requests.make_request(probe_requests.PLAIN_QUESTION), tools=())
    try:
        reply = await model(request)
    except EndpointError:
        return []
    streamed = [] if other is None else [await stream_probe.probe_stream(other, request, reply)]
    return streamed + await _probe_other(model, media, rng, request, reply)


async def _probe_parallel(
    model: EndpointModel,
    rng: Random,
    other: EndpointModel | None,
    explain_text: TextExplainer | None,
    single: Reply,
    *,
    takes_results: bool,
) -> list[Check]:
    """Probe two calls at once, their results, and the same reply streamed.

    Where the result of one call was refused, those of two are not sent.
    """
    request = probe_requests.make_request(probe_requests.TWO_CITIES_QUESTION)
    check, reply = await tool_call_probes.probe_parallel_calls(model, request)
    checks = [check]
    if takes_results and reply is not None and len(reply.calls) > 1:
        step = await result_probes.probe_results(
            "parallel results", model, request, reply, rng, explain_text
        )
        checks.append(step.check)
    if reply is None:  # the question with one call was answered
        request = probe_requests.make_request(probe_requests.ONE_CITY_QUESTION)
        reply = single
    if other is not None:
        checks.append(await stream_probe.probe_stream(other, request, reply))
    return checks


def _check_probed(spec: str) -> None:
    """Raise UsageError for a model that is no endpoint of toolmark's wires."""
    if spec.startswith(("baseline/", "control/")):
        raise UsageError(f"{spec} is no endpoint: there is nothing to probe")
    entry = installed_wires.find_wire(spec)
    if entry or user_modules.is_code_spec(spec):
        owner = f"of package {entry.source}" if entry else "your code"
        raise UsageError(
            f"{spec} is {owner}, and doctor probes endpoints; next: try it on one task: "
            f"toolmark run SUITE -m {spec} --limit 1"
        )


def _is_own_address(spec: str, base_url: str | None) -> bool:
    """Return whether the address is the user's, so that its wire is not known."""
    by_variable = spec.startswith("openai/") and bool(os.environ.get("OPENAI_BASE_URL"))
    return bool(base_url) or by_variable or spec.startswith(("http://", "https://"))


def _has_failed(checks: Sequence[Check], name: str) -> bool:
    return any(check.name == name and check.status == "fail" for check in checks)


async def _find_longer_address(
    spec: str, make: Callable[..., EndpointModel], failed: Check
) -> Check:
    """Return the check of an address where no wire answers, with the address where one does."""
    url, sign, name = spec.partition("#")
    if not sign or url.rstrip("/").endswith(_USUAL_ENDING):
        return failed
    longer = f"{url.rstrip('/')}{_USUAL_ENDING}#{name}"
    checks, chosen = await _find_wire(partial(make, longer), None)
    if chosen is None or any(check.status == "fail" for check in checks):
        return failed
    shown = secrets.mask_model_spec(longer)
    return replace(failed, next_step=f"{chosen} answers at another address: -m {shown}")


async def _find_wire(
    make: Callable[..., EndpointModel], given: WireName | None
) -> tuple[list[Check], WireName | None]:
    """Return the check of which wire answers, and that wire; None for the one of a run.

    `given` is the wire that the user chose. An address that ends in the path of a wire says itself
    which it is: then nothing is asked.
    """
    asked = make(wire=given)
    try:
        models = [make(wire=each) for each in WIRE_NAMES]
    except UsageError:
        await asked.close()
        return [], None
    try:
        answers = await wire_probe.ask_wires(models)
    finally:
        for each in (asked, *models):
            await each.close()
    check = wire_probe.check_wires(answers, asked.wire.name, is_given=given is not None)
    checks = [] if check is None else [check]
    return checks, wire_probe.choose_wire(answers)
