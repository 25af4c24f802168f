"""ODinW in the published layout: `odinw/<split>/<sub-set>/`, cropped objects to be named.

A sub-set has `categories.json` (`{"categories": [{id, name, supercategory}]}`), the rows in
`test_object_caption_pairs.json` or else `object_caption_pairs.json` (a list of {bbox_image,
category_id, category_name, annotation_id, ...}), and the crops in `bbox_images/`.

The classes are the categories whose supercategory is not "none", in the order of the file. The
truth is the position among them, not the category's id. The 24 published sub-sets must have their
published number of classes; other sub-sets are read too, and a note names them. A sub-set with a
single class asks nothing and is left out. If a sub-set of the test split has more than 500 rows,
500 are drawn by id. Rows cut out of one photo (`original_image`) form a group, because they depend
on each other. The group's name is hashed, because the name of the photo may reveal what it shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.suites.multinet import published_layout
from toolmark.suites.multinet.frame_records import Choice, Frame
from toolmark.suites.multinet.loaded_rows import LoadedRows, natural_sort_key, number_steps
from toolmark.suites.multinet.published_layout import RowDecoder, RowFaults, Split, SplitFolder

NAMES = ("odinw",)
MAX_SUBSET_ROWS = 500
"""The most rows of a sub-set that are asked."""
_CATEGORIES_FILE = "categories.json"
_MAX_LISTED_SUBSETS = 3  # missing sub-sets named in a note
_PAIR_FILES = ("test_object_caption_pairs.json", "object_caption_pairs.json")
_CROPS_FOLDER = "bbox_images"


class PublishedSubset(DataRecord, frozen=True):
    """A published sub-set, and how many classes it has."""

    subset: str
    n_classes: Annotated[int, Meta(gt=0)]


@cache
def n_classes_by_subset() -> Mapping[str, int]:
    """Return how many classes each published sub-set has."""
    rows = read_table(__file__, "odinw_subsets.csv", tuple[PublishedSubset, ...])
    return {row.subset: row.n_classes for row in rows}


class _Category(msgspec.Struct, frozen=True):
    id: int
    name: str
    supercategory: str | None = None


class _Categories(msgspec.Struct, frozen=True):
    categories: list[_Category]


class _Pair(msgspec.Struct, frozen=True):
    bbox_image: str
    category_id: int
    category_name: str
    annotation_id: int | str
    original_image: str = ""


class _Subset(NamedTuple):
    frames: list[Frame]
    images: dict[str, Path | None]
    note: str = ""


def rows(
    folder: Path, *, split: Split, seed: int, subset: str | Collection[str] = ()
) -> LoadedRows:
    """Read a split: all sub-sets, or those named. Raises DataError that lists every bad row."""
    split_folder = published_layout.find_split_folder(folder, NAMES, split)
    if split_folder is None:
        return LoadedRows((), {}, (f"ODinW: {folder} holds no training split",), clustered=True)
    available = sorted(path.parent.name for path in split_folder.path.glob(f"*/{_CATEGORIES_FILE}"))
    selected = [subset] if isinstance(subset, str) and subset else list(subset) or available
    if not available:
        raise published_layout.missing_data_error(split_folder.path, "odinw")
    for name in selected:
        if name not in available:
            raise UsageError(
                f"odinw: no sub-set {name!r} in {split_folder.path}{suggest_names(name, available)}"
            )
    max_rows = MAX_SUBSET_ROWS if split == "test" else None
    subsets = [
        _read_subset(split_folder, split_folder.path / name, max_rows, seed)
        for name in sorted(set(selected))
    ]
    frames = [frame for part in subsets for frame in part.frames]
    images = {id: path for part in subsets for id, path in part.images.items()}
    notes = tuple(
        filter(
            None,
            (*(part.note for part in subsets), "" if subset else _missing_subsets_note(available)),
        )
    )
    return LoadedRows(
        number_steps(frames), split_folder.hashes, notes, clustered=True, images=images
    )


def _missing_subsets_note(available: Sequence[str]) -> str:
    missing = [name for name in n_classes_by_subset() if name not in available]
    more = (
        f" and {len(missing) - _MAX_LISTED_SUBSETS} more"
        if len(missing) > _MAX_LISTED_SUBSETS
        else ""
    )
    listed = f"{', '.join(missing[:_MAX_LISTED_SUBSETS])}{more}"
    return f"ODinW: {len(missing)} of the 24 sub-sets are not here: {listed}" if missing else ""


def _read_subset(split_folder: SplitFolder, home: Path, max_rows: int | None, seed: int) -> _Subset:
    """Return a sub-set's rows, by id."""
    name = home.name
    path = home / _CATEGORIES_FILE
    listed = published_layout.decode_json_file(
        split_folder.read_bytes(path), _Categories, path
    ).categories
    names, index, note = _check_classes(name, listed, path)
    if len(names) < 2:
        return _Subset([], {}, f"ODinW: {name} has a single class and is left out")
    path = home / next((each for each in _PAIR_FILES if (home / each).exists()), _PAIR_FILES[-1])
    faults = RowFaults()
    images: dict[str, Path | None] = {}
    frames = list(_parse_pairs(split_folder, path, names, index, images, faults))
    faults.raise_if_any(path)
    if max_rows is not None and len(frames) > max_rows:
        note = f"{note}; " if note else ""
        note += f"ODinW: {name}: {max_rows} of {len(frames)} rows, drawn by id with seed {seed}"
        frames.sort(key=lambda f: (seeds.make_rng(seed, f.id, 0, "multinet odinw").random(), f.id))
    selected = sorted(frames[:max_rows], key=lambda frame: natural_sort_key(frame.id))
    return _Subset(selected, {frame.id: images[frame.id] for frame in selected}, note)


def _check_classes(
    name: str, listed: Sequence[_Category], path: Path
) -> tuple[tuple[str, ...], dict[int, int], str]:
    """Return the classes' names, the class of each category's id, and a note about them."""
    classes = [each for each in listed if (each.supercategory or "").strip().lower() != "none"]
    index = {each.id: at for at, each in enumerate(classes)}
    if len({each.id for each in listed}) < len(listed):
        raise DataError(f"{path}: two categories with the same id")
    titles = [each.name.strip() for each in classes]
    if "" in titles or len({*titles}) < len(titles):
        raise DataError(
            f"{path}: two classes of the same name, or one without a name: "
            "answers would be ambiguous"
        )
    n_expected = n_classes_by_subset().get(name)
    if n_expected is not None and len(classes) != n_expected:
        raise DataError(
            f"{path}: {len(classes)} classes, but the published {name} has {n_expected}; "
            "give your own sub-set another name"
        )
    note = "" if n_expected else f"ODinW: {name} is none of the 24 published sub-sets"
    return tuple(each.name for each in classes), index, note


def _parse_pairs(
    split_folder: SplitFolder,
    path: Path,
    names: tuple[str, ...],
    index: dict[int, int],
    images: dict[str, Path | None],
    faults: RowFaults,
) -> Iterator[Frame]:
    """Yield a sub-set's rows, and add the place of each row's crop to `images`."""
    home = path.parent
    decoder = RowDecoder(_Pair)
    crops = SplitFolder(home / _CROPS_FOLDER, split_folder.root)
    class_by_crop: dict[Path, int] = {}
    for number, text in enumerate(
        published_layout.decode_json_file(split_folder.read_bytes(path), list[msgspec.Raw], path), 1
    ):
        where = f"row {number}"
        pair = decoder.decode_row(text, where, faults)
        if pair is None:
            continue
        id = f"{home.name}/{pair.annotation_id}"
        at = index.get(pair.category_id)
        if at is None:
            faults.add(where, f"category_id {pair.category_id} is none of the classes")
        elif pair.category_name != names[at]:
            faults.add(where, f"category {pair.category_name!r} is {names[at]!r} by its id")
        elif id in images:
            faults.add(where, f"annotation_id {pair.annotation_id} stands there twice")
        else:
            try:
                crop = crops.resolve_name(pair.bbox_image)
            except DataError as error:
                faults.add(where, f"bbox_image {error}")
                continue
            if class_by_crop.setdefault(crop, at) != at:
                faults.add(where, f"bbox_image {crop.name!r} is of another class in another row")
                continue
            images[id] = crop
            yield Frame(
                id=id,
                family="odinw",
                source="published",
                space=Choice(options=names),
                truth=at,
                group=_photo_group(home.name, pair.original_image) or id,
                slices={"subset": home.name},
            )


def _photo_group(subset: str, name: str) -> str:
    """Return the group name of a photo, "" if the photo is not known."""
    return f"{subset}/{hashlib.sha256(name.encode()).hexdigest()[:12]}" if name.strip() else ""
