"""Where a family's rows come from: a folder, a package, a generator; how many of them are asked."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from toolmark import plugin
from toolmark.errors import DataError, UsageError, near
from toolmark.suites.multinet.families import Family
from toolmark.suites.multinet.frame import Rows, bare, full
from toolmark.suites.multinet.guesses import guessed
from toolmark.suites.multinet.layout import BESIDE, beside
from toolmark.suites.multinet.openx.morphology import MORPHOLOGIES, OWN
from toolmark.suites.multinet.sample import Drawn, Joined

Reader: TypeAlias = Callable[..., Rows]

SYNTHETIC = "synthetic"
OFFICIAL = "official"
REAL = "real"
ALL = "all"
PACKAGED: Mapping[Family, str] = {"bfcl": OFFICIAL, "overcooked": REAL}
"""The families whose data come from a package, and what these data are called."""
_HOME = "toolmark.suites.multinet"
_TRAIN = 500  # generated rows that the baselines learn from, however many are asked
_LAPS = {"overcooked": 800}  # generated rows are made in such lots: a whole game of each layout
# of so many generated steps some are asked, since the first are all of one episode; where more are
# asked than that, all of them are, and some of as many again
_POOLS = {"openx": 2000, "overcooked": 2400}


def rows(
    family: Family,
    source: str,
    seed: int,
    items: int | str,
    sets: Sequence[Mapping[str, str]],
    options: Mapping[str, Any],
) -> Rows:
    """Return the rows that are asked; `sets` are further options of each set of rows there is.

    Raises UsageError for what cannot be asked, DataError for data that cannot be read.
    """
    n = _items(source, items)
    made = {
        next(iter(own.values()), ""): _rows(family, source, seed, share, {**options, **own})
        for own, share in zip(sets, _shares(n, sets), strict=True)
    }
    # ids begin with the set's name also where it is the only one: a row keeps its own
    found: Rows = made[""] if "" in made else Joined(made)
    if not len(found):
        raise UsageError(f"multinet-{family}: no row is left; loosen -T")
    return found


def _rows(
    family: Family, source: str, seed: int, n: int | None, options: Mapping[str, Any]
) -> Rows:
    """Return the rows of one set that are asked, with what the baselines answer."""
    if source in PACKAGED.values() and source != PACKAGED.get(family):
        raise UsageError(f"multinet-{family} has no data called {source!r}; name a folder")
    if source == SYNTHETIC and family == "bfcl":
        raise UsageError(f"multinet-bfcl needs no stand-in: leave data out, it is {OFFICIAL}")
    if source == SYNTHETIC:
        make: Reader = plugin.attribute(f"{_HOME}.synthetic.{family}:rows")
        assert n is not None
        pool = _POOLS.get(family, 1)
        test = make(n=-(-n // pool) * pool, split="test", seed=seed, **options)
        train = make(n=_LAPS.get(family, _TRAIN), split="train", seed=seed, **options)
        return Drawn(guessed(test, train, seed), n, seed, told=False, pool=pool)
    read: Reader = plugin.attribute(_GAMES if source == REAL else _READERS[family])
    given = {**options} if source == REAL else {**options, "seed": seed}
    folder = None if source in PACKAGED.values() else Path(source)
    test, train = (read(folder, split=split, **given) for split in ("test", "train"))
    said: tuple[str, ...] = ()
    if folder and family != "openx":  # which tells episodes of one name itself
        _apart(test, train, folder)
        names = plugin.attribute(f"{_HOME}.published.{family}:NAMES")
        said = (BESIDE,) if len(train) and beside(folder, names) else ()
    return Drawn(guessed(test, train, seed, said), n, seed)


def _apart(test: Rows, train: Rows, folder: Path) -> None:
    """Raise DataError for rows that are asked and learned from: same id, same words, same truth."""
    known = {frame.id: frame for frame in bare(train)}
    same = [
        asked.id
        for each in bare(test)
        if each.id in known and (asked := full(test, each)) == full(train, known[each.id])
        and (asked.fields or asked.group != asked.id)
    ]  # fmt: skip
    if same:
        raise DataError(
            f"{folder}: {len(same):,} rows are asked and in the training split too, such as "
            f"{same[0]!r}: the baselines would know their answers; take them out of train"
        )


_READERS: Mapping[Family, str] = {
    **{name: f"{_HOME}.published.{name}:rows"
       for name in ("piqa", "sqa3d", "robovqa", "odinw", "bfcl", "overcooked")},
    "openx": f"{_HOME}.openx.rows:rows",
}  # fmt: skip


_GAMES = f"{_HOME}.overcooked.rows:rows"


def seed(source: str, knobs: dict[str, Any]) -> int:
    """Return the seed; of published rows it is part of what was asked for, so the knobs hold it."""
    if knobs["seed"] is not None:
        return int(knobs["seed"])
    if source == SYNTHETIC:
        return secrets.randbits(32)
    knobs["seed"] = 0
    return 0


def _items(source: str, items: int | str) -> int | None:
    if isinstance(items, str):
        if source == SYNTHETIC:
            raise UsageError(f"items={ALL} is of data that end; of generated rows say how many")
        return None
    if items < 1:
        raise UsageError(f"items must be at least 1; got {items}")
    return items


def _shares(n: int | None, sets: Sequence[Mapping[str, str]]) -> list[int | None]:
    """Spread n rows evenly over k sets, those that come first taking what is left over."""
    k = len(sets)
    if n is None:
        return [None] * k
    if n < k:
        what = {"morphology": "morphologies"}.get(next(iter(sets[0]), ""), "sets")
        raise UsageError(f"items: {n} rows are too few for {k} {what}; ask for {k} or more")
    return [n // k + (at < n % k) for at in range(k)]


def chosen(name: str, asked: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return what is meant, each once, in the order of the tables. Raises UsageError."""
    for word in asked:
        if word != ALL and word not in known:
            raise UsageError(f"no {name} {word!r}{near(word, (ALL, *known))}")
    found = tuple(word for word in known if word in asked or ALL in asked)
    if not found:
        raise UsageError(f"no {name} given; for example {name}={ALL}")
    return found


def hashes(rows: Rows) -> dict[str, str]:
    """Return what was read by file, and all of it as one: a run of other rows is another run."""
    found = dict(sorted(rows.hashes.items()))
    whole = hashlib.sha256(" ".join(found.values()).encode()).hexdigest()
    return {**found, "items": whole} if found else {}


def share(sample: str, data: str) -> dict[str, str]:
    """Return what tells a reader which rows to ask. Raises UsageError of rows that do not end."""
    if data == SYNTHETIC and sample == ALL:
        raise UsageError(f"sample={ALL} is of data that end; of generated rows say how many: items")
    return {"sample": ALL} if sample == ALL else {}


def subsets(asked: Sequence[str]) -> dict[str, Any]:
    """Return what tells a reader the sub-sets that are meant. Raises UsageError."""
    if ALL in asked and len({*asked}) > 1:
        raise UsageError(f"subset={','.join(asked)}: {ALL} is every one; leave the others out")
    return {} if ALL in asked else {"subset": tuple(asked)}


def robots(data: str, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the morphologies that are meant: all are those that have a folder of their own."""
    if asked and {*asked} == {OWN}:
        if data == SYNTHETIC:
            raise UsageError(f"morphology={OWN} is of a folder: -T data=DIR")
        return (OWN,)
    names = chosen("morphology", asked, tuple(MORPHOLOGIES))
    if data == SYNTHETIC or ALL not in asked:
        return names
    shapes = {name: (name, MORPHOLOGIES[name].folder, MORPHOLOGIES[name].published)
              for name in names}  # fmt: skip
    found = tuple(
        name for name, folders in shapes.items()
        if any((Path(data) / folder).is_dir() for folder in folders if folder)
    )  # fmt: skip
    if not found:
        raise UsageError(
            f"{data}: no folder of a morphology; say which: -T morphology={names[0]}, or "
            f"morphology={OWN} for a robot of any shape"
        )
    return found
