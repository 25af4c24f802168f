"""What the caller asks of a run, checked before anything is done: a Plan, and how it is asked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from toolmark import private
from toolmark.agents.loop import merge
from toolmark.errors import UsageError
from toolmark.models import sound, user
from toolmark.models.encode import check_sampling
from toolmark.models.openai import TIMEOUT_S
from toolmark.models.policy import CONNECTIONS, RETRIES
from toolmark.models.resolve import address
from toolmark.runs import identity
from toolmark.runs.plan import Plan, task_file, world
from toolmark.runs.suite import Suite
from toolmark.types import Record, Sampling

_T = TypeVar("_T")
LONGEST_S = 1e8  # beyond, no clock is set


class Line(Record, frozen=True, kw_only=True):
    """How a model is asked, whatever it is asked: no part of the request."""

    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = TIMEOUT_S
    max_connections: Annotated[int, msgspec.Meta(ge=1)] = CONNECTIONS
    max_retries: Annotated[int, msgspec.Meta(ge=0)] = RETRIES


def line(headers: object, **given: Any) -> Line:
    """Return how the model is asked. Raises UsageError for what cannot be."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise UsageError(f"headers: expected names with values, got {type(headers).__name__}")
    return _typed(Line, headers=list(pairs), **given)


class _Bound(Record, frozen=True, kw_only=True):
    time_limit_s: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_S)] | None = None


def time_limit(time_limit_s: object) -> float | None:
    """Return how long an episode may take. Raises UsageError for no such length."""
    return _typed(_Bound, time_limit_s=time_limit_s).time_limit_s


def sampling(extra_body: object, **given: Any) -> Sampling:
    """Return how replies are drawn. Raises UsageError for what no request can hold."""
    if extra_body is not None and not isinstance(extra_body, Mapping):
        raise UsageError(f"extra_body: expected an object, got {type(extra_body).__name__}")
    found = msgspec.structs.replace(_typed(Sampling, **given), extra=dict(extra_body or {}))
    check_sampling(found)
    return found


def plan(
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
    """Return the request, and whether a later one that equals it asks the same model.

    Raises UsageError for one that cannot be.
    """
    sound.check(audio)
    known = user.Who(private.stored(model)) if isinstance(model, str) else user.who(model)
    for name, value in suite.knobs.items():
        private.check_stored(f"knob {name}", str(value))
    asked = _typed(
        Plan,
        suite=suite.name,
        model=known.name if known.sure else f"{known.name} (unnamed)",
        base_url=address(model, base_url) if isinstance(model, str) else "",
        ids=[ids] if isinstance(ids, str) else ids,
        tasks=str(tasks),
        tasks_sha256=_digest(task_file(Path(tasks))) if tasks else "",
        world=world(suite),
        audio=audio,
        spec=suite.spec,
        modules=identity.suite_hashes(suite),
        model_modules=identity.model_hashes(model),
        **given,
    )
    if asked.repeats < 1:
        raise UsageError(f"repeats must be at least 1; got {asked.repeats}")
    merged = merge(suite.sampling, sampling)
    check_sampling(merged)
    return msgspec.structs.replace(asked, knobs=dict(suite.knobs), sampling=merged), known.sure


def place(name: str, value: object) -> Path:
    """Return a path that the caller gave. Raises UsageError for what is none."""
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"{name}: expected a path, got {type(value).__name__}")
    return Path(value)


def _typed(kind: type[_T], **given: Any) -> _T:
    """Return the record. Raises UsageError naming what has the wrong type."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        told, _, where = str(error).partition(" - at `$.")
        raise UsageError(f"{where.rstrip('`')}: {told[:1].lower()}{told[1:]}") from None


def _digest(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: cannot read tasks: not a file")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: cannot read tasks: {error.strerror}") from None
