"""Quirks of endpoints, as data."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from toolmark.models.sound import Form


class Profile(Struct, frozen=True, kw_only=True):
    """What an endpoint takes. The defaults are what every known server accepts.

    `dots`: function names may hold dots. `limit`: the field that limits the reply. `media`: a
    tool message may hold images and audio; else they follow in a user message. `without`: the
    settings of Sampling that are never sent, in order. `audio`: how WAV is sent. `lists`: it lists
    its models to the key that goes with a request.
    """

    dots: bool = False
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    media: bool = False
    without: tuple[str, ...] = ()
    audio: Form = "wav"
    lists: bool = True


PLAIN = Profile()


def of(url: str) -> Profile:
    """Return the profile of the endpoint at this address."""
    match urlsplit(url).hostname:
        case "api.openai.com":
            # its reasoning models refuse max_tokens, and all its models take the newer field
            return Profile(limit="max_completion_tokens")
        case "api.anthropic.com":
            return Profile(lists=False)  # there the key of a list stands in another header
        case _:
            return PLAIN


def adapted(profile: Profile, refused: frozenset[str]) -> Profile:
    """Return the profile of an endpoint that refused these settings as well."""
    without = {*profile.without, *refused} - {"max_tokens"}
    limit = "max_completion_tokens" if "max_tokens" in refused else profile.limit
    return replace(profile, limit=limit, without=tuple(sorted(without)))
