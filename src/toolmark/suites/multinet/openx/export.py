"""MultiNet's TensorFlow snapshots to Parquet, run once where TensorFlow is.

    python -m toolmark.suites.multinet.openx.export SNAPSHOT OUT.parquet

SNAPSHOT is a folder of `translated_shard_<k>`, such as openx_bimanual/public, or one of them: each
is one episode as `tf.data.Dataset.save` wrote it, an element a step. Episodes are named for the
folder that holds them and their number (public-00007), so that those of several splits differ.
OUT.parquet is named for its split (test.parquet, train.parquet), or its folder is (public, train);
its columns are those of `parquet`. It needs TensorFlow, which is no dependency, and the extra
`multinet`. Pictures lie decoded in snapshots; they become PNG.

The tests go from a step's members to the file and back, without TensorFlow. The reading of
snapshots (`rows`) was run by hand on ones that TensorFlow 2 had written, never on MultiNet's own.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from toolmark import codec
from toolmark.errors import DataError, ToolmarkError, UsageError
from toolmark.files import atomic_file
from toolmark.suites.multinet.openx.rlds import FLOATS, IMAGES, TEXTS
from toolmark.suites.multinet.openx.snapshots import MEMBERS

SCHEMA = pa.schema(
    [
        ("id", pa.string()), ("group", pa.string()), ("step", pa.int64()), ("image", pa.binary()),
        ("text", pa.string()), ("answer", pa.string()), ("action", pa.list_(pa.float64())),
        ("is_last", pa.bool_()), ("extras", pa.string()),
    ]
)  # fmt: skip

_SHARD = re.compile(r"translated_shard_(\d+)")
_LONGEST = 100  # characters of a folder's name
_ROWS = 64  # in a row group: one is read for one picture
_FEW = ("group", "text", "answer", "extras")  # columns whose values repeat
_FILM, _QUESTION, _ANSWER = "images", "raw_text_question", "raw_text_answer"  # of RoboVQA


def row(element: Mapping[str, Any], group: str, step: int) -> dict[str, Any]:
    """Return the row of a step: of its members, nested, as numpy arrays, bytes and numbers.

    Raises DataError for members that are not what they should be.
    """
    told = f"{group}, step {step}"
    seen = element.get("observation", {})
    if not isinstance(seen, Mapping):
        raise DataError(f"{told}: the observation has no members")
    action, members = _action(element.get("action"), told)
    extras: dict[str, Any] = {MEMBERS: members} if members else {}
    if element.get("reward") is not None:
        extras["reward"] = codec.plain(np.asarray(element["reward"]).tolist())
    return {
        "id": f"{group}-{step:04}",
        "group": group,
        "step": step,
        "image": _image(element, told),
        "text": _text(element, told),
        "answer": _decoded(seen.get(_ANSWER), told),
        "action": action,
        "is_last": bool(element.get("is_last", False)),
        "extras": codec.encode(extras).decode(),
    }


def write(rows: Iterable[Mapping[str, Any]], out: Path) -> int:
    """Write rows to a file, whole or not at all, and return how many there were."""
    rows, n = iter(rows), 0
    with (
        atomic_file(out) as draft,
        pq.ParquetWriter(
            draft, SCHEMA, use_dictionary=list(_FEW), write_page_checksum=True, compression="zstd"
        ) as file,
    ):
        while some := list(islice(rows, _ROWS)):
            file.write_table(pa.Table.from_pylist(some, SCHEMA))
            n += len(some)
    return n


# --- a step's members -------------------------------------------------------------------


def _member(element: Mapping[str, Any], path: str) -> Any:
    found: Any = element
    for name in path.split("/"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _action(action: Any, told: str) -> tuple[list[float] | None, list[tuple[str, int]]]:
    """Return the float members, sorted by name, flattened and put together, and their lengths."""
    if action is None:
        return None, []
    if not isinstance(action, Mapping):
        vector = np.asarray(action)
        if vector.dtype.name not in FLOATS:
            raise DataError(f"{told}: the action is {vector.dtype.name}, no float")
        return vector.astype(np.float64).ravel().tolist(), []
    parts = {name: np.asarray(action[name]) for name in sorted(action)}
    kept = {name: part.ravel() for name, part in parts.items() if part.dtype.name in FLOATS}
    if not kept:
        raise DataError(f"{told}: no member of the action is a float")
    vector = np.concatenate([part.astype(np.float64) for part in kept.values()])
    return vector.tolist(), [(name, len(part)) for name, part in kept.items()]


def _image(element: Mapping[str, Any], told: str) -> bytes | None:
    """Return the picture as PNG; of RoboVQA's film the last one."""
    film = _member(element, f"observation/{_FILM}")
    found = film[-1] if film is not None and len(film) else None
    for path in IMAGES:
        found = _member(element, path) if found is None else found
    if found is None or isinstance(found, bytes):
        return found or None
    pixels = np.asarray(found)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise DataError(f"{told}: a picture of shape {pixels.shape}, not height, width, 3")
    held = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(held, "PNG")
    return held.getvalue()


def _text(element: Mapping[str, Any], told: str) -> str | None:
    """Return the instruction, or RoboVQA's question."""
    codes = _member(element, "observation/instruction")  # numbers of bytes, filled up with zeros
    if codes is not None and np.asarray(codes).dtype.kind in "iu":
        held = [code for code in np.asarray(codes).ravel().tolist() if code]
        if not all(0 < code < 256 for code in held):
            raise DataError(f"{told}: the instruction's numbers are no bytes")
        return _decoded(bytes(held), told)
    named = (_member(element, path) for path in (f"observation/{_QUESTION}", *TEXTS))
    return _decoded(next((found for found in named if found is not None), None), told)


def _decoded(text: Any, told: str) -> str | None:
    if text is None or isinstance(text, str):
        return text
    try:
        return bytes(text).decode()
    except (UnicodeDecodeError, TypeError):
        raise DataError(f"{told}: a text that is not UTF-8") from None


# --- what needs TensorFlow --------------------------------------------------------------


def rows(snapshot: Path) -> Iterator[dict[str, Any]]:
    """Go through the steps of a snapshot. Raises UsageError without TensorFlow or shards."""
    try:
        import tensorflow as tf
    except ModuleNotFoundError:
        raise UsageError(
            "TensorFlow is needed to read its snapshots, and is no dependency: run this where it "
            "is, such as after: pip install tensorflow-cpu"
        ) from None
    for group, shard in shards(snapshot):
        for step, element in enumerate(tf.data.Dataset.load(str(shard)).as_numpy_iterator()):
            yield row(element, group, step)


def shards(snapshot: Path) -> list[tuple[str, Path]]:
    """Return the name and folder of each episode, by their numbers. Raises UsageError."""
    numbered = {path: found for path in (snapshot, *sorted(snapshot.glob("*")))
                if path.is_dir() and (found := _SHARD.fullmatch(path.name))}  # fmt: skip
    if not numbered:
        raise UsageError(f"{snapshot}: holds no translated_shard_<k>")
    ordered = sorted((int(name[1]), path) for path, name in numbered.items())
    return [(f"{_split(path)}-{k:05}", path) for k, path in ordered]


def _split(shard: Path) -> str:
    """Return the name of the folder that a shard lies in, as a name of episodes can hold it."""
    return re.sub(r"[^\w.-]+", "-", Path(os.path.abspath(shard)).parent.name)[:_LONGEST] or "shard"


def main(arguments: Sequence[str]) -> int:
    """Export one snapshot; return the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    parser.add_argument("snapshot", type=Path, help="translated_shard_<k>, or a folder of them")
    parser.add_argument("out", type=Path, help="the file to write, such as test.parquet")
    given = parser.parse_args(arguments)
    try:
        n = write(rows(given.snapshot), given.out)
    except (ToolmarkError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stderr.write(f"{given.out}: {n:,} steps\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
