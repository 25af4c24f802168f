"""Convert MultiNet's TensorFlow snapshots to Parquet; run once on a machine with TensorFlow.

    python -m toolmark.suites.multinet.openx.snapshot_export SNAPSHOT OUT.parquet

SNAPSHOT is a folder of `translated_shard_<k>`, such as openx_bimanual/public, or one of these
shards. Each shard is one episode as `tf.data.Dataset.save` wrote it, with one element per step.
Episodes are named after the folder of the shard and its number (public-00007), so that names differ
between splits. OUT.parquet is named after its split (test.parquet, train.parquet), or its folder is
(public, train). `step_parquet` describes its columns. The export needs TensorFlow, which is not a
dependency, and the extra `multinet`. Snapshots have decoded pictures; they become PNG.

The tests go from a step's members to the file and back, without TensorFlow. Reading snapshots
(`read_snapshot`) was tested by hand on ones written by TensorFlow 2, never on MultiNet's own.
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

from toolmark.core import json_codec
from toolmark.core.errors import DataError, ToolmarkError, UsageError
from toolmark.core.files import atomic_file
from toolmark.core.number_format import format_count
from toolmark.suites.multinet.openx.parquet_episodes import MEMBERS_KEY
from toolmark.suites.multinet.openx.rlds import FLOAT_TYPES, IMAGE_MEMBERS, TEXT_MEMBERS

SCHEMA = pa.schema(
    [
        ("id", pa.string()), ("group", pa.string()), ("step", pa.int64()), ("image", pa.binary()),
        ("text", pa.string()), ("answer", pa.string()), ("action", pa.list_(pa.float64())),
        ("is_last", pa.bool_()), ("extras", pa.string()),
    ]
)  # fmt: skip

_SHARD = re.compile(r"translated_shard_(\d+)")
_MAX_NAME_CHARS = 100  # limit for a folder's name, in characters
_ROW_GROUP_SIZE = 64  # small, because reading one picture reads a row group
_DICTIONARY_COLUMNS = ("group", "text", "answer", "extras")  # columns whose values repeat
# RoboVQA's members
_FILM_MEMBER = "images"
_QUESTION_MEMBER = "raw_text_question"
_ANSWER_MEMBER = "raw_text_answer"


def build_row(element: Mapping[str, Any], group: str, step: int) -> dict[str, Any]:
    """Return the row of a step, given its nested members as numpy arrays, bytes and numbers.

    Raises DataError for unexpected members.
    """
    label = f"{group}, step {step}"
    observation = element.get("observation", {})
    if not isinstance(observation, Mapping):
        raise DataError(f"{label}: the observation has no members")
    action, members = _flatten_action(element.get("action"), label)
    extras: dict[str, Any] = {MEMBERS_KEY: members} if members else {}
    if element.get("reward") is not None:
        extras["reward"] = json_codec.to_plain_json(np.asarray(element["reward"]).tolist())
    return {
        "id": f"{group}-{step:04}",
        "group": group,
        "step": step,
        "image": _encode_image(element, label),
        "text": _instruction_text(element, label),
        "answer": _decode_text(observation.get(_ANSWER_MEMBER), label),
        "action": action,
        "is_last": bool(element.get("is_last", False)),
        "extras": json_codec.encode_record(extras).decode(),
    }


def write_rows(rows: Iterable[Mapping[str, Any]], out: Path) -> int:
    """Write rows to a file, completely or not at all, and return the number of rows."""
    rows, n = iter(rows), 0
    with (
        atomic_file(out) as draft,
        pq.ParquetWriter(
            draft,
            SCHEMA,
            use_dictionary=list(_DICTIONARY_COLUMNS),
            write_page_checksum=True,
            compression="zstd",
        ) as file,
    ):
        while some := list(islice(rows, _ROW_GROUP_SIZE)):
            file.write_table(pa.Table.from_pylist(some, SCHEMA))
            n += len(some)
    return n


# --- a step's members -------------------------------------------------------------------


def _get_member(element: Mapping[str, Any], path: str) -> Any:
    found: Any = element
    for name in path.split("/"):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _flatten_action(action: Any, label: str) -> tuple[list[float] | None, list[tuple[str, int]]]:
    """Return the float members, sorted by name, flattened and concatenated, and their lengths."""
    if action is None:
        return None, []
    if not isinstance(action, Mapping):
        vector = np.asarray(action)
        if vector.dtype.name not in FLOAT_TYPES:
            raise DataError(f"{label}: the action is {vector.dtype.name}, no float")
        return vector.astype(np.float64).ravel().tolist(), []
    parts = {name: np.asarray(action[name]) for name in sorted(action)}
    float_parts = {
        name: part.ravel() for name, part in parts.items() if part.dtype.name in FLOAT_TYPES
    }
    if not float_parts:
        raise DataError(f"{label}: no member of the action is a float")
    vector = np.concatenate([part.astype(np.float64) for part in float_parts.values()])
    return vector.tolist(), [(name, len(part)) for name, part in float_parts.items()]


def _encode_image(element: Mapping[str, Any], label: str) -> bytes | None:
    """Return the picture as PNG; for RoboVQA's video the last frame."""
    film = _get_member(element, f"observation/{_FILM_MEMBER}")
    found = film[-1] if film is not None and len(film) else None
    for path in IMAGE_MEMBERS:
        found = _get_member(element, path) if found is None else found
    if found is None or isinstance(found, bytes):
        return found or None
    pixels = np.asarray(found)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise DataError(f"{label}: a picture of shape {pixels.shape}, not height, width, 3")
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def _instruction_text(element: Mapping[str, Any], label: str) -> str | None:
    """Return the instruction, or RoboVQA's question."""
    codes = _get_member(element, "observation/instruction")  # byte values, padded with zeros
    if codes is not None and np.asarray(codes).dtype.kind in "iu":
        codes_used = [code for code in np.asarray(codes).ravel().tolist() if code]
        if not all(0 < code < 256 for code in codes_used):
            raise DataError(f"{label}: the instruction's numbers are not bytes")
        return _decode_text(bytes(codes_used), label)
    candidates = (
        _get_member(element, path) for path in (f"observation/{_QUESTION_MEMBER}", *TEXT_MEMBERS)
    )
    return _decode_text(next((found for found in candidates if found is not None), None), label)


def _decode_text(text: Any, label: str) -> str | None:
    if text is None or isinstance(text, str):
        return text
    try:
        return bytes(text).decode()
    except (UnicodeDecodeError, TypeError):
        raise DataError(f"{label}: a text that is not UTF-8") from None


# --- code that needs TensorFlow ---------------------------------------------------------


def read_snapshot(snapshot: Path) -> Iterator[dict[str, Any]]:
    """Yield the steps of a snapshot. Raises UsageError without TensorFlow or shards."""
    try:
        import tensorflow as tf
    except ModuleNotFoundError:
        raise UsageError(
            "TensorFlow is needed to read its snapshots, and is not a dependency: run this where "
            "it is, such as after: pip install tensorflow-cpu"
        ) from None
    for group, shard in list_shards(snapshot):
        for step, element in enumerate(tf.data.Dataset.load(str(shard)).as_numpy_iterator()):
            yield build_row(element, group, step)


def list_shards(snapshot: Path) -> list[tuple[str, Path]]:
    """Return the name and folder of each episode, by number. Raises UsageError."""
    numbered = {path: found for path in (snapshot, *sorted(snapshot.glob("*")))
                if path.is_dir() and (found := _SHARD.fullmatch(path.name))}  # fmt: skip
    if not numbered:
        raise UsageError(f"{snapshot}: holds no translated_shard_<k>")
    ordered = sorted((int(name[1]), path) for path, name in numbered.items())
    return [(f"{_shard_split_name(path)}-{k:05}", path) for k, path in ordered]


def _shard_split_name(shard: Path) -> str:
    """Return the name of the folder of a shard, in a form that is valid in episode names."""
    return (
        re.sub(r"[^\w.-]+", "-", Path(os.path.abspath(shard)).parent.name)[:_MAX_NAME_CHARS]
        or "shard"
    )


def main(arguments: Sequence[str]) -> int:
    """Export one snapshot; return the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    parser.add_argument("snapshot", type=Path, help="translated_shard_<k>, or a folder of them")
    parser.add_argument("out", type=Path, help="the file to write, such as test.parquet")
    options = parser.parse_args(arguments)
    try:
        n = write_rows(read_snapshot(options.snapshot), options.out)
    except (ToolmarkError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stderr.write(f"{options.out}: {format_count(n)} steps\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
