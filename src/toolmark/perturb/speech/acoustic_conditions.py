"""The conditions of sound: names of effects and of groups of effects.

A condition names the effects; `+` joins several:

    clean                      nothing
    noisy                      all four modules, the strength of each drawn from 1 to 3
    mild | medium | harsh      all four modules, strengths 1, 1 to 2, 2 to 3
    environment | talkers | network | device      one module
    bed | event | talker | loss | loop | jitter | tail | room | gain | overdrive | rub
    white | pink | brown | babble | cafe | ...     a bed of this noise
    mu-law | a-law | gsm | opus                    a codec
    snr=20 | snr=20:babble                         a bed at exactly this ratio
    audiomentations:AddGaussianNoise               an effect of that package, if it is installed

Modules and effects take a severity: `loss@3`; without one it is drawn from 1 to 4.
"""

from __future__ import annotations

from random import Random
from typing import TypeAlias

from toolmark.core import seeds
from toolmark.core.errors import UsageError, suggest_names
from toolmark.perturb.speech import (
    audio_codecs,
    audiomentations_effects,
    background_sounds,
    synthetic_noise,
)
from toolmark.perturb.speech.effect_timeline import EFFECT_MODULES, SEVERITIES

ConditionEffect: TypeAlias = tuple[str, int, dict[str, str | float]]
"""The name of an effect, its severity, and the values that the condition fixes."""

PRESET_SEVERITIES = {"noisy": (1, 3), "mild": (1, 1), "medium": (1, 2), "harsh": (2, 3)}
STAGE_ORDER = (
    "room",
    "gain",
    "talker",
    "bed",
    "event",
    "rub",
    "overdrive",
    audiomentations_effects.PACKAGE_NAME,
    "codec",
    "loss",
    "jitter",
    "loop",
    "tail",
)
MODULE_EFFECTS = {
    "environment": ("bed", "event"),
    "talkers": ("talker",),
    "network": ("loss", "jitter", "loop", "tail"),
    "device": ("room", "gain", "overdrive", "rub"),
}
"""Effects of each module: the first is always applied, each other one with probability 1/2."""
STEPS_DB = (40, 30, 20, 10)
CONDITIONS = (
    "clean",
    *PRESET_SEVERITIES,
    *EFFECT_MODULES,
    *(name for names in MODULE_EFFECTS.values() for name in names),
    *synthetic_noise.BED_NOISES,
    "babble",
    *audio_codecs.CODECS,
    *(f"snr={step}" for step in STEPS_DB),
)
_MIN_RATIO_DB, _MAX_RATIO_DB = -20.0, 100.0


def condition_family(condition: str) -> str:
    """Return a condition without strengths: snr, snr:cafe, loss for snr=20, snr=20:cafe, loss@3.

    Conditions of one family that are drawn from equal generators differ only in strength: the same
    noise, louder; the same talker at the same time.
    """
    return "+".join(map(_without_strength, condition.split("+")))


def _without_strength(part: str) -> str:
    name, _, level = part.strip().partition("@")[0].partition("=")
    return "".join((name, *level.partition(":")[1:]))


def draw_effects(part: str, rng: Random) -> list[ConditionEffect]:
    """Return the effects of one part of a condition: name, severity, fixed values."""
    name, at, grade = part.partition("@")
    severity = _parse_severity(grade, part) if at else 0
    if name == "clean" and not at:
        return []
    if name in PRESET_SEVERITIES and not at:
        low, high = PRESET_SEVERITIES[name]
        return [
            one
            for m in EFFECT_MODULES
            for one in _draw_module_effects(m, seeds.draw_between(rng, low, high), rng)
        ]
    severity = severity or seeds.draw_one(rng, SEVERITIES)
    if name in MODULE_EFFECTS:
        return _draw_module_effects(name, severity, rng)
    if name in STAGE_ORDER and name not in ("codec", audiomentations_effects.PACKAGE_NAME):
        return [(name, severity, {})]
    if name in (*synthetic_noise.NOISE_MAKERS, *synthetic_noise.VOICE_NOISES):
        return [("bed", severity, {"noise": name})]
    if name in audio_codecs.CODECS:
        return [("codec", audio_codecs.CODEC_SEVERITY[name], {"codec": name})]
    if name.startswith("snr="):
        fixed = _parse_ratio(name, part)
        return [("bed", background_sounds.severity_of_ratio(float(fixed["snr_db"])), fixed)]
    if name.startswith(f"{audiomentations_effects.PACKAGE_NAME}:"):
        return [
            (
                audiomentations_effects.PACKAGE_NAME,
                severity,
                {"transform": audiomentations_effects.check_effect_name(name.partition(":")[2])},
            )
        ]
    near = suggest_names(name, CONDITIONS, listing="read docs/reference/acoustics.md")
    raise UsageError(f"no acoustic condition {part!r}{near}")


def _parse_severity(grade: str, part: str) -> int:
    if grade not in {str(s) for s in SEVERITIES}:
        raise UsageError(f"{part!r}: a severity is 1, 2, 3 or 4, not {grade!r}")
    return int(grade)


def _parse_ratio(name: str, part: str) -> dict[str, str | float]:
    text, _, kind = name.removeprefix("snr=").partition(":")
    try:
        ratio = float(text)
    except ValueError:
        ratio = float("nan")
    if not _MIN_RATIO_DB <= ratio <= _MAX_RATIO_DB:
        raise UsageError(
            f"{part!r}: write a ratio of {_MIN_RATIO_DB:g} to {_MAX_RATIO_DB:g} dB, like snr=20 or "
            "snr=20:cafe"
        )
    kinds = (*synthetic_noise.NOISE_MAKERS, *synthetic_noise.VOICE_NOISES)
    if kind and kind not in kinds:
        raise UsageError(f"{part!r}: no noise {kind!r}{suggest_names(kind, kinds)}")
    return {"snr_db": ratio, **({"noise": kind} if kind else {})}


def _draw_module_effects(name: str, severity: int, rng: Random) -> list[ConditionEffect]:
    first, *others = MODULE_EFFECTS[name]
    return [(first, severity, {}), *((one, severity, {}) for one in others if rng.random() < 0.5)]
