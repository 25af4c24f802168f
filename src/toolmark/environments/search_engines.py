"""Search engines by name: a provider, a corpus, or a recording of either."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import util
from pathlib import Path
from typing import NamedTuple, Protocol

from toolmark.core import files, user_modules
from toolmark.environments.cassette import Cassette
from toolmark.environments.page_address import MAX_PAGE_BYTES, PAGE_SUFFIXES
from toolmark.environments.search_environment import RecordedEngine, SearchEngine
from toolmark.environments.search_providers import PROVIDERS, Provider, Transport, WebEngine

DEFAULT_ENGINE = "serpapi"
ENGINE_CHOICES = ", ".join(
    (
        *(f"{each.name} (needs {each.variable})" for each in PROVIDERS.values()),
        "corpus:FOLDER",
        "record:FILE (or record:FILE@PROVIDER, record:FILE@corpus:FOLDER) or replay:FILE",
    )
)


class ClosableTransport(Transport, Protocol):
    """A transport that can be closed."""

    async def close(self) -> None:
        """Close the transport."""
        ...


TransportOpener = Callable[[Mapping[str, str]], ClosableTransport]


class EngineName(NamedTuple):
    """A parsed engine name: its kind, its file or folder, and the engine that `record` records."""

    kind: str
    location: str
    recorded_engine: str = ""


def parse_engine_name(text: str) -> EngineName:
    """Parse `kind`, `kind:location` or `record:location@engine`."""
    kind, _, place = text.partition(":")
    if kind != "record":
        return EngineName(kind, place)
    file, at, live = place.rpartition("@")
    if at and live.partition(":")[0] in (*PROVIDERS, "corpus"):
        return EngineName(kind, file, live)
    return EngineName(kind, place, DEFAULT_ENGINE)


def answering_engine(text: str) -> EngineName:
    """Return the parsed name of the engine that answers: for `record` the recorded engine."""
    name = parse_engine_name(text)
    return parse_engine_name(name.recorded_engine) if name.recorded_engine else name


def source_hashes(text: str) -> dict[str, str]:
    """Return the SHA-256 of the files that answer, under `corpus` for pages or `cassette`.

    A cassette that is being recorded changes with every question, so only the recorded engine
    counts. The result is empty where the files are missing; `missing_requirement` reports that.
    Raises DataError for files that cannot be read.
    """
    named = answering_engine(text)
    path = Path(named.location)
    match named.kind:
        case "corpus" if path.is_dir():
            return {"corpus": files.folder_sha256(path, PAGE_SUFFIXES, MAX_PAGE_BYTES)}
        case "replay" if path.is_file():
            return {"cassette": files.file_sha256(path)}
        case _:
            return {}


def missing_requirement(text: str) -> str:
    """Return why this engine cannot answer searches, "" if it can."""
    for package in ("bs4", "markdownify"):
        if not util.find_spec(package):
            return f"web search reads pages: {user_modules.install_command('bfcl')}"
    name = parse_engine_name(text)
    provider = PROVIDERS.get(name.recorded_engine if name.kind == "record" else name.kind)
    if provider is not None and not os.environ.get(provider.variable):
        return (
            f"web search with {name.kind} needs {provider.variable}; -T search= can be "
            f"{ENGINE_CHOICES}"
        )
    match name:
        case (kind, "", _) if kind in PROVIDERS:
            return ""
        case ("record", place, live) if place:
            return missing_requirement(live) if live.startswith("corpus") else ""
        case ("corpus", place, _) if place and Path(place).is_dir():
            step = user_modules.install_command("bfcl")
            return "" if util.find_spec("bm25s") else f"a corpus is searched by words: {step}"
        case ("replay", place, _) if Path(place).is_file():
            return ""
        case ("corpus" | "replay", place, _):
            return f"search {text!r}: {place!r} is not there; -T search= can be {ENGINE_CHOICES}"
        case _:
            return f"no search {text!r}; -T search= can be {ENGINE_CHOICES}"


@asynccontextmanager
async def open_engine(text: str, connect: TransportOpener) -> AsyncIterator[SearchEngine]:
    """Open the engine of a name for which `missing_requirement` returns "".

    `connect` makes a transport that sends the given headers. Raises UsageError for a corpus
    without pages, DataError for a recording that cannot be read.
    """
    name = parse_engine_name(text)
    match name.kind:
        case "corpus":
            from toolmark.environments.page_corpus import PageCorpus

            yield PageCorpus.from_folder(Path(name.location))
        case "replay":
            yield RecordedEngine(Cassette(Path(name.location)))
        case "record":
            async with open_engine(name.recorded_engine, connect) as engine:
                secrets = (engine.key,) if isinstance(engine, WebEngine) else ()
                yield RecordedEngine(Cassette(Path(name.location), secrets), engine)
        case _:
            async with _open_web_engine(PROVIDERS[name.kind], connect) as web:
                yield web


@asynccontextmanager
async def _open_web_engine(
    provider: Provider, connect: TransportOpener
) -> AsyncIterator[WebEngine]:
    key = os.environ[provider.variable]
    connection = connect(provider.headers(key))
    try:
        yield WebEngine(provider, connection, key)
    finally:
        await connection.close()
