"""Recorded sounds for the acoustic stage: folders are scanned once and named by content.

The first scan of a folder reads all files, for their digest. The result is cached and is valid
while no file changes its size or time. Names begin with the digest of the content, so that settings
identify the sound, and equal content gives equal draws in any folder.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from toolmark.core import files, seeds
from toolmark.core.errors import DataError, UsageError
from toolmark.core.files import write_atomically
from toolmark.core.records import Record
from toolmark.perturb.speech import room_responses, sound_folders
from toolmark.perturb.speech.double_talk import Talk
from toolmark.perturb.speech.sound_folders import SoundStretch

MAX_ROOMS, MAX_TALKS = 32, 10
"""The largest number of recorded rooms, and of talks, in a bank; the seed draws them."""
_CACHE_VERSION = 1
_PLACES_PER_ROOM = 2
_TALK_LENGTH_S = (1.0, 10.0)  # of an utterance for double talk
_USABLE = ("noise", "room", "talk")
_MAX_NAMES, _MAX_REASONS = 5, 8  # in a note on unused files


class _StretchRow(Record, frozen=True, kw_only=True):
    """A stretch as it is stored in the cache: `file` is its path in the tree."""

    name: str
    file: str
    kind: str
    use: sound_folders.SoundUse
    start_s: float
    seconds: float
    text: str = ""
    sha256: str


class _StoredScan(Record, frozen=True, kw_only=True):
    corpus: str
    rows: tuple[_StretchRow, ...]
    skipped: tuple[tuple[str, str], ...]


class Recordings(Record, frozen=True, kw_only=True):
    """The contents of folders. `digest` identifies them; `noises` are in the order of their names.

    `notes` list for each folder the unused files with reasons; `corpora` name each folder's corpus.
    """

    digest: str = ""
    noises: tuple[SoundStretch, ...] = ()
    notes: tuple[str, ...] = ()
    corpora: tuple[tuple[str, str], ...] = ()


def read_recordings(roots: Sequence[str], cache: Path) -> Recordings:
    """Return the contents of folders, scanned or from `cache`; the order of folders is irrelevant.

    A sound in two files counts once. Raises UsageError for a path that is not a folder, and for a
    folder without a usable file.
    """
    scans = {root: _scan_or_load(Path(root), cache) for root in dict.fromkeys(roots)}
    rows = sorted(
        ((row, root) for root, (scan, _, _) in scans.items() for row in scan.rows),
        key=lambda one: (one[0].sha256, one[0].name, one[1]),
    )
    skipped = {root: list(scan.skipped) for root, (scan, _, _) in scans.items()}
    noises: list[SoundStretch] = []
    first: dict[tuple[str, float], str] = {}
    digest = hashlib.sha256()
    for row, root in rows:
        location = f"{root}/{row.name}"
        known = first.setdefault((row.sha256, row.start_s), location)
        if known != location:
            skipped[root].append((row.name, f"the same sound as {known}"))
            continue
        noises.append(_restore_stretch(row, scans[root][1]))
        digest.update(msgspec.json.encode(row))
    for root, (scan, _, _) in scans.items():
        if not any(row.use in _USABLE for row in scan.rows):
            why = f": {_format_reasons(skipped[root])}" if skipped[root] else ""
            raise UsageError(
                f"{_escape_unprintable(root)}: no sound in it can be used{why}; give a folder of "
                "recordings (WAV, FLAC, OGG, MP3), or leave noises out"
            )
    notes = (
        _skipped_note(root, skipped[root], location) for root, (_, _, location) in scans.items()
    )
    return Recordings(
        digest=digest.hexdigest(),
        noises=tuple(noises),
        notes=tuple(filter(None, notes)),
        corpora=tuple((Path(root).name, scan.corpus) for root, (scan, _, _) in scans.items()),
    )


def draw_rooms(
    noises: Sequence[SoundStretch], seed: int
) -> tuple[room_responses.RoomResponse, ...]:
    """Return up to MAX_ROOMS recorded rooms, drawn by the seed, with up to two places in each.

    Raises DataError if a file has changed since the scan.
    """
    places: dict[str, list[SoundStretch]] = defaultdict(list)
    for one in noises:
        if one.use == "room":
            places[_room_name(one)].append(one)
    names = sorted(places)
    rng = seeds.make_rng(seed, "", 0, "recorded rooms")
    found = []
    for at in sorted(seeds.sample_indices(rng, len(names), min(len(names), MAX_ROOMS))):
        responses = places[names[at]]
        for k in sorted(
            seeds.sample_indices(rng, len(responses), min(len(responses), _PLACES_PER_ROOM))
        ):
            name = f"{sound_folders.FILE_PREFIX}{names[at]}/{responses[k].name.replace('/', ':')}"
            found.append(
                room_responses.response_from_recording(name, sound_folders.read_clip(responses[k]))
            )
    return tuple(one for one in found if one.samples.any())


def draw_talks(noises: Sequence[SoundStretch], seed: int) -> tuple[Talk, ...]:
    """Return up to MAX_TALKS utterances of the recordings with their text, drawn by the seed."""
    low, high = _TALK_LENGTH_S
    candidates = [one for one in noises if one.use == "talk" and low <= one.seconds <= high]
    rng = seeds.make_rng(seed, "", 0, "recorded talk")
    drawn = sorted(seeds.sample_indices(rng, len(candidates), min(len(candidates), MAX_TALKS)))
    return tuple(
        Talk(
            f"{sound_folders.FILE_PREFIX}{candidates[k].name}",
            sound_folders.read_clip(candidates[k]),
            candidates[k].text,
        )
        for k in drawn
    )


def _room_name(noise: SoundStretch) -> str:
    """Return the room of a response: simulated ones share a folder, recorded ones share a name."""
    _, *inside, _ = noise.name.split("/")
    room_folder = inside[-1] if inside and inside[-1].startswith("Room") else ""
    return ":".join(inside) if room_folder else noise.path.stem


def _restore_stretch(row: _StretchRow, root: Path) -> SoundStretch:
    name = f"{row.sha256[:12]}/{row.name}"
    return SoundStretch(
        name, root / row.file, row.kind, row.use, row.start_s, row.seconds, row.text
    )


# --- looking, once ----------------------------------------------------------------------


def _scan_or_load(root: Path, cache: Path) -> tuple[_StoredScan, Path, Path]:
    """Return the scan of a folder, the root of its corpus, and the path of the cache file."""
    try:
        corpus_root = sound_folders.find_corpus_root(root)
    except DataError as error:
        raise UsageError(str(error)) from None
    path = cache / f"{_tree_digest(corpus_root)}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=_StoredScan), corpus_root, path
    except (OSError, msgspec.DecodeError):
        pass
    found = sound_folders.scan_folder(corpus_root)
    files = sorted({one.path for one in found.noises})
    with ThreadPoolExecutor() as pool:  # hashing releases Python's global lock
        digests = dict(zip(files, pool.map(_file_digest, files), strict=True))
    skipped = list(found.skipped)
    skipped += [
        (path.relative_to(corpus_root).as_posix(), "gone") for path in files if not digests[path]
    ]
    stored = _StoredScan(
        corpus=found.corpus,
        rows=tuple(
            _make_row(one, corpus_root, digests[one.path])
            for one in found.noises
            if digests[one.path]
        ),
        skipped=tuple(skipped),
    )
    _write_scan(path, stored)
    return stored, corpus_root, path


def _file_digest(path: Path) -> str:
    try:
        return files.file_sha256(path)
    except OSError:  # it was removed meanwhile
        return ""


def _make_row(one: SoundStretch, root: Path, digest: str) -> _StretchRow:
    return _StretchRow(
        name=one.name, file=one.path.relative_to(root).as_posix(), kind=one.kind, use=one.use,
        start_s=one.start_s, seconds=one.seconds, text=one.text, sha256=digest,
    )  # fmt: skip


def _tree_digest(root: Path) -> str:
    """Return a digest of the names, sizes and times of the scanned files."""
    state = hashlib.sha256(f"{_CACHE_VERSION}\0{root.resolve()}\0".encode(errors="surrogateescape"))
    for folder, inner, names in os.walk(root):
        inner.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix.lower() not in (*sound_folders.SOUND_SUFFIXES, ".json"):
                continue
            try:
                status = path.stat()
                line = f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n"
            except OSError:
                line = f"{path}\n"
            state.update(line.encode(errors="surrogateescape"))
    return state.hexdigest()


def _write_scan(path: Path, scan: _StoredScan) -> None:
    try:
        write_atomically(path, msgspec.json.format(msgspec.json.encode(scan), indent=1))
    except OSError as error:
        raise DataError(
            f"{path}: cannot keep what is known of a folder: {error.strerror}"
        ) from None


# --- telling ----------------------------------------------------------------------------


def _skipped_note(root: str, skipped: Sequence[tuple[str, str]], record_path: Path) -> str:
    if not skipped:
        return ""
    return (
        f"{_escape_unprintable(root)}: {len(skipped)} not used: {_format_reasons(skipped)}; all of "
        f"them: {record_path}"
    )


def _format_reasons(skipped: Sequence[tuple[str, str]]) -> str:
    """Return the reasons, each with some of its files."""
    names_by_reason: dict[str, list[str]] = defaultdict(list)
    for name, reason in skipped:
        names_by_reason[reason].append(name)
    lines = []
    for reason, names in list(names_by_reason.items())[:_MAX_REASONS]:
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        lines.append(f"{reason}: {', '.join(names[:_MAX_NAMES])}{more}")
    n_left = len(names_by_reason) - _MAX_REASONS
    return _escape_unprintable("; ".join(lines)) + (
        f"; {n_left} more reasons" if n_left > 0 else ""
    )


def _escape_unprintable(text: str) -> str:
    """Escape line breaks and terminal control characters: file names may contain them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
