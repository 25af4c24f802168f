"""Data sets of robot episodes as TensorFlow Datasets writes them (RLDS), read without TensorFlow.

A folder has dataset_info.json (splits, and the number of episodes in each file), features.json (the
members of a step) and NAME-SPLIT.tfrecord-00000-of-000NN. A record is an episode. A member of its
steps, such as steps/observation/image, is one list with the values of all steps in order; each
picture is one PNG or JPEG.
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

from toolmark.core import files, json_codec
from toolmark.core.errors import DataError
from toolmark.core.number_format import format_count
from toolmark.core.records import Record
from toolmark.suites.multinet.openx import tf_example, tfrecord
from toolmark.suites.multinet.openx.robot_episodes import DatasetInfo, EpisodeLocation, RobotEpisode
from toolmark.suites.multinet.published_layout import require_inside

INFO_FILE, FEATURES_FILE = "dataset_info.json", "features.json"
ACTION_KEY = "steps/action"
IMAGE_MEMBERS = tuple(
    f"observation/{name}"
    for name in ("image", "hand_color_image", "agentview_rgb", "hand_image", "wrist_image", "rgb")
)
"""Possible names of the observation's picture; the first one that exists is used."""
TEXT_MEMBERS = (
    "observation/natural_language_instruction", "language_instruction",
    "natural_language_instruction", "action_instruct",
)  # fmt: skip
"""Possible names of the instruction; the first one that exists is used."""
FLOAT_TYPES = ("float32", "float64")

_SHARD_NAME = re.compile(r"[^/]+-(?P<split>[^-/]+)\.tfrecord-(?P<k>\d{5,9})-of-(?P<n>\d{5,9})")
_MAX_JSON_BYTES = 2**24  # limit for a JSON file
_MAX_DEPTH = 32
_MAX_MEMBER_SIZE = 4096  # limit for the numbers of one member of an action


class StepMember(NamedTuple):
    """A member of a step: image, tensor, text, string, or "" for others; its type and shape."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    encoding: str


class RldsData(Record, frozen=True, kw_only=True):
    """One RLDS folder. `counts` are the expected numbers of episodes of the files.

    `image` and `text` are the members with picture and instruction, "" if there is none.
    """

    about: DatasetInfo
    counts: dict[str, int]
    image: str
    text: str

    def describe_location(self, location: EpisodeLocation, step: int = 0) -> str:
        """Return the name of a place for an error message; an episode's steps share one."""
        return f"{location.file}: byte {location.at}"

    def iterate_episodes(self, file: str) -> Iterator[RobotEpisode]:
        """Yield a file's episodes. Raises DataError, also for an unexpected number of them."""
        n = 0
        for offset, data in tfrecord.read_records(Path(file)):
            yield self._parse_episode(data, EpisodeLocation(_episode_name(file, n), file, offset))
            n += 1
        if n != self.counts[file]:
            raise DataError(
                f"{file}: {n} episodes; {INFO_FILE} says {self.counts[file]}: fetch it again"
            )

    def read_episode(self, location: EpisodeLocation, steps: int) -> RobotEpisode:
        """Read one episode. Raises DataError."""
        return self._parse_episode(tfrecord.read_record(Path(location.file), location.at), location)

    def read_picture(self, location: EpisodeLocation, step: int) -> bytes:
        """Return the picture of a step, b"" if it has none. Raises DataError."""
        if not self.image:
            return b""
        with _locate_errors(self.describe_location(location)):
            found = _cached_features(
                location.file, location.at, Path(location.file).stat().st_mtime_ns
            )
            chunks = _get_feature(found, self.image).chunks()
            return bytes(chunks[step]) if step < len(chunks) else b""

    def _parse_episode(self, data: bytes, location: EpisodeLocation) -> RobotEpisode:
        members = self.about.members
        keys = [(f"{ACTION_KEY}/{key}", size) for key, size in members] or [
            (ACTION_KEY, self.about.width)
        ]
        with _locate_errors(self.describe_location(location)):
            found = tf_example.parse_features(data)
            parts = [_step_matrix(found, key, size) for key, size in keys]
            n = len(parts[0])
            if any(len(part) != n for part in parts):
                raise tf_example.BadExample("members of the action differ in their number of steps")
            texts = [""] * n
            if self.text:
                texts = [bytes(chunk).decode() for chunk in _get_feature(found, self.text).chunks()]
            if len(texts) != n:
                raise tf_example.BadExample(f"{len(texts)} instructions for {n} steps")
        return RobotEpisode(location, np.concatenate(parts, axis=1), texts, {})


@lru_cache(maxsize=1)
def _cached_features(file: str, at: int, changed_ns: int) -> dict[str, tf_example.Feature]:
    """Return the features of the last record; callers read an episode's pictures in order."""
    return tf_example.parse_features(tfrecord.read_record(Path(file), at))


@contextmanager
def _locate_errors(label: str) -> Iterator[None]:
    """Add the place of an episode that cannot be read to the error."""
    try:
        yield
    except UnicodeDecodeError:
        raise DataError(f"{label}: an instruction is not UTF-8") from None
    except tf_example.BadExample as error:
        raise DataError(f"{label}: {error}") from None
    except OSError as error:
        raise DataError(f"{label}: cannot read: {error.strerror}") from None


def _get_feature(found: Mapping[str, tf_example.Feature], key: str) -> tf_example.Feature:
    if key not in found:
        raise tf_example.BadExample(f"no {key}")
    return found[key]


def _step_matrix(
    found: Mapping[str, tf_example.Feature], key: str, size: int
) -> npt.NDArray[np.float64]:
    """Return a member of all steps as a matrix with a row for each step."""
    values = _get_feature(found, key).floats()
    if len(values) % size:
        raise tf_example.BadExample(f"{key}: {len(values)} numbers; {size} make a step")
    return values.reshape(-1, size).astype(np.float64)


def open_rlds(folder: Path, root: Path) -> RldsData:
    """Read a folder's description of its data. Raises DataError, also for files outside `root`."""
    for name in (INFO_FILE, FEATURES_FILE):
        require_inside(root, folder / name)
    info, leaves = _read_info(folder), _read_step_members(folder)
    members, dropped, width = _action_members(leaves, folder)
    shards = _find_shards(folder, info, root)
    return RldsData(
        about=DatasetInfo(
            name=str(info.get("name", "")),
            parts={split: tuple(str(path) for path in found.values())
                   for split, (found, _) in shards.items()},
            n_missing_files={split: len(lengths) - len(found)
                  for split, (found, lengths) in shards.items()},
            description_files=(str(folder / INFO_FILE), str(folder / FEATURES_FILE)),
            members=members,
            unused_members=dropped,
            width=width,
        ),
        counts={str(path): lengths[k]
                for found, lengths in shards.values() for k, path in found.items()},
        image=_first_member_key(leaves, IMAGE_MEMBERS, ("image",)),
        text=_first_member_key(leaves, TEXT_MEMBERS, ("text", "string")),
    )  # fmt: skip


def _first_member_key(
    leaves: Mapping[str, StepMember], names: Sequence[str], kinds: Sequence[str]
) -> str:
    """Return the key of the first of these members that is of one of these kinds."""
    matching = (name for name in names if name in leaves and leaves[name].kind in kinds)
    return next((f"steps/{name}" for name in matching), "")


# --- folder metadata --------------------------------------------------------------------


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json_codec.parse_json(files.read_head(path, _MAX_JSON_BYTES).decode())
    except (json_codec.InvalidJson, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: no JSON object")
    return found


def _read_info(folder: Path) -> dict[str, Any]:
    info = _read_json(folder / INFO_FILE)
    form = info.get("fileFormat") or "tfrecord"
    if form != "tfrecord":
        raise DataError(f"{folder / INFO_FILE}: files of format {form!r}; only tfrecord is read")
    return info


def _find_shards(
    folder: Path, info: Mapping[str, Any], root: Path
) -> dict[str, tuple[dict[int, Path], list[int]]]:
    """Return for each split the files that are here, by number, and the lengths of all files."""
    present = [
        (found["split"], int(found["n"]), int(found["k"]), require_inside(root, path))
        for path in sorted(folder.iterdir())
        if (found := _SHARD_NAME.fullmatch(path.name))
    ]
    shards = {
        name: (
            {
                k: path
                for split, n, k, path in present
                if (split, n) == (name, len(lengths)) and k < n
            },
            lengths,
        )
        for name, lengths in _parse_splits(folder, info)
    }
    non_empty = {name: found for name, found in shards.items() if found[0]}
    if not non_empty:
        raise DataError(f"{folder}: none of the files that {INFO_FILE} names is here")
    return non_empty


def _parse_splits(folder: Path, info: Mapping[str, Any]) -> list[tuple[str, list[int]]]:
    try:
        return [
            (str(split["name"]), [int(length) for length in split["shardLengths"]])
            for split in info["splits"]
        ]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{folder / INFO_FILE}: cannot read its splits: {error!r}") from None


def _read_step_members(folder: Path) -> dict[str, StepMember]:
    """Return the members of a step by path."""
    path = folder / FEATURES_FILE
    tree = _read_json(path)
    try:
        steps = tree["featuresDict"]["features"]["steps"]
        inner = (steps.get("sequence") or steps["dataset"])["feature"]
        return dict(_walk_members(inner, "", 0))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(f"{path}: its steps cannot be read: {error!r}; is it RLDS?") from None


def _walk_members(
    node: Mapping[str, Any], path: str, depth: int
) -> Iterator[tuple[str, StepMember]]:
    if depth > _MAX_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_DEPTH}")
    if "featuresDict" in node:
        for name, inner in node["featuresDict"].get("features", {}).items():
            yield from _walk_members(inner, f"{path}/{name}" if path else name, depth + 1)
        return
    kind = next((key for key in ("image", "tensor", "text") if key in node), "")
    properties = node.get(kind, {})
    dtype = str(properties.get("dtype", ""))
    encoding = str(properties.get("encoding") or "none").lower()
    sizes = tuple(int(size) for size in (properties.get("shape") or {}).get("dimensions", []))
    if kind == "tensor" and dtype in ("string", "object"):
        kind = "string"
    yield path, StepMember(kind, dtype, sizes, encoding)


def _action_members(
    leaves: Mapping[str, StepMember], folder: Path
) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...], int]:
    """Return the action's float members with lengths, its other members, and the total length."""
    if "action" in leaves:
        if leaves["action"].dtype not in FLOAT_TYPES:
            raise DataError(
                f"{folder / FEATURES_FILE}: the action is {leaves['action'].dtype}, no float"
            )
        return (), (), _member_size("action", leaves["action"], folder)
    inner = {path.removeprefix("action/"): leaf for path, leaf in leaves.items()
             if path.startswith("action/")}  # fmt: skip
    floats = sorted(name for name, leaf in inner.items() if leaf.dtype in FLOAT_TYPES)
    if not floats:
        raise DataError(f"{folder / FEATURES_FILE}: its steps have no action of floats")
    members = tuple((name, _member_size(name, inner[name], folder)) for name in floats)
    return members, tuple(sorted(set(inner) - set(floats))), sum(size for _, size in members)


def _member_size(name: str, leaf: StepMember, folder: Path) -> int:
    is_small = len(leaf.shape) <= _MAX_DEPTH and max(leaf.shape, default=1) <= _MAX_MEMBER_SIZE
    size = math.prod(leaf.shape) if is_small else 0
    if (
        leaf.kind != "tensor"
        or leaf.encoding != "none"
        or not 0 < size <= _MAX_MEMBER_SIZE
        or min(leaf.shape, default=1) < 1
    ):
        raise DataError(
            f"{folder / FEATURES_FILE}: {name} is not a plain tensor of a fixed shape "
            f"of at most {format_count(_MAX_MEMBER_SIZE)} numbers"
        )
    return size


# --- names ------------------------------------------------------------------------------


def _episode_name(file: str, n: int) -> str:
    """Return an episode's name, made from the name of its file and its number in the file."""
    found = _SHARD_NAME.fullmatch(Path(file).name)
    assert found is not None
    return f"{found['split']}-{found['k']}-{n:05}"
