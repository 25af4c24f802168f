"""From a model's name as the user wrote it to a model that can be asked."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from toolmark.core import secrets, user_modules
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model, ReplyFunction
from toolmark.models import (
    audio_encoding,
    endpoint_address,
    installed_wires,
    provider_table,
    run_spending,
    user_model,
)
from toolmark.models.batches.batch_ledger import BatchLedger
from toolmark.models.batches.batched_endpoint import BatchedEndpoint
from toolmark.models.connection_defaults import (
    DEFAULT_CONNECTIONS,
    DEFAULT_RETRIES,
    TIMEOUT_S,
)
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.rate_limits import RateLimitedModel, RateLimiter
from toolmark.models.request_policies import (
    CachedModel,
    PacedModel,
    RetryingModel,
)
from toolmark.models.secret_mask import KEY_HEADERS
from toolmark.models.wire_names import WireName
from toolmark.models.wires.wire_registry import wire_by_name

_forbids_asking: ContextVar[bool] = ContextVar("forbids_asking", default=False)


@contextmanager
def forbid_asking(is_forbidden: bool = True) -> Iterator[None]:
    """Refuse endpoints in this context, other than those whose replies come from a cache alone.

    Judges and simulated users that are models are asked without the cache of the examined model.
    """
    token = _forbids_asking.set(is_forbidden)
    try:
        yield
    finally:
        _forbids_asking.reset(token)


def resolve_model(
    spec: str | ReplyFunction | type[Model],
    *,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    timeout_s: float = TIMEOUT_S,
    max_connections: int = DEFAULT_CONNECTIONS,
    max_retries: int = DEFAULT_RETRIES,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    cache: Path | None = None,
    replay_only: bool = False,
    media: MediaStore | None = None,
    audio: audio_encoding.AudioFormat = "wav",
    wire: WireName | None = None,
    stream: bool = False,
    needs_sound: bool = False,
    prompt_cache: bool | None = None,
    batches: BatchLedger | None = None,
) -> Model:
    """Return the model that `spec` names, or that it is, ready to be asked.

    An endpoint gets pacing, to limits per minute where they are given, retries and, if a folder is
    given, the cache. A user's `module:attribute`, a model of another package's wire and a model
    object get the same. A user's class or factory that takes `media` gets the store. An endpoint
    gets sound in the form `audio`, is asked on `wire`, else on the provider's own, and streams its
    replies with `stream`. `prompt_cache`: mark what an endpoint may store between requests; None
    where it is known to.
    With `batches` it is asked in batches, which that ledger records, and not paced.
    With `replay_only` every reply comes from the cache: the model is never asked, and an endpoint
    needs no key. This function does not know baselines and controls:
    `suites.model_registry.make_model` does. Raises UsageError.
    """
    audio_encoding.check_audio_format(audio)
    found: object
    if not isinstance(spec, str):
        found, identity = user_model.prepare_model(spec, media), user_model.identify_object(spec)
    elif user_modules.is_code_spec(spec):
        found = user_model.load_model(spec, media)
        identity = user_model.identify_spec(spec, found)
    elif entry := installed_wires.find_wire(spec):
        settings = installed_wires.WireSettings(
            base_url=base_url or "", headers=headers, timeout_s=timeout_s, media=media
        )
        found, identity = installed_wires.make_wire_model(entry, spec, settings)
    else:
        found = wire_model = make_endpoint_model(
            spec,
            base_url=base_url,
            headers=headers,
            timeout_s=timeout_s,
            media=media,
            audio=audio,
            replay_only=replay_only,
            wire=wire,
            stream=stream,
            needs_sound=needs_sound,
            prompt_cache=prompt_cache,
            batches=batches,
            max_retries=max_retries,
        )
        identity = user_model.ModelIdentity(wire_model.identity)
    model = user_model.adapt_object(found)
    if isinstance(model, Control):
        return model
    is_constructed = isinstance(spec, str | type)
    wrapped = (
        model
        if isinstance(model, EndpointModel)
        else user_model.UserModel(model, owns_model=is_constructed)
    )
    if replay_only:
        folder = check_replay_folder(cache)
        return _add_cache(wrapped, folder, identity, replay_only=True)
    paced: Model
    if isinstance(wrapped, BatchedEndpoint):
        paced = run_spending.join_run(wrapped)
    else:
        paced = _add_pacing(wrapped, max_connections, requests_per_minute, tokens_per_minute)
    retrying = RetryingModel(paced, max_retries)
    return _add_cache(retrying, cache, identity) if cache else retrying


def _add_pacing(
    model: Model,
    max_connections: int,
    requests_per_minute: float | None,
    tokens_per_minute: float | None,
) -> PacedModel:
    """Return the model with its limits; without limits per minute it has no wrapper for them."""
    inner = run_spending.join_run(model)
    if requests_per_minute is not None or tokens_per_minute is not None:
        limiter = RateLimiter(requests_per_minute, tokens_per_minute, read_clock=time.monotonic)
        inner = RateLimitedModel(inner, limiter)
        if isinstance(model, EndpointModel):
            model.before_repeat = limiter.take_turn
    paced = PacedModel(inner, max_connections)
    if isinstance(model, EndpointModel):
        model.watch_limits = paced.heed_limits
    return paced


def check_replay_folder(cache: Path | None) -> Path:
    """Return the folder of recorded replies. Raises UsageError where there is none."""
    if cache is None:
        raise UsageError("--replay-only takes replies from a folder: add --cache DIR")
    if not cache.is_dir():
        raise UsageError(
            f"{cache}: no such folder of recorded replies; next: record them, by the same command "
            "without --replay-only"
        )
    return cache


def _add_cache(
    model: Model, folder: Path, identity: user_model.ModelIdentity, *, replay_only: bool = False
) -> CachedModel:
    if not identity.is_unique:
        raise UsageError(
            f"the cache cannot distinguish {identity.name} from others: give yours a `.name`, or "
            "ask it as module:attribute"
        )
    return CachedModel(model, folder, identity.identity, replay_only=replay_only)


def make_endpoint_model(
    spec: str,
    *,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    timeout_s: float = TIMEOUT_S,
    media: MediaStore | None = None,
    audio: audio_encoding.AudioFormat = "wav",
    replay_only: bool = False,
    wire: WireName | None = None,
    stream: bool = False,
    needs_sound: bool = False,
    prompt_cache: bool | None = None,
    batches: BatchLedger | None = None,
    max_retries: int = DEFAULT_RETRIES,
) -> EndpointModel:
    """Return the wire to `PROVIDER/NAME` or `http(s)://HOST:PORT/v1#NAME`, without policies.

    A provider's key is sent only to the provider, or to the address that the user gave for it by
    `base_url` (for OpenAI also by OPENAI_BASE_URL). An address in the spec gets TOOLMARK_API_KEY.
    With `replay_only` the model is never asked, so it needs no key. With `batches` it is a
    BatchedEndpoint. Raises UsageError.
    """
    if _forbids_asking.get() and not replay_only:
        raise UsageError(
            f"{secrets.mask_model_spec(spec)} would be asked, and --replay-only asks no model: the "
            "cache holds the replies of the examined model alone"
        )
    location = endpoint_address.resolve_address(spec, base_url, wire, needs_sound=needs_sound)
    key = os.environ.get(location.key_name, "").strip()
    has_credentials = key or any(header.lower() in KEY_HEADERS for header, _ in headers)
    if location.needs_key and not has_credentials and not replay_only:
        raise UsageError(f"no key for {spec}: set {location.key_name}")
    profile = provider_table.profile_for_url(location.url, location.name, location.wire)
    if prompt_cache is not None:
        profile = replace(profile, caches_prompts=prompt_cache)
    settings: dict[str, Any] = {
        "wire": wire_by_name(location.wire),
        "is_stream": stream,
        "key": key,
        "key_name": location.key_name,
        "headers": dict(headers),
        "timeout_s": timeout_s,
        "media": media,
        "name": secrets.mask_model_spec(
            spec if endpoint_address.is_provider_spec(spec) else location.name
        ),
        "wire_profile": replace(profile, audio_form=audio),
    }
    if batches is not None:
        return BatchedEndpoint(
            location.url, location.name, ledger=batches, max_retries=max_retries, **settings
        )
    return EndpointModel(location.url, location.name, **settings)


def find_endpoint(
    spec: str,
    base_url: str | None,
    wire: WireName | None = None,
    *,
    needs_sound: bool = False,
) -> endpoint_address.EndpointAddress | None:
    """Return where a model is asked; None for one in this process or on another package's wire.

    Raises UsageError.
    """
    if spec.startswith(("baseline/", "control/")) or user_modules.is_code_spec(spec):
        return None
    if installed_wires.find_wire(spec):
        return None
    return endpoint_address.resolve_address(spec, base_url, wire, needs_sound=needs_sound)


def public_model_address(
    spec: str,
    base_url: str | None,
    wire: WireName | None = None,
    *,
    needs_sound: bool = False,
) -> str:
    """Return the address of a model as it may be stored; "" for a model in this process.

    OPENAI_BASE_URL is used. The address never contains credentials, and what looks like a key in
    its path is masked. Raises UsageError.
    """
    if not user_modules.is_code_spec(spec) and installed_wires.find_wire(spec):
        return installed_wires.public_wire_address(base_url)
    found = find_endpoint(spec, base_url, wire, needs_sound=needs_sound)
    return secrets.mask_address(found.url) if found is not None else ""


def wire_of_model(
    spec: str, base_url: str | None, wire: WireName | None, *, needs_sound: bool = False
) -> WireName | None:
    """Return the wire on which a model is asked; None for a model in this process.

    Raises UsageError.
    """
    found = find_endpoint(spec, base_url, wire, needs_sound=needs_sound)
    return found.wire if found is not None else None
