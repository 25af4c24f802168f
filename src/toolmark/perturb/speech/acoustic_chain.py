"""The acoustic stage: settings are drawn once, recorded, and applied to a clip.

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

Modules and effects take a severity: `loss@3`; without one it is drawn from 1 to 4. They are always
applied in the order in which sound meets them, not in the order of their names: room, drift of
gain, other talkers, bed, event, rubbing, overdrive, codec, loss, jitter, loops, cut tail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import structs

from toolmark.core import seeds
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Record
from toolmark.perturb.speech import audio_clip as clips
from toolmark.perturb.speech import (  # fmt: skip
    audio_codecs,
    audiomentations_effects,
    background_sounds,
    double_talk,
    microphone_faults,
    network_faults,
    room_responses,
    sound_folders,
    synthetic_noise,
)
from toolmark.perturb.speech.audio_clip import Clip, Speech
from toolmark.perturb.speech.effect_timeline import (
    EFFECT_MODULES,
    SEVERITIES,
    Effect,
    StageResult,
    make_effect,
)

__all__ = [
    "CONDITIONS",
    "PRESET_SEVERITIES",
    "AcousticSettings",
    "AcousticStage",
    "Effect",
    "HeardClip",
    "SoundBank",
    "apply_settings",
    "condition_family",
    "draw_settings",
]

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
_SPEECH_SHAPING_STAGES = ("room", "gain")
"""Stages that shape the speech before mixing; the speech level is measured after them."""
_MIN_RATIO_DB, _MAX_RATIO_DB = -20.0, 100.0
_T = TypeVar("_T", double_talk.Talk, room_responses.RoomResponse, sound_folders.SoundStretch)


class SoundBank(NamedTuple):
    """The sounds to draw from: clips for babble, other talkers, rooms, recorded noises."""

    babble: tuple[Clip, ...] = ()
    talks: tuple[double_talk.Talk, ...] = ()
    rooms: tuple[room_responses.RoomResponse, ...] = ()
    noises: tuple[sound_folders.SoundStretch, ...] = ()


class AcousticStage(Record, frozen=True, kw_only=True):
    """One effect with all its drawn values; `seed` makes its noise."""

    name: str
    severity: int
    seed: int
    values: dict[str, str | float] = {}
    places: tuple[tuple[float, float], ...] = ()


class AcousticSettings(Record, frozen=True, kw_only=True):
    """The stages for one clip, in the order in which they are applied."""

    condition: str
    stages: tuple[AcousticStage, ...] = ()


class HeardClip(NamedTuple):
    """The clip as it is heard, and its effects in the order of time.

    `span_s` is the start and end of the user's speech in the clip, in seconds; None for silence.
    """

    clip: Clip
    timeline: tuple[Effect, ...]
    span_s: tuple[float, float] | None = None


def draw_settings(
    condition: str, rng: Random, bank: SoundBank | None = None, *, avoid: Sequence[str] = ()
) -> AcousticSettings:
    """Return drawn settings of a condition; talks whose text is in `avoid` are not chosen.

    Raises UsageError for an unknown condition, or if the bank lacks clips or rooms that it needs.
    """
    sounds = bank or SoundBank()
    stages: list[AcousticStage] = []
    for part in condition.split("+"):
        for name, severity, fixed in _parse_condition_part(part.strip(), rng):
            stages.append(_draw_stage(name, severity, fixed, rng, sounds, avoid))
    stages.sort(key=lambda stage: STAGE_ORDER.index(stage.name))
    return AcousticSettings(condition=condition, stages=_place_talkers_in_room(stages, sounds))


def condition_family(condition: str) -> str:
    """Return a condition without strengths: snr, snr:cafe, loss for snr=20, snr=20:cafe, loss@3.

    Conditions of one family that are drawn from equal generators differ only in strength: the same
    noise, louder; the same talker at the same time.
    """
    return "+".join(map(_without_strength, condition.split("+")))


def _without_strength(part: str) -> str:
    name, _, level = part.strip().partition("@")[0].partition("=")
    return "".join((name, *level.partition(":")[1:]))


def _place_talkers_in_room(
    stages: Sequence[AcousticStage], bank: SoundBank
) -> tuple[AcousticStage, ...]:
    """Put other talkers into the room of the user, at another place."""
    speaker_room = next((str(stage.values["room"]) for stage in stages if stage.name == "room"), "")
    rooms = [
        one.name
        for one in bank.rooms
        if one.name.partition("/")[0] == speaker_room.partition("/")[0]
    ]
    other = next((name for name in rooms if name != speaker_room), speaker_room)
    if not other:
        return tuple(stages)
    return tuple(
        structs.replace(stage, values={**stage.values, "room": other})
        if stage.name == "talker"
        else stage
        for stage in stages
    )


def _parse_condition_part(part: str, rng: Random) -> list[tuple[str, int, dict[str, str | float]]]:
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
    raise UsageError(f"no acoustic condition {part!r}{suggest_names(name, CONDITIONS)}")


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


def _draw_module_effects(
    name: str, severity: int, rng: Random
) -> list[tuple[str, int, dict[str, str | float]]]:
    first, *others = MODULE_EFFECTS[name]
    return [(first, severity, {}), *((one, severity, {}) for one in others if rng.random() < 0.5)]


# --- drawing ----------------------------------------------------------------------------


def _draw_stage(
    name: str,
    severity: int,
    fixed: dict[str, str | float],
    rng: Random,
    bank: SoundBank,
    avoid: Sequence[str],
) -> AcousticStage:
    """Draw one effect: its numbers, its choices from the bank, its places, its seed."""
    values = dict(fixed)
    places: tuple[tuple[float, float], ...] = ()
    match name:
        case "bed":
            values = _draw_bed(severity, fixed, rng, bank)
        case "event":
            values = {
                "noise": seeds.draw_one(rng, synthetic_noise.EVENT_NOISES),
                "at": _draw_number(rng, 0.25, 0.7),
                "snr_db": _draw_number(rng, *background_sounds.EVENT_SNR_DB[severity]),
            }
        case "talker":
            values = _draw_talker(severity, rng, bank, avoid)
        case "room":
            values = {"room": seeds.draw_one(rng, _nearest_rooms(bank, severity)).name}
        case "rub":
            values = {"snr_db": _draw_number(rng, *microphone_faults.RUB_SNR_DB[severity])}
            places = _draw_places(rng, microphone_faults.N_RUBS[severity], microphone_faults.RUB_MS)
        case "loop":
            places = _draw_places(rng, network_faults.N_LOOPS[severity], network_faults.LOOP_MS)
        case "tail":
            values = {"share": _draw_number(rng, *network_faults.TAIL_SHARE[severity])}
        case "loss" | "jitter":
            values = _draw_frames(name, severity, rng)
        case "gain":
            values = {"size_db": microphone_faults.DRIFT_DB[severity]}
        case "overdrive":
            values = {"drive_db": microphone_faults.DRIVE_DB[severity]}
    return AcousticStage(
        name=name, severity=severity, seed=rng.getrandbits(53), values=values, places=places
    )


def _draw_number(rng: Random, low: float, high: float) -> float:
    return round(low + (high - low) * rng.random(), 4)


def _draw_places(
    rng: Random, many: int, ms: tuple[float, float]
) -> tuple[tuple[float, float], ...]:
    """Draw pairs (share of the clip, milliseconds) in the order of time, away from both ends."""
    return tuple(sorted((_draw_number(rng, 0.1, 0.9), _draw_number(rng, *ms)) for _ in range(many)))


def _draw_bed(
    severity: int, fixed: dict[str, str | float], rng: Random, bank: SoundBank
) -> dict[str, str | float]:
    kinds = [*synthetic_noise.BED_NOISES, *(("babble",) if bank.babble else ())]
    recorded = [one.name for one in bank.noises if one.use == "noise"]
    if "noise" not in fixed and recorded:
        kind = f"{sound_folders.FILE_PREFIX}{seeds.draw_one(rng, recorded)}"
    else:
        kind = str(fixed.get("noise") or seeds.draw_one(rng, kinds))
    if kind == "babble" and not bank.babble:
        raise UsageError("babble is made of clips of speech: pass Bank(babble=...)")
    ratio = fixed.get("snr_db")
    drawn = (
        _draw_number(rng, *background_sounds.BED_SNR_DB[severity])
        if ratio is None
        else float(ratio)
    )
    return {"noise": kind, "snr_db": drawn}


def _draw_talker(
    severity: int, rng: Random, bank: SoundBank, avoid: Sequence[str]
) -> dict[str, str | float]:
    names = [talk.name for talk in bank.talks if talk.text not in avoid]
    if not names:
        raise UsageError("double talk needs what others say: pass Bank(talks=...)")
    found: dict[str, str | float] = {
        "talk": seeds.draw_one(rng, names), "at": _draw_number(rng, 0.0, 0.45),
        "snr_db": _draw_number(rng, *double_talk.TALK_SNR_DB[severity]),
    }  # fmt: skip
    return found


def _nearest_rooms(bank: SoundBank, severity: int) -> list[room_responses.RoomResponse]:
    """Return the rooms of a severity, or of the nearest severity in the bank."""
    if not bank.rooms:
        raise UsageError("reverberation needs rooms: pass Bank(rooms=room.bank(folder))")
    best = min(abs(one.severity - severity) for one in bank.rooms)
    return [one for one in bank.rooms if abs(one.severity - severity) == best]


def _draw_frames(name: str, severity: int, rng: Random) -> dict[str, str | float]:
    frame = seeds.draw_one(rng, network_faults.FRAMES_MS)
    if name == "jitter":
        return {"mean_ms": network_faults.JITTER_MS[severity], "frame_ms": frame}
    share, burst = network_faults.LOSS_BY_SEVERITY[severity]
    conceal = seeds.draw_one(rng, ("silence", "repeat"))
    return {
        "share": share, "burst_ms": max(burst, frame), "frame_ms": frame, "concealed": conceal,
    }  # fmt: skip


# --- applying ---------------------------------------------------------------------------


def apply_settings(
    clip: Clip, settings: AcousticSettings, bank: SoundBank | None = None
) -> HeardClip:
    """Return the clip after all stages: finite float32 in [-1, 1] at the rate of the clip.

    Equal clips, settings and banks give equal samples. Ratios and shares refer only to the user's
    speech at that stage, without sounds that were mixed in before. If the sum would exceed full
    scale, the complete clip is lowered. Raises UsageError if the bank lacks a sound that the
    settings name.
    """
    sounds = bank or SoundBank()
    samples = np.nan_to_num(clip.samples.astype(np.float32, copy=True))
    speech = clips.measure_speech(Clip(samples, clip.rate))
    timeline: tuple[Effect, ...] = ()
    for k, stage in enumerate(settings.stages):
        result = _STAGE_FUNCTIONS[stage.name](Clip(samples, clip.rate), stage, sounds, speech)
        samples = result.samples
        if all(each.name in _SPEECH_SHAPING_STAGES for each in settings.stages[: k + 1]):
            speech = clips.measure_speech(Clip(samples, clip.rate), speech.span)
        else:
            speech = network_faults.shift_speech(speech, result.inserted, len(samples))
        timeline = (
            network_faults.shift_effects(timeline, result.inserted, clip.rate) + result.effects
        )
    peak = float(np.abs(samples).max()) if len(samples) else 0.0
    if peak > 1:
        samples = np.clip(samples * np.float32(0.999 / peak), -1, 1)
    heard = Clip(samples.astype(np.float32, copy=False), clip.rate)
    effects = network_faults.trim_effects(timeline, heard.seconds)
    inside = speech.span[speech.span < len(samples)]
    ends = (int(inside[0]), int(inside[-1]) + 1) if len(inside) else None
    span_s = (ends[0] / clip.rate, ends[1] / clip.rate) if ends else None
    return HeardClip(
        heard, tuple(sorted(effects, key=lambda e: (e.start_s, -e.end_s, e.name))), span_s
    )


def _find_by_name(items: Sequence[_T], name: str, kind: str) -> _T:
    for one in items:
        if one.name == name:
            return one
    raise UsageError(f"the bank has no {kind} {name!r} that the settings name: pass the same bank")


def _stage_number(stage: AcousticStage, key: str) -> float:
    return float(stage.values[key])


def _apply_bed(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    kind, n = str(stage.values["noise"]), len(clip.samples)
    gen = synthetic_noise.noise_generator(stage.seed)
    if kind.startswith(sound_folders.FILE_PREFIX):
        source = _find_by_name(bank.noises, kind.removeprefix(sound_folders.FILE_PREFIX), "noise")
        sound = sound_folders.draw_samples(source, n, clip.rate, gen)
    else:
        sound = synthetic_noise.make_noise(kind, n, clip.rate, gen, bank.babble)
    return background_sounds.add_bed(
        clip,
        sound,
        _stage_number(stage, "snr_db"),
        name=kind,
        severity=stage.severity,
        speech=speech,
    )


def _apply_event(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    return background_sounds.add_event(
        clip,
        str(stage.values["noise"]),
        _stage_number(stage, "snr_db"),
        _stage_number(stage, "at"),
        synthetic_noise.noise_generator(stage.seed),
        severity=stage.severity,
        speech=speech,
    )


def _apply_talker(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    talk = _find_by_name(bank.talks, str(stage.values["talk"]), "talk")
    if room_name := stage.values.get("room"):
        response = _find_by_name(bank.rooms, str(room_name), "room")
        talk = talk._replace(
            clip=Clip(room_responses.convolve_room(talk.clip, response), talk.clip.rate)
        )
    return double_talk.overlay_talk(
        clip,
        talk,
        _stage_number(stage, "snr_db"),
        _stage_number(stage, "at"),
        severity=stage.severity,
        speech=speech,
    )


def _apply_room(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    response = _find_by_name(bank.rooms, str(stage.values["room"]), "room")
    return room_responses.apply_reverberation(clip, response, severity=stage.severity)


def _apply_gain(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    gen = synthetic_noise.noise_generator(stage.seed)
    return microphone_faults.apply_gain_drift(
        clip, _stage_number(stage, "size_db"), gen, severity=stage.severity
    )


def _apply_overdrive(
    clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech
) -> StageResult:
    drive_db = _stage_number(stage, "drive_db")
    return microphone_faults.apply_overdrive(clip, drive_db, severity=stage.severity, speech=speech)


def _apply_rub(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    gen = synthetic_noise.noise_generator(stage.seed)
    return microphone_faults.add_rubbing(
        clip,
        stage.places,
        _stage_number(stage, "snr_db"),
        gen,
        severity=stage.severity,
        speech=speech,
    )


def _apply_adapter(
    clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech
) -> StageResult:
    name = str(stage.values["transform"])
    samples = audiomentations_effects.apply_transform(clip, name, stage.seed)
    done = make_effect(
        "device",
        f"{audiomentations_effects.PACKAGE_NAME}:{name}",
        (0, clip.seconds),
        stage.severity,
    )
    return StageResult(samples, (done,))


def _apply_codec(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    peak = max(float(np.abs(clip.samples).max(initial=0)), 1.0)  # a codec clips louder samples
    done = audio_codecs.apply_codec(
        Clip(clip.samples / np.float32(peak), clip.rate), str(stage.values["codec"])
    )
    return done._replace(samples=done.samples * np.float32(peak))


def _apply_loss(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    return network_faults.drop_packets(
        clip,
        _stage_number(stage, "share"),
        _stage_number(stage, "burst_ms"),
        _stage_number(stage, "frame_ms"),
        synthetic_noise.noise_generator(stage.seed),
        repeat=stage.values["concealed"] == "repeat",
        severity=stage.severity,
        speech=speech,
    )


def _apply_jitter(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    gen = synthetic_noise.noise_generator(stage.seed)
    mean, frame = _stage_number(stage, "mean_ms"), _stage_number(stage, "frame_ms")
    return network_faults.apply_jitter(
        clip, mean, frame, gen, severity=stage.severity, speech=speech
    )


def _apply_loop(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    places = [(share, ms, 1 + (stage.seed >> k) % 2) for k, (share, ms) in enumerate(stage.places)]
    return network_faults.repeat_pieces(clip, places, severity=stage.severity)


def _apply_tail(clip: Clip, stage: AcousticStage, bank: SoundBank, speech: Speech) -> StageResult:
    return network_faults.cut_tail(
        clip, _stage_number(stage, "share"), severity=stage.severity, speech=speech
    )


_STAGE_FUNCTIONS: Mapping[str, Callable[[Clip, AcousticStage, SoundBank, Speech], StageResult]] = {
    "room": _apply_room,
    "gain": _apply_gain,
    "talker": _apply_talker,
    "bed": _apply_bed,
    "event": _apply_event,
    "rub": _apply_rub,
    "overdrive": _apply_overdrive,
    audiomentations_effects.PACKAGE_NAME: _apply_adapter,
    "codec": _apply_codec,
    "loss": _apply_loss,
    "jitter": _apply_jitter,
    "loop": _apply_loop,
    "tail": _apply_tail,
}
