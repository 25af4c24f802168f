"""What an endpoint accepts; `providers.toml` lists the endpoints that differ from most."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from toolmark.core.data_files import DataRecord
from toolmark.models.audio_encoding import AudioFormat


class EndpointProfile(DataRecord, frozen=True, kw_only=True):
    """What an endpoint accepts; the defaults are what every known server accepts.

    `allows_dots`: tool names may contain dots; else dots in tool names are replaced.
    `token_limit_field`: the field that limits the reply. `takes_media_in_results`: a tool message
    may contain images and audio; else they follow in a user message. `unsent_settings`: the
    settings of Sampling that are never sent, by their names there. `audio_form`: how WAV is sent.
    `lists_models`: the endpoint lists its models to the key that is sent with a request.
    """

    allows_dots: bool = False
    token_limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    takes_media_in_results: bool = False
    unsent_settings: tuple[str, ...] = ()
    audio_form: AudioFormat = "wav"
    lists_models: bool = True


DEFAULT_PROFILE = EndpointProfile()


def adapt_profile(profile: EndpointProfile, refused: frozenset[str]) -> EndpointProfile:
    """Return the profile of an endpoint that has refused these settings too."""
    without = {*profile.unsent_settings, *(refused - {"max_tokens"})}
    limit = "max_completion_tokens" if "max_tokens" in refused else profile.token_limit_field
    return replace(profile, token_limit_field=limit, unsent_settings=tuple(sorted(without)))
