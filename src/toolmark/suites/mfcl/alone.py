"""The speech stages for any text or sound, without a suite: one, some or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from toolmark.errors import DataError, EndpointError, UsageError, near
from toolmark.perturb.hear import recogniser as hearing
from toolmark.perturb.speech import clip as clips
from toolmark.suites.mfcl import reword
from toolmark.suites.mfcl.booth import Booth, Job, Uttered, recipe

STAGES = ("rewrite", "disfluency", "voice", "acoustics", "transcript")
SOUNDS = (".wav", ".flac", ".ogg", ".mp3")
TEXT_EAR, SOUND_EAR = "simulated:a", "pocketsphinx"
"""Who listens where nobody else is named: to a text that is spoken, and to a recording."""
_MOST_BYTES = 2**26
_MOST_S = 60.0


class Given(NamedTuple):
    """One input: a name that can be a file's, what is said in it if known, and where its sound is.

    Without a sound the text is to be spoken.
    """

    name: str
    text: str
    sound: Path | None = None


def each(
    inputs: Sequence[str],
    *,
    stages: Sequence[str] = (),
    condition: str = "noisy",
    ears: Sequence[str] = (),
    engines: Sequence[str] = (),
    missing: Literal["error", "skip"] = "error",
    noises: Sequence[str] = (),
    rewriter: str = reword.RULES,
    text: str = "",
    seed: int = 0,
    folder: Path | None = None,
    note: Callable[[str], Any] = str,
) -> Iterator[tuple[str, Uttered]]:
    """Go through texts, lines of .txt files and sound files; yield a name and what was made.

    `text` is what is said in the one sound file; of others it is read from a .txt of the same name
    beside them. Sound is written to the folder as NAME.wav; `note` is told what is not used of the
    noises. A sound that cannot be read, or a text that cannot be said, says so in `failed`.
    Raises UsageError, before anything is made, for an unknown stage and for what is missing, and
    EndpointError where a rewriter gives no answer.
    """
    if wrong := [name for name in stages if name not in STAGES]:
        raise UsageError(f"no stage {wrong[0]!r}{near(wrong[0], STAGES)}")
    chosen = tuple(stages or STAGES)
    given = _given(inputs, text)
    listens = {one.name: _ears(one, ears) if "transcript" in chosen else () for one in given}
    booth = Booth(recipe({
        "seed": seed, "rewrite": "rewrite" in chosen, "disfluency": "disfluency" in chosen,
        "rewriter": rewriter if "rewrite" in chosen else reword.RULES,
        "engines": tuple(engines), "missing": missing,
        "noises": tuple(noises) if "acoustics" in chosen else (),
    }))  # fmt: skip
    for line in booth.notes():
        note(line)
    if folder is not None:
        _folder(folder)
    bare = Job(item="", turn=0, written="", condition=condition)
    plain = bare if "acoustics" in chosen else replace(bare, condition="clean")
    for one in given:
        job = replace(plain, item=one.name, written=one.text, ears=listens[one.name])
        done = _done(booth, job, one.sound, chosen)
        if folder is not None and done.audio is not None:
            (folder / f"{one.name}.wav").write_bytes(booth.media.read(done.audio))
        yield one.name, done


def _done(booth: Booth, job: Job, sound: Path | None, chosen: Sequence[str]) -> Uttered:
    """Take an input through the chosen stages; one that cannot be says why."""
    if sound is None:
        voiced = {"voice", "acoustics", "transcript"} & set(chosen)
        return booth.utter(job) if voiced else booth.silent(job)
    try:
        return booth.repeated(job, clips.own(_bytes(sound), str(sound), _MOST_S))
    except (DataError, EndpointError) as error:
        return Uttered(said=job.written, failed=str(error))


def _ears(one: Given, names: Sequence[str]) -> tuple[str, ...]:
    """Return who listens. Raises UsageError for who is none, or draws from words not known."""
    chosen = tuple(names) or (TEXT_EAR if one.sound is None else SOUND_EAR,)
    for name in chosen:
        if hearing.by_name(name).simulated and not one.text:
            raise UsageError(
                f"{name} writes down texts that are known: say with --text, or in "
                f"{one.sound and one.sound.with_suffix('.txt')}, what is said; or take {SOUND_EAR}"
            )
    return chosen


def _folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "not a folder" if folder.exists() else error.strerror
        raise UsageError(f"{folder}: {why}; choose another folder for the sound") from None


def _given(inputs: Sequence[str], text: str) -> list[Given]:
    """Return the inputs in their order. Raises UsageError for files that are not there or empty."""
    found: list[Given] = []
    for given in inputs:
        path = _file(given)
        if path is None:
            found.append(Given(f"{len(found):04}", given))
        elif path.suffix.lower() in SOUNDS:
            found.append(Given(f"{len(found):04}-{path.stem[:40]}", _beside(path), path))
        else:
            lines = [line for line in _lines(_read(path)) if line.strip()]
            if not lines:
                raise UsageError(f"{path}: holds no text; write a request on each line")
            found += [Given(f"{len(found) + n:04}", line) for n, line in enumerate(lines)]
    if not text:
        return found
    sounds = [one for one in found if one.sound is not None]
    if len(sounds) != 1 or len(found) != 1:
        raise UsageError(
            f"--text says what is said in one sound file; {len(sounds)} of {len(found)} inputs are "
            "such. Beside several, put a .txt of the same name"
        )
    return [found[0]._replace(text=text)]


def _file(given: str) -> Path | None:
    """Return the file that is meant; None for a text, also for one that ends in a file's name."""
    path = Path(given)
    if path.suffix.lower() not in (*SOUNDS, ".txt"):
        return None
    try:
        there = path.is_file()
    except OSError:  # too long for a name
        there = False
    if there:
        return path
    if " " in given.strip():
        return None
    raise UsageError(f"{path}: no such file; a text to be said has more than one word")


def _beside(sound: Path) -> str:
    """Return what is said in a sound, if a file beside it tells."""
    path = sound.with_suffix(".txt")
    return " ".join(_read(path).split()) if path.is_file() else ""


def _lines(text: str) -> list[str]:
    """Return the lines, however they end; other signs that Python breaks lines at are text."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _read(path: Path) -> str:
    try:
        return _bytes(path).decode("utf-8", "replace")
    except DataError as error:
        raise UsageError(str(error)) from None


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(f"{path}: larger than {_MOST_BYTES >> 20} MB")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
