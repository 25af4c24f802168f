"""PocketSphinx: a real recogniser, offline, from PyPI alone, weak on anything but clean speech.

A decoder's adaptation to past clips changes later transcripts, and nothing resets it wholly. So
one child process loads the model, and forks for each clip: every clip is heard by a decoder that
has heard nothing. Threads take turns; several processes have a child each.
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

from toolmark import plugin
from toolmark.errors import DataError, UsageError
from toolmark.perturb.hear.recogniser import Context, Transcript, Word
from toolmark.perturb.speech.clip import RATE, Clip, resampled

PAD_S = 0.2
"""Silence put before and after each clip: the decoder loses first words without it."""
MOST_HMMS = 10_000
"""States searched per frame: without a cap, babble takes many times its length."""
_MOST_S = 600.0
_SETTINGS = {"samprate": float(RATE), "ds": 1, "maxhmmpf": MOST_HMMS, "loglevel": "FATAL"}


class Sphinx:
    """The recogniser; its child is started by the first clip and ended by `close`, or at exit."""

    name = "pocketsphinx"
    simulated = False

    def __init__(self) -> None:
        try:
            self.version = f"{metadata.version('pocketsphinx')}+{MOST_HMMS}"
        except metadata.PackageNotFoundError:
            raise UsageError(f"no pocketsphinx package; next: {plugin.install('speech')}") from None
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize | None = None  # type: ignore[type-arg]

    def hear(self, clip: Clip, context: Context) -> Transcript:
        """Return the transcript, lower case without punctuation, with times and confidences.

        At most ten minutes of it. Raises DataError if the decoder died.
        """
        pcm = _pcm(clip)
        with self._lock:
            answer = self._ask(pcm)
        found = json.loads(answer)
        words = tuple(
            Word(text, round(max(start - PAD_S, 0), 3), round(max(end - PAD_S, 0), 3), sure)
            for text, start, end, sure in found
        )
        text = " ".join(word.text for word in words)
        return Transcript(text=text, recogniser=self.name, simulated=False, words=words)

    def close(self) -> None:
        """End the child; the next clip starts another."""
        if self._end is not None:
            self._end()
        self._child = self._end = None

    def _ask(self, pcm: bytes) -> bytes:
        child = self._child or self._start()
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

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
        self._child = child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._end = weakref.finalize(self, _stop, child)
        return child


def _stop(child: subprocess.Popen[bytes]) -> None:
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


def _pcm(clip: Clip) -> bytes:
    same = resampled(clip, RATE).samples[: int(_MOST_S * RATE)]
    still = np.zeros(int(PAD_S * RATE), np.float32)
    padded = np.concatenate([still, same, still])
    pcm: bytes = np.round(np.clip(padded, -1, 1) * 32767).astype("<i2").tobytes()
    return pcm


def serve() -> None:
    """Answer clips from standard input until it ends: in a process of its own."""
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
                pipe.write(_decoded(decoder, pcm))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        target.write(struct.pack("<I", len(answer)) + answer)
        target.flush()


def _decoded(decoder: Any, pcm: bytes) -> bytes:
    """Return JSON: [word, start, end, confidence] of every word; `decoder` has heard nothing."""
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
