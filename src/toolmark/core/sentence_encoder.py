"""Sentence encoders: texts to vectors of unit length, each text encoded once per model.

A model is a folder in the layout of sentence-transformers: a folder of the user, one inside an
installed package, or one from the hub, downloaded once. Vectors are stored on disk under the hash
of the model's files and of the text, so that the model is loaded only for new texts.
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

from toolmark.core import files, user_modules
from toolmark.core.errors import DataError, UsageError

Vector: TypeAlias = NDArray[np.float32]
Encoder: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

_MAX_CACHED_TEXTS = 20_000
_BATCH_SIZE = 64
_QUERY_PARAMETERS = 500  # of one query to the cache
_GENERIC_ERRORS = (Exception, BaseException, object)
_HUB_TIMEOUT_S = 10.0  # for a hub that does not answer
_LOCK_TIMEOUT_S = 60.0  # for another process that writes to the cache
_DEFAULT_HUB_OWNER = "sentence-transformers"  # the owner of a hub model whose name has none
# files of a model; none of them contains code
_MODEL_FILE_PATTERNS = ("*.json", "*.txt", "*.model", "*.safetensors")


def is_installed() -> bool:
    """Return whether the extra `embed` is installed."""
    with suppress(ModuleNotFoundError):  # a finder that blocks the module raises it
        return util.find_spec("sentence_transformers") is not None
    return False


def load_encoder(name: str, cache: Path | None = None) -> Encoder:
    """Return an encoder that runs on the CPU: from a folder, an installed package or the hub.

    Vectors are stored in `cache`, by default the folder `vectors` of toolmark's cache. Raises
    UsageError if there is no such model, or if the extra `embed` is missing.
    """
    if not is_installed():
        raise UsageError(f"encoder {name!r} needs: {user_modules.install_command('embed')}")
    folder = find_local_model(name) or _fetch_hub_model(name)
    if not (folder / "modules.json").is_file() and not (folder / "config.json").is_file():
        raise UsageError(
            _not_found_message(name, f"{folder} holds neither modules.json nor config.json")
        )
    home = files.cache_folder() / "vectors" if cache is None else cache
    return CachingEncoder(
        _LazyEncoder(name, folder), VectorStore(home / f"{model_fingerprint(folder)}.sqlite")
    )


def model_fingerprint(folder: Path) -> str:
    """Return the SHA-256 of a model: of the names and contents of its files."""
    sha256 = hashlib.sha256()
    for path in sorted(
        {path for pattern in _MODEL_FILE_PATTERNS for path in folder.rglob(pattern)}
    ):
        sha256.update(f"{path.relative_to(folder).as_posix()} {files.file_sha256(path)}\n".encode())
    return sha256.hexdigest()


# --- rows that are known ----------------------------------------------------------------


class CachingEncoder:
    """An encoder that encodes each text once; the oldest vectors in memory are dropped."""

    def __init__(
        self, encoder: Encoder, store: VectorStore | None = None, max_texts: int = _MAX_CACHED_TEXTS
    ) -> None:
        self.encoder = encoder
        self.store = store
        self.max_texts = max_texts
        self._vectors: dict[str, Vector] = {}
        self._lock = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector per text; all new texts are encoded together."""
        with self._lock:
            self._encode_missing(dict.fromkeys(text for text in texts if text not in self._vectors))
            rows = [self._vectors[text] for text in texts]
            while len(self._vectors) > self.max_texts:
                del self._vectors[next(iter(self._vectors))]
        return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    def _encode_missing(self, texts: Iterable[str]) -> None:
        texts = list(texts)
        if self.store is not None and texts:
            self._vectors.update(self.store.get(texts))
        new = [text for text in texts if text not in self._vectors]
        if not new:
            return
        encoded = dict(zip(new, self.encoder(new), strict=True))
        if self.store is not None:
            self.store.add(encoded)
        self._vectors.update(encoded)


class VectorStore:
    """Vectors in a file, by the hash of their text; several processes may use it at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the stored vectors of these texts; texts without one are left out."""
        if not self.path.exists():
            return {}
        by_hash = {_text_hash(text): text for text in texts}
        hashes = list(by_hash)
        found = {}
        for start in range(0, len(hashes), _QUERY_PARAMETERS):
            batch = hashes[start : start + _QUERY_PARAMETERS]
            placeholders = ",".join("?" * len(batch))
            query = f"SELECT text, row FROM rows WHERE text IN ({placeholders})"
            for key, row in self._execute_query(query, batch):
                found[by_hash[key]] = np.frombuffer(row, dtype="<f4").astype(np.float32)
        return found

    def add(self, vectors: Mapping[str, Vector]) -> None:
        """Store vectors; those that are already stored are not replaced."""
        records = [
            (_text_hash(text), np.asarray(row, dtype="<f4").tobytes())
            for text, row in vectors.items()
        ]
        self._execute_query("INSERT OR IGNORE INTO rows VALUES (?, ?)", records, is_batch=True)

    def _execute_query(
        self, query: str, parameters: Sequence[Any], *, is_batch: bool = False
    ) -> list[Any]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with (
                closing(sqlite3.connect(self.path, timeout=_LOCK_TIMEOUT_S)) as connection,
                connection,
            ):
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS rows (text BLOB PRIMARY KEY, row BLOB)"
                )
                return (connection.executemany if is_batch else connection.execute)(
                    query, parameters
                ).fetchall()
        except (OSError, sqlite3.Error) as error:
            raise DataError(
                f"{self.path}: cannot keep vectors: {error}; remove the file, it is made anew"
            ) from None


def _text_hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


# --- models -----------------------------------------------------------------------------


class _LazyEncoder:
    """A model of sentence-transformers that is loaded for the first text."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self._encode: Encoder | None = None

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._encode is None:
            self._encode = _open_model(self.name, self.folder)
        # the tokenizer does not accept lone surrogates
        return self._encode([text.encode("utf-8", "replace").decode() for text in texts])


def _open_model(name: str, folder: Path) -> Encoder:
    from sentence_transformers import SentenceTransformer

    try:
        with redirect_stderr(StringIO()):  # its progress bar would interrupt that of the run
            model = SentenceTransformer(
                str(folder),
                device="cpu",
                local_files_only=True,
                model_kwargs={"use_safetensors": True},  # the other format is a pickle
            )
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(_not_found_message(name, str(error))) from None

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        rows = model.encode(
            list(texts), batch_size=_BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(rows, dtype=np.float32)

    return encode


def find_local_model(name: str) -> Path | None:
    """Return the folder of an encoder on this machine: as a path, or inside a package."""
    if Path(name).is_dir():
        return Path(name)
    module = name.replace("-", "_")
    if not module.isidentifier():
        return None
    found = util.find_spec(module)
    model_folder = Path(found.origin).parent / "model" if found and found.origin else None
    return model_folder if model_folder and model_folder.is_dir() else None


def _fetch_hub_model(name: str) -> Path:
    """Return the folder of a hub model; the hub's own cache is searched first.

    A hub that does not answer is asked once, for a few seconds.
    """
    import huggingface_hub as hub
    from huggingface_hub.errors import HfHubHTTPError

    # the hub's transport differs by version; its errors share a base with the hub's own
    network_errors = tuple(kind for kind in HfHubHTTPError.__mro__ if kind not in _GENERIC_ERRORS)
    repo_id = name if "/" in name else f"{_DEFAULT_HUB_OWNER}/{name}"
    options = {"repo_id": repo_id, "allow_patterns": list(_MODEL_FILE_PATTERNS)}
    try:
        return Path(hub.snapshot_download(**options, local_files_only=True))
    except (OSError, ValueError):
        pass  # not downloaded yet
    try:
        with redirect_stderr(StringIO()):
            found = hub.HfApi().model_info(repo_id, timeout=_HUB_TIMEOUT_S)
            return Path(hub.snapshot_download(**options, revision=found.sha))
    except (OSError, ValueError, *network_errors) as error:
        raise UsageError(_not_found_message(name, str(error))) from None


def _not_found_message(name: str, reason: str) -> str:
    return (
        f"no encoder {name!r}: {next(iter(reason.splitlines()), reason)}; name a folder that holds "
        "one, an installed package, or a model of the hub (needs network)"
    )
