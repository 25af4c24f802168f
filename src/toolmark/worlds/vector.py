"""Memory as numbered texts, the nearest of which in meaning are found by an encoder.

The tools' names, limits and result texts are those of BFCL V4. An encoder makes rows of unit
length, so that the similarity of two texts is the product of their rows; 50 texts need no index.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from toolmark.encoder import Encoder
from toolmark.worlds.memory import (
    ARCHIVAL_CHARS,
    ARCHIVAL_ENTRIES,
    CORE_CHARS,
    CORE_ENTRIES,
    Outcome,
    handed,
)


class _Numbered(msgspec.Struct):
    next_id: int = 0
    store: dict[int, str] = {}


class _Piles(msgspec.Struct):
    core_memory: _Numbered
    archival_memory: _Numbered


class Vector:
    """Two piles of numbered texts; the nearest in meaning are found by the encoder."""

    def __init__(self, encoder: Encoder, state: Any = None) -> None:
        empty: dict[str, Any] = {"core_memory": {}, "archival_memory": {}}
        held = handed(empty if state is None else state, _Piles)
        self.core = _Pile(CORE_ENTRIES, CORE_CHARS, held.core_memory, encoder)
        self.archival = _Pile(ARCHIVAL_ENTRIES, ARCHIVAL_CHARS, held.archival_memory, encoder)

    def tools(self) -> dict[str, Callable[..., Outcome]]:
        """Return the tools of both piles."""
        return {
            f"{name}_memory_{verb}": method
            for name, pile in (("core", self.core), ("archival", self.archival))
            for verb, method in pile.tools().items()
        }

    def shown(self) -> str:
        """Return the core pile; an empty one is `{}`, as published."""
        return json.dumps(self.core.store, indent=4)

    def state(self) -> Any:
        """Return both piles; the vectors are made anew from the texts."""
        return {"core_memory": self.core.state(), "archival_memory": self.archival.state()}


class _Pile:
    def __init__(self, max_entries: int, max_chars: int, held: _Numbered, encoder: Encoder) -> None:
        self.max_entries = max_entries
        self.max_chars = max_chars
        self.next_id = held.next_id
        self.store = dict(held.store)
        self.encoder = encoder

    def tools(self) -> dict[str, Callable[..., Outcome]]:
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

    def add(self, text: Any) -> Outcome:
        if len(_text(text)) > self.max_chars:
            return self._long()
        if len(self.store) >= self.max_entries:
            return {"error": f"Memory size exceeds maximum size of {self.max_entries} entries."}
        id = self.next_id
        self.next_id += 1
        self.store[id] = text
        return {"id": id}

    def remove(self, vec_id: Any) -> Outcome:
        if vec_id not in self.store:
            return _absent(vec_id)
        del self.store[vec_id]
        return {"status": f"ID {vec_id} removed from store."}

    def update(self, vec_id: Any, new_text: Any) -> Outcome:
        if vec_id not in self.store:
            return _absent(vec_id)
        if len(_text(new_text)) > self.max_chars:
            return self._long()
        self.store[vec_id] = new_text
        return {"status": f"ID {vec_id} updated."}

    def clear(self) -> Outcome:
        self.store = {}
        self.next_id = 0
        return {"status": "Memory cleared."}

    def retrieve(self, query: Any, top_k: Any = 5) -> Outcome:
        if not self.store:
            return {"result": []}
        n = min(top_k, len(self.store))
        if n < 1:
            raise ValueError("top_k must be positive")
        ids = sorted(self.store)
        near, *far = self.encoder([_text(query), *(self.store[id] for id in ids)])
        scores = np.asarray(far) @ near
        best = np.argsort(-scores, kind="stable")[:n]
        found = [(ids[i], float(scores[i])) for i in best]
        return {
            "result": [
                {"id": id, "similarity_score": score, "text": self.store[id]} for id, score in found
            ]
        }

    def everything(self) -> Outcome:
        return {"result": [{"id": id, "text": text} for id, text in self.store.items()]}

    def _long(self) -> Outcome:
        return {"error": f"Entry length exceeds maximum length of {self.max_chars} characters."}


def _absent(id: Any) -> Outcome:
    return {"error": f"ID {id} not present in store."}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value
