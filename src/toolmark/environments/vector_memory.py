"""Memory as numbered texts, searched by similarity of meaning with an encoder.

The tools' names, limits and result texts are those of BFCL V4. An encoder returns rows of unit
length, so that the similarity of two texts is the dot product of their rows. 50 texts need no
index.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from toolmark.core.sentence_encoder import Encoder
from toolmark.environments.memory_environment import (
    MAX_ARCHIVAL_CHARS,
    MAX_ARCHIVAL_ENTRIES,
    MAX_CORE_CHARS,
    MAX_CORE_ENTRIES,
    ToolOutcome,
    read_memory_state,
)


class _NumberedTexts(msgspec.Struct):
    next_id: int = 0
    store: dict[int, str] = {}


class _VectorState(msgspec.Struct):
    core_memory: _NumberedTexts
    archival_memory: _NumberedTexts


class VectorMemory:
    """Two stores of numbered texts, core and archival, searched with an encoder."""

    def __init__(self, encoder: Encoder, state: Any = None) -> None:
        empty: dict[str, Any] = {"core_memory": {}, "archival_memory": {}}
        stored = read_memory_state(empty if state is None else state, _VectorState)
        self.core = _Pile(MAX_CORE_ENTRIES, MAX_CORE_CHARS, stored.core_memory, encoder)
        self.archival = _Pile(
            MAX_ARCHIVAL_ENTRIES, MAX_ARCHIVAL_CHARS, stored.archival_memory, encoder
        )

    def tools(self) -> dict[str, Callable[..., ToolOutcome]]:
        """Return the tools of both stores."""
        return {
            f"{name}_memory_{verb}": method
            for name, pile in (("core", self.core), ("archival", self.archival))
            for verb, method in pile.tools().items()
        }

    def prompt_text(self) -> str:
        """Return the core store; an empty one is `{}`, as published."""
        return json.dumps(self.core.store, indent=4)

    def state(self) -> Any:
        """Return both stores; vectors are not stored, but computed again from the texts."""
        return {"core_memory": self.core.state(), "archival_memory": self.archival.state()}


class _Pile:
    def __init__(
        self, max_entries: int, max_chars: int, stored: _NumberedTexts, encoder: Encoder
    ) -> None:
        self.max_entries = max_entries
        self.max_chars = max_chars
        self.next_id = stored.next_id
        self.store = dict(stored.store)
        self.encoder = encoder

    def tools(self) -> dict[str, Callable[..., ToolOutcome]]:
        return {
            "add": self.add,
            "remove": self.remove,
            "update": self.update,
            "clear": self.clear,
            "retrieve": self.retrieve,
            "retrieve_all": self.everything,
        }

    def state(self) -> Any:
        store = {str(id): text for id, text in self.store.items()}
        return {"next_id": self.next_id, "store": store}

    def add(self, text: Any) -> ToolOutcome:
        if len(_require_text(text)) > self.max_chars:
            return self._too_long_error()
        if len(self.store) >= self.max_entries:
            return {"error": f"Memory size exceeds maximum size of {self.max_entries} entries."}
        id = self.next_id
        self.next_id += 1
        self.store[id] = text
        return {"id": id}

    def remove(self, vec_id: Any) -> ToolOutcome:
        if vec_id not in self.store:
            return _absent_error(vec_id)
        del self.store[vec_id]
        return {"status": f"ID {vec_id} removed from store."}

    def update(self, vec_id: Any, new_text: Any) -> ToolOutcome:
        if vec_id not in self.store:
            return _absent_error(vec_id)
        if len(_require_text(new_text)) > self.max_chars:
            return self._too_long_error()
        self.store[vec_id] = new_text
        return {"status": f"ID {vec_id} updated."}

    def clear(self) -> ToolOutcome:
        self.store = {}
        self.next_id = 0
        return {"status": "Memory cleared."}

    def retrieve(self, query: Any, top_k: Any = 5) -> ToolOutcome:
        if not self.store:
            return {"result": []}
        n = min(top_k, len(self.store))
        if n < 1:
            raise ValueError("top_k must be positive")
        ids = sorted(self.store)
        query_vector, *text_vectors = self.encoder(
            [_require_text(query), *(self.store[id] for id in ids)]
        )
        scores = np.asarray(text_vectors) @ query_vector
        best = np.argsort(-scores, kind="stable")[:n]
        found = [(ids[i], float(scores[i])) for i in best]
        return {
            "result": [
                {"id": id, "similarity_score": score, "text": self.store[id]} for id, score in found
            ]
        }

    def everything(self) -> ToolOutcome:
        return {"result": [{"id": id, "text": text} for id, text in self.store.items()]}

    def _too_long_error(self) -> ToolOutcome:
        return {"error": f"Entry length exceeds maximum length of {self.max_chars} characters."}


def _absent_error(id: Any) -> ToolOutcome:
    return {"error": f"ID {id} not present in store."}


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value
