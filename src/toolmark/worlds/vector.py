"""Memory as numbered texts, the nearest of which in meaning are found by an encoder.

The tools' names, limits and result texts are those of BFCL V4. An encoder makes rows of unit
length, so that the similarity of two texts is the product of their rows; 50 texts need no index.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from importlib import util
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolmark.errors import UsageError
from toolmark.worlds.memory import (
    ARCHIVAL_CHARS,
    ARCHIVAL_ENTRIES,
    CORE_CHARS,
    CORE_ENTRIES,
    Outcome,
    handed,
)

Encoder: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

_CACHED = 20_000


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


# --- encoders ---------------------------------------------------------------------------


class Cached:
    """An encoder that encodes each text once; the oldest are forgotten."""

    def __init__(self, encoder: Encoder, max_texts: int = _CACHED) -> None:
        self.encoder = encoder
        self.max_texts = max_texts
        self._rows: dict[str, NDArray[np.float32]] = {}
        self._lock = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a row per text."""
        with self._lock:
            new = list(dict.fromkeys(text for text in texts if text not in self._rows))
            if new:
                self._rows.update(zip(new, self.encoder(new), strict=True))
            rows = np.stack([self._rows[text] for text in texts])
            while len(self._rows) > self.max_texts:
                del self._rows[next(iter(self._rows))]
            return rows


def installed() -> bool:
    """Tell whether the extra `embed` is there."""
    return util.find_spec("sentence_transformers") is not None


def load(name: str) -> Encoder:
    """Load an encoder on the processor: a folder, an installed package that holds one, or a hub's.

    Raises UsageError where it cannot be found.
    """
    from sentence_transformers import SentenceTransformer

    try:
        with redirect_stderr(StringIO()):  # its progress bar would be drawn through the run's
            model = SentenceTransformer(str(_folder(name) or name), device="cpu")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"no encoder {name!r}: {str(error).splitlines()[0]}; name a folder that holds one, "
            "an installed package, or a model of the hub (needs network)"
        ) from None

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        rows = model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(rows, dtype=np.float32)

    return Cached(encode)


def _folder(name: str) -> Path | None:
    """Return the folder of an encoder that is on this machine: its own, or inside a package."""
    if Path(name).is_dir():
        return Path(name)
    module = name.replace("-", "_")
    if not module.isidentifier():
        return None
    found = util.find_spec(module)
    inside = Path(found.origin).parent / "model" if found and found.origin else None
    return inside if inside and inside.is_dir() else None
