"""ODinW in the published layout: `odinw/<split>/<sub-set>/`, cropped objects to be named.

A sub-set holds `categories.json` (`{"categories": [{id, name, supercategory}]}`), the rows in
`test_object_caption_pairs.json` or else `object_caption_pairs.json` (a list of {bbox_image,
category_id, category_name, annotation_id, ...}), and the crops in `bbox_images/`.

The classes are the categories whose supercategory is not "none", in the order of the file; the
truth is the position among them, not the category's id. The 24 published sub-sets must have their
published number of classes; others are read too, and told. One with a single class asks nothing and
is left out. Of more than 500 rows of a sub-set 500 are drawn by id, in the test split. Rows cut out
of one photo (`original_image`) are a group: they hang together. Its name, which may tell what it
shows, is hashed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from toolmark import seeds
from toolmark.errors import DataError, UsageError, near
from toolmark.suites.multinet import layout as folders
from toolmark.suites.multinet.frame import Choice, Frame
from toolmark.suites.multinet.held import Held, order, stepped
from toolmark.suites.multinet.layout import Decoder, Faults, Room, Split

NAMES = ("odinw",)
CLASSES = {
    "AerialMaritimeDrone": 5, "AmericanSignLanguageLetters": 26, "Aquarium": 7, "BCCD": 3,
    "ChessPieces": 13, "DroneControl": 8, "EgoHands": 4, "HardHatWorkers": 3, "MaskWearing": 2,
    "NorthAmericaMushrooms": 2, "OxfordPets": 37, "PKLot": 2, "ShellfishOpenImages": 3,
    "ThermalCheetah": 2, "UnoCards": 15, "VehiclesOpenImages": 5, "boggleBoards": 36,
    "brackishUnderwater": 6, "dice": 6, "openPoetryVision": 43, "plantdoc": 30,
    "selfdrivingCar": 11, "thermalDogsAndPeople": 2, "websiteScreenshots": 8,
}  # fmt: skip
"""The published sub-sets and how many classes each has."""
MOST = 500
"""Rows of a sub-set that are asked."""
_FILE = "categories.json"
_TOLD = 3  # sub-sets that are not here
_PAIRS = ("test_object_caption_pairs.json", "object_caption_pairs.json")
_CROPS = "bbox_images"


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


def rows(folder: Path, *, split: Split, seed: int, subset: str | Collection[str] = ()) -> Held:
    """Read a split: all sub-sets, or those named. Raises DataError that lists every bad row."""
    room = folders.room(folder, NAMES, split)
    if room is None:
        return Held((), {}, (f"ODinW: {folder} holds no training split",), clustered=True)
    known = sorted(path.parent.name for path in room.path.glob(f"*/{_FILE}"))
    wanted = [subset] if isinstance(subset, str) and subset else list(subset) or known
    if not known:
        raise folders.absent(room.path, "odinw")
    for name in wanted:
        if name not in known:
            raise UsageError(f"odinw: no sub-set {name!r} in {room.path}{near(name, known)}")
    most = MOST if split == "test" else None
    read = [_read(room, room.path / name, most, seed) for name in sorted(set(wanted))]
    frames = [frame for part in read for frame in part.frames]
    images = {id: path for part in read for id, path in part.images.items()}
    notes = tuple(filter(None, (*(part.note for part in read), "" if subset else _absent(known))))
    return Held(stepped(frames), room.hashes, notes, clustered=True, images=images)


def _absent(known: Sequence[str]) -> str:
    lost = [name for name in CLASSES if name not in known]
    more = f" and {len(lost) - _TOLD} more" if len(lost) > _TOLD else ""
    told = f"{', '.join(lost[:_TOLD])}{more}"
    return f"ODinW: {len(lost)} of the 24 sub-sets are not here: {told}" if lost else ""


def _read(room: Room, home: Path, most: int | None, seed: int) -> _Subset:
    """Return a sub-set's rows, by id."""
    name = home.name
    path = home / _FILE
    listed = folders.whole(room.read(path), _Categories, path).categories
    names, index, note = _classes(name, listed, path)
    if len(names) < 2:
        return _Subset([], {}, f"ODinW: {name} has a single class and is left out")
    path = home / next((each for each in _PAIRS if (home / each).exists()), _PAIRS[-1])
    faults = Faults()
    images: dict[str, Path | None] = {}
    frames = list(_frames(room, path, names, index, images, faults))
    faults.check(path)
    if most is not None and len(frames) > most:
        note = f"{note}; " if note else ""
        note += f"ODinW: {name}: {most} of {len(frames)} rows, drawn by id with seed {seed}"
        frames.sort(key=lambda f: (seeds.of(seed, f.id, 0, "multinet odinw").random(), f.id))
    kept = sorted(frames[:most], key=lambda frame: order(frame.id))
    return _Subset(kept, {frame.id: images[frame.id] for frame in kept}, note)


def _classes(
    name: str, listed: Sequence[_Category], path: Path
) -> tuple[tuple[str, ...], dict[int, int], str]:
    """Return the classes' names, the class of each category's id, and what to say of them."""
    real = [each for each in listed if (each.supercategory or "").strip().lower() != "none"]
    index = {each.id: at for at, each in enumerate(real)}
    if len({each.id for each in listed}) < len(listed):
        raise DataError(f"{path}: two categories with the same id")
    titles = [each.name.strip() for each in real]
    if "" in titles or len({*titles}) < len(titles):
        raise DataError(f"{path}: two classes of the same name, or one without: nobody could tell")
    due = CLASSES.get(name)
    if due is not None and len(real) != due:
        raise DataError(
            f"{path}: {len(real)} classes, but the published {name} has {due}; "
            "give a sub-set of your own a name of its own"
        )
    told = "" if due else f"ODinW: {name} is none of the 24 published sub-sets"
    return tuple(each.name for each in real), index, told


def _frames(
    room: Room,
    path: Path,
    names: tuple[str, ...],
    index: dict[int, int],
    images: dict[str, Path | None],
    faults: Faults,
) -> Iterator[Frame]:
    """Go through a sub-set's rows, and put the place of each one's crop with the images."""
    home = path.parent
    decoder = Decoder(_Pair)
    crops = Room(home / _CROPS, room.root)
    seen: dict[Path, int] = {}
    for number, text in enumerate(folders.whole(room.read(path), list[msgspec.Raw], path), 1):
        where = f"row {number}"
        pair = decoder.read(text, where, faults)
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
                crop = crops.named(pair.bbox_image)
            except DataError as error:
                faults.add(where, f"bbox_image {error}")
                continue
            if seen.setdefault(crop, at) != at:
                faults.add(where, f"bbox_image {crop.name!r} is of another class in another row")
                continue
            images[id] = crop
            yield Frame(
                id=id,
                family="odinw",
                source="published",
                space=Choice(options=names),
                truth=at,
                group=_photo(home.name, pair.original_image) or id,
                slices={"subset": home.name},
            )


def _photo(subset: str, name: str) -> str:
    """Return what a photo is called here, "" where nobody says which it is."""
    return f"{subset}/{hashlib.sha256(name.encode()).hexdigest()[:12]}" if name.strip() else ""
