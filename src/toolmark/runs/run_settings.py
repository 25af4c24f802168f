"""What a caller sets of a run: which episodes, how sampled, how asked, where stored.

Each setting has one name. `tm.run` takes the groups, or their fields as keywords.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict, TypeVar

import msgspec

from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Record, Sampling
from toolmark.models import audio_encoding, own_prices, wire_names
from toolmark.models.audio_encoding import AudioFormat
from toolmark.models.connection_defaults import (
    DEFAULT_CONNECTIONS,
    DEFAULT_RETRIES,
    TIMEOUT_S,
)
from toolmark.models.wire_names import WireName
from toolmark.models.wires.request_parts import check_sampling

DEFAULT_LOG_DIR = "runs"
MAX_COST_USD = 1e9
MAX_TIME_LIMIT_S = 1e8  # beyond this no time limit can be set
_T = TypeVar("_T")


class Selection(Record, frozen=True, kw_only=True):
    """Which episodes are run.

    - `limit`: the first so many tasks.
    - `ids`: the tasks with these ids.
    - `sample`: so many tasks, drawn evenly over the categories.
    - `tasks`: a JSONL file of tasks, or a folder that `toolmark make` wrote.
    - `repeats`: how often each task is asked.
    - `vary`: kinds of variations of each task that are asked too (`toolmark run --help`).
    - `plan`: a file that `toolmark plan` wrote: its items are asked, so often as it says.
    """

    limit: int | None = None
    ids: tuple[str, ...] = ()
    sample: int | None = None
    tasks: str = ""
    repeats: int = 1
    vary: tuple[str, ...] = ()
    plan: str = ""


class Connection(Record, frozen=True, kw_only=True):
    """How a model is asked; the answers do not depend on it, but for `base_url`.

    - `base_url`: the address of the endpoint.
    - `headers`: sent with every request.
    - `timeout_s`: seconds until a request is given up.
    - `max_connections`: requests at the same time.
    - `requests_per_minute`, `tokens_per_minute`: what is asked of each model at most; None for no
      limit.
    - `max_retries`: how often a request that failed for a passing reason is sent again.
    - `cache`: a folder in which replies are stored and looked up.
    - `replay_only`: take every reply from `cache`; the model is never asked.
    - `audio_format`: the form in which an endpoint gets sound: wav, or mp3, which is smaller.
    - `wire`: the protocol on which an endpoint is asked; None for the provider's own.
    - `stream`: let an endpoint send its replies in pieces, to measure when they begin.
    - `price`: own prices as texts, `[model=|user=|judge=]INPUT,OUTPUT[,CACHED[,CACHE_WRITTEN]]` in
      US$ per million tokens. As a keyword also numbers, or a mapping by role.
    - `max_cost`: the most that all requests of the run may cost, in US$.
    - `prompt_cache`: mark what an endpoint of the Anthropic wire may store between requests; None
      for Anthropic's own alone.
    - `canary`: ask an endpoint once, before a run with sound, what a spoken clip says.
    - `batch`: ask in batches of the provider, which take up to a day and cost half. Then
      `max_connections` does not count: all requests of a batch wait together.
    """

    base_url: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = TIMEOUT_S
    max_connections: Annotated[int, msgspec.Meta(ge=1)] = DEFAULT_CONNECTIONS
    max_retries: Annotated[int, msgspec.Meta(ge=0)] = DEFAULT_RETRIES
    requests_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None = None
    tokens_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None = None
    cache: str | None = None
    replay_only: bool = False
    audio_format: AudioFormat = "wav"
    wire: WireName | None = None
    stream: bool = False
    price: tuple[str, ...] = ()
    max_cost: Annotated[float, msgspec.Meta(gt=0, le=MAX_COST_USD)] | None = None
    prompt_cache: bool | None = None
    canary: bool = True
    batch: bool = False


class Storage(Record, frozen=True, kw_only=True):
    """Where a run is stored, and whether it may continue one that is stored.

    - `log_dir`: the folder of the run folders.
    - `resume`: continue the newest run of the same request, if something of it is missing.
    - `continue_`: continue it after edits of your code too.
    - `command`: the command line to record.
    """

    log_dir: str = DEFAULT_LOG_DIR
    resume: bool = True
    continue_: bool = False
    command: str = ""


def model_settings(connection: Connection) -> dict[str, Any]:
    """Return the settings that all models of a run share, as keywords of `make_model`.

    The address and the headers are those of the model under test alone.
    """
    return {
        "cache": None if connection.cache is None else Path(connection.cache),
        "replay_only": connection.replay_only,
        "timeout_s": connection.timeout_s,
        "max_connections": connection.max_connections,
        "max_retries": connection.max_retries,
        "prompt_cache": connection.prompt_cache,
        "requests_per_minute": connection.requests_per_minute,
        "tokens_per_minute": connection.tokens_per_minute,
    }


class FlatSettings(TypedDict, total=False):
    """The fields of all groups as keywords, with the types that a caller may pass."""

    limit: int | None
    ids: str | Sequence[str]
    sample: int | None
    tasks: str | Path
    repeats: int
    vary: str | Sequence[str]
    plan: str | Path
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    reasoning_effort: str | None
    extra_body: Mapping[str, Any] | None
    base_url: str | None
    headers: Mapping[str, str] | Sequence[tuple[str, str]]
    timeout_s: float
    max_connections: int
    max_retries: int
    requests_per_minute: float | None
    tokens_per_minute: float | None
    cache: str | Path | None
    replay_only: bool
    audio_format: AudioFormat
    wire: WireName | None
    stream: bool
    price: str | Sequence[str] | Sequence[float] | Mapping[str, str | Sequence[float]] | None
    max_cost: float | None
    prompt_cache: bool | None
    canary: bool
    batch: bool
    log_dir: str | Path
    resume: bool
    continue_: bool
    command: str


class RunSettings(NamedTuple):
    """The settings of a run, checked."""

    selection: Selection
    sampling: Sampling
    connection: Connection
    storage: Storage


def collect_settings(
    selection: Selection | None,
    sampling: Sampling | None,
    connection: Connection | None,
    storage: Storage | None,
    keywords: Mapping[str, Any],
) -> RunSettings:
    """Return the settings of the groups; a keyword replaces the field of its group.

    Raises UsageError for an unknown keyword, and for what no run can be asked with.
    """
    flat = _plain_values(keywords)
    unknown = flat.keys() - _FIELDS_BY_NAME
    if unknown:
        name = min(unknown)
        raise UsageError(f"run has no setting {name!r}{suggest_names(name, _FIELDS_BY_NAME)}")
    found = RunSettings(
        _fill_group(selection or Selection(), flat),
        _fill_group(sampling or Sampling(), flat),
        _fill_group(connection or Connection(), flat),
        _fill_group(storage or Storage(), flat),
    )
    if found.selection.repeats < 1:
        raise UsageError(f"repeats must be at least 1; got {found.selection.repeats}")
    if found.storage.continue_ and not found.storage.resume:
        raise UsageError("--fresh begins a new run and --continue goes on with one: leave out one")
    check_sampling(found.sampling)
    own_prices.parse_prices(found.connection.price, date.today())
    return found


_FIELD_BY_KEYWORD = {"extra_body": "extra"}  # the field has the name that the records have
_FIELDS_BY_NAME = {
    **{name: name for kind in (Selection, Connection, Storage) for name in kind.__struct_fields__},
    **{name: name for name in Sampling.__struct_fields__ if name != "extra"},
    **_FIELD_BY_KEYWORD,
}


def list_keywords() -> list[tuple[str, Any, Any]]:
    """Return the keywords of all groups as (name, type, default)."""
    defaults = {
        name: value
        for group in (Selection(), Sampling(), Connection(), Storage())
        for name, value in msgspec.structs.asdict(group).items()
    }
    return [
        (name, kind, None if name == "extra_body" else defaults[name])
        for name, kind in FlatSettings.__annotations__.items()
    ]


def _plain_values(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords in the types of the groups' fields. Raises UsageError."""
    flat = dict(keywords)
    if "ids" in flat and isinstance(flat["ids"], str):
        flat["ids"] = [flat["ids"]]
    if isinstance(flat.get("vary"), str):
        flat["vary"] = [word.strip() for word in flat["vary"].split(",")]
    if flat.get("tasks") is not None and "tasks" in flat:
        flat["tasks"] = str(flat["tasks"])
    if flat.get("plan") is not None and "plan" in flat:
        flat["plan"] = str(flat["plan"])
    if "audio_format" in flat:
        audio_encoding.check_audio_format(flat["audio_format"])
    if flat.get("wire") is not None:
        wire_names.check_wire_name(flat["wire"])
    if "price" in flat:
        flat["price"] = own_prices.price_texts(flat["price"])
    if "headers" in flat:
        flat["headers"] = _header_pairs(flat["headers"])
    if "extra_body" in flat:
        extra = flat["extra_body"]
        if extra is not None and not isinstance(extra, Mapping):
            raise UsageError(f"extra_body: expected an object, got {type(extra).__name__}")
        flat["extra_body"] = dict(extra or {})
    for name in ("cache", "log_dir"):
        if flat.get(name) is not None:
            flat[name] = os.fspath(check_path(name, flat[name]))
        elif name in flat and name != "cache":
            check_path(name, flat[name])
    return flat


def check_path(name: str, value: object) -> Path:
    """Return a path that the caller gave. Raises UsageError for anything else."""
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"{name}: expected a path, got {type(value).__name__}")
    return Path(value)


def _header_pairs(headers: object) -> list[Any]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise UsageError(f"headers: expected names with values, got {type(headers).__name__}")
    return list(pairs)


def _fill_group(group: _T, flat: Mapping[str, Any]) -> _T:
    """Return a group with the keywords that are its fields. Raises UsageError for wrong types."""
    if not isinstance(group, Selection | Sampling | Connection | Storage):
        raise UsageError(f"expected a group of settings, got {type(group).__name__}")
    fields = msgspec.structs.asdict(group)
    for keyword, value in flat.items():
        field = _FIELDS_BY_NAME[keyword]
        if field in fields:
            fields[field] = value
    return convert_fields(type(group), **fields)


class _TimeLimit(Record, frozen=True, kw_only=True):
    time_limit_s: Annotated[float, msgspec.Meta(gt=0, le=MAX_TIME_LIMIT_S)] | None = None


def check_time_limit(time_limit_s: object) -> float | None:
    """Return the time limit of an episode in seconds. Raises UsageError for an invalid one."""
    return convert_fields(_TimeLimit, time_limit_s=time_limit_s).time_limit_s


def convert_fields(kind: type[_T], **fields: Any) -> _T:
    """Return the record. Raises UsageError naming the field of the wrong type."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise UsageError(describe_decode_error(error, fields)) from None
