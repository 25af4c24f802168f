"""Synthesise one text with libespeak-ng: `espeak_child.py LIBRARY DATA VOICE WPM PITCH FILE <text`.

`espeak_bundled` runs it as a script; it needs only the standard library.
"""

from __future__ import annotations

import ctypes
import sys
import wave
from typing import Any

_SYNCHRONOUS, _UTF8, _END_PAUSE = 2, 1, 0x1000
_RATE, _PITCH = 1, 3
_CHARACTERS = 1

_SynthesisCallback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)


def synthesize_speech(
    library: str, data: str, voice: str, wpm: int, pitch: int, text: bytes
) -> tuple[int, Any]:
    """Return the sampling rate in Hz, and the 16-bit samples as bytes."""
    engine = ctypes.CDLL(library)
    rate = engine.espeak_Initialize(_SYNCHRONOUS, 0, data.encode(), 0)
    if rate <= 0 or engine.espeak_SetVoiceByName(voice.encode()):
        raise SystemExit(f"libespeak-ng cannot speak as {voice}")
    engine.espeak_SetParameter(_RATE, wpm, 0)
    engine.espeak_SetParameter(_PITCH, pitch, 0)
    samples_bytes = bytearray()

    def collect(samples: Any, n: int, _events: int | None) -> int:
        if samples and n > 0:
            samples_bytes.extend(ctypes.string_at(samples, 2 * n))
        return 0

    callback = _SynthesisCallback(collect)
    engine.espeak_SetSynthCallback(callback)
    flags = _UTF8 | _END_PAUSE  # without SSML, without phonemes in [[ ]]
    none = ctypes.c_void_p(None)
    engine.espeak_Synth(text, ctypes.c_size_t(len(text) + 1), 0, _CHARACTERS, 0, flags, none, none)
    engine.espeak_Synchronize()
    return rate, samples_bytes


if __name__ == "__main__":
    library, data, voice, wpm, pitch, out = sys.argv[1:]
    rate, heard = synthesize_speech(
        library, data, voice, int(wpm), int(pitch), sys.stdin.buffer.read()
    )
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(heard)
