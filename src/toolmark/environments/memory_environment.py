"""Memory that persists between conversations: named texts, or one text that is rewritten.

The tools' names, limits and result texts are those of BFCL V4, so that a model meets the same
conditions; the code is independent. A state is plain JSON in the form of the published snapshots,
and is passed from one session to the next.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from toolmark.core import json_codec
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.environment import Environment
from toolmark.core.errors import DataError
from toolmark.core.records import Call, Message, Result, Text, Tool
from toolmark.environments.object_environment import EpisodeObjects, answer_call, name_method

MAX_CORE_ENTRIES, MAX_CORE_CHARS = 7, 300
MAX_ARCHIVAL_ENTRIES, MAX_ARCHIVAL_CHARS = 50, 2000
MAX_SUMMARY_CHARS = 10_000
MEMORY_PLACEHOLDER = "{memory_content}"  # where an opening message shows the memory

KeyRanker: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]
ToolOutcome: TypeAlias = dict[str, Any]

_KEY = re.compile(r"^[a-z]+(_[a-z0-9]+)*$")


class MemoryStore(Protocol):
    """One kind of memory."""

    def tools(self) -> dict[str, Callable[..., ToolOutcome]]:
        """Return the tools by name."""
        ...

    def prompt_text(self) -> str:
        """Return the part of it that a new conversation shows."""
        ...

    def state(self) -> Any:
        """Return all of its content as JSON values."""
        ...


# --- keys and values --------------------------------------------------------------------


class _Entries(msgspec.Struct):
    core_memory: dict[str, str] = {}
    archival_memory: dict[str, str] = {}


class KeyValueMemory:
    """Two stores of named texts, core and archival; `rank` ranks names for a search."""

    def __init__(self, rank: KeyRanker, state: Any = None) -> None:
        stored = read_memory_state(state, _Entries)
        self.core = _KeyValueStore(
            "core", MAX_CORE_ENTRIES, MAX_CORE_CHARS, stored.core_memory, rank
        )
        self.archival = _KeyValueStore(
            "archival", MAX_ARCHIVAL_ENTRIES, MAX_ARCHIVAL_CHARS, stored.archival_memory, rank
        )

    def tools(self) -> dict[str, Callable[..., ToolOutcome]]:
        """Return the tools of both stores; only the core store can be read completely."""
        return {
            **self.core.tools(),
            **self.archival.tools(),
            "core_memory_retrieve_all": self.core.everything,
        }

    def prompt_text(self) -> str:
        """Return the core store."""
        if not self.core.entries:
            return "There is no content in the core memory at this point."
        return json.dumps(self.core.entries, indent=4)

    def state(self) -> Any:
        """Return both stores."""
        return {"core_memory": self.core.entries, "archival_memory": self.archival.entries}


class _KeyValueStore:
    def __init__(
        self, name: str, max_entries: int, max_chars: int, entries: dict[str, str], rank: KeyRanker
    ) -> None:
        self.name = name
        self.max_entries = max_entries
        self.max_chars = max_chars
        self.entries = dict(entries)
        self.rank = rank
        core = name == "core"
        self.title = "Core" if core else "Long term"
        self.cleared_title = "Short term" if core else "Long term"
        self.added_status = "Key-value pair added." if core else "Key added."

    def tools(self) -> dict[str, Callable[..., ToolOutcome]]:
        verbs: dict[str, Callable[..., ToolOutcome]] = {
            "add": self.add,
            "remove": self.remove,
            "replace": self.replace,
            "clear": self.clear,
            "retrieve": self.retrieve,
            "list_keys": self.keys,
            "key_search": self.search,
        }
        return {f"{self.name}_memory_{verb}": method for verb, method in verbs.items()}

    def add(self, key: Any, value: Any) -> ToolOutcome:
        key, value = str(key), str(value)
        if len(self.entries) >= self.max_entries:
            return {"error": f"{self.title} memory is full. Please clear some entries."}
        if len(value) > self.max_chars:
            return self._too_long_error()
        if not _KEY.match(key):
            return {"error": "Key must be in snake_case format and cannot contain spaces."}
        if key in self.entries:
            return {"error": "Key name must be unique."}
        self.entries[key] = value
        return {"status": self.added_status}

    def remove(self, key: Any) -> ToolOutcome:
        if key not in self.entries:
            return {"error": "Key not found."}
        del self.entries[key]
        return {"status": "Key removed."}

    def replace(self, key: Any, value: Any) -> ToolOutcome:
        key, value = str(key), str(value)
        if key not in self.entries:
            return {"error": "Key not found."}
        if len(value) > self.max_chars:
            return self._too_long_error()
        self.entries[key] = value
        return {"status": "Key replaced."}

    def clear(self) -> ToolOutcome:
        self.entries = {}
        return {"status": f"{self.cleared_title} memory cleared."}

    def retrieve(self, key: Any) -> ToolOutcome:
        if key not in self.entries:
            return {"error": "Key not found."}
        return {"value": self.entries[key]}

    def keys(self) -> ToolOutcome:
        return {"keys": list(self.entries)}

    def search(self, query: Any, k: Any = 5) -> ToolOutcome:
        keys = list(self.entries)
        scores = self.rank(query, keys)
        ranked = sorted(zip(scores, keys, strict=True), key=lambda pair: pair[0], reverse=True)
        return {"ranked_results": [[float(score), key] for score, key in ranked[:k]]}

    def everything(self) -> ToolOutcome:
        return self.entries

    def _too_long_error(self) -> ToolOutcome:
        limit = self.max_chars
        return {
            "error": f"Entry is too long. Please shorten the entry to less than {limit} characters."
        }


# --- one text ---------------------------------------------------------------------------


class _Summary(msgspec.Struct):
    memory: str = ""


class Summary:
    """One text that the model rewrites."""

    def __init__(self, state: Any = None) -> None:
        self.memory = read_memory_state(state, _Summary).memory

    def tools(self) -> dict[str, Callable[..., ToolOutcome]]:
        """Return the tools."""
        return {
            "memory_append": self.append,
            "memory_update": self.update,
            "memory_clear": self.clear,
            "memory_replace": self.replace,
            "memory_retrieve": self.retrieve,
        }

    def prompt_text(self) -> str:
        """Return the complete text."""
        return self.memory or "There is no content in the memory at this point."

    def state(self) -> Any:
        """Return the text."""
        return {"memory": self.memory}

    def append(self, text: Any) -> ToolOutcome:
        """Append text."""
        if len(self.memory + str(text)) > MAX_SUMMARY_CHARS:
            return _too_long_error("appending")
        self.memory += str(text)
        return {"status": "Memory appended."}

    def update(self, text: Any) -> ToolOutcome:
        """Replace the complete text."""
        if len(str(text)) > MAX_SUMMARY_CHARS:
            return _too_long_error("updating")
        self.memory = str(text)
        return {"status": "Memory updated."}

    def clear(self) -> ToolOutcome:
        """Delete the complete text."""
        self.memory = ""
        return {"status": "Short term memory cleared."}

    def replace(self, old_text: Any, new_text: Any) -> ToolOutcome:
        """Replace every occurrence of a text.

        The limit applies only to the new text, as published. The result may have a hundred times
        that length, so that no call can use up the machine's memory.
        """
        old, new = str(old_text), str(new_text)
        if old not in self.memory:
            return {"error": f"Text '{old}' not found in memory."}
        new_size = len(self.memory) + self.memory.count(old) * (len(new) - len(old))
        if len(new) > MAX_SUMMARY_CHARS or new_size > 100 * MAX_SUMMARY_CHARS:
            return _too_long_error("replacing")
        self.memory = self.memory.replace(old, new)
        return {"status": "Memory updated."}

    def retrieve(self) -> ToolOutcome:
        """Return the text."""
        if not self.memory:
            return {"error": "Memory is empty."}
        return {"memory_content": self.memory}


def _too_long_error(doing: str) -> ToolOutcome:
    return {
        "error": f"Entry will be too long after {doing}. Please shorten the entry to less than "
        f"{MAX_SUMMARY_CHARS} characters."
    }


# --- the environment --------------------------------------------------------------------


class MemoryEnvironment(Environment):
    """One episode with a memory.

    Errors on the arguments of a call name the tool, and `class_name` before it if there is one.
    """

    def __init__(
        self, offered_tools: tuple[Tool, ...], store: MemoryStore, *, class_name: str = ""
    ) -> None:
        self.offered_tools = offered_tools
        self.store = store
        prefix = f"{class_name}." if class_name else ""
        table = {name: name_method(x, f"{prefix}{name}") for name, x in store.tools().items()}
        self._objects = EpisodeObjects({}, table)

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools; they never change."""
        return self.offered_tools

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        """Return the messages with the memory in place of the system message's placeholder."""
        if not messages or messages[0].role != "system":
            return messages
        text = messages[0].text.replace(
            MEMORY_PLACEHOLDER, json_codec.escape_surrogates(self.store.prompt_text()), 1
        )
        return (Message(role="system", parts=(Text(text),)), *messages[1:])

    async def call(self, call: Call, /) -> Result:
        """Execute a memory call, in a thread, since an encoder may be slow."""
        return await asyncio.to_thread(answer_call, self._objects, call)

    async def final_state(self) -> Any:
        """Return the content of the memory."""
        return json_codec.to_plain_json(self.store.state())


def read_memory_state(state: Any, kind: type[msgspec.Struct]) -> Any:
    """Return a state from an earlier session; None is an empty memory. Raises DataError."""
    try:
        return msgspec.convert(
            {} if state is None else _restore_surrogates(state), kind, strict=False
        )
    except msgspec.ValidationError as error:
        raise DataError(
            f"a memory that was handed on is not readable: {describe_decode_error(error)}"
        ) from None


def _restore_surrogates(value: Any) -> Any:
    match value:
        case str():
            return json_codec.restore_surrogates(value)
        case dict():
            return {
                json_codec.restore_surrogates(str(key)): _restore_surrogates(item)
                for key, item in value.items()
            }
        case _:
            return value


def rank_by_words(query: str, keys: Sequence[str]) -> list[float]:
    """Return the BM25+ scores of keys by their words. Raises ZeroDivisionError without keys."""
    from rank_bm25 import BM25Plus

    ranked = BM25Plus([_split_words(key) for key in keys])
    return [float(score) for score in ranked.get_scores(_split_words(query))]


def _split_words(text: str) -> list[str]:
    return text.replace("_", " ").lower().split()
