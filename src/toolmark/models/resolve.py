"""A model's name as the user wrote it, to a model that can be asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import parse_qsl

from msgspec.structs import replace

from toolmark import plugin, private
from toolmark.errors import UsageError, near
from toolmark.media import Media
from toolmark.models import places, profile, sound, user
from toolmark.models.openai import SIGNS, TIMEOUT_S, OpenAI
from toolmark.models.policy import CONNECTIONS, RETRIES, Cache, Pace, Retry
from toolmark.types import Instrument, Model, Task

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
    spec: str | Model | Instrument | type[Model],
    *,
    suite: Instrumented | None = None,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    timeout_s: float = TIMEOUT_S,
    max_connections: int = CONNECTIONS,
    max_retries: int = RETRIES,
    cache: Path | None = None,
    media: Media | None = None,
    audio: sound.Form = "wav",
) -> Model | Instrument:
    """Return the model that `spec` names, or that it is, ready to be asked.

    An endpoint gets pace, retries and, given a folder, the cache. A user's `module:attribute` gets
    the same, and so does a model object; baselines and test instruments get none. A user's class
    or factory that takes `media` gets the store. Sound goes to an endpoint as `audio`.
    Raises UsageError.
    """
    sound.check(audio)
    if isinstance(spec, str):
        scheme, _, rest = spec.partition("/")
        if scheme == "baseline":
            return _baseline(rest, media)
        if scheme == "test":
            return _test(rest, suite)
    model: Model | Instrument
    if not isinstance(spec, str):
        model, known = user.given(spec, media), user.who(spec)
    elif plugin.named(spec):
        model = user.load(spec, media)
        known = user.named(spec, model)
    else:
        model = wire = endpoint(
            spec, base_url=base_url, headers=headers, timeout_s=timeout_s, media=media, audio=audio
        )
        known = user.Who(wire.identity)
    if isinstance(model, Instrument):
        return model
    made = isinstance(spec, str | type)
    asked = model if isinstance(model, OpenAI) else user.Own(model, made=made)
    paced = Retry(Pace(asked, max_connections), max_retries)
    return _kept(paced, cache, known) if cache else paced


def _kept(model: Model, folder: Path, known: user.Who) -> Cache:
    if not known.sure:
        raise UsageError(
            f"the cache cannot tell {known.name} from other models: give yours a `.name`, or ask "
            "it as module:attribute"
        )
    return Cache(model, folder, known.identity)


def endpoint(
    spec: str,
    *,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    timeout_s: float = TIMEOUT_S,
    media: Media | None = None,
    audio: sound.Form = "wav",
) -> OpenAI:
    """Return the bare wire to `PROVIDER/NAME` or `http(s)://HOST:PORT/v1#NAME`.

    A provider's key goes to the provider only, or to the address that the user gave for it by
    `base_url` (OpenAI's also by OPENAI_BASE_URL); an address in the spec gets TOOLMARK_API_KEY.
    """
    place = places.find(spec, base_url)
    key = os.environ.get(place.key_name, "").strip()
    signed = key or any(header.lower() in SIGNS for header, _ in headers)
    if place.needs_key and not signed:
        raise UsageError(f"no key for {spec}: set {place.key_name}")
    return OpenAI(
        place.url,
        place.name,
        key=key,
        key_name=place.key_name,
        headers=dict(headers),
        timeout_s=timeout_s,
        media=media,
        name=private.stored(spec if places.provided(spec) else place.name),
        quirks=replace(profile.of(place.url), audio=audio),
    )


def address(spec: str, base_url: str | None) -> str:
    """Return the address that a model's name stands for; "" for what is asked in this process.

    OPENAI_BASE_URL is heeded. It is the address as it may be stored: there are never credentials in
    it, and what looks like a key in its path is masked. Raises UsageError.
    """
    if spec.startswith(("baseline/", "test/")) or plugin.named(spec):
        return ""
    return private.address(places.find(spec, base_url).url)


def _baseline(name: str, media: Media | None) -> Model | Instrument:
    guesses = () if name in _BASELINES else plugin.attribute(_GUESSES)
    known = {**_BASELINES, **dict.fromkeys(guesses, _GUESS)}
    make = plugin.attribute(_pick(name, known, "baseline"))
    if name in guesses:
        return cast(Instrument, make(name))
    return cast(Model, user.make(f"baseline/{name}", make, media))


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
