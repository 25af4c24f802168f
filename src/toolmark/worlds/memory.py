"""Memory that outlives a conversation: named texts, or one text that is rewritten.

The tools' names, limits and result texts are those of BFCL V4, so that a model meets what it
would meet there; the code is our own. A state is plain JSON, in the form of the published
snapshots, and is handed from one session to the next.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from toolmark import codec
from toolmark.errors import DataError
from toolmark.types import Call, Message, Result, Text, Tool
from toolmark.worlds.objects import Objects, answer

CORE_ENTRIES, CORE_CHARS = 7, 300
ARCHIVAL_ENTRIES, ARCHIVAL_CHARS = 50, 2000
SUMMARY_CHARS = 10_000
SLOT = "{memory_content}"  # where an opening message shows what is remembered

Rank: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]
Outcome: TypeAlias = dict[str, Any]

_KEY = re.compile(r"^[a-z]+(_[a-z0-9]+)*$")


class Store(Protocol):
    """One kind of memory."""

    def tools(self) -> dict[str, Callable[..., Outcome]]:
        """Return the tools by name."""
        ...

    def shown(self) -> str:
        """Return what a new conversation is shown of it."""
        ...

    def state(self) -> Any:
        """Return everything in it as JSON values."""
        ...


# --- keys and values --------------------------------------------------------------------


class _Entries(msgspec.Struct):
    core_memory: dict[str, str] = {}
    archival_memory: dict[str, str] = {}


class KeyValue:
    """Two shelves of named texts; names are searched by `rank`."""

    def __init__(self, rank: Rank, state: Any = None) -> None:
        held = handed(state, _Entries)
        self.core = _Shelf("core", CORE_ENTRIES, CORE_CHARS, held.core_memory, rank)
        self.archival = _Shelf(
            "archival", ARCHIVAL_ENTRIES, ARCHIVAL_CHARS, held.archival_memory, rank
        )

    def tools(self) -> dict[str, Callable[..., Outcome]]:
        """Return the tools of both shelves; only the core one can be read whole."""
        return {
            **self.core.tools(),
            **self.archival.tools(),
            "core_memory_retrieve_all": self.core.everything,
        }

    def shown(self) -> str:
        """Return the core shelf."""
        if not self.core.held:
            return "There is no content in the core memory at this point."
        return json.dumps(self.core.held, indent=4)

    def state(self) -> Any:
        """Return both shelves."""
        return {"core_memory": self.core.held, "archival_memory": self.archival.held}


class _Shelf:
    def __init__(
        self, name: str, max_entries: int, max_chars: int, held: dict[str, str], rank: Rank
    ) -> None:
        self.name = name
        self.max_entries = max_entries
        self.max_chars = max_chars
        self.held = dict(held)
        self.rank = rank
        core = name == "core"
        self.title = "Core" if core else "Long term"
        self.cleared = "Short term" if core else "Long term"
        self.added = "Key-value pair added." if core else "Key added."

    def tools(self) -> dict[str, Callable[..., Outcome]]:
        verbs: dict[str, Callable[..., Outcome]] = {
            "add": self.add,
            "remove": self.remove,
            "replace": self.replace,
            "clear": self.clear,
            "retrieve": self.retrieve,
            "list_keys": self.keys,
            "key_search": self.search,
        }
        return {f"{self.name}_memory_{verb}": method for verb, method in verbs.items()}

    def add(self, key: Any, value: Any) -> Outcome:
        key, value = str(key), str(value)
        if len(self.held) >= self.max_entries:
            return {"error": f"{self.title} memory is full. Please clear some entries."}
        if len(value) > self.max_chars:
            return self._long()
        if not _KEY.match(key):
            return {"error": "Key must be in snake_case format and cannot contain spaces."}
        if key in self.held:
            return {"error": "Key name must be unique."}
        self.held[key] = value
        return {"status": self.added}

    def remove(self, key: Any) -> Outcome:
        if key not in self.held:
            return {"error": "Key not found."}
        del self.held[key]
        return {"status": "Key removed."}

    def replace(self, key: Any, value: Any) -> Outcome:
        key, value = str(key), str(value)
        if key not in self.held:
            return {"error": "Key not found."}
        if len(value) > self.max_chars:
            return self._long()
        self.held[key] = value
        return {"status": "Key replaced."}

    def clear(self) -> Outcome:
        self.held = {}
        return {"status": f"{self.cleared} memory cleared."}

    def retrieve(self, key: Any) -> Outcome:
        if key not in self.held:
            return {"error": "Key not found."}
        return {"value": self.held[key]}

    def keys(self) -> Outcome:
        return {"keys": list(self.held)}

    def search(self, query: Any, k: Any = 5) -> Outcome:
        keys = list(self.held)
        scores = self.rank(query, keys)
        ranked = sorted(zip(scores, keys, strict=True), key=lambda pair: pair[0], reverse=True)
        return {"ranked_results": [[float(score), key] for score, key in ranked[:k]]}

    def everything(self) -> Outcome:
        return self.held

    def _long(self) -> Outcome:
        limit = self.max_chars
        return {
            "error": f"Entry is too long. Please shorten the entry to less than {limit} characters."
        }


# --- one text ---------------------------------------------------------------------------


class _Summary(msgspec.Struct):
    memory: str = ""


class Summary:
    """One text that the model rewrites as it goes."""

    def __init__(self, state: Any = None) -> None:
        self.memory = handed(state, _Summary).memory

    def tools(self) -> dict[str, Callable[..., Outcome]]:
        """Return the tools."""
        return {
            "memory_append": self.append,
            "memory_update": self.update,
            "memory_clear": self.clear,
            "memory_replace": self.replace,
            "memory_retrieve": self.retrieve,
        }

    def shown(self) -> str:
        """Return the whole text."""
        return self.memory or "There is no content in the memory at this point."

    def state(self) -> Any:
        """Return the text."""
        return {"memory": self.memory}

    def append(self, text: Any) -> Outcome:
        """Add at the end."""
        if len(self.memory + str(text)) > SUMMARY_CHARS:
            return _over("appending")
        self.memory += str(text)
        return {"status": "Memory appended."}

    def update(self, text: Any) -> Outcome:
        """Replace everything."""
        if len(str(text)) > SUMMARY_CHARS:
            return _over("updating")
        self.memory = str(text)
        return {"status": "Memory updated."}

    def clear(self) -> Outcome:
        """Forget everything."""
        self.memory = ""
        return {"status": "Short term memory cleared."}

    def replace(self, old_text: Any, new_text: Any) -> Outcome:
        """Replace every occurrence of a text.

        Only the new text is held to the limit, as published; what a replacement would make of
        the whole is held to a hundred times that, so that no call can fill the machine.
        """
        old, new = str(old_text), str(new_text)
        if old not in self.memory:
            return {"error": f"Text '{old}' not found in memory."}
        grown = len(self.memory) + self.memory.count(old) * (len(new) - len(old))
        if len(new) > SUMMARY_CHARS or grown > 100 * SUMMARY_CHARS:
            return _over("replacing")
        self.memory = self.memory.replace(old, new)
        return {"status": "Memory updated."}

    def retrieve(self) -> Outcome:
        """Return the text."""
        if not self.memory:
            return {"error": "Memory is empty."}
        return {"memory_content": self.memory}


def _over(doing: str) -> Outcome:
    return {
        "error": f"Entry will be too long after {doing}. Please shorten the entry to less than "
        f"{SUMMARY_CHARS} characters."
    }


# --- the world --------------------------------------------------------------------------


class Memory:
    """One episode with a memory."""

    def __init__(self, offered: tuple[Tool, ...], store: Store) -> None:
        self.offered = offered
        self.store = store
        self._objects = Objects({}, store.tools())

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools; they never change."""
        return self.offered

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        """Fill what is remembered into the system message that has a place for it."""
        if not messages or messages[0].role != "system":
            return messages
        text = messages[0].text.replace(SLOT, codec.escape(self.store.shown()), 1)
        return (Message(role="system", parts=(Text(text),)), *messages[1:])

    async def call(self, call: Call, /) -> Result:
        """Use the memory; in a thread, as an encoder takes its time."""
        return await asyncio.to_thread(answer, self._objects, call)

    async def final_state(self) -> Any:
        """Return what is remembered."""
        return codec.plain(self.store.state())


def handed(state: Any, kind: type[msgspec.Struct]) -> Any:
    """Read a handed-on state; None is an empty memory. Raises DataError."""
    try:
        return msgspec.convert({} if state is None else _restored(state), kind, strict=False)
    except msgspec.ValidationError as error:
        raise DataError(f"a memory that was handed on is not readable: {error}") from None


def _restored(value: Any) -> Any:
    match value:
        case str():
            return codec.restore(value)
        case dict():
            return {codec.restore(str(key)): _restored(item) for key, item in value.items()}
        case _:
            return value


def by_words(query: str, keys: Sequence[str]) -> list[float]:
    """Rank keys by BM25+ over their words. Raises ZeroDivisionError where there are none."""
    from rank_bm25 import BM25Plus

    ranked = BM25Plus([_words(key) for key in keys])
    return [float(score) for score in ranked.get_scores(_words(query))]


def _words(text: str) -> list[str]:
    return text.replace("_", " ").lower().split()
