"""The speech stages for any text or sound, without a suite: one, some or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from toolmark.errors import DataError, UsageError, near
from toolmark.perturb.speech import clip as clips
from toolmark.suites.mfcl.booth import Booth, Job, Recipe, Uttered

STAGES = ("rewrite", "disfluency", "voice", "acoustics", "transcript")
SOUNDS = (".wav", ".flac", ".ogg", ".mp3")
_MOST_BYTES = 2**26
_MOST_S = 60.0


def each(
    inputs: Sequence[str],
    *,
    stages: Sequence[str] = (),
    condition: str = "noisy",
    ears: Sequence[str] = (),
    engines: Sequence[str] = (),
    seed: int = 0,
    folder: Path | None = None,
) -> Iterator[tuple[str, Uttered]]:
    """Go through texts, lines of .txt files and sound files; yield a name and what was made.

    Sound is written to the folder as NAME.wav. Raises UsageError for an unknown stage, DataError
    for a file that cannot be read.
    """
    if wrong := [name for name in stages if name not in STAGES]:
        raise UsageError(f"no stage {wrong[0]!r}{near(wrong[0], STAGES)}")
    chosen = tuple(stages or STAGES)
    recipe = Recipe(
        seed=seed,
        rewrite="rewrite" in chosen,
        disfluency="disfluency" in chosen,
        engines=tuple(engines),
        missing="skip",
    )
    booth = Booth(recipe)
    job = Job(
        item="",
        turn=0,
        written="",
        condition=condition if "acoustics" in chosen else "clean",
        ears=tuple(ears) if "transcript" in chosen else (),
    )
    for name, given in _given(inputs):
        own = replace(job, item=name)
        if isinstance(given, bytes):
            done = booth.repeated(own, clips.read(given, name, _MOST_S))
        elif {"voice", "acoustics", "transcript"} & set(chosen):
            done = booth.utter(replace(own, written=given))
        else:
            done = booth.silent(replace(own, written=given))
        if folder is not None and done.audio is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.wav").write_bytes(booth.media.read(done.audio))
        yield name, done


def _given(inputs: Sequence[str]) -> Iterator[tuple[str, str | bytes]]:
    """Go through what is given: a name that can be a file's, and the text or the sound."""
    n = 0
    for given in inputs:
        path = Path(given)
        if path.suffix.lower() not in (*SOUNDS, ".txt"):
            yield f"{n:04}", given
            n += 1
            continue
        data = _bytes(path)
        if path.suffix.lower() != ".txt":
            yield f"{n:04}-{path.stem[:40]}", data
            n += 1
            continue
        for line in filter(str.strip, data.decode("utf-8", "replace").splitlines()):
            yield f"{n:04}", line
            n += 1


def _bytes(path: Path) -> bytes:
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if path.stat().st_size > _MOST_BYTES:
        raise DataError(f"{path}: larger than {_MOST_BYTES >> 20} MB")
    return path.read_bytes()
