"""Differences between endpoints, as data."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from toolmark.models.audio_encoding import AudioFormat


class EndpointProfile(Struct, frozen=True, kw_only=True):
    """What an endpoint accepts; the defaults are what every known server accepts.

    `dots`: function names may contain dots. `limit`: the field that limits the reply. `media`: a
    tool message may contain images and audio; else they follow in a user message. `without`: the
    settings of Sampling that are never sent, by their names there. `audio`: how WAV is sent.
    `lists`: the endpoint lists its models to the key that is sent with a request.
    """

    dots: bool = False
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    media: bool = False
    without: tuple[str, ...] = ()
    audio: AudioFormat = "wav"
    lists: bool = True


DEFAULT_PROFILE = EndpointProfile()


def profile_for_url(url: str) -> EndpointProfile:
    """Return the profile of the endpoint at this address."""
    match urlsplit(url).hostname:
        case "api.openai.com":
            # its reasoning models refuse max_tokens, and all its models accept the newer field
            return EndpointProfile(limit="max_completion_tokens")
        case "api.anthropic.com":
            return EndpointProfile(lists=False)  # its list needs the key in another header
        case _:
            return DEFAULT_PROFILE


def adapt_profile(profile: EndpointProfile, refused: frozenset[str]) -> EndpointProfile:
    """Return the profile of an endpoint that has refused these settings too."""
    without = {*profile.without, *(refused - {"max_tokens"})}
    limit = "max_completion_tokens" if "max_tokens" in refused else profile.limit
    return replace(profile, limit=limit, without=tuple(sorted(without)))
