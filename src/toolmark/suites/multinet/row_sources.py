"""Where a family's rows come from (a folder, a package, a generator), and how many are asked."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from toolmark.core import user_modules
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.number_format import format_count
from toolmark.suites.multinet.baseline_answers import add_baseline_answers
from toolmark.suites.multinet.frame_records import Rows
from toolmark.suites.multinet.multinet_families import Family
from toolmark.suites.multinet.openx.morphologies import MORPHOLOGIES, OWN_MORPHOLOGY
from toolmark.suites.multinet.published_layout import SIBLING_TRAIN_NOTE, sibling_train_folder
from toolmark.suites.multinet.row_sampling import JoinedRows, SampledRows

Reader: TypeAlias = Callable[..., Rows]

SYNTHETIC_DATA = "synthetic"
OFFICIAL_DATA = "official"
REAL_DATA = "real"
ALL = "all"
PACKAGED_DATA: Mapping[Family, str] = {"bfcl": OFFICIAL_DATA, "overcooked": REAL_DATA}
"""The families whose data come from a package, and the name of these data."""
_PACKAGE_NAME = "toolmark.suites.multinet"
_N_TRAIN_ROWS = 500  # generated rows that the baselines learn from, for any number of items
_N_TRAIN_ROWS_BY_FAMILY = {"overcooked": 800}  # one whole game of each layout
# Rows are drawn from this many generated steps, because the first ones all belong to one episode.
# For more items the pool grows by this many at a time.
_POOL_SIZES = {"openx": 2000, "overcooked": 2400}


def load_rows(
    family: Family,
    source: str,
    seed: int,
    items: int | str,
    row_sets: Sequence[Mapping[str, str]],
    options: Mapping[str, Any],
) -> Rows:
    """Return the rows that are asked; `row_sets` are further options for each set of rows.

    Raises UsageError for what cannot be asked, DataError for data that cannot be read.
    """
    n = _resolve_item_count(source, items)
    rows_by_set = {
        next(iter(set_options.values()), ""): _load_set(
            family, source, seed, n_of_set, {**options, **set_options}
        )
        for set_options, n_of_set in zip(row_sets, _split_evenly(n, row_sets), strict=True)
    }
    # ids begin with the set's name even if it is the only set, so that a row's id does not change
    found: Rows = rows_by_set[""] if "" in rows_by_set else JoinedRows(rows_by_set)
    if not len(found):
        raise UsageError(f"multinet-{family}: no row is left; loosen -T")
    return found


def _load_set(
    family: Family, source: str, seed: int, n: int | None, options: Mapping[str, Any]
) -> Rows:
    """Return the asked rows of one set, with the baselines' answers."""
    if source in PACKAGED_DATA.values() and source != PACKAGED_DATA.get(family):
        raise UsageError(f"multinet-{family} has no data called {source!r}; name a folder")
    if source == SYNTHETIC_DATA and family == "bfcl":
        raise UsageError(f"multinet-bfcl needs no stand-in: leave data out, it is {OFFICIAL_DATA}")
    if source == SYNTHETIC_DATA:
        generator: Reader = user_modules.import_attribute(
            f"{_PACKAGE_NAME}.synthetic.{family}:rows"
        )
        assert n is not None
        pool = _POOL_SIZES.get(family, 1)
        test = generator(n=-(-n // pool) * pool, split="test", seed=seed, **options)
        train = generator(
            n=_N_TRAIN_ROWS_BY_FAMILY.get(family, _N_TRAIN_ROWS),
            split="train",
            seed=seed,
            **options,
        )
        return SampledRows(
            add_baseline_answers(test, train, seed), n, seed, with_note=False, pool=pool
        )
    reader: Reader = user_modules.import_attribute(
        _GAMES_READER_PATH if source == REAL_DATA else _READER_PATHS[family]
    )
    reader_options = {**options} if source == REAL_DATA else {**options, "seed": seed}
    folder = None if source in PACKAGED_DATA.values() else Path(source)
    test, train = (reader(folder, split=split, **reader_options) for split in ("test", "train"))
    notes: tuple[str, ...] = ()
    if folder and family != "openx":  # openx handles episodes of equal name itself
        _check_split_overlap(test, train, folder)
        names = user_modules.import_attribute(f"{_PACKAGE_NAME}.published.{family}:NAMES")
        notes = (SIBLING_TRAIN_NOTE,) if len(train) and sibling_train_folder(folder, names) else ()
    return SampledRows(add_baseline_answers(test, train, seed, notes), n, seed)


def _check_split_overlap(test: Rows, train: Rows, folder: Path) -> None:
    """Raise DataError for rows that are in both splits: same id, same text, same truth."""
    train_frames = {frame.id: frame for frame in train.partial_frames()}
    shared_ids = [
        complete.id
        for each in test.partial_frames()
        if each.id in train_frames
        and (complete := test.complete_frame(each)) == train.complete_frame(train_frames[each.id])
        and (complete.fields or complete.group != complete.id)
    ]
    if shared_ids:
        raise DataError(
            f"{folder}: {format_count(len(shared_ids))} rows are asked and in the training split "
            "too, such as "
            f"{shared_ids[0]!r}: the baselines would know their answers; take them out of train"
        )


_READER_PATHS: Mapping[Family, str] = {
    **{name: f"{_PACKAGE_NAME}.published.{name}:rows"
       for name in ("piqa", "sqa3d", "robovqa", "odinw", "bfcl", "overcooked")},
    "openx": f"{_PACKAGE_NAME}.openx.openx_rows:rows",
}  # fmt: skip


_GAMES_READER_PATH = f"{_PACKAGE_NAME}.overcooked.overcooked_rows:rows"


def resolve_seed(source: str, seed: int | None) -> int:
    """Return the seed: without one a fresh one for generated rows, 0 for published ones."""
    if seed is not None:
        return seed
    return secrets.randbits(32) if source == SYNTHETIC_DATA else 0


def _resolve_item_count(source: str, items: int | str) -> int | None:
    if isinstance(items, str):
        if source == SYNTHETIC_DATA:
            raise UsageError(f"items={ALL} is of data that end; of generated rows say how many")
        return None
    return items


def _split_evenly(n: int | None, row_sets: Sequence[Mapping[str, str]]) -> list[int | None]:
    """Distribute n rows evenly over k sets; the first sets get the remainder."""
    k = len(row_sets)
    if n is None:
        return [None] * k
    if n < k:
        plural = {"morphology": "morphologies"}.get(next(iter(row_sets[0]), ""), "sets")
        raise UsageError(f"items: {n} rows are too few for {k} {plural}; ask for {k} or more")
    return [n // k + (at < n % k) for at in range(k)]


def select_names(name: str, requested: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """Return the selected names, each once, in the order of the tables. Raises UsageError."""
    for word in requested:
        if word != ALL and word not in allowed:
            raise UsageError(f"no {name} {word!r}{suggest_names(word, (ALL, *allowed))}")
    found = tuple(word for word in allowed if word in requested or ALL in requested)
    if not found:
        raise UsageError(f"no {name} given; for example {name}={ALL}")
    return found


def combine_hashes(rows: Rows) -> dict[str, str]:
    """Return the hashes by file, and one for all files, so that other rows make another run."""
    found = dict(sorted(rows.hashes.items()))
    combined = hashlib.sha256(" ".join(found.values()).encode()).hexdigest()
    return {**found, "items": combined} if found else {}


def sample_option(sample: str, data: str) -> dict[str, str]:
    """Return the option that says which rows to ask. Raises UsageError for rows without an end."""
    if data == SYNTHETIC_DATA and sample == ALL:
        raise UsageError(f"sample={ALL} is of data that end; of generated rows say how many: items")
    return {"sample": ALL} if sample == ALL else {}


def subset_option(requested: Sequence[str]) -> dict[str, Any]:
    """Return the option that names the selected sub-sets. Raises UsageError."""
    if ALL in requested and len({*requested}) > 1:
        raise UsageError(f"subset={','.join(requested)}: {ALL} is every one; leave the others out")
    return {} if ALL in requested else {"subset": tuple(requested)}


def select_morphologies(data: str, requested: Sequence[str]) -> tuple[str, ...]:
    """Return the selected morphologies; all means those that have their own folder."""
    if requested and {*requested} == {OWN_MORPHOLOGY}:
        if data == SYNTHETIC_DATA:
            raise UsageError(f"morphology={OWN_MORPHOLOGY} is of a folder: -T data=DIR")
        return (OWN_MORPHOLOGY,)
    names = select_names("morphology", requested, tuple(MORPHOLOGIES))
    if data == SYNTHETIC_DATA or ALL not in requested:
        return names
    folders_by_morphology = {name: (name, MORPHOLOGIES[name].folder, MORPHOLOGIES[name].published)
              for name in names}  # fmt: skip
    found = tuple(
        name for name, folders in folders_by_morphology.items()
        if any((Path(data) / folder).is_dir() for folder in folders if folder)
    )  # fmt: skip
    if not found:
        raise UsageError(
            f"{data}: no folder of a morphology; say which: -T morphology={names[0]}, or "
            f"morphology={OWN_MORPHOLOGY} for a robot of any shape"
        )
    return found
