"""From a model's name as the user wrote it to a model that can be asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from toolmark.core import secrets, user_modules
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model, ReplyFunction
from toolmark.models import audio_encoding, endpoint_address, provider_table, user_model
from toolmark.models.connection_defaults import (
    DEFAULT_CONNECTIONS,
    DEFAULT_RETRIES,
    TIMEOUT_S,
)
from toolmark.models.request_policies import CachedModel, PacedModel, RetryingModel
from toolmark.models.wires.chat_completions import KEY_HEADERS, ChatCompletionsModel


def resolve_model(
    spec: str | ReplyFunction | type[Model],
    *,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    timeout_s: float = TIMEOUT_S,
    max_connections: int = DEFAULT_CONNECTIONS,
    max_retries: int = DEFAULT_RETRIES,
    cache: Path | None = None,
    media: MediaStore | None = None,
    audio: audio_encoding.AudioFormat = "wav",
) -> Model:
    """Return the model that `spec` names, or that it is, ready to be asked.

    An endpoint gets pacing, retries and, if a folder is given, the cache. A user's
    `module:attribute` and a model object get the same. A user's class or factory that takes `media`
    gets the store. An endpoint gets sound in the form `audio`. This function does not know
    baselines and controls: `toolmark.suites.model_registry.make_model` does. Raises UsageError.
    """
    audio_encoding.check_audio_format(audio)
    found: object
    if not isinstance(spec, str):
        found, identity = user_model.prepare_model(spec, media), user_model.identify_object(spec)
    elif user_modules.is_module_spec(spec):
        found = user_model.load_model(spec, media)
        identity = user_model.identify_spec(spec, found)
    else:
        found = wire_model = make_endpoint_model(
            spec, base_url=base_url, headers=headers, timeout_s=timeout_s, media=media, audio=audio
        )
        identity = user_model.ModelIdentity(wire_model.identity)
    model = user_model.adapt_object(found)
    if isinstance(model, Control):
        return model
    is_constructed = isinstance(spec, str | type)
    wrapped = (
        model
        if isinstance(model, ChatCompletionsModel)
        else user_model.UserModel(model, owns_model=is_constructed)
    )
    paced = RetryingModel(PacedModel(wrapped, max_connections), max_retries)
    return _add_cache(paced, cache, identity) if cache else paced


def _add_cache(model: Model, folder: Path, identity: user_model.ModelIdentity) -> CachedModel:
    if not identity.is_unique:
        raise UsageError(
            f"the cache cannot distinguish {identity.name} from others: give yours a `.name`, or "
            "ask it as module:attribute"
        )
    return CachedModel(model, folder, identity.identity)


def make_endpoint_model(
    spec: str,
    *,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    timeout_s: float = TIMEOUT_S,
    media: MediaStore | None = None,
    audio: audio_encoding.AudioFormat = "wav",
) -> ChatCompletionsModel:
    """Return the wire to `PROVIDER/NAME` or `http(s)://HOST:PORT/v1#NAME`, without policies.

    A provider's key is sent only to the provider, or to the address that the user gave for it by
    `base_url` (for OpenAI also by OPENAI_BASE_URL). An address in the spec gets TOOLMARK_API_KEY.
    """
    location = endpoint_address.resolve_address(spec, base_url)
    key = os.environ.get(location.key_name, "").strip()
    has_credentials = key or any(header.lower() in KEY_HEADERS for header, _ in headers)
    if location.needs_key and not has_credentials:
        raise UsageError(f"no key for {spec}: set {location.key_name}")
    return ChatCompletionsModel(
        location.url,
        location.name,
        key=key,
        key_name=location.key_name,
        headers=dict(headers),
        timeout_s=timeout_s,
        media=media,
        name=secrets.mask_model_spec(
            spec if endpoint_address.is_provider_spec(spec) else location.name
        ),
        wire_profile=replace(provider_table.profile_for_url(location.url), audio_form=audio),
    )


def public_model_address(spec: str, base_url: str | None) -> str:
    """Return the address of a model as it may be stored; "" for a model in this process.

    OPENAI_BASE_URL is used. The address never contains credentials, and what looks like a key in
    its path is masked. Raises UsageError.
    """
    if spec.startswith(("baseline/", "control/")) or user_modules.is_module_spec(spec):
        return ""
    return secrets.mask_address(endpoint_address.resolve_address(spec, base_url).url)
