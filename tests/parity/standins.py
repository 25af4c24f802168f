"""What both sides of a comparison have in the place of an encoder, an index and the web."""

from __future__ import annotations

import types
from typing import Any

import numpy as np


class Encoder:
    """Counts letters, so that equal texts are near and others mostly not."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        pass

    def get_sentence_embedding_dimension(self) -> int:
        return 26

    def encode(self, texts: list[str], **_kwargs: Any) -> Any:
        return np.stack([row(text) for text in texts])


def row(text: str) -> Any:
    counts = [1e-3 + text.lower().count(chr(97 + i)) for i in range(26)]
    vector = np.array(counts, dtype=np.float32)
    return vector / np.linalg.norm(vector)


class Index:
    """An exact search by inner product, as the flat index of faiss."""

    def __init__(self, *_args: Any) -> None:
        self.reset()

    def reset(self) -> None:
        self.rows: dict[int, Any] = {}

    def add_with_ids(self, vectors: Any, ids: Any) -> None:
        self.rows.update(zip(map(int, ids), vectors, strict=True))

    def remove_ids(self, ids: Any) -> None:
        for id in ids:
            del self.rows[int(id)]

    def search(self, query: Any, k: int) -> Any:
        assert k > 0
        ids = sorted(self.rows)
        scores = np.stack([self.rows[id] for id in ids]) @ query[0]
        best = np.argsort(-scores, kind="stable")[:k]
        return scores[best][None], np.array(ids)[best][None]


# --- the web ----------------------------------------------------------------------------


def found(keywords: str, region: str) -> list[dict[str, str]]:
    """Return what both sides find."""
    return [
        {
            "title": f"{keywords} {number} ({region})",
            "link": f"https://a.example/{number}",
            "snippet": f"All about {keywords}, part {number}.",
        }
        for number in range(4)
    ]


def fetched(url: str, **_named: Any) -> Any:
    """Return the page that both sides find at an address."""
    if url.endswith("/none"):
        raise OSError("there is no such page")
    return types.SimpleNamespace(text=f"<p>{url}</p>", raise_for_status=lambda: None)
