"""What answers searches, opened by its name: a provider, a corpus, a recording of either."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import util
from pathlib import Path
from typing import NamedTuple, Protocol

from toolmark import fetch, files, plugin
from toolmark.worlds.address import MAX_BYTES, SUFFIXES
from toolmark.worlds.cassette import Cassette
from toolmark.worlds.providers import PROVIDERS, Provider, Transport, Web
from toolmark.worlds.search import Engine, Recorded

DEFAULT = "serpapi"
CHOICES = ", ".join(
    (
        *(f"{each.name} (needs {each.variable})" for each in PROVIDERS.values()),
        "corpus:FOLDER",
        "record:FILE (or record:FILE@PROVIDER, record:FILE@corpus:FOLDER) or replay:FILE",
    )
)


class Connection(Transport, Protocol):
    """A transport that is closed in the end."""

    async def close(self) -> None:
        """Close it."""
        ...


Connect = Callable[[Mapping[str, str]], Connection]


class Name(NamedTuple):
    """An engine's name, read: its kind, its place, and what `record` listens to."""

    kind: str
    place: str
    live: str = ""


def read(text: str) -> Name:
    """Read `kind`, `kind:place` or `record:place@engine`."""
    kind, _, place = text.partition(":")
    if kind != "record":
        return Name(kind, place)
    file, at, live = place.rpartition("@")
    if at and live.partition(":")[0] in (*PROVIDERS, "corpus"):
        return Name(kind, file, live)
    return Name(kind, place, DEFAULT)


def source(text: str) -> Name:
    """Read the name of what answers in the end: of a recording that is made, what it listens to."""
    name = read(text)
    return read(name.live) if name.live else name


def hashes(text: str) -> dict[str, str]:
    """Return the SHA-256 of what answers from the disk: `corpus`, its pages, or `cassette`.

    A recording that is made changes with every question, so only what it listens to counts.
    Nothing where that is not there: `lacking` tells. Raises DataError for files beyond reading.
    """
    named = source(text)
    path = Path(named.place)
    match named.kind:
        case "corpus" if path.is_dir():
            return {"corpus": files.digest(path, SUFFIXES, MAX_BYTES)}
        case "replay" if path.is_file():
            return {"cassette": fetch.digest(path)}
        case _:
            return {}


def lacking(text: str) -> str:
    """Return why this cannot answer searches, "" if it can."""
    for package in ("bs4", "markdownify"):
        if not util.find_spec(package):
            return f"web search reads pages: {plugin.install('bfcl')}"
    name = read(text)
    provider = PROVIDERS.get(name.live if name.kind == "record" else name.kind)
    if provider is not None and not os.environ.get(provider.variable):
        return f"web search with {name.kind} needs {provider.variable}; -T search= can be {CHOICES}"
    match name:
        case (kind, "", _) if kind in PROVIDERS:
            return ""
        case ("record", place, live) if place:
            return lacking(live) if live.startswith("corpus") else ""
        case ("corpus", place, _) if place and Path(place).is_dir():
            step = plugin.install("bfcl")
            return "" if util.find_spec("bm25s") else f"a corpus is searched by words: {step}"
        case ("replay", place, _) if Path(place).is_file():
            return ""
        case ("corpus" | "replay", place, _):
            return f"search {text!r}: {place!r} is not there; -T search= can be {CHOICES}"
        case _:
            return f"no search {text!r}; -T search= can be {CHOICES}"


@asynccontextmanager
async def opened(text: str, connect: Connect) -> AsyncIterator[Engine]:
    """Open the engine of a name of which nothing is lacking.

    `connect` makes a transport that sends the headers given. Raises UsageError for a corpus
    without pages, DataError for a recording that cannot be read.
    """
    name = read(text)
    match name.kind:
        case "corpus":
            from toolmark.worlds.corpus import Corpus

            yield Corpus.of(Path(name.place))
        case "replay":
            yield Recorded(Cassette(Path(name.place)))
        case "record":
            async with opened(name.live, connect) as engine:
                secrets = (engine.key,) if isinstance(engine, Web) else ()
                yield Recorded(Cassette(Path(name.place), secrets), engine)
        case _:
            async with _web(PROVIDERS[name.kind], connect) as web:
                yield web


@asynccontextmanager
async def _web(provider: Provider, connect: Connect) -> AsyncIterator[Web]:
    key = os.environ[provider.variable]
    connection = connect(provider.headers(key))
    try:
        yield Web(provider, connection, key)
    finally:
        await connection.close()
