"""PIQA in the published layout: `piqa/<split>/*.jsonl`, exactly one file.

A row holds `id`, `goal`, `sol1`, `sol2` and `label` (0: sol1 is right, 1: sol2 is). A row without
its label is an error, not a row with label 0; labels may also lie beside the file, one a line, as
`NAME-labels.lst`. A row without an id goes by what it says.

MultiNet's set is a sample of 20 % of PIQA's training file, drawn by position: it hangs on the order
of that file. A folder that holds the sample is taken as it is. Of the whole training file (known by
its 16,113 rows) the same positions are drawn here, and the other rows train baselines; the notes
say whether the labels that come out are those that MultiNet published.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from toolmark import seeds
from toolmark.errors import DataError, UsageError, near
from toolmark.suites.multinet import layout as folders
from toolmark.suites.multinet.frame import Choice, Frame
from toolmark.suites.multinet.held import Held, order
from toolmark.suites.multinet.layout import Faults, Room, Split

Sample: TypeAlias = Literal["", "all", "published", "seeded"]

N_TRAIN = 16_113
"""Rows of PIQA's own training file."""
SHARE = 0.2
NAMES = ("piqa",)
_SEED = 42  # of the published sample
_SAMPLES = ("", "all", "published", "seeded")
_LABELS = "653f9a94eef7a39bc7b830227bb4e586347d4e902be2c54a7c60f921ee495983"  # the sample's 3,222


class Row(msgspec.Struct, frozen=True):
    """A line of the file; what else it holds is not read."""

    goal: str
    sol1: str
    sol2: str
    label: int | None = None
    id: str | int | None = None


def rows(folder: Path, *, split: Split, seed: int, sample: Sample = "") -> Held:
    """Read a split. Raises DataError that lists every bad row with its line.

    `sample` says what is asked of a folder without a `train` folder: "all" rows, the "published"
    positions, or a "seeded" share of 20 % by id; what is not asked is the training split then.
    Left empty it is "published" for a file of 16,113 rows, else "all".
    """
    if sample not in _SAMPLES:
        raise UsageError(f"piqa: no sample {sample!r}{near(sample, _SAMPLES[1:])}")
    folders.check(split)
    apart = folders.room(folder, NAMES, "train")
    room = folders.room(folder, NAMES, "test") if split == "test" else apart
    room = room or folders.room(folder, NAMES, "test")
    assert room is not None  # there always is one to be asked
    found = sorted(room.path.glob("*.jsonl"))
    path = folders.one(found, room.path, "file of rows (*.jsonl)", "piqa")
    read = _read(room, path)
    whole: Sample = "published" if len(read) == N_TRAIN else "all"
    chosen, note = _chosen(read, "all" if apart else sample or whole, seed)
    if split == "train" and not apart:
        asked = frozenset(chosen)
        chosen = [name for name, _ in read if name not in asked]
    kept = frozenset(chosen)
    frames = sorted((_frame(name, row) for name, row in read if name in kept),
                    key=lambda frame: order(frame.id))  # fmt: skip
    return Held(tuple(frames), room.hashes, note)


def _read(room: Room, path: Path) -> list[tuple[str, Row]]:
    """Return the rows by id, in the order of the file."""
    faults = Faults()
    found: dict[str, tuple[int, Row]] = {}
    numbered = list(folders.lines(room.read(path), Row, faults))
    labels = _labels(room, path, len(numbered))
    for at, (number, row) in enumerate(numbered):
        label = labels[at] if row.label is None and labels else row.label
        name = named(row)
        if why := folders.blank(goal=row.goal, sol1=row.sol1, sol2=row.sol2):
            faults.add(f"line {number}", why)
        elif row.sol1.strip() == row.sol2.strip():
            faults.add(f"line {number}", "both solutions are the same")
        elif label not in (0, 1):
            told = (
                "no label: it is not taken for 0" if label is None else f"label {label}, not 0, 1"
            )
            faults.add(f"line {number}", told)
        elif name in found:
            faults.add(f"line {number}", f"id {name!r} stands in line {found[name][0]} too")
        else:
            found[name] = (number, msgspec.structs.replace(row, label=label))
    faults.check(path)
    if not found:
        raise DataError(f"{path}: holds no row")
    return [(name, row) for name, (_, row) in found.items()]


def _labels(room: Room, path: Path, n: int) -> list[int]:
    """Return the labels that lie beside the rows; none where no file does."""
    beside = path.with_name(f"{path.stem}-labels.lst")
    if not beside.exists() and not beside.is_symlink():
        return []
    words = room.read(beside).split()
    if len(words) != n:
        raise DataError(f"{beside}: {len(words)} labels for {n} rows")
    return [int(word) if word in (b"0", b"1") else -1 for word in words]


def named(row: Row) -> str:
    """Return a row's id; where it has none, one that is made of its words."""
    if row.id is not None and str(row.id).strip():
        return str(row.id)
    return hashlib.sha256("\x1f".join((row.goal, row.sol1, row.sol2)).encode()).hexdigest()[:16]


def _chosen(
    read: Sequence[tuple[str, Row]], way: Sample, seed: int
) -> tuple[list[str], tuple[str, ...]]:
    """Return the ids of the rows that are asked, in their order, and what to say of them."""
    match way:
        case "published":
            held = [read[at] for at in positions(len(read))]
            told = f"PIQA: {len(held)} of {len(read)} rows, at the positions of MultiNet's sample"
        case "seeded":
            lots = {name: seeds.of(seed, name, 0, "multinet piqa").random() for name, _ in read}
            chosen = set(sorted(lots, key=lambda id: (lots[id], id))[: round(SHARE * len(read))])
            held = [each for each in read if each[0] in chosen]
            told = f"PIQA: {len(held)} of {len(read)} rows, drawn by id with seed {seed}"
        case _:
            held, told = list(read), f"PIQA: all {len(read)} rows of the file"
    if len(held) < len(read):
        told += f"; {len(read) - len(held)} are kept to learn from"
    same = "are" if published(row.label for _, row in held) else "are not"
    return [name for name, _ in held], (f"{told}; their labels {same} those of MultiNet's sample",)


def positions(n: int) -> list[int]:
    """Return which of n rows MultiNet's sample takes, in the order of the file.

    It was drawn with Python's own generator, not with ours.
    """
    return sorted(random.Random(_SEED).sample(range(n), int(SHARE * n)))


def published(labels: Iterable[int | None]) -> bool:
    """Tell whether labels, in the order of the file, are those of MultiNet's sample."""
    return hashlib.sha256("".join(map(str, labels)).encode()).hexdigest() == _LABELS


def _frame(name: str, row: Row) -> Frame:
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
