"""Saying texts through `say` against calling the engines directly, in one run: ratios.

    python benchmarks/voices.py [--draws 60] [--rounds 3]

Directly is `subprocess.run` of the engine's command with the same settings, text in, sound file
out, nothing read back. Needed is that, and then what a clip needs in any case: read, resampled,
levelled, written. `say` adds to this the bounds of the call and the cache, which is empty here.
All say the same drawn voices and texts in turn, on one core; of each the best of the rounds counts.
A bar holds for the pool as it is drawn; engines are told apart beside it. Then everything is said
again from the cache, and no engine may be called.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from toolmark.core import seeds
from toolmark.perturb.speech import installed_voices, speech_synthesis, voice_pool
from toolmark.perturb.speech.audio_clip import decode_clip, encode_wav
from toolmark.perturb.speech.engines import espeak, festival
from toolmark.perturb.speech.voice import Voice

BAR = 1.10
TEXTS = (
    "Could you book me a flight from Austin to Denver on the fifth of March?",
    "What is the weather going to be like in Reykjavik tomorrow afternoon?",
    "Find the area of a triangle with a base of ten and a height of five.",
    "Please order two large pizzas with mushrooms to fifteen Oak Street.",
)


def main() -> None:
    """Measure, print, and exit 1 when the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=60, help="voices drawn from the pool")
    parser.add_argument("--rounds", type=int, default=3, help="the best of this many")
    asked = parser.parse_args()
    voices = installed_voices.available_voices()
    drawn = [
        voice_pool.draw_voice(voices, seeds.make_rng(0, str(i), 0, "voice"))
        for i in range(asked.draws)
    ]
    jobs = [(TEXTS[i % len(TEXTS)], one) for i, one in enumerate(drawn)]
    with tempfile.TemporaryDirectory() as folder:
        met = compare(jobs, asked.rounds, Path(folder))
        met &= again(jobs, Path(folder) / "0")
    sys.exit(0 if met else 1)


def compare(jobs: list[tuple[str, Voice]], rounds: int, folder: Path) -> bool:
    """Print the time of each engine both ways; tell whether the pool's ratio meets the bar."""
    bare: dict[str, list[float]] = defaultdict(list)
    needed: dict[str, list[float]] = defaultdict(list)
    whole: dict[str, list[float]] = defaultdict(list)
    for text, one in jobs:
        raw, due, own = [], [], []
        for k in range(rounds):
            started = time.perf_counter()
            direct(text, one, folder)
            raw.append(time.perf_counter() - started)
            shaped(folder)
            due.append(time.perf_counter() - started)
            started = time.perf_counter()
            speech_synthesis.synthesise_clip(text, one, folder=folder / f"{k}")
            own.append(time.perf_counter() - started)
        bare[one.engine].append(min(raw))
        needed[one.engine].append(min(due))
        whole[one.engine].append(min(own))
    for name in sorted(bare):
        n = len(bare[name])
        a, b, c = (1e3 * sum(times[name]) / n for times in (bare, needed, whole))
        print(f"{name:10}{n:4} clips  direct {a:6.1f} ms  needed {b:6.1f}  say {c:6.1f}", end="")
        print(f"  say / direct {c / a:.3f}  say / needed {c / b:.3f}  (+{c - b:.1f} ms)")
    ratio = sum(map(sum, whole.values())) / sum(map(sum, bare.values()))
    print(f"pool as drawn: ratio {ratio:.3f}, bar {BAR}: {'met' if ratio <= BAR else 'MISSED'}")
    return ratio <= BAR


def again(jobs: list[tuple[str, Voice]], folder: Path) -> bool:
    """Print what a kept clip costs; tell whether nothing was made or written for it."""
    saved = {path: path.stat().st_mtime_ns for path in folder.rglob("*.wav")}
    started = time.perf_counter()
    for text, one in jobs:
        speech_synthesis.synthesise_clip(text, one, folder=folder)
    took_ms = 1e3 * (time.perf_counter() - started) / len(jobs)
    same = saved == {path: path.stat().st_mtime_ns for path in folder.rglob("*.wav")}
    print(f"from the cache: {took_ms:.2f} ms a clip; {'no' if same else 'SOME'} clip was made anew")
    return same


def direct(text: str, one: Voice, folder: Path) -> None:
    """Say a text with the engine's own command."""
    out = str(folder / "direct.wav")
    match one.engine:
        case "espeak-ng":
            words, pitch = espeak.rate_and_pitch(one)
            named = ["-v", espeak.espeak_voice_name(one.name), "-s", f"{words}", "-p", f"{pitch}"]
            command = ["espeak-ng", *named, "--stdin", "-w", out]
        case "flite":
            manner = ["--setf", f"duration_stretch={1 / one.rate}"]
            command = ["flite", "-voice", one.name, *manner, "-f", "/dev/stdin", "-o", out]
        case _:
            parts = [f"(voice_{one.name})", *festival.rate_and_pitch_scheme(one)]
            command = ["text2wave", *(x for part in parts for x in ("-eval", part)), "-o", out]
    subprocess.run(command, input=text.encode(), check=True, capture_output=True)


def shaped(folder: Path) -> None:
    """Do to what was said directly what a clip needs in any case."""
    clip = decode_clip((folder / "direct.wav").read_bytes())
    (folder / "shaped.wav").write_bytes(
        encode_wav(speech_synthesis._trim_and_level(clip, "direct"))
    )


if __name__ == "__main__":
    main()
