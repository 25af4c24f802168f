"""The acoustic stages of a clip are applied in the order in which sound meets them.

That order is not that of their names in the condition: room, drift of gain, other talkers, bed,
event, rubbing, overdrive, codec, loss, jitter, loops, cut tail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from toolmark.core.errors import UsageError
from toolmark.perturb.speech import (  # fmt: skip
    audio_clip,
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
from toolmark.perturb.speech.acoustic_settings import (
    AcousticSettings,
    AcousticStage,
    HeardClip,
    SoundBank,
)
from toolmark.perturb.speech.audio_clip import Clip, Speech
from toolmark.perturb.speech.effect_timeline import Effect, StageResult, make_effect

_SPEECH_SHAPING_STAGES = ("room", "gain")
"""Stages that shape the speech before mixing; the speech level is measured after them."""
_T = TypeVar("_T", double_talk.Talk, room_responses.RoomResponse, sound_folders.SoundStretch)


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
    speech = audio_clip.measure_speech(Clip(samples, clip.rate))
    timeline: tuple[Effect, ...] = ()
    for k, stage in enumerate(settings.stages):
        result = _STAGE_FUNCTIONS[stage.name](Clip(samples, clip.rate), stage, sounds, speech)
        samples = result.samples
        if all(each.name in _SPEECH_SHAPING_STAGES for each in settings.stages[: k + 1]):
            speech = audio_clip.measure_speech(Clip(samples, clip.rate), speech.span)
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
