"""What made sounds and pictures are like, within a tolerance: never their bytes.

Each record names the versions of the engines that made them. Where other versions are installed,
values that lie within WIDER times the tolerance count as those that were recorded, and stderr says
so.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from tests.golden import differences, files, paths
from tests.golden.plain import plain, shortened, tried
from tests.perturb.speech.spoken import made

from toolmark.core import seeds
from toolmark.perturb.image import picture_file, picture_variations, reshaping
from toolmark.perturb.image.box_geometry import Box
from toolmark.perturb.speech import (
    acoustic_chain,
    acoustic_conditions,
    acoustic_drawing,
    acoustic_settings,
    audio_clip,
    room_responses,
    speech_synthesis,
)
from toolmark.perturb.speech.audio_clip import Clip
from toolmark.perturb.speech.double_talk import Talk
from toolmark.perturb.speech.engines import espeak_bundled
from toolmark.suites.mfcl_vision import scenes
from toolmark.suites.mfcl_vision.item_records import SceneSetting, Sign

LONG = True

MARKERS = ("speech",)

WIDER = 10.0
BANDS_HZ = (0, 250, 500, 1000, 2000, 4000, 8000)
GRID = 4
VOICES: tuple[str, ...] = ("en-us", "en-gb", "en-us+f2", "en-gb+m3")
TEXTS = ("Book a table for five people at seven.", "What is the weather like in Oslo?")
SPEECH = ("espeakng-loader", "soundfile", "soxr", "pyroomacoustics", "numpy", "scipy")
PICTURES = ("pillow", "opencv-python-headless", "numpy")
CLUE = (60.0, 40.0, 160.0, 80.0)
BOXES: dict[str, tuple[Box, ...]] = {
    "clue": (CLUE,), "no boxes": (), "two": (CLUE, (200.0, 10.0, 240.0, 30.0)),
}  # fmt: skip
SIGNS = (
    Sign(role="clue", lines=("Garvel Hall", "Room 4"), symbol="red star on a white shield"),
    Sign(role="lookalike", lines=("Tonnet House",), symbol="blue anchor on a yellow circle"),
    Sign(role="foreground", lines=("Peldin Works",)), Sign(role="clutter", lines=("Push",)),
)  # fmt: skip


def record(folder: Path) -> dict[str, Any]:
    """Return the features of sounds and pictures."""
    found = {
        "voices": (_voices(folder), SPEECH, {"**.band_db": 0.5, "**": 0.01}),
        "acoustics": (_acoustics(folder), SPEECH, {"**.band_db": 0.5, "**": 0.01}),
        "variations": (_variations(), PICTURES, {"**.mean": 1.0, "**.variance": 10.0, "**": 0.01}),
        "scenes": (_scenes(), PICTURES, {"**.mean": 1.5, "**.variance": 20.0, "**": 0.51}),
    }
    return {
        name: _known(name, {"$tolerance": tolerance, "engines": _versions(engines), **values})
        for name, (values, engines, tolerance) in found.items()
    }


def _versions(names: Sequence[str]) -> dict[str, str]:
    return {name: metadata.version(name) for name in names}


def _known(name: str, fresh: dict[str, Any]) -> dict[str, Any]:
    """Return the record for what other engines made, as long as it is alike enough."""
    stored = files.read("media").get(name)
    if stored is None or stored["engines"] == fresh["engines"]:
        return fresh
    wide = {pattern: each * WIDER for pattern, each in stored["$tolerance"].items()}
    collected = {**stored, "$tolerance": wide}
    found = differences.compare(
        "media", name, collected, files.loads(files.dumps(files.plain(fresh)))
    )
    saved = [each for each in found if each.place[0] not in ("engines", "$tolerance")]
    print(f"media/{name}: recorded with {stored['engines']}, compared with {fresh['engines']} "
          f"at {WIDER:g} times the tolerance", file=sys.stderr)  # fmt: skip
    for each in saved:
        paths.put(stored, each.place, each.new)
    return dict(stored)


# --- sounds -----------------------------------------------------------------------------


def _features(said: Clip) -> dict[str, Any]:
    """Return length, level, spectrum and activity of a clip."""
    samples = said.samples.astype(np.float64)
    power = np.abs(np.fft.rfft(samples)) ** 2 if len(samples) else np.zeros(1)
    hz = np.fft.rfftfreq(max(len(samples), 1), 1 / said.rate)
    total = float(power.sum())
    bands = [float(power[(hz >= low) & (hz < high)].sum()) for low, high in pairwise(BANDS_HZ)]
    return {
        "rate_hz": said.rate,
        "seconds": round(said.seconds, 4),
        "rms": float(np.sqrt(np.mean(samples**2))) if len(samples) else 0.0,
        "peak": float(np.abs(samples).max(initial=0.0)),
        "centroid_khz": float((hz * power).sum() / total / 1000) if total else 0.0,
        "band_db": [round(10 * float(np.log10(max(each / total, 1e-9))), 3) for each in bands]
        if total
        else [],
        "active": float(audio_clip.speech_mask(said).mean()) if len(samples) else 0.0,
    }


def _voices(folder: Path) -> dict[str, Any]:
    voices = espeak_bundled.voices()
    chosen = {voice.name: voice for voice in voices}
    names = [name for name in VOICES if name in chosen]
    found: dict[str, Any] = {"how many": len(voices), "chosen": names}
    for name in names:
        for text in TEXTS:
            found[f"{name}: {text}"] = _features(
                speech_synthesis.synthesise_clip(text, chosen[name], folder=folder)
            )
    found["spoken words"] = {
        shortened(text): tried(speech_synthesis.speakable_text, text)
        for text in ("a & b", "5 m²", "x^2", "", "\x00", "é", "2^10", "a\nb", "x" * 5000, "🙂")
    }
    return found


def _bank(folder: Path) -> acoustic_settings.SoundBank:
    clips = tuple(made(2.0 + k / 2, seed=k) for k in range(3))
    talks = tuple(Talk(f"t{k}", each, TEXTS[k % 2]) for k, each in enumerate(clips))
    return acoustic_settings.SoundBank(
        babble=clips,
        talks=talks,
        rooms=room_responses.load_or_compute_rooms(folder / "rooms", rooms=2),
    )


def _acoustics(folder: Path) -> dict[str, Any]:
    """Return what each condition draws, and what it makes of a clip that no engine has spoken."""
    bank, said = _bank(folder), made(3.0, seed=9)
    graded = [f"{name}@{grade}" for name in ("loss", "bed", "room", "jitter", "overdrive", "tail")
              for grade in (1, 4)]  # fmt: skip
    mixed = ["snr=20:babble", "loss@4+room@2+babble@1+event", "noisy+gsm", "harsh"]
    found: dict[str, Any] = {"said": _features(said)}
    for condition in dict.fromkeys((*acoustic_conditions.CONDITIONS, *graded, *mixed)):
        if condition == "opus":  # its encoder is the machine's
            continue
        drawn = acoustic_drawing.draw_settings(
            condition, seeds.make_rng(15, "item", 0, f"golden {condition}"), bank
        )
        heard = acoustic_chain.apply_settings(said, drawn, bank)
        found[condition] = {
            "drawn": [f"{stage.name}@{stage.severity}" for stage in drawn.stages],
            "values": [plain(stage.values) for stage in drawn.stages],
            "places": [plain(stage.places) for stage in drawn.stages],
            "timeline": [plain(reported) for reported in heard.timeline],
            "span_s": plain(heard.span_s),
            "family": acoustic_conditions.condition_family(condition),
            **_features(heard.clip),
        }
    for wrong in ("nois", "loss@9", "snr=x", "snr=200", "", "clean+", "snr=20:cafee"):
        found[f"wrong {wrong!r}"] = tried(
            acoustic_drawing.draw_settings, wrong, random.Random(1), bank
        )
    return found


# --- pictures ---------------------------------------------------------------------------


def _look(image: Image.Image) -> dict[str, Any]:
    """Return size, mean and variance of each channel on a coarse grid."""
    pixels = np.asarray(image.convert("RGB")).astype(np.float64)
    height, width = pixels.shape[:2]
    rows, columns = (np.linspace(0, side, GRID + 1).astype(int) for side in (height, width))
    cells = [
        pixels[top:bottom, left:right].reshape(-1, 3)
        for top, bottom in pairwise(rows)
        for left, right in pairwise(columns)
    ]
    return {
        "size": [width, height],
        "mean": [[round(float(x), 2) for x in cell.mean(axis=0)] for cell in cells],
        "variance": [[round(float(x), 1) for x in cell.var(axis=0)] for cell in cells],
    }


def _picture() -> Image.Image:
    image = Image.new("RGB", (300, 200), (30, 60, 90))
    pen = ImageDraw.Draw(image)
    for at in range(0, 300, 20):
        pen.rectangle((at, 0, at + 9, 199), (at % 256, 120, 255 - at % 256))
    pen.rectangle((60, 40, 159, 79), (250, 240, 30))
    pen.line((70, 50, 150, 70), (10, 20, 90), 5)
    return image


def _variations() -> dict[str, Any]:
    names = (
        *picture_variations.variation_names(),
        "edges=50/150",
        "occlusion=0",
        "occlusion=1",
        "occlusion=0.25",
        "jitter=1",
        "jitter=3",
        "jitter=4",
    )
    found: dict[str, Any] = {}
    for name in names:
        for shown, boxes in BOXES.items():
            rng = seeds.make_rng(15, "item", 0, f"golden {name} {shown}")
            varied = picture_variations.vary_picture(_picture(), name, rng, boxes)
            found[f"{name}, {shown}"] = {
                "boxes": plain(varied.boxes),
                "settings": plain(varied.settings),
                "note": varied.note,
                "kind": picture_file.variation_mime(name),
                **_look(varied.image),
            }
    wrong = ("gry", "jitter=5", "jitter", "occlusion=1.5", "edges=9/3", "edges=0/5", "crop-1:1",
             "edges=100/200", "occlusion=0.50")  # fmt: skip
    found["names"] = {name: tried(picture_variations.normalise_variation, name) for name in wrong}
    outside: Mapping[str, Any] = {"outside": ((0, 0, 301, 10),), "none": ((5, 5, 5, 9),)}
    for name, boxes in outside.items():
        found[f"boxes {name}"] = tried(_varied, "crop-4:3", boxes)
    found["windows"] = {
        f"{size} {ratio}": plain(
            reshaping.crop_window(size, Fraction(*ratio), random.Random(3), (CLUE,))
        )
        for size in ((300, 200), (200, 300), (400, 225))
        for ratio in ((16, 9), (4, 3))
    }
    return found


def _varied(name: str, boxes: Sequence[Box]) -> dict[str, Any]:
    varied = picture_variations.vary_picture(_picture(), name, random.Random(1), boxes)
    return {"boxes": plain(varied.boxes), **_look(varied.image)}


def _scenes() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, name in enumerate(scenes.SCENE_KINDS):
        kind = scenes.SCENE_KINDS[name]
        signs = SIGNS if number % 3 else SIGNS[:2]
        drawn = scenes.render_scene(
            SceneSetting(scene=name, signs=signs, clue_share=0.04), random.Random(f"golden {name}")
        )
        found[name] = {
            "bears": kind.sign_carrier,
            "holds": [kind.lookalikes, kind.foreground, kind.clutter],
            "seen": [plain(each) for each in drawn.placed_signs],
            **_look(drawn.image),
        }
    found["too many"] = tried(
        scenes.render_scene, SceneSetting(scene="street", signs=SIGNS[:1] * 2, clue_share=0.04),
        random.Random(1),
    )  # fmt: skip
    found["unknown"] = tried(
        scenes.render_scene,
        SceneSetting(scene="sea", signs=SIGNS, clue_share=0.04),
        random.Random(1),
    )
    return found
