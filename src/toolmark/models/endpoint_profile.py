"""What an endpoint accepts; `providers.toml` lists the endpoints that differ from most."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from toolmark.core.data_files import DataRecord
from toolmark.models.audio_encoding import AudioFormat
from toolmark.models.wire_names import WireName

StateHistory: TypeAlias = Literal["all", "turn", "none"]
CallIdForm: TypeAlias = Literal["any", "nine", "functions"]


class EndpointProfile(DataRecord, frozen=True, kw_only=True):
    """What an endpoint accepts; the defaults are what every known server accepts.

    `allows_dots`: tool names may contain dots; else dots in tool names are replaced.
    `token_limit_field`: the field that limits the reply. `takes_media_in_results`: a tool message
    may contain images and audio; else they follow in a user message. `unsent_settings`: the
    settings that are never sent, by their names in Sampling or in `Wire.optional_settings`.
    `audio_form`: how WAV is sent. `lists_models`: the endpoint lists its models to the key that is
    sent with a request. `system_role`: the role of the system's messages on the responses wire.
    `api_version` and `beta_features`: what the headers of the Anthropic wire say. `caches_prompts`:
    that wire marks what the endpoint stores between requests.

    What a model thought goes back as it came. `history`: of all earlier replies, of those since the
    last message of a user, or never. `required_member`: messages with calls must have it; it is
    `required_value` where the model did not think. `drops_unsigned_text`: thoughts without the
    signature that their format has are refused. `fills_empty_content`: an assistant's message must
    have a text. `call_ids`: what ids of calls must look like, `nine` letters and digits or
    `functions.NAME:INDEX`. `max_tools`: how many tools a request may have.
    `needs_parameters`: a tool must have a schema of its parameters, also where it takes none.
    `takes_stream_options`: a stream may be asked for its usage; else it has it unasked.
    """

    allows_dots: bool = False
    token_limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    takes_media_in_results: bool = False
    unsent_settings: tuple[str, ...] = ()
    audio_form: AudioFormat = "wav"
    lists_models: bool = True
    system_role: Literal["system", "developer"] = "system"
    api_version: str = ""
    beta_features: tuple[str, ...] = ()
    caches_prompts: bool = False
    history: StateHistory = "all"
    required_member: str = ""
    required_value: str = ""
    drops_unsigned_text: bool = False
    fills_empty_content: bool = False
    call_ids: CallIdForm = "any"
    max_tools: int | None = None
    needs_parameters: bool = False
    takes_stream_options: bool = True


DEFAULT_PROFILE = EndpointProfile()
FIRST_FIELDS = (
    "allows_dots", "token_limit_field", "takes_media_in_results", "unsent_settings", "audio_form",
    "lists_models",
)  # fmt: skip
"""The fields that are part of a model's identity also at their defaults."""
_UNANSWERED_FIELDS = frozenset(("max_tools", "caches_prompts", "takes_stream_options"))
"""Fields on which no reply depends: what is refused unasked, and what the endpoint stores."""


def adapt_profile(profile: EndpointProfile, refused: frozenset[str]) -> EndpointProfile:
    """Return the profile of an endpoint that has refused these settings too."""
    without = {*profile.unsent_settings, *(refused - {"max_tokens"})}
    limit = "max_completion_tokens" if "max_tokens" in refused else profile.token_limit_field
    history = "none" if "reasoning_history" in refused else profile.history
    return replace(
        profile,
        token_limit_field=limit,
        unsent_settings=tuple(sorted(without)),
        history=history,
    )


def identity_fields(profile: EndpointProfile, wire: WireName) -> dict[str, Any]:
    """Return the fields of a profile that replies on a wire depend on.

    A field that came later counts where it differs from its default: cached replies stay valid.
    """
    fields, defaults = (msgspec.to_builtins(each) for each in (profile, DEFAULT_PROFILE))
    # other wires have one role for the system's messages
    ignored = _UNANSWERED_FIELDS if wire == "responses" else _UNANSWERED_FIELDS | {"system_role"}
    return {
        name: value
        for name, value in fields.items()
        if name in FIRST_FIELDS or (name not in ignored and value != defaults[name])
    }


def describe_tool_limit(n_tools: int, limit: int) -> str:
    """Return why a request with so many tools is not sent, and the next step."""
    return (
        f"{n_tools} tools are offered, and this endpoint takes at most {limit}; next: choose a "
        "suite or a setting with fewer tools, or another endpoint"
    )
