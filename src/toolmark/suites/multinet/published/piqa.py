"""PIQA in the published layout: `piqa/<split>/*.jsonl`, exactly one file.

A row has `id`, `goal`, `sol1`, `sol2` and `label` (0: sol1 is correct, 1: sol2 is). A row without
its label is an error, not a row with label 0. Labels may also be in a file next to it, one per
line, `NAME-labels.lst`. A row without an id gets one made from its content.

MultiNet's set is a sample of 20 % of PIQA's training file, drawn by position, so it depends on the
order of that file. A folder that has the sample is used unchanged. For the whole training file
(recognised by its 16,113 rows) the same positions are drawn here, and the other rows train
baselines. A note says whether the resulting labels are those that MultiNet published.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from toolmark.core import seeds
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.suites.multinet import published_layout
from toolmark.suites.multinet.frame_records import Choice, Frame
from toolmark.suites.multinet.loaded_rows import LoadedRows, natural_sort_key
from toolmark.suites.multinet.published_layout import RowFaults, Split, SplitFolder

SampleMode: TypeAlias = Literal["", "all", "published", "seeded"]

N_TRAIN = 16_113
"""The number of rows of PIQA's own training file."""
SAMPLE_SHARE = 0.2
NAMES = ("piqa",)
_PUBLISHED_SEED = 42  # the seed of the published sample
_SAMPLE_MODES = ("", "all", "published", "seeded")
_PUBLISHED_LABELS_SHA256 = (
    "653f9a94eef7a39bc7b830227bb4e586347d4e902be2c54a7c60f921ee495983"  # the sample's 3,222
)


class PiqaRow(msgspec.Struct, frozen=True):
    """A line of the file; other members are not read."""

    goal: str
    sol1: str
    sol2: str
    label: int | None = None
    id: str | int | None = None


def rows(folder: Path, *, split: Split, seed: int, sample: SampleMode = "") -> LoadedRows:
    """Read a split. Raises DataError that lists every bad row with its line.

    `sample` says which rows of a folder without a `train` folder are asked: "all" rows, the
    "published" positions, or a "seeded" share of 20 % by id; the other rows are then the training
    split. An empty `sample` means "published" for a file of 16,113 rows, else "all".
    """
    if sample not in _SAMPLE_MODES:
        raise UsageError(f"piqa: no sample {sample!r}{suggest_names(sample, _SAMPLE_MODES[1:])}")
    published_layout.check_split(split)
    train_folder = published_layout.find_split_folder(folder, NAMES, "train")
    split_folder = (
        published_layout.find_split_folder(folder, NAMES, "test")
        if split == "test"
        else train_folder
    )
    split_folder = split_folder or published_layout.find_split_folder(folder, NAMES, "test")
    assert split_folder is not None  # only a `train` split can be missing
    found = sorted(split_folder.path.glob("*.jsonl"))
    path = published_layout.require_single_file(
        found, split_folder.path, "file of rows (*.jsonl)", "piqa"
    )
    rows_by_id = _read_rows(split_folder, path)
    default_mode: SampleMode = "published" if len(rows_by_id) == N_TRAIN else "all"
    selected, note = _select_rows(
        rows_by_id, "all" if train_folder else sample or default_mode, seed
    )
    if split == "train" and not train_folder:
        evaluated = frozenset(selected)
        selected = [name for name, _ in rows_by_id if name not in evaluated]
    selected_ids = frozenset(selected)
    frames = sorted((_build_frame(name, row) for name, row in rows_by_id if name in selected_ids),
                    key=lambda frame: natural_sort_key(frame.id))  # fmt: skip
    return LoadedRows(tuple(frames), split_folder.hashes, note)


def _read_rows(split_folder: SplitFolder, path: Path) -> list[tuple[str, PiqaRow]]:
    """Return the rows by id, in the order of the file."""
    faults = RowFaults()
    found: dict[str, tuple[int, PiqaRow]] = {}
    numbered = list(
        published_layout.parse_json_lines(split_folder.read_bytes(path), PiqaRow, faults)
    )
    labels = _read_labels(split_folder, path, len(numbered))
    for at, (number, row) in enumerate(numbered):
        label = labels[at] if row.label is None and labels else row.label
        name = row_id(row)
        if why := published_layout.missing_texts(goal=row.goal, sol1=row.sol1, sol2=row.sol2):
            faults.add(f"line {number}", why)
        elif row.sol1.strip() == row.sol2.strip():
            faults.add(f"line {number}", "both solutions are the same")
        elif label not in (0, 1):
            fault = (
                "no label: it is not taken for 0" if label is None else f"label {label}, not 0, 1"
            )
            faults.add(f"line {number}", fault)
        elif name in found:
            faults.add(f"line {number}", f"id {name!r} stands in line {found[name][0]} too")
        else:
            found[name] = (number, msgspec.structs.replace(row, label=label))
    faults.raise_if_any(path)
    if not found:
        raise DataError(f"{path}: holds no row")
    return [(name, row) for name, (_, row) in found.items()]


def _read_labels(split_folder: SplitFolder, path: Path, n: int) -> list[int]:
    """Return the labels in the file next to the rows, an empty list if there is no such file."""
    labels_file = path.with_name(f"{path.stem}-labels.lst")
    if not labels_file.exists() and not labels_file.is_symlink():
        return []
    lines = split_folder.read_bytes(labels_file).split()
    if len(lines) != n:
        raise DataError(f"{labels_file}: {len(lines)} labels for {n} rows")
    return [int(word) if word in (b"0", b"1") else -1 for word in lines]


def row_id(row: PiqaRow) -> str:
    """Return a row's id; without one, an id made from its text."""
    if row.id is not None and str(row.id).strip():
        return str(row.id)
    return hashlib.sha256("\x1f".join((row.goal, row.sol1, row.sol2)).encode()).hexdigest()[:16]


def _select_rows(
    rows_by_id: Sequence[tuple[str, PiqaRow]], mode: SampleMode, seed: int
) -> tuple[list[str], tuple[str, ...]]:
    """Return the ids of the asked rows, in their order, and notes about them."""
    match mode:
        case "published":
            selected = [rows_by_id[at] for at in published_positions(len(rows_by_id))]
            note = (
                f"PIQA: {len(selected)} of {len(rows_by_id)} rows, at the positions of MultiNet's "
                "sample"
            )
        case "seeded":
            draws = {
                name: seeds.make_rng(seed, name, 0, "multinet piqa").random()
                for name, _ in rows_by_id
            }
            drawn_ids = set(
                sorted(draws, key=lambda id: (draws[id], id))[
                    : round(SAMPLE_SHARE * len(rows_by_id))
                ]
            )
            selected = [each for each in rows_by_id if each[0] in drawn_ids]
            note = f"PIQA: {len(selected)} of {len(rows_by_id)} rows, drawn by id with seed {seed}"
        case _:
            selected, note = list(rows_by_id), f"PIQA: all {len(rows_by_id)} rows of the file"
    if len(selected) < len(rows_by_id):
        note += f"; {len(rows_by_id) - len(selected)} are reserved to learn from"
    verb = "are" if are_published_labels(row.label for _, row in selected) else "are not"
    return [name for name, _ in selected], (
        f"{note}; their labels {verb} those of MultiNet's sample",
    )


def published_positions(n: int) -> list[int]:
    """Return the positions of MultiNet's sample among n rows, in the order of the file.

    The sample was drawn with Python's own generator, not with ours.
    """
    return sorted(random.Random(_PUBLISHED_SEED).sample(range(n), int(SAMPLE_SHARE * n)))


def are_published_labels(labels: Iterable[int | None]) -> bool:
    """Return whether labels, in the order of the file, are those of MultiNet's sample."""
    return (
        hashlib.sha256("".join(map(str, labels)).encode()).hexdigest() == _PUBLISHED_LABELS_SHA256
    )


def _build_frame(name: str, row: PiqaRow) -> Frame:
    assert row.label is not None
    return Frame(
        id=name,
        family="piqa",
        source="published",
        space=Choice(options=(row.sol1, row.sol2)),
        truth=row.label,
        group=name,
        fields={"goal": row.goal},
    )
