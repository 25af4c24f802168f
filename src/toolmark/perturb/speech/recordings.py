"""Recorded sound as what acoustics draw from: folders looked through once, named by content.

The first look at a folder reads all of it, for its digest; what was found is kept, and holds as
long as no file in it has another size or time. Names begin with the content's digest, so that
settings say which sound was taken, and equal content gives equal draws wherever it lies.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from toolmark import fetch, seeds
from toolmark.errors import DataError, UsageError
from toolmark.files import write_atomically
from toolmark.perturb.speech import folders, room
from toolmark.perturb.speech.folders import Noise
from toolmark.perturb.speech.talkers import Talk
from toolmark.types import Record

ROOMS, TALKS = 32, 10
"""How many recorded rooms, and things said, are held at most; drawn by the seed."""
_FORM = 1
_PLACES = 2  # in a room
_SAID_S = (1.0, 10.0)  # what is said as double talk
_USED = ("noise", "room", "talk")
_NAMED, _REASONS = 5, 8  # told of what is not used


class _Row(Record, frozen=True, kw_only=True):
    """A stretch as it is kept: `file` is its path in the tree."""

    name: str
    file: str
    kind: str
    use: folders.Use
    start_s: float
    seconds: float
    text: str = ""
    sha256: str


class _Kept(Record, frozen=True, kw_only=True):
    corpus: str
    rows: tuple[_Row, ...]
    skipped: tuple[tuple[str, str], ...]


class Recordings(Record, frozen=True, kw_only=True):
    """What folders hold. `digest` names it by content; `noises` are in the order of their names.

    `notes` say of each folder what is not used, and why; `corpora` name each and tell what it is.
    """

    digest: str = ""
    noises: tuple[Noise, ...] = ()
    notes: tuple[str, ...] = ()
    corpora: tuple[tuple[str, str], ...] = ()


def read(roots: Sequence[str], home: Path) -> Recordings:
    """Look through folders, or take from `home` what is known of them; their order is all one.

    A sound that two files hold counts once. Raises UsageError for what is no folder, and for one
    in which nothing can be used.
    """
    looked = {root: _looked(Path(root), home) for root in dict.fromkeys(roots)}
    rows = sorted(
        ((row, root) for root, (kept, _, _) in looked.items() for row in kept.rows),
        key=lambda one: (one[0].sha256, one[0].name, one[1]),
    )
    skipped = {root: list(kept.skipped) for root, (kept, _, _) in looked.items()}
    noises: list[Noise] = []
    first: dict[tuple[str, float], str] = {}
    digest = hashlib.sha256()
    for row, root in rows:
        place = f"{root}/{row.name}"
        known = first.setdefault((row.sha256, row.start_s), place)
        if known != place:
            skipped[root].append((row.name, f"the same sound as {known}"))
            continue
        noises.append(_noise(row, looked[root][1]))
        digest.update(msgspec.json.encode(row))
    for root, (kept, _, _) in looked.items():
        if not any(row.use in _USED for row in kept.rows):
            why = f": {_listed(skipped[root])}" if skipped[root] else ""
            raise UsageError(
                f"{_shown(root)}: no sound in it can be used{why}; give a folder of recordings "
                "(WAV, FLAC, OGG, MP3), or leave noises out"
            )
    notes = (_note(root, skipped[root], place) for root, (_, _, place) in looked.items())
    return Recordings(
        digest=digest.hexdigest(), noises=tuple(noises), notes=tuple(filter(None, notes)),
        corpora=tuple((Path(root).name, kept.corpus) for root, (kept, _, _) in looked.items()),
    )  # fmt: skip


def rooms(noises: Sequence[Noise], seed: int) -> tuple[room.Response, ...]:
    """Return rooms that were recorded, ROOMS of them drawn by the seed, of each up to two places.

    Raises DataError if a file has changed since it was looked at.
    """
    places: dict[str, list[Noise]] = defaultdict(list)
    for one in noises:
        if one.use == "room":
            places[_room(one)].append(one)
    names = sorted(places)
    rng = seeds.of(seed, "", 0, "recorded rooms")
    found = []
    for at in sorted(seeds.sample(rng, len(names), min(len(names), ROOMS))):
        held = places[names[at]]
        for k in sorted(seeds.sample(rng, len(held), min(len(held), _PLACES))):
            name = f"{folders.PREFIX}{names[at]}/{held[k].name.replace('/', ':')}"
            found.append(room.measured(name, folders.clip(held[k])))
    return tuple(one for one in found if one.samples.any())


def talks(noises: Sequence[Noise], seed: int) -> tuple[Talk, ...]:
    """Return what others say in the recordings, TALKS of them drawn by the seed, with the words."""
    low, high = _SAID_S
    held = [one for one in noises if one.use == "talk" and low <= one.seconds <= high]
    rng = seeds.of(seed, "", 0, "recorded talk")
    drawn = sorted(seeds.sample(rng, len(held), min(len(held), TALKS)))
    return tuple(
        Talk(f"{folders.PREFIX}{held[k].name}", folders.clip(held[k]), held[k].text) for k in drawn
    )


def _room(noise: Noise) -> str:
    """Return which room a response is of: simulated ones share a folder, recorded ones a name."""
    _, *inside, _ = noise.name.split("/")
    own = inside[-1] if inside and inside[-1].startswith("Room") else ""
    return ":".join(inside) if own else noise.path.stem


def _noise(row: _Row, top: Path) -> Noise:
    name = f"{row.sha256[:12]}/{row.name}"
    return Noise(name, top / row.file, row.kind, row.use, row.start_s, row.seconds, row.text)


# --- looking, once ----------------------------------------------------------------------


def _looked(root: Path, home: Path) -> tuple[_Kept, Path, Path]:
    """Return what a folder holds, the tree that it is, and the file in which that is kept."""
    try:
        top = folders.top(root)
    except DataError as error:
        raise UsageError(str(error)) from None
    path = home / f"{_state(top)}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Kept), top, path
    except (OSError, msgspec.DecodeError):
        pass
    found = folders.scan(top)
    files = sorted({one.path for one in found.noises})
    with ThreadPoolExecutor() as pool:  # digests are made outside of Python's lock
        digests = dict(zip(files, pool.map(_digest, files), strict=True))
    skipped = list(found.skipped)
    skipped += [(path.relative_to(top).as_posix(), "gone") for path in files if not digests[path]]
    kept = _Kept(
        corpus=found.corpus,
        rows=tuple(_row(one, top, digests[one.path]) for one in found.noises if digests[one.path]),
        skipped=tuple(skipped),
    )
    _keep(path, kept)
    return kept, top, path


def _digest(path: Path) -> str:
    try:
        return fetch.digest(path)
    except OSError:  # it went away between two looks
        return ""


def _row(one: Noise, top: Path, digest: str) -> _Row:
    return _Row(
        name=one.name, file=one.path.relative_to(top).as_posix(), kind=one.kind, use=one.use,
        start_s=one.start_s, seconds=one.seconds, text=one.text, sha256=digest,
    )  # fmt: skip


def _state(top: Path) -> str:
    """Return a digest of the names, sizes and times of the files that are looked at."""
    state = hashlib.sha256(f"{_FORM}\0{top.resolve()}\0".encode(errors="surrogateescape"))
    for folder, inner, names in os.walk(top):
        inner.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix.lower() not in (*folders.SUFFIXES, ".json"):
                continue
            try:
                about = path.stat()
                told = f"{path}\0{about.st_size}\0{about.st_mtime_ns}\n"
            except OSError:
                told = f"{path}\n"
            state.update(told.encode(errors="surrogateescape"))
    return state.hexdigest()


def _keep(path: Path, kept: _Kept) -> None:
    try:
        write_atomically(path, msgspec.json.format(msgspec.json.encode(kept), indent=1))
    except OSError as error:
        raise DataError(
            f"{path}: cannot keep what is known of a folder: {error.strerror}"
        ) from None


# --- telling ----------------------------------------------------------------------------


def _note(root: str, skipped: Sequence[tuple[str, str]], place: Path) -> str:
    if not skipped:
        return ""
    return f"{_shown(root)}: {len(skipped)} not used: {_listed(skipped)}; all of them: {place}"


def _listed(skipped: Sequence[tuple[str, str]]) -> str:
    """Return reasons, each with some of the files that it holds for."""
    named: dict[str, list[str]] = defaultdict(list)
    for name, reason in skipped:
        named[reason].append(name)
    told = []
    for reason, names in list(named.items())[:_REASONS]:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        told.append(f"{reason}: {', '.join(names[:_NAMED])}{more}")
    left = len(named) - _REASONS
    return _shown("; ".join(told)) + (f"; {left} more reasons" if left > 0 else "")


def _shown(text: str) -> str:
    """Write what would break a line, or what a terminal obeys, as an escape: names may hold it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
