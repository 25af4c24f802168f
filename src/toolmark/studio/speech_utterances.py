"""The speech stages for any text or sound, without a suite: one, some or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from toolmark.core.errors import DataError, EndpointError, UsageError, suggest_names
from toolmark.perturb.hearing import recogniser_registry
from toolmark.perturb.speech import audio_clip
from toolmark.suites.mfcl_speech import model_rewording
from toolmark.suites.mfcl_speech.parameters import SpokenRequestParameters
from toolmark.suites.mfcl_speech.speech_pipeline import (
    SpeechPipeline,
    UtteranceJob,
    make_recipe,
)
from toolmark.suites.mfcl_speech.speech_task_data import Utterance

STAGES = ("rewrite", "disfluency", "voice", "acoustics", "transcript")
SOUND_SUFFIXES = (".wav", ".flac", ".ogg", ".mp3")
TEXT_RECOGNISER, SOUND_RECOGNISER = "simulated:a", "pocketsphinx"
"""The default recognisers: for a text that is spoken, and for a recording."""
_MAX_BYTES = 2**26
_MAX_S = 60.0


class UtteranceInput(NamedTuple):
    """One input: a name valid for a file, its text if known, and the path of its sound.

    Without a sound the text is to be spoken.
    """

    name: str
    text: str
    sound: Path | None = None


def make_utterances(
    inputs: Sequence[str],
    *,
    stages: Sequence[str] = (),
    condition: str = "noisy",
    recognisers: Sequence[str] = (),
    engines: Sequence[str] = (),
    missing: Literal["error", "skip"] = "error",
    noises: Sequence[str] = (),
    rewriter: str = model_rewording.BY_RULES,
    text: str = "",
    seed: int = 0,
    folder: Path | None = None,
    report_note: Callable[[str], Any] = str,
) -> Iterator[tuple[str, Utterance]]:
    """Yield a name and the utterance of each text, line of a .txt file, and sound file.

    `text` is what is said in a single sound file; for several files it is read from a .txt of the
    same name in the same folder. Sound is written to `folder` as NAME.wav; `report_note` receives
    what is not used of the noises. A sound that cannot be read, or a text that cannot be said, has
    the reason in `failed`. Raises UsageError, before anything is made, for an unknown stage and for
    what is missing, and EndpointError where a rewriter gives no answer.
    """
    if unknown := [name for name in stages if name not in STAGES]:
        raise UsageError(f"no stage {unknown[0]!r}{suggest_names(unknown[0], STAGES)}")
    chosen = tuple(stages or STAGES)
    utterance_inputs = _read_inputs(inputs, text)
    recognisers_of = {
        utterance_input.name: _select_recognisers(utterance_input, recognisers)
        if "transcript" in chosen
        else ()
        for utterance_input in utterance_inputs
    }
    requested = SpokenRequestParameters(
        seed=seed,
        rewrite="rewrite" in chosen,
        disfluency="disfluency" in chosen,
        rewriter=rewriter if "rewrite" in chosen else model_rewording.BY_RULES,
        engines=tuple(engines),
        missing=missing,
        noises=tuple(noises) if "acoustics" in chosen else (),
    )
    pipeline = SpeechPipeline(make_recipe(requested))
    for line in pipeline.notes():
        report_note(line)
    if folder is not None:
        _make_folder(folder)
    base_job = UtteranceJob(item="", turn=0, written="", condition=condition)
    job_template = base_job if "acoustics" in chosen else replace(base_job, condition="clean")
    for utterance_input in utterance_inputs:
        job = replace(
            job_template,
            item=utterance_input.name,
            written=utterance_input.text,
            recognisers=recognisers_of[utterance_input.name],
        )
        utterance = _make_utterance(pipeline, job, utterance_input.sound, chosen)
        if folder is not None and utterance.audio is not None:
            (folder / f"{utterance_input.name}.wav").write_bytes(
                pipeline.media.read(utterance.audio)
            )
        yield utterance_input.name, utterance


def _make_utterance(
    pipeline: SpeechPipeline, job: UtteranceJob, sound: Path | None, chosen: Sequence[str]
) -> Utterance:
    """Run the chosen stages on an input; one that fails says why."""
    if sound is None:
        needs_voice = {"voice", "acoustics", "transcript"} & set(chosen)
        return pipeline.make_utterance(job) if needs_voice else pipeline.words_only(job)
    try:
        return pipeline.process_recording(
            job, audio_clip.decode_speech_clip(_read_bytes(sound), str(sound), _MAX_S)
        )
    except (DataError, EndpointError) as error:
        return Utterance(uttered=job.written, failed=str(error))


def _select_recognisers(utterance_input: UtteranceInput, names: Sequence[str]) -> tuple[str, ...]:
    """Return the recognisers.

    Raises UsageError for an unknown one, or one that needs text that is not known.
    """
    chosen = tuple(names) or (
        TEXT_RECOGNISER if utterance_input.sound is None else SOUND_RECOGNISER,
    )
    for name in chosen:
        if recogniser_registry.load_recogniser(name).simulated and not utterance_input.text:
            raise UsageError(
                f"{name} writes down texts that are known: say with --text, or in "
                f"{utterance_input.sound and utterance_input.sound.with_suffix('.txt')}, what is "
                f"said; or take {SOUND_RECOGNISER}"
            )
    return chosen


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = "not a folder" if folder.exists() else error.strerror
        raise UsageError(f"{folder}: {problem}; choose another folder for the sound") from None


def _read_inputs(inputs: Sequence[str], text: str) -> list[UtteranceInput]:
    """Return the inputs in order. Raises UsageError for files that are missing or empty."""
    found: list[UtteranceInput] = []
    for text_or_path in inputs:
        path = _find_file(text_or_path)
        if path is None:
            found.append(UtteranceInput(f"{len(found):04}", text_or_path))
        elif path.suffix.lower() in SOUND_SUFFIXES:
            found.append(
                UtteranceInput(f"{len(found):04}-{path.stem[:40]}", _read_transcript_of(path), path)
            )
        else:
            lines = [line for line in _split_lines(_read_text(path)) if line.strip()]
            if not lines:
                raise UsageError(f"{path}: holds no text; write a request on each line")
            found += [UtteranceInput(f"{len(found) + n:04}", line) for n, line in enumerate(lines)]
    if not text:
        return found
    sounds = [utterance_input for utterance_input in found if utterance_input.sound is not None]
    if len(sounds) != 1 or len(found) != 1:
        raise UsageError(
            f"--text says what is said in one sound file; {len(sounds)} of {len(found)} inputs are "
            "such; for several, put a .txt of the same name next to each"
        )
    return [found[0]._replace(text=text)]


def _find_file(text_or_path: str) -> Path | None:
    """Return the file that is meant; None for a text, also for one that ends like a file name."""
    path = Path(text_or_path)
    if path.suffix.lower() not in (*SOUND_SUFFIXES, ".txt"):
        return None
    try:
        exists = path.is_file()
    except OSError:  # too long for a name
        exists = False
    if exists:
        return path
    if " " in text_or_path.strip():
        return None
    raise UsageError(f"{path}: no such file; a text to be said has more than one word")


def _read_transcript_of(sound: Path) -> str:
    """Return what is said in a sound, if a text file next to it says so."""
    path = sound.with_suffix(".txt")
    return " ".join(_read_text(path).split()) if path.is_file() else ""


def _split_lines(text: str) -> list[str]:
    """Return the lines, with any line end; other characters at which Python splits are text."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _read_text(path: Path) -> str:
    try:
        return _read_bytes(path).decode("utf-8", "replace")
    except DataError as error:
        raise UsageError(str(error)) from None


def _read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise DataError(f"{path}: larger than {_MAX_BYTES >> 20} MB")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
