"""Quirks of endpoints, as data."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct


class Profile(Struct, frozen=True, kw_only=True):
    """What an endpoint takes. The defaults are what every known server accepts.

    `dots`: function names may hold dots. `limit`: the field that limits the reply. `media`: a
    tool message may hold images and audio; else they follow in a user message.
    """

    dots: bool = False
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    media: bool = False


PLAIN = Profile()


def of(url: str) -> Profile:
    """Return the profile of the endpoint at this address."""
    match urlsplit(url).hostname:
        case "api.openai.com":
            # its reasoning models refuse max_tokens, and all its models take the newer field
            return Profile(limit="max_completion_tokens")
        case _:
            return PLAIN
