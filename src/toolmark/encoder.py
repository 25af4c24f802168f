"""Sentence encoders: texts to rows of unit length, each text encoded once per model.

A model is a folder in the layout of sentence-transformers: one's own, one inside an installed
package, or one of the hub, fetched once. Rows are kept on disk under the hash of the model's files
and of the text, so that the model is loaded only when there is something new to encode.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, redirect_stderr, suppress
from importlib import util
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark import fetch, plugin
from toolmark.errors import DataError, UsageError

Row: TypeAlias = NDArray[np.float32]
Encoder: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

_CACHED = 20_000
_BATCH = 64
_ASKED = 500  # parameters of one question to the cache
_ANY = (Exception, BaseException, object)
_REACH_S = 10.0  # for a hub that does not answer
_WAIT_S = 60.0  # for another process that writes to the cache
_HOME = "sentence-transformers"  # whose model a bare name of the hub is
_FILES = ("*.json", "*.txt", "*.model", "*.safetensors")  # of a model; none of them holds code


def installed() -> bool:
    """Tell whether the extra `embed` is there."""
    with suppress(ModuleNotFoundError):  # as a finder that forbids it raises
        return util.find_spec("sentence_transformers") is not None
    return False


def load(name: str, cache: Path | None = None) -> Encoder:
    """Return an encoder that runs on the processor: of a folder, an installed package or the hub.

    Rows are kept in `cache`, by default the folder `vectors` of toolmark's. Raises UsageError
    where there is no such model, or the extra `embed` is missing.
    """
    if not installed():
        raise UsageError(f"encoder {name!r} needs: {plugin.install('embed')}")
    folder = here(name) or _fetched(name)
    if not (folder / "modules.json").is_file() and not (folder / "config.json").is_file():
        raise UsageError(_absent(name, f"{folder} holds neither modules.json nor config.json"))
    home = fetch.cache() / "vectors" if cache is None else cache
    return Cached(_Lazy(name, folder), Shelf(home / f"{fingerprint(folder)}.sqlite"))


def fingerprint(folder: Path) -> str:
    """Return the SHA-256 of a model: of the names and contents of its files."""
    sha256 = hashlib.sha256()
    for path in sorted({path for pattern in _FILES for path in folder.rglob(pattern)}):
        sha256.update(f"{path.relative_to(folder).as_posix()} {fetch.digest(path)}\n".encode())
    return sha256.hexdigest()


# --- rows that are known ----------------------------------------------------------------


class Cached:
    """An encoder that encodes each text once; in memory the oldest are forgotten."""

    def __init__(
        self, encoder: Encoder, shelf: Shelf | None = None, max_texts: int = _CACHED
    ) -> None:
        self.encoder = encoder
        self.shelf = shelf
        self.max_texts = max_texts
        self._rows: dict[str, Row] = {}
        self._lock = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a row per text; all that are new are encoded together."""
        with self._lock:
            self._learn(dict.fromkeys(text for text in texts if text not in self._rows))
            rows = [self._rows[text] for text in texts]
            while len(self._rows) > self.max_texts:
                del self._rows[next(iter(self._rows))]
        return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    def _learn(self, wanted: Iterable[str]) -> None:
        wanted = list(wanted)
        if self.shelf is not None and wanted:
            self._rows.update(self.shelf.read(wanted))
        new = [text for text in wanted if text not in self._rows]
        if not new:
            return
        made = dict(zip(new, self.encoder(new), strict=True))
        if self.shelf is not None:
            self.shelf.add(made)
        self._rows.update(made)


class Shelf:
    """Rows in a file, by the hash of their text; several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, texts: Sequence[str]) -> dict[str, Row]:
        """Return the rows of those of the texts that are there."""
        if not self.path.exists():
            return {}
        by_hash = {_hash(text): text for text in texts}
        hashes = list(by_hash)
        found = {}
        for at in range(0, len(hashes), _ASKED):
            part = hashes[at : at + _ASKED]
            marks = ",".join("?" * len(part))
            query = f"SELECT text, row FROM rows WHERE text IN ({marks})"
            for key, row in self._do(query, part):
                found[by_hash[key]] = np.frombuffer(row, dtype="<f4").astype(np.float32)
        return found

    def add(self, rows: Mapping[str, Row]) -> None:
        """Keep rows; those that are there stay."""
        made = [(_hash(text), np.asarray(row, dtype="<f4").tobytes()) for text, row in rows.items()]
        self._do("INSERT OR IGNORE INTO rows VALUES (?, ?)", made, many=True)

    def _do(self, query: str, given: Sequence[Any], *, many: bool = False) -> list[Any]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as base, base:
                base.execute("CREATE TABLE IF NOT EXISTS rows (text BLOB PRIMARY KEY, row BLOB)")
                return (base.executemany if many else base.execute)(query, given).fetchall()
        except (OSError, sqlite3.Error) as error:
            raise DataError(
                f"{self.path}: cannot keep vectors: {error}; remove the file, it is made anew"
            ) from None


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


# --- models -----------------------------------------------------------------------------


class _Lazy:
    """A model of sentence-transformers that is loaded when the first text comes."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self._encode: Encoder | None = None

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._encode is None:
            self._encode = _opened(self.name, self.folder)
        # the tokenizer takes no lone surrogates
        return self._encode([text.encode("utf-8", "replace").decode() for text in texts])


def _opened(name: str, folder: Path) -> Encoder:
    from sentence_transformers import SentenceTransformer

    try:
        with redirect_stderr(StringIO()):  # its progress bar would be drawn through the run's
            model = SentenceTransformer(
                str(folder),
                device="cpu",
                local_files_only=True,
                model_kwargs={"use_safetensors": True},  # the other format is a pickle
            )
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(_absent(name, str(error))) from None

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        rows = model.encode(
            list(texts), batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(rows, dtype=np.float32)

    return encode


def here(name: str) -> Path | None:
    """Return the folder of an encoder that is on this machine: its own, or inside a package."""
    if Path(name).is_dir():
        return Path(name)
    module = name.replace("-", "_")
    if not module.isidentifier():
        return None
    found = util.find_spec(module)
    inside = Path(found.origin).parent / "model" if found and found.origin else None
    return inside if inside and inside.is_dir() else None


def _fetched(name: str) -> Path:
    """Return the folder of a model of the hub: the hub's own cache is looked at first.

    A hub that does not answer is asked once, for a few seconds.
    """
    import huggingface_hub as hub
    from huggingface_hub.errors import HfHubHTTPError

    # the hub's transport differs by version; its errors have one base with the hub's own
    unreached = tuple(kind for kind in HfHubHTTPError.__mro__ if kind not in _ANY)
    full = name if "/" in name else f"{_HOME}/{name}"
    options = {"repo_id": full, "allow_patterns": list(_FILES)}
    try:
        return Path(hub.snapshot_download(**options, local_files_only=True))
    except (OSError, ValueError):
        pass  # not here yet
    try:
        with redirect_stderr(StringIO()):
            found = hub.HfApi().model_info(full, timeout=_REACH_S)
            return Path(hub.snapshot_download(**options, revision=found.sha))
    except (OSError, ValueError, *unreached) as error:
        raise UsageError(_absent(name, str(error))) from None


def _absent(name: str, why: str) -> str:
    return (
        f"no encoder {name!r}: {next(iter(why.splitlines()), why)}; name a folder that holds one, "
        "an installed package, or a model of the hub (needs network)"
    )
