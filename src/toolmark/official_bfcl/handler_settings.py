"""How the official handlers ask, handler by handler (`handlers.toml`).

Without an entry of the official list, each wire follows the handler that the official harness has
for it. With one, the model is asked as that entry's handler asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.records import Sampling
from toolmark.models.wire_names import WireName
from toolmark.official_bfcl import official_data, official_models
from toolmark.official_bfcl.handler_formats import OwnFormat
from toolmark.official_bfcl.official_models import ListedModel


class ThinkingSetting(DataRecord, frozen=True):
    """How a model is asked to think."""

    type: str


class HandlerFields(DataRecord, frozen=True):
    """Fields of a request that no setting of Sampling stands for."""

    store: bool | None = None
    enable_thinking: bool | None = None
    parallel_tool_calls: bool | None = None
    tool_choice: Literal["auto"] | None = None
    thinking: ThinkingSetting | None = None


class HandlerSampling(DataRecord, frozen=True):
    """The settings of requests, as the file has them."""

    temperature: float | None = None
    max_tokens: int | None = None
    extra: HandlerFields = HandlerFields()

    def as_sampling(self) -> Sampling:
        """Return them as the settings of a run."""
        fields = msgspec.to_builtins(self.extra).items()
        extra = {name: value for name, value in fields if value is not None}
        return Sampling(temperature=self.temperature, max_tokens=self.max_tokens, extra=extra)


class ModelSettings(DataRecord, frozen=True):
    """The settings of the models whose name contains one of these parts."""

    name_parts: frozenset[str]
    sampling: HandlerSampling


class HandlerSettings(DataRecord, frozen=True, kw_only=True):
    """How one handler asks; `native` or `prompt` is None where it does not ask in that way.

    `own_format`: the tool format in which it asks and reads every model, also one that is listed as
    making structured calls.
    """

    wire: WireName
    native: HandlerSampling | None = None
    prompt: HandlerSampling | None = None
    model_settings: tuple[ModelSettings, ...] = ()
    response: Literal["field", "description", "dropped"] = "field"
    schema: Literal["", "google", "writer"] = ""
    strict: Literal["", "unset"] = ""
    joins_user_messages: bool = False
    keeps_dots: bool = False
    sends_text_back: bool = True
    removes_fences: bool = False
    own_format: OwnFormat | Literal[""] = ""

    def sampling_of(self, model: str, *, is_native: bool) -> Sampling:
        """Return the settings with which a model is asked."""
        for special in self.model_settings:
            if any(part in model for part in special.name_parts):
                return special.sampling.as_sampling()
        return ((self.native if is_native else self.prompt) or HandlerSampling()).as_sampling()


class WireDefault(DataRecord, frozen=True):
    """The handler that a wire follows, and fields that it sends to one host alone."""

    handler: str
    host_fields: dict[str, str] = {}


class RefusedHandlers(DataRecord, frozen=True):
    """Handlers as which no model can be asked, why, and what to do instead."""

    handlers: frozenset[str]
    reason: Annotated[str, Meta(min_length=1)]
    next_step: Annotated[str, Meta(min_length=1)]


class HandlerTable(DataRecord, frozen=True):
    """The data file."""

    wires: dict[WireName, WireDefault]
    handlers: dict[Annotated[str, Meta(min_length=1)], HandlerSettings]
    refused: tuple[RefusedHandlers, ...]


def handler_table() -> HandlerTable:
    """Return the content of the data file."""
    return read_table(__file__, "handlers.toml", HandlerTable)


# --- without an entry -------------------------------------------------------------------


def settings_of_wire(wire: str) -> HandlerSettings:
    """Return how the handler of a wire asks; an unknown wire is asked as chat completions are."""
    table = handler_table()
    default = next((each for name, each in table.wires.items() if name == wire), None)
    return table.handlers[(default or table.wires["chat"]).handler]


def default_sampling(wire: str, model: str, url: str, *, is_native: bool) -> Sampling:
    """Return the settings of a model on a wire, without the fields that its host may refuse."""
    table = handler_table()
    sampling = settings_of_wire(wire).sampling_of(model, is_native=is_native)
    default = next((each for name, each in table.wires.items() if name == wire), None)
    host = urlsplit(url).hostname
    withheld = (
        {name for name, only in default.host_fields.items() if only != host} if default else ()
    )
    return replace(
        sampling, extra={name: x for name, x in sampling.extra.items() if name not in withheld}
    )


# --- as an entry of the official list ---------------------------------------------------


def supported_entries(root: Path) -> Mapping[str, ListedModel]:
    """Return the entries of the official list as which a model can be asked, by name."""
    table = handler_table()
    return {
        name: entry
        for name, entry in official_models.read_models(root).items()
        if entry.handler in table.handlers
        and _asks_so(table.handlers[entry.handler], is_native=entry.is_native)
    }


def _asks_so(settings: HandlerSettings, *, is_native: bool) -> bool:
    by_prompt = settings.own_format or not is_native
    return (settings.prompt if by_prompt else settings.native) is not None


def refused_entries(root: Path) -> Mapping[str, RefusedHandlers]:
    """Return the entries of the official list as which no model can be asked, by name, with why.

    Raises DataError for an entry that is neither asked nor refused.
    """
    supported = supported_entries(root)
    why = {name: group for group in handler_table().refused for name in group.handlers}
    found: dict[str, RefusedHandlers] = {}
    for name, entry in official_models.read_models(root).items():
        if name in supported:
            continue
        if entry.handler not in why:
            raise DataError(f"handlers.toml: says nothing of {entry.handler}Handler, as in {name}")
        found[name] = why[entry.handler]
    return found


def find_entry(name: str) -> ListedModel:
    """Return an entry as which a model can be asked.

    Raises UsageError for an unknown entry, and for one whose handler asks as no wire here can.
    """
    root = official_data.fetch_wheel()
    supported = supported_entries(root)
    if name in supported:
        return supported[name]
    listed = official_models.read_models(root).get(name)
    if listed is None:
        nearest = suggest_names(name, supported)
        raise UsageError(f"no entry {name!r} on the official list that can be asked as{nearest}")
    refused = refused_entries(root)[name]
    raise UsageError(
        f"no model can be asked as {name}: its official handler ({listed.handler}Handler) "
        f"{refused.reason}; next: {refused.next_step}"
    )


def settings_of_entry(entry: ListedModel) -> HandlerSettings:
    """Return how the handler of a supported entry asks."""
    return handler_table().handlers[entry.handler]
