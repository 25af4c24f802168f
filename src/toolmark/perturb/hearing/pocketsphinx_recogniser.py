"""PocketSphinx: a real offline recogniser that needs only PyPI; weak except on clean speech.

A decoder adapts to past clips, which changes later transcripts, and it has no complete reset. So
one child process loads the model and forks for each clip: every clip gets a fresh decoder. Threads
take turns; each process has its own child.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
import weakref
from importlib import metadata
from typing import Any

import numpy as np

from toolmark.core import user_modules
from toolmark.core.errors import DataError, UsageError
from toolmark.perturb.hearing.recogniser import HeardWord, HearingContext, Transcript
from toolmark.perturb.speech.audio_clip import RATE_HZ, Clip, resample_clip

PAD_S = 0.2
"""Silence before and after each clip: without it the decoder misses first words."""
MAX_HMMS = 10_000
"""States searched per frame: without a limit, babble takes many times its length to decode."""
_MAX_CLIP_S = 600.0
_SETTINGS = {"samprate": float(RATE_HZ), "ds": 1, "maxhmmpf": MAX_HMMS, "loglevel": "FATAL"}


class PocketSphinx:
    """The recogniser; the first clip starts its child process, `close` or exit ends it."""

    name = "pocketsphinx"
    simulated = False

    def __init__(self) -> None:
        try:
            self.version = f"{metadata.version('pocketsphinx')}+{MAX_HMMS}"
        except metadata.PackageNotFoundError:
            raise UsageError(
                f"no pocketsphinx package; next: {user_modules.install_command('speech')}"
            ) from None
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._finalizer: weakref.finalize | None = None  # type: ignore[type-arg]

    def hear(self, clip: Clip, context: HearingContext) -> Transcript:
        """Return the transcript, lower case without punctuation, with times and confidences.

        Only the first ten minutes are transcribed. Raises DataError if the decoder died.
        """
        pcm = _padded_pcm(clip)
        with self._lock:
            answer = self._send_clip(pcm)
        found = json.loads(answer)
        words = tuple(
            HeardWord(
                text, round(max(start - PAD_S, 0), 3), round(max(end - PAD_S, 0), 3), confidence
            )
            for text, start, end, confidence in found
        )
        text = " ".join(word.text for word in words)
        return Transcript(text=text, recogniser=self.name, simulated=False, words=words)

    def close(self) -> None:
        """End the child process; the next clip starts another."""
        if self._finalizer is not None:
            self._finalizer()
        self._child = self._finalizer = None

    def _send_clip(self, pcm: bytes) -> bytes:
        child = self._child or self._start_child()
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(struct.pack("<I", len(pcm)) + pcm)
            child.stdin.flush()
            size = child.stdout.read(4)
            answer = child.stdout.read(struct.unpack("<I", size)[0]) if len(size) == 4 else b""
        except BrokenPipeError:
            answer = b""
        if not answer:
            self.close()
            raise DataError("pocketsphinx: the decoder died over this clip; others can go on")
        return answer

    def _start_child(self) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-c",
            f"from {__name__} import transcribe_clips; transcribe_clips()",
        ]
        self._child = child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._finalizer = weakref.finalize(self, _stop_child, child)
        return child


def _stop_child(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
    try:
        child.wait(5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _padded_pcm(clip: Clip) -> bytes:
    samples = resample_clip(clip, RATE_HZ).samples[: int(_MAX_CLIP_S * RATE_HZ)]
    silence = np.zeros(int(PAD_S * RATE_HZ), np.float32)
    padded = np.concatenate([silence, samples, silence])
    pcm: bytes = np.round(np.clip(padded, -1, 1) * 32767).astype("<i2").tobytes()
    return pcm


def transcribe_clips() -> None:
    """Transcribe clips from standard input until it ends; this runs in the child process."""
    import pocketsphinx

    decoder = pocketsphinx.Decoder(**_SETTINGS)
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while len(head := source.read(4)) == 4:
        pcm = source.read(struct.unpack("<I", head)[0])
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(_decode_clip(decoder, pcm))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        target.write(struct.pack("<I", len(answer)) + answer)
        target.flush()


def _decode_clip(decoder: Any, pcm: bytes) -> bytes:
    """Return JSON: [word, start, end, confidence] of every word; `decoder` must be fresh."""
    decoder.start_utt()
    decoder.process_raw(pcm, full_utt=True)
    decoder.end_utt()
    rate = decoder.config["frate"]
    return json.dumps([
        (s.word.partition("(")[0], s.start_frame / rate, (s.end_frame + 1) / rate,
         round(min(max(s.prob, 0.0), 1.0), 4))
        for s in decoder.seg() or ()
        if not s.word.startswith(("<", "[", "++"))
    ]).encode()  # fmt: skip
