"""A model's name as the user wrote it, to a model that can be asked."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, cast
from urllib.parse import parse_qsl, urlsplit

from msgspec.structs import replace

from toolmark import plugin
from toolmark.errors import UsageError, near
from toolmark.media import Media
from toolmark.models import profile, sound
from toolmark.models.openai import SIGNS, OpenAI
from toolmark.models.policy import Cache, Pace, Retry
from toolmark.types import Instrument, Model, Task

_SECRET = re.compile(r"(?<=//).*@|\?[^#]*")
_NONE: Mapping[str, Any] = MappingProxyType({})
_OPENAI = "https://api.openai.com/v1"
_OPENAI_KEY = "OPENAI_API_KEY"
_OWN_KEY = "TOOLMARK_API_KEY"
_SCHEMES = ("openai/", "http://", "https://", "baseline/", "test/", "module:attribute")
_BASELINES = {
    "planner": "toolmark.models.baselines.planner:Planner",
    "eager": "toolmark.models.baselines.eager:Eager",
    "lexical": "toolmark.models.baselines.lexical:Lexical",
    "desk": "toolmark.models.baselines.desk:Desk",
    "listener": "toolmark.suites.mfcl.listener:Listener",
    "ocr-search": "toolmark.suites.mfcl.vision.baselines.players:Reader",
    "blind": "toolmark.suites.mfcl.vision.baselines.players:Blind",
}
_GUESS = "toolmark.suites.multinet.players:Guess"  # plays each of MultiNet's baselines
_GUESSES = "toolmark.suites.multinet.families:GUESSES"  # their names: known once they are needed
_SENSES = {"listener": "sound", "ocr-search": "pictures"}  # those read the run's media
_TESTS = {
    "null": "toolmark.models.baselines.instruments:Null",
    "always-call": "toolmark.models.baselines.instruments:Always",
    "dead": "toolmark.models.baselines.instruments:Dead",
}

Maker = Callable[[Task, int, Mapping[str, str]], Model]


class Instrumented(Protocol):
    """What is needed of a suite here: its name and its test instruments."""

    @property
    def name(self) -> str:
        """Return the suite's name."""
        ...

    @property
    def instruments(self) -> Mapping[str, Maker]:
        """Return the makers of its test instruments."""
        ...


class Bound:
    """A suite's test instrument with its options."""

    def __init__(self, name: str, make: Maker, options: Mapping[str, str]) -> None:
        self.name = name
        self._make = make
        self._options = options

    def bind(self, task: Task, repeat: int, /) -> Model:
        """Return the model that plays this episode."""
        return self._make(task, repeat, self._options)


def resolve(
    spec: str | Model | Instrument,
    *,
    suite: Instrumented | None = None,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    extra_body: Mapping[str, Any] = _NONE,
    timeout_s: float = 300.0,
    max_connections: int = 32,
    max_retries: int = 5,
    cache: Path | None = None,
    media: Media | None = None,
    audio: sound.Form = "wav",
) -> Model | Instrument:
    """Return the model that `spec` names; a model object is taken as it is.

    An endpoint gets pace, retries and, given a folder, the cache. A user's `module:attribute`
    gets the same; baselines and test instruments get none. A user's class or factory that takes
    `media` gets the store. Sound goes to an endpoint as `audio`.
    Raises UsageError.
    """
    sound.check(audio)
    if not isinstance(spec, str):
        return spec
    scheme, _, rest = spec.partition("/")
    if scheme == "baseline":
        return _baseline(rest, media)
    if scheme == "test":
        return _test(rest, suite)
    model: Model | Instrument
    if plugin.named(spec):
        model, identity = _user(spec, media), spec
        if isinstance(model, Instrument):
            return model
    else:
        settings: Any = {"headers": headers, "extra_body": extra_body, "timeout_s": timeout_s}
        model = wire = endpoint(spec, base_url=base_url, media=media, audio=audio, **settings)
        identity = wire.identity
    paced = Retry(Pace(model, max_connections), max_retries)
    return Cache(paced, cache, identity) if cache else paced


def endpoint(
    spec: str,
    *,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    extra_body: Mapping[str, Any] = _NONE,
    timeout_s: float = 300.0,
    media: Media | None = None,
    audio: sound.Form = "wav",
) -> OpenAI:
    """Return the bare wire to `openai/NAME` or `http(s)://HOST:PORT/v1#NAME`.

    OPENAI_API_KEY goes to the provider only, or to the address that the user gave for it by
    OPENAI_BASE_URL or `base_url`; an address in the spec gets TOOLMARK_API_KEY.
    """
    url, name, key_name = _address(spec, base_url)
    key = os.environ.get(key_name, "").strip()
    signed = key or any(header.lower() in SIGNS for header, _ in headers)
    if url == _OPENAI and not signed:
        raise UsageError(f"no key for {spec}: set {_OPENAI_KEY}")
    return OpenAI(
        url,
        name,
        key=key,
        key_name=key_name,
        headers=dict(headers),
        extra=extra_body,
        timeout_s=timeout_s,
        media=media,
        name=spec if spec.startswith("openai/") else name,
        quirks=replace(profile.of(url), audio=audio),
    )


def address(spec: str, base_url: str | None) -> str:
    """Return the address that a model's name stands for; "" for what is asked in this process.

    OPENAI_BASE_URL is heeded. Neither credentials nor a query are ever in it. Raises UsageError.
    """
    if spec.startswith(("baseline/", "test/")) or plugin.named(spec):
        return ""
    return _address(spec, base_url)[0]


def _address(spec: str, base_url: str | None) -> tuple[str, str, str]:
    """Return the URL, the model's name there, and the variable that holds the key."""
    scheme, _, rest = spec.partition("/")
    if scheme == "openai":
        if not rest:
            raise UsageError("name the model: openai/NAME")
        url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        return _url(url), rest, _OPENAI_KEY
    if not spec.startswith(("http://", "https://")):
        known = near(spec, _SCHEMES)
        raise UsageError(f"no model {spec!r}{known}; your own endpoint: http://HOST:PORT/v1#NAME")
    if base_url:
        given = _shown(spec)
        raise UsageError(f"{given} is an address already: leave --base-url out, or use openai/NAME")
    url, _, name = spec.partition("#")
    if not name:
        raise UsageError(f"name the model after a '#': {_shown(url)}#NAME")
    return _url(url), name, _OWN_KEY


def _url(text: str) -> str:
    """Return the base of the address, checked."""
    shown = _shown(text)
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise UsageError(f"not an address: {shown!r}") from None
    if parts.username or parts.password:
        raise UsageError(f"no credentials in an address: use {_OWN_KEY} or --header")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(f"not an address: {shown!r}; it looks like http://HOST:PORT/v1")
    if parts.query:
        raise UsageError(f"an address with a query cannot be used: {shown!r}")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return f"{parts.scheme}://{parts.netloc}{path}"


def _shown(text: str) -> str:
    """Return an address without password and query: either may be a secret."""
    return _SECRET.sub("", text)


def _baseline(name: str, media: Media | None) -> Model | Instrument:
    guesses = () if name in _BASELINES else plugin.attribute(_GUESSES)
    places = {**_BASELINES, **dict.fromkeys(guesses, _GUESS)}
    make = plugin.attribute(_pick(name, places, "baseline"))
    if name in guesses:
        return cast(Instrument, make(name))
    if name not in _SENSES:
        return cast(Model, make())
    if media is None:
        raise UsageError(f"baseline/{name} plays suites with {_SENSES[name]} and nothing else")
    return cast(Model, make(media))


def _test(rest: str, suite: Instrumented | None) -> Model | Instrument:
    name, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    own: Mapping[str, Maker] = suite.instruments if suite else {}
    if name in own:
        return Bound(f"test/{rest}", own[name], options)
    place = _pick(name, {**_TESTS, **dict.fromkeys(own, "")}, "test instrument")
    if options:
        raise UsageError(f"test/{name} takes no options")
    return cast("Model | Instrument", plugin.attribute(place)())


def _pick(name: str, table: Mapping[str, str], kind: str) -> str:
    if name not in table:
        raise UsageError(f"no {kind} {name!r}{near(name, table)}")
    return table[name]


def _user(spec: str, media: Media | None) -> Model | Instrument:
    """Return a user's own model: the object, or what a class or factory makes of nothing.

    One that takes `media` is given the run's pictures and recordings.
    """
    found = plugin.attribute(spec)
    if isinstance(found, Instrument) and not inspect.isclass(found):
        return found
    if not inspect.isclass(found) and _asks(found):
        return cast(Model, found)
    made = _made(spec, found, media) if callable(found) else found
    if isinstance(made, Instrument) or _asks(made):
        return cast("Model | Instrument", made)
    raise UsageError(f"{spec} is no model: a model is `async (request) -> reply`")


def _made(spec: str, make: Callable[..., object], media: Media | None) -> object:
    try:
        wanted = "media" in inspect.signature(make).parameters
    except ValueError:  # some that are written in C tell nothing
        wanted = False
    if wanted and media is None:
        raise UsageError(f"{spec} wants the media of a run, and there are none here")
    return make(media=media) if wanted else make()


def _asks(thing: object) -> bool:
    called = getattr(type(thing), "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(thing) or inspect.iscoroutinefunction(called)
