"""Recognisers: simulated error rates against their targets, their shape beside a real one, speed.

    python benchmarks/recognisers.py [--sentences 1000] [--seeds 10] [--spoken 40]
    python benchmarks/recognisers.py --calibrate     (prints the table of calibration.py)

Sentences are user turns of BFCL. Odds are calibrated on one half of them, and all that is printed
is measured on the other: word error rate per preset, target and seed (bar: the mean over the seeds
within 1 point; the worst seed is printed too), time per utterance, and the shape of the errors
beside PocketSphinx's on the same sentences, spoken by four flite voices, at the same word error
rate. `hear` with PocketSphinx is timed against the bare package, clip by clip in turn (bar: 10 %).
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean, median

import numpy as np
from scipy.interpolate import PchipInterpolator

from toolmark.perturb.hear import errors, sphinx
from toolmark.perturb.hear.recogniser import Context
from toolmark.perturb.hear.simulated import calibration, channel
from toolmark.perturb.hear.words import words
from toolmark.perturb.speech import clip as clips
from toolmark.suites.bfcl import data

TARGETS = (5.0, 10.0, 20.0, 40.0)
CATEGORIES = (
    "simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple",
    "live_parallel", "live_parallel_multiple", "irrelevance", "live_irrelevance", "live_relevance",
)  # fmt: skip
VOICES = ("rms", "slt", "kal16", "awb")
GRID = (0.008, 0.02, 0.045, 0.09, 0.15, 0.23, 0.35, 0.55, 0.9, 1.5, 3.5)
POINTS_BAR, WARM_BAR_S, OVERHEAD_BAR = 1.0, 0.020, 0.10
STILL = clips.Clip(np.zeros(3 * clips.RATE, np.float32), clips.RATE)


def main() -> None:
    """Measure, print, and exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--spoken", type=int, default=40, help="sentences for PocketSphinx")
    parser.add_argument("--calibrate", action="store_true", help="print calibration.py's table")
    asked = parser.parse_args()
    if asked.calibrate:
        calibrate(sentences(0)[:1000], 10)
        return
    held = sentences(1)
    met = [rates(held[: asked.sentences], asked.seeds), speed(held[:200])]
    with tempfile.TemporaryDirectory() as folder:
        met.append(real(held[-asked.spoken :], Path(folder)))
    sys.exit(0 if all(met) else 1)


def sentences(half: int) -> list[str]:
    """Return the spoken forms of one half of the user turns, 4 to 30 plain words each."""
    root = data.fetch()
    found: dict[str, None] = {}
    for category in CATEGORIES:
        for task in data.read(root, (category,))[0]:
            for message in (m for turn in task.turns for m in turn.messages if m.role == "user"):
                plain = " ".join(words(message.text))
                odd = re.search(r"[{}<>\[\]|\\`\n]", message.text) or not plain.isascii()
                if not odd and 4 <= len(plain.split()) <= 30:
                    found[plain] = None
    order = sorted(found, key=lambda text: hashlib.sha256(text.encode()).digest())
    return [text for text in order if hashlib.sha256(text.encode()).digest()[-1] % 2 == half]


def heard(hears: channel.Simulated, texts: list[str], seed: int) -> list[tuple[str, str]]:
    """Return (said, heard) of all texts under one seed."""
    return [
        (text, hears.hear(STILL, Context(text=text, seed_key=f"{seed}/{i}")).text)
        for i, text in enumerate(texts)
    ]


def rate(job: tuple[str, float | None, float | None, list[str], int]) -> float:
    """Return the word error rate in per cent at a target, or at bare odds."""
    preset, target, odds, texts, seed = job
    hears = channel.load(f"{preset}@{target or 1:g}")
    if odds is not None:
        hears._odds = odds
    return 100 * errors.corpus(heard(hears, texts, seed))


def calibrate(texts: list[str], n: int) -> None:
    """Print, for each preset, the odds that give the table's rates."""
    with ProcessPoolExecutor(2) as pool:
        for preset in channel.PRESETS:
            jobs = [(preset, None, odds, texts, 1000 + seed) for odds in GRID for seed in range(n)]
            found = np.array(list(pool.map(rate, jobs))).reshape(len(GRID), n).mean(1)
            smooth = PchipInterpolator(np.log(found), np.log(GRID))
            table = (0.0, *(float(np.exp(smooth(np.log(t)))) for t in calibration.TARGETS[1:]))
            print(f'    "{preset}": ({", ".join(f"{each:.5g}" for each in table)}),', flush=True)
            print("#", *(f"{o:g}:{f:.2f}" for o, f in zip(GRID, found, strict=True)), flush=True)


def rates(texts: list[str], n: int) -> bool:
    """Print error rates at the targets over n seeds."""
    print(f"{len(texts)} sentences, {n} seeds: word error rate, mean (furthest seed from target)")
    met = True
    with ProcessPoolExecutor(2) as pool:
        for preset in channel.PRESETS:
            shown = []
            for target in TARGETS:
                jobs = [(preset, target, None, texts, seed) for seed in range(n)]
                found = list(pool.map(rate, jobs))
                worst = max(found, key=lambda each: abs(each - target))
                met &= abs(mean(found) - target) <= POINTS_BAR
                shown.append(f"{target:g}: {mean(found):.2f} ({worst:.2f})")
            print(f"  simulated:{preset}  {'   '.join(shown)}", flush=True)
    return met


def speed(texts: list[str]) -> bool:
    """Print the time per utterance, index loaded: fresh words, and once more when warm."""
    hears = channel.load("b@20")
    hears.hear(STILL, Context(text="warm"))
    took = []
    for seed in (0, 1):
        start = time.perf_counter()
        heard(hears, texts, seed)
        took.append((time.perf_counter() - start) / len(texts))
    print(f"per utterance at 20 %: first pass {took[0] * 1e3:.1f} ms, warm {took[1] * 1e3:.1f} ms")
    return took[1] <= WARM_BAR_S


def real(texts: list[str], folder: Path) -> bool:
    """Print PocketSphinx's shape of errors and the presets' at the same rate; and its overhead."""
    said = [speak(text, VOICES[i % len(VOICES)], folder) for i, text in enumerate(texts)]
    ours = sphinx.Sphinx()
    pairs = [
        (text, ours.hear(clip, Context()).text) for text, clip in zip(texts, said, strict=True)
    ]
    found = errors.shape(pairs)
    print(f"{len(texts)} sentences spoken by flite: {', '.join(VOICES)}")
    print("                       wer   sub   del   ins   run  distance  near  exact")
    show("pocketsphinx", [found])
    target = min(100 * found.wer, calibration.TARGETS[-1])
    for preset in channel.PRESETS:
        hears = channel.load(f"{preset}@{target:.1f}")
        show(hears.name, [errors.shape(heard(hears, texts, seed)) for seed in range(10)])
    extra = overhead(said[:16], ours)
    ours.close()
    return extra


def show(name: str, found: list[errors.Shape]) -> None:
    """Print the means of some shapes as one row."""
    rows = np.array([(s.wer, *s.kinds, s.run, s.distance, s.close, s.exact) for s in found])
    wer, sub, gone, more, run, far, near, exact = rows.mean(0)
    print(
        f"{name:20} {100 * wer:5.1f} {100 * sub:5.0f} {100 * gone:5.0f} {100 * more:5.0f}"
        f" {run:5.2f} {far:9.2f} {near:5.2f} {exact:6.2f}"
    )


def speak(text: str, voice: str, folder: Path) -> clips.Clip:
    """Return a sentence said by flite, at the usual rate and level."""
    path = folder / "said.wav"
    subprocess.run(["flite", "-voice", voice, "-t", text, "-o", path], check=True)
    return clips.levelled(clips.resampled(clips.read(path.read_bytes())))


def overhead(said: list[clips.Clip], ours: sphinx.Sphinx) -> bool:
    """Print the median ratio of `hear` to the bare package, both with models loaded."""
    import pocketsphinx

    bare = pocketsphinx.Decoder(**sphinx._SETTINGS)
    ratios = []
    for clip in said:
        times = []
        for direct in (True, False):
            start = time.perf_counter()
            if direct:
                bare.start_utt()
                bare.process_raw(sphinx._pcm(clip), full_utt=True)
                bare.end_utt()
                bare.hyp()
            else:
                ours.hear(clip, Context())
            times.append(time.perf_counter() - start)
        ratios.append(times[1] / times[0])
    extra = median(ratios) - 1
    print(f"overhead of hear over the bare decoder: {100 * extra:+.1f} % (median of {len(said)})")
    return extra <= OVERHEAD_BAR


if __name__ == "__main__":
    main()
