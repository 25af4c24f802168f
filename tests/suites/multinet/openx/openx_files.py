"""Files as TensorFlow writes them, by other code than that which reads them."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from toolmark.suites.multinet.openx.morphologies import MORPHOLOGIES

Values = Sequence[float] | Sequence[bytes] | Sequence[int]


def crc32c(data: bytes) -> int:
    """The checksum bit by bit, as its polynomial says."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def varint(n: int) -> bytes:
    collected = bytearray()
    while n >= 0x80:
        collected.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes((*collected, n))


def chunk(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def listed(values: Values) -> bytes:
    """A Feature: its kind by its first value; floats and integers packed."""
    match values[0] if values else 0.0:
        case bytes():
            return chunk(1, b"".join(chunk(1, bytes(value)) for value in values))  # type: ignore[arg-type]
        case int():
            packed = b"".join(varint(int(value) & 2**64 - 1) for value in values)
            return chunk(3, chunk(1, packed))
        case _:
            return chunk(2, chunk(1, struct.pack(f"<{len(values)}f", *values)))


def example(features: Mapping[str, Values]) -> bytes:
    entries = (chunk(1, name.encode()) + chunk(2, listed(features[name])) for name in features)
    return chunk(1, b"".join(chunk(1, entry) for entry in entries))


def png(shade: int) -> bytes:
    collected = io.BytesIO()
    Image.new("RGB", (4, 3), (shade % 256, 0, 0)).save(collected, "PNG")
    return collected.getvalue()


def tensor(*shape: int, dtype: str = "float32") -> dict[str, Any]:
    sizes = {"dimensions": [str(size) for size in shape]} if shape else {}
    return {"tensor": {"shape": sizes, "dtype": dtype, "encoding": "none"}}


def members(**inner: Any) -> dict[str, Any]:
    return {"featuresDict": {"features": inner}}


def rlds(
    folder: Path,
    shards: Mapping[str, Sequence[Sequence[Mapping[str, Values]]]],
    step: Mapping[str, Any],
    name: str = "robots",
) -> Path:
    """A data set: by split, file by file, the episodes' features; and what a step is made of."""
    folder.mkdir(parents=True, exist_ok=True)
    info = {
        "name": name,
        "fileFormat": "tfrecord",
        "splits": [
            {"name": split, "shardLengths": [str(len(each)) for each in files]}
            for split, files in shards.items()
        ],
    }
    steps = {"sequence": {"feature": members(**step), "length": "-1"}}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    (folder / "features.json").write_text(json.dumps(members(steps=steps)))
    for split, files in shards.items():
        for k, episodes in enumerate(files):
            path = folder / f"{name}-{split}.tfrecord-{k:05}-of-{len(files):05}"
            path.write_bytes(b"".join(framed(example(each)) for each in episodes))
    return folder


STEP = {
    "action": tensor(2),
    "observation": members(image={"image": {"shape": {}, "dtype": "uint8"}}),
    "language_instruction": {"text": {}},
    "is_last": tensor(dtype="bool"),
}
"""A step of a wheeled robot."""


def drive(k: int, n: int = 3) -> dict[str, Values]:
    """Episode k of a wheeled robot: n steps."""
    return {
        "steps/action": [x for step in range(n) for x in (k + step / 4, -float(step))],
        "steps/observation/image": [png(10 * k + step) for step in range(n)],
        "steps/language_instruction": [f"go to door {k}".encode()] * n,
        "steps/is_last": [int(step == n - 1) for step in range(n)],
    }


WIDTHS = {name: len(shape.names) for name, shape in MORPHOLOGIES.items()}
