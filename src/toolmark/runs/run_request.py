"""What the caller asks of a run, checked before anything is done: a Plan and settings."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from toolmark.agents.tool_loop import merge_sampling
from toolmark.core import secrets
from toolmark.core.errors import UsageError
from toolmark.core.records import Record, Sampling
from toolmark.models import audio_encoding, user_model
from toolmark.models.connection_defaults import (
    DEFAULT_CONNECTIONS,
    DEFAULT_RETRIES,
    TIMEOUT_S,
)
from toolmark.models.model_resolver import public_model_address
from toolmark.models.wires.chat_request import check_sampling
from toolmark.runs import code_hashes
from toolmark.runs.run_plan import Plan
from toolmark.runs.suite import Suite
from toolmark.runs.task_selection import environment_hashes, task_file_path

_T = TypeVar("_T")
MAX_TIME_LIMIT_S = 1e8  # beyond this no time limit can be set


class ConnectionSettings(Record, frozen=True, kw_only=True):
    """How a model is asked. This is not part of the request."""

    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = TIMEOUT_S
    max_connections: Annotated[int, msgspec.Meta(ge=1)] = DEFAULT_CONNECTIONS
    max_retries: Annotated[int, msgspec.Meta(ge=0)] = DEFAULT_RETRIES


def connection_settings(headers: object, **given: Any) -> ConnectionSettings:
    """Return the connection settings. Raises UsageError for invalid ones."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise UsageError(f"headers: expected names with values, got {type(headers).__name__}")
    return _convert(ConnectionSettings, headers=list(pairs), **given)


class _TimeLimit(Record, frozen=True, kw_only=True):
    time_limit_s: Annotated[float, msgspec.Meta(gt=0, le=MAX_TIME_LIMIT_S)] | None = None


def check_time_limit(time_limit_s: object) -> float | None:
    """Return the time limit of an episode in seconds. Raises UsageError for an invalid one."""
    return _convert(_TimeLimit, time_limit_s=time_limit_s).time_limit_s


def check_sampling_request(extra_body: object, **given: Any) -> Sampling:
    """Return how replies are sampled. Raises UsageError for what no request can contain."""
    if extra_body is not None and not isinstance(extra_body, Mapping):
        raise UsageError(f"extra_body: expected an object, got {type(extra_body).__name__}")
    found = msgspec.structs.replace(_convert(Sampling, **given), extra=dict(extra_body or {}))
    check_sampling(found)
    return found


def make_plan(
    suite: Suite,
    model: object,
    *,
    base_url: str | None,
    sampling: Sampling,
    ids: object,
    tasks: str | Path,
    audio: str,
    **given: Any,
) -> tuple[Plan, bool]:
    """Return the request, and whether a later request that equals it asks the same model.

    Raises UsageError for an invalid request.
    """
    audio_encoding.check_audio_format(audio)
    model_identity = (
        user_model.ModelIdentity(secrets.mask_model_spec(model))
        if isinstance(model, str)
        else user_model.identify_object(model)
    )
    for name, value in suite.knobs.items():
        secrets.check_no_key(f"knob {name}", str(value))
    request = _convert(
        Plan,
        suite=suite.name,
        model=model_identity.name
        if model_identity.is_unique
        else f"{model_identity.name} (unnamed)",
        base_url=public_model_address(model, base_url) if isinstance(model, str) else "",
        ids=[ids] if isinstance(ids, str) else ids,
        tasks=str(tasks),
        tasks_sha256=_file_sha256(task_file_path(Path(tasks))) if tasks else "",
        world=environment_hashes(suite),
        audio=audio,
        spec=suite.spec,
        modules=code_hashes.suite_hashes(suite),
        model_modules=code_hashes.model_hashes(model),
        **given,
    )
    if request.repeats < 1:
        raise UsageError(f"repeats must be at least 1; got {request.repeats}")
    merged = merge_sampling(suite.sampling, sampling)
    check_sampling(merged)
    return msgspec.structs.replace(
        request, knobs=dict(suite.knobs), sampling=merged
    ), model_identity.is_unique


def check_path(name: str, value: object) -> Path:
    """Return a path that the caller gave. Raises UsageError for anything else."""
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"{name}: expected a path, got {type(value).__name__}")
    return Path(value)


def _convert(kind: type[_T], **given: Any) -> _T:
    """Return the record. Raises UsageError naming the field of the wrong type."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        message, _, field_path = str(error).partition(" - at `$.")
        raise UsageError(f"{field_path.rstrip('`')}: {message[:1].lower()}{message[1:]}") from None


def _file_sha256(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: cannot read tasks: not a file")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: cannot read tasks: {error.strerror}") from None
