"""Data sets of robot episodes as TensorFlow Datasets writes them (RLDS), read without TensorFlow.

A folder holds dataset_info.json (splits, and how many episodes each file has), features.json (what
a step is made of) and NAME-SPLIT.tfrecord-00000-of-000NN. A record is an episode; a member of its
steps, such as steps/observation/image, is one list that holds the values of all steps in a row, a
picture being one PNG or JPEG.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from toolmark import codec, files
from toolmark.errors import DataError
from toolmark.suites.multinet.layout import inside
from toolmark.suites.multinet.openx import example, record
from toolmark.suites.multinet.openx.episode import About, Episode, Place
from toolmark.types import Record

INFO, FEATURES = "dataset_info.json", "features.json"
ACTION = "steps/action"
IMAGES = tuple(
    f"observation/{name}"
    for name in ("image", "hand_color_image", "agentview_rgb", "hand_image", "wrist_image", "rgb")
)
"""Names of the observation's picture; the first that is there counts."""
TEXTS = (
    "observation/natural_language_instruction", "language_instruction",
    "natural_language_instruction", "action_instruct",
)  # fmt: skip
"""Names of the instruction; the first that is there counts."""
FLOATS = ("float32", "float64")

_SHARD = re.compile(r"[^/]+-(?P<split>[^-/]+)\.tfrecord-(?P<k>\d{5,9})-of-(?P<n>\d{5,9})")
_MOST_BYTES = 2**24  # of a JSON file
_DEEP = 32
_MOST_SIZE = 4096  # numbers of one member of an action


class Leaf(NamedTuple):
    """A member of a step: image, tensor, text, string, or "" for all else; its type and shape."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    encoding: str


class Rlds(Record, frozen=True, kw_only=True):
    """One such folder. `counts` are the files' numbers of episodes as they should be.

    `image` and `text` are the members with picture and instruction, "" where there is none.
    """

    about: About
    counts: dict[str, int]
    image: str
    text: str

    def told(self, place: Place, step: int = 0) -> str:
        """Return what to call a place in an error: the steps of an episode have one."""
        return f"{place.file}: byte {place.at}"

    def episodes(self, file: str) -> Iterator[Episode]:
        """Go through a file. Raises DataError, also for a number other than it should hold."""
        n = 0
        for offset, data in record.records(Path(file)):
            yield self._episode(data, Place(_name(file, n), file, offset))
            n += 1
        if n != self.counts[file]:
            raise DataError(
                f"{file}: {n} episodes; {INFO} says {self.counts[file]}: fetch it again"
            )

    def episode(self, place: Place, steps: int) -> Episode:
        """Read one episode. Raises DataError."""
        return self._episode(record.record(Path(place.file), place.at), place)

    def picture(self, place: Place, step: int) -> bytes:
        """Return the picture of a step, b"" where there is none. Raises DataError."""
        if not self.image:
            return b""
        with _at(self.told(place)):
            found = _kept(place.file, place.at, Path(place.file).stat().st_mtime_ns)
            chunks = _feature(found, self.image).chunks()
            return bytes(chunks[step]) if step < len(chunks) else b""

    def _episode(self, data: bytes, place: Place) -> Episode:
        members = self.about.members
        keys = [(f"{ACTION}/{key}", size) for key, size in members] or [(ACTION, self.about.width)]
        with _at(self.told(place)):
            found = example.features(data)
            parts = [_steps(found, key, size) for key, size in keys]
            n = len(parts[0])
            if any(len(part) != n for part in parts):
                raise example.BadExample("members of the action differ in their number of steps")
            texts = [""] * n
            if self.text:
                texts = [bytes(chunk).decode() for chunk in _feature(found, self.text).chunks()]
            if len(texts) != n:
                raise example.BadExample(f"{len(texts)} instructions for {n} steps")
        return Episode(place, np.concatenate(parts, axis=1), texts, {})


@lru_cache(maxsize=1)
def _kept(file: str, at: int, changed_ns: int) -> dict[str, example.Feature]:
    """Return the features of the last record: pictures of an episode are asked for in a row."""
    return example.features(record.record(Path(file), at))


@contextmanager
def _at(told: str) -> Iterator[None]:
    """Say where an episode that cannot be read lies."""
    try:
        yield
    except UnicodeDecodeError:
        raise DataError(f"{told}: an instruction is not UTF-8") from None
    except example.BadExample as error:
        raise DataError(f"{told}: {error}") from None
    except OSError as error:
        raise DataError(f"{told}: cannot read: {error.strerror}") from None


def _feature(found: Mapping[str, example.Feature], key: str) -> example.Feature:
    if key not in found:
        raise example.BadExample(f"no {key}")
    return found[key]


def _steps(found: Mapping[str, example.Feature], key: str, size: int) -> npt.NDArray[np.float64]:
    """Return a member of all steps, a row for each."""
    values = _feature(found, key).floats()
    if len(values) % size:
        raise example.BadExample(f"{key}: {len(values)} numbers; {size} make a step")
    return values.reshape(-1, size).astype(np.float64)


def opened(folder: Path, root: Path) -> Rlds:
    """Read what a folder says of its data. Raises DataError, also for what lies outside `root`."""
    for name in (INFO, FEATURES):
        inside(root, folder / name)
    info, leaves = _info(folder), _leaves(folder)
    members, dropped, width = _action(leaves, folder)
    shards = _shards(folder, info, root)
    return Rlds(
        about=About(
            name=str(info.get("name", "")),
            parts={split: tuple(str(path) for path in found.values())
                   for split, (found, _) in shards.items()},
            lost={split: len(lengths) - len(found)
                  for split, (found, lengths) in shards.items()},
            described=(str(folder / INFO), str(folder / FEATURES)),
            members=members,
            dropped=dropped,
            width=width,
        ),
        counts={str(path): lengths[k]
                for found, lengths in shards.values() for k, path in found.items()},
        image=_first(leaves, IMAGES, ("image",)),
        text=_first(leaves, TEXTS, ("text", "string")),
    )  # fmt: skip


def _first(leaves: Mapping[str, Leaf], names: Sequence[str], kinds: Sequence[str]) -> str:
    """Return the key of the first of these members that is of one of these kinds."""
    fit = (name for name in names if name in leaves and leaves[name].kind in kinds)
    return next((f"steps/{name}" for name in fit), "")


# --- what the folder says ---------------------------------------------------------------


def _json(path: Path) -> dict[str, Any]:
    try:
        found = codec.loads(files.head(path, _MOST_BYTES).decode())
    except (codec.BadJson, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: no JSON object")
    return found


def _info(folder: Path) -> dict[str, Any]:
    info = _json(folder / INFO)
    form = info.get("fileFormat") or "tfrecord"
    if form != "tfrecord":
        raise DataError(f"{folder / INFO}: files of format {form!r}; only tfrecord is read")
    return info


def _shards(
    folder: Path, info: Mapping[str, Any], root: Path
) -> dict[str, tuple[dict[int, Path], list[int]]]:
    """Return of each split the files that are here, by number, and the lengths of all."""
    there = [
        (found["split"], int(found["n"]), int(found["k"]), inside(root, path))
        for path in sorted(folder.iterdir())
        if (found := _SHARD.fullmatch(path.name))
    ]
    shards = {
        name: (
            {
                k: path
                for split, n, k, path in there
                if (split, n) == (name, len(lengths)) and k < n
            },
            lengths,
        )
        for name, lengths in _splits(folder, info)
    }
    kept = {name: found for name, found in shards.items() if found[0]}
    if not kept:
        raise DataError(f"{folder}: none of the files that {INFO} names is here")
    return kept


def _splits(folder: Path, info: Mapping[str, Any]) -> list[tuple[str, list[int]]]:
    try:
        return [
            (str(split["name"]), [int(length) for length in split["shardLengths"]])
            for split in info["splits"]
        ]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{folder / INFO}: cannot read its splits: {error!r}") from None


def _leaves(folder: Path) -> dict[str, Leaf]:
    """Return the members of a step by their path."""
    path = folder / FEATURES
    tree = _json(path)
    try:
        steps = tree["featuresDict"]["features"]["steps"]
        inner = (steps.get("sequence") or steps["dataset"])["feature"]
        return dict(_walk(inner, "", 0))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(f"{path}: its steps cannot be read: {error!r}; is it RLDS?") from None


def _walk(node: Mapping[str, Any], path: str, depth: int) -> Iterator[tuple[str, Leaf]]:
    if depth > _DEEP:
        raise ValueError(f"nested deeper than {_DEEP}")
    if "featuresDict" in node:
        for name, inner in node["featuresDict"].get("features", {}).items():
            yield from _walk(inner, f"{path}/{name}" if path else name, depth + 1)
        return
    kind = next((key for key in ("image", "tensor", "text") if key in node), "")
    about = node.get(kind, {})
    dtype, plain = str(about.get("dtype", "")), str(about.get("encoding") or "none").lower()
    sizes = tuple(int(size) for size in (about.get("shape") or {}).get("dimensions", []))
    if kind == "tensor" and dtype in ("string", "object"):
        kind = "string"
    yield path, Leaf(kind, dtype, sizes, plain)


def _action(
    leaves: Mapping[str, Leaf], folder: Path
) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...], int]:
    """Return the action's float members with their lengths, its others, and the whole length."""
    if "action" in leaves:
        if leaves["action"].dtype not in FLOATS:
            raise DataError(
                f"{folder / FEATURES}: the action is {leaves['action'].dtype}, no float"
            )
        return (), (), _size("action", leaves["action"], folder)
    inner = {path.removeprefix("action/"): leaf for path, leaf in leaves.items()
             if path.startswith("action/")}  # fmt: skip
    floats = sorted(name for name, leaf in inner.items() if leaf.dtype in FLOATS)
    if not floats:
        raise DataError(f"{folder / FEATURES}: its steps have no action of floats")
    members = tuple((name, _size(name, inner[name], folder)) for name in floats)
    return members, tuple(sorted(set(inner) - set(floats))), sum(size for _, size in members)


def _size(name: str, leaf: Leaf, folder: Path) -> int:
    plain = len(leaf.shape) <= _DEEP and max(leaf.shape, default=1) <= _MOST_SIZE
    size = math.prod(leaf.shape) if plain else 0
    if (
        leaf.kind != "tensor"
        or leaf.encoding != "none"
        or not 0 < size <= _MOST_SIZE
        or min(leaf.shape, default=1) < 1
    ):
        raise DataError(
            f"{folder / FEATURES}: {name} is no plain tensor of a fixed shape "
            f"of at most {_MOST_SIZE:,} numbers"
        )
    return size


# --- names ------------------------------------------------------------------------------


def _name(file: str, n: int) -> str:
    """Return an episode's name, from that of its file and its place in it."""
    found = _SHARD.fullmatch(Path(file).name)
    assert found is not None
    return f"{found['split']}-{found['k']}-{n:05}"
